/* Random products and sums inside of sums of any size, from one element on, on the emulated device,
 * by random schedules of those that only they have (gpu_draw.h): boxes, a producer that asks for
 * them, persistent blocks, stages. They are what the reference interpreter says, in any order of
 * threads; and so many of the seeds have each of them, since a draw that seldom comes tests nothing.
 * Large ones: test_gpu_large.c. */
#include "tests/pipeline/gpu_count.h"
#include "tests/pipeline/gpu_draw.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/products.h"
#include "tests/random/seeds.h"
#include <stdio.h>
#include <stdlib.h>

enum { N_PRODUCTS = 24, N_ATTENTIONS = 28 };

static void check_seed(uint64_t seed, const char *(*make)(neo_arena *, uint64_t), gpu_counts *all) {
  static const neo_precision math[] = {NEO_PRECISION_TF32, NEO_PRECISION_BF16, NEO_PRECISION_TF32,
                                       NEO_PRECISION_3XTF32};
  plan_world w;
  neo_profile p = gpu_draw_eager();
  gpu_draw draw = {.state = seed};
  int processors = (int)(seed % 2 ? 1 + seed % 5 : 1000);
  char number[32];
  snprintf(number, sizeof number, "%d", (int)(seed % 3));
  setenv("NEO_EMULATOR_SEED", number, 1);
  snprintf(number, sizeof number, "%d", processors);
  setenv("NEO_EMULATOR_PROCESSORS", number, 1);
  world_open(&w);
  world_parse(&w, make(&w.c.arena, seed));
  w.c.module->math = (uint8_t)math[seed / 4 % 4];
  w.c.options.target = "nvptx:sm_90a+host";
  w.c.options.fusion.profile = &p;
  w.c.options.schedule = gpu_draw_schedule;
  w.c.options.schedule_ctx = &draw;
  w.seed = seed;
  world_begin(&w, KERNELS_EMULATED, NULL);
  world_check(&w, 1);
  if (!gpu_count_kernels(all, &w, processors))
    fail_msg("seed %llu: %s", (unsigned long long)seed, w.c.why);
  world_close(&w);
  unsetenv("NEO_EMULATOR_PROCESSORS");
}

/* *other: not as many as usual, or other ones, of which nothing is known. */
static gpu_counts check_seeds(uint64_t n, const char *(*make)(neo_arena *, uint64_t), bool *other) {
  neo_seeds s = neo_seeds_of(1, n);
  gpu_counts all = {0};
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_seeds_tell(&s, seed);
    check_seed(seed, make, &all);
  }
  gpu_counts_tell(&all);
  *other = s.given || s.n < s.usual;
  return all;
}

static void random_products_with_boxes_and_producers_equal_the_interpreter(void **state) {
  bool other;
  gpu_counts all = check_seeds(N_PRODUCTS, neo_gen_product, &other);
  (void)state;
  assert_true(other || (all.at[GPU_COUNT_BOXES] >= 6 && all.at[GPU_COUNT_PRODUCERS] >= 5));
}

static void random_sums_in_sums_with_stages_equal_the_interpreter(void **state) {
  bool other;
  gpu_counts all = check_seeds(N_ATTENTIONS, neo_gen_attention, &other);
  (void)state;
  assert_true(other || (all.at[GPU_COUNT_NESTED] >= N_ATTENTIONS && all.at[GPU_COUNT_STAGES] >= 3));
}

int main(void) {
#if defined(__SANITIZE_THREAD__)
  return 77; /* the stacks of emulated threads are not the thread sanitizer's */
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_products_with_boxes_and_producers_equal_the_interpreter),
      cmocka_unit_test(random_sums_in_sums_with_stages_equal_the_interpreter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
