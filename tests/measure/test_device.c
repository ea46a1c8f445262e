/* Candidates for a GPU, emulated, through the measurer as a process: the good are measured by the
 * device's clock, the bad are refused, and cost nobody else anything. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  pid_t pid;
  FILE *to, *from;
  char folder[64], image[80], plain[80], answer[1024];
} fix;

static void path_in_build(char *path, size_t n, const char *rest) {
  const char *build = getenv("NEO_BUILD_DIR");
  snprintf(path, n, "%s/%s", build ? build : "build/release", rest);
}

static void start(fix *f) {
  char path[4096];
  int in[2], out[2];
  path_in_build(path, sizeof path, "bin/neo-measure");
  assert_int_equal(pipe(in) | pipe(out), 0);
  f->pid = fork();
  if (f->pid == 0) {
    dup2(in[0], 0), dup2(out[1], 1);
    close(in[1]), close(out[0]), close(in[0]), close(out[1]);
    execl(path, path, (char *)NULL);
    _exit(127);
  }
  close(in[0]), close(out[1]);
  f->to = fdopen(in[1], "w"), f->from = fdopen(out[0], "r");
}

static void compile(const char *source, const char *to) {
  char command[4096];
  const char *cc = getenv("CC");
  snprintf(command, sizeof command, "%s -O1 -w -shared -fPIC -o %s %s/tests/measure/candidates/%s",
           cc && *cc ? cc : "cc", to, NEO_TEST_SOURCE_DIR, source);
  assert_int_equal(system(command), 0);
}

static int make(void **state) {
  fix *f = test_calloc(1, sizeof *f);
  char driver[4096];
  path_in_build(driver, sizeof driver, "tests/libneo_gpu_emulator.so");
  setenv("NEO_CUDA_DRIVER", driver, 1);
  unsetenv("NEO_EMULATOR_SM");
  snprintf(f->folder, sizeof f->folder, "/tmp/neo-device-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->image, sizeof f->image, "%s/d.so", f->folder);
  snprintf(f->plain, sizeof f->plain, "%s/k.so", f->folder);
  compile("device.c", f->image);
  compile("kernels.c", f->plain);
  start(f);
  *state = f;
  return 0;
}

static int drop(void **state) {
  fix *f = *state;
  int status = 0;
  fprintf(f->to, "quit\n");
  fclose(f->to), fclose(f->from);
  assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  unlink(f->image), unlink(f->plain);
  rmdir(f->folder);
  test_free(f);
  return 0;
}

static const char *ask(fix *f, const char *line) {
  fprintf(f->to, "%s\n", line);
  fflush(f->to);
  if (!fgets(f->answer, sizeof f->answer, f->from))
    fail_msg("no answer to %s", line);
  return f->answer;
}

static void describe(fix *f) {
  fprintf(f->to, "job\nlimit wall_ms=20000\ntime run_ms=1 total_ms=2 least_runs=3\n"
                 "buffer read f32 4096\nbuffer write f32 4096 rtol=1e-5\nready\n");
}

static bool has(const char *answer, const char *text) {
  return strstr(answer, text) != NULL;
}

static const char *run(fix *f, const char *command, const char *symbol) {
  char line[512];
  snprintf(line, sizeof line,
           "%s id=1 symbol=%s units=4096 scratch=0 block=128 block_units=128 path=%s", command,
           symbol, f->image);
  return ask(f, line);
}

static const char *run_plain(fix *f) {
  char line[512];
  snprintf(line, sizeof line, "plain id=1 symbol=good units=16 scratch=0 path=%s", f->plain);
  return ask(f, line);
}

static void begin(fix *f) {
  assert_true(has(ask(f, "device cuda sm_90a"), "\"device\":\"emulated device 0 (sm_90)\""));
  describe(f);
  assert_true(has(run_plain(f), "\"ok\":true")); /* this processor's */
  assert_true(has(run(f, "base", "good"), "\"ok\":true"));
}

static double ratio(const char *answer) {
  const char *p = strstr(answer, "\"ratio\":");
  return p ? strtod(p + 8, NULL) : -1;
}

static void the_good_are_measured_and_the_slow_take_longer(void **state) {
  fix *f = *state;
  begin(f);
  double same = ratio(run(f, "try", "good")), slow = ratio(run(f, "try", "slow"));
  assert_true(same > 0.2 && same < 5);
  assert_true(slow > 1.5 && ratio(run(f, "race", "slow")) > 1.5);
}

static void what_is_short_is_launched_as_a_graph(void **state) {
  fix *f = *state;
  char line[512];
  assert_true(has(ask(f, "device cuda sm_90a"), "\"ok\":true"));
  fprintf(f->to, "job\nlimit wall_ms=20000\ntime run_ms=1 total_ms=2 least_runs=3\n"
                 "buffer read f32 256\nbuffer write f32 256 rtol=1e-5\nready\n");
  snprintf(line, sizeof line, "plain id=1 symbol=good units=1 scratch=0 path=%s", f->plain);
  assert_true(has(ask(f, line), "\"ok\":true"));
  for (int k = 0; k < 2; k++) {
    snprintf(line, sizeof line,
             "%s id=1 symbol=good units=256 scratch=0 block=128 block_units=128 path=%s",
             k ? "try" : "base", f->image);
    if (!has(ask(f, line), "\"graph\":true"))
      fail_msg("%s", f->answer);
  }
  assert_true(ratio(f->answer) > 0.2 && ratio(f->answer) < 5);
}

static void the_bad_are_refused_and_the_next_one_is_measured(void **state) {
  static const char *const bad[][2] = {
      {"crash", "Segmentation fault"},         {"wrong", "wrong answer: buffer 1[1234]"},
      {"some", "wrong answer: buffer 1[77]"},  {"beyond", "writes over the end of a buffer"},
      {"reads", "writes what it is to read"},  {"fickle", "another answer at another run"},
      {"none", "looking up the kernel failed"}};
  fix *f = *state;
  begin(f);
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
    if (!has(run(f, "try", bad[k][0]), bad[k][1]))
      fail_msg("%s: %s", bad[k][0], f->answer);
    assert_true(has(run(f, "try", "good"), "\"ok\":true"));
  }
  fprintf(f->to, "limit wall_ms=300\n");
  assert_true(has(run(f, "try", "endless"), "over its time"));
  fprintf(f->to, "limit wall_ms=20000\n");
  assert_true(has(run(f, "try", "good"), "\"ok\":true"));
}

static void a_base_that_is_not_the_processors_answer_is_refused(void **state) {
  fix *f = *state;
  assert_true(has(ask(f, "device cuda sm_90a"), "\"ok\":true"));
  describe(f);
  assert_true(has(run_plain(f), "\"ok\":true"));
  assert_true(has(run(f, "base", "wrong"), "wrong answer"));
}

/* A process compares its results with another process's. */
static void expected_answers_travel_in_a_file(void **state) {
  fix *f = *state;
  char line[128], path[96];
  snprintf(path, sizeof path, "%s/expected", f->folder);
  describe(f);
  assert_true(has(run_plain(f), "\"ok\":true"));
  snprintf(line, sizeof line, "save path=%s", path);
  assert_true(has(ask(f, line), "\"ok\":true"));
  assert_true(has(ask(f, "device cuda sm_90a"), "\"ok\":true"));
  for (int k = 0; k < 2; k++) {
    describe(f);
    fprintf(f->to, "expect path=%s\n", path);
    assert_true(has(run(f, "base", k ? "good" : "wrong"), k ? "\"ok\":true" : "wrong answer"));
  }
  assert_int_equal(truncate(path, 100), 0);
  describe(f);
  fprintf(f->to, "expect path=%s\n", path);
  assert_true(has(run(f, "base", "good"), "the expected answers are another kernel's"));
  unlink(path);
}

static void what_is_not_here_is_said(void **state) {
  fix *f = *state;
  assert_true(has(ask(f, "device cuda sm_80"), "\"ok\":true"));
  assert_true(has(ask(f, "device cuda sm_75a"), "the candidates are for sm_75a, and this is"));
  assert_true(has(ask(f, "device cuda sm_90a number=1"), "there is no device cuda:1"));
  assert_true(has(ask(f, "device cpu no-such-feature"), "this processor lacks no-such-feature"));
  assert_true(has(ask(f, "device tpu"), "device is cpu or cuda"));
}

int main(void) {
  char driver[4096];
  struct stat s;
  const char *sanitizer = getenv("NEO_SANITIZE");
  path_in_build(driver, sizeof driver, "tests/libneo_gpu_emulator.so");
  if (stat(driver, &s) != 0 || (sanitizer && *sanitizer)) /* not for its threads' stacks */
    return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_good_are_measured_and_the_slow_take_longer, make, drop),
      cmocka_unit_test_setup_teardown(what_is_short_is_launched_as_a_graph, make, drop),
      cmocka_unit_test_setup_teardown(the_bad_are_refused_and_the_next_one_is_measured, make, drop),
      cmocka_unit_test_setup_teardown(a_base_that_is_not_the_processors_answer_is_refused, make,
                                      drop),
      cmocka_unit_test_setup_teardown(expected_answers_travel_in_a_file, make, drop),
      cmocka_unit_test_setup_teardown(what_is_not_here_is_said, make, drop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
