/* Reachability from one entry after the other; see entry_sets.h. */
#include "transform/entry_sets.h"
#include "base/hash.h"

typedef struct {
  const neo_module *m;
  neo_arena *a;
  neo_map request; /* output of a request for gradients -> its row */
  neo_map seen;    /* reached from this entry */
  NEO_VEC(neo_tensor) open;
} walk;

static void add(walk *w, neo_tensor t) {
  if (!t.i || neo_map_get(&w->seen, t.i, NULL))
    return;
  neo_map_set(&w->seen, t.i, 1);
  NEO_PUSH(w->a, &w->open, t);
}

static void add_all(walk *w, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    add(w, neo_list_tensor(w->m, l, k));
}

static void add_sources(walk *w, neo_tensor t) {
  neo_list pieces = neo_tensor_at(w->m, t)->pieces;
  uint64_t row;
  for (uint32_t k = 0; k < pieces.n; k++) {
    neo_tensor *read;
    size_t n = neo_def_reads(w->m, neo_list_def(w->m, pieces, k), w->a, &read);
    for (size_t i = 0; i < n; i++)
      add(w, read[i]);
  }
  if (neo_map_get(&w->request, t.i, &row)) {
    add(w, w->m->grads.at[row].y);
    add(w, w->m->grads.at[row].seed);
  }
}

void neo_entry_sets_find(const neo_module *m, neo_arena *a, neo_map *users) {
  walk w = {.m = m, .a = a, .request = neo_map_in(a)};
  for (size_t k = 0; k < m->grads.n; k++)
    for (uint32_t i = 0; i < m->grads.at[k].out.n; i++)
      neo_map_set(&w.request, neo_list_at(m, m->grads.at[k].out, i), k);
  for (size_t k = 0; k < m->entries.n; k++) {
    neo_map_init(&w.seen, a);
    add_all(&w, m->entries.at[k].outputs);
    add_all(&w, m->entries.at[k].updates);
    while (w.open.n)
      add_sources(&w, w.open.at[--w.open.n]);
    for (size_t i = 0; i < w.seen.n; i++) {
      uint64_t before = 0;
      neo_map_get(users, w.seen.key[i], &before);
      neo_map_set(users, w.seen.key[i], neo_hash_mix(before, k + 1));
    }
  }
}
