/* Schedules of a GPU's blocks of threads: for random programs, and for sums of products in their
 * many shapes, the reference interpreter and the loop interpreter agree, with threads in a random
 * order, shared memory poisoned and races found. */
#include "tests/codegen/lower_test.h"
#include "tests/random/gen.h"
#include <stdio.h>
#include <stdlib.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNT "30"
#else
#define COUNT "100"
#endif

static uint64_t setting(const char *name, const char *otherwise) {
  const char *x = getenv(name);
  return strtoull(x ? x : otherwise, NULL, 10);
}

static void random_programs_are_right_in_blocks_of_threads(void **state) {
  neo_gen_options options = neo_gen_default;
  uint64_t first = setting("NEO_TEST_SEED", "1"), n = setting("NEO_TEST_COUNT", COUNT);
  int tiled = 0;
  (void)state;
  options.special = false;
  options.max_work = 3000;
  for (uint64_t seed = first; seed < first + n; seed++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = neo_gen_make(&a, seed, &options);
    lower_options o = {.seed = seed, .n_random = 2, .gpu = true, .sizes = g.sizes, .tiled = &tiled};
    o.interp = neo_gen_interp(&a, &g);
    if (lower_check_module(&a, g.m, &o, &why)) {
      neo_str text;
      neo_str_init(&text, &a);
      neo_gen_print(&g, &text);
      fprintf(stderr, "%s\n%s\n", neo_str_text(&text), neo_str_text(&why)); /* cmocka cuts */
      fail_msg("seed %llu", (unsigned long long)seed);
    }
    neo_arena_free(&a);
  }
  assert_true(tiled > 0 || n < 30);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_are_right_in_blocks_of_threads),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
