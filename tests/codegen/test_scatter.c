/* Integer sums by keys on a GPU (schedule/gpu_scatter): threads take terms, and add by atomic additions those that may
 * have a row in common. What these may do in a kernel. */
#include "ir/print.h"
#include "loop_support.h"
#include "schedule/schedule.h"
#include "tests/codegen/lower_test.h"
#include <string.h>

static neo_module *module_of(neo_arena *a, const char *text, neo_grouping *g) {
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, a, NULL, g, NULL), NEO_OK);
  return m;
}

/* ---- lowering: the plain schedule, the model's and random ones */

static void check(const char *text) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    lower_options o = {.seed = seed, .n_random = 8, .gpu = true};
    lower_check(text, &o);
  }
}

static void terms_of_one_row_are_added(void **state) {
  (void)state;
  check("size E 0..90\ninput K : i32 [E] < 40\ntemp N : i32 [40]\n"
        "def N[v: 40] =\n  sum[e: E]\n  where i64(K[e]) == v;\n  1i32\n  then acc0\n");
  check(
      "size E 1..30\ninput K : i32 [E, 3] < 7\ninput X : i64 [E, 3, 5]\ntemp N : i64 [7, 5]\n"
      "def N[v: 7, d: 5] =\n  sum[e: E, k: 3]\n  where i64(K[e, k]) == v;\n  X[e, k, d]\n  then acc0\n");
}

static void a_term_without_a_row_adds_nothing(void **state) {
  (void)state;
  check(
      "size E 1..90\ninput K : i32 [E] in -3..E\ninput M : bool [E]\ntemp N : i32 [E]\n"
      "def N[v: E] =\n  sum[e: E]\n  where M[e] and i64(K[e]) == v and e < 70;\n  i32(e)\n  then acc0\n");
}

/* ---- the choice */

static neo_strategy choice(const char *text) {
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_module *m = module_of(&a, text, &g);
  neo_schedule s = neo_schedule_default(m, &g.groups.at[0], neo_machine_named("sm_90a"));
  neo_arena_free(&a);
  return s.strategy;
}

static void many_integers_by_many_keys_are_added_by_one_block(void **state) {
  (void)state;
  assert_int_equal(choice("size E 1..60000\ninput K : i32 [E] < 60000\ntemp N : i32 [60000]\n"
                          "def N[v: 60000] =\n  sum[e: E]\n  where i64(K[e]) == v;\n  1i32\n"
                          "  then acc0\nentry forward forward: N = N\n"),
                   NEO_STRATEGY_GPU_SCATTER);
  assert_int_not_equal(choice("size E 1..60000\ninput K : i32 [E] < 10\ntemp N : i32 [10]\n"
                              "def N[v: 10] =\n  sum[e: E]\n  where i64(K[e]) == v;\n  1i32\n"
                              "  then acc0\nentry forward forward: N = N\n"),
                       NEO_STRATEGY_GPU_SCATTER);
}

/* Their sums would depend on the order of threads. */
static void floats_are_never_added_at_keys(void **state) {
  neo_arena a;
  neo_grouping g;
  neo_str why;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&why, &a);
  neo_module *m =
      module_of(&a,
                "input K : i32 [60000] < 60000\ninput X : f32 [60000]\ntemp N : f32 [60000]\n"
                "def N[v: 60000] =\n  sum[e: 60000]\n  where i64(K[e]) == v;\n  X[e]\n"
                "  then acc0\nentry forward forward: N = N\n",
                &g);
  const neo_machine *machine = neo_machine_named("sm_90a");
  neo_schedule s = neo_schedule_default(m, &g.groups.at[0], machine);
  assert_int_not_equal(s.strategy, NEO_STRATEGY_GPU_SCATTER);
  assert_true(neo_schedule_parse("gpu_scatter threads=256", &s));
  assert_false(neo_schedule_legal(m, &g.groups.at[0], machine, &s, &why));
  assert_non_null(strstr(neo_str_text(&why), "integer sums by keys"));
  neo_arena_free(&a);
}

/* ---- additions in the loop IR */

#define HEAD \
  "neo-loop 2\nkernel k(x: i32 read, z: i32 read write, f: f32 read write, w: i32 write) units 1\n"
#define THREADS HEAD "for t in 0..4 thread\n  "

static void additions_are_integers_of_threads(void **state) {
  static const char *const cases[][2] = {
      {HEAD "z[0] += 1:i32\n", "no thread's"},
      {THREADS "f[0] += 1.0\n", "f, which is neither i32 nor i64"},
      {THREADS "x[0] += 1:i32\n", "x is not written"},
      {THREADS "w[0] += 1:i32\n", "reads nothing"},
      {THREADS "for l in 0..4 vector\n    z[l] += 1:i32\n", "no thread's"},
  };
  loop_fix *f = *state;
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    neo_str why;
    neo_str_init(&why, &f->arena);
    assert_int_equal(neo_kernel_verify(loop_parse(f, cases[n][0]), &why), NEO_INTERNAL);
    if (!strstr(neo_str_text(&why), cases[n][1]))
      fail_msg("%zu: '%s' is not '%s'", n, neo_str_text(&why), cases[n][1]);
  }
}

static const char *run(loop_fix *f, const char *text, neo_value *z) {
  neo_value x[4] = {{.i = 1}, {.i = 0}, {.i = 1}, {.i = 1}}, other[2][4] = {{{.i = 0}}};
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_kernel_run r = {.bufs = (neo_value *[]){x, z, other[0], other[1]},
                      .n_elems = (const int64_t[]){4, 4, 4, 4},
                      .hi = 1,
                      .seed = 3};
  neo_kernel *k = loop_kernel(f, text);
  assert_string_equal(loop_text(f, k), text);
  return neo_kernel_interp(k, &r, &why) ? neo_str_text(&why) : "";
}

static void threads_may_add_to_the_same_element(void **state) {
  neo_value z[4] = {{.i = 7}, {.i = 0}, {.i = 0}, {.i = 0}};
  assert_string_equal(run(*state,
                          THREADS "z[i64(x[t])] += 2:i32\n"
                                  "for t_2 in 0..4 thread\n  w[t_2] = z[t_2]\n",
                          z),
                      "");
  assert_int_equal(z[0].i, 9);
  assert_int_equal(z[1].i, 6);
}

static void threads_that_add_neither_read_nor_store_there(void **state) {
  static const char *const cases[] = {
      THREADS "z[0] += 1:i32\n  w[t] = z[0]\n",
      THREADS "w[t] = z[0]\n  z[0] += 1:i32\n",
      THREADS "z[0] += 1:i32\n  z[t] = 1:i32\n",
      THREADS "z[t] = 1:i32\n  z[0] += 1:i32\n",
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    neo_value z[4] = {{.i = 0}};
    const char *said = run(*state, cases[n], z);
    if (!strstr(said, "race"))
      fail_msg("%zu: '%s' is no race", n, said);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(terms_of_one_row_are_added),
      cmocka_unit_test(a_term_without_a_row_adds_nothing),
      cmocka_unit_test(many_integers_by_many_keys_are_added_by_one_block),
      cmocka_unit_test(floats_are_never_added_at_keys),
      cmocka_unit_test_setup_teardown(additions_are_integers_of_threads, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(threads_may_add_to_the_same_element, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(threads_that_add_neither_read_nor_store_there, loop_setup,
                                      loop_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
