/* The threads of a block, at points of the shared axes. */
#include "codegen/lower/gpu_rows/rows.h"

neo_block *neo_gpu_rows_open_threads(rows_kernel *p, neo_block *in) {
  lowering *l = p->l;
  uint32_t var = neo_kernel_var(l->k, "t");
  neo_ls *s = neo_ls_for(l->k, in, NEO_LOOP_THREAD, var, lx_int(l, 0), lx_int(l, p->threads), 1);
  p->thread = neo_lx_var(l->k, var);
  p->lane = p->across ? lx_div(l, p->thread, p->n) : lx_mod(l, p->thread, lx_int(l, p->lanes));
  return &s->loop.body;
}
