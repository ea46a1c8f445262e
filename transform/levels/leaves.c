/* Leaves, the vertices of level 0, have the first positions: 0 .. leaves - 1, where leaves =
 * first[1].
 *
 *     0 < children[x]                      ->  leaves <= x
 *     sum[p] select(leaves <= p, ..) * ..  ->  sum[p: leaves .. n] ..
 *
 * Computation for leaves alone, or for others alone, then costs as much as there are of them. */
#include "ir/limits.h"
#include "transform/levels/parts.h"

/* The first position of a level, which has a block for each kind. There are no more levels than
 * vertices; `none` is the value beyond them. */
static neo_expr first_of(const levels *s, const levels_graph *g, int64_t level, int64_t none,
                         neo_span span) {
  neo_module *m = s->m;
  neo_expr at = levels_int(s, level * levels_kinds_of(g)),
           other = neo_const_int(m, NEO_I32_T, none);
  return neo_cast(m, NEO_I64_T, neo_load_else(m, g->first, &at, 1, other, span));
}

neo_expr levels_leaves_of(const levels *s, const levels_graph *g, neo_span span) {
  return first_of(s, g, 1, 0, span);
}

neo_expr levels_second_of(const levels *s, const levels_graph *g, neo_span span) {
  return first_of(s, g, 2, 1, span);
}

/* ---- counts */

/* The child's tensor in 0 <= child[axis 0, axis 1, ..], as a number; 0: another expression. */
static neo_tensor asked_of(const levels *s, neo_expr e) {
  neo_module *m = s->m;
  neo_expr vertex;
  int64_t zero;
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  if (n->op != NEO_OP_LE || !neo_expr_is_int(m, neo_list_expr(m, n->arg, 0), &zero) || zero != 0)
    return (neo_tensor){0};
  neo_expr child = neo_list_expr(m, n->arg, 1);
  neo_tensor t = levels_child_of(s, child, &vertex);
  n = neo_expr_node(m, child);
  if (n->op == NEO_OP_CAST)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  for (uint32_t k = 0; t.i && k < n->arg.n; k++)
    if (neo_list_at(m, n->arg, k) != neo_axis_ref(m, k).i)
      return (neo_tensor){0};
  return t;
}

levels_graph *levels_counts_children(const levels *s, neo_def d) {
  neo_module *m = s->m;
  neo_def_rec r = *neo_def_at(m, d);
  if (r.n_out != 1 || r.reducer != NEO_RED_SUM || r.where.i || r.finish.n != 1 ||
      neo_expr_node(m, neo_list_expr(m, r.finish, 0))->op != NEO_OP_ACC)
    return NULL;
  neo_tensor child = asked_of(s, neo_list_expr(m, r.body, 0));
  bool all = child.i && r.axes.n == neo_tensor_rank(m, child);
  for (uint32_t k = 0; all && k < r.axes.n; k++)
    all = levels_is_vertex(s, &r, k, neo_tensor_extent(m, child, k));
  for (size_t k = 0; all && k < s->graphs.n; k++)
    if (s->graphs.at[k]->n_indices == 1 && s->graphs.at[k]->index[0].child.i == child.i)
      return s->graphs.at[k];
  return NULL;
}

/* Is the comparison of the count with c true for 0 alone (-1), for all but 0 (1), or otherwise
 * (0)? */
static int asks(neo_op op, bool swapped, int64_t c) {
  switch (op) {
  case NEO_OP_EQ:
    return c == 0 ? -1 : 0;
  case NEO_OP_NE:
    return c == 0;
  case NEO_OP_LT: /* c < count, or count < c */
    return swapped ? c == 0 : c == 1 ? -1 : 0;
  case NEO_OP_LE:
    return swapped ? c == 1 : c == 0 ? -1 : 0;
  default:
    return 0;
  }
}

const neo_node *levels_parent(const levels *s, const levels_graph *g, neo_expr x) {
  const neo_node *n = neo_expr_node(s->m, x);
  int64_t slots = 1;
  if (n->op == NEO_OP_DIV && neo_expr_is_int(s->m, neo_list_expr(s->m, n->arg, 1), &slots))
    n = neo_expr_node(s->m, neo_list_expr(s->m, n->arg, 0));
  if (n->op == NEO_OP_CAST)
    n = neo_expr_node(s->m, neo_list_expr(s->m, n->arg, 0));
  for (uint32_t k = 0; n->op == NEO_OP_LOAD && k < g->n_indices; k++) {
    const levels_index *i = &g->index[k];
    neo_tensor parents = levels_is_list(s, i->child) ? i->parent : i->edge;
    if (i->has_parents && n->attr == parents.i)
      return slots == levels_slots_of(s, i->child) ? n : NULL;
  }
  return NULL;
}

/* The count, perhaps under conversions that keep whether it is 0. */
static const neo_node *converted_count(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  bool wraps = n->type == NEO_I8_T || n->type == NEO_U8_T;
  return n->op == NEO_OP_CAST && !wraps ? neo_expr_node(m, neo_list_expr(m, n->arg, 0)) : n;
}

neo_expr levels_compare_count(const levels *s, const levels_graph *g, neo_expr e) {
  neo_module *m = s->m;
  neo_node n = *neo_expr_node(m, e);
  int64_t c;
  for (uint32_t k = 0; g->count.i && k < 2; k++) {
    const neo_node *count = converted_count(m, neo_list_expr(m, n.arg, k));
    if (count->op != NEO_OP_LOAD || count->attr != g->count.i ||
        !neo_expr_is_int(m, neo_list_expr(m, n.arg, 1 - k), &c))
      continue;
    int which = asks((neo_op)n.op, k == 1, c);
    neo_expr x = neo_list_expr(m, count->arg, 0), leaves = levels_leaves_of(s, g, n.span);
    if (which && levels_parent(s, g, x))
      return neo_const_bool(m, which > 0);
    if (which)
      return which > 0 ? neo_op2(m, NEO_OP_LE, leaves, x) : neo_op2(m, NEO_OP_LT, x, leaves);
  }
  return (neo_expr){0};
}

/* ---- zero terms */

/* Looks at a factor that is an element: through its definition, if the element is a multiple of
 * others. */
static void look_element(const levels_zero *x, const neo_node *n, int depth) {
  neo_module *m = x->s->m;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){n->attr})->pieces;
  neo_expr by[NEO_DEF_AXES];
  if (pieces.n != 1)
    return;
  neo_def_rec d = *neo_def_at(m, neo_list_def(m, pieces, 0));
  if (d.reducer != NEO_RED_NONE || d.out_map.n || d.finish.n != 1 || d.n_out != n->arg.n)
    return;
  for (uint32_t k = 0; k < n->arg.n; k++)
    by[k] = neo_list_expr(m, n->arg, k);
  levels_where_not_zero(x, neo_expr_subst_axes(m, neo_list_expr(m, d.finish, 0), by, d.n_out),
                        depth - 1);
}

static void look_condition(const levels_zero *x, neo_expr c, bool holds) {
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, c);
  if (n.op == NEO_OP_NOT) {
    look_condition(x, neo_list_expr(m, n.arg, 0), !holds);
  } else if (n.op == NEO_OP_AND && holds) {
    look_condition(x, neo_list_expr(m, n.arg, 0), true);
    look_condition(x, neo_list_expr(m, n.arg, 1), true);
  } else {
    x->condition(x->ctx, c, holds);
  }
}

void levels_where_not_zero(const levels_zero *x, neo_expr term, int depth) {
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, term);
  if (!depth)
    return;
  switch (n.op) {
  case NEO_OP_MUL:
    levels_where_not_zero(x, neo_list_expr(m, n.arg, 0), depth);
    levels_where_not_zero(x, neo_list_expr(m, n.arg, 1), depth);
    break;
  case NEO_OP_CAST:
  case NEO_OP_NEG:
    levels_where_not_zero(x, neo_list_expr(m, n.arg, 0), depth);
    break;
  case NEO_OP_SELECT:
    if (neo_expr_is_zero(m, neo_list_expr(m, n.arg, 2))) {
      look_condition(x, neo_list_expr(m, n.arg, 0), true);
      levels_where_not_zero(x, neo_list_expr(m, n.arg, 1), depth);
    } else if (neo_expr_is_zero(m, neo_list_expr(m, n.arg, 1))) {
      look_condition(x, neo_list_expr(m, n.arg, 0), false);
      levels_where_not_zero(x, neo_list_expr(m, n.arg, 2), depth);
    }
    break;
  case NEO_OP_LOAD_ELSE:
    if (x->load && neo_expr_is_zero(m, neo_list_expr(m, n.arg, n.arg.n - 1)))
      x->load(x->ctx, &n);
    break;
  case NEO_OP_LOAD:
    look_element(x, &n, depth);
    break;
  default:
    break;
  }
}

/* ---- sums */

typedef struct {
  const levels *s;
  const levels_graph *g;
  neo_expr at, leaves; /* position that is summed over */
  bool leaf, other;    /* terms are 0 except for leaves; except for others */
} narrowing;

static void note_condition(void *ctx, neo_expr c, bool holds) {
  narrowing *x = ctx;
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, c);
  if (n.op != NEO_OP_LE && n.op != NEO_OP_LT)
    return;
  neo_expr a = neo_list_expr(m, n.arg, 0), b = neo_list_expr(m, n.arg, 1);
  bool after = n.op == NEO_OP_LE && a.i == x->leaves.i && b.i == x->at.i;
  bool before = n.op == NEO_OP_LT && a.i == x->at.i && b.i == x->leaves.i;
  x->other = x->other || (holds ? after : before);
  x->leaf = x->leaf || (holds ? before : after);
}

/* Notes a read of child[place, ..], which leaves do not have. */
static void note_load(void *ctx, const neo_node *n) {
  narrowing *x = ctx;
  neo_module *m = x->s->m;
  for (uint32_t k = 0; k + 1 < n->arg.n; k++) {
    const neo_node *at = neo_expr_node(m, neo_list_expr(m, n->arg, k));
    if (at->op == NEO_OP_CAST)
      at = neo_expr_node(m, neo_list_expr(m, at->arg, 0));
    for (uint32_t i = 0; at->op == NEO_OP_LOAD && i < x->g->n_indices; i++)
      if (at->attr == x->g->index[i].placed.i && neo_list_at(m, at->arg, 0) == x->at.i)
        x->other = true;
  }
}

/* Is the range all positions of the graph, of its leaves, or of others? */
static bool is_part(const levels *s, const levels_graph *g, const neo_axis_rec *axis,
                    neo_span span) {
  neo_expr leaves = levels_leaves_of(s, g, span);
  int64_t lo;
  bool begins = axis->lo.i == leaves.i || (neo_expr_is_int(s->m, axis->lo, &lo) && lo == 0);
  return begins &&
         (axis->hi.i == g->n.i || axis->hi.i == neo_op2(s->m, NEO_OP_MIN, g->n, leaves).i);
}

void levels_narrow_axes(levels *s, neo_def id, levels_narrower *narrow, void *ctx) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t axes[NEO_DEF_AXES];
  if (d.reducer != NEO_RED_SUM || d.axes.n > NEO_DEF_AXES)
    return;
  for (uint32_t k = 0; k < d.axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(m, &d, k);
    bool is = false;
    for (size_t g = 0; g < s->graphs.n && k >= d.n_out && !is; g++) {
      levels_graph *graph = s->graphs.at[g];
      is = graph->n_indices && is_part(s, graph, &axis, d.span) && narrow(ctx, &d, graph, k, &axis);
    }
    axes[k] = is ? neo_axis_add(m, axis).i : neo_list_at(m, d.axes, k);
  }
  neo_def_at(m, id)->axes = neo_list_new(m, axes, d.axes.n);
}

levels_terms levels_terms_of(const levels *s, const levels_graph *g, const neo_def_rec *d,
                             uint32_t axis) {
  narrowing x = {.s = s, .g = g, .at = neo_axis_ref(s->m, axis)};
  levels_zero zero = {s, &x, note_condition, note_load};
  x.leaves = levels_leaves_of(s, g, d->span);
  levels_where_not_zero(&zero, neo_list_expr(s->m, d->body, 0), LEVELS_DEPTH);
  x.other = x.other || levels_runs_list_of(s, g, d, x.at);
  return x.other == x.leaf ? LEVELS_ALL_TERMS : x.leaf ? LEVELS_OF_LEAVES : LEVELS_OF_OTHERS;
}

static bool narrow_to_leaves(void *ctx, const neo_def_rec *d, levels_graph *g, uint32_t k,
                             neo_axis_rec *axis) {
  levels *s = ctx;
  levels_terms which = levels_terms_of(s, g, d, k);
  neo_expr leaves = levels_leaves_of(s, g, d->span);
  if (which == LEVELS_OF_OTHERS)
    axis->lo = leaves;
  else if (which == LEVELS_OF_LEAVES)
    axis->hi = neo_op2(s->m, NEO_OP_MIN, axis->hi, leaves);
  return which != LEVELS_ALL_TERMS;
}

void levels_narrow_sums(levels *s, neo_def id) {
  levels_narrow_axes(s, id, narrow_to_leaves, s);
}
