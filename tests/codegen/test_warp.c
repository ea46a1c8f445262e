/* Warps: the reference of products multiplies matrices whose fragments lie as PTX lays them down,
 * and reads such fragments from memory, what breaks a rule of a product or a shuffle is refused, a
 * shuffle gives what it says, and tiles read shared memory without conflicts. */
#include "codegen/loop/warp.h"
#include "codegen/lower/lower.h"
#include "fusion/search/search.h"
#include "ir/print.h"
#include "loop_parse.h"
#include "loop_support.h"
#include "schedule/schedule.h"
#include <cmocka.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

/* ---- the reference */

typedef struct {
  float a[16][16], b[16][8], c[16][8];
} matrices;

static uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}

/* Small numbers: sums are exact, whatever their order. */
static matrices numbers(void) {
  matrices x;
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 16; j++)
      x.a[i][j] = (float)((i * 5 + j * 3) % 17 - 8);
  for (int i = 0; i < 16; i++)
    for (int j = 0; j < 8; j++) {
      x.b[i][j] = (float)((i * 7 + j) % 13 - 6);
      x.c[i][j] = (float)(i - j);
    }
  return x;
}

/* The f16 bits of a small integer. */
static uint32_t half_of(float x) {
  uint32_t sign = x < 0 ? 0x8000 : 0, size = (uint32_t)(x < 0 ? -x : x), exponent = 25;
  if (!size)
    return 0;
  while (size < 1024)
    size *= 2, exponent--;
  return sign | exponent << 10 | (size & 0x3ff);
}

static uint32_t element_bits(neo_mma_op op, float x) {
  return op == NEO_MMA_F16 ? half_of(x) : bits_of(x) >> 16;
}

static uint32_t cell_of(neo_mma_op op, float x, float y) {
  return op == NEO_MMA_TF32 ? bits_of(x) : element_bits(op, x) | element_bits(op, y) << 16;
}

/* The factors' cells of each thread: mma.m16n8k8 of tf32, mma.m16n8k16 of bf16 and f16. */
static void lay_down(const matrices *x, neo_mma_op op, uint32_t a[32][4], uint32_t b[32][2]) {
  bool pairs = op != NEO_MMA_TF32;
  for (int t = 0; t < 32; t++)
    for (int e = 0; e < 4; e++) {
      int g = t / 4, q = t % 4, row = e == 0 || e == 2 ? g : g + 8, k = e < 2 ? q : q + 4;
      k = pairs ? 2 * k : k;
      a[t][e] = cell_of(op, x->a[row][k], x->a[row][k + 1]);
      k = (e == 0 ? q : q + 4) * (pairs ? 2 : 1);
      if (e < 2)
        b[t][e] = cell_of(op, x->b[k][g], x->b[k + 1][g]);
    }
}

static void check_product(neo_mma_op op) {
  matrices x = numbers();
  uint32_t a[32][4], b[32][2];
  const uint32_t *pa[32], *pb[32];
  lay_down(&x, op, a, b);
  for (int t = 0; t < 32; t++)
    pa[t] = a[t], pb[t] = b[t];
  for (int t = 0; t < 32; t++) {
    float c[4];
    int row[] = {t / 4, t / 4, t / 4 + 8, t / 4 + 8}, column[] = {0, 1, 0, 1};
    for (int e = 0; e < 4; e++)
      c[e] = x.c[row[e]][t % 4 * 2 + column[e]];
    neo_mma_product(op, t, pa, pb, c);
    for (int e = 0; e < 4; e++) {
      float want = x.c[row[e]][t % 4 * 2 + column[e]];
      for (int k = 0; k < (op == NEO_MMA_TF32 ? 8 : 16); k++)
        want += x.a[row[e]][k] * x.b[k][t % 4 * 2 + column[e]];
      assert_true(c[e] == want);
    }
  }
}

static void fragments_multiply_as_matrices(void **state) {
  (void)state;
  check_product(NEO_MMA_TF32);
  check_product(NEO_MMA_BF16);
  check_product(NEO_MMA_F16);
}

/* The specials of f16: its least number, infinity, NaN. */
static void f16_is_what_ieee_says(void **state) {
  static const uint32_t bits[] = {1, 0x3ff, 0x400, 0x7bff, 0x7c00, 0xfc00, 0x3c01};
  static const float value[] = {0x1p-24f, 0x3ffp-24f, 0x1p-14f,    65504,
                                INFINITY, -INFINITY,  1 + 0x1p-10f};
  (void)state;
  for (size_t k = 0; k <= sizeof bits / sizeof *bits; k++) {
    bool nan = k == sizeof bits / sizeof *bits;
    uint32_t a[32][4] = {0}, b[32][2] = {0};
    const uint32_t *pa[32], *pb[32];
    float c[4] = {0};
    for (int t = 0; t < 32; t++)
      pa[t] = a[t], pb[t] = b[t];
    a[0][0] = nan ? 0x7e00 : bits[k];
    b[0][0] = 0x3c00;
    neo_mma_product(NEO_MMA_F16, 0, pa, pb, c);
    assert_true(nan ? isnan(c[0]) : c[0] == value[k]);
  }
}

/* Memory with rows of 16 bytes: of a[row][k], of b turned; and the other way. */
static void check_reads(neo_mma_op op) {
  matrices x = numbers();
  uint32_t a[32][4], b[32][2], got[4];
  uint16_t rows[16][16], steps[16][16], columns[8][16], turned[16][8];
  const void *at[4][32];
  lay_down(&x, op, a, b);
  for (int i = 0; i < 16; i++)
    for (int k = 0; k < 16; k++) {
      rows[i][k] = steps[k][i] = (uint16_t)element_bits(op, x.a[i][k]);
      if (i < 8)
        columns[i][k] = turned[k][i] = (uint16_t)element_bits(op, x.b[k][i]);
    }
  for (int t = 0; t < 32; t++) {
    int m = t / 8, r = t % 8;
    at[0][t] = &rows[8 * (m % 2) + r][8 * (m / 2)];
    at[1][t] = &steps[8 * (m / 2) + r][8 * (m % 2)];
    at[2][t] = &columns[r][8 * (m % 2)];
    at[3][t] = &turned[8 * (m % 2) + r][0];
  }
  for (int t = 0; t < 32; t++) {
    neo_ldmatrix_read(NEO_LDMATRIX_X4, t, at[0], got);
    assert_memory_equal(got, a[t], sizeof a[t]);
    neo_ldmatrix_read(NEO_LDMATRIX_X4_TRANS, t, at[1], got);
    assert_memory_equal(got, a[t], sizeof a[t]);
    neo_ldmatrix_read(NEO_LDMATRIX_X2, t, at[2], got);
    assert_memory_equal(got, b[t], sizeof b[t]);
    neo_ldmatrix_read(NEO_LDMATRIX_X2_TRANS, t, at[3], got);
    assert_memory_equal(got, b[t], sizeof b[t]);
  }
}

static void fragments_are_read_from_either_layout(void **state) {
  (void)state;
  check_reads(NEO_MMA_BF16);
  check_reads(NEO_MMA_F16);
}

/* ---- rules */

/* "": it is none. */
static const char *refusal(loop_fix *f, const char *body) {
  const char *text = neo_arena_printf(&f->arena,
                                      "neo-loop 2\nkernel k(z: f32 write, s: bf16 scratch 512, "
                                      "f: f32 scratch 512) units 1\n%s",
                                      body);
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_kernel *k = neo_kernel_parse(&f->arena, f->diags, "test", text, strlen(text));
  assert_non_null(k);
  return neo_kernel_verify(k, &why) ? neo_str_text(&why) : "";
}

#define REGISTERS                                              \
  "reg c[2, 4]: f32 threads 32\nreg a[1, 4]: f32 threads 32\n" \
  "reg b[1, 2]: f32 threads 32\n"
#define THREADS "for t in 0..32 thread\n  z[t] = 0.0\n"
#define ROWS                                                                             \
  "reg c[2, 4]: f32 threads 32\n"                                                        \
  "reg a[1, 4]: i32 threads 32\nreg b[3, 2]: i32 threads 32\nreg p[1]: i64 threads 32\n" \
  "for t in 0..32 thread\n  z[t] = 0.0\n  p[0] = t % 8 * 8\n"

static void statements_that_break_a_rule_are_refused(void **state) {
  loop_fix *f = *state;
  assert_string_equal(refusal(f, REGISTERS THREADS "mma tf32 c[1], a[0], b[0]\n"), "");
  assert_string_equal(
      refusal(f, REGISTERS THREADS "for i in 0..2 unroll\n  mma tf32 c[i], a[0], b[0]\n"), "");
  assert_string_equal(refusal(f, ROWS
                              "ldmatrix x4 a[0], s[p[0]]\nldmatrix x4_trans b[1], s[p[0] + 64]\n"
                              "ldmatrix x2 b[2], s[p[0]]\nldmatrix x4 c[1], f[p[0]]\n"
                              "mma bf16 c[0], a[0], b[2]\n"),
                      "");
  static const char *const bad[][2] = {
      {ROWS "ldmatrix x4 b[2], s[p[0]]\n", "is 2, of 2"},
      {ROWS "ldmatrix x2 a[0], s[p[0]]\n", "no fragments of 2 cells"},
      {ROWS "ldmatrix x4 c[0], s[p[0]]\n", "no fragments of 4 cells of i32"},
      {ROWS "ldmatrix x4_trans c[0], f[p[0]]\n", "no matrices for x4_trans"},
      {ROWS "ldmatrix x4 c[0], z[p[0]]\n", "no matrices for x4"},
      {ROWS "for t in 0..32 thread\n  ldmatrix x4 a[0], s[p[0]]\n", "outside of loops"},
      {REGISTERS THREADS "mma tf32 c[2], a[0], b[0]\n", "is 2, of 2"},
      {REGISTERS THREADS "mma tf32 c[0], b[0], b[0]\n", "no fragments"},
      {REGISTERS THREADS "mma bf16 c[0], a[0], b[0]\n", "no fragments"},
      {REGISTERS THREADS "mma tf32 a[0], a[0], b[0]\n", "one of its factors"},
      {REGISTERS "for t in 0..32 thread\n  mma tf32 c[0], a[0], b[0]\n", "outside of loops"},
      {"for t in 0..32 thread\n  z[t] = 0.0\nreg a[1, 4]: f32\nmma tf32 a[0], a[0], a[0]\n",
       "no fragments"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    if (!strstr(refusal(f, bad[k][0]), bad[k][1]))
      fail_msg("'%s' is not '%s'", refusal(f, bad[k][0]), bad[k][1]);
}

/* ---- what threads give each other */

#define PAIR "reg x[2]: f32 threads 32\nreg y[2]: f32 threads 32\n"

static void shuffles_that_break_a_rule_are_refused(void **state) {
  loop_fix *f = *state;
  assert_string_equal(refusal(f, PAIR THREADS "shuffle y, x down 4 of 16\n"), "");
  assert_string_equal(refusal(f, PAIR THREADS "shuffle x, x first 2 of 32\n"), "");
  static const char *const bad[][2] = {
      {PAIR THREADS "shuffle y, x down 3 of 16\n", "no part of a warp"},
      {PAIR THREADS "shuffle y, x down 4 of 12\n", "no part of a warp"},
      {PAIR THREADS "shuffle y, x first 0 of 16\n", "no part of a warp"},
      {PAIR "for t in 0..24 thread\n  z[t] = 0.0\nshuffle y, x down 4 of 16\n", "another number"},
      {PAIR "reg i[2]: i32 threads 32\n" THREADS "shuffle y, i down 4 of 16\n", "not the same"},
      {PAIR "reg o[2]: f32\n" THREADS "shuffle y, o down 4 of 16\n", "not the same"},
      {PAIR "for j in 0..2\n  reg w[2]: f32 threads 32\n" THREADS "shuffle w, x down 4 of 16\n",
       "outside its block"},
      {PAIR "for j in 0..2\n  reg w[2]: f32 threads 32\n" THREADS "shuffle y, w down 4 of 16\n",
       "outside its block"},
      {PAIR "for t in 0..32 thread\n  shuffle y, x down 4 of 16\n", "outside of loops"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    if (!strstr(refusal(f, bad[k][0]), bad[k][1]))
      fail_msg("'%s' is not '%s'", refusal(f, bad[k][0]), bad[k][1]);
}

/* Thread t has t; z[t] is what it gets. */
static void got_from(loop_fix *f, const char *what, neo_value *z) {
  const char *text = neo_arena_printf(
      &f->arena,
      "neo-loop 2\nkernel k(z: i64 write) units 1\nreg x[1]: i64 threads 64\n"
      "reg y[1]: i64 threads 64\nfor t in 0..64 thread\n  x[0] = t\n  y[0] = 0\nshuffle y, x %s\n"
      "for t in 0..64 thread\n  z[t] = y[0]\n",
      what);
  neo_kernel *k = loop_kernel(f, text);
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_value *bufs[] = {z};
  neo_kernel_run run = {.bufs = bufs, .n_elems = (const int64_t[]){64}, .hi = 1, .seed = 7};
  assert_string_equal(loop_text(f, k), text);
  assert_int_equal(neo_kernel_interp(k, &run, &why), NEO_OK);
}

static void a_shuffle_gives_what_another_thread_has(void **state) {
  neo_value z[64];
  got_from(*state, "down 4 of 16", z);
  for (int t = 0; t < 64; t++)
    assert_int_equal(z[t].i, t % 16 < 12 ? t + 4 : t);
  got_from(*state, "first 4 of 32", z);
  for (int t = 0; t < 64; t++)
    assert_int_equal(z[t].i, t / 32 * 32 + t % 4);
}

/* ---- banks */

typedef struct {
  neo_kernel *k;
  uint32_t unrolled[16]; /* variables around; constants to try */
  int64_t extent[16];
  uint32_t n;
  bool *thread;       /* by variable */
  const neo_lx **row; /* by register of places: what is set */
  int found;
} search;

/* The value of e in thread t, with the unrolled variables at `at`. */
static int64_t value_at(const search *x, const neo_lx *e, int64_t t, const int64_t *at) {
  neo_value v[3];
  if (e->kind == NEO_LX_CONST)
    return (int64_t)e->bits;
  if (e->kind == NEO_LX_REG)
    return value_at(x, x->row[e->attr], t, at);
  if (e->kind == NEO_LX_VAR && x->thread[e->attr])
    return t;
  for (uint32_t i = 0; e->kind == NEO_LX_VAR && i < x->n; i++)
    if (x->unrolled[i] == e->attr)
      return at[i];
  assert_int_equal(e->kind, NEO_LX_OP);
  for (uint32_t k = 0; k < e->n; k++)
    v[k].i = value_at(x, e->arg[k], t, at);
  return neo_value_op((neo_op)e->attr, NEO_I64_T, NEO_I64_T, v).i;
}

/* Each of 32 banks of 4 bytes is asked once by a warp, in all copies. */
static void check_banks(search *x, const neo_lx *offset) {
  int64_t at[16], copies = 1;
  for (uint32_t i = 0; i < x->n; i++)
    copies *= x->extent[i];
  for (int64_t n = 0; n < 2 * copies; n++) {
    uint32_t banks = 0;
    int64_t warp = n % 2, rest = n / 2;
    for (uint32_t i = 0; i < x->n; rest /= x->extent[i++])
      at[i] = rest % x->extent[i];
    for (int64_t t = 0; t < 32; t++)
      banks |= 1U << value_at(x, offset, 32 * warp + t, at) % 32;
    assert_int_equal(banks, UINT32_MAX);
    x->found++;
  }
}

/* 8 rows of 16 bytes at a time. */
static void check_rows(search *x, const neo_ls *s) {
  int64_t at[16], copies = 1,
                  bytes = neo_type_bytes((neo_type)x->k->bufs.at[s->ldmatrix.from.buf].type);
  for (uint32_t i = 0; i < x->n; i++)
    copies *= x->extent[i];
  for (int64_t n = 0; n < 8 * copies; n++) {
    uint32_t banks = 0;
    int64_t matrix = n % 8, rest = n / 8;
    for (uint32_t i = 0; i < x->n; rest /= x->extent[i++])
      at[i] = rest % x->extent[i];
    for (int64_t r = 0; r < 8; r++) {
      int64_t place = value_at(x, s->ldmatrix.from.offset, 8 * matrix + r, at) * bytes;
      assert_int_equal(place % 16, 0);
      banks |= 15U << place / 4 % 32;
    }
    assert_int_equal(banks, UINT32_MAX);
    x->found++;
  }
}

static bool is_fragment(const search *x, const neo_ls *s) {
  return s->kind == NEO_LS_SET && s->set.value->kind == NEO_LX_LOAD &&
         x->k->regs.at[s->set.reg].threads &&
         x->k->bufs.at[s->set.value->attr].use & NEO_BUF_SCRATCH;
}

static void visit(search *x, const neo_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    const neo_ls *s = b->at[i];
    search in = *x;
    if (neo_ls_is_loop(s, NEO_LOOP_THREAD))
      x->thread[s->loop.var] = true;
    if (neo_ls_is_loop(s, NEO_LOOP_UNROLL)) {
      in.unrolled[in.n] = s->loop.var;
      assert_true(neo_lx_is_int(s->loop.hi, &in.extent[in.n++]));
    }
    if (s->kind == NEO_LS_SET && x->k->regs.at[s->set.reg].type == NEO_I64_T)
      x->row[s->set.reg] = s->set.value;
    if (is_fragment(x, s))
      check_banks(&in, s->set.value->arg[0]);
    if (s->kind == NEO_LS_LDMATRIX)
      check_rows(&in, s);
    for (uint32_t k = 0; neo_ls_block(s, k); k++)
      visit(&in, neo_ls_block(s, k));
    x->found = in.found;
  }
}

static void check_tile(const char *text, const char *shape, bool pairs) {
  neo_arena a;
  neo_grouping g;
  neo_schedule s;
  search x = {.n = 0};
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", text, strlen(text));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
  neo_str why;
  neo_str_init(&why, &a);
  neo_machine machine = *neo_machine_named("sm_80");
  machine.warps = 80;
  assert_true(neo_schedule_parse(shape, &s));
  s.block.block_k *= pairs ? 2 : 1;
  if (!neo_schedule_legal(m, &g.groups.at[0], &machine, &s, &why))
    fail_msg("%s", neo_str_text(&why));
  assert_int_equal(neo_lower(m, &g.groups.at[0], &s, &machine, &a, &x.k, &why), NEO_OK);
  x.row = NEO_NEW_ARRAY(&a, const neo_lx *, x.k->regs.n);
  x.thread = NEO_NEW_ARRAY(&a, bool, x.k->vars.n);
  visit(&x, &x.k->body);
  assert_true(x.found >= 40); /* of the smallest */
  neo_arena_free(&a);
}

static void warps_ask_each_bank_once(void **state) {
  static const char *const shapes[] = {
      "gpu_tile block_m=128 block_n=128 block_k=16 tile_m=64 tile_n=32 products=1 threads=256 row_axes=1 "
      "column_axes=2",
      "gpu_tile block_m=32 block_n=48 block_k=8 tile_m=16 tile_n=24 products=1 threads=128 row_axes=1 "
      "column_axes=2",
      "gpu_tile block_m=64 block_n=32 block_k=24 tile_m=32 tile_n=16 products=1 threads=128 row_axes=2 "
      "column_axes=1"};
  static const char *const reads[] = {"x[b, i]", "w[i, j]", "y[i, b]", "v[j, i]"};
  static const char *const ways[] = {"tf32(", "f32(bf16("};
  (void)state;
  for (int k = 0; k < 24; k++) {
    char text[512];
    bool turned = k % 2, pairs = k / 2 % 2, mixed = k / 4 % 2;
    const char *way = ways[pairs], *end = pairs ? ")" : "";
    snprintf(text, sizeof text,
             "neo-ir 1\nmodule t\ninput %s : f32 [%s]\ninput %s : f32 [%s]\n"
             "temp z : f32 [128, 128]\ndef z[b: 128, j: 128] =\n"
             "  sum[i: 64] %s%s)%s * %s%s)%s\n  then acc0\n"
             "entry forward forward: z = z\n",
             turned ? "y" : "x", turned ? "64, 128" : "128, 64", turned != mixed ? "v" : "w",
             turned != mixed ? "128, 64" : "64, 128", way, reads[turned ? 2 : 0], end, way,
             reads[turned != mixed ? 3 : 1], end);
    check_tile(text, shapes[k / 8], pairs);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fragments_multiply_as_matrices),
      cmocka_unit_test(f16_is_what_ieee_says),
      cmocka_unit_test(fragments_are_read_from_either_layout),
      cmocka_unit_test_setup_teardown(statements_that_break_a_rule_are_refused, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(shuffles_that_break_a_rule_are_refused, loop_setup,
                                      loop_teardown),
      cmocka_unit_test_setup_teardown(a_shuffle_gives_what_another_thread_has, loop_setup,
                                      loop_teardown),
      cmocka_unit_test(warps_ask_each_bank_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
