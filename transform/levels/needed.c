/* Dead elements in the order: which positions of a tensor are read, those of leaves, of level 1, or
 * of later ones (leaves.c). Other elements are not computed: such a tensor is `partial`, its
 * definition a select. A branch for vertices with children thus runs only for those, and adjoints
 * that children gather are computed for vertices with parents:
 *
 *     z[p, j] = sum[i] x[p, i]*W[i, j]          read where p < leaves alone
 *     ->
 *     z[p, j] = select(p < leaves, sum[i] .., 0)      partial */
#include "transform/levels/needs.h"

levels_bounds levels_bounds_of(const levels_needs *x, const levels_graph *g, neo_span span) {
  return (levels_bounds){levels_leaves_of(x->s, g, span), levels_second_of(x->s, g, span)};
}

/* ---- conditions */

uint32_t levels_by_condition(const levels_needs *x, neo_expr c, bool holds, neo_expr at,
                             const levels_bounds *b) {
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, c);
  if (n.op == NEO_OP_NOT)
    return levels_by_condition(x, neo_list_expr(m, n.arg, 0), !holds, at, b);
  if (n.op == NEO_OP_AND && holds)
    return levels_by_condition(x, neo_list_expr(m, n.arg, 0), true, at, b) &
           levels_by_condition(x, neo_list_expr(m, n.arg, 1), true, at, b);
  if (n.op != NEO_OP_LE && n.op != NEO_OP_LT)
    return LEVELS_ALL;
  bool from = n.op == NEO_OP_LE; /* end <= at; else at < end */
  neo_expr end = neo_list_expr(m, n.arg, from ? 0 : 1);
  if (neo_list_at(m, n.arg, from ? 1 : 0) != at.i)
    return LEVELS_ALL;
  uint32_t after = end.i == b->leaves.i ? LEVELS_OTHER : end.i == b->second.i ? LEVELS_LATER : 0;
  return !after ? LEVELS_ALL : holds == from ? after : LEVELS_ALL & ~after;
}

/* The positions in an axis' range. */
static uint32_t by_range(const levels_needs *x, const neo_axis_rec *axis, neo_expr leaves) {
  neo_module *m = x->s->m;
  const neo_node *hi = neo_expr_node(m, axis->hi);
  if (axis->lo.i == leaves.i)
    return LEVELS_OTHER;
  bool ends = hi->op == NEO_OP_MIN &&
              (neo_list_at(m, hi->arg, 0) == leaves.i || neo_list_at(m, hi->arg, 1) == leaves.i);
  return ends ? LEVELS_LEAF : LEVELS_ALL;
}

/* Parents of vertices at the given positions. */
static uint32_t of_parents(uint32_t need) {
  return need & LEVELS_LEAF ? LEVELS_OTHER : need ? LEVELS_LATER : 0;
}

/* ---- readers' needs */

/* Positions at which the definition's own elements are needed. */
uint32_t levels_own_need(const levels_needs *x, const neo_def_rec *d) {
  uint32_t all = 0;
  for (uint32_t k = 0; k < d->out.n; k++) {
    uint32_t t = neo_list_at(x->s->m, d->out, k);
    all |= x->in.wanted[t] ? x->need[t] : LEVELS_ALL;
  }
  return all;
}

/* Positions whose elements use a sum. */
static uint32_t asks(const levels_needs *x, neo_expr e, neo_expr at, const levels_bounds *b) {
  neo_module *m = x->s->m;
  neo_node n = *neo_expr_node(m, e);
  uint32_t all = n.op == NEO_OP_ACC ? LEVELS_ALL : 0;
  if (!neo_expr_accs(m, e))
    return 0;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    uint32_t one = asks(x, neo_list_expr(m, n.arg, k), at, b);
    bool branch = n.op == NEO_OP_SELECT && k;
    all |= branch ? one & levels_by_condition(x, neo_list_expr(m, n.arg, 0), k == 1, at, b) : one;
  }
  return all;
}

/* Needed positions of what the definition sums, or of its reads if it is no sum. */
static uint32_t read_need(const levels_needs *x, const neo_def_rec *d, uint32_t n_axes, neo_expr at,
                          const levels_bounds *b) {
  uint32_t all = 0;
  if (d->axes.n == d->n_out || n_axes == d->n_out) /* a read of `finish` */
    return levels_own_need(x, d);
  for (uint32_t k = 0; k < d->finish.n; k++)
    all |= asks(x, neo_list_expr(x->s->m, d->finish, k), at, b);
  return all & levels_own_need(x, d);
}

/* The index without conversions. */
static const neo_node *converted(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_CAST ? neo_expr_node(m, neo_list_expr(m, n->arg, 0)) : n;
}

/* Is it edge[e] for the list e of the vertex at the definition's axis, which ends at
 * end[order[axis]]? */
static bool is_list_of(const levels_needs *x, const levels_graph *g, const neo_def_rec *d,
                       const neo_node *edge, uint32_t axis) {
  neo_module *m = x->s->m;
  const neo_node *e = neo_expr_node(m, neo_list_expr(m, edge->arg, 0));
  if (e->op != NEO_OP_AXIS || e->attr < d->n_out)
    return false;
  const neo_node *hi = neo_expr_node(m, neo_def_axis(m, d, e->attr)->hi);
  if (hi->op != NEO_OP_MIN)
    return false;
  const neo_node *end = converted(m, neo_list_expr(m, hi->arg, 0));
  if (end->op != NEO_OP_LOAD)
    end = converted(m, neo_list_expr(m, hi->arg, 1));
  if (end->op != NEO_OP_LOAD)
    return false;
  const neo_node *vertex = converted(m, neo_list_expr(m, end->arg, 0));
  return vertex->op == NEO_OP_LOAD && vertex->attr == g->order.i &&
         neo_list_at(m, vertex->arg, 0) == neo_axis_ref(m, axis).i;
}

uint32_t levels_need_of(levels_needs *x, neo_def id, const neo_guarded_read *r) {
  neo_module *m = x->s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_expr_node(m, r->read)->attr;
  neo_expr at = neo_expr_arg(m, r->read, x->in.dim[t]);
  const levels_graph *g = x->in.graph[t];
  neo_node n = *neo_expr_node(m, at); /* nodes are added below */
  uint32_t need = LEVELS_ALL;
  levels_bounds b = levels_bounds_of(x, g, d.span);
  uint32_t own = neo_list_at(m, d.out, 0);
  bool in_order = x->in.wanted[own] && x->in.graph[own] == g;
  const neo_node *edge = levels_parent(x->s, g, at);
  if (n.op == NEO_OP_AXIS && n.attr < d.n_out) {
    if (in_order && x->in.dim[own] == n.attr)
      need = read_need(x, &d, r->n_axes, at, &b);
  } else if (n.op == NEO_OP_AXIS) {
    need = by_range(x, neo_def_axis(m, &d, n.attr), b.leaves);
  } else if (edge) {
    bool own_parent = in_order && is_list_of(x, g, &d, edge, x->in.dim[own]);
    need = own_parent ? of_parents(levels_own_need(x, &d)) : LEVELS_OTHER;
  }
  for (uint32_t k = 0; k < r->n_assume; k++)
    need &= levels_by_condition(x, r->assume[k], true, at, &b);
  return need;
}

static void look(levels_needs *x, neo_def d, bool *changed) {
  neo_guarded_reads reads = {0};
  if (!x->own(x, neo_def_at(x->s->m, d)))
    return;
  neo_guarded_reads_of(x->s->m, d, x->in.wanted, x->s->a, &reads);
  for (size_t k = 0; k < reads.n; k++) {
    uint32_t t = neo_expr_node(x->s->m, reads.at[k].read)->attr;
    uint32_t need = x->need[t] | x->of(x, d, &reads.at[k]);
    *changed = *changed || need != x->need[t];
    x->need[t] = need;
  }
}

void levels_needs_find(levels_needs *x) {
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t k = x->n; k > 0; k--)
      look(x, x->defs[k - 1], &changed);
  }
}

/* ---- sums of zeros */

typedef struct {
  neo_expr c, implied; /* 0: no other condition */
} assumed;

static neo_expr take_branch(void *ctx, neo_module *m, neo_expr e) {
  assumed *x = ctx;
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_SELECT)
    return e;
  uint32_t c = neo_list_at(m, n->arg, 0);
  return c == x->c.i || c == x->implied.i ? neo_list_expr(m, n->arg, 1) : e;
}

/* Skips a sum where all its terms are 0, with its reads:
 *
 *     z[p, j] = (sum[i] d[p, i]*W[j, i]) + y[p, j]               d[p, i] is 0 for leaves
 *     ->
 *     z[p, j] = select(leaves <= p, sum[i] .., 0) + y[p, j] */
static void leave_out_sum(const levels_needs *x, neo_def id) {
  neo_module *m = x->s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_list_at(m, d.out, 0);
  if (d.out.n != 1 || !x->in.wanted[t] || d.reducer != NEO_RED_SUM || d.body.n != 1 ||
      d.finish.n != 1 || d.out_map.n)
    return;
  levels_terms which = levels_terms_of(x->s, x->in.graph[t], &d, x->in.dim[t]);
  neo_expr at = neo_axis_ref(m, x->in.dim[t]);
  neo_expr leaves = levels_leaves_of(x->s, x->in.graph[t], d.span);
  neo_type type = neo_expr_type(m, neo_list_expr(m, d.body, 0));
  neo_expr acc = neo_acc_ref(m, type, 0), none = neo_const_int(m, type, 0);
  if (which == LEVELS_ALL_TERMS)
    return;
  neo_expr c = which == LEVELS_OF_OTHERS ? neo_op2(m, NEO_OP_LE, leaves, at)
                                         : neo_op2(m, NEO_OP_LT, at, leaves);
  neo_expr value = neo_expr_replace(m, neo_list_expr(m, d.finish, 0), acc,
                                    neo_op3(m, NEO_OP_SELECT, c, acc, none));
  neo_def_at(m, id)->finish = neo_list_one(m, value.i);
}

/* ---- partial tensors */

/* Makes a tensor partial. All results of a definition have the rows in which one of them is
 * needed. */
static void leave_out(const levels_needs *x, neo_def id) {
  neo_module *m = x->s->m;
  neo_def_rec d = *neo_def_at(m, id);
  uint32_t t = neo_list_at(m, d.out, 0);
  if (!x->in.wanted[t])
    return;
  neo_expr at = neo_axis_ref(m, x->in.dim[t]), c, implied = {0};
  levels_bounds b = levels_bounds_of(x, x->in.graph[t], d.span);
  switch (levels_own_need(x, &d)) {
  case LEVELS_LEAF:
    c = neo_op2(m, NEO_OP_LT, at, b.leaves);
    break;
  case LEVELS_OTHER:
    c = neo_op2(m, NEO_OP_LE, b.leaves, at);
    break;
  case LEVELS_LATER:
    c = neo_op2(m, NEO_OP_LE, b.second, at);
    implied = neo_op2(m, NEO_OP_LE, b.leaves, at);
    break;
  default:
    return;
  }
  uint32_t *finish = NEO_NEW_ARRAY(x->s->a, uint32_t, d.finish.n + 1);
  for (uint32_t k = 0; k < d.finish.n; k++) {
    neo_expr value = neo_list_expr(m, d.finish, k);
    neo_type type = neo_expr_type(m, value);
    neo_expr none = neo_const_int(m, type, 0);
    value = neo_expr_rewrite(m, value, take_branch, &(assumed){c, implied});
    finish[k] = neo_op3(m, NEO_OP_SELECT, c, value, none).i;
    neo_tensor_at(m, neo_list_tensor(m, d.out, k))->partial = true;
  }
  neo_def_at(m, id)->finish = neo_list_new(m, finish, d.finish.n);
}

levels_ordered levels_tensors_in_order(levels *s) {
  size_t n = s->m->tensors.n;
  levels_ordered x = {NEO_NEW_ARRAY(s->a, bool, n), NEO_NEW_ARRAY(s->a, levels_graph *, n),
                      NEO_NEW_ARRAY(s->a, uint32_t, n)};
  for (uint32_t t = 1; t < s->n_tensors; t++)
    if (s->of[t].graph) {
      uint32_t to = s->of[t].to.i;
      x.wanted[to] = true;
      x.graph[to] = s->of[t].graph;
      x.dim[to] = s->of[t].dim;
    }
  return x;
}

levels_needs levels_needs_begin(levels *s) {
  neo_def *defs;
  levels_needs x = {.s = s, .n = neo_needed_defs(s->m, false, s->a, &defs)};
  x.defs = defs;
  x.need = NEO_NEW_ARRAY(s->a, uint32_t, s->m->tensors.n);
  x.in = levels_tensors_in_order(s);
  return x;
}

void levels_leave_out(levels *s) {
  levels_needs x = levels_needs_begin(s);
  x.own = levels_own_need;
  x.of = levels_need_of;
  for (size_t k = 0; k < x.n; k++)
    leave_out_sum(&x, x.defs[k]);
  levels_needs_find(&x);
  for (size_t k = 0; k < x.n; k++)
    leave_out(&x, x.defs[k]);
  levels_read_originals(&x);
}
