/* Decisions of fusion: their fields are what the printed lines say. */
#include "fusion/decision.h"
#include "ir/print.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
  neo_arena *a;
  neo_module *m;
  neo_decisions all;
} world;

static world fuse(neo_arena *a, const char *text) {
  world w = {.a = a};
  neo_grouping groups;
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  w.m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(w.m);
  assert_int_equal(neo_fuse_with(w.m, a, NULL, &groups, &w.all), NEO_OK);
  return w;
}

static const neo_decision *find(const world *w, neo_decision_verb verb, const char *of) {
  neo_tensor t = neo_tensor_find(w->m, of);
  for (size_t k = 0; k < w->all.list.n; k++)
    if (w->all.list.at[k].verb == verb && w->all.list.at[k].of.i == t.i)
      return &w->all.list.at[k];
  return NULL;
}

static const char *text_of(const world *w, const neo_decision *d) {
  neo_str s;
  neo_str_init(&s, w->a);
  neo_decision_print(w->m, d, &s);
  return neo_str_text(&s);
}

/* A copy into one reader of two, a join, a refusal that has a price, and one that is impossible. */
static void fields_and_lines_say_the_same(void **state) {
  neo_arena *a = *state;
  world w = fuse(a, "input X : f32 [64, 64]\ninput W : f32 [64, 64]\ntemp Z : f32 [64, 64]\n"
                    "temp H : f32 [64, 64]\ntemp T : f32 [64, 64]\n"
                    "def Z[b: 64, j: 64] =\n  sum[i: 64] X[b, i] * W[i, j]\n  then acc0\n"
                    "def H[b: 64, j: 64] = relu(Z[b, j])\n"
                    "def T[b: 64, j: 64] =\n  sum[i: 64] X[b, i] * H[j, i]\n  then acc0\n"
                    "entry forward forward: T = T, H = H\n");
  const neo_decision *join = find(&w, NEO_DECISION_JOIN, "H"), *no = NULL;
  assert_non_null(join);
  assert_int_equal(join->kind, NEO_FUSE_EPILOGUE);
  assert_int_equal(join->n_with, 1);
  assert_int_equal(join->with[0].i, neo_tensor_find(w.m, "Z").i);
  assert_true(join->saves_s > 0);
  const char *line =
      neo_arena_printf(a, "join H to Z: epilogue, saves %.3g us", 1e6 * join->saves_s);
  assert_string_equal(text_of(&w, join), line);
  no = find(&w, NEO_DECISION_REJECT, "T");
  assert_non_null(no);
  assert_non_null(no->why);
  assert_string_equal(text_of(&w, no), neo_arena_printf(a, "reject T, Z: %s", no->why));
}

static void decisions_of_a_training_entry_stand_under_its_name(void **state) {
  neo_arena *a = *state;
  world w = fuse(a, "input X : f32 [64]\ntemp A : f32 [64]\ntemp B : f32 [64]\ntemp L : f32 []\n"
                    "def A[i: 64] = X[i] * 2.0\ndef B[i: 64] = exp(A[i])\n"
                    "def L[] =\n  sum[i: 64] B[i]\n  then acc0\n"
                    "entry forward f: B = B\nentry train step: L = L\n");
  neo_str s;
  neo_str_init(&s, a);
  neo_decisions_print(w.m, &w.all, &s);
  const char *step = strstr(neo_str_text(&s), "in step:\n");
  assert_non_null(step);
  assert_non_null(strstr(step, "prologue B into all readers: saves "));
  bool of_forward = false, of_step = false;
  for (size_t k = 0; k < w.all.list.n; k++) {
    of_forward = of_forward || w.all.list.at[k].entry == 0;
    of_step = of_step || w.all.list.at[k].entry == 2;
  }
  assert_true(of_forward && of_step);
}

static int setup(void **state) {
  static neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  *state = &a;
  return 0;
}

static int teardown(void **state) {
  neo_arena_free(*state);
  return 0;
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
  const struct CMUnitTest tests[] = {
      TEST(fields_and_lines_say_the_same),
      TEST(decisions_of_a_training_entry_stand_under_its_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
