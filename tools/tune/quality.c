/* Surveys a model's kernels: every schedule of a small space is measured, then the search is
 * replayed on these times. */
#include "tools/tune/survey.h"
#include "tools/tune/task.h"

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

/* ---- the best of hundreds of noisy times. The least time of many is the luckiest one. So the top
 * schedules are measured again in rounds, which decorrelates disturbances, and the first of these
 * more often. The time of the best one must not come from the measurements that selected it: the
 * first half of its rounds selects, the second half times. Otherwise its luck would be a goal that
 * no search reaches. */

/* Sorts by time, the quickest first. Returns how many have a time. */
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

/* Rows: the first 1/share of the schedules get this number of rounds in all. */
static const struct {
  size_t share;
  int rounds;
} level[] = {{16, 5}, {64, 15}};
enum { MOST = 15 }; /* most rounds */

typedef struct {
  double of[MOST]; /* in the order of rounds */
  int n;
} times;

/* The interquartile mean of rounds [from, to), which varies less than their median. */
static double middle(const times *t, int from, int to) {
  double x[MOST], sum = 0;
  int n = 0;
  for (int k = from; k < to; k++) {
    int i = n++;
    for (; i && t->of[k] < x[i - 1]; i--)
      x[i] = x[i - 1];
    x[i] = t->of[k];
  }
  for (int k = n / 4; k < n - n / 4; k++)
    sum += x[k];
  return sum / (n - 2 * (n / 4));
}

/* Measures again those of the first m schedules that have fewer times than this. */
static neo_status measure_round(neo_tune *t, neo_task *x, const neo_surveyed *all,
                                const size_t *top, size_t m, int rounds, times *of) {
  neo_status s = NEO_OK;
  for (size_t from = 0; from < m && !s && !neo_tune_stopped(t) && !neo_tune_late(t);) {
    neo_schedule batch[BATCH];
    double ratio[BATCH];
    times *to[BATCH];
    size_t n = 0;
    for (; from < m && n < BATCH; from++)
      if (of[top[from]].n < rounds)
        to[n] = &of[top[from]], batch[n++] = all[top[from]].schedule;
    s = neo_task_measure(t, x, batch, n, ratio);
    for (size_t k = 0; k < n && !s; k++)
      if (ratio[k] > 0)
        to[k]->of[to[k]->n++] = ratio[k] * x->default_ns;
  }
  return s;
}

/* Measures the top schedules; *best: the number of the best one. */
static neo_status measure_top(neo_tune *t, neo_task *x, neo_surveyed *all, size_t n, size_t *best) {
  size_t *top = NEO_NEW_ARRAY(&t->c->arena, size_t, n + 1);
  times *of = NEO_NEW_ARRAY(&t->c->arena, times, n + 1);
  neo_status s = NEO_OK;
  for (size_t k = 0; k < n; k++)
    if (all[k].time_ns > 0)
      of[k] = (times){{all[k].time_ns}, 1};
  for (size_t v = 0; v < sizeof level / sizeof *level; v++) {
    size_t timed = by_time(all, n, top), m = timed / level[v].share + 1;
    m = m < timed ? m : timed;
    for (int round = 1; round < level[v].rounds && !s; round++)
      s = measure_round(t, x, all, top, m, level[v].rounds, of);
    bool last = v + 1 == sizeof level / sizeof *level;
    for (size_t k = 0; k < m; k++) {
      const times *y = &of[top[k]];
      int half = (y->n + 1) / 2;
      all[top[k]].time_ns = middle(y, 0, last ? half : y->n);
      if (k == 0 || all[top[k]].time_ns < all[*best].time_ns)
        *best = top[k];
    }
    for (size_t k = 0; last && k < m; k++)
      if (of[top[k]].n > 1)
        all[top[k]].time_ns = middle(&of[top[k]], (of[top[k]].n + 1) / 2, of[top[k]].n);
  }
  return s;
}

static neo_quality judge(neo_tune *t, const neo_task *x, const neo_surveyed *all, size_t n,
                         size_t done, size_t best) {
  neo_quality q = {.task = x,
                   .space = n,
                   .measured = done,
                   .default_ns = x->default_ns,
                   .best_ns = all[best].time_ns > 0 ? all[best].time_ns : x->default_ns,
                   .best = all[best].schedule};
  q.to_95 = neo_survey_median(&x->search.space, &t->c->arena, all, n, q.best_ns / 0.95, SEEDS);
  q.to_99 = neo_survey_median(&x->search.space, &t->c->arena, all, n, q.best_ns / 0.99, SEEDS);
  return q;
}

neo_status neo_tune_survey(neo_tune *t, neo_quality **out, size_t *n) {
  neo_task *x;
  neo_status s = NEO_OK;
  *out = NEO_NEW_ARRAY(&t->c->arena, neo_quality, t->tasks.n + 1);
  *n = 0;
  while (!s && !neo_tune_stopped(t) && !neo_tune_late(t) && (x = neo_tune_next(t)) != NULL) {
    neo_surveyed *all;
    size_t done, best = 0;
    s = neo_task_begin(t, x);
    x->over = true;
    if (s || x->failed)
      continue;
    size_t space = neo_survey_space(&x->search.space, &all);
    s = measure_all(t, x, all, space, &done);
    if (!s)
      s = measure_top(t, x, all, done, &best);
    if (!s)
      (*out)[(*n)++] = judge(t, x, all, space, done, best);
  }
  return s ? s : neo_tune_stopped(t) ? NEO_INTERRUPTED : NEO_OK;
}
