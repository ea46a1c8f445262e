/* network.c: a network from its making to its end, and its messages: the oldest first, on the
 * caller's thread. A node runs forward when all of its in ports have a message of an instance, and
 * backward when all of its out ports have their answers. */
#include "base/clock.h"
#include "runtime/net/devices.h"
#include <stdlib.h>
#include <string.h>

/* ---- making */

static neo_rt_status open_actor(neo_rt_network *n, int32_t k) {
  const neo_rt_model *m = n->net->actors[k].model;
  int64_t bytes = neo_rt_arena_size(m, 1);
  size_t room = bytes < 0 ? 0 : ((size_t)bytes + NEO_RTI_ALIGN) / NEO_RTI_ALIGN * NEO_RTI_ALIGN;
  n->arena[k] = bytes < 0 ? NULL : aligned_alloc(NEO_RTI_ALIGN, room + NEO_RTI_ALIGN);
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

static neo_rt_status open_all(neo_rt_network *n, const neo_rt_net_devices *devices) {
  if (n->net->abi != NEO_RT_NET_ABI)
    return neo_rti_net_fail(n, NEO_RT_E_ABI, "made for version %u of networks, this is %u",
                            (unsigned)n->net->abi, (unsigned)NEO_RT_NET_ABI);
  neo_rt_status status = neo_rti_net_find_kinds(n);
  status = status ? status : neo_rti_net_allocate(n);
  for (int32_t k = 0; k < n->net->n_actors && !status; k++)
    status = open_actor(n, k);
  status = status ? status : neo_rti_net_bind(n);
  return status ? status : neo_rti_devices_open(n, devices);
}

neo_rt_status neo_rt_net_create(const neo_rt_net *net, const neo_rt_net_config *config,
                                neo_rt_network **out, char *error, size_t error_bytes) {
  neo_rt_net_config c = config ? *config : (neo_rt_net_config){0};
  neo_rt_network *n = calloc(1, sizeof *n);
  *out = NULL;
  if (!n)
    return NEO_RT_E_MEMORY;
  n->net = net;
  n->keys = c.keys > 0 ? c.keys : 1;
  n->every = c.every > 0 ? c.every : 1;
  n->seed = c.seed;
  neo_rt_status status = open_all(n, c.devices);
  if (!status) {
    *out = n;
    return NEO_OK;
  }
  if (error && error_bytes)
    snprintf(error, error_bytes, "%s", n->error);
  neo_rti_net_free(n);
  return status;
}

void neo_rt_net_destroy(neo_rt_network *n) {
  if (n)
    neo_rti_net_free(n);
}

neo_rt_ctx *neo_rt_net_context(neo_rt_network *n, int32_t actor) {
  return actor >= 0 && actor < n->net->n_actors ? n->ctx[actor] : NULL;
}

const char *neo_rt_net_error(const neo_rt_network *n) {
  return n->error;
}

/* ---- entries */

static void *address(neo_rt_network *n, const neo_rti_net_slot *s, neo_rti_net_place place,
                     int32_t which) {
  switch (place) {
  case NEO_RTI_NET_VALUE:
    return s->value[which];
  case NEO_RTI_NET_BACK:
    return s->back[which];
  case NEO_RTI_NET_WEIGHT:
    return &n->weight;
  case NEO_RTI_NET_LOSS:
    return n->loss_place;
  case NEO_RTI_NET_SEEN:
    return n->seen[which];
  case NEO_RTI_NET_NOWHERE:
    break;
  }
  return NULL;
}

/* The sizes of the slot (null: none) are those of the call; rand() and `step` go by `number`. */
static neo_rt_status call_now(neo_rt_network *n, int32_t actor, const neo_rti_net_call *c,
                              const neo_rti_net_slot *s, uint64_t number) {
  neo_rt_ctx *ctx = n->ctx[actor];
  if (c->entry < 0)
    return NEO_OK;
  const neo_rt_entry *e = &ctx->model->entries[c->entry];
  for (int32_t k = 0; k < e->n_sizes; k++) {
    int32_t size = ctx->model->entry_sizes[e->sizes + k];
    n->call_sizes[k] = s && size < n->net->n_sizes ? s->sizes[size] : ctx->model->sizes[size].hi;
  }
  for (int32_t k = 0; k < c->n; k++)
    n->call_args[k] = address(n, s, c->arg[k].place, c->arg[k].which);
  n->weight = s ? (float)s->weight : 0;
  neo_rt_status status = neo_rt_seek(ctx, n->seed, number);
  if (!status)
    status = neo_rt_call(ctx, c->entry, n->call_sizes, n->call_args);
  return status ? neo_rti_net_fail(n, status, "%s: %s", ctx->model->name, neo_rt_error(ctx))
                : NEO_OK;
}

/* The same; simulated devices are told how long it took. */
static neo_rt_status call(neo_rt_network *n, int32_t node, int32_t part, const neo_rti_net_call *c,
                          const neo_rti_net_slot *s, uint64_t number) {
  double start = n->devices ? neo_now_s() : 0;
  neo_rt_status status = call_now(n, n->net->nodes[node].actor, c, s, number);
  if (n->devices && c->entry >= 0)
    neo_rti_devices_charge(n, node, part, s, neo_now_s() - start);
  return status;
}

/* ---- updates */

static int32_t least_answered(const neo_rt_network *n, int32_t actor) {
  int32_t least = INT32_MAX;
  for (int32_t k = 0; k < n->net->n_nodes; k++)
    if (n->net->nodes[k].actor == actor && n->answered[k] < least)
      least = n->answered[k];
  return least;
}

static neo_rt_status update(neo_rt_network *n, int32_t actor, const neo_rti_net_slot *s) {
  int32_t node = 0;
  for (int32_t k = n->net->n_nodes - 1; k >= 0; k--)
    if (n->net->nodes[k].actor == actor)
      n->answered[node = k] = 0;
  return call(n, node, NEO_RT_NET_UPDATE, &n->update[actor], s, n->updates[actor]++);
}

/* An update that reads values of an instance follows each. */
static neo_rt_status count(neo_rt_network *n, int32_t node, const neo_rti_net_slot *s) {
  int32_t actor = n->net->nodes[node].actor;
  int32_t every = n->net->actors[actor].n_seen ? 1 : n->every;
  n->answered[node]++;
  return least_answered(n, actor) < every ? NEO_OK : update(n, actor, s);
}

/* ---- messages */

static void post(neo_rt_network *n, int32_t edge, int32_t slot, bool back) {
  neo_rti_net_message m = {edge, slot, back};
  if (n->devices)
    neo_rti_devices_post(n, m);
  else
    n->queue[(n->queue_first + n->queue_n++) % n->queue_room] = m;
}

static neo_rti_net_message take(neo_rt_network *n) {
  neo_rti_net_message m = n->queue[n->queue_first];
  n->queue_first = (n->queue_first + 1) % n->queue_room;
  n->queue_n--;
  return m;
}

static void post_ports(neo_rt_network *n, int32_t first, int32_t n_ports, int32_t slot, bool back) {
  for (int32_t k = 0; k < n_ports; k++)
    post(n, n->net->ports[first + k].edge, slot, back);
}

/* ---- nodes */

static double loss_value(const neo_rt_network *n, const neo_rt_net_node *x) {
  const neo_rt_model *m = n->net->actors[x->actor].model;
  int32_t t = neo_rt_find(m, x->loss);
  double value = 0;
  if (t >= 0)
    neo_rti_convert(m->tensors[t].type, n->loss_place, NEO_RT_F64, &value, 1);
  return value;
}

static neo_rt_status answer(neo_rt_network *n, int32_t node, int32_t slot) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  post_ports(n, x->in, x->n_in, slot, true);
  return count(n, node, &n->slot[slot]);
}

static neo_rt_status forward(neo_rt_network *n, int32_t node, int32_t slot) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  neo_rti_net_slot *s = &n->slot[slot];
  neo_rt_status status = call(n, node, NEO_RT_NET_FORWARD, &n->forward[node], s, s->number);
  if (status)
    return status;
  if (x->loss)
    s->loss = loss_value(n, x);
  post_ports(n, x->out, x->n_out, slot, false);
  return x->n_out ? NEO_OK : answer(n, node, slot);
}

static neo_rt_status backward(neo_rt_network *n, int32_t node, int32_t slot) {
  neo_rti_net_slot *s = &n->slot[slot];
  neo_rt_status status = call(n, node, NEO_RT_NET_BACKWARD, &n->backward[node], s, s->number);
  return status ? status : answer(n, node, slot);
}

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

/* The sum of the answers of a Bcast's readers, each addition rounded to the type. */
static void add_answers(neo_rt_network *n, const neo_rt_net_node *x, int32_t slot) {
  const neo_rti_net_slot *s = &n->slot[slot];
  int32_t in = n->net->ports[x->in].edge;
  const neo_rti_net_rows *r = &n->rows[in];
  int64_t elements = neo_rti_net_elements(r, s->sizes);
  bool first = true;
  for (int32_t k = 0; k < x->n_out && s->back[in] && r->model; k++) {
    const void *from = s->back[n->net->ports[x->out + k].edge];
    if (!from)
      continue;
    if (first)
      memcpy(s->back[in], from, (size_t)elements * neo_rti_type_bytes(r->tensor->type));
    else
      add_rows(r->tensor->type, s->back[in], from, elements);
    first = false;
  }
  post(n, in, slot, true);
}

static void finish(neo_rt_network *n, int32_t slot) {
  neo_rti_net_slot *s = &n->slot[slot];
  n->loss_sum += s->weight * s->loss;
  n->loss_weight += s->weight;
  s->busy = false;
  n->on_their_way--;
}

neo_rt_status neo_rti_net_run(neo_rt_network *n, int32_t node, int32_t slot, bool back) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  switch (n->kind[node]) {
  case NEO_RTI_NET_CONTROLLER:
    finish(n, slot);
    return NEO_OK;
  case NEO_RTI_NET_ACTOR:
    return back ? backward(n, node, slot) : forward(n, node, slot);
  case NEO_RTI_NET_BCAST:
    if (back)
      add_answers(n, x, slot);
    else
      post_ports(n, x->out, x->n_out, slot, false);
    return NEO_OK;
  case NEO_RTI_NET_UNKNOWN:
    break;
  }
  return neo_rti_net_fail(n, NEO_RT_E_INTERNAL, "node %d has no kind", node);
}

int32_t neo_rti_net_receive(neo_rt_network *n, neo_rti_net_message m) {
  const neo_rt_net_edge *e = &n->net->edges[m.edge];
  int32_t node = m.back ? e->from : e->to;
  const neo_rt_net_node *x = &n->net->nodes[node];
  neo_rti_net_slot *s = &n->slot[m.slot];
  bool all = m.back ? ++s->n_back[node] == x->n_out : ++s->n_in[node] == x->n_in;
  return all ? node : -1;
}

static bool messages_are_left(const neo_rt_network *n) {
  return n->devices ? neo_rti_devices_pending(n) : n->queue_n > 0;
}

static neo_rt_status deliver(neo_rt_network *n) {
  if (n->devices)
    return neo_rti_devices_step(n);
  neo_rti_net_message m = take(n);
  int32_t node = neo_rti_net_receive(n, m);
  return node < 0 ? NEO_OK : neo_rti_net_run(n, node, m.slot, m.back);
}

/* ---- from outside */

static void begin(neo_rt_network *n, int32_t slot, const neo_rt_net_instance *x) {
  neo_rti_net_slot *s = &n->slot[slot];
  const neo_rt_net_node *from = &n->net->nodes[0];
  s->busy = true;
  s->number = n->sent++;
  s->weight = x->weight;
  memset(s->n_in, 0, (size_t)n->net->n_nodes * sizeof *s->n_in);
  memset(s->n_back, 0, (size_t)n->net->n_nodes * sizeof *s->n_back);
  if (n->net->n_sizes)
    memcpy(s->sizes, x->sizes, (size_t)n->net->n_sizes * sizeof *s->sizes);
  for (int32_t k = 0; k < from->n_out; k++) {
    const neo_rt_net_port *p = &n->net->ports[from->out + k];
    const neo_rti_net_rows *r = &n->rows[p->edge];
    int32_t input = 0;
    while (p->name && input < n->net->n_inputs && strcmp(n->net->inputs[input], p->name) != 0)
      input++;
    if (p->name && r->model && input < n->net->n_inputs)
      memcpy(s->value[p->edge], x->inputs[input],
             (size_t)neo_rti_net_elements(r, s->sizes) * neo_rti_type_bytes(r->tensor->type));
  }
  n->on_their_way++;
  post_ports(n, from->out, from->n_out, slot, false);
}

/* Sizes and pointers are checked before rows are copied; the call of an entry checks what the rows
 * hold. */
static neo_rt_status check(neo_rt_network *n, const neo_rt_net_instance *x) {
  const neo_rt_model *m = n->net->actors[0].model;
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

neo_rt_status neo_rt_net_send(neo_rt_network *n, const neo_rt_net_instance *x) {
  int32_t slot = 0;
  if (n->failed)
    return NEO_RT_E_STATE;
  neo_rt_status status = check(n, x);
  if (status)
    return status;
  while (n->slot[slot].busy)
    slot++;
  begin(n, slot, x);
  while (n->on_their_way == n->keys && !status)
    status = deliver(n);
  return status;
}

neo_rt_status neo_rt_net_wait(neo_rt_network *n, double *loss) {
  neo_rt_status status = n->failed ? NEO_RT_E_STATE : NEO_OK;
  while (messages_are_left(n) && !status)
    status = deliver(n);
  if (!status && n->on_their_way)
    status =
        neo_rti_net_fail(n, NEO_RT_E_INTERNAL, "%d instances have not come back", n->on_their_way);
  for (int32_t k = 0; k < n->net->n_actors && !status; k++)
    if (least_answered(n, k))
      status = update(n, k, NULL);
  if (n->devices)
    neo_rti_devices_meet(n);
  if (loss)
    *loss = n->loss_sum / n->loss_weight;
  n->loss_sum = n->loss_weight = 0;
  return status;
}
