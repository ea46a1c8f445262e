/* grid.c: consecutive steps as one cooperative kernel (neo_rt_grid): all blocks of its launch are
 * resident at the same time, and wait for one another. It is a node of an entry's graph; with a
 * loop, or in a loop whose iterations the host counts, it can also be launched by itself.
 *
 * It replaces its steps if driver and device support it, if at least two of the steps do anything
 * in this call, and if the dependences between steps are as the compiler assumed: tensors of the
 * caller's may be the same memory. NEO_CUDA_GRIDS=0: never. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "runtime/core/run.h"
#include "runtime/cuda/cuda.h"
#include <stdlib.h>
#include <string.h>

bool neo_rti_cuda_wants_grids(const neo_rti_cuda *u) {
  const char *asked = secure_getenv("NEO_CUDA_GRIDS");
  int can = 0;
  return !(asked && strcmp(asked, "0") == 0) && u->api.graph_attribute &&
         u->api.launch_cooperative && u->api.occupancy &&
         u->api.device_attribute(&can, CUDA_COOPERATIVE, u->device) == 0 && can;
}

/* Asks the driver, once, how many of the kernel's blocks are resident at a time; 0: none. */
static cuda_result ask(neo_rt_ctx *c, const neo_rt_grid *g, cuda_resident *r) {
  neo_rti_cuda *u = cuda_of(c);
  int each = 0;
  cuda_result e = u->api.module_function(&r->function, u->module, g->device_symbol);
  if (!e && g->scratch_bytes > CUDA_PLAIN_SHARED_BYTES)
    e = u->api.function_set(r->function, CUDA_MOST_SHARED, (int)g->scratch_bytes);
  if (!e)
    e = u->api.occupancy(&each, r->function, g->block, (size_t)g->scratch_bytes);
  r->most = e ? 0 : (int64_t)each * u->processors;
  return e;
}

static int64_t most_blocks(neo_rt_ctx *c, int32_t grid) {
  cuda_resident *r = &cuda_of(c)->resident[grid];
  const neo_rt_grid *g = &c->model->grids[grid];
  if (r->asked)
    return r->most;
  r->asked = true;
  cuda_result e = ask(c, g, r);
  if (r->most == 0) {
    const char *name = NULL;
    (void)cuda_of(c)->api.error_name(e, &name);
    neo_rti_log(c, NEO_RTI_LOG_INFO, "%s: %s are launched one by one: their grid has no room (%s)",
                cuda_of(c)->name, g->name, e && name ? name : "too many registers");
  }
  return r->most;
}

/* ---- parts: steps; the steps of a loop come right after it */

static const neo_rt_grid_part *part_at(const neo_rt_ctx *c, const neo_rt_grid *g, int32_t step) {
  return &c->model->grid_parts[g->part + step - g->first_step];
}

static int32_t item_end(const neo_rt_model *m, int32_t step) {
  return step + 1 + (m->steps[step].op == NEO_RT_STEP_LOOP ? m->steps[step].n : 0);
}

/* Units of a step; in a loop, the larger of the numbers at the largest and at the smallest
 * indices. */
static int64_t units_of(const neo_rt_ctx *c, const neo_rt_grid *g, int32_t step, bool in_loop) {
  const neo_rt_model *m = c->model;
  int64_t sizes[NEO_RT_MOST_SIZES], n = c->units[step];
  if (!in_loop || !n)
    return n;
  for (int32_t i = 0; i < m->n_sizes; i++)
    sizes[i] = c->sizes[i];
  for (int32_t i = g->first_step; i < g->first_step + g->n_steps; i++)
    if (m->steps[i].op == NEO_RT_STEP_LOOP && m->loops[m->steps[i].arg].index >= 0)
      sizes[m->loops[m->steps[i].arg].index] = m->sizes[m->loops[m->steps[i].arg].index].lo;
  int64_t first = neo_rti_kernel_units(c, m->steps[step].arg, sizes);
  return first > n ? first : n;
}

static int64_t blocks_of(const neo_rt_ctx *c, const neo_rt_grid *g, int32_t step, bool in_loop) {
  int64_t each = c->model->kernels[c->model->steps[step].arg].block_units;
  each = each > 1 ? g->block : 1;
  return (units_of(c, g, step, in_loop) + each - 1) / each;
}

/* The number of blocks for the largest phase of the steps from `first` on, which are in a loop or
 * in none. Lone kernels of a phase run in turn on the same blocks. */
static int64_t wanted_blocks(const neo_rt_ctx *c, const neo_rt_grid *g, int32_t first, int32_t end,
                             bool in_loop) {
  const neo_rt_model *m = c->model;
  int64_t most = 1;
  for (int32_t i = first; i < end; i = item_end(m, i)) {
    int64_t n = 0, lone = 0;
    if (m->steps[i].op == NEO_RT_STEP_LOOP && !part_at(c, g, i)->lone) {
      n = wanted_blocks(c, g, i + 1, item_end(m, i), true);
    } else {
      for (int32_t k = first; k < end; k = item_end(m, k)) {
        if (part_at(c, g, k)->phase != part_at(c, g, i)->phase)
          continue;
        if (part_at(c, g, k)->lone)
          lone = 1;
        else
          n += blocks_of(c, g, k, in_loop);
      }
    }
    most = n + lone > most ? n + lone : most;
  }
  return most;
}

/* ---- launches */

cuda_kernel_node neo_rti_cuda_grid_kernel(neo_rt_ctx *c, int32_t grid, const uint64_t *key) {
  neo_rti_cuda *u = cuda_of(c);
  const neo_rt_model *m = c->model;
  const neo_rt_grid *g = &m->grids[grid];
  size_t n = 0;
  for (int32_t i = g->first_step; i < g->first_step + g->n_steps; i++)
    for (int32_t a = 0; a < neo_rti_step_args(&m->steps[i]); a++)
      u->param[n++] = &c->ptr[m->steps[i].first + a];
  for (int32_t a = 0; a < m->n_sizes; a++)
    u->param[n++] = &c->sizes[a];
  for (int32_t a = 0; a < 3; a++)
    u->param[n++] = (void *)(uintptr_t)&key[a];
  for (int32_t i = 0; i < g->n_steps; i++)
    u->param[n++] = &c->units[g->first_step + i];
  cuda_resident *r = &u->resident[grid];
  r->place = (cuda_ptr)(uintptr_t)(c->places + (size_t)grid * NEO_RTI_PLACE_BYTES);
  u->param[n++] = &r->place;
  u->param[n] = NULL;
  int64_t wanted = wanted_blocks(c, g, g->first_step, g->first_step + g->n_steps, false);
  return (cuda_kernel_node){.function = r->function,
                            .grid = {(unsigned)(wanted < r->most ? wanted : r->most), 1, 1},
                            .block = {(unsigned)g->block, 1, 1},
                            .shared_bytes = (unsigned)g->scratch_bytes,
                            .params = u->param};
}

size_t neo_rti_cuda_grid_params(const neo_rt_model *m) {
  size_t most = 0;
  for (int32_t k = 0; k < m->n_grids; k++) {
    const neo_rt_grid *g = &m->grids[k];
    size_t n = (size_t)g->n_steps + (size_t)m->n_sizes + 5;
    for (int32_t i = g->first_step; i < g->first_step + g->n_steps; i++)
      n += (size_t)neo_rti_step_args(&m->steps[i]);
    most = n > most ? n : most;
  }
  return most;
}

neo_rt_status neo_rti_cuda_grid_launch(neo_rt_ctx *c, int32_t grid, const uint64_t *key) {
  neo_rti_cuda *u = cuda_of(c);
  cuda_kernel_node k = neo_rti_cuda_grid_kernel(c, grid, key);
  cuda_result r =
      u->api.launch_cooperative(k.function, k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1],
                                k.block[2], k.shared_bytes, u->stream, k.params);
  return neo_rti_cuda_status(c, r, c->model->grids[grid].name);
}

/* ---- may it take the place of its steps */

/* Whether a step of item i conflicts with a step of item k. An item is a step, or a loop with its
 * steps. */
static bool items_conflict(const neo_rt_ctx *c, int32_t i, int32_t k, bool other_iteration) {
  for (int32_t a = i; a < item_end(c->model, i); a++)
    for (int32_t b = k; b < item_end(c->model, k); b++)
      if (neo_rti_cuda_conflict(c, a, b, other_iteration))
        return true;
  return false;
}

static int32_t last_phase(const neo_rt_ctx *c, const neo_rt_grid *g, int32_t first, int32_t end) {
  int32_t last = 0;
  for (int32_t i = first; i < end; i = item_end(c->model, i))
    last = part_at(c, g, i)->phase > last ? part_at(c, g, i)->phase : last;
  return last;
}

/* Whether the dependences in this call of the steps from `first` on, which are in a loop or in
 * none, agree with their phases. unsynchronized: there is no barrier between iterations. */
static bool in_phases(const neo_rt_ctx *c, const neo_rt_grid *g, int32_t first, int32_t end,
                      bool unsynchronized) {
  const neo_rt_model *m = c->model;
  int32_t last = last_phase(c, g, first, end);
  for (int32_t i = first; i < end; i = item_end(m, i)) {
    const neo_rt_grid_part *x = part_at(c, g, i);
    const neo_rt_loop *l = m->steps[i].op == NEO_RT_STEP_LOOP ? &m->loops[m->steps[i].arg] : NULL;
    if (l && !in_phases(c, g, i + 1, item_end(m, i), l->index >= 0 && !x->meets))
      return false;
    for (int32_t k = first; k < end; k = item_end(m, k)) {
      const neo_rt_grid_part *y = part_at(c, g, k);
      bool ordered = x->lone && y->lone && x->phase == y->phase;
      bool late = k < i && y->phase >= x->phase && !ordered;
      bool early = unsynchronized && x->phase == 0 && y->phase == last && !(x->lone && y->lone);
      if ((late && items_conflict(c, i, k, false)) || (early && items_conflict(c, i, k, true)))
        return false;
    }
  }
  return true;
}

bool neo_rti_cuda_grid_runs(neo_rt_ctx *c, int32_t grid) {
  const neo_rt_grid *g = &c->model->grids[grid];
  int32_t n = 0, end = g->first_step + g->n_steps;
  for (int32_t i = g->first_step; i < end; i++)
    n += c->units[i] != 0;
  return cuda_of(c)->with_grids && n > 1 && in_phases(c, g, g->first_step, end, false) &&
         most_blocks(c, grid) > 0;
}

int32_t neo_rti_cuda_grid_at(const neo_rt_ctx *c, int32_t step) {
  int32_t k = 0;
  while (k < c->model->n_grids && c->model->grids[k].first_step != step)
    k++;
  return k < c->model->n_grids ? k : -1;
}

bool neo_rti_cuda_grid_has_loops(const neo_rt_ctx *c, int32_t grid) {
  const neo_rt_grid *g = &c->model->grids[grid];
  bool has = false;
  for (int32_t i = g->first_step; i < g->first_step + g->n_steps; i++)
    has = has || c->model->steps[i].op == NEO_RT_STEP_LOOP;
  return has;
}

static bool grid_ok(const neo_rt_model *m, int32_t k) {
  const neo_rt_grid *g = &m->grids[k];
  int32_t after = k ? m->grids[k - 1].first_step + m->grids[k - 1].n_steps : 0;
  bool ok = g->first_step >= after && g->n_steps > 0 && g->n_steps <= m->n_steps - g->first_step &&
            g->part >= 0 && g->block > 0 && g->scratch_bytes >= 0 && g->device_symbol;
  for (int32_t i = 0; ok && i < g->n_steps; i++) {
    const neo_rt_step *s = &m->steps[g->first_step + i];
    bool ends = s->op != NEO_RT_STEP_LOOP || s->n < g->n_steps - i;
    ok = s->op != NEO_RT_STEP_COPY && !s->cached && m->grid_parts[g->part + i].phase >= 0 && ends;
  }
  return ok;
}

bool neo_rti_cuda_grids_check(const neo_rt_model *m) {
  bool ok = m->n_grids == 0 || m->device;
  for (int32_t k = 0; ok && k < m->n_grids; k++)
    ok = grid_ok(m, k);
  return ok;
}
