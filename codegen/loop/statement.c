/* Building kernels: statements, each appended to a block. */
#include "codegen/loop/loop.h"
#include <assert.h>

static neo_ls *add(neo_kernel *k, neo_block *in, neo_ls_kind kind) {
  neo_ls *s = NEO_NEW(k->arena, neo_ls);
  s->kind = (uint8_t)kind;
  s->span = k->span;
  NEO_PUSH(k->arena, in, s);
  return s;
}

neo_ls *neo_ls_for(neo_kernel *k, neo_block *in, neo_loop_kind kind, uint32_t var, const neo_lx *lo,
                   const neo_lx *hi, int64_t step) {
  neo_ls *s = add(k, in, NEO_LS_FOR);
  s->loop = (uint8_t)kind;
  s->attr = var;
  s->lo = lo;
  s->hi = hi;
  s->step = step;
  if (kind == NEO_LOOP_UNIT)
    k->units = hi;
  return s;
}

neo_ls *neo_ls_if(neo_kernel *k, neo_block *in, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_IF);
  s->cond = cond;
  return s;
}

void neo_ls_reg(neo_kernel *k, neo_block *in, uint32_t reg) {
  add(k, in, NEO_LS_REG)->attr = reg;
}

void neo_ls_set(neo_kernel *k, neo_block *in, uint32_t reg, const neo_lx *const *index, size_t n,
                const neo_lx *value) {
  neo_ls *s = add(k, in, NEO_LS_SET);
  assert(n <= 4 && n == k->regs.at[reg].rank && value->type == k->regs.at[reg].type);
  s->attr = reg;
  s->n_index = (uint8_t)n;
  for (size_t i = 0; i < n; i++)
    s->index[i] = index[i];
  s->value = value;
}

void neo_ls_store(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                  const neo_lx *value, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_STORE);
  assert(buf < k->bufs.n && value->type == k->bufs.at[buf].type);
  s->attr = buf;
  s->n_index = 1;
  s->index[0] = offset;
  s->value = value;
  s->cond = cond;
}

void neo_ls_fetch(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset, bool far) {
  neo_ls *s = add(k, in, NEO_LS_FETCH);
  assert(buf < k->bufs.n && offset->type == NEO_I64_T);
  s->attr = buf;
  s->step = far ? 2 : 1;
  s->n_index = 1;
  s->index[0] = offset;
}

void neo_ls_tile(neo_kernel *k, neo_block *in, neo_tile_op op, const uint8_t *reg, uint32_t buf,
                 const neo_lx *offset, int64_t pitch) {
  neo_ls *s = add(k, in, NEO_LS_TILE);
  s->op = (uint8_t)op;
  for (uint32_t i = 0; i < neo_tile_rows[op].registers; i++)
    s->tile[i] = reg[i];
  if (!neo_tile_rows[op].memory)
    return;
  s->attr = buf;
  s->n_index = 1;
  s->index[0] = offset;
  s->step = pitch;
}

void neo_ls_warp(neo_kernel *k, neo_block *in, neo_warp_op op, const uint32_t *reg,
                 const neo_lx *const *fragment) {
  neo_ls *s = add(k, in, NEO_LS_WARP);
  s->op = (uint8_t)op;
  s->attr = reg[0];
  s->n_index = 3;
  for (int i = 0; i < 3; i++)
    s->index[i] = fragment[i];
  for (int i = 0; i < 2; i++)
    s->factor[i] = reg[1 + i];
}

void neo_ls_warp_read(neo_kernel *k, neo_block *in, neo_warp_op op, uint32_t reg,
                      const neo_lx *fragment, uint32_t buf, const neo_lx *offset) {
  neo_ls *s = add(k, in, NEO_LS_WARP);
  s->op = (uint8_t)op;
  s->attr = reg;
  s->factor[0] = buf;
  s->n_index = 2;
  s->index[0] = fragment;
  s->index[1] = offset;
}

void neo_ls_warpgroup(neo_kernel *k, neo_block *in, neo_warpgroup_op op, uint32_t acc,
                      const uint32_t *buf, const neo_lx *const *offset, const bool *turned,
                      int64_t beside) {
  neo_ls *s = add(k, in, NEO_LS_WARPGROUP);
  s->op = (uint8_t)op;
  s->attr = acc;
  s->n_index = 2;
  for (int i = 0; i < 2; i++) {
    s->factor[i] = buf[i];
    s->index[i] = offset[i];
    s->tile[i] = turned[i];
  }
  s->step = beside;
}

void neo_ls_await(neo_kernel *k, neo_block *in, uint32_t acc, int64_t left) {
  neo_ls *s = add(k, in, NEO_LS_AWAIT);
  s->attr = acc;
  s->step = left;
}

void neo_ls_copy(neo_kernel *k, neo_block *in, int64_t n, uint32_t to, const neo_lx *offset,
                 uint32_t from, const neo_lx *start, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_COPY);
  assert(to < k->bufs.n && from < k->bufs.n);
  s->attr = to;
  s->factor[0] = from;
  s->n_index = 2;
  s->index[0] = offset;
  s->index[1] = start;
  s->step = n;
  s->cond = cond;
}

void neo_ls_commit(neo_kernel *k, neo_block *in) {
  add(k, in, NEO_LS_COMMIT);
}

void neo_ls_wait(neo_kernel *k, neo_block *in, int64_t groups) {
  add(k, in, NEO_LS_WAIT)->step = groups;
}

void neo_ls_shuffle(neo_kernel *k, neo_block *in, uint32_t to, uint32_t from, neo_shuffle what,
                    int64_t n, int64_t of) {
  neo_ls *s = add(k, in, NEO_LS_SHUFFLE);
  assert(to < k->regs.n && from < k->regs.n);
  s->op = (uint8_t)what;
  s->attr = to;
  s->factor[0] = from;
  s->factor[1] = (uint32_t)of;
  s->step = n;
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
