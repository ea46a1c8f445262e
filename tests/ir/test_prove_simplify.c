/* Simplification under facts and loop bounds from conditions, as texts before and after. */
#include "ir/print.h"
#include "ir/prove/prove.h"
#include "tests/ir/ir_test.h"
#include "tests/ir/prove_text.h"

typedef struct {
  const char *sizes, *tensors, *axes, *assume, *before, *after;
} row;

static const row rows[] = {
    /* digits */
    {0, 0, "i<784", 0, "i/28*28 + i%28", "i"},
    {0, 0, "i<28; j<28", 0, "(i*28 + j)/28", "i"},
    {0, 0, "i<28; j<28", 0, "(i*28 + j)%28", "j"},
    {0, 0, "i<28; j<28", 0, "(i*28 + j*4)/4", "i*7 + j"},
    {0, 0, "i<28; j<28", 0, "(i*28 + j)%4", "j%4"},
    {0, 0, "i<784", 0, "i/28%28", "i/28"},
    {0, 0, "i<784", 0, "i/4/7", "i/28"},
    {0, 0, "i<784", 0, "i%28%4", "i%4"},
    {0, 0, "i<5", 0, "i%5 + i/5", "i"},
    {"1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "(b*T + t)/T", "b"},
    {"1<=B<=64; 1<=T<=64", 0, "b<B; t<T", 0, "(b*T + t)%T", "t"},
    {"1<=B<=64; 1<=T<=64", 0, "x<B*T", 0, "x/T*T + x%T", "x"},
    {"1<=B<=9; 1<=T<=9; 1<=D<=9", 0, "b<B; t<T; d<D", 0, "((b*T + t)*D + d)/D%T", "t"},
    {0, 0, "x<1000", 0, "x/4%7*4 + x%4", "x%28"},
    {0, "Z64", "i<10", 0, "Z64[i]%-3*2/2", "Z64[i]%-3"}, /* the least number has no opposite */
    /* comparisons, min and max, select */
    {0, 0, "i<10", 0, "select(i < 10, i, 0)", "i"},
    {0, 0, "i<10", 0, "select(i < 5, select(i < 7, 1, 2), 3)", "select(i < 5, 1, 3)"},
    {0, 0, "i<10", "i < 5", "select(i < 5, 1, 3)", "1"},
    {0, 0, "i<10", 0, "min(max(i, 0), 9)", "i"},
    {0, 0, "i<10", 0, "clamp(i, 0, 20)", "i"},
    {0, 0, "i<10", 0, "clamp(i, 3, 20)", "max(i, 3)"},
    {0, 0, "i<10", 0, "clamp(i, -1, 5)", "min(i, 5)"},
    {0, 0, "i<10", 0, "max(i, 4)", "max(i, 4)"},
    {"1<=N<=64", 0, "i<N; j<=i", 0, "min(j, N)", "j"},
    {0, 0, "i<10", 0, "select(i < 3 and i < 7, 1, 2)", "select(i < 3, 1, 2)"},
    {0, 0, "i<10; j<10", 0, "select(17*i - 23*j == 1, 5, 6)", "6"},
    {0, 0, "i<10", "i >= 4 and i < 8", "i/4", "1"},
    /* guards */
    {0, "Y", "i<10", 0, "Y[i | 0]", "Y[i]"},
    {0, "Y", "i<10", 0, "Y[i - 1 | 0]", "Y[i - 1 | 0]"},
    {0, "Y", "i<10", "i > 0", "Y[i - 1 | 0]", "Y[i - 1]"},
    {0, "Y", "i<10", 0, "select(i == 0, 7, Y[i - 1 | 0])", "select(i == 0, 7, Y[i - 1])"},
    {0, "Y", "i<10", 0, "Y[i - 10 | 3]", "3"},
    {0, "Y", "i<10; j<4", 0, "Y[(i*4 + j)/4 | 0]", "Y[i]"},
};

static void expressions_become_simpler(void **state) {
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    question q;
    neo_prover *p = neo_prover_new(*state);
    question_init(&q, *state, rows[k].sizes, rows[k].tensors, rows[k].axes, rows[k].assume);
    neo_facts facts = question_facts(&q);
    neo_expr want = question_expr(&q, rows[k].after);
    neo_expr got = neo_simplify_under(p, &facts, question_expr(&q, rows[k].before));
    neo_str text;
    neo_str_init(&text, q.m->arena);
    neo_expr_print(q.m, NULL, got, &text);
    if (got.i != want.i)
      fail_msg("%s: %s", rows[k].before, neo_str_text(&text));
    neo_prover_free(p);
  }
}

/* ---- loop bounds */

typedef struct {
  const char *sizes, *tensors, *axes;
  uint32_t axis;
  const char *cond, *lo, *hi, *rest;
} loop;

static const loop loops[] = {
    /* the gradient of a strided convolution: z = 2*p + r */
    {"1<=P<=64", 0, "z<2*P+1; p<P", 1, "0 <= z - 2*p and z - 2*p < 3", "max(0, (z - 1)/2)",
     "min(P, z/2 + 1)", 0},
    {"1<=P<=64", 0, "p<P; r<3", 1, "0 <= p + r - 1 and p + r - 1 < P", "max(0, 1 - p)",
     "min(3, P - p + 1)", 0},
    {0, 0, "i<10; k<10", 1, "k <= i", "0", "i + 1", 0},
    {0, 0, "i<10; k<20", 1, "k <= i + 30", "0", "20", 0},
    {0, 0, "i<10; k<10", 1, "k < i and k % 2 == i % 2", "0", "i", "k % 2 == i % 2"},
    {0, 0, "i<10; k<10; l<10", 1, "k < i and k < l", "0", "i", "k < l"},
    {0, 0, "i<10; k<10", 1, "k == i", "i", "i + 1", 0},
    {0, 0, "i<10; k<10", 1, "not (k < i)", "i", "10", 0},
    {0, 0, "i<10; k<10", 1, "not (k < i or k == 9)", "i", "10", "not (k == 9)"},
    {0, 0, "i<10; k<40", 1, "k/4 == i", "i*4", "i*4 + 4", 0},
    {"1<=T<=64", 0, "x<99; t<99", 1, "t*T <= x", "0", "x/T + 1", 0},
    {0, "L", "i<10; k<10", 1, "k < L[i]", "0", "min(10, L[i])", 0},
    {0, "L", "i<10; k<10", 1, "i >= 1 and k < L[i - 1]", "0", "min(10, L[i - 1 | 0])", "1 <= i"},
    {0, 0, "i<10; k<10", 1, "k > 12", "13", "10", 0},
    /* an element without a bound may be so large that a sum with it wraps */
    {0, "Z64", "i<10; k<10", 1, "k + 5 < Z64[i]", "0",
     "min(10, min(max(Z64[i], -2305843009213693952), 2305843009213693952) - 5)", 0},
    {0, "Z64", "i<10; k<10", 1, "Z64[i] < k",
     "max(0, min(max(Z64[i], -2305843009213693952), 2305843009213693952) + 1)", "10", 0},
    {0, "Z64", "i<10; k<10", 1, "Z64[i] <= 2*k",
     "max(0, (min(max(Z64[i], -2305843009213693952), 2305843009213693952) + 1)/2)", "10", 0},
    {0, "Z64", "i<10; k<10", 1, "k + 5 < max(Z64[i], 0)", "0",
     "min(10, min(max(max(Z64[i], 0), -2305843009213693952), 2305843009213693952) - 5)", 0},
    {0, "Z64", "i<10; k<10", 1, "k < Z64[i]", "0", "min(10, Z64[i])", 0},
    {0, "Z64", "i<10; k<10", 1, "Z64[i] <= k", "max(0, Z64[i])", "10", 0},
    /* an empty range further in proves nothing about the ones around it */
    {0, "Z<1", "i<10; k<10; n<Z[k]", 1, "k < i and k % 2 == 0", "0", "i", "k % 2 == 0"},
    /* what never holds leaves no iteration, in which bounds further in would be read */
    {0, "L", "i<10; k<10; n<L[k]", 1, "k % 2 == 2", "0", "0", "1 < 0"},
};

static void check_loop(neo_module *m, const loop *l) {
  question q;
  neo_expr lo, hi, rest;
  neo_prover *p = neo_prover_new(m);
  question_init(&q, m, l->sizes, l->tensors, l->axes, NULL);
  neo_facts facts = question_facts(&q);
  bool changed = neo_tighten(p, &facts, l->axis, question_expr(&q, l->cond), &lo, &hi, &rest);
  neo_str text;
  neo_str_init(&text, m->arena);
  neo_expr_print(m, NULL, lo, &text);
  neo_str_add(&text, " to ");
  neo_expr_print(m, NULL, hi, &text);
  neo_str_add(&text, " where ");
  if (rest.i)
    neo_expr_print(m, NULL, rest, &text);
  neo_expr want = l->rest ? question_expr(&q, l->rest) : (neo_expr){0};
  bool same = changed && lo.i == question_expr(&q, l->lo).i && hi.i == question_expr(&q, l->hi).i &&
              rest.i == want.i;
  if (!same)
    fail_msg("%s: %s", l->cond, neo_str_text(&text));
  neo_prover_free(p);
}

static void conditions_become_loop_bounds(void **state) {
  for (size_t k = 0; k < sizeof loops / sizeof *loops; k++)
    check_loop(*state, &loops[k]);
}

/* Facts about an inner axis hold if it has values, and prove nothing if it has none. */
static void what_is_known_further_in_proves_nothing_around_it(void **state) {
  question q;
  neo_expr lo, hi, rest;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, NULL, NULL, "i<10; k<10", "0 <= k and k < i");
  neo_facts facts = question_facts(&q);
  neo_expr cond = question_expr(&q, "k < 5 and 0 < i");
  assert_true(neo_tighten(p, &facts, 1, cond, &lo, &hi, &rest));
  assert_int_equal(rest.i, question_expr(&q, "0 < i").i);
  neo_prover_free(p);
}

static void a_condition_that_bounds_nothing_is_left_alone(void **state) {
  question q;
  neo_expr lo, hi, rest;
  neo_prover *p = neo_prover_new(*state);
  question_init(&q, *state, NULL, NULL, "i<10; k<10; l<10", NULL);
  neo_facts facts = question_facts(&q);
  neo_expr cond = question_expr(&q, "k < l and (k < 3 or k > 5) and k*k < i");
  assert_false(neo_tighten(p, &facts, 1, cond, &lo, &hi, &rest));
  assert_int_equal(rest.i, cond.i);
  assert_int_equal(lo.i, q.axis[1].lo.i);
  assert_int_equal(hi.i, q.axis[1].hi.i);
  neo_prover_free(p);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(expressions_become_simpler),
      TEST(conditions_become_loop_bounds),
      TEST(what_is_known_further_in_proves_nothing_around_it),
      TEST(a_condition_that_bounds_nothing_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
