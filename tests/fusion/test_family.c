/* The identity of a group in records: its key is that of the same computation in any module, its
 * family that of any shape. */
#include "fusion/family.h"
#include "fusion/form.h"
#include "ir/print.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  neo_arena arena;
  neo_family of; /* of the group that writes Y */
} made;

static const neo_group *writer_of(const neo_module *m, const neo_grouping *g, const char *name) {
  neo_tensor t = neo_tensor_find(m, name);
  for (size_t k = 0; k < g->groups.n; k++)
    for (size_t i = 0; i < g->groups.at[k].roots.n; i++)
      if (g->groups.at[k].roots.at[i].i == t.i)
        return &g->groups.at[k];
  return NULL;
}

static made make(const char *text) {
  made x = {0};
  neo_grouping groups;
  neo_arena_init(&x.arena, neo_alloc_default, NULL);
  neo_arena *a = &x.arena;
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, a, NULL, &groups, NULL), NEO_OK);
  const neo_group *g = writer_of(m, &groups, "Y");
  assert_non_null(g);
  neo_group_form(m, g);
  uint32_t before = (uint32_t)m->nodes.n;
  neo_group_family(m, g, &x.of);
  assert_int_equal(m->nodes.n, before);
  return x;
}

enum { OTHER, SAME_FAMILY, SAME };

static int compare(const char *a, const char *b) {
  made x = make(a), y = make(b);
  bool key = memcmp(x.of.key, y.of.key, sizeof x.of.key) == 0;
  bool family = memcmp(x.of.family, y.of.family, sizeof x.of.family) == 0;
  assert_true(family || !key);
  /* each half tells as much as both */
  assert_int_equal(key, x.of.key[0] == y.of.key[0]);
  assert_int_equal(key, x.of.key[1] == y.of.key[1]);
  assert_int_equal(family, x.of.family[0] == y.of.family[0]);
  assert_int_equal(family, x.of.family[1] == y.of.family[1]);
  if (family)
    assert_int_equal(x.of.sizes.n, y.of.sizes.n);
  neo_arena_free(&x.arena);
  neo_arena_free(&y.arena);
  return key ? SAME : family ? SAME_FAMILY : OTHER;
}

#define PRODUCT(A, B, C, M, K, N, TYPE, BODY)                                             \
  "input " A " : " TYPE " [" M ", " K "]\ninput " B " : " TYPE " [" K ", " N "]\ntemp " C \
  " : " TYPE " [" M ", " N "]\ndef " C "[b: " M ", j: " N "] =\n  sum[i: " K "] " BODY    \
  "\n  then acc0\n"                                                                       \
  "entry forward forward: o = " C "\n"

static const char plain[] = PRODUCT("X", "W", "Y", "8", "16", "24", "f32", "X[b, i] * W[i, j]");

static void names_and_what_else_is_in_the_module_do_not_matter(void **state) {
  (void)state;
  assert_int_equal(compare(plain, plain), SAME);
  assert_int_equal(
      compare(plain, PRODUCT("P", "Q", "Y", "8", "16", "24", "f32", "P[b, i] * Q[i, j]")), SAME);
  char more[1024];
  snprintf(more, sizeof more,
           "input Z : f32 [3, 5]\ntemp U : f32 [5, 3]\n"
           "def U[j: 5, b: 3] = Z[b, j] * 2.5 + 1.0\n"
           "entry forward other: u = U\n%s",
           plain);
  assert_int_equal(compare(plain, more), SAME);
}

static void shapes_are_one_family_and_have_their_sizes(void **state) {
  (void)state;
  const char *other = PRODUCT("X", "W", "Y", "7", "160", "3", "f32", "X[b, i] * W[i, j]");
  assert_int_equal(compare(plain, other), SAME_FAMILY);
  made x = make(other);
  assert_int_equal(x.of.sizes.n, 3);
  assert_int_equal(x.of.sizes.at[0], 7);
  assert_int_equal(x.of.sizes.at[1], 3);
  assert_int_equal(x.of.sizes.at[2], 160);
  neo_arena_free(&x.arena);
}

static void types_structure_and_reducers_make_other_families(void **state) {
  (void)state;
  assert_int_equal(
      compare(plain, PRODUCT("X", "W", "Y", "8", "16", "24", "f64", "X[b, i] * W[i, j]")), OTHER);
  assert_int_equal(
      compare(plain, PRODUCT("X", "W", "Y", "8", "16", "24", "f32", "X[b, i] - W[i, j]")), OTHER);
  assert_int_equal(
      compare(plain, PRODUCT("X", "W", "Y", "8", "16", "24", "f32", "X[b, i] * exp(W[i, j])")),
      OTHER);
  assert_int_equal(compare("input X : f32 [9]\ntemp Y : f32 []\ndef Y[] =\n  sum[i: 9] X[i]\n"
                           "  then acc0\nentry forward forward: o = Y\n",
                           "input X : f32 [9]\ntemp Y : f32 []\ndef Y[] =\n  max[i: 9] X[i]\n"
                           "  then acc0\nentry forward forward: o = Y\n"),
                   OTHER);
}

static void which_axis_is_contiguous_is_no_matter_of_shape(void **state) {
  (void)state;
  static const char text[] = "input X : f32 [8, 16]\ninput W : f32 [24, 16]\n"
                             "temp Y : f32 [8, 24]\ndef Y[b: 8, j: 24] =\n"
                             "  sum[i: 16] X[b, i] * W[j, i]\n  then acc0\n"
                             "entry forward forward: o = Y\n";
  assert_int_equal(compare(plain, text), OTHER);
}

/* A read that only its condition keeps inside depends on the length, which is of the key alone. */
static void lengths_that_conditions_need_are_one_family(void **state) {
  (void)state;
  static const char four[] = "input X : f32 [4]\ntemp Y : f32 [6]\n"
                             "def Y[j: 6] = (X[j + 1] else 0.5)\nentry forward f: o = Y\n",
                    five[] = "input X : f32 [5]\ntemp Y : f32 [6]\n"
                             "def Y[j: 6] = (X[j + 1] else 0.5)\nentry forward f: o = Y\n";
  assert_int_equal(compare(four, four), SAME);
  assert_int_equal(compare(four, five), SAME_FAMILY);
}

static void which_way_an_axis_is_read_is_no_matter_of_shape(void **state) {
  (void)state;
  static const char head[] = "input X : f32 [8, 16]\ntemp Y : f32 [8, 16]\n"
                             "def Y[i: 8, j: 16] = ",
                    tail[] = "\nentry forward forward: o = Y\n";
  static const char *const at[] = {"X[i, j]", "X[i, 15 - j]", "X[7 - i, j]", "X[7 - i, 15 - j]",
                                   "X[i, 15]"};
  static const char turned[] = "X[i, -1 * j + 15]";
  enum { N = sizeof at / sizeof *at };
  char text[N][256];
  for (int k = 0; k < N; k++)
    snprintf(text[k], sizeof text[k], "%sexp(%s)%s", head, at[k], tail);
  for (int k = 0; k < N; k++)
    for (int i = 0; i < k; i++)
      assert_int_equal(compare(text[i], text[k]), OTHER);
  snprintf(text[0], sizeof text[0], "%sexp(%s)%s", head, turned, tail);
  assert_int_equal(compare(text[0], text[1]), SAME);
  assert_int_equal(compare(text[0], text[4]), OTHER);
}

#define EACH(BODY)                                                                             \
  "input A : f32 [8, 8]\ninput B : f32 [8, 8]\ntemp Y : f32 [8, 8]\ndef Y[i: 8, j: 8] = " BODY \
  "\nentry forward forward: o = Y\n"

static void the_order_of_a_sum_does_not_matter(void **state) {
  (void)state;
  assert_int_equal(compare(EACH("A[i, j] * exp(A[j, i])"), EACH("exp(A[j, i]) * A[i, j]")), SAME);
  assert_int_equal(compare(EACH("select(A[i, j] < 1.0 and A[j, i] < 2.0, A[i, j], 0.0)"),
                           EACH("select(A[j, i] < 2.0 and A[i, j] < 1.0, A[i, j], 0.0)")),
                   SAME);
  assert_int_equal(compare(EACH("select(A[i, j] < 1.0 or A[j, i] < 2.0, A[i, j], 0.0)"),
                           EACH("select(A[j, i] < 2.0 or A[i, j] < 1.0, A[i, j], 0.0)")),
                   SAME);
  assert_int_equal(compare(EACH("A[i, j] - A[j, i]"), EACH("A[j, i] - A[i, j]")), OTHER);
  assert_int_equal(compare(EACH("A[i, j] * A[i, j]"), EACH("A[i, j] * A[j, i]")), OTHER);
}

static void constants_are_in_the_key_alone(void **state) {
  (void)state;
  assert_int_equal(compare(EACH("A[i, j] * 2.0 + B[j, i]"), EACH("A[i, j] * 3.0 + B[j, i]")),
                   SAME_FAMILY);
}

#define LINE(BOUNDS, SIZE)                                                               \
  "size n " BOUNDS "\ninput X : f32 [" SIZE "]\ntemp Y : f32 [" SIZE "]\ndef Y[i: " SIZE \
  "] = X[i] "                                                                            \
  "+ 1.0\nentry forward forward: o = Y\n"

static void runtime_sizes_count_by_their_bounds(void **state) {
  (void)state;
  assert_int_equal(compare(LINE("1..64", "n"), LINE("1..64", "n")), SAME);
  assert_int_equal(compare(LINE("1..64", "n"), LINE("1..128", "n")), SAME_FAMILY);
  assert_int_equal(compare(LINE("1..64", "n"), LINE("1..64", "64")), OTHER);
  char second[512];
  snprintf(second, sizeof second, "size m 2..9\ninput Z : f32 [m]\n%s", LINE("1..64", "n"));
  assert_int_equal(compare(LINE("1..64", "n"), second), SAME);
  made x = make(LINE("1..64", "n"));
  assert_int_equal(x.of.sizes.at[0], 64);
  neo_arena_free(&x.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_what_else_is_in_the_module_do_not_matter),
      cmocka_unit_test(shapes_are_one_family_and_have_their_sizes),
      cmocka_unit_test(types_structure_and_reducers_make_other_families),
      cmocka_unit_test(which_axis_is_contiguous_is_no_matter_of_shape),
      cmocka_unit_test(lengths_that_conditions_need_are_one_family),
      cmocka_unit_test(which_way_an_axis_is_read_is_no_matter_of_shape),
      cmocka_unit_test(the_order_of_a_sum_does_not_matter),
      cmocka_unit_test(constants_are_in_the_key_alone),
      cmocka_unit_test(runtime_sizes_count_by_their_bounds),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
