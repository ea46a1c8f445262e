/* Parses statements that stand by themselves in a line: what warps, matrix units and the copy
 * engine do (loop/parse.c has all others). */
#include "codegen/loop/parse.h"

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

static void warp(parser *p, neo_block *in) {
  uint32_t op = 0, named[3];
  const neo_lx *index[3];
  while (op < NEO_WARP_OPS && !neo_lp_accept(p, neo_warp_rows[op].text))
    op++;
  if (op == NEO_WARP_OPS) {
    neo_lp_expected(p, "what warps do");
    return;
  }
  bool reads = neo_warp_rows[op].memory;
  for (int i = 0; i < (reads ? 2 : 3); i++) {
    if (i)
      neo_lp_need(p, ",");
    named[i] = number_of(p, i && reads ? N_BUF : N_REG);
    neo_lp_need(p, "[");
    index[i] = neo_lp_typed(p, NEO_I64_T, i && reads ? "the offset" : "the fragment");
    neo_lp_need(p, "]");
  }
  if (p->failed)
    return;
  if (reads)
    neo_ls_warp_read(p->k, in, (neo_warp_op)op, named[0], index[0], named[1], index[1]);
  else
    neo_ls_warp(p->k, in, (neo_warp_op)op, named, index);
}

static void warpgroup(parser *p, neo_block *in) {
  uint32_t op = 0, buf[2];
  const neo_lx *offset[2];
  bool turned[2];
  while (op < NEO_WARPGROUP_OPS && !neo_lp_accept(p, neo_warpgroup_rows[op].text))
    op++;
  if (op == NEO_WARPGROUP_OPS) {
    neo_lp_expected(p, "tf32, bf16 or f16");
    return;
  }
  uint32_t acc = number_of(p, N_REG);
  for (int i = 0; i < 2; i++) {
    neo_lp_need(p, ",");
    turned[i] = neo_lp_accept(p, "turned");
    offset[i] = place(p, &buf[i]);
  }
  neo_lp_need(p, "beside");
  int64_t beside = neo_lp_take_small(p, INT32_MAX);
  if (p->failed)
    return;
  neo_ls_warpgroup(p->k, in, (neo_warpgroup_op)op, acc, buf, offset, turned, beside);
}

static void await(parser *p, neo_block *in) {
  int64_t left = neo_lp_take_small(p, INT32_MAX);
  neo_lp_need(p, ",");
  uint32_t acc = number_of(p, N_REG);
  if (!p->failed)
    neo_ls_await(p->k, in, acc, left);
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

static void fetch(parser *p, neo_block *in) {
  uint32_t buf;
  bool far = neo_lp_accept(p, "far");
  const neo_lx *offset = place(p, &buf);
  if (!p->failed)
    neo_ls_fetch(p->k, in, buf, offset, far);
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

static void bulk(parser *p, neo_block *in) {
  uint32_t to, phases;
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
  const neo_lx *phase = place(p, &phases);
  if (!p->failed)
    neo_ls_bulk(p->k, in, to, offset, from, &b, phases, phase);
}

static void expect_(parser *p, neo_block *in) {
  uint32_t phases;
  int64_t bytes = neo_lp_take_small(p, INT32_MAX);
  neo_lp_need(p, "on");
  const neo_lx *phase = place(p, &phases);
  if (!p->failed)
    neo_ls_expect(p->k, in, phases, phase, bytes);
}

static void reach(parser *p, neo_block *in) {
  uint32_t phases;
  const neo_lx *phase = place(p, &phases);
  neo_lp_need(p, "turn");
  const neo_lx *turn = neo_lp_typed(p, NEO_I64_T, "the turn");
  if (!p->failed)
    neo_ls_reach(p->k, in, phases, phase, turn);
}

static void wait_(parser *p, neo_block *in) {
  int64_t n = neo_lp_take_small(p, INT32_MAX);
  if (!p->failed)
    neo_ls_wait(p->k, in, n);
}

static void arrive(parser *p, neo_block *in) {
  uint32_t phases;
  const neo_lx *phase = place(p, &phases);
  if (!p->failed)
    neo_ls_arrive(p->k, in, phases, phase);
}

static void commit(parser *p, neo_block *in) {
  neo_ls_commit(p->k, in);
}

bool neo_lp_device(parser *p, neo_block *in) {
  static const struct {
    const char *word;
    void (*parse)(parser *p, neo_block *in);
  } table[] = {
      {"tile", tile},   {"warp", warp},       {"warpgroup", warpgroup}, {"await", await},
      {"copy", copy},   {"shuffle", shuffle}, {"fetch", fetch},         {"bulk", bulk},
      {"reach", reach}, {"expect", expect_},  {"arrive", arrive},       {"commit", commit},
      {"wait", wait_},
  };
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if (neo_lp_accept(p, table[i].word)) {
      table[i].parse(p, in);
      return true;
    }
  return false;
}
