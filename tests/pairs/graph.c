/* See graph.h. */
#include "tests/pairs/graph.h"
#include "base/hash.h"
#include "base/random.h"
#include <string.h>

typedef struct {
  uint64_t state;
  pairs_links *x;
  int64_t first, n; /* the vertices of the instance at hand */
} drawing;

static int64_t below(drawing *d, int64_t n) {
  return (int64_t)(neo_splitmix(&d->state) % (uint64_t)n);
}

static int64_t *place(drawing *d, int64_t v, int64_t k) {
  return &d->x->child[(d->first + v) * d->x->slots + k];
}

/* Puts a child into a place that is empty; false: none is. */
static bool adopt(drawing *d, int64_t parent, int64_t child) {
  int64_t k = below(d, d->x->slots);
  for (uint32_t i = 0; i < d->x->slots; i++, k = (k + 1) % d->x->slots)
    if (*place(d, parent, k) < 0) {
      *place(d, parent, k) = d->first + child;
      return true;
    }
  return false;
}

/* ---- shapes of an instance */

static void chain(drawing *d) {
  for (int64_t v = 1; v < d->n; v++)
    (void)adopt(d, v, v - 1);
}

/* Each as wide as it can be, from the root, which is last. */
static void balanced(drawing *d) {
  int64_t k = d->x->slots;
  for (int64_t h = 1; h < d->n; h++)
    *place(d, d->n - 1 - (h - 1) / k, (h - 1) % k) = d->first + d->n - 1 - h;
}

/* A spine, and a leaf beside each of its vertices. */
static void comb(drawing *d) {
  for (int64_t v = 2; v < d->n; v += 2) {
    (void)adopt(d, v, v - 2);
    (void)adopt(d, v, v - 1);
  }
}

static void tree(drawing *d) {
  for (int64_t v = 0; v + 1 < d->n; v++) {
    int64_t parent = v + 1 + below(d, d->n - v - 1);
    for (int64_t p = parent; p < d->n && !adopt(d, p, v); p++)
      continue;
  }
}

/* Children have several parents, or one parent several times. */
static void shared(drawing *d) {
  int64_t percent = 20 + below(d, 80);
  for (int64_t v = 1; v < d->n; v++)
    for (int64_t k = 0; k < d->x->slots; k++)
      if (below(d, 100) < percent)
        *place(d, v, k) = d->first + below(d, v);
}

/* Each of the last few. */
static void lattice(drawing *d) {
  for (int64_t v = 1; v < d->n; v++)
    for (int64_t k = 0; k < d->x->slots && k < v; k++)
      *place(d, v, k) = d->first + v - 1 - k;
}

static void single(drawing *d) {
  (void)d;
}

typedef void drawer(drawing *d);
static drawer *const shapes[] = {chain, balanced, comb, tree, tree, shared, lattice, single};

/* ---- batches */

static void draw_instances(drawing *d) {
  pairs_links *x = d->x;
  bool alike = below(d, 2), whole = below(d, 4) == 0;
  drawer *shape = shapes[below(d, sizeof shapes / sizeof *shapes)];
  int64_t most = 1 + below(d, 9);
  for (int64_t v = 0; v < x->n; v += d->n) {
    int64_t left = x->n - v, n = whole ? left : alike ? most : 1 + below(d, most);
    d->first = v;
    d->n = n < left ? n : left;
    for (int64_t k = 0; k < d->n; k++)
      x->instance[v + k] = x->instances;
    x->instances++;
    if (!alike)
      shape = shapes[below(d, sizeof shapes / sizeof *shapes)];
    shape(d);
  }
}

static bool is_forest(neo_arena *a, const pairs_links *x) {
  uint8_t *seen = NEO_NEW_ARRAY(a, uint8_t, (size_t)x->n + 1);
  bool once = true;
  for (int64_t k = 0; k < x->n * x->slots; k++)
    if (x->child[k] >= 0)
      once = once && !seen[x->child[k]]++;
  return once;
}

/* The last vertex of an instance mostly. */
static void draw_roots(drawing *d) {
  pairs_links *x = d->x;
  for (int64_t k = 0; k < x->n_roots; k++) {
    int64_t v = below(d, x->n);
    while (below(d, 8) && v + 1 < x->n && x->instance[v + 1] == x->instance[v])
      v++;
    x->root[k] = v;
  }
}

pairs_links pairs_links_of(neo_arena *a, const pairs_program *p, uint32_t graph) {
  const pairs_graph *g = &p->graphs.at[graph];
  pairs_links x = {.n = pairs_size_now(p, g->vertices, 0),
                   .slots = (uint32_t)pairs_constant(p, g->places),
                   .n_roots = g->roots ? pairs_size_now(p, g->roots, 0) : 0};
  x.n_roots = x.n ? x.n_roots : 0;
  x.child = NEO_NEW_ARRAY(a, int64_t, (size_t)(x.n * x.slots) + 1);
  x.instance = NEO_NEW_ARRAY(a, uint32_t, (size_t)x.n + 1);
  x.root = NEO_NEW_ARRAY(a, int64_t, (size_t)x.n_roots + 1);
  memset(x.child, 0xff, (size_t)(x.n * x.slots) * sizeof *x.child);
  drawing d = {.state = neo_hash_mix(p->seed, 0x6af + graph), .x = &x};
  draw_instances(&d);
  draw_roots(&d);
  x.forest = is_forest(a, &x);
  return x;
}

const int64_t *pairs_linked_input(neo_arena *a, const pairs_program *p, const char *name) {
  for (uint32_t k = 0; k < p->graphs.n; k++) {
    const pairs_graph *g = &p->graphs.at[k];
    bool child = strcmp(g->child, name) == 0;
    if (!child && !(g->root && strcmp(g->root, name) == 0))
      continue;
    pairs_links x = pairs_links_of(a, p, k);
    return child ? x.child : x.root;
  }
  return NULL;
}

/* ---- arrangements */

static bool is_ready(const pairs_links *x, const pairs_arrangement *to, int64_t v, bool in_order) {
  bool ready = to->place[v] < 0;
  for (uint32_t k = 0; ready && k < x->slots; k++) {
    int64_t c = x->child[v * x->slots + k];
    ready = c < 0 || to->place[c] >= 0;
  }
  if (in_order && v > 0 && x->instance[v - 1] == x->instance[v])
    ready = ready && to->place[v - 1] >= 0;
  return ready;
}

static void put(pairs_arrangement *to, int64_t v) {
  to->place[v] = to->n;
  to->vertex[to->n++] = v;
}

static void merge(const pairs_links *x, pairs_arrangement *to, bool in_order, uint64_t seed) {
  drawing d = {.state = seed};
  while (to->n < x->n) {
    int64_t at = -1, n = 0;
    for (int64_t v = 0; v < x->n; v++)
      if (is_ready(x, to, v, in_order) && below(&d, ++n) == 0)
        at = v;
    put(to, at);
  }
}

static void take_instance(const pairs_links *x, pairs_arrangement *to, uint32_t instance) {
  for (int64_t v = 0; v < x->n; v++)
    if (x->instance[v] == instance)
      put(to, v);
}

pairs_arrangement pairs_arrange(neo_arena *a, const pairs_links *x, pairs_arranging how,
                                uint64_t which) {
  pairs_arrangement to = {.vertex = NEO_NEW_ARRAY(a, int64_t, (size_t)x->n + 1),
                          .place = NEO_NEW_ARRAY(a, int64_t, (size_t)x->n + 1),
                          .row = NEO_NEW_ARRAY(a, int64_t, (size_t)x->n_roots + 1)};
  memset(to.place, 0xff, (size_t)x->n * sizeof *to.place);
  if (how == PAIRS_MERGED || how == PAIRS_SORTED)
    merge(x, &to, how == PAIRS_MERGED || !x->forest, which);
  for (uint32_t k = x->instances; how == PAIRS_REVERSED && k-- > 0;)
    take_instance(x, &to, k);
  if (how == PAIRS_SINGLE && x->instances)
    take_instance(x, &to, (uint32_t)(which % x->instances));
  for (int64_t k = 0; k < x->n_roots; k++)
    if (to.place[x->root[k]] >= 0)
      to.row[to.n_roots++] = k;
  return to;
}
