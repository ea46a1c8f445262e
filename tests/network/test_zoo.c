/* The network of each model of the zoo that trains, at the small sizes of tests/zoo/expected: one
 * instance at a time it is the synchronous step. */
#include "tests/network/world.h"
#include "tests/oracle/expected.h"
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_DEFINES = 32, STEPS = 3 };

#define FOLDER NEO_TEST_SOURCE_DIR "/tests/zoo/expected/"

static bool is(const expected *r, const char *word) {
  return strcmp(r->entry, word) == 0;
}

typedef struct {
  const expected *r;
  size_t n;
  char model[256];
  neo_define_option defines[MOST_DEFINES];
  int n_defines;
} story;

static story read_story(neo_arena *a, const char *path) {
  story s = {0};
  s.r = expected_read(a, path, &s.n);
  const char *slash = strrchr(path, '/'), *name = slash + 1;
  snprintf(s.model, sizeof s.model, "models/zoo/%.*s.expr", (int)(strlen(name) - 4), name);
  for (size_t k = 0; k < s.n; k++) {
    if (is(&s.r[k], "model"))
      snprintf(s.model, sizeof s.model, "models/zoo/%s.expr", s.r[k].name);
    if (is(&s.r[k], "define"))
      s.defines[s.n_defines++] = (neo_define_option){.name = s.r[k].name, .value = s.r[k].n};
  }
  return s;
}

static void follow(const char *path, bool wide, uint32_t nodes, double tolerance) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  story s = read_story(&a, path);
  world w;
  world_model x = {.path = s.model, .defines = s.defines, .n_defines = s.n_defines};
  x.wide = wide;
  x.nodes = nodes;
  world_open(&w, NEO_TEST_SOURCE_DIR, &x);
  for (size_t k = 0; k < s.n; k++)
    if (is(&s.r[k], "size"))
      world_size(&w, s.r[k].name, s.r[k].n);
  world_begin(&w, 1);
  world_fill(&w, 7);
  for (size_t k = 0; k < s.n; k++)
    if (is(&s.r[k], "given") || is(&s.r[k], "set"))
      world_give(&w, s.r[k].name, s.r[k].x, is(&s.r[k], "set") ? 1 : s.r[k].n);
  for (int k = 0; k < STEPS; k++)
    world_step(&w, tolerance);
  if (getenv("NEO_TEST_SHOW"))
    printf("%s: %u nodes, %u Bcast, %u actors%s%s\n", strrchr(path, '/') + 1,
           (unsigned)w.n->nodes.n, world_count(&w, NEO_NET_BCAST), (unsigned)w.n->actors.n,
           w.n->whole ? ", whole: " : "", w.n->whole ? w.n->whole : "");
  world_close(&w);
  neo_arena_free(&a);
}

static void at_the_tolerance(bool wide, uint32_t nodes, double tolerance) {
  glob_t found;
  const char *only = getenv("NEO_TEST_ONLY");
  assert_int_equal(glob(FOLDER "*.txt", 0, NULL, &found), 0);
  for (size_t k = 0; k < found.gl_pathc; k++)
    if (!only || strstr(found.gl_pathv[k], only))
      follow(found.gl_pathv[k], wide, nodes, tolerance);
  globfree(&found);
}

static void a_network_is_the_step_in_f64(void **state) {
  (void)state;
  at_the_tolerance(true, 0, 1e-12);
}

static void a_network_is_the_step_in_the_types_of_the_model(void **state) {
  (void)state;
  at_the_tolerance(false, 0, 1e-5);
}

static void merged_to_few_nodes_it_still_is(void **state) {
  (void)state;
  at_the_tolerance(true, 4, 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_network_is_the_step_in_f64),
      cmocka_unit_test(a_network_is_the_step_in_the_types_of_the_model),
      cmocka_unit_test(merged_to_few_nodes_it_still_is),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
