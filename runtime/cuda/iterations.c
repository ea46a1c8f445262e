/* iterations.c: the steps of an entry in the order in which they run. Steps of a loop run in each
 * iteration, with its sizes and numbers of units. */
#include "runtime/core/run.h"
#include "runtime/cuda/graph.h"

typedef struct {
  neo_rt_ctx *c;
  const neo_rt_entry *e;
  const int64_t *grid; /* by step of the entry, as in cached_graph */
  cuda_visit *visit;
  void *ctx;
  int32_t iterations; /* iterations so far */
} walker;

static cuda_result walk_steps(walker *w, int32_t first, int32_t end, int32_t iteration);

static void count_units(neo_rt_ctx *c, int32_t first, int32_t end) {
  for (int32_t i = first; i < end; i++)
    if (c->model->steps[i].op == NEO_RT_STEP_RUN)
      c->units[i] = neo_rti_kernel_units(c, c->model->steps[i].arg, c->sizes);
}

static cuda_result walk_loop(walker *w, int32_t i) {
  neo_rt_ctx *c = w->c;
  if (c->model->steps[i].flags & NEO_RT_STEP_BLOCKS)
    return CUDA_ITERATIONS_ARE_DATA;
  const neo_rt_loop *l = &c->model->loops[c->model->steps[i].arg];
  int64_t lo = neo_rt_eval(c->model, l->lo, c->sizes), hi = neo_rt_eval(c->model, l->hi, c->sizes);
  int64_t before = l->index >= 0 ? c->sizes[l->index] : 0;
  int32_t end = i + 1 + c->model->steps[i].n;
  cuda_result r = 0;
  for (int64_t k = lo; k < hi && !r; k++) {
    if (l->index >= 0)
      c->sizes[l->index] = l->down ? lo + hi - 1 - k : k;
    count_units(c, i + 1, end);
    r = walk_steps(w, i + 1, end, ++w->iterations);
  }
  if (l->index >= 0)
    c->sizes[l->index] = before;
  count_units(c, i + 1, end);
  return r;
}

static cuda_result walk_steps(walker *w, int32_t first, int32_t end, int32_t iteration) {
  const neo_rt_model *m = w->c->model;
  cuda_result r = 0;
  for (int32_t i = first; i < end && !r; i++) {
    int64_t grid = w->grid[i - w->e->first_step];
    if (grid) {
      r = w->visit(w->c, w->ctx, i - w->e->first_step, iteration);
      i += m->grids[grid - 1].n_steps - 1;
    } else if (m->steps[i].op == NEO_RT_STEP_LOOP) {
      r = w->c->units[i] ? walk_loop(w, i) : 0;
      i += m->steps[i].n;
    } else if (neo_rti_cuda_step_runs(w->c, i, NULL)) {
      r = w->visit(w->c, w->ctx, i - w->e->first_step, iteration);
    }
  }
  return r;
}

cuda_result neo_rti_cuda_walk(neo_rt_ctx *c, const neo_rt_entry *e, const int64_t *grid,
                              cuda_visit *visit, void *ctx) {
  walker w = {c, e, grid, visit, ctx, 0};
  return walk_steps(&w, e->first_step, e->first_step + e->n_steps, 0);
}
