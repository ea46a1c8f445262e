/* Trees of random programs with recurrences, forward and of their gradients: they obey the invariants, print and parse to
 * the same text, and run. What they give is compared in tests/pairs, whose interpreter runs trees. */
#include "tests/effort.h"
#include "tests/ir/ir_test.h"
#include "tests/pairs/compilation.h"
#include "tests/tree/tree_text.h"
#include <string.h>

enum { COUNT = 60 };

static const char *text_of(neo_module *m, neo_arena *a, const neo_schedule_tree *t) {
  neo_str s;
  neo_str_init(&s, a);
  neo_tree_print(m, t, &s);
  return neo_str_text(&s);
}

static bool has_band(const neo_tree *t) {
  bool has = t->kind == NEO_TREE_BAND;
  for (size_t k = 0; k < t->children.n && !has; k++)
    has = has_band(t->children.at[k]);
  return has;
}

/* Returns whether the tree of what the entry returns has a band. */
static bool check_entry(neo_module *m, neo_arena *a, const neo_entry_rec *e, uint64_t seed) {
  neo_tensor *roots = NEO_NEW_ARRAY(a, neo_tensor, e->outputs.n + 1);
  neo_schedule_tree again;
  neo_str why;
  neo_str_init(&why, a);
  for (uint32_t k = 0; k < e->outputs.n; k++)
    roots[k].i = neo_list_at(m, e->outputs, k);
  neo_schedule_tree t = {.root = neo_tree_of_roots(m, a, roots, e->outputs.n, &why)};
  if (!t.root || neo_tree_verify(m, &t, &why))
    fail_msg("seed %llu: %s", (unsigned long long)seed, neo_str_text(&why));
  const char *text = text_of(m, a, &t);
  if (!neo_tree_parse(m, a, "test.tree", text, strlen(text), &again))
    fail_msg("seed %llu does not parse:\n%s", (unsigned long long)seed, text);
  assert_string_equal(text_of(m, a, &again), text);
  return has_band(t.root);
}

/* Returns how many entries have bands. */
static size_t check_program(pairs_drawer *draw, uint64_t seed) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  pairs_program p = draw(&a, seed);
  pairs_compilation x;
  pairs_how how = {0};
  neo_str text;
  size_t bands = 0;
  neo_str_init(&text, &a);
  pairs_text(&p, &text);
  if (pairs_open(&x, &p, neo_str_text(&text), &how, false) && !neo_compile_front(&x.c) &&
      !neo_compile_passes(&x.c))
    for (size_t k = 0; k < x.c.module->entries.n; k++) {
      neo_entry_rec e = x.c.module->entries.at[k];
      bands += check_entry(x.c.module, &a, &e, seed);
    }
  pairs_close(&x);
  neo_arena_free(&a);
  return bands;
}

static void check_programs(pairs_drawer *draw) {
  size_t bands = 0;
  uint64_t n = neo_test_count(COUNT);
  for (uint64_t seed = 1; seed <= n; seed++)
    bands += check_program(draw, seed);
  assert_true(2 * bands > n);
}

static void trees_of_recurrences_print_and_parse(void **state) {
  (void)state;
  check_programs(pairs_draw_wide_recurrent);
}

static void trees_of_vertex_functions_print_and_parse(void **state) {
  (void)state;
  check_programs(pairs_draw_vertices);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trees_of_recurrences_print_and_parse),
      cmocka_unit_test(trees_of_vertex_functions_print_and_parse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
