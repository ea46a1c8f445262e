/* Registers of blocks with a producer, and the model's choice of a producer and of persistence
 * (producer.h). */
#include "schedule/gpu_tile/producer.h"
#include "schedule/gpu_tile/shape.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include <math.h>

enum {
  GROUP = 128, /* threads of a warpgroup */
  GROUP_ROWS = 64,
  MOST_THREADS = 1024,
  RESERVED = 1 << 10, /* shared memory that the system reserves for each block */
  EIGHT = 8,          /* registers are allocated in multiples of this */
  MOST = 240,
  OF_PRODUCER = 40,
  OF_PRODUCT = 32, /* a consumer's in addition to its sums: for one product, */
  ALL_ELSE = 64    /* for all of its code */
};

static int64_t blocks_by_memory(const neo_multiprocessor *sm, const neo_schedule *s) {
  const neo_block_params *p = &s->block;
  int64_t rows = p->block_m + p->block_n;
  int64_t bytes = neo_stages_buffers(s) * NEO_BLOCK_GROUP_BYTES * rows + RESERVED;
  return (int64_t)sm->shared_bytes / bytes;
}

typedef struct {
  int64_t first, consumer; /* registers of a thread: at launch, of a consumer later */
  int64_t blocks;          /* blocks on a multiprocessor */
} share;

/* The share of each thread with this number of blocks on a multiprocessor. */
static share share_of(const neo_multiprocessor *sm, int64_t consumers, int64_t blocks) {
  int64_t threads = consumers + GROUP,
          n = (int64_t)sm->registers / (blocks * threads) / EIGHT * EIGHT;
  share x = {.first = n > MOST ? MOST : n, .blocks = blocks};
  n = (x.first * threads - OF_PRODUCER * GROUP) / consumers / EIGHT * EIGHT;
  x.consumer = n > MOST ? MOST : n;
  return x;
}

/* The share with the largest number of blocks whose registers suffice; all zeros: not even one
 * block has enough. */
static share enough(const neo_multiprocessor *sm, const neo_schedule *s) {
  const neo_block_params *p = &s->block;
  int64_t sums = p->tile_m / GROUP_ROWS * p->tile_n / 2;
  int64_t blocks = (int64_t)sm->threads / (p->threads + GROUP), most = blocks_by_memory(sm, s);
  for (blocks = blocks < most ? blocks : most; blocks > 0; blocks--) {
    share x = share_of(sm, p->threads, blocks);
    if (x.first >= sums + OF_PRODUCT && x.consumer >= sums + ALL_ELSE)
      return x;
  }
  return (share){0};
}

int64_t neo_producer_blocks(const neo_machine *machine, const neo_schedule *s) {
  return enough(&machine->sm, s).blocks;
}

neo_producer_registers neo_producer_share(const neo_machine *machine, const neo_schedule *s) {
  share x = enough(&machine->sm, s);
  if (x.consumer <= x.first)
    return (neo_producer_registers){0, 0};
  return (neo_producer_registers){OF_PRODUCER, (uint32_t)x.consumer};
}

bool neo_producer_legal(const neo_machine *machine, const neo_schedule *s, neo_str *why) {
  const neo_block_params *p = &s->block;
  if (!p->producer)
    return true;
  if (p->producer != 1 || !p->tma)
    return reject(why, "producer is 0 or 1, and needs tma");
  if (p->threads + GROUP > MOST_THREADS || !enough(&machine->sm, s).first)
    return reject(why, "a block with a producer needs too many threads or registers");
  return true;
}

/* ---- persistent blocks */

/* The number of tiles at the largest sizes. */
static double tiles_of(neo_module *m, const neo_form *f, const neo_schedule *s) {
  const neo_block_params *p = &s->block;
  uint64_t rows = (uint64_t)p->row_axes, columns = (uint64_t)p->column_axes;
  return ceil(neo_form_points(m, f, rows) / (double)p->block_m) *
         ceil(neo_form_points(m, f, columns) / (double)p->block_n) *
         neo_form_points(m, f, ~rows & ~columns);
}

bool neo_persistent_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why) {
  int64_t persistent = s->block.persistent;
  if (persistent < 0 || persistent > 1)
    return reject(why, "persistent is 0 or 1");
  return !persistent || tiles_of(m, f, s) > 1 ||
         reject(why, "persistent blocks need more than one tile");
}

/* Persistence pays where the start of blocks is a large part of the time. A block's start costs
 * launching its threads, setting up barriers and tensor maps, and the latency of the first boxes.
 * The next tile of a persistent block costs its indices alone, as its boxes have already arrived. A
 * tile costs its products and its stores. */
bool neo_persistent_wanted(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s, double steps) {
  static const double worth = 0.99;
  const neo_multiprocessor *sm = &machine->sm;
  double processors = machine->profile.workers, products = sm->lanes * sm->halves;
  const neo_block_params *p = &s->block;
  if (!p->producer ||
      neo_producer_blocks(machine, s) > 1) /* two resident blocks hide each other's start */
    return false;
  double area = (double)(p->block_m * p->block_n);
  double waves = ceil(tiles_of(m, f, s) / processors);
  double tile = area * steps / products + area / sm->stored;
  double separate = waves * (sm->block + tile);
  return sm->block + (waves - 1) * sm->next + waves * tile < worth * separate;
}
