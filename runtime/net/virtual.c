/* virtual.c: see virtual.h. Events are a binary heap by time, then by the order in which they were
 * made. */
#include "runtime/net/virtual.h"
#include "base/clock.h"
#include <stdlib.h>

neo_rti_stopwatch neo_rti_stopwatch_start(void) {
  double processor_s = neo_clock_s(CLOCK_THREAD_CPUTIME_ID);
  return (neo_rti_stopwatch){neo_now_s(), processor_s};
}

double neo_rti_stopwatch_s(const neo_rti_stopwatch *w) {
  double clock_s = neo_now_s() - w->clock_s;
  double processor_s = neo_clock_s(CLOCK_THREAD_CPUTIME_ID) - w->processor_s;
  return clock_s < processor_s ? clock_s : processor_s;
}

/* ---- events */

static bool is_before(const neo_rti_virtual_event *a, const neo_rti_virtual_event *b) {
  return a->at_s != b->at_s ? a->at_s < b->at_s : a->order < b->order;
}

void neo_rti_virtual_push(neo_rti_devices *d, neo_rti_virtual_event e) {
  int64_t k = d->n_events++;
  e.order = d->order++;
  for (; k > 0 && is_before(&e, &d->events[(k - 1) / 2]); k = (k - 1) / 2)
    d->events[k] = d->events[(k - 1) / 2];
  d->events[k] = e;
}

neo_rti_virtual_event neo_rti_virtual_pop(neo_rti_devices *d) {
  neo_rti_virtual_event first = d->events[0], last = d->events[--d->n_events];
  int64_t k = 0;
  for (int64_t child = 1; child < d->n_events; child = 2 * k + 1) {
    if (child + 1 < d->n_events && is_before(&d->events[child + 1], &d->events[child]))
      child++;
    if (!is_before(&d->events[child], &last))
      break;
    d->events[k] = d->events[child];
    k = child;
  }
  d->events[k] = last;
  return first;
}

/* ---- messages */

/* A message without rows costs its latency. */
static double transfer_s(const neo_rt_network *n, neo_rti_net_message m) {
  const neo_rti_devices *d = n->devices;
  const neo_rt_net_edge *e = &n->net->edges[m.edge];
  const neo_rti_net_slot *s = &n->slot[m.slot];
  const neo_rti_net_rows *r = &n->rows[m.edge];
  if (!d->config.any && d->place[e->from] == d->place[e->to])
    return 0;
  int64_t extent[NEO_RTI_MAX_RANK];
  bool empty = !r->model || (m.back && !s->back[m.edge]);
  double bytes = empty ? 0
                       : (double)neo_rti_extents(r->model, r->tensor, s->sizes, extent) *
                             (double)neo_rti_type_bytes(r->tensor->type);
  return d->config.latency_s + (d->config.bytes_per_s > 0 ? bytes / d->config.bytes_per_s : 0);
}

void neo_rti_virtual_leave(neo_rt_network *n, neo_rti_net_message m, double at_s) {
  neo_rti_virtual_push(n->devices, (neo_rti_virtual_event){.at_s = at_s + transfer_s(n, m),
                                                           .device = NEO_RTI_NO_DEVICE,
                                                           .message = m});
}

void neo_rti_virtual_post(neo_rt_network *n, neo_rti_net_message m) {
  neo_rti_devices *d = n->devices;
  if (d->device != NEO_RTI_NO_DEVICE && d->moves)
    d->posted[d->n_posted++] = m;
  else
    neo_rti_virtual_leave(n, m, d->now_s + (d->device == NEO_RTI_NO_DEVICE ? 0 : d->price_s));
}

/* ---- prices */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double price_of(neo_rti_devices *d, const neo_rt_net_work *w) {
  neo_rti_price *p = &d->prices[NEO_RTI_PARTS * w->node + w->part];
  double given_s = d->config.price ? d->config.price(d->config.user, w) : -1;
  if (given_s >= 0)
    return given_s;
  if (p->n == d->config.calls)
    return p->n ? p->median_s : w->measured_s;
  p->measured_s[p->n++] = w->measured_s;
  if (p->n == d->config.calls) {
    qsort(p->measured_s, (size_t)p->n, sizeof *p->measured_s, by_value);
    p->median_s = p->measured_s[p->n / 2];
  }
  return w->measured_s;
}

void neo_rti_virtual_charge(neo_rt_network *n, int32_t node, int32_t part,
                            const neo_rti_net_slot *s, double measured_s) {
  neo_rti_devices *d = n->devices;
  int32_t device = d->device == NEO_RTI_NO_DEVICE ? d->place[node] : d->device;
  double *sum = d->device == NEO_RTI_NO_DEVICE ? &d->at_barrier_s[device] : &d->price_s;
  neo_rt_net_work w = {.node = node,
                       .part = part,
                       .device = device,
                       .instance = d->instance,
                       .sizes = s ? s->sizes : NULL,
                       .measured_s = measured_s};
  double seconds = price_of(d, &w);
  w.begin_s = d->now_s + *sum;
  *sum += seconds;
  w.end_s = d->now_s + *sum;
  d->busy_s[device] += w.end_s - w.begin_s;
  if (d->config.ran)
    d->config.ran(d->config.user, &w);
}
