/* Times of a trace (`neoc run --trace`, `neoc train --trace`) instead of the model's: for each step
 * of each entry in the trace, the median over its calls of the time that the slowest worker was
 * busy with it. For a step in a loop a trace has the time of all its iterations (`busy`).
 *
 * A trace of another model, or with other options, has other kernels, and is refused. */
#include "base/file.h"
#include "base/json.h"
#include "tools/neoc/explain/page.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  int64_t call, step, worker; /* step -1: the whole entry */
  double seconds;
  const char *name;
} event;

typedef struct {
  page *p;
  NEO_VEC(event) events;
  NEO_VEC(int64_t) entry_of; /* by call: number of the entry; -1: unknown */
} trace;

/* ---- reading */

static int64_t integer_of(const neo_json *j, const char *key) {
  int64_t x;
  return neo_json_integer(neo_json_get(j, key), &x) ? x : -1;
}

static void take_event(trace *t, const neo_json *j) {
  const char *kind = neo_json_text(neo_json_get(j, "cat")),
             *name = neo_json_text(neo_json_get(j, "name"));
  const neo_json *args = neo_json_get(j, "args");
  double us, busy;
  if (!kind || !name || !neo_json_number(neo_json_get(j, "dur"), &us))
    return;
  if (neo_json_number(neo_json_get(args, "busy"), &busy))
    us = busy;
  event e = {integer_of(args, "call"), integer_of(args, "step"), integer_of(j, "tid"), 1e-6 * us,
             neo_arena_strdup(t->p->a, name)};
  if (e.call >= 0 && (e.step >= 0) != neo_streq(kind, "entry"))
    NEO_PUSH(t->p->a, &t->events, e);
}

static int64_t entry_named(const page *p, const char *name) {
  for (size_t k = 0; k < p->c->plan->entries.n; k++)
    if (neo_streq(p->c->plan->entries.at[k].name, name))
      return (int64_t)k;
  return -1;
}

static void find_calls(trace *t) {
  for (size_t k = 0; k < t->events.n; k++) {
    const event *e = &t->events.at[k];
    while ((int64_t)t->entry_of.n <= e->call)
      NEO_PUSH(t->p->a, &t->entry_of, -1);
    if (e->step < 0)
      t->entry_of.at[e->call] = entry_named(t->p, e->name);
  }
}

/* An event whose step has another name in the plan; null: none. */
static const char *stranger(const trace *t) {
  const neo_plan *plan = t->p->c->plan;
  for (size_t k = 0; k < t->events.n; k++) {
    const event *e = &t->events.at[k];
    int64_t entry = t->entry_of.at[e->call];
    if (entry < 0)
      return e->name;
    if (e->step < 0)
      continue;
    const neo_rt_entry *x = &plan->entries.at[entry];
    const neo_rt_step *s = e->step < x->n_steps ? &plan->steps.at[x->first_step + e->step] : NULL;
    if (!s || (s->op == NEO_RT_STEP_RUN && !neo_streq(plan->rt_kernels.at[s->arg].name, e->name)))
      return e->name;
  }
  return NULL;
}

/* ---- medians */

static int by_place(const void *x, const void *y) {
  const event *a = x, *b = y;
  int64_t d = a->step != b->step ? a->step - b->step : a->call - b->call;
  return (d > 0) - (d < 0);
}

static int by_seconds(const void *x, const void *y) {
  double a = *(const double *)x, b = *(const double *)y;
  return (a > b) - (a < b);
}

/* The median time of a step's calls; each takes as long as its slowest worker. */
static double median_of(const trace *t, const event *e, size_t n) {
  double *call = NEO_NEW_ARRAY(t->p->a, double, n + 1);
  size_t calls = 0;
  for (size_t k = 0; k < n; k++) {
    bool more = k && e[k].call == e[k - 1].call;
    if (!more)
      call[calls++] = e[k].seconds;
    else if (e[k].seconds > call[calls - 1])
      call[calls - 1] = e[k].seconds;
  }
  qsort(call, calls, sizeof *call, by_seconds);
  return calls % 2 ? call[calls / 2] : 0.5 * (call[calls / 2 - 1] + call[calls / 2]);
}

static void measure_entry(trace *t, size_t entry) {
  page *p = t->p;
  const neo_rt_entry *x = &p->c->plan->entries.at[entry];
  event *own = NEO_NEW_ARRAY(p->a, event, t->events.n + 1);
  size_t n = 0;
  for (size_t k = 0; k < t->events.n; k++)
    if (t->entry_of.at[t->events.at[k].call] == (int64_t)entry)
      own[n++] = t->events.at[k];
  qsort(own, n, sizeof *own, by_place);
  for (size_t k = 0, end; k < n; k = end) {
    for (end = k + 1; end < n && own[end].step == own[k].step;)
      end++;
    double s = median_of(t, own + k, end - k);
    if (own[k].step < 0)
      p->measured_entry[entry] = s;
    else
      p->measured_step[x->first_step + own[k].step] = s;
  }
}

neo_status page_read_trace(page *p, const char *path, const char **why) {
  char *text;
  size_t n;
  neo_json *j = NULL;
  trace t = {.p = p};
  neo_status s = neo_file_read(&neo_io_default, p->a, path, 0, &text, &n);
  if (s) {
    *why = neo_arena_printf(p->a, "%s: %s", path, strerror(errno));
    return s;
  }
  s = neo_json_parse(text, n, &j);
  if (s) {
    *why = neo_arena_printf(p->a, "%s: is no trace", path);
    return s;
  }
  const neo_json *all = neo_json_get(j, "traceEvents");
  for (const neo_json *e = neo_json_first(all); e; e = neo_json_next(e))
    take_event(&t, e);
  neo_json_free(j);
  find_calls(&t);
  const char *other = stranger(&t);
  if (other || !t.events.n) {
    *why = other ? neo_arena_printf(p->a, "%s: is of another compile: it has '%s'", path, other)
                 : neo_arena_printf(p->a, "%s: no entry was run", path);
    return NEO_FORMAT;
  }
  p->measured_step = NEO_NEW_ARRAY(p->a, double, p->c->plan->steps.n + 1);
  p->measured_entry = NEO_NEW_ARRAY(p->a, double, p->c->plan->entries.n + 1);
  for (size_t k = 0; k < p->c->plan->entries.n; k++)
    measure_entry(&t, k);
  return NEO_OK;
}
