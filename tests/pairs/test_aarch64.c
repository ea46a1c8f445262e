/* Machine code for aarch64, run by qemu with a runtime for aarch64, gives what the reference
 * interpreter gives: some of the programs of two lines (two_lines.h), and random programs
 * (program.h). With arguments: `two-lines N` or `random N`, so many of the one kind; of 6720 programs
 * of two lines each is taken. Skipped where the compiler for aarch64 or qemu is missing. */
#include "tests/effort.h"
#include "tests/pairs/cross.h"
#include "tests/pairs/drive.h"
#include "tests/pairs/two_lines.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TWO_LINES = 120, RANDOM = 60, BATCH = 120 };

static char folder[PAIRS_FOLDER_BYTES];
static uint64_t n_two_lines, n_random;

typedef struct {
  neo_arena arena;
  size_t n;
  pairs_program program[BATCH];
  pairs_reference reference[BATCH];
  pairs_cross_case cases[BATCH];
} batch;

static void add(batch *b, pairs_program p, pairs_how how) {
  size_t k = b->n++;
  b->program[k] = p;
  b->reference[k] = pairs_evaluate(&b->arena, &b->program[k], &how);
  b->cases[k] = (pairs_cross_case){.reference = &b->reference[k], .how = how};
}

/* How many fail. */
static uint32_t run(batch *b) {
  uint32_t failed = 0;
  pairs_cross_run(&b->arena, folder, b->cases, b->n);
  for (size_t k = 0; k < b->n; k++) {
    const pairs_cross_case *x = &b->cases[k];
    if (x->run.verdict == PAIRS_SAME || x->run.verdict == PAIRS_REJECTED)
      continue;
    failed++;
    fprintf(stderr, "seed %llu%s: %s\n%s\n", (unsigned long long)b->program[k].seed,
            pairs_way_text(&x->how, &b->arena), x->run.why, b->reference[k].text);
  }
  return failed;
}

typedef pairs_program program_of(neo_arena *a, uint64_t number, pairs_how *how);

static pairs_program two_lines(neo_arena *a, uint64_t number, pairs_how *how) {
  (void)how;
  return pairs_two_lines(a, (uint32_t)number);
}

/* The seed's program, every fifth one compiled in another way. */
static pairs_program drawn(neo_arena *a, uint64_t number, pairs_how *how) {
  pairs_drive d = {.target = how->target, .variants = 20};
  pairs_how other;
  if (pairs_way(&d, number + 1, 1, &other, a) && !other.mcpu)
    *how = other;
  return pairs_draw(a, number + 1);
}

static void run_all(program_of *of, uint64_t end, uint64_t step) {
  static batch b;
  uint32_t failed = 0;
  for (uint64_t k = 0; k < end;) {
    neo_arena_init(&b.arena, neo_alloc_default, NULL);
    for (b.n = 0; k < end && b.n < BATCH; k += step) {
      pairs_how how = {.target = "aarch64"};
      pairs_program p = of(&b.arena, k, &how);
      add(&b, p, how);
    }
    failed += run(&b);
    neo_arena_free(&b.arena);
  }
  if (failed)
    fail_msg("%u programs", failed);
}

static void what_the_first_line_found_decides_in_the_second_on_aarch64(void **state) {
  uint32_t n = pairs_two_lines_count();
  (void)state;
  run_all(two_lines, n, n_two_lines >= n ? 1 : (n / (n_two_lines + 1) + 1) | 1);
}

static void random_programs_equal_the_interpreter_on_aarch64(void **state) {
  (void)state;
  run_all(drawn, n_random, 1);
}

static int begin(void **state) {
  (void)state;
  return pairs_cross_begin(NEO_TEST_SOURCE_DIR, folder) ? -1 : 0;
}

static int end(void **state) {
  (void)state;
  pairs_cross_end(folder);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_the_first_line_found_decides_in_the_second_on_aarch64),
      cmocka_unit_test(random_programs_equal_the_interpreter_on_aarch64),
  };
  n_two_lines = neo_test_long() ? pairs_two_lines_count() : neo_test_count(TWO_LINES);
  n_random = neo_test_count(RANDOM);
  if (argc == 3) {
    bool random = strcmp(argv[1], "random") == 0;
    cmocka_set_test_filter(random ? "random*" : "what*");
    *(random ? &n_random : &n_two_lines) = strtoull(argv[2], NULL, 10);
  }
  if (!pairs_cross_can()) {
    puts("skipped: needs aarch64-linux-gnu-gcc and qemu-aarch64 (apt install "
         "gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)");
    return 77;
  }
  return cmocka_run_group_tests_name("aarch64", tests, begin, end);
}
