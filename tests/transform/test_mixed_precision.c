/* Values that --math=bf16 and --store=bf16 round, and values that they leave alone. */
#include "ir/interp/interp.h"
#include "tests/transform/world.h"

static void narrow(world *w, const char *text, neo_precision math, neo_precision store) {
  load(w, text);
  w->m->math = (uint8_t)math;
  w->m->store = (uint8_t)store;
  apply(w, neo_pass_mixed_precision);
}

static void says(world *w, const char *part) {
  if (!strstr(text_of(w), part))
    fail_msg("%s is not in\n%s", part, text_of(w));
}

#define HEAD                                                                      \
  "neo-ir 1\nmodule t\ninput X : f32 [4, 6]\nparam W : f32 [6, 5]\n"              \
  "temp Y : f32 [4, 5]\ntemp Z : f32 [4, 5]\ntemp n : f32 [4]\ntemp L : f32 []\n" \
  "temp dW : f32 [6, 5]\nupdate u : f32 [6, 5] of W\ninit @1 W[i: 6, j: 5] = 0.5\n"

#define BODY                                                 \
  "def @2 Y[b: 4, j: 5] =\n  sum[i: 6] X[b, i] * W[i, j]\n"  \
  "def @3 n[b: 4] =\n  sum[j: 5] Y[b, j] * Y[b, j]\n"        \
  "def @4 Z[b: 4, j: 5] = tanh(Y[b, j]) / n[b]\n"            \
  "def @5 L[] =\n  sum[b: 4, j: 5] Z[b, j]\n"                \
  "def @6 dW[i: 6, j: 5] =\n  sum[b: 4] X[b, i] * Z[b, j]\n" \
  "def @7 u[i: 6, j: 5] = W[i, j] - dW[i, j]\n"              \
  "entry forward forward: L = L\nentry train step: L = L; updates u\n"

static void operands_of_contractions_are_rounded(void **state) {
  (void)state;
  world w;
  narrow(&w, HEAD BODY, NEO_PRECISION_BF16, NEO_PRECISION_F32);
  says(&w, "sum[i: 6] f32(bf16(X[b, i])) * f32(bf16(W[i, j]))");
  says(&w, "sum[b: 4] f32(bf16(X[b, i])) * f32(bf16(Z[b, j]))");
  says(&w, "temp Y : f32");
  neo_arena_free(&w.arena);
}

/* f16 has no value that tf32 lacks; bf16 has fewer digits. */
static void operands_of_f16_are_rounded_to_bf16_alone(void **state) {
  (void)state;
  world w;
  const char *text =
      "neo-ir 1\nmodule t\ninput A : f16 [4, 6]\ninput B : f16 [6, 5]\ntemp Y : f32 [4, 5]\n"
      "def Y[b: 4, j: 5] =\n  sum[i: 6] f32(A[b, i]) * f32(B[i, j])\n"
      "entry forward forward: Y = Y\n";
  narrow(&w, text, NEO_PRECISION_TF32, NEO_PRECISION_F32);
  says(&w, "sum[i: 6] f32(A[b, i]) * f32(B[i, j])");
  neo_arena_free(&w.arena);
  narrow(&w, text, NEO_PRECISION_BF16, NEO_PRECISION_F32);
  says(&w, "sum[i: 6] f32(bf16(f32(A[b, i]))) * f32(bf16(f32(B[i, j])))");
  neo_arena_free(&w.arena);
}

static void sums_of_squares_and_products_of_equal_axes_are_not(void **state) {
  (void)state;
  world w;
  narrow(&w, HEAD BODY, NEO_PRECISION_BF16, NEO_PRECISION_F32);
  says(&w, "sum[j: 5] Y[b, j] * Y[b, j]");
  neo_arena_free(&w.arena);
  narrow(&w,
         HEAD
         "def @2 L[] =\n  sum[b: 4, i: 6] X[b, i] * X[b, 5 - i]\nentry forward forward: L = L\n",
         NEO_PRECISION_BF16, NEO_PRECISION_F32);
  says(&w, "sum[b: 4, i: 6] X[b, i] * X[b, 5 - i]");
  neo_arena_free(&w.arena);
}

static void factors_that_select_or_scale_are_told_from_operands(void **state) {
  (void)state;
  world w;
  narrow(&w,
         HEAD "def @2 Y[b: 4, j: 5] =\n  sum[i: 6] X[b, i] * 2.0 * tanh(W[i, j])\n"
              "entry forward forward: Y = Y\n",
         NEO_PRECISION_BF16, NEO_PRECISION_F32);
  says(&w, "f32(bf16(X[b, i])) * 2.0 * f32(bf16(tanh(W[i, j])))");
  neo_arena_free(&w.arena);
}

static void intermediate_matrices_are_stored_narrow(void **state) {
  (void)state;
  world w;
  narrow(&w, HEAD BODY, NEO_PRECISION_F32, NEO_PRECISION_BF16);
  says(&w, "temp Y : bf16 [4, 5]");
  says(&w, "temp Z : bf16 [4, 5]");
  says(&w, "then bf16(acc0)");
  says(&w, "bf16(tanh(f32(Y[b, j])) / n[b])");
  says(&w, "temp n : f32 [4]");
  neo_arena_free(&w.arena);
}

static void parameters_their_gradients_and_outputs_stay_exact(void **state) {
  (void)state;
  world w;
  narrow(&w, HEAD BODY, NEO_PRECISION_BF16, NEO_PRECISION_BF16);
  says(&w, "param W : f32");
  says(&w, "temp dW : f32");
  says(&w, "update u : f32");
  neo_arena_free(&w.arena);
  narrow(&w,
         HEAD
         "def @2 Y[b: 4, j: 5] =\n  sum[i: 6] X[b, i] * W[i, j]\nentry forward forward: Y = Y\n",
         NEO_PRECISION_F32, NEO_PRECISION_BF16);
  says(&w, "temp Y : f32");
  neo_arena_free(&w.arena);
}

static void what_was_stored_narrow_is_not_rounded_again(void **state) {
  (void)state;
  world w;
  narrow(&w, HEAD BODY, NEO_PRECISION_BF16, NEO_PRECISION_BF16);
  says(&w, "sum[b: 4] f32(bf16(X[b, i])) * f32(Z[b, j])");
  neo_arena_free(&w.arena);
}

/* A read outside has its value in the narrow type too. */
static void reads_with_another_value_outside_are_narrow(void **state) {
  (void)state;
  world w;
  narrow(&w,
         HEAD "def @2 Y[b: 4, j: 5] = X[b, j] + 1.0\n"
              "def @3 n[b: 4] =\n  sum[j: 3] (Y[b, 2 * j] else 0.0) - (Y[b, j + 3] else -inf)\n"
              "entry forward forward: n = n\n",
         NEO_PRECISION_F32, NEO_PRECISION_BF16);
  says(&w, "temp Y : bf16");
  neo_arena_free(&w.arena);
}

/* A gradient has the type of what it is of: neither stays alone. */
static void what_has_a_gradient_by_name_stays_exact(void **state) {
  (void)state;
  world w;
  narrow(&w,
         "neo-ir 1\nmodule t\ninput X : f32 [4, 5]\ntemp A : f32 [4, 5]\ntemp B : f32 [4, 5]\n"
         "temp C : f32 [4, 5]\ntemp dB : f32 [4, 5]\ntemp L : f32 []\ntemp dA : f32 [4, 5]\n"
         "cotangent d : f32 [4, 5]\n"
         "def @1 A[b: 4, j: 5] = sin(X[b, j])\ndef @2 B[b: 4, j: 5] = exp(A[b, j])\n"
         "def @3 C[b: 4, j: 5] = exp(B[b, j])\n"
         "def @4 L[] =\n  sum[b: 4, j: 5] C[b, j]\n"
         "def @5 dA[b: 4, j: 5] = d[b, j] * X[b, j]\ndef @6 dB[b: 4, j: 5] = C[b, j]\n"
         "gradient of L for B into dB done\ncustom X -> A with d -> dA\n"
         "entry forward forward: L = L, dB = dB\n",
         NEO_PRECISION_F32, NEO_PRECISION_BF16);
  says(&w, "temp A : f32");
  says(&w, "temp B : f32");
  neo_arena_free(&w.arena);
}

/* An error of a round would be in all rounds behind it. */
static void recurrences_stay_exact(void **state) {
  (void)state;
  world w;
  narrow(&w,
         "neo-ir 1\nmodule t\ninput X : f32 [4, 5]\ntemp h : f32 [4, 5]\ntemp g : f32 [4, 5]\n"
         "temp Y : f32 [4, 5]\ntemp n : f32 []\n"
         "def @1 g[t: 4, j: 5] = X[t, j] * (h[t - 1, j] else 0.0)\n"
         "def @2 h[t: 4, j: 5] = tanh(g[t, j])\ndef @3 Y[t: 4, j: 5] = exp(h[t, j])\n"
         "def @4 n[] =\n  sum[t: 4, j: 5] Y[t, j]\nentry forward forward: n = n\n",
         NEO_PRECISION_F32, NEO_PRECISION_BF16);
  says(&w, "temp h : f32");
  says(&w, "temp g : f32");
  says(&w, "temp Y : bf16");
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(operands_of_contractions_are_rounded),
      cmocka_unit_test(operands_of_f16_are_rounded_to_bf16_alone),
      cmocka_unit_test(sums_of_squares_and_products_of_equal_axes_are_not),
      cmocka_unit_test(factors_that_select_or_scale_are_told_from_operands),
      cmocka_unit_test(intermediate_matrices_are_stored_narrow),
      cmocka_unit_test(parameters_their_gradients_and_outputs_stay_exact),
      cmocka_unit_test(recurrences_stay_exact),
      cmocka_unit_test(what_was_stored_narrow_is_not_rounded_again),
      cmocka_unit_test(reads_with_another_value_outside_are_narrow),
      cmocka_unit_test(what_has_a_gradient_by_name_stays_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
