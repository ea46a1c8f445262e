/* arena.c: lays out the memory that kernels use. The arena is one allocation of the device (or the
 * caller's memory), each part rounded up to 64 bytes:
 *
 *   parameters | states, settings | call-invariant values | tape | scratch x threads, or, if the
 *   device's memory is separate, constants
 *
 * The work, frame | unwanted outputs, is another allocation, which frame.c makes as large as calls
 * need. In the caller's memory it is after the arena, and has room for the largest sizes. */
#include "runtime/core/setup.h"
#include "runtime/pool.h"
#include "runtime/processor.h"

typedef struct {
  int64_t at[NEO_RTI_N_MEM], places, total; /* offsets in the arena; CONST only on a separate
                                               device */
} layout;

/* Bytes of a class whose size the model does not say. */
static int64_t bytes_of(const neo_rt_model *m, uint8_t mem) {
  int64_t n = 0;
  for (int32_t i = 0; i < m->n_bufs; i++) {
    int64_t end = m->bufs[i].offset + m->bufs[i].size_bytes;
    if (m->bufs[i].mem == mem && end > n)
      n = end;
  }
  return n;
}

static int64_t spill_bytes(const neo_rt_model *m, bool separate) {
  int64_t most = 0;
  for (int32_t i = 0; i < m->n_entries; i++) {
    const neo_rt_entry *e = &m->entries[i];
    int64_t n = 0;
    for (int32_t k = separate ? 0 : e->n_inputs; k < e->n_args; k++)
      n += neo_rti_spill_bytes(m, &m->tensors[m->entry_args[e->args + k]]);
    if (n > most)
      most = n;
  }
  return most;
}

static layout arena_layout(const neo_rt_model *m, int32_t threads) {
  bool separate = neo_rti_device_of(m)->separate;
  layout l = {{0}, 0, 0};
  l.at[NEO_RT_MEM_STATE] = neo_rti_round_up(m->param_bytes);
  l.places = l.at[NEO_RT_MEM_STATE] + neo_rti_round_up(m->state_bytes);
  l.at[NEO_RT_MEM_CACHED] = l.places + (int64_t)m->n_grids * NEO_RTI_PLACE_BYTES;
  l.at[NEO_RT_MEM_TAPE] = l.at[NEO_RT_MEM_CACHED] + neo_rti_round_up(m->cached_bytes);
  l.at[NEO_RT_MEM_SCRATCH] = l.at[NEO_RT_MEM_TAPE] + neo_rti_round_up(bytes_of(m, NEO_RT_MEM_TAPE));
  l.total = l.at[NEO_RT_MEM_SCRATCH];
  if (!separate) /* a separate device has its own scratch, the shared memory of a block */
    l.total += neo_rti_round_up(m->scratch_bytes) * threads;
  l.at[NEO_RT_MEM_CONST] = l.total;
  if (separate)
    l.total += neo_rti_round_up(bytes_of(m, NEO_RT_MEM_CONST));
  return l;
}

static int64_t most_work_bytes(const neo_rt_model *m) {
  return neo_rti_round_up(m->frame_bytes) + spill_bytes(m, neo_rti_device_of(m)->separate);
}

int64_t neo_rt_arena_size(const neo_rt_model *model, int32_t threads) {
  char unused[1];
  if (!model || threads < 0 || threads > NEO_RTI_MAX_THREADS)
    return -1;
  neo_rt_status status = neo_rti_model_check(model, unused, sizeof unused);
  if (status && status != NEO_UNSUPPORTED)
    return -1;
  return arena_layout(model, threads ? threads : neo_rti_cores()).total + most_work_bytes(model);
}

int64_t neo_rti_ctx_bytes(const neo_rt_model *m, const int64_t *sizes) {
  int64_t most = 0;
  for (int32_t i = 0; i < m->n_entries; i++) {
    int64_t n = neo_rti_frame_bytes(m, &m->entries[i], sizes);
    most = n > most ? n : most;
  }
  return arena_layout(m, 1).total + neo_rti_round_up(most);
}

/* Copies the constants to a separate device's memory. */
static neo_rt_status put_constants(neo_rt_ctx *c) {
  if (!c->device->separate)
    return NEO_OK;
  return neo_rti_put(c, c->base[NEO_RT_MEM_CONST], c->model->const_data,
                     (size_t)bytes_of(c->model, NEO_RT_MEM_CONST));
}

neo_rt_status neo_rti_arena_take(neo_rt_ctx *c, const neo_rt_config *config) {
  layout l = arena_layout(c->model, c->threads);
  c->most_work_bytes = (size_t)most_work_bytes(c->model);
  c->work_grows = !config->arena;
  c->arena_bytes = (size_t)l.total + (c->work_grows ? 0 : c->most_work_bytes);
  neo_rt_status s = c->device->allocate(c, config, c->arena_bytes, (size_t)l.at[NEO_RT_MEM_CACHED]);
  if (s)
    return s;
  c->base[NEO_RT_MEM_CONST] = c->arena + l.at[NEO_RT_MEM_CONST];
  for (int mem = NEO_RT_MEM_PARAM; mem <= NEO_RT_MEM_SCRATCH; mem++)
    c->base[mem] = mem == NEO_RT_MEM_FRAME ? NULL : c->arena + l.at[mem];
  c->base[NEO_RT_MEM_CACHED] = c->arena + l.at[NEO_RT_MEM_CACHED];
  c->places = c->arena + l.places;
  c->scratch_stride = neo_rti_round_up(c->model->scratch_bytes);
  if (!c->work_grows) {
    c->work = c->arena + l.total;
    c->work_bytes = c->most_work_bytes;
  }
  return put_constants(c);
}

int64_t neo_rt_bytes(const neo_rt_ctx *c) {
  if (!c || !c->alive)
    return 0;
  return (int64_t)(c->arena_bytes + (c->work_grows ? c->work_bytes : 0));
}
