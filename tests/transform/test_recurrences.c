/* Passes leave definitions of a recurrence whole: each of these would become several that have no
 * order. */
#include "ir/clone.h"
#include "ir/order.h"
#include "tests/transform/world.h"
#include "transform/winograd/winograd.h"

static neo_status filter_always(const neo_pass_context *pass) {
  return neo_winograd(pass, true);
}

static void stays(neo_pass_fn *pass, const char *text) {
  world w;
  neo_str why;
  load(&w, text);
  neo_str_init(&why, &w.arena);
  const char *before = text_of(&w);
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  apply(&w, pass);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void remainders_make_no_pieces(void **state) {
  (void)state;
  stays(neo_pass_polyphase, "neo-ir 1\nmodule t\nsize N 1..9\ninput x : f32 [N]\ntemp y : f32 [N]\n"
                            "def @1 y[i: N] =\n  sum[t: i] where (t + i) % 3 != 1;\n  y[t]\n"
                            "  then x[i] + acc0\nentry forward forward: y = y\n");
}

static void a_filter_along_its_own_axis_is_not_made_from_fewer_products(void **state) {
  (void)state;
  stays(filter_always,
        "neo-ir 1\nmodule t\ninput F : f32 [48, 64, 3]\ntemp Y : f32 [48, 64]\n"
        "def @1 Y[k: 48, q: 64] =\n  sum[c: 48, s: 3] F[k, c, s] * (Y[c, q + s - 3] else 0.0)\n"
        "  then acc0\nentry forward forward: Y = Y\n");
}

static void a_condition_stays_with_the_reads_that_it_orders(void **state) {
  (void)state;
  stays(neo_pass_factor,
        "neo-ir 1\nmodule t\ninput p : i32 [40] < 40\ninput U : f32 [16, 16]\n"
        "temp h : f32 [40, 16]\ndef @1 h[t: 40, j: 16] =\n"
        "  sum[k: 16] where i64(p[t]) < t;\n  h[i64(p[t]), k] * U[k, j]\n  then 1.0 + acc0\n"
        "entry forward forward: h = h\n");
}

static void a_product_that_does_not_need_it_leaves_the_recurrence(void **state) {
  (void)state;
  world w;
  neo_str why;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [9, 16]\ninput W : f32 [16, 8]\n"
           "input U : f32 [8, 8]\ntemp h : f32 [9, 8]\ntemp g : f32 [9, 8]\n"
           "def @1 g[t: 9, j: 8] =\n  sum[k: 8]\n  (h[t - 1, k] else 0.0) * U[k, j]\n"
           "def @2 h[t: 9, j: 8] =\n  sum[d: 16]\n  X[t, d] * W[d, j]\n"
           "  then tanh(acc0 + g[t, j])\nentry forward forward: h = h\n");
  neo_str_init(&why, &w.arena);
  apply(&w, neo_pass_distribute);
  const char *text = text_of(&w);
  assert_non_null(strstr(text, "partial.h[t: 9, j: 8] =\n    sum[d: 16] X[t, d] * W[d, j]\n"));
  assert_non_null(strstr(text, " h[t: 9, j: 8] = tanh(partial.h[t, j] + g[t, j])\n"));
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  apply(&w, neo_pass_distribute);
  assert_string_equal(text_of(&w), text);
  neo_arena_free(&w.arena);
}

/* A carry of a scan, as the frontend writes it. */
static void readers_of_a_copy_read_what_is_copied(void **state) {
  (void)state;
  world w;
  neo_str why;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [9, 8]\ninput U : f32 [8, 8]\ninput a : f32 [8]\n"
           "temp zero : f32 [8]\ntemp H : f32 [9, 8]\ntemp N : f32 [9, 8]\ntemp P : f32 [9, 8]\n"
           "temp A : f32 [9, 8]\n"
           "def @1 zero[j: 8] = 0.0\n"
           "def @2 H[t: 9, j: 8] = (N[t - 1, j] else zero[j])\n"
           "def @3 A[t: 9, j: 8] = (N[t - 1, j] else a[j])\n"
           "def @4 N[t: 9, j: 8] =\n  sum[k: 8]\n  H[t, k] * U[k, j]\n"
           "  then X[t, j] + A[t, j] + acc0\n"
           "def @5 P[t: 9, j: 8] = H[t, j] + A[t, j]\n"
           "entry forward forward: N = N, P = P\n");
  neo_str_init(&why, &w.arena);
  apply(&w, neo_pass_forward_copies);
  const char *text = text_of(&w);
  assert_non_null(strstr(text, "sum[k: 8] (N[t - 1, k] else 0.0) * U[k, j]\n"
                               "    then X[t, j] + (N[t - 1, j] else a[j]) + acc0\n"));
  /* outside of the recurrence only where the first values are 0 */
  assert_non_null(strstr(text, "P[t: 9, j: 8] = (N[t - 1, j] else 0.0) + A[t, j]\n"));
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  apply(&w, neo_pass_forward_copies);
  assert_string_equal(text_of(&w), text);
  neo_arena_free(&w.arena);
}

/* The first values of a cell that a layer of the library calls come by way of copies. */
static void a_copy_of_a_constant_is_that_constant(void **state) {
  (void)state;
  world w;
  load(&w,
       "neo-ir 1\nmodule t\ninput X : f32 [9, 8]\ntemp zero : f32 [8]\ntemp first : f32 [2, 8]\n"
       "temp H : f32 [9, 8]\ntemp N : f32 [9, 8]\ntemp P : f32 [9, 8]\n"
       "def @1 zero[j: 8] = 0.0\ndef @2 first[i: 2, j: 8] = zero[j]\n"
       "def @3 H[t: 9, j: 8] = (N[t - 1, j] else first[1, j])\n"
       "def @4 N[t: 9, j: 8] = X[t, j] + H[t, j]\ndef @5 P[t: 9, j: 8] = 2.0 * H[t, j]\n"
       "entry forward forward: N = N, P = P\n");
  apply(&w, neo_pass_forward_copies);
  assert_non_null(strstr(text_of(&w), "P[t: 9, j: 8] = 2.0 * (N[t - 1, j] else 0.0)\n"));
  neo_arena_free(&w.arena);
}

/* A next value that is another tensor, as it is; the recurrence has one tensor then. */
static void whole_copies_are_not_kept_for_reads_of_earlier_rounds(void **state) {
  (void)state;
  world w;
  neo_str why;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [9, 8]\ntemp H : f32 [9, 8]\ntemp N : f32 [9, 8]\n"
           "temp O : f32 [9, 8]\ntemp R : f32 [9, 8]\n"
           "def @1 H[t: 9, j: 8] = (N[t - 1, j] else 0.0)\n"
           "def @2 O[t: 9, j: 8] = X[t, j] + 0.5 * H[t, j] + (R[t - 1, j] else 1.0)\n"
           "def @3 N[t: 9, j: 8] = O[t, j]\ndef @4 R[t: 9, j: 8] = O[t, 7 - j]\n"
           "entry forward forward: O = O\n");
  neo_str_init(&why, &w.arena);
  apply(&w, neo_pass_forward_copies);
  assert_non_null(strstr(text_of(&w), "O[t: 9, j: 8] = X[t, j] + 0.5 * (O[t - 1, j] else 0.0) + "
                                      "select(0 <= t - 1, O[t - 1, 7 - j], 1.0)\n"));
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  neo_arena_free(&w.arena);
}

/* `next a = b, b = n`: a is n of the round before the last. */
static void copies_of_copies_read_earlier_rounds(void **state) {
  (void)state;
  world w;
  neo_str why;
  load(&w, "neo-ir 1\nmodule t\nsize T 1..9\ninput x : f32 [8]\ninput z : f32 [8]\n"
           "temp A : f32 [T, 8]\ntemp B : f32 [T, 8]\ntemp first : f32 [8]\ntemp N : f32 [T, 8]\n"
           "temp y : f32 [8]\n"
           "def @1 first[j: 8] = z[j]\n"
           "def @2 A[t: T, j: 8] = (B[t - 1, j] else x[j])\n"
           "def @3 B[t: T, j: 8] = (N[t - 1, j] else first[j])\n"
           "def @4 N[t: T, j: 8] = tanh(A[t, j])\n"
           "def @5 y[j: 8] = B[T - 1, j]\n"
           "entry forward forward: y = y\n");
  neo_str_init(&why, &w.arena);
  apply(&w, neo_pass_forward_copies);
  const char *text = text_of(&w);
  assert_non_null(
      strstr(text, " N[t: T, j: 8] = tanh(select(0 <= t - 1, (N[t - 2, j] else z[j]), x[j]))\n"));
  assert_non_null(strstr(text, " y[j: 8] = (N[T - 1 - 1, j] else z[j])\n"));
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  neo_arena_free(&w.arena);
}

/* `next a = b, b = c, c = a` */
static void carries_that_change_places_repeat_their_first_values(void **state) {
  (void)state;
  world w;
  neo_str why;
  load(&w, "neo-ir 1\nmodule t\ninput x : f32 [8]\ninput z : f32 [8]\ntemp A : f32 [9, 8]\n"
           "temp B : f32 [9, 8]\ntemp C : f32 [9, 8]\ntemp y : f32 [9, 8]\n"
           "def @1 A[t: 9, j: 8] = (B[t - 1, j] else x[j])\n"
           "def @2 B[t: 9, j: 8] = (C[t - 1, j] else z[7 - j])\n"
           "def @3 C[t: 9, j: 8] = (A[t - 1, j] else 2.0)\n"
           "def @4 y[t: 9, j: 8] = tanh(B[t, j])\n"
           "entry forward forward: y = y\n");
  neo_str_init(&why, &w.arena);
  apply(&w, neo_pass_forward_copies);
  assert_non_null(strstr(text_of(&w), " B[t: 9, j: 8] = select(t % 3 == 0, z[7 - j], "
                                      "select(t % 3 == 1, 2.0, x[j]))\n"));
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  neo_arena_free(&w.arena);
}

/* In blocks of 4 rounds; the text has both sums, and the pass leaves what it made. */
static void becomes_tiled(const char *text, const char *before, const char *within) {
  world w;
  load(&w, text);
  w.target.tile_iterations = 4;
  apply(&w, neo_pass_tile_recurrences);
  const char *made = text_of(&w);
  if (!strstr(made, before) || !strstr(made, within))
    fail_msg("%s%sare not in\n%s", before, within, made);
  apply(&w, neo_pass_tile_recurrences);
  assert_string_equal(text_of(&w), made);
  neo_arena_free(&w.arena);
}

static void sums_over_earlier_rounds_are_divided_at_blocks(void **state) {
  (void)state;
  becomes_tiled(
      "neo-ir 1\nmodule t\ninput L : f32 [9, 9]\ninput b : f32 [9, 3]\ntemp x : f32 [9, 3]\n"
      "def @1 x[i: 9, r: 3] =\n  sum[k: i] L[i, k] * x[k, r]\n  then b[i, r] - acc0\n"
      "entry forward forward: x = x\n",
      " tiled.x[i: 9, r: 3] =\n    sum[k: i / 4 * 4] L[i, k] * x[k, r]\n",
      " x[i: 9, r: 3] =\n    sum[k: i / 4 * 4..i] L[i, k] * x[k, r]\n"
      "    then b[i, r] - (tiled.x[i, r] + acc0)\n");
}

/* Blocks are those of the rounds: the last one that is whole ends at 8, in which direction they
 * run. */
static void sums_over_later_positions_are_divided_where_rounds_run_down(void **state) {
  (void)state;
  becomes_tiled(
      "neo-ir 1\nmodule t\ninput L : f32 [9, 9]\ninput b : f32 [9, 3]\ntemp x : f32 [9, 3]\n"
      "def @1 x[i: 9, r: 3] =\n  sum[k: i + 1..9] L[k, i] * x[k, r]\n  then b[i, r] - acc0\n"
      "entry forward forward: x = x\n",
      " tiled.x[i: 9, r: 3] =\n    sum[k: i / 4 * 4 + 4..9] L[k, i] * x[k, r]\n",
      "    sum[k: i + 1..min(9, i / 4 * 4 + 4)] L[k, i] * x[k, r]\n");
}

/* A recurrence along the last dimension, which becomes the first; users see a copy. */
static void rounds_of_tiled_recurrences_are_the_first_dimension(void **state) {
  (void)state;
  becomes_tiled("neo-ir 1\nmodule t\ninput A : f32 [9, 9]\ntemp L : f32 [9, 9]\n"
                "def @1 L[i: 9, j: 9] =\n  sum[k: j] where not (i < j);\n  L[i, k] * L[j, k]\n"
                "  then A[i, j] - acc0\nentry forward forward: L = L\n",
                " L[i: 9, j: 9] = outermost.L[j, i]\n",
                " tiled.L[j: 9, i: 9] =\n    sum[k: j / 4 * 4] where 0 <= i - j / 4 * 4;\n"
                "    outermost.L[k, i] * outermost.L[k, j]\n");
}

/* The product is wider than the sum, which takes it under its own condition. */
static void a_widened_product_is_used_where_the_condition_holds(void **state) {
  (void)state;
  becomes_tiled(
      "neo-ir 1\nmodule t\ninput L : f32 [9, 9]\ninput b : f32 [9, 3]\ntemp x : f32 [9, 3]\n"
      "def @1 x[i: 9, r: 3] =\n  sum[k: i] where r < i;\n  L[i, k] * x[k, r]\n  then b[i, r] - acc0\n"
      "entry forward forward: x = x\n",
      "    sum[k: i / 4 * 4] where 0 <= i / 4 * 4 - r + 2;\n    L[i, k] * x[k, r]\n",
      "    then b[i, r] - (select(r < i, tiled.x[i, r], 0.0) + acc0)\n");
}

/* The condition keeps the read of D in range: it may not be widened. */
static void a_condition_that_keeps_reads_in_range_is_not_widened(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput D : f32 [9]\ninput b : f32 [9, 9]\ntemp x : f32 [9, 9]\n"
           "def @1 x[i: 9, r: 9] =\n  sum[k: i] where not (r < i);\n  D[r - i] * x[k, r]\n"
           "  then b[i, r] - acc0\nentry forward forward: x = x\n");
  w.target.tile_iterations = 4;
  const char *before = text_of(&w);
  apply(&w, neo_pass_tile_recurrences);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

/* Each element of d is used once, and nobody else wants them. */
static void a_sum_over_the_rounds_runs_with_them(void **state) {
  (void)state;
  becomes_by(neo_pass_running_sums,
             "neo-ir 1\nmodule t\ninput x : f32 [9, 8]\ntemp d : f32 [9, 8]\ntemp g : f32 [8]\n"
             "def @1 d[t: 9, i: 8] = x[t, i] + 0.5 * (d[t + 1, i] else 0.0)\n",
             "def @2 g[i: 8] =\n  sum[t: 2..9]\n  d[t, i] * x[t, i]\n  then 2.0 * acc0\n"
             "entry forward forward: g = g\n",
             NULL,
             " g[i: 8] = 2.0 * (running.g[2, i] else 0.0)\n"
             "def @3 from @2 running.g[t: 9, i: 8] = (running.g[t + 1, i] else 0.0) + "
             "select(2 <= t, d[t, i] * x[t, i], 0.0)\n");
}

static void sums_over_rounds_that_use_elements_again_or_share_them_stay(void **state) {
  (void)state;
  stays(neo_pass_running_sums,
        "neo-ir 1\nmodule t\ninput x : f32 [9, 8]\ntemp d : f32 [9, 8]\ntemp g : f32 [8, 8]\n"
        "def @1 d[t: 9, i: 8] = x[t, i] + 0.5 * (d[t + 1, i] else 0.0)\n"
        "def @2 g[k: 8, i: 8] =\n  sum[t: 9]\n  x[t, k] * d[t, i]\nentry forward forward: g = g\n");
  stays(neo_pass_running_sums,
        "neo-ir 1\nmodule t\ninput x : f32 [9, 8]\ntemp d : f32 [9, 8]\ntemp g : f32 [8]\n"
        "temp y : f32 [9, 8]\ndef @1 d[t: 9, i: 8] = x[t, i] + 0.5 * (d[t + 1, i] else 0.0)\n"
        "def @2 g[i: 8] =\n  sum[t: 9]\n  x[t, i] * d[t, i]\n"
        "def @3 y[t: 9, i: 8] = d[8 - t, i]\nentry forward forward: g = g, y = y\n");
}

/* The element's round is i + j: all that it reads is of rounds before. Elements of no position j
 * are read by nobody. */
static void recurrences_along_two_axes_run_along_wavefronts(void **state) {
  (void)state;
  becomes_by(
      neo_pass_skew, "neo-ir 1\nmodule t\ninput c : f32 [9, 12]\ntemp D : f32 [9, 12]\n",
      "def @1 D[i: 9, j: 12] = c[i, j] + min((D[i - 1, j] else 9.0), (D[i, j - 1] else 9.0))\n"
      "entry forward forward: D = D\n",
      "temp skewed.D : f32 [20, 9] partial\n",
      " skewed.D[j: 20, i: 9] =\n"
      "    let $0 = 0 <= j - i and j - i < 12;\n"
      "    select($0, c[i, j - i] + min(select($0, (skewed.D[j - 1, i - 1] else 9.0), 9.0), "
      "select(0 <= j - i - 1 and j - i - 1 < 12, (skewed.D[j - 1, i] else 9.0), 9.0)), 0.0)\n"
      "def @2 from @1 D[i: 9, j: 12] = skewed.D[i + j, i]\n");
}

/* (i - 1, j + 1) would be of the same round if i counted once. */
static void wavefronts_are_as_steep_as_reads_need(void **state) {
  (void)state;
  becomes_by(
      neo_pass_skew, "neo-ir 1\nmodule t\ninput c : f32 [9, 12]\ntemp D : f32 [9, 12]\n",
      "def @1 D[i: 9, j: 12] = c[i, j] + min((D[i - 1, j + 1] else 9.0), (D[i, j - 1] else 9.0))\n"
      "entry forward forward: D = D\n",
      NULL, " D[i: 9, j: 12] = skewed.D[i * 2 + j, i]\n");
}

/* Rounds i + 8 - j; the shorter axis is the one of lanes. */
static void wavefronts_of_axes_that_run_against_each_other_have_a_shift(void **state) {
  (void)state;
  becomes_by(
      neo_pass_skew, "neo-ir 1\nmodule t\ninput c : f32 [12, 9]\ntemp D : f32 [12, 9]\n",
      "def @1 D[i: 12, j: 9] = c[i, j] + min((D[i - 1, j] else 9.0), (D[i, j + 1] else 9.0))\n"
      "entry forward forward: D = D\n",
      NULL, " D[i: 12, j: 9] = skewed.D[i - j + 8, j]\n");
}

/* A sum over what a row has is at no constant distance. */
static void recurrences_that_read_rows_are_not_skewed(void **state) {
  (void)state;
  stays(neo_pass_skew,
        "neo-ir 1\nmodule t\ninput c : f32 [9, 9]\ntemp L : f32 [9, 9]\n"
        "def @1 L[i: 9, j: 9] =\n  sum[k: j] where not (i < j);\n  L[i, k] * L[j, k]\n"
        "  then c[i, j] - acc0\nentry forward forward: L = L\n");
}

/* Others that use each element once, round by round, do not need all of a large tensor at once. */
static void sums_over_rounds_run_with_them_beside_what_follows_the_rounds(void **state) {
  (void)state;
  const char *text =
      "neo-ir 1\nmodule t\ninput x : f32 [9, 8]\ntemp d : f32 [9, 8]\ntemp g : f32 [8]\n"
      "temp y : f32 [9, 8]\ndef @1 d[t: 9, i: 8] = x[t, i] + 0.5 * (d[t + 1, i] else 0.0)\n"
      "def @2 g[i: 8] =\n  sum[t: 9]\n  x[t, i] * d[t, i]\n"
      "def @3 y[t: 9, i: 8] = d[t, i] * x[t, i]\nentry forward forward: g = g, y = y\n";
  world w;
  stays(neo_pass_running_sums, text);
  load(&w, text);
  w.target.tile_iterations = 4;
  apply(&w, neo_pass_running_sums);
  assert_non_null(strstr(text_of(&w), " g[i: 8] = (running.g[0, i] else 0.0)\n"));
  neo_arena_free(&w.arena);
}

static void become_blocks(const char *text, bool changes) {
  world w;
  neo_str why;
  load(&w, text);
  w.target.tile_iterations = 4;
  const char *before = text_of(&w);
  neo_str_init(&why, &w.arena);
  apply(&w, neo_pass_reassociate);
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  assert_int_equal(strcmp(text_of(&w), before) != 0, changes);
  neo_arena_free(&w.arena);
}

/* Sums of blocks start from nothing, and a block starts with those of the blocks before it. */
static void linear_recurrences_become_recurrences_of_blocks(void **state) {
  (void)state;
  world w;
  neo_str why;
  load(&w, "neo-ir 1\nmodule t\nsize T 1..9000\ninput a : f32 [T, 3]\ninput x : f32 [T, 3]\n"
           "temp h : f32 [T, 3]\n"
           "def @1 h[t: T, d: 3] = x[t, d] - a[t, d] * (h[t - 1, d] else 2.0)\n"
           "entry forward forward: h = h\n");
  neo_str_init(&why, &w.arena);
  w.target.tile_iterations = 4;
  apply(&w, neo_pass_reassociate);
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  const char *text = text_of(&w);
  const char *parts[] = {
      " h[t: T, d: 3] = blocks.h[t / 4, t % 4, d]\n",
      " sums.h[_0: 4, _1: (T + 3) / 4 - 1, _2: 3] = x[_0 + _1 * 4, _2] - a[_0 + _1 * 4, _2] * "
      "select(1 <= _0 + _1 * 4, (sums.h[_0 - 1, _1, _2] else 0.0), 2.0)\n",
      " factors.h[_0: 4, _1: 1, _2: (T + 3) / 4 - 1, _3: 3] = -a[_0 + _2 * 4, _3] * "
      "(factors.h[_0 - 1, _1, _2, _3] else 1.0)\n",
      "    sum[_3: 1] where 1 < _0;\n"
      "    ends2.h[_3, _0 - 1, _2] * starts.h[_0 - 1, _3, _2]\n"
      "    then select(1 <= _0, ends.h[_0 - 1, _2] + acc0, 0.0)\n"};
  for (size_t k = 0; k < sizeof parts / sizeof *parts; k++)
    assert_non_null(strstr(text, parts[k]));
  apply(&w, neo_pass_reassociate); /* those of a block, and of starts, once more */
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  neo_arena_free(&w.arena);
}

/* Another order of the rounds would be another value. */
static void recurrences_that_are_not_linear_have_no_blocks(void **state) {
  (void)state;
#define OF(value)                                                                       \
  "neo-ir 1\nmodule t\ninput x : f32 [90]\ntemp h : f32 [90]\ndef @1 h[t: 90] = " value \
  "\nentry forward forward: h = h\n"
  become_blocks(OF("x[t] + 0.5 * (h[t - 1] else 0.0) - (h[t - 3] else x[t])"), true);
  become_blocks(OF("select(x[t] < 0.0, x[t], (h[t - 1] else 0.0) / x[t])"), true);
  become_blocks(OF("x[t] * -(h[t + 2] else 0.0)"), true);
  become_blocks(OF("x[t] + tanh((h[t - 1] else 0.0))"), false);
  become_blocks(OF("(h[t - 2] else 1.0) * (h[t - 1] else 0.0)"), false);
  become_blocks(OF("x[t] / (h[t - 1] else 1.0)"), false);
  become_blocks(OF("select(0.0 < (h[t - 1] else 0.0), x[t], 1.0)"), false);
  become_blocks(OF("x[t] + 0.5 * (h[t - 9] else 0.0)"), false);
  become_blocks(OF("max(x[t], (h[t - 1] else 0.0))"), false);
#undef OF
}

/* Readers of a sum that a condition empties test the condition, and then the sum is needed nowhere
 * else. */
static void what_is_needed_in_a_branch_is_written_as_if_it_were_taken(void **state) {
  (void)state;
  becomes_by(neo_pass_branches,
             "neo-ir 1\nmodule t\ninput far : bool []\ninput x : f32 [9, 8]\ntemp p : f32 [9, 8]\n"
             "temp a : f32 [9]\ntemp z : f32 [9]\n",
             "def @1 p[n: 9, k: 8] = select(far[], x[n, k], 0.0)\n"
             "def @2 a[n: 9] =\n  sum[k: 8] where far[];\n  p[n, k] * x[n, k]\n"
             "def @3 z[n: 9] = x[n, 0] + a[n]\nentry forward forward: z = z\n",
             NULL,
             "def @1 p[n: 9, k: 8] = x[n, k]\ndef @2 a[n: 9] =\n    sum[k: 8] p[n, k] * x[n, k]\n"
             "def @3 z[n: 9] = x[n, 0] + select(far[], a[n], 0.0)\n");
}

/* An index has to be in range, whoever reads it. */
static void integers_are_needed_in_all_branches(void **state) {
  (void)state;
  stays(neo_pass_branches,
        "neo-ir 1\nmodule t\ninput far : bool []\ninput x : f32 [9]\ntemp p : i32 [9] < 9\n"
        "temp z : f32 [9]\ndef @1 p[n: 9] = select(far[], 3i32, 0i32)\n"
        "def @2 z[n: 9] = select(far[], x[i64(p[n])], 0.0)\nentry forward forward: z = z\n");
}

/* A copy of a definition that reads a later definition, as specialize and prepack make it. */
static void copies_of_definitions_that_need_each_other_read_copies(void **state) {
  (void)state;
  world w;
  neo_str why;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [9, 8]\ntemp g : f32 [9, 8]\ntemp h : f32 [9, 8]\n"
           "def @1 g[t: 9, j: 8] = 0.5 * (h[t - 1, j] else 0.0)\n"
           "def @2 h[t: 9, j: 8] = X[t, j] + g[t, j]\nentry forward forward: h = h\n");
  neo_str_init(&why, &w.arena);
  neo_def defs[] = {{1}, {2}};
  neo_map to;
  neo_map_init(&to, &w.arena);
  neo_defs_clone(w.m, defs, 2, NULL, "copy", &to);
  const char *text = text_of(&w);
  assert_non_null(strstr(text, "copy.g[t: 9, j: 8] = 0.5 * (copy.h[t - 1, j] else 0.0)\n"));
  assert_non_null(strstr(text, "copy.h[t: 9, j: 8] = X[t, j] + copy.g[t, j]\n"));
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  neo_arena_free(&w.arena);
}

/* With blocks of 4 iterations, whatever the sizes of tensors are. */
static void stays_in_blocks(neo_pass_fn *pass, const char *text) {
  world w;
  load(&w, text);
  w.target.tile_iterations = 4;
  const char *before = text_of(&w);
  apply(&w, pass);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

/* y reads the last iteration of d first. */
static void a_sum_over_iterations_stays_where_another_reader_needs_all_of_them(void **state) {
  (void)state;
  stays_in_blocks(
      neo_pass_running_sums,
      "neo-ir 1\nmodule t\ninput x : f32 [9, 8]\ntemp d : f32 [9, 8]\ntemp g : f32 [8]\n"
      "temp y : f32 [9, 8]\n"
      "def @1 d[t: 9, i: 8] = x[t, i] + 0.5 * (d[t + 1, i] else 0.0)\n"
      "def @2 g[i: 8] =\n  sum[t: 9]\n  x[t, i] * d[t, i]\n"
      "def @3 y[t: 9, i: 8] = d[8 - t, i]\nentry forward forward: g = g, y = y\n");
}

/* x is read at k / 2, so no range of k has exactly the terms of iterations before a block. */
static void sums_whose_iteration_is_no_axis_are_not_divided(void **state) {
  (void)state;
  stays_in_blocks(
      neo_pass_tile_recurrences,
      "neo-ir 1\nmodule t\ninput A : f32 [3, 9]\ntemp x : f32 [3, 9]\n"
      "def @1 x[r: 3, i: 9] =\n  sum[k: i]\n  A[r, k] * x[r, k / 2]\n  then 1.0 - acc0\n"
      "entry forward forward: x = x\n");
}

/* A wavefront needs lanes; along two empty axes it would have -1 steps. */
static void axes_that_may_be_empty_or_are_short_are_not_skewed(void **state) {
  (void)state;
#define PLANE(sizes, m, n)                                                                         \
  "neo-ir 1\nmodule t\n" sizes "input c : f32 [" m ", " n "]\ntemp D : f32 [" m ", " n "]\n"       \
  "def @1 D[i: " m ", j: " n "] = c[i, j] + min((D[i - 1, j] else 9.0), (D[i, j - 1] else 9.0))\n" \
  "entry forward forward: D = D\n"
  stays(neo_pass_skew, PLANE("size N 0..9\n", "N", "12"));
  stays(neo_pass_skew, PLANE("size N 0..9\n", "12", "N"));
  stays(neo_pass_skew, PLANE("", "12", "3"));
#undef PLANE
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(remainders_make_no_pieces),
      cmocka_unit_test(a_filter_along_its_own_axis_is_not_made_from_fewer_products),
      cmocka_unit_test(a_product_that_does_not_need_it_leaves_the_recurrence),
      cmocka_unit_test(readers_of_a_copy_read_what_is_copied),
      cmocka_unit_test(a_copy_of_a_constant_is_that_constant),
      cmocka_unit_test(whole_copies_are_not_kept_for_reads_of_earlier_rounds),
      cmocka_unit_test(copies_of_copies_read_earlier_rounds),
      cmocka_unit_test(carries_that_change_places_repeat_their_first_values),
      cmocka_unit_test(sums_over_earlier_rounds_are_divided_at_blocks),
      cmocka_unit_test(sums_over_later_positions_are_divided_where_rounds_run_down),
      cmocka_unit_test(rounds_of_tiled_recurrences_are_the_first_dimension),
      cmocka_unit_test(a_widened_product_is_used_where_the_condition_holds),
      cmocka_unit_test(a_condition_that_keeps_reads_in_range_is_not_widened),
      cmocka_unit_test(a_sum_over_the_rounds_runs_with_them),
      cmocka_unit_test(sums_over_rounds_that_use_elements_again_or_share_them_stay),
      cmocka_unit_test(recurrences_along_two_axes_run_along_wavefronts),
      cmocka_unit_test(wavefronts_are_as_steep_as_reads_need),
      cmocka_unit_test(wavefronts_of_axes_that_run_against_each_other_have_a_shift),
      cmocka_unit_test(recurrences_that_read_rows_are_not_skewed),
      cmocka_unit_test(axes_that_may_be_empty_or_are_short_are_not_skewed),
      cmocka_unit_test(a_sum_over_iterations_stays_where_another_reader_needs_all_of_them),
      cmocka_unit_test(sums_whose_iteration_is_no_axis_are_not_divided),
      cmocka_unit_test(sums_over_rounds_run_with_them_beside_what_follows_the_rounds),
      cmocka_unit_test(linear_recurrences_become_recurrences_of_blocks),
      cmocka_unit_test(recurrences_that_are_not_linear_have_no_blocks),
      cmocka_unit_test(what_is_needed_in_a_branch_is_written_as_if_it_were_taken),
      cmocka_unit_test(integers_are_needed_in_all_branches),
      cmocka_unit_test(copies_of_definitions_that_need_each_other_read_copies),
      cmocka_unit_test(a_condition_stays_with_the_reads_that_it_orders),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
