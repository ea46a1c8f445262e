#include "tests/fusion/graphs.h"
#include "base/hash.h"
#include "base/random.h"
#include "ir/print.h"
#include <string.h>

neo_module *graph_parse(neo_arena *a, const char *text) {
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  return m;
}

/* ---- random graphs */

enum { MATRIX, ROWS, COLUMNS, SCALAR };

typedef struct {
  neo_arena *a;
  uint64_t seed;
  int rows, cols;
  neo_str text, defs;
  char name[16][16];
  int shape[16];
  uint32_t n;
} maker;

static uint32_t draw(maker *g, uint32_t n) {
  return (uint32_t)(neo_splitmix(&g->seed) % n);
}

static const char *shape_text(maker *g, int shape) {
  switch (shape) {
  case MATRIX:
    return neo_arena_printf(g->a, "[%d, %d]", g->rows, g->cols);
  case ROWS:
    return neo_arena_printf(g->a, "[%d]", g->rows);
  case COLUMNS:
    return neo_arena_printf(g->a, "[%d]", g->cols);
  default:
    return "[]";
  }
}

static const char *axes_text(maker *g, int shape) {
  switch (shape) {
  case MATRIX:
    return neo_arena_printf(g->a, "[i: %d, j: %d]", g->rows, g->cols);
  case ROWS:
    return neo_arena_printf(g->a, "[i: %d]", g->rows);
  case COLUMNS:
    return neo_arena_printf(g->a, "[j: %d]", g->cols);
  default:
    return "[]";
  }
}

static void add(maker *g, const char *role, const char *name, int shape) {
  neo_str_addf(&g->text, "%s %s : f32 %s\n", role, name, shape_text(g, shape));
  strcpy(g->name[g->n], name);
  g->shape[g->n++] = shape;
}

/* Tensor k at the element (i, j). */
static const char *read(maker *g, uint32_t k) {
  static const char *const index[] = {"[i, j]", "[i]", "[j]", "[]"};
  return neo_arena_printf(g->a, "%s%s", g->name[k], index[g->shape[k]]);
}

/* One of the last few tensors that may be read where i and j are as in `shape`. */
static uint32_t pick(maker *g, int shape) {
  for (int tries = 0; tries < 40; tries++) {
    uint32_t back = draw(g, g->n < 5 ? g->n : 5), k = g->n - 1 - back;
    int s = g->shape[k];
    if (s == shape || s == SCALAR || shape == MATRIX)
      return k;
  }
  return shape == ROWS ? 1 : shape == COLUMNS ? 2 : 0;
}

static const char *function(maker *g, const char *x) {
  static const char *const f[] = {"exp(%s)", "tanh(%s)", "%s * 0.5", "relu(%s)", "%s + 1.0"};
  return neo_arena_printf(g->a, f[draw(g, 5)], x);
}

static void add_elementwise(maker *g, const char *name, int shape) {
  const char *x = read(g, pick(g, shape)), *y = read(g, pick(g, shape));
  neo_str_addf(&g->defs, "def %s%s = ", name, axes_text(g, shape));
  if (draw(g, 3))
    neo_str_addf(&g->defs, "%s %s %s\n", function(g, x), draw(g, 2) ? "*" : "+", y);
  else
    neo_str_addf(&g->defs, "%s\n", function(g, x));
}

static void add_sum(maker *g, const char *name, int shape) {
  const char *x = read(g, pick(g, MATRIX)), *y = read(g, pick(g, MATRIX));
  const char *over = shape == ROWS      ? neo_arena_printf(g->a, "j: %d", g->cols)
                     : shape == COLUMNS ? neo_arena_printf(g->a, "i: %d", g->rows)
                                        : neo_arena_printf(g->a, "i: %d, j: %d", g->rows, g->cols);
  neo_str_addf(&g->defs, "def %s%s =\n  %s[%s] %s + %s\n  then acc0\n", name, axes_text(g, shape),
               draw(g, 4) ? "sum" : "max", over, x, y);
}

static void add_product(maker *g, const char *name) {
  uint32_t k = pick(g, MATRIX);
  for (int tries = 0; tries < 20 && g->shape[k] != MATRIX; tries++)
    k = pick(g, MATRIX);
  k = g->shape[k] == MATRIX ? k : 0;
  neo_str_addf(&g->defs, "def %s%s =\n  sum[k: %d] %s[i, k] * W[k, j]\n  then acc0\n", name,
               axes_text(g, MATRIX), g->cols, g->name[k]);
}

static void add_def(maker *g, uint32_t k) {
  char name[16];
  sprintf(name, "t%u", k);
  uint32_t what = draw(g, 10);
  int shape = what < 5 ? MATRIX : what < 7 ? ROWS + (int)draw(g, 2) : ROWS + (int)draw(g, 3);
  if (what < 4 || (what >= 5 && what < 7))
    add_elementwise(g, name, shape);
  else if (what == 4)
    add_product(g, name);
  else
    add_sum(g, name, shape);
  add(g, "temp", name, shape);
}

static void add_inputs(maker *g) {
  neo_str_addf(&g->text, "input W : f32 [%d, %d]\n", g->cols, g->cols);
  add(g, "input", "X", MATRIX);
  add(g, "input", "r", ROWS);
  add(g, "input", "c", COLUMNS);
  neo_str_addf(&g->text, "param p : f32 %s\nupdate q : f32 %s of p\n", shape_text(g, MATRIX),
               shape_text(g, MATRIX));
  strcpy(g->name[g->n], "p");
  g->shape[g->n++] = MATRIX;
}

neo_module *graph_make(neo_arena *a, uint64_t seed, uint32_t n) {
  static const int sizes[] = {8, 32, 100, 512, 2048};
  maker g = {.a = a, .seed = seed};
  g.rows = sizes[draw(&g, 5)];
  g.cols = sizes[draw(&g, 5)];
  neo_str_init(&g.text, a);
  neo_str_init(&g.defs, a);
  add_inputs(&g);
  for (uint32_t k = 1; k < n; k++)
    add_def(&g, k);
  const char *x = read(&g, pick(&g, MATRIX));
  neo_str_addf(&g.defs, "def q%s = p[i, j] - %s * 0.1\n", axes_text(&g, MATRIX), x);
  neo_str_addf(&g.defs, "init p%s = 0.5\n", axes_text(&g, MATRIX));
  neo_str_addf(&g.defs, "entry train step: y = %s%s; updates q\n", g.name[g.n - 1],
               draw(&g, 2) ? neo_arena_printf(a, ", z = %s", g.name[4 + draw(&g, g.n - 4)]) : "");
  return graph_parse(a, neo_arena_printf(a, "%s%s", neo_str_text(&g.text), neo_str_text(&g.defs)));
}

/* ---- is it legal? */

typedef struct {
  fuser *q;
  const uint32_t *group_of; /* by definition: number + 1 */
  uint32_t n_groups;
  bool *edge; /* [before, after] */
} order_check;

/* Definition d, evaluated in group g, reads. */
static void add_edges(order_check *c, uint32_t d, uint32_t g) {
  const fuse_def *x = &c->q->def[d];
  for (uint32_t k = 0; k < x->n_read; k++) {
    const fuse_read *r = &x->read[k];
    neo_list pieces = neo_tensor_at(c->q->m, r->t)->pieces;
    if (r->copied)
      add_edges(c, r->from, g);
    for (uint32_t i = 0; !r->copied && i < pieces.n; i++) {
      uint32_t from = c->group_of[neo_list_at(c->q->m, pieces, i)];
      assert_true(from != 0);
      if (from != g)
        c->edge[(from - 1) * c->n_groups + g - 1] = true;
    }
    const fuse_tensor *t = &c->q->tensor[r->t.i];
    for (size_t i = 0; i < t->updaters.n; i++) {
      uint32_t u = t->updaters.at[i], to = c->group_of[u];
      if (to != g && !neo_map_get(&c->q->late, (uint64_t)d << 32 | u, NULL))
        c->edge[(g - 1) * c->n_groups + to - 1] = true;
    }
  }
}

static bool acyclic(order_check *c) {
  bool *done = NEO_NEW_ARRAY(c->q->a, bool, c->n_groups + 1);
  for (uint32_t left = c->n_groups; left;) {
    uint32_t before = left;
    for (uint32_t g = 0; g < c->n_groups; g++) {
      bool free = !done[g];
      for (uint32_t h = 0; free && h < c->n_groups; h++)
        free = done[h] || !c->edge[h * c->n_groups + g];
      if (free) {
        done[g] = true;
        left--;
      }
    }
    if (left == before)
      return false;
  }
  return true;
}

static bool runs_in_order(fuser *q, const uint32_t *group_of, uint32_t n_groups) {
  order_check c = {q, group_of, n_groups, NEO_NEW_ARRAY(q->a, bool, n_groups *n_groups + 1)};
  for (size_t k = 0; k < q->n_order; k++)
    if (group_of[q->order[k]])
      add_edges(&c, q->order[k], group_of[q->order[k]]);
  return acyclic(&c);
}

bool graph_is_legal(fuser *q, const char **why) {
  uint32_t *group_of = NEO_NEW_ARRAY(q->a, uint32_t, q->m->defs.n + 1);
  uint32_t n = 0;
  for (size_t g = 0; g < q->groups.n; g++) {
    const fuse_group *x = &q->groups.at[g];
    fuse_parts p;
    n += x->members.n > 0;
    for (size_t k = 0; k < x->members.n; k++)
      group_of[x->members.at[k]] = n;
    if (x->members.n && !fuse_parts_of(q, x->members.at, x->members.n, &p, why))
      return false;
  }
  *why = "a group waits for itself";
  return runs_in_order(q, group_of, n);
}

/* ---- the optimum */

enum { MOST_DEFS = 8, MOST_EDGES = 9 };

typedef struct {
  fuser *q;
  fuse_edge edge[MOST_EDGES];
  uint32_t n_edges;
  uint32_t def[MOST_DEFS], n_defs;    /* that have a home */
  double known[1 << MOST_DEFS];       /* of a set of them; 0: not computed */
  uint32_t group_of_local[MOST_DEFS]; /* number of its block + 1 */
  double best;
} optimum;

static double cost_of_set(optimum *o, uint32_t set) {
  uint32_t members[MOST_DEFS];
  size_t n = 0;
  fuse_parts p;
  const char *why;
  if (o->known[set] != 0)
    return o->known[set];
  for (uint32_t k = 0; k < o->n_defs; k++)
    if (set >> k & 1)
      members[n++] = o->def[k];
  o->known[set] = fuse_parts_of(o->q, members, n, &p, &why) ? fuse_cost(o->q, &p) : 1e9;
  return o->known[set];
}

static bool blocks_run(optimum *o, const uint32_t *blocks, uint32_t n) {
  uint32_t *group_of = NEO_NEW_ARRAY(o->q->a, uint32_t, o->q->m->defs.n + 1);
  for (uint32_t b = 0; b < n; b++)
    for (uint32_t k = 0; k < o->n_defs; k++)
      if (blocks[b] >> k & 1)
        group_of[o->def[k]] = b + 1;
  return runs_in_order(o->q, group_of, n);
}

/* Blocks that hold the first definition of `left`; n have been made. */
static void partition(optimum *o, uint32_t left, uint32_t *blocks, uint32_t n, double cost) {
  if (cost >= o->best)
    return;
  if (!left) {
    if (blocks_run(o, blocks, n))
      o->best = cost;
    return;
  }
  uint32_t first = left & -left, rest = left & ~first;
  for (uint32_t set = rest;; set = (set - 1) & rest) {
    double more = cost_of_set(o, set | first);
    blocks[n] = set | first;
    if (more < 1e9)
      partition(o, rest & ~set, blocks, n + 1, cost + more);
    if (!set)
      break;
  }
}

static bool find_edges(optimum *o) {
  fuser *q = o->q;
  for (size_t k = 0; k < q->n_order; k++) {
    const fuse_def *d = &q->def[q->order[k]];
    for (size_t i = 0; d->plain && i < d->readers.n; i++) {
      if (o->n_edges == MOST_EDGES)
        return false;
      o->edge[o->n_edges++] = d->readers.at[i];
    }
  }
  return true;
}

/* Marks the copies of a set, and finds who keeps a home. */
static void set_copies(optimum *o, uint32_t copies) {
  fuser *q = o->q;
  for (uint32_t k = 0; k < o->n_edges; k++)
    fuse_read_of(q, o->edge[k])->copied = copies >> k & 1;
  o->n_defs = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    fuse_def *d = &q->def[q->order[k]];
    bool read = !d->plain || d->wanted;
    for (size_t i = 0; i < d->readers.n; i++)
      read = read || !fuse_read_of(q, d->readers.at[i])->copied;
    d->home = read;
    if (read)
      o->def[o->n_defs++] = q->order[k];
  }
  memset(o->known, 0, sizeof o->known);
}

double graph_optimum(neo_module *m, neo_arena *a, const neo_fuse_options *options) {
  fuser q;
  static optimum none;
  optimum *o = NEO_NEW(a, optimum);
  *o = none;
  fuse_begin(&q, m, a, options, FUSE_EVERY, NULL);
  o->q = &q;
  o->best = 1e9;
  assert_true(q.n_order <= MOST_DEFS);
  if (!find_edges(o))
    return -1;
  for (uint32_t copies = 0; copies < 1u << o->n_edges; copies++) {
    uint32_t blocks[MOST_DEFS];
    set_copies(o, copies);
    partition(o, (1u << o->n_defs) - 1, blocks, 0, 0);
  }
  return o->best;
}

/* ---- all sequences of moves */

typedef struct {
  neo_module *m;
  neo_arena *a;
  const neo_fuse_options *o;
  neo_map seen; /* states, by their hash */
  fuse_moves path;
  double best;
} exploring;

static uint64_t state_hash(const fuser *q) {
  uint64_t h = 0;
  for (size_t k = 0; k < q->n_order; k++) {
    const fuse_def *d = &q->def[q->order[k]];
    h = neo_hash_mix(h, d->home);
    for (uint32_t i = 0; i < d->n_read; i++)
      h = neo_hash_mix(h, d->read[i].copied);
  }
  return h;
}

static void replay(exploring *x, fuser *q) {
  fuse_list changed = {0};
  fuse_begin(q, x->m, x->a, x->o, FUSE_EVERY, NULL);
  for (size_t k = 0; k < x->path.n; k++)
    fuse_move_make(q, &x->path.at[k], &changed);
}

static void explore(exploring *x) {
  fuser q;
  fuse_moves found = {0};
  const char *why;
  replay(x, &q);
  if (neo_map_get(&x->seen, state_hash(&q), NULL))
    return;
  neo_map_set(&x->seen, state_hash(&q), 1);
  x->best = fuse_total(&q) < x->best ? fuse_total(&q) : x->best;
  for (uint32_t g = 0; g < q.groups.n; g++) {
    if (!q.groups.at[g].members.n)
      continue;
    fuse_match(&q, FUSE_BEST_FIRST, g, &found);
    for (size_t k = 0; k < found.n; k++) {
      const fuse_rules *r = fuse_rules_of(&found.at[k]);
      if (r->stamp(&q, &found.at[k]) == FUSE_GONE || !r->price(&q, &found.at[k], &why))
        continue;
      NEO_PUSH(x->a, &x->path, found.at[k]);
      explore(x);
      x->path.n--;
    }
  }
}

double graph_best_of_moves(neo_module *m, neo_arena *a, const neo_fuse_options *options) {
  exploring x = {.m = m, .a = a, .o = options, .best = 1e9};
  neo_map_init(&x.seen, a);
  explore(&x);
  return x.best;
}
