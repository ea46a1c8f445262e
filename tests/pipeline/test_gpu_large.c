/* Programs that are large enough for a GPU's matrix units (tests/random/large.h), by random
 * schedules of which those that only few kernels may have are drawn often (gpu_draw.h): on the
 * emulated device they are what the reference interpreter says, in any order of threads and on any
 * number of multiprocessors; and ptxas takes the PTX that they become. What the kernels had is
 * counted, since a proof of what never came proves nothing. tools/gpu_proof runs many. */
#include "tests/pipeline/gpu_count.h"
#include "tests/pipeline/gpu_draw.h"
#include "tests/pipeline/plan_world.h"
#include "tests/random/large.h"
#include "tests/random/seeds.h"
#include "tools/pipeline/emit.h"
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_PRODUCTS = 10, N_WINDOWS = 2, N_ATTENTIONS = 4, N_ASSEMBLED = 4 };

/* ---- a program and its schedules */

typedef struct {
  plan_world w;
  neo_large program;
  neo_profile profile;
  gpu_draw draw;
} proof;

static void set_number(const char *name, uint64_t n) {
  char text[32];
  snprintf(text, sizeof text, "%llu", (unsigned long long)n);
  setenv(name, text, 1);
}

/* The orders in which threads run: as they are counted, and mixed. Graphs when memory holds nothing
 * yet, or later. So few multiprocessors that persistent blocks take tile after tile. */
static int set_device(uint64_t seed) {
  int processors = 1 + (int)(seed % 8 / 3);
  set_number("NEO_EMULATOR_SEED", seed % 3);
  set_number("NEO_CUDA_GRAPHS", seed % 2 ? 2 : 1);
  set_number("NEO_EMULATOR_PROCESSORS", (uint64_t)processors);
  return processors;
}

static void open_proof(proof *p, neo_large_kind kind, uint64_t seed, const char *target) {
  plan_world *w = &p->w;
  p->profile = gpu_draw_eager();
  p->draw = (gpu_draw){.state = seed};
  world_open(w);
  p->program = neo_large_make(&w->c.arena, kind, seed);
  w->c.options.math = p->program.math;
  w->c.options.store = p->program.store;
  w->c.options.target = target;
  w->c.options.fusion.profile = kind == NEO_LARGE_ATTENTION ? &p->profile : NULL;
  w->c.options.schedule = gpu_draw_schedule;
  w->c.options.schedule_ctx = &p->draw;
  w->c.options.every_grid = seed % 4 != 0;
  w->seed = seed;
  w->large = &p->program;
  world_source(w, p->program.text);
}

/* Run-time sizes: mostly near the largest. */
static const int64_t *draw_sizes(plan_world *w) {
  const neo_module *m = w->c.module;
  int64_t *sizes = NEO_NEW_ARRAY(&w->c.arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    int64_t hi = m->sizes.at[k].hi, less = (int64_t)((w->seed / k) % 5);
    sizes[k] = less == 4 ? 1 + (int64_t)(w->seed % (uint64_t)hi) : hi - less * hi / 12;
  }
  return sizes;
}

/* ---- on the emulated device */

static void check_seed(neo_large_kind kind, uint64_t seed, gpu_counts *all) {
  proof p;
  int processors = set_device(seed);
  open_proof(&p, kind, seed, "nvptx:sm_90a+host");
  p.w.resident = seed % 8 ? 1 : 0;
  world_begin(&p.w, KERNELS_EMULATED, draw_sizes(&p.w));
  world_check(&p.w, 1);
  if (!gpu_count_kernels(all, &p.w, processors))
    fail_msg("%s\n%s", p.w.text, p.w.c.why);
  world_close(&p.w);
  unsetenv("NEO_EMULATOR_PROCESSORS");
}

/* True: these are the usual seeds, of which it is known what they have. */
static bool check_seeds(neo_large_kind kind, uint64_t n, gpu_counts *all) {
  neo_seeds s = neo_seeds_of(1, n);
  *all = (gpu_counts){0};
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_seeds_tell(&s, seed);
    check_seed(kind, seed, all);
  }
  gpu_counts_tell(all);
  return !s.given && s.n >= s.usual;
}

static void emulated_large_products_equal_the_interpreter(void **state) {
  gpu_counts n;
  (void)state;
  if (check_seeds(NEO_LARGE_PRODUCT, N_PRODUCTS, &n))
    assert_true(n.at[GPU_COUNT_WGMMA] >= 4 && n.at[GPU_COUNT_BOXES] >= 3 &&
                n.at[GPU_COUNT_PRODUCERS] >= 3 && n.at[GPU_COUNT_PERSISTENT] >= 2);
}

static void emulated_large_windows_equal_the_interpreter(void **state) {
  gpu_counts n;
  (void)state;
  if (check_seeds(NEO_LARGE_WINDOW, N_WINDOWS, &n))
    assert_true(n.at[GPU_COUNT_MMA] + n.at[GPU_COUNT_WGMMA] >= 1);
}

static void emulated_large_sums_in_sums_equal_the_interpreter(void **state) {
  gpu_counts n;
  (void)state;
  if (check_seeds(NEO_LARGE_ATTENTION, N_ATTENTIONS, &n))
    assert_true(n.at[GPU_COUNT_NESTED] >= 5 && n.at[GPU_COUNT_MMA] >= 3);
}

/* ---- through ptxas */

static void assemble(neo_large_kind kind, uint64_t seed, const char *target, char *folder,
                     gpu_counts *all) {
  proof p;
  neo_compilation *c = &p.w.c;
  open_proof(&p, kind, seed, target);
  c->options.out_dir = folder;
  c->options.emit = NEO_EMIT_SO;
  if (neo_compile_passes(c) || neo_compile_kernels(c) || neo_emit_device(c) ||
      !gpu_count_images(all, c))
    fail_msg("%s\n%s: %s", p.w.text, target, c->why);
  world_close(&p.w);
}

static bool has_ptxas(void) {
  return system("ptxas --version >/dev/null 2>&1") == 0;
}

static void check_assembled(neo_large_kind kind, uint64_t n) {
  neo_seeds s = neo_seeds_of(1, n);
  char folder[] = "/tmp/neo-test-XXXXXX";
  gpu_counts all = {0};
  if (!has_ptxas())
    skip();
  assert_non_null(mkdtemp(folder));
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_seeds_tell(&s, seed);
    assemble(kind, seed, "nvptx:sm_90a", folder, &all);
    if (seed % 8 == 0)
      assemble(kind, seed, seed % 16 ? "nvptx:sm_80" : "nvptx:sm_75", folder, &all);
  }
  gpu_counts_tell(&all);
  rmdir(folder);
}

static void ptxas_takes_large_products(void **state) {
  (void)state;
  check_assembled(NEO_LARGE_PRODUCT, N_ASSEMBLED);
}

static void ptxas_takes_large_windows(void **state) {
  (void)state;
  check_assembled(NEO_LARGE_WINDOW, N_ASSEMBLED / 4);
}

static void ptxas_takes_large_sums_in_sums(void **state) {
  (void)state;
  check_assembled(NEO_LARGE_ATTENTION, N_ASSEMBLED / 2);
}

/* With an argument: the tests only whose name it matches. */
int main(int argc, char **argv) {
#if defined(__SANITIZE_THREAD__)
  return 77; /* the stacks of emulated threads are not the thread sanitizer's */
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(emulated_large_products_equal_the_interpreter),
      cmocka_unit_test(emulated_large_windows_equal_the_interpreter),
      cmocka_unit_test(emulated_large_sums_in_sums_equal_the_interpreter),
      cmocka_unit_test(ptxas_takes_large_products),
      cmocka_unit_test(ptxas_takes_large_windows),
      cmocka_unit_test(ptxas_takes_large_sums_in_sums),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
