/* Drawn programs have every option of every rule of the grammar, crossed as grammar.def says, but for what undrawn.def
 * names with a reason. With the argument `print`, how many programs have each pair. */
#include "tests/pairs/grammar.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { EACH = 1000 }; /* programs of each drawer */

static pairs_grammar *draw_all(neo_arena *a) {
  static pairs_drawer *const drawers[] = {pairs_draw_wide, pairs_draw_wide_recurrent,
                                         pairs_draw_wide_vertices};
  pairs_grammar *g = pairs_grammar_new(a);
  for (uint32_t k = 0; k < sizeof drawers / sizeof *drawers; k++)
    for (uint64_t seed = 1; seed <= EACH; seed++) {
      neo_arena one;
      neo_arena_init(&one, neo_alloc_default, NULL);
      pairs_program p = drawers[k](&one, seed);
      pairs_grammar_add(g, &one, &p);
      neo_arena_free(&one);
    }
  return g;
}

static void every_option_of_the_grammar_is_drawn(void **state) {
  neo_arena a;
  neo_str s;
  (void)state;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&s, &a);
  pairs_grammar *g = draw_all(&a);
  assert_int_equal(g->broken, 0);
  uint32_t missing = pairs_grammar_missing(g, &s);
  if (missing) { /* a message holds but some of them */
    fputs(neo_str_text(&s), stderr);
    fail_msg("%u pairs of options", missing);
  }
  neo_arena_free(&a);
}

static int print(void) {
  neo_arena a;
  neo_str s;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_str_init(&s, &a);
  pairs_grammar_print(draw_all(&a), &s);
  fputs(neo_str_text(&s), stdout);
  neo_arena_free(&a);
  return 0;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_option_of_the_grammar_is_drawn)};
  if (argc > 1 && strcmp(argv[1], "print") == 0)
    return print();
  return cmocka_run_group_tests(tests, NULL, NULL);
}
