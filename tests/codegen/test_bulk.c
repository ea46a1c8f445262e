/* Boxes of tensors in the loop IR: what they mean, which rules they keep, and that the interpreter
 * finds who does not wait for them, or writes what is still read. */
#include "codegen/lower/lower.h"
#include "fusion/search/search.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include "tile_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

enum { LINE = 64, LINES = 8, ROW = 72, ROWS = 11 };
#define BOX "x[k of 70 by 1 box 64, 4 of n by 72 box 8] on full[0]\n"
#define FIRST "tma_copy b[0] = x[0 of 70 by 1 box 64, 0 of n by 72 box 8] on full[0]\n"
#define READ_BACK "for s in 0..32 thread\n  for i in 0..16\n    z[s*16 + i] = b[s*16 + i]\n"

static neo_kernel *parse(loop_fix *f, const char *body) {
  const char *text =
      neo_arena_printf(&f->arena,
                       "neo-loop 2\nkernel k(x: bf16 read align 16, w: f16 read, z: bf16 write, "
                       "b: bf16 scratch 512 align 1024, c: bf16 scratch 512, full: i64 scratch 2) "
                       "sizes n units 1\n%s",
                       body);
  return loop_parse(f, text);
}

static void boxes_print_as_they_were_written(void **state) {
  loop_fix *f = *state;
  const char *text =
      "neo-loop 2\n"
      "kernel k(x: bf16 read, b: bf16 scratch 1024 align 1024, full: i64 scratch 2) "
      "sizes n units n\n"
      "for u in 0..n unit\n"
      "  for t in 0..32 thread\n"
      "    b[t] = 0.0:bf16\n"
      "  expect_tx 1024 on full[1]\n"
      "  tma_copy b[512] = x[u*64 - 3 of 70 by 1 box 64, u of n + 1 by 72 box 8] on full[1]\n"
      "  mbarrier_wait full[1] parity 1 - u%2\n";
  assert_string_equal(loop_text(f, loop_kernel(f, text)), text);
}

static void each_broken_rule_is_found(void **state) {
  static const char *const cases[][2] = {
      {"expect_tx 1024 on full[0]\n", "outside of loops of threads"},
      {READ_BACK "tma_copy b[0] = x[0 of 70 by 1 box 64, 0 of n by 72 box 8] on z[0]\n",
       "mbarriers are"},
      {READ_BACK "tma_copy c[0] = x[0 of 70 by 1 box 64, 0 of n by 72 box 8] on full[0]\n",
       "c is no scratch from a multiple of 1024"},
      {READ_BACK "tma_copy b[0] = w[0 of 70 by 1 box 64, 0 of n by 72 box 8] on full[0]\n",
       "of another type"},
      {READ_BACK "tma_copy b[0] = x[0 of 70 by 1 box 32, 0 of n by 72 box 8] on full[0]\n",
       "128 bytes"},
      {READ_BACK "tma_copy b[0] = x[0 of 70 by 1 box 64] on full[0]\n", "two to five axes"},
      {READ_BACK "tma_copy b[0] = x[0 of 70 by 1 box 64, 0 of n by 70 box 8] on full[0]\n",
       "70 apart"},
      {READ_BACK "tma_copy b[0] = x[0 of 70 by 2 box 64, 0 of n by 72 box 8] on full[0]\n",
       "2 apart"},
      {READ_BACK "tma_copy b[0] = x[0 of 70 by 1 box 64, 0 of n by 72 box 257] on full[0]\n",
       "1 to 256 elements"},
      {READ_BACK
       "for i in 0..2\n  tma_copy b[0] = x[0 of i by 1 box 64, 0 of n by 72 box 8] on full[0]\n",
       "more than sizes"},
      {READ_BACK "expect_tx 0 on full[0]\n", "bytes to come"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    neo_str why;
    neo_str_init(&why, &((loop_fix *)*state)->arena);
    assert_int_equal(neo_kernel_verify(parse(*state, cases[n][0]), &why), NEO_INTERNAL);
    if (!strstr(neo_str_text(&why), cases[n][1]))
      fail_msg("'%s' is not '%s'", neo_str_text(&why), cases[n][1]);
  }
}

typedef struct {
  neo_value x[ROWS * ROW], w[4], z[512], b[512], c[512], full[2];
} memory;

/* "": it ran. */
static const char *run(loop_fix *f, const char *body, memory *m) {
  neo_str why;
  neo_str_init(&why, &f->arena);
  memset(m, 0, sizeof *m);
  for (int i = 0; i < ROWS * ROW; i++)
    m->x[i].f = i % 251;
  neo_kernel_run r = {.bufs = (neo_value *[]){m->x, m->w, m->z, m->b, m->c, m->full},
                      .n_elems = (const int64_t[]){ROWS * ROW, 4, 512, 512, 512, 2},
                      .sizes = (const int64_t[]){ROWS},
                      .hi = 1,
                      .seed = 7};
  neo_kernel *k = parse(f, body);
  if (neo_kernel_verify(k, &why))
    fail_msg("%s", neo_str_text(&why));
  return neo_kernel_interp(k, &r, &why) ? neo_str_text(&why) : "";
}

static void lines_have_their_pieces_exchanged_and_zeros_outside(void **state) {
  memory m;
  assert_string_equal(run(*state,
                          "for k in 10..11\n  expect_tx 1024 on full[0]\n  tma_copy b[0] = " BOX
                          "  mbarrier_wait full[0] parity 0\n  for s in 0..32 thread\n"
                          "    for i in 0..16\n      z[s*16 + i] = b[s*16 + i]\n",
                          &m),
                      "");
  for (int row = 0; row < LINES; row++)
    for (int k = 0; k < LINE; k++) {
      bool inside = 4 + row < ROWS && 10 + k < 70;
      double want = inside ? m.x[(4 + row) * ROW + 10 + k].f : 0;
      assert_true(m.z[row * LINE + ((k / 8) ^ row) * 8 + k % 8].f == want);
    }
}

static void who_does_not_wait_is_found(void **state) {
  static const char *const cases[][2] = {
      {"expect_tx 1024 on full[0]\n" FIRST, "boxes under way at the end"},
      {FIRST, "box of no phase"},
      {"expect_tx 1024 on full[0]\ntma_copy b[8] = x[0 of 70 by 1 box 64, 0 of n by 72 box 8] on full[0]\n",
       "box between its places"},
      {"expect_tx 512 on full[0]\n" FIRST "mbarrier_wait full[0] parity 0\n",
       "other number of bytes"},
      {"expect_tx 1024 on full[0]\n" FIRST "mbarrier_wait full[0] parity 1\n", "other parity"},
      {"mbarrier_wait full[0] parity 1\n", "never begins"},
      {"expect_tx 1024 on full[0]\nexpect_tx 1024 on full[0]\n",
       "before the last one was waited for"},
      {"expect_tx 1024 on full[0]\n" FIRST READ_BACK "mbarrier_wait full[0] parity 0\n",
       "load of a copy under way of b"},
      {"expect_tx 2048 on full[0]\n" FIRST
       "tma_copy b[0] = x[0 of 70 by 1 box 64, 0 of n by 72 box 8] on full[0]\nmbarrier_wait full[0] parity 0\n",
       "copy to a copy under way of b"},
      {"expect_tx 1024 on full[0]\ntma_copy b[0] = x[0 of 80 by 1 box 64, 9 of 80 by 72 box 8] on full[0]\n"
       "mbarrier_wait full[0] parity 0\n",
       "load of x"},
  };
  for (size_t n = 0; n < sizeof cases / sizeof cases[0]; n++) {
    memory m;
    const char *text = strstr(cases[n][0], "thread")
                           ? cases[n][0]
                           : neo_arena_printf(&((loop_fix *)*state)->arena, "%s%s", cases[n][0],
                                              "for s in 0..32 thread\n  z[s] = 0.0:bf16\n");
    const char *said = run(*state, text, &m);
    if (!strstr(said, cases[n][1]))
      fail_msg("%zu: '%s' is not '%s'", n, said, cases[n][1]);
  }
}

/* ---- tiles */

enum { TALL = 72, STEPS = 328, WIDE = 136 };

/* Rows are transposed, columns are not; of two batches. */
static neo_kernel *tile_of_boxes(loop_fix *f, int stages) {
  static const char text[] = "input x : bf16 [2, 328, 72]\n"
                             "input w : bf16 [2, 136, 328]\ntemp z : f32 [2, 72, 136]\n"
                             "def z[n: 2, b: 72, j: 136] =\n"
                             "  sum[i: 328] f32(x[n, i, b]) * f32(w[n, j, i])\n"
                             "  then acc0\nentry forward forward: z = z\n";
  return tile_lower(
      f, text,
      neo_arena_printf(
          &f->arena,
          "gpu_tile row_axes=2 column_axes=4 stages=%d tma=1 block_m=64 block_n=32 block_k=64 "
          "tile_m=64 tile_n=16 products=2 threads=256",
          stages));
}

static const char *result(loop_fix *f, const neo_kernel *k) {
  static const int64_t elements[] = {2 * TALL * STEPS, 2 * STEPS * WIDE, 2 * TALL * WIDE};
  neo_value **buf;
  const char *said = tile_run(f, k, elements, neo_kernel_units(k, NULL), 3, &buf);
  if (*said)
    return said;
  for (int64_t i = 0; i < elements[2]; i++) {
    int64_t batch = i / (TALL * WIDE), row = i / WIDE % TALL, column = i % WIDE;
    double sum = 0;
    for (int64_t s = 0; s < STEPS; s++)
      sum += buf[0][(batch * STEPS + s) * TALL + row].f *
             buf[1][(batch * WIDE + column) * STEPS + s].f;
    if (buf[2][i].f != sum)
      return "wrong";
  }
  return "";
}

static void expect_said(loop_fix *f, const neo_kernel *k, const char *text) {
  if (!strstr(result(f, k), text))
    fail_msg("'%s' is not '%s'", result(f, k), text);
}

/* Whatever is wrong with a tile's phases shows. */
static void tiles_wait_for_their_boxes(void **state) {
  loop_fix *f = *state;
  for (int stages = 3; stages <= 5; stages++) {
    neo_kernel *k = tile_of_boxes(f, stages);
    neo_ls *wait = tile_find(k, NEO_LS_MBARRIER_WAIT, 0);
    neo_ls *await = tile_find(k, NEO_LS_WGMMA_WAIT, 0);
    neo_ls *expect = tile_find(k, NEO_LS_EXPECT_TX, stages - 2);
    assert_string_equal(result(f, k), "");
    const neo_lx *parity = wait->mbarrier_wait.parity;
    wait->mbarrier_wait.parity = neo_lx_int(k, 0);
    expect_said(f, k, "other parity");
    wait->mbarrier_wait.parity = parity;
    expect->expect_tx.bytes += 1024;
    expect_said(f, k, "other number of bytes");
    expect->expect_tx.bytes -= 1024;
    await->wgmma_wait.pending = 2;
    expect_said(f, k, "store before the end of a product");
    await->wgmma_wait.pending = 1;
    wait->mbarrier_wait.mbarrier.offset = neo_lx_int(k, 0);
    expect_said(f, k, "never begins");
  }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(boxes_print_as_they_were_written),
      TEST(each_broken_rule_is_found),
      TEST(lines_have_their_pieces_exchanged_and_zeros_outside),
      TEST(who_does_not_wait_is_found),
      TEST(tiles_wait_for_their_boxes),
  };
  return cmocka_run_group_tests_name("bulk", tests, NULL, NULL);
}
