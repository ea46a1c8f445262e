/* devices.c: simulated devices, see devices.h. Events are a binary heap by time, then by the order
 * in which they were made. Ready work is a short list: at most two entries for each node of a
 * slot, of which few are ready at a time. */
#include "runtime/net/devices.h"
#include "base/clock.h"
#include "runtime/net/log.h"
#include <stdlib.h>
#include <string.h>

enum { PARTS = 3, NOBODY = -1 };

typedef struct {
  double at_s;
  uint64_t order;
  int32_t device; /* it has finished; NOBODY: the message arrives */
  neo_rti_net_message message;
} event;

typedef struct {
  int32_t node, slot;
  bool back;
} work;

typedef struct { /* of a node and part */
  int32_t n;
  double median_s, *measured_s;
} price;

struct neo_rti_devices {
  neo_rt_net_devices config;
  int32_t n;
  double now_s;
  int32_t *place;       /* by node; NOBODY: the controller */
  int32_t *runs;        /* by device: the node at work; NOBODY: idle */
  double *busy_s;       /* by device */
  double *at_barrier_s; /* by device: updates that no message caused */
  bool *occupied;       /* by actor: a device runs it */
  event *events;        /* a heap */
  int64_t n_events;
  uint64_t order;
  work *ready;
  int32_t n_ready;
  neo_rti_net_message *posted; /* by work at hand that moves rows, which is priced at its end */
  int64_t n_posted;
  int32_t device; /* of the work at hand; NOBODY: the controller's */
  uint64_t instance;
  bool moves;     /* the work at hand only moves rows */
  double price_s; /* of the work at hand, so far */
  price *prices;  /* [nodes][PARTS] */
};

neo_rti_stopwatch neo_rti_stopwatch_start(void) {
  double processor_s = neo_clock_s(CLOCK_THREAD_CPUTIME_ID);
  return (neo_rti_stopwatch){neo_now_s(), processor_s};
}

double neo_rti_stopwatch_s(const neo_rti_stopwatch *w) {
  double clock_s = neo_now_s() - w->clock_s;
  double processor_s = neo_clock_s(CLOCK_THREAD_CPUTIME_ID) - w->processor_s;
  return clock_s < processor_s ? clock_s : processor_s;
}

/* ---- opening */

static int32_t actor_of(const neo_rt_network *n, int32_t node) {
  return n->net->nodes[node].actor;
}

/* The device of a node that only moves rows is that of its first sender with an actor. */
static void place_nodes(const neo_rt_network *n, neo_rti_devices *d) {
  d->place[0] = NOBODY;
  for (int32_t k = 1; k < n->net->n_nodes; k++) {
    int32_t actor = actor_of(n, k);
    d->place[k] = actor < 0 ? 0 : d->config.place ? d->config.place[actor] : actor % d->n;
  }
  for (int32_t round = 0; round < n->net->n_nodes; round++)
    for (int32_t k = 1; k < n->net->n_nodes; k++) {
      const neo_rt_net_node *x = &n->net->nodes[k];
      if (x->actor >= 0 || !x->n_in)
        continue;
      int32_t from = n->net->edges[n->net->ports[x->in].edge].from;
      d->place[k] = from ? d->place[from] : 0;
    }
}

static bool is_placed(const neo_rt_network *n, const neo_rti_devices *d) {
  for (int32_t k = 0; d->config.place && k < n->net->n_actors; k++)
    if (d->config.place[k] < 0 || d->config.place[k] >= d->n)
      return false;
  return true;
}

static void *room(size_t n, size_t size_bytes, bool *good) {
  void *p = calloc(n ? n : 1, size_bytes);
  *good = *good && p;
  return p;
}

static bool allocate(const neo_rt_network *n, neo_rti_devices *d) {
  size_t nodes = (size_t)n->net->n_nodes, devices = (size_t)d->n, keys = (size_t)n->keys;
  bool good = true;
  d->place = room(nodes, sizeof *d->place, &good);
  d->runs = room(devices, sizeof *d->runs, &good);
  d->busy_s = room(devices, sizeof *d->busy_s, &good);
  d->at_barrier_s = room(devices, sizeof *d->at_barrier_s, &good);
  d->occupied = room((size_t)n->net->n_actors, sizeof *d->occupied, &good);
  d->events = room((size_t)n->queue_room + devices, sizeof *d->events, &good);
  d->posted = room((size_t)n->queue_room, sizeof *d->posted, &good);
  d->ready = room(2 * keys * nodes, sizeof *d->ready, &good);
  d->prices = room(PARTS * nodes, sizeof *d->prices, &good);
  for (size_t k = 0; good && k < PARTS * nodes && d->config.calls > 0; k++)
    d->prices[k].measured_s = room((size_t)d->config.calls, sizeof(double), &good);
  return good;
}

neo_rt_status neo_rti_devices_open(neo_rt_network *n, const neo_rt_net_devices *config) {
  if (!config)
    return NEO_OK;
  neo_rti_devices *d = calloc(1, sizeof *d);
  n->devices = d;
  if (!d)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory");
  d->config = *config;
  d->n = config->devices > 0 ? config->devices : n->net->n_actors;
  d->device = NOBODY;
  if (!is_placed(n, d))
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "an actor is placed on a device that is not one of %d", d->n);
  if (!(config->latency_s >= 0) || !(config->bytes_per_s >= 0))
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "latency and bandwidth of devices are at least 0");
  if (!allocate(n, d))
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for %d devices", d->n);
  for (int32_t k = 0; k < d->n; k++)
    d->runs[k] = NOBODY;
  place_nodes(n, d);
  d->config.place = NULL;
  return NEO_OK;
}

void neo_rti_devices_close(neo_rt_network *n) {
  neo_rti_devices *d = n->devices;
  if (!d)
    return;
  for (int32_t k = 0; d->prices && k < PARTS * n->net->n_nodes; k++)
    free(d->prices[k].measured_s);
  void *all[] = {d->place,  d->runs,  d->busy_s, d->at_barrier_s, d->occupied,
                 d->events, d->ready, d->posted, d->prices};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    free(all[k]);
  free(d);
}

/* ---- events */

static bool is_before(const event *a, const event *b) {
  return a->at_s != b->at_s ? a->at_s < b->at_s : a->order < b->order;
}

static void push(neo_rti_devices *d, event e) {
  int64_t k = d->n_events++;
  e.order = d->order++;
  for (; k > 0 && is_before(&e, &d->events[(k - 1) / 2]); k = (k - 1) / 2)
    d->events[k] = d->events[(k - 1) / 2];
  d->events[k] = e;
}

static event pop(neo_rti_devices *d) {
  event first = d->events[0], last = d->events[--d->n_events];
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
  bool empty = !r->model || (m.back && !s->back[m.edge]);
  double bytes = empty ? 0
                       : (double)neo_rti_net_elements(r, s->sizes) *
                             (double)neo_rti_type_bytes(r->tensor->type);
  return d->config.latency_s + (d->config.bytes_per_s > 0 ? bytes / d->config.bytes_per_s : 0);
}

static void leave(neo_rt_network *n, neo_rti_net_message m, double at_s) {
  push(n->devices, (event){.at_s = at_s + transfer_s(n, m), .device = NOBODY, .message = m});
}

void neo_rti_devices_post(neo_rt_network *n, neo_rti_net_message m) {
  neo_rti_devices *d = n->devices;
  if (d->device != NOBODY && d->moves)
    d->posted[d->n_posted++] = m;
  else
    leave(n, m, d->now_s + (d->device == NOBODY ? 0 : d->price_s));
}

/* ---- prices */

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double price_of(neo_rti_devices *d, const neo_rt_net_work *w) {
  price *p = &d->prices[PARTS * w->node + w->part];
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

void neo_rti_devices_take_prices(neo_rt_network *n, const neo_rt_network *from) {
  const neo_rti_devices *d = from->devices;
  for (int32_t k = 0; k < PARTS * n->net->n_nodes; k++)
    if (d->prices[k].n == d->config.calls) {
      n->devices->prices[k].n = d->prices[k].n;
      n->devices->prices[k].median_s = d->prices[k].median_s;
    }
}

void neo_rti_devices_charge(neo_rt_network *n, int32_t node, int32_t part,
                            const neo_rti_net_slot *s, double measured_s) {
  neo_rti_devices *d = n->devices;
  int32_t device = d->device == NOBODY ? d->place[node] : d->device;
  double *sum = d->device == NOBODY ? &d->at_barrier_s[device] : &d->price_s;
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

/* ---- work */

static bool can_run(const neo_rt_network *n, int32_t device, const work *w) {
  const neo_rti_devices *d = n->devices;
  int32_t actor = actor_of(n, w->node);
  if (!d->config.any)
    return d->place[w->node] == device;
  return actor < 0 || !d->occupied[actor];
}

static bool is_better(const neo_rt_network *n, const work *a, const work *b) {
  uint64_t x = n->slot[a->slot].number, y = n->slot[b->slot].number;
  if (a->back != b->back)
    return a->back;
  return x != y ? x < y : a->node < b->node;
}

/* The number of the best work for the device; NOBODY: there is none. */
static int32_t choose(const neo_rt_network *n, int32_t device) {
  const neo_rti_devices *d = n->devices;
  int32_t best = NOBODY;
  for (int32_t k = 0; k < d->n_ready; k++)
    if (can_run(n, device, &d->ready[k]) &&
        (best == NOBODY || is_better(n, &d->ready[k], &d->ready[best])))
      best = k;
  return best;
}

static neo_rt_status run_work(neo_rt_network *n, const work *w) {
  neo_rti_devices *d = n->devices;
  neo_rti_stopwatch watch = neo_rti_stopwatch_start();
  neo_rt_status status = neo_rti_net_run(n, w->node, w->slot, w->back);
  if (d->moves)
    neo_rti_devices_charge(n, w->node, w->back ? NEO_RT_NET_BACKWARD : NEO_RT_NET_FORWARD,
                           &n->slot[w->slot], neo_rti_stopwatch_s(&watch));
  return status;
}

static void note(neo_rt_network *n, const work *w) {
  int32_t actor = actor_of(n, w->node);
  if (actor < 0)
    return;
  neo_rti_net_log_note(n, actor, &n->slot[w->slot].task[2 * w->node + w->back]);
  n->tasks++;
}

static neo_rt_status begin(neo_rt_network *n, int32_t device, int32_t chosen) {
  neo_rti_devices *d = n->devices;
  work w = d->ready[chosen];
  int32_t actor = actor_of(n, w.node);
  d->ready[chosen] = d->ready[--d->n_ready];
  d->device = device;
  d->instance = n->slot[w.slot].number;
  d->moves = actor < 0;
  d->price_s = 0;
  d->n_posted = 0;
  note(n, &w);
  neo_rt_status status = run_work(n, &w);
  double end_s = d->now_s + d->price_s;
  for (int64_t k = 0; k < d->n_posted; k++)
    leave(n, d->posted[k], end_s);
  d->device = NOBODY;
  d->runs[device] = w.node;
  if (actor >= 0)
    d->occupied[actor] = true;
  push(d, (event){.at_s = end_s, .device = device});
  return status;
}

static void end(neo_rt_network *n, int32_t device) {
  neo_rti_devices *d = n->devices;
  int32_t actor = actor_of(n, d->runs[device]);
  if (actor >= 0)
    d->occupied[actor] = false;
  d->runs[device] = NOBODY;
}

static neo_rt_status arrive(neo_rt_network *n, neo_rti_net_message m) {
  neo_rti_devices *d = n->devices;
  int32_t node = neo_rti_net_receive(n, m);
  if (node == 0)
    return neo_rti_net_run(n, 0, m.slot, m.back);
  if (node > 0)
    d->ready[d->n_ready++] = (work){node, m.slot, m.back};
  return NEO_OK;
}

/* ---- stepping */

neo_rt_status neo_rti_devices_step(neo_rt_network *n) {
  neo_rti_devices *d = n->devices;
  neo_rt_status status = NEO_OK;
  d->now_s = d->events[0].at_s;
  while (d->n_events && d->events[0].at_s <= d->now_s && !status) {
    event e = pop(d);
    if (e.device == NOBODY)
      status = arrive(n, e.message);
    else
      end(n, e.device);
  }
  for (int32_t k = 0; k < d->n && !status; k++) {
    int32_t chosen = d->runs[k] == NOBODY ? choose(n, k) : NOBODY;
    if (chosen != NOBODY)
      status = begin(n, k, chosen);
  }
  return status;
}

bool neo_rti_devices_pending(const neo_rt_network *n) {
  return n->devices && n->devices->n_events > 0;
}

void neo_rti_devices_meet(neo_rt_network *n) {
  neo_rti_devices *d = n->devices;
  double most = 0;
  if (!d)
    return;
  for (int32_t k = 0; k < d->n; k++) {
    most = d->at_barrier_s[k] > most ? d->at_barrier_s[k] : most;
    d->at_barrier_s[k] = 0;
  }
  d->now_s += most;
}

neo_rt_status neo_rt_net_virtual_time(neo_rt_network *n, neo_rt_net_virtual *out) {
  neo_rti_devices *d = n->devices;
  if (!d)
    return NEO_RT_E_STATE;
  *out = (neo_rt_net_virtual){d->now_s, d->n, d->busy_s};
  return NEO_OK;
}
