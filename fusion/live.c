/* See concat.h. A tensor is live from the first group that writes a part of its memory to the last one that reads it. */
#include "fusion/concat.h"
#include "fusion/form.h"
#include "ir/store.h"

/* The tensor whose memory holds t if nothing lies in `apart`. */
static neo_tensor memory_of(const neo_module *m, neo_tensor t, neo_tensor apart) {
  while (neo_tensor_at(m, t)->within.i && neo_tensor_at(m, t)->within.i != apart.i)
    t = neo_tensor_at(m, t)->within;
  return t;
}

double neo_most_bytes(neo_module *m, neo_tensor t) {
  double n = neo_type_bytes((neo_type)neo_tensor_at(m, t)->type);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    n *= (double)neo_extent_most(m, neo_tensor_extent(m, t, k));
  return n;
}

typedef struct
{ /* by tensor: numbers of the first group that touches its memory, and of the last one; from 1 on */
  size_t *first, *last;
} lives;

static void touch(const neo_module *m, lives *l, const neo_tensor *at, size_t n, size_t now,
                  neo_tensor apart) {
  for (size_t k = 0; k < n; k++) {
    uint32_t t = memory_of(m, at[k], apart).i;
    l->first[t] = l->first[t] ? l->first[t] : now;
    l->last[t] = now;
  }
}

double neo_grouping_peak(neo_module *m, neo_arena *a, const neo_grouping *all, const bool *runs,
                         neo_tensor apart) {
  size_t n = all->groups.n;
  lives l = {NEO_NEW_ARRAY(a, size_t, m->tensors.n), NEO_NEW_ARRAY(a, size_t, m->tensors.n)};
  double *change = NEO_NEW_ARRAY(a, double, n + 2), now = 0, most = 0;
  for (size_t g = 0; g < n; g++) {
    const neo_group *x = &all->groups.at[g];
    if (!runs[g] || x->cached)
      continue;
    touch(m, &l, x->roots.at, x->roots.n, g + 1, apart);
    touch(m, &l, x->reads.at, x->reads.n, g + 1, apart);
  }
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    if (!l.first[t] || neo_tensor_at(m, (neo_tensor){t})->role != NEO_ROLE_TEMP)
      continue;
    double bytes = neo_most_bytes(m, (neo_tensor){t});
    change[l.first[t]] += bytes;
    change[l.last[t] + 1] -= bytes;
  }
  for (size_t g = 1; g <= n; g++) {
    now += change[g];
    most = now > most ? now : most;
  }
  return most;
}
