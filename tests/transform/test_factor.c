/* The distributive law over sums: what leaves them, what stays, and that values stay the same (data
 * are small integers, so that sums are exact in any order). */
#include "base/random.h"
#include "tests/transform/world.h"
#include <stdio.h>

#define HEAD                                                             \
  "neo-ir 1\nmodule t\ninput G : f32 [16, 16]\ninput V : f32 [16, 16]\n" \
  "input S : f32 [16, 16]\ninput a : f32 [16]\ninput n : i32 [16] < 4\n" \
  "temp D : f32 [16]\ntemp E : f32 [16, 16]\n"
#define becomes(text, part, whole) becomes_by(neo_pass_factor, "", text, part, whole)

static void a_factor_without_an_inner_axis_is_multiplied_once(void **state) {
  (void)state;
  becomes(HEAD "def @1 D[i: 16] =\n  sum[e: 16, j: 16] -(G[i, e] * V[j, e] * exp(S[i, j]))\n"
               "entry forward forward: D = D\n",
          "partial.D[i: 16, j: 16] =\n    sum[e: 16] G[i, e] * V[j, e]",
          "sum[j: 16] exp(S[i, j]) * partial.D[i, j]\n    then -acc0");
}

static void a_factor_of_output_axes_leaves_the_sum(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: 16] G[i, e] * V[j, e] * exp(S[i, j])\n"
               "entry forward forward: E = E\n",
          "partial.E[i: 16, j: 16] =\n    sum[e: 16] G[i, e] * V[j, e]",
          "E[i: 16, j: 16] = partial.E[i, j] * exp(S[i, j])");
}

/* Also where a part would halve the arithmetic. */
static void a_factor_of_output_axes_leaves_first(void **state) {
  (void)state;
  becomes(HEAD "def @1 D[i: 16] =\n  sum[e: 16, j: 16] V[j, e] * exp(a[i])\n"
               "entry forward forward: D = D\n",
          "partial.D[i: 16] =\n    sum[e: 16, j: 16] V[j, e]\n",
          "D[i: 16] = partial.D[i] * exp(a[i])");
}

static void constants_stand_behind_the_sum(void **state) {
  (void)state;
  becomes(HEAD
          "def @1 E[i: 16, j: 16] =\n  sum[e: 16] G[i, e] * 0.5 * V[j, e]\n  then acc0 + a[i]\n"
          "entry forward forward: E = E\n",
          NULL, "sum[e: 16] G[i, e] * V[j, e]\n    then acc0 * 0.5 + a[i]");
}

/* Attention's scores as they are written, and a product of which a softmax's sum is the divisor. */
static void divisors_stand_behind_the_sum(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: 16] G[i, e] * V[j, e] / sqrt(16.0)\n"
               "entry forward forward: E = E\n",
          NULL, "sum[e: 16] G[i, e] * V[j, e]\n    then acc0 / sqrt(16.0)");
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: 16] G[i, e] / a[i] * V[j, e]\n"
               "entry forward forward: E = E\n",
          "partial.E[i: 16, j: 16] =\n    sum[e: 16] G[i, e] * V[j, e]",
          "E[i: 16, j: 16] = partial.E[i, j] / a[i]");
  becomes(HEAD "def @1 D[i: 16] =\n  sum[e: 16] G[i, e] / 3.0\nentry forward forward: D = D\n",
          NULL, "sum[e: 16] G[i, e]\n    then acc0 / 3.0");
}

/* 0/0 is no 0, and a divisor that the sum changes is no divisor of the sum. */
static void divisors_that_matter_inside_stay(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: i64(n[i])] G[i, e] * V[j, e] / 0.0\n"
               "entry forward forward: E = E\n",
          NULL, "G[i, e] * V[j, e] / 0.0");
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: 16] G[i, e] * V[j, e] / a[e]\n"
               "entry forward forward: E = E\n",
          NULL, "G[i, e] * V[j, e] / a[e]");
  becomes(HEAD "def @1 E[e: 16, i: 16] =\n  sum[j: 16] V[j, e] * S[i, j]\n"
               "def @2 D[i: 16] =\n  sum[e: 16, j: 16] G[i, e] * V[j, e] / S[i, j]\n"
               "entry forward forward: D = D, E = E\n",
          NULL, "G[i, e] * V[j, e] / S[i, j]");
}

static void a_product_of_two_stays_as_it_is(void **state) {
  (void)state;
  becomes(
      HEAD
      "def @1 E[i: 16, j: 16] =\n  sum[e: 16] G[i, e] * V[j, e]\nentry forward forward: E = E\n",
      NULL, "sum[e: 16] G[i, e] * V[j, e]");
}

/* An empty sum is 0, also of infinities; what is read beside it may only be in range with it. */
static void nothing_leaves_a_sum_that_may_be_empty(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: i64(n[i])] G[i, e] * V[j, e] * exp(S[i, j])\n"
               "entry forward forward: E = E\n",
          NULL, "G[i, e] * V[j, e] * exp(S[i, j])");
  becomes(HEAD "def @1 D[i: 16] =\n  sum[e: i64(n[i]), j: 16] G[i, e] * V[j, e] * exp(S[i, j])\n"
               "entry forward forward: D = D\n",
          NULL, "G[i, e] * V[j, e] * exp(S[i, j])");
}

static void conditions_on_inner_axes_keep_the_sum_whole(void **state) {
  (void)state;
  becomes(HEAD "def @1 D[i: 16] =\n  sum[e: 16, j: 16] where e <= j;\n"
               "  G[i, e] * V[j, e] * exp(S[i, j])\nentry forward forward: D = D\n",
          NULL, "where e <= j");
}

static void conditions_on_the_parts_axes_hold_for_both_halves(void **state) {
  (void)state;
  becomes(HEAD "def @1 D[i: 16] =\n  sum[e: 16, j: 16] where j <= i;\n"
               "  G[i, e] * V[j, e] * exp(S[i, j])\nentry forward forward: D = D\n",
          "sum[e: 16] where j <= i;", "sum[j: 16] where j <= i;");
}

static void a_condition_on_output_axes_leaves_with_their_factor(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: 16] where j <= i;\n"
               "  G[i, e] * V[j, e] * exp(S[i, j])\nentry forward forward: E = E\n",
          "partial.E[i: 16, j: 16] =\n    sum[e: 16] G[i, e] * V[j, e]\n",
          "select(j <= i, partial.E[i, j] * exp(S[i, j]), 0.0)");
}

/* The gradient of a product with relu(S) for S is a product of matrices. */
static void a_choice_of_results_by_data_leaves_the_sum(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n"
               "  sum[e: 16] select(0.0 < S[i, j], G[i, e] * V[j, e], 0.0)\n"
               "entry forward forward: E = E\n",
          "partial.E[i: 16, j: 16] =\n    sum[e: 16] G[i, e] * V[j, e]",
          "E[i: 16, j: 16] = select(0.0 < S[i, j], partial.E[i, j], 0.0)");
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n"
               "  sum[e: 16] select(0.0 < S[i, e], G[i, e] * V[j, e], 0.0)\n"
               "entry forward forward: E = E\n",
          NULL, "sum[e: 16] select(0.0 < S[i, e], G[i, e] * V[j, e], 0.0)");
}

static void a_condition_that_reads_rely_on_stays(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, j: 16] =\n  sum[e: 16] where j < 15;\n"
               "  G[i, e] * V[j + 1, e] * exp(S[i, j])\nentry forward forward: E = E\n",
          NULL, "where j < 15;");
}

/* Whatever its axes are called, and in whatever order its factors are. */
static void a_part_that_there_is_is_read(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[e: 16, i: 16] =\n  sum[j: 16] V[j, e] * exp(S[i, j])\n"
               "def @2 D[i: 16] =\n  sum[e: 16, j: 16] -(G[i, e] * exp(S[i, j]) * V[j, e])\n"
               "entry forward forward: D = D, E = E\n",
          "E[e: 16, i: 16] =", "sum[e: 16] G[i, e] * E[e, i]\n    then -acc0");
  becomes(HEAD "def @1 E[i: 16, e: 16] =\n  sum[j: 16] where j <= i;\n  exp(S[i, j]) * V[j, e]\n"
               "def @2 D[k: 16] =\n  sum[l: 16, e: 16] where l <= k;\n"
               "  V[l, e] * G[k, e] * exp(S[k, l])\nentry forward forward: D = D, E = E\n",
          "where j <= i;", "sum[e: 16] G[k, e] * E[k, e]");
}

/* A range says which points as well as a condition does. */
static void a_part_over_the_same_points_is_read(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, e: 16] =\n  sum[j: 16] where j <= i;\n  exp(S[i, j]) * V[j, e]\n"
               "def @2 D[k: 16] =\n  sum[e: 16, l: k + 1] V[l, e] * G[k, e] * exp(S[k, l])\n"
               "entry forward forward: D = D, E = E\n",
          "where j <= i;", "sum[e: 16] G[k, e] * E[k, e]");
  becomes(HEAD "def @1 E[i: 16, e: 16] =\n  sum[j: i + 1] exp(S[i, j]) * V[j, e]\n"
               "def @2 D[k: 16] =\n  sum[l: 16, e: 16] where l < k + 1;\n"
               "  V[l, e] * G[k, e] * exp(S[k, l])\nentry forward forward: D = D, E = E\n",
          "sum[j: i + 1]", "sum[e: 16] G[k, e] * E[k, e]");
  becomes(HEAD
          "def @1 E[i: 16, e: 16] =\n  sum[j: 16] where j <= i;\n  exp(S[i, j]) * V[j, e]\n"
          "def @2 D[k: 16] =\n  sum[e: 16, l: min(k + 1, 15)] V[l, e] * G[k, e] * exp(S[k, l])\n"
          "entry forward forward: D = D, E = E\n",
          "where j <= i;", "V[l, e] * G[k, e] * exp(S[k, l])");
}

/* The rest is summed over a range that leans on an axis of the part. */
static void a_part_that_other_ranges_lean_on_is_not_read(void **state) {
  (void)state;
  becomes(HEAD "def @1 E[i: 16, e: 16] =\n  sum[j: 16] exp(S[i, j]) * V[j, e]\n"
               "def @2 D[i: 16] =\n  sum[j: 16, e: 16, k: j + 1]\n"
               "  G[i, e] * V[j, e] * exp(S[i, j]) * G[i, k]\n"
               "entry forward forward: D = D, E = E\n",
          "E[i: 16, e: 16] =", "sum[j: 16, k: j + 1] exp(S[i, j]) * G[i, k] * partial.D[i, j]");
}

static void ranges_of_a_part_may_lean_on_each_other(void **state) {
  (void)state;
  becomes(HEAD "def @1 D[i: 16] =\n  sum[e: 16, j: 16, k: j + 1] G[i, e] * V[j, e] * S[k, e]\n"
               "entry forward forward: D = D\n",
          "partial.D[e: 16] =\n    sum[j: 16, k: j + 1] V[j, e] * S[k, e]",
          "sum[e: 16] G[i, e] * partial.D[e]");
}

/* Under another condition, over other elements, or where the part needs the sum itself. */
static void a_part_that_is_not_the_same_is_not_read(void **state) {
  static const char *const parts[] = {
      "sum[j: 16] where i <= j;\n  exp(S[i, j]) * V[j, e]", "sum[j: 16] exp(S[j, i]) * V[j, e]",
      "sum[j: 16] exp(S[i, j]) * V[j, e]\n  then acc0 + 1.0", "sum[j: 15] exp(S[i, j]) * V[j, e]"};
  (void)state;
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++) {
    char text[1000];
    snprintf(text, sizeof text,
             HEAD "def @1 E[i: 16, e: 16] =\n  %s\n"
                  "def @2 D[i: 16] =\n  sum[e: 16, j: 16] where j <= i;\n"
                  "  G[i, e] * V[j, e] * exp(S[i, j])\n"
                  "entry forward forward: D = D, E = E\n",
             parts[k]);
    becomes(text, "E[i: 16, e: 16] =", "* partial.D[i, j]");
  }
}

/* ---- values */

static int below(uint64_t *seed, int n) {
  return (int)(neo_splitmix(seed) % (uint64_t)n);
}

static const char *axis_of(uint64_t *seed) {
  static const char *const names[] = {"i", "j", "k", "l", "m"};
  return names[below(seed, 5)];
}

static const char *random_sum(neo_arena *a, uint64_t seed) {
  static const char *const where[] = {
      "", "", "where l <= k;", "where i != j;", "where i64(n[i]) < 3;", "where j <= i;"};
  int factors = 2 + below(&seed, 4);
  neo_str s;
  neo_str_init(&s, a);
  neo_str_add(&s, "neo-ir 1\nmodule t\nsize K 1..6\ninput A : f64 [8, 8]\ninput B : f64 [8, 8]\n"
                  "input C : f64 [8]\ninput n : i32 [8] < 4\ntemp Y : f64 [3, 7]\n"
                  "def @1 Y[i: 3, j: 7] =\n  sum[k: K, ");
  neo_str_addf(&s, "l: %s, m: 5] %s\n  ", below(&seed, 3) ? "8" : "i + 1", where[below(&seed, 6)]);
  for (int k = 0; k < factors; k++) {
    const char *x = axis_of(&seed), *y = axis_of(&seed), *sign = below(&seed, 4) ? "" : "-";
    neo_str_add(&s, k ? " * " : "");
    switch (below(&seed, 5)) {
    case 0:
      neo_str_addf(&s, "%sA[%s, %s]", sign, x, y);
      break;
    case 1:
      neo_str_addf(&s, "(B[%s + 2, %s] else 1.0f64)", x, y);
      break;
    case 2:
      neo_str_addf(&s, "%sC[%s]", sign, x);
      break;
    case 3:
      neo_str_add(&s, "2.0f64");
      break;
    default:
      neo_str_addf(&s, "(A[%s, %s] - C[%s])", x, y, y);
    }
    neo_str_add(&s, below(&seed, 6) ? "" : " / 4.0f64");
  }
  neo_str_add(&s, "\n  then acc0 + C[j]\nentry forward forward: Y = Y\n");
  return neo_str_text(&s);
}

static void values_stay_the_same(void **state) {
  (void)state;
  int parts = 0;
  for (uint64_t seed = 1; seed <= 400; seed++) {
    world before, after;
    neo_arena text;
    neo_arena_init(&text, neo_alloc_default, NULL);
    const char *program = random_sum(&text, seed);
    load(&before, program);
    load(&after, program);
    apply(&after, neo_pass_factor);
    parts += strstr(text_of(&after), "partial.") != NULL;
    neo_interp *x = values_of(&before, 1 + (int64_t)(seed % 6));
    neo_interp *y = values_of(&after, 1 + (int64_t)(seed % 6));
    const neo_values *a = neo_interp_output(x, 0), *b = neo_interp_output(y, 0);
    for (int64_t i = 0; i < a->n; i++)
      if (a->at[i].f != b->at[i].f)
        fail_msg("seed %d: %g and %g in\n%s", (int)seed, a->at[i].f, b->at[i].f, text_of(&after));
    neo_arena_free(&before.arena);
    neo_arena_free(&after.arena);
    neo_arena_free(&text);
  }
  assert_true(parts > 100);
}

/* A part that is a definition already is 0 where it takes nothing; times an infinity, that is not 0. */
static void a_sum_that_may_take_nothing_is_no_known_part(void **state) {
  (void)state;
  static const char *const stays[] = {"j < i", "n[j] == 1i32", "j < i and n[i] == 1i32",
                                      "i + 2 <= j"};
  for (size_t k = 0; k < sizeof stays / sizeof *stays; k++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    becomes(neo_arena_printf(
                &a,
                HEAD "def @1 E[i: 16, e: 16] =\n  sum[j: 16] where %s;\n  S[i, j] * V[j, e]\n"
                     "def @2 D[i: 16] =\n  sum[e: 16, j: 16] where %s;\n"
                     "  G[i, e] * V[j, e] * S[i, j]\nentry forward forward: D = D, E = E\n",
                stays[k], stays[k]),
            NULL, "G[i, e] * V[j, e] * S[i, j]");
    neo_arena_free(&a);
  }
  becomes(
      HEAD
      "def @1 E[i: 16, e: 16] =\n  sum[j: 16] where j <= i and n[i] == 1i32;\n  S[i, j] * V[j, e]\n"
      "def @2 D[i: 16] =\n  sum[e: 16, j: 16] where j <= i and n[i] == 1i32;\n"
      "  G[i, e] * V[j, e] * S[i, j]\nentry forward forward: D = D, E = E\n",
      NULL, "sum[e: 16] where n[i] == 1i32;\n    G[i, e] * E[i, e]");
}

/* The text after factor, of definitions that the program wrote. */
static void as_written(const char *text, const char *part) {
  world w;
  load(&w, text);
  for (uint32_t k = 1; k < w.m->defs.n; k++)
    neo_def_at(w.m, (neo_def){k})->as_written = true;
  apply(&w, neo_pass_factor);
  if (!strstr(text_of(&w), part))
    fail_msg("%s is not in\n%s", part, text_of(&w));
  neo_arena_free(&w.arena);
}

static void terms_that_the_program_says_are_added_up(void **state) {
  (void)state;
#define ONE(term) HEAD "def @1 D[i: 16] =\n  sum[k: 16] " term "\nentry forward forward: D = D\n"
  as_written(ONE("V[i, k] * a[i]"), "sum[k: 16] V[i, k] * a[i]\n");
  as_written(ONE("V[i, k] / a[i] * (V[i, k] / a[i])"), "let $0 = V[i, k] / a[i];\n    $0 * $0\n");
  as_written(ONE("0.5 * (V[i, k] / a[i]) * -(V[i, k] / a[i]) / 4.0"),
             "let $0 = V[i, k] / a[i];\n    $0 * $0\n    then -(acc0 * 0.5 / 4.0)");
  as_written(ONE("V[i, k] * G[i, k] * rsqrt(f32(16)) * f32(3)"),
             "sum[k: 16] V[i, k] * G[i, k]\n    then acc0 * rsqrt(16.0) * 3.0");
  as_written(ONE("V[i, k] * G[i, k] * 1e-30"), "sum[k: 16] V[i, k] * G[i, k] * 1e-30\n");
  as_written(ONE("V[i, k] * G[i, k] * 0.0"), "sum[k: 16] V[i, k] * G[i, k] * 0.0\n");
  as_written(HEAD "def @1 D[i: 16] =\n  sum[e: 16, j: 16] G[i, e] * V[j, e] * exp(S[i, j])\n"
                  "entry forward forward: D = D\n",
             "partial.D[i: 16, j: 16] =\n    sum[e: 16] G[i, e] * V[j, e]");
#undef ONE
}

/* A term is of one row, which its key says: what it multiplies is read there, if all keys are rows. */
static void parts_of_sums_by_keys_are_read_at_the_key(void **state) {
  (void)state;
#define KEYED(bound)                                                                              \
  "neo-ir 1\nmodule t\ninput k : i32 [90]" bound "\ninput p : f32 [90]\ninput G : f32 [50, 16]\n" \
  "input H : f32 [90, 16]\ntemp F : f32 [50]\n"                                                   \
  "def @1 F[v: 50] =\n  sum[e: 90, j: 16] where i64(k[e]) == v; exp(p[e]) * G[v, j] * H[e, j]\n"  \
  "entry forward forward: F = F\n"
  becomes(KEYED(" < 50"), "partial.F[e: 90] =\n    sum[j: 16] G[i64(k[e]), j] * H[e, j]",
          "sum[e: 90] where i64(k[e]) == v;\n    exp(p[e]) * partial.F[e]");
  becomes(KEYED(""), NULL, "exp(p[e]) * G[v, j] * H[e, j]");
#undef KEYED
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_sum_that_may_take_nothing_is_no_known_part),
      cmocka_unit_test(terms_that_the_program_says_are_added_up),
      cmocka_unit_test(a_factor_without_an_inner_axis_is_multiplied_once),
      cmocka_unit_test(a_factor_of_output_axes_leaves_the_sum),
      cmocka_unit_test(a_factor_of_output_axes_leaves_first),
      cmocka_unit_test(constants_stand_behind_the_sum),
      cmocka_unit_test(divisors_stand_behind_the_sum),
      cmocka_unit_test(divisors_that_matter_inside_stay),
      cmocka_unit_test(a_product_of_two_stays_as_it_is),
      cmocka_unit_test(nothing_leaves_a_sum_that_may_be_empty),
      cmocka_unit_test(conditions_on_inner_axes_keep_the_sum_whole),
      cmocka_unit_test(conditions_on_the_parts_axes_hold_for_both_halves),
      cmocka_unit_test(a_condition_on_output_axes_leaves_with_their_factor),
      cmocka_unit_test(a_choice_of_results_by_data_leaves_the_sum),
      cmocka_unit_test(a_condition_that_reads_rely_on_stays),
      cmocka_unit_test(a_part_that_there_is_is_read),
      cmocka_unit_test(a_part_over_the_same_points_is_read),
      cmocka_unit_test(a_part_that_other_ranges_lean_on_is_not_read),
      cmocka_unit_test(ranges_of_a_part_may_lean_on_each_other),
      cmocka_unit_test(a_part_that_is_not_the_same_is_not_read),
      cmocka_unit_test(parts_of_sums_by_keys_are_read_at_the_key),
      cmocka_unit_test(values_stay_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
