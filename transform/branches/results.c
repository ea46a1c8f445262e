/* Reads of a branch's tensor become reads of the result where the branch was taken; see branches.h.
 * The branch and its result are computed in one recurrence; the reader is in another one or in
 * none, so it comes after both. */
#include "ir/choice.h"
#include "ir/component.h"
#include "transform/branches/branches.h"

enum { MOST_DEPTH = 40, MOST_ARGUMENTS = 20 };

typedef struct { /* a branch's tensor: the result that takes it, and where */
  neo_tensor of;
  uint32_t number;      /* recurrence of both */
  neo_conditions taken; /* conditions over axes of the tensor */
} branch;

typedef struct {
  branches *b;
  neo_module *m;
  const uint32_t *number; /* recurrences, by definition */
  branch *of;             /* branches, by tensor */
  neo_def def;            /* current definition */
  neo_map made;           /* (place, expression of the definition) -> its replacement */
  uint32_t n_places;
} results;

typedef struct { /* a point in an expression, and what holds there */
  neo_conditions holds;
  uint32_t number, depth;
} place;

static neo_conditions with(const results *r, const neo_conditions *c, neo_expr e) {
  neo_expr *at = NEO_NEW_ARRAY(r->b->a, neo_expr, c->n + NEO_MOST_CHOICES);
  uint32_t n = 0;
  for (uint32_t k = 0; k < c->n; k++)
    at[n++] = c->at[k];
  (void)neo_condition_add(r->m, at, &n, c->n + NEO_MOST_CHOICES, e);
  return (neo_conditions){n, at};
}

/* ---- results */

static bool is_own_element(const neo_module *m, const neo_node *n) {
  for (uint32_t k = 0; k < n->arg.n; k++)
    if (neo_list_at(m, n->arg, k) != neo_axis_ref((neo_module *)(uintptr_t)m, k).i)
      return false;
  return n->op == NEO_OP_LOAD;
}

static bool are_conditions(const neo_module *m, neo_expr e) {
  if (neo_expr_node(m, e)->op != NEO_OP_AND)
    return neo_is_point_condition(m, e);
  return are_conditions(m, neo_expr_arg(m, e, 0)) && are_conditions(m, neo_expr_arg(m, e, 1));
}

/* Notes the tensors that a result chooses from. For a tensor that is chosen in two places, one of
 * them is enough. */
static void note_branches(results *r, neo_expr e, neo_conditions taken) {
  neo_module *m = r->m;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor z = neo_def_out(m, r->def, 0), t = {n.attr};
  if (n.op == NEO_OP_SELECT) {
    neo_expr c = neo_list_expr(m, n.arg, 0);
    if (!are_conditions(m, c))
      return;
    note_branches(r, neo_list_expr(m, n.arg, 1), with(r, &taken, c));
    note_branches(r, neo_list_expr(m, n.arg, 2), with(r, &taken, neo_op1(m, NEO_OP_NOT, c)));
  } else if (is_own_element(m, &n) && neo_choice_is_like(m, t, z)) {
    neo_list pieces = neo_tensor_at(m, t)->pieces;
    uint32_t own = pieces.n == 1 ? r->number[neo_list_at(m, pieces, 0)] : 0;
    if (taken.n && own && own == r->number[r->def.i])
      r->of[n.attr] = (branch){z, own, taken};
  }
}

static void find_result(results *r, neo_def d) {
  const neo_def_rec *x = neo_def_at(r->m, d);
  r->def = d;
  if (x->reducer != NEO_RED_NONE || x->out.n != 1 || x->out_map.n || x->finish.n != 1 ||
      neo_tensor_at(r->m, neo_list_tensor(r->m, x->out, 0))->pieces.n != 1 ||
      !neo_type_is_float(neo_expr_type(r->m, neo_list_expr(r->m, x->finish, 0))))
    return;
  note_branches(r, neo_list_expr(r->m, x->finish, 0), (neo_conditions){0});
}

/* ---- reads */

static neo_expr rewritten(results *r, neo_expr e, const place *at);

/* The place in a select whose side is taken where c holds. */
static place side_of(results *r, const place *at, neo_expr c) {
  return (place){with(r, &at->holds, c), r->n_places++, at->depth + 1};
}

static neo_expr rewritten_select(results *r, const neo_node *n, const place *at) {
  neo_module *m = r->m;
  neo_expr c = neo_list_expr(m, n->arg, 0);
  place yes = side_of(r, at, c), no = side_of(r, at, neo_op1(m, NEO_OP_NOT, c));
  neo_expr x = rewritten(r, neo_list_expr(m, n->arg, 1), &yes);
  neo_expr y = rewritten(r, neo_list_expr(m, n->arg, 2), &no);
  return neo_op3(m, NEO_OP_SELECT, c, x, y);
}

/* Is the branch taken at the position that is read? */
static bool was_taken(results *r, const neo_node *n, const neo_conditions *holds) {
  const branch *b = &r->of[n->attr];
  neo_expr index[MOST_ARGUMENTS];
  bool taken = b->of.i && b->number != r->number[r->def.i];
  for (uint32_t k = 0; k < n->arg.n; k++)
    index[k] = neo_list_expr(r->m, n->arg, k);
  for (uint32_t k = 0; k < b->taken.n && taken; k++) {
    neo_expr e = neo_expr_subst_axes(r->m, b->taken.at[k], index, n->arg.n);
    taken = neo_condition_where(r->m, holds->at, holds->n, e) == NEO_CONDITION_HOLDS;
  }
  return taken;
}

static neo_expr rewritten_node(results *r, neo_expr e, const place *at) {
  neo_module *m = r->m;
  neo_node n = *neo_expr_node(m, e);
  neo_expr arg[MOST_ARGUMENTS];
  if (n.op == NEO_OP_SELECT && at->depth < MOST_DEPTH)
    return rewritten_select(r, &n, at);
  bool same = n.op != NEO_OP_LOAD || !was_taken(r, &n, &at->holds);
  n.attr = same ? n.attr : r->of[n.attr].of.i;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    neo_expr from = neo_list_expr(m, n.arg, k);
    arg[k] = rewritten(r, from, at);
    same = same && arg[k].i == from.i;
  }
  return same ? e : neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
}

static neo_expr rewritten(results *r, neo_expr e, const place *at) {
  uint64_t made, key = (uint64_t)at->number << 32 | e.i;
  if (neo_map_get(&r->made, key, &made))
    return (neo_expr){(uint32_t)made};
  neo_expr x = rewritten_node(r, e, at);
  neo_map_set(&r->made, key, x.i);
  return x;
}

static neo_list rewritten_list(results *r, neo_list l, neo_conditions holds) {
  uint32_t id[NEO_DEF_AXES];
  place at = {holds, r->n_places++, 0};
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = rewritten(r, neo_list_expr(r->m, l, k), &at).i;
  return neo_list_new(r->m, id, l.n);
}

static bool reads_branch(const results *r, neo_def d) {
  neo_tensor *in;
  bool found = false;
  for (size_t n = neo_def_reads(r->m, d, r->b->a, &in), k = 0; k < n && !found; k++)
    found = r->of[in[k].i].of.i;
  return found;
}

static void rewrite_reads(results *r, neo_def d) {
  neo_def_rec x = *neo_def_at(r->m, d);
  const neo_conditions holds = r->b->of[d.i];
  neo_conditions in_body = x.where.i ? with(r, &holds, x.where) : holds;
  r->def = d;
  if (!reads_branch(r, d))
    return;
  neo_map_init(&r->made, r->b->a);
  x.body = rewritten_list(r, x.body, in_body);
  x.finish = rewritten_list(r, x.finish, holds);
  *neo_def_at(r->m, d) = x;
}

void branches_read_results(branches *b) {
  neo_module *m = b->m;
  uint32_t *number = NEO_NEW_ARRAY(b->a, uint32_t, m->defs.n);
  if (!neo_recurrences(m, b->order, b->n, b->a, number))
    return;
  results r = {.b = b, .m = m, .number = number};
  r.of = NEO_NEW_ARRAY(b->a, branch, m->tensors.n);
  for (size_t k = 0; k < b->n; k++)
    find_result(&r, b->order[k]);
  for (size_t k = 0; k < b->n; k++)
    rewrite_reads(&r, b->order[k]);
}
