/* slots.c: instances on their way. An instance gets a slot and one block of the memory for
 * messages, which holds its payloads at its sizes: the first gap that is large enough, by
 * address. While none is on its way, all of the memory is free, which has room for any instance;
 * so an instance that waits for others is admitted in the end, and no node ever waits for
 * memory. */
#include "runtime/net/log.h"
#include <string.h>

int64_t neo_rti_net_elements(const neo_rti_net_rows *r, const int64_t *sizes) {
  int64_t extent[NEO_RTI_MAX_RANK];
  return r->model ? neo_rti_extents(r->model, r->tensor, sizes, extent) : 0;
}

static int64_t row_bytes(const neo_rti_net_rows *r, const int64_t *sizes) {
  return r->model ? neo_rti_net_elements(r, sizes) * (int64_t)neo_rti_type_bytes(r->tensor->type)
                  : 0;
}

/* ---- memory */

static int64_t need(const neo_rt_network *n, const int64_t *sizes) {
  int64_t bytes = 0;
  for (int32_t k = 0; k < n->n_buffers; k++)
    bytes += neo_rti_round_up(row_bytes(&n->buffer[k].rows, sizes));
  return bytes;
}

/* The number among the placed slots, which are in the order of their addresses, before which there
 * is a gap; -1: there is none. */
static int32_t find_gap(const neo_rt_network *n, int64_t bytes, int64_t *begin) {
  *begin = 0;
  for (int32_t k = 0; k < n->on_their_way; k++) {
    const neo_rti_net_slot *s = &n->slot[n->placed[k]];
    if (s->begin - *begin >= bytes)
      return k;
    *begin = s->end;
  }
  return n->memory_bytes - *begin >= bytes ? n->on_their_way : -1;
}

static void take_memory(neo_rt_network *n, int32_t slot, int32_t at) {
  neo_rti_net_slot *s = &n->slot[slot];
  memmove(n->placed + at + 1, n->placed + at, (size_t)(n->on_their_way - at) * sizeof *n->placed);
  n->placed[at] = slot;
  n->on_their_way++;
  n->used_bytes += s->end - s->begin;
  n->most_bytes = n->used_bytes > n->most_bytes ? n->used_bytes : n->most_bytes;
}

/* The edges out of a Bcast share the payload of the edge into it. */
static int32_t source(const neo_rt_network *n, int32_t edge) {
  while (n->kind[n->net->edges[edge].from] == NEO_RTI_NET_BCAST)
    edge = n->net->ports[n->net->nodes[n->net->edges[edge].from].in].edge;
  return edge;
}

static void lay_out(neo_rt_network *n, neo_rti_net_slot *s) {
  unsigned char *at = n->memory + s->begin;
  for (int32_t k = 0; k < n->n_buffers; k++) {
    const neo_rti_net_buffer *b = &n->buffer[k];
    void **table = b->place == NEO_RTI_NET_VALUE  ? s->value
                   : b->place == NEO_RTI_NET_BACK ? s->back
                                                  : s->stash;
    table[b->which] = at;
    at += neo_rti_round_up(row_bytes(&b->rows, s->sizes));
  }
  for (int32_t k = 0; k < n->net->n_edges; k++)
    s->value[k] = s->value[source(n, k)];
}

/* ---- instances */

static void clear(const neo_rt_network *n, neo_rti_net_slot *s) {
  for (int32_t k = 0; k < n->net->n_nodes; k++) {
    atomic_store_explicit(&s->n_in[k], 0, memory_order_relaxed);
    atomic_store_explicit(&s->n_back[k], 0, memory_order_relaxed);
    s->task[2 * k].number = s->task[2 * k + 1].number = s->number;
  }
}

static void copy_inputs(neo_rt_network *n, neo_rti_net_slot *s, const neo_rt_net_instance *x) {
  const neo_rt_net_node *from = &n->net->nodes[0];
  for (int32_t k = 0; k < from->n_out; k++) {
    int32_t edge = n->net->ports[from->out + k].edge;
    size_t bytes = (size_t)row_bytes(&n->rows[edge], s->sizes);
    if (n->input[k] >= 0 && bytes)
      memcpy(s->value[edge], x->inputs[n->input[k]], bytes);
  }
}

int32_t neo_rti_net_admit(neo_rt_network *n, const neo_rt_net_instance *x) {
  int64_t begin, bytes = need(n, x->sizes);
  int32_t at = n->on_their_way < n->keys ? find_gap(n, bytes, &begin) : -1;
  if (at < 0)
    return -1;
  int32_t slot = n->unused[n->keys - n->on_their_way - 1];
  neo_rti_net_slot *s = &n->slot[slot];
  s->busy = true;
  s->number = n->sent++;
  s->test = x->test != 0;
  s->draw = s->test ? 0 : n->drawn++;
  s->weight = x->weight;
  s->rows = x->rows > 0 ? x->rows : 1;
  s->begin = begin;
  s->end = begin + bytes;
  if (n->net->n_sizes)
    memcpy(s->sizes, x->sizes, (size_t)n->net->n_sizes * sizeof *s->sizes);
  take_memory(n, slot, at);
  lay_out(n, s);
  clear(n, s);
  copy_inputs(n, s, x);
  return slot;
}

static void leave(neo_rt_network *n, int32_t slot) {
  neo_rti_net_slot *s = &n->slot[slot];
  int32_t at = 0;
  while (n->placed[at] != slot)
    at++;
  n->on_their_way--;
  memmove(n->placed + at, n->placed + at + 1, (size_t)(n->on_their_way - at) * sizeof *n->placed);
  n->unused[n->keys - n->on_their_way - 1] = slot;
  n->used_bytes -= s->end - s->begin;
  s->busy = false;
}

/* Each node has had all messages and all answers: a part of the network that the answers of the
 * controller do not depend on would have been left out. */
static neo_rt_status check_counts(neo_rt_network *n, const neo_rti_net_slot *s) {
  for (int32_t k = 0; k < n->net->n_nodes; k++) {
    const neo_rt_net_node *x = &n->net->nodes[k];
    int32_t in = atomic_load(&s->n_in[k]), back = atomic_load(&s->n_back[k]);
    if (in != x->n_in || back != x->n_out)
      return neo_rti_net_fail(n, NEO_RT_E_INTERNAL,
                              "node %s: instance %llu came back, but has %d of %d messages and %d "
                              "of %d answers here",
                              neo_rti_net_name_of(n, k).text, (unsigned long long)s->number,
                              (int)in, (int)x->n_in, (int)back, (int)x->n_out);
  }
  return NEO_OK;
}

neo_rt_status neo_rti_net_finish(neo_rt_network *n, int32_t slot) {
  neo_rti_net_slot *s = &n->slot[slot];
  if (!neo_rti_net_replays(n)) /* it has noted the task */
    neo_rti_net_log_note(n, n->net->n_actors, &s->task[1]);
  n->loss_sum += s->weight * s->loss;
  n->loss_weight += s->weight;
  n->finished++;
  neo_rt_status status = check_counts(n, s);
  leave(n, slot);
  return status;
}
