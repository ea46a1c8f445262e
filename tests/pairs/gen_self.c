/* Definitions that read themselves at points that come earlier: along one axis, up or down, and maybe
 * along a second one inside of it. */
#include "tests/pairs/gen_recur.h"

typedef struct { /* a loop over an axis of the definition */
  uint32_t axis;
  bool down;
} direction;

typedef struct {
  pgen *g;
  ptensor y;
  direction loop[2];
  uint32_t n_loops;
} self;

void pg_note_rounds(pgen *g, uint32_t extent) {
  pextent e = g->extents.at[extent];
  if (e.runtime)
    pg_kind(g, PAIRS_R_RUNTIME);
  if (e.now <= 1)
    pg_kind(g, e.now ? PAIRS_R_ONE : PAIRS_R_EMPTY);
}

neo_type pg_recurrent_type(pgen *g) {
  static const neo_type all[] = {NEO_F32_T,  NEO_F32_T, NEO_F32_T, NEO_F32_T, NEO_F32_T,
                                 NEO_F64_T,  NEO_F64_T, NEO_I32_T, NEO_I64_T, NEO_BOOL_T,
                                 NEO_BF16_T, NEO_F16_T, NEO_U8_T};
  if (g->nested && pg_chance(g, 60)) /* the type of differences that gradients are held against */
    return NEO_F64_T;
  return PG_PICK(g, all);
}

void pg_note_type(pgen *g, neo_type t) {
  pg_kind(g, t == NEO_BOOL_T        ? PAIRS_R_LOGICAL
             : neo_type_is_float(t) ? PAIRS_R_FLOAT
                                    : PAIRS_R_INTEGER);
}

/* ---- subscripts */

static const char *outside(pgen *g, neo_type t) {
  static const char *const floats[] = {"0", "1", "0.5", "-0.25"}, *const ints[] = {"0", "1", "3"};
  if (t == NEO_BOOL_T)
    return pg_chance(g, 50) ? "false" : "true";
  return neo_type_is_float(t) ? PG_PICK(g, floats) : PG_PICK(g, ints);
}

static const char *index_of(const self *s, uint32_t dim) {
  return s->g->index[dim].name;
}

static const char *extent_of(const self *s, uint32_t dim) {
  return pg_extent_text(s->g, s->y.dim[dim]);
}

/* One to three steps before the point at hand. */
static const char *step_back(const self *s, direction d, int *by) {
  *by = pg_chance(s->g, 65) ? 1 : 2 + (int)pg_below(s->g, 2);
  if (*by > 1)
    pg_kind(s->g, PAIRS_R_DELAY);
  return neo_arena_printf(s->g->arena, "%s %c %d", index_of(s, d.axis), d.down ? '+' : '-', *by);
}

/* A subscript of an axis on which nothing depends, as a loop outside of it orders the read. */
static const char *anywhere(const self *s, uint32_t dim, bool plain) {
  const char *i = index_of(s, dim);
  uint64_t roll = pg_below(s->g, 100);
  if (roll < 15) {
    s->g->has |= PAIRS_BIT(PAIRS_REVERSE);
    return neo_arena_printf(s->g->arena, "%s - 1 - %s", extent_of(s, dim), i);
  }
  if (plain || roll < 55)
    return i;
  if (roll < 60 && s->g->extents.at[s->y.dim[dim]].least)
    return "0";
  pg_kind(s->g, PAIRS_R_DIAGONAL);
  static const char *const by[] = {" - 1", " + 1", " + 1", " - 2"};
  return neo_arena_printf(s->g->arena, "%s%s", i, PG_PICK(s->g, by));
}

static const char *joined(const self *s, const char *const *subscript) {
  const char *text = s->y.name;
  for (uint32_t k = 0; k < s->y.rank; k++)
    text = neo_arena_printf(s->g->arena, "%s%s%s", text, k ? ", " : "[", subscript[k]);
  return neo_arena_printf(s->g->arena, "%s]", text);
}

/* Subscripts of a read that the loop `at` carries: loops outside of it are where they are. */
static void subscripts(const self *s, uint32_t at, bool plain, const char **out) {
  for (uint32_t k = 0; k < s->y.rank; k++)
    out[k] = anywhere(s, k, plain);
  for (uint32_t k = 0; k < at; k++)
    out[s->loop[k].axis] = index_of(s, s->loop[k].axis);
}

static const char *or_else(const self *s, const char *read) {
  return neo_arena_printf(s->g->arena, "(%s else %s)", read, outside(s->g, s->y.type));
}

/* ---- reads */

static const char *stepped(const self *s, uint32_t at) {
  const char *sub[MOST_RANK];
  int by;
  subscripts(s, at, false, sub);
  sub[s->loop[at].axis] = step_back(s, s->loop[at], &by);
  return or_else(s, joined(s, sub));
}

static const char *selected(const self *s, const char *condition, const char *read) {
  pg_kind(s->g, PAIRS_R_GUARD);
  s->g->has |= PAIRS_BIT(PAIRS_SELECT);
  return neo_arena_printf(s->g->arena, "select(%s, %s, %s)", condition, read,
                          outside(s->g, s->y.type));
}

static const char *guarded(const self *s, uint32_t at) {
  direction d = s->loop[at];
  const char *sub[MOST_RANK], *i = index_of(s, d.axis), *condition;
  int by;
  subscripts(s, at, true, sub);
  sub[d.axis] = step_back(s, d, &by);
  condition = d.down ? neo_arena_printf(s->g->arena, "%s + %d < %s", i, by, extent_of(s, d.axis))
                     : neo_arena_printf(s->g->arena,
                                        pg_chance(s->g, 50) ? "%s >= %d" : "%s - %d >= 0", i, by);
  return selected(s, condition, joined(s, sub));
}

static const char *half(const self *s, uint32_t at) {
  direction d = s->loop[at];
  const char *sub[MOST_RANK], *i = index_of(s, d.axis);
  if (d.down)
    return guarded(s, at);
  pg_kind(s->g, PAIRS_R_HALF);
  subscripts(s, at, true, sub);
  sub[d.axis] = neo_arena_printf(s->g->arena, pg_chance(s->g, 50) ? "%s/2" : "(%s - 1)/2", i);
  return selected(s, neo_arena_printf(s->g->arena, "%s > 0", i), joined(s, sub));
}

/* An element of integers says where, if that is before. */
static const char *by_data(const self *s, uint32_t at) {
  pgen *g = s->g;
  direction d = s->loop[at];
  const char *sub[MOST_RANK], *i = index_of(s, d.axis);
  uint32_t e = s->y.dim[d.axis], from = pg_positions(g, e, e);
  ptensor t = g->tensors.at[from];
  if (t.found)
    return guarded(s, at);
  pg_kind(g, PAIRS_R_DATA);
  g->reads |= (uint64_t)1 << t.line;
  g->has |= PAIRS_BIT(PAIRS_LOOKUP);
  subscripts(s, at, true, sub);
  const char *where = neo_arena_printf(g->arena, "%s[%s]", t.name, i);
  sub[d.axis] = where;
  return selected(s, neo_arena_printf(g->arena, "%s %c %s", where, d.down ? '>' : '<', i),
                  joined(s, sub));
}

/* Before it by what is declared of an input: a tree, read up, or down from what has this element as one of
 * its own. */
static const char *by_tree(const self *s, uint32_t at) {
  pgen *g = s->g;
  direction d = s->loop[at];
  const char *sub[MOST_RANK], *i = index_of(s, d.axis), *read;
  uint32_t e = s->y.dim[d.axis], n = g->n_index, from = pg_given_earlier(g, e);
  ptensor t = g->tensors.at[from];
  pg_kind(g, PAIRS_R_EARLIER);
  g->reads |= (uint64_t)1 << t.line;
  g->has |= PAIRS_BIT(PAIRS_LOOKUP);
  subscripts(s, at, true, sub);
  if (!d.down) {
    sub[d.axis] = neo_arena_printf(g->arena, "%s[%s]", t.name, i);
    return or_else(s, joined(s, sub));
  }
  bool logical = s->y.type == NEO_BOOL_T, narrow = s->y.type == NEO_U8_T || s->y.type == NEO_I8_T;
  const char *p = pg_index(g, e, true), *end = extent_of(s, d.axis);
  g->has |= PAIRS_BIT(logical ? PAIRS_ANY : PAIRS_SUM);
  sub[d.axis] = p;
  read = joined(s, sub);
  g->n_index = n;
  return neo_arena_printf(g->arena, "%s(%s[%s < %s where %s[%s] == i32(%s)] %s)",
                          narrow ? pg_type_text(s->y.type) : "", logical ? "any" : "sum", p, end,
                          t.name, p, i, read);
}

/* ---- reductions of earlier elements */

static pairs_feature reducer(pgen *g, neo_type t) {
  static const pairs_feature floats[] = {PAIRS_SUM, PAIRS_SUM, PAIRS_SUM,  PAIRS_SUM,
                                         PAIRS_MAX, PAIRS_MIN, PAIRS_PROD, PAIRS_LOGSUMEXP};
  pairs_feature f = neo_type_is_float(t) ? PG_PICK(g, floats) : pg_reducer(g, t);
  g->has |= PAIRS_BIT(f);
  return f;
}

/* Over nothing a maximum is infinite and a mean no number, and what follows would be so, too. */
static const char *tamed(pgen *g, pairs_feature f, neo_type t, const char *value) {
  if (!neo_type_is_float(t))
    return value;
  if (f == PAIRS_MAX || f == PAIRS_LOGSUMEXP)
    return neo_arena_printf(g->arena, "max(%s, -2)", value);
  if (f == PAIRS_MIN)
    return neo_arena_printf(g->arena, "min(%s, 2)", value);
  return value;
}

/* "reducer[range where ...] (read*other)" in parentheses; the range's index is at hand. */
static const char *reduced(const self *s, const char *range, const char *read) {
  pgen *g = s->g;
  neo_type t = s->y.type;
  pairs_feature f = reducer(g, t);
  const char *where = pg_chance(g, 25) ? pg_where(g) : NULL, *body = read;
  if (t == NEO_BOOL_T)
    body = neo_arena_printf(g->arena, "%s %s %s", read, pg_chance(g, 50) ? "and" : "or",
                            pg_value(g, t, 0));
  else if (pg_chance(g, 70))
    body =
        neo_arena_printf(g->arena, pg_chance(g, 70) ? "%s*%s" : "%s + %s", read, pg_value(g, t, 0));
  bool narrow = t == NEO_U8_T || t == NEO_I8_T;
  return tamed(g, f, t,
               neo_arena_printf(g->arena, "%s(%s[%s%s%s] (%s))", narrow ? pg_type_text(t) : "",
                                pairs_feature_text(f), range, where ? " where " : "",
                                where ? where : "", body));
}

static const char *before(const self *s, uint32_t at) {
  pgen *g = s->g;
  direction d = s->loop[at];
  const char *sub[MOST_RANK], *i = index_of(s, d.axis);
  uint32_t n = g->n_index;
  pg_kind(g, PAIRS_R_BEFORE);
  g->has |= PAIRS_BIT(PAIRS_TRIANGLE);
  subscripts(s, at, true, sub);
  const char *end = extent_of(s, d.axis), *t = pg_index(g, s->y.dim[d.axis], true);
  sub[d.axis] = t;
  const char *range = d.down ? neo_arena_printf(g->arena, "%s < %s < %s", i, t, end)
                             : neo_arena_printf(g->arena, "%s < %s", t, i);
  const char *text = reduced(s, range, joined(s, sub));
  g->n_index = n;
  return text;
}

static const char *last_few(const self *s, uint32_t at) {
  pgen *g = s->g;
  direction d = s->loop[at];
  const char *sub[MOST_RANK], *i = index_of(s, d.axis);
  pg_kind(g, PAIRS_R_LAST_FEW);
  g->has |= PAIRS_BIT(PAIRS_WINDOW) | PAIRS_BIT(PAIRS_ELSE);
  subscripts(s, at, false, sub);
  sub[d.axis] = d.down ? neo_arena_printf(g->arena, "%s + 1 + m", i)
                       : neo_arena_printf(g->arena, "%s - 1 - m", i);
  const char *read = or_else(s, joined(s, sub));
  pairs_feature f = reducer(g, s->y.type);
  bool narrow = s->y.type == NEO_U8_T || s->y.type == NEO_I8_T;
  return neo_arena_printf(g->arena, "%s(%s[m < %d] %s)", narrow ? pg_type_text(s->y.type) : "",
                          pairs_feature_text(f), 2 + (int)pg_below(g, 3), read);
}

static bool is_loop(const self *s, uint32_t dim, uint32_t least) {
  for (uint32_t k = 0; k < least; k++)
    if (s->loop[k].axis == dim)
      return true;
  return false;
}

/* A matrix of this type, one that there is or an input. */
static uint32_t matrix(pgen *g, neo_type type, uint32_t a, uint32_t b) {
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (t->type == type && t->rank == 2 && t->dim[0] == a && t->dim[1] == b && pg_chance(g, 60))
      return k;
  }
  return pg_given(g, type, (uint32_t[]){a, b}, 2, NO_EXTENT, false);
}

/* The row of the step before, times a matrix or reduced. */
static const char *row(const self *s, uint32_t at) {
  pgen *g = s->g;
  const char *sub[MOST_RANK];
  uint32_t dim = s->y.rank, n = g->n_index;
  int by;
  for (uint32_t k = 0; k < s->y.rank; k++)
    if (!is_loop(s, k, at + 1))
      dim = k;
  if (dim == s->y.rank)
    return before(s, at);
  pg_kind(g, PAIRS_R_ROW);
  subscripts(s, at, false, sub);
  sub[s->loop[at].axis] = step_back(s, s->loop[at], &by);
  bool product = s->y.type != NEO_BOOL_T && pg_chance(g, 60);
  uint32_t e = s->y.dim[dim], w = product ? matrix(g, s->y.type, e, e) : 0;
  const char *end = extent_of(s, dim), *t = pg_index(g, e, true);
  sub[dim] = t;
  const char *read = or_else(s, joined(s, sub));
  const char *range = neo_arena_printf(g->arena, "%s < %s", t, end), *text;
  if (product) {
    const ptensor *u = &g->tensors.at[w];
    bool narrow = s->y.type == NEO_U8_T || s->y.type == NEO_I8_T;
    pg_kind(g, PAIRS_R_PRODUCT);
    pg_take(g, u);
    g->has |= PAIRS_BIT(PAIRS_PRODUCT) | PAIRS_BIT(PAIRS_SUM);
    text = neo_arena_printf(g->arena, "%s(sum[%s] %s*%s[%s, %s])",
                            narrow ? pg_type_text(s->y.type) : "", range, read, u->name, t,
                            index_of(s, dim));
  } else {
    text = reduced(s, range, read);
  }
  g->n_index = n;
  return text;
}

/* ---- the definition */

static const char *self_read(const self *s) {
  uint32_t at = (uint32_t)pg_below(s->g, s->n_loops);
  switch (pg_below(s->g, 18)) {
  case 16:
  case 17:
    return by_tree(s, at);
  case 0:
  case 1:
    return guarded(s, at);
  case 2:
    return half(s, at);
  case 3:
    return by_data(s, at);
  case 4:
  case 5:
    return before(s, at);
  case 6:
    return last_few(s, at);
  case 7:
  case 8:
  case 9:
    return row(s, at);
  default:
    return stepped(s, at);
  }
}

/* A value that has nothing of what is damped, a reduction now and then. */
static const char *beside(pgen *g, neo_type t) {
  const char *s = NULL;
  if (pg_chance(g, 20))
    s = pg_reduction(g, pg_reducer(g, t), t);
  return s ? s : pg_value(g, t, pg_chance(g, 40) ? 2 : 1);
}

const char *pg_damped(pgen *g, neo_type t, const char *x) {
  static const char *const bools[] = {"(%s) != (%s)", "(%s) or (%s)", "(%s) and (%s)",
                                      "not (%s) and (%s)"},
                           *const ints[] = {"(%s + %s)", "max(%s, %s)", "(%s*3 - %s)",
                                            "min(%s, %s)", "((%s + 1) %% 7 + %s)"},
                           *const floats[] = {"(%s*0.5 + %s)",     "(%s*0.25 + %s)",
                                              "max(%s*0.5, %s)",   "(%s*0.5 - %s)",
                                              "tanh(%s*0.5 + %s)", "min(%s*0.75, %s)",
                                              "sin(%s)*0.5 + %s",  "(0.5*sigmoid(%s) + %s)"};
  if (t == NEO_BOOL_T) {
    const char *c = pg_compare(g, 0);
    return neo_arena_printf(g->arena, PG_PICK(g, bools), x, c);
  }
  if (!neo_type_is_float(t)) {
    const char *v = beside(g, t);
    return neo_arena_printf(g->arena, PG_PICK(g, ints), x, v);
  }
  uint64_t k = pg_below(g, sizeof floats / sizeof *floats);
  const char *v = beside(g, t);
  if (k == 4 || k >= 6) {
    pg_kind(g, PAIRS_R_SMOOTH);
    g->has |= PAIRS_BIT(PAIRS_FUNCTION);
  }
  g->exact = false;
  return neo_arena_printf(g->arena, floats[k], x, v);
}

static const char *both(const self *s, const char *a, const char *b) {
  pgen *g = s->g;
  static const char *const floats[] = {"(%s + %s)*0.5", "max(%s, %s)", "min(%s, %s)",
                                       "(%s - %s)*0.5"},
                           *const ints[] = {"(%s + %s)", "max(%s, %s)", "min(%s, %s)"};
  if (s->y.type == NEO_BOOL_T)
    return neo_arena_printf(g->arena, "(%s) %s (%s)", a, pg_chance(g, 50) ? "and" : "or", b);
  if (pg_chance(g, 15)) {
    const char *c = pg_compare(g, 0);
    g->has |= PAIRS_BIT(PAIRS_SELECT);
    return neo_arena_printf(g->arena, "select(%s, %s, %s)", c, a, b);
  }
  return neo_type_is_float(s->y.type) ? neo_arena_printf(g->arena, PG_PICK(g, floats), a, b)
                                      : neo_arena_printf(g->arena, PG_PICK(g, ints), a, b);
}

static void choose_loops(self *s) {
  pgen *g = s->g;
  uint32_t r = s->y.rank;
  s->n_loops = r > 1 && pg_chance(g, 40) ? 2 : 1;
  s->loop[0] = (direction){pg_chance(g, 65) ? 0 : (uint32_t)pg_below(g, r), pg_chance(g, 35)};
  s->loop[1] = (direction){(s->loop[0].axis + 1 + (uint32_t)pg_below(g, r > 1 ? r - 1 : 1)) % r,
                           pg_chance(g, 40)};
  pg_kind(g, s->loop[0].down ? PAIRS_R_BACKWARD : PAIRS_R_FORWARD);
  if (s->loop[0].axis)
    pg_kind(g, PAIRS_R_LATER_AXIS);
  if (s->n_loops > 1) {
    pg_kind(g, PAIRS_R_TWO_LOOPS);
    if (s->loop[0].down != s->loop[1].down)
      pg_kind(g, PAIRS_R_MIXED);
  }
  for (uint32_t k = 0; k < s->n_loops; k++)
    pg_note_rounds(g, s->y.dim[s->loop[k].axis]);
}

/* The first elements apart: formulas that need no else. */
static const char *with_first(const self *s, const char *value) {
  pgen *g = s->g;
  direction d = s->loop[0];
  const char *i = index_of(s, d.axis);
  pg_kind(g, PAIRS_R_FIRST);
  g->has |= PAIRS_BIT(PAIRS_SELECT);
  const char *at = d.down ? neo_arena_printf(g->arena, "%s == %s - 1", i, extent_of(s, d.axis))
                          : neo_arena_printf(g->arena, pg_chance(g, 50) ? "%s == 0" : "%s < 2", i);
  return neo_arena_printf(g->arena, "select(%s, %s, %s)", at, pg_value(g, s->y.type, 1), value);
}

bool pg_self_text(pgen *g, ptensor *y, const char **text) {
  self s = {.g = g, .y = *y};
  pg_note_type(g, y->type);
  choose_loops(&s);
  const char *left = pg_left_of(g, y), *value = self_read(&s);
  if (pg_chance(g, 45)) {
    const char *more = self_read(&s);
    value = both(&s, value, more);
  }
  value = pg_damped(g, y->type, value);
  if (pg_chance(g, 25))
    value = with_first(&s, value);
  if (neo_type_is_float(y->type))
    g->exact = false;
  *text = neo_arena_printf(g->arena, "%s = %s", left, value);
  return true;
}

/* ---- forms */

static uint32_t draw_dims(pgen *g, uint32_t *dim, uint32_t least, uint32_t most, int64_t limit) {
  uint32_t rank = least + (uint32_t)pg_below(g, most - least + 1), n = 0;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t e = pg_extent(g);
    if (n && pg_work(g) * g->extents.at[e].now > limit)
      continue;
    dim[n++] = e;
    (void)pg_index(g, e, false);
  }
  return n;
}

bool pg_self(pgen *g) {
  uint32_t dim[MOST_RANK], rank = draw_dims(g, dim, 1, 3, 300);
  ptensor y = pg_result(g, pg_recurrent_type(g), dim, rank);
  const char *text;
  if (!pg_self_text(g, &y, &text))
    return false;
  pg_define_text(g, &y, text);
  return true;
}

/* Products of rows up to the diagonal: L[i, k]*L[j, k], as of a Cholesky factor. */
bool pg_triangle(pgen *g) {
  uint32_t e = pg_extent(g), dim[] = {e, e};
  neo_type t = pg_chance(g, 60) ? NEO_F32_T : NEO_F64_T;
  uint32_t from = matrix(g, t, e, e);
  (void)pg_index(g, e, false);
  (void)pg_index(g, e, false);
  if (pg_work(g) > 300)
    return false;
  ptensor y = pg_result(g, t, dim, 2);
  const char *left = pg_left_of(g, &y), *x = g->tensors.at[from].name;
  pg_take(g, &g->tensors.at[from]);
  pg_kind(g, PAIRS_R_TRIANGLE);
  pg_kind(g, PAIRS_R_TWO_LOOPS);
  pg_note_type(g, t);
  pg_note_rounds(g, e);
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_SELECT) | PAIRS_BIT(PAIRS_TRIANGLE);
  g->exact = false;
  const char *n = y.name;
  y.reduced = true;
  if (g->wide && pg_chance(g, 50)) {
    pg_define_text(
        g, &y,
        neo_arena_printf(g->arena,
                         "%s = select(j > i, 0, 0.5*%s[i, j] - 0.25*(sum[k < j] %s[i, k]*%s[j, k]))",
                         left, x, n, n));
    return pg_chance(g, 40) || pg_gradient(g);
  }
  if (pg_chance(g, 50))
    pg_define_text(
        g, &y,
        neo_arena_printf(
            g->arena,
            "%s = select(j > i, 0, select(i == j, sqrt(abs(%s[i, i] - 0.25*sum[k < j] %s[i, k]^2) + 1),"
            " (%s[i, j] - 0.25*sum[k < j] %s[i, k]*%s[j, k]) / %s[j, j]))",
            left, x, n, x, n, n, n));
  else
    pg_define_text(g, &y,
                   neo_arena_printf(
                       g->arena,
                       "%s = (%s[i, j] - 0.25*sum[k < i] %s[i, k]*%s[k, j]) / (1 + abs(%s[i, i]))",
                       left, x, x, n, x));
  return true;
}

/* Products with all that came before, or comes behind, of rows or of columns: as in substitution, its gradient,
 * and attention to what was made. */
bool pg_past(pgen *g) {
  static const char *const rows[] = {
      "%s = 0.5*%s[i, i] + 0.125*(sum[k < i] %s[i, k]*%s[k, j])",
      "%s = select(i < j, 0.5*%s[i, i], 0.25*(sum[k < i where k != j] %s[k, i]*%s[k, j]))",
      "%s = 0.5*%s[i, i] - 0.125*(sum[i + 1 <= k < %s] %s[i, k]*%s[k, j])",
      "%s = select(j <= i, 0.25*%s[i, i], 0.125*(sum[i + 1 <= k < %s] %s[k, i]*%s[k, j]) + 1)"};
  static const char *const columns[] = {
      "%s = 0.5*%s[j, j] + 0.125*(sum[k < j] %s[j, k]*%s[i, k])",
      "%s = select(j < i, 1, 0.5*%s[j, 0] - 0.25*(sum[k < j where k != i] %s[k, j]*%s[i, k]))",
      "%s = 0.5*%s[0, j] + 0.125*(sum[j + 1 <= k < %s] %s[j, k]*%s[i, k])",
      "%s = tanh(0.5*%s[j, j] - 0.25*(sum[j + 1 <= k < %s where k > i] %s[k, j]*%s[i, k]))"};
  bool by_rows = pg_chance(g, 50);
  uint32_t way = (uint32_t)pg_below(g, 4), e = pg_extent(g), other = pg_extent(g);
  uint32_t dim[] = {by_rows ? e : other, by_rows ? other : e};
  neo_type t = pg_chance(g, 60) ? NEO_F32_T : NEO_F64_T;
  uint32_t from = matrix(g, t, e, e);
  (void)pg_index(g, dim[0], false);
  (void)pg_index(g, dim[1], false);
  if (pg_work(g) * g->extents.at[e].now > 3000)
    return false;
  ptensor y = pg_result(g, t, dim, 2);
  const char *left = pg_left_of(g, &y), *x = g->tensors.at[from].name, *n = y.name;
  const char *text = by_rows ? rows[way] : columns[way], *end = pg_extent_text(g, e);
  pg_take(g, &g->tensors.at[from]);
  pg_kind(g, PAIRS_R_PAST);
  pg_kind(g, way < 2 ? PAIRS_R_FORWARD : PAIRS_R_BACKWARD);
  if (!by_rows)
    pg_kind(g, PAIRS_R_LATER_AXIS);
  pg_note_type(g, t);
  pg_note_rounds(g, e);
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_TRIANGLE);
  g->exact = false;
  y.reduced = true;
  if (way < 2)
    pg_define_text(g, &y, neo_arena_printf(g->arena, text, left, x, x, n));
  else
    pg_define_text(g, &y, neo_arena_printf(g->arena, text, left, x, end, x, n));
  return true;
}
