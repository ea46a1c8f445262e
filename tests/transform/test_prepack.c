/* Weights of products in the order in which these read them: what is laid out, how, and that values
 * stay the same (data are small integers, so that sums are exact in any order). */
#include "ir/interp/interp.h"
#include "ir/order.h"
#include "tests/transform/world.h"
#include <stdio.h>

static void becomes(const char *before, const char *part) {
  world w;
  load(&w, before);
  apply(&w, neo_pass_prepack);
  if (!strstr(text_of(&w), part))
    fail_msg("%s is not in\n%s", part, text_of(&w));
  neo_arena_free(&w.arena);
}

static void stays(const char *text) {
  world w;
  load(&w, text);
  apply(&w, neo_pass_prepack);
  if (strstr(text_of(&w), "packed."))
    fail_msg("a layout in\n%s", text_of(&w));
  neo_arena_free(&w.arena);
}

#define HEAD                                                                                   \
  "neo-ir 1\nmodule t\nsites 1\nsize B 1..64\ninput X : f32 [B, 96]\nparam W : f32 [96, 64]\n" \
  "param V : f32 [70, 96]\nparam U : f32 [4, 96, 3, 32]\n"                                     \
  "init @1 W[i: 96, j: 64] = f32(i)\ninit @2 V[j: 70, i: 96] = f32(j)\n"                       \
  "init @3 U[h: 4, i: 96, s: 3, j: 32] = f32(s)\ntemp Y : f32 [B, 64]\n"                       \
  "temp Z : f32 [B, 70]\ntemp A : f32 [B, 4, 32]\n"
#define Y_DEF "def @4 Y[b: B, j: 64] =\n  sum[k: 96] X[b, k] * W[k, j]\n  then acc0\n"

static void columns_lie_in_tiles_of_a_cache_line(void **state) {
  (void)state;
  const char *text = HEAD Y_DEF "entry forward forward: Y = Y\n";
  becomes(text, "temp packed.W : f32 [4, 96, 16]");
  becomes(text, "packed.W[t: 4, k: 96, l: 16] = W[k, t * 16 + l]");
  becomes(text, "X[b, k] * packed.W[j / 16, k, j % 16]");
}

static void the_last_tile_is_filled_with_zeros(void **state) {
  (void)state;
  const char *text = HEAD "def @4 Z[b: B, j: 70] =\n  sum[k: 96] X[b, k] * V[j, k]\n  then acc0\n"
                          "entry forward forward: Z = Z\n";
  becomes(text, "temp packed.V : f32 [5, 96, 16]");
  becomes(text, "packed.V[t: 5, k: 96, l: 16] = (V[t * 16 + l, k] else 0.0)");
  becomes(text, "X[b, k] * packed.V[j / 16, k, j % 16]");
}

static void rounded(const char *before, bool pairs, const char *part) {
  world w;
  load(&w, before);
  w.m->math = NEO_PRECISION_BF16;
  w.target.bf16_pairs = pairs;
  apply(&w, neo_pass_mixed_precision);
  apply(&w, neo_pass_prepack);
  if (!strstr(text_of(&w), part))
    fail_msg("%s is not in\n%s", part, text_of(&w));
  neo_arena_free(&w.arena);
}

static void what_is_rounded_lies_as_it_was_rounded(void **state) {
  (void)state;
  const char *text = HEAD Y_DEF "entry forward forward: Y = Y\n";
  rounded(text, false, "temp packed.W : bf16 [4, 96, 16]");
  rounded(text, false, "packed.W[t: 4, k: 96, l: 16] = bf16(W[k, t * 16 + l])");
  rounded(text, false, "f32(bf16(X[b, k])) * f32(packed.W[j / 16, k, j % 16])");
}

static void targets_of_pairs_have_two_steps_side_by_side(void **state) {
  (void)state;
  const char *text = HEAD Y_DEF "entry forward forward: Y = Y\n";
  rounded(text, true, "temp packed.W : bf16 [4, 48, 16, 2]");
  rounded(text, true, "bf16(W[k * 2 + h, t * 16 + l])");
  rounded(text, true, "* f32(packed.W[j / 16, k / 2, j % 16, k % 2])");
}

/* The step beyond the last of an odd number is zero. */
static void an_odd_step_lies_beside_zero(void **state) {
  (void)state;
  const char *text =
      "neo-ir 1\nmodule t\nsize B 1..64\ninput X : f32 [B, 95]\nparam W : f32 [95, 64]\n"
      "init @1 W[i: 95, j: 64] = f32(i)\ntemp Y : f32 [B, 64]\n"
      "def @2 Y[b: B, j: 64] =\n  sum[k: 95] X[b, k] * W[k, j]\n  then acc0\n"
      "entry forward forward: Y = Y\n";
  rounded(text, true, "temp packed.W : bf16 [4, 48, 16, 2]");
  rounded(text, true, "bf16((W[k * 2 + h, t * 16 + l] else 0.0))");
}

/* Heads stay outside; what the reduction walks goes inside, in the order of its axes. */
static void other_dimensions_are_sorted(void **state) {
  (void)state;
  const char *text = HEAD
      "def @4 A[b: B, h: 4, j: 32] =\n  sum[s: 3, k: 96] X[b, k] * U[h, k, s, j]\n  then acc0\n"
      "entry forward forward: A = A\n";
  becomes(text, "temp packed.U : f32 [4, 2, 3, 96, 16]");
  becomes(text, "U[k, k_3, k_2, t * 16 + l]");
  becomes(text, "X[b, k] * packed.U[h, j / 16, s, k, j % 16]");
}

static void readers_in_one_way_share_a_layout(void **state) {
  (void)state;
  world w;
  load(&w, HEAD Y_DEF "temp T : f32 [B, 64]\ndef @5 T[b: B, j: 64] =\n  sum[k: 96] X[b, k] * "
                      "X[b, k] * W[k, j]\n  then acc0\nentry forward forward: Y = Y, T = T\n");
  apply(&w, neo_pass_prepack);
  assert_non_null(
      strstr(text_of(&w), "sum[k: 96] X[b, k] * X[b, k] * packed.W[j / 16, k, j % 16]"));
  assert_null(strstr(text_of(&w), "packed2.W"));
  neo_arena_free(&w.arena);
}

/* The step reads the weights that it trains in their own layout; the forward entry has a packed
 * copy. */
static void entries_that_train_keep_what_they_had(void **state) {
  (void)state;
  world w;
  load(&w, HEAD Y_DEF "temp R : f32 [B, 64]\ndef @5 R[b: B, j: 64] = relu(Y[b, j])\n"
                      "update u : f32 [96, 64] of W\ndef @6 u[k: 96, j: 64] = W[k, j] * 0.5\n"
                      "entry forward forward: R = R\nentry train step: R = R; updates u\n");
  apply(&w, neo_pass_prepack);
  const char *text = text_of(&w);
  assert_non_null(strstr(text, "  sum[k: 96] X[b, k] * W[k, j]"));
  assert_non_null(strstr(text, "  sum[k: 96] X[b, k] * packed.W[j / 16, k, j % 16]"));
  assert_non_null(strstr(text, "packed.R[b: B, j: 64] = relu(packed.Y[b, j])"));
  assert_non_null(strstr(text, "entry forward forward: R = packed.R"));
  assert_non_null(strstr(text, "entry train step: R = R"));
  neo_arena_free(&w.arena);
}

/* A step makes the layout anew, for the products that share it. */
static void weights_that_a_step_reads_often_are_laid_out(void **state) {
  (void)state;
  becomes(HEAD Y_DEF "input S : f32 [B, 96]\ntemp T : f32 [B, 64]\ndef @5 T[b: B, j: 64] =\n"
                     "  sum[k: 96] S[b, k] * W[k, j]\n  then acc0 + Y[b, j]\n"
                     "update u : f32 [96, 64] of W\ndef @6 u[k: 96, j: 64] = W[k, j] * 0.5\n"
                     "entry train step: T = T; updates u\n",
          "sum[k: 96] S[b, k] * packed.W[j / 16, k, j % 16]");
}

/* Does a step over the levels of a graph lay out its weights, where a second cache has so many
 * bytes? They are U[k, l, j], or U[k, j, l]. */
static bool levels_lay_out(int64_t l2_bytes, int columns, bool transposed) {
  world w;
  char text[1024];
  snprintf(text, sizeof text,
           "neo-ir 1\nmodule t\nsites 1\nsize V 0..40\ninput child : i32 [V, 2] in -1..d0\n"
           "input x : f32 [V, %d]\nparam U : f32 [2, %d, %d]\n"
           "init @1 U[k: 2, l: %d, j: %d] = f32(l)\ntemp h : f32 [V, %d]\ntemp s : f32 [V, %d]\n"
           "update u : f32 [2, %d, %d] of U\n"
           "def @2 s[v: V, j: %d] =\n  sum[k: 2, l: %d]\n"
           "  U[k, %s] * (h[i64(child[v, k]), l] else 0.0)\n"
           "def @3 h[v: V, j: %d] = tanh(x[v, j] + s[v, j])\n"
           "def @4 u[k: 2, l: %d, j: %d] = U[k, l, j] * 0.5\n"
           "entry train step: h = h; updates u\n",
           columns, columns, columns, columns, columns, columns, columns, columns, columns, columns,
           columns, transposed ? "j, l" : "l, j", columns, columns, columns);
  load(&w, text);
  w.target.l2_bytes = l2_bytes;
  apply(&w, neo_pass_levels);
  apply(&w, neo_pass_prepack);
  bool found = strstr(text_of(&w), "packed.U") != NULL;
  neo_arena_free(&w.arena);
  return found;
}

/* If blocks of rows read weights equally well in place, a step needs no layout: whole lines side by
 * side, and all in the second cache. */
static void weights_that_a_cache_holds_are_read_in_place_by_blocks_of_rows(void **state) {
  enum { LARGE = 1 << 24, WEIGHTS = 2 * 96 * 96 * 4 };
  (void)state;
  assert_true(levels_lay_out(0, 96, false));
  assert_false(levels_lay_out(LARGE, 96, false));
  assert_false(levels_lay_out(2 * WEIGHTS, 96, false));
  assert_true(levels_lay_out(WEIGHTS, 96, false));
  assert_true(levels_lay_out(LARGE, 96, true));
  assert_true(levels_lay_out(LARGE, 48, false));
}

static void nothing_that_changes_or_is_used_once_is_laid_out(void **state) {
  (void)state;
  stays(HEAD Y_DEF "update u : f32 [96, 64] of W\ndef @6 u[k: 96, j: 64] = W[k, j] * 0.5\n"
                   "entry train step: Y = Y; updates u\n");
  stays(HEAD "input S : f32 [96, 64]\ndef @4 Y[b: B, j: 64] =\n  sum[k: 96] X[b, k] * S[k, j]\n"
             "  then acc0\nentry forward forward: Y = Y\n");
  stays(HEAD "temp T : f32 [64]\ninput S : f32 [96, 64]\ndef @4 T[j: 64] =\n"
             "  sum[k: 96] S[k, j] * W[k, j]\n  then acc0\nentry forward forward: T = T\n");
}

/* A position that moves with the column in two dimensions, or not as itself, has no tiles. */
static void other_indices_are_left_alone(void **state) {
  (void)state;
  stays(HEAD "temp T : f32 [B, 60]\ndef @4 T[b: B, j: 60] =\n  sum[k: 96] X[b, k] * W[k, j + 2]\n"
             "  then acc0\nentry forward forward: T = T\n");
  stays(HEAD "temp T : f32 [B, 50]\ndef @4 T[b: B, j: 50] =\n"
             "  sum[k: 20] X[b, k] * W[k + j, j]\n  then acc0\nentry forward forward: T = T\n");
  stays(HEAD "temp T : f32 [B, 64]\ndef @4 T[b: B, j: 64] =\n"
             "  max[k: 96] X[b, k] * W[k, j]\n  then acc0\nentry forward forward: T = T\n");
}

/* A layout has up to two dimensions more than the tensor, and no tensor has more than 16. */
static void a_tensor_of_fifteen_dimensions_is_left_alone(void **state) {
  (void)state;
#define TWOS "2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, "
#define AXES "a: 2, c: 2, d: 2, e: 2, f: 2, g: 2, h: 2, i: 2, l: 2, m: 2, n: 2, o: 2, p: 2, "
#define AT "a, c, d, e, f, g, h, i, l, m, n, o, p, "
  world w;
  load(&w,
       "neo-ir 1\nmodule t\nsites 1\ninput X : f32 [64, " TWOS "64]\n"
       "param W : f32 [" TWOS "64, 32]\ntemp Y : f32 [64, 32]\n"
       "init @1 W[" AXES "k: 64, j: 32] = 0.5\n"
       "def Y[b: 64, j: 32] =\n  sum[" AXES "k: 64] X[b, " AT "k] * W[" AT "k, j]\n  then acc0\n"
       "entry forward forward: Y = Y\n");
  neo_str why;
  neo_str_init(&why, &w.arena);
  w.m->math = NEO_PRECISION_BF16;
  w.target.bf16_pairs = true;
  assert_int_equal(neo_pass_call(w.m, &w.target, neo_pass_mixed_precision), NEO_OK);
  assert_int_equal(neo_pass_call(w.m, &w.target, neo_pass_prepack), NEO_OK);
  assert_int_equal(neo_module_check(w.m, &why), NEO_OK);
  assert_null(strstr(text_of(&w), "packed.W"));
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(columns_lie_in_tiles_of_a_cache_line),
      cmocka_unit_test(the_last_tile_is_filled_with_zeros),
      cmocka_unit_test(what_is_rounded_lies_as_it_was_rounded),
      cmocka_unit_test(targets_of_pairs_have_two_steps_side_by_side),
      cmocka_unit_test(an_odd_step_lies_beside_zero),
      cmocka_unit_test(other_dimensions_are_sorted),
      cmocka_unit_test(readers_in_one_way_share_a_layout),
      cmocka_unit_test(entries_that_train_keep_what_they_had),
      cmocka_unit_test(weights_that_a_step_reads_often_are_laid_out),
      cmocka_unit_test(weights_that_a_cache_holds_are_read_in_place_by_blocks_of_rows),
      cmocka_unit_test(nothing_that_changes_or_is_used_once_is_laid_out),
      cmocka_unit_test(other_indices_are_left_alone),
      cmocka_unit_test(a_tensor_of_fifteen_dimensions_is_left_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
