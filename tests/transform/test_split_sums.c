/* Sums of products as several over subranges: of an output axis, or of operands that lie beside each other. */
#include "tests/transform/world.h"

#define HEAD                                                                        \
  "neo-ir 1\nmodule t\nsize N 1..64\ninput d : f32 [9, 4]\ninput h : f32 [9, 16]\n" \
  "input x : f32 [9, 24]\ninput W : f32 [40, 16]\ninput e : f32 [N, 4]\ninput g : f32 [N, 16]\n"
#define SUM HEAD "temp G : f32 [40, 4]\n"
#define REST "entry forward forward: G = G\n"
/* The state is beside the input. */
#define CELL                                                                            \
  HEAD "temp v : f32 [9, 40]\ntemp s : f32 [9, 16]\n"                                   \
       "def @1 v[t: 9, k: 40] = select(k < 16, (s[t - 1, k] else 0.0), x[t, k - 16])\n" \
       "def @2 s[t: 9, j: 16] =\n  sum[k: 40] v[t, k] * W[k, j]\n  then 0.5 * acc0\n"

static void becomes(const char *head, const char *rest, const char *part, const char *whole) {
  world w;
  load_two(&w, head, rest);
  apply(&w, neo_pass_split_sums);
  const char *made = text_of(&w);
  if (!strstr(made, part) || !strstr(made, whole))
    fail_msg("%s%sare not in\n%s", part, whole, made);
  apply(&w, neo_pass_split_sums);
  assert_string_equal(text_of(&w), made);
  neo_arena_free(&w.arena);
}

static void stays(const char *head, const char *rest) {
  world w;
  load_two(&w, head, rest);
  const char *before = text_of(&w);
  apply(&w, neo_pass_split_sums);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void a_product_is_made_where_its_condition_holds(void **state) {
  (void)state;
  becomes(SUM,
          "def @1 G[i: 40, j: 4] =\n  sum[t: 9] where i < 16;\n  d[t, j] * h[t, i]\n"
          "  then 2.0 * acc0\n" REST,
          "split.G[i: 16, j: 4] =\n    sum[t: 9] d[t, j] * h[t, i]\n",
          " G[i: 40, j: 4] = 2.0 * select(i < 16, split.G[i, j], 0.0)\n");
}

static void it_counts_from_the_first_value_on(void **state) {
  (void)state;
  becomes(SUM,
          "def @1 G[i: 40, j: 4] =\n  sum[t: 9] where 0 <= i - 16 and t != j;\n"
          "  d[t, j] * x[t, i - 16]\n  then acc0\n" REST,
          "split.G[i: 24, j: 4] =\n    sum[t: 9] where t != j;\n    d[t, j] * x[t, i]\n",
          " G[i: 40, j: 4] = select(0 <= i - 16, split.G[i - 16, j], 0.0)\n");
}

static void conditions_on_two_axes_are_two_ranges(void **state) {
  (void)state;
  becomes(SUM,
          "def @1 G[i: 40, j: 4] =\n  sum[t: N] where i < 16 and j < 2;\n"
          "  e[t, j] * g[t, i]\n  then acc0\n" REST,
          "split.split.G[i: 16, j: 2] =\n    sum[t: N] e[t, j] * g[t, i]\n",
          " split.G[i: 16, j: 4] = select(j < 2, split.split.G[i, j], 0.0)\n");
}

static void conditions_that_take_nearly_all_stay(void **state) {
  (void)state;
  stays(SUM, "def @1 G[i: 40, j: 4] =\n  sum[t: 9] where i < 39;\n  d[t, j] * W[i, t]\n" REST);
  stays(SUM, "def @1 G[i: 40, j: 4] =\n  sum[t: 9] where i < 16 + t;\n  d[t, j] * W[i, t]\n" REST);
  stays(SUM, "def @1 G[i: 40, j: 4] =\n  sum[t: 9] where i < 16;\n  d[t, j]\n" REST);
  stays(SUM, "def @1 G[i: 40, j: 4] =\n  max[t: 9] where i < 16;\n  d[t, j] * h[t, i]\n" REST);
}

static void what_a_state_is_beside_is_a_sum_of_its_own(void **state) {
  (void)state;
  becomes(CELL, "entry forward forward: s = s\n",
          "split.s[t: 9, j: 16] =\n    sum[k: 24] x[t, k] * W[k + 16, j]\n",
          " s[t: 9, j: 16] =\n    sum[k: 16] (s[t - 1, k] else 0.0) * W[k, j]\n"
          "    then 0.5 * (acc0 + split.s[t, j])\n");
}

static void so_are_the_gradients_of_their_weights(void **state) {
  (void)state;
  becomes(CELL,
          "temp G : f32 [40, 4]\ndef @3 G[i: 40, j: 4] =\n  sum[t: 9] d[t, j] * v[t, i]\n" REST,
          "split2.G[i: 24, j: 4] =\n    sum[t: 9] d[t, j] * x[t, i]\n",
          " G[i: 40, j: 4] = select(i < 16, split.G[i, j], split2.G[i - 16, j])\n");
}

/* Two states beside each other: both parts stay in the loop. */
static void operands_that_all_are_of_the_recurrence_stay(void **state) {
  (void)state;
  stays(HEAD "temp v : f32 [9, 40]\ntemp s : f32 [9, 16]\n"
             "def @1 v[t: 9, k: 40] = select(k < 16, (s[t - 1, k] else 0.0), "
             "(s[t - 2, k - 24] else 1.0))\n"
             "def @2 s[t: 9, j: 16] =\n  sum[k: 40] v[t, k] * W[k, j]\n",
        "entry forward forward: s = s\n");
}

static void same_values(const char *head, const char *rest) {
  for (int64_t n = 1; n < 10; n += 4) {
    world before, after;
    load_two(&before, head, rest);
    load_two(&after, head, rest);
    apply(&after, neo_pass_split_sums);
    assert_non_null(strstr(text_of(&after), "split."));
    const neo_values *x = neo_interp_output(values_of(&before, n), 0);
    const neo_values *y = neo_interp_output(values_of(&after, n), 0);
    assert_int_equal(x->n, y->n);
    for (int64_t k = 0; k < x->n; k++)
      assert_float_equal(x->at[k].f, y->at[k].f, 1e-5);
    neo_arena_free(&before.arena);
    neo_arena_free(&after.arena);
  }
}

static void values_are_the_same(void **state) {
  (void)state;
  same_values(SUM, "def @1 G[i: 40, j: 4] =\n  sum[t: N] where 16 <= i and i < 32 and t != j;\n"
                   "  e[t, j] * g[t, i - 16]\n  then acc0 + 1.0\n" REST);
  same_values(CELL, "entry forward forward: s = s\n");
  same_values(CELL, "temp G : f32 [40, 4]\ndef @3 G[i: 40, j: 4] =\n"
                    "  sum[t: 9] d[t, j] * v[t, i]\n" REST);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_is_made_where_its_condition_holds),
      cmocka_unit_test(it_counts_from_the_first_value_on),
      cmocka_unit_test(conditions_on_two_axes_are_two_ranges),
      cmocka_unit_test(conditions_that_take_nearly_all_stay),
      cmocka_unit_test(what_a_state_is_beside_is_a_sum_of_its_own),
      cmocka_unit_test(so_are_the_gradients_of_their_weights),
      cmocka_unit_test(operands_that_all_are_of_the_recurrence_stay),
      cmocka_unit_test(values_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
