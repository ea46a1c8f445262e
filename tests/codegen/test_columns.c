/* Sums of runs of rows in the kernel that reduces the rows: with even and shorter last runs,
 * columns that are no whole vectors, one axis of rows and two, what the rows' kernel makes itself;
 * against the interpreters under random schedules. And what must keep a kernel of its own does. */
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include "tests/codegen/lower_test.h"
#include <stdio.h>
#include <string.h>

/* Kernels of the module (without its first two lines), and whether one of them adds up runs. */
static size_t groups_of(const char *text, bool *runs) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_names *names = neo_names_new(&a);
  neo_diags *diags = neo_diags_new(&a, neo_sources_new(&a));
  char *whole = neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s", text);
  neo_module *m = neo_module_parse(&a, names, diags, "test", whole, strlen(whole));
  neo_grouping g;
  neo_str s;
  neo_str_init(&s, &a);
  if (!m) {
    neo_diags_print(diags, &s, false);
    fail_msg("%s\n%s", text, neo_str_text(&s));
  }
  assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
  *runs = false;
  for (size_t k = 0; k < g.groups.n; k++)
    *runs = *runs || neo_form_row_block(neo_group_form(m, &g.groups.at[k]));
  size_t n = g.groups.n;
  neo_arena_free(&a);
  return n;
}

static void check(const char *text) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    lower_options o = {.seed = seed, .n_random = 6, .jit = seed == 1};
    lower_check(text, &o);
  }
}

static void joins(const char *text, size_t kernels) {
  bool runs;
  size_t n = groups_of(text, &runs);
  if (!runs || n != kernels)
    fail_msg("%zu kernels%s of\n%s", n, runs ? "" : ", without runs,", text);
  check(text);
}

static void stays_apart(const char *text) {
  bool runs;
  groups_of(text, &runs);
  if (runs)
    fail_msg("runs in a kernel of\n%s", text);
  check(text);
}

/* A normalisation's gradients: rows, columns, points of a run, runs, points of run s. */
static char *normalised(char *out, size_t n, int rows, int columns, int length) {
  int runs = (rows + length - 1) / length;
  char points[64];
  snprintf(points, sizeof points, rows % length ? "min(%d, %d - %d * s)" : "%d", length, rows,
           length);
  snprintf(out, n,
           "input X : f32 [%1$d, %2$d]\ninput D : f32 [%1$d, %2$d]\ntemp m : f32 [%1$d]\n"
           "temp Y : f32 [%1$d, %2$d]\ntemp P : f32 [%3$d, %2$d]\ntemp Q : f32 [%3$d, %2$d]\n"
           "temp S : f32 [%2$d]\ntemp T : f32 [%2$d]\n"
           "def m[r: %1$d] =\n  mean[c: %2$d] X[r, c]\n  then acc0\n"
           "def Y[r: %1$d, c: %2$d] = (X[r, c] - m[r]) * D[r, c]\n"
           "def P[s: %3$d, c: %2$d] =\n  sum[i: %4$s] D[%5$d * s + i, c] * "
           "(X[%5$d * s + i, c] - m[%5$d * s + i])\n  then acc0\n"
           "def Q[s: %3$d, c: %2$d] =\n  sum[i: %4$s] D[%5$d * s + i, c]\n  then acc0\n"
           "def S[c: %2$d] =\n  sum[s: %3$d] P[s, c]\n  then acc0\n"
           "def T[c: %2$d] =\n  sum[s: %3$d] Q[s, c]\n  then acc0\n"
           "entry forward forward: Y = Y, S = S, T = T\n",
           rows, columns, runs, points, length);
  return out;
}

static void columns_are_summed_with_the_rows(void **state) {
  (void)state;
  static const struct {
    int rows, columns, length;
  } at[] = {{12, 32, 3}, {12, 37, 4}, {13, 37, 4}, {40, 16, 16}, {41, 5, 16}, {9, 1, 2}};
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    char text[2000];
    normalised(text, sizeof text, at[k].rows, at[k].columns, at[k].length);
    joins(text, 3);
  }
}

static void rows_may_have_two_axes(void **state) {
  (void)state;
  joins("size B 0..4\ninput X : f32 [B, 12, 19]\ntemp m : f32 [B, 12]\ntemp P : f32 [B, 3, 19]\n"
        "temp S : f32 [19]\n"
        "def m[b: B, r: 12] =\n  max[c: 19] X[b, r, c]\n  then acc0\n"
        "def P[b: B, s: 3, c: 19] =\n"
        "  sum[i: 4] X[b, 4 * s + i, c] - m[b, 4 * s + i]\n  then acc0\n"
        "def S[c: 19] =\n  sum[b: B, s: 3] P[b, s, c]\n  then acc0\n"
        "entry forward forward: m = m, S = S\n",
        2);
}

static void results_of_the_rows_are_read_at_the_row(void **state) {
  (void)state;
  joins("input X : f32 [12, 19]\ntemp m : f32 [12]\ntemp Y : f32 [12, 19]\n"
        "temp P : f32 [3, 19]\n"
        "def m[r: 12] =\n  sum[c: 19] X[r, c]\n  then acc0 + 1.0\n"
        "def Y[r: 12, c: 19] = X[r, c] * m[r]\n"
        "def P[s: 3, c: 19] =\n  sum[i: 4] Y[4 * s + i, c] + m[4 * s + i]\n  then acc0\n"
        "entry forward forward: Y = Y, P = P\n",
        1);
  stays_apart("input X : f32 [12, 19]\ntemp m : f32 [12]\ntemp P : f32 [3, 19]\n"
              "def m[r: 12] =\n  sum[c: 19] X[r, c]\n  then acc0\n"
              "def P[s: 3, c: 19] =\n  sum[i: 4] X[4 * s + i, c] * m[11 - (4 * s + i)]\n"
              "  then acc0\n"
              "entry forward forward: m = m, P = P\n");
}

static void what_needs_a_later_kernel_stays_apart(void **state) {
  (void)state;
  stays_apart("input X : f32 [12, 19]\ntemp m : f32 [12]\ntemp t : f32 []\ntemp P : f32 [3, 19]\n"
              "def m[r: 12] =\n  sum[c: 19] X[r, c]\n  then acc0\n"
              "def t[] =\n  sum[r: 12] m[r] * m[11 - r]\n  then acc0\n"
              "def P[s: 3, c: 19] =\n  sum[i: 4] X[4 * s + i, c] * t[]\n  then acc0\n"
              "entry forward forward: m = m, P = P\n");
}

static void other_sums_are_no_runs(void **state) {
  (void)state;
  static const char *const sum[] = {
      "sum[i: 4] X[4 * s + i, c] * f32(i)", /* the place in the run matters */
      "sum[i: 4] X[3 * s + i, c]",          /* runs overlap */
      "sum[i: 3] X[4 * s + i, c]",          /* or leave something out */
      "max[i: 4] X[4 * s + i, c]",          "sum[i: 4] where i < 2; X[4 * s + i, c]",
  };
  for (size_t k = 0; k < sizeof sum / sizeof *sum; k++) {
    char text[600];
    snprintf(text, sizeof text,
             "input X : f32 [12, 19]\ntemp m : f32 [12]\ntemp P : f32 [3, 19]\n"
             "def m[r: 12] =\n  sum[c: 19] X[r, c]\n  then acc0\n"
             "def P[s: 3, c: 19] =\n  %s\n  then acc0\n"
             "entry forward forward: m = m, P = P\n",
             sum[k]);
    stays_apart(text);
  }
}

/* Any unit may run beside any other. */
static void a_run_belongs_to_one_unit(void **state) {
  (void)state;
  static const int rows[] = {12, 13, 16, 17}, units[] = {3, 4, 4, 5};
  for (int k = 0; k < 4; k++) {
    char text[2000];
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str why;
    neo_str_init(&why, &a);
    neo_names *names = neo_names_new(&a);
    neo_diags *diags = neo_diags_new(&a, neo_sources_new(&a));
    char *whole = neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s",
                                   normalised(text, sizeof text, rows[k], 7, 4));
    neo_module *m = neo_module_parse(&a, names, diags, "test", whole, strlen(whole));
    neo_grouping g;
    neo_kernel *made;
    int64_t n;
    assert_non_null(m);
    assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
    neo_schedule s = neo_schedule_plain();
    s.loops.unit_axes = 1;
    assert_true(neo_form_row_block(neo_group_form(m, &g.groups.at[0])));
    assert_int_equal(
        neo_lower(m, &g.groups.at[0], &s, neo_machine_named("x86-64-v3"), &a, &made, &why), NEO_OK);
    assert_true(neo_lx_is_int(made->units, &n));
    assert_int_equal(n, units[k]);
    neo_arena_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_are_summed_with_the_rows),
      cmocka_unit_test(a_run_belongs_to_one_unit),
      cmocka_unit_test(rows_may_have_two_axes),
      cmocka_unit_test(results_of_the_rows_are_read_at_the_row),
      cmocka_unit_test(what_needs_a_later_kernel_stays_apart),
      cmocka_unit_test(other_sums_are_no_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
