/* The contents of a kernel's buffers when its entry runs. Integers satisfy constraints (an order of
 * a graph's vertices, the rows at which levels begin, sorted keys) on which a kernel may rely:
 * random ones would make it read out of range. So they are taken from a run: a child process makes
 * the library that a compilation makes today, and runs the entry twice, with inputs drawn as `neoc
 * run` draws them. A watch sees each kernel before it runs (runtime/watch.h), and copies its sizes,
 * and the integers and truth values that it reads, to files.
 *
 * A kernel in a loop of the plan is copied in the middle one of its largest iterations. The first
 * run counts iterations, the second one copies; kernels outside of loops are copied in the first
 * run, since results that are cached between calls are computed there only.
 *
 * Floats are random: any value is a right one, and where they are of similar size tolerances are
 * known. Inputs of an entry whose elements all have the same ends are as well drawn by the
 * measurer. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "tools/tune/inputs.h"
#include "base/clock.h"
#include "base/temp.h"
#include "runtime/watch.h"
#include "tools/tune/task.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_S = 10, WHY_BYTES = 256 };

/* ---- which kernels */

/* Has the tensor numbers that only its definitions, or earlier steps of training, could tell? */
static bool is_made(neo_compilation *c, const neo_kbuf *b, const int64_t *sizes) {
  const neo_tensor_rec *r = neo_tensor_at(c->module, b->tensor);
  if (b->use & NEO_BUF_SCRATCH || !(b->use & NEO_BUF_READ) || neo_type_is_float((neo_type)b->type))
    return false;
  if (r->role != NEO_ROLE_INPUT)
    return true;
  neo_ends_at ends = neo_tensor_ends_at(c->module, b->tensor, sizes);
  for (uint32_t d = 0; ends.given && d < ends.rank; d++)
    if (ends.by_least[d] || ends.by_below[d])
      return true;
  return false;
}

bool neo_tune_can_run(const neo_tune *t) {
  return t->o.run && !t->c->target.sm && t->c->target.is_host_arch;
}

static bool needs_run(const neo_tune *t, const neo_task *x) {
  const neo_kernel *k = t->c->kernels.at[x->kernel].kernel;
  bool needs = x->segment;
  for (size_t b = 0; b < k->bufs.n && !needs; b++)
    needs = is_made(t->c, &k->bufs.at[b], x->sizes);
  return needs && x->entry && neo_tune_can_run(t);
}

/* Sizes by id, with indices of loops from those that a kernel reads. */
static const int64_t *in_iteration(neo_tune *t, const int64_t *sizes, const int64_t *numbers) {
  const neo_module *m = t->c->module;
  int64_t *out = neo_arena_copy(&t->c->arena, sizes, m->sizes.n * sizeof *out);
  for (uint32_t k = 1; k < m->sizes.n; k++)
    if (m->sizes.at[k].loop_index)
      out[k] = numbers[neo_size_number(m, (neo_size){k})];
  return out;
}

/* ---- in the child */

typedef struct {
  neo_tune *t;
  const neo_inputs *run;
  neo_task **task; /* [step of the model] the first task that is taken there; null: none */
  int pass;        /* 0: the first run */
  int64_t *seen;   /* [step] iterations with the most units so far in this pass */
  neo_input *at;   /* the kernel that runs; null: none does */
  double begun_ns; /* when it began */
  bool failed;
} watcher;

static const char *path_of(neo_tune *t, const neo_inputs *x, uint32_t kernel, size_t buffer);

static void copy_buffer(watcher *w, const neo_task *x, size_t b, const void *from,
                        const int64_t *sizes) {
  const neo_kbuf *buf = &w->t->c->kernels.at[x->kernel].kernel->bufs.at[b];
  FILE *f = fopen(path_of(w->t, w->run, x->kernel, b), "wb");
  size_t n = (size_t)neo_job_elements(w->t->c, buf, sizes);
  size_t size = (size_t)neo_type_bytes((neo_type)buf->type);
  w->failed = w->failed || !f || fwrite(from, size, n, f) != n;
  if (f && fclose(f))
    w->failed = true;
}

static void copy_kernel(watcher *w, const neo_task *x, const neo_rti_watched *at) {
  const neo_kernel *k = w->t->c->kernels.at[x->kernel].kernel;
  neo_input *in = &w->run->of[x->kernel];
  const int64_t *sizes = in_iteration(w->t, w->run->sizes, at->size);
  for (size_t b = 0; b < k->bufs.n; b++)
    if (is_made(w->t->c, &k->bufs.at[b], w->run->sizes))
      copy_buffer(w, x, b, at->buf[b], sizes);
  memcpy(in->number, at->size, neo_size_numbers(w->t->c->module) * sizeof *in->number);
  in->seen = true;
}

/* Adds the time of the previous kernel, and starts that of the next one; null: there is none. */
static void count_time(watcher *w, neo_input *next) {
  double now = 1e9 * neo_now_s();
  if (w->at && w->pass == 1)
    w->at->ns += now - w->begun_ns;
  w->at = next;
  w->begun_ns = now;
}

static void look(watcher *w, const neo_rti_watched *at) {
  const neo_task *x = w->task[at->step];
  neo_input *in = x ? &w->run->of[x->kernel] : NULL;
  if (!in || (!at->in_loop && in->seen))
    return;
  if (!at->in_loop) {
    in->runs = 1;
    copy_kernel(w, x, at);
  } else if (w->pass == 0) {
    in->most = at->units > in->units ? 0 : in->most;
    in->units = at->units > in->units ? at->units : in->units;
    in->most += at->units == in->units;
    in->all_units += at->units;
    in->runs = (double)in->all_units / (double)in->units;
  } else if (at->units == in->units && w->seen[at->step]++ == in->most / 2 && !in->seen) {
    copy_kernel(w, x, at);
  }
}

static void before(void *ctx, const neo_rti_watched *at) {
  watcher *w = ctx;
  count_time(w, NULL);
  look(w, at);
  count_time(w, &w->run->of[w->t->c->plan->steps.at[at->step].arg]);
}

static bool is_entry_of_tasks(const neo_tune *t, const char *entry) {
  for (size_t k = 0; k < t->tasks.n; k++)
    if (needs_run(t, &t->tasks.at[k]) && neo_streq(t->tasks.at[k].entry, entry))
      return true;
  return false;
}

static void run_entries(watcher *w) {
  const neo_plan *p = w->t->c->plan;
  neo_rti_watch watch = {before, w};
  for (w->pass = 0; w->pass < 2; w->pass++)
    for (size_t k = 0; k < p->entries.n && !w->failed; k++)
      if (is_entry_of_tasks(w->t, p->entries.at[k].name)) {
        w->failed |= !w->t->o.run(w->t->o.ctx, p->entries.at[k].name, w->run->sizes, &watch);
        count_time(w, NULL);
      }
}

/* The child. Its output goes to a file, of which the parent reports the first line. */
static void child(neo_tune *t, const neo_inputs *run) {
  neo_arena *a = &t->c->arena;
  size_t n = t->c->plan->steps.n;
  watcher w = {.t = t, .run = run};
  w.task = NEO_NEW_ARRAY(a, neo_task *, n + 1);
  w.seen = NEO_NEW_ARRAY(a, int64_t, n + 1);
  for (size_t k = t->tasks.n; k-- > 0;)
    if (needs_run(t, &t->tasks.at[k]))
      w.task[t->tasks.at[k].step] = &t->tasks.at[k];
  int said = open(neo_path_join(a, t->inputs_folder, "said"), O_RDWR | O_CREAT | O_TRUNC, 0600);
  if (said >= 0)
    dup2(said, 1), dup2(said, 2);
  setenv("TMPDIR", t->inputs_folder, 1); /* its temporary files are removed with the folder if it is
                                            killed */
  run_entries(&w);
  fflush(NULL);
  _exit(w.failed);
}

/* ---- in the parent */

/* Waits for the child; false: it was killed, since it took too long or the tuning ends. */
static bool wait_for(const neo_tune *t, pid_t pid, int *status) {
  const struct timespec pause = {0, 5000000};
  pid_t got;
  while ((got = waitpid(pid, status, WNOHANG)) == 0 || (got < 0 && errno == EINTR)) {
    if (neo_tune_stopped(t) || neo_tune_left_s(t) < -GRACE_S) {
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
      waitpid(pid, status, 0);
      return false;
    }
    nanosleep(&pause, NULL);
  }
  return got == pid;
}

static const char *first_line(neo_tune *t) {
  char *text;
  size_t n;
  neo_arena *a = &t->c->arena;
  const char *path = neo_path_join(a, t->inputs_folder, "said");
  if (neo_file_read(&neo_io_default, a, path, 1 << 16, &text, &n) || !n)
    return "it ended before it was done";
  size_t line = strcspn(text, "\n");
  return neo_arena_strndup(a, text, line < WHY_BYTES ? line : WHY_BYTES);
}

static const char *run(neo_tune *t, neo_inputs *x) {
  size_t bytes = (t->c->kernels.n + 1) * sizeof *x->of;
  int status = 0;
  x->of = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (x->of == MAP_FAILED) {
    x->of = NULL;
    return strerror(errno);
  }
  pid_t pid = fork();
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    child(t, x);
  }
  if (pid < 0)
    return strerror(errno);
  setpgid(pid, pid); /* parent and child both set it, to avoid a race */
  if (!wait_for(t, pid, &status))
    return "there was no time for it";
  return status ? neo_arena_printf(&t->c->arena, "it fails: %s", first_line(t)) : NULL;
}

static const neo_inputs *inputs_at(neo_tune *t, const int64_t *sizes) {
  size_t n = t->c->module->sizes.n;
  for (size_t k = 0; k < t->inputs.n; k++)
    if (n <= 1 || memcmp(t->inputs.at[k].sizes, sizes, n * sizeof *sizes) == 0)
      return &t->inputs.at[k];
  neo_inputs x = {.number = t->inputs.n, .sizes = sizes};
  if (!t->inputs_folder && neo_temp_folder(&t->c->arena, NULL, &t->inputs_folder)) {
    x.why = neo_arena_printf(&t->c->arena, "%s: %s", t->inputs_folder, strerror(errno));
    t->inputs_folder = NULL;
  }
  x.why = x.why ? x.why : run(t, &x);
  NEO_PUSH(&t->c->arena, &t->inputs, x);
  return &t->inputs.at[t->inputs.n - 1];
}

/* The file of a kernel's buffer in a run. */
static const char *path_of(neo_tune *t, const neo_inputs *x, uint32_t kernel, size_t buffer) {
  return neo_arena_printf(&t->c->arena, "%s/%zu-%u-%zu.input", t->inputs_folder, x->number,
                          (unsigned)kernel, buffer);
}

const char *neo_task_inputs(neo_tune *t, neo_task *x) {
  neo_compilation *c = t->c;
  const neo_kernel *k = c->kernels.at[x->kernel].kernel;
  x->numbers = neo_sizes_by_number(c->module, &c->arena, x->sizes);
  x->input = NULL;
  if (!needs_run(t, x))
    return NULL;
  const neo_inputs *all = inputs_at(t, x->sizes);
  const neo_input *in = all->why ? NULL : &all->of[x->kernel];
  if (!in || !in->seen)
    return neo_arena_printf(&c->arena, "a run of entry %s tells what it reads: %s", x->entry,
                            all->why ? all->why : "the kernel did not run");
  x->input = NEO_NEW_ARRAY(&c->arena, const char *, k->bufs.n + 1);
  for (size_t b = 0; b < k->bufs.n; b++)
    if (is_made(c, &k->bufs.at[b], x->sizes))
      x->input[b] = path_of(t, all, x->kernel, b);
  x->numbers = in->number;
  x->in_iteration = in_iteration(t, x->sizes, in->number);
  x->runs = in->runs;
  return NULL;
}

/* Takes a run's figures for a task: how often its kernel runs, and how long that takes. */
static void take_time(neo_task *x, const neo_input *in) {
  x->runs = in->seen ? in->runs : x->runs;
  x->seen_ns = in->ns / x->runs / (double)(x->own_count ? x->own_count : 1);
}

void neo_tune_look_at_run(neo_tune *t) {
  const neo_inputs *all = NULL;
  for (size_t k = 0; k < t->tasks.n && !all; k++)
    all = needs_run(t, &t->tasks.at[k]) ? inputs_at(t, t->tasks.at[k].sizes) : NULL;
  for (size_t k = 0; k < t->tasks.n && all && !all->why; k++)
    take_time(&t->tasks.at[k], &all->of[t->tasks.at[k].kernel]);
}

void neo_inputs_free(neo_tune *t) {
  for (size_t k = 0; k < t->inputs.n; k++)
    if (t->inputs.at[k].of)
      munmap(t->inputs.at[k].of, (t->c->kernels.n + 1) * sizeof *t->inputs.at[k].of);
  t->inputs.n = 0;
}
