/* trace.c: the times of steps, as a file for Chrome's trace viewer (chrome://tracing, Perfetto):
 * JSON with one event for each step of an entry, on each worker that had part of it, and one for
 * the entry itself. Times are of the monotonic clock, in microseconds since the trace began.
 *
 * The device has the times, and writes its events after an entry (trace_put of device.h). The file
 * appears whole, when the trace ends, or not at all. */
#include "runtime/core/trace.h"
#include "runtime/core/device.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct neo_rti_trace {
  neo_file_writer w;
  char path[1024];
  int64_t begun, entry_begun;
  int64_t calls; /* entries that ran so far */
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

void neo_rti_trace_row(neo_rti_trace *t, int row, const char *name) {
  char text[256];
  put(t, text,
      snprintf(text, sizeof text,
               "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
               "\"args\":{\"name\":\"%s\"}},\n",
               row, name));
}

void neo_rti_trace_event(neo_rti_trace *t, const neo_rti_event *e) {
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
  if (e->busy > 0)
    put(t, text, snprintf(text, sizeof text, ",\"busy\":%.3f", 1e-3 * (double)e->busy));
  put(t, "}},\n", 4);
}

/* ------------------------------------------------------------ an entry */

const char *neo_rti_step_name(const neo_rt_ctx *c, int32_t step) {
  const neo_rt_step *s = &c->model->steps[step];
  return s->op == NEO_RT_STEP_RUN ? c->model->kernels[s->arg].name : neo_rti_step_kind(s);
}

neo_rt_status neo_rti_trace_begin(neo_rt_ctx *c) {
  c->trace->entry_begun = neo_rti_now_ns();
  return c->device->trace_begin(c);
}

void neo_rti_trace_end(neo_rt_ctx *c, const neo_rt_entry *e) {
  neo_rti_trace *t = c->trace;
  int64_t now = neo_rti_now_ns();
  neo_rti_trace_event(t, &(neo_rti_event){e->name, "entry", 0, t->entry_begun, now, -1, -1, 0});
  c->device->trace_put(c, e);
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

static void forget(neo_rt_ctx *c) {
  NEO_RTI_FREE(&c->env.alloc, c->trace);
  c->trace = NULL;
}

static neo_rt_status open_file(neo_rt_ctx *c, const char *path) {
  neo_rti_trace *t = c->trace;
  t->begun = neo_rti_now_ns();
  snprintf(t->path, sizeof t->path, "%s", path);
  neo_rt_status s = neo_file_begin(&t->w, &c->env.io, path, 0666);
  if (s)
    return neo_rti_fail(c, s, "%s: cannot be written: %s", path, strerror(errno));
  put(t, "{\"traceEvents\":[\n", 17);
  neo_rti_trace_row(t, 0, "host");
  return NEO_OK;
}

static neo_rt_status start(neo_rt_ctx *c, const char *path) {
  c->trace = c->env.alloc.resize(c->env.alloc.ctx, NULL, sizeof *c->trace);
  if (!c->trace)
    return neo_rti_fail(c, NEO_MEMORY, "%s: out of memory", path);
  memset(c->trace, 0, sizeof *c->trace);
  neo_rt_status s = open_file(c, path);
  if (s) {
    forget(c);
    return s;
  }
  s = c->device->trace_open(c, most_steps(c->model));
  if (s) {
    c->device->trace_close(c);
    neo_file_abandon(&c->trace->w);
    forget(c);
  }
  return s;
}

neo_rt_status neo_rti_trace_close(neo_rt_ctx *c) {
  neo_rti_trace *t = c->trace;
  char text[128];
  if (!t)
    return NEO_OK;
  c->device->trace_close(c);
  put(t, text,
      snprintf(text, sizeof text,
               "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"%.64s\"}}\n"
               "],\"displayTimeUnit\":\"ns\"}\n",
               c->model->name));
  neo_rt_status s = neo_file_commit(&t->w);
  if (s)
    (void)neo_rti_fail(c, s, "%s: cannot be written: %s", t->path, strerror(errno));
  forget(c);
  return s;
}

neo_rt_status neo_rt_trace(neo_rt_ctx *c, const char *path) {
  neo_rt_status s = neo_rti_alive(c);
  if (!s)
    s = neo_rti_trace_close(c);
  return s || !path ? s : start(c, path);
}
