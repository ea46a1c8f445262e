/* neo-measure DIR: checks and times the candidates that `neoc tune --emit=DIR` wrote, on a machine
 * where they can run.
 *
 * It first checks that the folder belongs to the user alone, that no line and no file has changed,
 * and that the device is that of the candidates and of earlier results. Then it measures each task:
 * the base, whose answer is compared with the expected one; candidates without a result; and races
 * of the fastest. Each result is a line that is on the disk before anything else runs. So an
 * interruption costs one measurement, and the same command continues. */
#include "tools/measure/folder.h"
#include "tools/measure/folder_parts.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RACES = 4, RESULT_BYTES = 1024 };

static const double near = 1.03; /* candidates within this ratio of the fastest are raced too */

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

static folder_exit read_arguments(folder *f, int argc, char **argv) {
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
      return folder_say(FOLDER_USAGE, "'%s' is not understood: see neo-measure --help", arg);
    else
      f->folder = arg;
  }
  return f->folder ? FOLDER_OK : folder_say(FOLDER_USAGE, "which folder? See neo-measure --help");
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

static void text_of(char *text, const folder *f, const folder_task *t, long id, const char *mode,
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

/* ---- The results of a folder: a line each, on the disk before anything else runs. */

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
  folder_task *t = &f->tasks[number];
  bool ok = measure_number(line, "ok", 0) > 0;
  if (strcmp(mode, "base") == 0)
    t->failed = !ok;
  for (size_t k = 0; k < t->n && strcmp(mode, "base") != 0; k++)
    if (t->at[k].id == (long)measure_number(line, "id", -1)) {
      folder_candidate *c = &t->at[k];
      c->measured = true;
      c->ok = ok;
      c->raced = c->raced || strcmp(mode, "race") == 0;
      c->ratio = measure_number(line, "ratio", 0);
    }
}

static folder_exit check_results(const folder *f, const char *path, const measure_lines *r) {
  unsigned long long of = 0;
  const char *device = measure_lines_find(r, "device");
  sscanf(r->line[0], "neo-results %*d of=%llx", &of);
  if (of != measure_lines_digest(&f->lines))
    return folder_say(FOLDER_DAMAGED, "%s: it has results of other candidates than those of %s",
                      path, f->folder);
  if (device && strcmp(device, f->name) != 0)
    return folder_say(FOLDER_NO_DEVICE,
                      "%s: it has results of %s, and this is %s: use --results=FILE", path, device,
                      f->name);
  return FOLDER_OK;
}

static folder_exit begin_results(folder *f, const char *path) {
  char text[320];
  snprintf(text, sizeof text, "neo-results %d of=%016llx", MEASURE_FORMAT,
           (unsigned long long)measure_lines_digest(&f->lines));
  bool good = append(f, text);
  snprintf(text, sizeof text, "device %s", f->name);
  return good && append(f, text) ? FOLDER_OK
                                 : folder_say(FOLDER_FILES, "%s: %s", path, strerror(errno));
}

/* Opens the results. An unfinished line at the end is cut off. A lock keeps others from writing
 * meanwhile. A folder may come from a stranger, so its results must not be a link to another
 * file. */
static folder_exit results_open(folder *f) {
  char path[4096];
  measure_lines r;
  snprintf(path, sizeof path, "%s/" MEASURE_RESULTS, f->folder);
  if (f->results)
    snprintf(path, sizeof path, "%s", f->results);
  int follow = f->results ? 0 : O_NOFOLLOW;
  f->out = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | follow, 0600);
  if (f->out < 0)
    return folder_say(FOLDER_FILES, "%s: %s", path, strerror(errno));
  if (flock(f->out, LOCK_EX | LOCK_NB) != 0)
    return folder_say(FOLDER_FILES, "%s: another neo-measure is at work with it", path);
  bool good = measure_lines_read(&r, path, "neo-results", true);
  folder_exit bad = good ? FOLDER_OK : folder_say(FOLDER_DAMAGED, "%s", r.why);
  if (!bad && ftruncate(f->out, (off_t)r.whole_bytes) != 0)
    bad = folder_say(FOLDER_FILES, "%s: %s", path, strerror(errno));
  if (!bad && r.n)
    bad = check_results(f, path, &r);
  if (!bad && r.n < 2)
    bad = r.n || !begin_results(f, path) ? FOLDER_OK : FOLDER_FILES;
  for (size_t k = 0; k < r.n && !bad; k++)
    take_result(f, r.line[k]);
  measure_lines_free(&r);
  return bad;
}

/* Appends a line, which is on the disk when this returns, and applies it. */
static folder_exit results_add(folder *f, const char *text) {
  if (!append(f, text))
    return folder_say(FOLDER_FILES, "the results cannot be written: %s", strerror(errno));
  take_result(f, text);
  return FOLDER_OK;
}

/* Makes one measurement and appends its line. */
static folder_exit measure(folder *f, folder_task *t, const char *mode_name, measure_mode mode,
                           const char *line, measure_result *r) {
  char text[RESULT_BYTES];
  long id = -1;
  const char *wrong = measure_server_run(f->s, mode, line, &id, r);
  if (wrong)
    return folder_say(FOLDER_DAMAGED, "%s: '%s': %s", f->folder, line, wrong);
  text_of(text, f, t, id, mode_name, r);
  if (!r->ok && interrupted) /* the failure may be due to the interruption */
    return FOLDER_UNFINISHED;
  f->measured++;
  return results_add(f, text);
}

/* Runs the lines of a task up to its candidates, and its base. loose: with tolerance for sums that
 * cancel. */
static folder_exit run_base(folder *f, folder_task *t, bool loose, measure_result *r) {
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
  return folder_say(FOLDER_DAMAGED, "%s: a task has no base", f->folder);
}

static folder_exit begin_task(folder *f, folder_task *t) {
  measure_result r = {0};
  folder_exit bad = run_base(f, t, false, &r);
  if (!bad && !r.ok && r.reason == MEASURE_REASON_WRONG)
    bad = run_base(f, t, true, &r);
  return bad;
}

static double best_ratio(const folder_task *t) {
  double best = 0;
  for (size_t k = 0; k < t->n; k++)
    if (t->at[k].ok && t->at[k].ratio > 0 && (best <= 0 || t->at[k].ratio < best))
      best = t->at[k].ratio;
  return best;
}

/* The next candidate to race. A race runs all units and takes long, since the luckiest of many
 * short measurements is not always the quickest candidate. */
static folder_candidate *next_race(const folder_task *t) {
  folder_candidate *next = NULL;
  double best = best_ratio(t);
  size_t races = 0;
  for (size_t k = 0; k < t->n; k++) {
    folder_candidate *c = &t->at[k];
    races += c->raced;
    if (!c->raced && c->ok && c->ratio > 0 && c->ratio < 1 && c->ratio <= near * best &&
        (!next || c->ratio < next->ratio))
      next = c;
  }
  return races < MOST_RACES ? next : NULL;
}

static int64_t open_candidates(const folder_task *t) {
  int64_t n = 0;
  for (size_t k = 0; k < t->n && !t->failed; k++)
    n += !t->at[k].measured;
  return n;
}

static folder_exit run_candidates(folder *f, folder_task *t) {
  measure_result r;
  folder_exit bad = FOLDER_OK;
  for (size_t k = 0; k < t->n && !bad && !t->failed; k++) {
    if (t->at[k].measured)
      continue;
    if (over(f))
      return FOLDER_UNFINISHED;
    bad = measure(f, t, "try", MEASURE_TRY, f->lines.line[t->at[k].line], &r);
  }
  for (folder_candidate *c; !bad && !t->failed && (c = next_race(t)) != NULL;) {
    if (over(f))
      return FOLDER_UNFINISHED;
    bad = measure(f, t, "race", MEASURE_RACE, f->lines.line[c->line], &r);
  }
  return bad;
}

/* The name of a task: the rest of its "task" line. */
static const char *name_of(const folder *f, const folder_task *t) {
  const char *name = measure_after(f->lines.line[t->first], "name");
  return name ? name : "?";
}

static void tell(const folder *f, const folder_task *t) {
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

static folder_exit run_task(folder *f, folder_task *t) {
  if (t->failed || (!open_candidates(t) && !next_race(t)))
    return FOLDER_OK;
  if (over(f))
    return FOLDER_UNFINISHED;
  folder_exit bad = begin_task(f, t);
  if (!bad)
    bad = run_candidates(f, t);
  if (!bad)
    tell(f, t);
  return bad;
}

static folder_exit run_tasks(folder *f) {
  folder_exit bad = FOLDER_OK;
  for (size_t k = 0; k < f->n_tasks && !bad; k++)
    bad = run_task(f, &f->tasks[k]);
  for (size_t k = 0; k < f->n_tasks; k++)
    f->left += open_candidates(&f->tasks[k]);
  if (f->quiet || (bad && bad != FOLDER_UNFINISHED))
    return bad;
  printf("%lld measurements on %s; %lld candidates are left%s\n", (long long)f->measured, f->name,
         (long long)f->left, bad ? ": the same command goes on" : "");
  return bad;
}

/* ---- the whole */

static folder_exit find_device(folder *f) {
  const char *device = measure_lines_find(&f->lines, "device");
  char line[300];
  bool gpu = device && measure_is(device, "cuda");
  snprintf(line, sizeof line, gpu ? "device %.200s number=%d" : "device %.200s",
           device ? device : "", f->device);
  if (measure_device_choose(&f->s->job, line, f->name))
    return FOLDER_OK;
  return folder_say(FOLDER_NO_DEVICE, "%s", f->name);
}

static void catch_signals(void) {
  static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction old, note = {.sa_handler = note_signal};
  for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
    if (sigaction(numbers[k], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
      sigaction(numbers[k], &note, NULL);
}

static folder_exit run(folder *f, int argc, char **argv) {
  folder_exit bad = read_arguments(f, argc, argv);
  if (!bad)
    bad = folder_read(f);
  if (!bad)
    bad = find_device(f);
  if (!bad)
    bad = results_open(f);
  if (bad)
    return bad;
  if (chdir(f->folder) != 0) /* paths in lines are relative to the folder */
    return folder_say(FOLDER_FILES, "%s: %s", f->folder, strerror(errno));
  catch_signals();
  return run_tasks(f);
}

int measure_folder(measure_server *s, int argc, char **argv) {
  folder f = {.s = s, .out = -1, .begun_ns = measure_wall_ns()};
  if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
    fputs(help, stdout);
    return FOLDER_OK;
  }
  folder_exit code = run(&f, argc, argv);
  for (size_t k = 0; k < f.n_tasks; k++)
    free(f.tasks[k].at);
  free(f.tasks);
  measure_lines_free(&f.lines);
  if (f.out >= 0)
    close(f.out);
  return code;
}
