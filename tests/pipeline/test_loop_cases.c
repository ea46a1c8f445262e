/* Cases in loops: what kernels read depends, iteration by iteration, on the branch that is
 * taken, and the values are the interpreter's. */
#include "tests/pipeline/plan_world.h"
#include <string.h>

enum { N = 6, WIDE = 40, NARROW = 3, B = 2 };

#define HEAD                                                                                 \
  "dim T = 6\ndim B = 2\ninput k[T] : i32 < 2\ninput q[T, 2] : i32 < 2\ninput c[T] : bool\n" \
  "input x[T, B, 4] : f64\n"                                                                 \
  "param V[4, 3] : f64 = glorot(4, 3)\nparam U[3, 4] : f64 = glorot(3, 4)\n"                 \
  "param P[4, 40] : f64 = glorot(4, 40)\nparam Q[40, 4] : f64 = glorot(40, 4)\n"
#define ARM_0 "{ u[n, j] = tanh(sum[i] h[n, i]*V[i, j])\n y[n, j] = sum[i] u[n, i]*U[i, j] }\n"
#define ARM_1 "{ u[n, j] = tanh(sum[i] h[n, i]*P[i, j])\n y[n, j] = sum[i] u[n, i]*Q[i, j] }\n"
#define Z_0 "{ u[n, j] = tanh(sum[i] h[n, i]*V[i, j])\n z[n, j] = sum[i] u[n, i]*U[i, j] }\n"
#define Z_1 "{ u[n, j] = tanh(sum[i] h[n, i]*P[i, j])\n z[n, j] = sum[i] u[n, i]*Q[i, j] }\n"
#define TAIL                                                                          \
  "loss = sum[n, j] h[n, j]^2\noutput h\n"                                            \
  "optimizer step(w[..] : real, g[..] : real) { update w[..] = w[..] - 0.1*g[..] }\n" \
  "train loss using step()\n"
#define SCAN "h = scan t < T from h[n < B, j < 4] : f64 = 0.5 {\n"
#define NEXT "next h[n, j] = y[n, j] + x[t, n, j]\n}\n"

static const char *const by_integer =
    HEAD SCAN "y = case k[t] { 0 " ARM_0 " 1 " ARM_1 " }\n" NEXT TAIL;
static const char *const by_bool =
    HEAD SCAN "y = case k[t] == 1 { false " ARM_0 " true " ARM_1 " }\n" NEXT TAIL;
static const char *const in_a_case =
    HEAD SCAN "y = case c[t] { true { y = case k[t] { 0 " ARM_0 " 1 " ARM_1 " } } else {\n"
              " z = case k[t] { 0 " Z_0 " 1 " Z_1 " }\n y[n, j] = 0.5*z[n, j] } }\n" NEXT TAIL;
static const char *const in_two_loops =
    HEAD SCAN "g = h\n h2 = scan r < 2 from h[n < B, j < 4] = g[n, j] {\n"
              "  y = case k[t] { 0 " ARM_0 " 1 " ARM_1 " }\n  next h[n, j] = y[n, j]*0.5\n }\n"
              "y[n, j] = h2[n, j]\n" NEXT TAIL;
static const char *const in_a_while =
    HEAD "h, t = while t < 6 limit 6 from h[n < B, j < 4] : f64 = 0.5, t : i32 = 0 {\n"
         "y = case k[min(max(t, 0), 5)] { 0 " ARM_0 " 1 " ARM_1 " }\n"
         "next h[n, j] = y[n, j] + x[min(max(t, 0), 5), n, j]\n next t = t + 1\n}\n" TAIL;
static const char *const by_what_the_loop_makes =
    HEAD "h, m = scan t < T from h[n < B, j < 4] : f64 = 0.5, m : i32 = 0 {\n"
         "e = k[t] + m\ny = case e { 0 " ARM_0 " else " ARM_1 " }\n"
         "next h[n, j] = y[n, j] + x[t, n, j]\n next m = 0*m\n}\n" TAIL;

/* The loop is in a branch itself, whose scalar is read in its iterations, too. */
static const char *const in_a_branch =
    HEAD "input arm : i32 < 2\nz[n < B, j < 4] = x[0, n, j]\nh = case arm { 0 {\n" SCAN
         "y = case k[t] { 0 " ARM_0 " 1 " ARM_1 " }\n" NEXT
         "} else { h[n < B, j < 4] = z[n, j] } }\n" TAIL;

/* k of each iteration; those of the ends, which have code of their own, are 0. */
static void choose(plan_world *w, uint32_t wide) {
  neo_value at[N] = {{0}};
  neo_tensor k = neo_tensor_find(w->c.module, "k");
  for (uint32_t t = 1; t <= wide; t++)
    at[t].i = 1;
  world_input(w, k, at);
  neo_tensor arm = neo_tensor_find(w->c.module, "arm");
  if (arm.i)
    world_input(w, arm, &(neo_value){.i = 0});
}

/* Elements that the kernels read in a call of the entry with `wide` iterations of the second
 * branch. */
static int64_t read_in(plan_world *w, uint32_t entry, uint32_t wide) {
  neo_str why;
  int64_t n = 0;
  neo_str_init(&why, &w->c.arena);
  memset(w->reads, 0, w->c.kernels.n * sizeof *w->reads);
  choose(w, wide);
  if (!world_run(w, entry, 0, &why))
    fail_msg("%s\n%s", neo_str_text(&why), w->text);
  for (uint32_t k = 0; k < w->c.kernels.n; k++)
    n += w->reads[k];
  return n;
}

static void check_entry(plan_world *w, uint32_t entry) {
  (void)read_in(w, entry, 0); /* what is cached between calls is there now */
  int64_t none = read_in(w, entry, 0), one = read_in(w, entry, 1) - none;
  if (one < B * 4 * (WIDE - NARROW)) /* the weights alone are more */
    fail_msg("entry %u: an iteration reads %lld elements more where its branch is wide\n%s", entry,
             (long long)one, w->text);
  for (uint32_t wide = 2; wide <= N - 2; wide++)
    assert_int_equal(read_in(w, entry, wide), none + wide * one);
}

static void check(const char *text) {
  plan_world w;
  world_open(&w);
  w.seed = 1;
  w.c.options.check_facts = true;
  world_source(&w, text);
  world_begin(&w, KERNELS_INTERPRETED, NULL);
  w.reads = NEO_NEW_ARRAY(&w.c.arena, int64_t, w.c.kernels.n + 1);
  for (uint32_t e = 0; e < w.c.module->entries.n; e++)
    if (w.c.module->entries.at[e].kind != NEO_ENTRY_INIT)
      check_entry(&w, e);
  world_close(&w);
}

static void an_iteration_runs_the_branch_of_its_integer(void **state) {
  (void)state;
  check(by_integer);
}

static void an_iteration_runs_the_branch_of_its_bool(void **state) {
  (void)state;
  check(by_bool);
}

static void a_case_in_a_case_runs_one_branch_an_iteration(void **state) {
  (void)state;
  check(in_a_case);
}

static void a_case_two_loops_deep_runs_one_branch_an_iteration(void **state) {
  (void)state;
  check(in_two_loops);
}

static void a_case_in_a_while_runs_one_branch_an_iteration(void **state) {
  (void)state;
  check(in_a_while);
}

static void a_loop_may_make_what_it_chooses_by(void **state) {
  (void)state;
  check(by_what_the_loop_makes);
}

/* As machine code, and on the emulated device. */
static void check_values(const char *text, kernel_kind kind) {
  plan_world w;
  world_open(&w);
  w.seed = 1;
  if (kind == KERNELS_EMULATED)
    w.c.options.target = "nvptx:sm_90a+host";
  world_source(&w, text);
  world_begin(&w, kind, NULL);
  for (uint64_t round = 0; round < 3; round++) {
    world_draw(&w, round);
    world_check(&w, 1);
  }
  world_close(&w);
}

static void a_case_in_a_loop_in_a_branch_runs_one_branch_an_iteration(void **state) {
  (void)state;
  check(in_a_branch);
}

static void values_are_the_interpreters(void **state) {
  const char *const programs[] = {by_integer,   by_bool,    in_a_case,
                                  in_two_loops, in_a_while, by_what_the_loop_makes,
                                  in_a_branch};
  (void)state;
  for (size_t k = 0; k < sizeof programs / sizeof *programs; k++)
    for (int kind = KERNELS_COMPILED; kind <= KERNELS_EMULATED; kind++)
      check_values(programs[k], (kernel_kind)kind);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_iteration_runs_the_branch_of_its_integer),
      cmocka_unit_test(an_iteration_runs_the_branch_of_its_bool),
      cmocka_unit_test(a_case_in_a_case_runs_one_branch_an_iteration),
      cmocka_unit_test(a_case_two_loops_deep_runs_one_branch_an_iteration),
      cmocka_unit_test(a_case_in_a_while_runs_one_branch_an_iteration),
      cmocka_unit_test(a_loop_may_make_what_it_chooses_by),
      cmocka_unit_test(a_case_in_a_loop_in_a_branch_runs_one_branch_an_iteration),
      cmocka_unit_test(values_are_the_interpreters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
