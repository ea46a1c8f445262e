/* Ends of long sums where a guard fails leave the sum (index-set splitting: M. Griebl, P. Feautrier,
 * C. Lengauer, "Index set splitting"):
 *
 *     G[i, j] = sum[t: T, b] d[t, b, j]*(h[t-1, b, i] else 0)
 *     ->
 *     end.G[j] = sum[t: 1, b] d[t, b, j]*0
 *     G[i, j] = end.G[j] + sum[t: T-1, b] d[t+1, b, j]*h[t, b, i]
 *
 * Gradients of a recurrence's weights are such sums: its first round reads what was before it. In a product
 * each element of an operand is read again for many results, and a guard would be asked each time.
 * Values stay where they were, also those that are no numbers: nothing is left out because it is 0.
 *
 * A sum that is no product of two tensors is left alone, as is one of few terms, and what is part of a
 * recurrence: fusion/recurrence cuts that one's loops itself. */
#include "ir/component.h"
#include "ir/define.h"
#include "ir/product.h"
#include "ir/prove.h"
#include "transform/transform.h"

enum { MOST_FACTORS = 16, MOST_AXES = 64, LEAST_PARTS = 8, MOST_PEELED = 4 };

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def_rec r;
  neo_axis_rec axis[MOST_AXES];
  uint32_t n;      /* axes */
  uint32_t at;     /* the one whose range has an end */
  int64_t length;  /* of the end, in terms; 0: none was found */
  bool last;       /* it is the last terms, else the first */
  uint32_t guards; /* that are counted */
} peeling;

/* ---- whether it pays */

/* Do two factors lack an output axis each, that the other one has? */
static bool is_product(const peeling *p) {
  neo_expr factor[MOST_FACTORS];
  uint64_t out = ((uint64_t)1 << p->r.n_out) - 1;
  uint32_t n = 0;
  if (!neo_product_factors(p->m, neo_list_expr(p->m, p->r.body, 0), factor, &n, MOST_FACTORS))
    return false;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < i; k++) {
      uint64_t a = neo_expr_axes(p->m, factor[i]) & out, b = neo_expr_axes(p->m, factor[k]) & out;
      if ((a & ~b) && (b & ~a))
        return true;
    }
  return false;
}

/* Is the range of axis k from 0 on, over sizes, and long against its end? */
static bool is_long(const peeling *p, uint32_t k, int64_t length) {
  neo_facts none = {0};
  int64_t zero, least, most;
  neo_expr hi = p->axis[k].hi;
  return neo_expr_is_int(p->m, p->axis[k].lo, &zero) && zero == 0 && !neo_expr_axes(p->m, hi) &&
         !neo_expr_uses_op(p->m, hi, NEO_OP_LOAD) &&
         neo_interval(p->prover, &none, hi, &least, &most) && least >= length &&
         most >= LEAST_PARTS * length;
}

/* ---- where guards fail */

static void propose(peeling *p, uint32_t k, int64_t length, bool last) {
  if (!p->length && length > 0 && length <= MOST_PEELED && is_long(p, k, length)) {
    p->at = k;
    p->length = length;
    p->last = last;
  }
}

/* Position i of an axis of so many: where is i = axis k + constant outside? */
static void look_position(peeling *p, neo_expr i, neo_expr extent) {
  neo_module *m = p->m;
  neo_linear l, end;
  if (!neo_linear_of(m, i, &l) || l.n != 1 || l.term[0].coef != 1)
    return;
  const neo_node *atom = neo_expr_node(m, l.term[0].atom);
  if (atom->op != NEO_OP_AXIS || atom->attr < p->r.n_out || atom->attr >= p->n)
    return;
  propose(p, atom->attr, -l.constant, false);
  neo_expr past = neo_op2(m, NEO_OP_SUB, p->axis[atom->attr].hi, extent);
  if (neo_linear_of(m, past, &end) && !end.n)
    propose(p, atom->attr, end.constant + l.constant, true);
}

static void look_guard(void *ctx, neo_expr e) {
  peeling *p = ctx;
  const neo_node *n = neo_expr_node(p->m, e);
  neo_tensor t = {n->attr};
  if (n->op != NEO_OP_LOAD_ELSE)
    return;
  p->guards++;
  for (uint32_t k = 0; k < neo_tensor_rank(p->m, t); k++)
    look_position(p, neo_expr_arg(p->m, e, k), neo_tensor_extent(p->m, t, k));
}

static uint32_t guards_of(peeling *p, neo_expr e) {
  p->guards = 0;
  neo_expr_visit(p->m, e, look_guard, p);
  return p->guards;
}

/* ---- the two sums */

typedef struct {
  neo_axis_rec axis[MOST_AXES];
  neo_expr where, body;
} part;

/* The terms [from, from + n) of the axis, counted from the first of them. */
static part part_of(const peeling *p, neo_expr from, neo_expr n) {
  neo_module *m = p->m;
  neo_expr by[MOST_AXES] = {{0}};
  part x = {.where = p->r.where};
  by[p->at] = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, p->at), from);
  for (uint32_t k = 0; k < p->n; k++)
    x.axis[k] = p->axis[k];
  x.axis[p->at].hi = n;
  neo_facts f = {.axes = x.axis, .n_axes = p->n};
  x.body = neo_expr_subst_axes(m, neo_list_expr(m, p->r.body, 0), by, p->n);
  x.body = neo_simplify_under(p->prover, &f, x.body);
  if (x.where.i)
    x.where = neo_expr_subst_axes(m, x.where, by, p->n);
  return x;
}

static neo_list axes_of(neo_module *m, const neo_axis_rec *axis, uint32_t n) {
  uint32_t id[MOST_AXES];
  for (uint32_t k = 0; k < n; k++)
    id[k] = neo_axis_add(m, axis[k]).i;
  return neo_list_new(m, id, n);
}

/* The end's sum, over the output axes that it uses; returns the expression that reads it. */
static neo_expr sum_of_end(const peeling *p, neo_def d, part x) {
  neo_module *m = p->m;
  neo_expr by[MOST_AXES], at[MOST_AXES];
  uint64_t used = neo_expr_axes(m, x.body) | (x.where.i ? neo_expr_axes(m, x.where) : 0);
  neo_partial y = {.prefix = "end", .of = d, .reducer = NEO_RED_SUM};
  neo_axis_rec axis[MOST_AXES];
  uint32_t n = 0;
  for (uint32_t k = 0; k < p->n; k++) {
    bool out = k < p->r.n_out;
    by[k] = neo_axis_ref(m, n);
    if (out && !(used >> k & 1))
      continue;
    if (out)
      at[y.n_out++] = neo_axis_ref(m, k);
    axis[n++] = x.axis[k];
  }
  y.axes = axes_of(m, axis, n);
  y.body = neo_expr_subst_axes(m, x.body, by, p->n);
  y.where = x.where.i ? neo_expr_subst_axes(m, x.where, by, p->n) : x.where;
  return neo_load(m, neo_partial_define(m, &y), at, y.n_out, p->r.span);
}

/* Ranges of other axes do not depend on the one that is cut, and have no axes that the end may lack. */
static bool is_box(const peeling *p) {
  for (uint32_t k = 0; k < p->n; k++)
    if (neo_expr_axes(p->m, p->axis[k].lo) || neo_expr_axes(p->m, p->axis[k].hi))
      return false;
  return true;
}

static bool peel(peeling *p, neo_def d) {
  neo_module *m = p->m;
  neo_expr whole = neo_list_expr(m, p->r.body, 0), zero = neo_const_int(m, NEO_I64_T, 0);
  p->length = 0;
  uint32_t before = guards_of(p, whole);
  if (!p->length || !is_box(p))
    return false;
  neo_expr length = neo_const_int(m, NEO_I64_T, p->length);
  neo_expr most = neo_op2(m, NEO_OP_SUB, p->axis[p->at].hi, length);
  part rest = part_of(p, p->last ? zero : length, most);
  if (guards_of(p, rest.body) >= before)
    return false;
  neo_expr type = neo_acc_ref(m, neo_expr_type(m, whole), 0);
  neo_expr end = sum_of_end(p, d, part_of(p, p->last ? most : zero, length));
  neo_expr both = neo_op2(m, NEO_OP_ADD, type, end);
  uint32_t finish[MOST_AXES];
  for (uint32_t k = 0; k < p->r.finish.n; k++)
    finish[k] = neo_expr_replace(m, neo_list_expr(m, p->r.finish, k), type, both).i;
  p->r.finish = neo_list_new(m, finish, p->r.finish.n);
  p->r.axes = axes_of(m, rest.axis, p->n);
  p->r.where = rest.where;
  p->r.body = neo_list_new(m, &rest.body.i, 1);
  p->axis[p->at] = rest.axis[p->at];
  *neo_def_at(m, d) = p->r;
  return true;
}

static void peel_def(neo_module *m, neo_prover *prover, neo_def d) {
  peeling p = {.m = m, .prover = prover, .r = *neo_def_at(m, d)};
  p.n = p.r.axes.n;
  if (p.r.reducer != NEO_RED_SUM || p.r.body.n != 1 || p.n > MOST_AXES || !is_product(&p))
    return;
  for (uint32_t k = 0; k < p.n; k++)
    p.axis[k] = *neo_def_axis(m, &p.r, k);
  while (peel(&p, d))
    ;
}

neo_status neo_pass_peel_sums(neo_module *m, const neo_pass_target *target) {
  (void)target;
  neo_arena scratch;
  neo_arena_init(&scratch, m->arena->alloc, m->arena->on_fail);
  neo_prover *prover = neo_prover_new(m);
  bool *recurs = neo_recurrent_defs(m, &scratch);
  uint32_t n = (uint32_t)m->defs.n; /* more are made */
  for (uint32_t k = 1; k < n; k++) {
    neo_prover_at(prover, m->defs.at[k].span);
    if (!recurs[k])
      peel_def(m, prover, (neo_def){k});
  }
  neo_prover_free(prover);
  neo_arena_free(&scratch);
  return NEO_OK;
}
