/* Programs over graphs: inputs of vertices, vertex functions and what is around them, losses,
 * training. */
#include "tests/pairs/gen_vertex.h"
#include "base/hash.h"

static void draw_sizes(pvertices *v) {
  static const int64_t sizes[] = {1, 2, 3, 4, 4, 5, 6, 7, 8, 9}, large[] = {16, 17, 24, 33};
  pgen *g = &v->g;
  uint32_t n = 2 + (uint32_t)pg_below(g, 2);
  for (uint32_t k = 0; k < n; k++) {
    int64_t now = pg_chance(g, 8) ? PG_PICK(g, large) : PG_PICK(g, sizes);
    pg_begin(g);
    (void)pg_extent_of(g, neo_arena_printf(g->arena, "%lld", (long long)now), now, now, false);
  }
}

static neo_type some_float(pgen *g) {
  static const neo_type all[] = {NEO_F32_T, NEO_F32_T, NEO_F32_T, NEO_F64_T, NEO_F64_T};
  return PG_PICK(g, all);
}

/* Something shared comes first: it stands in for what a block cannot read. */
static void draw_shared(pvertices *v) {
  pgen *g = &v->g;
  uint32_t dim[] = {(uint32_t)pg_below(g, 2), (uint32_t)pg_below(g, 2)};
  pg_begin(g);
  (void)pg_given(g, some_float(g), dim, 1 + (uint32_t)pg_below(g, 2), NO_EXTENT, false);
}

static void draw_rows(pvertices *v, const pgraph *graph) {
  pgen *g = &v->g;
  uint32_t dim[] = {(uint32_t)pg_below(g, 2), (uint32_t)pg_below(g, 2)},
           e = (uint32_t)pg_below(g, 2);
  pg_begin(g);
  neo_type type = some_float(g);
  (void)pv_row_input(v, graph, type, dim, 1, NO_EXTENT);
  if (pg_chance(g, 20)) /* another like it */
    (void)pv_row_input(v, graph, type, dim, 1, NO_EXTENT);
  if (pg_chance(g, 50))
    (void)pv_row_input(v, graph, NEO_I32_T, NULL, 0, e); /* a label */
  if (pg_chance(g, 30))
    (void)pv_row_input(v, graph, some_float(g), dim, (uint32_t)pg_below(g, 3), NO_EXTENT);
  if (pg_chance(g, 10))
    (void)pv_row_input(v, graph, NEO_BOOL_T, NULL, 0, NO_EXTENT);
}

/* A form that knows nothing of rows: what it makes of them depends on the batch. */
static void draw_general(pvertices *v) {
  static pg_form *const forms[] = {pg_map,    pg_reduce, pg_reduce, pg_product, pg_segment,
                                   pg_lookup, pg_scan,   pg_self,   pg_running, pg_softmax,
                                   pg_pieces, pg_state,  pg_scalar, pg_case};
  size_t line = v->g.p->lines.n;
  pg_begin(&v->g);
  (void)PG_PICK(&v->g, forms)(&v->g);
  pv_note_batch(v, line);
}

static void draw_one(pvertices *v) {
  pgen *g = &v->g;
  uint64_t roll = pg_below(g, 100);
  if (roll < 30)
    (void)pv_cell(v);
  else if (roll < 50)
    (void)pv_by_hand(v);
  else if (roll < 72)
    (void)pv_static(v);
  else if (roll < 92)
    (void)pv_loss(v);
  else
    draw_general(v);
}

/* Trains a tensor that depends on parameters, if there is one. */
static void draw_training(pvertices *v) {
  static const char *const optimizers[] = {
      "sgd(lr = 0.125)",    "momentum(lr = 0.0625)", "nesterov(lr = 0.0625)", "adam(lr = 0.0625)",
      "adamw(lr = 0.0625)", "rmsprop(lr = 0.0625)",  "adagrad(lr = 0.25)",    "lamb(lr = 0.0625)"};
  pgen *g = &v->g;
  pairs_program *p = g->p;
  for (size_t k = g->tensors.n; k-- > 0;) {
    ptensor t = g->tensors.at[k];
    bool has = t.from >> PARAMETER & 1;
    for (uint32_t i = 0; i < g->tensors.n && i < PARAMETER; i++)
      has = has ||
            (t.from >> i & 1 && p->lines.at[g->tensors.at[i].line].has & PAIRS_BIT(PAIRS_PARAM));
    if (!has || t.given || !t.rank || (t.type != NEO_F32_T && t.type != NEO_F64_T))
      continue;
    pg_begin(g);
    pg_take(g, &t);
    pg_kind(g, PAIRS_R_TRAINED);
    const char *name = pg_name(g, "loss");
    uint32_t line =
        pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION,
                                    .text = neo_arena_printf(
                                        g->arena, "import optim\n%s = sum[..] 0.125*%s[..]*%s[..]",
                                        name, t.name, t.name),
                                    .name = name});
    p->train = neo_arena_printf(g->arena, "train %s using optim.%s", name, PG_PICK(g, optimizers));
    p->trains = (uint64_t)1 << line;
    return;
  }
}

static void choose_outputs(pvertices *v) {
  pgen *g = &v->g;
  pairs_program *p = g->p;
  uint64_t read = 0;
  for (size_t k = 0; k < p->lines.n; k++)
    read |= p->lines.at[k].reads;
  for (size_t k = 0; k < p->lines.n; k++)
    if (p->lines.at[k].kind == PAIRS_DEFINITION && !p->lines.at[k].update)
      p->lines.at[k].output = !(read >> k & 1) || pg_chance(g, 35);
}

static pairs_program draw(neo_arena *a, uint64_t seed, bool wide, bool nested) {
  pairs_program p = {.seed = seed};
  pvertices v = {.g = {.arena = a,
                       .state = neo_hash_mix(seed, 0x7e27),
                       .p = &p,
                       .nested = nested,
                       .wide = wide}};
  pgen *g = &v.g;
  draw_sizes(&v);
  draw_shared(&v);
  bool doubles = false; /* parameters that no optimizer takes, as its numbers are f32 */
  if (pg_chance(g, 50)) {
    pg_param(g);
    doubles = g->tensors.at[g->tensors.n - 1].type == NEO_F64_T;
  }
  pv_graph(&v);
  if (pg_chance(g, 20))
    pv_graph(&v);
  for (uint32_t k = 0; k < v.n_graphs; k++)
    draw_rows(&v, &v.graph[k]);
  if (pg_chance(g, 40))
    (void)pv_static(&v);
  (void)(v.graph[0].name && pg_chance(g, 75) ? pv_cell : pv_by_hand)(&v);
  for (uint64_t n = 1 + pg_below(g, 5); n > 0 && p.lines.n < 40 && g->tensors.n < MOST_TENSORS; n--)
    draw_one(&v);
  while (!pairs_definitions(&p))
    draw_one(&v);
  choose_outputs(&v);
  if (!doubles && pg_chance(g, 35))
    draw_training(&v);
  return p;
}

pairs_program pairs_draw_vertices(neo_arena *a, uint64_t seed) {
  return draw(a, seed, false, false);
}

pairs_program pairs_draw_wide_vertices(neo_arena *a, uint64_t seed) {
  return draw(a, seed, true, false);
}

pairs_program pairs_draw_nested_vertices(neo_arena *a, uint64_t seed) {
  return draw(a, seed, false, true);
}
