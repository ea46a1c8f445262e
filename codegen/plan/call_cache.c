/* Call-invariant values: fusion marks groups as cached, whose roots stay in the context between
 * calls.
 *
 * The runtime has a row for each cached group (neo_rt_cached): the group's step is in every entry
 * that needs it, and runs only where a source has changed. The sources are the parameters, states
 * and settings from which the group's results follow, also by way of other cached groups. The
 * memory of a root is its own for as long as the context lives; groups that write pieces of the
 * same tensor write to the same memory. */
#include "base/whole.h"
#include "codegen/plan/internal.h"
#include <assert.h>

static uint64_t key_of(uint32_t entry, neo_tensor t) {
  return (uint64_t)entry << 32 | t.i;
}

bool plan_cached_buf(const plan_store *s, uint32_t entry, neo_tensor t, int32_t *buf) {
  uint64_t b;
  if (!neo_map_get(&s->cached_bufs, key_of(entry, t), &b))
    return false;
  *buf = (int32_t)b;
  return true;
}

static bool writes(const neo_group *g, neo_tensor t) {
  for (size_t k = 0; k < g->roots.n; k++)
    if (g->roots.at[k].i == t.i)
      return true;
  return false;
}

/* Is g a cached group that `reader` needs for t? */
static bool makes(const neo_group *g, const neo_group *reader, neo_tensor t) {
  return g->cached && g != reader && g->entry == reader->entry && writes(g, t);
}

static void add_source(neo_plan *p, int32_t first, int32_t number) {
  for (size_t k = (size_t)first; k < p->cached_sources.n; k++)
    if (p->cached_sources.at[k] == number)
      return;
  NEO_PUSH(p->arena, &p->cached_sources, number);
}

/* Adds the sources of the cached groups that write t. */
static void add_sources_of(const plan_entry_env *env, const neo_group *reader, neo_tensor t,
                           int32_t first) {
  neo_plan *p = env->store->p;
  const neo_grouping *all = env->in->grouping;
  for (uint32_t g = 0; g < all->groups.n; g++) {
    if (!makes(&all->groups.at[g], reader, t))
      continue;
    neo_rt_cached from = p->cached.at[plan_cached_group(env, g) - 1];
    for (int32_t k = 0; k < from.n_sources; k++)
      add_source(p, first, p->cached_sources.at[from.sources + k]);
  }
}

static void place_roots(const plan_entry_env *env, const neo_group *g) {
  plan_store *s = env->store;
  for (size_t k = 0; k < g->roots.n; k++) {
    int32_t buf;
    neo_tensor t = g->roots.at[k];
    int64_t bytes = plan_store_max_bytes(s, t), at = s->p->cached_bytes;
    if (plan_cached_buf(s, g->entry, t, &buf))
      continue;
    s->p->cached_bytes += neo_round_up(bytes, NEO_RT_ALIGN_BYTES);
    neo_type type = neo_tensor_type(s->p->m, t);
    buf = plan_store_buf(s, NEO_RT_MEM_CACHED, type, at, bytes);
    neo_map_set(&s->cached_bufs, key_of(g->entry, t), (uint64_t)buf);
  }
}

/* The rows of the cached groups that it reads are complete before its own begins, so that the
 * sources of each are one slice. */
static void make_producers(const plan_entry_env *env, const neo_group *g) {
  const neo_grouping *all = env->in->grouping;
  for (size_t k = 0; k < g->reads.n; k++)
    for (uint32_t i = 0; i < all->groups.n; i++)
      if (makes(&all->groups.at[i], g, g->reads.at[k]))
        (void)plan_cached_group(env, i);
}

int32_t plan_cached_group(const plan_entry_env *env, uint32_t group) {
  plan_store *s = env->store;
  neo_plan *p = s->p;
  uint64_t known;
  if (neo_map_get(&s->cached, group, &known))
    return (int32_t)known;
  const neo_group *g = &env->in->grouping->groups.at[group];
  assert(g->cached && "others run in every call");
  make_producers(env, g);
  int32_t first = (int32_t)p->cached_sources.n;
  for (size_t k = 0; k < g->reads.n; k++) {
    uint64_t number;
    if (neo_map_get(&s->named, g->reads.at[k].i, &number))
      add_source(p, first, (int32_t)number);
    else
      add_sources_of(env, g, g->reads.at[k], first);
  }
  neo_rt_cached cached = {first, (int32_t)p->cached_sources.n - first};
  NEO_PUSH(p->arena, &p->cached, cached);
  neo_map_set(&s->cached, group, p->cached.n);
  place_roots(env, g);
  return (int32_t)p->cached.n;
}
