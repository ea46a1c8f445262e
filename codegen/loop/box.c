/* Boxes of tensors that are copied as a whole, and the roles of who asks for them and who takes
 * them (loop.h, BULK, ROLES): which of either a kernel has. */
#include "codegen/loop/loop.h"
#include <assert.h>

const neo_ls *neo_kernel_roles(const neo_kernel *k) {
  const neo_block *b = &k->body;
  if (b->n == 1 && b->at[0]->kind == NEO_LS_FOR && b->at[0]->loop == NEO_LOOP_UNIT)
    b = &b->at[0]->body;
  return b->n == 1 && b->at[0]->kind == NEO_LS_ROLES ? b->at[0] : NULL;
}

int64_t neo_kernel_block_threads(const neo_kernel *k) {
  return neo_kernel_threads(k) + (neo_kernel_roles(k) ? NEO_WARPGROUP : 0);
}

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

static uint32_t collect(const neo_block *b, neo_kernel_map *out, uint32_t n) {
  for (size_t i = 0; i < b->n; i++) {
    const neo_ls *s = b->at[i];
    n = collect(&s->body, out, n);
    n = collect(&s->other, out, n);
    if (s->kind != NEO_LS_BULK)
      continue;
    uint32_t k = 0;
    while (k < n && !(out[k].buf == s->factor[0] && neo_box_same(out[k].box, s->box)))
      k++;
    assert(k < NEO_KERNEL_MAPS && "a kernel copies boxes of a few tensors");
    if (k == n)
      out[n++] = (neo_kernel_map){s->factor[0], s->box};
  }
  return n;
}

uint32_t neo_kernel_maps(const neo_kernel *k, neo_kernel_map out[NEO_KERNEL_MAPS]) {
  return collect(&k->body, out, 0);
}
