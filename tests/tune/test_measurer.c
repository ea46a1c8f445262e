/* The measurer's side that the tuner sees: a process that dies costs one candidate, and its job is
 * told again. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "tools/tune/measurer.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char job[] = "job\nlimit wall_ms=20000 cpu_ms=20000 memory_mb=96\n"
                          "time run_ms=1 total_ms=2 least_runs=3\nbuffer read f32 4096\n"
                          "buffer write f32 4096 rtol=1e-5\nready\n";

typedef struct {
  neo_arena arena;
  char folder[64];
  neo_candidate good;
  neo_measurer m;
} world;

static int set_up(void **state) {
  world *w = calloc(1, sizeof *w);
  const char *cc = getenv("CC"), *why;
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  strcpy(w->folder, "/tmp/neo-measurer-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  w->good = (neo_candidate){.ok = true, .symbol = "good", .units = 16};
  snprintf(w->good.path, sizeof w->good.path, "%s/k.so", w->folder);
  const char *command = neo_arena_printf(
      &w->arena, "%s -O1 -w -shared -fPIC -o %s %s/tests/measure/candidates/kernels.c -lm",
      cc && *cc ? cc : "cc", w->good.path, getenv("NEO_SOURCE_DIR"));
  assert_int_equal(system(command), 0);
  assert_int_equal(neo_measurer_start(&w->arena, &w->m, &why), NEO_OK);
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  world *w = *state;
  neo_measurer_stop(&w->m);
  unlink(w->good.path);
  rmdir(w->folder);
  neo_arena_free(&w->arena);
  free(w);
  return 0;
}

static neo_measured measured(world *w, const char *command) {
  neo_measured m;
  assert_int_equal(neo_measurer_run(&w->m, command, &w->good, 0, &m), NEO_OK);
  return m;
}

static void a_measurer_that_dies_costs_one_candidate(void **state) {
  world *w = *state;
  neo_measurer_job(&w->m, job);
  assert_true(measured(w, "plain").ok);
  assert_true(measured(w, "base").ok);
  neo_measurer_job(&w->m, "limit wall_ms=10000 cpu_ms=10000\n");
  for (int k = 0; k < 3; k++) {
    pid_t before = w->m.pid;
    assert_true(measured(w, "try").ok);
    kill(before, SIGKILL);
    neo_measured m = measured(w, k ? "race" : "try");
    assert_false(m.ok);
    assert_string_equal(m.why, "the measurer died");
    assert_int_not_equal(w->m.pid, before);
  }
  neo_measured m = measured(w, "try"); /* against the base that was told again */
  assert_true(m.ok && m.ratio > 0);
  kill(w->m.pid, SIGKILL);
  assert_int_equal(neo_measurer_run(&w->m, "try", &w->good, 0, &m), NEO_IO);
  assert_non_null(strstr(w->m.why, "it died too often"));
}

static void a_new_job_forgets_the_one_before(void **state) {
  world *w = *state;
  neo_measurer_job(&w->m, job);
  assert_true(measured(w, "base").ok);
  neo_measurer_job(&w->m, job);
  kill(w->m.pid, SIGKILL);
  assert_false(measured(w, "base").ok);
  neo_measured m;
  assert_int_equal(neo_measurer_run(&w->m, "try", &w->good, 0, &m), NEO_IO);
  assert_non_null(strstr(w->m.why, "base"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_measurer_that_dies_costs_one_candidate, set_up, tear_down),
      cmocka_unit_test_setup_teardown(a_new_job_forgets_the_one_before, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
