/* The price of a GPU's schedule: a count of cycles. Multiprocessors run blocks in rounds. A tile's
 * step costs its multiplications, what each thread reads of shared memory for them, and what the
 * block copies there, by way of registers or not; a block of steps has a barrier. A point's step
 * costs its accesses, four times where neighbouring threads are not at neighbouring elements;
 * joining lanes costs a barrier, or within a warp a shuffle, for each halving; and a round takes as
 * long as its threads wait for memory, however few they are. */
#include "schedule/keep.h"
#include "schedule/model.h"
#include "schedule/space_threads.h"
#include "schedule/stages.h"
#include "schedule/threads.h"

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
    bool row = s->at[NEO_SCHED_ROW_AXES] >> k & 1, column = s->at[NEO_SCHED_COLUMN_AXES] >> k & 1;
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
  if (!s->at[NEO_SCHED_MATRIX] || !neo_contraction_of(x->m, x->f, &c))
    return (warp_cost){1, 0};
  switch (neo_threads_warps(x->m, x->f, &c)) {
  case NEO_WARPS_BF16:
  case NEO_WARPS_F16:
    return (warp_cost){0.0625, 0.5};
  case NEO_WARPS_3XTF32: /* fragments are taken apart as well */
    return (warp_cost){0.375, 4};
  default:
    return (warp_cost){0.125, 2};
  }
}

/* What bringing an element of an operand takes. A producer takes nothing of those who multiply, but
 * where they are few, others of the same multiprocessor go without its registers. */
static double copy_cost(const neo_schedule *s) {
  enum { READ = 24, COPY = 18, BULK = 4, BY_PRODUCER = 2, TWO_BLOCKS = 16 << 10 };
  const int64_t *p = s->at;
  if (p[NEO_SCHED_PRODUCER])
    return p[NEO_SCHED_BLOCK_M] * p[NEO_SCHED_BLOCK_N] > TWO_BLOCKS ? BY_PRODUCER : BULK + 1;
  return p[NEO_SCHED_BULK] ? BULK : p[NEO_SCHED_STAGES] ? COPY : READ;
}

/* Beginnings of blocks, which others of the same multiprocessor hide, if there are any. */
static double begins_cost(const neo_schedule *s, double rounds) {
  enum { BEGIN = 1000, NEXT = 75, TWO_BLOCKS = 16 << 10 };
  const int64_t *p = s->at;
  bool alone = p[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS &&
               p[NEO_SCHED_BLOCK_M] * p[NEO_SCHED_BLOCK_N] > TWO_BLOCKS;
  double begins = !alone ? 0 : p[NEO_SCHED_PERSISTENT] ? BEGIN : rounds * BEGIN;
  return begins + (p[NEO_SCHED_PERSISTENT] ? rounds * NEXT : 0);
}

static double tiles_cost(const neo_space *x, const neo_schedule *s) {
  enum { BARRIER = 60, LANES = 128 };
  const int64_t *p = s->at;
  lengths l = lengths_of(x, s);
  double bm = (double)p[NEO_SCHED_BLOCK_M], bn = (double)p[NEO_SCHED_BLOCK_N];
  double tm = (double)p[NEO_SCHED_TILE_M], tn = (double)p[NEO_SCHED_TILE_N];
  double rounds = up(up(l.rows, bm) * up(l.columns, bn) * l.batches, MULTIPROCESSORS);
  double narrow = tm < 4 || tn < 4 ? 2 : 1.5; /* shared memory gives 16 bytes at a time */
  warp_cost by_warps = warp_cost_of(x, s);
  bool by_groups = p[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS; /* the unit reads by itself */
  double reads = (p[NEO_SCHED_MATRIX] ? by_warps.reads : narrow) * (tm + tn) / (tm * tn);
  reads = by_groups ? -by_warps.product / 2 : reads;
  double work = bm * bn * (by_warps.product + reads);
  work += copy_cost(s) * (bm + bn);
  double warps = (double)p[NEO_SCHED_THREADS] / 32, few = warps < 8 ? 8 / warps : 1;
  double barrier = by_groups && p[NEO_SCHED_STAGES] ? 0 : BARRIER; /* a product goes on behind it */
  double step = work * (1 + 0.25 * (few - 1)) / LANES + barrier / (double)p[NEO_SCHED_BLOCK_K];
  return rounds * l.steps * step + begins_cost(s, rounds);
}

/* Which way accesses lie: 1 where neighbouring threads are at neighbouring elements. */
static double apart(const neo_space *x, const neo_schedule *s) {
  neo_schedule first = neo_schedule_default(x->m, x->g, x->machine);
  int64_t across = kind_of(&first) == POINTS ? first.at[NEO_SCHED_ACROSS] : 1;
  bool lanes_along =
      kind_of(s) == POINTS && s->at[NEO_SCHED_LANES] >= 8 && !s->at[NEO_SCHED_ACROSS];
  return lanes_along == !across ? 1 : 4;
}

/* Elements that a thread has side by side of the points; of the steps. */
static double points_beside(const neo_space *x, const neo_schedule *s) {
  int64_t v = s->at[NEO_SCHED_VECTOR_AXIS];
  return v >= 0 && v <= last_axis(x) ? (double)s->at[NEO_SCHED_VECTOR_WIDTH] : 1;
}

static double joins_cost(const neo_schedule *s) {
  enum { JOIN = 30, SHUFFLE = 4 };
  double cost = 0;
  int64_t apart = s->at[NEO_SCHED_ACROSS] ? s->at[NEO_SCHED_THREADS] / s->at[NEO_SCHED_LANES] : 1;
  for (int64_t n = s->at[NEO_SCHED_LANES]; n > 1; n /= 2)
    cost += n * apart > WARP ? JOIN : SHUFFLE;
  return cost;
}

static double points_cost(const neo_space *x, const neo_schedule *s) {
  enum { WAIT = 40, ACCESS = 2, LAUNCH = 300, INSTRUCTION = 2 };
  const int64_t *p = s->at;
  lengths l = lengths_of(x, s);
  bool plain = kind_of(s) == PLAIN;
  double lanes = plain ? 1 : (double)p[NEO_SCHED_LANES], wide = (double)p[NEO_SCHED_VECTOR_WIDTH];
  double each = points_beside(x, s) * (plain ? (double)p[NEO_SCHED_UNIT_SIZE] : 1);
  double threads = up(l.points, each) * lanes;
  double busy = threads < (double)MULTIPROCESSORS * RESIDENT ? threads : MULTIPROCESSORS * RESIDENT;
  double per_thread = up(l.steps, lanes) * each, together = wide * (double)p[NEO_SCHED_UNROLL_K];
  together = together < per_thread ? together : per_thread;
  double read = p[NEO_SCHED_KEEP] && !plain ? 0.5 : 1; /* the rest is in registers */
  double step = read * WAIT / together + INSTRUCTION / wide;
  double waits = up(threads, busy) * (per_thread * step + (plain ? 0 : joins_cost(s)));
  double traffic = read * l.points * l.steps * ACCESS * apart(x, s) / (MULTIPROCESSORS * 32);
  double blocks = plain ? threads / 128 : threads / (double)p[NEO_SCHED_THREADS];
  return (waits > traffic ? waits : traffic) + LAUNCH + blocks / MULTIPROCESSORS * 4;
}

double neo_threads_cost(const neo_space *x, const neo_schedule *s) {
  return kind_of(s) == TILES ? tiles_cost(x, s) : points_cost(x, s);
}
