/* devices.c: simulated devices, see devices.h. Ready work is a short list: at most two entries for
 * each node of a slot, of which few are ready at a time. */
#include "runtime/net/devices.h"
#include "runtime/net/log.h"
#include <stdlib.h>

/* ---- opening */

static int32_t actor_of(const neo_rt_network *n, int32_t node) {
  return n->net->nodes[node].actor;
}

/* The device of a node that only moves rows is that of its first sender with an actor. */
static void place_nodes(const neo_rt_network *n, neo_rti_devices *d) {
  d->place[0] = NEO_RTI_NO_DEVICE;
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
  d->prices = room(NEO_RTI_PARTS * nodes, sizeof *d->prices, &good);
  for (size_t k = 0; good && k < NEO_RTI_PARTS * nodes && d->config.calls > 0; k++)
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
  d->device = NEO_RTI_NO_DEVICE;
  if (!is_placed(n, d))
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "an actor is placed on a device that is not one of %d", d->n);
  if (config->calls < 0 || !(config->latency_s >= 0) || !(config->bytes_per_s >= 0))
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "calls, latency and bandwidth of devices are at least 0");
  if (!allocate(n, d))
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for %d devices", d->n);
  for (int32_t k = 0; k < d->n; k++)
    d->runs[k] = NEO_RTI_NO_DEVICE;
  place_nodes(n, d);
  d->config.place = NULL;
  return NEO_OK;
}

void neo_rti_devices_close(neo_rt_network *n) {
  neo_rti_devices *d = n->devices;
  if (!d)
    return;
  for (int32_t k = 0; d->prices && k < NEO_RTI_PARTS * n->net->n_nodes; k++)
    free(d->prices[k].measured_s);
  void *all[] = {d->place,  d->runs,  d->busy_s, d->at_barrier_s, d->occupied,
                 d->events, d->ready, d->posted, d->prices};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    free(all[k]);
  free(d);
}

void neo_rti_devices_take_prices(neo_rt_network *n, const neo_rt_network *from) {
  const neo_rti_devices *d = from->devices;
  for (int32_t k = 0; k < NEO_RTI_PARTS * n->net->n_nodes; k++)
    if (d->prices[k].n == d->config.calls) {
      n->devices->prices[k].n = d->prices[k].n;
      n->devices->prices[k].median_s = d->prices[k].median_s;
    }
}

/* ---- work */

static bool can_run(const neo_rt_network *n, int32_t device, const neo_rti_work *w) {
  const neo_rti_devices *d = n->devices;
  int32_t actor = actor_of(n, w->node);
  if (!d->config.any)
    return d->place[w->node] == device;
  return actor < 0 || !d->occupied[actor];
}

static bool is_better(const neo_rt_network *n, const neo_rti_work *a, const neo_rti_work *b) {
  uint64_t x = n->slot[a->slot].number, y = n->slot[b->slot].number;
  if (a->back != b->back)
    return a->back;
  return x != y ? x < y : a->node < b->node;
}

/* The number of the best work for the device; NEO_RTI_NO_DEVICE: there is none. */
static int32_t choose(const neo_rt_network *n, int32_t device) {
  const neo_rti_devices *d = n->devices;
  int32_t best = NEO_RTI_NO_DEVICE;
  for (int32_t k = 0; k < d->n_ready; k++)
    if (can_run(n, device, &d->ready[k]) &&
        (best == NEO_RTI_NO_DEVICE || is_better(n, &d->ready[k], &d->ready[best])))
      best = k;
  return best;
}

static neo_rt_status run_work(neo_rt_network *n, const neo_rti_work *w) {
  neo_rti_devices *d = n->devices;
  neo_rti_stopwatch watch = neo_rti_stopwatch_start();
  neo_rt_status status = neo_rti_net_run(n, w->node, w->slot, w->back);
  if (d->moves)
    neo_rti_virtual_charge(n, w->node, w->back ? NEO_RT_NET_BACKWARD : NEO_RT_NET_FORWARD,
                           &n->slot[w->slot], neo_rti_stopwatch_s(&watch));
  return status;
}

static void note(neo_rt_network *n, const neo_rti_work *w) {
  int32_t actor = actor_of(n, w->node);
  if (actor < 0)
    return;
  neo_rti_net_log_note(n, actor, &n->slot[w->slot].task[2 * w->node + w->back]);
  n->tasks++;
}

static neo_rt_status begin(neo_rt_network *n, int32_t device, int32_t chosen) {
  neo_rti_devices *d = n->devices;
  neo_rti_work w = d->ready[chosen];
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
    neo_rti_virtual_leave(n, d->posted[k], end_s);
  d->device = NEO_RTI_NO_DEVICE;
  d->runs[device] = w.node;
  if (actor >= 0)
    d->occupied[actor] = true;
  neo_rti_virtual_push(d, (neo_rti_virtual_event){.at_s = end_s, .device = device});
  return status;
}

static void end(neo_rt_network *n, int32_t device) {
  neo_rti_devices *d = n->devices;
  int32_t actor = actor_of(n, d->runs[device]);
  if (actor >= 0)
    d->occupied[actor] = false;
  d->runs[device] = NEO_RTI_NO_DEVICE;
}

static neo_rt_status arrive(neo_rt_network *n, neo_rti_net_message m) {
  neo_rti_devices *d = n->devices;
  int32_t node = neo_rti_net_receive(n, m);
  if (node == 0)
    return neo_rti_net_run(n, 0, m.slot, m.back);
  if (node > 0)
    d->ready[d->n_ready++] = (neo_rti_work){node, m.slot, m.back};
  return NEO_OK;
}

/* ---- stepping */

neo_rt_status neo_rti_devices_step(neo_rt_network *n) {
  neo_rti_devices *d = n->devices;
  neo_rt_status status = NEO_OK;
  d->now_s = d->events[0].at_s;
  while (d->n_events && d->events[0].at_s <= d->now_s && !status) {
    neo_rti_virtual_event e = neo_rti_virtual_pop(d);
    if (e.device == NEO_RTI_NO_DEVICE)
      status = arrive(n, e.message);
    else
      end(n, e.device);
  }
  for (int32_t k = 0; k < d->n && !status; k++) {
    int32_t chosen = d->runs[k] == NEO_RTI_NO_DEVICE ? choose(n, k) : NEO_RTI_NO_DEVICE;
    if (chosen != NEO_RTI_NO_DEVICE)
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
