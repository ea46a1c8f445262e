/* An order in which to compute definitions. Definitions that depend on each other are consecutive,
 * sorted by id. */
#include "ir/component.h"

/* ---- order: Kahn's algorithm, the smallest ready id first, so that the order is one of a kind */

typedef struct {
  const neo_module *m;
  neo_arena *arena;
  NEO_VEC(uint32_t) work; /* definitions found and not yet looked at; later the heap */
  NEO_VEC(neo_dependence) edges;
  uint32_t *first, *next; /* lists of each definition's readers: edge number + 1; 0: end */
  uint32_t *waiting;      /* by unit: reads that are not computed yet */
  uint32_t
      *unit; /* by definition: the first one of its unit: definitions that depend on each other */
  uint32_t *after; /* by definition: the next one of its unit; 0: the last */
  bool *needed;
  size_t n_needed;
  bool recurs;
} order;

static void need(order *o, uint32_t d) {
  if (o->needed[d])
    return;
  o->needed[d] = true;
  o->n_needed++;
  NEO_PUSH(o->arena, &o->work, d);
}

/* Marks the pieces of t; each has an edge to `reader` unless that is 0, or the piece itself. */
static void need_tensor(order *o, neo_tensor t, uint32_t reader) {
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++) {
    uint32_t d = neo_list_at(o->m, pieces, k);
    need(o, d);
    o->recurs = o->recurs || reader == d;
    if (reader && reader != d)
      NEO_PUSH(o->arena, &o->edges, (neo_dependence){d, reader});
  }
}

static void heap_up(uint32_t *heap, size_t k) {
  for (; k > 0 && heap[(k - 1) / 2] > heap[k]; k = (k - 1) / 2) {
    uint32_t t = heap[k];
    heap[k] = heap[(k - 1) / 2];
    heap[(k - 1) / 2] = t;
  }
}

static void heap_down(uint32_t *heap, size_t n) {
  for (size_t k = 0, c; (c = 2 * k + 1) < n; k = c) {
    if (c + 1 < n && heap[c + 1] < heap[c])
      c++;
    if (heap[k] <= heap[c])
      return;
    uint32_t t = heap[k];
    heap[k] = heap[c];
    heap[c] = t;
  }
}

static void ready(order *o, uint32_t d) {
  NEO_PUSH(o->arena, &o->work, d);
  heap_up(o->work.at, o->work.n - 1);
}

static uint32_t take(order *o) {
  uint32_t d = o->work.at[0];
  o->work.at[0] = o->work.at[--o->work.n];
  heap_down(o->work.at, o->work.n);
  return d;
}

static void release(order *o, uint32_t d) {
  for (uint32_t e = o->first[d]; e; e = o->next[e - 1]) {
    uint32_t reader = o->unit[o->edges.at[e - 1].reader];
    if (reader != o->unit[d] && --o->waiting[reader] == 0)
      ready(o, reader);
  }
}

static size_t emit(order *o, neo_def *out) {
  size_t n = 0;
  o->work.n = 0;
  for (uint32_t d = 1; d < o->m->defs.n; d++)
    if (o->needed[d] && o->unit[d] == d && !o->waiting[d])
      ready(o, d);
  while (o->work.n) {
    uint32_t first = take(o);
    for (uint32_t d = first; d; d = o->after[d])
      out[n++] = (neo_def){d};
    for (uint32_t d = first; d; d = o->after[d])
      release(o, d);
  }
  return n;
}

/* Lists the readers of each definition, and counts the reads that each unit waits for. */
static void link_readers(order *o) {
  o->first = NEO_NEW_ARRAY(o->arena, uint32_t, o->m->defs.n);
  o->next = NEO_NEW_ARRAY(o->arena, uint32_t, o->edges.n + 1);
  o->waiting = NEO_NEW_ARRAY(o->arena, uint32_t, o->m->defs.n);
  for (size_t k = 0; k < o->edges.n; k++) {
    neo_dependence e = o->edges.at[k];
    o->next[k] = o->first[e.producer];
    o->first[e.producer] = (uint32_t)k + 1;
    o->waiting[o->unit[e.reader]] += o->unit[e.reader] != o->unit[e.producer];
  }
}

/* Definitions that need each other become one unit. */
static void join_units(order *o) {
  uint32_t n = (uint32_t)o->m->defs.n;
  uint32_t *number = NEO_NEW_ARRAY(o->arena, uint32_t, n);
  uint32_t *first = NEO_NEW_ARRAY(o->arena, uint32_t, n + 1);
  uint32_t *last = NEO_NEW_ARRAY(o->arena, uint32_t, n + 1);
  (void)neo_components_of(o->edges.at, o->edges.n, n, o->arena, number);
  for (uint32_t d = 1; d < n; d++) {
    uint32_t c = number[d];
    if (first[c])
      o->after[last[c]] = d;
    else
      first[c] = d;
    o->unit[d] = first[c];
    last[c] = d;
  }
}

size_t neo_module_topo(const neo_module *m, const neo_tensor *roots, size_t n, neo_arena *a,
                       neo_def **out, bool *recurrences) {
  order o = {.m = m, .arena = a};
  o.needed = NEO_NEW_ARRAY(a, bool, m->defs.n);
  o.unit = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  o.after = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  for (uint32_t d = 0; d < m->defs.n; d++)
    o.unit[d] = d;
  for (size_t k = 0; k < n; k++)
    need_tensor(&o, roots[k], 0);
  while (o.work.n) {
    uint32_t d = o.work.at[--o.work.n];
    neo_tensor *read;
    size_t n_read = neo_def_reads(m, (neo_def){d}, a, &read);
    for (size_t k = 0; k < n_read; k++)
      need_tensor(&o, read[k], d);
  }
  *out = NEO_NEW_ARRAY(a, neo_def, o.n_needed);
  link_readers(&o);
  size_t found = emit(&o, *out);
  bool together = found < o.n_needed;
  if (together) {
    join_units(&o);
    link_readers(&o);
    found = emit(&o, *out);
  }
  assert(found == o.n_needed);
  if (recurrences)
    *recurrences = together || o.recurs;
  return found;
}

/* ---- what entries need */

void neo_tensors_add(const neo_module *m, neo_arena *a, neo_tensors *to, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    if (neo_list_at(m, l, k))
      NEO_PUSH(a, to, neo_list_tensor(m, l, k));
}

void neo_entry_roots(const neo_module *m, neo_arena *a, neo_tensors *to, const neo_entry_rec *e) {
  neo_tensors_add(m, a, to, e->outputs);
  neo_tensors_add(m, a, to, e->updates);
}

size_t neo_entry_defs(const neo_module *m, const neo_entry_rec *e, neo_arena *a, neo_def **out) {
  neo_tensors roots = {0};
  neo_entry_roots(m, a, &roots, e);
  return neo_module_topo(m, roots.at, roots.n, a, out, NULL);
}

size_t neo_needed_defs(const neo_module *m, bool inits, neo_arena *a, neo_def **out) {
  neo_tensors roots = {0};
  for (size_t k = 0; k < m->entries.n; k++)
    neo_entry_roots(m, a, &roots, &m->entries.at[k]);
  for (uint32_t t = 1; inits && t < m->tensors.n; t++) {
    neo_def init = m->tensors.at[t].init;
    neo_tensor *read;
    for (size_t k = init.i ? neo_def_reads(m, init, a, &read) : 0; k-- > 0;)
      NEO_PUSH(a, &roots, read[k]);
  }
  return neo_module_topo(m, roots.at, roots.n, a, out, NULL);
}

static bool reads_param(const neo_module *m, neo_def d, neo_arena *scratch) {
  neo_tensor *read;
  size_t n = neo_def_reads(m, d, scratch, &read);
  for (size_t k = 0; k < n; k++)
    if (neo_tensor_at(m, read[k])->role == NEO_ROLE_PARAM)
      return true;
  return false;
}

bool neo_tensor_follows(const neo_module *m, neo_tensor t, neo_arena *scratch) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  neo_tensor *read;
  neo_def *before;
  if (r->role != NEO_ROLE_STATE || !r->init.i)
    return false;
  size_t n_read = neo_def_reads(m, r->init, scratch, &read);
  if (n_read == 0)
    return false;
  size_t n = neo_module_topo(m, read, n_read, scratch, &before, NULL);
  bool found = reads_param(m, r->init, scratch);
  for (size_t k = 0; k < n && !found; k++)
    found = reads_param(m, before[k], scratch);
  return found;
}
