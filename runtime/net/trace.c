/* trace.c: when the nodes of a network ran, as a file for Chrome's trace viewer: a row for each
 * worker, and on it an event for each message that a node has worked on, and for each update.
 *
 * Each actor has a buffer, to which whoever runs it adds, and which grows: a network with a trace
 * allocates. The file is written when the trace ends, whole or not at all. */
#include "runtime/net/trace.h"
#include "base/file.h"
#include "runtime/core/trace.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
  neo_rti_net_span *at;
  size_t n, room;
  bool full; /* no memory: later events are lost */
} spans;

struct neo_rti_net_trace {
  char path[1024];
  int64_t begun_ns;
  spans *of; /* by actor */
};

/* ---- notes */

static bool grow(spans *s) {
  size_t room = s->room ? 2 * s->room : 256;
  neo_rti_net_span *more = s->full ? NULL : realloc(s->at, room * sizeof *more);
  s->full = !more;
  if (more) {
    s->at = more;
    s->room = room;
  }
  return more != NULL;
}

void neo_rti_net_trace_note(neo_rt_network *n, int32_t actor, const neo_rti_net_span *x) {
  spans *s = n->trace ? &n->trace->of[actor] : NULL;
  if (s && (s->n < s->room || grow(s)))
    s->at[s->n++] = *x;
}

void neo_rti_net_trace_forget(neo_rt_network *n) {
  neo_rti_net_trace *t = n->trace;
  for (int32_t k = 0; t && t->of && k < n->net->n_actors; k++)
    free(t->of[k].at);
  if (t)
    free(t->of);
  free(t);
  n->trace = NULL;
}

/* ---- the file */

static void put(neo_file_writer *w, const char *text, int bytes) {
  neo_file_put(w, text, (size_t)bytes);
}

static void put_row(neo_file_writer *w, int32_t worker, bool is_caller) {
  char text[256], name[32] = "the calling thread";
  if (!is_caller)
    snprintf(name, sizeof name, "worker %d", worker);
  put(w, text,
      snprintf(text, sizeof text,
               "{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":1,\"tid\":%d,"
               "\"args\":{\"name\":\"%s\"}},\n",
               worker, name));
}

static void put_span(const neo_rt_network *n, neo_file_writer *w, int32_t actor,
                     const neo_rti_net_span *x) {
  static const char *const parts[] = {"forward", "backward", "update"};
  char text[512], of[64];
  if (x->node >= 0)
    snprintf(of, sizeof of, "%s", neo_rti_net_name_of(n, x->node).text);
  else
    snprintf(of, sizeof of, "actor %d", actor);
  put(w, text,
      snprintf(text, sizeof text,
               "{\"name\":\"%s %s\",\"cat\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":%d,"
               "\"ts\":%.3f,\"dur\":%.3f,\"args\":{\"%s\":%" PRIu64 "}},\n",
               of, parts[x->part], parts[x->part], x->worker,
               1e-3 * (double)(x->from_ns - n->trace->begun_ns),
               1e-3 * (double)(x->to_ns - x->from_ns), x->node >= 0 ? "message" : "update",
               x->number));
}

static void put_all(const neo_rt_network *n, neo_file_writer *w) {
  put(w, "{\"traceEvents\":[\n", 17);
  for (int32_t k = 0; k < n->config.workers || k == 0; k++)
    put_row(w, k, !n->config.workers);
  for (int32_t k = 0; k < n->net->n_actors; k++)
    for (size_t j = 0; j < n->trace->of[k].n; j++)
      put_span(n, w, k, &n->trace->of[k].at[j]);
  char text[160];
  put(w, text,
      snprintf(text, sizeof text,
               "{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":1,\"args\":{\"name\":\"%.64s\"}}\n"
               "],\"displayTimeUnit\":\"ns\"}\n",
               n->net->entry));
}

static neo_rt_status end(neo_rt_network *n) {
  neo_file_writer w;
  bool full = false;
  for (int32_t k = 0; k < n->net->n_actors; k++)
    full = full || n->trace->of[k].full;
  if (full) {
    neo_rti_net_trace_forget(n);
    return neo_rti_net_say(n, NEO_RT_E_MEMORY, "no memory for the events of a trace");
  }
  neo_rt_status s = neo_file_begin(&w, &neo_io_default, n->trace->path, 0666);
  if (!s) {
    put_all(n, &w);
    s = neo_file_commit(&w);
  }
  if (s)
    (void)neo_rti_net_say(n, s, "%s: cannot be written: %s", n->trace->path, strerror(errno));
  neo_rti_net_trace_forget(n);
  return s;
}

static neo_rt_status begin(neo_rt_network *n, const char *path) {
  if (strlen(path) >= sizeof n->trace->path)
    return neo_rti_net_say(n, NEO_RT_E_IO, "%s: the path is too long", path);
  n->trace = calloc(1, sizeof *n->trace);
  if (n->trace)
    n->trace->of = calloc((size_t)n->net->n_actors + 1, sizeof *n->trace->of);
  if (!n->trace || !n->trace->of) {
    neo_rti_net_trace_forget(n);
    return neo_rti_net_say(n, NEO_RT_E_MEMORY, "no memory for a trace");
  }
  snprintf(n->trace->path, sizeof n->trace->path, "%s", path);
  n->trace->begun_ns = neo_rti_now_ns();
  return NEO_OK;
}

neo_rt_status neo_rt_net_trace(neo_rt_network *n, const char *path) {
  if (n->on_their_way)
    return neo_rti_net_say(n, NEO_RT_E_STATE, "a trace begins and ends at a barrier");
  neo_rt_status s = n->trace ? end(n) : NEO_OK;
  return s || !path ? s : begin(n, path);
}
