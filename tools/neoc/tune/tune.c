/* `neoc tune`: searches for quicker schedules of a model's kernels, and records what beats the
 * default. Progress goes to stderr, the result to stdout. Ctrl-C ends it early; what was found is
 * recorded, what was tried is in the log. */
#define _GNU_SOURCE /* sigandset */
#include "tools/tune/tune.h"
#include "runtime/processor.h"
#include "tools/neoc/run/runner.h"
#include "tools/neoc/tune/tune.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct {
  neoc_cli *cli;
  neo_compilation c;
  neo_tune tune;
  bool terminal;
  bool before;    /* of a compilation, which reports */
  double shown_s; /* when progress was printed last */
} tuner;

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- signals: blocked, and asked for between candidates; the measurer inherits that */

/* A terminal that is closed interrupts too, but not under nohup. */
static sigset_t interruptions(void) {
  struct sigaction hangup;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
    sigaddset(&set, SIGHUP);
  return set;
}

static void block_signals(int how) {
  sigset_t set = interruptions();
  sigprocmask(how, &set, NULL);
}

static bool interrupted(void *ctx) {
  sigset_t pending, ours = interruptions();
  (void)ctx;
  sigpending(&pending);
  sigandset(&pending, &pending, &ours);
  return !sigisemptyset(&pending);
}

/* ---- progress */

static const char *duration(neo_arena *a, double ns) {
  if (ns < 1e3)
    return neo_arena_printf(a, "%.0f ns", ns);
  if (ns < 1e6)
    return neo_arena_printf(a, "%.2f us", ns / 1e3);
  return ns < 1e9 ? neo_arena_printf(a, "%.3f ms", ns / 1e6)
                  : neo_arena_printf(a, "%.3f s", ns / 1e9);
}

static size_t begun_tasks(const neo_tune *t) {
  size_t n = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    n += t->tasks.at[k].begun;
  return n;
}

/* On a terminal one line that changes; else a line now and then. */
static void progress(void *ctx, const neo_tune *t) {
  tuner *x = ctx;
  double now = now_s();
  if (neoc_has(x->cli, NEOC_O_QUIET) || (!x->terminal && now - x->shown_s < 10))
    return;
  x->shown_s = now;
  if (t->o.emit) {
    fprintf(stderr, "%s%4.0f s: %zu of %zu kernels%s", x->terminal ? "\r" : "", now - t->begun_s,
            begun_tasks(t), t->tasks.n, x->terminal ? "\033[K" : "\n");
    return;
  }
  double before = neo_tune_step_ns(t, false), after = neo_tune_step_ns(t, true);
  fprintf(stderr,
          "%s%4.0f s: step %s -> %s (%.3f), %zu of %zu kernels, %.0f%% of the step, %lld trials%s",
          x->terminal ? "\r" : "", now - t->begun_s, duration(x->cli->arena, before),
          duration(x->cli->arena, after), before > 0 ? after / before : 1, begun_tasks(t),
          t->tasks.n, 100 * neo_tune_covered(t), (long long)t->trials,
          x->terminal ? "\033[K" : "\n");
  fflush(stderr);
}

/* ---- results */

typedef struct {
  const neo_task *task;
  double ns;
} row;

static int by_time(const void *a, const void *b) {
  const row *x = a, *y = b;
  return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns)
                        : (x->task > y->task) - (x->task < y->task);
}

static row *rows_of(const neo_tune *t, size_t *n) {
  row *r = NEO_NEW_ARRAY(&t->c->arena, row, t->tasks.n + 1);
  *n = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    if (t->tasks.at[k].begun || t->tasks.at[k].failed)
      r[(*n)++] = (row){&t->tasks.at[k], t->tasks.at[k].default_ns * (double)t->tasks.at[k].count};
  qsort(r, *n, sizeof *r, by_time);
  return r;
}

static void put_text(const tuner *x) {
  const neo_tune *t = &x->tune;
  neo_arena *a = x->cli->arena;
  size_t n, recorded = 0;
  row *r = rows_of(t, &n);
  double step = neo_tune_step_ns(t, false), best = neo_tune_step_ns(t, true);
  printf("%-28s %6s %7s %11s %11s %6s %7s\n", "kernel", "runs", "share", "default", "best", "ratio",
         "trials");
  for (size_t k = 0; k < n; k++) {
    const neo_task *y = r[k].task;
    recorded += y->recorded;
    if (y->failed)
      printf("%-28.28s not tuned: %s\n", y->g->name, y->failed);
    else
      printf("%-28.28s %6lld %6.1f%% %11s %11s %6.3f %7lld\n", y->g->name, (long long)y->count,
             step > 0 ? 100 * r[k].ns / step : 0, duration(a, y->default_ns),
             duration(a, y->best_ns), y->best_ns / y->default_ns,
             (long long)(y->trials + y->known));
  }
  printf("step %s -> %s (%.3f), %.0f%% of it in kernels that were tuned; "
         "%lld trials, %lld refused, %.1f s\n",
         duration(a, step), duration(a, best), step > 0 ? best / step : 1,
         100 * neo_tune_covered(t), (long long)t->trials, (long long)t->refused,
         now_s() - t->begun_s);
  if (recorded)
    printf("%zu recorded in %s\n", recorded, t->o.records);
}

static void add_task_json(const neo_task *y, neo_str *s) {
  char key[33];
  neo_record_key_text(y->record.key, key);
  neo_str_add(s, "{\"name\": ");
  neo_str_add_json(s, y->g->name);
  neo_str_addf(s, ", \"key\": \"%s\", \"runs\": %lld, ", key, (long long)y->count);
  if (y->failed) {
    neo_str_add(s, "\"failed\": ");
    neo_str_add_json(s, y->failed);
  } else {
    neo_str_addf(s, "\"default\": \"%s\", \"default_ns\": %.1f, \"best_ns\": %.1f, ",
                 y->base_record ? "record" : "model", y->default_ns, y->best_ns);
    neo_str_addf(s, "\"trials\": %lld, \"recorded\": %s, \"schedule\": \"",
                 (long long)(y->trials + y->known), y->recorded ? "true" : "false");
    neo_schedule_print(&y->best, s);
    neo_str_add(s, "\"");
  }
  neo_str_add(s, "}");
}

static const char *json_results(const tuner *x) {
  const neo_tune *t = &x->tune;
  neo_str s;
  size_t n;
  row *r = rows_of(t, &n);
  neo_str_init(&s, x->cli->arena);
  neo_str_addf(&s, "\"seconds\": %.2f, \"trials\": %lld, \"refused\": %lld, \"kernels\": %zu, ",
               now_s() - t->begun_s, (long long)t->trials, (long long)t->refused, t->tasks.n);
  neo_str_addf(
      &s, "\"step_default_ns\": %.1f, \"step_best_ns\": %.1f, \"covered\": %.4f, \"records\": ",
      neo_tune_step_ns(t, false), neo_tune_step_ns(t, true), neo_tune_covered(t));
  neo_str_add_json(&s, t->o.records);
  neo_str_add(&s, ", \"tuned\": [");
  for (size_t k = 0; k < n; k++) {
    neo_str_add(&s, k ? ", " : "");
    add_task_json(r[k].task, &s);
  }
  neo_str_add(&s, "]");
  return neo_str_text(&s);
}

/* ---- options */

static bool read_duration(const char *text, double *seconds) {
  size_t n = strlen(text);
  double unit = 1;
  char *number = strdup(text);
  if (number && n && strchr("smh", text[n - 1])) {
    unit = text[n - 1] == 's' ? 1 : text[n - 1] == 'm' ? 60 : 3600;
    number[n - 1] = 0;
  }
  bool ok = number && neoc_parse_real(number, seconds) && *seconds >= 0;
  *seconds *= unit;
  free(number);
  return ok;
}

/* The value of --records without a leading `none,`: what is shipped is not read then. */
static const char *records_file(neoc_cli *cli, neo_compile_options *co) {
  static const char none[] = "none,";
  const char *text = neoc_text(cli, NEOC_O_TUNE_RECORDS, NULL);
  if (!text || strncmp(text, none, sizeof none - 1) != 0)
    return text;
  co->records_dir = NULL;
  return text + sizeof none - 1;
}

/* The file that is written is read too: what is in it need not be found again. */
static neoc_exit read_files(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co) {
  const char *place = neo_records_place(cli->arena);
  const char *log = neoc_text(cli, NEOC_O_LOG, NULL);
  o->records = records_file(cli, co);
  if (!o->records && !place)
    return neoc_usage(
        cli, "neither XDG_CACHE_HOME nor HOME names a folder: say where with --records=FILE");
  if (o->records && strchr(o->records, ','))
    return neoc_usage(cli, "--records=%s: tune writes one file, FILE or none,FILE", o->records);
  if (!o->records)
    o->records_flags = NEO_RECORDS_PRIVATE;
  if (!log)
    log = neo_arena_printf(cli->arena, "%s%s", o->records ? o->records : place,
                           o->records ? ".trials" : "");
  if (!o->records)
    log = neoc_has(cli, NEOC_O_LOG)
              ? log
              : neo_path_join(cli->arena, neo_path_folder(cli->arena, place), "trials");
  o->log = neo_streq(log, "none") ? NULL : log;
  o->records = o->records ? o->records : place;
  neo_records_source *sources = NEO_NEW_ARRAY(cli->arena, neo_records_source, 2);
  sources[0] = (neo_records_source){o->records, o->records_flags, true};
  co->records = sources;
  return NEOC_OK;
}

/* Without the slashes at its end. */
static const char *folder_of(neoc_cli *cli, neoc_option option) {
  const char *text = neoc_text(cli, option, NULL);
  size_t n = text ? strlen(text) : 0;
  while (n > 1 && text[n - 1] == '/')
    n--;
  return text ? neo_arena_strndup(cli->arena, text, n) : NULL;
}

static neoc_exit read_folders(neoc_cli *cli, neo_tune_options *o) {
  neoc_exit e = NEOC_OK;
  int modes = neoc_has(cli, NEOC_O_TUNE_EMIT) + neoc_has(cli, NEOC_O_TUNE_IMPORT) +
              neoc_has(cli, NEOC_O_SURVEY);
  o->emit = folder_of(cli, NEOC_O_TUNE_EMIT);
  o->import = folder_of(cli, NEOC_O_TUNE_IMPORT);
  o->candidates = (int)neoc_int(cli, NEOC_O_CANDIDATES, 32, 1, &e);
  if (e)
    return e;
  if (modes > 1)
    return neoc_usage(cli, "of --emit, --import and --survey only one can be done");
  if (neoc_has(cli, NEOC_O_CANDIDATES) && !o->emit)
    return neoc_usage(cli, "--candidates is for --emit");
  if (o->candidates > 1000)
    return neoc_usage(cli, "--candidates: at most 1000");
  if (o->emit && !neoc_has(cli, NEOC_O_TIME))
    o->seconds = 1e9;
  return NEOC_OK;
}

static neoc_exit read_options(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co) {
  neoc_exit e = NEOC_OK;
  const char *time_text = neoc_text(cli, NEOC_O_TIME, "60s");
  if (!read_duration(time_text, &o->seconds))
    return neoc_usage(cli, "--time takes a duration as 90s, 5m or 1h, not '%s'", time_text);
  o->threads = (int)neoc_int(cli, NEOC_O_TUNE_THREADS, 1, 1, &e);
  o->seed = (uint64_t)neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  o->only = neoc_text(cli, NEOC_O_KERNEL, NULL);
  if (!e)
    e = read_folders(cli, o);
  return e ? e : read_files(cli, o, co);
}

/* ---- the command */

static neo_tune_options options_of(tuner *x) {
  return (neo_tune_options){.ctx = x,
                            .threads = 1,
                            .workers = neo_rti_cores(),
                            .stop = interrupted,
                            .progress = progress};
}

static neo_status compile(tuner *x, const neo_compile_options *co) {
  neo_compilation_init(&x->c, co);
  return neo_compile_plan(&x->c);
}

static neoc_exit read_sizes(tuner *x, neo_tune_options *o) {
  const neo_module *m = x->c.module;
  int64_t *sizes = NEO_NEW_ARRAY(x->cli->arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    sizes[k] = m->sizes.at[k].hi;
  o->sizes = sizes;
  return neoc_read_sizes(x->cli, m, sizes);
}

static void put_survey(const tuner *x, const neo_quality *q, size_t n) {
  neo_arena *a = x->cli->arena;
  printf("%-28s %7s %9s %11s %11s %6s %6s\n", "kernel", "space", "measured", "default", "best",
         "to 95%", "to 99%");
  for (size_t k = 0; k < n; k++) {
    neo_str s;
    neo_str_init(&s, a);
    neo_schedule_print(&q[k].best, &s);
    printf("%-28.28s %7zu %9zu %11s %11s %6lld %6lld\n  %s\n", q[k].task->g->name, q[k].space,
           q[k].measured, duration(a, q[k].default_ns), duration(a, q[k].best_ns),
           (long long)q[k].to_95, (long long)q[k].to_99, neo_str_text(&s));
  }
}

static const char *json_survey(const tuner *x, const neo_quality *q, size_t n) {
  neo_str s;
  neo_str_init(&s, x->cli->arena);
  neo_str_add(&s, "\"surveyed\": [");
  for (size_t k = 0; k < n; k++) {
    neo_str_add(&s, k ? ", {\"name\": " : "{\"name\": ");
    neo_str_add_json(&s, q[k].task->g->name);
    neo_str_addf(&s,
                 ", \"space\": %zu, \"measured\": %zu, \"default_ns\": %.1f, \"best_ns\": %.1f, ",
                 q[k].space, q[k].measured, q[k].default_ns, q[k].best_ns);
    neo_str_addf(&s, "\"to_95\": %lld, \"to_99\": %lld, \"best\": \"", (long long)q[k].to_95,
                 (long long)q[k].to_99);
    neo_schedule_print(&q[k].best, &s);
    neo_str_add(&s, "\"}");
  }
  neo_str_add(&s, "]");
  return neo_str_text(&s);
}

static neoc_exit survey(tuner *x) {
  neo_quality *q;
  size_t n;
  neo_status s = neo_tune_survey(&x->tune, &q, &n);
  if (s && s != NEO_INTERRUPTED)
    return neoc_fail(x->cli, neoc_exit_of(s), "%s", x->tune.why ? x->tune.why : neo_status_text(s));
  neoc_exit e = neoc_report(x->cli, &x->c, NEO_OK, json_survey(x, q, n));
  if (!x->cli->json)
    put_survey(x, q, n);
  return e ? e : neoc_exit_of(s);
}

static neoc_exit finish(tuner *x, neo_status s) {
  if (x->terminal && !neoc_has(x->cli, NEOC_O_QUIET))
    fprintf(stderr, "\r\033[K");
  bool good = s == NEO_OK || s == NEO_INTERRUPTED;
  if (!good)
    return neoc_fail(x->cli, neoc_exit_of(s), "%s", x->tune.why ? x->tune.why : neo_status_text(s));
  if (x->tune.place_why && !neoc_has(x->cli, NEOC_O_QUIET))
    neoc_fail(x->cli, NEOC_OK, "%s: what was found is used, but not recorded", x->tune.place_why);
  if (x->before) /* what follows will report */
    return s ? neoc_fail(x->cli, neoc_exit_of(s),
                         "interrupted while tuning; what was found is recorded")
             : NEOC_OK;
  neoc_exit e = neoc_report(x->cli, &x->c, NEO_OK, json_results(x));
  if (!x->cli->json && !neoc_has(x->cli, NEOC_O_QUIET))
    put_text(x);
  return e ? e : neoc_exit_of(s);
}

/* ---- folders */

static void put_emission(const tuner *x, const neo_emission *out) {
  const neo_tune *t = &x->tune;
  const char *dir = t->o.emit;
  for (size_t k = 0; k < t->tasks.n; k++)
    if (t->tasks.at[k].failed)
      printf("%-28.28s not written: %s\n", t->tasks.at[k].g->name, t->tasks.at[k].failed);
  printf("%zu candidates of %zu of %zu kernels, %.1f MiB, are in %s\n", out->candidates, out->tasks,
         t->tasks.n, (double)out->bytes / (1 << 20), dir);
  if (out->full)
    printf("it is as large as travels easily: measure, import, and emit again for the rest\n");
  printf("where they can run: neo-measure %s; then here, with these options: neoc tune ... "
         "--import=%s\n",
         dir, dir);
}

static neoc_exit emit(tuner *x) {
  neo_emission out;
  neo_status s = neo_tune_emit(&x->tune, &out);
  if (s && s != NEO_INTERRUPTED)
    return neoc_fail(x->cli, neoc_exit_of(s), "%s", x->tune.why ? x->tune.why : neo_status_text(s));
  neoc_exit e = neoc_report(
      x->cli, &x->c, NEO_OK,
      neo_arena_printf(
          x->cli->arena, "\"kernels\": %zu, \"candidates\": %zu, \"bytes\": %lld, \"full\": %s",
          out.tasks, out.candidates, (long long)out.bytes, out.full ? "true" : "false"));
  if (!x->cli->json && !neoc_has(x->cli, NEOC_O_QUIET))
    put_emission(x, &out);
  return e ? e : neoc_exit_of(s);
}

static neoc_exit import(tuner *x) {
  const char *device;
  neo_status s = neo_tune_import(&x->tune, &device);
  if (!s && !x->cli->json && !neoc_has(x->cli, NEOC_O_QUIET))
    printf("measured on %s\n", device);
  return finish(x, s);
}

static neoc_exit run(tuner *x, neo_tune_options *o, const neo_compile_options *co,
                     bool only_survey) {
  neoc_exit e;
  block_signals(SIG_BLOCK);
  neo_status s = compile(x, co);
  if (s)
    e = neoc_report(x->cli, &x->c, s, NULL);
  else
    e = read_sizes(x, o);
  if (!e) {
    s = neo_tune_init(&x->tune, &x->c, o);
    if (!s && only_survey) {
      e = survey(x);
    } else if (!s && o->emit) {
      e = emit(x);
    } else if (!s && o->import) {
      e = import(x);
    } else {
      s = s ? s : neo_tune_run(&x->tune);
      e = finish(x, s);
    }
    neo_tune_free(&x->tune);
  }
  neo_compilation_free(&x->c);
  fflush(stdout); /* a signal that waits may end us here */
  block_signals(SIG_UNBLOCK);
  return e;
}

neoc_exit neoc_tune(neoc_cli *cli) {
  tuner x = {.cli = cli, .terminal = isatty(2) == 1};
  neo_tune_options o = options_of(&x);
  neo_compile_options co;
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (!e)
    e = neoc_compile_options(cli, path, &co);
  if (!e)
    e = read_options(cli, &o, &co);
  return e ? e : run(&x, &o, &co, neoc_has(cli, NEOC_O_SURVEY));
}

/* The files of records that are read, and the user's own after them. */
static const neo_records_source *and_own(neoc_cli *cli, const neo_records_source *given,
                                         const neo_tune_options *o) {
  size_t n = 0;
  while (given && given[n].path)
    n++;
  neo_records_source *all = NEO_NEW_ARRAY(cli->arena, neo_records_source, n + 2);
  for (size_t k = 0; k < n; k++)
    all[k] = given[k];
  all[n] = (neo_records_source){o->records, o->records_flags, true};
  return all;
}

neoc_exit neoc_tune_before(neoc_cli *cli, const char *seconds, neo_compile_options *co) {
  tuner x = {.cli = cli, .terminal = isatty(2) == 1, .before = true};
  neo_tune_options o = options_of(&x);
  const neo_records_source *given = co->records;
  neo_compile_options first = *co;
  if (!read_duration(seconds, &o.seconds))
    return neoc_usage(cli, "--tune takes a duration as 90s, 5m or 1h, not '%s'", seconds);
  neoc_exit e = read_files(cli, &o, &first);
  if (e)
    return e;
  neo_records *unkept = NEO_NEW(cli->arena, neo_records);
  neo_records_init(unkept, cli->arena);
  co->more_records = o.unkept = unkept;
  first.records = co->records = and_own(cli, given, &o);
  first.depfile = NULL;
  return run(&x, &o, &first, false);
}
