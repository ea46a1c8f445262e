/* Branches that a run-time `case` may not take.
 *
 *     a[n] = sum[k] where far[]; x[n, k]*y[k],   z[n] = a[n] + b[n]
 *     ->
 *     a[n] = sum[k] x[n, k]*y[k],   z[n] = select(far[], a[n], 0) + b[n]
 *
 * A sum that a condition empties is zero where it does not hold (gradients of branches are written so): who reads
 * it asks for the condition. Then it is needed under the condition alone (ir/needed.h), as what is chosen by a
 * select is. In such definitions the condition holds: they are products, vectors and recurrences like any
 * others, and their kernels are left out where it does not (codegen/guard.h). */
#include "ir/comparison.h"
#include "ir/layout.h"
#include "ir/needed.h"
#include "ir/verify.h"
#include "transform/transform.h"

enum { MOST_CONJUNCTS = 64 };

typedef struct {
  uint32_t n;
  neo_expr at[MOST_CONJUNCTS];
} zero_where;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  zero_where *zero; /* by tensor: it is 0 but where these hold */
  neo_conditions holds; /* of the definition at hand */
} branches;

/* ---- sums that conditions empty */

static bool is_zero(const branches *b, neo_expr e) {
  double x;
  return neo_expr_is_float(b->m, e, &x) && x == 0;
}

/* Is the expression 0 where the accumulator is? */
static bool follows_acc(const branches *b, neo_expr e) {
  neo_module *m = b->m;
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_ACC || is_zero(b, e))
    return true;
  if (n.op == NEO_OP_NEG)
    return follows_acc(b, neo_list_expr(m, n.arg, 0));
  if (n.op != NEO_OP_MUL && n.op != NEO_OP_ADD && n.op != NEO_OP_SUB)
    return false;
  neo_expr x = neo_list_expr(m, n.arg, 0), y = neo_list_expr(m, n.arg, 1);
  bool first = follows_acc(b, x), second = follows_acc(b, y);
  if (n.op != NEO_OP_MUL)
    return first && second;
  /* a factor that is not constant may be infinite */
  return (first && neo_expr_node(m, y)->op == NEO_OP_CONST) ||
         (second && neo_expr_node(m, x)->op == NEO_OP_CONST);
}

static void find_zero(branches *b, uint32_t id) {
  neo_module *m = b->m;
  neo_def_rec d = *neo_def_at(m, (neo_def){id});
  neo_expr part[MOST_CONJUNCTS];
  uint32_t n = 0;
  neo_tensor t = {d.out.n ? neo_list_at(m, d.out, 0) : 0};
  if (d.reducer != NEO_RED_SUM || !d.where.i || d.out.n != 1 || d.out_map.n ||
      neo_tensor_at(m, t)->pieces.n != 1 || neo_tensor_at(m, t)->role != NEO_ROLE_TEMP ||
      !neo_type_is_float((neo_type)neo_tensor_at(m, t)->type) ||
      !follows_acc(b, neo_list_expr(m, d.finish, 0)) ||
      !neo_condition_parts(m, d.where, part, &n, MOST_CONJUNCTS))
    return;
  zero_where *z = &b->zero[t.i];
  for (uint32_t k = 0; k < n; k++)
    if (neo_is_condition(m, part[k]))
      z->at[z->n++] = part[k];
}

static neo_expr read_under(void *ctx, neo_module *m, neo_expr e) {
  const branches *b = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (n.op != NEO_OP_LOAD || !b->zero[n.attr].n)
    return e;
  neo_expr where = neo_conjunction(m, b->zero[n.attr].at, b->zero[n.attr].n);
  return neo_op3(m, NEO_OP_SELECT, where, e, neo_const_int(m, (neo_type)n.type, 0));
}

/* ---- what holds in a branch */

/* The condition as a constant, if it is known; 0: it is not. */
static neo_expr known(const branches *b, neo_expr e) {
  if (neo_expr_type(b->m, e) != NEO_BOOL_T || neo_expr_node(b->m, e)->op == NEO_OP_CONST)
    return (neo_expr){0};
  neo_condition_value v = neo_condition_where(b->m, b->holds.at, b->holds.n, e);
  return v == NEO_CONDITION_OPEN ? (neo_expr){0}
                                 : neo_const_bool(b->m, v == NEO_CONDITION_HOLDS);
}

static neo_expr decide(void *ctx, neo_module *m, neo_expr e) {
  const branches *b = ctx;
  neo_node n = *neo_expr_node(m, e);
  int64_t c;
  if (n.op == NEO_OP_SELECT && neo_expr_is_int(m, neo_list_expr(m, n.arg, 0), &c))
    return neo_list_expr(m, n.arg, c ? 1 : 2);
  neo_expr x = known(b, e);
  return x.i ? x : e;
}

/* Some pass may compute it where the condition does not hold: what is read has to be in range there, too. */
static void decide_def(branches *b, neo_def d, const neo_conditions *holds) {
  int64_t always;
  neo_def_rec before = *neo_def_at(b->m, d);
  b->holds = *holds;
  neo_def_rewrite(b->m, d, decide, b);
  neo_def_rec *r = neo_def_at(b->m, d);
  if (r->where.i && neo_expr_is_int(b->m, r->where, &always) && always)
    r->where.i = 0;
  if (!neo_unproved_read(b->p, d, b->a).i)
    return;
  *neo_def_at(b->m, d) = before;
}

/* ---- the pass */

/* By tensor: users see it, or the first value of a parameter follows from it. */
static bool *needed_always(neo_module *m, neo_arena *a) {
  bool *always = neo_named_tensors(m, a);
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    neo_tensor *read;
    neo_def init = m->tensors.at[t].init;
    size_t n = init.i ? neo_def_reads(m, init, a, &read) : 0;
    for (size_t k = 0; k < n; k++)
      always[read[k].i] = true;
  }
  return always;
}

neo_status neo_pass_branches(neo_module *m, const neo_pass_target *target) {
  (void)target;
  neo_arena scratch;
  neo_def *order;
  neo_arena_init(&scratch, m->arena->alloc, m->arena->on_fail);
  branches b = {.m = m, .a = &scratch, .p = neo_prover_new(m)};
  uint32_t n_roots = 0;
  const bool *always = needed_always(m, &scratch);
  b.zero = NEO_NEW_ARRAY(&scratch, zero_where, m->tensors.n);
  neo_tensor *roots = NEO_NEW_ARRAY(&scratch, neo_tensor, m->tensors.n);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (always[t])
      roots[n_roots++].i = t;
  for (uint32_t d = 1; d < m->defs.n; d++)
    find_zero(&b, d);
  for (uint32_t d = 1; d < m->defs.n; d++)
    neo_def_rewrite(m, (neo_def){d}, read_under, &b);
  size_t n = neo_module_topo(m, roots, n_roots, &scratch, &order, NULL);
  neo_needed_input in = {order, n, always, NULL, false};
  const neo_conditions *of = neo_needed_where(m, &in, &scratch);
  for (size_t k = 0; k < n && of; k++)
    if (of[order[k].i].n)
      decide_def(&b, order[k], &of[order[k].i]);
  neo_prover_free(b.p);
  neo_arena_free(&scratch);
  return NEO_OK;
}
