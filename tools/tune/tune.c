/* Which task gets the next batch, and when it is enough. */
#include "tools/tune/tune.h"
#include "schedule/contract.h"
#include "tools/pipeline/records.h"
#include <dirent.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double neo_tune_left_s(const neo_tune *t) {
  return t->begun_s + t->o.seconds - now_s();
}

bool neo_tune_late(const neo_tune *t) {
  return neo_tune_left_s(t) <= 0;
}

bool neo_tune_stopped(const neo_tune *t) {
  return t->o.stop && t->o.stop(t->o.ctx);
}

/* ---- tasks */

typedef struct {
  int64_t count;
  double entry_bytes; /* that kernels touch in the entry which runs it, the least one */
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

/* How often each kernel runs in a step: the first training step, or where there is none all
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

/* Of a task with several kernels, the first one's neighbours are taken for all. */
static void add_task(neo_tune *t, size_t g, const runs *n) {
  neo_compilation *c = t->c;
  double own = kernel_bytes(t, c->kernel_of_group.at[g]);
  neo_task x = {.g = &c->grouping.groups.at[g],
                .kernel = c->kernel_of_group.at[g],
                .count = n->count,
                .between_bytes = n->count ? (int64_t)(n->entry_bytes - own) : 0,
                .sizes = t->o.sizes,
                .part = 1};
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

static neo_status add_tasks(neo_tune *t) {
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
    if (seen[k] || (t->o.only && regexec(&only, c->grouping.groups.at[g].name, 0, NULL, 0)))
      continue;
    seen[k] = true;
    add_task(t, g, &n[k]);
  }
  if (t->o.only)
    regfree(&only);
  return NEO_OK;
}

/* ---- what the model says in nanoseconds */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Nanoseconds of a unit of the model's cost: the median of the kernels of its kind that were
 * measured. */
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

static void renew_scales(neo_tune *t) {
  for (int k = 0; k < 2; k++)
    t->scale[k] = scale(t, k == 1);
}

/* ---- beginning and end */

const char *neo_tune_device_text(neo_arena *a, const neo_target *t) {
  return t->sm ? neo_arena_printf(a, "device cuda %s", t->level)
               : neo_arena_printf(a, "device cpu %s", t->rt_features);
}

/* A place that cannot be written is told before anything is searched, not after. */
static neo_status check_place(neo_tune *t) {
  neo_arena *a = &t->c->arena;
  const char *path = t->o.records;
  neo_status s = neo_records_make_folder(a, path, t->o.records_flags);
  if (!s && !access(neo_path_exists(path) ? path : neo_path_folder(a, path), W_OK))
    return NEO_OK;
  t->why = neo_arena_printf(a, "%s: %s", path, strerror(errno));
  t->place_why = t->why;
  return t->o.unkept ? NEO_OK : NEO_IO;
}

/* Candidates have to run here; of a GPU, the kernels that they are compared with too. */
static neo_status check_device(neo_tune *t) {
  neo_arena *a = &t->c->arena;
  const neo_target *target = &t->c->target;
  const char *device = neo_tune_device_text(a, target), *text;
  if (!target->sm && !target->is_host_arch) {
    t->why = neo_arena_printf(a,
                              "kernels for %s cannot be measured here; --emit=DIR writes them, to "
                              "be measured where they run",
                              target->triple);
    return NEO_UNSUPPORTED;
  }
  neo_status s = neo_measurer_ask(&t->measurer, neo_arena_printf(a, "%s\n", device), &text);
  t->why =
      s == NEO_UNSUPPORTED
          ? neo_arena_printf(a, "%s; --emit=DIR writes candidates to be measured elsewhere", text)
          : t->measurer.why;
  return s;
}

static neo_status begin_measuring(neo_tune *t) {
  const char *base = getenv("TMPDIR");
  neo_arena *a = &t->c->arena;
  neo_status s = neo_measurer_start(a, &t->measurer, &t->why);
  if (!s)
    s = neo_target_choose(a, NULL, NULL, &t->processor, &t->why);
  t->builder =
      (neo_builder){.c = t->c, .sizes = t->o.sizes, .workers = t->o.workers, .limit_ms = 30000};
  if (s || t->o.emit)
    return s;
  char *folder = neo_arena_printf(a, "%s/neo-tune-XXXXXX", base && *base ? base : "/tmp");
  s = check_device(t);
  if (!s && !mkdtemp(folder)) {
    t->why = neo_arena_printf(a, "%s: %s", folder, strerror(errno));
    s = NEO_IO;
  }
  t->builder.folder = s ? NULL : folder;
  return s;
}

neo_status neo_tune_init(neo_tune *t, neo_compilation *c, const neo_tune_options *o) {
  *t = (neo_tune){.c = c, .o = *o, .log = -1, .begun_s = now_s()};
  neo_status s = add_tasks(t);
  t->ratios = NEO_NEW_ARRAY(&c->arena, double, t->tasks.n + 1);
  renew_scales(t);
  if (!s && !o->emit)
    s = check_place(t);
  if (!s)
    s = neo_journal_open(t);
  return s || o->import ? s : begin_measuring(t);
}

/* With all that is in it: of a child that was killed, nobody knows what it left. */
static void remove_folder(const char *path) {
  DIR *d = opendir(path);
  for (struct dirent *e; d && (e = readdir(d)) != NULL;)
    unlinkat(dirfd(d), e->d_name, 0);
  if (d)
    closedir(d);
  rmdir(path);
}

void neo_tune_free(neo_tune *t) {
  neo_measurer_stop(&t->measurer);
  if (t->builder.folder)
    remove_folder(t->builder.folder);
  if (t->log >= 0)
    close(t->log);
  t->log = -1;
  t->builder.folder = NULL;
}

/* ---- what is known of the step */

double neo_tune_guess_ns(const neo_tune *t, const neo_task *x) {
  return x->cost * t->scale[x->contraction];
}

static double task_ns(const neo_tune *t, const neo_task *x, bool best) {
  double each = x->begun ? (best ? x->best_ns : x->default_ns) : neo_tune_guess_ns(t, x);
  return each * (double)x->count;
}

double neo_tune_step_ns(const neo_tune *t, bool best) {
  double ns = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    ns += task_ns(t, &t->tasks.at[k], best);
  return ns;
}

double neo_tune_covered(const neo_tune *t) {
  double all = neo_tune_step_ns(t, false), ns = 0;
  for (size_t k = 0; k < t->tasks.n; k++)
    if (t->tasks.at[k].begun && !t->tasks.at[k].failed)
      ns += task_ns(t, &t->tasks.at[k], false);
  return all > 0 ? ns / all : 0;
}

/* ---- turns */

static double promise(const neo_tune *t, const neo_task *x) {
  if (x->over)
    return -1;
  double first = x->contraction ? 0.25 : 0.12;
  double hope = x->begun ? neo_search_hope(&x->search) : first;
  double ns = task_ns(t, x, true);
  return ns > 0 ? ns * hope : hope * 1e-6 * neo_tune_guess_ns(t, x); /* of other entries: last */
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

void neo_tune_show(const neo_tune *t) {
  if (t->o.progress)
    t->o.progress(t->o.ctx, t);
}

static neo_status turns(neo_tune *t) {
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
    renew_scales(t);
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
  neo_status s = turns(t);
  for (size_t k = 0; k < t->tasks.n && !s; k++)
    s = neo_task_confirm(t, &t->tasks.at[k]);
  neo_tune_show(t);
  return s ? s : neo_tune_stopped(t) ? NEO_INTERRUPTED : NEO_OK;
}
