/* Plans of random modules with parameters and updates: three rounds of all entries in libneort are
 * three rounds in the reference interpreter. NEO_TEST_SEED=n runs more, from that seed. */
#include "tests/pipeline/plan_world.h"
#include "tests/random/gen.h"
#include <stdio.h>
#include <stdlib.h>

enum { N_INTERPRETED = 200, N_COMPILED = 12, N_MORE = 2000 };

static const neo_gen_options *options(void) {
  static const neo_gen_options o = {.max_defs = 8,
                                    .max_work = 800,
                                    .all_types = true,
                                    .runtime_sizes = true,
                                    .reductions = true,
                                    .pieces = true,
                                    .lookups = true,
                                    .guards = true,
                                    .multi_output = true,
                                    .transcendental = true,
                                    .random = true,
                                    .params = true};
  return &o;
}

/* False: the program of this seed has no updates. */
static bool check_seed(uint64_t seed, kernel_kind kind) {
  plan_world w;
  world_open(&w);
  neo_gen_program g = neo_gen_make(&w.c.arena, seed, options());
  bool trains = g.m->entries.n > 1;
  if (trains) {
    w.c.module = g.m;
    w.c.names = g.m->names;
    w.c.diags = g.m->diags;
    w.seed = seed;
    w.threads =
        kind == KERNELS_COMPILED && seed % 2 ? 3 : 1; /* interpreted ones copy whole buffers */
    world_begin(&w, kind, g.sizes);
    world_check(&w, 3);
  }
  world_close(&w);
  return trains;
}

static void check_seeds(uint64_t from, int n, kernel_kind kind) {
  for (uint64_t seed = from; n > 0; seed++) {
    if (getenv("NEO_TEST_SEED"))
      fprintf(stderr, "seed %llu\n", (unsigned long long)seed);
    n -= check_seed(seed, kind);
  }
}

static void random_plans_with_interpreted_kernels_equal_the_interpreter(void **state) {
  (void)state;
  const char *seed = getenv("NEO_TEST_SEED");
  check_seeds(seed ? strtoull(seed, NULL, 10) : 1, seed ? N_MORE : N_INTERPRETED,
              KERNELS_INTERPRETED);
}

static void random_plans_with_compiled_kernels_equal_the_interpreter(void **state) {
  (void)state;
  const char *seed = getenv("NEO_TEST_SEED");
  check_seeds(seed ? strtoull(seed, NULL, 10) : 5000, seed ? N_MORE / 10 : N_COMPILED,
              KERNELS_COMPILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_plans_with_interpreted_kernels_equal_the_interpreter),
      cmocka_unit_test(random_plans_with_compiled_kernels_equal_the_interpreter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
