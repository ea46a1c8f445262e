/* The cost, in cycles, of threads at points and of one thread per unit. A step costs its accesses,
 * and four times as much where accesses of neighbouring threads are not coalesced. Combining lanes
 * costs a barrier for each halving, or a shuffle within a warp. Multiprocessors run blocks in
 * waves; a wave takes at least the latency of memory, even with few threads. */
#include "schedule/gpu_rows/gpu_rows.h"
#include "schedule/model.h"

static double up(double x, double n) {
  double q = (double)(int64_t)(x / n);
  return q * n < x ? q + 1 : q;
}

static double all_steps(const neo_space *x) {
  double steps = 0;
  for (size_t k = 0; k < x->f->stages.n; k++)
    steps += neo_stage_usual_steps(x->m, &x->f->stages.at[k]);
  return steps;
}

/* 1 where accesses are coalesced: neighbouring threads access neighbouring elements. */
static double access_factor(const neo_space *x, bool along) {
  neo_schedule first;
  int64_t across = neo_gpu_rows_choose(x, &first) ? first.rows.across : 1;
  return along == !across ? 1 : 4;
}

double neo_gpu_points_cost(const neo_space *x, const neo_gpu_thread_share *t) {
  enum { ACCESS = 2, INSTRUCTION = 2 };
  const neo_multiprocessor *sm = &x->machine->sm;
  double processors = x->machine->profile.workers, resident = processors * sm->threads;
  double points = neo_form_usual_points(x->m, x->f, ~0ULL), steps = all_steps(x);
  double threads = up(points, t->points) * t->lanes;
  double busy = threads < resident ? threads : resident;
  double per_thread = up(steps, t->lanes) * t->points;
  double together = t->together < per_thread ? t->together : per_thread;
  double step = t->read * sm->wait / together + INSTRUCTION / t->vector;
  double waits = up(threads, busy) * (per_thread * step + t->joins);
  double accesses = t->read * points * steps * ACCESS * access_factor(x, t->along);
  double traffic = accesses / (processors * NEO_BLOCK_WARP);
  return (waits > traffic ? waits : traffic) + sm->launch + threads / t->block / processors * 4;
}

static double joins_cost(const neo_row_params *p) {
  enum { JOIN = 30, SHUFFLE = 4 };
  double cost = 0;
  int64_t stride = p->across ? p->threads / p->lanes : 1;
  for (int64_t n = p->lanes; n > 1; n /= 2)
    cost += n * stride > NEO_BLOCK_WARP ? JOIN : SHUFFLE;
  return cost;
}

double neo_gpu_rows_cost(const neo_space *x, const neo_schedule *s) {
  const neo_row_params *p = &s->rows;
  bool points = p->vector_axis >= 0 && p->vector_axis < (int64_t)x->f->axes.n;
  neo_gpu_thread_share t = {.points = points ? (double)p->vector_width : 1,
                            .together = (double)(p->vector_width * p->unroll_k),
                            .lanes = (double)p->lanes,
                            .block = (double)p->threads,
                            .joins = joins_cost(p),
                            .read = p->stash ? 0.5 : 1, /* the second read comes from registers */
                            .vector = (double)p->vector_width,
                            .along = p->lanes >= 8 && !p->across};
  return neo_gpu_points_cost(x, &t);
}
