/* One kernel: its base, its batches, its races. */
#include "schedule/contract.h"
#include "tools/pipeline/records.h"
#include "tools/tune/tune.h"
#include <string.h>
#include <time.h>

enum { BATCH = 8, SEEDS = 4, RACES = 3, FINALS = 4, BASE_LIMIT_MS = 60000, BASE_CPU_MS = 3000 };

/* A default that is thought to take longer is measured at smaller sizes. */
static const double long_ns = 0.3e9;

static const double worth = NEO_TASK_WORTH;

/* ---- the measurer */

static neo_status gone(neo_tune *t) {
  t->why = t->measurer.why;
  return NEO_IO;
}

const char *neo_task_job(neo_tune *t, neo_task *x) {
  neo_job_options o = {.sizes = x->sizes,
                       .threads = t->o.threads,
                       .seed = t->o.seed,
                       .positive = x->positive,
                       .loose = x->loose,
                       .run_ms = 1.5,
                       .total_ms = 60,
                       .between_bytes = x->between_bytes,
                       .limit_ms = BASE_LIMIT_MS,
                       .cpu_ms = BASE_CPU_MS};
  neo_str text;
  neo_str_init(&text, &t->c->arena);
  neo_job_text(t->c, x->g, t->c->kernels.at[x->kernel].kernel, &o, &text);
  return neo_str_text(&text);
}

static void send_job(neo_tune *t, neo_task *x) {
  neo_measurer_job(&t->measurer, neo_task_job(t, x));
}

/* Of its own time; by the clock on the wall much more, as a busy machine may let it wait, but no
 * more than `most_ms`. */
static void set_limit(neo_tune *t, double cpu_ms, double most_ms) {
  double wall_ms = 5000 + 10 * cpu_ms;
  neo_measurer_job(&t->measurer, neo_arena_printf(&t->c->arena, "limit wall_ms=%.0f cpu_ms=%.0f\n",
                                                  wall_ms < most_ms ? wall_ms : most_ms, cpu_ms));
}

/* ---- the base */

/* The plain schedule, a unit for each point of the shared axes: single ones can be run. */
neo_schedule neo_task_plain(const neo_task *x) {
  neo_schedule s = neo_schedule_plain();
  s.at[NEO_SCHED_UNIT_AXES] = (int64_t)x->search.space.f->axes.n;
  return s;
}

void neo_task_fail(neo_tune *t, neo_task *x, const char *what, const char *why) {
  x->failed = neo_arena_printf(&t->c->arena, "%s: %s", what, why);
  x->over = true;
}

/* Both as one batch; but the plain kernel of a GPU's is this processor's, which computes the same
 * by other code. */
static void build_both(neo_tune *t, neo_candidate both[2]) {
  if (!t->c->target.sm) {
    neo_build(&t->builder, both, 2);
    return;
  }
  t->builder.target = &t->processor;
  neo_build(&t->builder, &both[0], 1);
  t->builder.target = NULL;
  neo_build(&t->builder, &both[1], 1);
}

/* One try at the base; *m: its measurement. */
static neo_status try_base(neo_tune *t, neo_task *x, const neo_candidate *plain, neo_measured *m) {
  neo_status s = NEO_OK;
  send_job(t, x);
  if (plain)
    s = neo_measurer_run(&t->measurer, "plain", plain, 0, m) ? gone(t) : NEO_OK;
  if (!s && plain && !m->ok)
    return NEO_OK;
  if (!s)
    s = neo_measurer_run(&t->measurer, "base", &x->base, 0, m) ? gone(t) : NEO_OK;
  return s;
}

/* Numbers that make most answers NaN are replaced by positive ones; sums that cancel get room. */
static neo_status first_base(neo_tune *t, neo_task *x, neo_measured *m) {
  neo_candidate both[2] = {{.schedule = neo_task_plain(x)}, {.schedule = x->base.schedule}};
  t->builder.sizes = x->sizes;
  build_both(t, both);
  x->base = both[1];
  if (!both[0].ok || !both[1].ok) {
    snprintf(m->why, sizeof m->why, "%s", both[0].ok ? both[1].why : both[0].why);
    return NEO_OK;
  }
  neo_status s = try_base(t, x, &both[0], m);
  if (!s && m->ok && m->finite < 0.5) {
    x->positive = true;
    s = try_base(t, x, &both[0], m);
  }
  if (!s && !m->ok && strstr(m->why, "wrong answer")) {
    x->loose = true;
    s = try_base(t, x, &both[0], m);
  }
  if (strcmp(both[0].path, both[1].path) != 0)
    neo_unbuild(&both[0], 1);
  return s;
}

static void seed_search(neo_tune *t, neo_task *x) {
  const neo_record *near[SEEDS];
  const neo_records *r = &t->c->records;
  size_t n = neo_records_nearest(r, x->record.family, x->record.sizes, x->record.n_sizes,
                                 x->record.target, x->record.build, near, SEEDS);
  while (n-- > 0) { /* the nearest last: it is then the first */
    neo_schedule s;
    if (neo_schedule_parse(near[n]->schedule, &s))
      neo_search_seed(&x->search, &s);
  }
}

/* Schedules are priced for as many threads as measure them. */
static neo_space space_of(const neo_tune *t, const neo_task *x) {
  neo_space s = neo_space_of(t->c->module, x->g, &t->c->machine);
  s.priced.threads = (uint32_t)t->o.threads;
  return s;
}

/* What a compilation takes today, a record's schedule or the model's choice: nothing is recorded
 * that does not beat it. */
static void take_base(neo_tune *t, neo_task *x) {
  x->base.schedule = neo_compile_schedule(t->c, x->g, &x->base_record);
  neo_search_first(&x->search, &x->base.schedule);
}

double neo_task_base_ratio(const neo_task *x) {
  return x->base_record ? neo_record_ratio(x->base_record) : 1;
}

void neo_task_open(neo_tune *t, neo_task *x, double default_ns) {
  size_t trial = 0;
  x->begun = true;
  x->default_ns = x->best_ns = default_ns;
  x->best = x->base.schedule;
  if (neo_search_ask(&x->search, &trial, 1))
    neo_search_tell(&x->search, trial, default_ns);
  x->search.trials.at[trial].raced = true; /* it is what all are raced against */
  neo_journal_recall(t, x);
}

bool neo_task_prepare(neo_tune *t, neo_task *x) {
  double guess = neo_tune_guess_ns(t, x);
  if (!x->begun && guess > long_ns)
    neo_task_shrink(t, x, long_ns / guess);
  const char *refused = neo_job_refused(t->c, t->c->kernels.at[x->kernel].kernel, x->sizes);
  if (refused) {
    neo_task_fail(t, x, "not measured", refused);
    return false;
  }
  if (!x->begun) {
    neo_search_init(&x->search, &t->c->arena, space_of(t, x), t->o.seed);
    seed_search(t, x);
    take_base(t, x);
  }
  t->builder.g = x->g;
  t->builder.sizes = x->sizes;
  return true;
}

neo_status neo_task_begin(neo_tune *t, neo_task *x) {
  neo_measured m = {0};
  t->builder.g = x->g;
  t->builder.sizes = x->sizes;
  if (t->current == x)
    return NEO_OK;
  t->current = NULL;
  if (!neo_task_prepare(t, x))
    return NEO_OK;
  neo_status s = x->begun ? try_base(t, x, NULL, &m) : first_base(t, x, &m);
  for (int tries = 0; tries < 3 && !s && !m.ok && !x->begun && strstr(m.why, "over its time") &&
                      neo_task_shrink(t, x, 0.1);
       tries++)
    s = first_base(t, x, &m);
  if (s)
    return s;
  if (!m.ok || m.ns <= 0) {
    neo_task_fail(t, x, "the default's kernel", m.why);
    return NEO_OK;
  }
  if (!x->begun)
    neo_task_open(t, x, m.ns / x->part);
  t->current = x;
  return NEO_OK;
}

/* ---- batches */

static neo_status measure_one(neo_tune *t, neo_task *x, const neo_candidate *k, double *ratio) {
  neo_measured m = {0};
  double best = neo_search_best(&x->search) / x->default_ns;
  if (k->ok && neo_measurer_run(&t->measurer, "try", k, best, &m))
    return gone(t);
  if (k->ok && !m.ok && neo_tune_late(t))
    return NEO_OK; /* perhaps it only had no time */
  *ratio = m.ok && m.ratio > 0 ? m.ratio : -1;
  neo_journal_add(t, x, &k->schedule, *ratio, k->ok ? m.why : k->why);
  t->trials++, x->trials++;
  t->refused += *ratio < 0;
  return NEO_OK;
}

neo_status neo_task_measure(neo_tune *t, neo_task *x, const neo_schedule *s, size_t n,
                            double *ratio) {
  neo_candidate *k = NEO_NEW_ARRAY(&t->c->arena, neo_candidate, n + 1);
  for (size_t i = 0; i < n; i++) {
    k[i].schedule = s[i];
    ratio[i] = 0;
  }
  neo_build(&t->builder, k, n);
  neo_status status = NEO_OK;
  for (size_t i = 0; i < n && !status && !neo_tune_stopped(t) && !neo_tune_late(t); i++) {
    set_limit(t, 1000 + x->default_ns * x->part * 10e-6, 1000 + 1000 * neo_tune_left_s(t));
    status = measure_one(t, x, &k[i], &ratio[i]);
  }
  neo_unbuild(k, n);
  return status;
}

neo_status neo_task_batch(neo_tune *t, neo_task *x) {
  neo_schedule s[BATCH];
  double ratio[BATCH];
  size_t trial[BATCH];
  size_t n = neo_search_ask(&x->search, trial, BATCH);
  x->over = n == 0;
  for (size_t i = 0; i < n; i++)
    s[i] = x->search.trials.at[trial[i]].schedule;
  neo_status status = neo_task_measure(t, x, s, n, ratio);
  for (size_t i = 0; i < n && !status; i++)
    if (ratio[i] != 0)
      neo_search_tell(&x->search, trial[i], ratio[i] > 0 ? ratio[i] * x->default_ns : -1);
  return status;
}

/* ---- races */

static const char *text_of(neo_tune *t, const neo_schedule *s) {
  neo_str text;
  neo_str_init(&text, &t->c->arena);
  neo_schedule_print(s, &text);
  return neo_str_text(&text);
}

/* What the times are compared with: the model's choice, or that of the day when the base's record
 * was measured. */
static const char *compared_with(neo_tune *t, const neo_task *x) {
  neo_schedule s;
  if (x->base_record)
    return x->base_record->against;
  s = neo_schedule_default(t->c->module, x->g, &t->c->machine);
  return text_of(t, &s);
}

neo_status neo_task_record(neo_tune *t, neo_task *x, const neo_measured *m) {
  neo_record r = x->record;
  r.schedule = text_of(t, &x->best);
  r.against = compared_with(t, x);
  r.time_ns = m->ns / x->part;
  r.default_ns = r.time_ns / (m->ratio * neo_task_base_ratio(x));
  r.threads = (uint32_t)t->o.threads;
  r.trials = x->trials + x->known;
  r.when = (int64_t)time(NULL);
  const neo_record *old = neo_records_find(&t->c->records, r.key, r.target, r.build, r.threads);
  if (old && neo_record_ratio(old) <= neo_record_ratio(&r))
    return NEO_OK;
  neo_status s = neo_record_append(&neo_io_default, &t->c->arena, t->o.records, &r,
                                   t->o.records_flags, &t->why);
  x->recorded = x->recorded || !s;
  if (s != NEO_IO || !t->o.unkept)
    return s;
  t->place_why = t->why;
  r = neo_record_copy(t->o.unkept->arena, &r);
  neo_records_add(t->o.unkept, &r);
  return NEO_OK;
}

static neo_status race(neo_tune *t, neo_task *x, size_t trial, neo_measured *m) {
  neo_candidate k = {.schedule = x->search.trials.at[trial].schedule};
  neo_build(&t->builder, &k, 1);
  snprintf(m->why, sizeof m->why, "%s", k.why);
  neo_status s = NEO_OK;
  set_limit(t, BASE_CPU_MS + x->default_ns * x->part * 40e-6, BASE_LIMIT_MS);
  if (k.ok && neo_measurer_run(&t->measurer, "race", &k, 0, m))
    s = gone(t);
  neo_unbuild(&k, 1);
  return s;
}

/* Races a trial; if it wins it is the best one from now on, and recorded. */
static neo_status race_trial(neo_tune *t, neo_task *x, size_t trial) {
  neo_measured m = {0};
  neo_status s = neo_task_begin(t, x);
  if (!s && !x->failed)
    s = race(t, x, trial, &m);
  if (s || x->failed)
    return s;
  double ratio = m.ok && m.ratio > 0 ? m.ratio : -1;
  neo_search_correct(&x->search, trial, ratio > 0 ? ratio * x->default_ns : -1);
  neo_journal_add(t, x, &x->search.trials.at[trial].schedule, ratio, m.why);
  if (ratio <= 0 || ratio > worth || ratio * x->default_ns > x->best_ns)
    return NEO_OK;
  x->best = x->search.trials.at[trial].schedule;
  x->best_ns = ratio * x->default_ns;
  return neo_task_record(t, x, &m);
}

neo_status neo_task_confirm(neo_tune *t, neo_task *x) {
  neo_status s = NEO_OK;
  for (int k = 0; k < RACES && x->begun && !x->failed && !s; k++) {
    size_t best = x->search.best;
    if (x->search.trials.at[best].raced || neo_search_best(&x->search) >= worth * x->best_ns)
      break;
    s = race_trial(t, x, best);
  }
  return s;
}

neo_status neo_task_finals(neo_tune *t, neo_task *x) {
  static const double near = 1.03;
  neo_status s = neo_task_confirm(t, x);
  for (int k = 0;
       k < FINALS && x->begun && !x->failed && !s && !neo_tune_late(t) && !neo_tune_stopped(t);
       k++) {
    size_t next = neo_search_unraced(&x->search);
    double time = next < x->search.trials.n ? x->search.trials.at[next].time_ns : 0;
    if (time <= 0 || time > near * x->best_ns)
      break;
    s = race_trial(t, x, next);
  }
  return s;
}
