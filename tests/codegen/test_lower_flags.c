/* Rows of a table that truths rule out are left out a block at a time. */
#include "codegen/lower/lower.h"
#include "fusion/form.h"
#include "ir/print.h"
#include "tests/codegen/lower_test.h"
#include <stdio.h>
#include <string.h>

/* Rows that three keys name; the others are not needed. */
#define ROWS                                                                    \
  "input k : i32 [3] < %d\ninput x : f32 [%d, 5]\ntemp F : bool [%d]\n"         \
  "temp Y : f32 [%d, 5] partial\n"                                              \
  "def F[n: %d] =\n  any[e: 3]\n  where i64(k[e]) == n;\n  true\n  then acc0\n" \
  "def Y[n: %d, d: 5] = select(F[%s], x[n, d] * 2.0, 0.0)\n"                    \
  "entry forward forward: Y = Y\n"

static const char *text_of(neo_arena *a, int rows, const char *at) {
  return neo_arena_printf(a, ROWS, rows, rows, rows, rows, rows, rows, at);
}

/* Whole blocks, and the rest behind them. */
static void rows_that_are_needed_are_found_in_blocks(void **state) {
  (void)state;
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  for (uint64_t seed = 1; seed <= 8; seed++) {
    lower_options o = {.seed = seed, .n_random = 3, .jit = true};
    lower_check(text_of(&a, 300, "n"), &o);
    lower_check(text_of(&a, 320, "n"), &o);
  }
  neo_arena_free(&a);
}

/* Do kernels test a block of truths at a time? */
static bool tests_blocks(int rows, const char *at) {
  neo_arena a;
  neo_str out, why;
  neo_grouping groups;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&out, &a);
  neo_str_init(&why, &a);
  char *whole = neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s", text_of(&a, rows, at));
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, &a, NULL, &groups, NULL), NEO_OK);
  for (size_t k = 0; k < groups.groups.n; k++) {
    const neo_group *g = &groups.groups.at[k];
    neo_schedule s = neo_schedule_default(m, g, neo_machine_named("x86-64-v4"));
    neo_kernel *kernel;
    assert_int_equal(neo_lower(m, g, &s, neo_machine_named("x86-64-v4"), &a, &kernel, &why),
                     NEO_OK);
    assert_int_equal(neo_kernel_verify(kernel, &why), NEO_OK);
    neo_kernel_print(kernel, &out);
  }
  bool found = strstr(neo_str_text(&out), "flag[0, 0, l] = F[b + l]") != NULL;
  neo_arena_free(&a);
  return found;
}

static void truths_of_many_rows_are_tested_a_vector_at_a_time(void **state) {
  (void)state;
  assert_true(tests_blocks(20000, "n"));
  assert_false(tests_blocks(100, "n"));           /* few rows */
  assert_false(tests_blocks(20000, "19999 - n")); /* not one beside the other */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_that_are_needed_are_found_in_blocks),
      cmocka_unit_test(truths_of_many_rows_are_tested_a_vector_at_a_time),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
