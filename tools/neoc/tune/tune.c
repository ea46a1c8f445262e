/* `neoc tune`: searches for faster schedules of a model's kernels, and records those that beat the
 * default. Progress goes to stderr, the result to stdout. Ctrl-C ends it early; schedules found so
 * far are recorded, and all trials are in the log. */
#define _GNU_SOURCE /* sigandset */
#include "tools/neoc/tune/tune.h"
#include "runtime/processor.h"
#include "runtime/watch.h"
#include "tools/neoc/run/runner.h"
#include "tools/neoc/tune/tuner.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- signals: blocked, and checked between candidates; the measurer inherits the mask */

/* Signals that interrupt, including the hangup of a closed terminal, except under nohup. */
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

/* ---- Runs the tuned model, so that the tuner sees the buffers that its kernels read. */

/* Makes the library, and a context whose parameters have their initial values. */
static neoc_exit open_model(tuner *x, const int64_t *sizes) {
  neoc_runner *r = &x->runner;
  neo_arena *a = x->cli->arena;
  neo_status s = neo_library_make(&r->c, &r->lib);
  if (s)
    return neoc_fail(x->cli, neoc_exit_of(s), "%s", r->c.why ? r->c.why : neo_status_text(s));
  r->cli = x->cli;
  r->aside = true;
  r->sizes = neo_arena_copy(a, sizes, r->c.module->sizes.n * sizeof *sizes);
  r->input = NEO_NEW_ARRAY(a, neo_rt_array, r->c.module->tensors.n + 1);
  r->needs = NEO_NEW_ARRAY(a, neoc_tensors, r->c.module->entries.n + 1);
  return neoc_runner_begin(r, x->tune.o.threads, x->tune.o.seed);
}

/* A neo_tune_options.run, `tuner` is one: with inputs as `neoc run` draws them. False: it has said
 * on stderr why not. */
static bool tune_run_entry(void *ctx, const char *entry, const int64_t *sizes,
                           const struct neo_rti_watch *watch) {
  tuner *x = ctx;
  neoc_runner *r = &x->runner;
  uint64_t seed = x->tune.o.seed;
  neoc_output *out;
  size_t n;
  if (!r->ctx && open_model(x, sizes))
    return false;
  int number = neoc_entry_find(r, entry);
  if (number < 0 || neoc_runner_randomize(r, number, &seed))
    return false;
  neo_rti_watch_set(r->ctx, watch);
  return neoc_runner_run(r, number, &out, &n) == NEOC_OK;
}

static neo_tune_options options_of(tuner *x) {
  return (neo_tune_options){.ctx = x,
                            .threads = 1,
                            .workers = neo_rti_cores(),
                            .stop = interrupted,
                            .run = tune_run_entry,
                            .progress = neoc_tune_progress};
}

static neo_status compile(tuner *x, const neo_compile_options *co) {
  neo_compilation_init(&x->runner.c, co);
  return neo_compile_plan(&x->runner.c);
}

/* Why nothing was tuned; null: something was. */
static const char *nothing_tuned(const tuner *x) {
  const neo_task *failed = NULL;
  for (size_t k = x->tune.tasks.n; k-- > 0;) {
    const neo_task *y = &x->tune.tasks.at[k];
    if (y->begun && !y->failed)
      return NULL;
    failed = y->failed ? y : failed;
  }
  if (!x->tune.tasks.n)
    return "the model has no kernel with a schedule";
  if (failed)
    return neo_arena_printf(x->cli->arena, "no kernel could be tuned; %s: %s", failed->g->name,
                            failed->failed);
  return "the time was over before a kernel was measured: --time=60s gives more";
}

/* Ends a command that measured kernels: reports its results, and a failure if nothing was tuned. */
static neoc_exit report(tuner *x, neo_status s, const char *results) {
  neo_compilation *c = &x->runner.c;
  c->why = s ? c->why : nothing_tuned(x);
  neoc_exit e = neoc_report(x->cli, c, c->why && !s ? NEO_INPUT : NEO_OK, results);
  return e ? e : neoc_exit_of(s);
}

/* Sets the sizes. Those that are not given get their largest value, or one near it that satisfies
 * the model's assertions. */
static neoc_exit read_sizes(tuner *x, neo_tune_options *o) {
  const neo_module *m = x->runner.c.module;
  int64_t *sizes = NEO_NEW_ARRAY(x->cli->arena, int64_t, m->sizes.n + 1);
  int64_t *given = NEO_NEW_ARRAY(x->cli->arena, int64_t, m->sizes.n + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    given[k] = m->sizes.at[k].loop_index ? m->sizes.at[k].hi : -1;
  neoc_exit e = neoc_read_sizes(x->cli, m, given);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    sizes[k] = given[k] < 0 ? m->sizes.at[k].hi : given[k];
  neoc_sizes_settle(m, given, sizes);
  o->sizes = sizes;
  return e;
}

static neoc_exit survey(tuner *x) {
  neo_quality *q;
  size_t n;
  neo_status s = neo_tune_survey(&x->tune, &q, &n);
  if (s && s != NEO_INTERRUPTED)
    return neoc_fail(x->cli, neoc_exit_of(s), "%s", x->tune.why ? x->tune.why : neo_status_text(s));
  if (!x->cli->json)
    neoc_tune_print_survey(x, q, n);
  return report(x, s, neoc_tune_survey_json(x, q, n));
}

static neoc_exit finish(tuner *x, neo_status s) {
  if (x->terminal && !neoc_has(x->cli, NEOC_O_QUIET))
    fprintf(stderr, "\r\033[K");
  bool good = s == NEO_OK || s == NEO_INTERRUPTED;
  if (!good)
    return neoc_fail(x->cli, neoc_exit_of(s), "%s", x->tune.why ? x->tune.why : neo_status_text(s));
  if (x->tune.place_why && !neoc_has(x->cli, NEOC_O_QUIET))
    neoc_fail(x->cli, NEOC_OK, "%s: what was found is used, but not recorded", x->tune.place_why);
  const char *why = s ? NULL : nothing_tuned(x);
  if (x->before && why && !neoc_has(x->cli, NEOC_O_QUIET))
    neoc_fail(x->cli, NEOC_OK, "%s", why);
  if (x->before) /* the compilation after it reports */
    return s ? neoc_fail(x->cli, neoc_exit_of(s),
                         "interrupted while tuning; what was found is recorded")
             : NEOC_OK;
  if (!x->cli->json && !neoc_has(x->cli, NEOC_O_QUIET))
    neoc_tune_print(x);
  return report(x, s, neoc_tune_json(x));
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
  if (!x->cli->json && !neoc_has(x->cli, NEOC_O_QUIET))
    put_emission(x, &out);
  return report(x, s,
                neo_arena_printf(
                    x->cli->arena,
                    "\"kernels\": %zu, \"candidates\": %zu, \"bytes\": %lld, \"full\": %s",
                    out.tasks, out.candidates, (long long)out.bytes, out.full ? "true" : "false"));
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
    e = neoc_report(x->cli, &x->runner.c, s, NULL);
  else
    e = read_sizes(x, o);
  if (!e) {
    s = neo_tune_init(&x->tune, &x->runner.c, o);
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
  neo_compilation_free(&x->runner.c);
  fflush(stdout); /* a pending signal may end the process here */
  block_signals(SIG_UNBLOCK);
  return e;
}

/* ---- The command line of `neoc tune`. */

/* "90s", "5m", "1h"; false: the text is none. */
static bool tune_duration(const char *text, double *seconds) {
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

/* The value of --records without a leading `none,`, which switches off the shipped records. */
static const char *records_file(neoc_cli *cli, neo_compile_options *co) {
  static const char none[] = "none,";
  const char *text = neoc_text(cli, NEOC_O_TUNE_RECORDS, NULL);
  if (!text || strncmp(text, none, sizeof none - 1) != 0)
    return text;
  co->records_dir = NULL;
  return text + sizeof none - 1;
}

/* The files of records. The file that is written is read too, so that its schedules are not
 * searched for again. */
static neoc_exit tune_files(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co) {
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

/* The option's folder without trailing slashes. */
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
  o->candidates = neoc_count(cli, NEOC_O_CANDIDATES, 32, 1, &e);
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

/* The options of the tuner; the files of records go to *co too. */
static neoc_exit tune_options(neoc_cli *cli, neo_tune_options *o, neo_compile_options *co) {
  neoc_exit e = NEOC_OK;
  const char *time_text = neoc_text(cli, NEOC_O_TIME, "60s");
  if (!tune_duration(time_text, &o->seconds))
    return neoc_usage(cli, "--time takes a duration as 90s, 5m or 1h, not '%s'", time_text);
  o->threads = neoc_count(cli, NEOC_O_TUNE_THREADS, 1, 1, &e);
  o->seed = (uint64_t)neoc_int(cli, NEOC_O_SEED, 0, 0, &e);
  o->only = neoc_text(cli, NEOC_O_KERNEL, NULL);
  if (!e)
    e = read_folders(cli, o);
  return e ? e : tune_files(cli, o, co);
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
    e = tune_options(cli, &o, &co);
  return e ? e : run(&x, &o, &co, neoc_has(cli, NEOC_O_SURVEY));
}

/* The record files that are read, followed by the user's own file. */
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
  if (!tune_duration(seconds, &o.seconds))
    return neoc_usage(cli, "--tune takes a duration as 90s, 5m or 1h, not '%s'", seconds);
  neoc_exit e = tune_files(cli, &o, &first);
  if (e)
    return e;
  neo_records *in_memory = NEO_NEW(cli->arena, neo_records);
  neo_records_init(in_memory, cli->arena);
  co->more_records = o.in_memory = in_memory;
  first.records = co->records = and_own(cli, given, &o);
  first.depfile = NULL;
  return run(&x, &o, &first, false);
}
