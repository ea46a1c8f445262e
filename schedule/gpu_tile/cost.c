/* The price of a GPU's schedule: a count of cycles. Multiprocessors run blocks in rounds. A tile's
 * step costs its multiplications, what each thread reads of shared memory for them, and what the
 * block copies there, by way of registers or not; a block of steps has a barrier. A point's step
 * costs its accesses, four times where neighbouring threads are not at neighbouring elements;
 * joining lanes costs a barrier, or within a warp a shuffle, for each halving; and a round takes as
 * long as its threads wait for memory, however few they are. */
#include "schedule/row_stash.h"
#include "schedule/model.h"
#include "schedule/gpu_tile/space.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/gpu_tile/gpu_tile.h"

typedef struct {
  double points, steps; /* of the shared axes; of own axes, over all stages */
  double rows, columns, batches;
} lengths;

static double extent_of(const neo_space *x, const neo_axis_rec *a) {
  return (double)neo_axis_most(x->m, a);
}

static lengths lengths_of(const neo_space *x, const neo_schedule *s) {
  lengths l = {1, 0, 1, 1, 1};
  for (size_t k = 0; k < x->f->axes.n; k++) {
    double n = extent_of(x, &x->f->axes.at[k]);
    bool row = s->block.row_axes >> k & 1, column = s->block.column_axes >> k & 1;
    l.points *= n;
    *(row ? &l.rows : column ? &l.columns : &l.batches) *= n;
  }
  for (size_t k = 0; k < x->f->stages.n; k++) {
    const neo_stage *stage = &x->f->stages.at[k];
    double n = 1;
    for (size_t i = 0; i < stage->axes.n; i++)
      n *= extent_of(x, &stage->axes.at[i]);
    l.steps += n;
  }
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

static double tiles_cost(const neo_space *x, const neo_schedule *s) {
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

/* Which way accesses lie: 1 where neighbouring threads are at neighbouring elements. */
static double apart(const neo_space *x, const neo_schedule *s) {
  neo_schedule first = neo_schedule_default(x->m, x->g, x->machine);
  int64_t across = first.strategy == NEO_STRATEGY_GPU_ROWS ? first.rows.across : 1;
  bool lanes_along = s->strategy == NEO_STRATEGY_GPU_ROWS && s->rows.lanes >= 8 && !s->rows.across;
  return lanes_along == !across ? 1 : 4;
}

static double joins_cost(const neo_row_params *p) {
  enum { JOIN = 30, SHUFFLE = 4 };
  double cost = 0;
  int64_t apart = p->across ? p->threads / p->lanes : 1;
  for (int64_t n = p->lanes; n > 1; n /= 2)
    cost += n * apart > WARP ? JOIN : SHUFFLE;
  return cost;
}

/* What a thread has: elements side by side of the points, those of the steps that are read together,
 * threads that share a point, threads of a block. */
typedef struct {
  double points, together, lanes, block, joins, read;
  double vector;
} thread_share;

static thread_share share_of_rows(const neo_space *x, const neo_row_params *p) {
  bool points = p->vector_axis >= 0 && p->vector_axis <= last_axis(x);
  return (thread_share){.points = points ? (double)p->vector_width : 1,
                        .together = (double)(p->vector_width * p->unroll_k),
                        .lanes = (double)p->lanes,
                        .block = (double)p->threads,
                        .joins = joins_cost(p),
                        .read = p->stash ? 0.5 : 1, /* the rest is in registers */
                        .vector = (double)p->vector_width};
}

static thread_share share_of_loops(const neo_space *x, const neo_loop_params *p) {
  enum { BLOCK = 128 };
  bool points = p->vector_axis >= 0 && p->vector_axis <= last_axis(x);
  return (thread_share){.points = (points ? (double)p->vector_width : 1) * (double)p->unit_size,
                        .together = (double)(p->vector_width * p->unroll_k),
                        .lanes = 1,
                        .block = BLOCK,
                        .read = 1,
                        .vector = (double)p->vector_width};
}

static double points_cost(const neo_space *x, const neo_schedule *s) {
  enum { ACCESS = 2, INSTRUCTION = 2 };
  const neo_multiprocessor *sm = &x->machine->sm;
  double processors = x->machine->profile.workers, resident = processors * sm->threads;
  lengths l = lengths_of(x, s);
  thread_share t = s->strategy == NEO_STRATEGY_GPU_ROWS ? share_of_rows(x, &s->rows)
                                                        : share_of_loops(x, &s->loops);
  double threads = up(l.points, t.points) * t.lanes;
  double busy = threads < resident ? threads : resident;
  double per_thread = up(l.steps, t.lanes) * t.points;
  double together = t.together < per_thread ? t.together : per_thread;
  double step = t.read * sm->wait / together + INSTRUCTION / t.vector;
  double waits = up(threads, busy) * (per_thread * step + t.joins);
  double traffic = t.read * l.points * l.steps * ACCESS * apart(x, s) / (processors * WARP);
  return (waits > traffic ? waits : traffic) + sm->launch + threads / t.block / processors * 4;
}

double neo_threads_cost(const neo_space *x, const neo_schedule *s) {
  return s->strategy == NEO_STRATEGY_GPU_TILE ? tiles_cost(x, s) : points_cost(x, s);
}
