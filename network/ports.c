/* Nodes, ports and edges, from classes of definitions.
 *
 * A tensor of one class that one other class reads is an edge. One that several read goes through a
 * Bcast, whose backward pass adds up the answers. The controller has a port for each input of each
 * node, as nothing comes back for inputs; a node that reads nothing gets an empty message, which
 * starts it.
 *
 * An answer has a payload if a gradient flows through the tensor, and on from its reader to the
 * loss. */
#include "network/parts.h"

typedef struct { /* a tensor that a class makes, and the other classes that read it */
  neo_tensor tensor;
  uint32_t from;
  NEO_VEC(uint32_t) to;
} flow;

typedef struct {
  const neo_net_step *s;
  const neo_net_classes *c;
  neo_network *n;
  NEO_VEC(flow) flows; /* flows; inputs have `from` NEO_NET_NONE */
  neo_map flow_of;     /* tensor -> number in flows, plus 1 */
  bool *passes;        /* by class: a gradient flows through it */
} connector;

/* ---- flows */

static uint32_t maker(const connector *x, neo_tensor t) {
  neo_list pieces = neo_tensor_at(x->s->m, t)->pieces;
  uint32_t place = pieces.n ? x->s->place[neo_list_at(x->s->m, pieces, 0)] : 0;
  return place ? x->c->of[place - 1] : NEO_NET_NONE;
}

static void add_flow(connector *x, neo_tensor t, uint32_t to) {
  uint64_t k = x->flows.n;
  uint32_t from = maker(x, t);
  bool input = neo_tensor_at(x->s->m, t)->role == NEO_ROLE_INPUT;
  if (from == to || (from == NEO_NET_NONE && !input))
    return;
  if (!neo_map_get(&x->flow_of, t.i, &k)) {
    neo_map_set(&x->flow_of, t.i, k);
    NEO_PUSH(x->s->a, &x->flows, (flow){.tensor = t, .from = from});
  }
  flow *f = &x->flows.at[k];
  for (size_t i = 0; i < f->to.n; i++)
    if (f->to.at[i] == to)
      return;
  NEO_PUSH(x->s->a, &f->to, to);
}

static uint32_t first_class(const connector *x, const neo_net_owners *o, uint32_t actor) {
  uint32_t k = 0;
  while (k + 1 < x->c->n && o->of_class[k] != actor)
    k++;
  return k;
}

static void find_flows(connector *x, const neo_net_owners *o) {
  for (size_t k = 0; k < x->s->n_defs; k++) {
    neo_tensors read = neo_net_reads(x->s, x->s->defs[k]);
    for (size_t j = 0; j < read.n; j++)
      add_flow(x, read.at[j], x->c->of[k]);
  }
  for (size_t k = 0; k < x->s->needs.n; k++) { /* an input that the optimizer reads */
    neo_tensor state = neo_tensor_at(x->s->m, x->s->needs.at[k].update)->updates;
    if (neo_tensor_at(x->s->m, x->s->needs.at[k].tensor)->role == NEO_ROLE_INPUT)
      add_flow(x, x->s->needs.at[k].tensor, first_class(x, o, o->of_tensor[state.i]));
  }
}

static bool flows_to(const connector *x, const flow *f, uint32_t reader) {
  return x->s->gradient[f->tensor.i] && x->passes[reader];
}

static bool flows_back(const connector *x, const flow *f) {
  bool any = false;
  for (size_t k = 0; k < f->to.n; k++)
    any = any || flows_to(x, f, f->to.at[k]);
  return any;
}

/* Classes are numbered producers first. */
static void find_passes(connector *x) {
  x->passes = NEO_NEW_ARRAY(x->s->a, bool, x->c->n + 1);
  for (uint32_t c = x->c->n; c-- > 0;) {
    x->passes[c] = c == x->c->loss;
    for (size_t k = 0; k < x->flows.n && !x->passes[c]; k++)
      x->passes[c] = x->flows.at[k].from == c && flows_back(x, &x->flows.at[k]);
  }
}

/* ---- ports */

static uint32_t add_node(connector *x, neo_net_kind kind, uint32_t actor) {
  neo_net_node node = {.kind = (uint8_t)kind, .actor = actor};
  node.forward = node.backward = node.first = node.apply = node.test = NEO_NET_NONE;
  NEO_PUSH(x->n->arena, &x->n->nodes, node);
  return (uint32_t)x->n->nodes.n - 1;
}

static void add_edge(connector *x, uint32_t name, uint32_t from, uint32_t to, bool gradient) {
  neo_network *n = x->n;
  neo_net_port port = {.name = name, .gradient = gradient, .edge = (uint32_t)n->edges.n};
  neo_net_edge e = {from, (uint32_t)n->nodes.at[from].out.n, to, (uint32_t)n->nodes.at[to].in.n};
  NEO_PUSH(n->arena, &n->nodes.at[from].out, port);
  NEO_PUSH(n->arena, &n->nodes.at[to].in, port);
  NEO_PUSH(n->arena, &n->edges, e);
}

static void add_flow_edges(connector *x, const flow *f) {
  uint32_t name = neo_tensor_at(x->s->m, f->tensor)->name, from = 0;
  bool input = f->from == NEO_NET_NONE;
  if (!input)
    from = f->from + 1;
  if (!input && f->to.n > 1) {
    uint32_t copies = add_node(x, NEO_NET_BCAST, NEO_NET_NONE);
    add_edge(x, name, from, copies, flows_back(x, f));
    from = copies;
  }
  for (size_t k = 0; k < f->to.n; k++)
    add_edge(x, name, from, f->to.at[k] + 1, flows_to(x, f, f->to.at[k]));
}

/* By class: whether it reads what the step changes. */
static bool *find_owning(const connector *x, const neo_net_owners *o) {
  bool *owns = NEO_NEW_ARRAY(x->s->a, bool, x->c->n + 1);
  for (size_t k = 0; k < x->s->n_defs; k++) {
    neo_tensors read = neo_net_reads(x->s, x->s->defs[k]);
    for (size_t j = 0; j < read.n; j++)
      if (o->of_tensor[read.at[j].i] != NEO_NET_NONE)
        owns[x->c->of[k]] = true;
  }
  return owns;
}

void neo_net_connect(const neo_net_step *s, const neo_net_classes *c, const neo_net_owners *o,
                     neo_network *n) {
  connector x = {.s = s, .c = c, .n = n};
  neo_map_init(&x.flow_of, s->a);
  find_flows(&x, o);
  find_passes(&x);
  const bool *owns = find_owning(&x, o);
  add_node(&x, NEO_NET_CONTROLLER, NEO_NET_NONE);
  for (uint32_t k = 0; k < c->n; k++) {
    neo_net_kind kind = k == c->loss ? NEO_NET_LOSS : owns[k] ? NEO_NET_PPT : NEO_NET_NPT;
    uint32_t node = add_node(&x, kind, o->of_class[k]);
    n->nodes.at[node].additions = c->additions[k];
  }
  for (size_t k = 0; k < x.flows.n; k++)
    add_flow_edges(&x, &x.flows.at[k]);
  for (uint32_t k = 1; k <= c->n; k++)
    if (!n->nodes.at[k].in.n)
      add_edge(&x, 0, 0, k, false);
}
