/* Statements that the threads of a block execute together, in the interpreter: asynchronous copies,
 * products of warps and warpgroups, shuffles. Products do not propagate poison: their results count
 * as values.
 *
 * A copy happens at once, and marks its elements with the number of its group: a read or write of
 * one of them before a COPY_WAIT for that group is an error. */
#include "codegen/loop/interp.h"
#include <assert.h>
#include <string.h>

/* ---- asynchronous copies */

static void copy(interp *p, const neo_ls *s) {
  uint32_t buf = s->copy.to.buf;
  bool takes = !s->copy.cond || neo_li_holds(p, s->copy.cond);
  int64_t at = neo_li_index(p, s->copy.to.offset);
  int64_t from = takes ? neo_li_index(p, s->copy.from.offset) : 0;
  for (int64_t k = 0; k < s->copy.elements && !p->failed; k++) {
    neo_value v = {.i = 0};
    if (neo_type_is_float((neo_type)p->k->bufs.at[buf].type))
      v.f = 0;
    if (takes)
      v = neo_li_load_at(p, s->copy.from.buf, from + k);
    if (!neo_li_in_buffer(p, buf, at + k, "copy"))
      return;
    neo_li_settled(p, buf, at + k, "copy to a copy under way");
    neo_li_free_of_products(p, buf, at + k);
    neo_li_meet(p, buf, at + k, true);
    neo_li_put(p, buf, at + k, v, false);
    p->copied[buf][at + k] = p->started = p->group;
  }
}

static void wait_for(interp *p, int64_t groups) {
  int64_t last = p->group - 1 - groups;
  p->there = last > p->there ? last : p->there;
}

void neo_li_end_copies(interp *p) {
  if (p->started > p->there)
    neo_li_fail(p, "copies under way at the end", "a unit", p->started, p->there);
  neo_li_end_boxes(p);
}

/* ---- warps */

/* Part k of a product, the sum or a factor, of thread t: its fragment `at`. */
static neo_value *fragment(interp *p, const neo_ls *s, int k, int64_t at, int64_t t) {
  uint32_t reg = s->mma.part[k].reg;
  const reg_store *r = &p->reg[reg];
  int64_t first = t * r->each + at * neo_mma_elements[k];
  for (int64_t e = first; e < first + neo_mma_elements[k]; e++)
    if (r->defined[e] != DEFINED && r->defined[e] != POISON)
      neo_li_fail(p, "undefined element", p->k->regs.at[reg].name, e, r->n);
  return &r->at[first];
}

typedef struct {
  uint32_t a[NEO_WARP][NEO_MMA_A], b[NEO_WARP][NEO_MMA_B];
  float c[NEO_WARP][NEO_MMA_C];
} fragments;

static void multiply_warp(interp *p, const neo_ls *s, const int64_t *at, int64_t first) {
  const uint32_t *a[NEO_WARP], *b[NEO_WARP];
  const uint8_t *type = neo_mma_rows[s->mma.op].type;
  fragments x;
  for (int t = 0; t < NEO_WARP; t++) {
    a[t] = x.a[t];
    b[t] = x.b[t];
    for (int e = 0; e < NEO_MMA_A; e++)
      x.a[t][e] = neo_li_bits((neo_type)type[1], fragment(p, s, 1, at[1], first + t)[e]);
    for (int e = 0; e < NEO_MMA_B; e++)
      x.b[t][e] = neo_li_bits((neo_type)type[2], fragment(p, s, 2, at[2], first + t)[e]);
  }
  for (int t = 0; t < NEO_WARP; t++) {
    neo_value *c = fragment(p, s, 0, at[0], first + t);
    for (int e = 0; e < NEO_MMA_C; e++)
      x.c[t][e] = (float)c[e].f;
    neo_mma_product(s->mma.op, t, a, b, x.c[t]);
    for (int e = 0; e < NEO_MMA_C; e++)
      c[e].f = (double)x.c[t][e];
  }
}

static void mma(interp *p, const neo_ls *s) {
  int64_t at[3];
  for (int k = 0; k < 3; k++)
    at[k] = neo_li_eval(p, s->mma.part[k].at).i;
  for (int64_t first = 0; first < p->threads && !p->failed; first += NEO_WARP)
    multiply_warp(p, s, at, first);
}

/* The 16 bytes that a thread names. */
static void get_row(interp *p, const neo_element *of, int64_t t,
                    unsigned char row[NEO_LDMATRIX_ROW_BYTES]) {
  uint32_t buf = of->buf;
  neo_type type = (neo_type)p->k->bufs.at[buf].type;
  int64_t bytes = neo_type_bytes(type), n = NEO_LDMATRIX_ROW_BYTES / bytes;
  p->thread = (int32_t)t;
  p->stamp++;
  int64_t at = neo_li_eval(p, of->offset).i;
  p->thread = NOBODY;
  if (at % n)
    neo_li_fail(p, "a row of no multiple of 16 bytes", p->k->bufs.at[buf].name, at, n);
  if (!neo_li_in_buffer(p, buf, at, "load") || !neo_li_in_buffer(p, buf, at + n - 1, "load"))
    return;
  for (int64_t i = 0; i < n; i++) {
    neo_li_settled(p, buf, at + i, "load of a copy under way");
    neo_value_write(type, p->run->bufs[buf][at + i], row + i * bytes);
  }
}

static void read_matrices(interp *p, const neo_ls *s, int64_t fragment_, int64_t first) {
  uint32_t reg = s->ldmatrix.to.reg, n = neo_ldmatrix_rows[s->ldmatrix.op].cells;
  const neo_reg *r = &p->k->regs.at[reg];
  unsigned char bytes[NEO_WARP][NEO_LDMATRIX_ROW_BYTES];
  const void *row[NEO_WARP];
  uint32_t cells[NEO_LDMATRIX_MOST];
  for (uint32_t t = 0; t < NEO_LDMATRIX_ROWS * n; t++) {
    get_row(p, &s->ldmatrix.from, first + t, bytes[t]);
    row[t] = bytes[t];
  }
  for (int t = 0; t < NEO_WARP && !p->failed; t++) {
    int64_t at = (first + t) * p->reg[reg].each + fragment_ * r->extent[1];
    neo_ldmatrix_read(s->ldmatrix.op, t, row, cells);
    for (uint32_t e = 0; e < n; e++) {
      p->reg[reg].at[at + e] = neo_li_of_bits((neo_type)r->type, cells[e]);
      p->reg[reg].defined[at + e] = DEFINED;
    }
  }
}

static void ldmatrix(interp *p, const neo_ls *s) {
  int64_t at = neo_li_eval(p, s->ldmatrix.to.at).i;
  for (int64_t first = 0; first < p->threads && !p->failed; first += NEO_WARP)
    read_matrices(p, s, at, first);
}

/* ---- warpgroups: addresses are counted from the buffers' first elements */

typedef struct {
  interp *p;
  const neo_ls *s;
} product;

static double factor_at(void *ctx, int i, uint32_t address) {
  const product *x = ctx;
  uint32_t buf = x->s->wgmma.factor[i].buf;
  neo_type t = (neo_type)x->p->k->bufs.at[buf].type;
  int64_t at = address / neo_type_bytes(t);
  if (!neo_li_in_buffer(x->p, buf, at, "load"))
    return 0;
  neo_li_settled(x->p, buf, at, "load of a copy under way");
  neo_value v = x->p->run->bufs[buf][at];
  return t == NEO_F32_T ? neo_wgmma_number(x->s->wgmma.op, neo_li_bits(t, v)) : v.f;
}

/* One instruction of the warpgroup whose first thread is `first`, for 64 rows; their sums are the
 * elements of the register from `e` on. */
static void multiply_rows(product *x, const neo_wgmma_product *now, int64_t first, int64_t e) {
  const neo_reg *r = &x->p->k->regs.at[x->s->wgmma.acc];
  reg_store *all = &x->p->reg[x->s->wgmma.acc];
  float c[NEO_WGMMA_WIDEST / 2];
  for (int t = 0; t < NEO_WARPGROUP && !x->p->failed; t++) {
    int64_t from = (first + t) * all->each + e;
    for (int64_t i = 0; i < r->extent[1]; i++) {
      if (all->defined[from + i] == UNDEFINED)
        neo_li_fail(x->p, "undefined element", r->name, from + i, all->n);
      c[i] = (float)all->at[from + i].f;
    }
    neo_wgmma_multiply(now, t, factor_at, x, c);
    for (int64_t i = 0; i < r->extent[1]; i++) {
      all->at[from + i].f = (double)c[i];
      all->defined[from + i] = ON_ITS_WAY;
    }
  }
}

/* The bytes of a factor's rows from row `first` on; 0 where they do not begin as they have to. */
static uint64_t descriptor_of(interp *p, const neo_ls *s, int i, int64_t first, int64_t rows) {
  uint32_t buf = s->wgmma.factor[i].buf;
  int64_t size = neo_type_bytes((neo_type)p->k->bufs.at[buf].type);
  int64_t at = neo_li_eval(p, s->wgmma.factor[i].offset).i * size + first * NEO_WGMMA_BYTES;
  if (at < 0 || at % NEO_WGMMA_ALIGN_BYTES) {
    neo_li_fail(p, "factor between its places", p->k->bufs.at[buf].name, at / size,
                p->run->n_elems[buf]);
    return 0;
  }
  reading r = {p->batch, buf, at / size, (at + rows * NEO_WGMMA_BYTES) / size};
  NEO_PUSH(&p->arena, &p->readings, r);
  return neo_wgmma_descriptor(s->wgmma.transposed[i]) + (uint64_t)at / 16;
}

static void wgmma(interp *p, const neo_ls *s) {
  const neo_reg *r = &p->k->regs.at[s->wgmma.acc];
  const bool *transposed = s->wgmma.transposed;
  product x = {p, s};
  int64_t rows = r->extent[0] * NEO_WGMMA_ROWS, columns = 2 * r->extent[1];
  p->reg[s->wgmma.acc].batch = ++p->batch;
  for (int64_t w = 0; w < p->threads / NEO_WARPGROUP && !p->failed; w++) {
    uint64_t d[] = {descriptor_of(p, s, 0, w / s->wgmma.across * rows, rows),
                    descriptor_of(p, s, 1, w % s->wgmma.across * columns, columns)};
    for (int64_t f = 0; f < r->extent[0] && !p->failed; f++)
      for (int64_t k = 0; k < NEO_WGMMA_BYTES / NEO_WGMMA_STEP_BYTES; k++) {
        int64_t next[] = {neo_wgmma_next(s->wgmma.op, transposed[0]),
                          neo_wgmma_next(s->wgmma.op, transposed[1])};
        int64_t before = f * NEO_WGMMA_ROWS * NEO_WGMMA_BYTES;
        neo_wgmma_product now = {.op = s->wgmma.op,
                                 .transposed = transposed[0] | 2U * transposed[1]};
        now.columns = (int)columns;
        now.factor[0] = d[0] + (uint64_t)(before + k * next[0]) / 16;
        now.factor[1] = d[1] + (uint64_t)(k * next[1]) / 16;
        multiply_rows(&x, &now, w * NEO_WARPGROUP, f * r->extent[1]);
      }
  }
}

/* Ends the products up to `last`: their operands may be written again, and their sums be read. */
static void wgmma_wait(interp *p, const neo_ls *s) {
  uint64_t left = (uint64_t)s->wgmma_wait.pending, last = p->batch > left ? p->batch - left : 0;
  reg_store *r = &p->reg[s->wgmma_wait.acc];
  size_t n = 0;
  for (size_t i = 0; i < p->readings.n; i++)
    if (p->readings.at[i].batch > last)
      p->readings.at[n++] = p->readings.at[i];
  p->readings.n = n;
  for (int64_t e = 0; e < r->n && r->batch <= last; e++)
    r->defined[e] = r->defined[e] ? DEFINED : UNDEFINED;
}

/* Checks that no copy and no product is in flight when a unit ends. */
void neo_li_end_products(interp *p) {
  if (p->readings.n)
    neo_li_fail(p, "end before that of a product", p->k->bufs.at[p->readings.at[0].buf].name, 0, 0);
}

/* A shuffle of all threads at once: if a register is shuffled into itself, each thread reads the
 * old values. */
static void shuffle(interp *p, const neo_ls *s) {
  const reg_store *from = &p->reg[s->shuffle.from], *to = &p->reg[s->shuffle.to];
  neo_value *was = NEO_NEW_ARRAY(&p->arena, neo_value, from->n);
  for (int64_t i = 0; i < from->n; i++)
    was[i] = from->at[i];
  for (int64_t t = 0; t < p->threads; t++)
    for (int64_t e = 0; e < from->each; e++) {
      int64_t of =
          neo_shuffle_source(s->shuffle.what, (int)t, (int)s->shuffle.n, (int)s->shuffle.of);
      int64_t at = of * from->each + e;
      if (!from->defined[at])
        neo_li_fail(p, "undefined element", p->k->regs.at[s->shuffle.from].name, at, from->n);
      to->at[t * to->each + e] = was[at];
    }
  memset(to->defined, DEFINED, (size_t)to->n);
}

static void vote(interp *p, const neo_ls *s) {
  const reg_store *of = &p->reg[s->vote.of];
  reg_store *any = &p->reg[s->vote.any];
  any->at[0].i = 0;
  for (int64_t t = 0; t < p->threads; t++) {
    if (of->defined[t] != DEFINED)
      neo_li_fail(p, "undefined element", p->k->regs.at[s->vote.of].name, t, of->n);
    any->at[0].i |= of->at[t].i;
  }
  any->defined[0] = DEFINED;
}

void neo_li_block(interp *p, const neo_ls *s) {
  switch (s->kind) {
  case NEO_LS_VOTE:
    vote(p, s);
    break;
  case NEO_LS_MMA:
    mma(p, s);
    break;
  case NEO_LS_LDMATRIX:
    ldmatrix(p, s);
    break;
  case NEO_LS_WGMMA:
    wgmma(p, s);
    break;
  case NEO_LS_WGMMA_WAIT:
    wgmma_wait(p, s);
    break;
  case NEO_LS_COPY:
    copy(p, s);
    break;
  case NEO_LS_COPY_COMMIT:
    p->group++;
    break;
  case NEO_LS_COPY_WAIT:
    wait_for(p, s->copy_wait.pending);
    break;
  default:
    assert(s->kind == NEO_LS_SHUFFLE);
    shuffle(p, s);
  }
}
