/* Building kernels: statements, each appended to a block. */
#include "codegen/loop/loop.h"
#include <assert.h>

static neo_ls *add(neo_kernel *k, neo_block *in, neo_ls_kind kind) {
  neo_ls *s = NEO_NEW(k->arena, neo_ls);
  s->kind = kind;
  s->span = k->span;
  NEO_PUSH(k->arena, in, s);
  return s;
}

neo_ls *neo_ls_for(neo_kernel *k, neo_block *in, neo_loop_kind kind, uint32_t var, const neo_lx *lo,
                   const neo_lx *hi, int64_t step) {
  neo_ls *s = add(k, in, NEO_LS_FOR);
  s->loop.kind = kind;
  s->loop.var = var;
  s->loop.lo = lo;
  s->loop.hi = hi;
  s->loop.step = step;
  if (kind == NEO_LOOP_UNIT)
    k->units = hi;
  return s;
}

neo_ls *neo_ls_if(neo_kernel *k, neo_block *in, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_IF);
  s->branch.cond = cond;
  return s;
}

void neo_ls_reg(neo_kernel *k, neo_block *in, uint32_t reg) {
  add(k, in, NEO_LS_REG)->declare.reg = reg;
}

void neo_ls_set(neo_kernel *k, neo_block *in, uint32_t reg, const neo_lx *const *index, size_t n,
                const neo_lx *value) {
  neo_ls *s = add(k, in, NEO_LS_SET);
  assert(n <= NEO_RANK && n == k->regs.at[reg].rank && value->type == k->regs.at[reg].type);
  s->set.reg = reg;
  s->set.n_index = (uint8_t)n;
  for (size_t i = 0; i < n; i++)
    s->set.index[i] = index[i];
  s->set.value = value;
}

void neo_ls_store(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                  const neo_lx *value, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_STORE);
  assert(buf < k->bufs.n && value->type == k->bufs.at[buf].type);
  s->store.to = (neo_element){buf, offset};
  s->store.value = value;
  s->store.cond = cond;
}

void neo_ls_add(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset,
                const neo_lx *value) {
  neo_ls_store(k, in, buf, offset, value, NULL);
  in->at[in->n - 1]->store.adds = true;
}

void neo_ls_prefetch(neo_kernel *k, neo_block *in, uint32_t buf, const neo_lx *offset, bool l2) {
  neo_ls *s = add(k, in, NEO_LS_PREFETCH);
  assert(buf < k->bufs.n && offset->type == NEO_I64_T);
  s->prefetch.of = (neo_element){buf, offset};
  s->prefetch.l2 = l2;
}

void neo_ls_tile(neo_kernel *k, neo_block *in, neo_tile_op op, const uint8_t *reg, uint32_t buf,
                 const neo_lx *offset, int64_t pitch) {
  neo_ls *s = add(k, in, NEO_LS_TILE);
  s->tile.op = op;
  for (uint32_t i = 0; i < neo_tile_rows[op].registers; i++)
    s->tile.reg[i] = reg[i];
  if (!neo_tile_rows[op].memory)
    return;
  s->tile.element = (neo_element){buf, offset};
  s->tile.pitch = pitch;
}

void neo_ls_shuffle(neo_kernel *k, neo_block *in, uint32_t to, uint32_t from, neo_shuffle what,
                    int64_t n, int64_t of) {
  neo_ls *s = add(k, in, NEO_LS_SHUFFLE);
  assert(to < k->regs.n && from < k->regs.n);
  s->shuffle.what = what;
  s->shuffle.to = to;
  s->shuffle.from = from;
  s->shuffle.n = (uint32_t)n;
  s->shuffle.of = (uint32_t)of;
}

void neo_ls_vote(neo_kernel *k, neo_block *in, uint32_t any, uint32_t of) {
  neo_ls *s = add(k, in, NEO_LS_VOTE);
  assert(any < k->regs.n && of < k->regs.n);
  s->vote.any = any;
  s->vote.of = of;
}

void neo_ls_mma(neo_kernel *k, neo_block *in, neo_mma_op op, const uint32_t *reg,
                const neo_lx *const *fragment) {
  neo_ls *s = add(k, in, NEO_LS_MMA);
  s->mma.op = op;
  for (int i = 0; i < 3; i++)
    s->mma.part[i] = (neo_fragment){reg[i], fragment[i]};
}

void neo_ls_ldmatrix(neo_kernel *k, neo_block *in, neo_ldmatrix_op op, uint32_t reg,
                     const neo_lx *fragment, uint32_t buf, const neo_lx *offset) {
  neo_ls *s = add(k, in, NEO_LS_LDMATRIX);
  s->ldmatrix.op = op;
  s->ldmatrix.to = (neo_fragment){reg, fragment};
  s->ldmatrix.from = (neo_element){buf, offset};
}

void neo_ls_wgmma(neo_kernel *k, neo_block *in, neo_wgmma_op op, uint32_t acc, const uint32_t *buf,
                  const neo_lx *const *offset, const bool *transposed, int64_t across) {
  neo_ls *s = add(k, in, NEO_LS_WGMMA);
  s->wgmma.op = op;
  s->wgmma.acc = acc;
  for (int i = 0; i < 2; i++) {
    s->wgmma.factor[i] = (neo_element){buf[i], offset[i]};
    s->wgmma.transposed[i] = transposed[i];
  }
  s->wgmma.across = (uint32_t)across;
}

void neo_ls_wgmma_wait(neo_kernel *k, neo_block *in, uint32_t acc, int64_t pending) {
  neo_ls *s = add(k, in, NEO_LS_WGMMA_WAIT);
  s->wgmma_wait.acc = acc;
  s->wgmma_wait.pending = pending;
}

void neo_ls_copy(neo_kernel *k, neo_block *in, int64_t n, uint32_t to, const neo_lx *offset,
                 uint32_t from, const neo_lx *start, const neo_lx *cond) {
  neo_ls *s = add(k, in, NEO_LS_COPY);
  assert(to < k->bufs.n && from < k->bufs.n);
  s->copy.to = (neo_element){to, offset};
  s->copy.from = (neo_element){from, start};
  s->copy.elements = n;
  s->copy.cond = cond;
}

void neo_ls_copy_commit(neo_kernel *k, neo_block *in) {
  add(k, in, NEO_LS_COPY_COMMIT);
}

void neo_ls_copy_wait(neo_kernel *k, neo_block *in, int64_t pending) {
  add(k, in, NEO_LS_COPY_WAIT)->copy_wait.pending = pending;
}

void neo_ls_tma_copy(neo_kernel *k, neo_block *in, uint32_t to, const neo_lx *offset, uint32_t from,
                     const neo_box *box, uint32_t mbarriers, const neo_lx *which) {
  neo_ls *s = add(k, in, NEO_LS_TMA_COPY);
  s->tma_copy.to = (neo_element){to, offset};
  s->tma_copy.from = from;
  s->tma_copy.box = neo_arena_copy(k->arena, box, sizeof *box);
  s->tma_copy.mbarrier = (neo_element){mbarriers, which};
}

void neo_ls_expect_tx(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which,
                      int64_t bytes) {
  neo_ls *s = add(k, in, NEO_LS_EXPECT_TX);
  s->expect_tx.mbarrier = (neo_element){mbarriers, which};
  s->expect_tx.bytes = bytes;
}

void neo_ls_mbarrier_wait(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which,
                          const neo_lx *parity) {
  neo_ls *s = add(k, in, NEO_LS_MBARRIER_WAIT);
  s->mbarrier_wait.mbarrier = (neo_element){mbarriers, which};
  s->mbarrier_wait.parity = parity;
}

void neo_ls_mbarrier_arrive(neo_kernel *k, neo_block *in, uint32_t mbarriers, const neo_lx *which) {
  neo_ls *s = add(k, in, NEO_LS_MBARRIER_ARRIVE);
  s->mbarrier_arrive.mbarrier = (neo_element){mbarriers, which};
}

neo_ls *neo_ls_specialize(neo_kernel *k, neo_block *in, const uint32_t registers[2]) {
  neo_ls *s = add(k, in, NEO_LS_SPECIALIZE);
  for (int arm = 0; arm < 2; arm++)
    s->specialize.registers[arm] = registers[arm];
  return s;
}
