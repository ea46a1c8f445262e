/* Dots of pairs lane by lane: text, the loop interpreter, plain code and the instruction. */
#include "base/random.h"
#include "codegen/llvm/emit.h"
#include "codegen/loop/tile.h"
#include "include/neo/neo_rt.h"
#include "loop_parse.h"
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char text[] = "neo-loop 2\n"
                           "kernel P(A: i32 read, B: i32 read, C: f32 read write) units 64\n"
                           "for u in 0..64 unit\n"
                           "  for l in 0..16 vector\n"
                           "    C[u*16 + l] = dot(A[u], B[u*16 + l], C[u*16 + l])\n";

enum { UNITS = 64, CELLS = UNITS * 16 };

typedef struct {
  neo_arena a;
  neo_kernel *k;
  uint32_t x[UNITS], y[CELLS];
  float c[CELLS], expected[CELLS];
} fixture;

static neo_kernel *parsed(neo_arena *a, const char *source) {
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_kernel *k = neo_kernel_parse(a, d, "test", source, strlen(source));
  assert_non_null(k);
  return k;
}

/* Near 1, or of any size: denormal, infinite, not a number. */
static uint32_t number(uint64_t *seed, int bits) {
  uint64_t x = neo_splitmix(seed);
  uint32_t sign = (uint32_t)(x >> 32) & 0x80000000U, rest = (uint32_t)x & 0x7fffffU;
  uint32_t exponent = x >> 56 & 3 ? 124 + (x >> 40 & 7) : x >> 40 & 255;
  return (sign | exponent << 23 | rest) >> (32 - bits);
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
  for (int i = 0; i < UNITS; i++)
    f->x[i] = number(&seed, 16) | number(&seed, 16) << 16;
  for (int i = 0; i < CELLS; i++) {
    f->y[i] = number(&seed, 16) | number(&seed, 16) << 16;
    f->c[i] = of(number(&seed, 32));
    f->expected[i] = neo_pair_dot(f->c[i], f->x[i / 16], f->y[i]);
  }
}

/* All numbers that are not one are the same. */
static void same(const fixture *f, const float *c) {
  for (int i = 0; i < CELLS; i++)
    if (memcmp(&c[i], &f->expected[i], sizeof *c) && !(isnan(c[i]) && isnan(f->expected[i])))
      fail_msg("C[%d] is %a, expected %a", i, (double)c[i], (double)f->expected[i]);
}

static void compiled(fixture *f, const char *mcpu, float *c) {
#if defined(__x86_64__)
  neo_target t;
  neo_llvm *l;
  const char *why;
  assert_int_equal(neo_target_choose(&f->a, NULL, mcpu, &t, &why), NEO_OK);
  assert_int_equal(neo_llvm_new(&f->a, &t, "test", &l, &why), NEO_OK);
  assert_int_equal(neo_llvm_kernel(l, f->k, "P", &why), NEO_OK);
  neo_llvm_export(l, "P");
  assert_int_equal(neo_llvm_finish(l, &why), NEO_OK);
  neo_rt_fn *fn;
  void *at = neo_llvm_jit(l, "P", &why);
  memcpy(&fn, &at, sizeof fn);
  assert_non_null(at);
  memcpy(c, f->c, sizeof f->c);
  void *buf[] = {f->x, f->y, c};
  uint64_t key[3] = {0};
  neo_rt_args args = {.buf = buf, .key = key, .lo = 0, .hi = UNITS};
  fn(&args);
  neo_llvm_free(l);
#else
  (void)mcpu;
  memcpy(c, f->expected, sizeof f->expected);
#endif
}

static bool has(bool instruction) {
#if defined(__x86_64__)
  return instruction ? __builtin_cpu_supports("avx512bf16") && __builtin_cpu_supports("avx512vl")
                     : __builtin_cpu_supports("avx2");
#else
  return false;
#endif
}

static void a_dot_is_two_fused_steps_the_second_numbers_first(void **state) {
  (void)state;
  uint32_t one = 0x3f80, tiny = 0x3380; /* 1 and 2^-24: 1 + 2^-24 rounds to 1 */
  assert_float_equal(neo_pair_dot(1, tiny << 16 | one, one << 16 | one), 2, 0);
  assert_float_equal(neo_pair_dot(0, one << 16 | tiny, one << 16 | one), 1, 0);
  assert_float_equal(neo_pair_dot(1, tiny << 16 | 0x8000 | one, one << 16 | one), 0, 0); /* -1 */
  assert_float_equal(neo_pair_dot(of(1), 0, 0), 0, 0);             /* denormal */
  assert_float_equal(neo_pair_dot(0, 0x0040, 0x7f00), 0, 0);       /* the same in a pair */
  assert_float_equal(neo_pair_dot(2, one, one << 16 | one), 3, 0); /* pairs have two numbers */
}

static void the_interpreter_does_it_lane_by_lane(void **state) {
  static fixture f;
  static float c[CELLS];
  neo_value *buf[3];
  int64_t n[] = {UNITS, CELLS, CELLS};
  neo_str why;
  (void)state;
  begin(&f);
  neo_str_init(&why, &f.a);
  for (int b = 0; b < 3; b++)
    buf[b] = NEO_NEW_ARRAY(&f.a, neo_value, n[b]);
  for (int i = 0; i < UNITS; i++)
    buf[0][i].i = (int32_t)f.x[i];
  for (int i = 0; i < CELLS; i++) {
    buf[1][i].i = (int32_t)f.y[i];
    buf[2][i].f = (double)f.c[i];
  }
  neo_kernel_run run = {.bufs = buf, .n_elems = n, .lo = 0, .hi = UNITS};
  assert_int_equal(neo_kernel_interp(f.k, &run, &why), NEO_OK);
  for (int i = 0; i < CELLS; i++)
    c[i] = (float)buf[2][i].f;
  same(&f, c);
  neo_arena_free(&f.a);
}

static void plain_code_does_the_same_to_the_bit(void **state) {
  static fixture f;
  static float c[CELLS];
  (void)state;
  if (!has(false))
    skip();
  begin(&f);
  compiled(&f, "x86-64-v3+dots", c);
  same(&f, c);
  neo_arena_free(&f.a);
}

static void the_instruction_does_the_same_to_the_bit(void **state) {
  static fixture f;
  static float c[CELLS];
  (void)state;
  if (!has(true))
    skip();
  begin(&f);
  compiled(&f, "znver4", c);
  same(&f, c);
  neo_arena_free(&f.a);
}

static int count_in_assembly(const char *mcpu, const char *word) {
  static fixture f;
  neo_target t;
  neo_llvm *l;
  const char *why, *path = "test_dot.s";
  char line[512];
  int n = 0;
  begin(&f);
  assert_int_equal(neo_target_choose(&f.a, "x86_64", mcpu, &t, &why), NEO_OK);
  assert_int_equal(neo_llvm_new(&f.a, &t, "test", &l, &why), NEO_OK);
  assert_int_equal(neo_llvm_kernel(l, f.k, "P", &why), NEO_OK);
  assert_int_equal(neo_llvm_finish(l, &why), NEO_OK);
  assert_int_equal(neo_llvm_emit_asm(l, path, &why), NEO_OK);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file))
    n += strstr(line, word) != NULL;
  fclose(file);
  remove(path);
  neo_llvm_free(l);
  neo_arena_free(&f.a);
  return n;
}

static void processors_on_which_it_is_quick_get_the_instruction(void **state) {
  (void)state;
  assert_int_equal(count_in_assembly("znver4", "vdpbf16ps"), 1);
  assert_int_equal(count_in_assembly("znver5", "vdpbf16ps"), 1);
  assert_int_equal(count_in_assembly("x86-64-v4", "vdpbf16ps"), 0);
  assert_int_equal(count_in_assembly("sapphirerapids", "vdpbf16ps"), 0);
}

static void text_of_dots_is_read_back(void **state) {
  neo_arena a;
  neo_str one, two;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&one, &a);
  neo_str_init(&two, &a);
  neo_kernel_print(parsed(&a, text), &one);
  neo_kernel_print(parsed(&a, neo_str_text(&one)), &two);
  assert_string_equal(neo_str_text(&one), neo_str_text(&two));
  assert_non_null(strstr(neo_str_text(&one), "dot(A[u], B[u*16 + l], C[u*16 + l])"));
  neo_arena_free(&a);
}

static void dots_of_other_types_are_refused(void **state) {
  static const char *const wrong[] = {"dot(A[0], A[0], A[0])", "dot(C[0], A[0], C[0])",
                                      "dot(A[0], A[0])"};
  (void)state;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    neo_arena a;
    char source[200];
    snprintf(source, sizeof source,
             "neo-loop 2\nkernel P(A: i32 read, C: f32 read write) units 1\nC[0] = %s\n", wrong[k]);
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
    assert_null(neo_kernel_parse(&a, d, "test", source, strlen(source)));
    neo_arena_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_dot_is_two_fused_steps_the_second_numbers_first),
      cmocka_unit_test(the_interpreter_does_it_lane_by_lane),
      cmocka_unit_test(plain_code_does_the_same_to_the_bit),
      cmocka_unit_test(the_instruction_does_the_same_to_the_bit),
      cmocka_unit_test(processors_on_which_it_is_quick_get_the_instruction),
      cmocka_unit_test(text_of_dots_is_read_back),
      cmocka_unit_test(dots_of_other_types_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
