/* Values of a row that stages share (schedule/row_stash.h): which are found, and who may read them. */
#include "base/machine.h"
#include "fusion/form.h"
#include "ir/print.h"
#include "schedule/row_stash.h"
#include "schedule/schedule.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct {
  neo_arena arena;
  neo_module *m;
  const neo_form *f;
} world;

/* The form of the last group; the text has no first two lines. */
static void load(world *w, const char *text) {
  neo_grouping all;
  neo_arena *a = &w->arena;
  neo_arena_init(a, neo_alloc_default, NULL);
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  w->m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(w->m);
  assert_int_equal(neo_fuse_with(w->m, a, NULL, &all, NULL), NEO_OK);
  w->f = neo_group_form(w->m, &all.groups.at[all.groups.n - 1]);
}

#define HEAD \
  "input X : f32 [6, 40]\ninput D : f32 [6, 40]\ninput n : i32 [6, 40] < 9\ntemp s : f32 [6]\n"
#define SUM(range, what) "def s[i: 6] =\n  sum[j: " range "] " what "\n  then acc0\n"
#define MAP(extent, what) "temp Y : f32 [6, " extent "]\ndef Y[i: 6, j: " extent "] = " what "\n"
#define ENTRY "entry forward forward: Y = Y\n"

/* The stash of a sum and a map that share their rows. */
static neo_stash found(world *w, const char *text, bool threads) {
  load(w, text);
  return neo_stash_find(w->m, w->f, threads);
}

static uint32_t number(const char *text, bool threads) {
  world w;
  neo_stash all = found(&w, text, threads);
  neo_arena_free(&w.arena);
  return all.n;
}

static void the_largest_value_that_two_stages_have_is_found(void **state) {
  (void)state;
  world w;
  neo_stash all = found(&w,
                        HEAD SUM("40", "D[i, j] * exp(X[i, j] - D[i, j])")
                            MAP("40", "s[i] * exp(X[i, j] - D[i, j])") ENTRY,
                        false);
  assert_int_equal(all.n, 1);
  assert_int_equal(all.row, 40);
  assert_int_equal(all.at[0].first, 0);
  assert_int_equal(neo_expr_node(w.m, all.at[0].value)->op, NEO_OP_EXP);
  neo_arena_free(&w.arena);
}

static void a_value_is_kept_once_however_often_it_is_read(void **state) {
  (void)state;
  world w;
  neo_stash all = found(
      &w,
      HEAD "temp t : f32 [6]\n" SUM(
          "40", "tanh(X[i, j])") "def t[i: 6] =\n"
                                 "  sum[j: 40] D[i, j] * s[i] * tanh(X[i, j])\n  then acc0\n" MAP(
                                     "40",
                                     "s[i] + t[i] * tanh(X[i, j]) * sin(D[i, j] * tanh(X[i, j]))")
                                     ENTRY,
      false);
  assert_int_equal(all.n, 1);
  assert_int_equal(all.at[0].first, 0);
  neo_arena_free(&w.arena);
}

/* As a softmax of tanh: the value is in its maximum, its sum and its result. */
static void a_value_of_three_stages_is_kept_once(void **state) {
  (void)state;
  static const char text[] =
      HEAD "temp t : f32 [6]\n"
           "def s[i: 6] =\n  max[j: 40] tanh(X[i, j])\n  then acc0\n"
           "def t[i: 6] =\n  sum[j: 40] exp(tanh(X[i, j]) - s[i])\n  then acc0\n" MAP(
               "40", "sin(tanh(X[i, j])) / t[i]") ENTRY;
  for (int threads = 0; threads < 2; threads++) {
    world w;
    neo_stash all = found(&w, text, threads);
    assert_int_equal(w.f->stages.n, 3);
    assert_int_equal(all.n, 1);
    assert_int_equal(neo_expr_node(w.m, all.at[0].value)->op, NEO_OP_TANH);
    neo_arena_free(&w.arena);
  }
}

static void cheap_values_are_computed_again(void **state) {
  (void)state;
  assert_int_equal(number(HEAD SUM("40", "X[i, j] * D[i, j]") MAP("40", "s[i] + X[i, j] * D[i, j]")
                              ENTRY,
                          false),
                   0);
}

/* Integers have lanes of another width. */
static void numbers_are_kept_and_integers_are_not(void **state) {
  (void)state;
  world w;
  neo_stash all = found(&w,
                        HEAD SUM("40", "f32(i32(exp(X[i, j])))")
                            MAP("40", "s[i] * f32(sqrt(f64(i32(exp(X[i, j])))))") ENTRY,
                        false);
  assert_int_equal(all.n, 1);
  assert_int_equal(neo_expr_node(w.m, all.at[0].value)->op, NEO_OP_EXP);
  neo_arena_free(&w.arena);
  all = found(&w,
              HEAD SUM("40", "f32(exp(f64(X[i, j])))")
                  MAP("40", "s[i] * f32(sqrt(exp(f64(X[i, j]))))") ENTRY,
              false);
  assert_int_equal(all.n, 1);
  assert_int_equal(neo_expr_type(w.m, all.at[0].value), NEO_F64_T);
  neo_arena_free(&w.arena);
}

/* A register spares what is loaded from memory, if it is a number of the row. */
static void threads_keep_what_they_load(void **state) {
  (void)state;
  const char *loads = HEAD SUM("40", "X[i, j]") MAP("40", "s[i] + X[i, j]") ENTRY;
  const char *cached = "input c : f32 [40]\n" HEAD SUM("40", "c[j]") MAP("40", "s[i] + c[j]") ENTRY;
  assert_int_equal(number(loads, true), 1);
  assert_int_equal(number(loads, false), 0);
  assert_int_equal(number(cached, true), 0);
}

static void only_whole_rows_from_0_on_without_conditions_are_kept(void **state) {
  (void)state;
  const struct {
    const char *sum;
    uint32_t n;
  } all[] = {
      {SUM("40", "exp(X[i, j])"), 1},
      {SUM("1..40", "exp(X[i, j])"), 0},
      {"def s[i: 6] =\n  sum[j: 40]\n  where D[i, j] < 0.5;\n  exp(X[i, j])\n  then acc0\n", 0},
      {"def s[i: 6] =\n  sum[j: 40, k: 40] exp(X[i, j]) * D[i, k]\n  then acc0\n", 0},
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    assert_int_equal(number(neo_arena_printf(&a, "%s%s%s%s", HEAD, all[k].sum,
                                             MAP("40", "s[i] * exp(X[i, j])"), ENTRY),
                            false),
                     all[k].n);
    neo_arena_free(&a);
  }
}

/* ---- who reads it */

static bool has_all(world *w, neo_prover *p, const neo_stash *stash, uint32_t stage) {
  neo_axis_rec axis[64];
  const neo_stage *s = &w->f->stages.at[stage];
  neo_facts facts = {.axes = axis, .n_axes = neo_stage_axes(w->f, s, axis)};
  return neo_stash_has_all(w->m, p, stash, s, &facts);
}

/* The last stage is a map over `range` of 80 columns. */
static bool may_read(const char *range, int64_t row) {
  world w;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  load(&w,
       neo_arena_printf(
           &a,
           "size N 1..40\nsize M 1..80\ninput X : f32 [6, 80]\ntemp s : f32 [6]\ntemp t : f32 [6]\n"
           "def s[i: 6] =\n  sum[j: 80] X[i, j]\n  then acc0\n"
           "def t[i: 6] =\n  sum[j: %s] X[i, j] * s[i]\n  then acc0\n"
           "entry forward forward: t = t\n",
           range));
  neo_prover *p = neo_prover_new(w.m);
  neo_stash stash = {.n = 1, .row = row};
  uint32_t last = (uint32_t)w.f->stages.n - 1;
  while (!w.f->stages.at[last].axes.n)
    last--;
  bool may = has_all(&w, p, &stash, last);
  neo_prover_free(p);
  neo_arena_free(&w.arena);
  neo_arena_free(&a);
  return may;
}

static void stages_read_a_row_that_has_all_of_their_elements(void **state) {
  (void)state;
  assert_true(may_read("40", 40));
  assert_false(may_read("41", 40));
  assert_true(may_read("3..40", 40));
  assert_true(may_read("N", 40));
  assert_false(may_read("M", 40));
  assert_true(may_read("i..i + 35", 40));
  assert_false(may_read("i..i + 36", 40));
}

/* A thread keeps its elements of a row in registers: 32 of them beside all else are too many for 1024 threads. */
static void threads_keep_no_more_than_their_registers_hold(void **state) {
  (void)state;
  static const struct {
    int row, threads;
    bool legal;
  } cases[] = {{1024, 512, true}, {1024, 1024, false}, {512, 1024, true}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[600], schedule[100];
    neo_arena a;
    neo_grouping g;
    neo_schedule s;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    int n = cases[k].row, unroll = n / 32;
    (void)snprintf(text, sizeof text,
                   "neo-ir 1\nmodule t\ninput X : f32 [60, %d]\ntemp s : f32 [60]\n"
                   "temp Y : f32 [60, %d]\ndef s[i: 60] =\n  sum[j: %d] exp(X[i, j])\n  then acc0\n"
                   "def Y[i: 60, j: %d] = exp(X[i, j]) / s[i]\nentry forward forward: Y = Y\n",
                   n, n, n, n);
    (void)snprintf(schedule, sizeof schedule, "gpu_rows threads=%d lanes=32 unroll_k=%d stash=1",
                   cases[k].threads, unroll);
    neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
    neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", text, strlen(text));
    assert_non_null(m);
    assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
    assert_true(neo_schedule_parse(schedule, &s));
    bool legal =
        neo_schedule_legal(m, &g.groups.at[g.groups.n - 1], neo_machine_named("sm_90a"), &s, &why);
    if (legal != cases[k].legal || (!legal && !strstr(neo_str_text(&why), "exceeds the registers")))
      fail_msg("%zu: '%s'", k, neo_str_text(&why));
    neo_arena_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_largest_value_that_two_stages_have_is_found),
      cmocka_unit_test(a_value_is_kept_once_however_often_it_is_read),
      cmocka_unit_test(a_value_of_three_stages_is_kept_once),
      cmocka_unit_test(cheap_values_are_computed_again),
      cmocka_unit_test(numbers_are_kept_and_integers_are_not),
      cmocka_unit_test(threads_keep_what_they_load),
      cmocka_unit_test(threads_keep_no_more_than_their_registers_hold),
      cmocka_unit_test(only_whole_rows_from_0_on_without_conditions_are_kept),
      cmocka_unit_test(stages_read_a_row_that_has_all_of_their_elements),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
