/* The invariants of a network (network.h). */
#include "ir/order.h"
#include "network/network.h"

typedef struct {
  const neo_network *n;
  neo_str *why;
} verifier;

static bool fail(const verifier *v, const char *what, uint32_t number, const char *text) {
  neo_str_addf(v->why, "%s %u: %s", what, number, text);
  return false;
}

static const neo_module *module_of(const verifier *v, const neo_net_node *node) {
  return node->actor == NEO_NET_NONE ? NULL : v->n->actors.at[node->actor].module;
}

static bool has_role(const neo_module *m, neo_tensor t, neo_role role) {
  return t.i && t.i < m->tensors.n && neo_tensor_at(m, t)->role == role;
}

/* ---- edges */

static const neo_net_port *end_of(const verifier *v, const neo_net_edge *e, bool to) {
  uint32_t node = to ? e->to : e->from, port = to ? e->to_port : e->from_port;
  if (node >= v->n->nodes.n)
    return NULL;
  const neo_net_ports *p = to ? &v->n->nodes.at[node].in : &v->n->nodes.at[node].out;
  return port < p->n ? &p->at[port] : NULL;
}

static bool same_shape(const verifier *v, const neo_net_edge *e) {
  const neo_module *a = module_of(v, &v->n->nodes.at[e->from]);
  const neo_module *b = module_of(v, &v->n->nodes.at[e->to]);
  neo_tensor x = end_of(v, e, false)->value, y = end_of(v, e, true)->value;
  return !a || !b ||
         (neo_tensor_type(a, x) == neo_tensor_type(b, y) &&
          neo_tensor_rank(a, x) == neo_tensor_rank(b, y));
}

static bool check_edge(const verifier *v, uint32_t k) {
  const neo_net_edge *e = &v->n->edges.at[k];
  const neo_net_port *from = end_of(v, e, false), *to = end_of(v, e, true);
  if (!from || !to)
    return fail(v, "edge", k, "an end does not exist");
  if (from->edge != k || to->edge != k)
    return fail(v, "edge", k, "a port has another edge");
  if (from->name != to->name || from->gradient != to->gradient)
    return fail(v, "edge", k, "its ports carry different things");
  return same_shape(v, e) || fail(v, "edge", k, "its ends differ in type or rank");
}

/* ---- nodes */

static bool check_in(const verifier *v, uint32_t k, const neo_net_port *p) {
  const neo_module *m = module_of(v, &v->n->nodes.at[k]);
  if (p->edge >= v->n->edges.n || v->n->edges.at[p->edge].to != k)
    return fail(v, "node", k, "an in port has no edge");
  if (!m)
    return true;
  if (p->name && !has_role(m, p->value, NEO_ROLE_INPUT))
    return fail(v, "node", k, "an in port is no input");
  if (p->gradient && !has_role(m, p->back, NEO_ROLE_TEMP))
    return fail(v, "node", k, "an in port has no adjoint");
  return true;
}

static bool check_out(const verifier *v, uint32_t k, const neo_net_port *p) {
  const neo_module *m = module_of(v, &v->n->nodes.at[k]);
  if (p->edge >= v->n->edges.n || v->n->edges.at[p->edge].from != k)
    return fail(v, "node", k, "an out port has no edge");
  if (!m)
    return true;
  if (!p->value.i || p->value.i >= m->tensors.n)
    return fail(v, "node", k, "an out port has no tensor");
  if (p->gradient && !has_role(m, p->back, NEO_ROLE_INPUT))
    return fail(v, "node", k, "an out port does not take its adjoint");
  return true;
}

static bool returns(const neo_module *m, uint32_t entry, neo_tensor t) {
  neo_list outputs = m->entries.at[entry].outputs;
  for (uint32_t k = 0; k < outputs.n; k++)
    if (neo_list_at(m, outputs, k) == t.i)
      return true;
  return false;
}

static bool check_stash(const verifier *v, uint32_t k, const neo_net_stash *s) {
  const neo_net_node *node = &v->n->nodes.at[k];
  const neo_module *m = module_of(v, node);
  if (!m || node->backward == NEO_NET_NONE)
    return fail(v, "node", k, "has a stash that no backward entry reads");
  if (!s->from.i || s->from.i >= m->tensors.n || !returns(m, node->forward, s->from))
    return fail(v, "node", k, "the forward entry does not return what is stashed");
  if (!has_role(m, s->to, NEO_ROLE_INPUT))
    return fail(v, "node", k, "a stash goes to no input");
  bool same = neo_tensor_type(m, s->from) == neo_tensor_type(m, s->to) &&
              neo_tensor_rank(m, s->from) == neo_tensor_rank(m, s->to);
  return same || fail(v, "node", k, "a stash changes type or rank");
}

static bool check_copies(const verifier *v, uint32_t k) {
  const neo_net_node *node = &v->n->nodes.at[k];
  bool good = node->kind != NEO_NET_BCAST || (node->in.n == 1 && node->out.n > 0);
  return good || fail(v, "node", k, "makes copies of one message for one reader or more");
}

/* Entries in the place of the one that ends an instance's work. */
static bool check_variants(const verifier *v, uint32_t k) {
  const neo_net_node *node = &v->n->nodes.at[k];
  const neo_module *m = module_of(v, node);
  uint32_t of = node->out.n ? node->backward : node->forward;
  bool first = node->first != NEO_NET_NONE, apply = node->apply != NEO_NET_NONE;
  if ((first && node->first >= m->entries.n) || (apply && node->apply >= m->entries.n))
    return fail(v, "node", k, "the entry `first` or `apply` does not exist");
  if ((first || apply) && of == NEO_NET_NONE)
    return fail(v, "node", k, "has variants of no entry");
  for (size_t j = 1; j < v->n->nodes.n; j++)
    if ((first || apply) && j != k && v->n->nodes.at[j].actor == node->actor)
      return fail(v, "node", k, "shares the sums that its entries `first` or `apply` begin anew");
  return true;
}

static bool check_entries(const verifier *v, uint32_t k) {
  const neo_net_node *node = &v->n->nodes.at[k];
  const neo_module *m = module_of(v, node);
  bool moves = neo_net_kind_moves((neo_net_kind)node->kind);
  if (moves != !m)
    return fail(v, "node", k, "its kind has no actor, or needs one");
  if (moves)
    return check_copies(v, k);
  if (node->forward >= m->entries.n)
    return fail(v, "node", k, "has no forward entry");
  if (node->backward != NEO_NET_NONE && (node->backward >= m->entries.n || !node->out.n))
    return fail(v, "node", k, "has a backward entry that nothing starts");
  if (!check_variants(v, k))
    return false;
  if (node->test != NEO_NET_NONE &&
      (node->test >= m->entries.n || m->entries.at[node->test].kind != NEO_ENTRY_FORWARD))
    return fail(v, "node", k, "its entry `test` does not exist, or trains");
  return (node->kind == NEO_NET_LOSS) == (node->loss.i != 0) ||
         fail(v, "node", k, "is the node of the loss, and gives none, or the reverse");
}

static bool check_node(const verifier *v, uint32_t k) {
  const neo_net_node *node = &v->n->nodes.at[k];
  if (node->kind >= NEO_NET_KINDS)
    return fail(v, "node", k, "the kind is unknown");
  if (node->actor != NEO_NET_NONE && node->actor >= v->n->actors.n)
    return fail(v, "node", k, "the actor does not exist");
  if ((node->kind == NEO_NET_CONTROLLER) != (k == 0) || (k && !node->in.n))
    return fail(v, "node", k, "nothing starts it");
  for (size_t j = 0; j < node->in.n; j++)
    if (!check_in(v, k, &node->in.at[j]))
      return false;
  for (size_t j = 0; j < node->out.n; j++)
    if (!check_out(v, k, &node->out.at[j]))
      return false;
  bool good = check_entries(v, k);
  for (size_t j = 0; j < node->stash.n && good; j++)
    good = check_stash(v, k, &node->stash.at[j]);
  return good;
}

/* Messages reach every node: no circle waits for itself. */
static bool check_circles(const verifier *v) {
  const neo_network *n = v->n;
  neo_arena scratch = neo_arena_scratch(n->arena);
  uint32_t *waits = NEO_NEW_ARRAY(&scratch, uint32_t, n->nodes.n + 1);
  uint32_t *work = NEO_NEW_ARRAY(&scratch, uint32_t, n->nodes.n + 1), todo = 0, done = 0;
  for (size_t k = 0; k < n->nodes.n; k++)
    waits[k] = (uint32_t)n->nodes.at[k].in.n;
  for (work[todo++] = 0; todo; done++) {
    const neo_net_node *node = &n->nodes.at[work[--todo]];
    for (size_t j = 0; j < node->out.n; j++) {
      uint32_t to = n->edges.at[node->out.at[j].edge].to;
      if (--waits[to] == 0)
        work[todo++] = to;
    }
  }
  neo_arena_free(&scratch);
  return done == n->nodes.n || fail(v, "network", 0, "some nodes wait for each other");
}

/* ---- actors */

static bool check_actor(const verifier *v, uint32_t k) {
  const neo_net_actor *a = &v->n->actors.at[k];
  const neo_module *m = a->module;
  if (a->update != NEO_NET_NONE && a->update >= m->entries.n)
    return fail(v, "actor", k, "the update does not exist");
  if (a->weight.i && !has_role(m, a->weight, NEO_ROLE_INPUT))
    return fail(v, "actor", k, "the weight is no input");
  if (a->count.i && !has_role(m, a->count, NEO_ROLE_INPUT))
    return fail(v, "actor", k, "the count of updates is no input");
  for (size_t j = 0; j < a->seen.n; j++)
    if (!has_role(m, a->seen.at[j].to, NEO_ROLE_INPUT) || a->seen.at[j].from.i >= m->tensors.n)
      return fail(v, "actor", k, "what the optimizer reads of an instance does not exist");
  neo_str why = neo_str_in(v->n->arena);
  if (neo_module_check(a->module, &why))
    return fail(v, "actor", k, neo_str_text(&why));
  return true;
}

static bool check_slice(const verifier *v, uint32_t k) {
  const neo_net_slice *s = &v->n->slices.at[k], *before = k ? s - 1 : NULL;
  bool begins = s->index == 0;
  bool follows = before && before->of == s->of && before->index + 1 == s->index;
  bool last = k + 1 == v->n->slices.n || s[1].of != s->of;
  if (!s->name || !s->of || !(begins || follows) || s->index >= s->n ||
      (last && s->index + 1 != s->n))
    return fail(v, "slice", k, "the slices of a tensor are not all there, in order");
  for (size_t j = 0; j < v->n->actors.n; j++) {
    const neo_module *m = v->n->actors.at[j].module;
    neo_tensor t = neo_tensor_find(m, neo_name_text(m->names, s->name));
    if (has_role(m, t, NEO_ROLE_PARAM) || has_role(m, t, NEO_ROLE_STATE))
      return true;
  }
  return fail(v, "slice", k, "no actor has it");
}

neo_status neo_network_verify(const neo_network *n, neo_str *why) {
  verifier v = {n, why};
  bool good = n->nodes.n > 1 || fail(&v, "network", 0, "has no nodes");
  for (uint32_t k = 0; k < n->nodes.n && good; k++)
    good = check_node(&v, k);
  for (uint32_t k = 0; k < n->edges.n && good; k++)
    good = check_edge(&v, k);
  for (uint32_t k = 0; k < n->actors.n && good; k++)
    good = check_actor(&v, k);
  for (uint32_t k = 0; k < n->slices.n && good; k++)
    good = check_slice(&v, k);
  return good && check_circles(&v) ? NEO_OK : NEO_INTERNAL;
}
