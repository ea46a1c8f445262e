/* Products as lists of factors. */
#include "ir/product.h"
#include "tests/ir/ir_test.h"

static neo_expr body_of(neo_module *m) {
  return neo_list_expr(m, neo_def_at(m, (neo_def){1})->body, 0);
}

static neo_module *sum_of(void **state, const char *body) {
  char text[512];
  snprintf(text, sizeof text,
           "input x : f32 [4]\ninput y : f32 [4]\ntemp s : f32 []\n"
           "def s[] =\n    sum[i: 4] %s\n",
           body);
  return test_parse(*state, text);
}

static void factors_come_from_left_to_right_however_they_are_bracketed(void **state) {
  neo_module *m = sum_of(state, "(x[i] * y[i]) * (exp(x[i]) * (y[0] + x[1] * y[1]))");
  neo_expr at[4];
  uint32_t n = 0;
  assert_true(neo_product_factors(m, body_of(m), at, &n, 4));
  assert_int_equal(n, 4);
  assert_int_equal(neo_expr_node(m, at[0])->op, NEO_OP_LOAD);
  assert_int_equal(neo_expr_node(m, at[1])->op, NEO_OP_LOAD);
  assert_int_not_equal(neo_expr_node(m, at[0])->attr, neo_expr_node(m, at[1])->attr);
  assert_int_equal(neo_expr_node(m, at[2])->op, NEO_OP_EXP);
  assert_int_equal(neo_expr_node(m, at[3])->op, NEO_OP_ADD);
}

static void more_factors_than_there_is_room_for_are_none(void **state) {
  neo_module *m = sum_of(state, "x[0] * x[1] * x[2] * x[3] * y[i]");
  neo_expr at[5];
  uint32_t n = 0;
  assert_true(neo_product_factors(m, body_of(m), at, &n, 5));
  assert_int_equal(n, 5);
  for (uint32_t most = 0; most < 5; most++) {
    n = 0;
    assert_false(neo_product_factors(m, body_of(m), at, &n, most));
    assert_true(n <= most);
  }
}

static void factors_are_appended(void **state) {
  neo_module *m = sum_of(state, "x[i] * y[i]");
  neo_expr at[5];
  uint32_t n = 0;
  assert_true(neo_product_factors(m, body_of(m), at, &n, 5));
  assert_true(neo_product_factors(m, body_of(m), at, &n, 5));
  assert_int_equal(n, 4);
  assert_int_equal(at[0].i, at[2].i);
  assert_false(neo_product_factors(m, body_of(m), at, &n, 5));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(factors_come_from_left_to_right_however_they_are_bracketed),
      TEST(more_factors_than_there_is_room_for_are_none),
      TEST(factors_are_appended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
