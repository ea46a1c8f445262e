/* Memory accesses of kernels: nontemporal stores of whole lines, prefetches of rows. */
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "ir/print.h"
#include "tests/codegen/lower_test.h"
#include <string.h>

typedef struct {
  neo_arena arena;
  const char *text; /* of all kernels, in the order of groups */
  neo_grouping groups;
} lowered;

static void lower_all(lowered *x, const char *rest) {
  neo_arena *a = &x->arena;
  neo_str out, why;
  neo_arena_init(a, neo_alloc_default, NULL);
  neo_str_init(&out, a);
  neo_str_init(&why, a);
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", rest);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, a, NULL, &x->groups, NULL), NEO_OK);
  for (size_t k = 0; k < x->groups.groups.n; k++) {
    const neo_group *g = &x->groups.groups.at[k];
    neo_schedule s = neo_schedule_default(m, g, neo_machine_named("x86-64-v3"));
    neo_kernel *kernel;
    assert_int_equal(neo_lower(m, g, &s, neo_machine_named("x86-64-v3"), a, &kernel, &why), NEO_OK);
    assert_int_equal(neo_kernel_verify(kernel, &why), NEO_OK);
    neo_kernel_print(kernel, &out);
  }
  x->text = neo_str_text(&out);
}

static size_t count(const char *text, const char *what) {
  size_t n = 0;
  for (const char *p = strstr(text, what); p; p = strstr(p + 1, what))
    n++;
  return n;
}

/* Each result has a loop of its own over the two vectors of a line. */
static void results_past_the_caches_are_stored_line_by_line(void **state) {
  (void)state;
  lowered x;
  lower_all(&x, "input X : f32 [16384, 1024]\ntemp Y : f32 [16384, 1024]\n"
                "temp Z : f32 [16384, 1024]\ndef Y[i: 16384, j: 1024] = X[i, j] * 2.0\n"
                "def Z[i: 16384, j: 1024] = X[i, j] + 1.0\nentry forward forward: Y = Y, Z = Z\n");
  assert_int_equal(x.groups.groups.n, 1);
  const char *y = strstr(x.text, "    Y[n + "), *z = strstr(x.text, "    Z[n + ");
  assert_true(y && z && y < z);
  const char *loop = strstr(y, "unroll");
  assert_true(loop && loop < z);
  neo_arena_free(&x.arena);
}

static void one_result_past_the_caches_needs_no_order(void **state) {
  (void)state;
  lowered x;
  lower_all(&x, "input X : f32 [16384, 1024]\ntemp Y : f32 [16384, 1024]\ntemp z : f32 [16384]\n"
                "def z[i: 16384] =\n  sum[j: 1024] X[i, j]\n  then acc0\n"
                "def Y[i: 16384, j: 1024] = X[i, j] * z[i]\n"
                "entry forward forward: Y = Y, z = z\n");
  const char *y = strstr(x.text, "Y[i*1024 + j + l]");
  assert_non_null(y);
  neo_arena_free(&x.arena);
}

/* The sum reads a row first; while it is scaled, the next one comes. */
static void the_next_row_is_asked_for_while_a_row_is_worked_on(void **state) {
  (void)state;
  lowered x;
  for (int rows = 16; rows <= 16384; rows *= 1024) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    lower_all(&x, neo_arena_printf(&a,
                                   "input X : f32 [%d, 1024]\ntemp Y : f32 [%d, 1024]\n"
                                   "temp z : f32 [%d]\ndef z[i: %d] =\n"
                                   "  sum[j: 1024] X[i, j]\n  then acc0\n"
                                   "def Y[i: %d, j: 1024] = X[i, j] * z[i]\n"
                                   "entry forward forward: Y = Y, z = z\n",
                                   rows, rows, rows, rows, rows));
    assert_int_equal(count(x.text, "prefetch l2 X[i*1024 + j + 1024]"), rows > 16);
    assert_int_equal(count(x.text, "fetch"), rows > 16);
    neo_arena_free(&x.arena);
    neo_arena_free(&a);
  }
}

/* During a row's exponentials the next row can arrive; what they write is not in the way
 * of the last product, which only the stores come after. A long row of a function or two takes four
 * vectors at a time: two lines, each asked for. */
static void the_longest_stage_after_the_first_asks_for_the_next_row(void **state) {
  (void)state;
  lowered x;
  lower_all(&x, "input X : f32 [16384, 1024]\ninput D : f32 [16384, 1024]\n"
                "temp Y : f32 [16384, 1024]\ntemp z : f32 [16384]\ntemp w : f32 [16384]\n"
                "def z[i: 16384] =\n  logsumexp[j: 1024] X[i, j]\n  then acc0\n"
                "def w[i: 16384] =\n  sum[j: 1024] D[i, j] * exp(X[i, j] - z[i])\n  then acc0\n"
                "def Y[i: 16384, j: 1024] = exp(X[i, j] - z[i]) * (D[i, j] - w[i])\n"
                "entry forward forward: Y = Y\n");
  const char *exp = strstr(x.text, "exp("),
             *before = strstr(x.text, "prefetch l2 X[u*1024 + k + 1024]");
  const char *store = strstr(x.text, "for j in"),
             *d = strstr(x.text, "prefetch l2 D[u*1024 + j + 1024]");
  assert_true(before && exp && before < exp);
  assert_true(store && d && store < d);
  assert_int_equal(count(x.text, "prefetch l2 X[u*1024 + k + "), 2);
  assert_int_equal(count(x.text, "prefetch l2 D[u*1024 + j + "), 2);
  assert_int_equal(count(x.text, "fetch"), 4);
  neo_arena_free(&x.arena);
}

/* A row may be several axes: the images of a channel. */
static void rows_of_several_axes_are_asked_for_early(void **state) {
  (void)state;
  lowered x;
  lower_all(&x, "input X : f32 [32, 64, 3136]\ntemp Y : f32 [32, 64, 3136]\ntemp z : f32 [64]\n"
                "def z[k: 64] =\n  sum[n: 32, p: 3136] X[n, k, p]\n  then acc0\n"
                "def Y[n: 32, k: 64, p: 3136] = X[n, k, p] * z[k]\n"
                "entry forward forward: Y = Y, z = z\n");
  assert_int_equal(count(x.text, "prefetch l2 X[u*3136 + j*200704 + j_2 + 3136]"), 1);
  neo_arena_free(&x.arena);
}

/* Nothing comes after the only pass over a row: the processor sees by itself what is next. */
static void rows_that_are_read_once_are_not_asked_for(void **state) {
  (void)state;
  lowered x;
  lower_all(&x, "input X : f32 [16384, 1024]\ntemp z : f32 [16384]\ndef z[i: 16384] =\n"
                "  sum[j: 1024] X[i, j]\n  then acc0\nentry forward forward: z = z\n");
  assert_int_equal(count(x.text, "fetch"), 0);
  neo_arena_free(&x.arena);
}

/* The table that names the rows is read some iterations later, but not where an iteration would not
 * read it. Rows of small tensors stay in a cache. */
static void rows_that_data_name_are_asked_for_early(void **state) {
  (void)state;
  static const struct {
    int rows, named;
    const char *value;
    size_t fetched;
  } at[] = {
      {65536, 4096, "X[i64(row[i]), j]", 2},
      {64, 4096, "X[i64(row[i]), j]", 0},
      {65536, 100, "select(i < 100, X[i64(row[i]), j], 0.0)", 0},
      {65536, 4096, "select(0 <= i64(row[i]), X[i64(row[i]), j], 0.0)", 2},
      {65536, 4096, "X[i, j]", 0},
  };
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    lowered x;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    lower_all(&x,
              neo_arena_printf(&a,
                               "input X : f32 [%d, 64]\ninput row : i32 [%d] in %d..%d\n"
                               "temp Y : f32 [4096, 64]\ndef Y[i: 4096, j: 64] = %s\n"
                               "entry forward forward: Y = Y\n",
                               at[k].rows, at[k].named, k == 3 ? -1 : 0, at[k].rows, at[k].value));
    assert_int_equal(count(x.text, "prefetch l2 X[i64(row[min("), at[k].fetched);
    assert_int_equal(count(x.text, "fetch"), at[k].fetched);
    neo_arena_free(&x.arena);
    neo_arena_free(&a);
  }
}

/* A window's rows are turned into columns from a copy of the steps that neighbours share. */
static void what_windows_share_is_copied_once_before_it_is_packed(void **state) {
  (void)state;
  lowered x;
  lower_all(&x, "size B 1..64\ninput X : f32 [B, 28, 28]\ninput F : f32 [256, 9, 9]\n"
                "temp h : f32 [B, 256, 20, 20]\n"
                "def h[n: B, c: 256, p: 20, q: 20] =\n"
                "  sum[r: 9, s: 9] F[c, r, s] * X[n, p + r, q + s]\n"
                "  then acc0\nentry forward forward: h = h\n");
  if (!strstr(x.text, "steps: f32 scratch 400"))
    fail_msg("%s", x.text);
  neo_arena_free(&x.arena);
}

static void sums_of_columns_ask_for_pieces_of_later_rows(void **state) {
  (void)state;
  lowered x;
  lower_all(&x, "input X : f32 [16384, 1024]\ntemp z : f32 [1024]\ndef z[j: 1024] =\n"
                "  sum[i: 16384] X[i, j]\n  then acc0\nentry forward forward: z = z\n");
  assert_int_equal(count(x.text, "prefetch X[u*128 + (k + 4)*1024"), 8);
  neo_arena_free(&x.arena);
}

/* A long formula leaves the caches time to fetch what it writes. */
static void maps_of_much_arithmetic_are_written_through_the_caches(void **state) {
  (void)state;
  static const char *const value[] = {"gelu(X[i, j]) * D[i, j] + tanh(X[i, j])",
                                      "X[i, j] + D[i, j] * 2.0"};
  for (int k = 0; k < 2; k++) {
    lowered x;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    lower_all(&x, neo_arena_printf(&a,
                                   "input X : f32 [16384, 1024]\ninput D : f32 [16384, 1024]\n"
                                   "temp Y : f32 [16384, 1024]\ndef Y[i: 16384, j: 1024] = %s\n"
                                   "entry forward forward: Y = Y\n",
                                   value[k]));
    assert_int_equal(count(x.text, " nontemporal "), k);
    neo_arena_free(&x.arena);
    neo_arena_free(&a);
  }
}

/* In scratch a row begins where its results do in a page: without more where rows are pages. */
static void rows_in_scratch_keep_their_distance_from_their_results(void **state) {
  (void)state;
  for (int columns = 1000; columns <= 1024; columns += 24) {
    lowered x;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    lower_all(&x, neo_arena_printf(&a,
                                   "input X : f32 [16384, %d]\ntemp Y : f32 [16384, %d]\n"
                                   "temp z : f32 [16384]\ndef z[i: 16384] =\n"
                                   "  logsumexp[j: %d] X[i, j]\n  then acc0\n"
                                   "def Y[i: 16384, j: %d] = exp(X[i, j] - z[i])\n"
                                   "entry forward forward: Y = Y\n",
                                   columns, columns, columns, columns));
    assert_true(count(x.text, "row[") >= 2);
    assert_int_equal(count(x.text, "row[u*1000%1024/16*16 + ") > 0, columns == 1000);
    assert_int_equal(count(x.text, "row[k + l]") > 0, columns == 1024);
    assert_non_null(strstr(x.text, columns == 1000 ? "scratch 2088" : "scratch 1088"));
    neo_arena_free(&x.arena);
    neo_arena_free(&a);
  }
}

/* In scratch a value is computed at every point of the row: not one that reads outside where its
 * condition fails. */
static void values_that_read_outside_of_a_condition_are_computed_again(void **state) {
  (void)state;
  for (int low = 0; low <= 1; low++) {
    lowered x;
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    const char *value = neo_arena_printf(&a, "select(i < 3 or 0 < j, exp(X[i, j - %d]), 0.0)", low);
    if (low)
      value = "select(0 < j, exp(X[i, j - 1]), 0.0)";
    lower_all(&x, neo_arena_printf(&a,
                                   "input X : f32 [64, 40]\ninput D : f32 [64, 40]\n"
                                   "temp s : f32 [64]\ntemp Y : f32 [64, 40]\ndef s[i: 64] =\n"
                                   "  sum[j: 40] D[i, j] * %s\n  then acc0\n"
                                   "def Y[i: 64, j: 40] = s[i] * (D[i, j] + %s)\n"
                                   "entry forward forward: Y = Y\n",
                                   value, value));
    assert_int_equal(count(x.text, "row[") > 0, !low);
    neo_arena_free(&x.arena);
    neo_arena_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_past_the_caches_are_stored_line_by_line),
      cmocka_unit_test(one_result_past_the_caches_needs_no_order),
      cmocka_unit_test(the_next_row_is_asked_for_while_a_row_is_worked_on),
      cmocka_unit_test(the_longest_stage_after_the_first_asks_for_the_next_row),
      cmocka_unit_test(rows_of_several_axes_are_asked_for_early),
      cmocka_unit_test(rows_that_are_read_once_are_not_asked_for),
      cmocka_unit_test(rows_that_data_name_are_asked_for_early),
      cmocka_unit_test(what_windows_share_is_copied_once_before_it_is_packed),
      cmocka_unit_test(sums_of_columns_ask_for_pieces_of_later_rows),
      cmocka_unit_test(maps_of_much_arithmetic_are_written_through_the_caches),
      cmocka_unit_test(rows_in_scratch_keep_their_distance_from_their_results),
      cmocka_unit_test(values_that_read_outside_of_a_condition_are_computed_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
