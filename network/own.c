/* The owners of what the step changes: actors. Classes and tensors that must be of one actor are
 * joined (a union-find over both), and the sets that hold a class are the actors:
 *
 *     a class and the tensors that it reads
 *     W.next and W, the gradients that W.next is computed from, and the states
 *     a state and the tensors that its initial value reads
 *
 * An optimizer that reads the gradients of several parameters, as a limit of their common norm
 * does, thus makes one actor of their nodes: the norm is that of all. */
#include "network/parts.h"

typedef struct {
  const neo_net_step *s;
  const neo_net_classes *c;
  uint32_t n, *set; /* classes first, then tensors */
} owners;

static uint32_t set_of(const owners *o, uint32_t x) {
  while (o->set[x] != x)
    x = o->set[x] = o->set[o->set[x]];
  return x;
}

static void join(const owners *o, uint32_t x, uint32_t y) {
  uint32_t a = set_of(o, x), b = set_of(o, y);
  o->set[a < b ? b : a] = a < b ? a : b;
}

static uint32_t item(const owners *o, neo_tensor t) {
  return o->c->n + t.i;
}

static bool is_owned(const owners *o, neo_tensor t) {
  return o->s->changes[t.i] && !o->s->copied[t.i];
}

static void join_read(const owners *o, neo_def d, uint32_t with) {
  neo_tensors read = neo_net_reads(o->s, d);
  for (size_t k = 0; k < read.n; k++)
    if (is_owned(o, read.at[k]))
      join(o, with, item(o, read.at[k]));
}

static void join_classes(const owners *o) {
  for (size_t k = 0; k < o->s->n_defs; k++)
    join_read(o, o->s->defs[k], o->c->of[k]);
  for (size_t k = 0; k < o->s->own.n; k++) {
    neo_tensor update = o->s->own.at[k];
    uint32_t place = o->s->place[neo_tensor_piece(o->s->m, update, 0).i];
    join(o, o->c->of[place - 1], item(o, neo_tensor_at(o->s->m, update)->updates));
  }
}

static void join_gradients(const owners *o, neo_def d, uint32_t with) {
  neo_tensor *read;
  size_t n = neo_def_reads(o->s->m, d, o->s->a, &read);
  for (size_t k = 0; k < n; k++)
    for (size_t j = 0; j < o->s->pairs.n && o->s->trained[read[k].i]; j++)
      if (o->s->pairs.at[j].out.i == read[k].i)
        join(o, with, item(o, o->s->pairs.at[j].wrt));
}

static void join_update(const owners *o, neo_tensor update) {
  neo_def *defs;
  size_t n = neo_net_update_defs(o->s, update, &defs);
  uint32_t with = item(o, neo_tensor_at(o->s->m, update)->updates);
  for (size_t k = 0; k < n; k++) {
    join_read(o, defs[k], with);
    join_gradients(o, defs[k], with);
  }
}

static void join_needs(const owners *o) {
  for (size_t k = 0; k < o->s->needs.n; k++) {
    const neo_net_need *x = &o->s->needs.at[k];
    neo_list pieces = neo_tensor_at(o->s->m, x->tensor)->pieces;
    uint32_t place = pieces.n ? o->s->place[neo_list_at(o->s->m, pieces, 0)] : 0;
    if (place)
      join(o, o->c->of[place - 1], item(o, neo_tensor_at(o->s->m, x->update)->updates));
  }
}

/* A state that begins as a parameter does. */
static void join_inits(const owners *o) {
  for (uint32_t t = 1; t < o->s->m->tensors.n; t++) {
    neo_def init = o->s->m->tensors.at[t].init, *defs;
    neo_tensor *read;
    if (!init.i || !is_owned(o, (neo_tensor){t}))
      continue;
    size_t n = neo_def_reads(o->s->m, init, o->s->a, &read);
    n = neo_module_topo(o->s->m, read, n, o->s->a, &defs, NULL);
    join_read(o, init, item(o, (neo_tensor){t}));
    for (size_t k = 0; k < n; k++)
      join_read(o, defs[k], item(o, (neo_tensor){t}));
  }
}

/* The actor of the loss owns tensors that no class reads. */
static void join_rest(const owners *o) {
  for (uint32_t t = 1; t < o->s->m->tensors.n; t++)
    if (is_owned(o, (neo_tensor){t}) && set_of(o, item(o, (neo_tensor){t})) >= o->c->n)
      join(o, o->c->loss, item(o, (neo_tensor){t}));
}

neo_net_owners neo_net_owners_of(const neo_net_step *s, const neo_net_classes *c) {
  owners o = {.s = s, .c = c, .n = c->n + (uint32_t)s->m->tensors.n};
  neo_net_owners r = {0};
  o.set = NEO_NEW_ARRAY(s->a, uint32_t, o.n);
  for (uint32_t k = 0; k < o.n; k++)
    o.set[k] = k;
  join_classes(&o);
  for (size_t k = 0; k < s->optimizer.n; k++)
    if (!s->copied[neo_tensor_at(s->m, s->optimizer.at[k])->updates.i])
      join_update(&o, s->optimizer.at[k]);
  join_needs(&o);
  join_inits(&o);
  join_rest(&o);
  r.of_class = NEO_NEW_ARRAY(s->a, uint32_t, c->n + 1);
  r.of_tensor = NEO_NEW_ARRAY(s->a, uint32_t, s->m->tensors.n);
  for (uint32_t k = 0; k < c->n; k++)
    r.of_class[k] = set_of(&o, k) == k ? r.n++ : r.of_class[set_of(&o, k)];
  for (uint32_t t = 0; t < s->m->tensors.n; t++) {
    bool owned = t && is_owned(&o, (neo_tensor){t});
    r.of_tensor[t] = owned ? r.of_class[set_of(&o, item(&o, (neo_tensor){t}))] : NEO_NET_NONE;
  }
  return r;
}
