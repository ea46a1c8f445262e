/* Products of operands in shared memory by threads, with FMA. */
#include "codegen/lower/gpu_block/block.h"

uint32_t neo_gpu_get_values(lowering *l, neo_block *in, const char *name, neo_gpu_tile_dim s,
                            uint32_t buf, const neo_lx *start, const neo_lx *place) {
  const neo_lx *group, *lane;
  neo_reg r = {.name = name, .type = l->k->bufs.at[buf].type, .rank = 2};
  r.extent[0] = s.tile / s.vector;
  r.extent[1] = s.vector;
  uint32_t reg = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, reg);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", r.extent[0], &group);
  in = open_loop(l, in, NEO_LOOP_VECTOR, "l", s.vector, &lane);
  const neo_lx *at = lx_add(l, start, neo_gpu_group_at(l, s, place, group));
  neo_ls_set(l->k, in, reg, (const neo_lx *[]){group, lane}, 2,
             neo_lx_load(l->k, buf, lx_add(l, at, lane)));
  return reg;
}

void neo_gpu_add_product(lowering *l, neo_block *in, const neo_gpu_product *p, const neo_lx *test) {
  const neo_lx *at[] = {p->at[0].number, p->at[1].number}, *value[2];
  for (int k = 0; k < 2; k++)
    value[k] =
        neo_lx_reg(l->k, p->value[k], (const neo_lx *[]){p->at[k].group, p->at[k].element}, 2);
  const neo_lx *old = neo_lx_reg(l->k, p->acc, at, 2);
  const neo_lx *y = neo_lx_fma(l->k, value[0], value[1], old);
  if (test)
    y = neo_lx_op3(l->k, NEO_OP_SELECT, test, y, old);
  neo_ls_set(l->k, in, p->acc, at, 2, y);
}
