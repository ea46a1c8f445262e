/* The loops over the rows, columns and lanes of a register tile, and the values of its axes
 * there. */
#include "codegen/lower/common/scope.h"

static neo_block *open_unrolled(lowering *l, neo_block *in, neo_loop_kind kind, const char *name,
                                int64_t n, const neo_lx **v) {
  uint32_t var = neo_kernel_var(l->k, name);
  *v = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, kind, var, lx_int(l, 0), lx_int(l, n), 1)->loop.body;
}

static void set_tile_axes(lowering *l, const tile *t) {
  if (t->m_axis >= 0) {
    axis_value v = {.n = 0};
    neo_lower_push_part(&v, t->m_at, 1, t->m_depth);
    neo_lower_push_part(&v, l->row, 1, DEPTH_UNROLL);
    neo_lower_set_parts(l, (uint32_t)t->m_axis, v);
  }
  if (t->n_axis >= 0) {
    axis_value v = {.n = 0};
    bool shared = neo_lower_lanes_shared(l);
    neo_lower_push_part(&v, t->n_at, 1, t->n_depth);
    neo_lower_push_part(&v, l->col, shared ? t->width : 1, DEPTH_UNROLL);
    if (shared)
      neo_lower_push_part(&v, l->lane, 1, DEPTH_LANE);
    neo_lower_set_parts(l, (uint32_t)t->n_axis, v);
  }
}

neo_block *neo_lower_open_tile(lowering *l, neo_block *in, const tile *t, bool lanes) {
  l->row = l->col = l->lane = NULL;
  if (t->rows > 1)
    in = open_unrolled(l, in, NEO_LOOP_UNROLL, "r", t->rows, &l->row);
  if (t->cols > 1)
    in = open_unrolled(l, in, NEO_LOOP_UNROLL, "v", t->cols, &l->col);
  if (lanes && t->width > 1)
    in = open_unrolled(l, in, NEO_LOOP_VECTOR, "l", t->width, &l->lane);
  set_tile_axes(l, t);
  neo_lower_forget(l);
  if (t->n_end && t->n_axis >= 0) {
    l->mask = neo_lx_op2(l->k, NEO_OP_LT, neo_lower_axis(l, (uint32_t)t->n_axis), t->n_end);
    l->mask_axis = t->n_axis;
  }
  l->tile = t;
  return in;
}

void neo_lower_close_tile(lowering *l) {
  l->row = l->col = l->lane = l->mask = NULL;
  l->tile = NULL;
  neo_lower_forget(l);
}
