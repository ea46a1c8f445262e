/* Chooses the task of the next batch, and decides when to stop. */
#include "tools/tune/task.h"

static double promise(const neo_tune *t, const neo_task *x) {
  if (x->over)
    return -1;
  double first = x->contraction ? 0.25 : 0.12;
  double gain = x->begun ? neo_search_gain(&x->search) : first;
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
      s = neo_task_batch(t, x);
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
