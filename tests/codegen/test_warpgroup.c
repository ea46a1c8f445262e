/* Products of warpgroups: the reference multiplies matrices whose elements lie as the descriptor
 * says, in all modes; statements are printed and parsed, and what breaks a rule is refused; sums
 * that were not awaited have no value, and what is being multiplied is not written. */
#include "base/random.h"
#include "codegen/loop/wgmma.h"
#include "loop_parse.h"
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

/* ---- the reference */

enum { ROWS = 64, MOST = 256, STEPS = 64 };

typedef struct {
  float a[ROWS][STEPS], b[MOST][STEPS];
  unsigned char memory[1 << 17];
  int cell; /* bytes */
} matrices;

static uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

/* Operands of small integers, which all types hold. */
static uint32_t cell_of(neo_wgmma_op op, float x) {
  if (op == NEO_WGMMA_TF32)
    return bits_of(x) | 0x1fff; /* bits that do not count */
  if (op == NEO_WGMMA_BF16)
    return bits_of(x) >> 16;
  uint32_t u = bits_of(x), exponent = (u >> 23 & 255) - 127 + 15;
  return x == 0 ? 0 : u >> 31 << 15 | exponent << 10 | (u >> 13 & 1023);
}

static void put(matrices *x, uint32_t at, neo_wgmma_op op, float value) {
  uint32_t cell = cell_of(op, value);
  memcpy(x->memory + at, &cell, (size_t)x->cell);
}

/* As rows of 128 bytes, pieces exchanged. */
static uint32_t exchanged(int row, int byte) {
  int piece = byte / 16 ^ row % 8;
  return (uint32_t)(row * 128 + piece * 16 + byte % 16);
}

static double read_cell(void *ctx, int factor, uint32_t address) {
  matrices *x = ctx;
  uint32_t bits = 0;
  (void)factor;
  assert_true(address + (uint32_t)x->cell <= sizeof x->memory);
  memcpy(&bits, x->memory + address, (size_t)x->cell);
  return neo_wgmma_number(x->cell == 4 ? NEO_WGMMA_TF32 : NEO_WGMMA_BF16, bits);
}

static double read_half(void *ctx, int factor, uint32_t address) {
  matrices *x = ctx;
  uint16_t bits;
  (void)factor;
  memcpy(&bits, x->memory + address, sizeof bits);
  return neo_wgmma_number(NEO_WGMMA_F16, bits);
}

/* As lines of 128 bytes, each a step of 64 rows: 64 lines, and behind them those of the next. */
static uint32_t transposed_place(int row, int step) {
  return (uint32_t)(row / 64 * 8192) + exchanged(step, row % 64 * 2);
}

static uint32_t place(const matrices *x, bool transposed, int row, int step) {
  return transposed ? transposed_place(row, step) : exchanged(row, step * x->cell);
}

static void fill(matrices *x, neo_wgmma_op op, int steps, uint32_t transposed, uint32_t b_at) {
  for (int k = 0; k < steps; k++) {
    for (int i = 0; i < ROWS; i++) {
      x->a[i][k] = (float)((i * 5 + k * 3) % 17 - 8);
      put(x, place(x, transposed & 1, i, k), op, x->a[i][k]);
    }
    for (int j = 0; j < MOST; j++) {
      x->b[j][k] = (float)((j * 7 + k) % 13 - 6);
      put(x, b_at + place(x, transposed & 2, j, k), op, x->b[j][k]);
    }
  }
}

static void check_product(neo_wgmma_op op, int n, uint32_t transposed) {
  enum { B_AT = 16 << 10 };
  static matrices x;
  int steps = 128 / (op == NEO_WGMMA_TF32 ? 4 : 2);
  int64_t next[] = {neo_wgmma_next(op, transposed & 1), neo_wgmma_next(op, transposed & 2)};
  x.cell = op == NEO_WGMMA_TF32 ? 4 : 2;
  memset(x.memory, 0xff, sizeof x.memory);
  fill(&x, op, steps, transposed, B_AT);
  for (int t = 0; t < 128; t++) {
    float c[MOST / 2];
    for (int e = 0; e < n / 2; e++)
      c[e] = (float)(t - e);
    for (int k = 0; k < 4; k++) {
      neo_wgmma_product y = {.op = op, .transposed = transposed, .columns = n};
      y.factor[0] = neo_wgmma_descriptor(transposed & 1) + (uint64_t)(k * next[0]) / 16;
      y.factor[1] = neo_wgmma_descriptor(transposed & 2) + (uint64_t)(B_AT + k * next[1]) / 16;
      neo_wgmma_multiply(&y, t, op == NEO_WGMMA_F16 ? read_half : read_cell, &x, c);
    }
    for (int e = 0; e < n / 2; e++) {
      int warp = t / 32, lane = t % 32;
      int row = 16 * warp + lane / 4 + (e % 4 >= 2 ? 8 : 0);
      int column = e / 4 * 8 + lane % 4 * 2 + e % 2;
      float want = (float)(t - e);
      for (int k = 0; k < steps; k++)
        want += x.a[row][k] * x.b[column][k];
      assert_true(c[e] == want);
    }
  }
}

static void rows_of_exchanged_pieces_multiply_as_matrices(void **state) {
  (void)state;
  for (int op = 0; op < NEO_WGMMA_OPS; op++) {
    check_product((neo_wgmma_op)op, 8, 0);
    check_product((neo_wgmma_op)op, 40, 0);
    check_product((neo_wgmma_op)op, 256, 0);
    for (uint32_t transposed = 1; neo_wgmma_rows[op].transposes && transposed < 4; transposed++)
      check_product((neo_wgmma_op)op, 192, transposed);
  }
}

/* Each way to lay down a factor: 8 rows of 16 bytes that are not exchanged, and rows of 128, 64 and
 * 32 bytes that are. No two elements fall together. */
static void descriptors_name_each_byte_once(void **state) {
  (void)state;
  for (uint64_t mode = 0; mode < 4; mode++) {
    static unsigned char seen[4096];
    int bytes = mode ? 256 >> mode : 128;
    uint64_t stride = (uint64_t)(8 * bytes) / 16, leading = 8;
    uint64_t d = mode << 62 | stride << 32 | leading << 16;
    memset(seen, 0, sizeof seen);
    for (int row = 0; row < 32; row++)
      for (int byte = 0; byte < bytes; byte++) {
        uint32_t at = neo_wgmma_place(d, row, byte);
        assert_true(at < (uint32_t)(32 * bytes));
        assert_int_equal(seen[at]++, 0);
        assert_int_equal(at % 16, byte % 16);
      }
  }
  assert_int_equal(neo_wgmma_place(neo_wgmma_descriptor(false) + 64, 11, 36),
                   1024 + 1024 + 3 * 128 + 20);
}

/* ---- rules */

#define HEAD                                                                                \
  "neo-loop 2\nkernel k(z: f32 write, a: f32 scratch 2048 align 1024, b: f32 scratch 1024 " \
  "align 1024, s: f32 scratch 2048) units 1\n"
#define ZERO                                                             \
  "for t in 0..128 thread\n  for e in 0..16 unroll\n    c[0, e] = 0.0\n" \
  "  for i in 0..16\n    a[t*16 + i] = 1.0\n"                            \
  "  for i in 0..8\n    b[t*8 + i] = 0.5\n"
#define PRODUCT "wgmma tf32 c, a[0], b[0] across 1\n"

static const char *refusal(loop_fix *f, const char *body) {
  const char *text = neo_arena_printf(&f->arena, HEAD "%s", body);
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_kernel *k = neo_kernel_parse(&f->arena, f->diags, "test", text, strlen(text));
  assert_non_null(k);
  return neo_kernel_verify(k, &why) ? neo_str_text(&why) : "";
}

typedef const char *judge(loop_fix *f, const char *body);

static void check_refusals(loop_fix *f, judge *of, const char *const (*bad)[2], size_t n) {
  for (size_t k = 0; k < n; k++)
    if (!strstr(of(f, bad[k][0]), bad[k][1]))
      fail_msg("'%s' is not '%s'", of(f, bad[k][0]), bad[k][1]);
}

static void statements_that_break_a_rule_are_refused(void **state) {
  loop_fix *f = *state;
  static const char *const bad[][2] = {
      {"reg c[1, 16]: f32 threads 128\n" ZERO "wgmma tf32 c, s[0], b[0] across 1\n",
       "s is no scratch of f32 from a multiple of 1024"},
      {"reg c[1, 16]: f32 threads 128\n" ZERO "wgmma bf16 c, a[0], b[0] across 1\n",
       "a is no scratch of bf16"},
      {"reg c[1, 16]: f32 threads 128\n" ZERO "wgmma tf32 c, transposed a[0], b[0] across 1\n",
       "tf32 is not transposed"},
      {"reg c[1, 16]: f32 threads 128\n" ZERO "wgmma tf32 c, a[0], b[0] across 2\n",
       "do not divide"},
      {"reg c[1, 16]: f32 threads 128\n" ZERO "wgmma_wait 8, c\n", "8 products are left"},
      {"reg c[1, 6]: f32 threads 128\nfor t in 0..128 thread\n  c[0, 0] = 0.0\n" PRODUCT,
       "no sums of a warpgroup"},
      {"reg c[1, 16]: f32\nfor t in 0..128 thread\n  z[t] = 0.0\n" PRODUCT,
       "no sums of a warpgroup"},
      {"reg c[1, 16]: f32 threads 64\nfor t in 0..64 thread\n  c[0, 0] = 0.0\n" PRODUCT,
       "of the threads of a block"},
      {"reg c[1, 16]: f32 threads 128\nfor t in 0..128 thread\n  wgmma tf32 c, a[0], b[0] "
       "across 1\n",
       "outside of loops of threads"},
  };
  assert_string_equal(
      refusal(f, "reg c[1, 16]: f32 threads 128\n" ZERO PRODUCT "wgmma_wait 0, c\n"), "");
  check_refusals(f, refusal, bad, sizeof bad / sizeof *bad);
}

static void statements_are_printed_and_parsed(void **state) {
  loop_fix *f = *state;
  static const char text[] = HEAD "reg c[1, 16]: f32 threads 128\n"
                                  "for t in 0..128 thread\n"
                                  "  for e in 0..16 unroll\n"
                                  "    c[0, e] = 0.0\n"
                                  "for k in 0..2\n"
                                  "  wgmma tf32 c, a[k*1024], b[0] across 1\n"
                                  "  wgmma_wait 1, c\n";
  assert_string_equal(loop_text(f, loop_kernel(f, text)), text);
}

/* ---- when values are there */

static const char *outcome(loop_fix *f, const char *body) {
  const char *text =
      neo_arena_printf(&f->arena, HEAD "reg c[1, 16]: f32 threads 128\n" ZERO "%s", body);
  neo_kernel *k = loop_kernel(f, text);
  int64_t n[] = {4096, 2048, 1024, 2048};
  neo_value *bufs[4];
  neo_str why;
  neo_str_init(&why, &f->arena);
  for (int b = 0; b < 4; b++)
    bufs[b] = NEO_NEW_ARRAY(&f->arena, neo_value, n[b]);
  neo_kernel_run run = {.bufs = bufs, .n_elems = n, .hi = 1};
  if (neo_kernel_interp(k, &run, &why) != NEO_OK)
    return neo_str_text(&why);
  for (int64_t i = 0; i < 2048 && strstr(body, "z[t*16"); i++)
    assert_true(bufs[0][i].f == 16.0);
  return "";
}

#define READ "for t in 0..128 thread\n  for e in 0..16 unroll\n    z[t*16 + e] = c[0, e]\n"
#define WRITE "for t in 0..128 thread\n  a[t] = 0.0\n"

static void sums_are_there_once_they_are_awaited(void **state) {
  loop_fix *f = *state;
  static const char *const bad[][2] = {
      {PRODUCT READ, "not awaited of c"},
      {PRODUCT "wgmma_wait 1, c\n" READ, "not awaited of c"},
      {PRODUCT WRITE, "store before the end of a product of a at 0"},
      {PRODUCT "for t in 0..128 thread\n  c[0, 1] = 0.0\n", "not awaited of c"},
      {PRODUCT, "end before that of a product of a"},
      {"wgmma tf32 c, a[32], b[0] across 1\n", "between its places of a at 32"},
      {"wgmma tf32 c, a[1024], b[0] across 1\n", "load of a at 2048"},
  };
  assert_string_equal(outcome(f, PRODUCT "wgmma_wait 0, c\n" READ WRITE), "");
  assert_string_equal(outcome(f, PRODUCT PRODUCT "wgmma_wait 0, c\n"), "");
  check_refusals(f, outcome, bad, sizeof bad / sizeof *bad);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_exchanged_pieces_multiply_as_matrices),
      cmocka_unit_test(descriptors_name_each_byte_once),
      cmocka_unit_test_setup_teardown(statements_that_break_a_rule_are_refused, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(statements_are_printed_and_parsed, loop_setup, loop_teardown),
      cmocka_unit_test_setup_teardown(sums_are_there_once_they_are_awaited, loop_setup,
                                      loop_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
