/* What definitions read, and an order in which to compute them. */
#include "ir/ir.h"

typedef struct {
  const neo_module *m;
  neo_arena *arena;
  NEO_VEC(neo_tensor) found;
} reads;

static void collect_read(void *ctx, neo_expr e) {
  reads *r = ctx;
  const neo_node *n = neo_expr_node(r->m, e);
  if (n->op != NEO_OP_LOAD && n->op != NEO_OP_LOAD_ELSE)
    return;
  for (size_t k = 0; k < r->found.n; k++)
    if (r->found.at[k].i == n->attr)
      return;
  NEO_PUSH(r->arena, &r->found, (neo_tensor){n->attr});
}

size_t neo_def_reads(const neo_module *m, neo_def d, neo_arena *a, neo_tensor **out) {
  reads r = {.m = m, .arena = a};
  neo_def_visit(m, d, collect_read, &r);
  *out = r.found.at;
  return r.found.n;
}

/* ---- order: Kahn's algorithm, the smallest ready id first, so that the order is one of a kind */

typedef struct {
  uint32_t def, next; /* a reader, and the next one of the same producer */
} edge;

typedef struct {
  const neo_module *m;
  neo_arena *arena;
  NEO_VEC(uint32_t) work; /* definitions found and not yet looked at; later the heap */
  NEO_VEC(edge) edges;    /* [0] unused */
  uint32_t *first;        /* by definition: its readers */
  uint32_t *waiting;      /* by definition: reads that are not computed yet */
  bool *needed;
  size_t n_needed;
} order;

static void need(order *o, uint32_t d) {
  if (o->needed[d])
    return;
  o->needed[d] = true;
  o->n_needed++;
  NEO_PUSH(o->arena, &o->work, d);
}

/* Marks the pieces of t; each has an edge to `reader` unless that is 0. */
static void need_tensor(order *o, neo_tensor t, uint32_t reader) {
  neo_list pieces = neo_tensor_at(o->m, t)->pieces;
  for (uint32_t k = 0; k < pieces.n; k++) {
    uint32_t d = neo_list_at(o->m, pieces, k);
    need(o, d);
    if (!reader)
      continue;
    NEO_PUSH(o->arena, &o->edges, (edge){reader, o->first[d]});
    o->first[d] = (uint32_t)o->edges.n - 1;
    o->waiting[reader]++;
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

static size_t emit(order *o, neo_def *out) {
  size_t n = 0;
  o->work.n = 0;
  for (uint32_t d = 1; d < o->m->defs.n; d++)
    if (o->needed[d] && !o->waiting[d])
      ready(o, d);
  while (o->work.n) {
    uint32_t d = take(o);
    out[n++] = (neo_def){d};
    for (uint32_t e = o->first[d]; e; e = o->edges.at[e].next)
      if (--o->waiting[o->edges.at[e].def] == 0)
        ready(o, o->edges.at[e].def);
  }
  return n;
}

size_t neo_module_topo(const neo_module *m, const neo_tensor *roots, size_t n, neo_arena *a,
                       neo_def **out, bool *cycle) {
  order o = {.m = m, .arena = a};
  o.first = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  o.waiting = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  o.needed = NEO_NEW_ARRAY(a, bool, m->defs.n);
  NEO_PUSH(a, &o.edges, (edge){0, 0});
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
  size_t found = emit(&o, *out);
  if (cycle)
    *cycle = found < o.n_needed;
  return found;
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
