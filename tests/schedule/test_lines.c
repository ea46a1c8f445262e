/* Forms that read cache lines in another order than they write them. */
#include "fusion/form.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static neo_schedule choose(const char *mcpu, const char *text) {
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  char *whole =
      neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s\nentry forward forward: P = P\n", text);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
  const neo_machine *machine = neo_machine_named(mcpu);
  neo_schedule s = neo_schedule_default(m, &g.groups.at[0], machine);
  assert_true(neo_schedule_legal(m, &g.groups.at[0], machine, &s, NULL));
  neo_arena_free(&a);
  return s;
}

/* The axis of rows is outside of all other loops, in blocks of a tile. */
static void copies_a_few_streams(const neo_schedule *s, int64_t rows) {
  assert_int_equal(s->loops.vector_axis, 2);
  assert_int_equal(s->loops.axis_m, rows);
  assert_in_range(s->loops.tile_m, 2, 8);
  assert_int_equal(s->loops.block_m, s->loops.tile_m);
  assert_true(s->loops.blocks_first & 2);
}

static void a_layout_of_weights_is_written_in_a_few_streams(void **state) {
  (void)state;
  static const char text[] = "input W : f32 [256, 640]\ntemp P : f32 [40, 256, 16]\n"
                             "def P[t: 40, k: 256, l: 16] = W[k, 16 * t + l]";
  neo_schedule s = choose("x86-64-v4", text);
  copies_a_few_streams(&s, 0);
  s = choose("x86-64-v3", text);
  copies_a_few_streams(&s, 0);
  assert_int_equal(s.loops.vector_width * s.loops.tile_n, 16);
}

static void what_undoes_a_layout_reads_a_few_streams(void **state) {
  (void)state;
  neo_schedule s = choose("x86-64-v4", "input W : f32 [40, 256, 16]\ntemp P : f32 [256, 40, 16]\n"
                                       "def P[k: 256, t: 40, l: 16] = W[t, k, l]");
  copies_a_few_streams(&s, 0);
}

static void lines_in_one_order_are_copied_in_that_order(void **state) {
  (void)state;
  neo_schedule s = choose("x86-64-v4", "input W : f32 [40, 300, 16]\ntemp P : f32 [40, 256, 16]\n"
                                       "def P[t: 40, k: 256, l: 16] = W[t, k, l]");
  assert_int_equal(s.loops.axis_m, -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_layout_of_weights_is_written_in_a_few_streams),
      cmocka_unit_test(what_undoes_a_layout_reads_a_few_streams),
      cmocka_unit_test(lines_in_one_order_are_copied_in_that_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
