/* Rounds of fused loops do not load what they have stored, and ask each condition once (codegen/fused_rounds.h). */
#include "codegen/fused_rounds.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define HEAD                                                                                     \
  "neo-loop 2\nkernel k(C: i32 read noalias align 4, F: i32 read write noalias align 4, A: i32 " \
  "read write noalias align 4, P: i32 write noalias align 4) sizes V units 1\n"

typedef struct {
  neo_arena arena;
  neo_kernel *k;
} world;

static const char *text_of(world *w) {
  neo_str s;
  neo_str_init(&s, &w->arena);
  neo_kernel_print(w->k, &s);
  return neo_str_text(&s);
}

/* own: the buffer that nobody else reads, or -1. */
static void load(world *w, const char *text, int own) {
  neo_arena *a = &w->arena;
  memset(w, 0, sizeof *w);
  neo_arena_init(a, neo_alloc_default, NULL);
  w->k = neo_kernel_parse(a, neo_diags_new(a, neo_sources_new(a)), "test", text, strlen(text));
  assert_non_null(w->k);
  bool is[8] = {false};
  if (own >= 0)
    is[own] = true;
  neo_fused_rounds(w->k, neo_block_find(&w->k->body, NEO_LS_FOR, 0), is);
  neo_str why;
  neo_str_init(&why, a);
  if (neo_kernel_verify(w->k, &why))
    fail_msg("%s in\n%s", neo_str_text(&why), text_of(w));
}

static void expect(const char *before, int own, const char *after) {
  world w;
  load(&w, before, own);
  if (!strstr(text_of(&w), after))
    fail_msg("'%s' is not in\n%s", after, text_of(&w));
  neo_arena_free(&w.arena);
}

static void what_only_its_round_reads_is_not_stored(void **state) {
  (void)state;
  const char *text = HEAD "for v in 0..V\n  A[v] = C[v] + 1:i32\n  P[i64(A[v])] = A[v]\n";
  expect(text, 2,
         "for v in 0..V\n  reg stored[1]: i32\n  stored[0] = C[v] + 1:i32\n"
         "  P[i64(stored[0])] = stored[0]\n");
  expect(text, -1, "  A[v] = stored[0]\n  P[i64(stored[0])] = stored[0]\n");
}

static void what_is_there_is_not_stored_again(void **state) {
  (void)state;
  expect(
      HEAD "for v in 0..V\n  A[v] = select(0 <= i64(C[v]), A[v] + C[v], A[v])\n"
           "  P[i64(A[v])] = C[v]\n",
      -1,
      "  if 0 <= i64(C[v])\n    reg stored[1]: i32\n    stored[0] = A[v] + C[v]\n    A[v] = stored[0]\n"
      "    P[i64(stored[0])] = C[v]\n  else\n    P[i64(A[v])] = C[v]\n");
}

/* Data say which element is written: it may be the one that was stored before. */
static void what_may_be_written_again_is_loaded(void **state) {
  (void)state;
  expect(HEAD "for v in 0..V\n  A[v] = C[v]\n  A[i64(C[v])] = 7:i32\n  P[v] = A[v]\n", -1,
         "  P[v] = A[v]\n");
  expect(HEAD "for v in 0..V\n  A[v] = C[v]\n  A[v + 1] = 7:i32\n  P[v] = A[v]\n", -1,
         "  P[v] = stored[0]\n");
  expect(HEAD "for v in 0..V\n  A[v] = C[v]\n  if v < 3\n    A[v] = 7:i32\n  P[v] = A[v]\n", -1,
         "  P[v] = A[v]\n");
  expect(HEAD "for v in 0..V\n  A[i64(F[v])] = 3:i32\n  F[v] = C[v]\n  P[v] = A[i64(F[v])]\n", -1,
         "  P[v] = A[i64(stored[0])]\n");
}

static void a_condition_is_a_branch_around_the_round(void **state) {
  (void)state;
  expect(HEAD "for v in 0..V\n  for k in 0..2 unroll\n"
              "    F[v] = A[i64(C[v + k]) if 0 <= i64(C[v + k]) else 5:i32]\n",
         -1,
         "for v in 0..V\n  if 0 <= i64(C[v])\n    if 0 <= i64(C[v + 1])\n"
         "      F[v] = A[i64(C[v])]\n      F[v] = A[i64(C[v + 1])]\n    else\n"
         "      F[v] = A[i64(C[v])]\n      F[v] = 5:i32\n  else\n");
}

/* What the round writes, and what is read only where another condition holds, is no such condition. */
static void a_condition_that_may_change_is_asked_where_it_is(void **state) {
  (void)state;
  expect(HEAD "for v in 0..V\n  A[v] = F[i64(C[v]) if 0 <= i64(A[v]) else 5:i32]\n", -1,
         "\n  stored[0] = F[i64(C[v]) if 0 <= i64(A[v]) else 5:i32]\n");
  expect(HEAD "for v in 0..V\n  A[v] = select(v < 3 and 0 <= i64(C[v]), F[v], 0:i32)\n"
              "  P[v] = 1:i32 if v < 3 and 0 <= i64(C[v])\n",
         -1, "for v in 0..V\n  if v < 3 and 0 <= i64(C[v])\n    A[v] = F[v]\n    P[v] = 1:i32\n");
  expect(HEAD "for v in 0..V\n  if v < 3\n    P[v] = select(0 <= i64(C[v]), 1:i32, 0:i32)\n", -1,
         "for v in 0..V\n  if v < 3\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_only_its_round_reads_is_not_stored),
      cmocka_unit_test(what_is_there_is_not_stored_again),
      cmocka_unit_test(what_may_be_written_again_is_loaded),
      cmocka_unit_test(a_condition_is_a_branch_around_the_round),
      cmocka_unit_test(a_condition_that_may_change_is_asked_where_it_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
