/* Recurrences in chunks, of which every k-th round is kept. */
#include "ir/order.h"
#include "tests/transform/world.h"
#include <math.h>
#include <stdio.h>

#define MODEL                                                                         \
  "temp h : f32 [T, 3]\ntemp L : f32 []\ntemp dh : f32 [T, 3]\ntemp G : f32 [3, 3]\n" \
  "temp S : f32 [3]\n"                                                                \
  "def @1 h[t: T, j: 3] =\n  sum[k: 3] (h[t - 1, k] else 0.5) * U[k, j]\n"            \
  "  then 0.5 * acc0 + x[t, j]\n"                                                     \
  "def @2 L[] =\n  sum[t: T, j: 3] h[t, j] * h[t, j]\n"                               \
  "def @3 dh[t: T, j: 3] =\n  sum[k: 3] (dh[t + 1, k] else 0.0) * U[j, k]\n"          \
  "  then 0.5 * acc0 + 2.0 * h[t, j]\n"                                               \
  "def @4 G[i: 3, j: 3] =\n  sum[t: T] (h[t - 1, i] else 0.5) * dh[t, j]\n"           \
  "def @5 S[j: 3] = (h[T - 1, j] else 7.0)\n"                                         \
  "entry grad grad: L = L, S = S, G = G\n"
#define HEAD "neo-ir 1\nmodule t\n%sinput x : f32 [%s, 3]\ninput U : f32 [3, 3]\n"

/* The model with these rounds, in place of T. */
static void load_rounds(world *w, const char *size, const char *rounds) {
  static char text[4096];
  size_t n = (size_t)snprintf(text, sizeof text, HEAD, size, rounds);
  for (const char *p = MODEL; *p && n + 32 < sizeof text; p++)
    if (*p == 'T')
      n += (size_t)snprintf(text + n, sizeof text - n, "%s", rounds);
    else
      text[n++] = *p;
  text[n] = 0;
  load(w, text);
}

static void has(world *w, const char *part) {
  const char *text = text_of(w);
  if (!strstr(text, part))
    fail_msg("%sis not in\n%s", part, text);
}

static void has_an_order(world *w) {
  neo_str why;
  neo_str_init(&why, &w->arena);
  if (neo_module_check(w->m, &why))
    fail_msg("%s", neo_str_text(&why));
}

static void rounds_of_the_backward_pass_are_made_again_from_edges(void **state) {
  (void)state;
  world w;
  load_rounds(&w, "", "12");
  w.target.chunk_iterations = 4;
  apply(&w, neo_pass_checkpoint);
  has_an_order(&w);
  has(&w, "chunk_loop 1 chunk.h[chunk: 3, t: 4, j: 3] =\n    sum[k: 3] select(0 <= t - 1, "
          "(chunk.h[chunk, t - 1, k] else 0.5), (edge.h[chunk - 1, t, k] else 0.5)) * U[k, j]\n"
          "    then 0.5 * acc0 + x[chunk * 4 + t, j]\n");
  has(&w, "chunk_loop 1 edge.h[chunk: 3, t: 1, j: 3] = chunk.h[chunk, 3, j]\n");
  has(&w, "chunk_loop 2 again.h[chunk: 3, t: 4, j: 3] =\n    sum[k: 3] select(0 <= t - 1, "
          "(again.h[chunk, t - 1, k] else 0.5), (edge.h[chunk - 1, t, k] else 0.5)) * U[k, j]\n");
  has(&w,
      "chunk_loop 2 chunk.dh[chunk: 3, t: 4, j: 3] =\n    sum[k: 3] select(t + 1 < 4, "
      "(chunk.dh[chunk, t + 1, k] else 0.0), (edge.dh[chunk + 1, t - 3, k] else 0.0)) * U[j, k]\n"
      "    then 0.5 * acc0 + 2.0 * again.h[chunk, t, j]\n");
  neo_arena_free(&w.arena);
}

static void sums_over_rounds_grow_chunk_by_chunk(void **state) {
  (void)state;
  world w;
  load_rounds(&w, "", "12");
  w.target.chunk_iterations = 4;
  apply(&w, neo_pass_checkpoint);
  has(&w, "def @2 L[] = (running.L[2] else 0.0)\n");
  has(&w, "def @4 G[i: 3, j: 3] = (running.G[0, i, j] else 0.0)\n");
  has(&w, "    then (running.L[chunk - 1] else 0.0) + acc0\n");
  has(&w, "    then (running.G[chunk + 1, i, j] else 0.0) + acc0\n");
  neo_arena_free(&w.arena);
}

static void the_last_round_is_a_slice(void **state) {
  (void)state;
  world w;
  load_rounds(&w, "", "12");
  w.target.chunk_iterations = 4;
  apply(&w, neo_pass_checkpoint);
  has(&w, "slice.h[j: 3] = (chunk.h[2, 3, j] else 0.0)\n");
  has(&w, "def @5 S[j: 3] = (slice.h[j] else 7.0)\n");
  neo_arena_free(&w.arena);
}

/* The same values in chunks of any length, whether they divide the rounds or not. Sums are rounded
 * once more a chunk. */
static void same_values(const char *size, const char *rounds, int64_t n, uint32_t chunk) {
  world a, b;
  load_rounds(&a, size, rounds);
  load_rounds(&b, size, rounds);
  b.target.chunk_iterations = chunk;
  apply(&b, neo_pass_checkpoint);
  has_an_order(&b);
  neo_interp *x = values_of(&a, n), *y = values_of(&b, n);
  for (uint32_t k = 0; k < 3; k++) {
    const neo_values *u = neo_interp_output(x, k), *v = neo_interp_output(y, k);
    assert_int_equal(u->n, v->n);
    for (int64_t i = 0; i < u->n; i++)
      if (fabs(u->at[i].f - v->at[i].f) > (k == 1 ? 0 : 1e-5 * (1 + fabs(u->at[i].f))))
        fail_msg("output %u of %s rounds in chunks of %u: %g, not %g", k, rounds, chunk, v->at[i].f,
                 u->at[i].f);
  }
  neo_arena_free(&a.arena);
  neo_arena_free(&b.arena);
}

static void chunks_change_no_value(void **state) {
  (void)state;
  for (uint32_t chunk = 1; chunk <= 14; chunk++)
    same_values("", "12", 1, chunk);
  for (int64_t rounds = 0; rounds <= 9; rounds++)
    for (uint32_t chunk = 1; chunk <= 5; chunk++)
      same_values("size N 0..9\n", "N", rounds, chunk);
}

/* The same values in chunks of chunks. */
static void chunks_in_chunks_change_no_value(void **state) {
  (void)state;
  for (uint32_t chunk = 1; chunk <= 4; chunk++)
    for (uint32_t outer = 2; outer <= 4; outer++)
      same_values("", "24", 1, chunk | outer << 16);
  for (int64_t rounds = 0; rounds <= 19; rounds += rounds < 4 ? 1 : 5)
    for (uint32_t chunk = 1; chunk <= 3; chunk++)
      for (uint32_t outer = 2; outer <= 3; outer++)
        same_values("size N 0..19\n", "N", rounds, chunk | outer << 16);
}

static void inner_chunks_share_loops_in_those_of_outer_ones(void **state) {
  (void)state;
  world w;
  load_rounds(&w, "", "24");
  w.target.chunk_iterations = 4 | 3 << 16;
  apply(&w, neo_pass_checkpoint);
  has_an_order(&w);
  has(&w, "chunk_loop 4 inner_loop 2 chunk.again.h[chunk: 2, chunk_1: 3, t: 4, j: 3]");
  has(&w, "chunk_loop 4 inner_loop 2 chunk.chunk.dh[chunk: 2, chunk_1: 3, t: 4, j: 3]");
  has(&w, "chunk_loop 4 inner_loop 1 again.edge.h[chunk: 2, chunk_1: 3, t: 1, j: 3]");
  has(&w, "chunk_loop 3 edge.edge.h[chunk: 2, chunk_1: 1, t: 1, j: 3]");
  neo_arena_free(&w.arena);
}

/* A loop of S iterations in one of T, and the way back. */
#define NESTED                                                                                          \
  "neo-ir 1\nmodule t\n%sinput x : f32 [%s, %s, 3]\ninput U : f32 [3, 3]\n"                             \
  "temp h : f32 [%s, 3]\ntemp k : f32 [%s, %s, 3]\ntemp L : f32 []\ntemp dh : f32 [%s, 3]\n"            \
  "temp dk : f32 [%s, %s, 3]\ntemp G : f32 [3, 3]\n"                                                    \
  "def @1 k[t: %s, s: %s, j: 3] =\n  sum[i: 3] select(0 < s, (k[t, s - 1, i] else 0.5), (h[t - 1, i] "  \
  "else 0.25)) * U[i, j]\n  then 0.5 * acc0 + x[t, s, j]\n"                                             \
  "def @2 h[t: %s, j: 3] = 0.5 * (k[t, %s - 1, j] else 0.125)\n"                                        \
  "def @3 L[] =\n  sum[t: %s, j: 3] h[t, j] * h[t, j]\n"                                                \
  "def @4 dh[t: %s, j: 3] =\n  sum[i: 3] (dk[t + 1, 0, i] else 0.0) * U[j, i]\n"                        \
  "  then 0.5 * acc0 + 2.0 * h[t, j]\n"                                                                 \
  "def @5 dk[t: %s, s: %s, j: 3] =\n  sum[i: 3] select(s + 1 < %s, (dk[t, s + 1, i] else 0.0), 0.0) * " \
  "U[j, i]\n  then 0.5 * acc0 + select(s == %s - 1, 0.5 * dh[t, j], 0.0) + 0.125 * k[t, s, j]\n"        \
  "def @6 G[i: 3, j: 3] =\n  sum[t: %s, s: %s] (k[t, s - 1, i] else 0.5) * dk[t, s, j]\n"               \
  "entry grad grad: L = L, L = L, G = G\n"

static void load_nested(world *w, const char *size, const char *t, const char *s) {
  static char text[4096];
  (void)snprintf(text, sizeof text, NESTED, size, t, s, t, t, s, t, t, s, t, s, t, s, t, t, t, s, s,
                 s, t, s);
  load(w, text);
}

static void same_nested(const char *size, const char *t, const char *s, int64_t n, uint32_t chunk) {
  world a, b;
  load_nested(&a, size, t, s);
  load_nested(&b, size, t, s);
  b.target.chunk_iterations = chunk;
  apply(&b, neo_pass_checkpoint);
  has_an_order(&b);
  neo_interp *x = values_of(&a, n), *y = values_of(&b, n);
  for (uint32_t k = 0; k < 3; k += 2) {
    const neo_values *u = neo_interp_output(x, k), *v = neo_interp_output(y, k);
    for (int64_t i = 0; i < u->n; i++)
      if (fabs(u->at[i].f - v->at[i].f) > 1e-5 * (1 + fabs(u->at[i].f)))
        fail_msg("output %u of %s times %s, %u: %g, not %g", k, t, s, chunk, v->at[i].f,
                 u->at[i].f);
  }
  neo_arena_free(&a.arena);
  neo_arena_free(&b.arena);
}

static void loops_within_a_round_change_no_value_in_chunks(void **state) {
  (void)state;
  for (uint32_t chunk = 1; chunk <= 3; chunk++)
    for (uint32_t inner = 1; inner <= 4; inner++) {
      same_nested("", "5", "12", 1, chunk | inner << 16);
      same_nested("", "1", "7", 1, chunk | inner << 16);
      for (int64_t n = 0; n <= 7; n += n < 2 ? 1 : 5)
        same_nested("size N 0..7\n", "N", "6", n, chunk | inner << 16);
    }
  for (int64_t n = 1; n <= 7; n += n < 2 ? 1 : 5)
    same_nested("size N 1..7\n", "4", "N", n, 1 | 3 << 16);
}

static void a_loop_in_a_round_of_its_own_chunk_is_in_chunks(void **state) {
  (void)state;
  world w;
  load_nested(&w, "", "5", "12");
  w.target.chunk_iterations = 1 | 4 << 16;
  apply(&w, neo_pass_checkpoint);
  has(&w, "chunk_loop 2 inner_loop 4 chunk.chunk.dk[chunk: 5, chunk_1: 3, ");
  has(&w, "chunk_loop 2 inner_loop 4 again.again.k[chunk: 5, chunk_1: 3, ");
  has(&w, "chunk_loop 2 inner_loop 3 edge.again.k[chunk: 5, chunk_1: 3, ");
  neo_arena_free(&w.arena);
}

/* Loops in each round that begin with what the round has, and that is read in the next one
 * alone. */
static void loops_that_begin_anew_are_made_again(void **state) {
  static const char text[] =
      "neo-ir 1\nmodule t\ninput x : f32 [12, 5, 3]\ntemp h : f32 [12, 3]\ntemp k : f32 [12, 5, 3]\n"
      "temp dh : f32 [12, 3]\ntemp dk : f32 [12, 5, 3]\ntemp G : f32 [3]\n"
      "def @1 k[t: 12, s: 5, j: 3] = 0.5 * (k[t, s - 1, j] else 1.0) + x[t, s, j]\n"
      "def @2 h[t: 12, j: 3] = 0.25 * k[t, 4, j] + (h[t - 1, j] else 0.5)\n"
      "def @3 dh[t: 12, j: 3] = 0.5 * (dh[t + 1, j] else 1.0) + h[t, j]\n"
      "def @4 dk[t: 12, s: 5, j: 3] = 0.5 * (dk[t, s + 1, j] else dh[t, j]) * k[t, s, j]\n"
      "def @5 G[j: 3] =\n  sum[t: 12, s: 5] k[t, s, j] * dk[t, s, j]\nentry grad grad: G = G\n";
  (void)state;
  for (uint32_t chunk = 1; chunk <= 7; chunk++) {
    world a, b;
    load(&a, text);
    load(&b, text);
    b.target.chunk_iterations = chunk;
    apply(&b, neo_pass_checkpoint);
    has_an_order(&b);
    has(&b, "chunk_loop 2 again2.k[");
    has(&b, "chunk_loop 2 chunk.dk[");
    neo_interp *x = values_of(&a, 1), *y = values_of(&b, 1);
    for (uint32_t k = 0; k < 3; k++)
      assert_float_equal(neo_interp_output(x, 0)->at[k].f, neo_interp_output(y, 0)->at[k].f, 1e-3);
    neo_arena_free(&a.arena);
    neo_arena_free(&b.arena);
  }
}

static void chunks_are_made_if_the_limit_asks(void **state) {
  (void)state;
  static const struct {
    int64_t memory;
    bool chunks;
  } limits[] = {{0, false}, {1 << 20, false}, {1200, false}, {1199, true}, {-1, true}};
  for (size_t k = 0; k < sizeof limits / sizeof *limits; k++) {
    world w;
    load_rounds(&w, "", "100");
    w.target.memory = limits[k].memory;
    const char *before = text_of(&w);
    apply(&w, neo_pass_checkpoint);
    assert_int_equal(strcmp(text_of(&w), before) != 0, limits[k].chunks);
    neo_arena_free(&w.arena);
  }
}

/* A reader of all iterations before an earlier one has no place in chunks. */
static void a_recurrence_that_reads_far_back_stays_whole(void **state) {
  (void)state;
  world w;
  load(&w, "neo-ir 1\nmodule t\ninput x : f32 [12]\ntemp h : f32 [12]\ntemp d : f32 [12]\n"
           "def @1 h[t: 12] =\n  sum[k: t] h[k] * x[k]\n  then acc0 + 1.0\n"
           "def @2 d[t: 12] =\n  sum[k: t + 1..12] d[k] * h[t]\n  then acc0 + 1.0\n"
           "entry forward forward: d = d\n");
  w.target.chunk_iterations = 4;
  const char *before = text_of(&w);
  apply(&w, neo_pass_checkpoint);
  assert_string_equal(text_of(&w), before);
  neo_arena_free(&w.arena);
}

static void the_number_of_a_chunk_loop_is_read_back(void **state) {
  (void)state;
  world w, again;
  load_rounds(&w, "", "12");
  w.target.chunk_iterations = 4;
  apply(&w, neo_pass_checkpoint);
  const char *text = text_of(&w);
  load(&again, text);
  assert_string_equal(text_of(&again), text);
  neo_arena_free(&again.arena);
  neo_arena_free(&w.arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rounds_of_the_backward_pass_are_made_again_from_edges),
      cmocka_unit_test(sums_over_rounds_grow_chunk_by_chunk),
      cmocka_unit_test(the_last_round_is_a_slice),
      cmocka_unit_test(chunks_change_no_value),
      cmocka_unit_test(chunks_in_chunks_change_no_value),
      cmocka_unit_test(inner_chunks_share_loops_in_those_of_outer_ones),
      cmocka_unit_test(loops_within_a_round_change_no_value_in_chunks),
      cmocka_unit_test(a_loop_in_a_round_of_its_own_chunk_is_in_chunks),
      cmocka_unit_test(loops_that_begin_anew_are_made_again),
      cmocka_unit_test(chunks_are_made_if_the_limit_asks),
      cmocka_unit_test(a_recurrence_that_reads_far_back_stays_whole),
      cmocka_unit_test(the_number_of_a_chunk_loop_is_read_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
