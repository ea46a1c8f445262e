/* The base of a task is the kernel that a compilation takes today. Its answer is compared with the
 * plain kernel's, and it is measured. */
#include "tools/pipeline/records.h"
#include "tools/tune/task.h"
#include <string.h>

enum { SEEDS = 4 };

/* A default whose estimated time is longer is measured at smaller sizes. */
static const double long_ns = 0.3e9;

/* Builds base and plain kernel as one batch. The plain kernel of a GPU's base is built for this
 * processor, whose code computes the same. */
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

/* A plain kernel computes as many of its units as a quarter of its time allows: some of them do. */
static void limit_plain(neo_tune *t) {
  enum { LEAST_MS = 4000, RUNS = 10 };
  double ms = 1000 * t->o.seconds / RUNS;
  neo_task_limit(t, NEO_TASK_CPU_MS, ms > LEAST_MS ? ms : LEAST_MS);
}

/* Wall time of a base: that is left, and some more, since it is checked at its end only. */
static double base_ms(const neo_tune *t) {
  enum { MORE_MS = 3000 };
  double left_ms = 1000 * neo_tune_left_s(t) + MORE_MS;
  return left_ms < MORE_MS ? MORE_MS : left_ms < NEO_TASK_LIMIT_MS ? left_ms : NEO_TASK_LIMIT_MS;
}

/* Tries to measure the base; *m: its measurement. */
static neo_status try_base(neo_tune *t, neo_task *x, const neo_candidate *plain, neo_measured *m) {
  neo_status s = NEO_OK;
  neo_measurer_job(&t->measurer, neo_task_job(t, x));
  if (plain)
    limit_plain(t);
  if (plain)
    s = neo_measurer_run(&t->measurer, "plain", plain, 0, m) ? neo_task_lost(t) : NEO_OK;
  if (!s && plain && !m->ok)
    return NEO_OK;
  neo_task_limit(t, NEO_TASK_CPU_MS, x->begun ? NEO_TASK_LIMIT_MS : base_ms(t));
  if (!s)
    s = neo_measurer_run(&t->measurer, "base", &x->base, 0, m) ? neo_task_lost(t) : NEO_OK;
  return s;
}

/* Measures the base. If the inputs make most answers NaN, they are replaced by positive ones; if
 * sums cancel, tolerances grow. */
static neo_status first_base(neo_tune *t, neo_task *x, neo_measured *m) {
  neo_candidate both[2] = {{.schedule = neo_task_plain(x), .reference = true},
                           {.schedule = x->base.schedule}};
  const char *why = neo_task_inputs(t, x);
  if (why) {
    m->reason = neo_tune_late(t) ? MEASURE_REASON_LATE : MEASURE_REASON_FAILED;
    snprintf(m->why, sizeof m->why, "%s", why);
    return NEO_OK;
  }
  t->builder.numbers = x->numbers;
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
  if (!s && !m->ok && m->reason == MEASURE_REASON_WRONG) {
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
  while (n-- > 0) { /* the nearest is added last, so that it comes first */
    neo_schedule s;
    if (neo_schedule_parse(near[n]->schedule, &s))
      neo_search_seed(&x->search, &s);
  }
}

/* Schedules are priced for the number of threads that measure them. */
static neo_space space_of(const neo_tune *t, const neo_task *x) {
  neo_space s = neo_space_of(t->c->module, x->g, x->machine);
  s.threads = (uint32_t)t->o.threads;
  return s;
}

/* Sets the base: the schedule that a compilation takes today, a record's or the model's choice.
 * Only schedules that beat it are recorded. */
static void take_base(neo_tune *t, neo_task *x) {
  x->base_record = x->segment ? x->segment->from : NULL;
  x->base.schedule =
      x->segment ? x->segment->schedule : neo_compile_schedule(t->c, x->g, &x->base_record);
  neo_search_first(&x->search, &x->base.schedule);
}

void neo_task_open(neo_tune *t, neo_task *x, double default_ns) {
  size_t trial = 0;
  x->begun = true;
  x->default_ns = x->best_ns = default_ns;
  x->best = x->base.schedule;
  if (neo_search_ask(&x->search, &trial, 1))
    neo_search_tell(&x->search, trial, default_ns);
  x->search.trials.at[trial].raced = true; /* later trials race against this one */
  neo_journal_recall(t, x);
}

static void set_builder(neo_tune *t, const neo_task *x) {
  t->builder.g = x->g;
  t->builder.machine = x->machine;
  t->builder.segment = x->segment;
  t->builder.numbers = x->numbers;
}

bool neo_task_prepare(neo_tune *t, neo_task *x) {
  double guess = neo_tune_guess_ns(t, x);
  if (!x->begun && !x->segment && guess > long_ns)
    neo_task_shrink(t, x, long_ns / guess);
  const char *refused = neo_job_refused(t->c, t->c->kernels.at[x->kernel].kernel, x->in_iteration);
  if (refused) {
    neo_task_fail(t, x, "not measured", refused);
    return false;
  }
  if (!x->begun) {
    neo_search_init(&x->search, &t->c->arena, space_of(t, x), t->o.seed);
    seed_search(t, x);
    take_base(t, x);
  }
  set_builder(t, x);
  return true;
}

static bool is_late(const neo_task *x, const neo_measured *m) {
  return !x->begun && !m->ok && m->reason == MEASURE_REASON_LATE;
}

/* Shrinks the sizes, except for kernels of a loop, which have the sizes of its iterations. */
static bool shrink_more(const neo_tune *t, neo_task *x) {
  return !x->segment && neo_task_shrink(t, x, 0.1);
}

neo_status neo_task_begin(neo_tune *t, neo_task *x) {
  neo_measured m = {0};
  set_builder(t, x);
  if (t->current == x)
    return NEO_OK;
  t->current = NULL;
  if (!neo_task_prepare(t, x))
    return NEO_OK;
  neo_status s = x->begun ? try_base(t, x, NULL, &m) : first_base(t, x, &m);
  bool late = neo_tune_late(t);
  for (int tries = 0; tries < 3 && !s && !late && is_late(x, &m) && shrink_more(t, x); tries++)
    s = first_base(t, x, &m);
  if (s || (is_late(x, &m) && late))
    return s; /* perhaps it only ran out of time */
  if (!m.ok || m.ns <= 0) {
    neo_task_fail(t, x, "the default's kernel", m.why);
    return NEO_OK;
  }
  if (!x->begun)
    neo_task_open(t, x, m.ns / x->part);
  t->current = x;
  return NEO_OK;
}
