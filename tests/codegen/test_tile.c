/* Tile registers: text, the loop interpreter, and the same as machine code. */
#include "base/random.h"
#include "codegen/llvm/emit.h"
#include "include/neo/neo_rt.h"
#include "loop_parse.h"
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static const char text[] =
    "neo-loop 2\n"
    "kernel P(A: i32 read, B: i32 read, C: f32 read write, S: f32 scratch 512) units 3\n"
    "for u in 0..3 unit\n"
    "  tile load 0, C[320*u] pitch 20\n"
    "  tile zero 1\n"
    "  for k in 0..2\n"
    "    tile load 2, A[u*512 + k*16] pitch 32\n"
    "    tile load 3, B[k*256] pitch 16\n"
    "    tile dot 0, 2, 3\n"
    "    tile dot 1, 2, 3\n"
    "  tile store 1, S[0] pitch 32\n"
    "  tile store 0, C[320*u] pitch 20\n";

enum { UNITS = 3, A_CELLS = UNITS * 512, B_CELLS = 512, C_CELLS = UNITS * 320, S_CELLS = 512 };

typedef struct {
  neo_arena a;
  neo_kernel *k;
  uint32_t x[A_CELLS], y[B_CELLS];
  float c[C_CELLS], expected[C_CELLS];
} fixture;

static neo_kernel *parsed(neo_arena *a, const char *source) {
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_kernel *k = neo_kernel_parse(a, d, "test", source, strlen(source));
  assert_non_null(k);
  return k;
}

/* Two random bf16; some denormal, some large. */
static uint32_t pair(uint64_t *seed) {
  uint64_t x = neo_splitmix(seed);
  uint32_t u = (uint32_t)x & 0x807f807fU, tiny = x >> 40 & 15;
  uint32_t first = tiny == 0 ? 0 : 0x3f00U + (uint32_t)(x >> 44 & 0x180U);
  uint32_t second = tiny == 1 ? 0 : 0x3f00U + (uint32_t)(x >> 54 & 0x180U);
  return u | first | second << 16;
}

static float of(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static void begin(fixture *f) {
  uint64_t seed = 7;
  neo_arena_init(&f->a, neo_alloc_default, NULL);
  f->k = parsed(&f->a, text);
  for (int i = 0; i < A_CELLS; i++)
    f->x[i] = pair(&seed);
  for (int i = 0; i < B_CELLS; i++)
    f->y[i] = pair(&seed);
  for (int i = 0; i < C_CELLS; i++)
    f->expected[i] = f->c[i] = (float)(neo_splitmix(&seed) % 1000) / 100;
  for (int u = 0; u < UNITS; u++)
    for (int m = 0; m < 16; m++)
      for (int n = 0; n < 16; n++) {
        double sum = (double)f->c[u * 320 + m * 20 + n];
        for (int k = 0; k < 32; k++) {
          uint32_t x = f->x[u * 512 + m * 32 + k], y = f->y[k * 16 + n];
          sum += (double)of(x << 16) * (double)of(y << 16);
          sum += (double)of(x & 0xffff0000U) * (double)of(y & 0xffff0000U);
        }
        f->expected[u * 320 + m * 20 + n] = (float)sum;
      }
}

static void compare(const fixture *f, const float *c) {
  for (int i = 0; i < C_CELLS; i++)
    if (!(fabsf(c[i] - f->expected[i]) <= 1e-3f))
      fail_msg("C[%d] is %g, expected %g", i, (double)c[i], (double)f->expected[i]);
}

static void interpreted(fixture *f, float *c) {
  neo_value *buf[4];
  int64_t n[] = {A_CELLS, B_CELLS, C_CELLS, S_CELLS};
  neo_str why;
  neo_str_init(&why, &f->a);
  for (int b = 0; b < 4; b++)
    buf[b] = NEO_NEW_ARRAY(&f->a, neo_value, n[b]);
  for (int i = 0; i < A_CELLS; i++)
    buf[0][i].i = (int32_t)f->x[i];
  for (int i = 0; i < B_CELLS; i++)
    buf[1][i].i = (int32_t)f->y[i];
  for (int i = 0; i < C_CELLS; i++)
    buf[2][i].f = (double)f->c[i];
  neo_kernel_run run = {.bufs = buf, .n_elems = n, .lo = 0, .hi = UNITS};
  assert_int_equal(neo_kernel_interp(f->k, &run, &why), NEO_OK);
  for (int i = 0; i < C_CELLS; i++)
    c[i] = (float)buf[2][i].f;
}

static void tiles_multiply_pairs_and_keep_what_lies_between_rows(void **state) {
  static fixture f;
  float c[C_CELLS];
  (void)state;
  begin(&f);
  interpreted(&f, c);
  compare(&f, c);
  neo_arena_free(&f.a);
}

static void plain_code_does_what_the_interpreter_does_to_the_bit(void **state) {
  static fixture f;
  static float c[C_CELLS], scratch[S_CELLS] __attribute__((aligned(64)));
  neo_target t;
  neo_llvm *l;
  const char *why;
  (void)state;
  begin(&f);
#if defined(__x86_64__)
  float expected[C_CELLS];
  interpreted(&f, expected);
  assert_int_equal(neo_target_choose(&f.a, NULL, "x86-64-v3+tiles", &t, &why), NEO_OK);
  assert_int_equal(neo_llvm_new(&f.a, &t, "test", &l, &why), NEO_OK);
  assert_int_equal(neo_llvm_kernel(l, f.k, "P", &why), NEO_OK);
  neo_llvm_export(l, "P");
  assert_int_equal(neo_llvm_finish(l, &why), NEO_OK);
  neo_rt_fn *fn;
  void *at = neo_llvm_jit(l, "P", &why);
  memcpy(&fn, &at, sizeof fn);
  assert_non_null(at);
  memcpy(c, f.c, sizeof c);
  void *buf[] = {f.x, f.y, c};
  uint64_t key[3] = {0};
  neo_rt_args args = {.buf = buf, .key = key, .lo = 0, .hi = UNITS, .scratch = scratch};
  fn(&args);
  assert_memory_equal(c, expected, sizeof c);
  neo_llvm_free(l);
#endif
  neo_arena_free(&f.a);
}

#define FIVE_ZEROS "\\000\\000\\000\\000\\000"
#define FIFTEEN_ZEROS FIVE_ZEROS FIVE_ZEROS FIVE_ZEROS
#define SIXTEEN_ZEROS FIFTEEN_ZEROS "\\000"

static void instructions_are_configured_and_released_by_each_unit(void **state) {
  static fixture f;
  neo_target t;
  neo_llvm *l;
  const char *why;
  char line[512];
  /* The last two: 64 bytes in a row, 16 rows, of eight registers (the layout of ldtilecfg). */
  static const char *const words[] = {
      "ldtilecfg",
      "tdpbf16ps",
      "tilerelease",
      "tileloadd",
      "\"\\001" FIFTEEN_ZEROS "@\\000@\\000@\\000@\\000@\\000@\\000@\\000@\\000",
      SIXTEEN_ZEROS "\\020\\020\\020\\020\\020\\020\\020\\020\\000"};
  enum { WORDS = sizeof words / sizeof *words };
  int seen[WORDS] = {0};
  (void)state;
  begin(&f);
  assert_int_equal(neo_target_choose(&f.a, "x86_64", "sapphirerapids", &t, &why), NEO_OK);
  assert_int_equal(neo_llvm_new(&f.a, &t, "test", &l, &why), NEO_OK);
  assert_int_equal(neo_llvm_kernel(l, f.k, "P", &why), NEO_OK);
  assert_int_equal(neo_llvm_finish(l, &why), NEO_OK);
  const char *path = "test_tile.s";
  assert_int_equal(neo_llvm_emit_asm(l, path, &why), NEO_OK);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file))
    for (int k = 0; k < WORDS; k++)
      seen[k] += strstr(line, words[k]) != NULL;
  fclose(file);
  remove(path);
  assert_int_equal(seen[0], 1);
  assert_int_equal(seen[1], 2);
  assert_int_equal(seen[2], 1);
  assert_int_equal(seen[3], 3);
  assert_int_equal(seen[4], 1);
  assert_int_equal(seen[5], 1);
  neo_llvm_free(l);
  neo_arena_free(&f.a);
}

static void text_of_tiles_is_read_back(void **state) {
  neo_arena a;
  neo_str one, two;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&one, &a);
  neo_str_init(&two, &a);
  neo_kernel_print(parsed(&a, text), &one);
  neo_kernel_print(parsed(&a, neo_str_text(&one)), &two);
  assert_string_equal(neo_str_text(&one), neo_str_text(&two));
  assert_non_null(strstr(neo_str_text(&one), "tile load 0, C[u*320] pitch 20"));
  neo_arena_free(&a);
}

static void wrong_tiles_are_refused(void **state) {
  static const char *const wrong[] = {
      "neo-loop 2\nkernel P(A: f64 read) units 1\ntile load 0, A[0] pitch 16\n",
      "neo-loop 2\nkernel P(A: f32 read) units 1\ntile zero 0\ntile store 0, A[0] pitch 16\n",
      "neo-loop 2\nkernel P(A: f32 write) units 1\ntile load 0, A[0] pitch 16\n",
      "neo-loop 2\nkernel P(A: f32 write) units 1\ntile load 0, A[0] pitch 0\n",
      "neo-loop 2\nkernel P(A: f32 write) units 1\ntile dot 0, 1, 1\n"};
  (void)state;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    assert_int_equal(neo_kernel_verify(parsed(&a, wrong[k]), &why), NEO_INTERNAL);
    neo_arena_free(&a);
  }
}

static void tiles_hold_nothing_at_first(void **state) {
  static const char source[] =
      "neo-loop 2\nkernel P(A: f32 write) units 1\ntile store 0, A[0] pitch 16\n";
  neo_arena a;
  neo_str why;
  neo_value *buf, *bufs[1];
  int64_t n = 256;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&why, &a);
  bufs[0] = buf = NEO_NEW_ARRAY(&a, neo_value, n);
  neo_kernel_run run = {.bufs = bufs, .n_elems = &n, .lo = 0, .hi = 1};
  assert_int_equal(neo_kernel_interp(parsed(&a, source), &run, &why), NEO_INTERNAL);
  neo_arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(tiles_multiply_pairs_and_keep_what_lies_between_rows),
      cmocka_unit_test(plain_code_does_what_the_interpreter_does_to_the_bit),
      cmocka_unit_test(instructions_are_configured_and_released_by_each_unit),
      cmocka_unit_test(text_of_tiles_is_read_back),
      cmocka_unit_test(wrong_tiles_are_refused),
      cmocka_unit_test(tiles_hold_nothing_at_first),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
