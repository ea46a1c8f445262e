/* The search, in spaces that are known whole. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "base/hash.h"
#include "base/random.h"
#include "ir/print.h"
#include "tools/tune/survey.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEEDS = 3, MOST_MEASUREMENTS = 25 };
static const neo_machine *avx2(void) {
  return neo_machine_named("x86-64-v3");
}

typedef struct {
  neo_arena arena;
  neo_grouping g;
  neo_space space;
} world;

static void make(world *w, int m, int n, int k) {
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  neo_arena *a = &w->arena;
  char *text =
      neo_arena_printf(a,
                       "neo-ir 1\nmodule t\ninput A : f32 [%d, %d]\ninput B : f32 [%d, %d]\n"
                       "temp C : f32 [%d, %d]\ndef C[i: %d, j: %d] =\n"
                       "  sum[k: %d] A[i, k] * B[k, j]\n  then acc0\n"
                       "entry forward forward: C = C\n",
                       m, k, k, n, m, n, m, n, k);
  neo_module *module = neo_module_parse(a, neo_names_new(a), neo_diags_new(a, neo_sources_new(a)),
                                        "test", text, strlen(text));
  assert_non_null(module);
  assert_int_equal(neo_fuse_with(module, a, NULL, &w->g, NULL), NEO_OK);
  w->space = neo_space_of(module, &w->g.groups.at[0], avx2());
}

/* ---- a processor that is made up: what its time depends on is not what the model thinks.
 * Registers spill, panels that leave a cache slow the loads, blocks of k load and store the results
 * again, packing costs, and every schedule is a little quicker or slower than that for no
 * reason. */

typedef struct {
  double loads, issue;     /* in a cycle */
  double registers, spill; /* cycles of a spilled one, a step */
  double l1_bytes, l2_bytes, l1_slow, l2_slow;
  double packing; /* cycles an element */
  double whim;    /* at most this share */
} processor;

/* Parameters have a say by their names, those of other strategies and those not used have none: new
 * ones change no processor. */
static double whim_of(const neo_schedule *s, uint64_t seed) {
  uint64_t x = seed * 0x9e3779b97f4a7c15ULL;
  neo_param_range own = neo_strategy_params(s->strategy);
  for (uint32_t k = own.first; k < own.first + own.n; k++)
    if (s->at[k] && (k != NEO_PARAM(loops, partial) || s->at[k] != 1))
      x = neo_hash_mix(x, neo_hash(neo_param_text(k), strlen(neo_param_text(k)), 0) ^
                              (uint64_t)s->at[k]);
  return (double)(neo_splitmix(&x) >> 40) * 0x1p-24;
}

static double step_cycles(const processor *p, double rows, double columns, double partial,
                          bool packed) {
  double fma = rows * columns / 2, load = (columns + rows) / p->loads * (packed ? 1 : 1.25);
  double issue = (rows * columns + columns + rows + 3) / p->issue;
  double live = rows * columns * partial + columns + 1;
  double t = fma > load ? fma : load;
  t = t > issue ? t : issue;
  t = t > 4 / partial ? t : 4 / partial; /* latency */
  return t + (live > p->registers ? (live - p->registers) * p->spill : 0);
}

static double cycles(const processor *p, const neo_schedule *s, double m, double n, double k,
                     uint64_t seed) {
  const neo_loop_params *at = &s->loops;
  double rows = (double)at->tile_m, columns = (double)at->tile_n, wide = columns * 8;
  double block_k = at->block_k ? (double)at->block_k : k;
  double block_n = at->block_n ? (double)at->block_n : n;
  bool pack_a = at->pack & 1, pack_b = at->pack & 2;
  double each = step_cycles(p, rows, columns, (double)at->partial, pack_a);
  if (wide * block_k * 4 > p->l1_bytes)
    each *= 1 + p->l1_slow;
  if (block_n * block_k * 4 > p->l2_bytes)
    each *= 1 + p->l2_slow;
  if (!pack_b)
    each += columns * 0.7;
  double tiles = ceil(m / rows) * ceil(block_n / wide) * ceil(n / block_n);
  double ends = tiles * ceil(k / block_k) * rows * columns * (2 + (double)at->partial);
  double t = tiles * k * each + ends;
  t += pack_a ? m * k * p->packing * ceil(n / block_n) : 0;
  t += pack_b ? n * k * p->packing : 0;
  return t * (1 + p->whim * whim_of(s, seed));
}

static const processor processors[] = {
    {2, 4.5, 16, 2, 24000, 300000, 0.10, 0.25, 0.6, 0.03},
    {2, 6, 16, 1, 32000, 500000, 0.05, 0.15, 1.5, 0.03},
    {1, 4, 16, 4, 16000, 200000, 0.20, 0.40, 0.3, 0.05},
    {3, 5, 32, 2, 48000, 1000000, 0.05, 0.30, 1.0, 0.03},
    {2, 3.5, 14, 3, 12000, 120000, 0.15, 0.20, 0.8, 0.02},
};
static const int shapes[][3] = {
    {512, 512, 512}, {192, 2304, 288}, {64, 768, 2304}, {384, 768, 512}};
enum {
  N_PROCESSORS = sizeof processors / sizeof *processors,
  N_SHAPES = sizeof shapes / sizeof *shapes
};

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static double best_of(const neo_surveyed *all, size_t n) {
  double best = all[0].time_ns;
  for (size_t k = 1; k < n; k++)
    best = fmin(best, all[k].time_ns);
  return best;
}

/* Measurements to 99 % of the best, in the median over seeds. */
static int64_t needed_by(const processor *p, const int *shape, uint64_t whim, int seeds) {
  world w;
  neo_surveyed *all;
  make(&w, shape[0], shape[1], shape[2]);
  size_t n = neo_survey_space(&w.space, &all);
  for (size_t i = 0; i < n; i++)
    all[i].time_ns = cycles(p, &all[i].schedule, shape[0], shape[1], shape[2], whim);
  int64_t needed = neo_survey_median(&w.space, &w.arena, all, n, best_of(all, n) / 0.99, seeds);
  print_message("%4d x %4d x %4d: %4zu schedules, %3lld measurements to 99%%\n", shape[0], shape[1],
                shape[2], n, (long long)needed);
  neo_arena_free(&w.arena);
  return needed;
}

static void the_search_comes_within_one_percent_in_few_measurements(void **state) {
  int64_t needed[N_SHAPES * N_PROCESSORS];
  int n = 0;
  (void)state;
  for (int k = 0; k < N_SHAPES; k++)
    for (int p = 0; p < N_PROCESSORS; p++)
      needed[n++] = needed_by(&processors[p], shapes[k], (uint64_t)p, SEEDS);
  qsort(needed, (size_t)n, sizeof *needed, compare);
  assert_true(needed[n / 2] <= MOST_MEASUREMENTS / 2);
  assert_true(needed[n * 19 / 20 - 1] <= MOST_MEASUREMENTS);
  assert_true(needed[n - 1] <= 3 * MOST_MEASUREMENTS); /* where the model is far off */
}

static double draw(uint64_t *seed, double lo, double hi) {
  return lo + (hi - lo) * (double)(neo_splitmix(seed) >> 40) * 0x1p-24;
}

/* Other processors and shapes than those above, which the search may have been fitted to. */
static void the_search_does_as_well_on_processors_drawn_at_random(void **state) {
  enum { DRAWN = 9 };
  int64_t needed[DRAWN];
  uint64_t seed = 2024;
  (void)state;
  for (int k = 0; k < DRAWN; k++) {
    processor p = processors[neo_splitmix(&seed) % N_PROCESSORS];
    const int *from = shapes[neo_splitmix(&seed) % N_SHAPES];
    int shape[3];
    for (int d = 0; d < 3; d++)
      shape[d] = (int)(from[d] * draw(&seed, 0.6, 1.6)) / 16 * 16;
    p.issue *= draw(&seed, 0.85, 1.2);
    p.spill *= draw(&seed, 0.7, 1.4);
    p.l1_bytes *= draw(&seed, 0.7, 1.4);
    p.l2_bytes *= draw(&seed, 0.7, 1.4);
    p.packing *= draw(&seed, 0.7, 1.4);
    needed[k] = needed_by(&p, shape, (uint64_t)k + 100, 1);
  }
  qsort(needed, DRAWN, sizeof *needed, compare);
  assert_true(needed[DRAWN / 2] <= MOST_MEASUREMENTS);
}

/* ---- more of the search */

static double valley(const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  double rows = (double)p->tile_m - 7, columns = (double)p->tile_n - 2;
  double t = 1 + 0.01 * rows * rows + 0.05 * columns * columns;
  t += p->pack == 3 ? 0 : 0.1;
  t += p->block_k ? 0.001 * (double)llabs(p->block_k - 128) : 0.5;
  return 1e6 * t;
}

static void a_minimum_far_from_the_models_is_found(void **state) {
  world w;
  neo_search s;
  size_t trial[8];
  (void)state;
  make(&w, 512, 512, 512);
  neo_search_init(&s, &w.arena, w.space, 1);
  for (size_t n; (n = neo_search_ask(&s, trial, 8)) != 0;)
    for (size_t k = 0; k < n; k++)
      neo_search_tell(&s, trial[k], valley(&s.trials.at[trial[k]].schedule));
  assert_true(neo_search_best(&s) <= 1.02e6);
  assert_true(s.trials.n < 250);
  neo_arena_free(&w.arena);
}

static void nothing_is_proposed_twice_and_refusals_are_no_best(void **state) {
  world w;
  neo_search s;
  size_t trial[8];
  (void)state;
  make(&w, 64, 64, 64);
  neo_search_init(&s, &w.arena, w.space, 3);
  for (size_t n; (n = neo_search_ask(&s, trial, 8)) != 0;)
    for (size_t k = 0; k < n; k++)
      neo_search_tell(&s, trial[k],
                      s.trials.at[trial[k]].schedule.loops.tile_m == 4
                          ? -1
                          : valley(&s.trials.at[trial[k]].schedule));
  for (size_t k = 0; k < s.trials.n; k++)
    for (size_t i = 0; i < k; i++)
      assert_false(neo_schedule_equal(&s.trials.at[k].schedule, &s.trials.at[i].schedule));
  assert_int_not_equal(s.trials.at[s.best].schedule.loops.tile_m, 4);
  neo_arena_free(&w.arena);
}

static void seeds_and_known_times_spare_measurements(void **state) {
  world w;
  neo_search s;
  size_t trial[8];
  (void)state;
  make(&w, 512, 512, 512);
  neo_search_init(&s, &w.arena, w.space, 1);
  neo_schedule given = s.list.at[0], other = s.list.at[1];
  given.loops.tile_m = 3;
  neo_search_seed(&s, &given);
  assert_int_equal(neo_search_ask(&s, trial, 1), 1);
  neo_search_tell(&s, trial[0], 100);
  neo_search_add_logged(&s, &other, 90);
  assert_true(neo_search_best(&s) == 90);
  size_t n = neo_search_ask(&s, trial, 8);
  assert_true(n > 1);
  assert_true(neo_schedule_equal(&s.trials.at[trial[0]].schedule, &given));
  for (size_t k = 0; k < n; k++)
    assert_false(neo_schedule_equal(&s.trials.at[trial[k]].schedule, &other));
  neo_arena_free(&w.arena);
}

static void the_base_is_measured_first_and_the_models_choice_after_it(void **state) {
  world w;
  (void)state;
  make(&w, 512, 512, 512);
  for (int listed = 0; listed < 2; listed++) {
    neo_search s;
    size_t trial[2];
    neo_search_init(&s, &w.arena, w.space, 1);
    neo_schedule choice = s.list.at[0], base = s.list.at[listed ? 3 : 0];
    if (!listed)
      base.loops.tile_m = 3;
    neo_search_first(&s, &base);
    assert_int_equal(neo_search_ask(&s, trial, 2), 2);
    assert_true(neo_schedule_equal(&s.trials.at[trial[0]].schedule, &base));
    assert_true(neo_schedule_equal(&s.trials.at[trial[1]].schedule, &choice));
  }
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_search_comes_within_one_percent_in_few_measurements),
      cmocka_unit_test(the_search_does_as_well_on_processors_drawn_at_random),
      cmocka_unit_test(a_minimum_far_from_the_models_is_found),
      cmocka_unit_test(nothing_is_proposed_twice_and_refusals_are_no_best),
      cmocka_unit_test(seeds_and_known_times_spare_measurements),
      cmocka_unit_test(the_base_is_measured_first_and_the_models_choice_after_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
