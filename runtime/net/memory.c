/* memory.c: the memory of a network. Edges out of a Bcast share the buffer of the edge into it. */
#include "runtime/net/devices.h"
#include <stdlib.h>

int64_t neo_rti_net_elements(const neo_rti_net_rows *r, const int64_t *sizes) {
  int64_t extent[NEO_RTI_MAX_RANK];
  return r->model ? neo_rti_extents(r->model, r->tensor, sizes, extent) : 0;
}

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
static void share_rows(neo_rt_network *n) {
  for (int32_t k = 0; k < n->net->n_nodes; k++) {
    const neo_rt_net_node *x = &n->net->nodes[k];
    if (n->kind[k] != NEO_RTI_NET_BCAST)
      continue;
    neo_rti_net_rows *in = &n->rows[n->net->ports[x->in].edge];
    for (int32_t j = 0; j < x->n_out && !in->model; j++)
      *in = n->rows[n->net->ports[x->out + j].edge];
    for (int32_t j = 0; j < x->n_out; j++)
      n->rows[n->net->ports[x->out + j].edge] = *in;
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

/* Is the buffer of this edge that of the edge into its node? */
static bool is_shared(const neo_rt_network *n, const neo_rt_net_edge *e) {
  return n->kind[e->from] == NEO_RTI_NET_BCAST;
}

static bool allocate_slot(neo_rt_network *n, neo_rti_net_slot *s) {
  size_t nodes = (size_t)n->net->n_nodes, edges = (size_t)n->net->n_edges;
  bool good = (s->sizes = zeros((size_t)n->net->n_sizes, sizeof *s->sizes)) != NULL;
  good = (s->n_in = zeros(nodes, sizeof *s->n_in)) != NULL && good;
  good = (s->n_back = zeros(nodes, sizeof *s->n_back)) != NULL && good;
  good = (s->value = zeros(edges, sizeof *s->value)) != NULL && good;
  good = (s->back = zeros(edges, sizeof *s->back)) != NULL && good;
  for (size_t k = 0; k < edges && good; k++) {
    const neo_rt_net_edge *e = &n->net->edges[k];
    const neo_rt_net_node *from = &n->net->nodes[e->from];
    size_t bytes = (size_t)n->rows[k].bytes;
    if (!is_shared(n, e))
      good = (s->value[k] = zeros(bytes, 1)) != NULL;
    if (good && n->net->ports[from->out + e->from_port].gradient)
      good = (s->back[k] = zeros(bytes, 1)) != NULL;
  }
  for (size_t k = 0; k < edges && good; k++) {
    const neo_rt_net_edge *e = &n->net->edges[k];
    if (is_shared(n, e))
      s->value[k] = s->value[n->net->ports[n->net->nodes[e->from].in].edge];
  }
  return good;
}

static int64_t most(const neo_rt_network *n, bool args) {
  int64_t found = 1;
  for (int32_t k = 0; k < n->net->n_actors; k++) {
    const neo_rt_model *m = n->net->actors[k].model;
    for (int32_t e = 0; e < m->n_entries; e++) {
      int64_t x = args ? m->entries[e].n_args : m->entries[e].n_sizes;
      found = x > found ? x : found;
    }
  }
  return found;
}

neo_rt_status neo_rti_net_allocate(neo_rt_network *n) {
  size_t nodes = (size_t)n->net->n_nodes, actors = (size_t)n->net->n_actors;
  bool good = (n->ctx = zeros(actors, sizeof *n->ctx)) != NULL;
  good = (n->arena = zeros(actors, sizeof *n->arena)) != NULL && good;
  good = (n->updates = zeros(actors, sizeof *n->updates)) != NULL && good;
  good = (n->update = zeros(actors, sizeof *n->update)) != NULL && good;
  good = (n->answered = zeros(nodes, sizeof *n->answered)) != NULL && good;
  good = (n->forward = zeros(nodes, sizeof *n->forward)) != NULL && good;
  good = (n->backward = zeros(nodes, sizeof *n->backward)) != NULL && good;
  good = (n->rows = zeros((size_t)n->net->n_edges, sizeof *n->rows)) != NULL && good;
  good = (n->seen = zeros((size_t)n->net->n_seen, sizeof *n->seen)) != NULL && good;
  good = (n->slot = zeros((size_t)n->keys, sizeof *n->slot)) != NULL && good;
  n->queue_room = 2 * (int64_t)n->keys * n->net->n_edges;
  good = (n->queue = zeros((size_t)n->queue_room, sizeof *n->queue)) != NULL && good;
  good = (n->call_sizes = zeros((size_t)most(n, false), sizeof *n->call_sizes)) != NULL && good;
  good = (n->call_args = zeros((size_t)most(n, true), sizeof *n->call_args)) != NULL && good;
  neo_rt_status status = good ? measure(n) : NEO_RT_E_MEMORY;
  if (status)
    return status;
  good = rows_of_seen(n);
  for (int32_t k = 0; k < n->keys && good; k++)
    good = allocate_slot(n, &n->slot[k]);
  return good ? NEO_OK
              : neo_rti_net_fail(n, NEO_RT_E_MEMORY, "no memory for the messages of %d keys",
                                 n->keys);
}

static void free_slot(const neo_rt_network *n, neo_rti_net_slot *s) {
  for (int32_t k = 0; k < n->net->n_edges; k++) {
    if (s->value && !is_shared(n, &n->net->edges[k]))
      free(s->value[k]);
    if (s->back)
      free(s->back[k]);
  }
  free(s->sizes);
  free(s->n_in);
  free(s->n_back);
  free(s->value);
  free(s->back);
}

static void free_calls(neo_rti_net_call *calls, int32_t n) {
  for (int32_t k = 0; calls && k < n; k++)
    free(calls[k].arg);
  free(calls);
}

void neo_rti_net_free(neo_rt_network *n) {
  for (int32_t k = 0; n->slot && k < n->keys; k++)
    free_slot(n, &n->slot[k]);
  for (int32_t k = 0; n->seen && k < n->net->n_seen; k++)
    free(n->seen[k]);
  for (int32_t k = 0; k < n->net->n_actors; k++) {
    if (n->ctx && n->ctx[k])
      neo_rt_destroy(n->ctx[k]);
    if (n->arena)
      free(n->arena[k]);
  }
  neo_rti_devices_free(n->devices, n->net->n_nodes);
  free_calls(n->forward, n->net->n_nodes);
  free_calls(n->backward, n->net->n_nodes);
  free_calls(n->update, n->net->n_actors);
  free(n->kind);
  free(n->ctx);
  free(n->arena);
  free(n->updates);
  free(n->answered);
  free(n->rows);
  free(n->seen);
  free(n->slot);
  free(n->queue);
  free(n->call_sizes);
  free(n->call_args);
  free(n);
}
