/* The models of models/zoo at small sizes against PyTorch: every file of expected/ (made by
 * make_expected.py) is a case, interpreted in f64, and as machine code in f64 and f32. In front of
 * what tests/oracle/expected.h describes, a file says
 *
 *     model NAME                models/zoo/NAME.expr
 *     define NAME N             as -D NAME=N
 *     seed values N             of inputs and parameters
 *     set NAME 1 VALUE          an option of the optimizer
 *     fill NAME 2 CENTER SCALE  a parameter or input is CENTER + SCALE*v, v as below; else v
 *     given NAME N VALUES...    an input
 *
 * Further files may be given as arguments. */
#include "tests/oracle/expected.h"
#include <glob.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER NEO_TEST_SOURCE_DIR "/tests/zoo/expected/"

enum { MOST_DEFINES = 32, MOST_CASES = 128, TESTS = 3 };

/* A file, taken apart. */
typedef struct {
  const char *model;
  uint64_t seed;
  neo_define_option defines[MOST_DEFINES];
  int n_defines;
  const expected *settings; /* set, fill and size lines */
  size_t n_settings;
  const expected *values, *steps; /* what does not train, and what follows */
  size_t n_values, n_steps;
} story;

static bool is(const expected *r, const char *entry) {
  return strcmp(r->entry, entry) == 0;
}

static bool is_setting(const expected *r) {
  return is(r, "set") || is(r, "fill") || is(r, "size") || is(r, "given");
}

static void define(story *s, const expected *r) {
  assert_true(s->n_defines < MOST_DEFINES);
  s->defines[s->n_defines++] = (neo_define_option){.name = r->name, .value = r->n};
}

static story read_story(neo_arena *a, const char *name) {
  char path[4096];
  size_t n, k = 0;
  snprintf(path, sizeof path, strchr(name, '/') ? "%s" : FOLDER "%s.txt", name);
  const expected *r = expected_read(a, path, &n);
  story s = {.model = name};
  for (; k < n && !is_setting(&r[k]); k++) {
    if (is(&r[k], "model"))
      s.model = r[k].name;
    else if (is(&r[k], "define"))
      define(&s, &r[k]);
    else if (is(&r[k], "seed"))
      s.seed = (uint64_t)r[k].n;
    else
      break;
  }
  s.settings = r + k;
  for (; k < n && is_setting(&r[k]); k++)
    s.n_settings++;
  s.values = r + k;
  for (; k < n && !is(&r[k], "step"); k++)
    s.n_values++;
  s.steps = r + k;
  s.n_steps = n - k;
  return s;
}

/* ---- inputs and parameters: hashes, so that nothing is degenerate; exact in f32 */

static uint64_t key_of(const story *s, const char *name) {
  uint64_t key = s->seed;
  for (; *name; name++)
    key = expected_hash(key, (uint64_t)(unsigned char)*name);
  return key;
}

static const double *filling(const story *s, const char *name) {
  static const double plain[2] = {0, 1};
  for (size_t k = 0; k < s->n_settings; k++)
    if (is(&s->settings[k], "fill") && strcmp(s->settings[k].name, name) == 0)
      return s->settings[k].x;
  return plain;
}

static void fill(machine *m, const story *s, neo_tensor t) {
  neo_tensor_rec rec = *neo_tensor_at(m->c.module, t);
  const char *name = machine_name(m, t);
  const double *f = filling(s, name);
  uint64_t key = key_of(s, name), bound = 1;
  int64_t n = machine_elements(m, t);
  double *x = NEO_NEW_ARRAY(&m->c.arena, double, (size_t)n + 1);
  if (rec.bound.i)
    bound = (uint64_t)neo_size_value(m->c.module, rec.bound, m->sizes);
  neo_ends_at ends = neo_tensor_ends_at(m->c.module, t, m->sizes);
  for (int64_t k = 0; k < n; k++) {
    uint64_t h = expected_hash((uint64_t)k, key);
    int64_t low = 0, high = (int64_t)bound;
    if (ends.given)
      neo_ends_of_element(&ends, k, &low, &high);
    x[k] = neo_type_is_float((neo_type)rec.type)
               ? f[0] + f[1] * ((double)(h % 63) - 31) / 32
               : (double)(low + (int64_t)(h % (uint64_t)(high - low)));
  }
  machine_put(m, t, x, n);
}

static void give(machine *m, const story *s) {
  for (size_t k = 0; k < s->n_settings; k++)
    if (is(&s->settings[k], "given"))
      machine_put(m, neo_tensor_find(m->c.module, s->settings[k].name), s->settings[k].x,
                  s->settings[k].n);
}

static void open_case(machine *m, const story *s, machine_kind kind) {
  char path[256];
  snprintf(path, sizeof path, "models/zoo/%s.expr", s->model);
  machine_open_with(m, NEO_TEST_SOURCE_DIR, path, kind, s->defines, s->n_defines);
  for (size_t k = 0; k < s->n_settings; k++) {
    const expected *r = &s->settings[k];
    if (is(r, "size"))
      assert_true(machine_size(m, r->name, r->n));
    else if (is(r, "set"))
      machine_put(m, neo_tensor_find(m->c.module, r->name), r->x, 1);
  }
  for (uint32_t t = 1; t < m->c.module->tensors.n; t++) {
    uint8_t role = m->c.module->tensors.at[t].role;
    if (role == NEO_ROLE_INPUT || role == NEO_ROLE_PARAM)
      fill(m, s, (neo_tensor){t});
  }
  give(m, s);
}

/* ---- the tests */

typedef struct {
  machine_kind kind;
  double values, steps; /* tolerances; 0: not compared */
  double floor_norm;    /* some gradients are 0, such as of a shift that a mean takes away */
} precision;

static void follow(const char *name, precision p) {
  neo_arena a;
  neo_arena_init(&a, neo_alloc_default, NULL);
  story s = read_story(&a, name);
  machine m;
  open_case(&m, &s, p.kind);
  assert_true(s.n_values > 0 && s.n_steps > 0);
  expected_follow(&m, name, s.values, s.n_values, p.values, p.floor_norm);
  if (p.steps > 0)
    expected_follow(&m, name, s.steps, s.n_steps, p.steps, p.floor_norm);
  machine_close(&m);
  neo_arena_free(&a);
}

static void interpreted_in_f64_it_equals_pytorch(void **state) {
  follow(*state, (precision){MACHINE_WIDE, 1e-9, 1e-8, 1e-3});
}

static void compiled_in_f64_it_equals_pytorch(void **state) {
  follow(*state, (precision){MACHINE_COMPILED_WIDE, 1e-9, 1e-8, 1e-3});
}

static void compiled_in_f32_it_equals_pytorch(void **state) {
  follow(*state, (precision){MACHINE_COMPILED, 1e-4, 0, 1e-2});
}

static struct CMUnitTest make(char *name, const char *what, CMUnitTestFunction f) {
  char title[256];
  snprintf(title, sizeof title, "%s: %s", name, what);
  return (struct CMUnitTest){.name = strdup(title), .test_func = f, .initial_state = name};
}

static void add_case(struct CMUnitTest *tests, char *name) {
  tests[0] =
      make(name, "interpreted in f64 it equals PyTorch", interpreted_in_f64_it_equals_pytorch);
  tests[1] = make(name, "compiled in f64 it equals PyTorch", compiled_in_f64_it_equals_pytorch);
  tests[2] = make(name, "compiled in f32 it equals PyTorch", compiled_in_f32_it_equals_pytorch);
}

static char *stem(const char *path) {
  const char *slash = strrchr(path, '/');
  return strndup(slash + 1, strlen(slash + 1) - strlen(".txt"));
}

/* With arguments: these cases only. */
static bool is_wanted(const char *name, int argc, char **argv) {
  for (int k = 1; k < argc; k++)
    if (strcmp(name, argv[k]) == 0)
      return true;
  return argc < 2;
}

/* The names of wanted cases, and paths of others. */
static size_t find_cases(char **names, int argc, char **argv) {
  glob_t found;
  size_t n = 0;
  if (glob(FOLDER "*.txt", 0, NULL, &found) || found.gl_pathc + (size_t)argc > MOST_CASES)
    return 0;
  for (size_t k = 0; k < found.gl_pathc; k++) {
    char *name = stem(found.gl_pathv[k]);
    if (is_wanted(name, argc, argv))
      names[n++] = name;
    else
      free(name);
  }
  globfree(&found);
  for (int k = 1; k < argc; k++)
    if (strchr(argv[k], '/'))
      names[n++] = strdup(argv[k]);
  return n;
}

int main(int argc, char **argv) {
  struct CMUnitTest tests[TESTS * MOST_CASES];
  char *names[MOST_CASES];
  size_t n = find_cases(names, argc, argv);
  if (!n)
    return 1;
  for (size_t k = 0; k < n; k++)
    add_case(&tests[TESTS * k], names[k]);
  int failed = _cmocka_run_group_tests("zoo", tests, TESTS * n, NULL, NULL);
  for (size_t k = 0; k < TESTS * n; k++)
    free((void *)(uintptr_t)tests[k].name);
  for (size_t k = 0; k < n; k++)
    free(names[k]);
  return failed;
}
