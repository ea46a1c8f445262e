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
