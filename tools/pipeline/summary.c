/* The summary of a build, in numbers. */
#include "tools/pipeline/compile.h"

neo_summary neo_compile_summary(neo_compilation *c) {
  const neo_plan *p = c->plan;
  if (c->found)
    return c->summary;
  neo_summary s = {.kernels = p->kernels.n};
  s.param_bytes = p->param_bytes, s.state_bytes = p->state_bytes;
  s.cached_bytes = p->cached_bytes, s.scratch_bytes = p->scratch_bytes;
  for (size_t k = 0; k < p->entries.n; k++) {
    const neo_rt_entry *e = &p->entries.at[k];
    neo_entry_memory m = {e->name, e->frame_bytes, e->lower_bound_bytes};
    if (e->kind != NEO_RT_ENTRY_INIT)
      NEO_PUSH(&c->arena, &s.entries, m);
  }
  return s;
}
