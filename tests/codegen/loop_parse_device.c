/* Parses statements that stand by themselves in a line: what warps, matrix units and the copy
 * engine do (loop_parse.c has all others). */
#include "loop_parse.h"

static uint32_t number_of(parser *p, name_kind kind) {
  token at = p->t;
  const char *s = neo_lp_take_word(p, kind == N_BUF ? "a buffer" : "a register");
  const name *n = p->failed ? NULL : neo_lp_find(p, s);
  if (n && n->kind == kind)
    return n->number;
  const char *what = kind == N_BUF ? "buffer" : "register";
  if (!p->failed)
    neo_diag(p->d, neo_lp_span_of(p, at), NEO_D_IR_NAME, what, s);
  p->failed = true;
  return 0;
}

static const neo_lx *place(parser *p, uint32_t *buf) {
  *buf = number_of(p, N_BUF);
  neo_lp_need(p, "[");
  const neo_lx *offset = neo_lp_typed(p, NEO_I64_T, "the offset");
  neo_lp_need(p, "]");
  return offset;
}

static void tile(parser *p, neo_block *in) {
  uint8_t number_[3];
  uint32_t op = 0, buf = 0;
  const neo_lx *offset = NULL;
  int64_t pitch = 0;
  while (op < NEO_TILE_OPS && !neo_lp_accept(p, neo_tile_rows[op].text))
    op++;
  if (op == NEO_TILE_OPS) {
    neo_lp_expected(p, "zero, load, store or dot");
    return;
  }
  for (uint32_t i = 0; i < neo_tile_rows[op].registers; i++) {
    if (i)
      neo_lp_need(p, ",");
    number_[i] = (uint8_t)neo_lp_take_small(p, NEO_TILE_COUNT - 1);
  }
  if (neo_tile_rows[op].memory) {
    neo_lp_need(p, ",");
    offset = place(p, &buf);
    neo_lp_need(p, "pitch");
    pitch = neo_lp_take_small(p, INT32_MAX);
  }
  if (!p->failed)
    neo_ls_tile(p->k, in, (neo_tile_op)op, number_, buf, offset, pitch);
}

static const neo_lx *fragment(parser *p, uint32_t *reg) {
  *reg = number_of(p, N_REG);
  neo_lp_need(p, "[");
  const neo_lx *at = neo_lp_typed(p, NEO_I64_T, "the fragment");
  neo_lp_need(p, "]");
  return at;
}

static void mma(parser *p, neo_block *in) {
  uint32_t op = 0, reg[3];
  const neo_lx *at[3];
  while (op < NEO_MMA_OPS && !neo_lp_accept(p, neo_mma_rows[op].text))
    op++;
  if (op == NEO_MMA_OPS) {
    neo_lp_expected(p, "tf32, bf16 or f16");
    return;
  }
  for (int i = 0; i < 3; i++) {
    if (i)
      neo_lp_need(p, ",");
    at[i] = fragment(p, &reg[i]);
  }
  if (!p->failed)
    neo_ls_mma(p->k, in, (neo_mma_op)op, reg, at);
}

static void ldmatrix(parser *p, neo_block *in) {
  uint32_t op = 0, reg, buf;
  while (op < NEO_LDMATRIX_OPS && !neo_lp_accept(p, neo_ldmatrix_rows[op].text))
    op++;
  if (op == NEO_LDMATRIX_OPS) {
    neo_lp_expected(p, "x2, x4, x2_trans or x4_trans");
    return;
  }
  const neo_lx *at = fragment(p, &reg);
  neo_lp_need(p, ",");
  const neo_lx *offset = place(p, &buf);
  if (!p->failed)
    neo_ls_ldmatrix(p->k, in, (neo_ldmatrix_op)op, reg, at, buf, offset);
}

static void wgmma(parser *p, neo_block *in) {
  uint32_t op = 0, buf[2];
  const neo_lx *offset[2];
  bool transposed[2];
  while (op < NEO_WGMMA_OPS && !neo_lp_accept(p, neo_wgmma_rows[op].text))
    op++;
  if (op == NEO_WGMMA_OPS) {
    neo_lp_expected(p, "tf32, bf16 or f16");
    return;
  }
  uint32_t acc = number_of(p, N_REG);
  for (int i = 0; i < 2; i++) {
    neo_lp_need(p, ",");
    transposed[i] = neo_lp_accept(p, "transposed");
    offset[i] = place(p, &buf[i]);
  }
  neo_lp_need(p, "across");
  int64_t across = neo_lp_take_small(p, INT32_MAX);
  if (!p->failed)
    neo_ls_wgmma(p->k, in, (neo_wgmma_op)op, acc, buf, offset, transposed, across);
}

static void wgmma_wait(parser *p, neo_block *in) {
  int64_t pending = neo_lp_take_small(p, INT32_MAX);
  neo_lp_need(p, ",");
  uint32_t acc = number_of(p, N_REG);
  if (!p->failed)
    neo_ls_wgmma_wait(p->k, in, acc, pending);
}

static void shuffle(parser *p, neo_block *in) {
  uint32_t to = number_of(p, N_REG);
  neo_lp_need(p, ",");
  uint32_t from = number_of(p, N_REG);
  bool down = neo_lp_accept(p, "down");
  if (!down)
    neo_lp_need(p, "first");
  int64_t n = neo_lp_take_small(p, NEO_WARP);
  neo_lp_need(p, "of");
  int64_t of = neo_lp_take_small(p, NEO_WARP);
  neo_shuffle what = down ? NEO_SHUFFLE_DOWN : NEO_SHUFFLE_FIRST;
  if (!p->failed)
    neo_ls_shuffle(p->k, in, to, from, what, n, of);
}

static void vote(parser *p, neo_block *in) {
  uint32_t any = number_of(p, N_REG);
  neo_lp_need(p, ",");
  uint32_t of = number_of(p, N_REG);
  if (!p->failed)
    neo_ls_vote(p->k, in, any, of);
}

static void prefetch(parser *p, neo_block *in) {
  uint32_t buf;
  bool l2 = neo_lp_accept(p, "l2");
  const neo_lx *offset = place(p, &buf);
  if (!p->failed)
    neo_ls_prefetch(p->k, in, buf, offset, l2);
}

static void copy(parser *p, neo_block *in) {
  uint32_t to, from;
  int64_t n = neo_lp_take_small(p, NEO_COPY_BYTES);
  const neo_lx *offset = place(p, &to), *cond = NULL;
  neo_lp_need(p, "=");
  const neo_lx *start = place(p, &from);
  if (neo_lp_accept(p, "if"))
    cond = neo_lp_typed(p, NEO_BOOL_T, "the condition");
  if (!p->failed)
    neo_ls_copy(p->k, in, n, to, offset, from, start, cond);
}

static void tma_copy(parser *p, neo_block *in) {
  uint32_t to, mbarriers;
  neo_box b = {.rank = 0};
  const neo_lx *offset = place(p, &to);
  neo_lp_need(p, "=");
  uint32_t from = number_of(p, N_BUF);
  neo_lp_need(p, "[");
  do {
    if (b.rank == NEO_BOX_RANK) {
      neo_lp_expected(p, "five axes at most");
      return;
    }
    b.at[b.rank] = neo_lp_typed(p, NEO_I64_T, "where the box begins");
    neo_lp_need(p, "of");
    b.extent[b.rank] = neo_lp_typed(p, NEO_I64_T, "the extent");
    neo_lp_need(p, "by");
    b.stride[b.rank] = neo_lp_take_small(p, INT32_MAX);
    neo_lp_need(p, "box");
    b.count[b.rank++] = neo_lp_take_small(p, INT32_MAX);
  } while (!p->failed && neo_lp_accept(p, ","));
  neo_lp_need(p, "]");
  neo_lp_need(p, "on");
  const neo_lx *which = place(p, &mbarriers);
  if (!p->failed)
    neo_ls_tma_copy(p->k, in, to, offset, from, &b, mbarriers, which);
}

static void expect_tx(parser *p, neo_block *in) {
  uint32_t mbarriers;
  int64_t bytes = neo_lp_take_small(p, INT32_MAX);
  neo_lp_need(p, "on");
  const neo_lx *which = place(p, &mbarriers);
  if (!p->failed)
    neo_ls_expect_tx(p->k, in, mbarriers, which, bytes);
}

static void mbarrier_wait(parser *p, neo_block *in) {
  uint32_t mbarriers;
  const neo_lx *which = place(p, &mbarriers);
  neo_lp_need(p, "parity");
  const neo_lx *parity = neo_lp_typed(p, NEO_I64_T, "the parity");
  if (!p->failed)
    neo_ls_mbarrier_wait(p->k, in, mbarriers, which, parity);
}

static void mbarrier_arrive(parser *p, neo_block *in) {
  uint32_t mbarriers;
  const neo_lx *which = place(p, &mbarriers);
  if (!p->failed)
    neo_ls_mbarrier_arrive(p->k, in, mbarriers, which);
}

static void copy_wait(parser *p, neo_block *in) {
  int64_t pending = neo_lp_take_small(p, INT32_MAX);
  if (!p->failed)
    neo_ls_copy_wait(p->k, in, pending);
}

static void copy_commit(parser *p, neo_block *in) {
  neo_ls_copy_commit(p->k, in);
}

bool neo_lp_device(parser *p, neo_block *in) {
  static const struct {
    const char *word;
    void (*parse)(parser *p, neo_block *in);
  } table[] = {
      {"prefetch", prefetch},
      {"tile", tile},
      {"shuffle", shuffle},
      {"vote", vote},
      {"mma", mma},
      {"ldmatrix", ldmatrix},
      {"wgmma", wgmma},
      {"wgmma_wait", wgmma_wait},
      {"copy", copy},
      {"copy_commit", copy_commit},
      {"copy_wait", copy_wait},
      {"tma_copy", tma_copy},
      {"expect_tx", expect_tx},
      {"mbarrier_wait", mbarrier_wait},
      {"mbarrier_arrive", mbarrier_arrive},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (neo_lp_accept(p, table[i].word)) {
      table[i].parse(p, in);
      return true;
    }
  return false;
}
