/* Passes that give a definition more points than it had, or take a condition out of the one around it, guard what bounds
 * and conditions read there: `apply` proves every read afterwards, and all passes see the same values. */
#include "tests/transform/world.h"
#include <math.h>

/* The module's outputs with and without the pass, at `size`. */
static void keeps_values(const char *text, neo_pass_fn *pass, neo_pass_target target,
                         int64_t size) {
  world before, after;
  load(&before, text);
  load(&after, text);
  after.target = target;
  apply(&after, pass);
  neo_interp *a = values_of(&before, size), *b = values_of(&after, size);
  const neo_entry_rec *e = &before.m->entries.at[0];
  for (uint32_t k = 0; k < e->outputs.n; k++) {
    neo_tensor t = {neo_list_at(before.m, e->outputs, k)};
    const neo_values *x = neo_interp_tensor(a, t), *y = neo_interp_tensor(b, t);
    for (int64_t i = 0; i < x->n; i++)
      if (fabs(x->at[i].f - y->at[i].f) > 1e-6)
        fail_msg("output %u, element %lld: %g and %g\n%s", k, (long long)i, x->at[i].f, y->at[i].f,
                 text_of(&after));
  }
  neo_arena_free(&before.arena);
  neo_arena_free(&after.arena);
}

static void has(const char *text, neo_pass_fn *pass, neo_pass_target target, const char *part) {
  world w;
  load(&w, text);
  w.target = target;
  apply(&w, pass);
  if (!strstr(text_of(&w), part))
    fail_msg("'%s' is not in\n%s", part, text_of(&w));
  neo_arena_free(&w.arena);
}

#define WAVE                                                                               \
  "neo-ir 1\nmodule t\ninput x : f32 [8, 8]\ninput l : i32 [8] < 9\ntemp D : f32 [8, 8]\n" \
  "def @1 D[i: 8, j: 8] =\n  sum[k: i64(l[%s])] x[%s, k]\n"                                \
  "  then 0.25 * (D[i - 1, j] else 0.0) + 0.25 * (D[i, j - 1] else 0.0) + acc0\n"          \
  "entry forward forward: D = D\n"

static void a_wavefront_reads_no_range_where_it_has_no_element(void **state) {
  (void)state;
  static const char *const at[][2] = {{"j", "i"}, {"i", "j"}, {"7 - j", "i"}};
  for (size_t k = 0; k < sizeof at / sizeof *at; k++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    const char *text = neo_arena_printf(&a, WAVE, at[k][0], at[k][1]);
    has(text, neo_pass_skew, (neo_pass_target){0}, "skewed.D");
    keeps_values(text, neo_pass_skew, (neo_pass_target){0}, 0);
    neo_arena_free(&a);
  }
}

static void a_wavefront_in_range_reads_without_a_guard(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  has(neo_arena_printf(&a, WAVE, "i", "j"), neo_pass_skew, (neo_pass_target){0},
      "sum[k: i64(l[i])]\n");
  neo_arena_free(&a);
}

#define CHUNKS                                                                          \
  "neo-ir 1\nmodule t\ninput x : f32 [13, 4]\ninput l : i32 [13] < 5\n"                 \
  "input lo : i32 [13] < 3\ninput U : f32 [3, 3]\ntemp s : f32 [13]\n"                  \
  "temp h : f32 [13, 3]\ntemp L : f32 []\ntemp dh : f32 [13, 3]\ntemp G : f32 [3, 3]\n" \
  "def @1 s[t: 13] =\n  sum[k: i64(lo[t])..i64(l[t])] x[t, k]\n"                        \
  "def @2 h[t: 13, j: 3] =\n  sum[k: 3] (h[t - 1, k] else 0.5) * U[k, j]\n"             \
  "  then 0.25 * acc0 + s[t]\n"                                                         \
  "def @3 L[] =\n  sum[t: 13, j: 3] h[t, j] * h[t, j]\n"                                \
  "def @4 dh[t: 13, j: 3] =\n  sum[k: 3] (dh[t + 1, k] else 0.0) * U[j, k]\n"           \
  "  then 0.25 * acc0 + 2.0 * h[t, j]\n"                                                \
  "def @5 G[i: 3, j: 3] =\n  sum[t: 13] (h[t - 1, i] else 0.5) * dh[t, j]\n"            \
  "entry forward forward: L = L, G = G\n"

static void the_last_chunk_reads_no_range_behind_the_last_round(void **state) {
  (void)state;
  for (uint32_t rounds = 2; rounds < 8; rounds++) {
    neo_pass_target target = {.chunk_iterations = rounds};
    has(CHUNKS, neo_pass_checkpoint, target, "again");
    keeps_values(CHUNKS, neo_pass_checkpoint, target, 0);
  }
}

#define TREE                                                                                      \
  "neo-ir 1\nmodule t\nsize V 1..40\ninput child : i32 [V, 2] in -1..d0\ninput x : f32 [V, 16]\n" \
  "input w : i32 [V] in -1..5\ninput T : i32 [5] < 3\ninput U : f32 [2, 16, 16]\n"                \
  "temp h : f32 [V, 16]\ntemp s : f32 [V, 16]\ntemp y : f32 []\n"

static void a_kind_of_vertices_asks_under_the_condition_around_it(void **state) {
  (void)state;
  const char *text = TREE "def @1 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"
                          "  0.125 * U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n"
                          "def @2 h[v: V, j: 16] = tanh(x[v, j] + s[v, j])\n"
                          "def @3 y[] =\n  sum[v: V, k: 4]\n"
                          "  select(k <= i64(w[v]) and T[i64(w[v])] == 1i32, h[v, k], 0.0)\n"
                          "entry forward forward: y = y\n";
  has(text, neo_pass_levels, (neo_pass_target){0},
      "select((T[i64(w[i64(level.order.child[p])])] else 0i32) == 1i32, ");
}

static void keys_ask_under_the_condition_around_them(void **state) {
  (void)state;
  const char *text =
      TREE "def @1 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"
           "  0.125 * U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n"
           "def @2 h[v: V, j: 16] =\n  select(0i32 <= w[v], select(T[i64(w[v])] == 1i32, "
           "tanh(x[v, j] + s[v, j]), sin(s[v, j])), 1.0)\n"
           "entry forward forward: h = h\n";
  has(text, neo_pass_levels, (neo_pass_target){.batch_kinds = true},
      "(T[i64(w[p])] else 0i32) == 1i32");
}

static void what_is_not_in_the_order_is_read_at_a_child_that_there_is(void **state) {
  (void)state;
  const char *text = TREE "temp z : f32 [2]\n"
                          "def @1 s[v: V, j: 16] =\n  sum[k: 2, l: 16]\n"
                          "  0.125 * U[k, l, j] * (h[i64(child[v, k]), l] else 0.0)\n"
                          "def @2 h[v: V, j: 16] = tanh(x[v, j] + s[v, j])\n"
                          "def @3 z[k: 2] =\n  sum[v: V, j: 16] where 0 <= i64(child[v, k]);\n"
                          "  x[i64(child[v, k]), j] * h[v, j]\n"
                          "entry forward forward: z = z\n";
  has(text, neo_pass_levels, (neo_pass_target){0},
      "(x[i64(child[i64(level.order.child[v]), k]), j] else 0.0)");
}

/* touched[n] has no d, of which the range is. */
static void rows_of_ragged_sums_are_all_made(void **state) {
  (void)state;
  static const char *const range[] = {"d + 1", "d..6"};
  for (size_t k = 0; k < 2; k++) {
    neo_arena a;
    neo_arena_init(&a, neo_alloc_default, NULL);
    const char *text = neo_arena_printf(
        &a,
        "neo-ir 1\nmodule t\ninput key : i32 [6] < 4\ninput x : f32 [6, 6]\ntemp G : f32 [4, 6]\n"
        "temp read : bool [4]\ntemp y : f32 [4, 6]\n"
        "def @1 G[n: 4, d: 6] =\n  sum[e: %s] where i64(key[e]) == n;\n  x[e, d]\n"
        "def @2 read[n: 4] =\n  any[d: 6] G[n, d] != 0.0\n"
        "def @3 y[n: 4, d: 6] = select(read[n], G[n, d], 0.0)\nentry forward forward: y = y\n",
        range[k]);
    keeps_values(text, neo_pass_sparse_rows, (neo_pass_target){0}, 0);
    keeps_values(text, neo_pass_sparse_rows, (neo_pass_target){.gpu_threads = 1024}, 0);
    neo_arena_free(&a);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_wavefront_reads_no_range_where_it_has_no_element),
      cmocka_unit_test(a_wavefront_in_range_reads_without_a_guard),
      cmocka_unit_test(the_last_chunk_reads_no_range_behind_the_last_round),
      cmocka_unit_test(a_kind_of_vertices_asks_under_the_condition_around_it),
      cmocka_unit_test(keys_ask_under_the_condition_around_them),
      cmocka_unit_test(what_is_not_in_the_order_is_read_at_a_child_that_there_is),
      cmocka_unit_test(rows_of_ragged_sums_are_all_made),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
