/* Reductions: their ranges and conditions, of every kind that the language has. */
#include "tests/pairs/gen.h"

/* ---- conditions */

static bool is_given_number(const pgen *g, const ptensor *t) {
  (void)g;
  return t->given && t->exact && t->type != NEO_BOOL_T && t->rank;
}
static bool is_computed(const pgen *g, const ptensor *t) {
  (void)g;
  return !t->given && !t->reduced && t->exact && t->rank;
}
static bool is_reduced(const pgen *g, const ptensor *t) {
  (void)g;
  return t->reduced && t->exact && !t->found;
}
static bool is_found(const pgen *g, const ptensor *t) {
  (void)g;
  return t->found;
}
static bool is_length(const pgen *g, const ptensor *t) {
  return t->bound != NO_EXTENT && t->rank < g->n_index;
}

static const char *last_index(const pgen *g) {
  return g->index[g->n_index - 1].name;
}

static const char *where_index(pgen *g) {
  const char *t = last_index(g);
  g->has |= PAIRS_BIT(PAIRS_WHERE_INDEX);
  switch (pg_below(g, 4)) {
  case 0:
    return neo_arena_printf(g->arena, "%s %% 2 == 0", t);
  case 1:
    return neo_arena_printf(g->arena, "%s != %d", t, (int)pg_below(g, 3));
  case 2:
    return neo_arena_printf(g->arena, "(%s + %s) %% 3 != 1", t, g->index[0].name);
  default:
    return neo_arena_printf(g->arena, "%s > 0", t);
  }
}

static const char *where_band(pgen *g) {
  const char *t = last_index(g), *i = g->index[0].name;
  bool ranged = g->n_index && (g->index[0].ranged || g->index[g->n_index - 1].ranged);
  if (g->n_index < 2 || ranged || g->index[0].extent != g->index[g->n_index - 1].extent)
    return NULL;
  g->has |= PAIRS_BIT(PAIRS_BAND);
  return neo_arena_printf(g->arena, "%s <= %s + 1 and %s <= %s + %d", t, i, i, t,
                          (int)pg_below(g, 4));
}

static const char *truth_of(pgen *g, uint32_t k) {
  static const char *const ops[] = {">", "<=", "!=", ">="};
  neo_type t = g->tensors.at[k].type;
  const char *x = pg_read_plain(g, k);
  return t == NEO_BOOL_T
             ? x
             : neo_arena_printf(g->arena, "%s %s %s", x, PG_PICK(g, ops), pg_literal(g, t));
}

static const char *where_of(pgen *g, pg_wanted *wanted, pairs_feature f) {
  uint32_t k = pg_find(g, wanted);
  if (k == UINT32_MAX)
    return NULL;
  g->has |= PAIRS_BIT(f);
  return truth_of(g, k);
}

static const char *where_input(pgen *g) {
  return where_of(g, is_given_number, PAIRS_WHERE_INPUT);
}
static const char *where_element(pgen *g) {
  return where_of(g, is_computed, PAIRS_WHERE_ELEMENT);
}

/* An element against the reduction of its row. */
static const char *where_reduced(pgen *g) {
  static const char *const ops[] = {"<", "<=", ">", "!=", ">="};
  uint32_t k = pg_find(g, is_reduced), x = pg_find(g, is_given_number);
  if (k == UINT32_MAX)
    return NULL;
  g->has |= PAIRS_BIT(PAIRS_WHERE_REDUCED);
  neo_type t = g->tensors.at[k].type;
  if (x == UINT32_MAX || t == NEO_BOOL_T)
    return truth_of(g, k);
  const char *e = pg_convert(g, t, g->tensors.at[x].type, pg_read_plain(g, x));
  return neo_arena_printf(g->arena, "%s %s %s", e, PG_PICK(g, ops), pg_read_plain(g, k));
}

static const char *where_arg(pgen *g) {
  static const char *const ops[] = {"!=", "==", "<", ">", "!=", ">="};
  uint32_t k = pg_find(g, is_found);
  if (k == UINT32_MAX)
    return NULL;
  g->has |= PAIRS_BIT(PAIRS_WHERE_ARG);
  return neo_arena_printf(g->arena, "%s %s %s", last_index(g), PG_PICK(g, ops),
                          pg_read_plain(g, k));
}

static const char *where_size(pgen *g) {
  for (uint32_t e = 0; e < g->extents.n; e++)
    if (g->extents.at[e].runtime && !(g->inside && g->extents.at[e].rows)) {
      g->has |= PAIRS_BIT(PAIRS_WHERE_SIZE);
      return neo_arena_printf(g->arena, "%s%s < %s", pg_chance(g, 50) ? "2*" : "", last_index(g),
                              pg_extent_text(g, e));
    }
  return NULL;
}

static const char *where_length(pgen *g) {
  uint32_t k = pg_find(g, is_length);
  if (k == UINT32_MAX)
    return NULL;
  g->has |= PAIRS_BIT(PAIRS_WHERE_LENGTH);
  return neo_arena_printf(g->arena, "%s < %s", last_index(g), pg_read_plain(g, k));
}

const char *pg_where(pgen *g) {
  static const char *(*const kind[])(pgen *) = {
      where_index,   where_band,    where_input,   where_input, where_element,
      where_reduced, where_reduced, where_reduced, where_arg,   where_arg,
      where_arg,     where_size,    where_length};
  uint64_t from = g->from;
  bool exact = g->exact;
  const char *s = g->wide && pg_chance(g, 40) ? pg_wide_where(g) : NULL;
  for (int attempt = 0; attempt < 6 && !s; attempt++)
    s = PG_PICK(g, kind)(g);
  g->from = from;
  g->exact = exact;
  return s;
}

/* ---- ranges */

static const char *triangle(pgen *g, uint32_t extent, bool *done) {
  for (uint32_t k = 0; k < g->n_index; k++) {
    if (g->index[k].extent != extent || g->index[k].reduced)
      continue;
    const char *i = g->index[k].name, *t = pg_index(g, extent, true);
    *done = true;
    g->has |= PAIRS_BIT(PAIRS_TRIANGLE);
    return pg_chance(g, 60)
               ? neo_arena_printf(g->arena, "%s <= %s", t, i)
               : neo_arena_printf(g->arena, "%s <= %s < %s", i, t, pg_extent_text(g, extent));
  }
  return NULL;
}

/* As far as a tensor says, one that there is or a new input. */
static const char *ragged(pgen *g, uint32_t extent, bool *done) {
  uint32_t at = UINT32_MAX;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    bool fits = t->bound == extent && t->rank <= 1, whole = g->n_index && !g->index[0].ranged;
    if (fits && (t->rank == 0 || (whole && t->dim[0] == g->index[0].extent)))
      at = k;
  }
  if (at == UINT32_MAX && g->n_index && !g->index[0].ranged)
    at = pg_given(g, NEO_I32_T, &g->index[0].extent, 1, extent, true);
  if (at == UINT32_MAX)
    return NULL;
  bool exact = g->exact, made = !g->tensors.at[at].given;
  const char *end = pg_read_plain(g, at);
  g->exact = exact;
  g->has |= PAIRS_BIT(made ? PAIRS_RAGGED_MADE : PAIRS_RAGGED);
  *done = true;
  return neo_arena_printf(g->arena, "%s < %s", pg_index(g, extent, true), end);
}

static const char *part(pgen *g, uint32_t extent, bool *done) {
  const char *n = pg_extent_text(g, extent), *t = pg_index(g, extent, true);
  *done = true;
  g->has |= PAIRS_BIT(PAIRS_PART);
  return pg_chance(g, 50) ? neo_arena_printf(g->arena, "1 <= %s < %s", t, n)
                          : neo_arena_printf(g->arena, "%s < %s - 1", t, n);
}

const char *pg_range(pgen *g, uint32_t extent) {
  uint64_t roll = pg_below(g, 100);
  bool done = false;
  const char *s = roll < 10   ? triangle(g, extent, &done)
                  : roll < 20 ? ragged(g, extent, &done)
                  : roll < 27 ? part(g, extent, &done)
                              : NULL;
  if (done)
    return s;
  const char *n = pg_extent_text(g, extent);
  return neo_arena_printf(g->arena, "%s < %s", pg_index(g, extent, true), n);
}

/* ---- reductions */

pairs_feature pg_reducer(pgen *g, neo_type t) {
  static const pairs_feature floats[] = {PAIRS_SUM,  PAIRS_SUM,      PAIRS_SUM,  PAIRS_MAX,
                                         PAIRS_MAX,  PAIRS_MIN,      PAIRS_PROD, PAIRS_MEAN,
                                         PAIRS_MEAN, PAIRS_LOGSUMEXP},
                             ints[] = {PAIRS_SUM, PAIRS_SUM, PAIRS_MAX, PAIRS_MIN, PAIRS_PROD};
  if (t == NEO_BOOL_T)
    return pg_chance(g, 50) ? PAIRS_ANY : PAIRS_ALL;
  return neo_type_is_float(t) ? PG_PICK(g, floats) : PG_PICK(g, ints);
}

static bool fits(const pgen *g, uint32_t extent) {
  return g->n_index + 1 < MOST_INDICES && pg_work(g) * g->extents.at[extent].now <= MOST_WORK;
}

/* An extent for one more index: small enough; the first of all where none is. */
static uint32_t small_extent(pgen *g) {
  for (int attempt = 0; attempt < 8; attempt++) {
    uint32_t e = pg_extent(g);
    if (fits(g, e))
      return e;
  }
  return NO_EXTENT;
}

static const char *body_of(pgen *g, pairs_feature reducer, neo_type t) {
  if (reducer == PAIRS_ANY || reducer == PAIRS_ALL)
    return pg_compare(g, 1);
  if (reducer == PAIRS_MEAN || reducer == PAIRS_LOGSUMEXP) {
    const char *s = pg_value(g, t, 1);
    g->exact = false;
    return s;
  }
  return pg_value(g, t, 2);
}

const char *pg_reduction(pgen *g, pairs_feature reducer, neo_type t) {
  bool found = reducer == PAIRS_ARGMAX || reducer == PAIRS_ARGMIN;
  uint32_t n = found || pg_chance(g, 82) ? 1 : 2, before = g->n_index, taken = 0;
  const char *ranges = "", *where = NULL;
  for (uint32_t k = 0; k < n; k++) {
    uint32_t e = small_extent(g);
    if (e == NO_EXTENT)
      continue;
    const char *range = g->wide && pg_chance(g, 60) ? pg_wide_range(g, e) : pg_range(g, e);
    ranges = neo_arena_printf(g->arena, "%s%s%s", ranges, taken++ ? ", " : "", range);
  }
  if (!taken)
    return NULL;
  g->has |= PAIRS_BIT(reducer) | (taken > 1 ? PAIRS_BIT(PAIRS_TWO_AXES) : 0);
  if (pg_chance(g, 50))
    where = pg_where(g);
  const char *body = body_of(g, reducer, t);
  g->n_index = before;
  const char *to = t == NEO_I8_T || t == NEO_U8_T ? pg_type_text(t) : ""; /* summed in i32 */
  return neo_arena_printf(g->arena, "%s(%s[%s%s%s] (%s))", found ? "" : to,
                          pairs_feature_text(reducer), ranges, where ? " where " : "",
                          where ? where : "", body);
}

/* A definition beside that of tensor `on`, a position or a length, which decides what it takes. */
bool pg_follow(pgen *g, uint32_t on) {
  ptensor from = g->tensors.at[on];
  pg_begin(g);
  for (uint32_t k = 0; k < from.rank; k++)
    (void)pg_index(g, from.dim[k], false);
  if (!fits(g, from.bound))
    return true;
  ptensor y = pg_result(g, pg_type(g), from.dim, from.rank);
  const char *left =
      neo_arena_printf(g->arena, "%s : %s", pg_left(g, y.name, y.rank), pg_type_text(y.type));
  const char *found = pg_read_plain(g, on), *end = pg_extent_text(g, from.bound), *where = "";
  const char *t = pg_index(g, from.bound, true);
  static const char *const ops[] = {"!=", "<", ">", "!=", "<=", "=="};
  if (from.found)
    where = neo_arena_printf(g->arena, " where %s %s %s", t, PG_PICK(g, ops), found);
  else
    end = found;
  g->has |= PAIRS_BIT(from.found ? PAIRS_WHERE_ARG : PAIRS_RAGGED_MADE);
  g->from = 0;
  g->exact = true;
  pairs_feature reducer = pg_reducer(g, y.type);
  const char *to = y.type == NEO_I8_T || y.type == NEO_U8_T ? pg_type_text(y.type) : "";
  const char *body = body_of(g, reducer, y.type);
  g->has |= PAIRS_BIT(reducer);
  g->n_index = from.rank;
  y.reduced = true;
  pg_define(g, &y, left,
            neo_arena_printf(g->arena, "%s(%s[%s < %s%s] (%s))", to, pairs_feature_text(reducer), t,
                             end, where, body));
  return true;
}
