/* neo-measure DIR: checks and times what `neoc tune --emit=DIR` wrote, where it can run.
 *
 * First everything is looked at: that the folder is nobody else's, that no line and no file of it
 * has changed, that the device is the one that the candidates are for, and the one that earlier
 * results are of. Then the tasks, one after the other: the base, whose answer is compared with the
 * expected one; the candidates that have no result yet; and races of the quickest. Each result is a
 * line, on the disk before anything else runs. So whatever ends this program costs one measurement,
 * and the same command goes on. */
#include "tools/measure/folder.h"
#include "tools/measure/lines.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
  OK = 0,
  DAMAGED = 1,
  USAGE = 2,
  FILES = 3,
  NO_DEVICE = 4,
  UNFINISHED = 130,
  MOST_RACES = 4,
  RESULT_BYTES = 1024
};

static const double near = 1.03; /* of the quickest: raced too */

typedef struct {
  long id;
  size_t line;    /* "try ..." */
  bool known, ok; /* has a result; a good one */
  bool raced;     /* has one of a race */
  double ratio;   /* by the last result */
} candidate;

typedef struct {
  size_t first, end; /* lines: "task ...", and after its last one */
  candidate *at;
  size_t n;
  bool failed; /* its base has not answered right */
} task;

typedef struct {
  measure_server *s;
  const char *folder, *results; /* path of the results; null: in the folder */
  double seconds, begun_ns;     /* 0: no limit */
  int device;
  bool quiet;
  measure_lines lines;
  task *tasks;
  size_t n_tasks;
  int64_t measured, left;
  int out; /* descriptor of the results */
  char name[256];
} folder;

/* ---- words */

static int say(int code, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int say(int code, const char *fmt, ...) {
  va_list args;
  va_start(args, fmt);
  fprintf(stderr, "neo-measure: ");
  vfprintf(stderr, fmt, args);
  fprintf(stderr, "\n");
  va_end(args);
  return code;
}

static const char help[] =
    "usage: neo-measure DIR [--time=SECONDS] [--device=N] [--results=FILE] [--quiet]\n\n"
    "Checks and times the candidates that `neoc tune --emit=DIR` wrote, on this machine. Results "
    "go\n"
    "to DIR/results, each at once; the same command goes on where it was ended.\n"
    "`neoc tune MODEL --import=DIR` takes them.\n\n"
    "  --time=SECONDS  end after that, with exit code 130 if something is left\n"
    "  --device=N      the GPU to measure on (default: 0, the first)\n"
    "  --results=FILE  for results, in place of DIR/results\n"
    "  --quiet, -q     print errors only\n\n"
    "Exit codes: 0 all is measured, 1 the folder is damaged or not for this program, 2 usage,\n"
    "3 files, 4 this machine cannot run the candidates, 130 something is left.\n"
    "Without arguments it is the server of `neoc tune`.\n";

/* "--name=value" -> value. */
static const char *value_of(const char *arg, const char *name) {
  size_t n = strlen(name);
  return strncmp(arg, name, n) == 0 && arg[n] == '=' ? arg + n + 1 : NULL;
}

static bool read_number(const char *text, double *x) {
  char *end;
  *x = strtod(text, &end);
  return end != text && !*end && *x >= 0;
}

static int read_arguments(folder *f, int argc, char **argv) {
  double x;
  for (int k = 1; k < argc; k++) {
    const char *arg = argv[k], *value;
    if ((value = value_of(arg, "--time")) != NULL && read_number(value, &x))
      f->seconds = x;
    else if ((value = value_of(arg, "--device")) != NULL && read_number(value, &x) && x < 1024)
      f->device = (int)x;
    else if ((value = value_of(arg, "--results")) != NULL && *value)
      f->results = value;
    else if (strcmp(arg, "--quiet") == 0 || strcmp(arg, "-q") == 0)
      f->quiet = true;
    else if (arg[0] == '-' || f->folder)
      return say(USAGE, "'%s' is not understood: see neo-measure --help", arg);
    else
      f->folder = arg;
  }
  return f->folder ? OK : say(USAGE, "which folder? See neo-measure --help");
}

/* ---- the folder */

/* Code is run from it: nobody else may have a say in it. */
static int check_owner(const folder *f) {
  struct stat s;
  if (stat(f->folder, &s) != 0)
    return say(FILES, "%s: %s", f->folder, strerror(errno));
  if (!S_ISDIR(s.st_mode))
    return say(FILES, "%s: it is no folder", f->folder);
  if (s.st_uid != geteuid() && s.st_uid != 0)
    return say(FILES, "%s: it belongs to somebody else, and code is run from it", f->folder);
  if (s.st_mode & (S_IWGRP | S_IWOTH))
    return say(FILES, "%s: others may write it, and code is run from it: chmod go-w %s", f->folder,
               f->folder);
  return OK;
}

/* file NAME BYTES DIGEST */
static int check_file(const folder *f, const char *line) {
  char name[256], path[4096];
  long long want_bytes;
  unsigned long long want;
  int64_t bytes;
  uint64_t digest;
  if (sscanf(line, "file %255s %lld %llx", name, &want_bytes, &want) != 3 || strchr(name, '/'))
    return say(DAMAGED, "%s/" MEASURE_CANDIDATES ": '%s' names no file", f->folder, line);
  snprintf(path, sizeof path, "%s/%s", f->folder, name);
  if (!measure_file_digest(path, &bytes, &digest))
    return say(FILES, "%s: %s", path, strerror(errno));
  if (bytes != want_bytes)
    return say(DAMAGED, "%s: it has %lld bytes of %lld: copy it again", path, (long long)bytes,
               want_bytes);
  if (digest != want)
    return say(DAMAGED, "%s: its contents have changed: copy it again", path);
  return OK;
}

/* Is the path of a line one of the files that were looked at? */
static bool names_file(const folder *f, const char *line) {
  const char *path = measure_after(line, "path");
  size_t n = path ? strlen(path) : 0;
  for (size_t k = 0; n > 2 && strncmp(path, "./", 2) == 0 && k < f->lines.n; k++) {
    const char *file = f->lines.line[k];
    if (strncmp(file, "file ", 5) == 0 && strncmp(file + 5, path + 2, n - 2) == 0 &&
        file[5 + n - 2] == ' ')
      return true;
  }
  return false;
}

static int check_files(const folder *f) {
  for (size_t k = 0; k < f->lines.n; k++) {
    const char *line = f->lines.line[k];
    measure_mode mode;
    int bad = strncmp(line, "file ", 5) == 0 ? check_file(f, line) : OK;
    bool has_path = measure_server_mode(line, &mode) || measure_is(line, "expect");
    if (!bad && has_path && !names_file(f, line))
      bad = say(DAMAGED, "%s/" MEASURE_CANDIDATES ": '%s' uses a file that is not in its list",
                f->folder, line);
    if (bad)
      return bad;
  }
  return OK;
}

static bool add_task(folder *f, size_t first) {
  task *more = realloc(f->tasks, (f->n_tasks + 1) * sizeof *more);
  if (!more)
    return false;
  f->tasks = more;
  f->tasks[f->n_tasks++] = (task){.first = first, .end = first + 1};
  return true;
}

static bool add_candidate(task *t, const char *line, size_t at) {
  candidate *more = realloc(t->at, (t->n + 1) * sizeof *more);
  if (!more)
    return false;
  t->at = more;
  t->at[t->n++] = (candidate){.id = (long)measure_number(line, "id", -1), .line = at};
  return true;
}

static int find_tasks(folder *f) {
  for (size_t k = 0; k + 1 < f->lines.n; k++) {
    const char *line = f->lines.line[k];
    bool good = true;
    if (measure_is(line, "task"))
      good = add_task(f, k);
    else if (measure_is(line, "try") && f->n_tasks)
      good = add_candidate(&f->tasks[f->n_tasks - 1], line, k);
    if (!good)
      return say(NO_DEVICE, "out of memory");
    if (f->n_tasks)
      f->tasks[f->n_tasks - 1].end = k + 1;
  }
  return OK;
}

static int read_folder(folder *f) {
  int bad = check_owner(f);
  if (bad)
    return bad;
  if (!measure_candidates_read(&f->lines, f->folder))
    return say(f->lines.text ? DAMAGED : FILES, "%s%s", f->lines.why,
               f->lines.text ? "" : ": it is written last by `neoc tune --emit`");
  bad = check_files(f);
  return bad ? bad : find_tasks(f);
}

/* ---- results */

static bool append(folder *f, const char *text) {
  size_t n;
  char *line = measure_line_of(text, &n);
  bool good = line && write(f->out, line, n) == (ssize_t)n && fdatasync(f->out) == 0;
  free(line);
  return good;
}

/* result task=0 id=3 mode=try ok=1 ratio=0.8 ... */
static void take_result(folder *f, const char *line) {
  size_t number = (size_t)measure_number(line, "task", -1);
  char mode[16];
  measure_word(line, "mode", mode, sizeof mode);
  if (!measure_is(line, "result") || number >= f->n_tasks)
    return;
  task *t = &f->tasks[number];
  bool ok = measure_number(line, "ok", 0) > 0;
  if (strcmp(mode, "base") == 0)
    t->failed = !ok;
  for (size_t k = 0; k < t->n && strcmp(mode, "base") != 0; k++)
    if (t->at[k].id == (long)measure_number(line, "id", -1)) {
      candidate *c = &t->at[k];
      c->known = true;
      c->ok = ok;
      c->raced = c->raced || strcmp(mode, "race") == 0;
      c->ratio = measure_number(line, "ratio", 0);
    }
}

static int check_results(const folder *f, const char *path, const measure_lines *r) {
  unsigned long long of = 0;
  const char *device = measure_lines_find(r, "device");
  sscanf(r->line[0], "neo-results %*d of=%llx", &of);
  if (of != measure_lines_digest(&f->lines))
    return say(DAMAGED, "%s: it has results of other candidates than those of %s", path, f->folder);
  if (device && strcmp(device, f->name) != 0)
    return say(NO_DEVICE, "%s: it has results of %s, and this is %s: use --results=FILE", path,
               device, f->name);
  return OK;
}

static int begin_results(folder *f, const char *path) {
  char text[320];
  snprintf(text, sizeof text, "neo-results %d of=%016llx", MEASURE_FORMAT,
           (unsigned long long)measure_lines_digest(&f->lines));
  bool good = append(f, text);
  snprintf(text, sizeof text, "device %s", f->name);
  return good && append(f, text) ? OK : say(FILES, "%s: %s", path, strerror(errno));
}

/* What was not finished is cut off; nobody else writes meanwhile. */
static int open_results(folder *f) {
  char path[4096];
  measure_lines r;
  snprintf(path, sizeof path, "%s/" MEASURE_RESULTS, f->folder);
  if (f->results)
    snprintf(path, sizeof path, "%s", f->results);
  f->out = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (f->out < 0)
    return say(FILES, "%s: %s", path, strerror(errno));
  if (flock(f->out, LOCK_EX | LOCK_NB) != 0)
    return say(FILES, "%s: another neo-measure is at work with it", path);
  bool good = measure_lines_read(&r, path, "neo-results", true);
  int bad = good ? OK : say(DAMAGED, "%s", r.why);
  if (!bad && ftruncate(f->out, (off_t)r.whole_bytes) != 0)
    bad = say(FILES, "%s: %s", path, strerror(errno));
  if (!bad && r.n)
    bad = check_results(f, path, &r);
  if (!bad && r.n < 2)
    bad = r.n || !begin_results(f, path) ? OK : FILES;
  for (size_t k = 0; k < r.n && !bad; k++)
    take_result(f, r.line[k]);
  measure_lines_free(&r);
  return bad;
}

/* ---- measuring */

static volatile sig_atomic_t interrupted;

static void note_signal(int number) {
  (void)number;
  interrupted = 1;
}

static bool over(const folder *f) {
  double spent = (measure_wall_ns() - f->begun_ns) / 1e9;
  return interrupted || (f->seconds > 0 && spent >= f->seconds);
}

static void text_of(char *text, const folder *f, const task *t, long id, const char *mode,
                    const measure_result *r) {
  int n = snprintf(text, RESULT_BYTES, "result task=%zu id=%ld mode=%s ok=%d when=%lld ",
                   (size_t)(t - f->tasks), id, mode, r->ok, (long long)time(NULL));
  if (r->ok)
    snprintf(text + n, RESULT_BYTES - (size_t)n, "ns=%.1f ratio=%.6f samples=%d busy=%.3f%s", r->ns,
             r->ratio, r->samples, r->busy, r->graph ? " graph=1" : "");
  else
    snprintf(text + n, RESULT_BYTES - (size_t)n, "code=%s why=%s", measure_reason_word(r->reason),
             r->why);
}

/* One measurement, and its line. */
static int measure(folder *f, task *t, const char *mode_name, measure_mode mode, const char *line,
                   measure_result *r) {
  char text[RESULT_BYTES];
  long id = -1;
  const char *wrong = measure_server_run(f->s, mode, line, &id, r);
  if (wrong)
    return say(DAMAGED, "%s: '%s': %s", f->folder, line, wrong);
  text_of(text, f, t, id, mode_name, r);
  if (!r->ok && interrupted) /* perhaps it had no time */
    return UNFINISHED;
  if (!append(f, text))
    return say(FILES, "the results cannot be written: %s", strerror(errno));
  take_result(f, text);
  f->measured++;
  return OK;
}

/* The lines of a task up to its candidates, and its base; loose: with room for sums that cancel. */
static int run_base(folder *f, task *t, bool loose, measure_result *r) {
  for (size_t k = t->first + 1; k < t->end; k++) {
    const char *line = f->lines.line[k];
    if (measure_is(line, "base")) {
      if (loose)
        measure_server_describe(f->s, "loose");
      return measure(f, t, "base", MEASURE_BASE, line, r);
    }
    if (!measure_is(line, "file"))
      measure_server_describe(f->s, line);
  }
  return say(DAMAGED, "%s: a task has no base", f->folder);
}

static int begin_task(folder *f, task *t) {
  measure_result r = {0};
  int bad = run_base(f, t, false, &r);
  if (!bad && !r.ok && r.reason == MEASURE_REASON_WRONG)
    bad = run_base(f, t, true, &r);
  return bad;
}

static double best_ratio(const task *t) {
  double best = 0;
  for (size_t k = 0; k < t->n; k++)
    if (t->at[k].ok && t->at[k].ratio > 0 && (best <= 0 || t->at[k].ratio < best))
      best = t->at[k].ratio;
  return best;
}

/* A race is whole, and long: the luckiest of many short measurements is not always the quickest. */
static candidate *next_race(const task *t) {
  candidate *next = NULL;
  double best = best_ratio(t);
  size_t races = 0;
  for (size_t k = 0; k < t->n; k++) {
    candidate *c = &t->at[k];
    races += c->raced;
    if (!c->raced && c->ok && c->ratio > 0 && c->ratio < 1 && c->ratio <= near * best &&
        (!next || c->ratio < next->ratio))
      next = c;
  }
  return races < MOST_RACES ? next : NULL;
}

static int64_t open_candidates(const task *t) {
  int64_t n = 0;
  for (size_t k = 0; k < t->n && !t->failed; k++)
    n += !t->at[k].known;
  return n;
}

static int run_candidates(folder *f, task *t) {
  measure_result r;
  int bad = OK;
  for (size_t k = 0; k < t->n && !bad && !t->failed; k++) {
    if (t->at[k].known)
      continue;
    if (over(f))
      return UNFINISHED;
    bad = measure(f, t, "try", MEASURE_TRY, f->lines.line[t->at[k].line], &r);
  }
  for (candidate *c; !bad && !t->failed && (c = next_race(t)) != NULL;) {
    if (over(f))
      return UNFINISHED;
    bad = measure(f, t, "race", MEASURE_RACE, f->lines.line[c->line], &r);
  }
  return bad;
}

/* The rest of its "task" line. */
static const char *name_of(const folder *f, const task *t) {
  const char *name = measure_after(f->lines.line[t->first], "name");
  return name ? name : "?";
}

static void tell(const folder *f, const task *t) {
  size_t good = 0;
  double best = best_ratio(t);
  for (size_t k = 0; k < t->n; k++)
    good += t->at[k].ok;
  if (f->quiet)
    return;
  if (t->failed)
    printf("%-28.28s not measured: its base does not answer right\n", name_of(f, t));
  else
    printf("%-28.28s %zu of %zu candidates are good, the best takes %.3f of the base's time\n",
           name_of(f, t), good, t->n, best);
  fflush(stdout);
}

static int run_task(folder *f, task *t) {
  if (t->failed || (!open_candidates(t) && !next_race(t)))
    return OK;
  if (over(f))
    return UNFINISHED;
  int bad = begin_task(f, t);
  if (!bad)
    bad = run_candidates(f, t);
  if (!bad)
    tell(f, t);
  return bad;
}

static int run_tasks(folder *f) {
  int bad = OK;
  for (size_t k = 0; k < f->n_tasks && !bad; k++)
    bad = run_task(f, &f->tasks[k]);
  for (size_t k = 0; k < f->n_tasks; k++)
    f->left += open_candidates(&f->tasks[k]);
  if (f->quiet || (bad && bad != UNFINISHED))
    return bad;
  printf("%lld measurements on %s; %lld candidates are left%s\n", (long long)f->measured, f->name,
         (long long)f->left, bad ? ": the same command goes on" : "");
  return bad;
}

/* ---- the whole */

static int find_device(folder *f) {
  const char *device = measure_lines_find(&f->lines, "device");
  char line[300];
  bool gpu = device && measure_is(device, "cuda");
  snprintf(line, sizeof line, gpu ? "device %.200s number=%d" : "device %.200s",
           device ? device : "", f->device);
  if (measure_device_choose(&f->s->job, line, f->name))
    return OK;
  return say(NO_DEVICE, "%s", f->name);
}

static void catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction old, note = {.sa_handler = note_signal};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    if (sigaction(numbers[k], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaction(numbers[k], &note, NULL);
}

static int run(folder *f, int argc, char **argv) {
  int bad = read_arguments(f, argc, argv);
  if (!bad)
    bad = read_folder(f);
  if (!bad)
    bad = find_device(f);
  if (!bad)
    bad = open_results(f);
  if (bad)
    return bad;
  if (chdir(f->folder) != 0) /* paths of lines are those of its files */
    return say(FILES, "%s: %s", f->folder, strerror(errno));
  catch_signals();
  return run_tasks(f);
}

int measure_folder(measure_server *s, int argc, char **argv) {
  folder f = {.s = s, .out = -1, .begun_ns = measure_wall_ns()};
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    fputs(help, stdout);
    return OK;
  }
  int code = run(&f, argc, argv);
  for (size_t k = 0; k < f.n_tasks; k++)
    free(f.tasks[k].at);
  free(f.tasks);
  measure_lines_free(&f.lines);
  if (f.out >= 0)
    close(f.out);
  return code;
}
