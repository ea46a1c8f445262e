/* Chooses the task of the next batch, and decides when to stop. */
#include "tools/tune/search.h"
#include "tools/tune/task.h"

/* The share of the best time that another batch is expected to save; the tuner gives the next batch
 * to the task with most to gain. */
static double search_gain(const neo_search *s) {
  static const double usual[] = {0.15, 0.05, 0.01, 0};
  double gain = usual[s->phase];
  return s->phase != NEO_SEARCH_OVER && s->step > gain ? (s->step + gain) / 2 : gain;
}

static double promise(const neo_tune *t, const neo_task *x) {
  if (x->over)
    return -1;
  double first = x->contraction ? 0.25 : 0.12;
  double gain = x->begun ? search_gain(&x->search) : first;
  double ns = neo_task_ns(t, x, true);
  return ns > 0 ? ns * gain
                : gain * 1e-6 * neo_tune_guess_ns(t, x); /* kernels of other entries come last */
}

neo_task *neo_tune_next(neo_tune *t) {
  neo_task *best = NULL;
  double most = 0;
  for (size_t k = 0; k < t->tasks.n; k++) {
    double p = promise(t, &t->tasks.at[k]);
    if (p > most)
      most = p, best = &t->tasks.at[k];
  }
  return best;
}

enum { BATCH = 8 };

/* Runs a batch of candidates. */
static neo_status task_batch(neo_tune *t, neo_task *x) {
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

static neo_status run_batches(neo_tune *t) {
  neo_task *last = NULL;
  neo_status s = NEO_OK;
  while (!s && !neo_tune_late(t) && !neo_tune_stopped(t)) {
    neo_task *x = neo_tune_next(t);
    if (last && x != last)
      s = neo_task_confirm(t, last);
    if (!x || s)
      break;
    last = x;
    s = neo_task_begin(t, x);
    neo_tune_rescale(t);
    neo_tune_show(t);
    if (!s && !x->over && !neo_tune_late(t) && !neo_tune_stopped(t))
      s = task_batch(t, x);
    if (!s && x->over)
      s = neo_task_finals(t, x);
    neo_tune_show(t);
  }
  return s;
}

neo_status neo_tune_run(neo_tune *t) {
  neo_tune_look_at_run(t);
  neo_status s = run_batches(t);
  for (size_t k = 0; k < t->tasks.n && !s; k++)
    s = neo_task_confirm(t, &t->tasks.at[k]);
  neo_tune_show(t);
  return s ? s : neo_tune_stopped(t) ? NEO_INTERRUPTED : NEO_OK;
}
