/* Which sums are computed inside of others, on a GPU; the rest keeps its own kernel. */
#include "base/machine.h"
#include "fusion/decision.h"
#include "fusion/form.h"
#include "ir/print.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Nests whatever can be. Is S, an inner sum, in no kernel's memory? */
static bool nests(const char *text) {
  neo_arena a;
  neo_grouping all;
  neo_profile p = neo_machine_named("sm_90a")->profile;
  p.products_per_s = 1e30;
  p.room_s = 1;
  neo_arena_init(&a, neo_alloc_default, NULL);
  char *whole = neo_arena_printf(&a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(&a, neo_sources_new(&a));
  neo_module *m = neo_module_parse(&a, neo_names_new(&a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  neo_decisions decisions = {0};
  neo_fuse_options o = {.profile = &p};
  assert_int_equal(neo_fuse_with(m, &a, &o, &all, &decisions), NEO_OK);
  bool found = false;
  for (size_t k = 0; k < all.groups.n; k++)
    for (size_t i = 0; i < all.groups.at[k].roots.n; i++)
      found = found || all.groups.at[k].roots.at[i].i == neo_tensor_find(m, "S").i;
  bool nested = false;
  for (size_t k = 0; k < decisions.list.n; k++)
    nested = nested || (decisions.list.at[k].kind == NEO_FUSE_NESTED &&
                        decisions.list.at[k].of.i == neo_tensor_find(m, "S").i);
  assert_true(found == !nested);
  neo_arena_free(&a);
  return !found;
}

#define INPUTS                                                               \
  "input Q : f32 [50, 19]\ninput K : f32 [70, 19]\ninput V : f32 [70, 23]\n" \
  "temp S : f32 [50, 70]\ntemp Z : f32 [50]\ntemp Y : f32 [50, 23]\n"
#define SCORES "def S[i: 50, j: 70] =\n  sum[d: 19] Q[i, d] * K[j, d]\n  then acc0\n"
#define SUM(s, more)                                                               \
  "def Z[i: 50] =\n  logsumexp[j: 70] " s "\n  then acc0" more "\n"                \
  "def Y[i: 50, e: 23] =\n  sum[j: 70] exp(" s " - Z[i]) * V[j, e]\n  then acc0\n" \
  "entry forward f: y = Y\n"

static void sums_that_are_read_at_their_hosts_axes_are_inside_of_them(void **state) {
  (void)state;
  assert_true(nests(INPUTS SCORES SUM("S[i, j]", "")));
}

static void sums_that_are_read_elsewhere_are_not(void **state) {
  (void)state;
  assert_false(nests(INPUTS SCORES SUM("S[i, 69 - j]", "")));
  assert_false(nests(INPUTS SCORES SUM("S[49, j]", "")));
  assert_false(nests(INPUTS SCORES SUM("S[i, j]", " + S[i, 3]")));
}

static void sums_under_a_condition_are_not(void **state) {
  (void)state;
  assert_false(nests(INPUTS "def S[i: 50, j: 70] =\n  sum[d: 19] where d <= i;\n"
                            "  Q[i, d] * K[j, d]\n  then acc0\n" SUM("S[i, j]", "")));
}

static void sums_whose_ranges_lean_on_their_axes_are_not(void **state) {
  (void)state;
  assert_false(nests(INPUTS "def S[i: 50, j: 70] =\n  sum[d: 0..min(i, 18) + 1] Q[i, d] * K[j, d]\n"
                            "  then acc0\n" SUM("S[i, j]", "")));
}

static void sums_that_are_asked_for_are_not(void **state) {
  (void)state;
  assert_false(nests(INPUTS SCORES SUM("S[i, j]", "") "entry forward g: s = S\n"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sums_that_are_read_at_their_hosts_axes_are_inside_of_them),
      cmocka_unit_test(sums_that_are_read_elsewhere_are_not),
      cmocka_unit_test(sums_under_a_condition_are_not),
      cmocka_unit_test(sums_whose_ranges_lean_on_their_axes_are_not),
      cmocka_unit_test(sums_that_are_asked_for_are_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
