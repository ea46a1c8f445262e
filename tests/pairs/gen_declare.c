/* Declarations that other forms do without: constants of every type, states of integers with a bound, assertions, and what
 * reads them. */
#include "tests/pairs/gen_recur.h"

static neo_type any_type(pgen *g) {
  static const neo_type all[] = {NEO_F64_T, NEO_F32_T, NEO_F16_T, NEO_BF16_T, NEO_I64_T,
                                 NEO_I32_T, NEO_I8_T,  NEO_U8_T,  NEO_BOOL_T};
  return PG_PICK(g, all);
}

/* A line that declares `name`; what reads it is another statement. */
static void declare(pgen *g, ptensor *t, const char *text) {
  t->given = t->exact = true;
  t->line = pg_end(g, (pairs_statement){.kind = PAIRS_GIVEN, .name = t->name, .text = text});
  NEO_PUSH(g->arena, &g->tensors, *t);
}

static bool constant(pgen *g) {
  neo_type t = any_type(g);
  bool logical = t == NEO_BOOL_T;
  uint32_t e = pg_extent_of(g, "3", 3, 3, false), dim[] = {e, e};
  uint64_t way = logical ? 2 : pg_below(g, 3);
  ptensor k = pg_result(g, t, dim, way == 1 ? 2 : 1);
  const char *type = pg_type_text(t), *n = pg_extent_text(g, e);
  pg_begin(g);
  g->reads |= (uint64_t)1 << g->extents.at[e].line;
  k.name = pg_name(g, "k");
  if (way == 0 && t == NEO_I32_T && pg_chance(g, 60)) {
    k.bound = e;
    declare(g, &k, neo_arena_printf(g->arena, "const %s[%s] : i32 < %s = [0, 2, 1]", k.name, n, n));
  } else if (way == 0) {
    declare(g, &k, neo_arena_printf(g->arena, "const %s[%s] : %s = [1, 0, 2]", k.name, n, type));
  } else if (way == 1) {
    declare(g, &k, neo_arena_printf(g->arena, "const %s[%s, %s] : %s = [[1, 0, 2], [3, 1, 1], [0, 2, 4]]",
                                    k.name, n, n, type));
  } else {
    declare(g, &k, neo_arena_printf(g->arena, logical ? "const %s[i < %s] : %s = i %% 2 == 0"
                                                      : "const %s[i < %s] : %s = 2",
                                    k.name, n, type));
  }
  pg_begin(g);
  return pg_map(g);
}

static bool asserted(pgen *g) {
  for (uint32_t e = 0; e < g->extents.n; e++) {
    const pextent x = g->extents.at[e];
    if (!x.runtime || x.rows || x.now < 2 || !pg_chance(g, 60))
      continue;
    pg_begin(g);
    const char *name = pg_name(g, "y"), *n = pg_extent_text(g, e);
    g->has |= PAIRS_BIT(PAIRS_F32);
    (void)pg_end(g, (pairs_statement){.kind = PAIRS_DEFINITION,
                                      .name = name,
                                      .text = neo_arena_printf(g->arena, "assert %s >= 2\n%s[i <= 1] = u%s[i]",
                                                               n, name, n)});
    return *n == 'N';
  }
  return false;
}

/* A state whose integers have a bound, and another, in one update. */
static bool states(pgen *g) {
  uint32_t e = pg_extent_of(g, "3", 3, 3, false);
  ptensor s = pg_result(g, NEO_I32_T, &e, 1), r = pg_result(g, any_type(g), &e, 1);
  const char *type = pg_type_text(r.type), *n = pg_extent_text(g, e);
  if (r.type == NEO_BOOL_T)
    return false;
  s.name = pg_name(g, "s");
  r.name = pg_name(g, "s");
  s.bound = e;
  pg_begin(g);
  g->reads |= (uint64_t)1 << g->extents.at[e].line;
  g->has |= PAIRS_BIT(PAIRS_UPDATE);
  declare(g, &s, neo_arena_printf(g->arena, "state %s[i < %s] : i32 < %s = i32(2 - i)", s.name, n, n));
  declare(g, &r, neo_arena_printf(g->arena, "state %s[%s] : %s = 1", r.name, n, type));
  pg_begin(g);
  g->reads |= (uint64_t)1 << s.line | (uint64_t)1 << r.line;
  g->has |= PAIRS_BIT(PAIRS_UPDATE);
  (void)pg_end(
      g, (pairs_statement){.kind = PAIRS_DEFINITION,
                           .name = neo_arena_printf(g->arena, "%s, %s", s.name, r.name),
                           .update = true,
                           .text = neo_arena_printf(
                               g->arena, "update %s[i] = (%s[i] + 1) %% 3, %s[i] = %s[%s[i]] + %s(i)",
                               s.name, s.name, r.name, r.name, s.name, type)});
  pg_begin(g);
  return pg_map(g);
}

/* A choice whose labels may lie below 0, of a number that is given. */
static bool labels(pgen *g) {
  uint32_t e = pg_extent_of(g, "3", 3, 3, false), k = pg_given(g, NEO_I32_T, NULL, 0, e, false);
  ptensor y = pg_result(g, NEO_F32_T, NULL, 0), of = g->tensors.at[k];
  pg_begin(g);
  pg_take(g, &of);
  pg_kind(g, PAIRS_R_CASE);
  y.name = pg_name(g, "y");
  pg_define_text(g, &y, neo_arena_printf(g->arena, "%s = case %s - 1 { -1 { %s = 0.5 } 0 { %s = 1.5 } else { %s = 2.5 } }",
                                         y.name, of.name, y.name, y.name, y.name));
  return true;
}

bool pg_declare(pgen *g) {
  if (g->p->graphs.n)
    return false;
  switch (pg_below(g, 6)) {
  case 0:
    return asserted(g);
  case 1:
    return states(g);
  case 2:
    return labels(g);
  default:
    return constant(g);
  }
}
