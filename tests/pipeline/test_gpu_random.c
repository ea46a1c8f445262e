/* Random programs on GPUs: on the emulated device they are what the reference interpreter says,
 * with the model's schedules and with random ones, in any order of threads, with all that can be in
 * persistent grids; and ptxas takes the PTX that they become. tools/gpu_proof runs many. */
#include "tests/gpu/emulator.h"
#include "tests/pipeline/gpu_count.h"
#include "tests/pipeline/gpu_draw.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/gen.h"
#include "tests/random/seeds.h"
#include "tools/pipeline/emit.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_EMULATED = 24, N_ASSEMBLED = 4, PROCESSORS = 3 /* of the emulated device */ };

/* False: the program has no kernels. */
static bool open_program(plan_world *w, uint64_t seed, const char *target, neo_gen_program *g) {
  world_open(w);
  *g = neo_gen_make(&w->c.arena, seed, &neo_gen_plans);
  w->c.module = g->m;
  w->c.names = g->m->names;
  w->c.diags = g->m->diags;
  w->c.options.target = target;
  w->seed = seed;
  return g->m->entries.n > 0;
}

/* Some programs' products are rounded, and what they keep. */
static void set_precision(neo_module *m, uint64_t seed) {
  static const neo_precision math[] = {NEO_PRECISION_TF32, NEO_PRECISION_F32, NEO_PRECISION_BF16,
                                       NEO_PRECISION_3XTF32};
  m->math = (uint8_t)math[seed % 4];
  m->store = (uint8_t)(seed % 8 == 2 || seed % 8 == 3 ? NEO_PRECISION_BF16 : NEO_PRECISION_F32);
}

/* The orders in which threads run: as they are counted, and mixed. */
static void check_seed(uint64_t seed, uint64_t random, gpu_counts *all) {
  plan_world w;
  neo_gen_program g;
  gpu_draw draw = {.state = seed + (random << 32), .small = true};
  char mix[32];
  snprintf(mix, sizeof mix, "%d", (int)(seed % 3));
  setenv("NEO_EMULATOR_SEED", mix, 1);
  setenv("NEO_CUDA_GRAPHS", seed % 2 ? "2" : "1", 1); /* 2: when its memory holds nothing yet */
  if (open_program(&w, seed, "nvptx:sm_90a+host", &g)) {
    set_precision(w.c.module, seed);
    w.c.options.schedule = random ? gpu_draw_schedule : NULL;
    w.c.options.schedule_ctx = &draw;
    w.c.options.every_grid = seed % 4 != 0;
    world_begin(&w, KERNELS_EMULATED, g.sizes);
    world_check(&w, 3); /* from the second call on, a graph of the driver runs */
    if (!gpu_count_kernels(all, &w, PROCESSORS))
      fail_msg("seed %llu: %s", (unsigned long long)seed, w.c.why);
  }
  world_close(&w);
}

static void check_seeds(uint64_t random) {
  neo_seeds s = neo_seeds_of(1, N_EMULATED);
  gpu_counts all = {0};
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_seeds_tell(&s, seed);
    check_seed(seed, random, &all);
  }
  gpu_counts_tell(&all);
}

static void on_the_device_random_programs_equal_the_interpreter(void **state) {
  (void)state;
  check_seeds(0);
}

static void so_they_do_with_random_schedules(void **state) {
  (void)state;
  check_seeds(1);
}

static void and_with_other_random_schedules(void **state) {
  (void)state;
  check_seeds(2);
}

static bool has_ptxas(void) {
  return system("ptxas --version >/dev/null 2>&1") == 0;
}

/* Half of the seeds by random schedules. */
static void assemble(uint64_t seed, const char *target, char *folder, gpu_counts *all) {
  plan_world w;
  neo_gen_program g;
  gpu_draw draw = {.state = seed, .small = true};
  if (open_program(&w, seed, target, &g)) {
    set_precision(w.c.module, seed);
    w.c.options.schedule = seed % 2 ? gpu_draw_schedule : NULL;
    w.c.options.schedule_ctx = &draw;
    w.c.options.out_dir = folder;
    w.c.options.emit = NEO_EMIT_SO;
    w.c.options.every_grid = true;
    if (neo_compile_passes(&w.c) || neo_compile_kernels(&w.c) || neo_emit_device(&w.c) ||
        !gpu_count_images(all, &w.c))
      fail_msg("seed %llu, %s: %s", (unsigned long long)seed, target, w.c.why);
  }
  world_close(&w);
}

static void ptxas_takes_random_programs_for_every_level(void **state) {
  static const char *const target[] = {
#define GPU_LEVEL(name, capability, own, ptx, shared_kib, has) "nvptx:" name,
#include "base/gpu.def"
#undef GPU_LEVEL
  };
  neo_seeds s = neo_seeds_of(1, N_ASSEMBLED);
  char folder[] = "/tmp/neo-test-XXXXXX";
  gpu_counts all = {0};
  (void)state;
  if (!has_ptxas())
    skip();
  assert_non_null(mkdtemp(folder));
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_seeds_tell(&s, seed);
    for (size_t k = 0; k < 4; k++)
      assemble(seed, target[k], folder, &all);
  }
  gpu_counts_tell(&all);
  rmdir(folder);
}

/* With an argument: the tests only whose name it matches. */
int main(int argc, char **argv) {
#if defined(__SANITIZE_THREAD__)
  return 77; /* the stacks of emulated threads are not the thread sanitizer's */
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(on_the_device_random_programs_equal_the_interpreter),
      cmocka_unit_test(so_they_do_with_random_schedules),
      cmocka_unit_test(and_with_other_random_schedules),
      cmocka_unit_test(ptxas_takes_random_programs_for_every_level),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
