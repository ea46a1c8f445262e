/* The progress of a tuning: the time that is left, and the time of a step of the model. Kernels
 * that were not measured count with the cost model's estimate. */
#include "base/clock.h"
#include "tools/pipeline/records.h"
#include "tools/tune/task.h"
#include <stdlib.h>

double neo_tune_left_s(const neo_tune *t) {
  return t->begun_s + t->o.seconds - neo_now_s();
}

bool neo_tune_late(const neo_tune *t) {
  return neo_tune_left_s(t) <= 0;
}

bool neo_tune_stopped(const neo_tune *t) {
  return t->o.stop && t->o.stop(t->o.ctx);
}

void neo_tune_show(const neo_tune *t) {
  if (t->o.progress)
    t->o.progress(t->o.ctx, t);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Nanoseconds per unit of the model's cost: the median over the measured kernels of this kind. */
static double scale(neo_tune *t, bool contraction) {
  size_t n = 0;
  for (size_t k = 0; k < t->tasks.n; k++) {
    const neo_task *x = &t->tasks.at[k];
    if (x->begun && x->cost > 0 && x->contraction == contraction)
      t->ratios[n++] = x->default_ns / x->cost;
  }
  qsort(t->ratios, n, sizeof *t->ratios, by_value);
  return n ? t->ratios[n / 2] : 0.3;
}

void neo_tune_rescale(neo_tune *t) {
  for (int k = 0; k < 2; k++)
    t->scale[k] = scale(t, k == 1);
}

double neo_tune_guess_ns(const neo_tune *t, const neo_task *x) {
  return x->seen_ns > 0 ? x->seen_ns : x->cost * t->scale[x->contraction];
}

double neo_task_ns(const neo_tune *t, const neo_task *x, bool best) {
  double each = x->begun ? x->default_ns : neo_tune_guess_ns(t, x);
  double saved = x->begun && best ? x->default_ns - x->best_ns : 0;
  return (each / x->sharing - saved) * x->runs * (double)x->count;
}

double neo_tune_step_ns(const neo_tune *t, bool best) {
  double ns = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    ns += neo_task_ns(t, &t->tasks.at[k], best);
  return ns;
}

double neo_tune_covered(const neo_tune *t) {
  double all = neo_tune_step_ns(t, false), ns = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    if (t->tasks.at[k].begun && !t->tasks.at[k].failed)
      ns += neo_task_ns(t, &t->tasks.at[k], false);
  return all > 0 ? ns / all : 0;
}

const char *neo_tune_device_text(neo_arena *a, const neo_target *t) {
  return t->sm ? neo_arena_printf(a, "device cuda %s", t->level)
               : neo_arena_printf(a, "device cpu %s", t->rt_features);
}

double neo_task_base_ratio(const neo_task *x) {
  return x->base_record ? neo_record_ratio(x->base_record) : 1;
}
