/* Recurrences: the orders that are found, those that are refused, and the values. */
#include "ir/component.h"
#include "ir/order.h"
#include "tests/ir/ir_test.h"
#include <math.h>
#include <string.h>

/* The order as text. "t+1 { a b } ": a loop over t runs a and b; the second of its members is one
 * iteration behind the first. */
static void describe(const neo_module *m, const neo_order_step *s, neo_str *out) {
  if (s->def.i) {
    neo_tensor t = {neo_list_at(m, neo_def_at(m, s->def)->out, 0)};
    neo_str_addf(out, "%s ", neo_name_text(m->names, neo_tensor_at(m, t)->name));
    return;
  }
  neo_order_member x = s->member[0];
  neo_str_addf(out, "%s%s", s->down ? "down " : "",
               neo_name_text(m->names, neo_def_axis(m, neo_def_at(m, x.def), x.axis)->name));
  for (uint32_t k = 1; k < s->n_members; k++)
    if (s->member[k].delay != x.delay)
      neo_str_addf(out, "%+lld", (long long)(s->member[k].delay - x.delay));
  neo_str_add(out, " { ");
  for (uint32_t k = 0; k < s->n_steps; k++)
    describe(m, &s->step[k], out);
  neo_str_add(out, "} ");
}

static bool find(neo_module *m, const char *name, neo_order_step *out, neo_order_failure *why) {
  neo_tensor t = neo_tensor_find(m, name);
  neo_def *defs;
  uint32_t *number = NEO_NEW_ARRAY(m->arena, uint32_t, m->defs.n);
  size_t n = neo_module_topo(m, &t, 1, m->arena, &defs, NULL), n_own = 0;
  assert_int_equal(neo_recurrences(m, defs, n, m->arena, number), 1);
  for (size_t k = 0; k < n; k++)
    if (number[defs[k].i])
      defs[n_own++] = defs[k];
  neo_prover *p = neo_prover_new(m);
  bool found = neo_order_find(p, defs, n_own, m->arena, out, why);
  neo_prover_free(p);
  return found;
}

static void assert_order(neo_module *m, const char *name, const char *order) {
  neo_order_step loop;
  neo_str s;
  neo_str_init(&s, m->arena);
  assert_true(find(m, name, &loop, NULL));
  describe(m, &loop, &s);
  assert_string_equal(neo_str_text(&s), order);
}

static void a_filter_runs_upwards_or_downwards(void **state) {
  neo_module *m = test_parse(*state, "size N 0..9\n"
                                     "input x : f32 [N]\n"
                                     "temp y : f32 [N]\n"
                                     "temp z : f32 [N]\n"
                                     "def y[n: N] = x[n] + 0.5 * (y[n - 1] else 0.0)\n"
                                     "def z[n: N] = x[n] + 0.5 * (z[n + 2] else 4.0)\n");
  double x[5] = {1, 2, 3, 4, 5}, y[5], z[7] = {0, 0, 0, 0, 0, 4, 4};
  for (int n = 0; n < 5; n++)
    y[n] = x[n] + 0.5 * (n ? y[n - 1] : 0);
  for (int n = 4; n >= 0; n--)
    z[n] = x[n] + 0.5 * z[n + 2];
  assert_order(m, "y", "n { y } ");
  assert_order(m, "z", "down n { z } ");
  neo_interp *p = test_interp(m, (int64_t[]){5});
  test_put_f(p, m, "x", x, 5);
  for (int n = 0; n < 5; n++) {
    assert_true(test_eval(p, m, "y")->at[n].f == y[n]);
    assert_true(test_eval(p, m, "z")->at[n].f == z[n]);
  }
}

static void a_table_of_two_axes_has_a_loop_in_a_loop(void **state) {
  neo_module *m = test_parse(*state, "input a : f32 [4, 5]\n"
                                     "temp D : f32 [4, 5]\n"
                                     "def D[i: 4, j: 5] = a[i, j] + select(i == 0 or j == 0, 0.0, "
                                     "max(D[i - 1, j], max(D[i, j - 1], D[i - 1, j - 1])))\n");
  double a[4][5], d[4][5];
  assert_order(m, "D", "i { j { D } } ");
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 5; j++) {
      a[i][j] = (i * 7 + j * 3) % 5;
      d[i][j] = a[i][j] + (i && j ? fmax(d[i - 1][j], fmax(d[i][j - 1], d[i - 1][j - 1])) : 0);
    }
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "a", a[0], 20);
  const neo_values *v = test_eval(p, m, "D");
  for (int k = 0; k < 20; k++)
    assert_true(v->at[k].f == d[k / 5][k % 5]);
}

/* An order of a second derivative. A loop over the second axis of some and the first of others fits
 * all reads, as two rounds, a bound and a condition leave one point; but nothing comes from an
 * earlier round of it. */
static void axes_that_fit_and_lead_nowhere_are_not_the_last_that_are_tried(void **state) {
  neo_module *m = test_parse(*state, "input D : f32 [2, 2]\ninput g : f32 [2, 2]\n"
                                     "temp S : f32 [2, 2]\ntemp T : f32 [2, 2]\n"
                                     "temp B : f32 [2, 2]\ntemp A : f32 [2, 2]\n"
                                     "def S[i: 2, j: 2] =\n"
                                     "    sum[k: j] where j < i + 1; A[i, k] * D[j, k]\n"
                                     "def T[i: 2, j: 2] =\n"
                                     "    sum[k: j] where j <= i; B[j, k] * D[i, k]\n"
                                     "    then acc0 + S[i, j]\n"
                                     "def B[i: 2, j: 2] = A[i, j]\n"
                                     "def A[i: 2, j: 2] = select(not (i < j), g[i, j], 0.0) + "
                                     "select(not (i < j), -T[i, j], 0.0)\n");
  assert_order(m, "A", "j { S T A B } ");
}

static void an_order_is_found_by_any_quota(void **state) {
  neo_module *m = test_parse(*state, "size V 0..9\ninput child : i32 [V, 2] in -1..d0\n"
                                     "input x : f32 [V]\ntemp g : f32 [V]\n"
                                     "def g[v: V] =\n"
                                     "    sum[p: V, k: 2] where child[p, k] == i32(v); g[p]\n"
                                     "    then tanh(x[v] + acc0)\n");
  m->proofs = NULL; /* what the check of the module has proved is forgotten */
  neo_proofs_limit(m, 1);
  assert_order(m, "g", "down v { g } ");
}

static const char cholesky[] =
    "input A : f64 [4, 4]\n"
    "temp L : f64 [4, 4]\n"
    "temp S : f64 [4, 4]\n"
    "def S[i: 4, j: 4] =\n"
    "    sum[k: j] where j <= i;\n"
    "    L[i, k] * L[j, k]\n"
    "def L[i: 4, j: 4] = select(i < j, 0.0f64, select(i == j, sqrt(A[i, i] - S[i, i]), "
    "(A[i, j] - S[i, j]) / L[j, j]))\n";

static void quantified_reads_are_earlier_by_their_conditions(void **state) {
  neo_module *m = test_parse(*state, cholesky);
  assert_order(m, "L", "i { j { S L } } ");
  double l[4][4] = {{2, 0, 0, 0}, {1, 3, 0, 0}, {-1, 2, 1, 0}, {4, 0, 2, 5}}, a[4][4] = {{0}};
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++)
      for (int k = 0; k < 4; k++)
        a[i][j] += l[i][k] * l[j][k];
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "A", a[0], 16);
  const neo_values *v = test_eval(p, m, "L");
  for (int k = 0; k < 16; k++)
    assert_true(fabs(v->at[k].f - l[k / 4][k % 4]) < 1e-12);
}

/* The adjoint of a batched Cholesky factorization. An axis as short as the batch's also has a
 * bound, but says nothing of where its elements are read. */
static void constant_distances_tell_of_axes_before_bounds_do(void **state) {
  neo_module *m = test_parse(
      *state, "input A : f32 [3, 5, 5]\n"
              "temp dA : f32 [3, 5, 5]\n"
              "temp dS : f32 [3, 5, 5]\n"
              "temp d2 : f32 [3, 5, 5]\n"
              "temp d3 : f32 [3, 5, 5]\n"
              "temp d : f32 [3, 5, 5]\n"
              "def dA[b: 3, i: 5, j: 5] = select(i == j, d[b, i, j] * 0.5, 0.0)\n"
              "def dS[b: 3, i: 5, j: 5] = select(i < j, 0.0, select(i == j, 0.0, d[b, i, j]))\n"
              "def d2[b: 3, i: 5, j: 5] =\n"
              "  sum[l: 5] where i == j;\n"
              "  select(l < i, 0.0, select(l == i, 0.0, d[b, l, i] * A[b, l, i]))\n"
              "  then acc0 + (1.0 + select(j < i, 2.0 * dA[b, i, i], 0.0))\n"
              "def d3[b: 3, i: 5, j: 5] =\n"
              "  sum[l: i..5] where j < i and not (l == i);\n"
              "  dS[b, l, i] * A[b, l, j]\n"
              "  then acc0 + d2[b, i, j]\n"
              "def d[b: 3, i: 5, j: 5] =\n"
              "  sum[l: j + 1..i + 1] where not (i == l);\n"
              "  dS[b, i, l] * A[b, l, j]\n"
              "  then acc0 + d3[b, i, j]\n");
  assert_order(m, "d", "down i { down j { d2 d3 d dS dA } } ");
}

static void definitions_that_need_each_other_run_with_a_shift(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [6]\n"
                                     "temp a : f32 [6]\n"
                                     "temp b : f32 [6]\n"
                                     "def a[n: 6] = x[n] + (b[n - 2] else 1.0)\n"
                                     "def b[n: 6] = 2.0 * (a[n + 1] else 3.0)\n");
  double x[6] = {1, 1, 2, 3, 5, 8}, a[6], b[6];
  assert_order(m, "a", "n+1 { a b } ");
  for (int n = 0; n < 6; n++) {
    a[n] = x[n] + (n < 2 ? 1 : b[n - 2]);
    if (n)
      b[n - 1] = 2 * a[n];
  }
  b[5] = 6;
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 6);
  const neo_values *v = test_eval(p, m, "b");
  for (int n = 0; n < 6; n++)
    assert_true(v->at[n].f == b[n]);
}

/* A read of one row alone is earlier along any axis: the other reads say which one it is. */
static void reads_at_a_constant_distance_say_the_axis(void **state) {
  neo_module *m = test_parse(*state, "temp a : f32 [4, 5]\n"
                                     "temp y : f32 [4, 5]\n"
                                     "def a[i: 4, k: 5] = sum[m: 2] (y[0, k - 1 - m] else 1.0)\n"
                                     "def y[i: 4, k: 5] = a[i, k] + 1.0\n");
  assert_order(m, "y", "k { a y } ");
}

static void pieces_begin_a_recurrence(void **state) {
  neo_module *m = test_parse(*state, "input x : f32 [3]\n"
                                     "temp h : f32 [5, 3]\n"
                                     "def h[t: 1, j: 3] = x[j]\n"
                                     "def h[t: 4, j: 3] at [t + 1, j] =\n"
                                     "    sum[k: 3] h[t, k]\n"
                                     "    then acc0 + h[t, j]\n");
  assert_order(m, "h", "t { h } ");
  double x[3] = {1, 2, 3}, h[5][3];
  for (int t = 0; t < 5; t++)
    for (int j = 0; j < 3; j++)
      h[t][j] = t ? h[t - 1][0] + h[t - 1][1] + h[t - 1][2] + h[t - 1][j] : x[j];
  neo_interp *p = test_interp(m, NULL);
  test_put_f(p, m, "x", x, 3);
  const neo_values *v = test_eval(p, m, "h");
  for (int k = 0; k < 15; k++)
    assert_true(v->at[k].f == h[k / 3][k % 3]);
}

static void a_recurrence_without_order_is_refused_at_its_read(void **state) {
  static const char *const bodies[] = {"y[n]", "(y[n - 1] else 0.0) + (y[n + 1] else 0.0)",
                                       "(y[2 * n - 3] else 0.0)", "y[5 - n]",
                                       "(y[i64(x[n])] else 0.0)"};
  for (size_t k = 0; k < sizeof bodies / sizeof *bodies; k++) {
    neo_str text;
    neo_module *host = *state;
    neo_str_init(&text, host->arena);
    neo_str_addf(&text,
                 "input x : f32 [6]\n"
                 "temp y : f32 [6]\n"
                 "def y[n: 6] = x[n] + %s\n",
                 bodies[k]);
    const char *errors;
    neo_module *m = test_try_parse(host, neo_str_text(&text), &errors);
    if (!m) {
      assert_non_null(strstr(errors, "y needs itself"));
      continue;
    }
    fail_msg("%s has an order", bodies[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_filter_runs_upwards_or_downwards),
      TEST(a_table_of_two_axes_has_a_loop_in_a_loop),
      TEST(axes_that_fit_and_lead_nowhere_are_not_the_last_that_are_tried),
      TEST(an_order_is_found_by_any_quota),
      TEST(quantified_reads_are_earlier_by_their_conditions),
      TEST(constant_distances_tell_of_axes_before_bounds_do),
      TEST(definitions_that_need_each_other_run_with_a_shift),
      TEST(reads_at_a_constant_distance_say_the_axis),
      TEST(pieces_begin_a_recurrence),
      TEST(a_recurrence_without_order_is_refused_at_its_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
