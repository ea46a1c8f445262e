/* Progress and results of `neoc tune`. */
#include "base/clock.h"
#include "tools/neoc/tune/tuner.h"
#include <stdlib.h>

static const char *duration(neo_arena *a, double ns) {
  if (ns < 1e3)
    return neo_arena_printf(a, "%.0f ns", ns);
  if (ns < 1e6)
    return neo_arena_printf(a, "%.2f us", ns / 1e3);
  return ns < 1e9 ? neo_arena_printf(a, "%.3f ms", ns / 1e6)
                  : neo_arena_printf(a, "%.3f s", ns / 1e9);
}

static size_t begun_tasks(const neo_tune *t) {
  size_t n = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    n += t->tasks.at[k].begun;
  return n;
}

/* Shows progress: on a terminal in one line that changes, else as a line every ten seconds. */
void neoc_tune_progress(void *ctx, const neo_tune *t) {
  tuner *x = ctx;
  double now = neo_now_s();
  if (neoc_has(x->cli, NEOC_O_QUIET) || (!x->terminal && now - x->shown_s < 10))
    return;
  x->shown_s = now;
  if (t->o.emit) {
    fprintf(stderr, "%s%4.0f s: %zu of %zu kernels%s", x->terminal ? "\r" : "", now - t->begun_s,
            begun_tasks(t), t->tasks.n, x->terminal ? "\033[K" : "\n");
    return;
  }
  double before = neo_tune_step_ns(t, false), after = neo_tune_step_ns(t, true);
  fprintf(stderr,
          "%s%4.0f s: step %s -> %s (%.3f), %zu of %zu kernels, %.0f%% of the step, %lld trials%s",
          x->terminal ? "\r" : "", now - t->begun_s, duration(x->cli->arena, before),
          duration(x->cli->arena, after), before > 0 ? after / before : 1, begun_tasks(t),
          t->tasks.n, 100 * neo_tune_covered(t), (long long)t->trials,
          x->terminal ? "\033[K" : "\n");
  fflush(stderr);
}

/* ---- results */

typedef struct {
  const neo_task *task;
  double ns;
} row;

static int by_time(const void *a, const void *b) {
  const row *x = a, *y = b;
  return x->ns != y->ns ? (x->ns < y->ns) - (x->ns > y->ns)
                        : (x->task > y->task) - (x->task < y->task);
}

static row *rows_of(const neo_tune *t, size_t *n) {
  row *r = NEO_NEW_ARRAY(&t->c->arena, row, t->tasks.n + 1);
  *n = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    if (t->tasks.at[k].begun || t->tasks.at[k].failed)
      r[(*n)++] = (row){&t->tasks.at[k], neo_task_ns(t, &t->tasks.at[k], false)};
  qsort(r, *n, sizeof *r, by_time);
  return r;
}

/* How often a kernel of the measured size would run in a step. */
static int64_t runs_of(const neo_task *x) {
  return (int64_t)((double)x->count * x->runs + 0.5);
}

void neoc_tune_print(const tuner *x) {
  const neo_tune *t = &x->tune;
  neo_arena *a = x->cli->arena;
  size_t n, recorded = 0;
  row *r = rows_of(t, &n);
  double step = neo_tune_step_ns(t, false), best = neo_tune_step_ns(t, true);
  printf("%-28s %6s %7s %11s %11s %6s %7s\n", "kernel", "runs", "share", "default", "best", "ratio",
         "trials");
  for (size_t k = 0; k < n; k++) {
    const neo_task *y = r[k].task;
    recorded += y->recorded;
    if (y->failed)
      printf("%-28.28s not tuned: %s\n", y->g->name, y->failed);
    else
      printf("%-28.28s %6lld %6.1f%% %11s %11s %6.3f %7lld\n", y->g->name, (long long)runs_of(y),
             step > 0 ? 100 * r[k].ns / step : 0, duration(a, y->default_ns),
             duration(a, y->best_ns), y->best_ns / y->default_ns,
             (long long)(y->trials + y->logged));
  }
  printf("step %s -> %s (%.3f), %.0f%% of it in kernels that were tuned; "
         "%lld trials, %lld refused, %.1f s\n",
         duration(a, step), duration(a, best), step > 0 ? best / step : 1,
         100 * neo_tune_covered(t), (long long)t->trials, (long long)t->refused,
         neo_now_s() - t->begun_s);
  if (recorded)
    printf("%zu recorded in %s\n", recorded, t->o.records);
}

static void add_task_json(const neo_task *y, neo_str *s) {
  char key[33];
  neo_record_key_text(y->record.key, key);
  neo_str_add(s, "{\"name\": ");
  neo_str_add_json(s, y->g->name);
  neo_str_addf(s, ", \"key\": \"%s\", \"runs\": %lld, ", key, (long long)runs_of(y));
  if (y->failed) {
    neo_str_add(s, "\"failed\": ");
    neo_str_add_json(s, y->failed);
  } else {
    neo_str_addf(s, "\"default\": \"%s\", \"default_ns\": %.1f, \"best_ns\": %.1f, ",
                 y->base_record ? "record" : "model", y->default_ns, y->best_ns);
    neo_str_addf(s, "\"trials\": %lld, \"recorded\": %s, \"schedule\": \"",
                 (long long)(y->trials + y->logged), y->recorded ? "true" : "false");
    neo_schedule_print(&y->best, s);
    neo_str_add(s, "\"");
  }
  neo_str_add(s, "}");
}

const char *neoc_tune_json(const tuner *x) {
  const neo_tune *t = &x->tune;
  size_t n;
  row *r = rows_of(t, &n);
  neo_str s = neo_str_in(x->cli->arena);
  neo_str_addf(&s, "\"seconds\": %.2f, \"trials\": %lld, \"refused\": %lld, \"kernels\": %zu, ",
               neo_now_s() - t->begun_s, (long long)t->trials, (long long)t->refused, t->tasks.n);
  neo_str_addf(
      &s, "\"step_default_ns\": %.1f, \"step_best_ns\": %.1f, \"covered\": %.4f, \"records\": ",
      neo_tune_step_ns(t, false), neo_tune_step_ns(t, true), neo_tune_covered(t));
  neo_str_add_json(&s, t->o.records);
  neo_str_add(&s, ", \"tuned\": [");
  for (size_t k = 0; k < n; k++) {
    neo_str_add(&s, k ? ", " : "");
    add_task_json(r[k].task, &s);
  }
  neo_str_add(&s, "]");
  return neo_str_text(&s);
}

void neoc_tune_print_survey(const tuner *x, const neo_quality *q, size_t n) {
  neo_arena *a = x->cli->arena;
  printf("%-28s %7s %9s %11s %11s %6s %6s\n", "kernel", "space", "measured", "default", "best",
         "to 95%", "to 99%");
  for (size_t k = 0; k < n; k++) {
    neo_str s = neo_str_in(a);
    neo_schedule_print(&q[k].best, &s);
    printf("%-28.28s %7zu %9zu %11s %11s %6lld %6lld\n  %s\n", q[k].task->g->name, q[k].space,
           q[k].measured, duration(a, q[k].default_ns), duration(a, q[k].best_ns),
           (long long)q[k].to_95, (long long)q[k].to_99, neo_str_text(&s));
  }
}

const char *neoc_tune_survey_json(const tuner *x, const neo_quality *q, size_t n) {
  neo_str s = neo_str_in(x->cli->arena);
  neo_str_add(&s, "\"surveyed\": [");
  for (size_t k = 0; k < n; k++) {
    neo_str_add(&s, k ? ", {\"name\": " : "{\"name\": ");
    neo_str_add_json(&s, q[k].task->g->name);
    neo_str_addf(&s,
                 ", \"space\": %zu, \"measured\": %zu, \"default_ns\": %.1f, \"best_ns\": %.1f, ",
                 q[k].space, q[k].measured, q[k].default_ns, q[k].best_ns);
    neo_str_addf(&s, "\"to_95\": %lld, \"to_99\": %lld, \"best\": \"", (long long)q[k].to_95,
                 (long long)q[k].to_99);
    neo_schedule_print(&q[k].best, &s);
    neo_str_add(&s, "\"}");
  }
  neo_str_add(&s, "]");
  return neo_str_text(&s);
}
