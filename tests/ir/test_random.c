/* The generator of random modules: what it makes is well-typed, in range and prints; and what the
 * shrinker leaves is small. */
#include "ir/order.h"
#include "ir/print.h"
#include "tests/ir/ir_test.h"
#include "tests/random/gen.h"
#include <math.h>
#include <string.h>

enum { PROGRAMS = 600 };

static const char *text_of(neo_arena *a, const neo_gen_program *g) {
  neo_str s;
  neo_str_init(&s, a);
  neo_gen_print(g, &s);
  return neo_str_text(&s);
}

static void random_modules_obey_the_invariants(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = neo_gen_make(&a, seed, &neo_gen_default);
    if (neo_module_check(g.m, &why))
      fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, neo_str_text(&why), text_of(&a, &g));
    neo_arena_free(&a);
  }
}

static void random_modules_print_and_parse_to_the_same_text(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_gen_program g = neo_gen_make(&a, seed, &neo_gen_default);
    const char *text = text_of(&a, &g);
    neo_gen_program again = neo_gen_parse(&a, text, strlen(text));
    if (!again.m)
      fail_msg("seed %llu does not parse:\n%s", (unsigned long long)seed, text);
    assert_string_equal(text, text_of(&a, &again));
    neo_arena_free(&a);
  }
}

static void run_program(neo_arena *a, const neo_gen_program *g, size_t *n, size_t *n_sure) {
  neo_str why;
  neo_str_init(&why, a);
  neo_interp *p = neo_gen_interp(a, g);
  for (uint32_t e = 0; e < g->m->entries.n; e++) {
    if (neo_interp_run(p, e, &why))
      fail_msg("%s\n%s", neo_str_text(&why), text_of(a, g));
    neo_entry_rec entry = g->m->entries.at[e];
    for (uint32_t k = 0; k < entry.outputs.n; k++) {
      neo_tensor t = {neo_list_at(g->m, entry.outputs, k)};
      const neo_values *v = neo_interp_tensor(p, t);
      *n += (size_t)v->n;
      if (!neo_gen_compare((neo_type)neo_tensor_at(g->m, t)->type, v, neo_interp_errors(p, t),
                           v->at, n_sure, &why))
        fail_msg("a tensor differs from itself: %s", neo_str_text(&why));
    }
  }
}

static void random_modules_evaluate_without_leaving_a_tensor(void **state) {
  size_t n = 0, n_sure = 0;
  (void)state;
  for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_gen_program g = neo_gen_make(&a, seed, &neo_gen_default);
    run_program(&a, &g, &n, &n_sure);
    neo_arena_free(&a);
  }
  /* results that cannot be compared are the exception */
  assert_true(n > 10000 && n_sure * 10 > n * 9);
}

static void the_same_seed_gives_the_same_module(void **state) {
  neo_module *m = *state;
  neo_gen_program g = neo_gen_make(m->arena, 42, &neo_gen_default);
  neo_gen_program h = neo_gen_make(m->arena, 42, &neo_gen_default);
  assert_string_equal(text_of(m->arena, &g), text_of(m->arena, &h));
  neo_gen_program other = neo_gen_make(m->arena, 43, &neo_gen_default);
  assert_string_not_equal(text_of(m->arena, &g), text_of(m->arena, &other));
}

static void every_operator_reducer_and_type_is_met(void **state) {
  static bool op[NEO_OP_COUNT], reducer[NEO_RED_COUNT], type[NEO_TYPE_COUNT];
  bool mapped = false, where = false, multi = false, guard = false;
  (void)state;
  for (uint64_t seed = 0; seed < PROGRAMS; seed++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_module *m = neo_gen_make(&a, seed, &neo_gen_default).m;
    for (size_t k = 1; k < m->nodes.n; k++)
      op[m->nodes.at[k].op] = true;
    for (size_t k = 1; k < m->tensors.n; k++)
      type[m->tensors.at[k].type] = true;
    for (size_t k = 1; k < m->defs.n; k++) {
      const neo_def_rec *d = &m->defs.at[k];
      reducer[d->reducer] = true;
      mapped = mapped || d->out_map.n;
      where = where || d->where.i;
      multi = multi || d->out.n > 1;
    }
    neo_arena_free(&a);
  }
  guard = op[NEO_OP_LOAD_ELSE];
  for (int k = 0; k < NEO_OP_COUNT; k++) {
    bool given = k == NEO_OP_TRAINING || k == NEO_OP_STEP; /* of entries, not of values */
    if (!op[k] && !given)
      fail_msg("%s is never made", neo_op_text((neo_op)k));
  }
  for (int k = 0; k < NEO_RED_COUNT; k++)
    assert_true(reducer[k]);
  for (int k = 0; k < NEO_TYPE_COUNT; k++)
    assert_true(type[k]);
  assert_true(mapped && where && multi && guard);
}

static bool has_op(const neo_gen_program *g, neo_op op) {
  for (uint32_t k = 1; k < g->m->defs.n; k++) {
    neo_def_rec d = g->m->defs.at[k];
    for (uint32_t j = 0; j < d.finish.n; j++)
      if (neo_expr_uses_op(g->m, neo_list_expr(g->m, d.finish, j), op))
        return true;
    for (uint32_t j = 0; j < d.body.n; j++)
      if (neo_expr_uses_op(g->m, neo_list_expr(g->m, d.body, j), op))
        return true;
  }
  return false;
}

static bool uses_tanh(void *ctx, const neo_gen_program *g) {
  (void)ctx;
  return has_op(g, NEO_OP_TANH);
}

static void the_shrinker_leaves_what_fails_and_little_else(void **state) {
  int found = 0;
  (void)state;
  for (uint64_t seed = 0; seed < PROGRAMS && found < 3; seed++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_gen_program g = neo_gen_make(&a, seed, &neo_gen_default);
    if (uses_tanh(NULL, &g)) {
      neo_gen_program small = neo_gen_shrink(&a, &g, uses_tanh, NULL, 3000);
      assert_true(uses_tanh(NULL, &small));
      if (strlen(text_of(&a, &small)) > 400)
        fail_msg("seed %llu is left as\n%s", (unsigned long long)seed, text_of(&a, &small));
      found++;
    }
    neo_arena_free(&a);
  }
  assert_int_equal(found, 3);
}

static void values_are_compared_within_their_bound(void **state) {
  double inf = (double)INFINITY, nan = (double)NAN;
  (void)state;
#define SAME(t, x, e, y) neo_gen_same(NEO_##t##_T, (neo_value){.f = x}, e, (neo_value){.f = y})
  assert_true(SAME(F32, 1, 0.1, 1.05) && !SAME(F32, 1, 0.01, 1.05));
  assert_true(SAME(F32, nan, 0, nan) && !SAME(F32, nan, 0, 1) && !SAME(F32, 1, 0.5, nan));
  assert_true(SAME(F32, inf, 0, inf) && !SAME(F32, inf, 0, -inf) && !SAME(F32, inf, 0, 3e38));
  assert_true(SAME(F32, 1, inf, 7) && SAME(F32, 0, 0, -0.0) && !SAME(F32, 1, 0.5, inf));
#undef SAME
  assert_true(neo_gen_same(NEO_I32_T, (neo_value){.i = 3}, 0, (neo_value){.i = 3}));
  assert_false(neo_gen_same(NEO_I32_T, (neo_value){.i = 3}, 0, (neo_value){.i = 4}));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(random_modules_obey_the_invariants),
      TEST(random_modules_print_and_parse_to_the_same_text),
      TEST(random_modules_evaluate_without_leaving_a_tensor),
      TEST(the_same_seed_gives_the_same_module),
      TEST(every_operator_reducer_and_type_is_met),
      TEST(the_shrinker_leaves_what_fails_and_little_else),
      TEST(values_are_compared_within_their_bound),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
