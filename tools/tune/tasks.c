/* The tasks of a tuning: the groups that have their own kernels, and how often each runs in a
 * step. */
#include "schedule/contract.h"
#include "tools/pipeline/records.h"
#include "tools/tune/task.h"
#include <regex.h>

typedef struct {
  int64_t count;
  double entry_bytes; /* bytes that kernels touch in the entry that runs it, the smallest one */
} runs;

static double kernel_bytes(neo_tune *t, size_t k) {
  return neo_job_bytes(t->c, t->c->kernels.at[k].kernel, t->o.sizes);
}

static double entry_bytes(neo_tune *t, const neo_rt_entry *e) {
  double bytes = 0;
  for (int32_t k = 0; k < e->n_steps; k++) {
    const neo_rt_step *s = &t->c->plan->steps.at[e->first_step + k];
    bytes += s->op == NEO_RT_STEP_RUN ? kernel_bytes(t, (size_t)s->arg) : 0;
  }
  return bytes;
}

static void count_entry(neo_tune *t, const neo_rt_entry *e, runs *n) {
  double bytes = entry_bytes(t, e);
  for (int32_t k = 0; k < e->n_steps; k++) {
    const neo_rt_step *s = &t->c->plan->steps.at[e->first_step + k];
    if (s->op != NEO_RT_STEP_RUN)
      continue;
    runs *x = &n[s->arg];
    if (!x->count++ || bytes < x->entry_bytes)
      x->entry_bytes = bytes;
  }
}

static const neo_rt_entry *entry_of_kind(const neo_plan *p, uint32_t kind, size_t *at) {
  for (; *at < p->entries.n; ++*at)
    if (p->entries.at[*at].kind == kind)
      return &p->entries.at[(*at)++];
  return NULL;
}

/* Finds the first step that runs the task's kernel: in an entry of this kind. */
static bool find_step(const neo_tune *t, neo_task *x, uint32_t kind) {
  const neo_plan *p = t->c->plan;
  const neo_rt_entry *e;
  for (size_t at = 0; (e = entry_of_kind(p, kind, &at)) != NULL;)
    for (int32_t k = e->first_step; k < e->first_step + e->n_steps; k++)
      if (p->steps.at[k].op == NEO_RT_STEP_RUN && p->steps.at[k].arg == (int32_t)x->kernel) {
        x->entry = e->name;
        x->step = k;
        x->in_loop = p->step_depth.at[k] > 0;
        return true;
      }
  return false;
}

/* Counts the runs of each kernel in a step: of the first training entry or, if there is none, of
 * all outputs. */
static runs *count_runs(neo_tune *t) {
  const neo_plan *p = t->c->plan;
  runs *n = NEO_NEW_ARRAY(&t->c->arena, runs, t->c->kernels.n + 1);
  for (size_t k = 0; k < p->entries.n; k++)
    if (p->entries.at[k].kind == NEO_RT_ENTRY_TRAIN) {
      count_entry(t, &p->entries.at[k], n);
      return n;
    }
  for (size_t k = 0; k < p->entries.n; k++)
    if (p->entries.at[k].kind == NEO_RT_ENTRY_FORWARD)
      count_entry(t, &p->entries.at[k], n);
  return n;
}

static neo_task *task_of_key(neo_tune *t, const uint64_t key[2]) {
  for (size_t k = 0; k < t->tasks.n; k++)
    if (t->tasks.at[k].record.key[0] == key[0] && t->tasks.at[k].record.key[1] == key[1])
      return &t->tasks.at[k];
  return NULL;
}

/* Adds a task. A task with several kernels is measured among the neighbours of its first kernel.
 * Memory that the iterations of a loop use stays in the caches from one iteration to the next. */
static void add_task(neo_tune *t, neo_task x, const runs *all) {
  neo_compilation *c = t->c;
  const runs *n = &all[x.kernel];
  double own = kernel_bytes(t, x.kernel);
  x.count = x.own_count = n->count;
  x.sizes = x.in_iteration = t->o.sizes;
  x.numbers = neo_sizes_by_number(c->module, &c->arena, t->o.sizes);
  x.runs = x.part = 1;
  if (!find_step(t, &x, NEO_RT_ENTRY_TRAIN))
    (void)find_step(t, &x, NEO_RT_ENTRY_FORWARD);
  if (x.segment && !x.entry)
    return;
  x.between_bytes = n->count && !x.in_loop ? (int64_t)(n->entry_bytes - own) : 0;
  neo_record_describe(c, x.g, &x.record);
  neo_task *same = task_of_key(t, x.record.key);
  if (same) {
    same->count += n->count;
    return;
  }
  neo_space space = neo_space_of(c->module, x.g, x.machine);
  neo_schedule s = neo_schedule_default(c->module, x.g, x.machine);
  neo_contraction form;
  x.cost = neo_space_cost(&space, &s);
  x.contraction = neo_contraction_of(c->module, space.f, &form);
  NEO_PUSH(&c->arena, &t->tasks, x);
}

typedef struct {
  regex_t name; /* names of the groups that are tuned */
  bool all;
} wanted;

static bool is_wanted(const wanted *w, const neo_group *g) {
  return w->all || regexec(&w->name, g->name, 0, NULL, 0) == 0;
}

/* Groups with kernels of their own. */
static void add_groups(neo_tune *t, const wanted *w, const runs *n) {
  neo_compilation *c = t->c;
  bool *seen = NEO_NEW_ARRAY(&c->arena, bool, c->kernels.n + 1);
  for (size_t g = 0; g < c->grouping.groups.n; g++) {
    neo_task x = {
        .g = &c->grouping.groups.at[g], .machine = &c->machine, .kernel = c->kernel_of_group.at[g]};
    if (!neo_group_has_form(x.g) || seen[x.kernel] || !is_wanted(w, x.g))
      continue;
    seen[x.kernel] = true;
    add_task(t, x, n);
  }
}

/* Adds groups in the loops of recurrences. Their inputs come from earlier iterations. */
static void add_segments(neo_tune *t, const wanted *w, const runs *n) {
  for (size_t k = 0; k < t->c->segments.n && neo_tune_can_run(t); k++) {
    const neo_segment *s = &t->c->segments.at[k];
    if (s->kernel != UINT32_MAX && is_wanted(w, s->g))
      add_task(t, (neo_task){.g = s->g, .machine = s->machine, .segment = s, .kernel = s->kernel},
               n);
  }
}

static int tasks_of_kernel(const neo_tune *t, uint32_t kernel) {
  int n = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    n += t->tasks.at[k].kernel == kernel;
  return n;
}

neo_status neo_tune_add_tasks(neo_tune *t) {
  neo_compilation *c = t->c;
  runs *n = count_runs(t);
  wanted w = {.all = !t->o.only};
  if (t->o.only && regcomp(&w.name, t->o.only, REG_EXTENDED | REG_NOSUB)) {
    t->why = neo_arena_printf(&c->arena, "'%s' is no regular expression", t->o.only);
    return NEO_ARGUMENT;
  }
  add_groups(t, &w, n);
  add_segments(t, &w, n);
  for (size_t k = 0; k < t->tasks.n; k++)
    t->tasks.at[k].sharing = tasks_of_kernel(t, t->tasks.at[k].kernel);
  if (t->o.only)
    regfree(&w.name);
  if (t->o.only && !t->tasks.n) {
    t->why = neo_arena_printf(&c->arena, "no kernel with a schedule has a name that matches '%s'",
                              t->o.only);
    return NEO_ARGUMENT;
  }
  return NEO_OK;
}
