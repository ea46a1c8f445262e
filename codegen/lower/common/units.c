/* Extents of shared axes, and the loop over units of work. */
#include "codegen/lower/common/scope.h"

const neo_lx *neo_lower_extent(lowering *l, uint32_t axis) {
  return lx_max(l, neo_lower_expr(l, l->f->axes.at[axis].hi), lx_int(l, 0));
}

const neo_lx *neo_lower_ceil_div(lowering *l, const neo_lx *x, int64_t n) {
  return n == 1 ? x : lx_div(l, lx_add(l, x, lx_int(l, n - 1)), n);
}

neo_block *neo_lower_open_units(lowering *l, neo_block *in, const neo_lx *n, const neo_lx **unit) {
  uint32_t u = neo_kernel_var(l->k, "u");
  neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_UNIT, u, lx_int(l, 0), n, 1);
  l->depth++;
  *unit = neo_lx_var(l->k, u);
  return &loop->loop.body;
}
