/* network.c: a network from its making to its end, and the controller: the calling thread, which
 * sends instances and takes them back. */
#include "runtime/core/trace.h"
#include "runtime/net/crew.h"
#include "runtime/net/devices.h"
#include "runtime/net/log.h"
#include "runtime/net/trace.h"
#include "runtime/net/workers.h"
#include "runtime/pool.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_KEYS = 1 << 20 };

/* ---- making */

static neo_rt_status open_actor(neo_rt_network *n, int32_t k) {
  const neo_rt_model *m = n->net->actors[k].model;
  int64_t bytes = neo_rt_arena_size(m, 1); /* below 0: creating it tells why */
  size_t room = bytes < 0 ? 0 : ((size_t)bytes + NEO_RTI_ALIGN) / NEO_RTI_ALIGN * NEO_RTI_ALIGN;
  n->arena[k] = aligned_alloc(NEO_RTI_ALIGN, room + NEO_RTI_ALIGN);
  if (!n->arena[k])
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for %s", m->name);
  neo_rt_config c = {.struct_size = sizeof c,
                     .threads = 1,
                     .seed = n->seed,
                     .arena = n->arena[k],
                     .arena_bytes = room};
  neo_rt_status status = neo_rt_create(m, &c, &n->ctx[k]);
  return !status
             ? NEO_OK
             : neo_rti_net_fail(n, status, "%s: %s", m->name,
                                n->ctx[k] ? neo_rt_error(n->ctx[k]) : neo_rt_status_text(status));
}

/* Does the model's text accumulate gradients, by `every`? Its count of rows is a state of the
 * optimizer (frontend/check/every.c); an interval of several instances would count them wrongly. */
static bool accumulates(const neo_rt_network *n) {
  char name[256];
  snprintf(name, sizeof name, "%s.rows", n->net->entry);
  int32_t k = n->net->model ? neo_rt_find(n->net->model, name) : -1;
  return k >= 0 && n->net->model->tensors[k].role == NEO_RT_ROLE_STATE &&
         n->net->model->tensors[k].optimizer;
}

static neo_rt_status check_config(neo_rt_network *n) {
  const neo_rt_net_config *c = &n->config;
  if (c->workers < 0 || c->workers > NEO_RTI_MAX_THREADS)
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT, "%d workers: give 0 to %d", (int)c->workers,
                            NEO_RTI_MAX_THREADS);
  if (c->keys > MOST_KEYS)
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT, "%d keys: at most %d", (int)c->keys, MOST_KEYS);
  if (c->keys < 0 || c->every < 0 || c->every_rows < 0 || c->bytes < 0)
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "keys, every, every_rows and bytes are at least 0");
  if (c->place < NEO_RT_NET_ACTORS || c->place > NEO_RT_NET_PINNED)
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT, "place %d is unknown", (int)c->place);
  if (c->order < NEO_RT_NET_AS_SENT || c->order > NEO_RT_NET_SHUFFLED)
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT, "order %d is unknown", (int)c->order);
  if (c->order == NEO_RT_NET_SHUFFLED && c->workers && !c->replay)
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "threads have no order that is given: workers must be 0");
  if ((n->every > 1 || c->every_rows > 0) && accumulates(n))
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "the model's `every` decides when its optimizer runs: every must be 1, "
                            "and every_rows 0");
  if (c->devices && (c->workers || c->replay || c->order != NEO_RT_NET_AS_SENT))
    return neo_rti_net_fail(n, NEO_RT_E_ARGUMENT,
                            "devices are simulated without workers, another order or a replay");
  return NEO_OK;
}

static neo_rt_status open_all(neo_rt_network *n) {
  if (n->net->abi != NEO_RT_NET_ABI)
    return neo_rti_net_fail(n, NEO_RT_E_ABI, "made for version %u of networks, this is %u",
                            (unsigned)n->net->abi, (unsigned)NEO_RT_NET_ABI);
  neo_rt_status status = check_config(n);
  if (n->config.replay)
    n->config.workers = 0;
  status = status ? status : neo_rti_net_find_kinds(n);
  status = status ? status : neo_rti_net_allocate(n);
  for (int32_t k = 0; k < n->net->n_actors && !status; k++)
    status = open_actor(n, k);
  status = status ? status : neo_rti_net_bind(n);
  status = status ? status : neo_rti_net_log_open(n);
  status = status ? status : neo_rti_devices_open(n, n->config.devices);
  return status ? status : neo_rti_net_crew_open(n);
}

neo_rt_status neo_rt_net_create(const neo_rt_net *net, const neo_rt_net_config *config,
                                neo_rt_network **out, char *error, size_t error_bytes) {
  neo_rt_net_config c = config ? *config : (neo_rt_net_config){0};
  neo_rt_network *n = calloc(1, sizeof *n);
  *out = NULL;
  if (!n)
    return NEO_RT_E_MEMORY;
  n->net = net;
  n->config = c;
  n->keys = c.keys > 0 ? c.keys : 1;
  n->every = c.every > 0 ? c.every : 1;
  n->seed = c.seed;
  n->order = c.order_seed;
  n->began_ns = neo_rti_now_ns();
  neo_rt_status status = open_all(n);
  if (!status) {
    *out = n;
    return NEO_OK;
  }
  if (error && error_bytes)
    snprintf(error, error_bytes, "%s", n->error);
  neo_rt_net_destroy(n);
  return status;
}

void neo_rt_net_destroy(neo_rt_network *n) {
  if (!n)
    return;
  neo_rti_net_crew_close(n);
  neo_rti_net_log_close(n);
  neo_rti_devices_close(n);
  neo_rti_net_trace_forget(n);
  neo_rti_net_free(n);
}

neo_rt_ctx *neo_rt_net_context(neo_rt_network *n, int32_t actor) {
  return actor >= 0 && actor < n->net->n_actors ? n->ctx[actor] : NULL;
}

const char *neo_rt_net_error(const neo_rt_network *n) {
  return n->error;
}

void neo_rt_net_stop(neo_rt_network *n) {
  int error = errno; /* a signal handler leaves it as it was */
  atomic_store(&n->stopped, 1);
  neo_rti_net_event_signal(n->news, 1);
  errno = error;
}

/* ---- workers */

/* Takes the slots that came back, the first one first. */
static neo_rt_status take_home(neo_rt_network *n) {
  neo_rti_net_slot *s = atomic_exchange(&n->back_home, NULL), *first = NULL;
  neo_rt_status status = NEO_OK;
  while (s) {
    neo_rti_net_slot *next = s->next;
    s->next = first;
    first = s;
    s = next;
  }
  for (; first && !status; first = s) {
    s = first->next;
    status = neo_rti_net_finish(n, (int32_t)(first - n->slot));
  }
  return status;
}

typedef struct { /* a wait without any work */
  int64_t from_ns;
  uint64_t progress;
} idleness;

/* Nothing has run for the time that is allowed. */
static bool is_stuck(const neo_rt_network *n, idleness *x) {
  double limit_s = n->config.watch_s > 0 ? n->config.watch_s : 60;
  bool runs;
  uint64_t progress = neo_rti_net_crew_progress(n, &runs);
  int64_t now = neo_rti_now_ns();
  if (!x->from_ns || runs || progress != x->progress)
    *x = (idleness){now, progress};
  return n->config.watch_s >= 0 && 1e-9 * (double)(now - x->from_ns) >= limit_s;
}

static neo_rt_status stuck(neo_rt_network *n) {
  char left[1024];
  neo_rti_net_describe(n, left, sizeof left);
  return neo_rti_net_fail(n, NEO_RT_E_INTERNAL,
                          "nothing runs, and %d instances have not come back: %s",
                          (int)n->on_their_way, left[0] ? left : "no queue has messages");
}

/* An aim of the controller that waits. */
typedef enum { A_SLOT, ALL_SLOTS, IDLE_ACTORS } aim;

static bool is_there(const neo_rt_network *n, aim a) {
  if (atomic_load(&n->failed))
    return true;
  if (a == IDLE_ACTORS)
    return neo_rti_crew_is_idle(n);
  return atomic_load(&n->back_home) != NULL || (a == A_SLOT && atomic_load(&n->stopped));
}

static neo_rt_status wait_for(neo_rt_network *n, aim a) {
  enum { LOOK_NS = 50000000 };
  idleness x = {0};
  while (!is_there(n, a)) {
    uint32_t ticket = neo_rti_net_event_ticket(n->news);
    if (is_there(n, a)) {
      neo_rti_net_event_cancel(n->news);
      break;
    }
    neo_rti_net_event_sleep(n->news, ticket, LOOK_NS);
    if (is_stuck(n, &x) && !is_there(n, a))
      return stuck(n);
  }
  while (atomic_load(&n->failed) && !neo_rti_net_status(n))
    ; /* another thread writes the message */
  return neo_rti_net_status(n);
}

/* ---- steps of the controller */

/* Lets nodes run, or waits for those that do, until something has happened. */
static neo_rt_status step(neo_rt_network *n, aim a) {
  if (n->crew) {
    neo_rt_status status = wait_for(n, a);
    return status ? status : take_home(n);
  }
  if (neo_rti_net_replays(n))
    return neo_rti_net_replay_step(n);
  if (n->devices)
    return neo_rti_devices_pending(n) ? neo_rti_devices_step(n) : stuck(n);
  return n->queue_n ? neo_rti_net_deliver(n) : stuck(n);
}

/* Sizes and pointers are checked before rows are copied; the call of an entry checks what the rows
 * hold. */
static neo_rt_status check(neo_rt_network *n, const neo_rt_net_instance *x) {
  const neo_rt_model *m = n->net->actors[0].model;
  if (n->net->n_sizes && !x->sizes)
    return neo_rti_net_fail(n, NEO_RT_E_NULL, "the pointer to the sizes is null");
  for (int32_t k = 0; k < n->net->n_sizes && k < m->n_sizes; k++)
    if (x->sizes[k] < m->sizes[k].lo || x->sizes[k] > m->sizes[k].hi)
      return neo_rti_net_fail(n, NEO_RT_E_SHAPE, "%s: %lld is not in [%lld, %lld]",
                              m->sizes[k].name, (long long)x->sizes[k], (long long)m->sizes[k].lo,
                              (long long)m->sizes[k].hi);
  for (int32_t k = 0; k < n->net->n_inputs; k++)
    if (!x->inputs || !x->inputs[k])
      return neo_rti_net_fail(n, NEO_RT_E_NULL, "%s: pointer is null", n->net->inputs[k]);
  return NEO_OK;
}

/* Takes a slot for the instance, and waits until there is one. */
static neo_rt_status admit(neo_rt_network *n, const neo_rt_net_instance *x, int32_t *slot) {
  neo_rt_status status = NEO_OK;
  for (;;) {
    if (n->crew && !status)
      status = take_home(n);
    if (!status && atomic_load(&n->stopped))
      status = neo_rti_net_say(n, NEO_RT_E_INTERRUPTED, "the network was stopped");
    if (status || (*slot = neo_rti_net_admit(n, x)) >= 0)
      return status;
    status = step(n, A_SLOT);
  }
}

/* The status of a call: of the failures of workers, the first call after one tells it, whatever it
 * was going to do; then the network is in no state to be used. */
static neo_rt_status tell(neo_rt_network *n, neo_rt_status status) {
  if (!atomic_load(&n->failed))
    return status;
  while (!neo_rti_net_status(n))
    ; /* another thread writes the message */
  status = n->told ? NEO_RT_E_STATE : n->status;
  n->told = true;
  return status;
}

static neo_rt_status send(neo_rt_network *n, const neo_rt_net_instance *x) {
  const neo_rt_net_node *from = &n->net->nodes[0];
  int32_t slot;
  neo_rt_status status = neo_rti_net_status(n);
  status = status ? status : check(n, x);
  status = status ? status : admit(n, x, &slot);
  if (status)
    return status;
  neo_rti_net_post_ports(n, from->out, from->n_out, slot, false);
  neo_rti_crew_share(n);
  while (!n->crew && n->on_their_way == n->keys && !status && !atomic_load(&n->stopped))
    status = step(n, A_SLOT);
  return status;
}

neo_rt_status neo_rt_net_send(neo_rt_network *n, const neo_rt_net_instance *x) {
  return tell(n, send(n, x));
}

/* ---- barriers */

static neo_rt_status check_messages(neo_rt_network *n) {
  char left[1024];
  if (!n->queue_n && !n->on_their_way && !n->used_bytes)
    return NEO_OK;
  neo_rti_net_describe(n, left, sizeof left);
  return neo_rti_net_fail(n, NEO_RT_E_INTERNAL, "messages are left at a barrier: %s", left);
}

static neo_rt_status drain(neo_rt_network *n) {
  neo_rt_status status = NEO_OK;
  while ((n->on_their_way || neo_rti_devices_pending(n)) && !status)
    status = step(n, ALL_SLOTS);
  if (n->crew && !status) {
    atomic_store(&n->drains, 1);
    status = wait_for(n, IDLE_ACTORS);
    atomic_store(&n->drains, 0);
  }
  return status ? status : check_messages(n);
}

neo_rt_status neo_rt_net_wait(neo_rt_network *n, double *loss) {
  neo_rt_status status = neo_rti_net_status(n);
  status = status ? status : drain(n);
  status = status ? status : neo_rti_net_flush(n);
  neo_rti_devices_meet(n);
  status = status ? status : neo_rti_net_log_flush(n);
  if (loss)
    *loss = n->loss_sum / n->loss_weight;
  n->loss_sum = n->loss_weight = 0;
  atomic_store(&n->stopped, 0);
  return tell(n, status);
}
