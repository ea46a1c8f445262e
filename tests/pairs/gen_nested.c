/* Features of programs of loops in loops alone: a `while` that asks for more than a counter, arms
 * of a case that have loops of their own, choices by bools, and carries that move along an axis. */
#include "tests/pairs/gen_loop.h"

/* ---- conditions of a while */

/* A number that differs between the iterations of the loops around. */
static const char *count_of(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  if (!n_around || pg_chance(g, 40))
    return pl_wanted(l);
  const char *index = around[pg_below(g, n_around)].name;
  return neo_arena_printf(g->arena, "i32(%s + %d) %% %d", index, (int)pg_below(g, 3),
                          2 + (int)pg_below(g, 4));
}

static loop_condition by_counters(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  const char *a = pl_name(g), *b = pl_name(g), *first = count_of(l, around, n_around);
  return (loop_condition){
      .test =
          neo_arena_printf(g->arena, "%s > 0 %s %s != 0", a, pg_chance(g, 50) ? "or" : "and", b),
      .from = neo_arena_printf(g->arena, "%s : i32 = %s, %s : i32 = %s", a, first, b,
                               count_of(l, around, n_around)),
      .next = neo_arena_printf(g->arena, "%s = %s - 1, %s = max(%s - 1, 0)", a, a, b, b),
      .type = {NEO_I32_T, NEO_I32_T},
      .n = 2};
}

/* Exact: it is halved. */
static loop_condition by_halves(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  const char *e = pl_name(g), *first = count_of(l, around, n_around);
  return (loop_condition){.test = neo_arena_printf(g->arena, "%s > 0.2", e),
                          .from = neo_arena_printf(g->arena, "%s : f64 = f64(%s)", e, first),
                          .next = neo_arena_printf(g->arena, "%s = 0.5*%s", e, e),
                          .type = {NEO_F64_T},
                          .n = 1};
}

/* By what an iteration computes: the size of the first carry. */
static loop_condition by_error(loop *l) {
  pgen *g = l->g;
  const ptensor h = g->tensors.at[l->carry[0]];
  const char *e = pl_name(g), *type = pg_type_text(h.type);
  const char *size = h.rank ? neo_arena_printf(g->arena, "(sum[..] abs(%s[..]))", h.name)
                            : neo_arena_printf(g->arena, "abs(%s)", h.name);
  return (loop_condition){
      .test = neo_arena_printf(g->arena, "%s > %s", e, pg_chance(g, 50) ? "0.375" : "1.5"),
      .from = neo_arena_printf(g->arena, "%s : %s = 4", e, type),
      .next = neo_arena_printf(g->arena, "%s = min(0.75*%s, %s)", e, e, size),
      .type = {h.type},
      .n = 1};
}

static loop_condition by_bool(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  const char *go = pl_name(g), *left = pl_name(g), *first = count_of(l, around, n_around);
  const char *test = pg_chance(g, 50) ? neo_arena_printf(g->arena, "%s and %s > 0", go, left) : go;
  return (loop_condition){
      .test = test,
      .from = neo_arena_printf(g->arena, "%s = true, %s : i32 = %s", go, left, first),
      .next = neo_arena_printf(g->arena, "%s = %s %% 3 != 1, %s = %s - 1", go, left, left, left),
      .type = {NEO_BOOL_T, NEO_I32_T},
      .n = 2};
}

loop_condition pn_condition(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  uint64_t roll = pg_below(g, 100);
  neo_type t = g->tensors.at[l->carry[0]].type;
  if (roll < 40 && (t == NEO_F64_T || t == NEO_F32_T))
    return by_error(l);
  return (roll < 60 ? by_halves : roll < 80 ? by_bool : by_counters)(l, around, n_around);
}

/* ---- choices */

const char *pn_selector(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  pl_begin(l, NULL, around, n_around);
  for (uint32_t k = l->first; k < g->tensors.n && l->n_carries; k++)
    if (!g->tensors.at[k].rank && g->tensors.at[k].type == NEO_BOOL_T && pg_chance(g, 60))
      return g->tensors.at[k].name;
  if (n_around && pg_chance(g, 50))
    return neo_arena_printf(g->arena, "%s %% 2 == 1", around[n_around - 1].name);
  return pg_compare(g, 1);
}

const char *pn_element(loop *l, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  uint32_t k = n_around ? (uint32_t)pg_below(g, n_around) : 0;
  if (!n_around || around[k].extent == NO_EXTENT)
    return NULL;
  pl_begin(l, NULL, around, n_around);
  uint32_t given = pg_given(g, NEO_I32_T, &around[k].extent, 1, pg_extent(g), true);
  pg_take(g, &g->tensors.at[given]);
  return neo_arena_printf(g->arena, "%s[%s]", g->tensors.at[given].name, around[k].name);
}

const char *pn_arm(loop *l, const ptensor *t, const pindex *around, uint32_t n_around) {
  pgen *g = l->g;
  loop in = {.g = g,
             .depth = l->depth + 1,
             .rounds = pg_chance(g, 55) ? pg_extent(g) : NO_EXTENT,
             .indent = neo_arena_printf(g->arena, "%s    ", l->indent),
             .like = t};
  pg_kind(g, PAIRS_R_NESTED);
  const char *text = pl_loop(&in, around, n_around);
  uint32_t first = (uint32_t)g->tensors.n;
  for (uint32_t k = 0; k < in.n_results; k++)
    NEO_PUSH(g->arena, &g->tensors, in.result[k]);
  pl_begin(l, t, around, n_around);
  const char *left = pg_left_of(g, t), *value = pg_damped(g, t->type, pg_read_plain(g, first));
  for (uint32_t k = 0; k < in.n_results; k++)
    g->tensors.at[first + k] = g->tensors.at[0];
  return neo_arena_printf(g->arena, "{\n%s  %s\n%s  %s = %s\n%s}", l->indent, text, l->indent, left,
                          value, l->indent);
}

/* ---- carries */

const char *pn_shifted(loop *l, const ptensor *t, uint32_t of, const pindex *around,
                       uint32_t n_around) {
  pgen *g = l->g;
  pl_begin(l, t, around, n_around);
  const ptensor x = g->tensors.at[of];
  const char *left = pg_left(g, t->name, t->rank), *at = "", *zero = "0";
  pg_take(g, &x);
  pg_kind(g, PAIRS_R_SWAP);
  for (uint32_t k = 0; k + 1 < t->rank; k++)
    at = neo_arena_printf(g->arena, "%s%s, ", at, g->index[k].name);
  if (t->type == NEO_BOOL_T)
    zero = "false";
  return neo_arena_printf(g->arena, "%s = (%s[%s%s %c 1] else %s)", left, x.name, at,
                          g->index[t->rank - 1].name, pg_chance(g, 50) ? '+' : '-', zero);
}

/* ---- vertex functions */

const char *pg_block_loop(pgen *g, ptensor *results, uint32_t *n) {
  loop l = {.g = g, .depth = 1, .indent = "    "};
  l.rounds = pg_chance(g, 50) ? pg_extent(g) : NO_EXTENT;
  pg_kind(g, PAIRS_R_NESTED);
  const char *text = pl_loop(&l, NULL, 0);
  for (uint32_t k = 0; k < l.n_results; k++)
    results[k] = l.result[k];
  *n = l.n_results;
  return text;
}
