/* call_cache.c: which call-invariant values are out of date.
 *
 * A cached value is made again when one of its sources has been written since, and always where the
 * caller can write to one without our knowing (bound, or seen through neo_rt_view). It is up to
 * date once an entry with its step has run to the end. An entry that updates a source has no step
 * whose value follows from it (the compiler sees to that). */
#include "runtime/core/call_cache.h"

void neo_rti_call_cache_written(neo_rt_ctx *c, int32_t tensor) {
  const neo_rt_model *m = c->model;
  for (int32_t k = 0; k < m->n_cached; k++) {
    const neo_rt_cached *cached = &m->cached[k];
    bool is_source = tensor < 0;
    for (int32_t i = 0; i < cached->n_sources; i++)
      is_source = is_source || m->cached_sources[cached->sources + i] == tensor;
    c->stale[k] = c->stale[k] || is_source;
  }
}

bool neo_rti_call_cache_runs(const neo_rt_ctx *c, const neo_rt_step *s) {
  if (!s->cached || c->stale[s->cached - 1])
    return true;
  const neo_rt_cached *cached = &c->model->cached[s->cached - 1];
  for (int32_t i = 0; i < cached->n_sources; i++) {
    int32_t t = c->model->cached_sources[cached->sources + i];
    if (c->viewed[t] || c->bound[t].data)
      return true;
  }
  return false;
}

void neo_rti_call_cache_done(neo_rt_ctx *c, const neo_rt_entry *e, bool good) {
  const neo_rt_model *m = c->model;
  for (int32_t i = e->first_step; i < e->first_step + e->n_steps; i++)
    if (m->steps[i].cached)
      c->stale[m->steps[i].cached - 1] = !good;
  for (int32_t i = 0; i < e->n_writes; i++)
    neo_rti_call_cache_written(c, m->entry_writes[e->writes + i]);
  if (e->kind == NEO_RT_ENTRY_INIT)
    neo_rti_call_cache_written(c, -1);
}

static bool tensors_ok(const neo_rt_model *m, const int32_t *table, int32_t at, int32_t n) {
  bool ok = at >= 0 && n >= 0;
  for (int32_t i = 0; ok && i < n; i++) {
    int32_t t = table[at + i];
    ok = t >= 0 && t < m->n_tensors && neo_rti_tensor_persists(&m->tensors[t]);
  }
  return ok;
}

bool neo_rti_call_cache_check(const neo_rt_model *m) {
  bool ok = m->n_cached >= 0 && m->cached_bytes >= 0;
  for (int32_t k = 0; ok && k < m->n_cached; k++)
    ok = tensors_ok(m, m->cached_sources, m->cached[k].sources, m->cached[k].n_sources);
  for (int32_t k = 0; ok && k < m->n_entries; k++)
    ok = tensors_ok(m, m->entry_writes, m->entries[k].writes, m->entries[k].n_writes);
  return ok;
}
