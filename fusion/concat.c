/* Parts of a concatenation (concat.h): the boxes into which conditions on one index divide the
 * result. A condition divides a box if it compares with a bound that provably lies in the box for
 * all sizes. Any other expression is the value of one part. */
#include "fusion/concat.h"
#include "ir/comparison.h"
#include "ir/element.h"

typedef struct {
  neo_prover *p;
  neo_module *m;
  neo_arena *a;
  const neo_group *g;
  neo_concat *out;
  uint32_t rank;
} finder;

/* ---- inline members */

/* The definition of inline t, if it is a plain expression; null: none. */
static const neo_def_rec *inline_def(const finder *x, uint32_t t) {
  for (size_t k = 0; k < x->g->members.n; k++) {
    const neo_member *y = &x->g->members.at[k];
    const neo_def_rec *d = neo_def_at(x->m, y->def);
    if (y->place == NEO_PLACE_INLINE && d->reducer == NEO_RED_NONE && d->out.n == 1 &&
        !d->out_map.n && neo_list_at(x->m, d->out, 0) == t)
      return d;
  }
  return NULL;
}

static neo_expr put_in(void *ctx, neo_module *m, neo_expr e) {
  finder *x = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr index[NEO_CONCAT_RANK];
  const neo_def_rec *d = n.op == NEO_OP_LOAD ? inline_def(x, n.attr) : NULL;
  if (!d || n.arg.n > NEO_CONCAT_RANK)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  neo_expr value = neo_list_expr(m, d->finish, 0);
  value = neo_expr_subst_axes(m, value, index, n.arg.n);
  return neo_expr_rewrite(m, value, put_in, x);
}

/* ---- dividing conditions */

static bool is_of_sizes(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  bool is = neo_node_is_of_sizes(n);
  for (uint32_t k = 0; k < n->arg.n && is; k++)
    is = is_of_sizes(m, neo_list_expr(m, n->arg, k));
  return is;
}

typedef struct {
  uint32_t axis;
  neo_expr at; /* over constants and sizes */
  bool above;  /* the condition holds from `at` on; else below it */
} division;

/* Does the condition divide: 0 <= rest + axis, or 0 <= rest - axis? */
static bool divides(const finder *x, neo_expr cond, division *out) {
  neo_linear f, rest, one = {.constant = 1}, zero = {0};
  uint32_t k = 0;
  if (neo_comparison_of(x->m, cond, &f) != NEO_AT_LEAST_0 || !neo_linear_is_modest(x->m, &f))
    return false;
  while (k < f.n && neo_expr_node(x->m, f.term[k].atom)->op != NEO_OP_AXIS)
    k++;
  if (k == f.n || (f.term[k].coef != 1 && f.term[k].coef != -1))
    return false;
  *out = (division){neo_expr_node(x->m, f.term[k].atom)->attr, {0}, f.term[k].coef == 1};
  neo_linear axis = {.n = 1, .term = {{f.term[k].atom, 1}}};
  if (!neo_linear_add(&f, -f.term[k].coef, &axis, &rest) ||
      !(out->above ? neo_linear_add(&zero, -1, &rest, &rest)
                   : neo_linear_add(&rest, 1, &one, &rest)))
    return false;
  out->at = neo_linear_expr(x->m, &rest);
  return out->axis < x->rank && is_of_sizes(x->m, out->at);
}

static bool is_in(finder *x, neo_expr lo, neo_expr at, neo_expr hi) {
  return neo_proves(x->p, NULL, neo_op2(x->m, NEO_OP_LE, lo, at)) &&
         neo_proves(x->p, NULL, neo_op2(x->m, NEO_OP_LE, at, hi));
}

/* ---- parts */

/* Is a the expression b + c? */
static bool is_sum(neo_module *m, neo_expr a, neo_expr b, neo_expr c) {
  neo_linear x, y, d;
  return neo_linear_of(m, a, &x) && neo_linear_of(m, neo_op2(m, NEO_OP_ADD, b, c), &y) &&
         neo_linear_add(&x, -1, &y, &d) && d.n == 0 && d.constant == 0;
}

/* The tensor whose elements, in order, are the part; 0: none. */
static neo_tensor whole_tensor(finder *x, const neo_concat_part *part) {
  neo_module *m = x->m;
  const neo_node n = *neo_expr_node(m, part->value);
  neo_tensor none = {0}, t = {n.op == NEO_OP_LOAD ? n.attr : 0};
  if (!t.i || neo_tensor_at(m, t)->type != neo_tensor_at(m, x->out->out)->type ||
      n.arg.n != x->rank)
    return none;
  for (uint32_t k = 0; k < x->rank; k++)
    if (!is_sum(m, neo_axis_ref(m, k), neo_list_expr(m, n.arg, k), part->lo[k]) ||
        !is_sum(m, part->hi[k], neo_tensor_extent(m, t, k), part->lo[k]))
      return none;
  return t;
}

static bool look(finder *x, neo_concat_part *box) {
  const neo_node n = *neo_expr_node(x->m, box->value);
  division d;
  if (n.op == NEO_OP_SELECT && divides(x, neo_list_expr(x->m, n.arg, 0), &d) &&
      is_in(x, box->lo[d.axis], d.at, box->hi[d.axis])) {
    neo_concat_part below = *box, above = *box;
    below.hi[d.axis] = above.lo[d.axis] = d.at;
    below.value = neo_list_expr(x->m, n.arg, d.above ? 2 : 1);
    above.value = neo_list_expr(x->m, n.arg, d.above ? 1 : 2);
    return look(x, &below) && look(x, &above);
  }
  box->from = whole_tensor(x, box);
  NEO_PUSH(x->a, &x->out->parts, *box);
  return x->out->parts.n <= NEO_CONCAT_PARTS;
}

bool neo_concat_of(neo_prover *p, neo_arena *a, const neo_group *g, size_t k, neo_concat *out) {
  finder x = {p, neo_prover_module(p), a, g, out, 0};
  const neo_member *y = &g->members.at[k];
  const neo_def_rec d = *neo_def_at(x.m, y->def);
  *out = (neo_concat){0};
  if (y->place != NEO_PLACE_ROOT || y->row_block || d.reducer != NEO_RED_NONE || d.out.n != 1 ||
      d.out_map.n || !d.n_out || d.n_out > NEO_CONCAT_RANK)
    return false;
  out->out.i = neo_list_at(x.m, d.out, 0);
  x.rank = d.n_out;
  neo_concat_part all = {.from = {0}};
  all.value = neo_expr_rewrite(x.m, neo_list_expr(x.m, d.finish, 0), put_in, &x);
  if (neo_tensor_at(x.m, out->out)->pieces.n != 1 ||
      neo_expr_node(x.m, all.value)->op != NEO_OP_SELECT)
    return false;
  for (uint32_t i = 0; i < x.rank; i++) {
    all.lo[i] = neo_const_i64(x.m, 0);
    all.hi[i] = neo_tensor_extent(x.m, out->out, i);
  }
  return look(&x, &all) && out->parts.n > 1;
}
