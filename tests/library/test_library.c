/* The shipped library and the language against PyTorch: every model of this folder, with the values
 * of expected/ (made by make_expected.py), interpreted in f64 and compiled in f32. */
#include "tests/effort.h"
#include "tests/oracle/expected.h"
#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER NEO_TEST_SOURCE_DIR "/tests/library"

static void open_model(machine *m, const char *name, machine_kind kind) {
  char path[256];
  snprintf(path, sizeof path, "tests/library/%s.expr", name);
  machine_open(m, NEO_TEST_SOURCE_DIR, path, kind);
}

static void follow(machine *m, const char *model, double tolerance) {
  size_t n, k;
  char path[4096];
  snprintf(path, sizeof path, FOLDER "/expected/%s.txt", model);
  expected *r = expected_read(&m->c.arena, path, &n);
  for (k = 0; k < n && strcmp(r[k].entry, "size") == 0; k++)
    assert_true(machine_size(m, r[k].name, r[k].n));
  machine_fill(m);
  expected_follow(m, model, r + k, n - k, tolerance, 1e-3);
}

/* A model under test; it is compiled once. */
typedef struct {
  char *name;
  double tolerance; /* of compiled code */
  bool is_open;
  machine code;
} subject;

static machine *compiled(subject *s) {
  if (s->is_open) {
    machine_reset(&s->code);
    return &s->code;
  }
  open_model(&s->code, s->name, MACHINE_COMPILED);
  s->is_open = true;
  return &s->code;
}

static void interpreted_in_f64_it_equals_pytorch(void **state) {
  subject *s = *state;
  machine m;
  if (getenv(
          "NEO_TEST_TARGET")) /* of a device nothing is interpreted that a processor's test has not */
    skip();
  open_model(&m, s->name, MACHINE_WIDE);
  follow(&m, s->name, 1e-9);
  machine_close(&m);
}

static void compiled_in_f32_it_equals_pytorch(void **state) {
  subject *s = *state;
  follow(compiled(s), s->name, s->tolerance);
}

/* ---- at other sizes */

static void compare_entry(machine *code, machine *exact, const char *model, const char *entry,
                          int64_t size, double tolerance) {
  machine_run(code, entry);
  machine_run(exact, entry);
  for (uint32_t k = 0; k < machine_outputs(exact); k++) {
    char what[256];
    int64_t n, n2;
    const char *name = machine_output_name(exact, k);
    const double *want = machine_output(exact, name, &n), *got = machine_output(code, name, &n2);
    snprintf(what, sizeof what, "%s at size %lld: %s", entry, (long long)size, name);
    assert_int_equal(n, n2);
    expected_compare(model, what, got, want, n, tolerance, 1e-3);
  }
}

static void compare_at(subject *s, machine *exact, int64_t size) {
  static const char *const sizes[] = {"B", "N", "T", "E", "H", "W"};
  static const char *const entries[] = {"test", "forward", "grad", "grad_d", "grad_g"};
  machine *code = &s->code;
  for (int k = 0; k < 6; k++) {
    int64_t lo, hi = machine_size_range(code, sizes[k], &lo);
    int64_t x = size < lo ? lo : size > hi ? hi : size;
    if (hi && machine_size(code, sizes[k], x))
      machine_size(exact, sizes[k], x);
  }
  machine_fill(code);
  machine_fill(exact);
  for (int k = 0; k < 5; k++)
    if (machine_has(exact, entries[k], NEO_ENTRY_FORWARD) ||
        machine_has(exact, entries[k], NEO_ENTRY_GRAD))
      compare_entry(code, exact, s->name, entries[k], size, s->tolerance);
}

/* The smallest, a prime, the largest, and smaller ones again: one library and one context for all.
 * Sanitizers see in the first three what there is to see. */
static void it_equals_the_interpreter_at_every_size(void **state) {
  subject *s = *state;
  static const int64_t sizes[] = {1, 17, INT32_MAX, 2, 0};
  machine exact;
  open_model(&exact, s->name, MACHINE_EXACT);
  compiled(s);
  size_t n = NEO_TEST_SANITIZED ? 3 : sizeof sizes / sizeof *sizes;
  for (size_t k = 0; k < n; k++)
    compare_at(s, &exact, sizes[k]);
  machine_close(&exact);
}

/* ---- dropout, whose mask PyTorch cannot know */

/* With W = 1 and X = 1 each element of h is 11, so dW[i, j] = sum over b of mask[b, j]/(1 - p). */
static void check_masks(const double *dW, int64_t batch) {
  int64_t kept = 0;
  for (int64_t j = 0; j < 13; j++) {
    double count = dW[j] * 0.75;
    assert_true(fabs(count - round(count)) < 1e-3 && count > -0.5 && count < (double)batch + 0.5);
    for (int64_t i = 1; i < 11; i++)
      assert_true(fabs(dW[i * 13 + j] - dW[j]) < 1e-3);
    kept += (int64_t)round(count);
  }
  assert_in_range(kept, 13 * batch * 60 / 100, 13 * batch * 88 / 100);
}

static void dropout_keeps_three_of_four_and_scales_them(machine_kind kind) {
  machine m;
  open_model(&m, "dropout", kind);
  double one[19 * 11], first = 0;
  int64_t n;
  for (int k = 0; k < 19 * 11; k++)
    one[k] = 1;
  machine_put(&m, neo_tensor_find(m.c.module, "X"), one, 19 * 11);
  machine_run(&m, "forward");
  assert_float_equal(machine_output(&m, "d", &n)[5], 11, 1e-6);
  for (int step = 0; step < 3; step++) {
    machine_put(&m, neo_tensor_find(m.c.module, "W"), one, 11 * 13);
    machine_run(&m, "grad");
    double loss = *machine_output(&m, "loss", &n);
    check_masks(machine_output(&m, "grad:W", &n), 19);
    machine_run(&m, "step"); /* draws what `grad` drew at this step; the next step draws anew */
    assert_float_equal(*machine_output(&m, "loss", &n), loss, 1e-3);
    assert_true(step == 0 || loss != first);
    first = loss;
  }
  machine_close(&m);
}

static void dropout_is_right_when_compiled(void **state) {
  (void)state;
  dropout_keeps_three_of_four_and_scales_them(MACHINE_COMPILED);
}

static void dropout_is_right_when_interpreted(void **state) {
  (void)state;
  dropout_keeps_three_of_four_and_scales_them(MACHINE_WIDE);
}

/* ---- the tests: three a model */

static char *stem(const char *path) {
  const char *slash = strrchr(path, '/');
  return strndup(slash + 1, strlen(slash + 1) - strlen(".expr"));
}

static struct CMUnitTest make(subject *s, const char *what, CMUnitTestFunction f) {
  char name[256];
  snprintf(name, sizeof name, "%s: %s", s->name, what);
  return (struct CMUnitTest){.name = strdup(name), .test_func = f, .initial_state = s};
}

static void add_model(struct CMUnitTest *tests, subject *s) {
  tests[0] = make(s, "interpreted in f64 it equals PyTorch", interpreted_in_f64_it_equals_pytorch);
  tests[1] = make(s, "compiled in f32 it equals PyTorch", compiled_in_f32_it_equals_pytorch);
  tests[2] = make(s, "compiled it equals the interpreter at every size",
                  it_equals_the_interpreter_at_every_size);
}

static void release(struct CMUnitTest *tests, subject *subjects, size_t n) {
  for (size_t k = 0; k < n; k++) {
    if (subjects[k].is_open)
      machine_close(&subjects[k].code);
    for (size_t t = 0; t < 3; t++)
      free((void *)(uintptr_t)tests[3 * k + t].name);
    free(subjects[k].name);
  }
}

/* With an argument: the tests of that model only. */
int main(int argc, char **argv) {
  enum { MOST = 80 };
  glob_t found;
  struct CMUnitTest tests[3 * MOST + 2];
  subject subjects[MOST];
  size_t n = 0;
  if (glob(FOLDER "/*.expr", 0, NULL, &found))
    return 1;
  for (size_t k = 0; k < found.gl_pathc && n < MOST; k++) {
    char *name = stem(found.gl_pathv[k]);
    subjects[n] = (subject){.name = name, .tolerance = strcmp(name, "mixed") == 0 ? 2e-2 : 1e-4};
    if (argc > 1 && strcmp(name, argv[1]) != 0) {
      free(name);
      continue;
    }
    add_model(&tests[3 * n], &subjects[n]);
    n++;
  }
  globfree(&found);
  tests[3 * n] = (struct CMUnitTest)cmocka_unit_test(dropout_is_right_when_compiled);
  tests[3 * n + 1] = (struct CMUnitTest)cmocka_unit_test(dropout_is_right_when_interpreted);
  int failed = _cmocka_run_group_tests("library", tests, 3 * n + 2, NULL, NULL);
  release(tests, subjects, n);
  return failed;
}
