/* The stash: what `backward` reads of the forward pass is returned by `forward`, instead of being
 * computed again.
 *
 *     entry forward:  H            H = relu(A);  A = X W         X, seed.H: inputs
 *     entry backward: grad.X       grad.A = A > 0 ? seed.H : 0;  grad.X = grad.A W'
 *
 *     entry forward:  H, A
 *     entry backward: grad.X       grad.A = stash.A > 0 ? seed.H : 0
 *
 * What is stashed is a minimum cut between the definitions of the forward pass and those of the
 * backward pass that read them (H. He, S. Yu, "Transcending runtime-memory tradeoffs in
 * checkpointing by being fusion aware", MLSys 2023). Each tensor has two vertices:
 *
 *     source --recomputing it--> in(t) --its bytes--> out(t) --never--> in(u), for u computed of t
 *                                                            --never--> sink, if backward reads t
 *
 * in(t) on the sink's side: backward computes t; only out(t): it is stashed. All results of a
 * definition are computed, or none. In ports, parameters and states have no vertices, as the slot
 * of an instance, or the actor, holds them; a tensor of an out port costs nothing, as its message
 * does. Reductions, lookups of random numbers and recurrences are never computed again. Integers
 * are, always: their bounds are known where they are computed.
 *
 * Definitions that only the backward entries of the node need read the inputs afterwards. Those
 * that other entries need too are copied. */
#include "ir/clone.h"
#include "ir/component.h"
#include "network/min_cut.h"
#include "network/parts.h"

/* A byte is written, read and kept for the time of an instance: worth this number of additions. */
enum { ADDITIONS_OF_BYTE = 16, SOURCE = 0, SINK = 1, ENTRIES = 3 };

typedef struct {
  neo_net_node *node;
  neo_net_actor *actor;
  uint32_t number; /* number of the node */
  neo_module *m;
  neo_arena *a;
  uint32_t entry[ENTRIES], n_entries; /* the backward pass */
  neo_def *forward, *backward;        /* definitions of each, producers first */
  size_t n_forward, n_backward;
  bool *is_forward;   /* by definition */
  bool *made;         /* by tensor: the forward pass computes it */
  bool *root;         /* by tensor: an entry of the backward pass returns or commits it */
  bool *recurs;       /* by definition */
  uint32_t n_tensors; /* before inputs are added */
  neo_map to;         /* tensor -> what the backward pass reads instead */
} stasher;

/* ---- the two passes */

static bool is_backward(const stasher *x, uint32_t entry) {
  for (uint32_t k = 0; k < x->n_entries; k++)
    if (x->entry[k] == entry)
      return true;
  return false;
}

static void add_entry(stasher *x, uint32_t entry) {
  if (entry != NEO_NET_NONE)
    x->entry[x->n_entries++] = entry;
}

static neo_tensors roots_of(const stasher *x) {
  neo_tensors roots = {0};
  for (uint32_t k = 0; k < x->n_entries; k++)
    neo_entry_roots(x->m, x->a, &roots, &x->m->entries.at[x->entry[k]]);
  return roots;
}

static void find_passes(stasher *x) {
  x->n_tensors = (uint32_t)x->m->tensors.n;
  neo_tensors results = {0}, back = roots_of(x);
  neo_entry_roots(x->m, x->a, &results, &x->m->entries.at[x->node->forward]);
  x->n_forward = neo_module_topo(x->m, results.at, results.n, x->a, &x->forward, NULL);
  x->n_backward = neo_module_topo(x->m, back.at, back.n, x->a, &x->backward, NULL);
  x->is_forward = NEO_NEW_ARRAY(x->a, bool, x->m->defs.n);
  x->made = NEO_NEW_ARRAY(x->a, bool, x->m->tensors.n);
  x->root = NEO_NEW_ARRAY(x->a, bool, x->m->tensors.n);
  x->recurs = neo_recurrent_defs(x->m, x->a);
  for (size_t k = 0; k < x->n_forward; k++) {
    neo_list out = neo_def_at(x->m, x->forward[k])->out;
    x->is_forward[x->forward[k].i] = true;
    for (uint32_t j = 0; j < out.n; j++)
      x->made[neo_list_at(x->m, out, j)] = true;
  }
  for (size_t k = 0; k < back.n; k++)
    x->root[back.at[k].i] = true;
}

/* ---- the cut */

static uint32_t in(neo_tensor t) {
  return 2 * t.i;
}

static uint32_t out(neo_tensor t) {
  return 2 * t.i + 1;
}

static int64_t capacity(double additions) {
  const double most = (double)((int64_t)1 << 40);
  return additions < most ? (int64_t)additions : (int64_t)1 << 40;
}

static bool is_int(const neo_module *m, neo_tensor t) {
  return neo_type_is_int(neo_tensor_type(m, t));
}

static int64_t cost_to_stash(const stasher *x, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(x->m, t);
  for (size_t k = 0; k < x->node->out.n; k++)
    if (x->node->out.at[k].value.i == t.i)
      return 0;
  if (is_int(x->m, t) || r->offsets.i || r->partial || r->terms)
    return NEO_MIN_CUT_NEVER;
  return capacity(ADDITIONS_OF_BYTE * neo_net_elements(x->m, t) *
                  neo_type_bytes((neo_type)r->type));
}

typedef struct {
  const neo_module *m;
  bool found;
} search;

static void note_random(void *ctx, neo_expr e) {
  search *x = ctx;
  x->found = x->found || neo_expr_node(x->m, e)->op == NEO_OP_RAND;
}

static bool is_random(const stasher *x, neo_def d) {
  search s = {.m = x->m};
  neo_def_visit(x->m, d, note_random, &s);
  return s.found;
}

static bool makes_ints(const stasher *x, neo_def d) {
  bool any = false;
  for (uint32_t k = 0; k < neo_def_at(x->m, d)->out.n; k++)
    any = any || is_int(x->m, neo_def_out(x->m, d, k));
  return any;
}

static int64_t cost_to_compute(const stasher *x, neo_def d) {
  bool reduces = neo_def_at(x->m, d)->reducer != NEO_RED_NONE;
  if (x->recurs[d.i] || ((reduces || is_random(x, d)) && !makes_ints(x, d)))
    return NEO_MIN_CUT_NEVER;
  return capacity(neo_net_price(x->m, d));
}

/* The vertices of what a definition of the forward pass makes, and its arcs from what it reads. */
static void add_forward(const stasher *x, neo_min_cut *c, neo_def d, bool *known) {
  neo_list outs = neo_def_at(x->m, d)->out;
  neo_tensor *read;
  size_t n = neo_def_reads(x->m, d, x->a, &read);
  for (uint32_t k = 0; k < outs.n; k++) {
    neo_tensor t = neo_list_tensor(x->m, outs, k);
    neo_min_cut_add(c, SOURCE, in(t), cost_to_compute(x, d));
    if (!known[t.i])
      neo_min_cut_add(c, in(t), out(t), cost_to_stash(x, t));
    known[t.i] = true;
    neo_min_cut_add(c, in(t), in(neo_list_tensor(x->m, outs, (k + 1) % outs.n)), NEO_MIN_CUT_NEVER);
    for (size_t j = 0; j < n; j++)
      if (x->made[read[j].i])
        neo_min_cut_add(c, out(read[j]), in(t), NEO_MIN_CUT_NEVER);
  }
}

static void add_backward(const stasher *x, neo_min_cut *c, neo_def d) {
  neo_tensor *read;
  size_t n = x->is_forward[d.i] ? 0 : neo_def_reads(x->m, d, x->a, &read);
  for (size_t k = 0; k < n; k++)
    if (x->made[read[k].i])
      neo_min_cut_add(c, out(read[k]), SINK, NEO_MIN_CUT_NEVER);
}

static const bool *find_cut(const stasher *x) {
  neo_min_cut c = neo_min_cut_new(x->a, 2 * (uint32_t)x->m->tensors.n);
  bool *known = NEO_NEW_ARRAY(x->a, bool, x->m->tensors.n);
  for (size_t k = 0; k < x->n_forward; k++)
    add_forward(x, &c, x->forward[k], known);
  for (size_t k = 0; k < x->n_backward; k++)
    add_backward(x, &c, x->backward[k]);
  for (uint32_t t = 1; t < x->n_tensors; t++)
    if (x->root[t] && x->made[t])
      neo_min_cut_add(&c, out((neo_tensor){t}), SINK, NEO_MIN_CUT_NEVER);
  return neo_min_cut_sides(&c, SOURCE, SINK);
}

/* ---- the entries */

static bool is_output(const neo_module *m, const neo_entry_rec *e, neo_tensor t) {
  for (uint32_t k = 0; k < e->outputs.n; k++)
    if (neo_list_at(m, e->outputs, k) == t.i)
      return true;
  return false;
}

static neo_list with(const stasher *x, neo_list l, uint32_t id) {
  uint32_t *all = NEO_NEW_ARRAY(x->a, uint32_t, l.n + 1);
  for (uint32_t k = 0; k < l.n; k++)
    all[k] = neo_list_at(x->m, l, k);
  all[l.n] = id;
  return neo_list_new(x->m, all, l.n + 1);
}

/* Results of entries have the names of their tensors, by which ports and stashes find them. */
static neo_list names_of(const stasher *x, neo_list outputs) {
  uint32_t *names = NEO_NEW_ARRAY(x->a, uint32_t, outputs.n + 1);
  for (uint32_t k = 0; k < outputs.n; k++)
    names[k] = neo_tensor_at(x->m, neo_list_tensor(x->m, outputs, k))->name;
  return neo_list_new(x->m, names, outputs.n);
}

static void stash(stasher *x, neo_arena *kept, neo_tensor t) {
  neo_tensor to = neo_net_tensor_like(x->m, t, NEO_ROLE_INPUT, neo_tensor_type(x->m, t), "stash");
  neo_entry_rec e = x->m->entries.at[x->node->forward];
  neo_map_set(&x->to, t.i, to.i);
  NEO_PUSH(kept, &x->node->stash, (neo_net_stash){t, to});
  if (is_output(x->m, &e, t))
    return;
  e.outputs = with(x, e.outputs, t.i);
  e.names = names_of(x, e.outputs);
  x->m->entries.at[x->node->forward] = e;
}

/* ---- what the backward pass reads */

/* By definition: an entry beside the backward pass needs it. */
static bool *find_others(const stasher *x) {
  bool *is = NEO_NEW_ARRAY(x->a, bool, x->m->defs.n);
  neo_tensors roots = {0};
  neo_def *defs;
  for (uint32_t k = 0; k < x->m->entries.n; k++)
    if (!is_backward(x, k))
      neo_entry_roots(x->m, x->a, &roots, &x->m->entries.at[k]);
  size_t n = neo_module_topo(x->m, roots.at, roots.n, x->a, &defs, NULL);
  for (size_t k = 0; k < n; k++)
    is[defs[k].i] = true;
  return is;
}

/* The definitions that the backward pass still needs when it reads the stash, producers first. */
static neo_def *find_needed(const stasher *x, size_t *n) {
  bool *needed = NEO_NEW_ARRAY(x->a, bool, x->m->tensors.n), more = true;
  neo_def *defs = NEO_NEW_ARRAY(x->a, neo_def, x->n_backward + 1);
  bool *taken = NEO_NEW_ARRAY(x->a, bool, x->m->defs.n);
  for (uint32_t t = 1; t < x->n_tensors; t++)
    needed[t] = x->root[t] && !neo_map_get(&x->to, t, NULL);
  while (more) { /* once more for recurrences, whose order is none */
    more = false;
    for (size_t k = x->n_backward; k-- > 0;) {
      neo_def d = x->backward[k];
      neo_list outs = neo_def_at(x->m, d)->out;
      neo_tensor *read;
      bool take = false;
      for (uint32_t j = 0; j < outs.n; j++)
        take = take || needed[neo_list_at(x->m, outs, j)];
      if (!take || taken[d.i])
        continue;
      taken[d.i] = more = true;
      size_t n_read = neo_def_reads(x->m, d, x->a, &read);
      for (size_t j = 0; j < n_read; j++)
        needed[read[j].i] = needed[read[j].i] || !neo_map_get(&x->to, read[j].i, NULL);
    }
  }
  *n = 0;
  for (size_t k = 0; k < x->n_backward; k++)
    if (taken[x->backward[k].i])
      defs[(*n)++] = x->backward[k];
  return defs;
}

static void read_stash(stasher *x) {
  size_t n;
  neo_def *defs = find_needed(x, &n), *own = NEO_NEW_ARRAY(x->a, neo_def, n + 1);
  bool *affected = neo_defs_affected(x->m, defs, n, &x->to, NULL, x->a);
  const bool *others = find_others(x);
  size_t n_own = 0;
  for (size_t k = 0; k < n; k++)
    if (affected[k] && !others[defs[k].i]) {
      own[n_own++] = defs[k];
      affected[k] = false;
    }
  neo_defs_clone(x->m, defs, n, affected, "again", &x->to);
  for (size_t k = 0; k < n_own; k++)
    neo_def_rename(x->m, own[k], &x->to);
}

/* An entry cannot return an input: a result that is stashed is a copy. */
static void copy_results(stasher *x) {
  for (size_t k = 0; k < x->node->stash.n; k++) {
    neo_net_stash s = x->node->stash.at[k];
    if (!x->root[s.from.i])
      continue;
    neo_type type = neo_tensor_type(x->m, s.from);
    neo_tensor copy = neo_net_tensor_like(x->m, s.from, NEO_ROLE_TEMP, type, "copy");
    neo_net_define(x->m, copy, neo_net_own(x->m, s.to));
    neo_map_set(&x->to, s.from.i, copy.i);
  }
}

static void follow(const stasher *x, neo_tensor *t) {
  uint64_t to;
  if (neo_map_get(&x->to, t->i, &to))
    t->i = (uint32_t)to;
}

static void rename_results(stasher *x) {
  for (uint32_t k = 0; k < x->n_entries; k++) {
    neo_entry_rec e = x->m->entries.at[x->entry[k]];
    e.outputs = neo_tensors_renamed(x->m, e.outputs, &x->to, x->a);
    e.updates = neo_tensors_renamed(x->m, e.updates, &x->to, x->a);
    e.names = names_of(x, e.outputs);
    x->m->entries.at[x->entry[k]] = e;
  }
  for (size_t k = 0; k < x->node->in.n; k++)
    follow(x, &x->node->in.at[k].back);
  for (size_t k = 0; k < x->actor->seen.n; k++)
    if (x->actor->seen.at[k].node == x->number)
      follow(x, &x->actor->seen.at[k].from);
}

/* ---- the whole */

static void stash_node(neo_network *n, uint32_t number) {
  neo_net_node *node = &n->nodes.at[number];
  neo_arena scratch = neo_arena_scratch(n->arena);
  stasher x = {.node = node, .number = number, .actor = &n->actors.at[node->actor], .a = &scratch};
  x.m = x.actor->module;
  neo_map_init(&x.to, &scratch);
  add_entry(&x, node->backward);
  add_entry(&x, node->first);
  add_entry(&x, node->apply);
  find_passes(&x);
  const bool *back = find_cut(&x);
  for (uint32_t t = 1; back && t < x.n_tensors; t++)
    if (x.made[t] && back[out((neo_tensor){t})] && !back[in((neo_tensor){t})])
      stash(&x, n->arena, (neo_tensor){t});
  if (node->stash.n) {
    read_stash(&x);
    copy_results(&x);
    rename_results(&x);
  }
  neo_arena_free(&scratch);
}

void neo_network_stash(neo_network *n) {
  for (uint32_t k = 0; k < n->actors.n; k++)
    n->actors.at[k].module->grads.n = n->actors.at[k].module->customs.n = 0;
  for (uint32_t k = 0; k < n->nodes.n; k++)
    if (n->nodes.at[k].backward != NEO_NET_NONE)
      stash_node(n, k);
}
