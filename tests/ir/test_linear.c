/* Linear forms. */
#include "base/random.h"
#include "ir/interp/interp.h"
#include "tests/ir/ir_test.h"

static neo_expr num(neo_module *m, int64_t x) {
  return neo_const_int(m, NEO_I64_T, x);
}
static neo_expr add(neo_module *m, neo_expr a, neo_expr b) {
  return neo_op2(m, NEO_OP_ADD, a, b);
}
static neo_expr sub(neo_module *m, neo_expr a, neo_expr b) {
  return neo_op2(m, NEO_OP_SUB, a, b);
}
static neo_expr mul(neo_module *m, neo_expr a, neo_expr b) {
  return neo_op2(m, NEO_OP_MUL, a, b);
}

static neo_size runtime_size(neo_module *m, const char *name) {
  return neo_size_add(m, (neo_size_rec){.name = neo_name_of(m->names, name), .lo = 1, .hi = 64});
}

static void like_terms_are_collected(void **state) {
  neo_module *m = *state;
  neo_linear l;
  neo_expr i = neo_axis_ref(m, 0), j = neo_axis_ref(m, 1);
  neo_expr e = sub(m, add(m, mul(m, add(m, i, j), num(m, 3)), num(m, 7)), mul(m, num(m, 3), i));
  assert_true(neo_linear_of(m, e, &l));
  assert_int_equal(l.constant, 7);
  assert_int_equal(l.n, 1);
  assert_int_equal(l.term[0].atom.i, j.i);
  assert_int_equal(l.term[0].coef, 3);
  assert_int_equal(neo_linear_coef(&l, j), 3);
  assert_int_equal(neo_linear_coef(&l, i), 0);
}

static void division_and_modulo_are_atoms(void **state) {
  neo_module *m = *state;
  neo_linear l;
  neo_expr i = neo_axis_ref(m, 0), q = neo_op2(m, NEO_OP_DIV, i, num(m, 4));
  assert_true(neo_linear_of(m, add(m, mul(m, q, num(m, 4)), num(m, -1)), &l));
  assert_int_equal(neo_linear_coef(&l, q), 4);
  assert_int_equal(l.constant, -1);
}

static void products_of_sizes_are_atoms_in_any_order(void **state) {
  neo_module *m = *state;
  neo_linear a, b;
  neo_expr s = neo_size_ref(m, runtime_size(m, "S")), t = neo_size_ref(m, runtime_size(m, "T"));
  neo_expr i = neo_axis_ref(m, 0);
  neo_expr one = mul(m, mul(m, i, t), s);                                  /* (i*T)*S */
  neo_expr two = sub(m, mul(m, s, add(m, mul(m, t, i), s)), mul(m, s, s)); /* S*(T*i + S) - S*S */
  assert_true(neo_linear_of(m, one, &a));
  assert_true(neo_linear_of(m, two, &b));
  assert_int_equal(a.n, 1);
  assert_int_equal(b.n, 1);
  assert_int_equal(a.term[0].atom.i, b.term[0].atom.i);
}

static void overflow_is_refused(void **state) {
  neo_module *m = *state;
  neo_linear l;
  neo_expr i = neo_axis_ref(m, 0), big = num(m, INT64_MAX);
  assert_false(neo_linear_of(m, mul(m, mul(m, i, big), num(m, 2)), &l));
  assert_false(neo_linear_of(m, add(m, mul(m, i, big), i), &l));
  assert_true(neo_linear_of(m, add(m, mul(m, i, big), num(m, 2)), &l));
}

static void thirty_two_terms_fit_and_one_more_does_not(void **state) {
  neo_module *m = *state;
  neo_linear l;
  neo_expr e = num(m, 0);
  for (uint32_t k = 0; k < 32; k++)
    e = add(m, e, neo_axis_ref(m, k));
  assert_true(neo_linear_of(m, e, &l));
  assert_int_equal(l.n, 32);
  assert_false(neo_linear_of(m, add(m, e, neo_axis_ref(m, 32)), &l));
}

static void doubling_a_shared_expression_ends_soon(void **state) {
  neo_module *m = *state;
  neo_linear l;
  neo_expr e = neo_op2(m, NEO_OP_DIV, neo_axis_ref(m, 0), num(m, 3));
  for (int k = 0; k < 60; k++)
    e = k % 2 ? add(m, e, e) : sub(m, mul(m, e, num(m, 2)), e);
  if (neo_linear_of(m, e, &l)) /* either answer, but at once */
    assert_true(l.n <= 32);
}

/* The value of a linear expression of axes 0..3, independent of linear.c. */
static int64_t value(const neo_module *m, neo_expr e, const int64_t axis[4]) {
  const neo_node *n = neo_expr_node(m, e);
  neo_value v[2];
  if (n->op == NEO_OP_AXIS)
    return axis[n->attr];
  if (neo_expr_is_int(m, e, &v[0].i))
    return v[0].i;
  for (uint32_t k = 0; k < n->arg.n; k++)
    v[k].i = value(m, neo_expr_arg(m, e, k), axis);
  return neo_value_op((neo_op)n->op, NEO_I64_T, NEO_I64_T, v).i;
}

static neo_expr random_expr(neo_module *m, uint64_t *seed, int depth) {
  static const neo_op ops[] = {NEO_OP_ADD, NEO_OP_SUB, NEO_OP_MUL, NEO_OP_DIV,
                               NEO_OP_MOD, NEO_OP_NEG, NEO_OP_MIN};
  uint64_t r = neo_splitmix(seed);
  if (depth == 0 || r % 5 == 0)
    return r & 8 ? neo_axis_ref(m, (uint32_t)(r >> 8) % 4) : num(m, (int64_t)((r >> 8) % 9) - 4);
  neo_op op = ops[(r >> 16) % 7];
  neo_expr a = random_expr(m, seed, depth - 1);
  if (op == NEO_OP_NEG)
    return neo_op1(m, op, a);
  return neo_op2(m, op, a, random_expr(m, seed, depth - 1));
}

static void a_form_has_the_value_of_its_expression(void **state) {
  neo_module *m = *state;
  uint64_t seed = 7;
  for (int trial = 0; trial < 3000; trial++) {
    neo_linear l;
    int64_t axis[4];
    neo_expr e = random_expr(m, &seed, 5);
    for (int k = 0; k < 4; k++)
      axis[k] = (int64_t)(neo_splitmix(&seed) % 21) - 10;
    if (!neo_linear_of(m, e, &l))
      continue;
    assert_int_equal(value(m, neo_linear_expr(m, &l), axis), value(m, e, axis));
    for (uint32_t k = 0; k < l.n; k++) {
      assert_int_not_equal(l.term[k].coef, 0);
      if (k)
        assert_true(l.term[k - 1].atom.i < l.term[k].atom.i);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(like_terms_are_collected),
      TEST(division_and_modulo_are_atoms),
      TEST(products_of_sizes_are_atoms_in_any_order),
      TEST(overflow_is_refused),
      TEST(thirty_two_terms_fit_and_one_more_does_not),
      TEST(doubling_a_shared_expression_ends_soon),
      TEST(a_form_has_the_value_of_its_expression),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
