/* Candidates of all kinds, through the measurer as a process: the good are measured, the bad are
 * told apart, none outlives its limit, and nothing is left of any. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Time limits. A busy machine delays good kernels too, so only endless ones get the short limit. */
enum { TIMES = 20, SHORT_MS = 80, LONG_MS = 20000 };

#if defined(__SANITIZE_ADDRESS__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

typedef struct {
  char folder[64], library[128];
  pid_t pid;
  FILE *to, *from;
  char answer[1024];
} fix;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the process */

static const char *program(void) {
  static const char otherwise[] = "bin/neo-measure";
  const char *build = getenv("NEO_BUILD_DIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", build ? build : "build/release", otherwise);
  return test_realloc(strcpy(test_malloc(strlen(path) + 1), path), strlen(path) + 1);
}

static void start(fix *f, const char *option) {
  int in[2], out[2];
  const char *path = program();
  assert_int_equal(pipe(in) | pipe(out), 0);
  f->pid = fork();
  if (f->pid == 0) {
    dup2(in[0], 0), dup2(out[1], 1);
    close(in[1]), close(out[0]), close(in[0]), close(out[1]);
    execl(path, path, option, NULL);
    _exit(127);
  }
  test_free((void *)(uintptr_t)path);
  close(in[0]), close(out[1]);
  f->to = fdopen(in[1], "w"), f->from = fdopen(out[0], "r");
}

static void say(fix *f, const char *line) {
  fprintf(f->to, "%s\n", line);
  fflush(f->to);
}

static const char *ask(fix *f, const char *command, const char *symbol) {
  fprintf(f->to, "%s id=1 symbol=%s units=16 scratch=0 path=%s\n", command, symbol, f->library);
  fflush(f->to);
  if (!fgets(f->answer, sizeof f->answer, f->from))
    fail_msg("no answer to %s %s", command, symbol);
  return f->answer;
}

static void limit(fix *f, int wall_ms) {
  char line[128];
  snprintf(line, sizeof line, "limit wall_ms=%d memory_mb=96", wall_ms);
  say(f, line);
}

static void describe_as(fix *f, const char *lines) {
  say(f, "job");
  say(f, lines);
  limit(f, LONG_MS);
  say(f, "time run_ms=1 total_ms=2 least_runs=3");
  say(f, "buffer read f32 4096");
  say(f, "buffer write f32 4096 rtol=1e-5");
  say(f, "ready");
}

static void describe(fix *f) {
  describe_as(f, "threads 1");
}

static int make(void **state) {
  fix *f = test_calloc(1, sizeof *f);
  char command[4096];
  snprintf(f->folder, sizeof f->folder, "/tmp/neo-measure-XXXXXX");
  assert_non_null(mkdtemp(f->folder));
  snprintf(f->library, sizeof f->library, "%s/k.so", f->folder);
  const char *cc = getenv("CC");
  snprintf(command, sizeof command, "%s -O1 -w -shared -fPIC -o %s %s", cc && *cc ? cc : "cc",
           f->library, NEO_TEST_SOURCE_DIR "/tests/measure/candidates/kernels.c");
  assert_int_equal(system(command), 0);
  prctl(PR_SET_CHILD_SUBREAPER, 1); /* what the measurer leaves comes to us */
  *state = f;
  return 0;
}

static int drop(void **state) {
  fix *f = *state;
  unlink(f->library);
  rmdir(f->folder);
  test_free(f);
  return 0;
}

/* All of it ends, and leaves no process. */
static void stop(fix *f) {
  int status = 0;
  say(f, "quit");
  fclose(f->to), fclose(f->from);
  assert_int_equal(waitpid(f->pid, &status, 0), f->pid);
  assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  assert_int_equal(waitpid(-1, &status, WNOHANG), -1);
  assert_int_equal(errno, ECHILD);
}

static bool has(const char *answer, const char *text) {
  return strstr(answer, text) != NULL;
}

static double number(const char *answer, const char *key) {
  const char *p = strstr(answer, key);
  return p ? strtod(p + strlen(key) + 2, NULL) : -1;
}

/* ---- what is true */

static void a_good_kernel_is_measured_and_a_slow_one_takes_longer(void **state) {
  fix *f = *state;
  start(f, NULL);
  describe(f);
  assert_true(has(ask(f, "plain", "good"), "\"ok\":true"));
  assert_true(has(ask(f, "base", "good"), "\"ok\":true"));
  assert_true(number(f->answer, "finite") == 1);
  double quick = number(ask(f, "try", "good"), "ratio");
  assert_true(quick > 0.2 && quick < 5);
  assert_true(number(ask(f, "try", "slow"), "ratio") > 10);
  assert_true(number(ask(f, "race", "slow"), "ratio") > 10);
  assert_true(has(ask(f, "try", "rounded"), "\"ok\":true"));
  stop(f);
}

static void other_memory_read_in_between_is_not_in_the_time(void **state) {
  fix *f = *state;
  start(f, NULL);
  describe_as(f, "threads 1\nbetween bytes=1e15");
  assert_true(has(ask(f, "plain", "good"), "\"ok\":true"));
  assert_true(has(ask(f, "base", "good"), "\"ok\":true"));
  assert_true(number(f->answer, "ns") < 1e6); /* a cache is read in some */
  assert_true(number(ask(f, "try", "slow"), "ratio") > 2);
  assert_true(has(ask(f, "try", "good"), "\"ok\":true"));
  stop(f);
}

static void describe_buffers(fix *f, const char *first, const char *second) {
  say(f, "job");
  limit(f, LONG_MS);
  say(f, "time run_ms=1 total_ms=2 least_runs=3");
  say(f, first);
  say(f, second);
  say(f, "ready");
}

static void integers_of_a_buffer_are_those_of_its_file(void **state) {
  fix *f = *state;
  char path[160], line[256];
  int32_t x[4097];
  snprintf(path, sizeof path, "%s/x.input", f->folder);
  snprintf(line, sizeof line, "buffer read i32 4096 path=%s", path);
  for (int k = 0; k < 4097; k++)
    x[k] = k;
  start(f, NULL);
  for (size_t n = 4095; n <= 4097; n++) {
    FILE *out = fopen(path, "wb");
    assert_int_equal(fwrite(x, sizeof *x, n, out), n);
    assert_int_equal(fclose(out), 0);
    describe_buffers(f, line, "buffer write f32 4096 rtol=1e-5");
    if (n == 4096)
      assert_true(has(ask(f, "base", "in_order"), "\"ok\":true"));
    else
      assert_true(has(ask(f, "base", "in_order"), "a file of one cannot be read"));
  }
  describe_buffers(f, "buffer read i32 4096 bound=4096", "buffer write f32 4096 rtol=1e-5");
  assert_true(has(ask(f, "base", "in_order"), "the kernel says that it failed"));
  unlink(path);
  stop(f);
}

static void what_is_read_and_written_is_as_at_first_before_each_answer(void **state) {
  fix *f = *state;
  start(f, NULL);
  describe_buffers(f, "buffer read f32 4096", "buffer update f32 4096 rtol=1e-5");
  assert_true(has(ask(f, "plain", "adds"), "\"ok\":true"));
  assert_true(has(ask(f, "base", "adds"), "\"ok\":true"));
  assert_true(has(ask(f, "try", "adds"), "\"ok\":true"));
  assert_true(has(ask(f, "race", "adds"), "\"ok\":true"));
  assert_true(has(ask(f, "try", "good"), "wrong answer: buffer 1["));
  stop(f);
}

static void several_threads_share_the_units(void **state) {
  fix *f = *state;
  start(f, NULL);
  describe_as(f, "threads 3\nbetween bytes=1e6");
  assert_true(has(ask(f, "plain", "good"), "\"ok\":true"));
  assert_true(has(ask(f, "base", "good"), "\"ok\":true"));
  for (int k = 0; k < 10; k++)
    assert_true(has(ask(f, k % 2 ? "race" : "try", "good"), "\"ok\":true"));
  assert_true(has(ask(f, "try", "wrong"), "wrong answer"));
  assert_true(has(ask(f, "try", "storm"), "system call"));
  stop(f);
}

static void try_bad(fix *f, const char *symbol, const char *why, int times) {
  bool endless = strcmp(symbol, "endless") == 0 || strstr(why, "over its") != NULL;
  for (int k = 0; k < times; k++) {
    double begun = now();
    limit(f, endless ? SHORT_MS : LONG_MS);
    const char *answer = ask(f, k % 4 == 3 ? "race" : "try", symbol);
    if (!has(answer, "\"ok\":false") || !has(answer, why) || has(answer, "\"ns\""))
      fail_msg("%s: %s", symbol, answer);
    assert_true(now() - begun < 0.001 * LONG_MS / 2);
    limit(f, LONG_MS);
    assert_true(has(ask(f, "try", "good"), "\"ok\":true"));
  }
}

/* Measures with another file as the library of the good candidate: `why` is the expected
 * refusal. */
static void try_other(fix *f, const char *symbol, const char *why) {
  const char *answer = ask(f, "try", symbol);
  if (!has(answer, "\"ok\":false") || !has(answer, why))
    fail_msg("%s: %s", symbol, answer);
}

static void nine_kinds_of_bad_candidates_are_refused_each_time(void **state) {
  fix *f = *state;
  start(f, NULL);
  describe(f);
  ask(f, "plain", "good");
  ask(f, "base", "good");
  try_bad(f, "crash", "Segmentation", TIMES);
  try_bad(f, "illegal", "\"why\"", TIMES);
  try_bad(f, "endless", "over its", TIMES);
  if (!SANITIZED)
    try_bad(f, "huge", "\"why\"", TIMES);
  try_bad(f, "storm", "system call", TIMES);
  try_bad(f, "flood", "system call", TIMES);
  try_bad(f, "leak", "system call", TIMES);
  try_bad(f, "nan_", "wrong answer", TIMES);
  try_bad(f, "wrong", "wrong answer", TIMES);
  stop(f);
}

static void a_refusal_has_the_code_of_its_reason(void **state) {
  static const char *const cases[][2] = {{"wrong", "\"code\":\"wrong\""},
                                         {"nothing", "\"code\":\"wrong\""},
                                         {"endless", "\"code\":\"late\""},
                                         {"crash", "\"code\":\"died\""},
                                         {"refuses", "\"code\":\"failed\""}};
  fix *f = *state;
  start(f, NULL);
  describe(f);
  ask(f, "plain", "good");
  ask(f, "base", "good");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
    try_bad(f, cases[k][0], cases[k][1], 1);
  stop(f);
}

static void other_bad_candidates_are_refused(void **state) {
  fix *f = *state;
  start(f, NULL);
  describe(f);
  ask(f, "plain", "good");
  assert_true(has(ask(f, "base", "wrong"), "wrong answer"));
  assert_true(has(ask(f, "try", "good"), "error")); /* there is no base */
  ask(f, "base", "good");
  try_bad(f, "nothing", "nothing is written", 1);
  try_bad(f, "refuses", "failed", 1);
  try_bad(f, "reader", "Segmentation", 1);
  try_bad(f, "beyond", "\"why\"", 1);
  try_bad(f, "signals", "system call", 1);
  try_bad(f, "no_such", "no such symbol", 1);
  assert_true(has(ask(f, "try", "fickle"), "another answer"));
  stop(f);
}

/* If system calls cannot be filtered, limits and the killing of the group remain. */
static void nothing_outlives_its_limit_without_the_filter_either(void **state) {
  fix *f = *state;
  start(f, "--no-filter");
  describe(f);
  ask(f, "plain", "good");
  ask(f, "base", "good");
  try_bad(f, "endless", "over its", 2);
  try_bad(f, "flood", "over its", 2);
  try_bad(f, "leak", "descriptors", 2);
  limit(f, SHORT_MS);
  ask(f, "try", "storm"); /* its children spin */
  ask(f, "try", "leaves");
  limit(f, LONG_MS);
  assert_true(has(ask(f, "try", "good"), "\"ok\":true"));
  stop(f);
}

static void nonsense_is_answered_with_an_error(void **state) {
  fix *f = *state;
  start(f, NULL);
  assert_true(has(ask(f, "try", "good"), "error"));
  say(f, "dance");
  say(f, "ready");
  assert_true(has(ask(f, "plain", "good"), "no such command"));
  say(f, "job");
  say(f, "buffer read f33 10");
  say(f, "ready");
  assert_true(has(ask(f, "plain", "good"), "no such type"));
  assert_true(has(ask(f, "base", "good"), "no such type"));
  say(f, "job");
  say(f, "between kernels");
  say(f, "ready");
  assert_true(has(ask(f, "plain", "good"), "between has bytes="));
  say(f, "job");
  say(f, "buffer read f32 4611686018427387904");
  say(f, "ready");
  assert_true(has(ask(f, "plain", "good"), "no memory"));
  describe(f); /* the next job is unaffected */
  assert_true(has(ask(f, "plain", "good"), "\"ok\":true"));
  stop(f);
}

/* ---- what would run when a library is opened */

static void compile(fix *f, int kind, const char *out, const char *more) {
  const char *cc = getenv("CC");
  char command[4096];
  snprintf(command, sizeof command,
           "%s -O1 -w -shared -fPIC -DKIND=%d '-DRAN=\"%s/ran\"' -o %s %s %s",
           cc && *cc ? cc : "cc", kind, f->folder, out,
           NEO_TEST_SOURCE_DIR "/tests/measure/candidates/forged.c", more);
  assert_int_equal(system(command), 0);
}

static void nothing_of_a_candidate_runs_before_the_filter(void **state) {
  fix *f = *state;
  char ran[96], needed[160];
  snprintf(ran, sizeof ran, "%s/ran", f->folder);
  snprintf(needed, sizeof needed, "-Wl,--no-as-needed %s/needed.so", f->folder);
  start(f, NULL);
  describe(f);
  ask(f, "plain", "good");
  ask(f, "base", "good");
  compile(f, 0, f->library, "");
  assert_true(has(ask(f, "try", "good"), "\"ok\":true"));
  compile(f, 1, f->library, "");
  try_other(f, "good", "of a kind that kernels have not");
  try_other(f, "calls", "of a kind that kernels have not");
  compile(f, 0, needed + strlen("-Wl,--no-as-needed "), "");
  compile(f, 2, f->library, needed);
  assert_true(has(ask(f, "try", "good"), "\"ok\":true"));
  assert_int_not_equal(access(ran, F_OK), 0);
  unlink(needed + strlen("-Wl,--no-as-needed "));
  stop(f);
}

static void change_byte(const char *path, long at, int by) {
  FILE *file = fopen(path, "r+b");
  assert_non_null(file);
  fseek(file, at, SEEK_SET);
  int old = fgetc(file);
  fseek(file, at, SEEK_SET);
  fputc(old ^ by, file);
  assert_int_equal(fclose(file), 0);
}

static long bytes_of(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 ? (long)st.st_size : 0;
}

/* Wherever a byte differs, the measurer goes on; a file that is cut off is refused. */
static void a_damaged_library_harms_its_own_child_alone(void **state) {
  fix *f = *state;
  start(f, NULL);
  describe(f);
  ask(f, "plain", "good");
  ask(f, "base", "good");
  limit(f, 1000);
  long n = bytes_of(f->library);
  for (uint32_t k = 0, x = 1; k < 150; k++) {
    x = x * 1664525u + 1013904223u;
    long at = k < 64 ? (long)k : k % 2 ? n - 1 - (long)(x % 2000) : (long)(x % 1000);
    change_byte(f->library, at, 1 << (x >> 29));
    assert_true(has(ask(f, "try", "good"), "\"id\":1"));
    change_byte(f->library, at, 1 << (x >> 29));
  }
  assert_true(has(ask(f, "try", "good"), "\"ok\":true"));
  for (long cut = n - 1; cut > 0; cut /= 2) {
    assert_int_equal(truncate(f->library, cut), 0);
    try_other(f, "good", "\"code\":\"failed\"");
  }
  stop(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_good_kernel_is_measured_and_a_slow_one_takes_longer, make,
                                      drop),
      cmocka_unit_test_setup_teardown(other_memory_read_in_between_is_not_in_the_time, make, drop),
      cmocka_unit_test_setup_teardown(integers_of_a_buffer_are_those_of_its_file, make, drop),
      cmocka_unit_test_setup_teardown(what_is_read_and_written_is_as_at_first_before_each_answer,
                                      make, drop),
      cmocka_unit_test_setup_teardown(several_threads_share_the_units, make, drop),
      cmocka_unit_test_setup_teardown(nine_kinds_of_bad_candidates_are_refused_each_time, make,
                                      drop),
      cmocka_unit_test_setup_teardown(a_refusal_has_the_code_of_its_reason, make, drop),
      cmocka_unit_test_setup_teardown(other_bad_candidates_are_refused, make, drop),
      cmocka_unit_test_setup_teardown(nothing_outlives_its_limit_without_the_filter_either, make,
                                      drop),
      cmocka_unit_test_setup_teardown(nonsense_is_answered_with_an_error, make, drop),
      cmocka_unit_test_setup_teardown(nothing_of_a_candidate_runs_before_the_filter, make, drop),
      cmocka_unit_test_setup_teardown(a_damaged_library_harms_its_own_child_alone, make, drop),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
