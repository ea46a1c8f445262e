/* Slices of one iteration. A tensor that is read at one iteration, usually the last, gets a tensor
 * for it, computed after the loop of its chunk_loop (fusion/search/needs.c), so that nothing reads
 * all iterations:
 *
 *     L[] = sum[j] h[T-1, j]^2
 *     ->
 *     slice.u[j] = (chunk.u[Q-1, T-1 - (Q-1)*K, j] else 0),   L[] = sum[j] slice.u[j]^2 */
#include "ir/define.h"
#include "transform/checkpoint/parts.h"
#include <string.h>

/* Chunk and position in it of iteration e; the last iteration is in the last chunk. */
static void place_iteration(const checkpoints *c, neo_expr e, neo_expr *chunk,
                            neo_expr *iteration) {
  neo_module *m = c->m;
  neo_expr n = checkpoint_number(c, c->chunk);
  *chunk = neo_op2(m, NEO_OP_DIV, e, n);
  *iteration = neo_op2(m, NEO_OP_MOD, e, n);
  if (checkpoint_sum(c, e, 0).i != checkpoint_sum(c, c->iterations, -1).i)
    return;
  *chunk = checkpoint_sum(c, c->chunks, -1);
  *iteration = neo_op2(m, NEO_OP_SUB, e, neo_op2(m, NEO_OP_MUL, *chunk, n));
}

/* Defines the slice of tensor t, made by d, at iteration one[axis]; along others at one[k], or
 * whole. */
static neo_tensor define_slice(checkpoints *c, uint32_t d, neo_tensor t, const neo_expr *one) {
  neo_module *m = c->m;
  neo_tensor chunked = checkpoint_chunked(c, c->def[d].home, t);
  neo_def_rec of = *neo_def_at(m, (neo_def){d}), r = {.span = of.span};
  uint32_t id[NEO_DEF_AXES], along = checkpoint_place(c, c->def[d].axis);
  neo_expr at[NEO_DEF_AXES];
  for (uint32_t k = 0; k < of.n_out; k++)
    if (!one[k].i) {
      id[r.n_out] = neo_list_at(m, of.axes, k);
      at[checkpoint_place(c, k)] = neo_axis_ref(m, r.n_out++);
    } else {
      at[checkpoint_place(c, k)] = one[k];
    }
  place_iteration(c, one[c->def[d].axis], &at[checkpoint_chunk_place(c)], &at[along]);
  neo_type type = neo_tensor_type(m, t);
  neo_expr value =
      neo_load_else(m, chunked, at, of.n_out + 1, neo_const_int(c->m, type, 0), of.span);
  r.origin = of.origin ? of.origin : d;
  r.axes = neo_list_new(m, id, r.n_out);
  r.finish = neo_list_one(m, value.i);
  neo_temp x = {.prefix = "slice", .like = t, .type = type, .bound = neo_tensor_at(m, t)->bound};
  return neo_temp_define(m, &x, r);
}

static neo_tensor slice_of(checkpoints *c, uint32_t d, neo_tensor t, const neo_expr *one) {
  uint32_t rank = neo_tensor_rank(c->m, t);
  for (size_t k = 0; k < c->slices.n; k++)
    if (c->slices.at[k].of.i == t.i && !memcmp(c->slices.at[k].one, one, rank * sizeof *one))
      return c->slices.at[k].part;
  checkpoint_part y = {.of = t};
  memcpy(y.one, one, rank * sizeof *one);
  y.part = define_slice(c, d, t, one);
  NEO_PUSH(c->a, &c->slices, y);
  return y.part;
}

static neo_expr read_slice(void *ctx, neo_module *m, neo_expr e) {
  checkpoints *c = ctx;
  neo_node n = *neo_expr_node(m, e);
  uint32_t d = neo_node_is_load(&n) ? checkpoint_maker(c, n.attr) : 0;
  if (!d || c->def[d].kind != CHECKPOINT_RUNS || !c->def[d].home)
    return e;
  uint32_t along = c->def[d].axis, rank = neo_tensor_rank(m, (neo_tensor){n.attr}), next = 0;
  neo_expr iteration = neo_list_expr(m, n.arg, along), at[NEO_DEF_AXES], one[NEO_DEF_AXES];
  if (!checkpoint_is_over_sizes(m, iteration))
    return e;
  for (uint32_t k = 0; k < rank; k++) {
    one[k] = k == along ? iteration : checkpoint_one_element(c, n, k);
    if (!one[k].i)
      at[next++] = neo_list_expr(m, n.arg, k);
  }
  neo_tensor slice = slice_of(c, d, (neo_tensor){n.attr}, one);
  if (n.op == NEO_OP_LOAD)
    return neo_load(m, slice, at, next, n.span);
  neo_expr other = neo_list_expr(m, n.arg, rank);
  neo_expr value = neo_load_else(m, slice, at, next, other, n.span);
  neo_expr is = neo_between(m, checkpoint_number(c, 0), iteration, c->iterations);
  return neo_op3(m, NEO_OP_SELECT, is, value, other);
}

void checkpoint_read_slices(checkpoints *c) {
  uint32_t n = (uint32_t)c->m->defs.n;
  for (uint32_t d = 1; d < n; d++)
    if (neo_def_at(c->m, (neo_def){d})->out.n && (d >= c->n_defs || c->def[d].needed))
      neo_def_rewrite(c->m, (neo_def){d}, read_slice, c);
}
