/* Races a candidate against the base, with all units and alternating, and records a winner. */
#include "tools/tune/search.h"
#include "tools/tune/task.h"
#include <time.h>

enum { RACES = 3, FINALS = 4 };

static const double worth = NEO_TASK_WORTH;

static const char *text_of(neo_tune *t, const neo_schedule *s) {
  neo_str text = neo_str_in(&t->c->arena);
  neo_schedule_print(s, &text);
  return neo_str_text(&text);
}

/* The schedule that a record's ratio refers to: the model's choice, today's or that of the base's
 * record. */
static const char *compared_with(neo_tune *t, const neo_task *x) {
  neo_schedule s;
  if (x->base_record)
    return x->base_record->against;
  s = neo_schedule_default(t->c->module, x->g, x->machine);
  return text_of(t, &s);
}

neo_status neo_task_record(neo_tune *t, neo_task *x, const neo_measured *m) {
  neo_record r = x->record;
  r.schedule = text_of(t, &x->best);
  r.against = compared_with(t, x);
  r.time_ns = m->ns / x->part;
  r.default_ns = r.time_ns / (m->ratio * neo_task_base_ratio(x));
  r.threads = (uint32_t)t->o.threads;
  r.trials = x->trials + x->logged;
  r.when = (int64_t)time(NULL);
  const neo_record *old = neo_records_find(&t->c->records, r.key, r.target, r.build, r.threads);
  if (old && neo_record_ratio(old) <= neo_record_ratio(&r))
    return NEO_OK;
  neo_status s = neo_record_append(&neo_io_default, &t->c->arena, t->o.records, &r,
                                   t->o.records_flags, &t->why);
  x->recorded = x->recorded || !s;
  if (s != NEO_IO || !t->o.in_memory)
    return s;
  t->place_why = t->why;
  r = neo_record_copy(t->o.in_memory->arena, &r);
  neo_records_add(t->o.in_memory, &r);
  return NEO_OK;
}

static neo_status race(neo_tune *t, neo_task *x, size_t trial, neo_measured *m) {
  neo_candidate k = {.schedule = x->search.trials.at[trial].schedule};
  neo_build(&t->builder, &k, 1);
  snprintf(m->why, sizeof m->why, "%s", k.why);
  neo_status s = NEO_OK;
  neo_task_limit(t, NEO_TASK_CPU_MS + x->default_ns * x->part * 40e-6, NEO_TASK_LIMIT_MS);
  if (k.ok && neo_measurer_run(&t->measurer, "race", &k, 0, m))
    s = neo_task_lost(t);
  neo_unbuild(&k, 1);
  return s;
}

/* Races a trial; if it wins, it becomes the best one and is recorded. */
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

/* The quickest trial that was not raced; the number of trials if there is none. */
static size_t search_unraced(const neo_search *s) {
  size_t best = s->trials.n;
  for (size_t k = 0; k < s->trials.n; k++) {
    const neo_trial *t = &s->trials.at[k];
    if (t->time_ns > 0 && !t->raced &&
        (best == s->trials.n || t->time_ns < s->trials.at[best].time_ns))
      best = k;
  }
  return best;
}

neo_status neo_task_finals(neo_tune *t, neo_task *x) {
  static const double near = 1.03;
  neo_status s = neo_task_confirm(t, x);
  for (int k = 0;
       k < FINALS && x->begun && !x->failed && !s && !neo_tune_late(t) && !neo_tune_stopped(t);
       k++) {
    size_t next = search_unraced(&x->search);
    double time = next < x->search.trials.n ? x->search.trials.at[next].time_ns : 0;
    if (time <= 0 || time > near * x->best_ns)
      break;
    s = race_trial(t, x, next);
  }
  return s;
}
