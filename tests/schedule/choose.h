/* Modules as text, and what the model chooses for a group of theirs. */
#ifndef NEO_TESTS_SCHEDULE_CHOOSE_H
#define NEO_TESTS_SCHEDULE_CHOOSE_H
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

static inline const neo_machine *avx2(void) {
  return neo_machine_named("x86-64-v3");
}

static inline const neo_machine *avx512(void) {
  return neo_machine_named("x86-64-v4");
}

static inline neo_module *module_of(neo_arena *a, const char *text, neo_grouping *g) {
  char *whole = neo_arena_printf(a, "neo-ir 1\nmodule t\n%s", text);
  neo_diags *d = neo_diags_new(a, neo_sources_new(a));
  neo_module *m = neo_module_parse(a, neo_names_new(a), d, "test", whole, strlen(whole));
  assert_non_null(m);
  assert_int_equal(neo_fuse_with(m, a, NULL, g, NULL), NEO_OK);
  return m;
}

/* The schedule that the model chooses for the group of this name; null: the first group. */
static inline neo_schedule choose_on(const neo_machine *machine, const char *text,
                                     const char *name) {
  neo_arena a;
  neo_grouping g;
  neo_arena_init(&a, neo_alloc_default, NULL);
  neo_module *m = module_of(&a, text, &g);
  size_t k = 0;
  while (name && k + 1 < g.groups.n && strcmp(g.groups.at[k].name, name) != 0)
    k++;
  neo_schedule s = neo_schedule_default(m, &g.groups.at[k], machine);
  assert_true(neo_schedule_legal(m, &g.groups.at[k], machine, &s, NULL));
  neo_arena_free(&a);
  return s;
}

static inline neo_schedule choose_of(const char *text, const char *name) {
  return choose_on(avx2(), text, name);
}

static inline neo_schedule choose(const char *text) {
  return choose_of(text, NULL);
}

#endif
