/* Peak memory; see concat.h. A tensor is live from the first group that writes some of its memory
 * to the last one that reads it. */
#include "fusion/concat.h"
#include "fusion/form.h"
#include <string.h>

double neo_most_bytes(neo_module *m, neo_tensor t) {
  double n = neo_type_bytes(neo_tensor_type(m, t));
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    n *= (double)neo_extent_most(m, neo_tensor_extent(m, t, k));
  return n;
}

typedef struct {
  const neo_module *m;
  size_t *first, *last; /* by tensor: groups that touch its memory, from 1 on; 0: none */
  neo_tensor *over;     /* by tensor: the tensor in whose memory it is; 0: its own */
  neo_tensor separate;
} lives;

static neo_tensor memory_of(const lives *l, neo_tensor t) {
  enum { MOST_DEPTH = 64 }; /* two tensors with one layout may be in each other's memory */
  for (int depth = 0; depth < MOST_DEPTH; depth++) {
    neo_tensor in = neo_tensor_at(l->m, t)->within;
    in = in.i && in.i != l->separate.i ? in : l->over[t.i];
    if (!in.i)
      return t;
    t = in;
  }
  return t;
}

static void touch(lives *l, const neo_tensor *at, size_t n, size_t now) {
  for (size_t k = 0; k < n; k++) {
    uint32_t t = memory_of(l, at[k]).i;
    l->first[t] = l->first[t] ? l->first[t] : now;
    l->last[t] = now;
  }
}

static lives find_lives(const neo_module *m, neo_arena *a, const neo_grouping *all,
                        const bool *runs, neo_tensor separate, const neo_tensor *over) {
  lives l = {.m = m, .separate = separate};
  l.first = NEO_NEW_ARRAY(a, size_t, m->tensors.n);
  l.last = NEO_NEW_ARRAY(a, size_t, m->tensors.n);
  l.over = NEO_NEW_ARRAY(a, neo_tensor, m->tensors.n);
  memcpy(l.over, over, m->tensors.n * sizeof *over);
  for (size_t g = 0; g < all->groups.n; g++) {
    const neo_group *x = &all->groups.at[g];
    if (!runs[g] || x->cached)
      continue;
    if (x->over.i)
      l.over[x->roots.at[0].i] = x->over;
    touch(&l, x->roots.at, x->roots.n, g + 1);
    touch(&l, x->reads.at, x->reads.n, g + 1);
  }
  return l;
}

double neo_grouping_peak(neo_module *m, neo_arena *a, const neo_grouping *all, const bool *runs,
                         neo_tensor separate, const neo_tensor *over) {
  lives l = find_lives(m, a, all, runs, separate, over);
  double *change = NEO_NEW_ARRAY(a, double, all->groups.n + 2), now = 0, most = 0;
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    if (!l.first[t] || neo_tensor_at(m, (neo_tensor){t})->role != NEO_ROLE_TEMP)
      continue;
    double bytes = neo_most_bytes(m, (neo_tensor){t});
    change[l.first[t]] += bytes;
    change[l.last[t] + 1] -= bytes;
  }
  for (size_t g = 1; g <= all->groups.n; g++) {
    now += change[g];
    most = now > most ? now : most;
  }
  return most;
}
