/* Building candidates: what the compiler fails on costs itself only. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "include/neo/neo_rt.h"
#include "tools/tune/build.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char model[] = "dim B <= 8\ninput X[B, 40]\ninput W[40, 24]\n"
                            "Y[b, j] = sum[i] X[b, i] * W[i, j]\noutput Y\n";

typedef struct {
  char folder[64], path[80];
  neo_compilation c;
  int64_t sizes[1];
  neo_builder builder;
} world;

static int make(void **state) {
  world *w = test_calloc(1, sizeof *w);
  strcpy(w->folder, "/tmp/neo-build-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  snprintf(w->path, sizeof w->path, "%s/m.expr", w->folder);
  assert_int_equal(neo_file_write(&neo_io_default, w->path, model, strlen(model)), NEO_OK);
  neo_compile_options o = {.path = w->path};
  neo_compilation_init(&w->c, &o);
  assert_int_equal(neo_compile_plan(&w->c), NEO_OK);
  w->sizes[0] = 8;
  w->builder = (neo_builder){.c = &w->c,
                             .g = &w->c.grouping.groups.at[0],
                             .machine = &w->c.machine,
                             .numbers = w->sizes,
                             .folder = w->folder,
                             .workers = 2,
                             .limit_ms = 60000};
  *state = w;
  return 0;
}

static int drop(void **state) {
  world *w = *state;
  unlink(w->path);
  assert_int_equal(rmdir(w->folder), 0); /* nothing was left */
  neo_compilation_free(&w->c);
  test_free(w);
  return 0;
}

/* Runs all units of a built kernel on ones: every sum is 40. */
static void check_runs(const neo_candidate *x) {
  static float a[8 * 40], b[40 * 24];
  float y[8 * 24 + 16] = {0};
  void *buf[3] = {a, b, y};
  const int64_t size[] = {8};
  const uint64_t key[3] = {0};
  for (int k = 0; k < 8 * 40; k++)
    a[k] = 1;
  for (int k = 0; k < 40 * 24; k++)
    b[k] = 1;
  void *library = dlopen(x->path, RTLD_NOW | RTLD_LOCAL), *symbol;
  assert_non_null(library);
  assert_non_null(symbol = dlsym(library, x->symbol));
  neo_rt_fn *fn;
  memcpy(&fn, &symbol, sizeof fn);
  void *scratch = aligned_alloc(64, ((size_t)x->scratch_bytes / 64 + 2) * 64);
  neo_rt_args args = {.buf = buf, .size = size, .key = key, .hi = x->units, .scratch = scratch};
  assert_int_equal(fn(&args), 0);
  for (int k = 0; k < 8 * 24; k++)
    assert_true(y[k] == 40);
  free(scratch);
  dlclose(library);
}

static void every_candidate_is_a_kernel_that_runs(void **state) {
  world *w = *state;
  neo_candidate x[5];
  memset(x, 0, sizeof x);
  for (int k = 0; k < 5; k++) {
    x[k].schedule =
        k ? neo_schedule_default(w->c.module, w->builder.g, &w->c.machine) : neo_schedule_plain();
    if (k > 1)
      x[k].schedule.loops.tile_m = k - 1;
  }
  neo_build(&w->builder, x, 5);
  for (int k = 0; k < 5; k++) {
    assert_true(x[k].ok);
    check_runs(&x[k]);
  }
  neo_unbuild(x, 5);
}

static void what_the_compiler_fails_on_costs_itself_only(void **state) {
  world *w = *state;
  neo_candidate x[4];
  memset(x, 0, sizeof x);
  for (int k = 0; k < 4; k++)
    x[k].schedule = neo_schedule_default(w->c.module, w->builder.g, &w->c.machine);
  x[1].schedule.loops.vector_axis = 40; /* there is no such axis */
  neo_build(&w->builder, x, 4);
  assert_false(x[1].ok);
  assert_string_not_equal(x[1].why, "");
  for (int k = 0; k < 4; k++)
    if (k != 1) {
      assert_true(x[k].ok);
      check_runs(&x[k]);
    }
  neo_unbuild(x, 4);
}

static void what_takes_too_long_is_given_up_and_leaves_nothing(void **state) {
  world *w = *state;
  neo_candidate x[3];
  memset(x, 0, sizeof x);
  for (int k = 0; k < 3; k++)
    x[k].schedule = neo_schedule_default(w->c.module, w->builder.g, &w->c.machine);
  w->builder.limit_ms = 2;
  neo_build(&w->builder, x, 3);
  for (int k = 0; k < 3; k++)
    if (!x[k].ok)
      assert_non_null(strstr(x[k].why, "too long"));
  neo_unbuild(x, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(every_candidate_is_a_kernel_that_runs, make, drop),
      cmocka_unit_test_setup_teardown(what_the_compiler_fails_on_costs_itself_only, make, drop),
      cmocka_unit_test_setup_teardown(what_takes_too_long_is_given_up_and_leaves_nothing, make,
                                      drop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
