/* Forms of definitions: elements, reductions, products, windows, lookups, segments. */
#include "tests/pairs/gen.h"

/* Some output indices; the rank. */
static uint32_t draw_left(pgen *g, uint32_t *dim, uint32_t least, uint32_t most, int64_t limit) {
  uint32_t rank = least + (uint32_t)pg_below(g, most - least + 1), n = 0;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t e = pg_extent(g);
    if (pg_work(g) * g->extents.at[e].now > limit)
      continue;
    dim[n++] = e;
    (void)pg_index(g, e, false);
  }
  return n;
}

bool pg_map(pgen *g) {
  uint32_t dim[MOST_RANK], rank = draw_left(g, dim, 1, 3, 2000);
  ptensor t = pg_result(g, pg_type(g), dim, rank);
  const char *left = pg_left_of(g, &t);
  pg_define(g, &t, left, pg_value(g, t.type, 3));
  return true;
}

/* A position; its type and bound follow. */
static void define_found(pgen *g, const uint32_t *dim, uint32_t rank) {
  ptensor t = pg_result(g, NEO_I32_T, dim, rank);
  neo_type of = pg_chance(g, 75) ? NEO_F32_T : pg_float(g);
  const char *left = pg_left(g, t.name, rank);
  uint32_t before = g->n_index;
  const char *value = pg_reduction(g, pg_chance(g, 50) ? PAIRS_ARGMAX : PAIRS_ARGMIN, of);
  if (!value)
    return;
  t.found = t.reduced = true;
  const pindex *last = &g->index[before]; /* of the index that is gone */
  t.bound = last->ranged ? NO_EXTENT : last->extent;
  g->exact = true;
  g->from = 0;
  pg_define(g, &t, left, value);
}

static const char *finished(pgen *g, neo_type t, const char *value) {
  if (pg_chance(g, 60) || t == NEO_BOOL_T)
    return value;
  const char *more = pg_value(g, t, 1);
  return neo_arena_printf(g->arena, pg_chance(g, 50) ? "%s + %s" : "%s*%s", value, more);
}

bool pg_reduce(pgen *g) {
  uint32_t dim[MOST_RANK], rank = draw_left(g, dim, 1, pg_chance(g, 30) ? 2 : 1, 600);
  size_t lines = g->p->lines.n;
  if (pg_chance(g, 22)) {
    define_found(g, dim, rank);
    bool made = g->p->lines.n > lines && g->tensors.at[g->tensors.n - 1].found;
    if (made && g->tensors.at[g->tensors.n - 1].bound != NO_EXTENT && pg_chance(g, 50))
      return pg_follow(g, (uint32_t)g->tensors.n - 1);
    return made;
  }
  ptensor t = pg_result(g, pg_type(g), dim, rank);
  const char *left = pg_left_of(g, &t);
  const char *value = pg_reduction(g, pg_reducer(g, t.type), t.type);
  if (!value)
    return false;
  t.reduced = true;
  pg_define(g, &t, left, finished(g, t.type, value));
  return true;
}

bool pg_scalar(pgen *g) {
  ptensor t = pg_result(g, pg_type(g), NULL, 0);
  const char *left = pg_left_of(g, &t);
  if (pg_chance(g, 30)) { /* of elements that are at constant places */
    pg_define(g, &t, left, pg_value(g, t.type, 2));
    return true;
  }
  const char *value = pg_reduction(g, pg_reducer(g, t.type), t.type);
  if (!value)
    return false;
  t.reduced = true;
  pg_define(g, &t, left, finished(g, t.type, value));
  return true;
}

/* ---- products of tensors */

/* A tensor of this type and these dimensions: one that there is, or an input. */
static uint32_t operand(pgen *g, neo_type type, uint32_t a, uint32_t b) {
  for (size_t k = g->tensors.n; k-- > 0;) {
    const ptensor *t = &g->tensors.at[k];
    if (t->type == type && t->rank == 2 && t->dim[0] == a && t->dim[1] == b && pg_chance(g, 70))
      return (uint32_t)k;
  }
  return pg_given(g, type, (uint32_t[]){a, b}, 2, NO_EXTENT, false);
}

static neo_type factor_type(pgen *g) {
  static const neo_type all[] = {NEO_F32_T, NEO_F32_T, NEO_F32_T,  NEO_F32_T,
                                 NEO_F64_T, NEO_F16_T, NEO_BF16_T, NEO_I32_T};
  return PG_PICK(g, all);
}

/* Narrow factors are often multiplied in f32. */
static const char *factor(pgen *g, neo_type to, neo_type from, const char *e) {
  return to == from ? e : pg_convert(g, to, from, e);
}

bool pg_product(pgen *g) {
  uint32_t i = pg_extent(g), j = pg_extent(g), k = pg_extent(g);
  const char *ni = pg_index(g, i, false), *nj = pg_index(g, j, false);
  if (pg_work(g) * g->extents.at[k].now > 4 * MOST_WORK)
    return false;
  neo_type type = factor_type(g), to = type;
  if ((type == NEO_F16_T || type == NEO_BF16_T) && pg_chance(g, 60))
    to = NEO_F32_T;
  bool ta = pg_chance(g, 35), tb = pg_chance(g, 35);
  uint32_t a = ta ? operand(g, type, k, i) : operand(g, type, i, k);
  uint32_t b = tb ? operand(g, type, j, k) : operand(g, type, k, j);
  ptensor t = pg_result(g, to, (uint32_t[]){i, j}, 2);
  const char *left = pg_left_of(g, &t), *range = pg_range(g, k), *nt = g->index[2].name;
  const char *where = pg_chance(g, 30) ? pg_where(g) : NULL;
  uint64_t bits = (uint64_t)1 << g->tensors.at[a].line | (uint64_t)1 << g->tensors.at[b].line;
  const char *x =
      neo_arena_printf(g->arena, "%s[%s, %s]", g->tensors.at[a].name, ta ? nt : ni, ta ? ni : nt);
  const char *y =
      neo_arena_printf(g->arena, "%s[%s, %s]", g->tensors.at[b].name, tb ? nj : nt, tb ? nt : nj);
  g->reads |= bits;
  g->exact = g->tensors.at[a].exact && g->tensors.at[b].exact;
  g->from |= g->tensors.at[a].from | g->tensors.at[b].from;
  g->has |= PAIRS_BIT(PAIRS_PRODUCT) | PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(pg_type_feature(type)) |
            (ta || tb ? PAIRS_BIT(PAIRS_TRANSPOSE) : 0);
  const char *value =
      neo_arena_printf(g->arena, "(sum[%s%s%s] %s*%s)", range, where ? " where " : "",
                       where ? where : "", factor(g, to, type, x), factor(g, to, type, y));
  g->n_index = 2;
  t.reduced = true;
  pg_define(g, &t, left, finished(g, to, value));
  return true;
}

/* ---- windows */

static uint32_t image(pgen *g, neo_type type, uint32_t i, uint32_t p) {
  return operand(g, type, i, p);
}

/* Without else, as many places as there are; with it, one for each element. */
bool pg_window(pgen *g) {
  uint32_t i = pg_extent(g), c = pg_extent(g), out = c;
  pextent e = g->extents.at[c];
  int64_t taps = 2 + (int64_t)pg_below(g, 3),
          stride = 1 + (int64_t)pg_below(g, 2) * pg_chance(g, 50),
          apart = 1 + (int64_t)pg_below(g, 2) * pg_chance(g, 50);
  int64_t places = (e.now - (taps - 1) * apart - 1) / stride + 1;
  bool padded = e.runtime || places < 1 || pg_chance(g, 40);
  if (e.now - (taps - 1) * apart < 1)
    padded = true;
  if (!padded)
    out = pg_extent_of(g, neo_arena_printf(g->arena, "%lld", (long long)places), places, places,
                       false);
  pg_begin(g);
  neo_type type = factor_type(g);
  uint32_t x = image(g, type, i, c);
  const char *ni = pg_index(g, i, false), *np = pg_index(g, out, false);
  bool weights = pg_chance(g, 50);
  uint32_t w = weights ? pg_given(g, type, NULL, 0, NO_EXTENT, false) : 0;
  static const pairs_feature reducers[] = {PAIRS_SUM, PAIRS_SUM, PAIRS_SUM, PAIRS_MAX, PAIRS_MIN};
  pairs_feature reducer = PG_PICK(g, reducers);
  if (neo_type_is_float(type) && pg_chance(g, 15))
    reducer = PAIRS_MEAN;
  ptensor t = pg_result(g, type, (uint32_t[]){i, out}, 2);
  const char *left = pg_left_of(g, &t);
  const char *at = neo_arena_printf(g->arena, "%lld*%s + %lld*r%s", (long long)stride, np,
                                    (long long)apart, padded ? " - 1" : "");
  const char *read =
      neo_arena_printf(g->arena, padded ? "(%s[%s, %s] else %s)" : "%s[%s, %s]",
                       g->tensors.at[x].name, ni, at, neo_type_is_float(type) ? "0.5" : "1");
  const char *where = pg_chance(g, 20) ? neo_arena_printf(g->arena, " where r != %d",
                                                          (int)pg_below(g, (uint64_t)taps))
                                       : "";
  if (*where)
    g->has |= PAIRS_BIT(PAIRS_WHERE_INDEX);
  g->reads |= (uint64_t)1 << g->tensors.at[x].line;
  g->from |= g->tensors.at[x].from;
  g->exact = g->tensors.at[x].exact && reducer != PAIRS_MEAN;
  const char *by = weights ? neo_arena_printf(g->arena, "*%s", pg_read_plain(g, w)) : "";
  g->has |= PAIRS_BIT(PAIRS_WINDOW) | PAIRS_BIT(reducer) |
            (stride > 1 ? PAIRS_BIT(PAIRS_STRIDE) : 0) |
            (apart > 1 ? PAIRS_BIT(PAIRS_DILATION) : 0) | (padded ? PAIRS_BIT(PAIRS_ELSE) : 0);
  t.reduced = true;
  const char *value =
      neo_arena_printf(g->arena, "(%s[r < %lld%s] %s%s)", pairs_feature_text(reducer),
                       (long long)taps, where, read, by);
  pg_define(g, &t, left, finished(g, type, value));
  return true;
}

/* ---- by data */

uint32_t pg_positions(pgen *g, uint32_t along, uint32_t below) {
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (t->bound == below && !t->up_to && t->rank == 1 && t->dim[0] == along)
      return k;
  }
  return pg_given(g, NEO_I32_T, &along, 1, below, false);
}

bool pg_lookup(pgen *g) {
  uint32_t v = pg_extent(g), b = pg_extent(g), d = pg_extent(g);
  neo_type type = factor_type(g);
  uint32_t table = operand(g, type, v, d), at = pg_positions(g, b, v);
  (void)pg_index(g, b, false);
  (void)pg_index(g, d, false);
  ptensor t = pg_result(g, type, (uint32_t[]){b, d}, 2);
  const char *left = pg_left_of(g, &t);
  ptensor *from = &g->tensors.at[table];
  g->has |= PAIRS_BIT(g->tensors.at[at].found ? PAIRS_LOOKUP_ARG : PAIRS_LOOKUP);
  g->reads |= (uint64_t)1 << from->line | (uint64_t)1 << g->tensors.at[at].line;
  g->from |= from->from;
  g->exact = from->exact;
  const char *value =
      neo_arena_printf(g->arena, "%s[%s[i], j]", from->name, g->tensors.at[at].name);
  pg_define(g, &t, left, finished(g, type, value));
  return true;
}

/* The elements whose position is the result's: a sum mostly, under more conditions now and then. */
bool pg_segment(pgen *g) {
  uint32_t v = pg_extent(g), e = pg_extent(g), d = pg_extent(g);
  bool columns = pg_chance(g, 70);
  neo_type type = factor_type(g);
  uint32_t at = pg_positions(g, e, v);
  uint32_t x = columns ? operand(g, type, e, d) : 0;
  (void)pg_index(g, v, false);
  if (columns)
    (void)pg_index(g, d, false);
  if (pg_work(g) * g->extents.at[e].now > MOST_WORK)
    return false;
  ptensor t = pg_result(g, type, (uint32_t[]){v, d}, columns ? 2 : 1);
  const char *left = pg_left_of(g, &t), *body;
  uint32_t before = g->n_index;
  const char *range = pg_range(g, e);
  if (pg_chance(g, 15)) {
    range = neo_arena_printf(g->arena, "%s, u < 2", range);
    g->has |= PAIRS_BIT(PAIRS_TWO_AXES);
  }
  g->reads |= (uint64_t)1 << g->tensors.at[at].line;
  const char *more = pg_chance(g, 35) ? pg_where(g) : NULL;
  if (columns && pg_chance(g, 60))
    body = pg_read_plain(g, x);
  else
    body = pg_value(g, type, 1);
  static const pairs_feature reducers[] = {PAIRS_SUM, PAIRS_SUM, PAIRS_SUM, PAIRS_MAX, PAIRS_MIN};
  pairs_feature reducer = PG_PICK(g, reducers);
  g->n_index = before;
  g->has |= PAIRS_BIT(PAIRS_SEGMENT) | PAIRS_BIT(reducer);
  t.reduced = true;
  const char *value = neo_arena_printf(
      g->arena, "(%s[%s where %s[t] == i%s%s%s] (%s))", pairs_feature_text(reducer), range,
      g->tensors.at[at].name, more ? " and (" : "", more ? more : "", more ? ")" : "", body);
  pg_define(g, &t, left, finished(g, type, value));
  return true;
}
