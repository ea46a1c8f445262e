/* A group in a module of its own: its bytes are those of the same computation in any module, any
 * difference makes others, and a search of schedules finds the same there. */
#include "base/machine.h"
#include "fusion/extract.h"
#include "fusion/form.h"
#include "ir/print.h"
#include "schedule/schedule.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
  neo_arena arena;
  neo_str bytes; /* of the group that writes Y */
} made;

static const neo_group *writer_of(const neo_module *m, const neo_grouping *g, const char *name) {
  neo_tensor t = neo_tensor_find(m, name);
  for (size_t k = 0; k < g->groups.n; k++)
    for (size_t i = 0; i < g->groups.at[k].roots.n; i++)
      if (g->groups.at[k].roots.at[i].i == t.i)
        return &g->groups.at[k];
  return NULL;
}

static neo_module *parse(neo_arena *a, const char *text) {
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  return m;
}

/* In the module of its own the model's choice is the same. */
static void expect_same_choice(neo_module *m, const neo_group *g, neo_module *own,
                               const neo_group *extracted) {
  static const char *const names[] = {"x86-64-v3", "x86-64-v4", "sm_90a"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    const neo_machine *machine = neo_machine_named(names[k]);
    assert_non_null(machine);
    neo_schedule s = neo_schedule_default(own, extracted, machine);
    neo_schedule t = neo_schedule_default(m, g, machine);
    assert_true(neo_schedule_equal(&s, &t));
    assert_true(neo_schedule_legal(m, g, machine, &s, NULL));
  }
}

static made make(const char *text) {
  made x = {0};
  neo_grouping groups;
  neo_group own;
  neo_arena_init(&x.arena, neo_alloc_default, NULL);
  neo_module *m = parse(&x.arena, text);
  assert_int_equal(neo_fuse_with(m, &x.arena, NULL, &groups, NULL), NEO_OK);
  const neo_group *g = writer_of(m, &groups, "Y");
  assert_non_null(g);
  neo_group_form(m, g);
  size_t nodes = m->nodes.n, tensors = m->tensors.n, pool = m->pool.n;
  neo_module *extracted = neo_group_extract(m, g, &x.arena, &own);
  assert_int_equal(m->nodes.n, nodes);
  assert_int_equal(m->tensors.n, tensors);
  assert_int_equal(m->pool.n, pool);
  neo_str_init(&x.bytes, &x.arena);
  neo_extract_print(extracted, &own, &x.bytes);
  expect_same_choice(m, g, extracted, &own);
  return x;
}

static bool equal(const char *a, const char *b) {
  made x = make(a), y = make(b);
  bool is = x.bytes.n == y.bytes.n &&
            memcmp(neo_str_text(&x.bytes), neo_str_text(&y.bytes), x.bytes.n) == 0;
  neo_arena_free(&x.arena);
  neo_arena_free(&y.arena);
  return is;
}

#define PRODUCT(A, B, M, K, N, TYPE, BODY)                                                       \
  "input " A " : " TYPE " [" M ", " K "]\ninput " B " : " TYPE " [" K ", " N "]\ntemp Y : " TYPE \
  " [" M ", " N "]\ndef Y[b: " M ", j: " N "] =\n  sum[i: " K "] " BODY                          \
  "\n  then acc0\nentry forward forward: o = Y\n"

#define PLAIN PRODUCT("X", "W", "60", "160", "240", "f32", "X[b, i] * W[i, j]")
#define SIZED(BOUNDS) \
  "size n " BOUNDS "\n" PRODUCT("X", "W", "n", "160", "240", "f32", "X[b, i] * W[i, j]")

static void names_and_what_else_is_in_the_module_do_not_matter(void **state) {
  (void)state;
  assert_true(equal(PLAIN, PRODUCT("P", "Q", "60", "160", "240", "f32", "P[b, i] * Q[i, j]")));
  assert_true(equal(PLAIN, "input Z : f32 [3, 5]\ntemp U : f32 [5, 3]\n"
                           "def U[j: 5, b: 3] = Z[b, j] * 2.5 + 1.0\n"
                           "entry forward other: u = U\n" PLAIN));
  assert_true(equal(SIZED("1..64"), "size m 2..9\ninput Z : f32 [m]\n" SIZED("1..64")));
}

/* Expressions that are there before have lower numbers in their module, and others in none. */
static void what_was_asked_before_does_not_matter(void **state) {
  (void)state;
  assert_true(equal(PLAIN, "input Z : f32 [160, 240]\ntemp U : f32 [240, 160]\n"
                           "def U[b: 240, j: 160] = Z[j, b] * f32(j * 240 + b)\n"
                           "entry forward other: u = U\n" PLAIN));
}

static void any_difference_makes_other_bytes(void **state) {
  (void)state;
  static const char *const all[] = {
      PLAIN,
      PRODUCT("X", "W", "61", "160", "240", "f32", "X[b, i] * W[i, j]"),
      PRODUCT("X", "W", "60", "161", "240", "f32", "X[b, i] * W[i, j]"),
      PRODUCT("X", "W", "60", "160", "241", "f32", "X[b, i] * W[i, j]"),
      PRODUCT("X", "W", "60", "160", "240", "f64", "X[b, i] * W[i, j]"),
      PRODUCT("X", "W", "60", "160", "240", "f32", "W[i, j] * X[b, i]"),
      PRODUCT("X", "W", "60", "160", "240", "f32", "X[b, 159 - i] * W[i, j]"),
      PRODUCT("X", "W", "60", "160", "240", "f32", "X[b, i] * W[i, j] * 2.0"),
      PRODUCT("X", "W", "60", "160", "240", "f32", "X[b, i] * W[i, j] * 3.0"),
      SIZED("1..60"),
      SIZED("1..64"),
      SIZED("2..64"),
      /* the same accesses of tensors with other numbers of elements, which no load tells */
      "input X : f32 [64, 160]\ninput W : f32 [160, 240]\ntemp Y : f32 [60, 240]\n"
      "def Y[b: 60, j: 240] =\n  sum[i: 160] X[b, i] * W[i, j]\n  then acc0\n"
      "entry forward forward: o = Y\n",
  };
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    for (size_t i = 0; i <= k; i++)
      assert_int_equal(equal(all[i], all[k]), i == k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_and_what_else_is_in_the_module_do_not_matter),
      cmocka_unit_test(what_was_asked_before_does_not_matter),
      cmocka_unit_test(any_difference_makes_other_bytes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
