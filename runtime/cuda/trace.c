/* trace.c: the times at which the device runs the items of the stream: an event before and one
 * after each kernel and each copy. Their times are relative to an event at the beginning of the
 * call, when the stream is empty, so that the host's clock gives the time of that event. */
#include "runtime/core/trace.h"
#include "runtime/cuda/cuda.h"
#include <string.h>

enum { DEVICE_ROW = 1024 }; /* row of the GPU in the trace viewer */

typedef struct {
  cuda_event from, to;
  int32_t step; /* step of the model; -1: a copy between host and device */
  neo_rti_way way;
  int64_t bytes;
} mark;

struct cuda_marks {
  cuda_event begin;
  int64_t begun;
  bool on; /* an entry is running */
  int32_t n, most;
  mark at[];
};

static cuda_result make_events(neo_rti_cuda *u, cuda_marks *m) {
  cuda_result r = u->api.event_create(&m->begin, 0);
  for (int32_t i = 0; !r && i < m->most; i++) {
    r = u->api.event_create(&m->at[i].from, 0);
    if (!r)
      r = u->api.event_create(&m->at[i].to, 0);
  }
  return r;
}

neo_rt_status neo_rti_cuda_trace_open(neo_rt_ctx *c, int32_t most_steps) {
  int32_t most = most_steps;
  for (int32_t i = 0; i < c->model->n_entries; i++)
    if (most_steps + c->model->entries[i].n_args > most)
      most = most_steps + c->model->entries[i].n_args;
  size_t n = sizeof(cuda_marks) + (size_t)most * sizeof(mark);
  cuda_marks *m = c->env.alloc.resize(c->env.alloc.ctx, NULL, n);
  if (!m)
    return neo_rti_fail(c, NEO_MEMORY, "out of memory");
  memset(m, 0, n);
  m->most = most;
  cuda_of(c)->marks = m;
  neo_rti_trace_row(c->trace, DEVICE_ROW, "device");
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  s = neo_rti_cuda_status(c, make_events(cuda_of(c), m), "making events");
  neo_rti_cuda_leave(c);
  return s;
}

static void end_event(neo_rti_cuda *u, cuda_event e) {
  if (e)
    (void)u->api.event_destroy(e);
}

void neo_rti_cuda_trace_close(neo_rt_ctx *c) {
  cuda_marks *m = cuda_of(c)->marks;
  if (!m || neo_rti_cuda_enter(c))
    return;
  end_event(cuda_of(c), m->begin);
  for (int32_t i = 0; i < m->most; i++) {
    end_event(cuda_of(c), m->at[i].from);
    end_event(cuda_of(c), m->at[i].to);
  }
  neo_rti_cuda_leave(c);
  cuda_of(c)->marks = NULL;
  NEO_RTI_FREE(&c->env.alloc, m);
}

neo_rt_status neo_rti_cuda_trace_begin(neo_rt_ctx *c) {
  cuda_marks *m = cuda_of(c)->marks;
  neo_rt_status s = neo_rti_cuda_enter(c);
  if (s)
    return s;
  m->n = 0;
  m->on = true;
  m->begun = neo_rti_now_ns();
  s = neo_rti_cuda_status(c, cuda_of(c)->api.event_record(m->begin, cuda_of(c)->stream), "marking");
  neo_rti_cuda_leave(c);
  return s;
}

static mark *begin(neo_rt_ctx *c) {
  cuda_marks *m = cuda_of(c)->marks;
  if (!m || !m->on || m->n == m->most)
    return NULL;
  (void)cuda_of(c)->api.event_record(m->at[m->n].from, cuda_of(c)->stream);
  return &m->at[m->n];
}

bool neo_rti_cuda_mark_iterations(neo_rt_ctx *c, bool on) {
  cuda_marks *m = cuda_of(c)->marks;
  bool before = m && m->on;
  if (m)
    m->on = on;
  return before;
}

void neo_rti_cuda_mark_step(neo_rt_ctx *c, int32_t step) {
  mark *m = begin(c);
  if (m) {
    m->step = step;
    m->bytes = -1;
  }
}

void neo_rti_cuda_mark_copy(neo_rt_ctx *c, neo_rti_way way, size_t bytes) {
  mark *m = begin(c);
  if (m) {
    m->step = -1;
    m->way = way;
    m->bytes = (int64_t)bytes;
  }
}

void neo_rti_cuda_mark_end(neo_rt_ctx *c) {
  cuda_marks *m = cuda_of(c)->marks;
  if (m && m->on && m->n < m->most)
    (void)cuda_of(c)->api.event_record(m->at[m->n++].to, cuda_of(c)->stream);
}

/* ------------------------------------------------------------ after the wait */

static bool time_of(const neo_rti_cuda *u, cuda_event e, int64_t *ns) {
  float ms;
  if (u->api.event_ms(&ms, u->marks->begin, e))
    return false;
  *ns = u->marks->begun + (int64_t)(1e6 * (double)ms);
  return true;
}

static const char *name_of(const neo_rt_ctx *c, const mark *m) {
  static const char *const ways[] = {"copy to the device", "copy from the device",
                                     "copy on the device"};
  return m->step < 0 ? ways[m->way] : neo_rti_step_name(c, m->step);
}

static bool is_kernel(const neo_rt_ctx *c, const mark *m) {
  return m->step >= 0 && c->model->steps[m->step].op == NEO_RT_STEP_RUN;
}

void neo_rti_cuda_trace_put(neo_rt_ctx *c, const neo_rt_entry *e) {
  cuda_marks *m = cuda_of(c)->marks;
  if (!m || neo_rti_cuda_enter(c))
    return;
  for (int32_t i = 0; i < m->n; i++) {
    const mark *k = &m->at[i];
    neo_rti_event event = {.name = name_of(c, k),
                           .kind = is_kernel(c, k) ? "kernel" : "copy",
                           .row = DEVICE_ROW,
                           .step = k->step < 0 ? -1 : k->step - e->first_step,
                           .bytes = k->bytes};
    if (time_of(cuda_of(c), k->from, &event.from) && time_of(cuda_of(c), k->to, &event.to))
      neo_rti_trace_event(c->trace, &event);
  }
  m->on = false;
  neo_rti_cuda_leave(c);
}
