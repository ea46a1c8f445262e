/* Schedule trees: those of orders, their text, what the verifier refuses, and that they run
 * literally. */
#include "tests/ir/ir_test.h"
#include "tests/tree/tree_text.h"
#include <string.h>

static const char chain[] = "size T 0..100\n"
                            "input x : f32 [T, 3]\n"
                            "input a : f32 [3]\n"
                            "temp h : f32 [T, 3]\n"
                            "temp y : f32 [T, 3]\n"
                            "temp z : f32 [3]\n"
                            "def h[t: T, j: 3] = x[t, j] + 0.5 * (y[t - 1, j] else a[j])\n"
                            "def y[t: T, j: 3] = h[t, j] * h[t, j]\n"
                            "def z[j: 3] =\n    sum[t: T] y[t, j]\n";

static neo_schedule_tree tree_of(neo_module *m, const char *root) {
  neo_tensor t = neo_tensor_find(m, root);
  neo_str why;
  neo_str_init(&why, m->arena);
  neo_schedule_tree y = {.root = neo_tree_of_roots(m, m->arena, &t, 1, &why)};
  if (!y.root)
    fail_msg("%s", neo_str_text(&why));
  return y;
}

static const char *text_of(neo_module *m, const neo_schedule_tree *t) {
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_tree_print(m, t, &s);
  return neo_str_text(&s);
}

static const char *messages(neo_module *m) {
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_diags_print(m->diags, &s, false);
  return neo_str_text(&s);
}

static neo_schedule_tree parsed(neo_module *m, const char *text) {
  neo_schedule_tree t;
  if (!neo_tree_parse(m, m->arena, "test.tree", text, strlen(text), &t))
    fail_msg("%s", messages(m));
  return t;
}

static neo_status verify(neo_module *m, const neo_schedule_tree *t, const char **why) {
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_status status = neo_tree_verify(m, t, &s);
  *why = neo_str_text(&s);
  return status;
}

static void assert_text(neo_module *m, const char *root, const char *text) {
  const char *why;
  neo_schedule_tree t = tree_of(m, root);
  assert_string_equal(text_of(m, &t), text);
  if (verify(m, &t, &why))
    fail_msg("%s", why);
  neo_schedule_tree again = parsed(m, text);
  assert_string_equal(text_of(m, &again), text);
}

/* ---- text */

static void a_recurrence_is_a_band_between_leaves(void **state) {
  neo_module *m = test_parse(*state, chain);
  assert_text(m, "z",
              "seq\n"
              "  band t in 0..T\n"
              "    seq\n"
              "      leaf h[t]\n"
              "      leaf y[t]\n"
              "  leaf z\n");
}

static void bands_lie_in_one_another_and_run_downwards(void **state) {
  neo_module *m = test_parse(
      *state, "size N 0..9\ninput a : f32 [N, 4, N]\ntemp D : f32 [N, 4, N]\n"
              "def D[i: N, k: 4, j: N] =\n    a[i, k, j] + select(j + 1 < N, D[i, k, j + 1],"
              " (D[i - 1, k, j] else 0.0))\n");
  assert_text(m, "D",
              "band i in 0..N\n"
              "  band j in 0..N down\n"
              "    leaf D[i, .., j]\n");
}

static void every_node_prints_and_parses(void **state) {
  neo_module *m = test_parse(*state, chain);
  static const char text[] = "seq\n"
                             "  store y [2, 3] at (d0 % 2, d1)\n"
                             "  band t in 0..T down\n"
                             "    seq\n"
                             "      guard t < 3\n"
                             "        leaf h[t, 0..3] y[t - 1..t + 1]\n"
                             "      exit unless x[t, 0] < 1.0\n"
                             "      kernel 4\n"
                             "        leaf\n"
                             "  store h [] at ()\n"
                             "  leaf z\n";
  neo_schedule_tree t = parsed(m, text);
  assert_string_equal(text_of(m, &t), text);
}

static void rows_of_a_band_have_names(void **state) {
  neo_module *m = test_parse(*state, "size V 0..9\ninput first : i32 [V + 1]\n"
                                     "temp h : f32 [V]\ndef h[v: V] = f32(v)\n");
  static const char text[] = "band b in 0..V rows first as p0..p1 wide\n"
                             "  leaf h[p0..p1]\n";
  neo_schedule_tree t = parsed(m, text);
  assert_string_equal(text_of(m, &t), text);
}

static void wrong_text_is_told(void **state) {
  static const char *const wrong[][2] = {
      {"", "expected a node of a tree"},
      {"leaf q\n", "unknown tensor 'q'"},
      {"band t in 0..T\nleaf h[t]\n", "expected an indented line below"},
      {"leaf h\nleaf y\n", "expected the end of the tree"},
      {"leaf h[0, 1, 2]\n", "more than 2 axes of the definition"},
      {"loop t\n", "expected a node of a tree, found 'loop'"},
      {"store y [2] at (d0 % 2)\n", "expected the node that is its scope"},
      {"seq 3\n", "expected the end of the line"},
      {"leaf x\n", "unknown definition"},
  };
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    neo_module *m = test_parse(*state, chain);
    neo_schedule_tree t;
    assert_false(neo_tree_parse(m, m->arena, "t", wrong[k][0], strlen(wrong[k][0]), &t));
    if (!strstr(messages(m), wrong[k][1]))
      fail_msg("%s: %s", wrong[k][0], messages(m));
  }
}

/* ---- the verifier */

static void refuses(neo_module *m, const char *text, const char *why) {
  const char *found;
  neo_schedule_tree t = parsed(m, text);
  assert_int_equal(verify(m, &t, &found), NEO_INTERNAL);
  if (!strstr(found, why))
    fail_msg("%s", found);
}

static void broken_invariants_are_refused(void **state) {
  neo_module *m = test_parse(*state, chain);
  refuses(m, "seq\n  exit unless x[0, 0] < 1.0\n  leaf h\n", "early exit");
  refuses(m, "guard T\n  leaf h\n", "no bool");
  refuses(m, "leaf h[T < 1]\n", "no i64");
  refuses(m, "leaf h[..3]\n", "no begin");
  refuses(m, "seq\n  store y [3] at (d1)\n  leaf y\n  leaf z\n", "outside of its scope");
}

static void an_index_is_used_below_its_band_alone(void **state) {
  neo_module *m = test_parse(*state, chain);
  neo_expr lo[2] = {neo_axis_ref(m, 0)}, hi[2] = {{0}};
  neo_tensor h = neo_tensor_find(m, "h");
  neo_tree_leaf leaf = {0};
  neo_instance x = {.def = {neo_list_at(m, neo_tensor_at(m, h)->pieces, 0)}, .lo = lo, .hi = hi};
  NEO_PUSH(m->arena, &leaf.instances, x);
  neo_schedule_tree t = {.root = neo_tree_of_leaf(m->arena, leaf)};
  const char *why;
  assert_int_equal(verify(m, &t, &why), NEO_INTERNAL);
  assert_non_null(strstr(why, "outside of its band"));
}

/* ---- what a tree does */

static neo_interp *ready(neo_module *m, int64_t n) {
  neo_interp *p = test_interp(m, &n);
  double x[300], a[3] = {0.25, 0.5, -1};
  for (int k = 0; k < 300; k++)
    x[k] = (k * 7 % 11 - 5) * 0.125;
  test_put_f(p, m, "x", x, (size_t)(3 * n));
  test_put_f(p, m, "a", a, 3);
  return p;
}

/* Runs the tree; null: it fails, and *why says how. */
static const neo_values *run(neo_module *m, int64_t n, const char *text, const char **why) {
  neo_interp *p = ready(m, n);
  neo_schedule_tree t = parsed(m, text);
  neo_str s;
  neo_str_init(&s, m->arena);
  neo_status status = neo_interp_eval_tree(p, &t, false, &s);
  *why = neo_str_text(&s);
  return status ? NULL : neo_interp_tensor(p, neo_tensor_find(m, "z"));
}

static void assert_runs(neo_module *m, const char *text) {
  static const int64_t sizes[] = {0, 1, 2, 3, 100};
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    const char *why;
    neo_interp *p = ready(m, sizes[k]);
    const neo_values *want = test_eval(p, m, "z"), *got = run(m, sizes[k], text, &why);
    if (!got)
      fail_msg("T = %lld: %s", (long long)sizes[k], why);
    assert_memory_equal(got->at, want->at, 3 * sizeof *got->at);
  }
}

static void assert_fails(neo_module *m, const char *text, const char *how) {
  const char *why;
  assert_null(run(m, 5, text, &why));
  if (!strstr(why, how))
    fail_msg("%s", why);
}

static void other_orders_that_are_right_give_the_same(void **state) {
  neo_module *m = test_parse(*state, chain);
  assert_runs(m, "seq\n  band t in 0..T\n    leaf h[t] y[t]\n  leaf z\n");
  assert_runs(m, "seq\n  band t in 0..T + 1\n    leaf y[t - 1] h[t]\n  leaf z\n");
  assert_runs(m, "seq\n  leaf h[0] y[0]\n  band t in 1..T\n    leaf h[t] y[t]\n  leaf z\n");
  assert_runs(m,
              "seq\n  band j in 0..3\n    band t in 0..T\n      leaf h[t, j] y[t, j]\n  leaf z\n");
  assert_runs(
      m,
      "seq\n  band t in 0..T\n    guard t < T\n      leaf h[t, 0..2] h[t, 2..9] y[t]\n  leaf z\n");
  assert_runs(m,
              "seq\n  band j in 0..3\n    seq\n      band t in 0..T\n        leaf h[t, j] y[t, j]\n"
              "      leaf z[j]\n");
}

static void a_read_before_its_write_fails(void **state) {
  neo_module *m = test_parse(*state, chain);
  assert_fails(m, "seq\n  band t in 0..T\n    leaf y[t] h[t]\n  leaf z\n",
               "y reads element 0 of h before");
  assert_fails(m, "seq\n  band t in 0..T down\n    leaf h[t] y[t]\n  leaf z\n",
               "h reads element 9 of y before");
  assert_fails(m, "seq\n  leaf z\n  band t in 0..T\n    leaf h[t] y[t]\n",
               "z reads element 0 of y before");
  assert_fails(m, "seq\n  band t in 0..T - 1\n    leaf h[t] y[t]\n  leaf z\n",
               "z reads element 12 of y before");
  assert_fails(m, "seq\n  band t in 0..T\n    guard t < 2\n      leaf h[t] y[t]\n  leaf z\n",
               "z reads element 6 of y before");
  assert_fails(
      m,
      "seq\n  band t in 0..T\n    seq\n      leaf h[t] y[t]\n      exit unless t < 2\n  leaf z\n",
      "z reads element 9 of y before");
}

static void storage_that_is_folded_gives_the_same(void **state) {
  neo_module *m = test_parse(*state, chain);
  assert_runs(
      m, "seq\n  store h [1, 3] at (d0 % 1, d1)\n  band t in 0..T\n    leaf h[t] y[t]\n  leaf z\n");
  assert_runs(m, "seq\n  store h [3] at (d1)\n  band t in 0..T\n    leaf h[t] y[t]\n  leaf z\n");
  assert_runs(m,
              "seq\n  band t in 0..T\n    store h [3] at (2 - d1)\n    leaf h[t] y[t]\n  leaf z\n");
  assert_runs(
      m,
      "store y [T, 3] at (T - 1 - d0, d1)\n"
      "seq\n  store h [1] at (0)\n  band j in 0..3\n    band t in 0..T\n      leaf h[t, j] y[t, j]\n"
      "  leaf z\n");
}

static void a_cell_that_holds_another_element_fails(void **state) {
  neo_module *m = test_parse(*state, chain);
  assert_fails(m, "seq\n  store h [1] at (0)\n  band t in 0..T\n    leaf h[t] y[t]\n  leaf z\n",
               "y reads element 0 of h, whose cell holds element 2");
  assert_fails(
      m, "store y [2, 3] at (d0 % 2, d1)\nseq\n  band t in 0..T\n    leaf h[t] y[t]\n  leaf z\n",
      "z reads element 0 of y, whose cell holds element 12");
  assert_fails(m,
               "store y [2, 3] at (d0, d1)\nseq\n  band t in 0..T\n    leaf h[t] y[t]\n  leaf z\n",
               "element 6 of y has no cell");
}

static void memory_of_another_iteration_holds_nothing(void **state) {
  neo_module *m = test_parse(*state, chain);
  static const char text[] = "seq\n  band t in 0..T\n    store h [T, 3] at (d0, d1)\n    seq\n"
                             "      leaf h[t]\n      leaf y[t..t + 1]\n  leaf z\n";
  assert_runs(m, text);
  neo_module *far = test_parse(*state, "size T 0..9\ninput x : f32 [T, 3]\ninput a : f32 [3]\n"
                                       "temp h : f32 [T]\ntemp z : f32 [3]\n"
                                       "def h[t: T] = x[t, 0] + (h[t - 1] else 0.0)\n"
                                       "def z[j: 3] = (h[j] else 0.0)\n");
  assert_fails(far, "band t in 0..T\n  store h [T] at (d0)\n  leaf h[t]\n",
               "h reads element 0 of h before");
}

/* Iterations after an early exit do not run. */
static void an_exit_leaves_its_band(void **state) {
  neo_module *m = test_parse(*state, "size T 0..9\ninput x : f32 [T, 3]\ninput a : f32 [3]\n"
                                     "temp h : f32 [T]\ntemp z : f32 [3]\n"
                                     "def h[t: T] = x[t, 0] + (h[t - 1] else 0.0)\n"
                                     "def z[j: 3] = select(j < 2, (h[j] else 0.0), 9.0)\n");
  const char *why;
  const neo_values *v =
      run(m, 5,
          "seq\n  band t in 0..T\n    seq\n      leaf h[t]\n      exit unless t < 1\n"
          "  leaf z\n",
          &why);
  if (!v)
    fail_msg("%s", why);
  assert_true(v->at[2].f == 9);
}

/* ---- orders of depth 1 to 3 */

typedef struct {
  const char *text, *root, *tree;
} nest;

static const nest nests[] = {
    {"size N 0..40\ninput x : f32 [N]\ntemp u : f32 [N]\n"
     "def u[t: N] = 2.0 * (u[t - 1] else 1.0) - (u[t - 2] else 0.5) + x[t]\n",
     "u", "band t in 0..N\n  leaf u[t]\n"},
    {"size N 0..40\ninput x : f32 [N]\ntemp u : f32 [N]\n"
     "def u[t: N] = 0.5 * (u[t + 1] else 1.0) + x[t]\n",
     "u", "band t in 0..N down\n  leaf u[t]\n"},
    {"size N 0..40\ninput x : f32 [N]\ntemp u : f32 [N, N]\n"
     "def u[i: N, j: N] = 0.5 * (u[i - 1, j] else x[j]) + 0.25 * (u[i, j + 1] else x[i])\n",
     "u", "band i in 0..N\n  band j in 0..N down\n    leaf u[i, j]\n"},
    {"size N 0..12\ninput x : f32 [N]\ntemp u : f32 [N, N, N]\n"
     "def u[i: N, j: N, k: N] = 0.5 * (u[i - 1, j, k] else x[j]) + 0.25 * (u[i, j - 1, k] else x[i])"
     " + 0.125 * (u[i, j, k + 1] else x[k])\n",
     "u", "band i in 0..N\n  band j in 0..N\n    band k in 0..N down\n      leaf u[i, j, k]\n"},
};

static void orders_of_any_depth_run_at_any_size(void **state) {
  static const int64_t sizes[] = {0, 1, 2, 12};
  for (size_t k = 0; k < sizeof nests / sizeof *nests; k++) {
    neo_module *m = test_parse(*state, nests[k].text);
    assert_text(m, nests[k].root, nests[k].tree);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
      neo_interp *p = test_interp(m, &sizes[i]);
      double x[12] = {1, 2, -1, 0.5, 3, 0, 1, -2, 0.25, 1, 1, 2};
      test_put_f(p, m, "x", x, (size_t)sizes[i]);
      (void)test_eval(p, m, nests[k].root);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      TEST(a_recurrence_is_a_band_between_leaves),
      TEST(bands_lie_in_one_another_and_run_downwards),
      TEST(every_node_prints_and_parses),
      TEST(rows_of_a_band_have_names),
      TEST(wrong_text_is_told),
      TEST(broken_invariants_are_refused),
      TEST(an_index_is_used_below_its_band_alone),
      TEST(other_orders_that_are_right_give_the_same),
      TEST(a_read_before_its_write_fails),
      TEST(storage_that_is_folded_gives_the_same),
      TEST(a_cell_that_holds_another_element_fails),
      TEST(memory_of_another_iteration_holds_nothing),
      TEST(an_exit_leaves_its_band),
      TEST(orders_of_any_depth_run_at_any_size),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
