/* Folders of candidates, made by hand, through neo-measure as a process: what is measured, what is
 * refused, and that nothing is measured twice. */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include "base/arena.h"
#include "base/str.h"
#include "tools/measure/lines.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
  neo_arena arena;
  char folder[64];
  const char *device, *format; /* of the list */
  neo_str lines;
  size_t n;
  char said[4096];
} world;

static const char *path_of(world *w, const char *name) {
  return neo_arena_printf(&w->arena, "%s/%s", w->folder, name);
}

static int set_up(void **state) {
  world *w = calloc(1, sizeof *w);
  const char *cc = getenv("CC");
  neo_arena_init(&w->arena, neo_alloc_default, NULL);
  strcpy(w->folder, "/tmp/neo-folder-XXXXXX");
  assert_non_null(mkdtemp(w->folder));
  w->device = "device cpu ";
  w->format = "neo-candidates 3";
  const char *command = neo_arena_printf(
      &w->arena, "%s -O1 -w -shared -fPIC -o %s %s/tests/measure/candidates/kernels.c -lm",
      cc && *cc ? cc : "cc", path_of(w, "k.so"), NEO_TEST_SOURCE_DIR);
  assert_int_equal(system(command), 0);
  *state = w;
  return 0;
}

static int tear_down(void **state) {
  world *w = *state;
  static const char *const files[] = {"k.so", "x.so", "candidates", "results", "other"};
  for (size_t k = 0; k < sizeof files / sizeof *files; k++)
    unlink(path_of(w, files[k]));
  assert_int_equal(rmdir(w->folder), 0);
  neo_arena_free(&w->arena);
  free(w);
  return 0;
}

/* ---- the list */

static void add(world *w, const char *text) {
  size_t n;
  char *line = measure_line_of(text, &n);
  neo_str_addn(&w->lines, line, n);
  free(line);
  w->n++;
}

static void begin(world *w) {
  int64_t bytes;
  uint64_t digest;
  neo_str_init(&w->lines, &w->arena);
  w->n = 0;
  assert_true(measure_file_digest(path_of(w, "k.so"), &bytes, &digest));
  add(w, w->format);
  add(w, w->device);
  add(w, neo_arena_printf(&w->arena, "file k.so %" PRId64 " %016" PRIx64, bytes, digest));
}

static const char job[] = "job\nlimit wall_ms=20000 cpu_ms=20000 memory_mb=96\n"
                          "time run_ms=1 total_ms=2 least_runs=3\nbuffer read f32 4096\n"
                          "buffer write f32 4096 rtol=1e-5\nready";

static void add_kernel(world *w, const char *command, int id, const char *symbol) {
  add(w, neo_arena_printf(&w->arena, "%s id=%d symbol=%s units=16 scratch=0 path=./k.so", command,
                          id, symbol));
}

/* A task with the base, and candidates up to a null. */
static void add_task(world *w, int number, const char *base, const char *const *symbol) {
  char text[sizeof job];
  memcpy(text, job, sizeof job);
  add(w, neo_arena_printf(&w->arena, "task %d key=0 part=1 base_ratio=1 name=t%d", number, number));
  for (char *p = strtok(text, "\n"); p; p = strtok(NULL, "\n"))
    add(w, p);
  add_kernel(w, "base", 0, base);
  for (int id = 1; symbol[id - 1]; id++)
    add_kernel(w, "try", id, symbol[id - 1]);
}

static void end(world *w) {
  add(w, neo_arena_printf(&w->arena, "end %zu", w->n));
  FILE *f = fopen(path_of(w, "candidates"), "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(neo_str_text(&w->lines), 1, w->lines.n, f), w->lines.n);
  assert_int_equal(fclose(f), 0);
}

static void make_folder(world *w, const char *base, const char *const *symbol) {
  begin(w);
  add_task(w, 0, base, symbol);
  end(w);
}

/* ---- the program */

static int measure(world *w, const char *more) {
  const char *build = getenv("NEO_BUILD_DIR"), *out = path_of(w, "other");
  const char *command = neo_arena_printf(&w->arena, "%s/bin/neo-measure %s %s > %s 2>&1",
                                         build ? build : "build/release", w->folder, more, out);
  int status = system(command);
  FILE *f = fopen(out, "rb");
  assert_non_null(f);
  w->said[fread(w->said, 1, sizeof w->said - 1, f)] = 0;
  fclose(f);
  unlink(out);
  assert_true(WIFEXITED(status));
  return WEXITSTATUS(status);
}

static void refused(world *w, const char *more, int code, const char *why) {
  int got = measure(w, more);
  if (got != code || !strstr(w->said, why))
    fail_msg("expected %d and '%s', got %d: %s", code, why, got, w->said);
}

/* The number of results with all of these words. */
static int count(world *w, const char *one, const char *two, const char *three) {
  measure_lines r;
  int n = 0;
  assert_true(measure_lines_read(&r, path_of(w, "results"), "neo-results", true));
  for (size_t k = 0; k < r.n; k++)
    n += strstr(r.line[k], one) && strstr(r.line[k], two) && strstr(r.line[k], three);
  measure_lines_free(&r);
  return n;
}

static void append(world *w, const char *name, const char *text) {
  FILE *f = fopen(path_of(w, name), "ab");
  fputs(text, f);
  fclose(f);
}

static void flip(world *w, const char *name, long at) {
  FILE *f = fopen(path_of(w, name), "r+b");
  fseek(f, at, SEEK_SET);
  int c = fgetc(f);
  fseek(f, at, SEEK_SET);
  fputc(c ^ 1, f);
  fclose(f);
}

/* ---- the tests */

static void good_candidates_are_measured_and_bad_ones_refused(void **state) {
  static const char *const symbols[] = {"slow", "good", "crash", "wrong", NULL};
  world *w = *state;
  make_folder(w, "good", symbols);
  assert_int_equal(measure(w, ""), 0);
  assert_non_null(strstr(w->said, "t0 "));
  assert_non_null(strstr(w->said, "2 of 4 candidates are good"));
  assert_int_equal(count(w, "mode=base", "ok=1", "task=0"), 1);
  assert_int_equal(count(w, "mode=try", "ok=1", "ratio="), 2);
  assert_int_equal(count(w, "id=3", "ok=0", "code=died why=Segmentation fault"), 1);
  assert_int_equal(count(w, "id=4", "ok=0", "code=wrong why=wrong answer"), 1);
}

static void a_folder_of_version_1_is_measured(void **state) {
  static const char *const symbols[] = {"good", NULL};
  world *w = *state;
  w->format = "neo-candidates 1";
  make_folder(w, "good", symbols);
  assert_int_equal(measure(w, ""), 0);
  assert_int_equal(count(w, "mode=try", "ok=1", "ratio="), 1);
}

static void the_quickest_are_raced(void **state) {
  static const char *const symbols[] = {"good", "slower", NULL};
  world *w = *state;
  make_folder(w, "slower", symbols);
  assert_int_equal(measure(w, "-q"), 0);
  assert_string_equal(w->said, "");
  assert_int_equal(count(w, "mode=race", "id=1", "ok=1"), 1);
  assert_int_equal(count(w, "mode=race", "id=2", ""), 0);
}

static void nothing_is_measured_twice_and_what_was_cut_off_is_made_again(void **state) {
  static const char *const symbols[] = {"good", "slow", "wrong", NULL};
  world *w = *state;
  struct stat s;
  begin(w);
  for (int k = 0; k < 3; k++)
    add_task(w, k, "good", symbols);
  end(w);
  assert_int_equal(measure(w, ""), 0);
  int n = count(w, "mode=try", "", "");
  assert_int_equal(n, 9);
  assert_int_equal(stat(path_of(w, "results"), &s), 0);
  assert_int_equal(measure(w, ""), 0); /* nothing is left */
  assert_non_null(strstr(w->said, "0 measurements"));
  assert_int_equal(truncate(path_of(w, "results"), s.st_size - 7), 0); /* killed while it wrote */
  append(w, "results", "");
  assert_int_equal(measure(w, ""), 0);
  assert_int_equal(count(w, "mode=try", "", ""), 9);
  refused(w, "--time=0.000001", 0, "0 measurements"); /* there is nothing to be late with */
  unlink(path_of(w, "results"));
  refused(w, "--time=0.000001", 130, "9 candidates are left: the same command goes on");
}

static void a_killed_run_goes_on_where_it_was(void **state) {
  static const char *const symbols[] = {"good", "slow", "good", "slow", "good", NULL};
  world *w = *state;
  begin(w);
  for (int k = 0; k < 8; k++)
    add_task(w, k, "good", symbols);
  end(w);
  const char *build = getenv("NEO_BUILD_DIR");
  const char *program =
      neo_arena_printf(&w->arena, "%s/bin/neo-measure", build ? build : "build/release");
  pid_t pid = fork();
  if (pid == 0) {
    int null = open("/dev/null", O_RDWR);
    dup2(null, 1);
    execl(program, program, w->folder, (char *)NULL);
    _exit(127);
  }
  for (int k = 0; k < 2000; k++) { /* until it has some */
    usleep(5000);
    if (access(path_of(w, "results"), F_OK) == 0 && count(w, "mode=try", "", "") > 3)
      break;
  }
  kill(pid, SIGKILL);
  assert_int_equal(waitpid(pid, NULL, 0), pid);
  int before = count(w, "mode=try", "", "");
  assert_true(before > 3);
  assert_int_equal(measure(w, ""), 0);
  assert_int_equal(count(w, "mode=try", "", ""), 40);
  assert_int_equal(count(w, "mode=try", "task=0 ", "id=1 "), 1);
}

static void a_base_that_is_wrong_ends_its_task_only(void **state) {
  static const char *const symbols[] = {"good", NULL};
  world *w = *state;
  begin(w);
  add_task(w, 0, "crash", symbols);
  add_task(w, 1, "good", symbols);
  end(w);
  assert_int_equal(measure(w, ""), 0);
  assert_non_null(strstr(w->said, "not measured"));
  assert_int_equal(count(w, "mode=try", "task=0", ""), 0);
  assert_int_equal(count(w, "mode=try", "task=1", "ok=1"), 1);
}

static void what_was_damaged_on_the_way_is_found_before_anything_runs(void **state) {
  static const char *const symbols[] = {"good", NULL};
  world *w = *state;
  struct stat s;
  refused(w, "", 3, "candidates: No such file");
  make_folder(w, "good", symbols);
  assert_int_equal(stat(path_of(w, "candidates"), &s), 0);
  flip(w, "candidates", 60);
  refused(w, "", 1, "candidates: line 2 is damaged");
  flip(w, "candidates", 60);
  assert_int_equal(truncate(path_of(w, "candidates"), s.st_size - 5), 0);
  refused(w, "", 1, "candidates: it is cut off");
  make_folder(w, "good", symbols);
  flip(w, "k.so", 100);
  refused(w, "", 1, "k.so: its contents have changed: copy it again");
  flip(w, "k.so", 100);
  assert_int_equal(rename(path_of(w, "k.so"), path_of(w, "x.so")), 0);
  refused(w, "", 3, "k.so: No such file");
  append(w, "k.so", "short");
  refused(w, "", 1, "k.so: it has 5 bytes of");
  assert_int_equal(rename(path_of(w, "x.so"), path_of(w, "k.so")), 0);
  assert_int_not_equal(access(path_of(w, "results"), F_OK), 0);
  assert_int_equal(measure(w, ""), 0);
  flip(w, "results", 30);
  refused(w, "", 1, "results: line 1 is damaged");
}

static void what_is_for_others_is_refused(void **state) {
  static const char *const symbols[] = {"good", NULL};
  world *w = *state;
  w->device = "device cpu no-such-feature";
  make_folder(w, "good", symbols);
  refused(w, "", 4, "this processor lacks no-such-feature");
  w->device = "device cuda sm_90a";
  make_folder(w, "good", symbols);
  setenv("NEO_CUDA_DRIVER", "/no/such/driver.so", 1);
  refused(w, "", 4, "the CUDA driver cannot be opened: /no/such/driver.so");
  unsetenv("NEO_CUDA_DRIVER");
  w->device = "device cpu ";
  w->format = "neo-candidates 4";
  make_folder(w, "good", symbols);
  refused(w, "", 1, "it is of version 4, and this program reads versions 1 to 3");
  w->format = "neo-else 1";
  make_folder(w, "good", symbols);
  refused(w, "", 1, "it is no file of neo-candidates");
  w->format = "neo-candidates 3";
  make_folder(w, "good", symbols);
  assert_int_equal(measure(w, ""), 0);
  make_folder(w, "slow", symbols);
  refused(w, "", 1, "results: it has results of other candidates");
  assert_int_equal(chmod(w->folder, 0770), 0);
  refused(w, "", 3, "others may write it, and code is run from it: chmod go-w");
  refused(w, "more", 2, "'more' is not understood");
  assert_int_equal(chmod(w->folder, 0700), 0);
}

/* A list that names code which was not looked at. */
static void code_from_elsewhere_is_not_run(void **state) {
  world *w = *state;
  begin(w);
  add_task(w, 0, "good", (const char *const[]){NULL});
  add(w, neo_arena_printf(&w->arena, "try id=1 symbol=good units=16 scratch=0 path=%s/k.so",
                          w->folder));
  end(w);
  refused(w, "", 1, "uses a file that is not in its list");
}

static void numbers_from_elsewhere_are_not_read(void **state) {
  world *w = *state;
  begin(w);
  add(w, "buffer read i32 4096 path=/etc/passwd");
  end(w);
  refused(w, "", 1, "uses a file that is not in its list");
}

int main(void) {
#define WITH_FOLDER(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
      WITH_FOLDER(good_candidates_are_measured_and_bad_ones_refused),
      WITH_FOLDER(a_folder_of_version_1_is_measured),
      WITH_FOLDER(the_quickest_are_raced),
      WITH_FOLDER(nothing_is_measured_twice_and_what_was_cut_off_is_made_again),
      WITH_FOLDER(a_killed_run_goes_on_where_it_was),
      WITH_FOLDER(a_base_that_is_wrong_ends_its_task_only),
      WITH_FOLDER(what_was_damaged_on_the_way_is_found_before_anything_runs),
      WITH_FOLDER(what_is_for_others_is_refused),
      WITH_FOLDER(code_from_elsewhere_is_not_run),
      WITH_FOLDER(numbers_from_elsewhere_are_not_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
