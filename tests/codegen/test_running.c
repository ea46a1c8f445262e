/* Reductions whose domain grows with an output axis are run along it: every shape of the domain,
 * with all reducers, against the interpreters; and what only looks like one is left alone. */
#include "ir/print.h"
#include "schedule/scan/scan.h"
#include "schedule/schedule.h"
#include "tests/codegen/lower_test.h"
#include <stdio.h>
#include <string.h>

static void check(const char *text) {
  for (uint64_t seed = 1; seed <= 2; seed++) {
    lower_options o = {.seed = seed, .n_random = seed == 1 ? 3 : 6, .jit = seed == 1};
    lower_check(text, &o);
  }
}

/* Is the only group of the module (without its first two lines) found to be one? */
static bool is_running(const char *text) {
  neo_arena a;
  neo_scan x;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_names *names = neo_names_new(&a);
  neo_diags *diags = neo_diags_new(&a, neo_sources_new(&a));
  char *whole = neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s", text);
  neo_module *m = neo_module_parse(&a, names, diags, "test", whole, strlen(whole));
  neo_str s;
  neo_str_init(&s, &a);
  if (!m) {
    neo_diags_print(diags, &s, false);
    fail_msg("%s\n%s", text, neo_str_text(&s));
  }
  neo_group g = {0};
  neo_member member = {{(uint32_t)m->defs.n - 1}, NEO_PLACE_ROOT, NULL, false};
  NEO_PUSH(&a, &g.members, member);
  neo_group_finish(m, &a, &g);
  bool yes = neo_scan_of(m, &g, &x);
  neo_arena_free(&a);
  return yes;
}

static const struct {
  const char *range, *where;
} growing[] = {
    {"k: 0..i + 1", ""},
    {"k: 0..i", ""},
    {"k: i..N", ""},
    {"k: i + 1..N", ""},
    {"k: N", "where k <= i; "},
    {"k: N", "where i < k; "},
    {"k: N", "where k < 3 * i - 4; "},
    {"k: N", "where 2 * i - 5 <= k; "},
    {"k: N", "where k + i < N; "},
    {"k: N", "where N <= k + 2 * i; "},
    {"k: 2..min(i + 3, N)", ""},
    {"k: max(0, i - 2)..N", ""},
    {"k: N", "where k < i + 7; "},
    {"k: 1..N", "where k < 4 and k <= i; "},
    {"k: N", "where 0.0 < X[b, k] and k <= i; "},
};

/* Its range is empty, from which anything would follow. */
static void a_domain_that_never_has_a_point_is_empty(void **state) {
  (void)state;
  const char *text = "size N 1..1\ninput X : f32 [9, N]\ntemp Y : f32 [9, N]\n"
                     "def Y[b: 9, i: N] =\n  sum[k: i + 1..N] X[b, k]\n  then acc0 + 1.0\n";
  assert_true(is_running(text));
  check(text);
}

static void domains_that_grow_are_run_along_their_axis(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof growing / sizeof *growing; k++) {
    char text[800];
    snprintf(text, sizeof text,
             "size N 0..23\nsize B 0..9\ninput X : f32 [B, N]\ntemp Y : f32 [B, N]\n"
             "def Y[b: B, i: N] =\n  sum[%s] %sX[b, k]\n  then acc0 * 2.0\n",
             growing[k].range, growing[k].where);
    if (!is_running(text))
      fail_msg("%s%s is not run along i", growing[k].range, growing[k].where);
    check(text);
    snprintf(text, sizeof text,
             "size N 1..23\nsize B 0..19\ninput X : f32 [B, N]\ntemp Y : f32 [N, B]\n"
             "def Y[i: N, b: B] =\n  sum[%s] %sX[b, k]\n  then acc0 + X[b, i]\n",
             growing[k].range, growing[k].where);
    assert_true(is_running(text));
    check(text);
  }
}

static void every_reducer_can_run(void **state) {
  (void)state;
  static const char *const reducer[] = {"sum", "prod", "max", "min", "mean"};
  for (size_t k = 0; k < sizeof reducer / sizeof *reducer; k++)
    for (int suffix = 0; suffix < 2; suffix++) {
      char text[600];
      snprintf(text, sizeof text,
               "size N 1..30\ninput X : f32 [6, N]\ntemp Y : f32 [6, N]\n"
               "def Y[b: 6, i: N] =\n  %s[k: N] where %s; X[b, k]\n  then acc0\n",
               reducer[k], suffix ? "i <= k" : "k <= i");
      assert_true(is_running(text));
      check(text);
    }
  check("size N 1..30\ninput X : bool [6, N]\ntemp Y : bool [6, N]\n"
        "def Y[b: 6, i: N] =\n  any[k: N] where k < i; X[b, k]\n  then acc0\n");
  check("size N 1..30\ninput X : bool [6, N]\ntemp Y : bool [N, 6]\n"
        "def Y[i: N, b: 6] =\n  all[k: N] where i < k; X[b, k]\n  then acc0\n");
  check("size N 1..30\ninput X : i32 [6, N] < 50\ntemp Y : i32 [6, N]\n"
        "def Y[b: 6, i: N] =\n  sum[k: 0..i] X[b, k]\n  then acc0 - X[b, i]\n");
}

static void the_place_of_the_winner_so_far_is_kept(void **state) {
  (void)state;
  const char *text = "size N 1..30\ninput X : i32 [N, 9] < 4\ntemp V : i32 [N, 9]\n"
                     "temp I : i64 [N, 9]\n"
                     "def (V, I)[i: N, b: 9] =\n  max[k: N] where k <= i; X[k, b], k\n"
                     "  then acc0, acc1\n";
  assert_true(is_running(text));
  check(text);
  text = "size N 1..30\ninput X : f32 [9, N]\ntemp V : f32 [9, N]\ntemp I : i64 [9, N]\n"
         "def (V, I)[b: 9, i: N] =\n  min[k: N] where k < i; X[b, k], k + 3\n  then acc0, acc1\n";
  assert_true(is_running(text));
  check(text);
}

static void other_axes_are_reduced_at_every_step(void **state) {
  (void)state;
  const char *text = "size N 1..12\ninput X : f32 [5, N, 3]\ntemp Y : f32 [N]\n"
                     "def Y[i: N] =\n  sum[a: 5, k: 0..i + 1, c: 0..k + 1] (X[a, k, c] else 1.0)\n"
                     "  then acc0\n";
  assert_true(is_running(text));
  check(text);
  text =
      "size N 1..12\ninput X : f32 [5, N, 3]\ntemp Y : f32 [5, N]\n"
      "def Y[a: 5, i: N] =\n  prod[k: N, c: 3] where i < k and c <= a; X[a, k, c]\n  then acc0\n";
  assert_true(is_running(text));
  check(text);
}

static void what_depends_on_the_axis_elsewhere_is_left_alone(void **state) {
  (void)state;
  static const char *const text[] = {
      "sum[k: 0..i + 1] X[b, k] * X[b, i]",                /* the body */
      "sum[k: N] where k <= i and i <= k + 3; X[b, k]",    /* a window */
      "sum[k: N] where k <= i and 0.0 < X[b, i]; X[b, k]", /* the rest of the condition */
      "sum[k: N] where 2 * k <= i; X[b, k]",               /* steps of a half */
      "sum[k: N] where k <= i % 3; X[b, k]",
      "sum[k: N] where k <= i or k == 3; X[b, k]",
      "sum[k: N] where k <= b; X[b, i]",
      "sum[k: N, c: 0..i + 1] where k <= i; X[b, k]",
      "max[k: N] where i <= k; X[b, k], k", /* the first of equals comes last */
  };
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    char whole[600];
    snprintf(whole, sizeof whole,
             "size N 1..14\nsize B 1..5\ninput X : f32 [B, N]\ntemp Y : f32 [B, N]\n"
             "def Y[b: B, i: N] =\n  %s\n  then acc0%s\n",
             text[k], text[k][0] == 'm' ? " + f32(acc1)" : "");
    if (is_running(whole))
      fail_msg("%s is run along i", text[k]);
    check(whole);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(domains_that_grow_are_run_along_their_axis),
      cmocka_unit_test(a_domain_that_never_has_a_point_is_empty),
      cmocka_unit_test(every_reducer_can_run),
      cmocka_unit_test(the_place_of_the_winner_so_far_is_kept),
      cmocka_unit_test(other_axes_are_reduced_at_every_step),
      cmocka_unit_test(what_depends_on_the_axis_elsewhere_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
