/* Parallel fusion: what becomes one, what stays, and that values stay the same to the bit. */
#include "base/random.h"
#include "tests/transform/world.h"

static const char *definition(world *w, const char *tensor) {
  neo_tensor t = neo_tensor_find(w->m, tensor);
  assert_true(t.i == 0 || neo_tensor_at(w->m, t)->pieces.n == 1);
  return piece(w, tensor, 0);
}

static void says(world *w, const char *tensor, const char *part) {
  if (!strstr(definition(w, tensor), part))
    fail_msg("%s is not in\n%s", part, definition(w, tensor));
}

static bool exists(world *w, const char *tensor) {
  return neo_tensor_find(w->m, tensor).i != 0;
}

#define HEAD                                                            \
  "neo-ir 1\nmodule t\ninput X : f32 [3, 5]\ninput Z : f32 [3, 8, 5]\n" \
  "param W : f32 [8, 5, 4]\ntemp A : f32 [3, 4]\ntemp B : f32 [3, 4]\n" \
  "temp C : f32 [3, 4]\ntemp Y : f32 [3, 4]\ninit @1 W[g: 8, i: 5, j: 4] = 1.0\n"

static void products_of_one_input_become_one(void **state) {
  (void)state;
  world w;
  load(&w,
       HEAD "def @2 A[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[1, i, j]\n"
            "def @3 B[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[3, i, j]\n"
            "def @4 C[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[5, i, j]\n"
            "def @5 Y[n: 3, j: 4] = A[n, j] - B[n, j] * C[n, j]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "fused.A", "fused.A[n: 3, t: 3, j: 4]");
  says(&w, "fused.A", "X[n, i] * W[t * 2 + 1, i, j]");
  says(&w, "Y", "fused.A[n, 0, j] - fused.A[n, 1, j] * fused.A[n, 2, j]");
  neo_arena_free(&w.arena);
}

/* Then it walks memory as the input does. */
static void the_axis_stands_behind_those_that_the_slices_lie_in(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "def @2 A[n: 3, j: 4] =\n  sum[i: 5] Z[n, 0, i] * W[0, i, j]\n"
                "def @3 B[n: 3, j: 4] =\n  sum[i: 5] Z[n, 1, i] * W[0, i, j]\n"
                "def @5 Y[n: 3, j: 4] = A[n, j] - B[n, j]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "fused.A", "fused.A[n: 3, t: 2, j: 4]");
  says(&w, "fused.A", "Z[n, t, i] * W[0, i, j]");
  neo_arena_free(&w.arena);
}

static void constants_that_do_not_grow_evenly_stay_apart(void **state) {
  (void)state;
  world w;
  load(&w,
       HEAD "def @2 A[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[0, i, j]\n"
            "def @3 B[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[1, i, j]\n"
            "def @4 C[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[5, i, j]\n"
            "def @5 Y[n: 3, j: 4] = A[n, j] - B[n, j] * C[n, j]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "fused.A", "t: 2");
  says(&w, "C", "sum");
  neo_arena_free(&w.arena);
}

static void what_depends_on_each_other_stays_apart(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [3]\ninput W : f32 [2, 3, 3]\ntemp A : f32 [3]\n"
           "temp B : f32 [3]\ntemp Y : f32 [3]\n"
           "def @1 A[j: 3] =\n  sum[i: 3] X[i] * W[0, i, j]\n"
           "def @2 B[j: 3] =\n  sum[i: 3] A[i] * W[1, i, j]\n"
           "def @3 Y[j: 3] = A[j] + B[j]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  assert_false(exists(&w, "fused.A") || exists(&w, "fused.B"));
  neo_arena_free(&w.arena);
}

static void a_sum_that_reads_itself_has_a_distance(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [3]\ntemp Y : f32 [3]\n"
           "def @1 Y[i: 3] =\n  sum[k: i] Y[k]\n  then X[i] - acc0\n"
           "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "Y", "then X[i] - acc0");
  neo_arena_free(&w.arena);
}

static void what_somebody_else_names_stays_apart(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "def @2 A[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[0, i, j]\n"
                "def @3 B[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[1, i, j]\n"
                "def @5 Y[n: 3, j: 4] = A[n, j] - B[n, j]\n"
                "entry forward forward: Y = Y, A = A\n");
  apply(&w, neo_pass_horizontal_fusion);
  assert_false(exists(&w, "fused.A") || exists(&w, "fused.B"));
  neo_arena_free(&w.arena);
}

static void integers_of_different_bounds_stay_apart(void **state) {
  (void)state;
  world w;
  load(
      &w,
      "neo-ir 1\nmodule t\ninput X : i32 [4]\ninput W : i32 [3, 4, 5]\ntemp A : i32 [5] < 2\ntemp B : i32 [5] < 7\n"
      "temp C : i32 [5] < 4\ntemp Y : i32 [5]\n"
      "def @1 A[j: 5] =\n  sum[i: 4] X[i] * W[0, i, j]\n"
      "def @2 B[j: 5] =\n  sum[i: 4] X[i] * W[1, i, j]\n"
      "def @3 C[j: 5] =\n  sum[i: 4] X[i] * W[2, i, j]\n"
      "def @4 Y[j: 5] = A[j] - B[j] * C[j]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  assert_false(exists(&w, "fused.A") || exists(&w, "fused.B") || exists(&w, "fused.C"));
  neo_arena_free(&w.arena);
}

/* Reads of the elements stay in range, as apply proves. */
static void integers_keep_the_ends_of_their_bounds(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : i32 [3, 9] in -1..d1\ninput T : f32 [9]\n"
           "temp A : i32 [9] in -1..d0\ntemp B : i32 [9] in -1..d0\ntemp Y : f32 [9]\n"
           "def @1 A[i: 9] = X[0, i]\ndef @2 B[i: 9] = X[1, i]\n"
           "def @3 Y[i: 9] = T[i64(A[i]) + 1] - T[i64(B[i]) + 1]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  if (!strstr(text_of(&w), "temp fused.A : i32 [2, 9] in -1..d1\n"))
    fail_msg("%s", text_of(&w));
  neo_arena_free(&w.arena);
}

/* Gates with different activations; products inside of a recurrence. */
static void sums_become_one_where_what_follows_differs(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "def @2 A[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[0, i, j]\n  then tanh(acc0)\n"
                "def @3 B[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[1, i, j]\n  then acc0 + A[n, j]\n"
                "def @5 Y[n: 3, j: 4] = A[n, j] - B[n, j]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "fused.A", "X[n, i] * W[t, i, j]");
  says(&w, "A", "= tanh(fused.A[n, 0, j])");
  says(&w, "B", "= fused.A[n, 1, j] + A[n, j]");
  neo_arena_free(&w.arena);
}

static void elementwise_definitions_follow_only_where_they_take_all_slices(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "temp D : f32 [3, 4]\ntemp E : f32 [3, 4]\ntemp F : f32 [3, 4]\n"
                "def @2 A[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[0, i, j]\n"
                "def @3 B[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[1, i, j]\n"
                "def @4 C[n: 3, j: 4] = exp(A[n, j])\ndef @5 D[n: 3, j: 4] = exp(B[n, j])\n"
                "def @6 E[n: 3, j: 4] = sin(Z[n, 0, j])\ndef @7 F[n: 3, j: 4] = sin(Z[n, 1, j])\n"
                "def @8 Y[n: 3, j: 4] = C[n, j] - D[n, j] + E[n, j] * F[n, j]\n"
                "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "fused.C", "exp(fused.A[n, t, j])");
  assert_false(exists(&w, "fused.E"));
  neo_arena_free(&w.arena);
}

/* A sum stands before what became one, and what follows it behind that. */
static void what_follows_a_sum_reads_what_became_one(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "temp T : f32 [3, 5]\ndef @2 T[n: 3, i: 5] = exp(X[n, i])\n"
                "def @3 A[n: 3, j: 4] =\n  sum[i: 5] T[n, i] * W[0, i, j]\n"
                "def @4 B[n: 3, j: 4] =\n  sum[i: 5] T[n, i] * W[1, i, j]\n"
                "def @5 Y[n: 3, j: 4] =\n  sum[g: 8, i: 5] Z[n, g, i] * W[g, i, j]\n"
                "  then acc0 + A[n, j] * B[n, j]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "Y", "acc0 + fused.A[n, 0, j] * fused.A[n, 1, j]");
  neo_arena_free(&w.arena);
}

static void stacked_slices_become_one_piece(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "temp S : f32 [2, 3, 4]\ndef @2 A[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[0, i, j]\n"
                "def @3 B[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[1, i, j]\n"
                "def @4 S[r: 1, n: 3, j: 4] at [r, n, j] = A[n, j]\n"
                "def @5 S[r: 1, n: 3, j: 4] at [r + 1, n, j] = B[n, j]\n"
                "entry forward forward: S = S\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "S", "S[r: 2, n: 3, j: 4] = fused.A[n, r, j]");
  neo_arena_free(&w.arena);
}

/* Its own axis is 0 in a piece, whoever asks. */
static void what_a_piece_asks_of_its_axis_stays_true(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "temp S : f32 [2, 3, 4]\n"
                "def @4 S[r: 1, n: 3, j: 4] at [r, n, j] =\n"
                "  sum[i: r + 2] where r < i; X[n, i] * W[0, i, j]\n"
                "def @5 S[r: 1, n: 3, j: 4] at [r + 1, n, j] =\n"
                "  sum[i: r + 2] where r < i; X[n, i] * W[1, i, j]\n"
                "entry forward forward: S = S\n");
  apply(&w, neo_pass_horizontal_fusion);
  says(&w, "S", "sum[i: 2] where 0 < i;");
  neo_arena_free(&w.arena);
}

static void what_one_entry_needs_alone_stays_out_of_another(void **state) {
  (void)state;
  world w;
  load(&w, HEAD "def @2 A[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[0, i, j]\n"
                "def @3 B[n: 3, j: 4] =\n  sum[i: 5] X[n, i] * W[1, i, j]\n"
                "def @4 C[n: 3, j: 4] = exp(A[n, j])\n"
                "def @5 Y[n: 3, j: 4] = A[n, j] - B[n, j]\n"
                "entry forward forward: C = C\nentry forward test: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  assert_false(exists(&w, "fused.A") || exists(&w, "fused.B"));
  neo_arena_free(&w.arena);
}

static void a_tensor_has_at_most_16_dimensions(void **state) {
  (void)state;
  world w;
#define ONES "1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1"
#define AXES "c: 1, d: 1, e: 1, f: 1, g: 1, h: 1, i: 1, j: 1, k: 1, l: 1, m: 1, n: 1, o: 1, p: 1"
#define INDEX "c, d, e, f, g, h, i, j, k, l, m, n, o, p"
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [2, 3, " ONES "]\ntemp A : f32 [2, 3, " ONES "]\n"
           "temp B : f32 [2, 3, " ONES "]\ntemp Y : f32 [2, 3, " ONES "]\n"
           "def @1 A[a: 2, b: 3, " AXES "] = X[a, 0, " INDEX "]\n"
           "def @2 B[a: 2, b: 3, " AXES "] = X[a, 1, " INDEX "]\n"
           "def @3 Y[a: 2, b: 3, " AXES "] = A[a, b, " INDEX "] * B[a, b, " INDEX "]\n"
           "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_horizontal_fusion);
  assert_false(exists(&w, "fused.A"));
  neo_arena_free(&w.arena);
}

/* ---- values */

enum { MOST = 14 };

static int below(uint64_t *seed, int n) {
  return (int)(neo_splitmix(seed) % (uint64_t)n);
}

/* Definitions of a few families with constants that often grow evenly; some read earlier ones. */
static void add_definition(neo_str *s, int k, uint64_t *seed) {
  int at = below(seed, 4) ? k % 9 : below(seed, 9), other = below(seed, 3) ? 2 : 8 - k % 9;
  int back = k ? below(seed, k) : 0, form = below(seed, k ? 7 : 4);
  neo_str_addf(s, "def @%d P%d[n: 4, j: 5] =", k + 1, k);
  switch (form) {
  case 0:
    neo_str_addf(s, "\n  sum[i: 6] X[%d, n, i] * W[%d, i, j]\n  then tanh(acc0 + b[%d, j])\n",
                 other, at, at);
    break;
  case 1:
    neo_str_addf(s, "\n  sum[i: 6] X[%d, n, i] * W[%d, i, j]\n", at, other);
    break;
  case 2:
    neo_str_addf(s, "\n  max[i: 3] X[%d, n, i + %d] - b[1, 2 * i]\n", at, below(seed, 2));
    break;
  case 3:
    neo_str_addf(s, " X[n + %d, %d, j]\n", at % 5, below(seed, 4));
    break;
  case 4:
    neo_str_addf(s, "\n  sum[i: 5] P%d[n, i] * W[%d, i, j]\n  then acc0 - P%d[n, j]\n", back, at,
                 back);
    break;
  case 5:
    neo_str_addf(s, " sin(P%d[n, j])\n", back);
    break;
  default:
    neo_str_addf(s, " P%d[n, j] * b[%d, j]\n", back, at);
  }
}

static const char *random_program(neo_arena *a, uint64_t seed) {
  int n = 3 + below(&seed, MOST - 3), stacked = 2 + below(&seed, n - 2);
  neo_str s;
  neo_str_init(&s, a);
  neo_str_addf(&s,
               "neo-ir 1\nmodule t\ninput X : f64 [9, 4, 6]\ninput W : f64 [9, 6, 5]\n"
               "input b : f64 [9, 5]\ntemp S : f64 [%d, 4, 5]\ntemp Y : f64 [4, 5]\n",
               stacked);
  for (int k = 0; k < n; k++)
    neo_str_addf(&s, "temp P%d : f64 [4, 5]\n", k);
  for (int k = 0; k < n; k++)
    add_definition(&s, k, &seed);
  for (int k = 0; k < stacked; k++)
    neo_str_addf(&s, "def @%d S[r: 1, n: 4, j: 5] at [r + %d, n, j] = P%d[n, j]\n", n + k + 1, k,
                 n - stacked + k);
  neo_str_addf(&s, "def @%d Y[n: 4, j: 5] = P0[n, j]", n + stacked + 1);
  for (int k = 1; k < n; k++)
    neo_str_addf(&s, " %c P%d[n, j]", below(&seed, 2) ? '+' : '-', k);
  neo_str_add(&s, "\nentry forward forward: S = S, Y = Y\n");
  return neo_str_text(&s);
}

static bool merged_something(const world *w) {
  for (uint32_t t = 1; t < w->m->tensors.n; t++)
    if (!strncmp(neo_name_text(w->m->names, w->m->tensors.at[t].name), "fused.", 6))
      return true;
  return false;
}

static void values_stay_the_same(void **state) {
  (void)state;
  int merged = 0;
  for (uint64_t seed = 1; seed <= 300; seed++) {
    world before, after;
    neo_arena text;
    neo_arena_init(&text, neo_alloc_default, NULL);
    const char *program = random_program(&text, seed);
    load(&before, program);
    load(&after, program);
    apply(&after, neo_pass_horizontal_fusion);
    merged += merged_something(&after);
    neo_interp *x = values_of(&before, 1), *y = values_of(&after, 1);
    for (uint32_t k = 0; k < 2; k++) {
      const neo_values *a = neo_interp_output(x, k), *b = neo_interp_output(y, k);
      assert_int_equal(a->n, b->n);
      if (memcmp(a->at, b->at, (size_t)a->n * sizeof *a->at) != 0)
        fail_msg("seed %d, output %u:\n%s", (int)seed, k, program);
    }
    neo_arena_free(&before.arena);
    neo_arena_free(&after.arena);
    neo_arena_free(&text);
  }
  assert_true(merged > 150);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(products_of_one_input_become_one),
      cmocka_unit_test(integers_of_different_bounds_stay_apart),
      cmocka_unit_test(integers_keep_the_ends_of_their_bounds),
      cmocka_unit_test(the_axis_stands_behind_those_that_the_slices_lie_in),
      cmocka_unit_test(constants_that_do_not_grow_evenly_stay_apart),
      cmocka_unit_test(what_depends_on_each_other_stays_apart),
      cmocka_unit_test(a_sum_that_reads_itself_has_a_distance),
      cmocka_unit_test(what_somebody_else_names_stays_apart),
      cmocka_unit_test(sums_become_one_where_what_follows_differs),
      cmocka_unit_test(elementwise_definitions_follow_only_where_they_take_all_slices),
      cmocka_unit_test(what_follows_a_sum_reads_what_became_one),
      cmocka_unit_test(stacked_slices_become_one_piece),
      cmocka_unit_test(what_a_piece_asks_of_its_axis_stays_true),
      cmocka_unit_test(what_one_entry_needs_alone_stays_out_of_another),
      cmocka_unit_test(a_tensor_has_at_most_16_dimensions),
      cmocka_unit_test(values_stay_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
