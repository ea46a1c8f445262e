/* Hand-written definitions of every kind through the lowering. */
#include "codegen/lower/lower.h"
#include "ir/print.h"
#include "tests/codegen/lower_test.h"
#include <stdlib.h>
#include <string.h>

static void check(const char *text) {
  for (uint64_t seed = 1; seed <= 2; seed++) {
    lower_options o = {.seed = seed, .n_random = seed == 1 ? 3 : 10, .jit = seed == 1};
    lower_check(text, &o);
  }
}

static void elementwise_work_of_any_rank_is_right(void **state) {
  (void)state;
  check("size B 0..9\ninput X : f32 [B, 3, 5]\ninput s : f32 []\ntemp Y : f32 [B, 3, 5]\n"
        "def Y[b: B, i: 3, j: 5] = relu(X[b, i, j] * s[] + 0.5)\n");
  check("input s : f32 []\ntemp Y : f32 []\ndef Y[] = exp(s[])\n");
  check("input X : f32 [7, 5]\ninput b : f32 [5]\ntemp Y : f32 [7, 5]\ntemp Z : f32 [5, 7]\n"
        "def Y[i: 7, j: 5] = X[i, j] + b[j]\ndef Z[j: 5, i: 7] = X[i, j]\n");
}

static void sums_over_any_axes_are_right(void **state) {
  (void)state;
  check(
      "size B 0..40\ninput X : f32 [B, 37]\ntemp r : f32 [B]\ntemp c : f32 [37]\ntemp t : f32 []\n"
      "def r[b: B] =\n  sum[j: 37] X[b, j]\n  then acc0\n"
      "def c[j: 37] =\n  sum[b: B] X[b, j]\n  then acc0\n"
      "def t[] =\n  sum[b: B, j: 37] X[b, j] * X[b, j]\n  then acc0 * 2.0\n");
}

static void products_of_matrices_are_right(void **state) {
  (void)state;
  check("size B 1..20\ninput X : f32 [B, 19]\ninput W : f32 [19, 10]\ninput c : f32 [10]\n"
        "temp Y : f32 [B, 10]\ntemp G : f32 [19, 10]\ntemp D : f32 [B, 19]\n"
        "def Y[b: B, j: 10] =\n  sum[i: 19] X[b, i] * W[i, j]\n  then relu(acc0 + c[j])\n"
        "def G[i: 19, j: 10] =\n  sum[b: B] X[b, i] * Y[b, j]\n  then acc0\n"
        "def D[b: B, i: 19] =\n  sum[j: 10] Y[b, j] * W[i, j]\n  then acc0\n");
}

static void every_reducer_is_right(void **state) {
  (void)state;
  static const char *const reducer[] = {"sum", "prod", "max", "min", "mean", "logsumexp"};
  for (size_t k = 0; k < sizeof reducer / sizeof reducer[0]; k++)
    for (int where = 0; where < 2; where++) {
      char text[1000];
      snprintf(text, sizeof text,
               "size N 0..30\ninput X : f32 [6, N]\ntemp Y : f32 [6]\ntemp Z : f32 [N]\n"
               "def Y[i: 6] =\n  %s[j: N]\n  %s X[i, j]\n  then acc0\n"
               "def Z[j: N] =\n  %s[i: 6]\n  %s X[i, j]\n  then acc0\n",
               reducer[k], where ? "where -0.5 < X[i, j];" : "", reducer[k],
               where ? "where 2.0 < X[i, j];" : "");
      check(text);
    }
  check("size N 0..30\ninput X : bool [6, N]\ntemp Y : bool [6]\ntemp Z : bool [6]\n"
        "def Y[i: 6] =\n  any[j: N] X[i, j]\n  then acc0\n"
        "def Z[i: 6] =\n  all[j: N] X[i, j]\n  then acc0\n");
}

static void the_first_winner_and_its_place_are_found(void **state) {
  (void)state;
  check("size N 0..30\ninput X : i32 [6, N] < 4\ntemp V : i32 [6]\ntemp I : i64 [6]\n"
        "def (V, I)[i: 6] =\n  max[j: N] X[i, j], j\n  then acc0, acc1\n");
  check(
      "size N 0..30\ninput X : f32 [6, N]\ntemp V : f32 [6]\ntemp I : i64 [6]\n"
      "def (V, I)[i: 6] =\n  min[j: N]\n  where 0.2 < X[i, j];\n  X[i, j], j\n  then acc0, acc1\n");
  check("input X : f32 [2, 8, 8]\ntemp V : f32 [2, 4, 4]\ntemp I : i64 [2, 4, 4]\n"
        "def (V, I)[n: 2, p: 4, q: 4] =\n  max[r: 2, s: 2] X[n, 2*p + r, 2*q + s], 2*r + s\n"
        "  then acc0, acc1\n");
}

static void guards_and_triangles_are_kept(void **state) {
  (void)state;
  check("input X : f32 [2, 9, 11]\ninput F : f32 [3, 3]\ntemp Y : f32 [2, 9, 11]\n"
        "def Y[n: 2, p: 9, q: 11] =\n"
        "  sum[r: 3, s: 3] F[r, s] * (X[n, p + r - 1, q + s - 1] else 0.0)\n  then acc0\n");
  check("input X : f32 [9, 9]\ntemp Y : f32 [9]\ndef Y[i: 9] =\n  sum[k: 0..i + 1] X[i, k]\n"
        "  then acc0\n");
  check(
      "size B 1..6\ninput len : i32 [B] < 13\ninput X : f32 [B, 12, 5]\ntemp Y : f32 [B, 5]\n"
      "def Y[b: B, d: 5] =\n  mean[t: 12]\n  where t < i64(len[b]);\n  X[b, t, d]\n  then acc0\n");
  check("size B 1..6\ninput len : i32 [B] < 13\ninput X : f32 [B, 12, 5]\ntemp Y : f32 [B, 5]\n"
        "def Y[b: B, d: 5] =\n  sum[t: 0..i64(len[b])] X[b, t, d]\n  then acc0\n");
  check("input A : f32 [7, 5]\ninput B : f32 [7, 6]\ntemp C : f32 [7, 11]\n"
        "def C[i: 7, j: 11] = select(j < 5, A[i, j], B[i, j - 5])\n");
}

static void gradients_of_windows_are_right(void **state) {
  (void)state;
  check("input D : f32 [2, 3, 7, 9]\ninput F : f32 [3, 2, 3, 3]\ntemp G : f32 [2, 2, 7, 9]\n"
        "def G[n: 2, c: 2, h: 7, w: 9] =\n  sum[k: 3, r: 3, s: 3]\n"
        "  where 0 <= h - r + 1 and h - r + 1 < 7 and 0 <= w - s + 1 and w - s + 1 < 9;\n"
        "  D[n, k, h - r + 1, w - s + 1] * F[k, c, r, s]\n  then acc0\n");
  check("input D : f32 [2, 3, 7, 9]\ninput X : f32 [2, 2, 7, 9]\ntemp G : f32 [3, 2, 3, 3]\n"
        "def G[k: 3, c: 2, r: 3, s: 3] =\n  sum[n: 2, p: 7, q: 9]"
        " D[n, k, p, q] * (X[n, c, p + r - 1, q + s - 1] else 0.0)\n  then acc0\n");
}

static void check_often(const char *text) {
  for (uint64_t seed = 1; seed <= 6; seed++) {
    lower_options o = {.seed = seed, .n_random = 8, .jit = seed == 1};
    lower_check(text, &o);
  }
}

/* The kernel of a module's first group; to be freed. */
static char *kernel_of(const char *text, const char *schedule) {
  neo_arena a;
  neo_grouping g;
  neo_schedule s;
  neo_kernel *k;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", text, strlen(text));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, &a, NULL, &g, NULL), NEO_OK);
  assert_true(neo_schedule_parse(schedule, &s));
  neo_str why, out;
  neo_str_init(&why, &a);
  neo_str_init(&out, &a);
  assert_int_equal(neo_lower(m, &g.groups.at[0], &s, neo_machine_named("x86-64-v3"), &a, &k, &why),
                   NEO_OK);
  neo_kernel_print(k, &out);
  char *kernel = strdup(neo_str_text(&out));
  assert_non_null(kernel);
  neo_arena_free(&a);
  return kernel;
}

/* That of a product of 40 x 300 by 300 x 70. */
static char *text_of(const char *schedule) {
  return kernel_of("neo-ir 1\nmodule t\n"
                   "input x : f32 [40, 300]\ninput W : f32 [300, 70]\n"
                   "temp y : f32 [40, 70]\ndef y[b: 40, j: 70] =\n"
                   "  sum[i: 300] x[b, i] * W[i, j]\n  then acc0\n"
                   "entry forward forward: y = y\n",
                   schedule);
}

/* How often it names what comes next. */
static int fetches_in(const char *schedule) {
  char *kernel = text_of(schedule);
  int n = 0;
  for (const char *p = kernel; (p = strstr(p, "prefetch W[")); p++)
    n++;
  free(kernel);
  return n;
}

#define STRIDED                                                                             \
  "input D : f32 [3, 5, 7, 6]\ninput X : f32 [3, 19, 14, 13]\ntemp G : f32 [5, 19, 3, 3]\n" \
  "def G[k: 5, c: 19, r: 3, s: 3] =\n  sum[n: 3, p: 7, q: 6]"                               \
  " D[n, k, p, q] * (X[n, c, 2 * p + r - 1, 2 * q + s - 1] else 0.0)\n  then 2.0 * acc0\n"

static void sums_of_all_taps_are_kept_from_block_to_block(void **state) {
  (void)state;
  check_often(STRIDED);
  check_often("size N 0..5\n"
              "input D : f32 [N, 5, 7]\ninput X : f32 [N, 19, 9]\ntemp G : f32 [5, 19, 3]\n"
              "def G[k: 5, c: 19, s: 3] =\n  sum[n: N, q: 7] D[n, k, q] * X[n, c, q + s]\n"
              "  then acc0\n");
}

/* Images are copied for all taps that do not move in them, and each one's taps follow. */
static void blocks_of_images_are_around_the_taps(void **state) {
  (void)state;
  const char *text = "neo-ir 1\nmodule t\n" STRIDED "entry forward forward: G = G\n";
  char *kernel =
      kernel_of(text, "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=5 tile_n=2 pack=1 "
                      "block_k=2 block_n=16 blocks_first=5 unit_axes=1");
  const char *unit = strstr(kernel, "for u in 0..2 unit"),
             *block = strstr(kernel, "for kb in 0..3");
  const char *copy = strstr(kernel, "rows["), *taps = strstr(kernel, "for i in 0..3");
  assert_true(unit && block && copy && taps);
  assert_true(unit < block && block < copy && copy < taps);
  assert_null(strstr(taps, "] = D["));
  free(kernel);
}

/* Rows that data name are on their way before they are copied, as whole vectors. */
static void gathered_rows_are_fetched_before_their_copy(void **state) {
  (void)state;
  char *kernel = kernel_of("neo-ir 1\nmodule t\ninput H : f32 [900, 24]\n"
                           "input row : i32 [300] < 900\ninput D : f32 [300, 70]\n"
                           "temp G : f32 [24, 70]\ndef G[l: 24, j: 70] =\n"
                           "  sum[v: 300] H[i64(row[v]), l] * D[v, j]\n  then acc0\n"
                           "entry forward forward: G = G\n",
                           "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=2 pack=1 "
                           "block_k=64");
  const char *fetch = strstr(kernel, "prefetch H[i64(row[min(e + "),
             *copy = strstr(kernel, "rows[");
  assert_true(fetch && copy && strstr(fetch, "rows["));
  assert_non_null(strstr(kernel, "rows[(e - kb)*24 + e_2 + l] = H["));
  free(kernel);
}

#define ROWS                                                                  \
  "neo-ir 1\nmodule t\ninput n : i32 [] < 13\ninput x : f32 [12, 40]\n"       \
  "input W : f32 [40, 16]\ninput b : f32 [16]\ntemp y : f32 [12, 16]%s\n"     \
  "def y[p: 12, j: 16] =\n  sum[i: 40] x[p, i] * W[i, j]\n  then select(p < " \
  "i64(n[]), acc0, %s)\nentry forward forward: y = y\n"

/* Tiles of 3 rows divide all 12, but not those that are read: the last tile has fewer. */
static void rows_that_are_needed_leave_a_smaller_tile(void **state) {
  (void)state;
  char text[512];
  snprintf(text, sizeof text, ROWS, " partial", "0.0");
  char *kernel = kernel_of(
      text, "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=3 tile_n=2 block_m=6 unit_axes=1");
  assert_non_null(strstr(kernel, "for r in 0..3 unroll"));
  assert_non_null(strstr(kernel, "for r in 0..2 unroll"));
  free(kernel);
}

/* The first row that is needed may lie before the first one that there is. */
static void rows_that_are_needed_begin_at_the_first_one(void **state) {
  (void)state;
#define FROM(condition)                                                                    \
  "input n : i32 [] < 8\ninput x : f32 [12, 40]\ninput W : f32 [40, 16]\n"                 \
  "temp y : f32 [12, 16] partial\ndef y[p: 12, j: 16] =\n  sum[i: 40] x[p, i] * W[i, j]\n" \
  "  then select(" condition ", acc0, 0.0)\n"
  check_often(FROM("i64(n[]) <= p + 5"));
  check_often(FROM("i64(n[]) <= p and p < i64(n[]) + 5"));
#undef FROM
}

/* Rows that have another value, here a bias, are not added up for it. */
static void sums_that_no_row_of_a_tile_asks_for_are_left_out(void **state) {
  (void)state;
  char text[512];
  snprintf(text, sizeof text, ROWS, "", "b[j]");
  char *kernel = kernel_of(text, "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=3 tile_n=2");
  const char *asks = strstr(kernel, "if m < min(m + 3, i64(n[0]))");
  assert_non_null(asks);
  assert_non_null(strstr(asks, "for k in 0..40"));
  free(kernel);
}

static void columns_may_be_outside_though_nothing_is_packed(void **state) {
  (void)state;
#define TILE "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=2 "
  for (int order = 1; order <= 2; order++) {
    char *kernel = text_of(order == 1 ? TILE "order=1" : TILE "order=2");
    const char *rows = strstr(kernel, "for m in"), *columns = strstr(kernel, "for n in");
    assert_true(rows && columns && (rows < columns) == (order == 1));
    free(kernel);
  }
#undef TILE
}

static void the_first_tile_of_rows_fetches_for_all(void **state) {
  (void)state;
#define TILE "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=2 block_k=8 "
  assert_int_equal(fetches_in(TILE "prefetch=0"), 0);
  assert_int_equal(fetches_in(TILE "prefetch=1"), 2); /* whole tiles of columns, and what is left */
  assert_int_equal(fetches_in(TILE "prefetch=1 order=1"), 2);
#undef TILE
}

/* The lines of the next block that the steps of one block name: each once, by tiles in turn, where
 * rows and columns leave a smaller tile and the reduction a shorter block. */
static void steps_share_what_the_next_copy_reads(void **state) {
  (void)state;
#define TILE "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=2 pack=2 prefetch=1 "
  char *kernel = text_of(TILE "block_k=64");
  /* 7 x 5 tiles have 64 x 5 lines: 10 each, one in a step */
  assert_non_null(strstr(kernel, "prefetch l2 W[(kb + f/5)*70 + f%5*16 + 4480]"));
  assert_non_null(strstr(kernel, "for f in (n/16*7 + m/6)*10 + (k - kb)..min((n/16*7 + m/6)*10 + "
                                 "(k - kb) + 1, min((n/16*7 + m/6)*10 + 10, "
                                 "(min(kb + 64, 300) - kb)*5))"));
  free(kernel);
  kernel = text_of(TILE "block_k=64 order=1");
  assert_non_null(strstr(kernel, "for f in (m/6*5 + n/16)*10 + (k - kb)"));
  free(kernel);
  kernel = text_of(TILE "block_n=32");
  assert_non_null(strstr(kernel, "prefetch l2 W["));
  free(kernel);
  kernel = text_of(TILE "block_k=32"); /* stays in the nearest cache */
  assert_non_null(strstr(kernel, "prefetch W["));
  free(kernel);
#undef TILE
  check("input x : f32 [40, 300]\ninput W : f32 [300, 70]\ntemp y : f32 [40, 70]\n"
        "def y[b: 40, j: 70] =\n  sum[i: 300] x[b, i] * W[i, j]\n  then acc0\n");
}

/* Six rows of three lines each, in the first 18 of 40 steps; what lasts two steps only, or is few
 * lines, is asked for at once. */
static void steps_share_what_the_next_tile_needs_at_its_end(void **state) {
  (void)state;
#define TILE(n) \
  "tile vector_axis=1 vector_width=8 axis_m=0 tile_m=6 tile_n=" n " order=1 prefetch=1"
#define UPDATE(steps)                                                                   \
  "neo-ir 1\nmodule t\ninput x : f32 [" steps ", 300]\ninput d : f32 [" steps ", 70]\n" \
  "input P : f32 [300, 70]\ntemp y : f32 [300, 70]\ndef y[i: 300, j: 70] =\n"           \
  "  sum[b: " steps "] x[b, i] * d[b, j]\n  then P[i, j] - acc0\n"                      \
  "entry forward forward: y = y\n"
  char *kernel = kernel_of(UPDATE("40"), TILE("6"));
  assert_non_null(strstr(kernel, "for f in k..min(k + 1, 18)\n"));
  assert_non_null(strstr(kernel, "prefetch l2 P[(m + f/3)*70 + f%3*16 + 420]\n"));
  free(kernel);
  const char *at_once[][2] = {{UPDATE("2"), TILE("6")}, {UPDATE("40"), TILE("2")}};
  for (int k = 0; k < 2; k++) {
    kernel = kernel_of(at_once[k][0], at_once[k][1]);
    assert_null(strstr(kernel, "for f in"));
    assert_non_null(strstr(kernel, "prefetch P["));
    free(kernel);
  }
#undef TILE
#undef UPDATE
}

/* Strides, both directions, padding and conditions; rows and columns that slide. */
static void packs_of_operands_that_slide_are_right(void **state) {
  (void)state;
  check_often(
      "input X : f32 [2, 3, 9, 21]\ninput F : f32 [5, 3, 3, 3]\ntemp Y : f32 [2, 5, 9, 21]\n"
      "def Y[n: 2, k: 5, p: 9, q: 21] =\n  sum[c: 3, r: 3, s: 3]"
      " F[k, c, r, s] * (X[n, c, p + r - 1, q + s - 1] else 0.0)\n  then acc0\n");
  check_often("input X : f32 [3, 23]\ninput F : f32 [9, 3, 4]\ntemp Y : f32 [9, 10]\n"
              "def Y[k: 9, q: 10] =\n  sum[c: 3, s: 4] F[k, c, s] * X[c, 2*q + s]\n  then acc0\n");
  check_often(
      "input D : f32 [3, 19]\ninput F : f32 [3, 9, 3]\ntemp G : f32 [9, 19]\n"
      "def G[c: 9, w: 19] =\n  sum[k: 3, s: 3]\n  where 0 <= w - s + 1 and w - s + 1 < 19;\n"
      "  D[k, w - s + 1] * F[k, c, s]\n  then acc0\n");
}

/* The elements of a capsule and its channel, which lie apart in the result: whole vectors and parts
 * of one, channels that fill no tile, a number of them that is not known, and what follows the
 * sum. */
static void columns_along_axes_that_lie_apart_are_right(void **state) {
  (void)state;
  static const int elements[] = {8, 4, 3};
  for (size_t k = 0; k < sizeof elements / sizeof *elements; k++) {
    char text[1000];
    int j = elements[k];
    snprintf(text, sizeof text,
             "size M 0..7\ninput A : f32 [2, 3, 9, 9]\ninput F : f32 [M, 3, 3, 2, %d]\n"
             "input b : f32 [M, %d]\ntemp u : f32 [2, M, 4, 4, %d]\n"
             "def u[n: 2, m: M, p: 4, q: 4, j: %d] =\n  sum[c: 3, r: 3, s: 2]"
             " A[n, c, 2*p + r, 2*q + s] * F[m, c, r, s, j]\n  then relu(acc0 + b[m, j])\n",
             j, j, j, j);
    check(text);
  }
  check("input D : f32 [2, 5, 4, 4, 8]\ninput A : f32 [2, 3, 9, 9]\n"
        "input F : f32 [5, 3, 3, 2, 8]\ntemp G : f32 [5, 3, 3, 2, 8]\n"
        "def G[m: 5, c: 3, r: 3, s: 2, j: 8] =\n  sum[n: 2, p: 4, q: 4]"
        " D[n, m, p, q, j] * A[n, c, 2*p + r, 2*q + s]\n  then F[m, c, r, s, j] - acc0\n");
  check("input D : f32 [2, 5, 6, 8]\ninput F : f32 [5, 3, 3, 8, 4]\n"
        "temp G : f32 [2, 3, 8, 4]\n"
        "def G[n: 2, c: 3, h: 8, k: 4] =\n  sum[m: 5, r: 3, j: 8]\n"
        "  where 0 <= h - r and h - r < 6;\n"
        "  D[n, m, h - r, j] * F[m, c, r, j, k]\n  then acc0\n");
}

/* Groups that are cut; with an axis of the sum bounded by the channel; that are not: extents that
 * no group divides, several quotients, a quotient of more than the axis. */
static void axes_of_groups_are_right(void **state) {
  (void)state;
  check_often("input A : f32 [7, 3, 5]\ninput F : f32 [30, 5]\ninput D : f32 [30]\n"
              "temp Y : f32 [7, 30]\n"
              "def Y[x: 7, i: 30] =\n  sum[c: 5] A[x, i / 10, c] * F[i, c]\n"
              "  then acc0 + D[i] * f32(i % 10)\n");
  check_often("input A : f32 [4, 9]\ninput F : f32 [32, 9]\ntemp Y : f32 [32, 4]\n"
              "def Y[i: 32, x: 4] =\n  sum[c: 0..i / 8 + 2] A[i / 8, c] * F[i, c + x]\n"
              "  then acc0\n");
  check("input A : f32 [4, 5]\ninput F : f32 [29, 5]\ntemp Y : f32 [29]\n"
        "def Y[i: 29] =\n  sum[c: 5] A[i / 8, c] * F[i, c]\n  then acc0\n");
  check("input A : f32 [4, 8, 5]\ninput F : f32 [32, 5]\ntemp Y : f32 [32]\n"
        "def Y[i: 32] =\n  sum[c: 5] A[i / 8, i / 4, c] * F[i, c]\n  then acc0\n");
  check("input A : f32 [6, 5]\ninput F : f32 [32, 5]\ntemp Y : f32 [3, 32]\n"
        "def Y[x: 3, i: 32] =\n  sum[c: 5] A[(i + x * 8) / 8, c] * F[i, c]\n  then acc0\n");
}

/* In every place: of the result, of a sum, beginning elsewhere than at 0, in conditions. */
static void axes_of_one_element_are_right(void **state) {
  (void)state;
  check("input D : f32 [3, 4, 1, 8]\ninput F : f32 [4, 10, 3, 1, 8]\n"
        "temp G : f32 [3, 10, 1, 6, 1]\n"
        "def G[b: 3, c: 10, i: 1, h: 6, k: 1] =\n  sum[m: 4, r: 3, o: 1, j: 8]\n"
        "  where 0 <= h - r + i and h - r + i < 4;\n"
        "  D[b, h - r + k, o, j] * F[m, c, r, k + o, j]\n  then acc0 + f32(i + k)\n");
  check("input X : f32 [1, 5, 1]\ntemp Y : f32 [1, 1]\ntemp Z : f32 [1]\n"
        "def Y[i: 1, j: 1] =\n  sum[k: 2..3, l: 4..5] X[i, k + j, k - 2] * f32(l)\n  then acc0\n"
        "def Z[i: 1] =\n  sum[j: 1] Y[i, j]\n  then acc0\n");
  check("input X : f32 [6, 1, 9]\ntemp V : f32 [6, 1]\ntemp I : i64 [6, 1]\n"
        "def (V, I)[n: 6, p: 1] =\n  max[r: 1, s: 9] X[n, p + r, s], 9*r + s\n  then acc0, acc1\n");
}

/* A bound that an outer axis gives, of a loop that a copy runs over. */
/* Rows over the batch, over either side of the image, in both directions; the sum in another order
 * than it is written. */
static void windows_that_stick_out_of_their_operand_are_right(void **state) {
  (void)state;
  check_often(
      "input D : f32 [3, 18, 2]\ninput F : f32 [2, 2, 9, 5, 5]\ntemp G : f32 [3, 9, 6, 5]\n"
      "def G[n: 3, c: 9, h: 6, w: 5] =\n"
      "  sum[t: 2, k: 2, p: max(0, 2 - h)..min(3, 5 - h), q: max(0, 2 - w)..min(3, 5 - w)]\n"
      "  D[n, (k * 3 + (h - 2 + p)) * 3 + (w - 2 + q), t] * F[t, k, c, 4 - 2 * p, 4 - 2 * q]\n"
      "  then acc0\nentry forward forward: G = G\n");
  check_often("input D : f32 [3, 4, 7]\ninput F : f32 [4, 10, 4]\ntemp G : f32 [3, 10, 10]\n"
              "def G[n: 3, c: 10, w: 10] =\n"
              "  sum[k: 4, q: max(0, w - 6)..min(4, w + 1)]\n"
              "  D[n, k, w - q] * F[k, c, q]\n"
              "  then acc0\nentry forward forward: G = G\n");
}

static void packs_under_bounds_of_data_are_right(void **state) {
  (void)state;
  check_often(
      "input L : i32 [6] < 5\ninput A : f32 [6, 5, 2]\ninput B : f32 [5, 19]\n"
      "temp Y : f32 [6, 2, 19]\n"
      "def Y[j: 6, h: 2, i: 19] =\n  sum[k: i64(L[j])..5] A[j, k, h] * B[k, i]\n  then acc0\n");
  check_often(
      "input X : f32 [17, 13]\ninput W : f32 [13, 11]\ninput m : f32 [17]\ntemp Y : f32 [17, 11]\n"
      "def Y[i: 17, j: 11] =\n  sum[k: 0..min(i + 1, 13)] X[i, k] * W[k, j]\n  then acc0 * m[i]\n");
}

/* Blocks that do not divide, operands that are contiguous along the reduction, along their side,
 * along neither. */
static void packs_in_blocks_are_right(void **state) {
  (void)state;
  check_often("input A : f32 [3, 23, 31]\ninput B : f32 [31, 3, 29]\ntemp C : f32 [3, 23, 29]\n"
              "def C[b: 3, i: 23, j: 29] =\n  sum[k: 31] A[b, i, k] * B[k, b, j]\n  then acc0\n");
  check_often("input A : f32 [31, 23]\ninput B : f32 [29, 31]\ntemp C : f32 [23, 29]\n"
              "def C[i: 23, j: 29] =\n  sum[k: 31] A[k, i] * B[j, k]\n  then acc0\n");
  check_often(
      "size N 1..40\ninput A : f32 [N, 4, 3]\ninput B : f32 [4, 3, 33]\ntemp C : f32 [N, 33]\n"
      "def C[i: N, j: 33] =\n  sum[k: 4, l: 3] A[i, k, l] * B[k, l, j]\n  then acc0\n");
}

static void lookups_and_segments_are_right(void **state) {
  (void)state;
  check("input T : f32 [6, 9]\ninput Y : i32 [8] < 6\ntemp E : f32 [8, 9]\ntemp G : f32 [6, 9]\n"
        "def E[b: 8, d: 9] = T[i64(Y[b]), d]\n"
        "def G[v: 6, d: 9] =\n  sum[e: 8]\n  where i64(Y[e]) == v;\n  E[e, d]\n  then acc0\n");
}

static void sums_over_data_equations_are_right(void **state) {
  (void)state;
  check("size E 0..30\nsize V 1..9\ninput dst : i32 [E] < 9\ninput src : i32 [E] < 4\n"
        "input H : f32 [4, 19]\n"
        "input m : f32 [E]\ntemp Z : f32 [V, 19]\ntemp c : f32 [V]\ntemp S : f32 [V, 19]\n"
        "def Z[v: V, d: 19] =\n  sum[e: E]\n  where i64(dst[e]) == v;\n  H[i64(src[e]), d]\n"
        "  then acc0\n"
        "def c[v: V] =\n  sum[e: E]\n  where 0.0 < m[e] and v == i64(dst[e]);\n  m[e]\n"
        "  then acc0 + 1.0\n"
        "def S[v: V, d: 19] =\n  sum[e: E, k: 2]\n  where i64(dst[e]) == v and 0.0 < m[e];\n"
        "  H[k + 1, d] * m[e]\n  then tanh(acc0)\n");
}

/* Keys of a batch, read where a bound or a condition allows it; elements that are there only after
 * v. */
static void data_equations_of_every_row_are_right(void **state) {
  (void)state;
  check(
      "size N 0..11\nsize B 1..4\ninput pos : i32 [B, N] < 11\ninput g : f32 [B, N]\n"
      "temp Z : f32 [B, N]\n"
      "temp Y : f32 [N, B, 9]\ntemp W : f32 [B, N]\n"
      "def Z[b: B, v: N] =\n  sum[i: v..N]\n  where i64(pos[b, i]) == v;\n  g[b, i]\n  then acc0\n"
      "def Y[v: N, b: B, d: 9] =\n  sum[i: N]\n"
      "  where i % 2 == 0 and v == i64(pos[b, i]) and d < 7;\n"
      "  g[b, i] * f32(d + v)\n  then acc0\n"
      "def W[b: B, v: N] =\n  sum[i: 11]\n  where i < N and i64(pos[b, i]) == v and v < 5;\n"
      "  g[b, i]\n"
      "  then acc0\n");
}

/* A range that is always empty proves anything, also that the one around it need not be kept; but
 * its bound is read there. */
static void ranges_around_an_empty_one_are_kept(void **state) {
  (void)state;
  check("size N 1..9\ninput a : u8 [N, N] < 1\ninput v : f32 [5]\ntemp y : f32 [17, N]\n"
        "def y[i: 17, j: N] =\n"
        "  sum[k: j + 1, n: i64(a[N - 1 - k, k])] v[(n + 2 * k) % 5] * v[n % 5]\n  then acc0\n");
}

/* Packed operands take the range of j, but reads of the condition that stays rely on it. */
/* Every schedule: random packs copy parts as well, in tiles with remainders, under conditions too. */
static void parts_of_factors_are_read_and_copied(void **state) {
  (void)state;
  static const char *const where[] = {"", "where k <= i + 2;", "where k < i64(n[j]);",
                                      "where k < i64(n[i]) and j + k < 40;"};
  for (size_t k = 0; k < sizeof where / sizeof *where; k++) {
    char text[1000];
    snprintf(text, sizeof text,
             "size B 1..37\ninput n : i32 [40] < 20\ninput x : f32 [B, 19]\n"
             "input c : f32 [37, 19]\ninput g : f32 [37]\ntemp Y : f32 [B, 37]\n"
             "def Y[i: B, j: 37] =\n  sum[k: 19]\n  %s\n"
             "  (x[i, k] - c[j, k]) * (x[i, k] - c[j, k]) * (x[i, k]*0.5 + c[j, k])\n"
             "  then exp(-abs(acc0) * g[j])\n",
             where[k]);
    check(text);
  }
}

/* Factors of rows, of columns, of both and of neither, in any order. */
static void products_of_many_factors_are_right(void **state) {
  (void)state;
  static const char *const term[] = {
      "a[i, k] * b[j, k] * s[k]",       "s[k] * a[i, k] * a[i, k] * b[j, k]",
      "w[i, j, k] * a[i, k] * b[j, k]", "-(s[k] * (b[j, k] * s[k]) * w[i, j, k])",
      "a[i, k] * s[k] * a[i, k]",       "b[j, k] * s[l] * b[j, k] * a[i, l]"};
  for (size_t k = 0; k < sizeof term / sizeof *term; k++) {
    char text[1000];
    snprintf(text, sizeof text,
             "size B 1..20\ninput a : f32 [B, 13]\ninput b : f32 [21, 13]\ninput s : f32 [13]\n"
             "input w : f32 [B, 21, 13]\ntemp Y : f32 [B, 21]\n"
             "def Y[i: B, j: 21] =\n  sum[l: 13, k: 13] %s\n  then acc0\n",
             term[k]);
    check(text);
  }
}

/* y[d[k]] is asked for once for a tile; l < n[i] is another question in each of its rows. */
static void a_part_of_a_condition_that_data_decide_is_right(void **state) {
  (void)state;
  check("input d : i32 [19] < 8\ninput n : i32 [7] < 19\ninput x : f32 [19, 21]\n"
        "input q : f32 [7, 19]\ntemp Y : f32 [8, 7, 21]\n"
        "def Y[h: 8, i: 7, j: 21] =\n  sum[k: 19]\n"
        "  where 0 <= h - i64(d[k]) and h - i64(d[k]) < 2 and k < i64(n[i]) + i64(d[k]);\n"
        "  q[i, k] * x[k, j]\n  then acc0\n");
  /* what the part reads relies on the other one */
  check("input d : i32 [9] < 4\ninput n : i32 [7] < 10\ninput x : f32 [19, 21]\n"
        "input q : f32 [7, 19]\ntemp Y : f32 [7, 21]\n"
        "def Y[i: 7, j: 21] =\n  sum[k: 19]\n"
        "  where k < i64(n[i]) and k < 9 and 0 < i64(d[k]);\n"
        "  q[i, k] * x[k, j]\n  then acc0\n");
}

static void conditions_that_protect_the_reads_of_others_stay(void **state) {
  (void)state;
  check("input x : f64 [5, 8]\ninput c : f64 [5, 5]\ntemp y : f64 [5, 8]\n"
        "def y[i: 5, z: 8] =\n  sum[k: 2, n: 5, j: min(2, 5 - z * 2)] where\n"
        "  not (bool(x[n, z * 2 + j + 2]) and bool(x[z * 2 + j, z * 2 + j]));\n"
        "  c[i, z * 2 + j] * x[k, 4]\n  then acc0\n");
}

/* The range of n, which the operand does not use, is empty for most j: its copy cannot ask for it.
 * */
static void operands_beside_a_range_that_moves_are_copied(void **state) {
  (void)state;
  check("input x : f32 [30, 15]\ntemp y : f32 [12]\n"
        "def y[i: 12] =\n  sum[j: 17, k: 7, n: 1] where not (n != j * -1 + 3);\n"
        "  x[k * 2 + 11 - i, i + 1] * f32(k + 1)\n  then acc0\n");
  check("input x : f32 [30, 15]\ninput w : f32 [7, 9]\ntemp y : f32 [12, 9]\n"
        "def y[i: 12, z: 9] =\n  sum[j: 5, k: 7, n: j] x[k * 2 + 11 - i, i + 1] * w[k, z]\n"
        "  then acc0\n");
}

static void all_types_are_right(void **state) {
  (void)state;
  static const char *const type[] = {"f64", "f32", "f16", "bf16", "i64", "i32"};
  for (size_t k = 0; k < sizeof type / sizeof type[0]; k++) {
    char text[1000];
    snprintf(text, sizeof text,
             "input A : %s [5, 12]\ninput B : %s [12, 9]\ntemp C : %s [5, 9]\ntemp D : %s [5]\n"
             "def C[i: 5, j: 9] =\n  sum[k: 12] A[i, k] * B[k, j]\n  then acc0\n"
             "def D[i: 5] =\n  max[k: 12] A[i, k]\n  then acc0\n",
             type[k], type[k], type[k], type[k]);
    check(text);
  }
  check("input A : u8 [50]\ninput B : i8 [50]\ntemp C : f32 [50]\ntemp D : u8 [50]\n"
        "def C[i: 50] = f32(A[i]) / 3.0 + f32(B[i])\ndef D[i: 50] = A[i] + u8(B[i])\n");
}

static void products_of_integers_are_right(void **state) {
  (void)state;
  check("input A : i8 [19, 70]\ninput B : i8 [70, 45]\ntemp C : i32 [19, 45]\n"
        "def C[i: 19, j: 45] =\n  sum[k: 70] i32(A[i, k]) * i32(B[k, j])\n  then acc0 - 3i32\n");
  check("input A : u8 [3, 21, 22]\ninput F : i8 [5, 3, 3, 3]\ntemp C : i64 [5, 21, 22]\n"
        "def C[m: 5, p: 21, q: 22] =\n  sum[c: 3, r: 3, s: 3] i64(F[m, c, r, s]) *\n"
        "  i64((A[c, p + r - 1, q + s - 1] else 0u8))\n  then acc0\n");
}

static void pieces_with_strides_are_right(void **state) {
  (void)state;
  check("input A : f32 [7, 8]\ninput B : f32 [7, 8]\ntemp C : f32 [7, 16]\n"
        "def C[i: 7, j: 8] at [i, 2*j] = A[i, j] * 2.0\n"
        "def C[i: 7, j: 8] at [i, 2*j + 1] = B[i, j]\n");
}

static void random_numbers_do_not_depend_on_the_schedule(void **state) {
  (void)state;
  check("sites 1\ntemp C : f32 [7, 16]\ndef C[i: 7, j: 16] = rand(0, i * 16 + j)\n");
}

static void batched_products_and_softmax_are_right(void **state) {
  (void)state;
  check("input Q : f32 [2, 5, 3, 4]\ninput K : f32 [2, 6, 3, 4]\ninput V : f32 [2, 6, 3, 4]\n"
        "temp S : f32 [2, 3, 5, 6]\ntemp l : f32 [2, 3, 5]\ntemp P : f32 [2, 3, 5, 6]\n"
        "temp O : f32 [2, 5, 3, 4]\n"
        "def S[b: 2, h: 3, i: 5, j: 6] =\n  sum[d: 4] Q[b, i, h, d] * K[b, j, h, d]\n  then acc0\n"
        "def l[b: 2, h: 3, i: 5] =\n  logsumexp[j: 0..i + 2] S[b, h, i, j]\n  then acc0\n"
        "def P[b: 2, h: 3, i: 5, j: 6] = select(j < i + 2, exp(S[b, h, i, j] - l[b, h, i]), 0.0)\n"
        "def O[b: 2, i: 5, h: 3, d: 4] =\n  sum[j: 0..i + 2] P[b, h, i, j] * V[b, j, h, d]\n"
        "  then acc0\n");
}

/* Terms of a sum of exponentials go through scratch, in whole vectors and in the rest of a row. */
static void values_that_stages_of_a_row_share_are_right(void **state) {
  static const int rows[] = {3, 8, 37, 200};
  (void)state;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    char text[1000];
    int n = rows[k];
    snprintf(
        text, sizeof text,
        "input X : f32 [6, %d]\ninput D : f32 [6, %d]\ntemp z : f32 [6]\ntemp Y : f32 [6, %d]\n"
        "temp s : f32 [6]\ntemp G : f32 [6, %d]\n"
        "def z[i: 6] =\n  logsumexp[j: %d] X[i, j]\n  then acc0\n"
        "def Y[i: 6, j: %d] = exp(X[i, j] - z[i])\n"
        "def s[i: 6] =\n  sum[j: %d] D[i, j] * tanh(X[i, j] * D[i, j])\n  then acc0\n"
        "def G[i: 6, j: %d] = s[i] - tanh(X[i, j] * D[i, j])\n",
        n, n, n, n, n, n, n, n);
    check(text);
  }
}

static void each_of_two_values_that_stages_share_is_kept_apart(void **state) {
  (void)state;
  check("input X : f32 [6, 37]\ninput D : f32 [6, 37]\ntemp s : f32 [6]\ntemp G : f32 [6, 37]\n"
        "def s[i: 6] =\n  sum[j: 37] tanh(X[i, j] * D[i, j]) + D[i, j] * exp(X[i, j] - D[i, j])\n"
        "  then acc0\n"
        "def G[i: 6, j: 37] = s[i] - tanh(X[i, j] * D[i, j]) * exp(X[i, j] - D[i, j])\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(elementwise_work_of_any_rank_is_right),
      cmocka_unit_test(sums_over_any_axes_are_right),
      cmocka_unit_test(products_of_matrices_are_right),
      cmocka_unit_test(every_reducer_is_right),
      cmocka_unit_test(the_first_winner_and_its_place_are_found),
      cmocka_unit_test(guards_and_triangles_are_kept),
      cmocka_unit_test(gradients_of_windows_are_right),
      cmocka_unit_test(values_that_stages_of_a_row_share_are_right),
      cmocka_unit_test(each_of_two_values_that_stages_share_is_kept_apart),
      cmocka_unit_test(sums_of_all_taps_are_kept_from_block_to_block),
      cmocka_unit_test(blocks_of_images_are_around_the_taps),
      cmocka_unit_test(gathered_rows_are_fetched_before_their_copy),
      cmocka_unit_test(rows_that_are_needed_leave_a_smaller_tile),
      cmocka_unit_test(rows_that_are_needed_begin_at_the_first_one),
      cmocka_unit_test(sums_that_no_row_of_a_tile_asks_for_are_left_out),
      cmocka_unit_test(columns_may_be_outside_though_nothing_is_packed),
      cmocka_unit_test(the_first_tile_of_rows_fetches_for_all),
      cmocka_unit_test(steps_share_what_the_next_copy_reads),
      cmocka_unit_test(steps_share_what_the_next_tile_needs_at_its_end),
      cmocka_unit_test(packs_of_operands_that_slide_are_right),
      cmocka_unit_test(columns_along_axes_that_lie_apart_are_right),
      cmocka_unit_test(axes_of_one_element_are_right),
      cmocka_unit_test(axes_of_groups_are_right),
      cmocka_unit_test(windows_that_stick_out_of_their_operand_are_right),
      cmocka_unit_test(packs_under_bounds_of_data_are_right),
      cmocka_unit_test(packs_in_blocks_are_right),
      cmocka_unit_test(lookups_and_segments_are_right),
      cmocka_unit_test(data_equations_of_every_row_are_right),
      cmocka_unit_test(sums_over_data_equations_are_right),
      cmocka_unit_test(ranges_around_an_empty_one_are_kept),
      cmocka_unit_test(parts_of_factors_are_read_and_copied),
      cmocka_unit_test(products_of_many_factors_are_right),
      cmocka_unit_test(a_part_of_a_condition_that_data_decide_is_right),
      cmocka_unit_test(conditions_that_protect_the_reads_of_others_stay),
      cmocka_unit_test(operands_beside_a_range_that_moves_are_copied),
      cmocka_unit_test(all_types_are_right),
      cmocka_unit_test(products_of_integers_are_right),
      cmocka_unit_test(pieces_with_strides_are_right),
      cmocka_unit_test(random_numbers_do_not_depend_on_the_schedule),
      cmocka_unit_test(batched_products_and_softmax_are_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
