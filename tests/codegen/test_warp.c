/* Products of warps: the reference multiplies matrices whose fragments lie as PTX lays them down,
 * what breaks a rule of the statement is refused, and tiles read shared memory without
 * conflicts. */
#include "codegen/lower.h"
#include "codegen/warp.h"
#include "fusion/fuse.h"
#include "ir/print.h"
#include "loop_support.h"
#include "schedule/schedule.h"
#include <cmocka.h>
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

static uint32_t pair_of(float x, float y) {
  return bits_of(x) >> 16 | (bits_of(y) & 0xffff0000U);
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

/* The factors' cells of each thread: mma.m16n8k8 of tf32, mma.m16n8k16 of bf16. */
static void lay_down(const matrices *x, bool pairs, uint32_t a[32][4], uint32_t b[32][2]) {
  for (int t = 0; t < 32; t++)
    for (int e = 0; e < 4; e++) {
      int g = t / 4, q = t % 4, row = e == 0 || e == 2 ? g : g + 8, k = e < 2 ? q : q + 4;
      a[t][e] = pairs ? pair_of(x->a[row][2 * k], x->a[row][2 * k + 1]) : bits_of(x->a[row][k]);
      k = e == 0 ? q : q + 4;
      if (e < 2)
        b[t][e] = pairs ? pair_of(x->b[2 * k][g], x->b[2 * k + 1][g]) : bits_of(x->b[k][g]);
    }
}

static void check_product(neo_warp_op op, bool pairs) {
  matrices x = numbers();
  uint32_t a[32][4], b[32][2];
  const uint32_t *pa[32], *pb[32];
  lay_down(&x, pairs, a, b);
  for (int t = 0; t < 32; t++)
    pa[t] = a[t], pb[t] = b[t];
  for (int t = 0; t < 32; t++) {
    float c[4];
    int row[] = {t / 4, t / 4, t / 4 + 8, t / 4 + 8}, column[] = {0, 1, 0, 1};
    for (int e = 0; e < 4; e++)
      c[e] = x.c[row[e]][t % 4 * 2 + column[e]];
    neo_warp_product(op, t, pa, pb, c);
    for (int e = 0; e < 4; e++) {
      float want = x.c[row[e]][t % 4 * 2 + column[e]];
      for (int k = 0; k < (pairs ? 16 : 8); k++)
        want += x.a[row[e]][k] * x.b[k][t % 4 * 2 + column[e]];
      assert_true(c[e] == want);
    }
  }
}

static void fragments_multiply_as_matrices(void **state) {
  (void)state;
  check_product(NEO_WARP_TF32, false);
  check_product(NEO_WARP_BF16, true);
}

/* ---- rules */

/* "": it is none. */
static const char *refusal(loop_fix *f, const char *body) {
  const char *text =
      neo_arena_printf(&f->arena, "neo-loop 1\nkernel k(z: f32 write) units 1\n%s", body);
  neo_str why;
  neo_str_init(&why, &f->arena);
  neo_kernel *k = neo_kernel_parse(&f->arena, f->diags, "test", text, strlen(text));
  assert_non_null(k);
  return neo_kernel_verify(k, &why) ? neo_str_text(&why) : "";
}

#define REGISTERS                                                                 \
  "reg c[2, 4]: f32 threads 32\nreg a[1, 4]: f32 threads 32\n"                    \
  "reg b[1, 2]: f32 threads 32\n"
#define THREADS "for t in 0..32 thread\n  z[t] = 0.0\n"

static void statements_that_break_a_rule_are_refused(void **state) {
  loop_fix *f = *state;
  assert_string_equal(refusal(f, REGISTERS THREADS "warp tf32 c[1], a[0], b[0]\n"), "");
  assert_string_equal(
      refusal(f, REGISTERS THREADS "for i in 0..2 unroll\n  warp tf32 c[i], a[0], b[0]\n"), "");
  static const char *const bad[][2] = {
      {REGISTERS THREADS "warp tf32 c[2], a[0], b[0]\n", "is 2, of 2"},
      {REGISTERS THREADS "warp tf32 c[0], b[0], b[0]\n", "no fragments"},
      {REGISTERS THREADS "warp bf16 c[0], a[0], b[0]\n", "no fragments"},
      {REGISTERS THREADS "warp tf32 a[0], a[0], b[0]\n", "one of its factors"},
      {REGISTERS "for t in 0..32 thread\n  warp tf32 c[0], a[0], b[0]\n", "outside of loops"},
      {"for t in 0..32 thread\n  z[t] = 0.0\nreg a[1, 4]: f32\nwarp tf32 a[0], a[0], a[0]\n",
       "no fragments"},
  };
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    if (!strstr(refusal(f, bad[k][0]), bad[k][1]))
      fail_msg("'%s' is not '%s'", refusal(f, bad[k][0]), bad[k][1]);
}

/* ---- banks */

typedef struct {
  neo_kernel *k;
  uint32_t unrolled[16]; /* variables around; constants to try */
  int64_t extent[16];
  uint32_t n, thread;
  int found;
} search;

static int64_t at_thread(search *x, const neo_lx *offset, int64_t t, const int64_t *at) {
  int64_t value;
  offset = neo_lx_subst(x->k, offset, x->thread, neo_lx_int(x->k, t));
  for (uint32_t i = 0; i < x->n; i++)
    offset = neo_lx_subst(x->k, offset, x->unrolled[i], neo_lx_int(x->k, at[i]));
  assert_true(neo_lx_is_int(offset, &value));
  return value;
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
      banks |= 1U << at_thread(x, offset, 32 * warp + t, at) % 32;
    assert_int_equal(banks, UINT32_MAX);
    x->found++;
  }
}

static bool is_fragment(const search *x, const neo_ls *s) {
  return s->kind == NEO_LS_SET && s->value->kind == NEO_LX_LOAD && x->k->regs.at[s->attr].threads &&
         x->k->bufs.at[s->value->attr].use & NEO_BUF_SCRATCH;
}

static void visit(search *x, const neo_block *b) {
  for (size_t i = 0; i < b->n; i++) {
    const neo_ls *s = b->at[i];
    search in = *x;
    if (s->kind == NEO_LS_FOR && s->loop == NEO_LOOP_THREAD)
      in.thread = s->attr;
    if (s->kind == NEO_LS_FOR && s->loop == NEO_LOOP_UNROLL) {
      in.unrolled[in.n] = s->attr;
      assert_true(neo_lx_is_int(s->hi, &in.extent[in.n++]));
    }
    if (is_fragment(x, s))
      check_banks(&in, s->value->arg[0]);
    visit(&in, &s->body);
    visit(&in, &s->other);
    x->found = in.found;
  }
}

static void check_tile(const char *text, const char *shape) {
  neo_arena a;
  neo_grouping g;
  neo_schedule s;
  search x = {.n = 0};
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", text, strlen(text));
  assert_non_null(m);
  assert_int_equal(neo_fuse(m, &a, &g, NULL), NEO_OK);
  neo_str why;
  neo_str_init(&why, &a);
  const neo_machine machine = {.vector_bytes = 16, .gpu = true, .warps = true};
  assert_true(neo_schedule_parse(shape, &s));
  if (!neo_schedule_legal(m, &g.groups.at[0], &machine, &s, &why))
    fail_msg("%s", neo_str_text(&why));
  assert_int_equal(neo_lower(m, &g.groups.at[0], &s, &a, &x.k, &why), NEO_OK);
  visit(&x, &x.k->body);
  assert_true(x.found >= 40); /* of the smallest */
  neo_arena_free(&a);
}

static void warps_ask_each_bank_once(void **state) {
  static const char *const shapes[] = {
      "block_m=128 block_n=128 block_k=16 tile_m=64 tile_n=32 matrix=1 threads=256 row_axes=1 "
      "column_axes=2",
      "block_m=32 block_n=48 block_k=8 tile_m=16 tile_n=24 matrix=1 threads=128 row_axes=1 "
      "column_axes=2",
      "block_m=64 block_n=32 block_k=24 tile_m=32 tile_n=16 matrix=1 threads=128 row_axes=2 "
      "column_axes=1"};
  static const char *const reads[] = {"tf32(x[b, i]) * tf32(w[i, j])",
                                      "tf32(y[i, b]) * tf32(v[j, i])"};
  (void)state;
  for (int k = 0; k < 6; k++) {
    char text[512];
    snprintf(text, sizeof text,
             "neo-ir 1\nmodule t\ninput %s : f32 [%s]\ninput %s : f32 [%s]\n"
             "temp z : f32 [128, 128]\ndef z[b: 128, j: 128] =\n  sum[i: 64] %s\n  then acc0\n"
             "entry forward forward: z = z\n",
             k % 2 ? "y" : "x", k % 2 ? "64, 128" : "128, 64", k % 2 ? "v" : "w",
             k % 2 ? "128, 64" : "64, 128", reads[k % 2]);
    check_tile(text, shapes[k / 2]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fragments_multiply_as_matrices),
      cmocka_unit_test_setup_teardown(statements_that_break_a_rule_are_refused, loop_setup,
                                      loop_teardown),
      cmocka_unit_test(warps_ask_each_bank_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
