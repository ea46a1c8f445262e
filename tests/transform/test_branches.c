/* The pass `branches`: who reads what is zero asks, results have a tensor for each branch; and where definitions are
 * needed (ir/needed.h). */
#include "ir/needed.h"
#include "ir/print.h"
#include "tests/transform/world.h"

#define HEAD                                                                                   \
  "neo-ir 1\nmodule t\ninput X : f32 [4, 5]\ninput k : i32 [] < 3\ninput n : i32 [] < 9\n"     \
  "input q : i32 [3] < 8\nparam W : f32 [3, 5, 5]\ntemp A : f32 [4, 5]\ntemp B : f32 [4, 5]\n" \
  "temp Y : f32 [4, 5]\ninit @1 W[g: 3, i: 5, j: 5] = 1.0\n"
#define FORWARD "entry forward forward: Y = Y\n"
#define PRODUCT_A "def @2 A[b: 4, j: 5] =\n  sum[i: 5] X[b, i] * W[0, i, j]\n"
#define PRODUCT_B "def @3 B[b: 4, j: 5] =\n  sum[i: 5] X[b, i] * W[1, i, j]\n"

static void says(world *w, const char *part) {
  if (!strstr(text_of(w), part))
    fail_msg("%s is not in\n%s", part, text_of(w));
}

static void lacks(world *w, const char *part) {
  if (strstr(text_of(w), part))
    fail_msg("%s is in\n%s", part, text_of(w));
}

/* Conditions under which the tensor is needed, if Y is always. */
static const char *where(world *w, const char *tensor) {
  neo_def *order;
  neo_str out;
  neo_tensor root = neo_tensor_find(w->m, "Y"), t = neo_tensor_find(w->m, tensor);
  bool *always = NEO_NEW_ARRAY(&w->arena, bool, w->m->tensors.n);
  always[root.i] = true;
  size_t n = neo_module_topo(w->m, &root, 1, &w->arena, &order, NULL);
  neo_needed_input in = {order, n, always, NULL, NULL};
  const neo_conditions *of = neo_needed_where(w->m, &in, &w->arena);
  neo_str_init(&out, &w->arena);
  uint32_t d = neo_list_at(w->m, neo_tensor_at(w->m, t)->pieces, 0);
  for (uint32_t i = 0; of && i < of[d].n; i++) {
    neo_str_add(&out, i ? "; " : "");
    neo_expr_print(w->m, NULL, of[d].at[i], &out);
  }
  return neo_str_text(&out);
}

static void expect_where(const char *rest, const char *tensor, const char *conditions) {
  world w;
  load_two(&w, HEAD, rest);
  assert_string_equal(where(&w, tensor), conditions);
  neo_arena_free(&w.arena);
}

static void a_branch_is_needed_where_its_label_is_the_value(void **state) {
  (void)state;
  const char *text =
      PRODUCT_A PRODUCT_B "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, A[b, j], B[b, j])\n" FORWARD;
  expect_where(text, "A", "k[] == 0i32");
  expect_where(text, "B", "not (k[] == 0i32)");
  expect_where(PRODUCT_A "def @4 Y[b: 4, j: 5] = select(q[2] == 3i32, A[b, j], 0.0)\n" FORWARD, "A",
               "q[2] == 3i32");
}

/* A label is no other one; what two branches need is needed in both, what all need always. */
static void conditions_are_joined(void **state) {
  (void)state;
  expect_where(PRODUCT_A "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, X[b, j], select(k[] == 1i32, "
                         "A[b, j], X[b, j]))\n" FORWARD,
               "A", "k[] == 1i32");
  expect_where(PRODUCT_A "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, A[b, j], select(k[] == 1i32, "
                         "A[b, j] + 1.0, X[b, j]))\n" FORWARD,
               "A", "k[] == 0i32 or k[] == 1i32");
  expect_where(PRODUCT_A "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, A[b, j], select(k[] == 1i32, "
                         "A[b, j] + 1.0, A[b, j] + 2.0))\n" FORWARD,
               "A", "");
  expect_where(PRODUCT_A "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, select(k[] == 1i32, A[b, j], "
                         "0.0), X[b, j])\n" FORWARD,
               "A", "false");
}

/* An element that may be out of range cannot be asked for before it is known to be in. */
static void elements_at_moving_positions_are_no_conditions(void **state) {
  (void)state;
  expect_where(PRODUCT_A "def @4 Y[b: 4, j: 5] = select(0 <= i64(n[]) - 1 and i64(n[]) - 1 < 3, "
                         "select(q[i64(n[]) - 1] == 1i32, A[b, j], 0.0), 0.0)\n" FORWARD,
               "A", "i64(n[]) - 1 < 3; not (i64(n[]) - 1 < 0)");
}

/* An index is made wherever its reader runs. */
static void an_index_is_needed_where_its_reader_is(void **state) {
  (void)state;
  expect_where("temp t : i32 [4] < 4\ndef @2 t[b: 4] = i32(b)\n"
               "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, X[i64(t[b]), j], 0.0)\n" FORWARD,
               "t", "");
  expect_where("temp t : i32 [4] < 4\ndef @2 t[b: 4] = i32(b)\n"
               "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, f32(t[b]), 0.0)\n" FORWARD,
               "t", "k[] == 0i32");
}

static void terms_of_which_one_is_not_zero_are_chosen_from(void **state) {
  (void)state;
  world w;
  load_two(&w, HEAD,
           PRODUCT_A PRODUCT_B "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, A[b, j], 0.0) + "
                               "select(k[] == 1i32, B[b, j], 0.0)\n" FORWARD);
  apply(&w, neo_pass_branches);
  says(&w,
       "Y[b: 4, j: 5] = select(k[] == 0i32, A[b, j], select(k[] == 1i32, B[b, j], case.Y[b, j]))");
  says(&w, "case.Y[b: 4, j: 5] = 0.0");
  neo_arena_free(&w.arena);
}

static void what_is_zero_elsewhere_is_made_under_its_condition(void **state) {
  (void)state;
  world w;
  load_two(&w, HEAD,
           "def @2 A[b: 4, j: 5] =\n  sum[i: 5] where k[] == 2i32;\n  X[b, i] * W[0, i, j]\n"
           "def @4 Y[b: 4, j: 5] = A[b, j] + X[b, j]\n" FORWARD);
  apply(&w, neo_pass_branches);
  lacks(&w, "where k[] == 2i32");
  says(&w, "select(k[] == 2i32, A[b, j], 0.0) + X[b, j]");
  neo_arena_free(&w.arena);
}

/* A is zero in the iterations that the condition leaves out. Comparisons of floats are no conditions. */
static void a_sum_over_iterations_leaves_out_those_where_an_operand_is_zero(void **state) {
  (void)state;
  static const struct {
    const char *condition, *sum;
  } cases[] = {{"r[b] == 1i32", "sum[b: 4] where r[b] == 1i32; A[b, i] * X[b, j]"},
               {"(r[b + 1] else 0i32) == 1i32",
                "sum[b: 4] where (r[b + 1] else 0i32) == 1i32; A[b, i] * X[b, j]"},
               {"X[b, 0] < 1.0", "sum[b: 4] A[b, i] * X[b, j]"}};
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    world w;
    char rest[1024];
    snprintf(rest, sizeof rest,
             "input r : i32 [4] < 8\ntemp G : f32 [5, 5]\n"
             "def @2 A[b: 4, j: 5] = select(%s, exp((B[b + -1, j] else 0.0)), 0.0)\n"
             "def @3 B[b: 4, j: 5] = A[b, j] * X[b, j]\n"
             "def @4 G[i: 5, j: 5] =\n  sum[b: 4] A[b, i] * X[b, j]\n"
             "def @5 Y[b: 4, j: 5] = G[b, j]\n" FORWARD,
             cases[k].condition);
    load_two(&w, HEAD, rest);
    apply(&w, neo_pass_branches);
    neo_str text;
    neo_str_init(&text, &w.arena);
    for (const char *c = text_of(&w); *c; c++) /* lines of a definition joined */
      if (*c != '\n' || c[1] != ' ')
        neo_str_addf(&text, "%.1s", *c == ' ' && c[1] == ' ' ? "" : c);
    if (!strstr(neo_str_text(&text), cases[k].sum))
      fail_msg("%s is not in\n%s", cases[k].sum, text_of(&w));
    neo_arena_free(&w.arena);
  }
}

static void a_read_that_the_condition_keeps_in_range_stays_under_it(void **state) {
  (void)state;
  world w;
  load_two(
      &w, HEAD,
      "def @2 A[b: 4, j: 5] =\n  sum[i: 5] select(n[] < 4i32, X[i64(n[]), i], 0.0) * W[0, i, j]\n"
      "def @4 Y[b: 4, j: 5] = select(n[] < 4i32, A[b, j], 0.0)\n" FORWARD);
  apply(&w, neo_pass_branches);
  says(&w, "select(n[] < 4i32, X[i64(n[]), i], 0.0)");
  neo_arena_free(&w.arena);
}

/* A float may be another one where it is computed again. */
static void comparisons_of_floats_are_no_conditions(void **state) {
  (void)state;
  expect_where(PRODUCT_A
               "def @4 Y[b: 4, j: 5] = select(1.0 < X[0, 0] * 2.0, A[b, j], X[b, j])\n" FORWARD,
               "A", "");
}

static void elementwise_branches_share_a_definition(void **state) {
  (void)state;
  world w;
  load_two(&w, HEAD,
           "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, X[b, j], 2.0 * X[b, j])\n" FORWARD);
  apply(&w, neo_pass_branches);
  lacks(&w, "case.");
  neo_arena_free(&w.arena);
}

static void products_of_two_branches_are_not_joined(void **state) {
  (void)state;
  world w;
  load_two(&w, HEAD,
           PRODUCT_A PRODUCT_B
           "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, A[b, j], B[b, j])\n" FORWARD);
  apply(&w, neo_pass_horizontal_fusion);
  lacks(&w, "fused.");
  neo_arena_free(&w.arena);
  load_two(&w, HEAD,
           PRODUCT_A PRODUCT_B
           "def @4 Y[b: 4, j: 5] = select(k[] == 0i32, A[b, j] - B[b, j], X[b, j])\n" FORWARD);
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "fused.");
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_branch_is_needed_where_its_label_is_the_value),
      cmocka_unit_test(conditions_are_joined),
      cmocka_unit_test(elements_at_moving_positions_are_no_conditions),
      cmocka_unit_test(an_index_is_needed_where_its_reader_is),
      cmocka_unit_test(terms_of_which_one_is_not_zero_are_chosen_from),
      cmocka_unit_test(what_is_zero_elsewhere_is_made_under_its_condition),
      cmocka_unit_test(a_sum_over_iterations_leaves_out_those_where_an_operand_is_zero),
      cmocka_unit_test(a_read_that_the_condition_keeps_in_range_stays_under_it),
      cmocka_unit_test(comparisons_of_floats_are_no_conditions),
      cmocka_unit_test(elementwise_branches_share_a_definition),
      cmocka_unit_test(products_of_two_branches_are_not_joined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
