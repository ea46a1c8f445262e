/* One kernel: its job for the measurer, and its batches of candidates. */
#include "tools/tune/task.h"

/* ---- the measurer */

neo_status neo_task_lost(neo_tune *t) {
  t->why = t->measurer.why;
  return NEO_IO;
}

const char *neo_task_job(neo_tune *t, neo_task *x) {
  neo_job_options o = {.sizes = x->in_iteration,
                       .numbers = x->numbers,
                       .input = x->input,
                       .threads = t->o.threads,
                       .seed = t->o.seed,
                       .positive = x->positive,
                       .in_loop = x->segment != NULL,
                       .loose = x->loose,
                       .run_ms = 1.5,
                       .total_ms = 60,
                       .between_bytes = x->between_bytes,
                       .limit_ms = NEO_TASK_LIMIT_MS,
                       .cpu_ms = NEO_TASK_CPU_MS};
  neo_str text = neo_str_in(&t->c->arena);
  neo_job_text(t->c, x->g, t->c->kernels.at[x->kernel].kernel, &o, &text);
  return neo_str_text(&text);
}

void neo_task_limit(neo_tune *t, double cpu_ms, double most_ms) {
  double wall_ms = 5000 + 10 * cpu_ms;
  neo_measurer_job(&t->measurer, neo_arena_printf(&t->c->arena, "limit wall_ms=%.0f cpu_ms=%.0f\n",
                                                  wall_ms < most_ms ? wall_ms : most_ms, cpu_ms));
}

/* The plain schedule with a unit for each point of the shared axes, so that single points can be
 * run. */
neo_schedule neo_task_plain(const neo_task *x) {
  neo_schedule s = neo_schedule_plain();
  s.at[neo_strategy_param(s.strategy, NEO_PARAM_UNIT_AXES)] = (int64_t)x->search.space.f->axes.n;
  return s;
}

void neo_task_fail(neo_tune *t, neo_task *x, const char *what, const char *why) {
  x->failed = neo_arena_printf(&t->c->arena, "%s: %s", what, why);
  x->over = true;
}

/* ---- batches */

static neo_status measure_one(neo_tune *t, neo_task *x, const neo_candidate *k, double *ratio) {
  neo_measured m = {0};
  double best = neo_search_best(&x->search) / x->default_ns;
  if (k->ok && neo_measurer_run(&t->measurer, "try", k, best, &m))
    return neo_task_lost(t);
  if (k->ok && !m.ok && neo_tune_late(t))
    return NEO_OK; /* perhaps it only ran out of time */
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
    neo_task_limit(t, 1000 + x->default_ns * x->part * 10e-6, 1000 + 1000 * neo_tune_left_s(t));
    status = measure_one(t, x, &k[i], &ratio[i]);
  }
  neo_unbuild(k, n);
  return status;
}
