/* Draws programs: sizes, inputs, then definitions by the forms' weights. */
#include "tests/pairs/gen.h"
#include "base/hash.h"
#include "tests/pairs/edges.h"
#include <string.h>

static const char *const texts[] = {
#define X(name, text, meaning) text,
#include "tests/pairs/features.def"
#undef X
};
_Static_assert(PAIRS_FEATURES <= 64, "a set of features is a word");

const char *pairs_feature_text(uint32_t f) {
  return texts[f];
}

static const char *const recurrence_texts[] = {
#define X(name, text, meaning) text,
#include "tests/pairs/recurrences.def"
#undef X
};
_Static_assert(PAIRS_RECURRENCES <= 64, "a set of kinds is a word");

const char *pairs_recurrence_text(uint32_t r) {
  return recurrence_texts[r];
}

const char *pg_type_text(neo_type t) {
  static const char *const text[] = {
#define X(name, text, size, kind) text,
#include "ir/types.def"
#undef X
  };
  return text[t];
}

pairs_feature pg_type_feature(neo_type t) {
  static const pairs_feature of[] = {PAIRS_F64, PAIRS_F32, PAIRS_F16, PAIRS_BF16, PAIRS_I64,
                                     PAIRS_I32, PAIRS_I8,  PAIRS_U8,  PAIRS_BOOL};
  return of[t];
}

const char *pg_name(pgen *g, const char *stem) {
  return neo_arena_printf(g->arena, "%s%u", stem, g->n_names++);
}

/* ---- statements */

void pg_begin(pgen *g) {
  g->n_index = 0;
  g->reads = g->from = 0;
  g->has = 0;
  g->recurs = 0;
  g->exact = true;
  g->read_depth = 0;
}

uint32_t pg_end(pgen *g, pairs_statement s) {
  s.reads |= g->reads;
  s.has |= g->has;
  s.recurs |= g->recurs;
  NEO_PUSH(g->arena, &g->p->lines, s);
  return (uint32_t)g->p->lines.n - 1;
}

const char *pg_extent_text(pgen *g, uint32_t e) {
  g->reads |= (uint64_t)1 << g->extents.at[e].line;
  if (g->extents.at[e].runtime)
    g->has |= PAIRS_BIT(PAIRS_SIZE);
  return g->extents.at[e].text;
}

const char *pg_shape(pgen *g, const uint32_t *dim, uint32_t rank) {
  const char *s = "";
  for (uint32_t k = 0; k < rank; k++)
    s = neo_arena_printf(g->arena, "%s%s%s", s, k ? ", " : "[", pg_extent_text(g, dim[k]));
  return rank ? neo_arena_printf(g->arena, "%s]", s) : s;
}

/* "input x[N, 4] : i32 < K". */
const char *pg_input_text(pgen *g, const ptensor *t) {
  const char *bound = "";
  if (t->earlier)
    return neo_arena_printf(g->arena, "input %s[v < %s] : -1 <= %s < v", t->name,
                            pg_extent_text(g, t->dim[0]), pg_type_text(t->type));
  if (t->bound != NO_EXTENT)
    bound =
        neo_arena_printf(g->arena, " < %s%s", pg_extent_text(g, t->bound), t->up_to ? " + 1" : "");
  return neo_arena_printf(g->arena, "input %s%s : %s%s", t->name, pg_shape(g, t->dim, t->rank),
                          pg_type_text(t->type), bound);
}

ptensor pg_result(pgen *g, neo_type type, const uint32_t *dim, uint32_t rank) {
  ptensor t = {.name = pg_name(g, "y"), .type = type, .rank = rank, .bound = NO_EXTENT};
  if (rank)
    memcpy(t.dim, dim, rank * sizeof *dim);
  return t;
}

void pg_define(pgen *g, ptensor *t, const char *left, const char *value) {
  pg_define_text(g, t, neo_arena_printf(g->arena, "%s = %s", left, value));
}

void pg_define_text(pgen *g, ptensor *t, const char *text) {
  g->has |= PAIRS_BIT(pg_type_feature(t->type)) | (t->rank ? 0 : PAIRS_BIT(PAIRS_SCALAR));
  bool is_float = neo_type_is_float(t->type);
  t->exact = g->exact;
  t->from = is_float ? g->from : 0;
  t->smooth = t->from != 0;
  if (g->wide && t->smooth) /* gradients are taken with respect to it as well */
    t->from |= (uint64_t)1 << (g->tensors.n & 63);
  const char *input = t->rank ? pg_input_text(g, t) : NULL;
  t->line = pg_end(g, (pairs_statement){
                          .kind = PAIRS_DEFINITION, .text = text, .name = t->name, .input = input});
  NEO_PUSH(g->arena, &g->tensors, *t);
}

/* A run-time size that was to be 0 is 1, as elements below it are wanted. */
static void make_one(pgen *g, uint32_t extent) {
  pextent *e = &g->extents.at[extent];
  e->now = 1;
  for (size_t k = 0; k < g->p->sizes.n; k++)
    if (strcmp(g->p->sizes.at[k].name, e->text) == 0)
      g->p->sizes.at[k].now = 1;
}

/* In the middle of another statement, whose state is left alone. */
static uint32_t give(pgen *g, ptensor t) {
  uint64_t reads = g->reads;
  pairs_set has = g->has;
  neo_type type = t.type;
  t.name = pg_name(g, "x");
  t.exact = t.given = true;
  t.smooth = neo_type_is_float(type);
  t.from = t.smooth ? (uint64_t)1 << (g->tensors.n & 63) : 0;
  uint64_t recurs = g->recurs;
  if (t.bound != NO_EXTENT && !t.up_to && !g->extents.at[t.bound].now)
    make_one(g, t.bound);
  g->p->whole = g->p->whole || (t.bound != NO_EXTENT && g->extents.at[t.bound].rows);
  g->reads = g->recurs = 0;
  g->has = 0;
  const char *text = pg_input_text(g, &t);
  t.line = pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN, .text = text, .name = t.name});
  g->reads = reads;
  g->has = has;
  g->recurs = recurs;
  NEO_PUSH(g->arena, &g->tensors, t);
  return (uint32_t)g->tensors.n - 1;
}

uint32_t pg_given(pgen *g, neo_type type, const uint32_t *dim, uint32_t rank, uint32_t bound,
                  bool up_to) {
  ptensor t = pg_result(g, type, dim, rank);
  t.bound = bound;
  t.up_to = up_to;
  return give(g, t);
}

uint32_t pg_given_earlier(pgen *g, uint32_t extent) {
  ptensor t = pg_result(g, NEO_I32_T, &extent, 1);
  t.earlier = true;
  return give(g, t);
}

/* ---- sizes */

static const int64_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 15, 16, 17, 19, 23, 31, 32, 33};

uint32_t pg_extent_of(pgen *g, const char *value, int64_t now, int64_t least, bool runtime) {
  const char *name = pg_name(g, runtime ? "P" : "C");
  uint64_t reads = g->reads;
  pairs_set has = g->has;
  uint32_t line =
      pg_end(g, (pairs_statement){.kind = PAIRS_SIZE_LINE,
                                  .text = neo_arena_printf(g->arena, "dim %s = %s", name, value),
                                  .name = name});
  g->reads = reads;
  g->has = has;
  NEO_PUSH(g->arena, &g->extents, (pextent){name, now, least, runtime, false, line});
  return (uint32_t)g->extents.n - 1;
}

/* With an input of that extent: its value has to come from somewhere. */
static void runtime_extent(pgen *g, int64_t now, int64_t least) {
  const char *name = pg_name(g, "N");
  int64_t most = now + (int64_t)pg_below(g, 24);
  most = most < 1 ? 1 : most;
  pg_begin(g);
  uint32_t line =
      pg_end(g, (pairs_statement){.kind = PAIRS_SIZE_LINE,
                                  .text = neo_arena_printf(
                                      g->arena, "dim %s%s <= %lld\ninput u%s[%s]",
                                      least ? "" : "0 <= ", name, (long long)most, name, name),
                                  .name = name,
                                  .has = PAIRS_BIT(PAIRS_SIZE)});
  NEO_PUSH(g->arena, &g->extents, (pextent){name, now, least, true, false, line});
  NEO_PUSH(g->arena, &g->p->sizes, (pairs_size){name, now});
}

static void draw_sizes(pgen *g) {
  uint32_t n = 2 + (uint32_t)pg_below(g, 2);
  uint32_t runtime = (uint32_t)pg_below(g, 5);
  for (uint32_t k = 0; k < n; k++) {
    int64_t now = PG_PICK(g, sizes);
    pg_begin(g);
    if (k == runtime)
      runtime_extent(g, now, 1);
    else
      (void)pg_extent_of(g, neo_arena_printf(g->arena, "%lld", (long long)now), now, now, false);
  }
}

/* Few rounds, none now and then. */
static void draw_rounds(pgen *g) {
  static const int64_t rounds[] = {1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13, 16, 17};
  uint32_t n = 2 + (uint32_t)pg_below(g, 2), runtime = (uint32_t)pg_below(g, 4);
  for (uint32_t k = 0; k < n; k++) {
    bool empty = k == runtime && pg_chance(g, 20);
    int64_t now = empty && pg_chance(g, 40) ? 0 : PG_PICK(g, rounds);
    pg_begin(g);
    if (k == runtime)
      runtime_extent(g, now, empty ? 0 : 1);
    else
      (void)pg_extent_of(g, neo_arena_printf(g->arena, "%lld", (long long)now), now, now, false);
  }
}

/* Iterations of loops in loops: mostly a handful, and many of one alone. */
static void draw_nested_rounds(pgen *g) {
  static const int64_t rounds[] = {1, 2, 2, 3, 3, 4, 5}, many[] = {7, 13, 17};
  uint32_t n = 2 + (uint32_t)pg_below(g, 2), runtime = (uint32_t)pg_below(g, 3);
  for (uint32_t k = 0; k < n; k++) {
    bool empty = k == runtime && pg_chance(g, 25);
    int64_t now = empty && pg_chance(g, 50) ? 0 : PG_PICK(g, rounds);
    if (k == 2)
      now = PG_PICK(g, many);
    pg_begin(g);
    if (k == runtime)
      runtime_extent(g, now, empty ? 0 : 1);
    else
      (void)pg_extent_of(g, neo_arena_printf(g->arena, "%lld", (long long)now), now, now, false);
  }
}

static uint32_t any_extent(pgen *g) {
  uint64_t n = g->extents.n;
  return (uint32_t)(n > 4 && pg_chance(g, 75) ? pg_below(g, 4) : pg_below(g, n));
}

uint32_t pg_extent(pgen *g) {
  uint32_t e = any_extent(g);
  while (g->inside && g->extents.at[e].rows)
    e = any_extent(g);
  return e;
}

int64_t pg_work(const pgen *g) {
  int64_t n = 1;
  for (uint32_t k = 0; k < g->n_index; k++)
    n *= g->index[k].ranged ? g->index[k].times : g->extents.at[g->index[k].extent].now;
  return n;
}

/* ---- inputs */

static void draw_input(pgen *g, bool is_float) {
  static const uint32_t ranks[] = {1, 2, 2, 2, 2, 3};
  uint32_t dim[MOST_RANK], rank = PG_PICK(g, ranks);
  int64_t work = 1;
  for (uint32_t k = 0; k < rank; k++) {
    dim[k] = pg_extent(g);
    work *= g->extents.at[dim[k]].now;
    if (work > MOST_WORK)
      rank = k;
  }
  neo_type t = is_float ? pg_float(g) : pg_type(g);
  uint32_t bound = NO_EXTENT;
  if (t == NEO_I32_T && pg_chance(g, 70))
    bound = pg_extent(g);
  pg_begin(g);
  (void)pg_given(g, t, dim, rank, bound, false);
}

/* Adds a parameter of constant extents. */
void pg_param(pgen *g) {
  uint32_t dim[2], rank = 0;
  for (uint32_t k = 0; k < g->extents.n && rank < 2; k++)
    if (!g->extents.at[k].runtime && pg_chance(g, 70))
      dim[rank++] = k;
  pg_begin(g);
  ptensor t = pg_result(g, pg_chance(g, 80) ? NEO_F32_T : NEO_F64_T, dim, rank);
  t.name = pg_name(g, "w");
  t.exact = t.given = t.smooth = true;
  t.from = (uint64_t)1 << (g->tensors.n & 63);
  const char *left = rank ? pg_left(g, t.name, 0) : t.name, *first = "0.75";
  if (rank) {
    left = neo_arena_printf(g->arena, "%s[i < %s", t.name, pg_extent_text(g, dim[0]));
    left = rank > 1 ? neo_arena_printf(g->arena, "%s, j < %s]", left, pg_extent_text(g, dim[1]))
                    : neo_arena_printf(g->arena, "%s]", left);
    first =
        rank > 1
            ? neo_arena_printf(g->arena, "%s((5*i + 3*j) %% 8)*0.25 - 0.75", pg_type_text(t.type))
            : neo_arena_printf(g->arena, "%s((3*i) %% 8)*0.25 - 0.75", pg_type_text(t.type));
  }
  t.line = pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN,
                                       .text = neo_arena_printf(g->arena, "param %s : %s = %s",
                                                                left, pg_type_text(t.type), first),
                                       .name = t.name,
                                       .has = PAIRS_BIT(PAIRS_PARAM)});
  NEO_PUSH(g->arena, &g->tensors, t);
}

/* ---- definitions */

typedef struct {
  pg_form *form;
  uint32_t weight;
} weighted;

static const weighted forms[] = {
    {pg_map, 14},     {pg_reduce, 34},  {pg_product, 10}, {pg_window, 8},  {pg_lookup, 5},
    {pg_segment, 6},  {pg_pieces, 6},   {pg_reshape, 5},  {pg_running, 5}, {pg_running_product, 2},
    {pg_gradient, 8}, {pg_call, 3},     {pg_own_grad, 3}, {pg_repeat, 4},  {pg_rows, 8},
    {pg_state, 6},    {pg_any_rank, 5}, {pg_softmax, 6},  {pg_count, 6},   {pg_scalar, 7},
    {pg_attention, 3}};

static const weighted recurrent[] = {{pg_self, 40},         {pg_triangle, 4}, {pg_past, 8},
                                     {pg_scan, 24},         {pg_while, 8},    {pg_case, 4},
                                     {pg_recurrent_call, 4}};

static const weighted looping[] = {{pg_scan, 55}, {pg_while, 30}, {pg_case, 15}};

static void draw_definition(pgen *g, const weighted *of, size_t n) {
  uint32_t all = 0;
  for (size_t k = 0; k < n; k++)
    all += of[k].weight;
  for (int attempt = 0; attempt < 6; attempt++) {
    uint32_t at = (uint32_t)pg_below(g, all);
    size_t k = 0;
    while (at >= of[k].weight)
      at -= of[k++].weight;
    pg_begin(g);
    if (of[k].form(g))
      return;
  }
}

static const weighted known[] = {{pg_twice, 20},  {pg_constant, 12}, {pg_integers, 25},
                                 {pg_channel, 8}, {pg_declare, 10},  {pg_bounded, 10},
                                 {pg_many, 3},    {pg_vast, 5},      {pg_convolutions, 3}};

static void draw_any(pgen *g) {
  if (g->wide && pg_chance(g, 30)) {
    draw_definition(g, known, sizeof known / sizeof *known);
    return;
  }
  draw_definition(g, forms, sizeof forms / sizeof *forms);
}

static void draw_recurrence(pgen *g) {
  draw_definition(g, recurrent, sizeof recurrent / sizeof *recurrent);
}

/* Tensors that nobody reads, and some of the others. */
static void choose_outputs(pgen *g) {
  pairs_program *p = g->p;
  uint64_t read = 0;
  for (size_t k = 0; k < p->lines.n; k++)
    read |= p->lines.at[k].reads;
  for (size_t k = 0; k < p->lines.n; k++)
    if (p->lines.at[k].kind == PAIRS_DEFINITION)
      p->lines.at[k].output = !(read >> k & 1) || pg_chance(g, 25);
}

static pairs_program draw_program(neo_arena *a, uint64_t seed, bool wide) {
  pairs_program p = {.seed = seed};
  pgen g = {.arena = a, .state = neo_hash_mix(seed, 0x9a125), .p = &p, .wide = wide};
  draw_sizes(&g);
  draw_input(&g, true);
  for (uint64_t n = pg_below(&g, 3); n > 0; n--)
    draw_input(&g, false);
  if (pg_chance(&g, 25))
    pg_param(&g);
  for (uint64_t n = 2 + pg_below(&g, 5); n > 0 && p.lines.n < 40; n--)
    draw_any(&g);
  choose_outputs(&g);
  return p;
}

static pairs_program draw_recurrent(neo_arena *a, uint64_t seed, bool wide) {
  pairs_program p = {.seed = seed};
  pgen g = {.arena = a, .state = neo_hash_mix(seed, 0x4ec), .p = &p, .wide = wide};
  draw_rounds(&g);
  draw_input(&g, true);
  for (uint64_t n = pg_below(&g, 2); n > 0; n--)
    draw_input(&g, false);
  if (pg_chance(&g, 25))
    pg_param(&g);
  if (pg_chance(&g, 40))
    draw_any(&g);
  draw_recurrence(&g);
  for (uint64_t n = pg_below(&g, 4); n > 0 && p.lines.n < 40; n--) {
    if (pg_chance(&g, 30))
      draw_recurrence(&g);
    else if (pg_chance(&g, 40))
      (void)pg_gradient(&g);
    else
      draw_any(&g);
  }
  choose_outputs(&g);
  return p;
}

pairs_program pairs_draw_nested(neo_arena *a, uint64_t seed) {
  pairs_program p = {.seed = seed};
  pgen g = {.arena = a, .state = neo_hash_mix(seed, 0x4e57), .p = &p, .nested = true};
  draw_nested_rounds(&g);
  uint32_t dim[] = {pg_extent(&g), pg_extent(&g)};
  pg_begin(&g);
  (void)pg_given(&g, NEO_F64_T, dim, 1 + (uint32_t)pg_below(&g, 2), NO_EXTENT, false);
  if (pg_chance(&g, 40))
    draw_input(&g, false);
  if (pg_chance(&g, 25))
    pg_param(&g);
  for (uint64_t n = 1 + pg_below(&g, 2); n > 0; n--) {
    draw_definition(&g, looping, sizeof looping / sizeof *looping);
    if (pg_chance(&g, 60))
      (void)pg_gradient(&g);
  }
  choose_outputs(&g);
  return p;
}

bool pairs_is_nested(pairs_drawer *d) {
  return d == pairs_draw_nested || d == pairs_draw_nested_vertices;
}

bool pairs_has_vertices(pairs_drawer *d) {
  return d == pairs_draw_vertices || d == pairs_draw_nested_vertices ||
         d == pairs_draw_wide_vertices || d == pairs_draw_edges;
}

bool pairs_has_recurrences(pairs_drawer *d) {
  return d != pairs_draw && d != pairs_draw_wide;
}

pairs_program pairs_draw(neo_arena *a, uint64_t seed) {
  return draw_program(a, seed, false);
}

pairs_program pairs_draw_wide(neo_arena *a, uint64_t seed) {
  return draw_program(a, seed, true);
}

pairs_program pairs_draw_recurrent(neo_arena *a, uint64_t seed) {
  return draw_recurrent(a, seed, false);
}

pairs_program pairs_draw_wide_recurrent(neo_arena *a, uint64_t seed) {
  return draw_recurrent(a, seed, true);
}
