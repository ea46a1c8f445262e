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

/* How often each kernel runs in a step: of the first training entry or, if there is none, of all
 * outputs. */
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

/* Adds a task. One with several kernels is measured among the neighbours of its first kernel. */
static void add_task(neo_tune *t, size_t g, const runs *n) {
  neo_compilation *c = t->c;
  double own = kernel_bytes(t, c->kernel_of_group.at[g]);
  neo_task x = {.g = &c->grouping.groups.at[g],
                .kernel = c->kernel_of_group.at[g],
                .count = n->count,
                .between_bytes = n->count ? (int64_t)(n->entry_bytes - own) : 0,
                .sizes = t->o.sizes,
                .numbers = neo_sizes_by_number(c->module, &c->arena, t->o.sizes),
                .rounds = 1,
                .part = 1};
  if (!find_step(t, &x, NEO_RT_ENTRY_TRAIN))
    (void)find_step(t, &x, NEO_RT_ENTRY_FORWARD);
  neo_record_describe(c, x.g, &x.record);
  neo_task *same = task_of_key(t, x.record.key);
  if (same) {
    same->count += n->count;
    return;
  }
  neo_space space = neo_space_of(c->module, x.g, &c->machine);
  neo_schedule s = neo_schedule_default(c->module, x.g, &c->machine);
  neo_contraction form;
  x.cost = neo_space_cost(&space, &s);
  x.contraction = neo_contraction_of(c->module, space.f, &form);
  NEO_PUSH(&c->arena, &t->tasks, x);
}

neo_status neo_tune_add_tasks(neo_tune *t) {
  regex_t only;
  neo_compilation *c = t->c;
  runs *n = count_runs(t);
  bool *seen = NEO_NEW_ARRAY(&c->arena, bool, c->kernels.n + 1);
  if (t->o.only && regcomp(&only, t->o.only, REG_EXTENDED | REG_NOSUB)) {
    t->why = neo_arena_printf(&c->arena, "'%s' is no regular expression", t->o.only);
    return NEO_ARGUMENT;
  }
  for (size_t g = 0; g < c->grouping.groups.n; g++) {
    uint32_t k = c->kernel_of_group.at[g];
    if (!neo_group_has_form(&c->grouping.groups.at[g])) /* has no schedule of its own */
      continue;
    if (seen[k] || (t->o.only && regexec(&only, c->grouping.groups.at[g].name, 0, NULL, 0)))
      continue;
    seen[k] = true;
    add_task(t, g, &n[k]);
  }
  if (t->o.only)
    regfree(&only);
  if (t->o.only && !t->tasks.n) {
    t->why = neo_arena_printf(&c->arena, "no kernel with a schedule has a name that matches '%s'",
                              t->o.only);
    return NEO_ARGUMENT;
  }
  return NEO_OK;
}
