/* bind.c: where the arguments of the actors' entries are, found once by their names. An argument of
 * no port would be a null pointer in each call: that is an error here. */
#include "runtime/net/net.h"
#include <stdlib.h>
#include <string.h>

static bool is(const char *name, const char *wanted) {
  return wanted && strcmp(name, wanted) == 0;
}

typedef struct {
  neo_rt_network *n;
  int32_t node, actor; /* node -1: the update */
} binder;

static bool find_port(const binder *b, const char *name, neo_rti_net_call *c, int32_t k) {
  const neo_rt_net *net = b->n->net;
  const neo_rt_net_node *x = &net->nodes[b->node];
  for (int32_t j = 0; j < x->n_in + x->n_out; j++) {
    const neo_rt_net_port *p = &net->ports[j < x->n_in ? x->in + j : x->out + j - x->n_in];
    c->arg[k].which = p->edge;
    c->arg[k].place = is(name, p->value)  ? NEO_RTI_NET_VALUE
                      : is(name, p->back) ? NEO_RTI_NET_BACK
                                          : NEO_RTI_NET_NOWHERE;
    if (c->arg[k].place)
      return true;
  }
  return false;
}

/* The stash is named as what `forward` returns, or as what `backward` reads. */
static bool find_stash(const binder *b, const char *name, neo_rti_net_call *c, int32_t k) {
  const neo_rt_net_node *x = &b->n->net->nodes[b->node];
  for (int32_t j = x->stash; j < x->stash + x->n_stash; j++) {
    const neo_rt_net_stash *s = &b->n->net->stashes[j];
    if (!is(name, s->from) && !is(name, s->to))
      continue;
    if (find_port(b, s->from, c, k)) /* it is a message, too */
      return true;
    c->arg[k].place = NEO_RTI_NET_STASH;
    c->arg[k].which = j;
    return true;
  }
  return false;
}

static bool find_seen(const binder *b, const char *name, neo_rti_net_call *c, int32_t k) {
  const neo_rt_net_actor *a = &b->n->net->actors[b->actor];
  for (int32_t j = a->seen; j < a->seen + a->n_seen; j++) {
    const neo_rt_net_seen *s = &b->n->net->seen[j];
    if (b->node < 0 ? !is(name, s->to) : s->node != b->node || !is(name, s->from))
      continue;
    c->arg[k].place = NEO_RTI_NET_SEEN;
    c->arg[k].which = j;
    return true;
  }
  return false;
}

static bool find(const binder *b, const char *name, neo_rti_net_call *c, int32_t k) {
  const neo_rt_net *net = b->n->net;
  if (find_seen(b, name, c, k) ||
      (b->node >= 0 && (find_port(b, name, c, k) || find_stash(b, name, c, k))))
    return true;
  if (is(name, net->actors[b->actor].weight))
    c->arg[k].place = NEO_RTI_NET_WEIGHT;
  else if (is(name, net->actors[b->actor].count))
    c->arg[k].place = NEO_RTI_NET_COUNT;
  else if (b->node >= 0 && is(name, net->nodes[b->node].loss))
    c->arg[k].place = NEO_RTI_NET_LOSS;
  return c->arg[k].place != NEO_RTI_NET_NOWHERE;
}

/* Is there anything that generated code relies on, among what the user may give? */
static bool is_trusted(const neo_rt_model *m, const neo_rt_entry *e) {
  bool trusted = m->n_asserts == 0;
  for (int32_t k = 0; k < e->n_inputs && trusted; k++) {
    const neo_rt_tensor *t = &m->tensors[m->entry_args[e->args + k]];
    bool limited = neo_rti_type_is_int(t->type) && (t->bound >= 0 || t->ends);
    trusted = t->type != NEO_RT_BOOL && !limited && !t->offsets;
  }
  return trusted;
}

static neo_rt_status bind(const binder *b, const char *entry, neo_rti_net_call *c) {
  const neo_rt_model *m = b->n->net->actors[b->actor].model;
  c->entry = entry ? neo_rt_find_entry(m, entry) : -1;
  if (!entry)
    return NEO_OK;
  if (c->entry < 0)
    return neo_rti_net_fail(b->n, NEO_RT_E_NAME, "%s has no entry %s", m->name, entry);
  const neo_rt_entry *e = &m->entries[c->entry];
  c->n = e->n_args;
  c->trusted = is_trusted(m, e);
  c->arg = calloc((size_t)c->n + 1, sizeof *c->arg);
  if (!c->arg)
    return neo_rti_net_fail(b->n, NEO_RT_E_MEMORY, "no memory");
  for (int32_t k = 0; k < c->n; k++) {
    const char *name = m->tensors[m->entry_args[e->args + k]].name;
    if (!find(b, name, c, k) && k < e->n_inputs)
      return neo_rti_net_fail(b->n, NEO_RT_E_NAME, "%s: no message has the input %s of %s", m->name,
                              name, entry);
  }
  return NEO_OK;
}

/* The input of the model that the controller sends along each of its ports. */
static void bind_inputs(neo_rt_network *n) {
  const neo_rt_net_node *from = &n->net->nodes[0];
  for (int32_t k = 0; k < from->n_out; k++) {
    const neo_rt_net_port *p = &n->net->ports[from->out + k];
    n->input[k] = -1;
    for (int32_t j = 0; p->name && n->rows[p->edge].model && j < n->net->n_inputs; j++)
      if (is(n->net->inputs[j], p->name))
        n->input[k] = j;
  }
}

static neo_rt_status bind_loss(neo_rt_network *n, int32_t node) {
  const neo_rt_net_node *x = &n->net->nodes[node];
  const neo_rt_model *m = x->actor < 0 ? NULL : n->net->actors[x->actor].model;
  int32_t t = m && x->loss ? neo_rt_find(m, x->loss) : -1;
  if (x->loss && t < 0)
    return neo_rti_net_fail(n, NEO_RT_E_NAME, "node %s: its loss is no tensor of its actor",
                            neo_rti_net_name_of(n, node).text);
  if (t >= 0)
    n->loss_type[node] = m->tensors[t].type;
  return NEO_OK;
}

neo_rt_status neo_rti_net_bind(neo_rt_network *n) {
  neo_rt_status status = NEO_OK;
  bind_inputs(n);
  for (int32_t k = 0; k < n->net->n_nodes && !status; k++) {
    const neo_rt_net_node *x = &n->net->nodes[k];
    binder b = {n, k, x->actor};
    n->forward[k].entry = n->backward[k].entry = -1;
    n->first[k].entry = n->apply[k].entry = n->test[k].entry = -1;
    if (x->actor < 0)
      continue;
    status = bind_loss(n, k);
    status = status ? status : bind(&b, x->forward, &n->forward[k]);
    status = status ? status : bind(&b, x->backward, &n->backward[k]);
    status = status ? status : bind(&b, x->first, &n->first[k]);
    status = status ? status : bind(&b, x->apply, &n->apply[k]);
    status = status ? status : bind(&b, x->test, &n->test[k]);
  }
  for (int32_t k = 0; k < n->net->n_actors && !status; k++) {
    binder b = {n, -1, k};
    status = bind(&b, n->net->actors[k].update, &n->update[k]);
  }
  return status;
}
