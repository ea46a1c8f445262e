/* grid.c: consecutive steps as one cooperative kernel (neo_rt_grid), as a node of an entry's graph:
 * all blocks of its launch are on the device at the same time, and wait for one another.
 *
 * Such a node takes the place of its steps' nodes where the driver and the device can do that,
 * where at least two of the steps do anything in this call, and where steps need one another as the
 * compiler took it: tensors of the caller's may be the same memory. NEO_CUDA_GRIDS=0: never. */
#include "runtime/cuda/cuda.h"
#include <stdlib.h>
#include <string.h>

bool neo_rti_cuda_wants_grids(const neo_rti_cuda *u) {
  const char *asked = getenv("NEO_CUDA_GRIDS");
  int can = 0;
  return !(asked && strcmp(asked, "0") == 0) && u->api.graph_attribute && u->api.occupancy &&
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

static int64_t blocks_of(const neo_rt_ctx *c, const neo_rt_grid *g, int32_t step) {
  int64_t units = c->units[step], each = c->model->kernels[c->model->steps[step].arg].block_units;
  each = each > 1 ? g->block : 1;
  return (units + each - 1) / each;
}

/* Blocks of the largest phase. Its lone kernels, which run in turn, need one for all. */
static int64_t wanted_blocks(const neo_rt_ctx *c, const neo_rt_grid *g) {
  const neo_rt_grid_part *part = c->model->grid_parts + g->part;
  int64_t most = 1;
  for (int32_t i = 0; i < g->n_steps; i++) {
    int64_t n = 0, lone = 0;
    for (int32_t k = 0; k < g->n_steps; k++) {
      if (part[k].phase == part[i].phase && part[k].lone)
        lone = 1;
      else if (part[k].phase == part[i].phase)
        n += blocks_of(c, g, g->first_step + k);
    }
    most = n + lone > most ? n + lone : most;
  }
  return most;
}

cuda_kernel_node neo_rti_cuda_grid_kernel(neo_rt_ctx *c, int32_t grid, const uint64_t *key) {
  neo_rti_cuda *u = cuda_of(c);
  const neo_rt_model *m = c->model;
  const neo_rt_grid *g = &m->grids[grid];
  size_t n = 0;
  for (int32_t i = g->first_step; i < g->first_step + g->n_steps; i++)
    for (int32_t a = 0; a < m->steps[i].n; a++)
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
  int64_t wanted = wanted_blocks(c, g);
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
      n += (size_t)m->steps[i].n;
    most = n > most ? n : most;
  }
  return most;
}

/* Do the steps' dependences in this call agree with their phases? */
static bool in_phases(const neo_rt_ctx *c, const neo_rt_grid *g) {
  const neo_rt_grid_part *part = c->model->grid_parts + g->part;
  for (int32_t i = 0; i < g->n_steps; i++)
    for (int32_t k = 0; k < i; k++) {
      bool serialized = part[i].lone && part[k].lone && part[i].phase == part[k].phase;
      if (part[k].phase >= part[i].phase && !serialized &&
          neo_rti_cuda_conflict(c, g->first_step + i, g->first_step + k))
        return false;
    }
  return true;
}

bool neo_rti_cuda_grid_runs(neo_rt_ctx *c, int32_t grid) {
  const neo_rt_grid *g = &c->model->grids[grid];
  int32_t n = 0;
  for (int32_t i = g->first_step; i < g->first_step + g->n_steps; i++)
    n += c->units[i] != 0;
  return cuda_of(c)->with_grids && n > 1 && in_phases(c, g) && most_blocks(c, grid) > 0;
}

static bool grid_ok(const neo_rt_model *m, int32_t k) {
  const neo_rt_grid *g = &m->grids[k];
  int32_t after = k ? m->grids[k - 1].first_step + m->grids[k - 1].n_steps : 0;
  bool ok = g->first_step >= after && g->n_steps > 0 && g->n_steps <= m->n_steps - g->first_step &&
            g->part >= 0 && g->block > 0 && g->scratch_bytes >= 0 && g->device_symbol;
  for (int32_t i = 0; ok && i < g->n_steps; i++) {
    const neo_rt_step *s = &m->steps[g->first_step + i];
    ok = s->op == NEO_RT_STEP_RUN && !s->cached && m->grid_parts[g->part + i].phase >= 0;
  }
  return ok;
}

bool neo_rti_cuda_grids_check(const neo_rt_model *m) {
  bool ok = m->n_grids == 0 || m->device;
  for (int32_t k = 0; ok && k < m->n_grids; k++)
    ok = grid_ok(m, k);
  return ok;
}
