/* Partially dead branches: computation for a run-time `case` moves under the condition of its
 * readers.
 *
 *     a[n] = sum[k] where far[]; x[n, k]*y[k],   z[n] = a[n] + b[n]
 *     ->
 *     a[n] = sum[k] x[n, k]*y[k],   z[n] = select(far[], a[n], 0) + b[n]
 *
 * Gradients of branches are tensors that are zero where the branch is not taken. Their readers ask
 * for the condition instead, so that the tensor is needed under it alone (ir/needed.h), like the
 * side of a select. Inside such a definition the condition holds and is dropped: it becomes a plain
 * product, vector or recurrence, and its kernel is skipped where the condition fails
 * (codegen/guard.h).
 *
 * A `case` whose branches are heavy gets one tensor for each branch (arms.c). */
#include "transform/branches/branches.h"
#include "ir/layout.h"
#include "ir/loop_axes.h"
#include "ir/verify/verify.h"
#include "transform/transform.h"

/* ---- what holds in a branch */

/* The condition as a constant; 0: it is not known. */
static neo_expr known(const branches *b, neo_expr e) {
  if (neo_expr_type(b->m, e) != NEO_BOOL_T || neo_expr_node(b->m, e)->op == NEO_OP_CONST)
    return (neo_expr){0};
  neo_condition_value v = neo_condition_where(b->m, b->holds.at, b->holds.n, e);
  return v == NEO_CONDITION_OPEN ? (neo_expr){0} : neo_const_bool(b->m, v == NEO_CONDITION_HOLDS);
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

/* Replaces known conditions. Later passes may compute the definition where the condition does not
 * hold, so its reads have to be in range there too. */
static void decide_def(branches *b, neo_def d, const neo_conditions *holds) {
  int64_t always;
  neo_def_rec before = *neo_def_at(b->m, d);
  b->holds = *holds;
  neo_def_rewrite(b->m, d, decide, b);
  neo_def_rec *r = neo_def_at(b->m, d);
  if (r->where.i && neo_expr_is_int(b->m, r->where, &always) && always)
    r->where.i = 0;
  if (neo_unproved_read(b->p, d, b->a).i)
    *neo_def_at(b->m, d) = before;
}

/* ---- the pass */

/* By tensor: visible to users, or a source of a parameter's first value. */
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

/* Finds needed definitions, producers first, and their conditions. */
static void find_needed(branches *b) {
  neo_module *m = b->m;
  b->always = needed_always(m, b->a);
  neo_tensor *roots = NEO_NEW_ARRAY(b->a, neo_tensor, m->tensors.n);
  uint32_t n_roots = 0;
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (b->always[t])
      roots[n_roots++].i = t;
  b->n = neo_module_topo(m, roots, n_roots, b->a, &b->order, NULL);
  neo_needed_input in = {b->order, b->n, b->always, NULL, b->p};
  b->of = neo_needed_where(m, &in, b->a);
  b->loops = b->of ? neo_loop_axes(b->p, b->order, b->n, b->a) : NULL;
}

static void decide_all(branches *b) {
  find_needed(b);
  for (size_t k = 0; k < b->n && b->of; k++)
    if (b->of[b->order[k].i].n)
      decide_def(b, b->order[k], &b->of[b->order[k].i]);
}

neo_status neo_pass_branches(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  branches b = {.m = m, .a = pass->a, .p = pass->p};
  find_needed(&b);
  if (b.of) {
    branches_ask_for_zeros(&b);
    decide_all(&b);
    find_needed(&b); /* fewer definitions are needed now */
    if (b.of)
      branches_read_results(&b);
    if (b.of)
      branches_make_arms(&b);
    find_needed(&b);
    if (b.of)
      branches_ask_in_sums(&b);
  }
  return NEO_OK;
}
