/* Loops with carries, and choices at run time. What a block defines is a tensor while the block is
 * written; behind it nothing reads that. */
#include "tests/pairs/gen_loop.h"

const char *pl_name(pgen *g) {
  return pg_name(g, "b");
}

static uint32_t add_tensor(loop *l, ptensor t) {
  NEO_PUSH(l->g->arena, &l->g->tensors, t);
  return (uint32_t)l->g->tensors.n - 1;
}

void pl_begin(loop *l, const ptensor *t, const pindex *around, uint32_t n_around) {
  l->g->n_index = 0;
  for (uint32_t k = 0; t && k < t->rank; k++)
    (void)pg_index(l->g, t->dim[k], false);
  for (uint32_t k = 0; k < n_around; k++)
    l->g->index[l->g->n_index++] = around[k];
}

static uint32_t draw_shape(pgen *g, uint32_t *dim) {
  static const uint32_t ranks[] = {0, 1, 1, 1, 1, 2, 2};
  uint32_t rank = PG_PICK(g, ranks), n = 0;
  int64_t work = 1;
  for (uint32_t k = 0; k < rank; k++) {
    uint32_t e = pg_extent(g);
    work *= g->extents.at[e].now;
    if (work > 130)
      break;
    dim[n++] = e;
  }
  return n;
}

static ptensor draw_tensor(pgen *g, neo_type t) {
  uint32_t dim[MOST_RANK], rank = draw_shape(g, dim);
  ptensor x = pg_result(g, t, dim, rank);
  x.name = pl_name(g);
  return x;
}

/* ---- carries */

static bool is_like(const ptensor *a, const ptensor *b) {
  bool like = a->type == b->type && a->rank == b->rank;
  for (uint32_t k = 0; like && k < a->rank; k++)
    like = a->dim[k] == b->dim[k];
  return like;
}

/* Another tensor of this shape and type among those from `from` to `end`; UINT32_MAX: none. */
static uint32_t alike(pgen *g, const ptensor *t, uint32_t from, uint32_t end) {
  uint32_t at = UINT32_MAX, n = 0;
  for (uint32_t k = from; k < end; k++)
    if (is_like(&g->tensors.at[k], t) && g->tensors.at[k].name != t->name && pg_below(g, ++n) == 0)
      at = k;
  return at;
}

/* "h = x", "h[i < N] : f32 = value": what a carry is before the first round. */
static const char *first_value(loop *l, ptensor *c, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  uint32_t x = pg_chance(g, 50) ? alike(g, c, 0, l->first) : UINT32_MAX;
  if (x != UINT32_MAX) {
    ptensor t = g->tensors.at[x];
    pg_take(g, &t);
    c->from = t.from;
    return neo_arena_printf(g->arena, "%s = %s", c->name, t.name);
  }
  pl_begin(l, c, around, n_around);
  const char *left = pg_left_of(g, c);
  uint64_t from = g->from;
  g->from = 0;
  const char *value = pg_chance(g, 40) ? pg_literal(g, c->type) : pg_value(g, c->type, 1);
  c->from = g->from;
  g->from |= from;
  return neo_arena_printf(g->arena, "%s = %s", left, value);
}

static void add_carry(loop *l, ptensor c) {
  l->carry[l->n_carries++] = add_tensor(l, c);
  pg_note_type(l->g, c.type);
}

/* Carries that begin with those of the loop around it, in any order. */
static const char *continued_carries(loop *l) {
  pgen *g = l->g;
  const loop *outer = l->continues;
  const char *text = "";
  ptensor c[MOST_CARRIES];
  uint32_t n = outer->n_carries;
  for (uint32_t k = 0; k < n; k++) {
    ptensor of = g->tensors.at[outer->carry[k]];
    uint32_t other =
        pg_chance(g, 50) ? alike(g, &of, outer->carry[0], outer->carry[0] + n) : UINT32_MAX;
    of = other == UINT32_MAX ? of : g->tensors.at[other];
    pg_take(g, &of);
    c[k] = of;
    c[k].name = pl_name(g);
    text = neo_arena_printf(g->arena, "%s%s%s = %s", text, k ? ", " : "", c[k].name, of.name);
  }
  l->first = (uint32_t)g->tensors.n;
  for (uint32_t k = 0; k < n; k++)
    add_carry(l, c[k]);
  return text;
}

static const char *draw_carries(loop *l, const pindex *around, uint32_t n_around) {
  if (l->continues)
    return continued_carries(l);
  pgen *g = l->g;
  const char *text = "";
  uint32_t n = 1 + (uint32_t)pg_below(g, pg_chance(g, 50) ? MOST_CARRIES : 1);
  ptensor c[MOST_CARRIES];
  l->first = (uint32_t)g->tensors.n;
  for (uint32_t k = 0; k < n; k++) {
    bool same = k && pg_chance(g, 50);
    c[k] = same ? c[0] : !k && l->like ? *l->like : draw_tensor(g, pg_recurrent_type(g));
    c[k].name = same || (!k && l->like) ? pl_name(g) : c[k].name;
    c[k].from = 0;
    text = neo_arena_printf(g->arena, "%s%s%s", text, k ? ", " : "",
                            first_value(l, &c[k], around, n_around));
    c[k].exact = !neo_type_is_float(c[k].type);
    c[k].smooth = neo_type_is_float(c[k].type);
  }
  l->first = (uint32_t)g->tensors.n; /* there may be inputs before */
  for (uint32_t k = 0; k < n; k++)
    add_carry(l, c[k]);
  if (n > 1)
    pg_kind(g, PAIRS_R_CARRIES);
  return text;
}

/* ---- the block */

static const char *line(loop *l, const char *text) {
  return neo_arena_printf(l->g->arena, "%s%s\n", l->indent, text);
}

static void keep(loop *l, ptensor t) {
  uint32_t at = add_tensor(l, t);
  if (l->n_made < MOST_MADE)
    l->made[l->n_made++] = at;
}

/* A scan whose length is a size, inside of the block. */
static const char *inner_loop(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  loop in = {
      .g = g, .depth = l->depth + 1, .indent = neo_arena_printf(g->arena, "%s  ", l->indent)};
  in.rounds = pg_chance(g, 75) ? pg_extent(g) : NO_EXTENT;
  if (g->nested && pg_chance(g, 30))
    in.rounds = NO_EXTENT;
  if (in.rounds != NO_EXTENT && g->extents.at[in.rounds].now > 6)
    return "";
  pg_kind(g, PAIRS_R_NESTED);
  in.continues = g->nested && pg_chance(g, 40) ? l : NULL;
  const char *text = pl_loop(&in, around, n_around);
  if (in.continues)
    l->ended = (uint32_t)g->tensors.n;
  for (uint32_t k = 0; k < in.n_results; k++)
    keep(l, in.result[k]);
  if (!g->nested || in.rounds != NO_EXTENT || pg_chance(g, 50))
    return line(l, text);
  ptensor n = pg_result(g, NEO_I32_T, NULL, 0);
  n.name = pl_name(g);
  n.exact = true;
  keep(l, n);
  pg_kind(g, PAIRS_R_ROUNDS);
  const char *count =
      line(l, neo_arena_printf(g->arena, "%s = %s.rounds", n.name, in.result[0].name));
  return neo_arena_printf(g->arena, "%s%s", line(l, text), count);
}

static const char *branch(loop *l, const ptensor *t, const pindex *around, uint32_t n_around) {
  if (l->g->nested && l->depth < 2 && pg_chance(l->g, 50))
    return pn_arm(l, t, around, n_around);
  pl_begin(l, t, around, n_around);
  const char *left = pg_left_of(l->g, t), *value = pg_value(l->g, t->type, 1);
  return neo_arena_printf(l->g->arena, "{ %s = %s }", left, value);
}

static const char *selector(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  const char *element = g->nested && pg_chance(g, 60) ? pn_element(l, around, n_around) : NULL;
  if (element)
    return element;
  if (l->index && pg_chance(g, 60))
    return neo_arena_printf(g->arena, "%s %% 3", l->index);
  for (uint32_t k = l->first; k < g->tensors.n; k++) {
    const ptensor *t = &g->tensors.at[k];
    if (!t->rank && (t->type == NEO_I32_T || t->type == NEO_I64_T) && t->exact &&
        pg_chance(g, 70)) {
      pg_take(g, t);
      return neo_arena_printf(g->arena, "%s %% 3", t->name);
    }
  }
  uint32_t given = pg_given(g, NEO_I32_T, NULL, 0, pg_extent(g), true);
  pg_take(g, &g->tensors.at[given]);
  return g->tensors.at[given].name;
}

static const char *choice(loop *l, ptensor *t, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  bool exact = g->exact;
  uint64_t from = g->from;
  bool logical = g->nested && pg_chance(g, 40);
  const char *on = logical ? pn_selector(l, around, n_around) : selector(l, around, n_around);
  g->exact = exact;
  g->from = from;
  if (logical)
    return neo_arena_printf(g->arena, "%s = case %s { true %s false %s }", t->name, on,
                            branch(l, t, around, n_around), branch(l, t, around, n_around));
  const char *text = neo_arena_printf(g->arena, "%s = case %s { ", t->name, on);
  uint32_t n = 1 + (uint32_t)pg_below(g, 2);
  for (uint32_t k = 0; k < n; k++)
    text = neo_arena_printf(g->arena, "%s%u %s ", text, k, branch(l, t, around, n_around));
  return neo_arena_printf(g->arena, "%selse %s }", text, branch(l, t, around, n_around));
}

/* A row of this round times a matrix. */
static const char *product(loop *l, const ptensor *t) {
  pgen *g = l->g;
  if (t->rank == 0 || t->type == NEO_BOOL_T || t->type == NEO_U8_T)
    return NULL;
  uint32_t last = t->dim[t->rank - 1], x = alike(g, t, l->first, (uint32_t)g->tensors.n);
  if (x == UINT32_MAX)
    return NULL;
  uint32_t w = pg_given(g, t->type, (uint32_t[]){last, last}, 2, NO_EXTENT, false);
  ptensor row = g->tensors.at[x], m = g->tensors.at[w];
  pg_take(g, &row);
  pg_take(g, &m);
  pg_kind(g, PAIRS_R_PRODUCT);
  g->has |= PAIRS_BIT(PAIRS_PRODUCT) | PAIRS_BIT(PAIRS_SUM);
  const char *scale = neo_type_is_float(t->type) ? "0.25*" : "";
  const char *first = t->rank > 1 ? "i, " : "", *j = t->rank > 1 ? "j" : "i";
  return neo_arena_printf(g->arena, "%s(sum[e] %s[%se]*%s[e, %s])", scale, row.name, first, m.name,
                          j);
}

static const char *temporary(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  uint64_t roll = pg_below(g, 100);
  if (roll < (g->nested ? 45 : 10) && l->depth < 2)
    return inner_loop(l, around, n_around);
  bool like = l->n_carries && pg_chance(g, 60);
  ptensor t = like ? g->tensors.at[l->carry[pg_below(g, l->n_carries)]]
                   : draw_tensor(g, pg_recurrent_type(g));
  t.name = pl_name(g);
  uint64_t from = g->from;
  const char *text, *value = NULL;
  g->from = 0;
  if (roll < (g->nested ? 62 : 20)) {
    pg_kind(g, PAIRS_R_CASE_INSIDE);
    text = choice(l, &t, around, n_around);
  } else if (roll < (g->nested ? 68 : 32) && t.rank) {
    pl_begin(l, &t, around, n_around);
    pg_kind(g, PAIRS_R_INSIDE);
    (void)pg_self_text(g, &t, &text);
  } else {
    pl_begin(l, &t, around, n_around);
    const char *left = pg_left_of(g, &t);
    value = roll < (g->nested ? 76 : 45) ? product(l, &t) : NULL;
    if (!value && pg_chance(g, 50))
      value = pg_reduction(g, pg_reducer(g, t.type), t.type);
    text = neo_arena_printf(g->arena, "%s = %s", left, value ? value : pg_value(g, t.type, 2));
  }
  t.from = neo_type_is_float(t.type) ? g->from : 0;
  t.smooth = t.from != 0;
  t.exact = !neo_type_is_float(t.type);
  t.reduced = t.found = t.given = false;
  t.bound = NO_EXTENT;
  g->from |= from;
  keep(l, t);
  return line(l, text);
}

/* "h[i < N] = ...", "h = v": what a carry is in the next round. Null: it keeps its value. */
static const char *next_value(loop *l, uint32_t c, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  ptensor t = g->tensors.at[l->carry[c]];
  uint64_t roll = pg_below(g, 100);
  if (roll < (g->nested ? 12 : 5) && l->n_carries > 1) {
    pg_kind(g, PAIRS_R_KEPT);
    return NULL;
  }
  if (g->nested && roll >= 80 && t.rank) {
    uint32_t of = alike(g, &t, l->carry[0], l->carry[0] + l->n_carries);
    return pn_shifted(l, &t, of == UINT32_MAX ? l->carry[c] : of, around, n_around);
  }
  uint32_t other = roll < 35 ? alike(g, &t, l->first, (uint32_t)g->tensors.n) : UINT32_MAX;
  if (l->ended && pg_chance(g, 75))
    other = alike(g, &t, l->ended, l->ended + l->n_carries);
  if (other != UINT32_MAX) {
    for (uint32_t k = 0; k < l->n_carries; k++)
      if (l->carry[k] == other)
        pg_kind(g, PAIRS_R_SWAP);
    pg_take(g, &g->tensors.at[other]);
    return neo_arena_printf(g->arena, "%s = %s", t.name, g->tensors.at[other].name);
  }
  pl_begin(l, &t, around, n_around);
  const char *left = pg_left(g, t.name, t.rank), *x = pg_read_plain(g, l->carry[c]);
  const char *more = pg_chance(g, 30) ? product(l, &t) : NULL;
  const char *value = pg_damped(g, t.type, x);
  g->from |= t.from;
  if (more)
    value = neo_arena_printf(g->arena, "%s + %s", value, more);
  return neo_arena_printf(g->arena, "%s = %s", left, value);
}

static const char *next_values(loop *l, const pindex *around, uint32_t n_around) {
  const char *text = "next ", *comma = "";
  for (uint32_t k = 0; k < l->n_carries; k++) {
    uint64_t from = l->g->from;
    l->g->from = 0;
    const char *one = next_value(l, k, around, n_around);
    l->from[k] = l->g->from;
    if (!one)
      l->from[k] = l->g->tensors.at[l->carry[k]].from;
    l->g->from |= from;
    if (!one)
      continue;
    text = neo_arena_printf(l->g->arena, "%s%s%s", text, comma, one);
    comma = ", ";
  }
  return *comma ? line(l, text) : "";
}

/* ---- results */

static void add_result(loop *l, ptensor t, uint64_t from) {
  t.name = l->depth ? pl_name(l->g) : pg_name(l->g, "y");
  t.from = from;
  t.smooth = neo_type_is_float(t.type) && t.from;
  t.exact = !neo_type_is_float(t.type);
  t.given = t.found = t.reduced = false;
  if (!t.smooth)
    t.from = 0;
  l->result[l->n_results++] = t;
}

static const char *collected(loop *l, uint32_t limit) {
  pgen *g = l->g;
  const char *text = "";
  uint32_t n = (uint32_t)pg_below(g, 3), seen[2] = {0};
  for (uint32_t k = 0; k < n; k++) {
    uint32_t all = l->n_carries + l->n_made, at = (uint32_t)pg_below(g, all);
    uint64_t from = at < l->n_carries ? l->from[at] : 0;
    at = at < l->n_carries ? l->carry[at] : l->made[at - l->n_carries];
    ptensor t = g->tensors.at[at];
    if (t.rank + 1 > MOST_RANK || (k && seen[0] == at))
      continue;
    seen[k] = at;
    text = neo_arena_printf(g->arena, "%s%s%s", text, *text ? ", " : "", t.name);
    for (uint32_t i = t.rank; i > 0; i--)
      t.dim[i] = t.dim[i - 1];
    t.dim[0] = limit;
    t.rank++;
    add_result(l, t, from ? from : t.from);
  }
  if (!*text)
    return text;
  pg_kind(g, PAIRS_R_COLLECT);
  return line(l, neo_arena_printf(g->arena, "collect %s", text));
}

static const char *results(const loop *l) {
  const char *text = "";
  for (uint32_t k = 0; k < l->n_results; k++)
    text = neo_arena_printf(l->g->arena, "%s%s%s", text, k ? ", " : "", l->result[k].name);
  return text;
}

/* Nothing behind the block reads its tensors: they become one that was there before. */
static void forget(loop *l) {
  pgen *g = l->g;
  ptensor other = g->tensors.at[0];
  for (uint32_t k = 0; k < l->n_carries; k++)
    g->tensors.at[l->carry[k]] = other;
  for (uint32_t k = 0; k < l->n_made; k++)
    g->tensors.at[l->made[k]] = other;
}

/* ---- loops */

/* "scan r < N down", "while left > 0 limit 5", and the carry that counts; "": pn_condition says what is asked. */
static const char *head(loop *l, const char **counter, uint32_t *limit) {
  pgen *g = l->g;
  *counter = "";
  if (l->rounds != NO_EXTENT) {
    bool down = pg_chance(g, 35);
    pg_kind(g, down ? PAIRS_R_DOWN : PAIRS_R_SCAN);
    pg_note_rounds(g, l->rounds);
    *limit = l->rounds;
    return neo_arena_printf(g->arena, "scan %s < %s%s", l->index, pg_extent_text(g, l->rounds),
                            down ? " down" : "");
  }
  pg_kind(g, PAIRS_R_WHILE);
  *limit = pg_extent(g);
  if (g->nested && pg_chance(g, 75))
    return "";
  *counter = pl_name(g);
  return neo_arena_printf(g->arena,
                          pg_chance(g, 50) ? "while %s > 0 limit %s" : "while %s != 0 limit %s",
                          *counter, pg_extent_text(g, *limit));
}

const char *pl_wanted(loop *l) {
  pgen *g = l->g;
  if (pg_chance(g, 50))
    return neo_arena_printf(g->arena, "%d", (int)pg_below(g, 6));
  uint32_t given = pg_given(g, NEO_I32_T, NULL, 0, pg_extent(g), true);
  uint64_t from = g->from;
  bool exact = g->exact;
  pg_take(g, &g->tensors.at[given]);
  g->from = from;
  g->exact = exact;
  return g->tensors.at[given].name;
}

static void add_carried(loop *l, bool counts, const loop_condition *asked) {
  pgen *g = l->g;
  for (uint32_t k = 0; k < l->n_carries; k++)
    add_result(l, g->tensors.at[l->carry[k]], l->from[k]);
  if (counts)
    add_result(l, (ptensor){.type = NEO_I32_T, .bound = NO_EXTENT, .line = l->result[0].line}, 0);
  for (uint32_t k = 0; k < asked->n; k++)
    add_result(l, (ptensor){.type = asked->type[k], .bound = NO_EXTENT}, 0);
}

const char *pl_loop(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  pindex inside[4];
  const char *counter, *text = "";
  uint32_t limit, n_inside = n_around;
  static const char *const index[] = {"r", "q", "z"};
  for (uint32_t k = 0; k < n_around; k++)
    inside[k] = around[k];
  l->index = l->rounds == NO_EXTENT ? NULL : index[l->depth];
  if (l->index)
    inside[n_inside++] = (pindex){.name = l->index, .extent = l->rounds, .reduced = true};
  const char *begins = head(l, &counter, &limit), *from = draw_carries(l, around, n_around);
  loop_condition asked = {.n = 0};
  if (*counter)
    from = neo_arena_printf(g->arena, "%s, %s : i32 = %s", from, counter, pl_wanted(l));
  if (!*begins) {
    asked = pn_condition(l, around, n_around);
    from = neo_arena_printf(g->arena, "%s, %s", from, asked.from);
    begins = neo_arena_printf(g->arena, "while %s limit %s", asked.test, pg_extent_text(g, limit));
  }
  for (uint64_t n = pg_below(g, 4) + (g->nested && !l->depth); n > 0; n--)
    text = neo_arena_printf(g->arena, "%s%s", text, temporary(l, inside, n_inside));
  const char *next = next_values(l, inside, n_inside);
  if (*counter)
    next =
        neo_arena_printf(g->arena, "%s%s", next,
                         line(l, neo_arena_printf(g->arena, "next %s = %s - 1", counter, counter)));
  if (asked.n)
    next = neo_arena_printf(g->arena, "%s%s", next,
                            line(l, neo_arena_printf(g->arena, "next %s", asked.next)));
  add_carried(l, *counter != 0, &asked);
  const char *last = collected(l, limit);
  bool early = pg_chance(g, 30);
  text =
      neo_arena_printf(g->arena, "%s = %s from %s {\n%s%s%s%s%.*s}", results(l), begins, from, text,
                       early ? last : "", next, early ? "" : last, (int)(2 * l->depth), "        ");
  g->exact = false;
  forget(l);
  return text;
}

/* ---- forms */

static void define_results(pgen *g, loop *l, const char *text) {
  const char *input = "";
  for (uint32_t k = 0; k < l->n_results; k++) {
    g->has |= PAIRS_BIT(pg_type_feature(l->result[k].type));
    input =
        neo_arena_printf(g->arena, "%s%s%s", input, k ? "\n" : "", pg_input_text(g, &l->result[k]));
  }
  uint32_t at = pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION,
                                            .text = text,
                                            .name = l->result[0].name,
                                            .names = results(l),
                                            .input = input});
  for (uint32_t k = 0; k < l->n_results; k++) {
    l->result[k].line = at;
    if (g->wide && l->result[k].smooth)
      l->result[k].from |= (uint64_t)1 << (g->tensors.n & 63);
    NEO_PUSH(g->arena, &g->tensors, l->result[k]);
  }
}

bool pg_scan(pgen *g) {
  loop l = {.g = g, .rounds = pg_extent(g), .indent = "  "};
  const char *text = pl_loop(&l, NULL, 0);
  define_results(g, &l, text);
  return true;
}

bool pg_while(pgen *g) {
  loop l = {.g = g, .rounds = NO_EXTENT, .indent = "  "};
  const char *text = pl_loop(&l, NULL, 0);
  define_results(g, &l, text);
  if (pg_chance(g, 60))
    return true;
  uint32_t line = l.result[0].line;
  pg_begin(g);
  ptensor n = pg_result(g, NEO_I32_T, NULL, 0);
  g->reads |= (uint64_t)1 << line;
  pg_kind(g, PAIRS_R_ROUNDS);
  pg_define_text(g, &n, neo_arena_printf(g->arena, "%s = %s.rounds", n.name, l.result[0].name));
  return true;
}

bool pg_case(pgen *g) {
  loop l = {.g = g, .rounds = NO_EXTENT, .first = 0, .indent = ""};
  ptensor t = draw_tensor(g, pg_recurrent_type(g));
  t.name = pg_name(g, "y");
  pg_kind(g, PAIRS_R_CASE);
  pg_note_type(g, t.type);
  const char *text = choice(&l, &t, NULL, 0);
  g->exact = !neo_type_is_float(t.type);
  pg_define_text(g, &t, text);
  return true;
}
