/* The stages that store a tile's sums. */
#include "codegen/lower/gpu_tile/tile.h"

void neo_btile_store_point(block_tile *x, neo_block *in, const neo_lx *const *at,
                           const neo_lx *sum) {
  lowering *l = x->p.l;
  const neo_lx *e[2];
  for (int k = 0; k < 2; k++) {
    const operand *o = &x->p.o[k];
    e[k] = lx_add(l, o->lo, at[k]);
    const neo_lx *exists = below(l, e[k], o->total, o->block);
    if (exists)
      in = &neo_ls_if(l->k, in, exists)->branch.then;
  }
  for (int k = 0; k < 2; k++)
    neo_btile_set_shared(l, x->p.o[k].axes, x->p.o[k].fast, e[k], NULL);
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    if (s->accs.n)
      continue;
    neo_lower_facts(l, l->f, s);
    l->acc_value = sum;
    neo_lower_store_point(l, in, s, NULL);
    l->acc_value = NULL;
  }
}
