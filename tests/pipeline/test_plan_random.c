/* Plans of random modules with parameters and updates: three rounds of all entries in libneort are
 * three rounds in the reference interpreter. */
#include "tests/pipeline/plan_world.h"
#include "tests/random/gen.h"
#include "tests/random/seeds.h"

enum { N_INTERPRETED = 200, N_COMPILED = 12 };

/* False: the program of this seed has no updates. */
static bool check_seed(uint64_t seed, kernel_kind kind) {
  plan_world w;
  world_open(&w);
  neo_gen_program g = neo_gen_make(&w.c.arena, seed, &neo_gen_plans);
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

static void check_seeds(uint64_t first, uint64_t count, kernel_kind kind) {
  neo_seeds s = neo_seeds_of(first, count);
  for (uint64_t seed = s.first, n = s.n; n > 0; seed++) {
    neo_seeds_tell(&s, seed);
    n -= check_seed(seed, kind);
  }
}

static void random_plans_with_interpreted_kernels_equal_the_interpreter(void **state) {
  (void)state;
  check_seeds(1, N_INTERPRETED, KERNELS_INTERPRETED);
}

static void random_plans_with_compiled_kernels_equal_the_interpreter(void **state) {
  (void)state;
  check_seeds(5000, N_COMPILED, KERNELS_COMPILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_plans_with_interpreted_kernels_equal_the_interpreter),
      cmocka_unit_test(random_plans_with_compiled_kernels_equal_the_interpreter),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
