/* Sums of columns of reduced rows become sums of runs; other sums stay; values do too (data are
 * small integers, so that sums are exact in any order). */
#include "tests/transform/world.h"

#define HEAD                                                                                  \
  "neo-ir 1\nmodule t\nsize N 1..2\ninput x : f32 [1100, 1000]\ninput d : f32 [1100, 1000]\n" \
  "input w : f32 [N, 600, 2000]\ninput u : f32 [100, 1000]\ntemp m : f32 [1100]\n"            \
  "temp v : f32 [N, 600]\ntemp t : f32 [100]\ntemp S : f32 [1000]\ntemp W : f32 [2000]\n"     \
  "def @1 m[r: 1100] =\n  max[c: 1000] x[r, c]\n  then acc0\n"                                \
  "def @2 v[n: N, r: 600] =\n  max[c: 2000] w[n, r, c]\n  then acc0\n"                        \
  "def @3 t[r: 100] =\n  max[c: 1000] u[r, c]\n  then acc0\n"

#define becomes(def, parts, whole) becomes_by(neo_pass_rfactor_columns, HEAD, def, parts, whole)
#define OF(out) "entry forward forward: m = m, v = v, t = t, o = " out "\n"

static void columns_of_reduced_rows_are_summed_in_runs(void **state) {
  (void)state;
  becomes("def @4 S[c: 1000] =\n  sum[r: 1100] x[r, c] - m[r]\n  then acc0 * 2.0\n" OF("S"),
          "sum[r: min(18, 1100 - 18 * run)] x[18 * run + r, c] - m[18 * run + r]",
          "sum[run: 62] partial.S[run, c]\n    then acc0 * 2.0");
}

static void runs_end_with_the_inner_axis_of_rows(void **state) {
  (void)state;
  becomes("def @4 W[c: 2000] =\n  sum[n: N, r: 600] w[n, r, c]\n  then acc0\n" OF("W"),
          "partial.W[n: N, run: 30, c: 2000] =\n    sum[r: 20] w[n, 20 * run + r, c]",
          "sum[n: N, run: 30] partial.W[n, run, c]");
}

static void other_sums_stay(void **state) {
  (void)state;
  static const char *const sum[] = {
      "max[r: 1100] x[r, c]",                      /* no sum */
      "sum[r: 1100] d[r, c]",                      /* no rows of d are reduced */
      "sum[r: 1100] where r <= c; x[r, c]",        /* not of all rows */
      "sum[r: 1000] x[r, c]",                      /* nor here */
      "sum[r: 100] u[r, c]",                       /* fits into a cache */
      "sum[r: 1100, k: 2] x[r, c] * m[r + k - k]", /* not over rows alone */
      "sum[r: 1000] x[c, r]",                      /* rows */
  };
  for (size_t k = 0; k < sizeof sum / sizeof *sum; k++) {
    char text[400];
    snprintf(text, sizeof text, "def @4 S[c: 1000] =\n  %s\n  then acc0\n%s", sum[k], OF("S"));
    becomes(text, NULL, "def @4 S[c: 1000] =");
  }
}

static void values_stay_the_same(void **state) {
  (void)state;
  world before, after;
  const char *text = HEAD "def @4 S[c: 1000] =\n  sum[r: 1100] x[r, c] - m[r]\n  then acc0 * 2.0\n"
                          "entry forward forward: S = S\n";
  load(&before, text);
  load(&after, text);
  apply(&after, neo_pass_rfactor_columns);
  assert_non_null(strstr(text_of(&after), "partial."));
  const neo_values *x = neo_interp_output(values_of(&before, 1), 0);
  const neo_values *y = neo_interp_output(values_of(&after, 1), 0);
  for (int64_t i = 0; i < x->n; i++)
    assert_memory_equal(&x->at[i], &y->at[i], sizeof x->at[i]);
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_of_reduced_rows_are_summed_in_runs),
      cmocka_unit_test(runs_end_with_the_inner_axis_of_rows),
      cmocka_unit_test(other_sums_stay),
      cmocka_unit_test(values_stay_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
