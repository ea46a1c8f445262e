#include "tests/ir/ir_test.h"
#include <stdlib.h>

neo_module *test_module_new(neo_arena *a) {
  return neo_module_new(a, neo_names_new(a), neo_diags_new(a, neo_sources_new(a)), "test");
}

int test_setup(void **state) {
  neo_arena *a = malloc(sizeof *a);
  if (!a) return -1;
  neo_arena_init(a, neo_alloc_default, NULL);
  *state = test_module_new(a);
  return 0;
}

int test_teardown(void **state) {
  neo_arena *a = ((neo_module *)*state)->arena;
  neo_arena_free(a);
  free(a);
  return 0;
}

neo_list test_list1(neo_module *m, neo_expr e) { return neo_list_new(m, &e.i, 1); }
