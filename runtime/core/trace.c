/* trace.c: what runs when, as a file for Chrome's trace viewer (chrome://tracing, Perfetto): JSON
 * with one event for each step of an entry, on each worker that had part of it, and one for the
 * entry itself. Times are of the monotonic clock, in microseconds since the trace began.
 *
 * Workers note their times in a table of their own while an entry runs, and one thread writes the
 * events when it has ended; so the time for that is between entries, not in them. On a GPU the
 * times are those of events in the stream (cuda/trace.c). Without a trace a step costs one test of
 * a pointer. The file appears whole, when the trace ends, or not at all. */
#include "runtime/internal.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct {
  int64_t from, to; /* to 0: it had nothing to do */
} span;

struct neo_rti_trace {
  neo_file_writer w;
  char path[1024];
  int64_t begun, entry_begun;
  int64_t calls; /* entries that ran so far */
  int32_t most_steps;
  span at[]; /* [workers][most_steps] */
};

int64_t neo_rti_now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ------------------------------------------------------------ events */

static void put(neo_rti_trace *t, const char *text, int n) {
  neo_file_put(&t->w, text, (size_t)n);
}

/* The name of a row of the viewer. */
static void put_row(neo_rti_trace *t, int row, const char *name) {
  char text[256];
  put(t, text,
      snprintf(text, sizeof text,
               "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
               "\"args\":{\"name\":\"%s\"}},\n",
               row, name));
}

void neo_rti_trace_put(neo_rti_trace *t, const neo_rti_event *e) {
  char text[512];
  int n = snprintf(text, sizeof text,
                   "{\"name\":\"%.160s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,"
                   "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"call\":%" PRId64,
                   e->name, e->kind, e->row, 1e-3 * (double)(e->from - t->begun),
                   1e-3 * (double)(e->to - e->from), t->calls);
  put(t, text, n);
  if (e->step >= 0)
    put(t, text, snprintf(text, sizeof text, ",\"step\":%d", e->step));
  if (e->bytes >= 0)
    put(t, text, snprintf(text, sizeof text, ",\"bytes\":%" PRId64, e->bytes));
  put(t, "}},\n", 4);
}

/* ------------------------------------------------------------ an entry */

void neo_rti_trace_begin(neo_rti_trace *t) {
  t->entry_begun = neo_rti_now_ns();
}

void neo_rti_trace_step(neo_rti_trace *t, int32_t worker, int32_t i, int64_t from) {
  t->at[worker * t->most_steps + i] = (span){from, neo_rti_now_ns()};
}

const char *neo_rti_step_name(const neo_rt_ctx *c, int32_t step) {
  const neo_rt_step *s = &c->model->steps[step];
  return s->op == NEO_RT_STEP_RUN ? c->model->kernels[s->arg].name : "copy";
}

static void put_steps(const neo_rt_ctx *c, const neo_rt_entry *e, int32_t worker) {
  neo_rti_trace *t = c->trace;
  for (int32_t i = 0; i < e->n_steps; i++) {
    span *s = &t->at[worker * t->most_steps + i];
    int32_t step = e->first_step + i;
    bool runs = c->model->steps[step].op == NEO_RT_STEP_RUN;
    if (s->to)
      neo_rti_trace_put(t, &(neo_rti_event){neo_rti_step_name(c, step), runs ? "kernel" : "copy",
                                            worker, s->from, s->to, i, -1});
    s->to = 0;
  }
}

void neo_rti_trace_end(neo_rt_ctx *c, const neo_rt_entry *e) {
  neo_rti_trace *t = c->trace;
  int64_t now = neo_rti_now_ns();
  neo_rti_trace_put(t, &(neo_rti_event){e->name, "entry", 0, t->entry_begun, now, -1, -1});
  if (c->cuda)
    neo_rti_cuda_trace_put(c, e);
  for (int32_t w = 0; w < c->threads && !c->cuda; w++)
    put_steps(c, e, w);
  t->calls++;
}

/* ------------------------------------------------------------ the file */

static int32_t most_steps(const neo_rt_model *m) {
  int32_t n = 1;
  for (int32_t i = 0; i < m->n_entries; i++)
    if (m->entries[i].n_steps > n)
      n = m->entries[i].n_steps;
  return n;
}

static void put_head(neo_rt_ctx *c) {
  char text[64];
  put(c->trace, "{\"traceEvents\":[\n", 17);
  for (int w = 0; w < c->threads; w++) {
    snprintf(text, sizeof text, w ? "worker %d" : "host", w);
    put_row(c->trace, w, text);
  }
  if (c->cuda)
    put_row(c->trace, NEO_RTI_DEVICE_ROW, "device");
}

static neo_rt_status start(neo_rt_ctx *c, const char *path) {
  int32_t most = most_steps(c->model);
  size_t n = (size_t)c->threads * (size_t)most * sizeof(span);
  neo_rti_trace *t = c->env.alloc.resize(c->env.alloc.ctx, NULL, sizeof *t + n);
  if (!t)
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
  memset(t, 0, sizeof *t + n);
  t->most_steps = most;
  t->begun = neo_rti_now_ns();
  snprintf(t->path, sizeof t->path, "%s", path);
  neo_rt_status s = neo_file_begin(&t->w, &c->env.io, path, 0666);
  if (s) {
    NEO_RTI_FREE(&c->env.alloc, t);
    return neo_rti_fail(c, s, "%s: cannot be written: %s", path, strerror(errno));
  }
  c->trace = t;
  put_head(c);
  s = c->cuda ? neo_rti_cuda_trace_open(c, most) : NEO_OK;
  if (s) {
    neo_rti_cuda_trace_close(c);
    neo_file_abandon(&t->w);
    c->trace = NULL;
    NEO_RTI_FREE(&c->env.alloc, t);
  }
  return s;
}

neo_rt_status neo_rti_trace_close(neo_rt_ctx *c) {
  neo_rti_trace *t = c->trace;
  char text[128];
  if (!t)
    return NEO_OK;
  if (c->cuda)
    neo_rti_cuda_trace_close(c);
  put(t, text,
      snprintf(text, sizeof text,
               "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"%.64s\"}}\n"
               "],\"displayTimeUnit\":\"ns\"}\n",
               c->model->name));
  neo_rt_status s = neo_file_commit(&t->w);
  if (s)
    (void)neo_rti_fail(c, s, "%s: cannot be written: %s", t->path, strerror(errno));
  c->trace = NULL;
  NEO_RTI_FREE(&c->env.alloc, t);
  return s;
}

neo_rt_status neo_rt_trace(neo_rt_ctx *c, const char *path) {
  neo_rt_status s = neo_rti_alive(c);
  if (!s)
    s = neo_rti_trace_close(c);
  return s || !path ? s : start(c, path);
}
