/* Random programs with random legal schedules: the reference interpreter, the loop interpreter and
 * machine code agree. */
#include "tests/codegen/lower_test.h"
#include "tests/effort.h"
#include "tests/random/gen.h"
#include "tests/random/seeds.h"
#include <stdio.h>
#include <stdlib.h>

enum { COUNT = 150, COUNT_LONG = 1500 }; /* before neo_test_count multiplies it */

/* Two of three programs with all kinds of fusion, the others with one kind, or all, switched off.
 * */
static neo_fuse_options fusion_of(uint64_t seed) {
  uint64_t kind = seed / 3 % (NEO_FUSE_KINDS + 1);
  if (seed % 3)
    return (neo_fuse_options){0};
  return (neo_fuse_options){.off = kind < NEO_FUSE_KINDS ? 1u << kind : ~0u};
}

static void try_seeds(const neo_gen_options *options, uint64_t first, uint64_t n, int n_random) {
  for (uint64_t seed = first; seed < first + n; seed++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = neo_gen_make(&a, seed, options);
    lower_options o = {.seed = seed, .n_random = n_random, .jit = true, .sizes = g.sizes};
    o.interp = neo_gen_interp(&a, &g);
    o.fusion = fusion_of(seed);
    if (lower_check_module(&a, g.m, &o, &why)) {
      neo_str text;
      neo_str_init(&text, &a);
      neo_gen_print(&g, &text);
      fprintf(stderr, "%s\n%s\n", neo_str_text(&text), neo_str_text(&why)); /* cmocka cuts */
      fail_msg("seed %llu", (unsigned long long)seed);
    }
    neo_arena_free(&a);
  }
}

static void random_programs_are_lowered_right(void **state) {
  (void)state;
  neo_gen_options o = neo_gen_default;
  o.has &= ~(uint32_t)NEO_GEN_SPECIAL;
  o.max_work = 3000;
  neo_seeds s = neo_seeds_of(1, neo_test_long() ? COUNT_LONG : COUNT);
  try_seeds(&o, s.first, s.n, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_are_lowered_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
