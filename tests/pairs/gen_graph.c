/* Graphs, what belongs to their vertices, and static definitions of it. */
#include "tests/pairs/gen_vertex.h"

/* ---- graphs */

static uint32_t count_of(pgen *g, const char *text, int64_t now, uint32_t line) {
  NEO_PUSH(g->arena, &g->extents, (pextent){text, now, 0, true, true, line});
  NEO_PUSH(g->arena, &g->p->sizes, (pairs_size){text, now});
  return (uint32_t)g->extents.n - 1;
}

static uint32_t size_line(pgen *g, const char *name, const char *text, uint64_t reads) {
  pg_begin(g);
  g->reads = reads;
  return pg_end(g, (pairs_statement){.kind = PAIRS_SIZE_LINE, .text = text, .name = name});
}

static int64_t draw_vertices(pgen *g) {
  static const int64_t n[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 19, 23, 31};
  return pg_chance(g, 4) ? 0 : PG_PICK(g, n);
}

/* The same without the word: an input whose elements come before their own place. */
static void by_hand(pvertices *v, pgraph *x, int64_t now, int64_t most) {
  pgen *g = &v->g;
  const char *size = pg_name(g, "V"), *places = g->extents.at[x->places].text;
  x->child = pg_name(g, "c");
  const char *text =
      neo_arena_printf(g->arena, "dim 0 <= %s <= %lld\ninput %s[v < %s, %s] : -1 <= i32 < v", size,
                       (long long)most, x->child, size, places);
  x->line = size_line(g, size, text, (uint64_t)1 << g->extents.at[x->places].line);
  x->vertices = count_of(g, size, now, x->line);
}

static void declared(pvertices *v, pgraph *x, int64_t now, int64_t most) {
  pgen *g = &v->g;
  x->name = pg_name(g, "G");
  x->child = neo_arena_printf(g->arena, "%s.child", x->name);
  const char *text =
      neo_arena_printf(g->arena, "graph %s(children <= %s, vertices <= %lld)", x->name,
                       g->extents.at[x->places].text, (long long)most);
  x->line = size_line(g, x->name, text, (uint64_t)1 << g->extents.at[x->places].line);
  x->vertices =
      count_of(g, neo_arena_printf(g->arena, "%s.vertices", x->name), now, x->line);
}

/* Vertices where something is read from: roots mostly. */
static void add_roots(pvertices *v, pgraph *x) {
  pgen *g = &v->g;
  const char *size = pg_name(g, "R");
  ptensor t = {.name = pg_name(g, "x"),
               .type = NEO_I32_T,
               .rank = 1,
               .bound = x->vertices,
               .exact = true,
               .given = true};
  int64_t now = g->extents.at[x->vertices].now ? (int64_t)pg_below(g, 5) : 0;
  const char *text =
      neo_arena_printf(g->arena, "dim 0 <= %s <= 5\ninput %s[%s] : i32 < %s", size, t.name, size,
                       g->extents.at[x->vertices].text);
  t.line = size_line(g, size, text, (uint64_t)1 << x->line);
  t.dim[0] = x->roots = count_of(g, size, now, t.line);
  x->root = (uint32_t)g->tensors.n;
  NEO_PUSH(g->arena, &g->tensors, t);
  v->batch |= (uint64_t)1 << t.line;
}

void pv_graph(pvertices *v) {
  static const uint32_t slots[] = {1, 2, 2, 2, 3, 3, 4, 5};
  pgen *g = &v->g;
  pgraph *x = &v->graph[v->n_graphs];
  int64_t k = PG_PICK(g, slots), now = draw_vertices(g), most = now + (int64_t)pg_below(g, 9);
  *x = (pgraph){.number = v->n_graphs++, .roots = NO_EXTENT};
  pg_begin(g);
  x->places = pg_extent_of(g, neo_arena_printf(g->arena, "%lld", (long long)k), k, k, false);
  (pg_chance(g, 80) ? declared : by_hand)(v, x, now, most < 1 ? 1 : most);
  v->batch |= (uint64_t)1 << x->line;
  if (pg_chance(g, 50) && now)
    add_roots(v, x);
  bool rooted = x->roots != NO_EXTENT;
  NEO_PUSH(g->arena, &g->p->graphs,
           (pairs_graph){.child = x->child,
                         .vertices = g->extents.at[x->vertices].text,
                         .root = rooted ? g->tensors.at[x->root].name : NULL,
                         .roots = rooted ? g->extents.at[x->roots].text : NULL,
                         .places = g->extents.at[x->places].text});
}

pgraph *pv_some_graph(pvertices *v) {
  return &v->graph[pg_below(&v->g, v->n_graphs)];
}

/* ---- tensors with rows */

void pv_has_rows(pvertices *v, ptensor *t, const pgraph *graph) {
  t->rows = graph->number + 1;
  NEO_PUSH(v->g.arena, &v->g.p->rows, (pairs_rows){t->name, graph->number, t->of_roots});
}

bool pv_is_shared(const pvertices *v, const ptensor *t) {
  return !t->rows && !(v->batch >> t->line & 1);
}

uint32_t pv_row_input(pvertices *v, const pgraph *graph, neo_type type, const uint32_t *dim,
                      uint32_t rank, uint32_t bound) {
  uint32_t all[MOST_RANK] = {graph->vertices};
  for (uint32_t k = 0; k < rank; k++)
    all[k + 1] = dim[k];
  uint32_t at = pg_given(&v->g, type, all, rank + 1, bound, false);
  pv_has_rows(v, &v->g.tensors.at[at], graph);
  v->batch |= (uint64_t)1 << v->g.tensors.at[at].line;
  return at;
}

uint32_t pv_some_rows(pvertices *v, const pgraph *graph, uint32_t least, uint32_t most,
                      bool is_float) {
  pgen *g = &v->g;
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (t->rows == graph->number + 1 && !t->of_roots && t->rank >= least + 1 &&
        t->rank <= most + 1 && (!is_float || t->type == NEO_F32_T || t->type == NEO_F64_T)) {
      bool recent = k + 3 >= g->tensors.n;
      n += recent ? 3 : 1;
      if (pg_below(g, n) < (recent ? 3u : 1u))
        at = k;
    }
  }
  return at;
}

uint32_t pv_weights(pvertices *v, neo_type type, const uint32_t *dim, uint32_t rank) {
  pgen *g = &v->g;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    bool like = t->type == type && t->rank == rank && pv_is_shared(v, t);
    for (uint32_t i = 0; like && i < rank; i++)
      like = t->dim[i] == dim[i];
    if (like && pg_chance(g, 70))
      return k;
  }
  return pg_given(g, type, dim, rank, NO_EXTENT, false);
}

void pv_note_batch(pvertices *v, size_t first_line) {
  const pairs_program *p = v->g.p;
  for (size_t k = first_line; k < p->lines.n; k++)
    if (p->lines.at[k].reads & v->batch)
      v->batch |= (uint64_t)1 << k;
}

/* ---- static definitions of rows */

/* Of the tensor, at the indices at hand, whose first is the vertex. */
static const char *plain(pgen *g, uint32_t k) {
  return pg_read_plain(g, k);
}

static void define_rows(pvertices *v, const pgraph *graph, ptensor *y, const char *value) {
  pgen *g = &v->g;
  const char *left = pg_left_of(g, y);
  g->exact = g->exact && !neo_type_is_float(y->type);
  pv_has_rows(v, y, graph);
  pg_define(g, y, left, value);
  v->batch |= (uint64_t)1 << y->line;
}

static void indices_of(pgen *g, const uint32_t *dim, uint32_t rank) {
  pg_begin(g);
  for (uint32_t k = 0; k < rank; k++)
    (void)pg_index(g, dim[k], false);
}

static const char *const shapes[] = {"tanh(%s)*0.5",   "sin(%s)",          "max(%s, 0.25)",
                                     "(%s)*0.5 - 0.25", "sigmoid(%s) - 0.5", "exp(min(%s, 1))*0.5",
                                     "softplus(%s)",    "gelu(%s)",          "abs(%s)"};

static bool map(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 0, 3, true);
  if (k == UINT32_MAX)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, x.rank);
  indices_of(g, x.dim, x.rank);
  const char *value = neo_arena_printf(g->arena, PG_PICK(g, shapes), plain(g, k));
  uint32_t other = pv_some_rows(v, graph, x.rank - 1, x.rank - 1, true);
  bool fits = other != UINT32_MAX && g->tensors.at[other].type == x.type;
  for (uint32_t i = 0; fits && i < x.rank; i++)
    fits = g->tensors.at[other].dim[i] == x.dim[i];
  if (fits)
    value = neo_arena_printf(g->arena, pg_chance(g, 50) ? "%s*%s" : "%s + %s", value,
                             plain(g, other));
  g->has |= PAIRS_BIT(PAIRS_FUNCTION);
  define_rows(v, graph, &y, value);
  return true;
}

/* A layer: each row times a matrix. */
static bool layer(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 1, 1, true), e = pg_extent(g);
  if (k == UINT32_MAX || g->extents.at[e].rows)
    return false;
  ptensor x = g->tensors.at[k];
  uint32_t w = pv_weights(v, x.type, (uint32_t[]){x.dim[1], e}, 2);
  ptensor m = g->tensors.at[w], y = pg_result(g, x.type, (uint32_t[]){graph->vertices, e}, 2);
  indices_of(g, y.dim, 2);
  pg_take(g, &x);
  pg_take(g, &m);
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_PRODUCT);
  define_rows(v, graph, &y,
              neo_arena_printf(g->arena, "0.25*(sum[t] %s[i, t]*%s[t, j])", x.name, m.name));
  return true;
}

/* A row of a table, by an element of the vertex. */
static bool embedding(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t words = pg_extent(g), e = pg_extent(g);
  if (g->extents.at[words].rows || g->extents.at[e].rows || !g->extents.at[words].least)
    return false;
  pg_begin(g);
  uint32_t at = pv_row_input(v, graph, NEO_I32_T, NULL, 0, words);
  uint32_t table = pv_weights(v, pg_chance(g, 70) ? NEO_F32_T : NEO_F64_T,
                              (uint32_t[]){words, e}, 2);
  ptensor t = g->tensors.at[table], w = g->tensors.at[at],
          y = pg_result(g, t.type, (uint32_t[]){graph->vertices, e}, 2);
  indices_of(g, y.dim, 2);
  pg_take(g, &t);
  g->reads |= (uint64_t)1 << w.line;
  g->has |= PAIRS_BIT(PAIRS_LOOKUP);
  define_rows(v, graph, &y, neo_arena_printf(g->arena, "%s[%s[i], j]", t.name, w.name));
  return true;
}

static bool reduced(pvertices *v, const pgraph *graph) {
  static const char *const of[] = {"sum[t] %s[i, t]", "max[t] %s[i, t]", "mean[t] %s[i, t]*%s[i, 0]",
                                   "logsumexp[t] %s[i, t]", "sum[t] %s[i, t]*%s[i, t]"};
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 1, 1, true);
  if (k == UINT32_MAX || !g->extents.at[g->tensors.at[k].dim[1]].least)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, 1);
  indices_of(g, y.dim, 1);
  pg_take(g, &x);
  g->has |= PAIRS_BIT(PAIRS_SUM);
  define_rows(v, graph, &y, neo_arena_printf(g->arena, PG_PICK(g, of), x.name, x.name));
  return true;
}

/* What the children have, or the parents, as in rounds of a network over a graph. */
static bool neighbours(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 1, 1, true);
  if (k == UINT32_MAX)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, 2);
  const char *c = graph->child;
  indices_of(g, y.dim, 2);
  pg_take(g, &x);
  g->reads |= (uint64_t)1 << graph->line;
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_LOOKUP);
  bool up = pg_chance(g, 60);
  g->p->ordered = g->p->ordered || !up;
  const char *value =
      up ? neo_arena_printf(g->arena, "0.25*(sum[u < %s] (%s[%s[i, u], j] else 0.5))",
                            pg_extent_text(g, graph->places), x.name, c)
         : neo_arena_printf(g->arena, "0.5*(sum[t < %s where %s[t, 0] == i32(i)] %s[t, j])",
                            pg_extent_text(g, graph->vertices), c, x.name);
  define_rows(v, graph, &y, value);
  return true;
}

/* Rows of vertices that an input names. */
static bool at_roots(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t k = pv_some_rows(v, graph, 0, 2, true);
  if (k == UINT32_MAX || graph->roots == NO_EXTENT)
    return false;
  ptensor x = g->tensors.at[k], y = pg_result(g, x.type, x.dim, x.rank);
  y.dim[0] = graph->roots;
  y.of_roots = true;
  indices_of(g, y.dim, y.rank);
  pg_take(g, &x);
  g->reads |= (uint64_t)1 << g->tensors.at[graph->root].line;
  pg_kind(g, PAIRS_R_ROOTS);
  static const char *const more[] = {"", ", j", ", j, k"};
  define_rows(v, graph, &y,
              neo_arena_printf(g->arena, "%s[%s[i]%s]", x.name, g->tensors.at[graph->root].name,
                               more[x.rank - 1]));
  return true;
}

bool pv_static(pvertices *v) {
  const pgraph *graph = pv_some_graph(v);
  switch (pg_below(&v->g, 9)) {
  case 0:
  case 1:
    return map(v, graph);
  case 2:
    return layer(v, graph);
  case 3:
    return embedding(v, graph);
  case 4:
    return reduced(v, graph);
  case 5:
    return neighbours(v, graph);
  case 6:
    return pv_function(v);
  default:
    return at_roots(v, graph);
  }
}

/* ---- losses and gradients */

static uint32_t some_smooth(pvertices *v) {
  pgen *g = &v->g;
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    bool known = t->rows && !t->given && t->smooth && t->rank;
    if (known && (t->type == NEO_F32_T || t->type == NEO_F64_T) && pg_below(g, n += 1 + k / 8) < 1 + k / 8)
      at = k;
  }
  return at;
}

static uint32_t source(pgen *g, uint64_t from) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n && k < PARAMETER; k++)
    if (from >> k & 1) {
      n += g->tensors.at[k].rows ? 3 : 1;
      if (pg_below(g, n) < (g->tensors.at[k].rows ? 3u : 1u))
        at = k;
    }
  return at;
}

static uint32_t define_plain(pvertices *v, ptensor t, const char *value) {
  pgen *g = &v->g;
  pg_define(g, &t, t.name, value);
  v->batch |= (uint64_t)1 << t.line;
  return (uint32_t)g->tensors.n - 1;
}

static uint32_t sum_of(pvertices *v, uint32_t y, const char *text) {
  pgen *g = &v->g;
  ptensor t = g->tensors.at[y];
  pg_begin(g);
  pg_take(g, &t);
  g->has |= PAIRS_BIT(PAIRS_SUM);
  g->exact = false;
  return define_plain(v, pg_result(g, t.type, NULL, 0),
                      neo_arena_printf(g->arena, text, t.name, t.name));
}

/* Of a sum over vertices each of which adds what is its own: rows, with respect to rows of the same graph. */
static uint32_t gradient(pvertices *v, const char *text, const uint64_t reads, uint32_t x,
                         bool has_rows, pairs_feature f) {
  pgen *g = &v->g;
  ptensor to = g->tensors.at[x];
  pg_begin(g);
  pg_take(g, &to);
  g->reads |= reads;
  g->has |= PAIRS_BIT(PAIRS_GRAD) | PAIRS_BIT(f);
  pg_kind(g, f == PAIRS_GRAD2 ? PAIRS_R_GRAD2 : PAIRS_R_GRAD);
  g->from = 0;
  g->exact = false;
  ptensor d = pg_result(g, to.type, to.dim, to.rank);
  d.of_roots = to.of_roots;
  if (has_rows)
    pv_has_rows(v, &d, &v->graph[to.rows - 1]);
  return define_plain(v, d, text);
}

static uint32_t alike(pvertices *v, const ptensor *y) {
  pgen *g = &v->g;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    bool like = t->rows == y->rows && t->type == y->type && t->rank == y->rank && t->name != y->name;
    for (uint32_t i = 0; like && i < y->rank; i++)
      like = t->dim[i] == y->dim[i];
    if (like)
      return k;
  }
  return UINT32_MAX;
}

bool pv_loss(pvertices *v) {
  static const char *const losses[] = {"sum[..] %s[..]*%s[..]", "sum[..] sin(%s[..])",
                                       "sum[..] 0.5*%s[..]", "sum[..] tanh(%s[..])*%s[..]"};
  pgen *g = &v->g;
  uint32_t y = some_smooth(v);
  if (y == UINT32_MAX)
    return false;
  ptensor t = g->tensors.at[y];
  uint32_t x = source(g, t.from), seed = pg_chance(g, 25) ? alike(v, &t) : UINT32_MAX;
  if (x == UINT32_MAX || pg_chance(g, 15)) {
    (void)sum_of(v, y, pg_chance(g, 50) ? "mean[..] %s[..]^2" : losses[0]);
    return true;
  }
  ptensor to = g->tensors.at[x];
  bool rows = to.rows == t.rows;
  if (seed != UINT32_MAX) {
    const char *s = g->tensors.at[seed].name;
    uint64_t reads = (uint64_t)1 << t.line | (uint64_t)1 << g->tensors.at[seed].line;
    (void)gradient(v, neo_arena_printf(g->arena, "grad(%s, %s, seed = %s)", t.name, to.name, s), reads, x,
                   rows, PAIRS_GRAD);
    return true;
  }
  uint32_t loss = sum_of(v, y, PG_PICK(g, losses));
  uint64_t reads = (uint64_t)1 << g->tensors.at[loss].line;
  uint32_t d = gradient(
      v, neo_arena_printf(g->arena, "grad(%s, %s)", g->tensors.at[loss].name, to.name), reads, x, rows,
      PAIRS_GRAD);
  if (!to.rank || !pg_chance(g, 25))
    return true;
  uint32_t along = sum_of(
      v, d, neo_arena_printf(g->arena, "sum[..] %%s[..]*%s[..]", to.name));
  g->p->lines.at[g->tensors.at[along].line].reads |= (uint64_t)1 << to.line;
  (void)gradient(v,
                 neo_arena_printf(g->arena, "grad(%s, %s)", g->tensors.at[along].name, to.name),
                 (uint64_t)1 << g->tensors.at[along].line, x, rows, PAIRS_GRAD2);
  return true;
}
