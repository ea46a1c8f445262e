/* The price of a tile by a block of threads: a count of cycles. Multiprocessors run blocks in
 * rounds. A tile's step costs its multiplications, what each thread reads of shared memory for them,
 * and what the block copies there, by way of registers or not; a block of steps has a barrier. */
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/gpu_tile/strategy.h"
#include "schedule/model.h"

typedef struct {
  double steps; /* of own axes, over all stages */
  double rows, columns, batches;
} lengths;

static lengths lengths_of(const neo_space *x, const neo_schedule *s) {
  uint64_t rows = (uint64_t)s->block.row_axes, columns = (uint64_t)s->block.column_axes;
  lengths l = {0, neo_form_points(x->m, x->f, rows), neo_form_points(x->m, x->f, columns),
               neo_form_points(x->m, x->f, ~(rows | columns))};
  for (size_t k = 0; k < x->f->stages.n; k++)
    l.steps += neo_stage_points(x->m, &x->f->stages.at[k]);
  return l;
}

static double up(double x, double n) {
  double q = (double)(int64_t)(x / n);
  return q * n < x ? q + 1 : q;
}

/* What a warp's product takes, of one by threads; what reading a step's fragments does: parts of
 * tf32 are read one by one, or by matrices of half as many steps. */
typedef struct {
  double product, reads;
} warp_cost;

static warp_cost warp_cost_of(const neo_space *x, const neo_schedule *s) {
  neo_contraction c;
  if (!s->block.products || !neo_contraction_of(x->m, x->f, &c))
    return (warp_cost){1, 0};
  const neo_multiprocessor *sm = &x->machine->sm;
  double tf32 = sm->tf32 > 0 ? sm->tf32 : 1;
  switch (neo_threads_warps(x->m, x->f, &c)) {
  case NEO_WARPS_BF16:
  case NEO_WARPS_F16:
    return (warp_cost){1 / sm->halves, 0.5};
  case NEO_WARPS_3XTF32: /* fragments are taken apart as well */
    return (warp_cost){3 / tf32, 4};
  default:
    return (warp_cost){1 / tf32, 2};
  }
}

/* What bringing an element of an operand takes. A producer takes nothing of those who multiply, but
 * where they are few, others of the same multiprocessor go without its registers. */
static double copy_cost(const neo_schedule *s) {
  enum { READ = 24, COPY = 18, BULK = 4, BY_PRODUCER = 2, TWO_BLOCKS = 16 << 10 };
  const neo_block_params *p = &s->block;
  if (p->producer)
    return p->block_m * p->block_n > TWO_BLOCKS ? BY_PRODUCER : BULK + 1;
  return p->tma ? BULK : p->stages ? COPY : READ;
}

/* Beginnings of blocks, which others of the same multiprocessor hide, if there are any. */
static double begins_cost(const neo_multiprocessor *sm, const neo_schedule *s, double rounds) {
  enum { TWO_BLOCKS = 16 << 10 };
  double begin = sm->block / 2, next = sm->next / 2; /* a half is hidden */
  const neo_block_params *p = &s->block;
  bool alone = p->products == NEO_THREADS_WARPGROUPS && p->block_m * p->block_n > TWO_BLOCKS;
  double begins = !alone ? 0 : p->persistent ? begin : rounds * begin;
  return begins + (p->persistent ? rounds * next : 0);
}

double neo_gpu_tile_cost(const neo_space *x, const neo_schedule *s) {
  enum { BARRIER = 60 };
  const neo_block_params *p = &s->block;
  lengths l = lengths_of(x, s);
  double bm = (double)p->block_m, bn = (double)p->block_n;
  double tm = (double)p->tile_m, tn = (double)p->tile_n;
  double rounds = up(up(l.rows, bm) * up(l.columns, bn) * l.batches, x->machine->profile.workers);
  double narrow = tm < 4 || tn < 4 ? 2 : 1.5; /* shared memory gives 16 bytes at a time */
  warp_cost by_warps = warp_cost_of(x, s);
  bool by_groups = p->products == NEO_THREADS_WARPGROUPS; /* the unit reads by itself */
  double reads = (p->products ? by_warps.reads : narrow) * (tm + tn) / (tm * tn);
  reads = by_groups ? -by_warps.product / 2 : reads;
  double work = bm * bn * (by_warps.product + reads);
  work += copy_cost(s) * (bm + bn);
  double warps = (double)p->threads / 32, few = warps < 8 ? 8 / warps : 1;
  double barrier = by_groups && p->stages ? 0 : BARRIER; /* a product goes on behind it */
  double step = work * (1 + 0.25 * (few - 1)) / x->machine->sm.lanes + barrier / (double)p->block_k;
  return rounds * l.steps * step + begins_cost(&x->machine->sm, s, rounds);
}
