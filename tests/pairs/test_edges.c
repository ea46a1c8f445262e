/* Random recurrences along lists of edges (edges.h): machine code gives what the reference interpreter gives,
 * on any number of threads with the same bits, under the model's schedules and under random
 * ones, and on the emulated GPU. */
#include "tests/effort.h"
#include "tests/pairs/edges.h"
#include "tests/pairs/machine.h"
#include "tests/random/seeds.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

enum { COUNT = 50, EMULATED = 4 /* every so many programs also run there */ };

static uint32_t check(neo_arena *a, const pairs_reference *r, uint64_t seed, const pairs_how *how) {
  pairs_run x = pairs_compile_and_run(a, r, how);
  if (x.verdict == PAIRS_SAME)
    return 0;
  fprintf(stderr, "seed %llu %s %s: %s\n%s\n", (unsigned long long)seed,
          how->target ? how->target : "", how->schedules ? "random schedules" : "", x.why, r->text);
  return 1;
}

static uint32_t one(uint64_t seed) {
  neo_arena a;
  pairs_how plain = {.compose = true}, drawn = {.schedules = seed};
  neo_arena_init(&a, neo_alloc_default, NULL);
  pairs_program p = pairs_draw_edges(&a, seed);
  pairs_reference r = pairs_evaluate(&a, &p, &plain);
  uint32_t failed = 0;
  if (r.verdict != PAIRS_SAME) {
    fprintf(stderr, "seed %llu: %s\n%s\n", (unsigned long long)seed, r.why, r.text);
    failed = 1;
  } else {
    failed += check(&a, &r, seed, &plain);
    failed += check(&a, &r, seed, &drawn);
#if !NEO_TEST_SANITIZED /* the stacks of emulated threads */
    pairs_how gpu = {.target = "nvptx:sm_90a+host", .every_grid = true};
    if (seed % EMULATED == 0)
      failed += check(&a, &r, seed, &gpu);
#endif
  }
  neo_arena_free(&a);
  return failed;
}

static void lists_of_edges_equal_the_interpreter(void **state) {
  neo_seeds s = neo_seeds_of(1, COUNT);
  uint32_t failed = 0;
  (void)state;
  for (uint64_t k = 0; k < s.n; k++) {
    neo_seeds_tell(&s, s.first + k);
    failed += one(s.first + k);
  }
  if (failed)
    fail_msg("%u programs fail", failed);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lists_of_edges_equal_the_interpreter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
