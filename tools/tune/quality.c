/* The survey of a model's kernels: every schedule of a small space is measured, then the search is
 * replayed in it. */
#include "tools/tune/survey.h"
#include "tools/tune/tune.h"

enum { BATCH = 16, SEEDS = 21 };

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

/* The least of hundreds of noisy times is the luckiest one: those at the top are measured twice
 * more, and have the median of the three. */
static neo_status measure_top(neo_tune *t, neo_task *x, neo_surveyed *all, size_t n) {
  size_t *top = NEO_NEW_ARRAY(&t->c->arena, size_t, n + 1), m = 0;
  neo_status s = NEO_OK;
  for (size_t k = 0; k < n; k++) {
    size_t i = m;
    if (all[k].time_ns <= 0)
      continue;
    for (; i && all[k].time_ns < all[top[i - 1]].time_ns; i--)
      top[i] = top[i - 1];
    top[i] = k;
    m++;
  }
  m = m / 8 + 1 < m ? m / 8 + 1 : m;
  for (size_t k = 0; k < m && !s && !neo_tune_stopped(t) && !neo_tune_late(t); k++) {
    neo_surveyed *y = &all[top[k]];
    neo_schedule twice[2] = {y->schedule, y->schedule};
    double ratio[2], a = y->time_ns;
    s = neo_task_measure(t, x, twice, 2, ratio);
    double b = ratio[0] * x->default_ns, c = ratio[1] * x->default_ns;
    if (!s && ratio[0] > 0 && ratio[1] > 0)
      y->time_ns = a < b ? (b < c ? b : a < c ? c : a) : (a < c ? a : b < c ? c : b);
  }
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
