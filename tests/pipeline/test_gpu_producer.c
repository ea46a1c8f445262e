/* Products whose boxes a producer asks for, on the emulated device, are what the reference
 * interpreter says: of odd sizes, in all layouts, of bf16 and f16, with batches, with what stands
 * behind the sum; threads run in any order, and one warpgroup ahead of another. So are those whose
 * blocks are persistent, of however few multiprocessors. And ptxas gives their warpgroups the
 * registers that they set. */
#include "tests/gpu/emulator.h"
#include "tests/pipeline/plan_world.h"
#include "tools/pipeline/emit.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const programs[] = {
    /* OF_SIZE */
    "size B 1..200\ninput x : bf16 [B, 264]\ninput w : bf16 [72, 264]\ntemp z : f32 [B, 72]\n"
    "def z[b: B, j: 72] =\n  sum[i: 264] f32(x[b, i]) * f32(w[j, i])\n  then acc0\n",
    "input x : bf16 [72, 264]\ninput w : bf16 [72, 264]\ntemp z : f32 [72, 72]\n"
    "def z[b: 72, j: 72] =\n  sum[i: 264] f32(x[b, i]) * f32(w[j, i])\n  then acc0\n",
    "input x : bf16 [264, 72]\ninput w : bf16 [264, 72]\ntemp z : f32 [72, 72]\n"
    "def z[b: 72, j: 72] =\n  sum[i: 264] f32(x[i, b]) * f32(w[i, j])\n  then acc0\n",
    "input x : f16 [70, 264]\ninput w : f16 [264, 72]\ninput c : f32 [68]\n"
    "temp z : f32 [70, 68]\n"
    "def z[b: 70, j: 68] =\n  sum[i: 260] f32(x[b, i]) * f32(w[i, j])\n"
    "  then max(acc0 + c[j], 0.0)\n",
    "input x : f16 [2, 264, 80]\ninput w : f16 [2, 72, 264]\ntemp z : f32 [2, 80, 72]\n"
    "def z[n: 2, b: 80, j: 72] =\n  sum[i: 264] f32(x[n, i, b]) * f32(w[n, j, i])\n"
    "  then acc0 * 0.5\n",
    "input x : bf16 [72, 64]\ninput w : bf16 [72, 64]\ntemp z : f32 [72, 72]\n"
    "def z[b: 72, j: 72] =\n  sum[i: 64] f32(x[b, i]) * f32(w[j, i])\n  then acc0\n",
    /* a thread's copies could not be of 4 bytes, so many steps are there */
    "input x : bf16 [72, 264]\ninput w : bf16 [72, 264]\ntemp z : f32 [72, 72]\n"
    "def z[b: 72, j: 72] =\n  sum[i: 257] f32(x[b, i]) * f32(w[j, i])\n  then acc0\n",
};

/* One warpgroup, two beside and below each other, three; a warpgroup's tile of 128 rows. */
static const char *const tiles[] = {
    "block_m=64 block_n=64 tile_m=64 tile_n=64 threads=128",
    "block_m=64 block_n=128 tile_m=64 tile_n=64 threads=256",
    "block_m=128 block_n=64 tile_m=64 tile_n=64 threads=256",
    "block_m=192 block_n=64 tile_m=64 tile_n=64 threads=384",
    "block_m=128 block_n=128 tile_m=128 tile_n=128 threads=128",
};
enum {
  OF_SIZE = 0,
  ACROSS = 2,
  WIDE = 4,
  PROGRAMS = sizeof programs / sizeof *programs,
  TILES = sizeof tiles / sizeof *tiles
};

typedef struct {
  const char *tile;
  int stages, persistent;
  int found; /* groups that it is for */
} wanted;

static neo_schedule by_producer(void *ctx, neo_compilation *c, const neo_group *g) {
  wanted *w = ctx;
  neo_schedule s, first = neo_schedule_default(c->module, g, &c->machine);
  neo_str why;
  neo_str_init(&why, &c->arena);
  if (first.block.products != 2)
    return first;
  const char *text = neo_arena_printf(
      &c->arena,
      "gpu_tile row_axes=%lld column_axes=%lld stages=%d tma=1 producer=1 persistent=%d block_k=64 "
      "products=2 %s",
      (long long)first.block.row_axes, (long long)first.block.column_axes, w->stages, w->persistent,
      w->tile);
  assert_true(neo_schedule_parse(text, &s));
  if (!neo_schedule_legal(c->module, g, &c->machine, &s, &why))
    fail_msg("%s: %s", text, neo_str_text(&why));
  w->found++;
  return s;
}

static void open_program(plan_world *w, int program, wanted *ctx, const char *target) {
  world_open(w);
  world_parse(w,
              neo_arena_printf(&w->c.arena, "neo-ir 1\nmodule t\n%sentry forward forward: z = z\n",
                               programs[program]));
  w->c.options.target = target;
  w->c.options.schedule = by_producer;
  w->c.options.schedule_ctx = ctx;
  w->seed = (uint64_t)program + 1;
}

static void check(int program, int tile, int stages) {
  plan_world w;
  wanted ctx = {tiles[tile], stages, 0, 0};
  char mix[32];
  snprintf(mix, sizeof mix, "%d", (program + tile) % 3);
  setenv("NEO_EMULATOR_SEED", mix, 1);
  open_program(&w, program, &ctx, "nvptx:sm_90a+host");
  world_begin(&w, KERNELS_EMULATED, NULL);
  assert_int_equal(ctx.found, 1);
  assert_non_null(neo_kernel_specialized(w.c.kernels.at[0].kernel));
  world_check(&w, 3);
  world_close(&w);
}

static void products_of_every_layout_equal_the_interpreter(void **state) {
  (void)state;
  for (int program = 0; program < PROGRAMS; program++)
    check(program, program % 3, 3 + program % 2);
}

static void so_do_those_of_every_number_of_warpgroups(void **state) {
  (void)state;
  for (int tile = 0; tile < TILES; tile++)
    check(1 + tile % 2, tile, 3);
}

/* More than the 64 columns that lie together: the next ones are a leading offset on. */
static void so_do_wide_tiles_of_operands_across_the_steps(void **state) {
  (void)state;
  check(ACROSS, WIDE, 3);
}

/* ---- persistent blocks */

/* The number of blocks that the emulated device has run. */
static unsigned blocks_so_far(void) {
  const neo_emulator_counts *(*count)(void);
  void *driver = dlopen(NEO_TEST_EMULATOR, RTLD_NOW | RTLD_GLOBAL);
  assert_non_null(driver);
  *(void **)&count = dlsym(driver, "neo_emulator_count");
  unsigned n = count()->blocks;
  dlclose(driver);
  return n;
}

/* Returns how many blocks a launch had. */
static unsigned check_persistent(int program, int tile, int stages, const char *processors,
                                 const int64_t *sizes) {
  enum { ROUNDS = 3 };
  plan_world w;
  wanted ctx = {tiles[tile], stages, 1, 0};
  setenv("NEO_EMULATOR_SEED", program % 2 ? "5" : "0", 1);
  setenv("NEO_EMULATOR_PROCESSORS", processors, 1);
  unsigned before = blocks_so_far();
  open_program(&w, program, &ctx, "nvptx:sm_90a+host");
  world_begin(&w, KERNELS_EMULATED, sizes);
  assert_int_equal(ctx.found, 1);
  assert_true(w.c.kernels.at[0].kernel->persistent > 0);
  world_check(&w, ROUNDS);
  world_close(&w);
  unsetenv("NEO_EMULATOR_PROCESSORS");
  return (blocks_so_far() - before) / ROUNDS;
}

static void persistent_blocks_of_any_number_equal_the_interpreter(void **state) {
  (void)state;
  for (int program = 0; program < PROGRAMS; program++)
    check_persistent(program, program % 3, 3 + program % 2, program % 2 ? "3" : "1", NULL);
  for (int tile = 0; tile < TILES; tile++)
    if (tile != WIDE) /* one tile */
      check_persistent(1 + tile % 2, tile, 3, "1000", NULL);
}

/* Tiles of 64 by 64, in two columns. */
static void so_many_are_launched_as_the_device_has_multiprocessors_for(void **state) {
  static const int64_t rows[] = {1, 130};
  (void)state;
  unsigned one = check_persistent(OF_SIZE, 0, 3, "1", NULL);
  assert_true(one >= 1 && one <= 3);
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    const int64_t sizes[] = {0, rows[k]};
    unsigned tiles_of_it = 2 * (unsigned)((rows[k] + 63) / 64), most = 2 * one;
    unsigned n = check_persistent(OF_SIZE, 0, 3, "2", sizes);
    assert_int_equal(n, most < tiles_of_it ? most : tiles_of_it);
    assert_int_equal(check_persistent(OF_SIZE, 0, 3, "1000", sizes), tiles_of_it);
  }
  setenv("NEO_CUDA_PERSISTENT", "0", 1);
  assert_int_equal(check_persistent(OF_SIZE, 0, 3, "1", NULL), 2 * 4);
  unsetenv("NEO_CUDA_PERSISTENT");
}

/* ---- registers */

static bool has_ptxas(void) {
  return system("ptxas --version >/dev/null 2>&1") == 0;
}

/* The number after `before` in the text; -1: no line has it. */
static long number_behind(const char *text, const char *before) {
  const char *at = strstr(text, before);
  return at ? strtol(at + strlen(before), NULL, 10) : -1;
}

static char *read_all(FILE *f, char *out, size_t most) {
  size_t n = fread(out, 1, most - 1, f);
  out[n] = 0;
  return out;
}

/* All threads begin with what the kernel's bound says, or the pool that consumers take of has less.
 * */
static void assemble(const char *folder, const char *tile, int program, int persistent) {
  enum { SAID = 1 << 14 };
  plan_world w;
  static char said[SAID];
  wanted ctx = {tile, 3, persistent, 0};
  open_program(&w, program, &ctx, "nvptx:sm_90a");
  w.c.options.out_dir = folder;
  w.c.options.emit = NEO_EMIT_SO;
  if (neo_compile_passes(&w.c) || neo_compile_kernels(&w.c) || neo_emit_device(&w.c))
    fail_msg("%s: %s", tile, w.c.why);
  const neo_plan_image *ptx = NULL;
  for (size_t i = 0; i < w.c.images.n; i++)
    if (w.c.images.at[i].kind == NEO_RT_IMAGE_PTX)
      ptx = &w.c.images.at[i];
  assert_non_null(ptx);
  char *path = neo_arena_printf(&w.c.arena, "%s/k.ptx", folder);
  FILE *f = fopen(path, "w");
  fputs(ptx->data, f);
  fclose(f);
  f = popen(neo_arena_printf(&w.c.arena, "ptxas -v -arch=sm_90a -o /dev/null %s 2>&1", path), "r");
  read_all(f, said, sizeof said);
  bool set = strstr(ptx->data, "setmaxnreg.inc") && strstr(ptx->data, "setmaxnreg.dec");
  if (pclose(f) || strstr(said, "setmaxnreg") || strstr(said, "serialized") ||
      number_behind(said, "stack frame, ") != 0 ||
      set != (number_behind(ptx->data, ".maxnreg ") > 0) ||
      (set && number_behind(said, "Used ") != number_behind(ptx->data, ".maxnreg ")))
    fail_msg("%s: .maxnreg %ld, %s", tile, number_behind(ptx->data, ".maxnreg "), said);
  remove(path);
  world_close(&w);
}

static void ptxas_gives_each_role_its_registers_and_spills_none(void **state) {
  static const char *const large[] = {
      "block_m=64 block_n=256 tile_m=64 tile_n=256 threads=128",
      "block_m=128 block_n=256 tile_m=64 tile_n=256 threads=256",
      "block_m=256 block_n=128 tile_m=128 tile_n=128 threads=256",
      "block_m=192 block_n=128 tile_m=64 tile_n=128 threads=384",
      "block_m=256 block_n=64 tile_m=128 tile_n=32 threads=512",
  };
  char folder[] = "/tmp/neo-test-XXXXXX";
  (void)state;
  if (!has_ptxas())
    skip();
  assert_non_null(mkdtemp(folder));
  for (int tile = 0; tile < TILES; tile++)
    assemble(folder, tiles[tile], tile % PROGRAMS, 0);
  for (size_t tile = 0; tile < sizeof large / sizeof *large; tile++)
    assemble(folder, large[tile], (int)tile % PROGRAMS, 0);
  for (int tile = 0; tile < TILES - 1; tile++)
    assemble(folder, tiles[tile], tile % PROGRAMS, 1);
  rmdir(folder);
}

/* With an argument: the tests only whose name it matches. */
int main(int argc, char **argv) {
#if defined(__SANITIZE_THREAD__)
  return 77; /* the stacks of emulated threads are not the thread sanitizer's */
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_every_layout_equal_the_interpreter),
      cmocka_unit_test(so_do_those_of_every_number_of_warpgroups),
      cmocka_unit_test(so_do_wide_tiles_of_operands_across_the_steps),
      cmocka_unit_test(persistent_blocks_of_any_number_equal_the_interpreter),
      cmocka_unit_test(so_many_are_launched_as_the_device_has_multiprocessors_for),
      cmocka_unit_test(ptxas_gives_each_role_its_registers_and_spills_none),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
