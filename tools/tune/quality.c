/* The survey of a model's kernels: every schedule of a small space is measured, then the search is
 * replayed in it. */
#include "tools/tune/survey.h"
#include "tools/tune/tune.h"

enum { BATCH = 16, SEEDS = 21, TOP = 16, ROUNDS = 5 }; /* TOP: its share */

static neo_status measure_all(neo_tune *t, neo_task *x, neo_surveyed *all, size_t n, size_t *done) {
  neo_status s = NEO_OK;
  for (*done = 0; *done < n && !s && !neo_tune_stopped(t) && !neo_tune_late(t); *done += BATCH) {
    neo_schedule batch[BATCH];
    double ratio[BATCH];
    size_t m = n - *done < BATCH ? n - *done : BATCH;
    for (size_t k = 0; k < m; k++)
      batch[k] = all[*done + k].schedule;
    s = neo_task_measure(t, x, batch, m, ratio);
    for (size_t k = 0; k < m; k++)
      all[*done + k].time_ns = ratio[k] * x->default_ns;
    neo_tune_show(t);
  }
  *done = *done < n ? *done : n;
  return s;
}

/* ---- the least of hundreds of noisy times is the luckiest one */

/* The quickest come first; how many have a time. */
static size_t by_time(const neo_surveyed *all, size_t n, size_t *out) {
  size_t m = 0;
  for (size_t k = 0; k < n; k++) {
    size_t i = m;
    if (all[k].time_ns <= 0)
      continue;
    for (; i && all[k].time_ns < all[out[i - 1]].time_ns; i--)
      out[i] = out[i - 1];
    out[i] = k;
    m++;
  }
  return m;
}

typedef double times[ROUNDS];

static double median(times t) {
  for (int k = 1; k < ROUNDS; k++)
    for (int i = k; i && t[i] < t[i - 1]; i--) {
      double x = t[i];
      t[i] = t[i - 1], t[i - 1] = x;
    }
  return t[ROUNDS / 2];
}

static neo_status measure_round(neo_tune *t, neo_task *x, const neo_surveyed *all,
                                const size_t *top, size_t m, times *out, int round) {
  neo_status s = NEO_OK;
  for (size_t from = 0; from < m && !s && !neo_tune_stopped(t); from += BATCH) {
    neo_schedule batch[BATCH];
    double ratio[BATCH];
    size_t n = m - from < BATCH ? m - from : BATCH;
    for (size_t k = 0; k < n; k++)
      batch[k] = all[top[from + k]].schedule;
    s = neo_task_measure(t, x, batch, n, ratio);
    for (size_t k = 0; k < n && !s; k++)
      out[from + k][round] = ratio[k] > 0 ? ratio[k] * x->default_ns : all[top[from + k]].time_ns;
  }
  return s;
}

/* Those at the top are measured again in rounds, so that what disturbed one of them once does not
 * the next time, and have the median. */
static neo_status measure_top(neo_tune *t, neo_task *x, neo_surveyed *all, size_t n) {
  size_t *top = NEO_NEW_ARRAY(&t->c->arena, size_t, n + 1);
  size_t timed = by_time(all, n, top), m = timed / TOP + 1 < timed ? timed / TOP + 1 : timed;
  times *of = NEO_NEW_ARRAY(&t->c->arena, times, m + 1);
  neo_status s = NEO_OK;
  for (size_t k = 0; k < m; k++)
    of[k][0] = all[top[k]].time_ns;
  for (int round = 1; round < ROUNDS && !s; round++) {
    if (neo_tune_stopped(t) || neo_tune_late(t))
      return s;
    s = measure_round(t, x, all, top, m, of, round);
  }
  for (size_t k = 0; k < m && !s && !neo_tune_stopped(t); k++)
    all[top[k]].time_ns = median(of[k]);
  return s;
}

static neo_quality judge(neo_tune *t, const neo_task *x, const neo_surveyed *all, size_t n,
                         size_t done) {
  neo_quality q = {.task = x,
                   .space = n,
                   .measured = done,
                   .default_ns = x->default_ns,
                   .best_ns = x->default_ns};
  for (size_t k = 0; k < n; k++)
    if (all[k].time_ns > 0 && all[k].time_ns < q.best_ns)
      q.best_ns = all[k].time_ns, q.best = all[k].schedule;
  q.to_95 = neo_survey_median(&x->search.space, &t->c->arena, all, n, 0.95, SEEDS);
  q.to_99 = neo_survey_median(&x->search.space, &t->c->arena, all, n, 0.99, SEEDS);
  return q;
}

neo_status neo_tune_survey(neo_tune *t, neo_quality **out, size_t *n) {
  neo_task *x;
  neo_status s = NEO_OK;
  *out = NEO_NEW_ARRAY(&t->c->arena, neo_quality, t->tasks.n + 1);
  *n = 0;
  while (!s && !neo_tune_stopped(t) && !neo_tune_late(t) && (x = neo_tune_next(t)) != NULL) {
    neo_surveyed *all;
    size_t done;
    s = neo_task_begin(t, x);
    x->over = true;
    if (s || x->failed)
      continue;
    size_t space = neo_survey_space(&x->search.space, &all);
    s = measure_all(t, x, all, space, &done);
    if (!s)
      s = measure_top(t, x, all, done);
    if (!s)
      (*out)[(*n)++] = judge(t, x, all, space, done);
  }
  return s ? s : neo_tune_stopped(t) ? NEO_INTERRUPTED : NEO_OK;
}
