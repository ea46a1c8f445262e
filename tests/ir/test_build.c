/* Hash-consing, folding and the walks. */
#include "ir/clone.h"
#include "ir/interp/interp.h"
#include "ir/out_map.h"
#include "tests/ir/ir_test.h"

static void equal_expressions_have_equal_ids(void **state) {
  neo_module *m = *state;
  neo_expr i = neo_axis_ref(m, 0), j = neo_axis_ref(m, 1);
  neo_expr a = neo_op2(m, NEO_OP_ADD, i, j);
  assert_int_equal(a.i, neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, 0), neo_axis_ref(m, 1)).i);
  assert_int_not_equal(a.i, neo_op2(m, NEO_OP_SUB, i, j).i);
  assert_int_not_equal(a.i, neo_op2(m, NEO_OP_ADD, j, i).i);
  assert_int_equal(neo_const_float(m, NEO_F32_T, 0.5).i, neo_const_float(m, NEO_F32_T, 0.5).i);
  assert_int_not_equal(neo_const_float(m, NEO_F32_T, 0.0).i, neo_const_float(m, NEO_F32_T, -0.0).i);
  assert_int_not_equal(neo_const_float(m, NEO_F32_T, 1).i, neo_const_float(m, NEO_F64_T, 1).i);
  assert_int_equal(neo_const_float(m, NEO_F32_T, 0.1).i,
                   neo_const_float(m, NEO_F32_T, (double)0.1F).i);
  assert_int_equal(neo_const_int(m, NEO_F32_T, 3).i, neo_const_float(m, NEO_F32_T, 3).i);
}

static void ten_thousand_expressions_stay_distinct(void **state) {
  neo_module *m = *state;
  neo_expr i = neo_axis_ref(m, 0), first[10000];
  for (int64_t k = 0; k < 10000; k++)
    first[k] = neo_op2(m, NEO_OP_MUL, i, neo_const_int(m, NEO_I64_T, k + 2));
  for (int64_t k = 0; k < 10000; k++) {
    neo_expr again = neo_op2(m, NEO_OP_MUL, i, neo_const_int(m, NEO_I64_T, k + 2));
    int64_t c;
    assert_int_equal(first[k].i, again.i);
    assert_true(neo_expr_is_int(m, neo_expr_arg(m, again, 1), &c));
    assert_int_equal(c, k + 2);
  }
}

static int64_t folded(neo_module *m, neo_op op, neo_type t, int64_t x, int64_t y) {
  int64_t z = -12345;
  neo_expr e = neo_op2(m, op, neo_const_int(m, t, x), neo_const_int(m, t, y));
  assert_true(neo_expr_is_int(m, e, &z));
  return z;
}

static void integer_constants_fold_as_they_compute(void **state) {
  neo_module *m = *state;
  assert_int_equal(folded(m, NEO_OP_ADD, NEO_I64_T, 2, 3), 5);
  assert_int_equal(folded(m, NEO_OP_DIV, NEO_I64_T, -7, 2), -4);
  assert_int_equal(folded(m, NEO_OP_MOD, NEO_I64_T, -7, 2), 1);
  assert_int_equal(folded(m, NEO_OP_MOD, NEO_I64_T, 7, -2), -1);
  assert_int_equal(folded(m, NEO_OP_DIV, NEO_I64_T, 7, 0), 0);
  assert_int_equal(folded(m, NEO_OP_DIV, NEO_I64_T, INT64_MIN, -1), INT64_MIN);
  assert_int_equal(folded(m, NEO_OP_ADD, NEO_I8_T, 100, 100), -56);
  assert_int_equal(folded(m, NEO_OP_SUB, NEO_U8_T, 1, 2), 255);
  assert_int_equal(folded(m, NEO_OP_MIN, NEO_I64_T, 4, -4), -4);
  assert_int_equal(folded(m, NEO_OP_LT, NEO_I64_T, 4, 5), 1);
  assert_int_equal(folded(m, NEO_OP_LE, NEO_I64_T, 5, 4), 0);
}

static void units_and_zeros_fold(void **state) {
  neo_module *m = *state;
  neo_expr i = neo_axis_ref(m, 0), zero = neo_const_int(m, NEO_I64_T, 0);
  neo_expr one = neo_const_int(m, NEO_I64_T, 1);
  assert_int_equal(neo_op2(m, NEO_OP_ADD, i, zero).i, i.i);
  assert_int_equal(neo_op2(m, NEO_OP_ADD, zero, i).i, i.i);
  assert_int_equal(neo_op2(m, NEO_OP_SUB, i, zero).i, i.i);
  assert_int_equal(neo_op2(m, NEO_OP_SUB, i, i).i, zero.i);
  assert_int_equal(neo_op2(m, NEO_OP_MUL, i, one).i, i.i);
  assert_int_equal(neo_op2(m, NEO_OP_MUL, one, i).i, i.i);
  assert_int_equal(neo_op2(m, NEO_OP_MUL, i, zero).i, zero.i);
  assert_int_equal(neo_op2(m, NEO_OP_DIV, i, one).i, i.i);
  assert_int_equal(neo_op2(m, NEO_OP_MOD, i, one).i, zero.i);
  assert_int_equal(neo_op2(m, NEO_OP_MAX, i, i).i, i.i);
  assert_int_equal(neo_op2(m, NEO_OP_EQ, i, i).i, neo_const_bool(m, true).i);
  assert_int_equal(neo_op2(m, NEO_OP_LT, i, i).i, neo_const_bool(m, false).i);
}

static void logic_folds(void **state) {
  neo_module *m = *state;
  neo_expr t = neo_const_bool(m, true), f = neo_const_bool(m, false);
  neo_expr p = neo_op2(m, NEO_OP_LT, neo_axis_ref(m, 0), neo_axis_ref(m, 1));
  neo_expr x = neo_acc_ref(m, NEO_F32_T, 0), y = neo_const_float(m, NEO_F32_T, 1);
  assert_int_equal(neo_op2(m, NEO_OP_AND, p, t).i, p.i);
  assert_int_equal(neo_op2(m, NEO_OP_AND, f, p).i, f.i);
  assert_int_equal(neo_op2(m, NEO_OP_OR, p, t).i, t.i);
  assert_int_equal(neo_op2(m, NEO_OP_OR, f, p).i, p.i);
  assert_int_equal(neo_op2(m, NEO_OP_AND, p, p).i, p.i);
  assert_int_equal(neo_op1(m, NEO_OP_NOT, neo_op1(m, NEO_OP_NOT, p)).i, p.i);
  assert_int_equal(neo_op3(m, NEO_OP_SELECT, t, x, y).i, x.i);
  assert_int_equal(neo_op3(m, NEO_OP_SELECT, f, x, y).i, y.i);
  assert_int_equal(neo_op3(m, NEO_OP_SELECT, p, x, x).i, x.i);
  neo_expr one = neo_op3(m, NEO_OP_SELECT, p, x, y);
  assert_int_equal(neo_op3(m, NEO_OP_SELECT, p, one, y).i, one.i);
  assert_int_equal(neo_op3(m, NEO_OP_SELECT, p, x, one).i, one.i);
  assert_int_equal(neo_op3(m, NEO_OP_SELECT, p, one, x).i, x.i);
}

static void floats_are_left_alone_but_for_a_negated_constant(void **state) {
  neo_module *m = *state;
  neo_expr zero = neo_const_float(m, NEO_F32_T, 0), one = neo_const_float(m, NEO_F32_T, 1);
  neo_expr x = neo_acc_ref(m, NEO_F32_T, 0);
  assert_int_equal(neo_expr_node(m, neo_op2(m, NEO_OP_ADD, x, zero))->op, NEO_OP_ADD);
  assert_int_equal(neo_expr_node(m, neo_op2(m, NEO_OP_ADD, one, one))->op, NEO_OP_ADD);
  assert_int_equal(neo_expr_node(m, neo_op2(m, NEO_OP_MUL, x, zero))->op, NEO_OP_MUL);
  assert_int_equal(neo_expr_node(m, neo_op2(m, NEO_OP_SUB, x, x))->op, NEO_OP_SUB);
  assert_int_equal(neo_expr_node(m, neo_op2(m, NEO_OP_EQ, x, x))->op, NEO_OP_EQ);
  assert_int_equal(neo_op1(m, NEO_OP_NEG, one).i, neo_const_float(m, NEO_F32_T, -1).i);
}

static void types_follow_the_rules(void **state) {
  neo_module *m = *state;
  neo_expr x = neo_acc_ref(m, NEO_F16_T, 0), c = neo_op2(m, NEO_OP_LT, x, x);
  assert_int_equal(neo_expr_type(m, c), NEO_BOOL_T);
  assert_int_equal(neo_expr_type(m, neo_op1(m, NEO_OP_EXP, x)), NEO_F16_T);
  assert_int_equal(neo_expr_type(m, neo_op3(m, NEO_OP_SELECT, c, x, neo_op1(m, NEO_OP_NEG, x))),
                   NEO_F16_T);
  assert_int_equal(neo_expr_type(m, neo_cast(m, NEO_I32_T, x)), NEO_I32_T);
  assert_int_equal(neo_cast(m, NEO_F16_T, x).i, x.i);
}

/* ---- walks */

typedef struct {
  const neo_module *m;
  size_t n;
  bool args_first;
  uint8_t seen[4096];
} visits;

static void count(void *ctx, neo_expr e) {
  visits *v = ctx;
  const neo_node *n = neo_expr_node(v->m, e);
  for (uint32_t k = 0; k < n->arg.n; k++)
    if (!v->seen[neo_list_at(v->m, n->arg, k)])
      v->args_first = false;
  assert_false(v->seen[e.i]);
  v->seen[e.i] = 1;
  v->n++;
}

static neo_expr doubled(neo_module *m, int levels) {
  neo_expr e = neo_acc_ref(m, NEO_F32_T, 0);
  for (int k = 0; k < levels; k++)
    e = neo_op2(m, NEO_OP_ADD, e, e);
  return e;
}

static void a_visit_sees_shared_nodes_once_arguments_first(void **state) {
  neo_module *m = *state;
  visits v = {.m = m, .args_first = true};
  neo_expr_visit(m, doubled(m, 500), count, &v);
  assert_int_equal(v.n, 501);
  assert_true(v.args_first);
}

typedef struct {
  const neo_module *m;
  neo_expr inner;
  size_t outer, within;
} nested;

static void count_inner(void *ctx, neo_expr e) {
  (void)e;
  ((nested *)ctx)->within++;
}

static void visit_inside(void *ctx, neo_expr e) {
  nested *n = ctx;
  (void)e;
  n->outer++;
  neo_expr_visit(n->m, n->inner, count_inner, n);
}

static void a_walk_may_start_another(void **state) {
  neo_module *m = *state;
  nested n = {.m = m, .inner = doubled(m, 9)};
  neo_expr_visit(m, doubled(m, 20), visit_inside, &n);
  assert_int_equal(n.outer, 21);
  assert_int_equal(n.within, 21 * 10);
}

static void axes_are_substituted(void **state) {
  neo_module *m = *state;
  neo_expr i = neo_axis_ref(m, 0), j = neo_axis_ref(m, 1), two = neo_const_int(m, NEO_I64_T, 2);
  neo_expr e = neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, i, two), j);
  neo_expr swapped = neo_expr_subst_axes(m, e, (neo_expr[]){j, i}, 2);
  assert_int_equal(swapped.i, neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, j, two), i).i);
  neo_expr only = neo_expr_subst_axes(m, e, (neo_expr[]){{0}, two}, 2);
  assert_int_equal(only.i, neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, i, two), two).i);
  assert_int_equal(neo_expr_axes(m, e), 3);
  assert_int_equal(neo_expr_axes(m, only), 1);
  assert_true(neo_expr_uses_op(m, e, NEO_OP_MUL));
  assert_false(neo_expr_uses_op(m, e, NEO_OP_DIV));
}

/* ---- definitions */

static neo_tensor vector(neo_module *m, const char *name) {
  return neo_tensor_add(m,
                        (neo_tensor_rec){.role = NEO_ROLE_TEMP,
                                         .type = NEO_F32_T,
                                         .name = neo_name_of(m->names, name),
                                         .extent = test_list1(m, neo_const_int(m, NEO_I64_T, 4))});
}

static neo_def copy_of(neo_module *m, neo_tensor out, neo_tensor a, neo_tensor b) {
  neo_expr i = neo_axis_ref(m, 0), zero = neo_const_int(m, NEO_I64_T, 0);
  neo_axis x = neo_axis_add(m, (neo_axis_rec){.lo = zero, .hi = neo_const_int(m, NEO_I64_T, 4)});
  neo_expr e = neo_load(m, a, &i, 1, 0);
  if (b.i)
    e = neo_op2(m, NEO_OP_ADD, e, neo_load(m, b, &i, 1, 0));
  return neo_def_add(m,
                     (neo_def_rec){.axes = neo_list_new(m, &x.i, 1),
                                   .n_out = 1,
                                   .finish = test_list1(m, e),
                                   .out = neo_list_new(m, &out.i, 1)},
                     true);
}

static void producers_come_first_and_ties_go_by_id(void **state) {
  neo_module *m = *state;
  neo_tensor in = vector(m, "in"), a = vector(m, "a"), b = vector(m, "b"), c = vector(m, "c");
  neo_tensor other = vector(m, "other");
  neo_tensor_at(m, in)->role = NEO_ROLE_INPUT;
  neo_def dc = copy_of(m, c, a, b), db = copy_of(m, b, in, in), da = copy_of(m, a, in, b);
  (void)copy_of(m, other, c, in);
  neo_def *order;
  neo_tensor *read;
  bool cycle;
  assert_int_equal(neo_module_topo(m, &c, 1, m->arena, &order, &cycle), 3);
  assert_false(cycle);
  assert_int_equal(order[0].i, db.i);
  assert_int_equal(order[1].i, da.i);
  assert_int_equal(order[2].i, dc.i);
  assert_int_equal(neo_def_reads(m, dc, m->arena, &read), 2);
  assert_int_equal(read[0].i, a.i);
  assert_int_equal(read[1].i, b.i);
  assert_int_equal(neo_def_reads(m, db, m->arena, &read), 1);
  assert_int_equal(neo_tensor_at(m, b)->pieces.n, 1);
  assert_int_equal(neo_tensor_find(m, "other").i, other.i);
  assert_int_equal(neo_tensor_find(m, "nobody").i, 0);
}

static void a_cycle_is_found(void **state) {
  neo_module *m = *state;
  neo_tensor a = vector(m, "a"), b = vector(m, "b");
  (void)copy_of(m, a, b, (neo_tensor){0});
  (void)copy_of(m, b, a, (neo_tensor){0});
  neo_def *order;
  bool cycle = false;
  (void)neo_module_topo(m, &b, 1, m->arena, &order, &cycle);
  assert_true(cycle);
}

static void a_definition_is_rewritten_whole(void **state) {
  neo_module *m = *state;
  neo_tensor t[2] = {vector(m, "a"), vector(m, "b")}, c = vector(m, "c"), *read;
  neo_def d = copy_of(m, c, t[0], (neo_tensor){0});
  neo_map to;
  neo_map_init(&to, m->arena);
  neo_map_set(&to, t[0].i, t[1].i);
  neo_def_rename(m, d, &to);
  assert_int_equal(neo_def_reads(m, d, m->arena, &read), 1);
  assert_int_equal(read[0].i, t[1].i);
}

/* An unrolled recurrence has an adjoint of its parameters for each step. */
static void ten_thousand_copies_find_names_at_once(void **state) {
  neo_module *m = *state;
  neo_tensor t = {0};
  for (int k = 1; k <= 10000; k++)
    t = neo_tensor_add(m, (neo_tensor_rec){.name = neo_tensor_fresh_name(m, "d", "W"),
                                           .role = NEO_ROLE_TEMP,
                                           .type = NEO_F32_T});
  assert_string_equal(neo_name_text(m->names, neo_tensor_at(m, t)->name), "d10000.W");
  assert_int_equal(neo_tensor_find(m, "d10000.W").i, t.i);
  assert_int_equal(neo_tensor_find(m, "d.W").i, t.i - 9999);
  assert_int_equal(neo_tensor_find(m, "d1.W").i, 0);
}

static void an_out_map_says_where_elements_are_written(void **state) {
  neo_module *m = *state;
  neo_def_rec d = {.n_out = 2};
  assert_int_equal(neo_def_out_index(m, &d, 1).i, neo_axis_ref(m, 1).i);
  d.out_map = neo_out_map_new(m, (neo_out_dim[]){{3, -2}, {1, 0}}, 2);
  assert_int_equal(neo_out_map_rank(d.out_map), 2);
  assert_int_equal(neo_out_map_at(m, d.out_map, 0).stride, 3);
  assert_int_equal(neo_out_map_at(m, d.out_map, 0).offset, -2);
  assert_int_equal(neo_def_out_index(m, &d, 1).i, neo_axis_ref(m, 1).i);
  neo_linear l;
  assert_true(neo_linear_of(m, neo_def_out_index(m, &d, 0), &l));
  assert_int_equal(l.constant, -2);
  assert_int_equal(neo_linear_coef(&l, neo_axis_ref(m, 0)), 3);
  neo_list slice = neo_out_map_slice(m, 3, 1, 7);
  assert_int_equal(neo_out_map_at(m, slice, 1).offset, 7);
  assert_int_equal(neo_out_map_at(m, slice, 2).offset, 0);
  assert_int_equal(neo_out_map_at(m, slice, 1).stride, 1);
}

static void what_computes_costs_something_and_classes_grow(void **state) {
  (void)state;
  for (int k = 0; k < NEO_OP_COUNT; k++) {
    neo_op op = (neo_op)k;
    assert_true(neo_op_cost(op) < NEO_COST_COUNT);
    assert_int_equal(neo_op_is_elementwise(op) || op == NEO_OP_RAND, neo_op_additions(op) > 0);
  }
  assert_true(neo_op_additions(NEO_OP_CAST) < neo_op_additions(NEO_OP_ADD));
  assert_true(neo_op_additions(NEO_OP_ADD) < neo_op_additions(NEO_OP_DIV));
  assert_true(neo_op_additions(NEO_OP_DIV) < neo_op_additions(NEO_OP_TANH));
  assert_true(neo_op_additions(NEO_OP_TANH) < neo_op_additions(NEO_OP_ERF));
  assert_true(neo_op_additions(NEO_OP_ERF) < neo_op_additions(NEO_OP_SOFTPLUS));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(equal_expressions_have_equal_ids),
      TEST(ten_thousand_expressions_stay_distinct),
      TEST(integer_constants_fold_as_they_compute),
      TEST(units_and_zeros_fold),
      TEST(logic_folds),
      TEST(floats_are_left_alone_but_for_a_negated_constant),
      TEST(types_follow_the_rules),
      TEST(a_visit_sees_shared_nodes_once_arguments_first),
      TEST(a_walk_may_start_another),
      TEST(axes_are_substituted),
      TEST(producers_come_first_and_ties_go_by_id),
      TEST(a_cycle_is_found),
      TEST(a_definition_is_rewritten_whole),
      TEST(ten_thousand_copies_find_names_at_once),
      TEST(an_out_map_says_where_elements_are_written),
      TEST(what_computes_costs_something_and_classes_grow),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
