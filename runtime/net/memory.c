/* memory.c: the memory of a network, all of which is allocated when it is created. Edges out of a
 * Bcast share the payload of the edge into it. */
#include "runtime/net/event.h"
#include "runtime/net/mailbox.h"
#include <stdlib.h>
#include <string.h>

/* The tensor of an actor's model; null: no entry has it. */
static const neo_rt_tensor *tensor_of(const neo_rt_network *n, int32_t node, const char *name) {
  int32_t actor = n->net->nodes[node].actor;
  if (actor < 0 || !name)
    return NULL;
  const neo_rt_model *m = n->net->actors[actor].model;
  int32_t k = neo_rt_find(m, name);
  return k < 0 || k >= m->n_tensors ? NULL : &m->tensors[k];
}

static void take_rows(neo_rt_network *n, int32_t edge, int32_t node, const char *name) {
  const neo_rt_tensor *t = tensor_of(n, node, name);
  if (t && !n->rows[edge].model)
    n->rows[edge] =
        (neo_rti_net_rows){.model = n->net->actors[n->net->nodes[node].actor].model, .tensor = t};
}

static void find_rows(neo_rt_network *n, int32_t edge) {
  const neo_rt_net_edge *e = &n->net->edges[edge];
  const neo_rt_net_port *from = &n->net->ports[n->net->nodes[e->from].out + e->from_port];
  const neo_rt_net_port *to = &n->net->ports[n->net->nodes[e->to].in + e->to_port];
  take_rows(n, edge, e->to, to->value);
  take_rows(n, edge, e->to, to->back);
  take_rows(n, edge, e->from, from->value);
  take_rows(n, edge, e->from, from->back);
}

/* A Bcast has the rows of any of its edges on all. */
static bool share_rows_of(neo_rt_network *n, const neo_rt_net_node *x) {
  neo_rti_net_rows *in = &n->rows[n->net->ports[x->in].edge];
  bool more = false;
  for (int32_t k = 0; k < x->n_out && !in->model; k++) {
    *in = n->rows[n->net->ports[x->out + k].edge];
    more = more || in->model;
  }
  for (int32_t k = 0; k < x->n_out; k++) {
    neo_rti_net_rows *out = &n->rows[n->net->ports[x->out + k].edge];
    more = more || (in->model && !out->model);
    *out = *in;
  }
  return more;
}

/* Copies of copies have them, too. */
static void share_rows(neo_rt_network *n) {
  for (bool more = true; more;) {
    more = false;
    for (int32_t k = 0; k < n->net->n_nodes; k++)
      if (n->kind[k] == NEO_RTI_NET_BCAST)
        more = share_rows_of(n, &n->net->nodes[k]) || more;
  }
}

static neo_rt_status measure(neo_rt_network *n) {
  for (int32_t k = 0; k < n->net->n_edges; k++)
    find_rows(n, k);
  share_rows(n);
  for (int32_t k = 0; k < n->net->n_edges; k++) {
    neo_rti_net_rows *r = &n->rows[k];
    r->bytes = r->model ? neo_rti_most_bytes(r->model, r->tensor) : 0;
    if (r->bytes > INT64_MAX / 4)
      return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "%s: messages may have any size",
                              r->tensor->name);
  }
  return NEO_OK;
}

static void *zeros(size_t n, size_t size_bytes) {
  return calloc(n ? n : 1, size_bytes);
}

/* The same at a cache line. */
static void *aligned_zeros(size_t n, size_t size_bytes) {
  size_t bytes = (n ? n : 1) * size_bytes;
  void *p = aligned_alloc(NEO_PADDING_BYTES,
                          (bytes + NEO_PADDING_BYTES - 1) / NEO_PADDING_BYTES * NEO_PADDING_BYTES);
  return p ? memset(p, 0, bytes) : NULL;
}

static bool rows_of_seen(neo_rt_network *n) {
  bool good = true;
  for (int32_t k = 0; k < n->net->n_actors; k++) {
    const neo_rt_net_actor *a = &n->net->actors[k];
    for (int32_t j = 0; j < a->n_seen; j++) {
      const neo_rt_net_seen *s = &n->net->seen[a->seen + j];
      const neo_rt_tensor *t = tensor_of(n, s->node, s->from);
      int64_t bytes = t ? neo_rti_most_bytes(a->model, t) : 0;
      good = (n->seen[a->seen + j] = zeros((size_t)bytes, 1)) != NULL && good;
    }
  }
  return good;
}

/* ---- payloads */

/* Edges out of a Bcast share the payload of the edge into it. */
static bool is_shared(const neo_rt_network *n, const neo_rt_net_edge *e) {
  return n->kind[e->from] == NEO_RTI_NET_BCAST;
}

static void add_buffer(neo_rt_network *n, neo_rti_net_place place, int32_t which,
                       neo_rti_net_rows rows) {
  n->buffer[n->n_buffers++] = (neo_rti_net_buffer){place, which, rows};
}

/* Is it what an out port sends? */
static bool is_payload(const neo_rt_network *n, const neo_rt_net_node *x, const char *name) {
  bool is = false;
  for (int32_t k = x->out; k < x->out + x->n_out && !is; k++)
    is = n->net->ports[k].value && strcmp(n->net->ports[k].value, name) == 0;
  return is;
}

static void list_stash(neo_rt_network *n, int32_t node) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  for (int32_t k = x->stash; k < x->stash + x->n_stash; k++) {
    const neo_rt_tensor *t = tensor_of(n, node, n->net->stashes[k].from);
    if (!t || is_payload(n, x, n->net->stashes[k].from))
      continue;
    const neo_rt_model *m = n->net->actors[x->actor].model;
    add_buffer(n, NEO_RTI_NET_STASH, k, (neo_rti_net_rows){m, t, neo_rti_most_bytes(m, t)});
  }
}

static void list_buffers(neo_rt_network *n) {
  for (int32_t k = 0; k < n->net->n_edges; k++) {
    const neo_rt_net_edge *e = &n->net->edges[k];
    const neo_rt_net_node *from = &n->net->nodes[e->from];
    if (!is_shared(n, e))
      add_buffer(n, NEO_RTI_NET_VALUE, k, n->rows[k]);
    if (n->net->ports[from->out + e->from_port].gradient)
      add_buffer(n, NEO_RTI_NET_BACK, k, n->rows[k]);
  }
  for (int32_t k = 0; k < n->net->n_nodes; k++)
    list_stash(n, k);
}

/* Bytes of an instance at the largest sizes. */
static int64_t largest_need(const neo_rt_network *n) {
  int64_t bytes = 0;
  for (int32_t k = 0; k < n->n_buffers; k++) {
    int64_t own = n->buffer[k].rows.bytes;
    if (own > INT64_MAX / 4 || __builtin_add_overflow(bytes, neo_rti_round_up(own), &bytes))
      return INT64_MAX;
  }
  return bytes;
}

static neo_rt_status allocate_payloads(neo_rt_network *n) {
  int64_t one = largest_need(n), all;
  if (!neo_rti_mul(one, n->keys, &all))
    all = INT64_MAX;
  if (n->config.bytes && n->config.bytes < one)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY,
                            "%lld bytes for messages are not enough: one instance may need %lld",
                            (long long)n->config.bytes, (long long)one);
  n->memory_bytes = n->config.bytes ? n->config.bytes : all;
  if (all > INT64_MAX / 2 && !n->config.bytes)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "the messages of %d keys have too many bytes",
                            (int)n->keys);
  n->raw = zeros((size_t)n->memory_bytes + NEO_RTI_ALIGN, 1);
  if (!n->raw)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for the messages of %d keys: %lld bytes",
                            (int)n->keys, (long long)n->memory_bytes);
  uintptr_t at = ((uintptr_t)n->raw + NEO_RTI_ALIGN - 1) & ~(uintptr_t)(NEO_RTI_ALIGN - 1);
  n->memory = (unsigned char *)at;
  return NEO_OK;
}

/* ---- slots */

static bool allocate_slot(neo_rt_network *n, int32_t slot) {
  neo_rti_net_slot *s = &n->slot[slot];
  size_t nodes = (size_t)n->net->n_nodes, edges = (size_t)n->net->n_edges;
  bool good = (s->sizes = zeros((size_t)n->net->n_sizes, sizeof *s->sizes)) != NULL;
  good = (s->n_in = zeros(nodes, sizeof *s->n_in)) != NULL && good;
  good = (s->n_back = zeros(nodes, sizeof *s->n_back)) != NULL && good;
  good = (s->version = zeros(nodes, sizeof *s->version)) != NULL && good;
  good = (s->value = zeros(edges, sizeof *s->value)) != NULL && good;
  good = (s->back = zeros(edges, sizeof *s->back)) != NULL && good;
  good = (s->stash = zeros((size_t)n->net->n_stashes, sizeof *s->stash)) != NULL && good;
  good = (s->task = zeros(2 * nodes, sizeof *s->task)) != NULL && good;
  for (int32_t k = 0; k < 2 * n->net->n_nodes && good; k++)
    s->task[k] = (neo_rti_net_task){.node = k / 2, .slot = slot, .back = k % 2};
  n->unused[slot] = n->keys - 1 - slot; /* a stack: slot 0 is on top */
  return good;
}

/* ---- actors */

static int64_t most(const neo_rt_network *n, int32_t actor, bool args) {
  const neo_rt_model *m = n->net->actors[actor].model;
  int64_t found = 1;
  for (int32_t e = 0; e < m->n_entries; e++) {
    int64_t x = args ? m->entries[e].n_args : m->entries[e].n_sizes;
    found = x > found ? x : found;
  }
  return found;
}

static bool allocate_frame(neo_rt_network *n, int32_t actor) {
  neo_rti_net_frame *f = &n->frame[actor];
  bool good = (f->sizes = zeros((size_t)most(n, actor, false), sizeof *f->sizes)) != NULL;
  good = (f->args = zeros((size_t)most(n, actor, true), sizeof *f->args)) != NULL && good;
  f->of_instance = zeros((size_t)n->net->n_sizes, sizeof *f->of_instance);
  return good && f->of_instance;
}

static bool allocate_mailboxes(neo_rt_network *n) {
  size_t actors = (size_t)n->net->n_actors;
  if (!n->config.workers)
    return true;
  n->mailbox = aligned_zeros(actors, sizeof *n->mailbox);
  bool good = n->mailbox != NULL;
  for (int32_t k = 0; k < n->net->n_actors && good; k++) {
    size_t nodes = 0;
    for (int32_t j = 0; j < n->net->n_nodes; j++)
      nodes += n->net->nodes[j].actor == k;
    good = neo_rti_mailbox_open(&n->mailbox[k], 2 * nodes * (size_t)n->keys);
  }
  return good;
}

static bool allocate_tables(neo_rt_network *n) {
  size_t nodes = (size_t)n->net->n_nodes, actors = (size_t)n->net->n_actors;
  size_t edges = (size_t)n->net->n_edges, keys = (size_t)n->keys;
  size_t stashes = (size_t)n->net->n_stashes;
  bool good = (n->ctx = zeros(actors, sizeof *n->ctx)) != NULL;
  good = (n->arena = zeros(actors, sizeof *n->arena)) != NULL && good;
  good = (n->frame = zeros(actors, sizeof *n->frame)) != NULL && good;
  good = (n->updates = zeros(actors, sizeof *n->updates)) != NULL && good;
  good = (n->update = zeros(actors, sizeof *n->update)) != NULL && good;
  good = (n->answered = zeros(nodes, sizeof *n->answered)) != NULL && good;
  good = (n->forward = zeros(nodes, sizeof *n->forward)) != NULL && good;
  good = (n->backward = zeros(nodes, sizeof *n->backward)) != NULL && good;
  good = (n->first = zeros(nodes, sizeof *n->first)) != NULL && good;
  good = (n->test = zeros(nodes, sizeof *n->test)) != NULL && good;
  good = (n->apply = zeros(nodes, sizeof *n->apply)) != NULL && good;
  good = (n->loss_type = zeros(nodes, sizeof *n->loss_type)) != NULL && good;
  good = (n->count = aligned_zeros(nodes, sizeof *n->count)) != NULL && good;
  good = (n->counted = zeros(nodes, sizeof *n->counted)) != NULL && good;
  good = (n->rows = zeros(edges, sizeof *n->rows)) != NULL && good;
  good = (n->buffer = zeros(2 * edges + stashes, sizeof *n->buffer)) != NULL && good;
  good = (n->input = zeros((size_t)n->net->nodes[0].n_out, sizeof *n->input)) != NULL && good;
  good = (n->seen = zeros((size_t)n->net->n_seen, sizeof *n->seen)) != NULL && good;
  good = (n->slot = zeros(keys, sizeof *n->slot)) != NULL && good;
  good = (n->unused = zeros(keys, sizeof *n->unused)) != NULL && good;
  good = (n->placed = zeros(keys, sizeof *n->placed)) != NULL && good;
  n->queue_room = 2 * (int64_t)n->keys * n->net->n_edges;
  return (n->queue = zeros((size_t)n->queue_room, sizeof *n->queue)) != NULL && good;
}

neo_rt_status neo_rti_net_allocate(neo_rt_network *n) {
  bool good = (n->news = aligned_zeros(1, sizeof *n->news)) != NULL && allocate_tables(n);
  neo_rt_status status = good ? measure(n) : NEO_OK;
  if (status)
    return status;
  good = good && rows_of_seen(n) && allocate_mailboxes(n);
  for (int32_t k = 0; k < n->net->n_actors && good; k++)
    good = allocate_frame(n, k);
  for (int32_t k = 0; k < n->keys && good; k++)
    good = allocate_slot(n, k);
  if (!good)
    return neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for a network of %d keys", (int)n->keys);
  list_buffers(n);
  return allocate_payloads(n);
}

/* ---- the end */

static void free_slot(neo_rti_net_slot *s) {
  void *all[] = {s->sizes, s->n_in, s->n_back, s->version, s->value, s->back, s->stash, s->task};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    free(all[k]);
}

static void free_calls(neo_rti_net_call *calls, int32_t n) {
  for (int32_t k = 0; calls && k < n; k++)
    free(calls[k].arg);
  free(calls);
}

static void free_actor(neo_rt_network *n, int32_t k) {
  if (n->ctx && n->ctx[k])
    neo_rt_destroy(n->ctx[k]);
  if (n->arena)
    free(n->arena[k]);
  if (n->frame) {
    free(n->frame[k].sizes);
    free(n->frame[k].args);
    free(n->frame[k].of_instance);
  }
  if (n->mailbox)
    free(n->mailbox[k].heap);
}

void neo_rti_net_free(neo_rt_network *n) {
  for (int32_t k = 0; n->slot && k < n->keys; k++)
    free_slot(&n->slot[k]);
  for (int32_t k = 0; n->seen && k < n->net->n_seen; k++)
    free(n->seen[k]);
  for (int32_t k = 0; k < n->net->n_actors; k++)
    free_actor(n, k);
  free_calls(n->forward, n->net->n_nodes);
  free_calls(n->backward, n->net->n_nodes);
  free_calls(n->first, n->net->n_nodes);
  free_calls(n->test, n->net->n_nodes);
  free_calls(n->apply, n->net->n_nodes);
  free_calls(n->update, n->net->n_actors);
  if (n->whole)
    neo_rt_destroy(n->whole);
  void *all[] = {n->kind,      n->ctx,    n->arena,   n->frame,  n->updates, n->answered, n->rows,
                 n->loss_type, n->count,  n->counted, n->buffer, n->input,   n->seen,     n->slot,
                 n->unused,    n->placed, n->raw,     n->queue,  n->mailbox, n->news,     n->value};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    free(all[k]);
  free(n);
}
