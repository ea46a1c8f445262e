/* How evenly cores share a contraction's units of work; blocks that the model chooses for it. */
#include "base/whole.h"
#include "fusion/form.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include "schedule/tile/units.h"
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static double idle(double cores, neo_tile_units u) {
  u.total = 1;
  for (uint32_t k = 0; k < u.n; k++)
    u.total *= u.loop[k].trips;
  return neo_tile_units_idle(&u, cores);
}

static bool near(double a, double b) {
  return fabs(a - b) < 1e-9;
}

static void cores_wait_for_the_one_with_most_work(void **state) {
  (void)state;
  const neo_tile_units one = {.size = 1}, four = {1, {{4, 0.25}}, .size = 1};
  assert_true(near(idle(1, one), 0));
  assert_true(near(idle(8, one), 7));
  assert_true(near(idle(2, four), 0));
  assert_true(near(idle(3, four), 0.5)); /* one core has two of them */
  assert_true(near(idle(8, four), 1));
}

/* Sixteen rows in blocks of twelve: a core has three quarters of them. */
static void the_last_block_is_smaller(void **state) {
  (void)state;
  assert_true(near(idle(2, (neo_tile_units){1, {{2, 0.75}}, .size = 1}), 0.5));
  /* four blocks and a small one: two units on the first core, three on the second */
  assert_true(near(idle(2, (neo_tile_units){1, {{5, 0.24}}, .size = 1}), 0.04));
}

static void units_of_several_loops_are_in_their_order(void **state) {
  (void)state;
  const neo_tile_units rows = {2, {{2, 0.75}, {2, 0.5}}, .size = 1};
  const neo_tile_units columns = {2, {{2, 0.5}, {2, 0.75}}, .size = 1};
  assert_true(near(idle(2, rows), 0.5));
  assert_true(near(idle(2, columns), 0)); /* each core has a large unit and a small one */
  assert_true(near(idle(4, columns), 0.5));
}

static void a_unit_has_several_iterations(void **state) {
  (void)state;
  neo_tile_units u = {1, {{5, 0.2}}, .size = 2, .total = 5};
  assert_true(near(neo_tile_units_count(&u), 3));
  assert_true(near(neo_tile_units_idle(&u, 3), 0.2));
}

/* ---- what the model chooses */

/* Units of rows that are multiplied by a matrix [inner, columns]. */
static neo_schedule product(int rows, int inner, int columns) {
  char text[512];
  snprintf(text, sizeof text,
           "neo-ir 1\nmodule t\ninput x : f32 [%d, %d]\ninput U : f32 [%d, %d]\n"
           "temp y : f32 [%d, %d]\n"
           "def y[b: %d, j: %d] =\n  sum[k: %d] x[b, k] * U[k, j]\n  then acc0\n"
           "entry forward forward: y = y\n",
           rows, inner, inner, columns, rows, columns, rows, columns, inner);
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", text, strlen(text));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
  const neo_machine *machine = neo_machine_named("x86-64-v4");
  neo_schedule s = neo_schedule_default(m, &g.groups.at[0], machine);
  assert_true(neo_schedule_legal(m, &g.groups.at[0], machine, &s, NULL));
  neo_arena_free(&a);
  return s;
}

/* The gradient of a small recurrent layer's state in each round. */
static void a_vector_times_a_matrix_is_divided_into_columns(void **state) {
  (void)state;
  for (int inner = 1024; inner <= 2048; inner *= 2) {
    neo_schedule s = product(1, inner, inner / 4);
    assert_int_equal(s.loops.unit_axes, 1);
    assert_in_range(s.loops.block_n, 64, inner / 8);
  }
}

/* Tensors larger than the caches are read in runs of pages. */
static void a_large_matrix_is_divided_into_few_columns(void **state) {
  (void)state;
  neo_schedule s = product(1, 4096, 4096);
  assert_in_range(s.loops.block_k, 1, 8);
  assert_true(s.loops.block_n == 0 || s.loops.block_n >= 1024);
}

static void two_cores_have_as_many_rows_or_columns(void **state) {
  (void)state;
  for (int inner = 1024; inner <= 2048; inner *= 2) {
    neo_schedule s = product(16, inner, inner / 4);
    int64_t rows = s.loops.block_m ? s.loops.block_m : 16;
    int64_t columns = s.loops.block_n ? s.loops.block_n : inner / 4;
    double of_rows = (double)neo_round_up(16, 2 * rows) / 16;
    double of_columns = (double)neo_round_up(inner / 4, 2 * columns) / (inner / 4);
    assert_int_equal(s.loops.unit_axes, 1);
    assert_true(fmin(of_rows, of_columns) < 1.15);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(cores_wait_for_the_one_with_most_work),
      cmocka_unit_test(the_last_block_is_smaller),
      cmocka_unit_test(units_of_several_loops_are_in_their_order),
      cmocka_unit_test(a_unit_has_several_iterations),
      cmocka_unit_test(a_vector_times_a_matrix_is_divided_into_columns),
      cmocka_unit_test(a_large_matrix_is_divided_into_few_columns),
      cmocka_unit_test(two_cores_have_as_many_rows_or_columns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
