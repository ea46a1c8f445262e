/* All programs of two lines (two_lines.h): machine code for every level of processors that this
 * machine has, and for the emulated GPU, gives what the reference interpreter gives. The test takes
 * some of them, each for one target; with the argument `each` all of them, with `all` for all
 * targets. */
#include "tests/effort.h"
#include "tests/pairs/machine.h"
#include "tests/pairs/two_lines.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const pairs_how targets[] = {
    {.mcpu = "native"},
    {.mcpu = "x86-64-v2"},
    {.mcpu = "x86-64-v3"},
    {.mcpu = "x86-64-v4"},
#if !NEO_TEST_SANITIZED /* the stacks of emulated threads */
    {.target = "nvptx:sm_90a+host", .every_grid = true},
#endif
};
enum { N_TARGETS = sizeof targets / sizeof *targets };

enum { SOME = 230 }; /* pairs in the usual test */
static bool each, all;

static bool runs_here(const pairs_how *how) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  return !how->mcpu || strcmp(how->mcpu, "native") == 0 || strcmp(how->mcpu, "x86-64-v2") == 0 ||
         (strcmp(how->mcpu, "x86-64-v3") == 0 && __builtin_cpu_supports("avx2")) ||
         (strcmp(how->mcpu, "x86-64-v4") == 0 && __builtin_cpu_supports("avx512vl"));
#else
  return !how->mcpu || strcmp(how->mcpu, "native") == 0;
#endif
}

static uint32_t check(neo_arena *a, const pairs_reference *r, const pairs_how *how) {
  if (!runs_here(how))
    return 0;
  pairs_run x = pairs_compile_and_run(a, r, how);
  if (x.verdict == PAIRS_SAME)
    return 0;
  fprintf(stderr, "%s%s: %s\n%s\n", how->target ? how->target : "", how->mcpu ? how->mcpu : "",
          x.why, r->text);
  return 1;
}

static void what_the_first_line_found_decides_in_the_second(void **state) {
  uint32_t failed = 0, n = pairs_two_lines_count();
  uint32_t step = each ? 1 : (n / (uint32_t)neo_test_count(SOME) + 1) | 1;
  (void)state;
  for (uint32_t k = 0; k < n; k += step) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    pairs_program p = pairs_two_lines(&a, k);
    pairs_reference r = pairs_evaluate(&a, &p, &targets[0]);
    for (uint32_t t = 0; t < N_TARGETS; t++)
      if (all || t == k / step % N_TARGETS)
        failed += check(&a, &r, &targets[t]);
    neo_arena_free(&a);
  }
  if (failed)
    fail_msg("%u programs", failed);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_the_first_line_found_decides_in_the_second),
  };
  all = argc > 1 && strcmp(argv[1], "all") == 0;
  each = all || neo_test_long() || (argc > 1 && strcmp(argv[1], "each") == 0);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
