/* Schedules as text; the model's choices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "ir/print.h"
#include "schedule/schedule.h"
#include <string.h>

static const neo_machine avx2 = {32, 16, 32768, 524288, true};

static void what_is_printed_parses_to_the_same(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_schedule s = neo_schedule_plain(), y;
  for (int k = 0; k < NEO_SCHED_COUNT; k++)
    s.at[k] = 3 * k - 1;
  neo_str text;
  neo_str_init(&text, &a);
  neo_schedule_print(&s, &text);
  assert_true(neo_schedule_parse(neo_str_text(&text), &y));
  assert_memory_equal(&s, &y, sizeof s);
  neo_arena_free(&a);
}

static void broken_text_is_refused(void **state) {
  (void)state;
  neo_schedule s;
  assert_true(neo_schedule_parse("", &s));
  assert_true(neo_schedule_parse(" tile_m=6\n", &s));
  assert_int_equal(s.at[NEO_SCHED_TILE_M], 6);
  assert_false(neo_schedule_parse("tile_m", &s));
  assert_false(neo_schedule_parse("tile_m=", &s));
  assert_false(neo_schedule_parse("tile_m=6x", &s));
  assert_false(neo_schedule_parse("tile_q=6", &s));
  assert_false(neo_schedule_parse("tile_m=6 tile_m=6", &s));
}

static neo_schedule choose(const char *text) {
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  char *whole = neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  assert_int_equal(neo_fuse(m, &a, &g, NULL), NEO_OK);
  neo_schedule s = neo_schedule_default(m, &g.groups.at[0], &avx2);
  assert_true(neo_schedule_legal(m, &g.groups.at[0], &avx2, &s, NULL));
  neo_arena_free(&a);
  return s;
}

static void a_large_product_has_a_register_tile_and_a_packed_operand(void **state) {
  (void)state;
  neo_schedule s = choose("input A : f32 [512, 512]\ninput B : f32 [512, 512]\ntemp C : f32 [512, 512]\n"
                          "def C[i: 512, j: 512] =\n  sum[k: 512] A[i, k] * B[k, j]\n  then acc0\n"
                          "entry forward forward: C = C\n");
  assert_int_equal(s.at[NEO_SCHED_VECTOR_AXIS], 1);
  assert_int_equal(s.at[NEO_SCHED_VECTOR_WIDTH], 8);
  assert_int_equal(s.at[NEO_SCHED_AXIS_M], 0);
  assert_in_range(s.at[NEO_SCHED_TILE_M] * s.at[NEO_SCHED_TILE_N], 8, 14);
  assert_true(s.at[NEO_SCHED_PACK] & 2);
}

static void a_product_of_integers_is_tiled_like_any_other(void **state) {
  (void)state;
  neo_schedule s =
      choose("input A : i8 [256, 512]\ninput B : i8 [512, 256]\ntemp C : i32 [256, 256]\n"
             "def C[i: 256, j: 256] =\n  sum[k: 512] i32(A[i, k]) * i32(B[k, j])\n  then acc0\n"
             "entry forward forward: C = C\n");
  assert_int_equal(s.at[NEO_SCHED_AXIS_M], 0);
  assert_in_range(s.at[NEO_SCHED_TILE_M] * s.at[NEO_SCHED_TILE_N], 8, 14);
  assert_true(s.at[NEO_SCHED_PACK] & 2);
}

static void a_sum_over_a_data_equation_runs_over_its_source(void **state) {
  (void)state;
  neo_schedule s = choose("input Y : i32 [90] < 1000\ninput E : f32 [90, 64]\ntemp G : f32 [1000, 64]\n"
                          "def G[v: 1000, d: 64] =\n  sum[e: 90]\n  where i64(Y[e]) == v;\n  E[e, d]\n  then acc0\n"
                          "entry forward forward: G = G\n");
  assert_int_equal(s.at[NEO_SCHED_SEGMENT], 1);
  assert_int_equal(s.at[NEO_SCHED_VECTOR_AXIS], 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_printed_parses_to_the_same),
      cmocka_unit_test(broken_text_is_refused),
      cmocka_unit_test(a_large_product_has_a_register_tile_and_a_packed_operand),
      cmocka_unit_test(a_product_of_integers_is_tiled_like_any_other),
      cmocka_unit_test(a_sum_over_a_data_equation_runs_over_its_source),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
