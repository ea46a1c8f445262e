/* Boxes of tensors that TMA copies take, and the list of a kernel's tensor maps. */
#include "codegen/loop/loop.h"
#include <assert.h>

int64_t neo_box_elements(const neo_box *b) {
  int64_t n = 1;
  for (uint32_t d = 0; d < b->rank; d++)
    n *= b->count[d];
  return n;
}

bool neo_box_same(const neo_box *a, const neo_box *b) {
  bool same = a->rank == b->rank;
  for (uint32_t d = 0; same && d < a->rank; d++)
    same =
        a->extent[d] == b->extent[d] && a->stride[d] == b->stride[d] && a->count[d] == b->count[d];
  return same;
}

typedef struct {
  neo_kernel_map *at;
  uint32_t n;
} maps;

static void collect(void *ctx, neo_ls *s) {
  maps *m = ctx;
  uint32_t k = 0;
  if (s->kind != NEO_LS_TMA_COPY)
    return;
  while (k < m->n &&
         !(m->at[k].buf == s->tma_copy.from && neo_box_same(m->at[k].box, s->tma_copy.box)))
    k++;
  assert(k < NEO_KERNEL_MAPS && "a kernel copies boxes of a few tensors");
  if (k == m->n)
    m->at[m->n++] = (neo_kernel_map){s->tma_copy.from, s->tma_copy.box};
}

uint32_t neo_kernel_maps(const neo_kernel *k, neo_kernel_map out[NEO_KERNEL_MAPS]) {
  maps m = {out, 0};
  neo_block_visit(&k->body, collect, &m);
  return m.n;
}
