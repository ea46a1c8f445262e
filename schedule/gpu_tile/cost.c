/* The cost, in cycles, of a tile of a thread block. Multiprocessors run blocks in waves. A step of
 * a tile costs its multiplications, each thread's reads of shared memory, and the block's copies
 * into shared memory, through registers or not. Each block of steps costs a barrier. */
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/gpu_tile/strategy.h"
#include "schedule/model.h"

typedef struct {
  double steps; /* steps of own axes, over all stages */
  double rows, columns, batches;
} lengths;

static lengths lengths_of(const neo_space *x, const neo_schedule *s) {
  uint64_t rows = (uint64_t)s->block.row_axes, columns = (uint64_t)s->block.column_axes;
  lengths l = {0, neo_form_usual_points(x->m, x->f, rows),
               neo_form_usual_points(x->m, x->f, columns),
               neo_form_usual_points(x->m, x->f, ~(rows | columns))};
  for (size_t k = 0; k < x->f->stages.n; k++)
    l.steps += neo_stage_usual_steps(x->m, &x->f->stages.at[k]);
  return l;
}

static double up(double x, double n) {
  double q = (double)(int64_t)(x / n);
  return q * n < x ? q + 1 : q;
}

/* product: a warp's product relative to a product of threads. reads: reading the fragments of a
 * step; parts of tf32 are read one by one, or by matrices of half as many steps. */
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
  case NEO_WARPS_3XTF32: /* fragments are split as well */
    return (warp_cost){3 / tf32, 4};
  default:
    return (warp_cost){1 / tf32, 2};
  }
}

/* The cost of copying an element of an operand. A producer takes no issue slots of the consumers;
 * but where a block is small, its registers are missing to other blocks of the multiprocessor. */
static double copy_cost(const neo_schedule *s) {
  enum { READ = 24, COPY = 18, TMA = 4, BY_PRODUCER = 2, TWO_BLOCKS = 16 << 10 };
  const neo_block_params *p = &s->block;
  if (p->producer)
    return p->block_m * p->block_n > TWO_BLOCKS ? BY_PRODUCER : TMA + 1;
  return p->tma ? TMA : p->stages ? COPY : READ;
}

/* The cost of starting blocks, which other blocks of the multiprocessor hide if there are any. */
static double begins_cost(const neo_multiprocessor *sm, const neo_schedule *s, double waves) {
  enum { TWO_BLOCKS = 16 << 10 };
  double begin = sm->block / 2, next = sm->next / 2; /* half of it is hidden */
  const neo_block_params *p = &s->block;
  bool alone = p->products == NEO_THREADS_WARPGROUPS && p->block_m * p->block_n > TWO_BLOCKS;
  double begins = !alone ? 0 : p->persistent ? begin : waves * begin;
  return begins + (p->persistent ? waves * next : 0);
}

double neo_gpu_tile_cost(const neo_space *x, const neo_schedule *s) {
  enum { BARRIER = 60 };
  const neo_block_params *p = &s->block;
  lengths l = lengths_of(x, s);
  double bm = (double)p->block_m, bn = (double)p->block_n;
  double tm = (double)p->tile_m, tn = (double)p->tile_n;
  double waves = up(up(l.rows, bm) * up(l.columns, bn) * l.batches, x->machine->profile.workers);
  double narrow = tm < 4 || tn < 4 ? 2 : 1.5; /* shared memory delivers 16 bytes at a time */
  warp_cost by_warps = warp_cost_of(x, s);
  bool by_groups = p->products == NEO_THREADS_WARPGROUPS; /* tensor cores read shared memory */
  double reads = (p->products ? by_warps.reads : narrow) * (tm + tn) / (tm * tn);
  reads = by_groups ? -by_warps.product / 2 : reads;
  double work = bm * bn * (by_warps.product + reads);
  work += copy_cost(s) * (bm + bn);
  double warps = (double)p->threads / 32, few = warps < 8 ? 8 / warps : 1;
  double barrier = by_groups && p->stages ? 0 : BARRIER; /* products overlap the barrier */
  double step = work * (1 + 0.25 * (few - 1)) / x->machine->sm.lanes + barrier / (double)p->block_k;
  return waves * l.steps * step + begins_cost(&x->machine->sm, s, waves);
}
