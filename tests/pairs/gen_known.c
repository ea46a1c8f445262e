/* Definitions about which a compiler derives facts: the same value for different elements, one constant everywhere,
 * named integers, channels of a recurrence that read one another, integers that have a bound, sums of huge terms. */
#include "tests/pairs/gen_recur.h"

static const char *const costly[][2] = {{"tanh(", ")"}, {"exp(min(", ", 2))"}, {"sin(", ")"},
                                        {"sigmoid(", ")"}, {"cos(", ")"}};

static void name_index(pgen *g, const uint32_t *dim, uint32_t rank) {
  for (uint32_t k = 0; k < rank; k++)
    (void)pg_index(g, dim[k], false);
}

static uint32_t float_tensor(pgen *g, uint32_t most) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = 0; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if ((t->type == NEO_F32_T || t->type == NEO_F64_T) && t->rank && t->rank <= most &&
        !g->extents.at[t->dim[t->rank - 1]].rows && pg_below(g, ++n) == 0)
      at = k;
  }
  uint32_t dim[] = {pg_extent(g), pg_extent(g)};
  return at != UINT32_MAX ? at : pg_given(g, NEO_F32_T, dim, 1 + pg_chance(g, 50), NO_EXTENT, false);
}

/* "(tanh(x[i, t]))", of a matrix's row or a vector. */
static const char *element(pgen *g, const ptensor *x, const char *const *f, const char *index) {
  return neo_arena_printf(g->arena, "%s%s[%s%s]%s", f[0], x->name, x->rank > 1 ? "i, " : "", index,
                          f[1]);
}

/* ---- the same value, of some elements and of all */

/* The first of them by themselves, an extent of its own. */
static uint32_t first_ones(pgen *g, uint32_t extent) {
  const pextent e = g->extents.at[extent];
  int64_t n = e.now < 2 ? 1 : 1 + (int64_t)pg_below(g, (uint64_t)(e.now < 9 ? e.now - 1 : 8));
  if (e.least < n)
    return NO_EXTENT;
  return pg_extent_of(g, neo_arena_printf(g->arena, "%d", (int)n), n, n, false);
}

static uint32_t some_elements(pgen *g, const ptensor *x, uint32_t part, const char *const *f) {
  uint32_t dim[] = {x->dim[0], part};
  pg_begin(g);
  ptensor y = pg_result(g, x->type, x->rank > 1 ? dim : &part, x->rank);
  name_index(g, y.dim, y.rank);
  const char *left = pg_left_of(g, &y), *j = g->index[y.rank - 1].name;
  pg_take(g, x);
  g->has |= PAIRS_BIT(PAIRS_FUNCTION);
  g->exact = false;
  pg_define(g, &y, left, element(g, x, f, j));
  return (uint32_t)g->tensors.n - 1;
}

static const char *reduced_part(pgen *g, const ptensor *y, uint32_t part) {
  static const char *const reducers[] = {"sum", "max", "prod", "min", "mean"};
  return neo_arena_printf(g->arena, "(%s[t < %s] %s[%st])", PG_PICK(g, reducers),
                          pg_extent_text(g, part), y->name, y->rank > 1 ? "i, " : "");
}

/* Reducers over all of them beside those of some, named or not. */
static void reduce_both(pgen *g, const ptensor *x, const ptensor *y, uint32_t part,
                        const char *const *f) {
  static const char *const reducers[] = {"sum", "max", "mean", "logsumexp"};
  uint32_t all = x->dim[x->rank - 1];
  pg_begin(g);
  ptensor z = pg_result(g, x->type, x->dim, x->rank - 1);
  name_index(g, z.dim, z.rank);
  const char *left = pg_left_of(g, &z), *n = pg_extent_text(g, all), *value = element(g, x, f, "t");
  pg_take(g, x);
  pg_take(g, y);
  g->has |= PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_FUNCTION);
  g->exact = false;
  const char *some = pg_chance(g, 50) ? reduced_part(g, y, part)
                                      : neo_arena_printf(g->arena, "(sum[t < %s] %s)",
                                                         pg_extent_text(g, part), value);
  z.reduced = true;
  pg_define(g, &z, left,
            neo_arena_printf(g->arena, "(%s[t < %s] %s) + %s", PG_PICK(g, reducers), n, value, some));
}

/* Elements that have it for all, and read it where there are some. */
static void map_both(pgen *g, const ptensor *x, const ptensor *y, uint32_t part,
                     const char *const *f) {
  pg_begin(g);
  ptensor z = pg_result(g, x->type, x->dim, x->rank);
  name_index(g, z.dim, z.rank);
  const char *left = pg_left_of(g, &z), *j = g->index[z.rank - 1].name, *value = element(g, x, f, j),
             *row = z.rank > 1 ? "i, " : "", *end = pg_extent_text(g, part);
  pg_take(g, x);
  pg_take(g, y);
  g->has |= PAIRS_BIT(PAIRS_SELECT) | PAIRS_BIT(PAIRS_FUNCTION);
  g->exact = false;
  const char *text;
  switch (pg_below(g, 4)) {
  case 0:
    text = neo_arena_printf(g->arena, "%s + (%s[%s%s] else 0)", value, y->name, row, j);
    break;
  case 1:
    text = neo_arena_printf(g->arena, "select(%s < %s, %s, 0.25*%s) + %s", j, end, value, value, value);
    break;
  case 2:
    text = neo_arena_printf(g->arena, "select(%s < %s, 0.5*%s, 2*%s + 1)", j, end, value, value);
    break;
  default:
    text = neo_arena_printf(g->arena, "%s + select(%s < %s, %s[%s%s], 0)", value, j, end, y->name,
                            row, j);
  }
  pg_define(g, &z, left, text);
}

bool pg_twice(pgen *g) {
  uint32_t of = float_tensor(g, 2);
  ptensor x = g->tensors.at[of];
  const char *const *f = PG_PICK(g, costly);
  uint32_t part = first_ones(g, x.dim[x.rank - 1]);
  if (part == NO_EXTENT)
    return false;
  uint32_t some = some_elements(g, &x, part, f);
  ptensor y = g->tensors.at[some];
  bool reduces = pg_chance(g, 60);
  if (reduces)
    reduce_both(g, &x, &y, part, f);
  if (!reduces || pg_chance(g, 40))
    map_both(g, &x, &y, part, f);
  return true;
}

/* ---- one constant everywhere */

bool pg_constant(pgen *g) {
  static const char *const values[] = {"0", "0.5", "1", "-0.25"};
  uint32_t of = float_tensor(g, 2);
  ptensor x = g->tensors.at[of], s = pg_result(g, x.type, x.dim, x.rank);
  pg_begin(g);
  name_index(g, s.dim, s.rank);
  const char *left = pg_left_of(g, &s);
  g->from = (uint64_t)1 << g->tensors.n; /* gradients are taken with respect to it */
  pg_define(g, &s, left, PG_PICK(g, values));
  pg_begin(g);
  ptensor y = pg_result(g, x.type, x.dim, x.rank);
  name_index(g, y.dim, y.rank);
  left = pg_left_of(g, &y);
  pg_take(g, &x);
  pg_take(g, &g->tensors.at[g->tensors.n - 1]);
  const char *subs = neo_arena_printf(g->arena, s.rank > 1 ? "[i, j]" : "[i]");
  pg_define(g, &y, left,
            neo_arena_printf(g->arena, "%s%s*%s%s + %s%s", x.name, subs, s.name, subs, s.name, subs));
  return pg_chance(g, 20) || pg_gradient(g);
}

/* ---- named integers */

static const char *used_integer(pgen *g, const ptensor *h, const ptensor *x) {
  const char *n = pg_extent_text(g, x->dim[0]), *name = h->name, *of = x->name;
  bool least = g->extents.at[x->dim[0]].least > 0;
  switch (pg_below(g, least ? 6 : 4)) {
  case 0:
    return neo_arena_printf(g->arena, "select(%s[i] > %d, (%s[i] else 0), 2)", name,
                            (int)pg_below(g, 6) - 2, of);
  case 1:
    return neo_arena_printf(g->arena, "(%s[%s[i]] else 0.5)", of, name);
  case 2:
    return neo_arena_printf(g->arena, "(sum[t < %s where i64(%s[i]) >= t - 1] %s[t])", n, name, of);
  case 3:
    return neo_arena_printf(g->arena, "select(%s[i] >= 0 and %s[i] < %s, 1, (%s[%s[i] - 1] else 3))",
                            name, name, n, of, name);
  case 4:
    return neo_arena_printf(g->arena, "%s[clamp(i64(%s[i]), 0, %s - 1)]", of, name, n);
  default:
    return neo_arena_printf(g->arena, "%s[min(max(2*i64(%s[i]) - 1, 0), %s - 1)]", of, name, n);
  }
}

bool pg_integers(pgen *g) {
  static const neo_type types[] = {NEO_I64_T, NEO_I64_T, NEO_I32_T, NEO_I32_T, NEO_I8_T, NEO_U8_T};
  uint32_t of = float_tensor(g, 1);
  ptensor x = g->tensors.at[of];
  neo_type type = PG_PICK(g, types);
  uint32_t e = pg_extent(g);
  if (x.rank != 1)
    return false;
  pg_begin(g);
  ptensor h = pg_result(g, type, &e, 1);
  (void)pg_index(g, e, false);
  const char *name = pg_left(g, h.name, 1), *value = pg_integer(g, 3);
  const char *left = neo_arena_printf(g->arena, "%s : %s", name, pg_type_text(type));
  g->exact = true;
  if (pg_chance(g, 25)) { /* a bound that is declared, and proved */
    left = neo_arena_printf(g->arena, pg_chance(g, 50) ? "%s : -2 <= %s < 7" : "%s : -2 <= %s <= 6",
                            name, pg_type_text(type == NEO_U8_T ? NEO_I32_T : type));
    h.type = type = type == NEO_U8_T ? NEO_I32_T : type;
    value = neo_arena_printf(g->arena, "clamp(%s, -2, 6)", value);
  }
  pg_define(g, &h, left, neo_arena_printf(g->arena, "%s(%s)", pg_type_text(type), value));
  pg_begin(g);
  ptensor y = pg_result(g, x.type, &e, 1);
  (void)pg_index(g, e, false);
  left = pg_left_of(g, &y);
  pg_take(g, &g->tensors.at[g->tensors.n - 1]);
  pg_take(g, &x);
  pg_define(g, &y, left, used_integer(g, &h, &x));
  return true;
}

/* ---- channels */

static const char *const channels[] = {
    "%s[i < %s, c < 2] : %s = select(c == 0, tanh(%s + (%s[i - 1, 1] else 0)), sin(%s[i, 0]))",
    "%s[i < %s, c < 3] : %s = select(c == 0, 0.5, select(c == 1, tanh(%s*%s[i, 0]), 0.5*%s[i, 1]))",
    "%s[i < %s, c < 2] : %s = select(c == 1, %s*0.5, 0.5*(%s[i + 1, 0] else 1) + %s[i, 1])",
    "%s[i < %s, c < 2] : %s = select(c == 0, exp(-abs(%s)) + (%s[i - 1, 1] else 1), exp(-abs(%s[i, 0])))"};

bool pg_channel(pgen *g) {
  uint32_t of = float_tensor(g, 1);
  ptensor x = g->tensors.at[of];
  if (x.rank != 1 || g->extents.at[x.dim[0]].now > 40)
    return false;
  pg_begin(g);
  uint32_t dim[] = {x.dim[0], 0};
  uint64_t k = pg_below(g, sizeof channels / sizeof *channels);
  dim[1] = pg_extent_of(g, k == 1 ? "3" : "2", k == 1 ? 3 : 2, k == 1 ? 3 : 2, false);
  ptensor y = pg_result(g, x.type, dim, 2);
  const char *read = neo_arena_printf(g->arena, "%s[i]", x.name), *n = pg_extent_text(g, dim[0]);
  pg_take(g, &x);
  g->has |= PAIRS_BIT(PAIRS_SELECT) | PAIRS_BIT(PAIRS_FUNCTION);
  g->exact = false;
  pg_kind(g, k == 2 ? PAIRS_R_BACKWARD : PAIRS_R_FORWARD);
  pg_kind(g, PAIRS_R_TWO_LOOPS);
  pg_note_type(g, y.type);
  pg_define_text(g, &y, neo_arena_printf(g->arena, channels[k], y.name, n, pg_type_text(y.type), read,
                                         y.name, y.name));
  return pg_chance(g, 40) || pg_gradient(g);
}

/* ---- integers that have a bound, round by round */

bool pg_bounded(pgen *g) {
  static const char *const next[] = {"%s + 1", "2*%s", "max(%s - 1, 0)", "3 - %s"};
  static const char *const loops[] = {"repeat l < %d from", "scan l < %d from", "scan l < %d down from"};
  uint32_t e = pg_extent(g), bound = pg_extent_of(g, "2", 2, 2, false), dim[2];
  int rounds = 2 + (int)pg_below(g, 2);
  uint64_t kind = pg_below(g, 3);
  uint32_t u = pg_given(g, NEO_I32_T, &e, 1, bound, false), l = pg_extent_of(g, neo_arena_printf(g->arena, "%d", rounds), rounds, rounds, false);
  ptensor from = g->tensors.at[u];
  pg_begin(g);
  const char *a = pg_name(g, "a"), *n = pg_extent_text(g, e), *out = pg_name(g, "y");
  dim[0] = l;
  dim[1] = e;
  ptensor s = pg_result(g, NEO_I32_T, dim, 2);
  pg_take(g, &from);
  g->has |= PAIRS_BIT(PAIRS_REPEAT) | PAIRS_BIT(PAIRS_I32);
  const char *head = neo_arena_printf(g->arena, loops[kind], rounds);
  const char *step = neo_arena_printf(
      g->arena, PG_PICK(g, next), neo_arena_printf(g->arena, "%s[i]", a));
  const char *text = neo_arena_printf(
      g->arena, "%s, %s = %s %s[i < %s] = %s[i] {\n  next %s[i] = %s\n  collect %s\n}", out, s.name,
      head, a, n, from.name, a, step, a);
  s.line = pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION,
                                       .text = text,
                                       .name = s.name,
                                       .names = neo_arena_printf(g->arena, "%s, %s", out, s.name)});
  s.exact = true;
  NEO_PUSH(g->arena, &g->tensors, s);
  pg_begin(g);
  ptensor y = pg_result(g, NEO_F32_T, dim, 2);
  name_index(g, dim, 2);
  const char *left = pg_left_of(g, &y);
  pg_take(g, &s);
  g->has |= PAIRS_BIT(PAIRS_SELECT);
  pg_define(g, &y, left, neo_arena_printf(g->arena, "select(%s[i, j] < %d, 1, 0) + f32(%s[i, j])",
                                          s.name, 2 + (int)pg_below(g, 3), s.name));
  return true;
}

/* ---- so many elements that a product of indices leaves i64 */

bool pg_many(pgen *g) {
  static const char *const subs[] = {"(b*b*b*b*b) %% 7", "(b*6364136223846793005 + 1) %% 7",
                                     "clamp((b*4611686018427387904)/3, 0, 7)", "b*b*b*b*b - 3",
                                     "(b*b*b*b*b*b) / 4611686018427387904"};
  bool runtime = pg_chance(g, 60);
  if (g->p->graphs.n)
    return false;
  const char *name = pg_name(g, runtime ? "B" : "C"), *x = pg_name(g, "x"), *u = pg_name(g, "u");
  pg_begin(g);
  const char *size = runtime
                         ? neo_arena_printf(g->arena, "dim %s <= 1000000\ninput %s[%s]", name, u, name)
                         : neo_arena_printf(g->arena, "dim %s = 8000", name);
  g->reads |= (uint64_t)1 << pg_end(g, (pairs_statement){.kind = PAIRS_SIZE_LINE, .text = size, .name = name});
  if (runtime)
    NEO_PUSH(g->arena, &g->p->sizes, (pairs_size){name, 8000});
  ptensor z = pg_result(g, NEO_F32_T, NULL, 0);
  uint32_t eight = pg_extent_of(g, "8", 8, 8, false), of = pg_given(g, NEO_F32_T, &eight, 1, NO_EXTENT, false);
  (void)x;
  pg_take(g, &g->tensors.at[of]);
  const char *sub = neo_arena_printf(g->arena, PG_PICK(g, subs));
  pairs_statement s = {.kind = PAIRS_DEFINITION,
                       .name = z.name,
                       .text = neo_arena_printf(g->arena, "%s[b < %s] = (%s[%s] else 0)", z.name, name,
                                                g->tensors.at[of].name, sub)};
  (void)pg_end(g, s);
  return true;
}

/* ---- sums that would leave the range of floats, or take in infinite numbers, if factors moved */

bool pg_vast(pgen *g) {
  uint32_t i = pg_extent(g), k = pg_extent(g);
  ptensor v = pg_result(g, NEO_F32_T, (uint32_t[]){i, k}, 2), b = pg_result(g, NEO_F32_T, &i, 1);
  if (g->p->graphs.n || g->extents.at[i].rows || g->extents.at[k].rows)
    return false;
  v.name = pg_name(g, "vast");
  b.name = pg_name(g, "tiny");
  pg_begin(g);
  const char *inputs = neo_arena_printf(g->arena, "input %s%s\ninput %s%s", v.name,
                                        pg_shape(g, v.dim, 2), b.name, pg_shape(g, b.dim, 1));
  uint32_t line = pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN, .text = inputs, .name = v.name});
  static const char *const texts[] = {
      "%s[i < %s] = sum[k < %s] %s[i, k]*%s[i]",
      "%s[i < %s] = sum[k < %s where k > i] %s[i, k]*%s[i]*0.5",
      "%s[i < %s] = (sum[k < %s] %s[i, k]*1e-37) * %s[i]"};
  pg_begin(g);
  g->reads |= (uint64_t)1 << line;
  g->has |= PAIRS_BIT(PAIRS_SUM);
  const char *y = pg_name(g, "y"), *ni = pg_extent_text(g, i), *nk = pg_extent_text(g, k);
  (void)pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION,
                                    .name = y,
                                    .text = neo_arena_printf(g->arena, PG_PICK(g, texts), y, ni, nk,
                                                             v.name, b.name)});
  return true;
}

/* ---- where the first of equals is, of a network of convolutions */

bool pg_convolutions(pgen *g) {
  if (g->p->graphs.n)
    return false;
  const char *x = pg_name(g, "x"), *a = pg_name(g, "x"), *b = pg_name(g, "x");
  const char *h = pg_name(g, "y"), *c = pg_name(g, "y"), *m = pg_name(g, "y"), *d = pg_name(g, "y"),
             *s = pg_name(g, "y");
  int n = 5 + (int)pg_below(g, 3), channels_in = 3 + (int)pg_below(g, 6), out = 3 + (int)pg_below(g, 6);
  pg_begin(g);
  const char *inputs = neo_arena_printf(
      g->arena, "input %s[2, %d, %d, %d] : f32\ninput %s[%d, %d, 3, 3] : f32\ninput %s[%d, %d, 3, 3] : f32", x,
      channels_in, n, n, a, out, channels_in, b, out, out);
  uint64_t line = (uint64_t)1
                  << pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN, .text = inputs, .name = x});
  pg_begin(g);
  g->reads = line;
  g->has |= PAIRS_BIT(PAIRS_WINDOW) | PAIRS_BIT(PAIRS_SUM) | PAIRS_BIT(PAIRS_PRODUCT);
  const char *layers = neo_arena_printf(
      g->arena,
      "%s[n < 2, k < %d, p < %d, q < %d] : f32 = sum[c < %d, r < 3, s < 3] 0.25*%s[n, c, p + r, q + s]*%s[k, c, r, s]\n"
      "%s[n < 2, k < %d, p < %d, q < %d] : f32 = sum[c < %d, r < 3, s < 3] 0.25*%s[n, c, p + r, q + s]*%s[k, c, r, s]",
      h, out, n - 2, n - 2, channels_in, x, a, c, out, n - 4, n - 4, out, h, b);
  uint64_t made = (uint64_t)1 << pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION, .text = layers, .name = c});
  pg_begin(g);
  g->reads = made;
  g->has |= PAIRS_BIT(PAIRS_ARGMAX);
  bool largest = pg_chance(g, 50);
  const char *found =
      largest ? neo_arena_printf(g->arena, "%s[n] = argmax[k, p, q] min(%s[n, k, p, q], 0.5)", m, c)
              : neo_arena_printf(
                    g->arena, "%s[n] = max[k, p, q] min(%s[n, k, p, q], 0.5)\n%s = sum[n] %s[n]\n%s = grad(%s, %s)",
                    m, c, s, m, d, s, c);
  (void)pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION, .text = found, .name = largest ? m : d});
  return true;
}
