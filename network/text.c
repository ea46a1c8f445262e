/* A network as text:
 *
 *   neo-net 1
 *   network mlp step
 *   node 0 controller
 *   node 1 PPT actor 0 forward forward backward backward .. test test additions 1.2e+09
 *   node 2 Loss actor 1 forward forward .. loss loss additions 2.4e+06
 *   edge 0 -> 1 X as X
 *   edge 1 -> 2 h1 from h1, seed.h1 to h1, grad.h1 gradient
 *   actor 0 weight weight update update
 *   actor 1 weight weight count updates update update
 *   stash 1 from h1.pre to stash.h1.pre
 *   seen 0 from touched to last.touched node 1
 *   slice "h.W@0" of h.W at 0 of 12
 *   module 0
 *   neo-ir 1
 *   ...
 *
 * Edges stand in the order of their numbers, which is that of the ports of each node. `from` has
 * the tensor that the producer returns, and the one that takes its adjoint; `to` the reader's
 * input, and the adjoint that it answers with. `-` is none. The modules end the text, in the IR's
 * form (ir/text.h). */
#include "ir/text.h"
#include "ir/print.h"
#include "network/network.h"

typedef struct {
  const neo_network *n;
  neo_names *names;
  neo_str *out;
} writer;

static void add_name(const writer *w, const char *before, uint32_t name) {
  neo_str_add(w->out, before);
  if (name)
    neo_text_add_label(w->out, neo_name_text(w->names, name));
  else
    neo_str_addc(w->out, '-');
}

static const neo_module *module_of(const writer *w, uint32_t node) {
  uint32_t actor = w->n->nodes.at[node].actor;
  return actor == NEO_NET_NONE ? NULL : w->n->actors.at[actor].module;
}

static void add_tensor(const writer *w, const char *before, const neo_module *m, neo_tensor t) {
  add_name(w, before, m && t.i ? neo_tensor_at(m, t)->name : 0);
}

static void add_entry(const writer *w, const char *before, const neo_module *m, uint32_t entry) {
  if (m && entry != NEO_NET_NONE)
    add_name(w, before, m->entries.at[entry].name);
}

static void add_node(const writer *w, uint32_t k) {
  const neo_net_node *node = &w->n->nodes.at[k];
  const neo_module *m = module_of(w, k);
  neo_str_addf(w->out, "node %u %s", k, neo_net_kind_text((neo_net_kind)node->kind));
  if (m)
    neo_str_addf(w->out, " actor %u", node->actor);
  add_entry(w, " forward ", m, node->forward);
  add_entry(w, " backward ", m, node->backward);
  add_entry(w, " first ", m, node->first);
  add_entry(w, " apply ", m, node->apply);
  add_entry(w, " test ", m, node->test);
  if (node->loss.i)
    add_tensor(w, " loss ", m, node->loss);
  if (m)
    neo_str_addf(w->out, " additions %.6g", node->additions);
  neo_str_addc(w->out, '\n');
}

static void add_end(const writer *w, const char *word, uint32_t node, const neo_net_port *p) {
  const neo_module *m = module_of(w, node);
  if (!m)
    return;
  add_tensor(w, word, m, p->value);
  add_tensor(w, ", ", m, p->back);
}

static void add_edge(const writer *w, uint32_t k) {
  const neo_net_edge *e = &w->n->edges.at[k];
  const neo_net_port *from = &w->n->nodes.at[e->from].out.at[e->from_port];
  const neo_net_port *to = &w->n->nodes.at[e->to].in.at[e->to_port];
  neo_str_addf(w->out, "edge %u -> %u", e->from, e->to);
  add_name(w, " ", from->name);
  add_end(w, " from ", e->from, from);
  add_end(w, " to ", e->to, to);
  neo_str_add(w->out, from->gradient ? " gradient\n" : "\n");
}

static void add_stash(const writer *w, uint32_t k) {
  const neo_net_node *node = &w->n->nodes.at[k];
  for (size_t j = 0; j < node->stash.n; j++) {
    neo_str_addf(w->out, "stash %u", k);
    add_tensor(w, " from ", module_of(w, k), node->stash.at[j].from);
    add_tensor(w, " to ", module_of(w, k), node->stash.at[j].to);
    neo_str_addc(w->out, '\n');
  }
}

static void add_actor(const writer *w, uint32_t k) {
  const neo_net_actor *a = &w->n->actors.at[k];
  neo_str_addf(w->out, "actor %u", k);
  add_tensor(w, " weight ", a->module, a->weight);
  if (a->count.i)
    add_tensor(w, " count ", a->module, a->count);
  add_entry(w, " update ", a->module, a->update);
  neo_str_addc(w->out, '\n');
  for (size_t j = 0; j < a->seen.n; j++) {
    neo_str_addf(w->out, "seen %u", k);
    add_tensor(w, " from ", a->module, a->seen.at[j].from);
    add_tensor(w, " to ", a->module, a->seen.at[j].to);
    neo_str_addf(w->out, " node %u\n", a->seen.at[j].node);
  }
}

static void add_slice(const writer *w, const neo_net_slice *s) {
  add_name(w, "slice ", s->name);
  add_name(w, " of ", s->of);
  neo_str_addf(w->out, " at %u of %u\n", s->index, s->n);
}

void neo_network_print(const neo_network *n, neo_str *out) {
  writer w = {n, n->actors.at[0].module->names, out};
  neo_str_add(out, "neo-net 1\nnetwork");
  add_name(&w, " ", n->name);
  add_name(&w, " ", n->entry);
  neo_str_addc(out, '\n');
  if (n->whole)
    neo_str_addf(out, "# one node: %s\n", n->whole);
  for (uint32_t k = 0; k < n->nodes.n; k++)
    add_node(&w, k);
  for (uint32_t k = 0; k < n->edges.n; k++)
    add_edge(&w, k);
  for (uint32_t k = 0; k < n->nodes.n; k++)
    add_stash(&w, k);
  for (uint32_t k = 0; k < n->actors.n; k++)
    add_actor(&w, k);
  for (size_t k = 0; k < n->slices.n; k++)
    add_slice(&w, &n->slices.at[k]);
  for (uint32_t k = 0; k < n->actors.n; k++) {
    neo_str_addf(out, "module %u\n", k);
    neo_module_print(n->actors.at[k].module, out);
  }
}
