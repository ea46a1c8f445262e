/* The cost of a run-time case: kernels of the branch taken, the memory of the largest branch, and
 * no kernel that takes the result. What pointwise kernels cost: memory of one tensor. */
#include "tests/pipeline/plan_world.h"
#include <string.h>

#define HEAD                                                        \
  "dim B <= 6\ninput X[B, 32]\ninput k : i32 < 4\ninput f : bool\n" \
  "param W[12, 32, 32] = glorot(32, 32)\n"
#define STEP                                                                                \
  "loss = mean[b, j] y[b, j]^2\noptimizer go(w[..] : real, g[..] : real) { update w[..] = " \
  "w[..] - 0.1*g[..] }\ntrain loss using go()\n"
/* Three products in a row, of weights n to n + 2. */
#define CHAIN(r, n, m, o)                                                                 \
  "a" n "[b, j] = sum[i] X[b, i]*W[" n ", i, j]\nb" n "[b, j] = sum[i] a" n "[b, i]*W[" m \
  ", i, j]\n" r "[b, j] = tanh(sum[i] b" n "[b, i]*W[" o ", i, j])\n"

static void open_source(plan_world *w, const char *text, kernel_kind kind, bool fused) {
  world_open(w);
  w->c.options.check_facts = true;
  w->c.options.fusion.off = fused ? 0 : ~0u;
  world_source(w, text);
  world_begin(w, kind, NULL);
  w->writes = NEO_NEW_ARRAY(&w->c.arena, int64_t, w->c.kernels.n + 1);
}

static int64_t frame_of(const plan_world *w, const char *entry) {
  for (size_t k = 0; k < w->c.plan->entries.n; k++)
    if (neo_streq(w->c.plan->entries.at[k].name, entry))
      return w->c.plan->entries.at[k].frame_bytes;
  fail_msg("no entry %s", entry);
  return 0;
}

static int64_t frame_of_source(const char *text, const char *entry, bool fused) {
  plan_world w;
  open_source(&w, text, KERNELS_INTERPRETED, fused);
  int64_t bytes = frame_of(&w, entry);
  world_check(&w, 2);
  world_close(&w);
  return bytes;
}

/* How many elements kernels wrote that make the tensor; -1: there are none. */
static int64_t written(const plan_world *w, const char *tensor) {
  int64_t n = -1;
  for (size_t g = 0; g < w->c.grouping.groups.n; g++) {
    const neo_group *x = &w->c.grouping.groups.at[g];
    for (size_t k = 0; k < x->members.n; k++) {
      uint32_t t = neo_list_at(w->c.module, neo_def_at(w->c.module, x->members.at[k].def)->out, 0);
      const char *name =
          neo_name_text(w->c.names, neo_tensor_at(w->c.module, (neo_tensor){t})->name);
      if (neo_streq(name, tensor) && neo_group_has_form(x))
        n = (n < 0 ? 0 : n) + w->writes[w->c.kernel_of_group.at[g]];
    }
  }
  return n;
}

static void set_scalar(plan_world *w, const char *name, int64_t x) {
  neo_value v = {.i = x};
  world_input(w, neo_tensor_find(w->c.module, name), &v);
}

/* Runs all entries with k and f as they are; then exactly those of the n tensors have been
 * written of which `taken` has a bit. */
static void expect_written(plan_world *w, int64_t k, bool f, const char *const *tensor, int n,
                           unsigned taken) {
  if (neo_tensor_find(w->c.module, "k").i)
    set_scalar(w, "k", k);
  if (neo_tensor_find(w->c.module, "f").i)
    set_scalar(w, "f", f);
  memset(w->writes, 0, w->c.kernels.n * sizeof *w->writes);
  world_check(w, 1);
  for (int i = 0; i < n; i++)
    if ((written(w, tensor[i]) > 0) != (taken >> i & 1))
      fail_msg("k %lld, f %d: %lld elements of %s are written", (long long)k, f,
               (long long)written(w, tensor[i]), tensor[i]);
}

/* ---- which branches run */

static void an_integer_chooses_what_runs(void **state) {
  (void)state;
  static const char *const made[] = {"a0", "a1", "a2"};
  plan_world w;
  open_source(&w,
              HEAD "y = case k {\n0 { a0[b, j] = sum[i] X[b, i]*W[0, i, j]\ny[b, j] = a0[b, j] }\n"
                   "2 { a1[b, j] = sum[i] X[b, i]*W[1, i, j]\ny[b, j] = a1[b, j] }\n"
                   "else { a2[b, j] = sum[i] X[b, i]*W[2, i, j]\ny[b, j] = a2[b, j] }\n}\n"
                   "output y\n" STEP,
              KERNELS_INTERPRETED, true);
  expect_written(&w, 0, false, made, 3, 1);
  expect_written(&w, 2, false, made, 3, 2);
  expect_written(&w, 1, false, made, 3, 4);
  expect_written(&w, 3, false, made, 3, 4);
  world_close(&w);
}

static void nested_cases_run_what_all_of_them_take(void **state) {
  (void)state;
  static const char *const made[] = {"a0", "a1", "a2", "a3"};
  plan_world w;
  open_source(&w,
              HEAD "y = case f {\ntrue { y = case k {\n"
                   "1 { a0[b, j] = sum[i] X[b, i]*W[0, i, j]\ny = case f {\n"
                   "true { a1[b, j] = sum[i] a0[b, i]*W[1, i, j]\ny[b, j] = a1[b, j] }\n"
                   "false { a2[b, j] = sum[i] a0[b, i]*W[2, i, j]\ny[b, j] = a2[b, j] }\n}\n}\n"
                   "else { y[b, j] = X[b, j] }\n}\n}\n"
                   "false { a3[b, j] = sum[i] X[b, i]*W[3, i, j]\ny[b, j] = a3[b, j] }\n}\n"
                   "output y\n" STEP,
              KERNELS_INTERPRETED, true);
  expect_written(&w, 1, true, made, 4, 3); /* never a2: f is true there */
  expect_written(&w, 1, false, made, 4, 8);
  expect_written(&w, 0, true, made, 4, 0);
  world_close(&w);
}

static void cases_of_one_integer_run_what_each_takes(void **state) {
  (void)state;
  static const char *const made[] = {"a0", "a1"};
  plan_world w;
  open_source(&w,
              HEAD "u = case k {\n1 { a0[b, j] = sum[i] X[b, i]*W[0, i, j]\nu[b, j] = a0[b, j] }\n"
                   "else { u[b, j] = X[b, j] }\n}\n"
                   "y = case k {\n1 { y[b, j] = u[b, j] + 1 }\n"
                   "2 { a1[b, j] = sum[i] u[b, i]*W[1, i, j]\ny[b, j] = a1[b, j] }\n"
                   "else { y[b, j] = u[b, j] }\n}\noutput y\n" STEP,
              KERNELS_INTERPRETED, true);
  expect_written(&w, 1, false, made, 2, 1);
  expect_written(&w, 2, false, made, 2, 2);
  expect_written(&w, 3, false, made, 2, 0);
  world_close(&w);
}

static void computed_values_elements_sizes_and_floats_choose(void **state) {
  (void)state;
  static const char *const made[] = {"a0"};
  static const char *const value[] = {"2*k - 2", "K[1]", "i32(step) + k - 2",
                                      "i32(sum[b, j] X[b, j]^2 > 1) - 1 + k - 2"};
  for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
    plan_world w;
    char text[2048];
    snprintf(text, sizeof text,
             HEAD "K[n < 3] = k - 2 + n - 1\ny = case %s {\n"
                  "0 { a0[b, j] = sum[i] X[b, i]*W[0, i, j]\ny[b, j] = a0[b, j] }\n"
                  "else { y[b, j] = X[b, j] }\n}\noutput y, K\n",
             i == 0 ? "2*k - 4" : value[i]);
    open_source(&w, text, KERNELS_INTERPRETED, true);
    expect_written(&w, 2, false, made, 1, 1);
    expect_written(&w, 1, false, made, 1, 0);
    world_close(&w);
  }
  plan_world w;
  open_source(&w,
              HEAD "y = case B {\n5 { a0[b, j] = sum[i] X[b, i]*W[0, i, j]\ny[b, j] = a0[b, j] }\n"
                   "else { y[b, j] = X[b, j] }\n}\noutput y\n",
              KERNELS_INTERPRETED, true);
  expect_written(&w, 0, false, made, 1, 0); /* B is 6 */
  world_close(&w);
  open_source(&w,
              HEAD "y = case X[0, 0]*2 > 1e9 {\n"
                   "true { a0[b, j] = sum[i] X[b, i]*W[0, i, j]\ny[b, j] = a0[b, j] }\n"
                   "false { y[b, j] = X[b, j] }\n}\noutput y\n",
              KERNELS_INTERPRETED, true);
  expect_written(&w, 0, false, made, 1, 0);
  world_close(&w);
}

/* The index of a read in a branch is in range there, and computed in that branch alone. */
static void integers_of_a_branch_are_made_in_it(void **state) {
  (void)state;
  static const char *const made[] = {"a0", "q", "a1"};
  for (int kind = KERNELS_INTERPRETED; kind <= KERNELS_COMPILED; kind++) {
    plan_world w;
    open_source(&w,
                HEAD "y = case k {\n1 { a0[b, j] = sum[i] X[b, i]*W[0, i, j]\n"
                     "q[b] = argmax[j] a0[b, j]\ny[b, j] = X[b, j]*X[b, q[b]] }\n"
                     "else { q[b] = argmax[j] X[b, j]\na1[b, j] = sum[i] X[b, i]*W[1, i, j]\n"
                     "y[b, j] = a1[b, q[b]] + X[b, j] }\n}\noutput y\n" STEP,
                (kernel_kind)kind, true);
    if (kind == KERNELS_INTERPRETED) {
      expect_written(&w, 1, false, made, 1, 1);
      expect_written(&w, 0, false, made, 1, 0);
    }
    for (int64_t k = 0; k < 4; k++) {
      set_scalar(&w, "k", k);
      world_check(&w, 1);
    }
    world_close(&w);
  }
}

static void a_loop_in_a_branch_runs_there_alone(void **state) {
  (void)state;
  plan_world w;
  open_source(&w,
              HEAD "y = case k {\n1 { h = scan t < 4 from h[b < B, j < 32] = 0 {\n"
                   "next h[b, j] = tanh(X[b, j] + (sum[i] h[b, i]*W[0, i, j]))\n}\n"
                   "y[b, j] = h[b, j] }\nelse { y[b, j] = X[b, j] }\n}\noutput y\n" STEP,
              KERNELS_INTERPRETED, true);
  for (int64_t k = 0; k < 3; k++) {
    int64_t most = 0;
    set_scalar(&w, "k", k);
    memset(w.writes, 0, w.c.kernels.n * sizeof *w.writes);
    world_check(&w, 1);
    for (size_t i = 0; i < w.c.kernels.n; i++)
      if (strstr(w.c.kernels.at[i].symbol, "h_"))
        most = w.writes[i] > most ? w.writes[i] : most;
    assert_int_equal(most > 0, k == 1);
  }
  world_close(&w);
}

/* ---- memory */

#define FOUR                                                                                    \
  HEAD "y = case k {\n0 {\n" CHAIN("y", "0", "1", "2") "}\n1 {\n" CHAIN(                        \
      "y", "3", "4", "5") "}\n2 {\n" CHAIN("y", "6", "7", "8") "}\n3 {\n" CHAIN("y", "9", "10", \
                                                                                "11") "}\n}\n"
#define ONE HEAD CHAIN("y", "0", "1", "2")

static void four_branches_have_the_memory_of_one(void **state) {
  (void)state;
  int64_t one = frame_of_source(ONE "z[b] = sum[j] y[b, j]\noutput z\n", "forward", true);
  int64_t four = frame_of_source(FOUR "z[b] = sum[j] y[b, j]\noutput z\n", "forward", true);
  assert_true(one > 0);
  assert_int_equal(four, one);
  one = frame_of_source(ONE "output y\n" STEP, "grad", true);
  four = frame_of_source(FOUR "output y\n" STEP, "grad", true);
  assert_true(four <= one + one / 4);
}

static void no_step_takes_the_result(void **state) {
  (void)state;
  plan_world w;
  open_source(&w, FOUR "output y\n", KERNELS_INTERPRETED, true);
  const neo_plan *p = w.c.plan;
  for (size_t i = 0; i < p->steps.n; i++)
    if (p->steps.at[i].op == NEO_RT_STEP_RUN)
      assert_true(strcmp(p->kernels.at[p->steps.at[i].arg].kernel->name, "y") != 0);
  for (int64_t k = 0; k < 4; k++) {
    set_scalar(&w, "k", k);
    world_check(&w, 2); /* also where nobody wants y */
  }
  world_close(&w);
}

static void pointwise_results_lie_over_their_operands(void **state) {
  (void)state;
  const char *six =
      "input X[30, 40]\na[i, j] = tanh(X[i, j])\nb[i, j] = exp(a[i, j])\n"
      "c[i, j] = b[i, j]*0.5 + 1\nd[i, j] = tanh(c[i, j])\ne[i, j] = d[i, j]*d[i, j]\n"
      "f[i, j] = sin(e[i, j])\ng[i] = sum[j] f[i, j]\noutput g\n";
  assert_int_equal(frame_of_source(six, "forward", false), 30 * 40 * 4);
}

/* One that is read elsewhere, afterwards, or in another order stays where it is. */
static void operands_that_are_read_otherwise_stay(void **state) {
  (void)state;
  static const char *const text[] = {"b[i, j < 40] = a[i, 39 - j]*2", "b[i, j] = a[j, i]",
                                     "b[i, j] = a[i, j] + (a[i - 1, j] else 0)"};
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    char all[512];
    snprintf(all, sizeof all,
             "input X[40, 40]\na[i, j] = tanh(X[i, j])\n%s\ng[i] = sum[j] b[i, j]\noutput g\n",
             text[k]);
    assert_true(frame_of_source(all, "forward", false) >= 2 * 40 * 40 * 4);
  }
  assert_true(frame_of_source("input X[40, 40]\na[i, j] = tanh(X[i, j])\nb[i, j] = exp(a[i, j])\n"
                              "g[i] = sum[j] b[i, j]*a[j, i]\noutput g\n",
                              "forward", false) >= 2 * 40 * 40 * 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_integer_chooses_what_runs),
      cmocka_unit_test(nested_cases_run_what_all_of_them_take),
      cmocka_unit_test(cases_of_one_integer_run_what_each_takes),
      cmocka_unit_test(computed_values_elements_sizes_and_floats_choose),
      cmocka_unit_test(integers_of_a_branch_are_made_in_it),
      cmocka_unit_test(a_loop_in_a_branch_runs_there_alone),
      cmocka_unit_test(four_branches_have_the_memory_of_one),
      cmocka_unit_test(no_step_takes_the_result),
      cmocka_unit_test(pointwise_results_lie_over_their_operands),
      cmocka_unit_test(operands_that_are_read_otherwise_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
