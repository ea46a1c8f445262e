/* Ends of sums where a guard fails. */
#include "tests/transform/world.h"

#define HEAD                                                                                 \
  "neo-ir 1\nmodule t\nsize N 1..64\ninput d : f32 [40, 3, 8]\ninput h : f32 [40, 3, 6]\n"   \
  "input a : f32 [3, 6]\ninput dn : f32 [N, 8]\ninput hn : f32 [N, 6]\ninput v : f32 [40]\n" \
  "temp G : f32 [6, 8]\n"
#define REST "entry forward forward: G = G\n"

static void becomes(const char *def, const char *parts, const char *whole) {
  world w;
  load_two(&w, HEAD, def);
  apply(&w, neo_pass_peel_sums);
  const char *made = text_of(&w);
  if (!strstr(made, parts) || !strstr(made, whole))
    fail_msg("%s%sare not in\n%s", parts, whole, made);
  apply(&w, neo_pass_peel_sums);
  assert_string_equal(text_of(&w), made);
  neo_arena_free(&w.arena);
}

static void stays(const char *def) {
  world w;
  load_two(&w, HEAD, def);
  const char *before = text_of(&w);
  apply(&w, neo_pass_peel_sums);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void the_first_round_leaves_a_sum_over_rounds(void **state) {
  (void)state;
  becomes("def @1 G[i: 6, j: 8] =\n  sum[t: 40, b: 3] d[t, b, j] * (h[t - 1, b, i] else a[b, i])\n"
          "  then 2.0 * acc0\n" REST,
          "end.G[i: 6, j: 8] =\n    sum[t: 1, b: 3] d[t, b, j] * a[b, i]\n",
          " G[i: 6, j: 8] =\n    sum[t: 39, b: 3] d[t + 1, b, j] * h[t, b, i]\n"
          "    then 2.0 * (acc0 + end.G[i, j])\n");
}

/* 0 times what is no number is none, so the term stays; it has no axis i. */
static void an_end_has_the_axes_that_it_uses(void **state) {
  (void)state;
  becomes(
      "def @1 G[i: 6, j: 8] =\n  sum[t: 40, b: 3] d[t, b, j] * (h[t - 2, b, i] else 0.0)\n" REST,
      "end.G[j: 8] =\n    sum[t: 2, b: 3] d[t, b, j] * 0.0\n",
      "sum[t: 38, b: 3] d[t + 2, b, j] * h[t, b, i]\n    then acc0 + end.G[j]\n");
}

static void so_does_the_last_round(void **state) {
  (void)state;
  becomes(
      "def @1 G[i: 6, j: 8] =\n  sum[t: 40, b: 3] d[t, b, j] * (h[t + 1, b, i] else 0.0)\n" REST,
      "end.G[j: 8] =\n    sum[t: 1, b: 3] d[t + 39, b, j] * 0.0\n",
      "sum[t: 39, b: 3] d[t, b, j] * h[t + 1, b, i]\n    then acc0 + end.G[j]\n");
}

static void the_number_of_rounds_may_be_known_later(void **state) {
  (void)state;
  becomes("def @1 G[i: 6, j: 8] =\n  sum[t: N] dn[t, j] * (hn[t - 1, i] else 0.0)\n" REST,
          "end.G[j: 8] =\n    sum[t: 1] dn[t, j] * 0.0\n",
          "sum[t: N - 1] dn[t + 1, j] * hn[t, i]\n    then acc0 + end.G[j]\n");
}

static void others_are_left_alone(void **state) {
  (void)state;
  stays("def @1 G[i: 6, j: 8] =\n  sum[t: 7, b: 3] d[t, b, j] * (h[t - 1, b, i] else 0.0)\n" REST);
  stays("def @1 G[i: 6, j: 8] =\n  sum[t: 40] (v[t - 1] else 0.0) * d[t, 0, j]\n" REST);
  stays(
      "def @1 G[i: 6, j: 8] =\n  sum[t: 40, b: 3] d[t, b, j] * (h[t + b - 1, b, i] else 0.0)\n" REST);
  stays("def @1 G[i: 6, j: 8] =\n  max[t: 40, b: 3] d[t, b, j] * (h[t - 1, b, i] else 0.0)\n" REST);
}

/* Values are multiples of 1/4, whose sums are exact in any order. */
static void values_are_the_same(void **state) {
  static const char def[] = "def @1 G[i: 6, j: 8] =\n  sum[t: N] where t != 3;\n"
                            "  dn[t, j] * (hn[t - 1, i] else 0.5)\n  then acc0\n" REST;
  (void)state;
  for (int64_t n = 1; n < 10; n += 4) {
    world before, after;
    load_two(&before, HEAD, def);
    load_two(&after, HEAD, def);
    apply(&after, neo_pass_peel_sums);
    assert_non_null(strstr(text_of(&after), "end.G"));
    const neo_values *x = neo_interp_output(values_of(&before, n), 0);
    const neo_values *y = neo_interp_output(values_of(&after, n), 0);
    assert_int_equal(x->n, 48);
    for (int64_t k = 0; k < x->n; k++)
      assert_true(x->at[k].f == y->at[k].f);
    neo_arena_free(&before.arena);
    neo_arena_free(&after.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_first_round_leaves_a_sum_over_rounds),
      cmocka_unit_test(an_end_has_the_axes_that_it_uses),
      cmocka_unit_test(so_does_the_last_round),
      cmocka_unit_test(the_number_of_rounds_may_be_known_later),
      cmocka_unit_test(others_are_left_alone),
      cmocka_unit_test(values_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
