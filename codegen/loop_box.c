/* Boxes of tensors that are copied as a whole, and the roles of who asks for them and who takes
 * them (loop.h, BULK, ROLES): building them, and which tensors a kernel takes boxes of. */
#include "codegen/loop.h"
#include <assert.h>

static neo_ls *add(neo_kernel *k, neo_block *in, neo_ls_kind kind) {
  neo_ls *s = NEO_NEW(k->arena, neo_ls);
  s->kind = (uint8_t)kind;
  s->span = k->span;
  NEO_PUSH(k->arena, in, s);
  return s;
}

void neo_ls_bulk(neo_kernel *k, neo_block *in, uint32_t to, const neo_lx *offset, uint32_t from,
                 const neo_box *box, uint32_t phases, const neo_lx *phase) {
  neo_ls *s = add(k, in, NEO_LS_BULK);
  neo_box *own = NEO_NEW(k->arena, neo_box);
  *own = *box;
  s->attr = to;
  s->factor[0] = from;
  s->factor[1] = phases;
  s->n_index = 2;
  s->index[0] = offset;
  s->index[1] = phase;
  s->box = own;
}

void neo_ls_expect(neo_kernel *k, neo_block *in, uint32_t phases, const neo_lx *phase,
                   int64_t bytes) {
  neo_ls *s = add(k, in, NEO_LS_EXPECT);
  s->attr = phases;
  s->n_index = 1;
  s->index[0] = phase;
  s->step = bytes;
}

void neo_ls_reach(neo_kernel *k, neo_block *in, uint32_t phases, const neo_lx *phase,
                  const neo_lx *turn) {
  neo_ls *s = add(k, in, NEO_LS_REACH);
  s->attr = phases;
  s->n_index = 1;
  s->index[0] = phase;
  s->value = turn;
}

void neo_ls_arrive(neo_kernel *k, neo_block *in, uint32_t phases, const neo_lx *phase) {
  neo_ls *s = add(k, in, NEO_LS_ARRIVE);
  s->attr = phases;
  s->n_index = 1;
  s->index[0] = phase;
}

neo_ls *neo_ls_roles(neo_kernel *k, neo_block *in, const uint32_t *registers) {
  neo_ls *s = add(k, in, NEO_LS_ROLES);
  s->factor[0] = registers[0];
  s->factor[1] = registers[1];
  return s;
}

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
