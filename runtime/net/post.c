/* post.c: messages from one node to another, and the work of nodes that only move rows: copies for
 * several readers, the sum of their answers, the end of an instance. */
#include "runtime/net/crew.h"
#include "runtime/net/event.h"
#include "runtime/net/log.h"
#include "runtime/net/virtual.h"
#include <string.h>

/* ---- arrival */

static int32_t too_many(neo_rt_network *n, int32_t node, const neo_rti_net_slot *s, bool back) {
  (void)neo_rti_net_fail(n, NEO_RT_E_INTERNAL, "node %s: instance %llu has more %s than %s",
                         neo_rti_net_name_of(n, node).text, (unsigned long long)s->number,
                         back ? "answers" : "messages", back ? "messages" : "ports");
  return -1;
}

int32_t neo_rti_net_receive(neo_rt_network *n, neo_rti_net_message m) {
  const neo_rt_net_edge *e = &n->net->edges[m.edge];
  int32_t node = m.back ? e->from : e->to;
  const neo_rt_net_node *x = &n->net->nodes[node];
  neo_rti_net_slot *s = &n->slot[m.slot];
  _Atomic int32_t *count = m.back ? &s->n_back[node] : &s->n_in[node];
  int32_t want = m.back ? x->n_out : x->n_in;
  int32_t now = atomic_fetch_add_explicit(count, 1, memory_order_acq_rel) + 1;
  if (now > want)
    return too_many(n, node, s, m.back);
  return now == want ? node : -1;
}

/* ---- nodes that move rows */

/* Adds rows of one type, each addition rounded to it. */
static void add_rows(uint8_t type, void *to, const void *more, int64_t elements) {
  size_t size = neo_rti_type_bytes(type);
  for (int64_t k = 0; k < elements; k++) {
    unsigned char *x = (unsigned char *)to + (size_t)k * size;
    double a, b;
    neo_rti_convert(type, x, NEO_RT_F64, &a, 1);
    neo_rti_convert(type, (const unsigned char *)more + (size_t)k * size, NEO_RT_F64, &b, 1);
    a += b;
    neo_rti_convert(NEO_RT_F64, &a, type, x, 1);
  }
}

/* The same for the usual type. */
static void add_floats(float *to, const float *more, int64_t elements) {
  for (int64_t k = 0; k < elements; k++)
    to[k] += more[k];
}

/* The sum of the answers of a Bcast's readers, in the order of its ports. */
static void add_answers(neo_rt_network *n, const neo_rt_net_node *x, int32_t slot) {
  const neo_rti_net_slot *s = &n->slot[slot];
  int32_t in = n->net->ports[x->in].edge;
  const neo_rti_net_rows *r = &n->rows[in];
  int64_t elements = neo_rti_net_elements(r, s->sizes);
  bool first = true;
  for (int32_t k = 0; k < x->n_out && s->back[in] && r->model && !s->test; k++) {
    const void *from = s->back[n->net->ports[x->out + k].edge];
    if (!from)
      continue;
    if (first)
      memcpy(s->back[in], from, (size_t)elements * neo_rti_type_bytes(r->tensor->type));
    else if (r->tensor->type == NEO_RT_F32)
      add_floats(s->back[in], from, elements);
    else
      add_rows(r->tensor->type, s->back[in], from, elements);
    first = false;
  }
}

static void send_home(neo_rt_network *n, int32_t slot) {
  neo_rti_net_slot *s = &n->slot[slot];
  s->next = atomic_load(&n->back_home);
  while (!atomic_compare_exchange_weak(&n->back_home, &s->next, s))
    ;
  neo_rti_net_event_signal(n->news, 1);
}

void neo_rti_net_move(neo_rt_network *n, int32_t node, int32_t slot, bool back) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  neo_rti_net_count *c = &n->count[node];
  atomic_fetch_add_explicit(back ? &c->backward : &c->forward, 1, memory_order_relaxed);
  if (node == 0) {
    send_home(n, slot);
  } else if (back) {
    add_answers(n, x, slot);
    neo_rti_net_post_ports(n, x->in, x->n_in, slot, true);
  } else {
    neo_rti_net_post_ports(n, x->out, x->n_out, slot, false);
  }
}

/* ---- sending */

/* The last message of a node in a direction has come, and no queue holds it. */
static void begin(neo_rt_network *n, int32_t node, int32_t slot, bool back) {
  neo_rti_net_task *t = &n->slot[slot].task[2 * node + back];
  if (n->kind[node] == NEO_RTI_NET_ACTOR && n->crew)
    neo_rti_crew_put(n, t);
  else if (neo_rti_net_replays(n) && (n->kind[node] == NEO_RTI_NET_ACTOR || node == 0))
    t->ready = true;
  else
    neo_rti_net_move(n, node, slot, back);
}

void neo_rti_net_post(neo_rt_network *n, int32_t edge, int32_t slot, bool back) {
  neo_rti_net_message m = {edge, slot, back};
  if (n->devices) {
    neo_rti_virtual_post(n, m);
    return;
  }
  if (n->crew || neo_rti_net_replays(n)) {
    int32_t node = neo_rti_net_receive(n, m);
    if (node >= 0)
      begin(n, node, slot, back);
    return;
  }
  n->queue[(n->queue_first + n->queue_n++) % n->queue_room] = m;
}

void neo_rti_net_post_ports(neo_rt_network *n, int32_t first, int32_t n_ports, int32_t slot,
                            bool back) {
  for (int32_t k = 0; k < n_ports; k++)
    neo_rti_net_post(n, n->net->ports[first + k].edge, slot, back);
}
