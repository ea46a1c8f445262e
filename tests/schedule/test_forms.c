/* Patterns that are found by their form: sums over a data equation, reductions whose domain
 * grows with an axis, contractions. And that what only looks like them is not taken for them. */
#include "fusion/form.h"
#include "ir/print.h"
#include "schedule/contract.h"
#include "schedule/keyed_scan/keyed_scan.h"
#include "schedule/scan/scan.h"
#include "schedule/segment/segment.h"
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
  const neo_group *g; /* the last one */
  const neo_form *f;
} world;

/* A text without its first two lines. */
static void load(world *w, const char *text) {
  neo_grouping all;
  neo_arena *a = &w->arena;
  neo_arena_init(a, neo_alloc_default, NULL);
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  w->m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(w->m);
  assert_int_equal(neo_fuse_with(w->m, a, NULL, &all, NULL), NEO_OK);
  w->g = &all.groups.at[all.groups.n - 1];
  w->f = neo_group_form(w->m, w->g);
}

/* ---- domains that grow with an axis */

static bool runs(const char *text, neo_scan *out) {
  world w;
  load(&w, text);
  bool found = neo_scan_of(w.m, w.g, out);
  neo_arena_free(&w.arena);
  return found;
}

#define PREFIX "size N 1..16\ninput x : f32 [N]\ninput y : f32 [N]\ntemp S : f32 [N]\n"
#define ENTRY "entry forward forward: S = S\n"

static void a_range_that_grows_with_an_axis_is_found(void **state) {
  (void)state;
  neo_scan r;
  assert_true(runs(PREFIX "def S[i: N] =\n  sum[k: 0..i + 1] x[k]\n  then acc0\n" ENTRY, &r));
  assert_false(r.suffix);
  assert_false(r.down);
  assert_int_equal(r.step, 1);
  assert_true(runs(PREFIX "def S[i: N] =\n  sum[k: i..N] x[k]\n  then acc0\n" ENTRY, &r));
  assert_true(r.suffix);
  assert_true(r.down);
}

static void one_of_several_conditions_may_grow_with_an_axis(void **state) {
  (void)state;
  world w;
  neo_scan r;
  load(&w, PREFIX "input n : i64 [N]\ndef S[i: N] =\n  sum[k: N]\n"
                  "  where n[k] == 3 and 2 * k < i + n[0];\n  x[k]\n  then acc0\n" ENTRY);
  assert_false(neo_scan_of(w.m, w.g, &r)); /* 2*k */
  neo_arena_free(&w.arena);
  load(&w, PREFIX "input n : i64 [N]\ndef S[i: N] =\n  sum[k: N]\n"
                  "  where n[k] == 3 and k < i;\n  x[k]\n  then acc0\n" ENTRY);
  assert_true(neo_scan_of(w.m, w.g, &r));
  assert_true(r.where.i != 0); /* what is left of the condition */
  assert_true(neo_expr_node(w.m, r.where)->op == NEO_OP_EQ);
  neo_arena_free(&w.arena);
  load(&w, PREFIX "input n : i64 [N]\ndef S[i: N] =\n  sum[k: N]\n"
                  "  where n[k] == 3 and k < i and y[k] < 0.5;\n  x[k]\n  then acc0\n" ENTRY);
  assert_true(neo_scan_of(w.m, w.g, &r));
  assert_true(neo_expr_node(w.m, r.where)->op == NEO_OP_AND);
  neo_arena_free(&w.arena);
}

static void only_one_range_grows_with_the_axis(void **state) {
  (void)state;
  neo_scan r;
  assert_false(
      runs(PREFIX "def S[i: N] =\n  sum[k: 0..i + 1, j: 0..i + 1] x[k] * y[j]\n  then acc0\n" ENTRY,
           &r));
  assert_false(runs("input n : i64 [N] < N + 1\n" PREFIX
                    "def S[i: N] =\n  sum[k: N, j: 0..n[i]] where k <= i; x[k] * y[j]\n"
                    "  then acc0\n" ENTRY,
                    &r));
  assert_false(
      runs(PREFIX "def S[i: N] =\n  sum[k: 0..i + 1] x[k] * y[i]\n  then acc0\n" ENTRY, &r));
}

/* ---- sums over a data equation */

static void the_rest_of_an_equations_condition_is_tested_as_early_as_it_may(void **state) {
  (void)state;
  world w;
  neo_segment s;
  load(&w, "input to : i64 [90]\ninput on : i64 [90]\ninput E : f32 [90]\ntemp S : f32 [50]\n"
           "def S[v: 50] =\n  sum[e: 90]\n"
           "  where to[e] == v and (e % 3 == 1 and (on[e] == 1 and e < v + 7));\n"
           "  E[e]\n  then acc0\n" ENTRY);
  assert_true(neo_segment_of(w.m, w.g, &s));
  assert_int_equal(s.axis, 0);
  assert_int_equal(s.n_passes, 1);
  neo_expr before = s.pass[0].before, rest = s.pass[0].rest;
  assert_false(neo_expr_uses_op(w.m, before, NEO_OP_LOAD));
  assert_false(neo_expr_axes(w.m, before) & 1);
  assert_true(neo_expr_node(w.m, before)->op == NEO_OP_EQ);
  assert_true(neo_expr_node(w.m, rest)->op == NEO_OP_AND);
  neo_arena_free(&w.arena);
}

/* The target of an element is known inside of the loops over elements alone. */
static void a_range_that_depends_on_the_place_is_no_data_equations(void **state) {
  (void)state;
  world w;
  neo_segment s;
  load(&w, "input to : i64 [90]\ninput n : i64 [50] < 91\ninput E : f32 [90]\ntemp S : f32 [50]\n"
           "def S[v: 50] =\n  sum[e: 0..n[v]]\n  where to[e] == v;\n  E[e]\n  then acc0\n" ENTRY);
  assert_false(neo_segment_of(w.m, w.g, &s));
  neo_arena_free(&w.arena);
}

/* ---- running sums of equal keys */

/* Keys below `keys`, if there are `most` in the end. */
static bool counts(const char *condition, int keys, int64_t most) {
  world w;
  neo_keyed_scan s;
  char text[400];
  snprintf(text, sizeof text,
           "size N 1..90\ninput key : i32 [N] < %d\ninput E : f32 [N]\ntemp S : f32 [N]\n"
           "def S[u: N] =\n  sum[k: N]\n  where %s;\n  E[k]\n  then acc0\n" ENTRY,
           keys, condition);
  load(&w, text);
  bool found = neo_keyed_scan_of(w.m, w.g, &s);
  if (found)
    assert_int_equal(s.most, most);
  neo_arena_free(&w.arena);
  return found;
}

static bool counts_by_key(const char *condition) {
  return counts(condition, 7, 7);
}

static void equal_keys_that_come_before_are_one_pass(void **state) {
  (void)state;
  assert_true(counts_by_key("k < u and i64(key[k]) == i64(key[u])"));
  assert_true(counts_by_key("i64(key[u]) == i64(key[k]) and k < u"));
  assert_true(counts_by_key("k < u and i64(key[k]) == i64(key[u]) and 0 <= i64(key[u])"));
  assert_true(counts_by_key("k < u and i64(key[k]) == i64(key[u]) and 1 <= i64(key[u])"));
  assert_true(counts_by_key("k < u and i64(key[k]) == i64(key[u]) and 0.5 < E[k]"));
  assert_false(counts_by_key("k < u and i64(key[k]) == i64(key[u]) and E[u] < E[k]"));
  assert_false(counts_by_key("k <= u and i64(key[k]) == i64(key[u])"));
  assert_true(counts_by_key("u < k and i64(key[k]) == i64(key[u])"));
  assert_false(counts_by_key("k < u and i64(key[k]) == i64(key[u]) + 1"));
}

/* A conversion to fewer bits may make negative keys of elements that are not. */
static void keys_of_fewer_bits_are_no_elements(void **state) {
  (void)state;
  assert_true(counts_by_key("k < u and key[k] == key[u]"));
  assert_true(counts("k < u and i8(key[k]) == i8(key[u])", 7, 7));
  assert_false(counts("k < u and i8(key[k]) == i8(key[u])", 300, 0));
  assert_true(counts("k < u and u8(key[k]) == u8(key[u])", 300, 256));
}

/* ---- contractions */

static bool contracts(const char *text) {
  world w;
  neo_contraction c;
  load(&w, text);
  bool found = neo_contraction_of(w.m, w.f, &c);
  neo_arena_free(&w.arena);
  return found;
}

#define FACTORS                                                        \
  "input a : f32 [4, 16]\ninput b : f32 [16]\ninput c : f32 [4, 16]\n" \
  "input d : f32 [16]\ntemp p : f32 [4]\ntemp q : f32 [4]\ntemp S : f32 [4]\n"

static void one_sum_of_a_product_is_a_contraction_and_two_are_none(void **state) {
  (void)state;
  assert_true(contracts(
      FACTORS "def S[i: 4] =\n  sum[k: 16] a[i, k] * b[k]\n  then acc0 * 2.0f32\n" ENTRY));
  assert_false(contracts(FACTORS "def p[i: 4] =\n  sum[k: 16] a[i, k] * b[k]\n  then acc0\n"
                                 "def q[i: 4] =\n  sum[k: 16] c[i, k] * d[k]\n  then acc0\n"
                                 "def S[i: 4] = p[i] * q[i]\n" ENTRY));
  assert_false(contracts(FACTORS "def S[i: 4] =\n  sum[k: 16] a[i, k]\n  then acc0\n" ENTRY));
}

/* ---- parts of factors */

enum { ROWS = 1, COLUMNS = 2 }; /* axes 0 and 1 */

static neo_contraction contraction_of(world *w, const char *sum) {
  neo_contraction c;
  char text[1024];
  snprintf(text, sizeof text,
           "input x : f32 [4, 16]\ninput c : f32 [8, 16]\ninput w : f32 [4, 8, 16]\n"
           "temp S : f32 [4, 8]\ndef S[i: 4, j: 8] =\n  sum[k: 16] %s\n  then acc0\n" ENTRY,
           sum);
  load(w, text);
  assert_true(neo_contraction_of(w->m, w->f, &c));
  return c;
}

static void parts_of_a_factor_that_rows_and_columns_share_are_read_each_on_its_side(void **state) {
  (void)state;
  world w;
  neo_contraction c = contraction_of(&w, "(x[i, k] - c[j, k]) * (x[i, k] - c[j, k])");
  assert_int_equal(c.n, 2);
  assert_int_equal(c.n_operands, 4);
  assert_int_equal(neo_factor_side(&c.factor[2], ROWS, COLUMNS), NEO_SIDE_ROWS);
  assert_int_equal(neo_factor_side(&c.factor[3], ROWS, COLUMNS), NEO_SIDE_COLUMNS);
  assert_false(neo_operand_is_read(&c, 0, ROWS, COLUMNS));
  assert_true(neo_operand_is_read(&c, 2, ROWS, COLUMNS));
  /* one subtraction, though the product has it twice */
  assert_float_equal(neo_contraction_functions(&c, ROWS, COLUMNS), 1, 0);
  neo_arena_free(&w.arena);
}

static void a_factor_of_one_side_is_read_whole(void **state) {
  (void)state;
  world w;
  neo_contraction c = contraction_of(&w, "exp(x[i, k] - c[j, k]) * x[i, k]");
  assert_true(neo_operand_is_read(&c, 0, 0, COLUMNS));
  assert_false(neo_operand_is_read(&c, 2, 0, COLUMNS));
  assert_float_equal(neo_contraction_functions(&c, 0, COLUMNS), 0, 0);
  neo_arena_free(&w.arena);
}

static void a_factor_that_has_an_argument_of_all_its_axes_has_no_parts(void **state) {
  (void)state;
  world w;
  neo_contraction c = contraction_of(&w, "(w[i, j, k] - x[i, k]) * c[j, k]");
  assert_int_equal(c.n_operands, c.n);
  neo_arena_free(&w.arena);
  c = contraction_of(&w, "select(x[i, k] < c[j, k], x[i, k], 0.0) * c[j, k]");
  assert_int_equal(c.n_operands, c.n);
  neo_arena_free(&w.arena);
}

static void more_parts_than_there_is_room_for_are_none(void **state) {
  (void)state;
  world w;
  neo_contraction c = contraction_of(
      &w, "(x[i, k] + c[j, k]) * (x[i, k]*2.0 + c[j, k]*2.0) * (x[i, k]*3.0 + c[j, k]*3.0) * "
          "(x[i, k]*4.0 + c[j, k]*4.0)");
  assert_int_equal(c.n, 4);
  assert_int_equal(c.n_operands, 4);
  for (uint32_t k = 0; k < c.n; k++)
    assert_true(neo_operand_is_read(&c, k, ROWS, COLUMNS));
  neo_arena_free(&w.arena);
}

/* ---- what a condition leaves of a sum */

#define CLIPPED(where)                                            \
  "input a : f32 [4, 16]\ninput b : f32 [16]\ntemp S : f32 [4]\n" \
  "def S[i: 4] =\n  sum[k: 16]\n  where " where ";\n  a[i, k] * b[k]\n  then acc0\n" ENTRY

static uint32_t clips(const char *text, neo_clip *out) {
  world w;
  load(&w, text);
  uint32_t n = neo_clips_of(w.m, w.f, w.f->stages.at[0].where, out);
  neo_arena_free(&w.arena);
  return n;
}

static void comparisons_of_an_axis_of_the_sum_with_another_clip_it(void **state) {
  (void)state;
  neo_clip c[NEO_MAX_CLIPS];
  assert_int_equal(clips(CLIPPED("4 - i <= k and 2 * k < 10 - i"), c), 2);
  assert_int_equal(c[0].of_own, 1);
  assert_int_equal(c[0].of_shared, 1);
  assert_int_equal(c[0].constant, -4);
  assert_int_equal(c[1].of_own, -2);
  assert_int_equal(c[1].of_shared, -1);
  assert_int_equal(c[1].constant, 9);
}

static void no_more_conditions_clip_than_there_is_room_for(void **state) {
  (void)state;
  neo_clip c[NEO_MAX_CLIPS + 1];
  char text[2048] = "input a : f32 [100, 1000]\ninput b : f32 [1000]\ntemp S : f32 [100]\n"
                    "def S[i: 100] =\n  sum[k: 1000]\n  where ";
  size_t n = strlen(text);
  for (int p = 1; p <= NEO_MAX_CLIPS + 4; p++) /* none follows from another */
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%d * i < k + %d", p == 1 ? "" : " and ", p,
                          p * p);
  snprintf(text + n, sizeof text - n, ";\n  a[i, k] * b[k]\n  then acc0\n" ENTRY);
  memset(c, 0, sizeof c);
  assert_int_equal(clips(text, c), NEO_MAX_CLIPS);
  assert_int_equal(c[NEO_MAX_CLIPS].of_own, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_range_that_grows_with_an_axis_is_found),
      cmocka_unit_test(one_of_several_conditions_may_grow_with_an_axis),
      cmocka_unit_test(only_one_range_grows_with_the_axis),
      cmocka_unit_test(the_rest_of_an_equations_condition_is_tested_as_early_as_it_may),
      cmocka_unit_test(a_range_that_depends_on_the_place_is_no_data_equations),
      cmocka_unit_test(equal_keys_that_come_before_are_one_pass),
      cmocka_unit_test(keys_of_fewer_bits_are_no_elements),
      cmocka_unit_test(one_sum_of_a_product_is_a_contraction_and_two_are_none),
      cmocka_unit_test(parts_of_a_factor_that_rows_and_columns_share_are_read_each_on_its_side),
      cmocka_unit_test(a_factor_of_one_side_is_read_whole),
      cmocka_unit_test(a_factor_that_has_an_argument_of_all_its_axes_has_no_parts),
      cmocka_unit_test(more_parts_than_there_is_room_for_are_none),
      cmocka_unit_test(comparisons_of_an_axis_of_the_sum_with_another_clip_it),
      cmocka_unit_test(no_more_conditions_clip_than_there_is_room_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
