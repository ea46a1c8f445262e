/* Passes on small modules in text form. */
#include "ir/interp/interp.h"
#include "tests/transform/world.h"
#include <stdio.h>

static const char *definition(world *w, const char *tensor) {
  return piece(w, tensor, 0);
}

static neo_tensor entry_output(world *w, const char *entry) {
  for (size_t k = 0; k < w->m->entries.n; k++)
    if (neo_streq(neo_name_text(w->m->names, w->m->entries.at[k].name), entry))
      return (neo_tensor){neo_list_at(w->m, w->m->entries.at[k].outputs, 0)};
  fail_msg("no entry %s", entry);
  return (neo_tensor){0};
}

#define TRAINING                                                                           \
  "neo-ir 1\nmodule t\ninput X : f32 [4]\nparam w : f32 []\ntemp A : f32 [4]\n"            \
  "temp Y : f32 [4]\ntemp L : f32 []\nupdate u : f32 [] of w\ninit @1 w[] = 1.0\n"         \
  "def @2 A[i: 4] = X[i] * w[]\ndef @3 Y[i: 4] = select(training, A[i], X[i])\n"           \
  "def @4 L[] =\n  sum[i: 4] Y[i]\ndef @5 u[] = w[] - L[]\nentry forward forward: Y = Y\n" \
  "entry train step: L = L; updates u\n"

static void
training_is_a_constant_in_each_entry_and_what_does_not_depend_on_it_is_shared(void **state) {
  (void)state;
  world w;
  load(&w, TRAINING);
  apply(&w, neo_pass_specialize);
  assert_non_null(strstr(definition(&w, "Y"), "= A[i]"));
  assert_non_null(strstr(definition(&w, "eval.Y"), "= X[i]"));
  assert_int_equal(entry_output(&w, "forward").i, neo_tensor_find(w.m, "eval.Y").i);
  assert_int_equal(entry_output(&w, "step").i, neo_tensor_find(w.m, "L").i);
  assert_int_equal(neo_tensor_find(w.m, "eval.A").i, 0);
  for (uint32_t k = 1; k < w.m->defs.n; k++) {
    const neo_def_rec *d = neo_def_at(w.m, (neo_def){k});
    for (uint32_t i = 0; i < d->finish.n; i++)
      assert_false(neo_expr_uses_op(w.m, neo_list_expr(w.m, d->finish, i), NEO_OP_TRAINING));
  }
  neo_arena_free(&w.arena);
}

static void all_pieces_of_a_tensor_are_copied_where_one_depends_on_training(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp Y : f32 [2, 4]\n"
           "def @1 Y[r: 1, i: 4] at [r, i] = X[i]\n"
           "def @2 Y[r: 1, i: 4] at [r + 1, i] = select(training, X[i], -X[i])\n"
           "entry forward forward: Y = Y\nentry grad grad: Y = Y\n");
  apply(&w, neo_pass_specialize);
  neo_tensor copy = entry_output(&w, "forward");
  assert_int_not_equal(copy.i, entry_output(&w, "grad").i);
  assert_int_equal(neo_tensor_at(w.m, copy)->pieces.n, 2);
  neo_arena_free(&w.arena);
}

static void what_is_one_constant_everywhere_is_read_as_that(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp Z : f32 [4]\ntemp Y : f32 [4]\n"
           "def @1 Z[i: 4] = 0.5\ndef @2 Y[i: 4] = select(0.0 < X[i], X[i], Z[3 - i])\n"
           "entry forward forward: Y = Y, Z = Z\n");
  apply(&w, neo_pass_simplify);
  assert_non_null(strstr(definition(&w, "Y"), "= select(0.0 < X[i], X[i], 0.5)"));
  assert_non_null(strstr(definition(&w, "Z"), "= 0.5"));
  neo_arena_free(&w.arena);
}

static const char *simplified(world *w, const char *where) {
  char text[600];
  snprintf(text, sizeof text,
           "neo-ir 1\nmodule t\ninput b : i32 [9] < 91\ninput c : i32 [90] < 5\n"
           "input X : f32 [90]\ntemp Y : f32 [8]\n"
           "def @1 Y[v: 8] =\n  sum[e: 90] where %s; X[e]\n  then acc0\n"
           "entry forward forward: Y = Y\n",
           where);
  load(w, text);
  apply(w, neo_pass_simplify);
  return definition(w, "Y");
}

/* One end alone, and what a read relies on, stay conditions; so does what is no comparison. */
static void ends_of_a_sum_that_data_say_are_its_range(void **state) {
  (void)state;
  world w;
  assert_non_null(strstr(simplified(&w, "i64(b[v]) <= e and e < i64(b[v + 1])"),
                         "sum[e: i64(b[v])..i64(b[v + 1])] X[e]"));
  neo_arena_free(&w.arena);
  assert_non_null(strstr(simplified(&w, "e < i64(b[v + 1]) and 0.5 < X[e] and i64(b[v]) <= e"),
                         "sum[e: i64(b[v])..i64(b[v + 1])] where 0.5 < X[e]"));
  neo_arena_free(&w.arena);
  assert_non_null(strstr(simplified(&w, "e < i64(b[v])"), "sum[e: 90] where e < i64(b[v])"));
  neo_arena_free(&w.arena);
  assert_non_null(strstr(simplified(&w, "i64(c[e]) == v and (0.5 < X[e] or e < i64(b[v]))"),
                         "sum[e: 90] where"));
  neo_arena_free(&w.arena);
}

static void a_constant_is_read_as_it_is_while_its_gradient_is_asked_for(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp S : f32 [4]\ntemp Z : f32 [4]\n"
           "temp L : f32 []\ntemp dS : f32 [4]\ndef @1 S[i: 4] = 0.5\ndef @2 Z[i: 4] = 0.25\n"
           "def @3 L[] =\n  sum[i: 4] X[i] * S[i] * Z[i]\nentry forward forward: dS = dS\n"
           "gradient of L for S into dS\n");
  apply(&w, neo_pass_simplify);
  assert_non_null(strstr(definition(&w, "L"), "X[i] * S[i] * 0.25"));
  w.m->grads.at[0].done = true;
  apply(&w, neo_pass_simplify);
  assert_non_null(strstr(definition(&w, "L"), "X[i] * 0.5 * 0.25"));
  neo_arena_free(&w.arena);
}

static void a_constant_result_is_read_as_it_is_while_its_own_gradient_may_be_asked_for(void **st) {
  (void)st;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp U : f32 [4]\ncotangent dU : f32 [4]\n"
           "temp dxU : f32 [4]\ntemp L : f32 []\ntemp dX : f32 [4]\ndef @1 U[i: 4] = 0.25\n"
           "def @2 dxU[i: 4] = 3.0 * dU[i]\ndef @3 L[] =\n  sum[i: 4] U[i] * U[i]\n"
           "entry forward forward: dX = dX\ngradient of L for X into dX\n"
           "custom X -> U with dU -> dxU\n");
  apply(&w, neo_pass_simplify);
  assert_non_null(strstr(definition(&w, "L"), "U[i] * U[i]"));
  neo_arena_free(&w.arena);
}

static void equal_definitions_become_one_and_so_do_their_readers(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp A : f32 [4]\ntemp B : f32 [4]\n"
           "temp C : f32 [4]\n"
           "temp D : f32 [4]\ntemp Y : f32 [4]\n"
           "def @1 A[i: 4] = exp(X[i])\ndef @2 B[j: 4] = exp(X[j])\n"
           "def @3 C[i: 4] = A[i] + 1.0\ndef @4 D[i: 4] = B[i] + 1.0\n"
           "def @5 Y[i: 4] = C[i] * D[i]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_cse);
  assert_non_null(strstr(definition(&w, "Y"), "C[i] * C[i]"));
  neo_arena_free(&w.arena);
}

static void a_value_that_is_read_anyway_is_not_computed_again(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4, 5]\ninput z : f32 [4]\ntemp Y : f32 [4, 5]\n"
           "temp A : f32 [5, 4]\ntemp B : f32 [5, 4]\ntemp C : f32 [5, 4]\n"
           "def @1 Y[i: 4, j: 5] = exp(X[i, j] - z[i])\n"
           "def @2 A[j: 5, i: 4] = Y[i, j] * 2.0 + exp(X[i, j] - z[i])\n"
           "def @3 B[j: 5, i: 4] = Y[i, 0] * 2.0 + exp(X[i, j] - z[i])\n"
           "def @4 C[j: 5, i: 4] = exp(X[i, j] - z[i])\n"
           "entry forward forward: A = A, B = B, C = C\n");
  apply(&w, neo_pass_cse);
  assert_non_null(strstr(definition(&w, "A"), "Y[i, j] * 2.0 + Y[i, j]"));
  assert_non_null(strstr(definition(&w, "B"), "exp")); /* another element */
  assert_non_null(strstr(definition(&w, "C"), "exp")); /* not read */
  neo_arena_free(&w.arena);
}

static void a_value_is_read_only_where_its_tensor_has_such_an_element(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [10]\ntemp Y : f32 [5]\ntemp D : f32 [10]\n"
           "temp E : f32 [10]\ntemp F : f32 [10]\ntemp G : f32 [10]\n"
           "def @1 Y[i: 5] = exp(X[i])\n"
           "def @2 D[i: 10] = exp(X[i]) + select(i < 5, Y[i], 0.0)\n"
           "def @3 E[i: 10] = select(i < 3, exp(X[i]), 1.0) + select(i < 5, Y[i], 0.0)\n"
           "def @4 F[i: 10] =\n  sum[j: 10] where j < 5; Y[j]\n  then acc0 + exp(X[i])\n"
           "def @5 G[i: 10] =\n  sum[j: 10] where j < 5 and 1.0 < exp(X[j]); Y[j] + exp(X[j])\n"
           "entry forward forward: D = D, E = E, F = F, G = G\n");
  apply(&w, neo_pass_cse);
  assert_non_null(strstr(definition(&w, "D"), "= exp(X[i]) + select(i < 5, Y[i], 0.0)"));
  assert_non_null(strstr(definition(&w, "E"), "select(i < 3, Y[i], 1.0)"));
  assert_non_null(strstr(definition(&w, "F"), "acc0 + exp(X[i])"));
  assert_non_null(strstr(definition(&w, "G"), "where j < 5 and 1.0 < Y[j];\n    Y[j] + Y[j]"));
  neo_arena_free(&w.arena);
}

/* The pass's result for D, which computes exp(X[i]) at 10 points and reads Y, which has 5 of
 * them. */
static void value_becomes(const char *before, const char *after) {
  world w;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  load(&w, neo_arena_printf(&a,
                            "neo-ir 1\nmodule t\ninput X : f32 [10]\ninput Z : f32 [10]\n"
                            "input W : f32 [3]\ntemp Y : f32 [5]\ntemp D : f32 [10]\n"
                            "def @1 Y[i: 5] = exp(X[i])\ndef @2 D[i: 10] = %s\n"
                            "entry forward forward: D = D\n",
                            before));
  apply(&w, neo_pass_cse);
  if (!strstr(definition(&w, "D"), after))
    fail_msg("%s", definition(&w, "D"));
  neo_arena_free(&w.arena);
  neo_arena_free(&a);
}

static void a_value_is_read_under_all_conditions_of_a_read(void **state) {
  (void)state;
#define A "0.0 < X[i]"
#define B "0.0 < Z[i]"
#define KEPT(text) value_becomes(text, text)
  KEPT("select(" A ", select(" B ", Y[i], 0.0) + exp(X[i]), 0.0)");
  KEPT("select(" A ", select(" B ", Y[i], 0.0), 0.0) + select(" B ", exp(X[i]), 0.0)");
  value_becomes("select(" A ", select(" B ", exp(X[i]), 0.0) + Y[i], 0.0)",
                "select(" A ", select(" B ", Y[i], 0.0) + Y[i], 0.0)");
  value_becomes("select(" A " and " B ", Y[i], 0.0) + select(" B ", select(" A
                ", exp(X[i]), 0.0), 0.0)",
                "select(" B ", select(" A ", Y[i], 0.0), 0.0)");
  KEPT("select(" A " or " B ", Y[i], 0.0) + select(" A ", exp(X[i]), 0.0)");
  value_becomes("select(" A " or " B ", 0.0, Y[i]) + select(" A ", 0.0, select(" B
                ", 0.0, exp(X[i])))",
                "select(" B ", 0.0, Y[i])");
  KEPT("select(" A " and " B ", 0.0, Y[i]) + select(" A ", 0.0, exp(X[i]))");
}

static void a_value_is_not_read_where_a_condition_of_the_read_does_not_hold(void **state) {
  (void)state;
  KEPT("select(" A ", Y[i], 0.0) + select(" A ", 0.0, exp(X[i]))");
  KEPT("select(" A ", Y[i], exp(X[i]))");
  value_becomes("select(not (" A "), Y[i], 0.0) + select(" A ", 0.0, exp(X[i]))",
                "select(" A ", 0.0, Y[i])");
  value_becomes("select(" A " and 0.0 < Y[i], 1.0, 0.0) + select(" A ", exp(X[i]), 0.0)",
                "select(" A ", Y[i], 0.0)");
  KEPT("select(" A " or 0.0 < Y[i], 1.0, 0.0) + select(" A ", exp(X[i]), 0.0)");
  value_becomes("select(" A " or 0.0 < Y[i], 1.0, 0.0) + select(" A ", 0.0, exp(X[i]))",
                "select(" A ", 0.0, Y[i])");
}

static void a_value_for_what_is_outside_is_read_there_alone(void **state) {
  (void)state;
  value_becomes("(W[i] else Y[i] + exp(X[i]))", "(W[i] else Y[i] + Y[i])");
  KEPT("(W[i] else Y[i]) + exp(X[i])");
  KEPT("(W[i] else Y[i]) + (W[i + 1] else exp(X[i]))");
}
#undef A
#undef B

static void a_value_of_a_recurrence_is_read_only_where_it_was_read_before(void **state) {
  (void)state;
  world w;
  load(&w,
       "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp H : f32 [4, 2]\ntemp D : f32 [3]\n"
       "def @1 H[t: 4, c: 2] = select(c == 0, tanh(X[t] + (H[t - 1, 1] else 0.0)), sin(H[t, 0]))\n"
       "def @2 D[q: 3] = select(q == 0, 0.5, tanh(D[0] + 0.5))\n"
       "entry forward forward: H = H, D = D\n");
  apply(&w, neo_pass_cse);
  assert_non_null(strstr(definition(&w, "H"), "tanh(X[t] + (H[t - 1, 1] else 0.0)), sin(H[t, 0])"));
  assert_non_null(strstr(definition(&w, "D"), "= select(q == 0, 0.5, tanh(D[0] + 0.5))"));
  neo_arena_free(&w.arena);
}

static void a_value_that_an_integer_is_made_of_is_computed(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ninput T : f32 [9]\ntemp Y : f32 [4]\n"
           "temp D : f32 [4]\ndef @1 Y[i: 4] = exp(X[i])\n"
           "def @2 D[i: 4] = Y[i] + select(i64(exp(X[i])) < 9, (T[i64(exp(X[i]))] else 0.0), 0.0)\n"
           "entry forward forward: D = D\n");
  apply(&w, neo_pass_cse);
  assert_non_null(strstr(definition(&w, "D"), "< 9, (T[i64(exp(X[i]))] else 0.0)"));
  assert_null(strstr(definition(&w, "D"), "i64(Y[i])"));
  neo_arena_free(&w.arena);
}

static void outputs_keep_their_own_definition(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp A : f32 [4]\ntemp B : f32 [4]\n"
           "def @1 A[i: 4] = exp(X[i])\ndef @2 B[j: 4] = exp(X[j])\n"
           "entry forward forward: A = A, B = B\n");
  apply(&w, neo_pass_cse);
  assert_int_equal(neo_list_at(w.m, w.m->entries.at[0].outputs, 1), neo_tensor_find(w.m, "B").i);
  neo_arena_free(&w.arena);
}

/* A[i] for i < 4 is B[i], but A has more elements: what is beside B is 0 in Y, and in Z it is
 * not. */
static void a_piece_of_a_tensor_does_not_stand_for_a_whole_one(void **state) {
  (void)state;
  for (int k = 0; k < 2; k++) {
    world w;
    load_two(
        &w,
        "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp A : f32 [8]\ntemp B : f32 [4]\n"
        "temp Y : f32 [8]\ntemp Z : f32 [8]\n",
        k ? "def @1 B[i: 4] = exp(X[i])\ndef @2 A[i: 4] = exp(X[i])\ndef @3 A[i: 4] at [i + 4] = X[i]\n"
            "def @4 Y[i: 8] = (B[i] else 0.0)\ndef @5 Z[i: 8] = 2.0 * A[i]\n"
            "entry forward forward: Y = Y, Z = Z\n"
          : "def @1 A[i: 4] = exp(X[i])\ndef @2 A[i: 4] at [i + 4] = X[i]\ndef @3 B[i: 4] = exp(X[i])\n"
            "def @4 Z[i: 8] = 2.0 * A[i]\ndef @5 Y[i: 8] = (B[i] else 0.0)\n"
            "entry forward forward: Z = Z, Y = Y\n");
    apply(&w, neo_pass_cse);
    assert_non_null(strstr(definition(&w, "Y"), "= (B[i] else 0.0)"));
    assert_non_null(strstr(definition(&w, "Z"), "= 2.0 * A[i]"));
    neo_arena_free(&w.arena);
  }
}

static void a_condition_that_may_not_hold_stays(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [4]\ntemp S : f32 []\ntemp T : f32 []\n"
           "def @1 S[] =\n  sum[i: 4] where 0.0 < X[i]; X[i]\ndef @2 T[] =\n"
           "  sum[i: 4] where i < 4; X[i]\nentry forward forward: S = S, T = T\n");
  apply(&w, neo_pass_simplify);
  assert_non_null(strstr(definition(&w, "S"), "where 0.0 < X[i]"));
  assert_null(strstr(definition(&w, "T"), "where"));
  neo_arena_free(&w.arena);
}

static void a_guard_that_always_holds_is_dropped(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\nsize N 1..64\ninput X : f32 [N + 2]\ntemp Y : f32 [N]\n"
           "def @1 Y[i: N] = (X[i + 2] else 0.0)\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_simplify);
  assert_null(strstr(definition(&w, "Y"), "else"));
  neo_arena_free(&w.arena);
}

/* ---- phases and windows */

static uint32_t n_pieces(world *w, const char *tensor) {
  return neo_tensor_at(w->m, neo_tensor_find(w->m, tensor))->pieces.n;
}

static void a_range_that_steps_every_other_place_becomes_two_pieces_of_constant_windows(void **st) {
  (void)st;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput D : f32 [8]\ninput F : f32 [3]\ntemp Y : f32 [16]\n"
           "def @1 Y[z: 16] =\n  sum[p: z / 2..min(8, (z + 1) / 2 + 1)] D[p] * F[z + 1 - 2 * p]\n"
           "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_polyphase);
  apply(&w, neo_pass_normalize_loops);
  assert_int_equal(n_pieces(&w, "Y"), 2);
  assert_non_null(strstr(piece(&w, "Y", 0), "at [2*z]"));
  assert_non_null(strstr(piece(&w, "Y", 0), "sum[p: 1]"));
  assert_non_null(strstr(piece(&w, "Y", 1), "at [2*z + 1]"));
  assert_non_null(strstr(piece(&w, "Y", 1), "min(2, 8 - z)"));
  assert_non_null(strstr(piece(&w, "Y", 1), "D[z + p]"));
  neo_arena_free(&w.arena);
}

static void a_piece_becomes_pieces_of_its_places(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput D : f32 [8]\ninput F : f32 [3]\ntemp Y : f32 [32]\n"
           "def @1 Y[z: 16] at [2 * z] = 1.0\n"
           "def @2 Y[z: 16] at [2 * z + 1] =\n"
           "  sum[p: z / 2..min(8, (z + 1) / 2 + 1)] D[p] * F[z + 1 - 2 * p]\n"
           "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_polyphase);
  assert_int_equal(n_pieces(&w, "Y"), 3);
  assert_non_null(strstr(piece(&w, "Y", 1), "at [4*z + 1]"));
  assert_non_null(strstr(piece(&w, "Y", 2), "at [4*z + 3]"));
  neo_arena_free(&w.arena);
}

static void a_window_cut_at_both_ends_is_one(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput D : f32 [8]\ninput F : f32 [7]\ntemp Y : f32 [16]\n"
           "def @1 Y[z: 16] =\n  sum[p: max(0, z / 2 - 1)..min(8, (z + 1) / 2 + 2)]\n"
           "  D[p] * F[z + 3 - 2 * p]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_polyphase);
  apply(&w, neo_pass_normalize_loops);
  assert_int_equal(n_pieces(&w, "Y"), 2);
  assert_non_null(strstr(piece(&w, "Y", 0), "max(0, 1 - z)..min(3, 9 - z)"));
  assert_non_null(strstr(piece(&w, "Y", 1), "max(0, 1 - z)..min(4, 9 - z)"));
  neo_arena_free(&w.arena);
}

static void the_shortest_window_is_taken_even_if_it_stands_still(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput D : f32 [56]\ninput F : f32 [3]\ntemp Y : f32 [56]\n"
           "def @1 Y[z: 56] =\n  sum[r: max(0, z - 54)..min(3, z + 2)] D[z + 1 - r] * F[r]\n"
           "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_polyphase);
  apply(&w, neo_pass_normalize_loops);
  assert_non_null(strstr(definition(&w, "Y"), "r: max(0, z - 54)..min(3, z + 2)"));
  neo_arena_free(&w.arena);
}

static void a_remainder_that_fixes_a_reduction_axis_is_stepped_over(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput D : f32 [8]\ninput F : f32 [5]\ntemp Y : f32 [15]\n"
           "def @1 Y[z: 15] =\n  sum[r: 5] where (z + 2 - r) % 2 == 0;\n"
           "  (D[(z + 2 - r) / 2] else 0.0) * F[r]\nentry forward forward: Y = Y\n");
  apply(&w, neo_pass_polyphase);
  assert_int_equal(n_pieces(&w, "Y"), 2);
  assert_null(strstr(piece(&w, "Y", 0), "where"));
  assert_null(strstr(piece(&w, "Y", 1), "where"));
  assert_non_null(strstr(piece(&w, "Y", 0), "r: 3"));
  assert_non_null(strstr(piece(&w, "Y", 1), "r: 2"));
  neo_arena_free(&w.arena);
}

static void a_remainder_that_no_point_has_leaves_zeros(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\nsize N 1..9\ninput D : f32 [N, 4]\ntemp Y : f32 [2 * N]\n"
           "def @1 Y[z: 2 * N] =\n  sum[k: 4] where z % 2 == 0;\n  D[z / 2, k]\n"
           "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_polyphase);
  assert_int_equal(n_pieces(&w, "Y"), 2);
  assert_non_null(strstr(piece(&w, "Y", 0), "sum"));
  assert_null(strstr(piece(&w, "Y", 1), "sum"));
  neo_arena_free(&w.arena);
}

static void a_quotient_that_ends_in_a_constant_length_is_no_phase(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput X : f32 [8]\ntemp Y : f32 [8]\n"
           "def @1 Y[z: 8] =\n  sum[k: z / 4 * 4..z / 4 * 4 + 4] X[k]\n"
           "entry forward forward: Y = Y\n");
  apply(&w, neo_pass_polyphase);
  apply(&w, neo_pass_normalize_loops);
  assert_int_equal(n_pieces(&w, "Y"), 1);
  assert_non_null(strstr(definition(&w, "Y"), "sum[k: 4]"));
  neo_arena_free(&w.arena);
}

static void rows_that_are_only_added_up_stay_whole(void **state) {
  (void)state;
  for (int last = 0; last < 2; last++) {
    world w;
    load(&w, last ? "neo-ir 1\nmodule t\ninput T : f32 [6, 9]\ntemp Y : f32 [20]\n"
                    "def @1 Y[z: 20] =\n  sum[p: max(0, (z - 7) / 2)..min(6, z / 2 + 1)] "
                    "T[p, z - 2 * p]\nentry forward forward: Y = Y\n"
                  : "neo-ir 1\nmodule t\ninput T : f32 [9, 6]\ntemp Y : f32 [20]\n"
                    "def @1 Y[z: 20] =\n  sum[p: max(0, (z - 7) / 2)..min(6, z / 2 + 1)] "
                    "T[z - 2 * p, p]\nentry forward forward: Y = Y\n");
    apply(&w, neo_pass_polyphase);
    assert_int_equal(n_pieces(&w, "Y"), last ? 1 : 2);
    neo_arena_free(&w.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_pieces_of_a_tensor_are_copied_where_one_depends_on_training),
      cmocka_unit_test(
          training_is_a_constant_in_each_entry_and_what_does_not_depend_on_it_is_shared),
      cmocka_unit_test(what_is_one_constant_everywhere_is_read_as_that),
      cmocka_unit_test(ends_of_a_sum_that_data_say_are_its_range),
      cmocka_unit_test(a_constant_is_read_as_it_is_while_its_gradient_is_asked_for),
      cmocka_unit_test(a_constant_result_is_read_as_it_is_while_its_own_gradient_may_be_asked_for),
      cmocka_unit_test(equal_definitions_become_one_and_so_do_their_readers),
      cmocka_unit_test(a_value_that_is_read_anyway_is_not_computed_again),
      cmocka_unit_test(a_value_is_read_only_where_its_tensor_has_such_an_element),
      cmocka_unit_test(a_value_is_read_under_all_conditions_of_a_read),
      cmocka_unit_test(a_value_is_not_read_where_a_condition_of_the_read_does_not_hold),
      cmocka_unit_test(a_value_for_what_is_outside_is_read_there_alone),
      cmocka_unit_test(a_value_of_a_recurrence_is_read_only_where_it_was_read_before),
      cmocka_unit_test(a_value_that_an_integer_is_made_of_is_computed),
      cmocka_unit_test(outputs_keep_their_own_definition),
      cmocka_unit_test(a_piece_of_a_tensor_does_not_stand_for_a_whole_one),
      cmocka_unit_test(a_condition_that_may_not_hold_stays),
      cmocka_unit_test(a_guard_that_always_holds_is_dropped),
      cmocka_unit_test(a_range_that_steps_every_other_place_becomes_two_pieces_of_constant_windows),
      cmocka_unit_test(a_piece_becomes_pieces_of_its_places),
      cmocka_unit_test(a_window_cut_at_both_ends_is_one),
      cmocka_unit_test(the_shortest_window_is_taken_even_if_it_stands_still),
      cmocka_unit_test(a_remainder_that_fixes_a_reduction_axis_is_stepped_over),
      cmocka_unit_test(a_remainder_that_no_point_has_leaves_zeros),
      cmocka_unit_test(a_quotient_that_ends_in_a_constant_length_is_no_phase),
      cmocka_unit_test(rows_that_are_only_added_up_stay_whole),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
