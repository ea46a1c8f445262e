/* Schedules of a GPU's blocks of threads: for random programs, and for sums of products in their
 * many shapes, the reference interpreter and the loop interpreter agree, with threads in a random
 * order, shared memory poisoned and races found. */
#include "tests/codegen/lower_test.h"
#include "tests/random/gen.h"
#include "tests/random/seeds.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 100 };

static void random_programs_are_right_in_blocks_of_threads(void **state) {
  neo_gen_options options = neo_gen_default;
  neo_seeds s = neo_seeds_of(1, COUNT);
  int tiled = 0;
  (void)state;
  options.has &= ~(uint32_t)NEO_GEN_SPECIAL;
  options.max_work = 3000;
  for (uint64_t seed = s.first; seed < s.first + s.n; seed++) {
    neo_arena a;
    neo_str why;
    neo_arena_init(&a, neo_alloc_default, NULL);
    neo_str_init(&why, &a);
    neo_gen_program g = neo_gen_make(&a, seed, &options);
    lower_options o = {.seed = seed, .n_random = 2, .gpu = true, .sizes = g.sizes, .tiled = &tiled};
    o.interp = neo_gen_interp(&a, &g);
    if (lower_check_module(&a, g.m, &o, &why)) {
      neo_str text;
      neo_str_init(&text, &a);
      neo_gen_print(&g, &text);
      fprintf(stderr, "%s\n%s\n", neo_str_text(&text), neo_str_text(&why)); /* cmocka cuts */
      fail_msg("seed %llu", (unsigned long long)seed);
    }
    neo_arena_free(&a);
  }
  assert_true(tiled > 0 || s.n < 30);
}

/* Blocks that compute a tile, among all schedules of a text's kernels. */
static int check_as(const char *text, uint64_t seed, int n_random, bool split) {
  int tiled = 0;
  lower_options o = {.seed = seed, .n_random = n_random, .gpu = true, .tiled = &tiled};
  o.split = split;
  lower_check(text, &o);
  return tiled;
}

static int check(const char *text, uint64_t seed, int n_random) {
  return check_as(text, seed, n_random, false);
}

static void products_of_all_layouts_are_tiles_of_blocks(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 3; seed++)
    assert_true(check("size B 1..40\ninput X : f32 [B, 37]\ninput W : f32 [37, 35]\n"
                      "input c : f32 [35]\ntemp Y : f32 [B, 35]\ntemp G : f32 [37, 35]\n"
                      "temp D : f32 [B, 37]\n"
                      "def Y[b: B, j: 35] =\n  sum[i: 37] X[b, i] * W[i, j]\n"
                      "  then relu(acc0 + c[j])\n"
                      "def G[i: 37, j: 35] =\n  sum[b: B] X[b, i] * Y[b, j]\n  then acc0\n"
                      "def D[b: B, i: 37] =\n  sum[j: 35] Y[b, j] * W[i, j]\n  then acc0\n",
                      seed, 6) > 6);
}

/* Sums of products of what was rounded, in all layouts, with rows of two axes and steps of two. x,
 * w: what is read, y: how; i: steps of one of them. */
static void check_products_of_warps(const char *x, const char *w, const char *y, int i) {
  bool split = strcmp(y, "(") == 0;
  char text[1536];
  for (uint64_t seed = 1; seed <= 2; seed++) {
    snprintf(text, sizeof text,
             "size B 1..40\ninput X : %s [B, %d]\ninput W : %s [%d, 36]\n"
             "input Z : %s [B, 36]\ntemp Y : f32 [B, 36]\ntemp G : f32 [%d, 36]\n"
             "temp D : f32 [B, %d]\n"
             "def Y[b: B, j: 36] =\n  sum[i: %d] %s(X[b, i])) * %s(W[i, j]))\n"
             "  then relu(acc0)\n"
             "def G[i: %d, j: 36] =\n  sum[b: B] %s(X[b, i])) * %s(Z[b, j]))\n"
             "  then acc0\n"
             "def D[b: B, i: %d] =\n  sum[j: 36] %s(Z[b, j])) * %s(W[i, j]))\n"
             "  then acc0\n",
             x, i, w, i, x, i, i, i, y, y, i, y, y, i, y, y);
    assert_true(check_as(text, seed, 4, split) > 4);
  }
}

/* Sums over windows with an edge, for numbers of channels: an axis of blocks, one within a block,
 * neither.
 */
static void check_windows_of_warps(const char *x, const char *w, const char *y) {
  bool split = strcmp(y, "(") == 0;
  char text[1024];
  for (int c = 7; c <= 32; c += c == 7 ? 1 : 24) {
    snprintf(text, sizeof text,
             "input X : %s [2, 6, 5, %d]\ninput F : %s [20, 3, 3, %d]\n"
             "temp Y : f32 [2, 20, 5, 6]\n"
             "def Y[n: 2, k: 20, p: 5, q: 6] =\n  sum[r: 3, s: 3, c: %d] "
             "%s(F[k, r, s, c])) * %s((X[n, q + s - 1, p + r - 1, c] else %s(0.0))))\n"
             "  then acc0\n",
             x, c, w, c, c, y, y, x);
    assert_true(check_as(text, 1, 8, split) > 1);
  }
}

static void products_of_tf32_are_tiles_of_warps(void **state) {
  (void)state;
  check_windows_of_warps("f32", "f32", "(tf32");
  check_products_of_warps("f32", "f32", "(tf32", 20);
}

/* Within the bound of three products of tf32: with one they would be a thousand times as far off.
 */
static void products_of_f32_are_three_of_tf32(void **state) {
  (void)state;
  check_windows_of_warps("f32", "f32", "(");
  check_products_of_warps("f32", "f32", "(", 20);
  assert_true(check_as("input X : f32 [21, 18]\ninput s : f32 [21]\ninput W : f32 [18, 19]\n"
                       "temp Y : f32 [21, 19]\n"
                       "def Y[b: 21, j: 19] =\n  sum[i: 18] X[b, i] * s[b] * W[i, j]\n"
                       "  then acc0\n",
                       1, 6, true) > 2);
}

static void products_of_bf16_are_tiles_of_warps(void **state) {
  (void)state;
  check_windows_of_warps("f32", "f32", "f32(bf16");
  check_products_of_warps("f32", "f32", "f32(bf16", 20);
  check_products_of_warps("bf16", "bf16", "f32(", 24);
  check_products_of_warps("f32", "f32", "f32(bf16", 37);
}

static void products_of_f16_are_tiles_of_warps(void **state) {
  (void)state;
  check_windows_of_warps("f16", "f16", "f32(");
  check_products_of_warps("f16", "f16", "f32(", 24);
  check_products_of_warps("f16", "f16", "f32(", 19);
}

static void batches_of_products_are_tiles_of_blocks(void **state) {
  (void)state;
  assert_true(
      check("input Q : f32 [3, 19, 34]\ninput K : f32 [3, 21, 34]\ntemp S : f32 [3, 19, 21]\n"
            "def S[h: 3, i: 19, j: 21] =\n  sum[d: 34] Q[h, i, d] * K[h, j, d]\n"
            "  then acc0 * 0.25\n",
            1, 8) > 3);
}

/* Rows are three axes walked as one, steps as well; the image's edge is inside a factor. */
static void windows_with_else_are_tiles_of_blocks(void **state) {
  (void)state;
  for (uint64_t seed = 1; seed <= 2; seed++)
    assert_true(check("input X : f32 [2, 5, 9, 7]\ninput F : f32 [20, 5, 3, 3]\n"
                      "temp Y : f32 [2, 20, 9, 7]\n"
                      "def Y[n: 2, k: 20, p: 9, q: 7] =\n  sum[c: 5, r: 3, s: 3] F[k, c, r, s] * "
                      "(X[n, c, p + r - 1, q + s - 1] else 0.0)\n  then acc0\n",
                      seed, 12) > 4);
}

/* A window that sticks out of what it reads: the copies look at the condition. */
static void conditions_on_windows_are_tiles_of_blocks(void **state) {
  (void)state;
  assert_true(check("input G : f32 [2, 18, 8]\ninput F : f32 [8, 17, 3]\ntemp D : f32 [2, 17, 18]\n"
                    "def D[n: 2, c: 17, h: 18] =\n"
                    "  sum[k: 8, r: 3] where 0 <= h - r + 1 and h - r + 1 < 18;\n"
                    "  F[k, c, r] * G[n, h - r + 1, k]\n  then acc0\n",
                    1, 10) > 3);
}

/* Elements that a mask excludes may be infinite in memory: the mask is tested at each
 * product. */
static void masks_are_tested_at_each_product(void **state) {
  (void)state;
  assert_true(check("input A : f32 [33, 33]\ninput V : f32 [33, 19]\ntemp O : f32 [33, 19]\n"
                    "def O[i: 33, d: 19] =\n  sum[j: 33] where j <= i and 4 <= j + d;\n"
                    "  A[i, j] * V[j, d]\n  then acc0\n",
                    1, 10) > 3);
}

/* So do those that warps multiply, which have nobody to test a mask. */
static void edges_are_for_warps_and_masks_are_not(void **state) {
  char text[1024];
  (void)state;
  static const char *const kinds[][2] = {
      {"f32", "(tf32"}, {"f32", "f32(bf16"}, {"f16", "f32("}, {"f32", "("}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    const char *t = kinds[k][0], *y = kinds[k][1];
    bool split = strcmp(y, "(") == 0;
    int warps = 0;
    lower_options o = {.seed = 1, .n_random = 8, .gpu = true, .warps = &warps, .split = split};
    snprintf(text, sizeof text,
             "input G : %s [2, 9, 9, 24]\ninput F : %s [24, 17, 3, 3]\n"
             "temp D : f32 [2, 9, 9, 17]\n"
             "def D[n: 2, h: 9, w: 9, c: 17] =\n  sum[p: 2, q: 2, k: 24] "
             "where p < 9 - h and q < 9 - w;\n"
             "  %s(F[k, c, 2 - 2*p, q])) * %s(G[n, h + p, w + q, k]))\n  then acc0\n",
             t, t, y, y);
    lower_check(text, &o);
    assert_true(warps > 1);
    warps = 0;
    snprintf(text, sizeof text,
             "input A : %s [33, 33]\ninput V : %s [33, 19]\ntemp O : f32 [33, 19]\n"
             "def O[i: 33, d: 19] =\n  sum[j: 33] where j <= i;\n"
             "  %s(A[i, j])) * %s(V[j, d]))\n  then acc0\n",
             t, t, y, y);
    lower_check(text, &o);
    assert_int_equal(warps, 0);
  }
}

/* The tree of parts keeps the first of equals, and NaN. */
static void winners_are_the_first_of_equals(void **state) {
  (void)state;
  check("size B 1..9\ninput X : i32 [B, 83] < 4\ninput Y : f32 [83, B]\ntemp V : i32 [B]\n"
        "temp I : i64 [B]\ntemp s : f32 [B]\n"
        "def (V, I)[b: B] =\n  max[j: 83] X[b, j], j\n  then acc0, acc1\n"
        "def s[b: B] =\n  sum[j: 83] Y[j, b]\n  then acc0\n",
        1, 12);
}

/* Kernels that keep a row's values in registers, and those with vectors, among many schedules. */
static void check_rows(const char *text, int kept, int wide) {
  int some[2] = {0, 0};
  lower_options o = {.seed = 1, .n_random = 14, .gpu = true, .kept = &some[0], .wide = &some[1]};
  lower_check(text, &o);
  if (some[0] < kept || some[1] < wide)
    fail_msg("%d keep, %d are wide", some[0], some[1]);
}

#define SOFTMAX(n, t)                                                                            \
  "size B 1..9\ninput X : " t " [B, " n "]\ntemp M : " t " [B]\ntemp S : " t " [B]\ntemp Y : " t \
  " [B, " n "]\ndef M[b: B] =\n  max[i: " n "] X[b, i]\n  then acc0\n"                           \
  "def S[b: B] =\n  sum[i: " n "] exp(X[b, i] - M[b])\n  then acc0\n"                            \
  "def Y[b: B, i: " n "] =\n  exp(X[b, i] - M[b]) / S[b]\n"

/* A thread's part of a row is whole vectors, or ends in the middle of one, or is empty. */
static void rows_are_kept_in_registers(void **state) {
  (void)state;
  check_rows(SOFTMAX("40", "f32"), 1, 1);
  check_rows(SOFTMAX("37", "f32"), 1, 1);
  check_rows(SOFTMAX("3", "f64"), 1, 1);
  check_rows("input X : f32 [3, 24]\ninput D : f32 [3, 24]\ninput g : f32 [24]\ntemp A : f32 [3]\n"
             "temp B : f32 [3]\ntemp Y : f32 [3, 24]\n"
             "def A[b: 3] =\n  sum[i: 24] D[b, i] * g[i]\n  then acc0\n"
             "def B[b: 3] =\n  sum[i: 24] D[b, i] * g[i] * X[b, i]\n  then acc0\n"
             "def Y[b: 3, i: 24] =\n  D[b, i] * g[i] - A[b] - X[b, i] * B[b]\n",
             1, 1);
}

/* Sums of columns, four or eight of them a thread; of channels over all other axes. */
static void columns_are_summed_side_by_side(void **state) {
  (void)state;
  check_rows("size B 1..40\ninput X : f32 [B, 48]\ntemp s : f32 [48]\n"
             "def s[j: 48] =\n  sum[b: B] X[b, j]\n  then acc0\n",
             0, 1);
  check_rows("input X : f32 [3, 5, 7, 16]\ninput M : f32 [16]\ntemp s : f32 [16]\n"
             "temp k : i64 [16]\n"
             "def s[c: 16] =\n  sum[n: 3, h: 5, w: 7] (X[n, h, w, c] - M[c]) * "
             "(X[n, h, w, c] - M[c])\n  then acc0\n"
             "def k[c: 16] =\n  max[h: 5] X[1, h, 2, c], h\n  then acc1\n",
             0, 1);
}

/* Sums over an image's channels: the other axes are walked as one, the last one by vectors. */
static void several_axes_are_walked_by_vectors(void **state) {
  (void)state;
  check_rows("input X : f32 [3, 5, 4, 12]\ntemp s : f32 [5]\n"
             "def s[c: 5] =\n  sum[n: 3, h: 4, w: 12] X[n, c, h, w]\n  then acc0\n",
             0, 1);
  check_rows("input X : f32 [3, 5, 9, 7]\ntemp s : f32 [5]\n"
             "def s[c: 5] =\n  sum[n: 3, h: 4, w: 6] X[n, c, h, w + 1]\n  then acc0\n",
             0, 1);
}

/* A sum that no result needs is not computed, and neither is a result that nothing reads. */
static void sums_that_are_not_selected_are_left_out(void **state) {
  (void)state;
  check("size B 1..50\ninput X : f32 [B, 30]\ninput M : i32 [B] < 3\ntemp s : f32 [B]\n"
        "def s[b: B] =\n  sum[k: 30] X[b, k]\n  then select(1i32 < M[b], acc0 * 2.0, 0.5)\n",
        1, 12);
  check("input X : f32 [20, 30, 8]\ninput M : bool [20, 8]\ntemp s : f32 [20, 8]\n"
        "def s[b: 20, j: 8] =\n  sum[k: 30] X[b, k, j]\n  then select(M[b, j], acc0, 0.0)\n",
        2, 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_programs_are_right_in_blocks_of_threads),
      cmocka_unit_test(products_of_all_layouts_are_tiles_of_blocks),
      cmocka_unit_test(products_of_tf32_are_tiles_of_warps),
      cmocka_unit_test(products_of_f32_are_three_of_tf32),
      cmocka_unit_test(products_of_bf16_are_tiles_of_warps),
      cmocka_unit_test(products_of_f16_are_tiles_of_warps),
      cmocka_unit_test(batches_of_products_are_tiles_of_blocks),
      cmocka_unit_test(windows_with_else_are_tiles_of_blocks),
      cmocka_unit_test(conditions_on_windows_are_tiles_of_blocks),
      cmocka_unit_test(masks_are_tested_at_each_product),
      cmocka_unit_test(edges_are_for_warps_and_masks_are_not),
      cmocka_unit_test(winners_are_the_first_of_equals),
      cmocka_unit_test(rows_are_kept_in_registers),
      cmocka_unit_test(columns_are_summed_side_by_side),
      cmocka_unit_test(several_axes_are_walked_by_vectors),
      cmocka_unit_test(sums_that_are_not_selected_are_left_out),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
