/* Images with their channels innermost: what is moved, what follows, what stays, and that values
 * are the same (data are multiples of 1/4, so that short sums are exact in any order). */
#include "tests/transform/world.h"

static void load_for(world *w, const char *text, uint32_t threads) {
  load(w, text);
  w->target.gpu_threads = threads;
}

static void becomes_for(uint32_t threads, const char *before, const char *part) {
  world w;
  load_for(&w, before, threads);
  apply(&w, neo_pass_channels_last);
  if (!strstr(text_of(&w), part))
    fail_msg("%s is not in\n%s", part, text_of(&w));
  neo_arena_free(&w.arena);
}

static void becomes(const char *before, const char *part) {
  becomes_for(0, before, part);
}

static void stays(const char *text) {
  world w, same;
  load(&same, text);
  load(&w, text);
  apply(&w, neo_pass_channels_last);
  assert_string_equal(text_of(&w), text_of(&same));
  neo_arena_free(&same.arena);
  neo_arena_free(&w.arena);
}

/* The first output before and after, to the bit. */
static void keeps_values_for(uint32_t threads, const char *text) {
  world before, after;
  load(&before, text);
  load_for(&after, text, threads);
  apply(&after, neo_pass_channels_last);
  assert_string_not_equal(text_of(&before), text_of(&after));
  const neo_values *x = neo_interp_output(values_of(&before, 3), 0);
  const neo_values *y = neo_interp_output(values_of(&after, 3), 0);
  assert_true(x->n > 0);
  assert_int_equal(x->n, y->n);
  for (int64_t i = 0; i < x->n; i++)
    if (memcmp(&x->at[i], &y->at[i], sizeof x->at[i]))
      fail_msg("%g and %g in\n%s", x->at[i].f, y->at[i].f, text_of(&after));
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

static void keeps_values(const char *text) {
  keeps_values_for(0, text);
}

/* A convolution, what the names of its results stand for, and a sum of all of it. */
#define HEAD                                                                               \
  "neo-ir 1\nmodule t\nsites 0\nsize B 1..64\ninput X : f32 [B, 6, 9, 7]\n"                \
  "input F : f32 [12, 6, 3, 3]\nparam D : f32 [12, 1, 3, 3]\ninput G : f32 [9, 4, 1, 1]\n" \
  "init @1 D[i: 12, j: 1, k: 3, l: 3] = f32(i + k - l) / 4.0\n"                            \
  "temp A : f32 [B, 12, 9, 7]\ntemp Y : f32 [B, 12]\n"
#define A_DEF                             \
  "def @2 A[n: B, k: 12, p: 9, q: 7] =\n" \
  "  sum[c: 6, r: 3, s: 3] F[k, c, r, s] * (X[n, c, p + r - 1, q + s - 1] else 0.0)\n"
#define Y_OF(at, tensor, h, w)                                                        \
  "def @" at " Y[n: B, c: 12] =\n  sum[p: " h ", q: " w "] " tensor "[n, c, p, q] * " \
  "f32(p + 2 * q + 1)\nentry forward forward: Y = Y\n"

static void channels_of_a_convolution_become_innermost(void **state) {
  (void)state;
  const char *text = HEAD A_DEF Y_OF("3", "A", "9", "7");
  becomes(text, "temp A : f32 [B, 9, 7, 12]");
  becomes(text, "A[n: B, p: 9, q: 7, k: 12]");
  becomes(text, "A[n, p, q, c] * f32(");
  keeps_values(text);
}

/* X is the caller's, and lies as it did; a convolution of A has A's channels innermost of its sum.
 */
static void what_a_sum_lies_along_becomes_its_innermost_axis(void **state) {
  (void)state;
  const char *text =
      HEAD "input K : f32 [12, 12, 3, 3]\ntemp C : f32 [B, 12, 5, 4]\n" A_DEF
           "def @3 C[n: B, k: 12, p: 5, q: 4] =\n  sum[c: 12, r: 3, s: 3] K[k, c, r, s] * "
           "(A[n, c, 2*p + r - 1, 2*q + s - 1] else 0.0)\n" Y_OF("4", "C", "5", "4");
  becomes(text, "sum[c: 6, r: 3, s: 3] F[k, c, r, s] * (X[n, c, p + r - 1, q + s - 1] else 0.0)");
  becomes(text, "sum[r: 3, s: 3, c: 12] K[k, c, r, s] * "
                "(A[n, 2 * p + r - 1, 2 * q + s - 1, c] else 0.0)");
  keeps_values(text);
}

static void neighbours_decide_alike(void **state) {
  (void)state;
  const char *text =
      HEAD "temp M : f32 [12]\ntemp R : f32 [B, 12, 9, 7]\ntemp S : f32 [B, 12, 9, 7]\n"
           "temp P : f32 [B, 12, 4, 3]\n" A_DEF
           "def @3 M[c: 12] =\n  mean[n: B, p: 9, q: 7] A[n, c, p, q]\n"
           "def @4 R[n: B, c: 12, p: 9, q: 7] = relu(A[n, c, p, q] - M[c])\n"
           "def @5 S[n: B, c: 12, p: 9, q: 7] = R[n, c % 3 * 4 + c / 3, p, q]\n"
           "def @6 P[n: B, c: 12, p: 4, q: 3] =\n"
           "  max[r: 2, s: 2] (S[n, c, 2*p + r, 2*q + s] else -inf)\n" Y_OF("7", "P", "4", "3");
  becomes(text, "mean[n: B, p: 9, q: 7] A[n, p, q, c]");
  becomes(text, "R[n: B, p: 9, q: 7, c: 12] = relu(A[n, p, q, c] - M[c])");
  becomes(text, "S[n: B, p: 9, q: 7, c: 12] = R[n, p, q, c % 3 * 4 + c / 3]");
  becomes(text, "P[n: B, p: 4, q: 3, c: 12]");
  becomes(text, "(S[n, 2 * p + r, 2 * q + s, c] else -inf)");
  keeps_values(text);
}

/* Groups see their own channels, which are too few. */
static void modules_with_groups_stay(void **state) {
  (void)state;
  const char *text = HEAD
      "temp C : f32 [B, 9, 9, 7]\ntemp Z : f32 [B, 21, 9, 7]\ntemp U : f32 [B, 12, 9, 7]\n" A_DEF
      "def @3 C[n: B, k: 9, p: 9, q: 7] =\n  sum[c: 4, r: 1, s: 1] G[k, c, r, s] * "
      "(A[n, k / 3 * 4 + c, p + r, q + s] else 0.0)\n"
      "def @4 Z[n: B, c: 21, p: 9, q: 7] = select(c < 12, (A[n, c, p, q] else 0.0), "
      "(C[n, c - 12, p, q] else 0.0))\n"
      "def @5 U[n: B, c: 12, p: 9, q: 7] = Z[n, 20 - c, p, q]\n" Y_OF("6", "U", "9", "7");
  stays(text);
}

/* Phases of a strided gradient, and its conditions at the edges. */
static void pieces_keep_strides_and_offsets(void **state) {
  (void)state;
  const char *text =
      HEAD "temp E : f32 [B, 12, 18, 7]\n" A_DEF
           "def @3 E[n: B, c: 12, p: 9, q: 7] at [n, c, 2*p, q] =\n"
           "  sum[s: max(0, q - 5)..min(3, q + 2)] A[n, c, p, q + 1 - s] * F[c, 0, 0, s]\n"
           "def @4 E[n: B, c: 12, p: 9, q: 7] at [n, c, 2*p + 1, q] =\n"
           "  sum[s: max(0, q - 5)..min(3, q + 2)] A[n, c, p, q + 1 - s] * F[c, 1, 0, s]\n" Y_OF(
               "5", "E", "18", "7");
  keeps_values(text);
}

/* Nothing packs filters that one channel has for itself. */
static void filters_of_single_channels_are_turned(void **state) {
  (void)state;
  const char *text = HEAD "temp C : f32 [B, 12, 9, 7]\n" A_DEF
                          "def @3 C[n: B, k: 12, p: 9, q: 7] =\n  sum[r: 3, s: 3] D[k, 0, r, s] * "
                          "(A[n, k, p + r - 1, q + s - 1] else 0.0)\n" Y_OF("4", "C", "9", "7");
  becomes(text, "transposed.D[k: 1, k_1: 3, k_2: 3, c: 12] = D[c, k, k_1, k_2]");
  becomes(text, "transposed.D[0, r, s, k] * (A[n, p + r - 1, q + s - 1, k] else 0.0)");
  keeps_values(text);
}

/* On a GPU filters lie along the channels that are summed up; other sums that use one read the same
 * definition, and what both round is rounded once. A filter that lies so stays, and on a processor
 * all do: there schedules pack them. */
static void filters_of_products_are_turned_for_a_gpu(void **state) {
  enum { THREADS = 1 << 16 };
  (void)state;
  const char *text =
      HEAD "param K : f32 [12, 12, 3, 3]\nparam L : f32 [12, 12, 1, 1]\n"
           "init @2 K[i: 12, j: 12, k: 3, l: 3] = f32((i + 2 * j + k - l) % 5) / 4.0\n"
           "init @3 L[i: 12, j: 12, k: 1, l: 1] = f32((i + 2 * j) % 3) / 4.0\n"
           "temp C : f32 [B, 12, 9, 7]\ntemp E : f32 [B, 12, 9, 7]\n"
           "temp H : f32 [B, 12, 9, 7]\n"
           "def @4 A[n: B, k: 12, p: 9, q: 7] =\n  sum[c: 6, r: 3, s: 3] "
           "F[k, c, r, s] * (X[n, c, p + r - 1, q + s - 1] else 0.0)\n"
           "def @5 C[n: B, k: 12, p: 9, q: 7] =\n  sum[c: 12, r: 3, s: 3] "
           "f32(bf16(K[k, c, r, s])) * (A[n, c, p + r - 1, q + s - 1] else 0.0)\n"
           "def @6 E[n: B, z: 12, p: 9, q: 7] =\n  sum[k: 12, r: 3, s: 3] "
           "f32(bf16(K[k, z, r, s])) * (C[n, k, p + 1 - r, q + 1 - s] else 0.0)\n"
           "def @7 H[n: B, k: 12, p: 9, q: 7] =\n  sum[c: 12] "
           "L[k, c, 0, 0] * E[n, c, p, q]\n" Y_OF("8", "H", "9", "7");
  becomes_for(THREADS, text, "temp transposed.K : bf16 [12, 3, 3, 12]");
  becomes_for(THREADS, text,
              "transposed.K[k: 12, k_1: 3, k_2: 3, c: 12] = bf16(K[k, c, k_1, k_2])");
  becomes_for(THREADS, text, "sum[r: 3, s: 3, c: 12] f32(transposed.K[k, r, s, c]) * ");
  becomes_for(THREADS, text, "sum[r: 3, s: 3, k: 12] f32(transposed.K[k, r, s, z]) * ");
  becomes_for(THREADS, text, "L[k, c, 0, 0] * E[n, p, q, c]");
  becomes(text, "sum[r: 3, s: 3, c: 12] f32(bf16(K[k, c, r, s])) * ");
  keeps_values_for(THREADS, text);
}

static void gradients_of_filters_are_no_images(void **state) {
  (void)state;
  becomes(HEAD "temp V : f32 [12, 12, 3, 3]\n" A_DEF
               "def @3 V[k: 12, c: 12, r: 3, s: 3] =\n  sum[n: B, p: 9, q: 7] "
               "A[n, k, p, q] * (A[n, c, p + r - 1, q + s - 1] else 0.0)\n"
               "def @4 Y[n: B, c: 12] =\n  sum[k: 12, r: 3, s: 3] V[k, c, r, s]\n"
               "entry forward forward: Y = Y\n",
          "V[k: 12, c: 12, r: 3, s: 3] =");
}

static void what_others_name_or_lies_well_stays(void **state) {
  (void)state;
  stays(HEAD A_DEF "entry forward forward: A = A\n");
  stays("neo-ir 1\nmodule t\nsites 0\ninput X : f32 [4, 20, 16]\ninput F : f32 [16, 16, 3]\n"
        "temp A : f32 [4, 18, 16]\ntemp Y : f32 [4]\n"
        "def @1 A[n: 4, t: 18, k: 16] =\n  sum[c: 16, r: 3] F[k, c, r] * X[n, t + r, c]\n"
        "def @2 Y[n: 4] =\n  sum[t: 18, k: 16] A[n, t, k]\nentry forward forward: Y = Y\n");
}

/* Lanes run along the columns of capsules already, and the images before them go with those. */
static void images_beside_capsules_stay(void **state) {
  (void)state;
  stays(HEAD "temp C : f32 [B, 12, 9, 7, 8]\n" A_DEF
             "def @3 C[n: B, c: 12, p: 9, q: 7, i: 8] = A[n, c, p, q] * f32(i)\n"
             "def @4 Y[n: B, c: 12] =\n  sum[p: 9, q: 7, i: 8] C[n, c, p, q, i]\n"
             "entry forward forward: Y = Y\n");
}

/* An axis that bounds others stays before them; flattened images are read by their quotients. */
static void bounds_and_quotients_stay_right(void **state) {
  (void)state;
  const char *text = HEAD
      "temp C : f32 [B, 756]\n" A_DEF "def @3 C[n: B, i: 756] = A[n, i / 63, i / 7 % 9, i % 7]\n"
      "def @4 Y[n: B, c: 12] =\n  sum[k: 12, p: k..min(k + 3, 9), q: 7] A[n, k, p, q] * "
      "C[n, c + k * 63 + q]\nentry forward forward: Y = Y\n";
  becomes(text, "C[n: B, i: 756] = A[n, i / 7 % 9, i % 7, i / 63]");
  becomes(text, "sum[k: 12, p: k..min(k + 3, 9), q: 7] A[n, p, q, k]");
  keeps_values(text);
}

/* One that must stay keeps what has the same definition. */
static void results_of_one_definition_move_alike(void **state) {
  (void)state;
  const char *text =
      HEAD "temp Q : f32 [B, 12, 9, 7]\ntemp R : f32 [B, 12, 9, 7]\n" A_DEF
           "def @3 (Q, R)[n: B, c: 12, p: 9, q: 7] = A[n, c, p, q] + 1.0, A[n, c, p, q] * 2.0\n"
           "def @4 Y[n: B, c: 12] =\n  sum[p: 9, q: 7] Q[n, c, p, q] * f32(p)\n"
           "entry forward forward: Y = Y, R = R\n";
  becomes(text, "temp Q : f32 [B, 12, 9, 7]");
  becomes(text, "temp A : f32 [B, 9, 7, 12]");
  keeps_values(text);
}

static void one_layer_between_what_is_given_and_returned_stays(void **state) {
  (void)state;
  stays("neo-ir 1\nmodule t\nsites 0\nsize B 1..64\ninput X : f32 [B, 12, 9, 7]\n"
        "temp A : f32 [B, 12, 9, 7]\ntemp Y : f32 [B, 12, 9, 7]\n"
        "def @1 A[n: B, c: 12, p: 9, q: 7] = X[n, c, p, q] * 2.0\n"
        "def @2 Y[n: B, c: 12, p: 9, q: 7] =\n  sum[r: 3, s: 3] (A[n, c, p + r - 1, q + s - 1] "
        "else 0.0)\nentry forward forward: Y = Y\n");
}

/* The first of equal elements wins, in the program's order; a maximum without a position has no
 * order. */
static void a_winner_is_looked_for_in_the_order_of_the_program(void **state) {
  (void)state;
  const char *text =
      HEAD "input K : f32 [12, 12, 3, 3]\ntemp C : f32 [B, 12, 5, 4]\n" A_DEF
           "def @3 C[n: B, k: 12, p: 5, q: 4] =\n  sum[c: 12, r: 3, s: 3] K[k, c, r, s] * "
           "(A[n, c, 2*p + r - 1, 2*q + s - 1] else 0.0)\n"
           "def @4 Y[n: B, c: 12] =\n  max[k: 12, p: 5, q: 4] min(C[n, k, p, q], 0.25), "
           "(k * 5 + p) * 4 + q\n  then acc0 + f32(acc1)\n"
           "def @5 M[n: B] =\n  max[k: 12, p: 5, q: 4] C[n, k, p, q]\n"
           "temp M : f32 [B]\nentry forward forward: Y = Y, M = M\n";
  becomes(text, "temp C : f32 [B, 5, 4, 12]");
  becomes(text, "max[k: 12, p: 5, q: 4] min(C[n, p, q, k], 0.25), (k * 5 + p) * 4 + q");
  becomes(text, "max[p: 5, q: 4, k: 12] C[n, p, q, k]");
  keeps_values(text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_winner_is_looked_for_in_the_order_of_the_program),
      cmocka_unit_test(channels_of_a_convolution_become_innermost),
      cmocka_unit_test(what_a_sum_lies_along_becomes_its_innermost_axis),
      cmocka_unit_test(neighbours_decide_alike),
      cmocka_unit_test(modules_with_groups_stay),
      cmocka_unit_test(pieces_keep_strides_and_offsets),
      cmocka_unit_test(filters_of_single_channels_are_turned),
      cmocka_unit_test(filters_of_products_are_turned_for_a_gpu),
      cmocka_unit_test(gradients_of_filters_are_no_images),
      cmocka_unit_test(what_others_name_or_lies_well_stays),
      cmocka_unit_test(images_beside_capsules_stay),
      cmocka_unit_test(one_layer_between_what_is_given_and_returned_stays),
      cmocka_unit_test(bounds_and_quotients_stay_right),
      cmocka_unit_test(results_of_one_definition_move_alike),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
