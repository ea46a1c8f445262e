/* The asynchronous proxy (wgmma, bulk copies) and its view of shared memory on an emulated device.
 *
 * They read and write past the way that threads do, through the async proxy. What a thread wrote is
 * seen by them where that thread has executed fence.proxy.async since, and the thread that issues
 * the instruction has met it after that: at a barrier, or by an arrival at an mbarrier and a wait
 * for its phase. For that each thread has a vector clock: of each other thread, how many fences of
 * it it knows to be done. Each two bytes of shared memory have the thread that wrote them last, and
 * how many fences it had behind it then. Copies of cp.async write as the threads do that wait for
 * them.
 *
 * Products that have begun read their factors until they are waited for: who writes there before,
 * or without having heard of it, ends the launch as well.
 *
 * Left out are copies that overwrite what threads have read by plain loads: no kernel has both. */
#include "tests/gpu/emulator_proxy.h"
#include "tests/gpu/emulator_block.h"
#include <stdlib.h>
#include <string.h>

enum {
  CELL = 2, /* bytes that have one writer */
  CELLS = EMU_SHARED / CELL,
  PIECE = NEO_WGMMA_PIECE_BYTES,
  READS = 64, /* that are remembered of each warp */
  MOST_WARPS = EMU_THREADS / EMU_WARP
};

typedef struct {
  uint32_t block, thread, fences;
} cell;

typedef struct {
  uint32_t lo[2], hi[2]; /* of its factors in shared memory */
  uint32_t ended;        /* event of the warp's first thread; 0: not yet */
} product_reads;

struct emu_proxy {
  uint32_t block; /* a number of its own for each that was begun */
  unsigned threads;
  bool used; /* there were events or fences */
  cell at[CELLS];
  product_reads reads[MOST_WARPS][READS];
  unsigned n_reads[MOST_WARPS];
  emu_clock knows[EMU_THREADS * EMU_THREADS]; /* [thread][threads] */
};

static emu_proxy *proxy(void) {
  return emu_own->proxy;
}

static emu_clock *known_to(unsigned thread) {
  return &proxy()->knows[(size_t)thread * proxy()->threads];
}

static emu_clock *own_clock(void) {
  proxy()->used = true;
  return &known_to(emu_thread())[emu_thread()];
}

void emu_proxy_begin(emu_proxy **x, unsigned threads) {
  if (!*x && !(*x = calloc(1, sizeof **x)))
    abort();
  emu_proxy *p = *x;
  if (p->used)
    memset(p->knows, 0, (size_t)p->threads * p->threads * sizeof *p->knows);
  p->used = false;
  p->threads = threads;
  p->block++;
  memset(p->n_reads, 0, sizeof p->n_reads);
}

void emu_proxy_free(emu_proxy *x) {
  free(x);
}

/* ---- what is known */

void emu_proxy_fence(void) {
  own_clock()->fences++;
}

uint32_t emu_proxy_event(void) {
  return ++own_clock()->events;
}

bool emu_proxy_knows(unsigned thread, uint32_t event) {
  return known_to(emu_thread())[thread].events >= event;
}

static void join(emu_clock *to, const emu_clock *from) {
  for (unsigned t = 0; t < proxy()->threads; t++) {
    to[t].fences = from[t].fences > to[t].fences ? from[t].fences : to[t].fences;
    to[t].events = from[t].events > to[t].events ? from[t].events : to[t].events;
  }
}

void emu_proxy_meet(const unsigned *thread, unsigned n) {
  if (!proxy()->used)
    return;
  for (unsigned i = 1; i < n; i++)
    join(known_to(thread[0]), known_to(thread[i]));
  for (unsigned i = 1; i < n; i++)
    memcpy(known_to(thread[i]), known_to(thread[0]), proxy()->threads * sizeof(emu_clock));
}

void emu_proxy_give(emu_clock *to) {
  join(to, known_to(emu_thread()));
}

void emu_proxy_take(const emu_clock *from) {
  join(known_to(emu_thread()), from);
}

/* ---- what is written */

/* Finds the offset of an address in shared memory. False: the address is elsewhere. */
static bool place_of(const void *at, size_t bytes, uint32_t *offset) {
  size_t from = (size_t)((uintptr_t)at - (uintptr_t)emu_own->shared);
  *offset = (uint32_t)from;
  return (uintptr_t)at >= (uintptr_t)emu_own->shared && from + bytes <= EMU_SHARED;
}

static bool overlap(const product_reads *r, uint32_t lo, uint32_t hi) {
  return (lo < r->hi[0] && r->lo[0] < hi) || (lo < r->hi[1] && r->lo[1] < hi);
}

void emu_proxy_overwrites(const void *at, size_t bytes) {
  uint32_t lo;
  if (!proxy()->used || !place_of(at, bytes, &lo))
    return;
  for (unsigned w = 0; w * EMU_WARP < proxy()->threads; w++) {
    unsigned n = proxy()->n_reads[w] < READS ? proxy()->n_reads[w] : READS;
    for (unsigned k = 0; k < n; k++) {
      const product_reads *r = &proxy()->reads[w][k];
      if (!overlap(r, lo, lo + (uint32_t)bytes) ||
          (r->ended && emu_proxy_knows(w * EMU_WARP, r->ended)))
        continue;
      emu_fail("writes shared memory at %u, which a product of warp %u %s", lo, w,
               r->ended ? "has read, of which the thread has not heard" : "still reads");
    }
  }
}

void emu_proxy_wrote(const void *at, size_t bytes) {
  uint32_t lo, thread = emu_thread();
  if (!place_of(at, bytes, &lo))
    return;
  uint32_t fences = known_to(thread)[thread].fences;
  for (uint32_t c = lo / CELL; c < (lo + bytes + CELL - 1) / CELL; c++)
    proxy()->at[c] = (cell){proxy()->block, thread, fences};
}

/* ---- what is read past the threads' way */

/* Has the thread that runs heard of a fence behind what was written there? */
static void need_fences(uint32_t lo, size_t bytes, const char *who) {
  const emu_clock *known = known_to(emu_thread());
  for (uint32_t c = lo / CELL; c < (lo + bytes) / CELL && c < CELLS; c++) {
    const cell *x = &proxy()->at[c];
    if (x->block != proxy()->block || known[x->thread].fences > x->fences)
      continue;
    const emu_clock *writer = &known_to(x->thread)[x->thread];
    if (writer->fences > x->fences)
      emu_fail("%s shared memory at %u, which thread %u wrote and fenced, but no barrier stands "
               "between",
               who, c * CELL, x->thread);
    else
      emu_fail(
          "%s shared memory at %u, which thread %u wrote without a fence.proxy.async behind it",
          who, c * CELL, x->thread);
  }
}

void emu_proxy_bulk(const void *at, size_t bytes) {
  uint32_t lo;
  if (!place_of(at, bytes, &lo))
    return;
  emu_proxy_overwrites(at, bytes);
  need_fences(lo, bytes, "copies past the threads to");
  memset(&proxy()->at[lo / CELL], 0, bytes / CELL * sizeof(cell));
}

static void note_piece(product_reads *r, int factor, uint32_t at) {
  if (at < r->lo[factor])
    r->lo[factor] = at;
  if (at + PIECE > r->hi[factor])
    r->hi[factor] = at + PIECE;
  need_fences(at, PIECE, "multiplies");
}

static void note_factor(product_reads *r, const neo_wgmma_product *x, int factor) {
  int rows = factor ? x->columns : NEO_WGMMA_ROWS, steps = neo_wgmma_rows[x->op].steps;
  uint64_t d = x->factor[factor];
  if (x->transposed >> factor & 1) /* a piece is eight rows of a step */
    for (int row = 0; row < rows; row += 8)
      for (int k = 0; k < steps; k++)
        note_piece(r, factor, neo_wgmma_place_transposed(d, row, k));
  else
    for (int row = 0; row < rows; row++)
      for (int byte = 0; byte < NEO_WGMMA_STEP_BYTES; byte += PIECE)
        note_piece(r, factor, neo_wgmma_place(d, row, byte));
}

unsigned emu_proxy_product(const neo_wgmma_product *x) {
  unsigned warp = emu_thread() / EMU_WARP;
  product_reads r = {.lo = {UINT32_MAX, UINT32_MAX}};
  own_clock();
  note_factor(&r, x, 0);
  note_factor(&r, x, 1);
  unsigned k = proxy()->n_reads[warp]++;
  proxy()->reads[warp][k % READS] = r;
  return k;
}

void emu_proxy_ended(const unsigned *products, unsigned n) {
  unsigned warp = emu_thread() / EMU_WARP;
  uint32_t event = n ? emu_proxy_event() : 0;
  for (unsigned i = 0; i < n; i++)
    if (products[i] + READS >= proxy()->n_reads[warp])
      proxy()->reads[warp][products[i] % READS].ended = event;
}
