/* The rules of statements for warps, matrix units and asynchronous copies (loop/verify.c has all
 * others, and the roles of threads). */
#include "codegen/loop/verify.h"
#include <string.h>

static void check_tile(verifier *v, const neo_ls *s) {
  if (s->tile.op >= NEO_TILE_OPS) {
    neo_lv_fail(v, "unknown tile operation %u", s->tile.op);
    return;
  }
  const neo_tile_row *row = &neo_tile_rows[s->tile.op];
  for (uint32_t i = 0; i < row->registers; i++) {
    if (s->tile.reg[i] >= NEO_TILE_COUNT)
      neo_lv_fail(v, "there is no tile register %u", s->tile.reg[i]);
    for (uint32_t j = 0; j < i; j++)
      if (s->tile.reg[i] == s->tile.reg[j])
        neo_lv_fail(v, "tile register %u is named twice", s->tile.reg[i]);
  }
  if (!row->memory)
    return;
  if (s->tile.element.buf >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", s->tile.element.buf);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->tile.element.buf];
  if (b->type != NEO_I32_T && b->type != NEO_F32_T)
    neo_lv_fail(v, "tiles are i32 or f32 in memory");
  if (row->memory == 'w' && !(b->use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH)))
    neo_lv_fail(v, "%s is not written", b->name);
  if (row->memory == 'r' && !(b->use & (NEO_BUF_READ | NEO_BUF_SCRATCH)))
    neo_lv_fail(v, "%s is not read", b->name);
  if (s->tile.pitch < 1)
    neo_lv_fail(v, "the pitch of a tile is positive");
  neo_lv_check_typed(v, s->tile.element.offset, NEO_I64_T, "an offset");
}

/* Part k of a product, the sum or a factor: a fragment of a register with threads. */
static void check_fragment(verifier *v, const neo_ls *s, int k) {
  uint32_t reg = s->mma.part[k].reg;
  uint8_t elements = neo_mma_elements[k], type = neo_mma_rows[s->mma.op].type[k];
  if (reg >= v->k->regs.n || !v->declared[reg]) {
    neo_lv_fail(v, "a register of a warp's product is used outside its block");
    return;
  }
  const neo_reg *r = &v->k->regs.at[reg];
  if (!r->threads || r->rank != 2 || r->extent[1] != elements || r->type != type) {
    neo_lv_fail(v, "register %s has no fragments of %u elements of %s for each thread", r->name,
                elements, neo_type_text((neo_type)type));
    return;
  }
  neo_lv_check_typed(v, s->mma.part[k].at, NEO_I64_T, "the number of a fragment");
  if (!v->failed)
    neo_lv_check_index(v, r, 0, s->mma.part[k].at);
}

/* Do all warps of the block come here? */
static void check_warps(verifier *v) {
  if (!v->threads || v->in_threads || v->threads % NEO_WARP)
    neo_lv_fail(v, "warps are of the threads of a block, outside of loops of threads");
}

static void check_mma(verifier *v, const neo_ls *s) {
  if (s->mma.op >= NEO_MMA_OPS) {
    neo_lv_fail(v, "unknown product %u of a warp", s->mma.op);
    return;
  }
  check_warps(v);
  for (int k = 0; k < 3 && !v->failed; k++)
    check_fragment(v, s, k);
  const neo_fragment *part = s->mma.part;
  if (!v->failed && (part[0].reg == part[1].reg || part[0].reg == part[2].reg))
    neo_lv_fail(v, "a warp's product is added to one of its factors");
}

/* Fragments that are filled exist, and have cells of the memory's elements. */
static void check_filled(verifier *v, const neo_ls *s) {
  const neo_ldmatrix_row *row = &neo_ldmatrix_rows[s->ldmatrix.op];
  uint32_t reg = s->ldmatrix.to.reg;
  if (reg >= v->k->regs.n || !v->declared[reg]) {
    neo_lv_fail(v, "a register of a warp's matrices is used outside its block");
    return;
  }
  neo_reg r = v->k->regs.at[reg];
  const neo_kbuf *b = &v->k->bufs.at[s->ldmatrix.from.buf];
  neo_type cell = b->type == NEO_F32_T ? NEO_F32_T : NEO_I32_T;
  if (!r.threads || r.rank != 2 || row->cells % r.extent[1] || r.type != cell) {
    neo_lv_fail(v, "register %s has no fragments of %u cells of %s for each thread", r.name,
                row->cells, neo_type_text(cell));
    return;
  }
  r.extent[0] -= row->cells / r.extent[1] - 1;
  neo_lv_check_typed(v, s->ldmatrix.to.at, NEO_I64_T, "the number of a fragment");
  if (!v->failed)
    neo_lv_check_index(v, &r, 0, s->ldmatrix.to.at);
}

static void check_ldmatrix(verifier *v, const neo_ls *s) {
  if (s->ldmatrix.op >= NEO_LDMATRIX_OPS) {
    neo_lv_fail(v, "unknown matrices %u of a warp", s->ldmatrix.op);
    return;
  }
  check_warps(v);
  if (s->ldmatrix.from.buf >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", s->ldmatrix.from.buf);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->ldmatrix.from.buf];
  const neo_ldmatrix_row *row = &neo_ldmatrix_rows[s->ldmatrix.op];
  bool narrow = b->type == NEO_F16_T || b->type == NEO_BF16_T;
  if (!(b->use & NEO_BUF_SCRATCH) || (!narrow && (b->type != NEO_F32_T || row->transposed)))
    neo_lv_fail(v, "%s has no matrices for %s", b->name, row->text);
  check_filled(v, s);
  v->in_threads = true; /* each thread names a place of its own */
  neo_lv_check_typed(v, s->ldmatrix.from.offset, NEO_I64_T, "an offset");
  v->in_threads = false;
}

/* Sums of whole tiles for each thread. */
static void check_sums(verifier *v, uint32_t reg) {
  if (v->failed)
    return;
  if (!v->threads || v->in_threads || v->threads % NEO_WARPGROUP)
    neo_lv_fail(v, "warpgroups are of the threads of a block, outside of loops of threads");
  else if (reg >= v->k->regs.n || !v->declared[reg])
    neo_lv_fail(v, "a register of a warpgroup's product is used outside its block");
  if (v->failed)
    return;
  const neo_reg *r = &v->k->regs.at[reg];
  if (!r->threads || r->rank != 2 || r->type != NEO_F32_T || 2 * r->extent[1] % NEO_WGMMA_COLUMNS ||
      2 * r->extent[1] > NEO_WGMMA_WIDEST)
    neo_lv_fail(v, "register %s has no sums of a warpgroup for each thread", r->name);
}

static void check_factor(verifier *v, const neo_ls *s, int i) {
  const neo_element *factor = &s->wgmma.factor[i];
  const neo_wgmma_row *row = &neo_wgmma_rows[s->wgmma.op];
  bool transposed = s->wgmma.transposed[i];
  if (v->failed)
    return;
  if (factor->buf >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", factor->buf);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[factor->buf];
  if (!(b->use & NEO_BUF_SCRATCH) || b->type != row->cell || !b->align ||
      b->align % NEO_WGMMA_ALIGN_BYTES)
    neo_lv_fail(v, "%s is no scratch of %s from a multiple of %d bytes on", b->name,
                neo_type_text((neo_type)row->cell), NEO_WGMMA_ALIGN_BYTES);
  if (transposed && !row->transposes)
    neo_lv_fail(v, "a factor of %s is not transposed", row->text);
  if (transposed && i && 2 * v->k->regs.at[s->wgmma.acc].extent[1] % NEO_WGMMA_SIDE)
    neo_lv_fail(v, "columns that are transposed are no multiple of %d", NEO_WGMMA_SIDE);
  neo_lv_check_typed(v, factor->offset, NEO_I64_T, "an offset");
}

static void check_wgmma(verifier *v, const neo_ls *s) {
  if (s->wgmma.op >= NEO_WGMMA_OPS) {
    neo_lv_fail(v, "unknown product %u of a warpgroup", s->wgmma.op);
    return;
  }
  check_sums(v, s->wgmma.acc);
  for (int i = 0; i < 2; i++)
    check_factor(v, s, i);
  if (!v->failed && (!s->wgmma.across || v->threads / NEO_WARPGROUP % s->wgmma.across))
    neo_lv_fail(v, "%u warpgroups across do not divide the block's", s->wgmma.across);
}

static void check_wgmma_wait(verifier *v, const neo_ls *s) {
  enum { MOST = 7 }; /* as far as the hardware counts */
  int64_t pending = s->wgmma_wait.pending;
  check_sums(v, s->wgmma_wait.acc);
  if (!v->failed && (pending < 0 || pending > MOST))
    neo_lv_fail(v, "%lld products are left, of at most %d", (long long)pending, MOST);
}

static void check_copy(verifier *v, const neo_ls *s) {
  if (s->copy.to.buf >= v->k->bufs.n || s->copy.from.buf >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u, or no buffer %u", s->copy.to.buf, s->copy.from.buf);
    return;
  }
  const neo_kbuf *to = &v->k->bufs.at[s->copy.to.buf], *from = &v->k->bufs.at[s->copy.from.buf];
  if (!v->in_threads)
    neo_lv_fail(v, "a copy stands outside of the thread loops");
  if (!(to->use & NEO_BUF_SCRATCH))
    neo_lv_fail(v, "%s is no scratch: nothing is copied there", to->name);
  if (from->use != NEO_BUF_READ || from->type != to->type)
    neo_lv_fail(v, "%s is not only read, or of another type than %s", from->name, to->name);
  int64_t bytes = s->copy.elements * neo_type_bytes((neo_type)to->type);
  if (bytes != 4 && bytes != 8 && bytes != NEO_COPY_BYTES)
    neo_lv_fail(v, "a copy is of 4, 8 or 16 bytes, not of %lld", (long long)bytes);
  neo_lv_check_typed(v, s->copy.to.offset, NEO_I64_T, "an offset");
  neo_lv_check_typed(v, s->copy.from.offset, NEO_I64_T, "an offset");
  if (s->copy.cond)
    neo_lv_check_typed(v, s->copy.cond, NEO_BOOL_T, "the condition of a copy");
}

static bool is_of_sizes(const neo_lx *e) {
  bool is = e->kind == NEO_LX_CONST || e->kind == NEO_LX_SIZE || e->kind == NEO_LX_OP;
  for (uint32_t i = 0; is && i < e->n; i++)
    is = is_of_sizes(e->arg[i]);
  return is;
}

static void check_axis(verifier *v, const neo_box *b, uint32_t d, int64_t size) {
  neo_lv_check_typed(v, b->at[d], NEO_I64_T, "where a box begins");
  neo_lv_check_typed(v, b->extent[d], NEO_I64_T, "an extent");
  if (v->failed)
    return;
  if (!is_of_sizes(b->extent[d]))
    neo_lv_fail(v, "the extent of a tensor that boxes are copied of depends on more than sizes");
  if (d ? b->stride[d] < 1 || b->stride[d] * size % NEO_COPY_BYTES : b->stride[d] != 1)
    neo_lv_fail(v, "elements %lld apart are not side by side, or no multiple of 16 bytes",
                (long long)b->stride[d]);
  if (b->count[d] < 1 || b->count[d] > NEO_BOX_MOST)
    neo_lv_fail(v, "a box has 1 to %d elements along an axis, not %lld", NEO_BOX_MOST,
                (long long)b->count[d]);
}

static void check_mbarrier(verifier *v, const neo_element *mbarrier) {
  if (v->failed)
    return;
  if (!v->threads || v->in_threads)
    neo_lv_fail(v, "mbarriers are of the threads of a block, outside of loops of threads");
  else if (mbarrier->buf >= v->k->bufs.n || !(v->k->bufs.at[mbarrier->buf].use & NEO_BUF_SCRATCH) ||
           v->k->bufs.at[mbarrier->buf].type != NEO_I64_T)
    neo_lv_fail(v, "mbarriers are scratch of i64");
  neo_lv_check_typed(v, mbarrier->offset, NEO_I64_T, "which mbarrier");
}

static void check_tma_copy(verifier *v, const neo_ls *s) {
  uint32_t to_buf = s->tma_copy.to.buf, from_buf = s->tma_copy.from;
  if (to_buf >= v->k->bufs.n || from_buf >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u, or no buffer %u", to_buf, from_buf);
    return;
  }
  const neo_kbuf *to = &v->k->bufs.at[to_buf], *from = &v->k->bufs.at[from_buf];
  const neo_box *b = s->tma_copy.box;
  int64_t size = neo_type_bytes((neo_type)to->type);
  check_mbarrier(v, &s->tma_copy.mbarrier);
  neo_lv_check_typed(v, s->tma_copy.to.offset, NEO_I64_T, "an offset");
  if (v->role == CONSUMERS)
    neo_lv_fail(v, "consumers ask for boxes of %s, which is the producer's", from->name);
  if (!(to->use & NEO_BUF_SCRATCH) || !to->align || to->align % NEO_WGMMA_ALIGN_BYTES)
    neo_lv_fail(v, "%s is no scratch from a multiple of %d bytes on", to->name,
                NEO_WGMMA_ALIGN_BYTES);
  if (from->use != NEO_BUF_READ || from->type != to->type)
    neo_lv_fail(v, "%s is not only read, or of another type than %s", from->name, to->name);
  if (b->rank < 2 || b->rank > NEO_BOX_RANK || b->count[0] * size != NEO_BOX_LINE_BYTES)
    neo_lv_fail(v, "a box has two to five axes, %d bytes along the first", NEO_BOX_LINE_BYTES);
  for (uint32_t d = 0; d < b->rank && !v->failed; d++)
    check_axis(v, b, d, size);
}

static void check_expect_tx(verifier *v, const neo_ls *s) {
  const neo_element *mbarrier = &s->expect_tx.mbarrier;
  check_mbarrier(v, mbarrier);
  if (v->failed)
    return;
  if (v->role == CONSUMERS)
    neo_lv_fail(v, "consumers begin phases of %s, which is the producer's",
                v->k->bufs.at[mbarrier->buf].name);
  if (s->expect_tx.bytes < 1)
    neo_lv_fail(v, "a phase of an mbarrier has bytes to come");
}

/* Checks a wait: the producer waits for arrivals of consumers, and consumers wait for bytes that
 * the producer issued. */
static void check_mbarrier_wait(verifier *v, const neo_ls *s) {
  const neo_element *mbarrier = &s->mbarrier_wait.mbarrier;
  check_mbarrier(v, mbarrier);
  if (!v->failed && v->role && !(v->role == PRODUCER ? v->arrived : v->expected)[mbarrier->buf])
    neo_lv_fail(v, "who waits for %s is who does what it waits for",
                v->k->bufs.at[mbarrier->buf].name);
  neo_lv_check_typed(v, s->mbarrier_wait.parity, NEO_I64_T, "a parity");
}

static void check_mbarrier_arrive(verifier *v, const neo_ls *s) {
  const neo_element *mbarrier = &s->mbarrier_arrive.mbarrier;
  check_mbarrier(v, mbarrier);
  if (!v->failed && v->role != CONSUMERS)
    neo_lv_fail(v, "nobody but consumers arrives at mbarriers of %s",
                v->k->bufs.at[mbarrier->buf].name);
}

static void check_groups(verifier *v, const neo_ls *s) {
  int64_t pending = s->kind == NEO_LS_COPY_WAIT ? s->copy_wait.pending : 0;
  if (!v->threads || v->in_threads)
    neo_lv_fail(v, "groups of copies are of a block's threads, outside of loops of threads");
  if (pending < 0 || pending > NEO_COPY_GROUPS)
    neo_lv_fail(v, "%lld groups of copies under way are not in 0..%d", (long long)pending,
                NEO_COPY_GROUPS);
}

static bool is_power_of_two(uint32_t n) {
  return n && !(n & (n - 1));
}

/* Between registers of the same elements for each thread, in parts of a warp. */
static void check_shuffle(verifier *v, const neo_ls *s) {
  uint32_t to = s->shuffle.to, from = s->shuffle.from, n = s->shuffle.n, of = s->shuffle.of;
  if (to >= v->k->regs.n || from >= v->k->regs.n || !v->declared[to] || !v->declared[from]) {
    neo_lv_fail(v, "a register of a shuffle is used outside its block");
    return;
  }
  const neo_reg *x = &v->k->regs.at[to], *y = &v->k->regs.at[from];
  if (!v->threads || v->in_threads)
    neo_lv_fail(v, "threads of a block shuffle outside of loops of threads");
  if (!x->threads || !y->threads || x->type != y->type || x->rank != y->rank ||
      memcmp(x->extent, y->extent, sizeof x->extent) != 0)
    neo_lv_fail(v, "registers %s and %s have not the same elements for each thread", x->name,
                y->name);
  if (!is_power_of_two(n) || !is_power_of_two(of) || of > NEO_WARP || n > of || v->threads % of)
    neo_lv_fail(v, "a shuffle of %u of %u threads is no part of a warp", n, of);
}

static bool is_one_bool(const neo_reg *r) {
  return r->type == NEO_BOOL_T && r->rank == 1 && r->extent[0] == 1;
}

static void check_vote(verifier *v, const neo_ls *s) {
  uint32_t any = s->vote.any, of = s->vote.of;
  if (any >= v->k->regs.n || of >= v->k->regs.n || !v->declared[any] || !v->declared[of]) {
    neo_lv_fail(v, "a register of a vote is used outside its block");
    return;
  }
  const neo_reg *x = &v->k->regs.at[any], *y = &v->k->regs.at[of];
  check_warps(v);
  if (x->threads || !y->threads || !is_one_bool(x) || !is_one_bool(y))
    neo_lv_fail(v, "%s is no bool of all threads, or %s none of each", x->name, y->name);
}

static void check_prefetch(verifier *v, const neo_ls *s) {
  if (s->prefetch.of.buf >= v->k->bufs.n)
    neo_lv_fail(v, "there is no buffer %u", s->prefetch.of.buf);
  neo_lv_check_typed(v, s->prefetch.of.offset, NEO_I64_T, "an offset");
}

static void (*const check_of[])(verifier *v, const neo_ls *s) = {
    [NEO_LS_PREFETCH] = check_prefetch,
    [NEO_LS_TILE] = check_tile,
    [NEO_LS_SHUFFLE] = check_shuffle,
    [NEO_LS_VOTE] = check_vote,
    [NEO_LS_MMA] = check_mma,
    [NEO_LS_LDMATRIX] = check_ldmatrix,
    [NEO_LS_WGMMA] = check_wgmma,
    [NEO_LS_WGMMA_WAIT] = check_wgmma_wait,
    [NEO_LS_COPY] = check_copy,
    [NEO_LS_COPY_COMMIT] = check_groups,
    [NEO_LS_COPY_WAIT] = check_groups,
    [NEO_LS_TMA_COPY] = check_tma_copy,
    [NEO_LS_EXPECT_TX] = check_expect_tx,
    [NEO_LS_MBARRIER_WAIT] = check_mbarrier_wait,
    [NEO_LS_MBARRIER_ARRIVE] = check_mbarrier_arrive,
};

void neo_lv_check_device(verifier *v, const neo_ls *s) {
  if (s->kind < sizeof check_of / sizeof *check_of && check_of[s->kind])
    check_of[s->kind](v, s);
  else
    neo_lv_fail(v, "unknown statement %d", s->kind);
}
