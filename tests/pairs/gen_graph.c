/* Graphs, and tensors with a row for each vertex. */
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
  const char *text = neo_arena_printf(g->arena, "graph %s(children <= %s, %svertices <= %lld)",
                                      x->name, g->extents.at[x->places].text, pv_list(v, x, now), (long long)most);
  x->line = size_line(g, x->name, text, (uint64_t)1 << g->extents.at[x->places].line);
  x->vertices = count_of(g, neo_arena_printf(g->arena, "%s.vertices", x->name), now, x->line);
  pv_list_feature(v, x);
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
  const char *text = neo_arena_printf(g->arena, "dim 0 <= %s <= 5\ninput %s[%s] : i32 < %s", size,
                                      t.name, size, g->extents.at[x->vertices].text);
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
