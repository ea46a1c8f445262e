/* Gradients of gradients against JAX: every model of this folder, with the values of expected/
 * (made by make_expected.py), interpreted in f64 and compiled in f32. */
#include "tests/oracle/expected.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER NEO_TEST_SOURCE_DIR "/tests/second/"

enum { MOST = 40, TESTS = 2 };

static void follow(const char *name, machine_kind kind, double tolerance) {
  char path[256], model[256];
  machine m;
  size_t n, k;
  snprintf(path, sizeof path, FOLDER "expected/%s.txt", name);
  snprintf(model, sizeof model, "tests/second/%s.expr", name);
  machine_open(&m, NEO_TEST_SOURCE_DIR, model, kind);
  const expected *r = expected_read(&m.c.arena, path, &n);
  for (k = 0; k < n && strcmp(r[k].entry, "size") == 0; k++)
    assert_true(machine_size(&m, r[k].name, r[k].n));
  assert_true(k < n);
  machine_fill(&m);
  expected_follow(&m, name, r + k, n - k, tolerance, 1e-3);
  machine_close(&m);
}

static void interpreted_in_f64_it_equals_jax(void **state) {
  follow(*state, MACHINE_WIDE, 1e-9);
}

static void compiled_in_f32_it_equals_jax(void **state) {
  follow(*state, MACHINE_COMPILED, 1e-4);
}

static struct CMUnitTest make(char *name, const char *what, CMUnitTestFunction f) {
  char title[256];
  snprintf(title, sizeof title, "%s: %s", name, what);
  return (struct CMUnitTest){.name = strdup(title), .test_func = f, .initial_state = name};
}

static void add_model(struct CMUnitTest *tests, char *name) {
  tests[0] = make(name, "interpreted in f64 it equals JAX", interpreted_in_f64_it_equals_jax);
  tests[1] = make(name, "compiled in f32 it equals JAX", compiled_in_f32_it_equals_jax);
}

static char *stem(const char *path) {
  const char *slash = strrchr(path, '/');
  return strndup(slash + 1, strlen(slash + 1) - strlen(".expr"));
}

/* With an argument: the tests of that model only. */
int main(int argc, char **argv) {
  glob_t found;
  struct CMUnitTest tests[TESTS * MOST];
  char *names[MOST];
  size_t n = 0;
  if (glob(FOLDER "*.expr", 0, NULL, &found) || found.gl_pathc > MOST)
    return 1;
  for (size_t k = 0; k < found.gl_pathc; k++) {
    names[n] = stem(found.gl_pathv[k]);
    if (argc > 1 && strcmp(names[n], argv[1]) != 0) {
      free(names[n]);
      continue;
    }
    add_model(&tests[TESTS * n], names[n]);
    n++;
  }
  globfree(&found);
  int failed = _cmocka_run_group_tests("second", tests, TESTS * n, NULL, NULL);
  for (size_t k = 0; k < TESTS * n; k++)
    free((void *)(uintptr_t)tests[k].name);
  for (size_t k = 0; k < n; k++)
    free(names[k]);
  return failed;
}
