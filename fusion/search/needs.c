/* Which definitions the entries need: their order, whether they belong to the forward or the
 * backward pass, and which of them are call-invariant. */
#include "fusion/search/search.h"
#include "ir/call_invariant.h"
#include "ir/component.h"

/* Entries come in order, so equal sets get equal numbers. */
static void need_def(fuser *q, fuse_def *d, uint32_t entry) {
  if (d->last_entry == entry)
    return;
  uint64_t set, key = (uint64_t)d->entries << 32 | entry;
  if (!neo_map_get(&q->sets, key, &set)) {
    set = q->sets.n + 1;
    neo_map_set(&q->sets, key, set);
  }
  d->entries = (uint32_t)set;
  d->last_entry = entry;
}

static void need_roots(fuser *q, neo_list roots, uint32_t entry) {
  neo_def *order;
  neo_tensor *t = NEO_NEW_ARRAY(q->a, neo_tensor, roots.n + 1);
  for (uint32_t k = 0; k < roots.n; k++) {
    t[k].i = neo_list_at(q->m, roots, k);
    q->wanted[t[k].i] = true;
  }
  size_t n = neo_module_topo(q->m, t, roots.n, q->a, &order, NULL);
  for (size_t k = 0; k < n; k++)
    need_def(q, &q->def[order[k].i], entry);
}

/* Computed tensors that initialisers read. */
static neo_list needed_by_inits(fuser *q) {
  NEO_VEC(uint32_t) ids = {0};
  for (uint32_t t = 1; t < q->m->tensors.n; t++) {
    neo_tensor *read;
    neo_def init = q->m->tensors.at[t].init;
    size_t n = init.i ? neo_def_reads(q->m, init, q->a, &read) : 0;
    for (size_t k = 0; k < n; k++)
      if (neo_tensor_at(q->m, read[k])->role == NEO_ROLE_TEMP)
        NEO_PUSH(q->a, &ids, read[k].i);
  }
  return neo_list_new(q->m, ids.at, ids.n);
}

/* Is entry k one of those that the groups are for? */
static bool is_served(const fuser *q, size_t k) {
  return q->entry == FUSE_EVERY || neo_group_entry(q->m, &q->m->entries.at[k]) == q->entry;
}

/* What the first outputs need (a training entry's loss) is computed forward, the rest backward. */
static void find_forward(fuser *q) {
  neo_def *order;
  NEO_VEC(neo_tensor) roots = {0};
  for (size_t k = 0; k < q->m->entries.n; k++) {
    const neo_entry_rec *e = &q->m->entries.at[k];
    if (!is_served(q, k))
      continue;
    bool trains = e->kind == NEO_ENTRY_TRAIN || e->kind == NEO_ENTRY_GRAD;
    for (uint32_t j = 0; j < e->outputs.n && (j == 0 || !trains); j++)
      NEO_PUSH(q->a, &roots, (neo_tensor){neo_list_at(q->m, e->outputs, j)});
  }
  size_t n = neo_module_topo(q->m, roots.at, roots.n, q->a, &order, NULL);
  for (size_t k = 0; k < q->n_order; k++)
    q->def[q->order[k]].backward = true;
  for (size_t k = 0; k < n; k++)
    q->def[order[k].i].backward = false;
}

static void need_entries(fuser *q) {
  NEO_VEC(neo_tensor) roots = {0};
  neo_def *order;
  bool inits_too = q->entry == FUSE_EVERY || !q->entry;
  neo_list inits = inits_too ? needed_by_inits(q) : (neo_list){0};
  need_roots(q, inits, 1);
  for (uint32_t k = 0; k < inits.n; k++)
    NEO_PUSH(q->a, &roots, (neo_tensor){neo_list_at(q->m, inits, k)});
  for (size_t k = 0; k < q->m->entries.n; k++) {
    neo_list lists[] = {q->m->entries.at[k].outputs, q->m->entries.at[k].updates};
    for (int i = 0; i < 2 && is_served(q, k); i++) {
      need_roots(q, lists[i], (uint32_t)k + 2);
      for (uint32_t j = 0; j < lists[i].n; j++)
        NEO_PUSH(q->a, &roots, (neo_tensor){neo_list_at(q->m, lists[i], j)});
    }
  }
  q->n_order = neo_module_topo(q->m, roots.at, roots.n, q->a, &order, NULL);
  q->order = NEO_NEW_ARRAY(q->a, uint32_t, q->n_order + 1);
  for (size_t k = 0; k < q->n_order; k++) {
    q->order[k] = order[k].i;
    q->def[order[k].i].at = (uint32_t)k;
    q->def[order[k].i].needed = true;
  }
}

static void find_call_invariant(fuser *q) {
  if (!q->caches)
    return;
  bool *served = NEO_NEW_ARRAY(q->a, bool, q->m->entries.n + 1);
  neo_def *order = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  for (size_t k = 0; k < q->m->entries.n; k++)
    served[k] = is_served(q, k);
  for (size_t k = 0; k < q->n_order; k++)
    order[k] = (neo_def){q->order[k]};
  neo_call_invariants l = neo_call_invariants_of(q->m, order, q->n_order, served, q->a);
  for (size_t k = 0; k < q->n_order; k++)
    q->def[q->order[k]].call_invariant = l.def[q->order[k]];
}

static void find_recurrences(fuser *q) {
  neo_def *defs = NEO_NEW_ARRAY(q->a, neo_def, q->n_order + 1);
  uint32_t *number = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n);
  for (size_t k = 0; k < q->n_order; k++)
    defs[k].i = q->order[k];
  (void)neo_recurrences(q->m, defs, q->n_order, q->a, number);
  for (size_t k = 0; k < q->n_order; k++)
    q->def[q->order[k]].recurrence = number[q->order[k]];
}

void fuse_needs(fuser *q) {
  need_entries(q);
  find_recurrences(q);
  find_forward(q);
  find_call_invariant(q);
}
