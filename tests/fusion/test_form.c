/* Groups as loops over flat offsets: what becomes one axis, what stays, what is known by form. */
#include "fusion/form.h"
#include "ir/print.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  neo_arena arena;
  neo_module *m;
  neo_grouping groups;
} world;

/* A text without its first two lines. */
static void load(world *w, const char *text) {
  neo_arena *a = &w->arena;
  neo_arena_init(a, neo_alloc_default, NULL);
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  w->m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(w->m);
  assert_int_equal(neo_fuse_with(w->m, a, NULL, &w->groups, NULL), NEO_OK);
}

static const neo_form *form_at(world *w, size_t k) {
  assert_true(k < w->groups.groups.n);
  return neo_group_form(w->m, &w->groups.groups.at[k]);
}

static void a_form_keeps_one_axis_of_a_single_element(void **state) {
  (void)state;
  world w;
  load(&w, "input X : f32 [1, 1]\ntemp Y : f32 [1, 1]\ndef Y[i: 1, j: 1] = exp(X[i, j])\n"
           "entry forward f: y = Y\n");
  assert_int_equal(form_at(&w, 0)->axes.n, 1);
  neo_arena_free(&w.arena);
}

static void axes_of_a_sum_that_are_walked_as_one_are_one(void **state) {
  (void)state;
  world w;
  load(&w, "input X : f32 [4, 8]\ntemp Y : f32 []\ndef Y[] =\n  sum[i: 4, j: 8] X[i, j]\n"
           "  then acc0\nentry forward f: y = Y\n");
  assert_int_equal(form_at(&w, 0)->stages.at[0].axes.n, 1);
  neo_arena_free(&w.arena);
  load(&w, "input X : f32 [4, 8]\ntemp Y : f32 []\ndef Y[] =\n  sum[i: 4, j: 2..8] X[i, j]\n"
           "  then acc0\nentry forward f: y = Y\n");
  assert_int_equal(form_at(&w, 0)->stages.at[0].axes.n, 2);
  neo_arena_free(&w.arena);
}

static void a_logsumexp_is_known_by_its_form(void **state) {
  (void)state;
  world w;
  load(&w, "input X : f32 [4, 8]\ntemp Y : f32 [4]\ndef Y[i: 4] =\n  logsumexp[j: 8] X[i, j]\n"
           "  then acc0\nentry forward f: y = Y\n");
  const neo_form *f = form_at(&w, 0);
  assert_true(neo_form_is_logsumexp(w.m, &f->stages.at[0], &f->stages.at[1]));
  neo_arena_free(&w.arena);
  load(&w, "input X : f32 [4, 8]\ntemp M : f32 [4]\ntemp Y : f32 [4]\n"
           "def M[i: 4] =\n  max[j: 8] X[i, j]\n  then acc0\n"
           "def Y[i: 4] =\n  sum[j: 8] exp(X[i, j] + M[i])\n  then acc0\n"
           "entry forward f: y = Y\n");
  f = form_at(&w, 0);
  assert_int_equal(w.groups.groups.n, 1);
  assert_false(neo_form_is_logsumexp(w.m, &f->stages.at[0], &f->stages.at[1]));
  neo_arena_free(&w.arena);
}

static void sums_over_ranges_from_data_have_kernels_of_their_own(void **state) {
  (void)state;
  world w;
  load(&w, "input n : i64 [64] < 65\ninput x : f32 [64]\ninput y : f32 [64]\n"
           "temp a : f32 [64]\ntemp b : f32 [64]\n"
           "def a[i: 64] =\n  sum[k: 0..n[i]] x[k]\n  then acc0\n"
           "def b[i: 64] =\n  sum[k: 0..n[i]] y[k]\n  then acc0\n"
           "entry forward f: a = a, b = b\n");
  assert_int_equal(w.groups.groups.n, 2);
  neo_arena_free(&w.arena);
}

/* Each runs along its axis with its sum so far. */
static void sums_over_domains_that_grow_have_kernels_of_their_own(void **state) {
  (void)state;
  world w;
  load(&w, "input x : f32 [64]\ninput y : f32 [64]\ntemp a : f32 [64]\ntemp b : f32 [64]\n"
           "def a[i: 64] =\n  sum[k: 0..i + 1] x[k]\n  then acc0\n"
           "def b[i: 64] =\n  sum[k: 0..i + 1] y[k]\n  then acc0\n"
           "entry forward f: a = a, b = b\n");
  assert_int_equal(w.groups.groups.n, 2);
  neo_arena_free(&w.arena);
}

static int64_t most(world *w, const char *tensor, uint32_t k) {
  return neo_extent_most(w->m, neo_tensor_extent(w->m, neo_tensor_find(w->m, tensor), k));
}

static void extents_are_bounded_by_their_sizes_and_saturate(void **state) {
  (void)state;
  world w;
  load(&w, "size N 0..7\nsize M 0..4611686018427387904\n"
           "input A : f32 [3*N + 1, N - 2, (N + 1) / 2, min(N, 5), max(N, 9)]\n"
           "input B : f32 [M * M]\ntemp Y : f32 [N]\ndef Y[i: N] = 1.0\n"
           "entry forward f: y = Y\n");
  assert_int_equal(most(&w, "A", 0), 22);
  assert_int_equal(most(&w, "A", 1), 5);
  assert_int_equal(most(&w, "A", 2), 4);
  assert_int_equal(most(&w, "A", 3), 5);
  assert_int_equal(most(&w, "A", 4), 9);
  assert_true(most(&w, "B", 0) >= INT64_MAX / 4);
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_form_keeps_one_axis_of_a_single_element),
      cmocka_unit_test(axes_of_a_sum_that_are_walked_as_one_are_one),
      cmocka_unit_test(a_logsumexp_is_known_by_its_form),
      cmocka_unit_test(sums_over_ranges_from_data_have_kernels_of_their_own),
      cmocka_unit_test(sums_over_domains_that_grow_have_kernels_of_their_own),
      cmocka_unit_test(extents_are_bounded_by_their_sizes_and_saturate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
