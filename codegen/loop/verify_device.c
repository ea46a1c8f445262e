/* The rules of statements for warps, matrix units and the copy engine (loop/verify.c has all
 * others, and who has which role). */
#include "codegen/loop/verify.h"
#include <string.h>

static void check_tile(verifier *v, const neo_ls *s) {
  if (s->op >= NEO_TILE_OPS) {
    neo_lv_fail(v, "unknown tile operation %u", s->op);
    return;
  }
  const neo_tile_row *row = &neo_tile_rows[s->op];
  for (uint32_t i = 0; i < row->registers; i++) {
    if (s->tile[i] >= NEO_TILE_COUNT)
      neo_lv_fail(v, "there is no tile register %u", s->tile[i]);
    for (uint32_t j = 0; j < i; j++)
      if (s->tile[i] == s->tile[j])
        neo_lv_fail(v, "tile register %u is named twice", s->tile[i]);
  }
  if (!row->memory)
    return;
  if (s->attr >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", s->attr);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->attr];
  if (b->type != NEO_I32_T && b->type != NEO_F32_T)
    neo_lv_fail(v, "tiles are i32 or f32 in memory");
  if (row->memory == 'w' && !(b->use & (NEO_BUF_WRITE | NEO_BUF_SCRATCH)))
    neo_lv_fail(v, "%s is not written", b->name);
  if (row->memory == 'r' && !(b->use & (NEO_BUF_READ | NEO_BUF_SCRATCH)))
    neo_lv_fail(v, "%s is not read", b->name);
  if (s->step < 1)
    neo_lv_fail(v, "the pitch of a tile is positive");
  neo_lv_check_typed(v, s->index[0], NEO_I64_T, "an offset");
}

/* One part of a register for all threads. */
static void check_fragment(verifier *v, const neo_ls *s, uint32_t reg, int i) {
  if (reg >= v->k->regs.n || !v->declared[reg]) {
    neo_lv_fail(v, "a register of a warp's product is used outside its block");
    return;
  }
  const neo_reg *r = &v->k->regs.at[reg];
  const neo_warp_row *row = &neo_warp_rows[s->op];
  if (!r->threads || r->rank != 2 || r->extent[1] != neo_warp_elements[i] ||
      r->type != row->type[i]) {
    neo_lv_fail(v, "register %s has no fragments of %u elements of %s for each thread", r->name,
                neo_warp_elements[i], neo_type_text((neo_type)row->type[i]));
    return;
  }
  neo_lv_check_typed(v, s->index[i], NEO_I64_T, "the number of a fragment");
  if (!v->failed)
    neo_lv_check_index(v, r, 0, s->index[i]);
}

/* Fragments that are filled exist, and have cells of the memory's elements. */
static void check_filled(verifier *v, const neo_ls *s) {
  const neo_warp_row *row = &neo_warp_rows[s->op];
  if (s->attr >= v->k->regs.n || !v->declared[s->attr]) {
    neo_lv_fail(v, "a register of a warp's matrices is used outside its block");
    return;
  }
  neo_reg r = v->k->regs.at[s->attr];
  const neo_kbuf *b = &v->k->bufs.at[s->factor[0]];
  neo_type cell = b->type == NEO_F32_T ? NEO_F32_T : NEO_I32_T;
  if (!r.threads || r.rank != 2 || row->cells % r.extent[1] || r.type != cell) {
    neo_lv_fail(v, "register %s has no fragments of %u cells of %s for each thread", r.name,
                row->cells, neo_type_text(cell));
    return;
  }
  r.extent[0] -= row->cells / r.extent[1] - 1;
  neo_lv_check_typed(v, s->index[0], NEO_I64_T, "the number of a fragment");
  if (!v->failed)
    neo_lv_check_index(v, &r, 0, s->index[0]);
}

static void check_warp_read(verifier *v, const neo_ls *s) {
  if (s->factor[0] >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", s->factor[0]);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->factor[0]];
  bool narrow = b->type == NEO_F16_T || b->type == NEO_BF16_T;
  if (!(b->use & NEO_BUF_SCRATCH) ||
      (!narrow && (b->type != NEO_F32_T || neo_warp_rows[s->op].memory != 'r')))
    neo_lv_fail(v, "%s has no matrices for %s", b->name, neo_warp_rows[s->op].text);
  check_filled(v, s);
  v->in_threads = true; /* each thread names a place of its own */
  neo_lv_check_typed(v, s->index[1], NEO_I64_T, "an offset");
  v->in_threads = false;
}

static void check_warp(verifier *v, const neo_ls *s) {
  bool known = s->op < NEO_WARP_OPS;
  if (!known || s->n_index != (neo_warp_rows[s->op].memory ? 2 : 3)) {
    neo_lv_fail(v, "unknown operation %u of a warp", s->op);
    return;
  }
  if (!v->threads || v->in_threads || v->threads % NEO_WARP)
    neo_lv_fail(v, "warps are of the threads of a block, outside of loops of threads");
  if (neo_warp_rows[s->op].memory) {
    if (!v->failed)
      check_warp_read(v, s);
    return;
  }
  const uint32_t reg[] = {s->attr, s->factor[0], s->factor[1]};
  for (int i = 0; i < 3 && !v->failed; i++)
    check_fragment(v, s, reg[i], i);
  if (!v->failed && (reg[0] == reg[1] || reg[0] == reg[2]))
    neo_lv_fail(v, "a warp's product is added to one of its factors");
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
  if (!r->threads || r->rank != 2 || r->type != NEO_F32_T ||
      2 * r->extent[1] % NEO_WARPGROUP_COLUMNS || 2 * r->extent[1] > NEO_WARPGROUP_WIDEST)
    neo_lv_fail(v, "register %s has no sums of a warpgroup for each thread", r->name);
}

static void check_factor(verifier *v, const neo_ls *s, int i) {
  if (v->failed)
    return;
  if (s->factor[i] >= v->k->bufs.n) {
    neo_lv_fail(v, "there is no buffer %u", s->factor[i]);
    return;
  }
  const neo_kbuf *b = &v->k->bufs.at[s->factor[i]];
  uint8_t cell = neo_warpgroup_rows[s->op].cell;
  if (!(b->use & NEO_BUF_SCRATCH) || b->type != cell || !b->align ||
      b->align % NEO_WARPGROUP_ALIGN_BYTES)
    neo_lv_fail(v, "%s is no scratch of %s from a multiple of %d bytes on", b->name,
                neo_type_text((neo_type)cell), NEO_WARPGROUP_ALIGN_BYTES);
  if (s->tile[i] && !neo_warpgroup_rows[s->op].turns)
    neo_lv_fail(v, "a factor of %s is not turned round", neo_warpgroup_rows[s->op].text);
  if (s->tile[i] && i && 2 * v->k->regs.at[s->attr].extent[1] % NEO_WARPGROUP_SIDE)
    neo_lv_fail(v, "columns that are turned round are no multiple of %d", NEO_WARPGROUP_SIDE);
  neo_lv_check_typed(v, s->index[i], NEO_I64_T, "an offset");
}

static void check_warpgroup(verifier *v, const neo_ls *s) {
  if (s->op >= NEO_WARPGROUP_OPS || s->n_index != 2) {
    neo_lv_fail(v, "unknown operation %u of a warpgroup", s->op);
    return;
  }
  check_sums(v, s->attr);
  for (int i = 0; i < 2; i++)
    check_factor(v, s, i);
  if (!v->failed && (s->step < 1 || v->threads / NEO_WARPGROUP % s->step))
    neo_lv_fail(v, "%lld warpgroups beside each other do not divide the block's",
                (long long)s->step);
}

static void check_await(verifier *v, const neo_ls *s) {
  enum { MOST = 7 }; /* as far as the hardware counts */
  check_sums(v, s->attr);
  if (!v->failed && (s->step < 0 || s->step > MOST))
    neo_lv_fail(v, "%lld products are left, of at most %d", (long long)s->step, MOST);
}

static void check_copy(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->bufs.n || s->factor[0] >= v->k->bufs.n || s->n_index != 2) {
    neo_lv_fail(v, "there is no buffer %u, or no buffer %u", s->attr, s->factor[0]);
    return;
  }
  const neo_kbuf *to = &v->k->bufs.at[s->attr], *from = &v->k->bufs.at[s->factor[0]];
  if (!v->in_threads)
    neo_lv_fail(v, "a copy stands outside of the thread loops");
  if (!(to->use & NEO_BUF_SCRATCH))
    neo_lv_fail(v, "%s is no scratch: nothing is copied there", to->name);
  if (from->use != NEO_BUF_READ || from->type != to->type)
    neo_lv_fail(v, "%s is not only read, or of another type than %s", from->name, to->name);
  int64_t bytes = s->step * neo_type_bytes((neo_type)to->type);
  if (bytes != 4 && bytes != 8 && bytes != NEO_COPY_BYTES)
    neo_lv_fail(v, "a copy is of 4, 8 or 16 bytes, not of %lld", (long long)bytes);
  neo_lv_check_typed(v, s->index[0], NEO_I64_T, "an offset");
  neo_lv_check_typed(v, s->index[1], NEO_I64_T, "an offset");
  if (s->cond)
    neo_lv_check_typed(v, s->cond, NEO_BOOL_T, "the condition of a copy");
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

static void check_phase(verifier *v, uint32_t buf, const neo_lx *phase) {
  if (v->failed)
    return;
  if (!v->threads || v->in_threads)
    neo_lv_fail(v, "boxes are copied for the threads of a block, outside of loops of threads");
  else if (buf >= v->k->bufs.n || !(v->k->bufs.at[buf].use & NEO_BUF_SCRATCH) ||
           v->k->bufs.at[buf].type != NEO_I64_T)
    neo_lv_fail(v, "phases are scratch of i64");
  neo_lv_check_typed(v, phase, NEO_I64_T, "a phase");
}

static void check_bulk(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->bufs.n || s->factor[0] >= v->k->bufs.n || s->n_index != 2) {
    neo_lv_fail(v, "there is no buffer %u, or no buffer %u", s->attr, s->factor[0]);
    return;
  }
  const neo_kbuf *to = &v->k->bufs.at[s->attr], *from = &v->k->bufs.at[s->factor[0]];
  const neo_box *b = s->box;
  int64_t size = neo_type_bytes((neo_type)to->type);
  check_phase(v, s->factor[1], s->index[1]);
  neo_lv_check_typed(v, s->index[0], NEO_I64_T, "an offset");
  if (v->role == CONSUMERS)
    neo_lv_fail(v, "consumers ask for boxes of %s, which is the producer's", from->name);
  if (!(to->use & NEO_BUF_SCRATCH) || !to->align || to->align % NEO_WARPGROUP_ALIGN_BYTES)
    neo_lv_fail(v, "%s is no scratch from a multiple of %d bytes on", to->name,
                NEO_WARPGROUP_ALIGN_BYTES);
  if (from->use != NEO_BUF_READ || from->type != to->type)
    neo_lv_fail(v, "%s is not only read, or of another type than %s", from->name, to->name);
  if (b->rank < 2 || b->rank > NEO_BOX_RANK || b->count[0] * size != NEO_BOX_LINE_BYTES)
    neo_lv_fail(v, "a box has two to five axes, %d bytes along the first", NEO_BOX_LINE_BYTES);
  for (uint32_t d = 0; d < b->rank && !v->failed; d++)
    check_axis(v, b, d, size);
}

/* The producer waits for consumers, and these for what it has asked for. */
static void check_side(verifier *v, const neo_ls *s) {
  if (v->failed)
    return;
  const char *name = v->k->bufs.at[s->attr].name;
  if (s->kind == NEO_LS_ARRIVE && v->role != CONSUMERS)
    neo_lv_fail(v, "nobody but consumers arrives at phases of %s", name);
  if (s->kind == NEO_LS_EXPECT && v->role == CONSUMERS)
    neo_lv_fail(v, "consumers begin turns of %s, which is the producer's", name);
  if (s->kind == NEO_LS_REACH && v->role &&
      !(v->role == PRODUCER ? v->arrived : v->expected)[s->attr])
    neo_lv_fail(v, "who waits for %s is who does what it waits for", name);
}

static void check_turn(verifier *v, const neo_ls *s) {
  check_phase(v, s->attr, s->index[0]);
  check_side(v, s);
  if (s->kind == NEO_LS_REACH)
    neo_lv_check_typed(v, s->value, NEO_I64_T, "a turn");
  else if (!v->failed && s->kind == NEO_LS_EXPECT && s->step < 1)
    neo_lv_fail(v, "a turn of a phase has bytes to come");
}

static void check_groups(verifier *v, const neo_ls *s) {
  if (!v->threads || v->in_threads)
    neo_lv_fail(v, "groups of copies are of a block's threads, outside of loops of threads");
  if (s->kind == NEO_LS_WAIT && (s->step < 0 || s->step > NEO_COPY_GROUPS))
    neo_lv_fail(v, "%lld groups of copies under way are not in 0..%d", (long long)s->step,
                NEO_COPY_GROUPS);
}

/* Between registers of the same elements for each thread, in parts of a warp. */
static void check_shuffle(verifier *v, const neo_ls *s) {
  uint32_t to = s->attr, from = s->factor[0], of = s->factor[1];
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
  bool power = of && !(of & (of - 1)) && s->step > 0 && !(s->step & (s->step - 1));
  if (!power || of > NEO_WARP || s->step > of || v->threads % of)
    neo_lv_fail(v, "a shuffle of %lld of %u threads is no part of a warp", (long long)s->step, of);
}

static void check_fetch(verifier *v, const neo_ls *s) {
  if (s->attr >= v->k->bufs.n)
    neo_lv_fail(v, "there is no buffer %u", s->attr);
  neo_lv_check_typed(v, s->index[0], NEO_I64_T, "an offset");
}

void neo_lv_check_device(verifier *v, const neo_ls *s) {
  switch ((neo_ls_kind)s->kind) {
  case NEO_LS_FETCH:
    check_fetch(v, s);
    break;
  case NEO_LS_WARP:
    check_warp(v, s);
    break;
  case NEO_LS_WARPGROUP:
    check_warpgroup(v, s);
    break;
  case NEO_LS_AWAIT:
    check_await(v, s);
    break;
  case NEO_LS_SHUFFLE:
    check_shuffle(v, s);
    break;
  case NEO_LS_TILE:
    check_tile(v, s);
    break;
  case NEO_LS_COPY:
    check_copy(v, s);
    break;
  case NEO_LS_BULK:
    check_bulk(v, s);
    break;
  case NEO_LS_EXPECT:
  case NEO_LS_REACH:
  case NEO_LS_ARRIVE:
    check_turn(v, s);
    break;
  case NEO_LS_COMMIT:
  case NEO_LS_WAIT:
    check_groups(v, s);
    break;
  default:
    neo_lv_fail(v, "unknown statement %d", s->kind);
  }
}
