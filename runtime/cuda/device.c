/* device.c: an NVIDIA GPU as a device, over the driver: the table, and an entry's steps in the
 * stream.
 *
 * The primary context is pushed for the time of a call, so that the caller's choice of a device
 * stays. */
#include "include/neo/dlpack.h"
#include "runtime/core/run.h"
#include "runtime/cuda/cuda.h"

/* ------------------------------------------------------------ models */

static bool takes(const char *level) {
  return level != NULL;
}

static bool has_code(const neo_rt_kernel *k) {
  return k->device_symbol && k->block > 0 && k->block_units > 0 && k->persistent >= 0;
}

static int number(const neo_rt_ctx *c) {
  return cuda_of(c)->number;
}

static neo_rt_status warm(neo_rt_ctx *c) {
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  for (int32_t k = 0; !s && k < c->model->n_kernels; k++)
    s = neo_rti_cuda_function(c, k);
  neo_rti_cuda_leave(c);
  return s;
}

/* Nothing to start: entries need no memory besides the arena. */
static neo_rt_status start(neo_rt_ctx *c) {
  (void)c;
  return NEO_OK;
}

/* ------------------------------------------------------------ running */

static neo_rt_status launch(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  int32_t kernel = c->model->steps[i].arg;
  neo_rt_status s = neo_rti_cuda_function(c, kernel);
  if (!s)
    s = neo_rti_cuda_status(c, neo_rti_cuda_maps(c, i), "describing tensors to the device");
  if (s)
    return s;
  cuda_kernel_node k = neo_rti_cuda_kernel(c, i, key);
  cuda_result r =
      cuda_of(c)->api.launch(k.function, k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1],
                             k.block[2], k.shared_bytes, cuda_of(c)->stream, k.params, NULL);
  return neo_rti_cuda_status(c, r, c->model->kernels[kernel].name);
}

static neo_rt_status run_copy(neo_rt_ctx *c, const neo_rt_step *s, size_t n) {
  cuda_ptr to = (cuda_ptr)(uintptr_t)c->ptr[s->first];
  cuda_ptr from = (cuda_ptr)(uintptr_t)c->ptr[s->first + 1];
  return neo_rti_cuda_status(c, cuda_of(c)->api.copy(to, from, n, cuda_of(c)->stream), "copying");
}

static neo_rt_status run_step(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  const neo_rt_step *s = &c->model->steps[i];
  int64_t n = 0;
  if (!neo_rti_cuda_step_runs(c, i, &n))
    return NEO_OK;
  neo_rti_cuda_mark_step(c, i);
  neo_rt_status status = s->op == NEO_RT_STEP_RUN ? launch(c, i, key) : run_copy(c, s, (size_t)n);
  neo_rti_cuda_mark_end(c);
  return status;
}

static neo_rt_status run_steps(neo_rt_ctx *c, int32_t first, int32_t end, bool in_loop,
                               const uint64_t *key);

/* Runs the steps of a cooperative kernel, if they contain a loop or are in one. Returns their
 * number; 0: no such kernel begins at step i. With a trace steps are launched one by one, so that
 * it can tell them from one another. */
static int32_t run_grid(neo_rt_ctx *c, int32_t i, bool in_loop, const uint64_t *key,
                        neo_rt_status *s) {
  int32_t grid = c->trace ? -1 : neo_rti_cuda_grid_at(c, i);
  if (grid < 0 || !(in_loop || neo_rti_cuda_grid_has_loops(c, grid)))
    return 0;
  for (int32_t k = i; !*s && k < i + c->model->grids[grid].n_steps; k++)
    if (c->model->steps[k].op == NEO_RT_STEP_RUN)
      *s = neo_rti_cuda_function(c, c->model->steps[k].arg);
  if (*s || !neo_rti_cuda_grid_runs(c, grid))
    return 0;
  *s = neo_rti_cuda_grid_launch(c, grid, key);
  return c->model->grids[grid].n_steps;
}

/* As neo_rti_blocks_end, for rows on the device. */
static neo_rt_status find_blocks_end(neo_rt_ctx *c, const int32_t *rows, int64_t lo, int64_t *hi) {
  int32_t all, at;
  neo_rt_status s = neo_rti_cuda_read(c, &all, rows + *hi, sizeof all);
  while (!s && lo < *hi) {
    int64_t middle = lo + (*hi - lo) / 2;
    s = neo_rti_cuda_read(c, &at, rows + middle, sizeof at);
    if (!s && at < all)
      lo = middle + 1;
    else
      *hi = middle;
  }
  return s;
}

/* Sets the sizes of the present iteration's rows; *any: it has some. */
static neo_rt_status take_rows(neo_rt_ctx *c, const neo_rt_loop *l, const int32_t *rows,
                               int64_t iteration, int64_t next, bool *any) {
  int32_t ends[2] = {0, 0};
  neo_rt_status s = neo_rti_cuda_read(c, &ends[0], rows + iteration, sizeof ends[0]);
  s = s ? s : neo_rti_cuda_read(c, &ends[1], rows + next, sizeof ends[1]);
  c->sizes[l->begin] = ends[0];
  c->sizes[l->end] = ends[1];
  *any = ends[0] < ends[1];
  return s;
}

/* Runs a loop from the host: a kernel gets the index among its sizes when it is launched. The host
 * waits for the device to read the rows of a block, so such loops are better in a cooperative
 * kernel. */
static neo_rt_status run_loop(neo_rt_ctx *c, int32_t i, const uint64_t *key) {
  const neo_rt_step *step = &c->model->steps[i];
  const neo_rt_loop *l = &c->model->loops[step->arg];
  const int32_t *rows = step->flags & NEO_RT_STEP_BLOCKS ? c->ptr[step->first] : NULL;
  int64_t lo = neo_rt_eval(c->model, l->lo, c->sizes), hi = neo_rt_eval(c->model, l->hi, c->sizes);
  bool whole = step->flags & NEO_RT_STEP_WHOLE;
  int64_t n = whole && lo < hi ? hi - lo : 1; /* blocks of an iteration */
  neo_rt_status s = rows && lo < hi && !whole ? find_blocks_end(c, rows, lo, &hi) : NEO_OK;
  bool marks = c->trace && neo_rti_cuda_mark_iterations(c, true);
  for (int64_t k = lo; k < hi && !s; k += n) {
    int64_t at = l->down ? lo + hi - n - k : k;
    bool any = true;
    if (c->trace)
      (void)neo_rti_cuda_mark_iterations(c, marks && k == lo);
    if (l->index >= 0)
      c->sizes[l->index] = at;
    if (rows)
      s = take_rows(c, l, rows, at, at + n, &any);
    for (int32_t j = i + 1; j <= i + step->n; j++)
      if (c->model->steps[j].op == NEO_RT_STEP_RUN)
        c->units[j] = neo_rti_kernel_units(c, c->model->steps[j].arg, c->sizes);
    if (!s && any)
      s = run_steps(c, i + 1, i + 1 + step->n, true, key);
  }
  if (c->trace)
    (void)neo_rti_cuda_mark_iterations(c, marks);
  return s;
}

static neo_rt_status run_steps(neo_rt_ctx *c, int32_t first, int32_t end, bool in_loop,
                               const uint64_t *key) {
  neo_rt_status s = NEO_OK;
  for (int32_t i = first; !s && i < end; i++) {
    const neo_rt_step *step = &c->model->steps[i];
    int32_t n = run_grid(c, i, in_loop, key, &s);
    if (n || s) {
      i += n - 1;
      continue;
    }
    if (step->op != NEO_RT_STEP_LOOP) {
      s = run_step(c, i, key);
      continue;
    }
    if (c->units[i])
      s = run_loop(c, i, key);
    i += step->n;
  }
  return s;
}

static neo_rt_status run(neo_rt_ctx *c, const neo_rt_entry *e, const uint64_t *key) {
  bool ran = false;
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  if (!c->trace) /* a trace tells kernels from one another */
    s = neo_rti_cuda_graph_run(c, e, key, &ran);
  if (!s && !ran)
    s = run_steps(c, e->first_step, e->first_step + e->n_steps, false, key);
  neo_rti_cuda_leave(c);
  return s;
}

const neo_rti_device neo_rti_device_cuda = {.name = "cuda",
                                            .dlpack = NEO_DL_CUDA,
                                            .separate = true,
                                            .takes = takes,
                                            .has_code = has_code,
                                            .model_ok = neo_rti_cuda_grids_check,
                                            .open = neo_rti_cuda_open,
                                            .close = neo_rti_cuda_close,
                                            .allocate = neo_rti_cuda_allocate,
                                            .regrow = neo_rti_cuda_regrow,
                                            .start = start,
                                            .warm = warm,
                                            .number = number,
                                            .copy = neo_rti_cuda_copy,
                                            .synchronise = neo_rti_cuda_finish,
                                            .run = run,
                                            .end = neo_rti_cuda_end,
                                            .trace_open = neo_rti_cuda_trace_open,
                                            .trace_begin = neo_rti_cuda_trace_begin,
                                            .trace_put = neo_rti_cuda_trace_put,
                                            .trace_close = neo_rti_cuda_trace_close};
