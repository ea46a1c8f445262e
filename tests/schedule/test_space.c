/* The space of schedules: what steps, mutation and crossover give, on products and on random
 * programs. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "base/machine.h"
#include "ir/print.h"
#include "schedule/space.h"
#include "tests/draw/draw.h"
#include "tests/random/gen.h"
#include <stdio.h>
#include <string.h>

enum { MOST = 400 };
static const neo_machine *avx2(void) {
  return neo_machine_named("x86-64-v3");
}
static const char product[] =
    "neo-ir 1\nmodule t\n"
    "input A : f32 [512, 512]\ninput B : f32 [512, 512]\ntemp C : f32 [512, 512]\n"
    "def C[i: 512, j: 512] =\n  sum[k: 512] A[i, k] * B[k, j]\n  then acc0\n"
    "entry forward forward: C = C\n";

static int make_product(void **state) {
  neo_arena *a = test_malloc(sizeof *a);
  neo_arena_init(a, neo_alloc_default, NULL);
  *state = a;
  return 0;
}

static int drop(void **state) {
  neo_arena_free(*state);
  test_free(*state);
  return 0;
}

static neo_space space_on(neo_arena *a, const char *text, const neo_machine *machine) {
  neo_grouping *g = NEO_NEW(a, neo_grouping);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", text, strlen(text));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, a, NULL, g, NULL), NEO_OK);
  return neo_space_of(m, &g->groups.at[0], machine);
}

static neo_space space_of(neo_arena *a) {
  return space_on(a, product, avx2());
}

static bool legal(const neo_space *x, const neo_schedule *s) {
  return neo_schedule_legal(x->m, x->g, x->machine, s, NULL);
}

static void check_list(const neo_space *x, const neo_schedule *s, size_t n) {
  for (size_t k = 0; k < n; k++) {
    assert_true(legal(x, &s[k]));
    for (size_t i = 0; i < k; i++)
      assert_false(neo_schedule_equal(&s[i], &s[k]));
  }
}

static void the_models_list_begins_with_its_choice_and_rises_in_cost(void **state) {
  neo_space x = space_of(*state);
  neo_schedule *s = NEO_NEW_ARRAY(*state, neo_schedule, 16);
  neo_schedule first = neo_schedule_default(x.m, x.g, x.machine);
  assert_int_equal(neo_space_ranked(&x, s, 16), 16);
  assert_true(neo_schedule_equal(&s[0], &first));
  check_list(&x, s, 16);
  for (int k = 1; k < 16; k++)
    assert_true(neo_space_cost(&x, &s[k]) >= neo_space_cost(&x, &s[k - 1]));
}

/* All of it in one unit, against as many units as its loops make. */
static double price_of_one_unit(neo_space *x, uint32_t threads) {
  neo_schedule many = neo_schedule_default(x->m, x->g, x->machine), one = many;
  one.loops.unit_axes = 0;
  assert_true(legal(x, &one));
  x->threads = threads;
  return neo_space_cost(x, &one) / neo_space_cost(x, &many);
}

static void one_unit_costs_idle_threads_and_nothing_where_there_is_one_thread(void **state) {
  neo_space x = space_of(*state);
  assert_true(price_of_one_unit(&x, 1) <= 1);
  double usual = price_of_one_unit(&x, 0), four = price_of_one_unit(&x, 4);
  assert_true(usual > 1.1);
  assert_true(four > 2.5 && four < 4.5);
}

static void every_parameter_of_a_tiled_product_can_be_changed(void **state) {
  static const neo_param free_ones[] = {
      NEO_PARAM(loops, vector_width), NEO_PARAM(loops, tile_m),      NEO_PARAM(loops, tile_n),
      NEO_PARAM(loops, pack),         NEO_PARAM(loops, block_k),     NEO_PARAM(loops, block_m),
      NEO_PARAM(loops, block_n),      NEO_PARAM(loops, vector_axis), NEO_PARAM(loops, unit_axes),
      NEO_PARAM(loops, axis_m)};
  neo_space x = space_of(*state);
  neo_schedule *s = NEO_NEW_ARRAY(*state, neo_schedule, MOST);
  neo_schedule from = neo_schedule_default(x.m, x.g, x.machine);
  size_t n = neo_space_neighbours(&x, &from, s, MOST);
  check_list(&x, s, n);
  for (size_t k = 0; k < sizeof free_ones / sizeof *free_ones; k++) {
    bool changed = false;
    for (size_t i = 0; i < n; i++)
      changed = changed || s[i].at[free_ones[k]] != from.at[free_ones[k]];
    assert_true(changed);
  }
}

static void a_step_has_the_value_that_was_asked_for(void **state) {
  neo_space x = space_of(*state);
  neo_schedule y, from = neo_schedule_default(x.m, x.g, x.machine);
  assert_true(neo_space_set(&x, &from, NEO_PARAM(loops, tile_m), 3, &y));
  assert_int_equal(y.loops.tile_m, 3);
  assert_true(neo_space_set(&x, &from, NEO_PARAM(loops, vector_axis), 2, &y)); /* lanes over k */
  assert_true(legal(&x, &y));
  assert_int_equal(y.loops.pack, 0);
  assert_false(neo_space_set(&x, &from, NEO_PARAM(loops, axis_m), 7, &y));
}

static neo_machine a_gpu(void) {
  neo_machine m = *neo_machine_named("sm_90a");
  m.warps = 0;
  return m;
}

static void a_gpus_list_has_tiles_of_many_shapes_the_cheapest_first(void **state) {
  neo_machine gpu = a_gpu();
  neo_space x = space_on(*state, product, &gpu);
  neo_schedule *s = NEO_NEW_ARRAY(*state, neo_schedule, 40);
  neo_schedule first = neo_schedule_default(x.m, x.g, x.machine);
  assert_int_equal(neo_space_ranked(&x, s, 40), 40);
  assert_true(neo_schedule_equal(&s[0], &first));
  check_list(&x, s, 40);
  for (int k = 2; k < 40; k++)
    assert_true(neo_space_cost(&x, &s[k]) >= neo_space_cost(&x, &s[k - 1]));
  for (int k = 0; k < 40; k++)
    assert_true(s[k].block.threads >= 32);
}

static void a_gpus_tile_can_change_in_every_side_and_change_its_strategy(void **state) {
  static const neo_param sides[] = {NEO_PARAM(block, block_m), NEO_PARAM(block, block_n),
                                    NEO_PARAM(block, block_k), NEO_PARAM(block, tile_m),
                                    NEO_PARAM(block, tile_n),  NEO_PARAM(block, row_axes)};
  neo_machine gpu = a_gpu();
  neo_space x = space_on(*state, product, &gpu);
  neo_schedule *s = NEO_NEW_ARRAY(*state, neo_schedule, MOST);
  neo_schedule from = neo_schedule_default(x.m, x.g, x.machine), points, plain, back;
  size_t n = neo_space_neighbours(&x, &from, s, MOST);
  check_list(&x, s, n);
  for (size_t k = 0; k < sizeof sides / sizeof *sides; k++) {
    bool changed = false;
    for (size_t i = 0; i < n; i++)
      changed = changed || s[i].at[sides[k]] != from.at[sides[k]];
    assert_true(changed);
  }
  assert_int_equal(neo_space_switch(&x, &from, NEO_STRATEGY_GPU_ROWS, &points, 1), 1);
  assert_int_equal(neo_space_switch(&x, &points, NEO_STRATEGY_LOOPS, &plain, 1), 1);
  assert_int_equal(plain.rows.lanes, 0);
  assert_int_equal(neo_space_switch(&x, &points, NEO_STRATEGY_GPU_TILE, &back, 1), 1);
  assert_true(back.block.block_m > 0);
}

/* Warps multiply what is tf32: so in the whole list, and all sides of their tiles change. */
static void a_gpus_warps_have_a_list_and_steps(void **state) {
  static const char text[] =
      "neo-ir 1\nmodule t\ninput A : f32 [512, 512]\ninput B : f32 [512, 512]\n"
      "temp C : f32 [512, 512]\ndef C[i: 512, j: 512] =\n"
      "  sum[k: 512] tf32(A[i, k]) * tf32(B[k, j])\n  then acc0\n"
      "entry forward forward: C = C\n";
  neo_machine machine = a_gpu();
  machine.warps = 80;
  neo_space x = space_on(*state, text, &machine);
  neo_schedule *s = NEO_NEW_ARRAY(*state, neo_schedule, MOST);
  neo_schedule first = neo_schedule_default(x.m, x.g, x.machine);
  assert_int_equal(neo_space_ranked(&x, s, 20), 20);
  check_list(&x, s, 20);
  for (int k = 0; k < 20; k++)
    assert_int_equal(s[k].block.products, 1);
  size_t n = neo_space_neighbours(&x, &first, s, MOST);
  check_list(&x, s, n);
  for (neo_param side = NEO_PARAM(block, tile_m); side <= NEO_PARAM(block, block_n); side++) {
    bool one = side == NEO_PARAM(block, tile_m) || side == NEO_PARAM(block, tile_n) ||
               side == NEO_PARAM(block, block_k) || side == NEO_PARAM(block, block_m) ||
               side == NEO_PARAM(block, block_n);
    bool changed = !one;
    for (size_t i = 0; i < n; i++)
      changed = changed || s[i].at[side] != first.at[side];
    assert_true(changed);
  }
  machine.warps = 75;
  first = neo_schedule_default(x.m, x.g, x.machine);
  assert_true(first.block.threads && !first.block.products);
}

static bool can_have(const neo_space *x, int64_t stages) {
  neo_schedule s = neo_schedule_default(x->m, x->g, x->machine), y;
  return s.block.stages == stages || neo_space_set(x, &s, NEO_PARAM(block, stages), stages, &y);
}

/* Operands that lie in memory, or zero: one of them at least. */
static void a_gpus_tile_has_stages_where_operands_are_copied_as_they_lie(void **state) {
  static const char form[] = "neo-ir 1\nmodule t\ninput A : f32 [512, 512]\n"
                             "input B : f32 [512, 512]\ntemp C : f32 [512, 512]\n"
                             "def C[i: 512, j: 512] =\n  sum[k: 512] %s * %s\n  then acc0\n"
                             "entry forward forward: C = C\n";
  static const struct {
    const char *rows, *columns;
    bool stages;
  } cases[] = {{"A[i, k]", "B[k, j]", true},
               {"select(k < i, A[i, k], 0.0)", "B[k, j]", true},
               {"exp(A[i, k])", "B[k, j]", true},
               {"exp(A[i, k])", "select(k < j, B[k, j], 1.0)", false},
               {"exp(A[i, k])", "exp(B[k, j])", false}};
  neo_machine machine = a_gpu();
  machine.async = true;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[512];
    snprintf(text, sizeof text, form, cases[k].rows, cases[k].columns);
    machine.shared_bytes = 163 << 10;
    neo_space x = space_on(*state, text, &machine);
    neo_schedule first = neo_schedule_default(x.m, x.g, x.machine);
    assert_int_equal(first.block.stages > 0, cases[k].stages);
    for (int64_t n = 2; n <= 4; n++)
      assert_int_equal(can_have(&x, n), cases[k].stages);
    assert_true(can_have(&x, 0));
    machine.shared_bytes = 8 << 10; /* no room for another buffer */
    assert_false(can_have(&x, 4));
  }
  machine.shared_bytes = 64 << 10;
  machine.async = false; /* as on sm_75 */
  neo_space x = space_on(*state, product, &machine);
  assert_int_equal(neo_schedule_default(x.m, x.g, x.machine).block.stages, 0);
  assert_false(can_have(&x, 2));
}

/* Steps of steps of random programs' groups, mixed. */
static void chance_is_legal_on(const neo_machine *machine) {
  for (uint64_t seed = 1; seed <= 60; seed++) {
    neo_arena a;
    neo_grouping g;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_gen_program p = neo_gen_make(&a, seed, &neo_gen_default);
    assert_int_equal(neo_fuse_with(p.m, &a, NULL, &g, NULL), NEO_OK);
    for (size_t k = 0; k < g.groups.n; k++) {
      neo_space x = neo_space_of(p.m, &g.groups.at[k], machine);
      neo_schedule s[2] = {neo_schedule_default(p.m, x.g, machine), neo_schedule_plain()}, again;
      for (int step = 0; step < 12; step++) {
        uint64_t one = seed * 100 + (uint64_t)step, two = one;
        s[step % 2] = neo_space_mutate(&x, &s[step % 2], &one);
        assert_true(legal(&x, &s[step % 2]));
        neo_schedule child = neo_space_cross(&x, &s[0], &s[1], &one);
        assert_true(legal(&x, &child));
        again = neo_space_cross(&x, &s[0], &s[1], &two);
        two = one = (uint64_t)step;
        again = neo_space_mutate(&x, &child, &one);
        child = neo_space_mutate(&x, &child, &two);
        assert_true(neo_schedule_equal(&child, &again));
      }
    }
    neo_arena_free(&a);
  }
}

static void whatever_chance_makes_is_legal_and_made_again_by_the_same_seed(void **state) {
  (void)state;
  chance_is_legal_on(avx2());
  neo_machine gpu = a_gpu();
  chance_is_legal_on(&gpu);
}

/* The one neighbour that differs in whether it runs on the matrix unit; null: there is none. */
static const neo_schedule *other_unit(neo_arena *a, const neo_space *x, const neo_schedule *from) {
  neo_schedule *s = NEO_NEW_ARRAY(a, neo_schedule, MOST);
  const neo_schedule *found = NULL;
  for (size_t k = 0, n = neo_space_neighbours(x, from, s, MOST); k < n; k++)
    if (s[k].loops.pairs != from->loops.pairs) {
      assert_null(found);
      found = &s[k];
    }
  return found;
}

static void the_matrix_unit_is_one_step_away_where_there_is_one(void **state) {
  neo_machine amx = *neo_machine_named("sapphirerapids");
  amx.matrix = NEO_PAIRS_TILES;
  static const char narrow[] =
      "neo-ir 1\nmodule t\n"
      "input A : f32 [200, 333]\ninput B : f32 [333, 90]\ntemp C : f32 [200, 90]\n"
      "def C[i: 200, j: 90] =\n  sum[k: 333] f32(bf16(A[i, k])) * f32(bf16(B[k, j]))\n"
      "  then acc0\nentry forward forward: C = C\n";
  neo_space x = space_on(*state, narrow, &amx);
  neo_schedule from = neo_schedule_default(x.m, x.g, x.machine);
  assert_int_equal(from.loops.pairs, 1);
  const neo_schedule *vectors = other_unit(*state, &x, &from);
  assert_non_null(vectors);
  assert_true(legal(&x, vectors));
  assert_true(vectors->loops.tile_m > 1);
  const neo_schedule *back = other_unit(*state, &x, vectors);
  assert_non_null(back);
  assert_true(neo_schedule_equal(back, &from));
  neo_space without = space_on(*state, narrow, avx2()), wide = space_on(*state, product, &amx);
  from = neo_schedule_default(without.m, without.g, without.machine);
  assert_null(other_unit(*state, &without, &from));
  from = neo_schedule_default(wide.m, wide.g, wide.machine);
  assert_null(other_unit(*state, &wide, &from));
}

/* The sum over j of a row's scores, each a sum of its own that no memory has. */
static neo_space nested_space(neo_arena *a, const neo_machine *machine) {
  static const char text[] =
      "neo-ir 1\nmodule t\ninput Q : f32 [256, 64]\ninput K : f32 [512, 64]\n"
      "temp S : f32 [256, 512]\ntemp Z : f32 [256]\n"
      "def S[i: 256, j: 512] =\n  sum[d: 64] tf32(Q[i, d]) * tf32(K[j, d])\n  then acc0\n"
      "def Z[i: 256] =\n  logsumexp[j: 512] S[i, j]\n  then acc0\n"
      "entry forward f: z = Z\n";
  neo_profile p = neo_machine_named("sm_90a")->profile;
  p.products_per_s = 1e30; /* what can be nested is */
  p.room_s = 1;
  neo_fuse_options o = {.profile = &p};
  neo_grouping *g = NEO_NEW(a, neo_grouping);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", text, strlen(text));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, a, &o, g, NULL), NEO_OK);
  assert_int_equal(g->groups.n, 1);
  return neo_space_of(m, &g->groups.at[0], machine);
}

static void nested_sums_of_warps_have_a_list_and_steps(void **state) {
  neo_machine machine = a_gpu();
  machine.warps = 80;
  machine.async = true;
  machine.shared_bytes = 163 << 10;
  neo_space x = nested_space(*state, &machine);
  neo_schedule *s = NEO_NEW_ARRAY(*state, neo_schedule, MOST),
               *next = NEO_NEW_ARRAY(*state, neo_schedule, MOST);
  size_t n = neo_space_ranked(&x, s, MOST), warps = 0, without_columns = 0;
  check_list(&x, s, n);
  for (size_t k = 0; k < n; k++) {
    warps += s[k].nested.products != 0;
    without_columns += s[k].nested.threads && !s[k].nested.block_n;
    check_list(&x, next, neo_space_neighbours(&x, &s[k], next, MOST));
  }
  assert_true(warps > 0 && without_columns > 0);
}

/* Draws reach further than steps from the model's choice, which change no side. */
static void chance_draws_nested_sums_with_sides_of_all_kinds(void **state) {
  neo_machine machine = a_gpu();
  machine.warps = 80;
  machine.async = true;
  machine.shared_bytes = 163 << 10;
  neo_space x = nested_space(*state, &machine);
  neo_schedule first = neo_schedule_default(x.m, x.g, x.machine);
  uint64_t seed = 1;
  int others = 0;
  for (int k = 0; k < 50; k++) {
    neo_schedule s = neo_schedule_random(x.m, x.g, x.machine, &seed);
    assert_true(legal(&x, &s));
    others += s.strategy == NEO_STRATEGY_GPU_NESTED && (s.nested.block_m != first.nested.block_m ||
                                                        s.nested.block_k != first.nested.block_k);
  }
  assert_true(others > 10);
}

static void chance_draws_products_of_pairs_in_one_unit_and_in_several(void **state) {
  neo_machine amx = *neo_machine_named("sapphirerapids");
  amx.matrix = NEO_PAIRS_TILES;
  neo_space x = space_on(*state,
                         "neo-ir 1\nmodule t\n"
                         "input A : f32 [3, 200, 64]\ninput B : f32 [64, 90]\n"
                         "temp C : f32 [3, 200, 90]\ndef C[n: 3, i: 200, j: 90] =\n"
                         "  sum[k: 64] f32(bf16(A[n, i, k])) * f32(bf16(B[k, j]))\n"
                         "  then acc0\nentry forward forward: C = C\n",
                         &amx);
  uint64_t seed = 1;
  int one = 0, several = 0;
  for (int k = 0; k < 50; k++) {
    neo_schedule s = neo_schedule_random(x.m, x.g, x.machine, &seed);
    assert_true(legal(&x, &s));
    one += s.loops.pairs && !s.loops.unit_axes;
    several += s.loops.pairs && s.loops.unit_axes;
  }
  assert_true(one > 5 && several > 5);
}

static void a_gpus_map_may_take_vectors_and_give_them_up(void **state) {
  neo_machine gpu = a_gpu();
  neo_space x = space_on(*state,
                         "neo-ir 1\nmodule t\ninput A : f32 [64, 64]\ntemp C : f32 [64, 64]\n"
                         "def C[i: 64, j: 64] = exp(A[i, j])\nentry forward forward: C = C\n",
                         &gpu);
  neo_schedule from = neo_schedule_default(x.m, x.g, x.machine);
  neo_schedule *s = NEO_NEW_ARRAY(*state, neo_schedule, MOST);
  for (int step = 0; step < 2; step++) {
    size_t n = neo_space_neighbours(&x, &from, s, MOST), k = 0;
    while (k < n && (s[k].strategy != NEO_STRATEGY_LOOPS ||
                     (s[k].loops.vector_axis < 0) == (from.loops.vector_axis < 0)))
      k++;
    assert_true(k < n);
    from = s[k];
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_models_list_begins_with_its_choice_and_rises_in_cost,
                                      make_product, drop),
      cmocka_unit_test_setup_teardown(
          one_unit_costs_idle_threads_and_nothing_where_there_is_one_thread, make_product, drop),
      cmocka_unit_test_setup_teardown(every_parameter_of_a_tiled_product_can_be_changed,
                                      make_product, drop),
      cmocka_unit_test_setup_teardown(a_step_has_the_value_that_was_asked_for, make_product, drop),
      cmocka_unit_test_setup_teardown(the_matrix_unit_is_one_step_away_where_there_is_one,
                                      make_product, drop),
      cmocka_unit_test_setup_teardown(a_gpus_warps_have_a_list_and_steps, make_product, drop),
      cmocka_unit_test_setup_teardown(nested_sums_of_warps_have_a_list_and_steps, make_product,
                                      drop),
      cmocka_unit_test_setup_teardown(chance_draws_nested_sums_with_sides_of_all_kinds,
                                      make_product, drop),
      cmocka_unit_test_setup_teardown(chance_draws_products_of_pairs_in_one_unit_and_in_several,
                                      make_product, drop),
      cmocka_unit_test_setup_teardown(a_gpus_map_may_take_vectors_and_give_them_up, make_product,
                                      drop),
      cmocka_unit_test_setup_teardown(a_gpus_tile_has_stages_where_operands_are_copied_as_they_lie,
                                      make_product, drop),
      cmocka_unit_test_setup_teardown(a_gpus_list_has_tiles_of_many_shapes_the_cheapest_first,
                                      make_product, drop),
      cmocka_unit_test_setup_teardown(a_gpus_tile_can_change_in_every_side_and_change_its_strategy,
                                      make_product, drop),
      cmocka_unit_test(whatever_chance_makes_is_legal_and_made_again_by_the_same_seed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
