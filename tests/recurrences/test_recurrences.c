/* Layers, losses and factorizations that are recurrences, against PyTorch and JAX: every model of
 * this folder, with the values of expected/ (made by make_expected.py), interpreted in f64 and
 * compiled in f64 and f32; and compiled against the interpreter at other sizes. */
#include "tests/oracle/expected.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER NEO_TEST_SOURCE_DIR "/tests/recurrences/"

enum { MOST = 40, TESTS = 4 };

static void open_model(machine *m, const char *name, machine_kind kind) {
  char path[256];
  snprintf(path, sizeof path, "tests/recurrences/%s.expr", name);
  machine_open(m, NEO_TEST_SOURCE_DIR, path, kind);
}

static void follow(const char *name, machine_kind kind, double tolerance) {
  char path[4096];
  machine m;
  size_t n, k;
  snprintf(path, sizeof path, FOLDER "expected/%s.txt", name);
  open_model(&m, name, kind);
  const expected *r = expected_read(&m.c.arena, path, &n);
  for (k = 0; k < n && strcmp(r[k].entry, "size") == 0; k++)
    assert_true(machine_size(&m, r[k].name, r[k].n));
  assert_true(k < n);
  machine_fill(&m);
  expected_follow(&m, name, r + k, n - k, tolerance, 1e-3);
  machine_close(&m);
}

static void interpreted_in_f64_it_is_as_expected(void **state) {
  follow(*state, MACHINE_WIDE, 1e-9);
}

static void compiled_in_f64_it_is_as_expected(void **state) {
  follow(*state, MACHINE_COMPILED_WIDE, 1e-9);
}

static void compiled_in_f32_it_is_as_expected(void **state) {
  follow(*state, MACHINE_COMPILED, 2e-4);
}

/* ---- at other sizes */

static void compare_entry(machine *code, machine *exact, const char *model, const char *entry,
                          int64_t size) {
  machine_run(code, entry);
  machine_run(exact, entry);
  for (uint32_t k = 0; k < machine_outputs(exact); k++) {
    char what[256];
    int64_t n, n2;
    const char *name = machine_output_name(exact, k);
    const double *want = machine_output(exact, name, &n), *got = machine_output(code, name, &n2);
    snprintf(what, sizeof what, "%s at size %lld: %s", entry, (long long)size, name);
    assert_int_equal(n, n2);
    expected_compare(model, what, got, want, n, 1e-9, 1e-3);
  }
}

static void compare_at(machine *code, machine *exact, const char *model, int64_t size) {
  static const char *const sizes[] = {"B", "N", "T", "S"};
  static const char *const entries[] = {"test", "forward", "grad"};
  for (int k = 0; k < 4; k++) {
    int64_t lo, hi = machine_size_range(code, sizes[k], &lo);
    int64_t x = size < lo ? lo : size > hi ? hi : size;
    if (hi && machine_size(code, sizes[k], x))
      machine_size(exact, sizes[k], x);
  }
  machine_fill(code);
  machine_fill(exact);
  for (int k = 0; k < 3; k++)
    if (machine_has(exact, entries[k], NEO_ENTRY_FORWARD) ||
        machine_has(exact, entries[k], NEO_ENTRY_GRAD))
      compare_entry(code, exact, model, entries[k], size);
}

/* The smallest sizes, which may be 0, then 1, and the largest. */
static void compiled_it_equals_the_interpreter_at_every_size(void **state) {
  static const int64_t sizes[] = {0, 1, INT32_MAX, 2};
  machine code, exact;
  open_model(&code, *state, MACHINE_COMPILED_WIDE);
  open_model(&exact, *state, MACHINE_WIDE);
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
    compare_at(&code, &exact, *state, sizes[k]);
  machine_close(&code);
  machine_close(&exact);
}

/* ---- the tests */

static struct CMUnitTest make(char *name, const char *what, CMUnitTestFunction f) {
  char title[256];
  snprintf(title, sizeof title, "%s: %s", name, what);
  return (struct CMUnitTest){.name = strdup(title), .test_func = f, .initial_state = name};
}

static void add_model(struct CMUnitTest *tests, char *name) {
  tests[0] =
      make(name, "interpreted in f64 it is as expected", interpreted_in_f64_it_is_as_expected);
  tests[1] = make(name, "compiled in f64 it is as expected", compiled_in_f64_it_is_as_expected);
  tests[2] = make(name, "compiled in f32 it is as expected", compiled_in_f32_it_is_as_expected);
  tests[3] = make(name, "compiled it equals the interpreter at every size",
                  compiled_it_equals_the_interpreter_at_every_size);
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
  int failed = _cmocka_run_group_tests("recurrences", tests, TESTS * n, NULL, NULL);
  for (size_t k = 0; k < TESTS * n; k++)
    free((void *)(uintptr_t)tests[k].name);
  for (size_t k = 0; k < n; k++)
    free(names[k]);
  return failed;
}
