/* See interp.h. A node runs forward when all of its in ports have a message of an instance, and
 * backward when all of its out ports have their answers. Until then the instance holds what
 * came. */
#include "network/interp.h"
#include <string.h>

typedef struct {
  uint32_t edge, instance;
  bool back;
  neo_values payload; /* at null: empty */
} message;

typedef struct { /* the values that a node stores for an instance */
  neo_values *in, *back, *stash;
  uint32_t n_in, n_back;
} slot;

typedef struct {
  neo_net_instance of;
  slot *slots; /* by node */
  neo_values loss;
  bool finished;
} instance;

typedef struct {
  neo_interp *interp;
  neo_values *seen; /* by actor.seen */
  uint64_t updates;
} state;

struct neo_net_interp {
  neo_arena *arena;
  const neo_network *n;
  state *actors;
  uint32_t *answered; /* by node: instances since the actor's last update */
  uint32_t every;
  bool separate; /* `apply` is not used */
  uint64_t order;
  NEO_VEC(message) queue;
  NEO_VEC(instance) instances;
};

neo_net_interp *neo_net_interp_new(neo_arena *a, const neo_network *n, const int64_t *sizes,
                                   uint64_t seed) {
  neo_net_interp *p = NEO_NEW(a, neo_net_interp);
  *p = (neo_net_interp){.arena = a, .n = n, .every = 1};
  p->actors = NEO_NEW_ARRAY(a, state, n->actors.n + 1);
  p->answered = NEO_NEW_ARRAY(a, uint32_t, n->nodes.n);
  for (size_t k = 0; k < n->actors.n; k++) {
    p->actors[k].interp = neo_interp_new(a, n->actors.at[k].module, sizes, seed);
    p->actors[k].seen = NEO_NEW_ARRAY(a, neo_values, n->actors.at[k].seen.n + 1);
  }
  return p;
}

void neo_net_interp_every(neo_net_interp *p, uint32_t instances) {
  p->every = instances;
}

void neo_net_interp_separate(neo_net_interp *p, bool separate) {
  p->separate = separate;
}

void neo_net_interp_order(neo_net_interp *p, uint64_t seed) {
  p->order = seed;
}

const neo_values *neo_net_interp_loss(const neo_net_interp *p, size_t k) {
  return p->instances.at[k].loss.at ? &p->instances.at[k].loss : NULL;
}

/* Whether an entry of the module changes the tensor. */
static bool is_changed(const neo_module *m, neo_tensor t) {
  for (size_t k = 0; k < m->entries.n; k++)
    for (uint32_t j = 0; j < m->entries.at[k].updates.n; j++) {
      neo_tensor u = neo_list_tensor(m, m->entries.at[k].updates, j);
      if (neo_tensor_at(m, u)->updates.i == t.i)
        return true;
    }
  return false;
}

static neo_values *copy_in(neo_net_interp *p, uint32_t actor, const char *name) {
  neo_tensor t = neo_tensor_find(p->n->actors.at[actor].module, name);
  return t.i ? neo_interp_tensor(p->actors[actor].interp, t) : NULL;
}

/* The tensor of the actor that changes it. */
static neo_values *changed(neo_net_interp *p, const char *name) {
  neo_values *found = NULL;
  for (uint32_t k = (uint32_t)p->n->actors.n; k-- > 0;) {
    neo_module *m = p->n->actors.at[k].module;
    neo_tensor t = neo_tensor_find(m, name);
    if (t.i && (!found || is_changed(m, t)))
      found = copy_in(p, k, name);
  }
  return found;
}

static const char *text_of(const neo_net_interp *p, uint32_t name) {
  return neo_name_text(p->n->actors.at[0].module->names, name);
}

/* The first slice of the tensor; the number of slices, if there are none. */
static size_t first_slice(const neo_net_interp *p, const char *name) {
  size_t k = 0;
  while (k < p->n->slices.n && !neo_streq(text_of(p, p->n->slices.at[k].of), name))
    k++;
  return k;
}

static const neo_values *joined(neo_net_interp *p, size_t first) {
  const neo_net_slice *s = &p->n->slices.at[first];
  neo_values all = *changed(p, text_of(p, s->name));
  int64_t each = all.n;
  neo_values *whole = NEO_NEW(p->arena, neo_values);
  all.n = each * s->n;
  all.at = NEO_NEW_ARRAY(p->arena, neo_value, all.n + 1);
  for (uint32_t k = 0; k < s->n; k++)
    memcpy(all.at + k * each, changed(p, text_of(p, s[k].name))->at, (size_t)each * sizeof *all.at);
  *whole = all;
  return whole;
}

const neo_values *neo_net_interp_kept(neo_net_interp *p, const char *name) {
  size_t first = first_slice(p, name);
  return first < p->n->slices.n ? joined(p, first) : changed(p, name);
}

static void give(neo_net_interp *p, const char *name, const neo_value *x) {
  for (uint32_t k = 0; k < p->n->actors.n; k++) {
    neo_values *v = copy_in(p, k, name);
    if (v)
      memcpy(v->at, x, (size_t)v->n * sizeof *x);
  }
}

void neo_net_interp_give(neo_net_interp *p, const char *name, const neo_value *x) {
  size_t first = first_slice(p, name);
  if (first == p->n->slices.n) {
    give(p, name, x);
    return;
  }
  const neo_net_slice *s = &p->n->slices.at[first];
  for (uint32_t k = 0; k < s->n; k++) {
    give(p, text_of(p, s[k].name), x);
    x += changed(p, text_of(p, s[k].name))->n;
  }
}

/* ---- messages */

static neo_values copy_of(const neo_net_interp *p, const neo_values *v) {
  neo_values copy = *v;
  copy.at = neo_arena_copy(p->arena, v->at, ((size_t)v->n + 1) * sizeof *v->at);
  return copy;
}

static void post(neo_net_interp *p, uint32_t edge, uint32_t x, bool back, const neo_values *v) {
  message m = {.edge = edge, .instance = x, .back = back};
  if (v)
    m.payload = copy_of(p, v);
  NEO_PUSH(p->arena, &p->queue, m);
}

static message take(neo_net_interp *p) {
  size_t k = 0;
  if (p->order) { /* G. Marsaglia, "Xorshift RNGs" */
    p->order ^= p->order << 13;
    p->order ^= p->order >> 7;
    p->order ^= p->order << 17;
    k = p->order % p->queue.n;
  }
  message m = p->queue.at[k];
  p->queue.n--;
  memmove(p->queue.at + k, p->queue.at + k + 1, (p->queue.n - k) * sizeof m);
  return m;
}

void neo_net_interp_send(neo_net_interp *p, const neo_net_instance *of) {
  const neo_network *n = p->n;
  instance x = {.of = *of, .slots = NEO_NEW_ARRAY(p->arena, slot, n->nodes.n)};
  uint32_t number = (uint32_t)p->instances.n;
  for (size_t k = 0; k < n->nodes.n; k++) {
    x.slots[k].in = NEO_NEW_ARRAY(p->arena, neo_values, n->nodes.at[k].in.n + 1);
    x.slots[k].back = NEO_NEW_ARRAY(p->arena, neo_values, n->nodes.at[k].out.n + 1);
    x.slots[k].stash = NEO_NEW_ARRAY(p->arena, neo_values, n->nodes.at[k].stash.n + 1);
  }
  NEO_PUSH(p->arena, &p->instances, x);
  for (size_t k = 0; k < n->nodes.at[0].out.n; k++) {
    const neo_net_port *port = &n->nodes.at[0].out.at[k];
    post(p, port->edge, number, false, port->name ? of->input(of->ctx, port->name) : NULL);
  }
}

/* ---- entries */

typedef struct {
  neo_net_interp *p;
  const neo_net_node *node;
  uint32_t number, instance;
  neo_str *why;
} run;

static slot *slot_of(const run *r) {
  return &r->p->instances.at[r->instance].slots[r->number];
}

static neo_status set(const run *r, neo_interp *to, neo_tensor t, const neo_values *v) {
  neo_values *own = t.i ? neo_interp_tensor(to, t) : NULL;
  if (!own)
    return NEO_OK;
  if (!v->at || own->n != v->n) {
    neo_str_addf(r->why, "node %u: a message has %lld elements instead of %lld", r->number,
                 (long long)(v->at ? v->n : 0), (long long)own->n);
    return NEO_INTERNAL;
  }
  memcpy(own->at, v->at, (size_t)v->n * sizeof *v->at);
  return NEO_OK;
}

static neo_status set_inputs(const run *r, bool back) {
  const neo_net_actor *actor = &r->p->n->actors.at[r->node->actor];
  const neo_net_instance *of = &r->p->instances.at[r->instance].of;
  neo_interp *to = r->p->actors[r->node->actor].interp;
  const slot *s = slot_of(r);
  neo_status status = NEO_OK;
  neo_interp_resize(to, of->sizes);
  neo_interp_set_step(to, of->number);
  if (actor->weight.i)
    neo_interp_tensor(to, actor->weight)->at[0].f = of->weight;
  if (actor->count.i)
    neo_interp_tensor(to, actor->count)->at[0].i = (int64_t)r->p->actors[r->node->actor].updates;
  for (size_t k = 0; k < r->node->in.n && !status; k++)
    status = set(r, to, r->node->in.at[k].value, &s->in[k]);
  for (size_t k = 0; k < r->node->out.n && !status && back; k++)
    status = set(r, to, r->node->out.at[k].back, &s->back[k]);
  for (size_t k = 0; k < r->node->stash.n && !status && back; k++)
    status = set(r, to, r->node->stash.at[k].to, &s->stash[k]);
  return status;
}

static void keep_stash(const run *r) {
  neo_interp *from = r->p->actors[r->node->actor].interp;
  for (size_t k = 0; k < r->node->stash.n; k++)
    slot_of(r)->stash[k] = copy_of(r->p, neo_interp_tensor(from, r->node->stash.at[k].from));
}

static neo_status run_entry(const run *r, uint32_t entry, bool back) {
  state *a = &r->p->actors[r->node->actor];
  const neo_net_actor *actor = &r->p->n->actors.at[r->node->actor];
  if (entry == NEO_NET_NONE)
    return NEO_OK;
  neo_status status = set_inputs(r, back);
  if (!status)
    status = neo_interp_run(a->interp, entry, r->why);
  bool last = back || !r->node->out.n;
  if (!last && !status)
    keep_stash(r);
  for (size_t k = 0; k < actor->seen.n && last && !status; k++)
    if (actor->seen.at[k].node == r->number)
      a->seen[k] = copy_of(r->p, neo_interp_tensor(a->interp, actor->seen.at[k].from));
  return status;
}

static const neo_values *result(const run *r, neo_tensor t) {
  return t.i ? neo_interp_tensor(r->p->actors[r->node->actor].interp, t) : NULL;
}

/* ---- updates */

static uint32_t least_answered(const neo_net_interp *p, uint32_t actor) {
  uint32_t least = UINT32_MAX;
  for (size_t k = 0; k < p->n->nodes.n; k++)
    if (p->n->nodes.at[k].actor == actor && p->answered[k] < least)
      least = p->answered[k];
  return least;
}

static neo_status update(neo_net_interp *p, uint32_t number, neo_str *why) {
  const neo_net_actor *actor = &p->n->actors.at[number];
  state *a = &p->actors[number];
  run r = {.p = p, .why = why};
  neo_status status = NEO_OK;
  for (size_t k = 0; k < p->n->nodes.n; k++)
    if (p->n->nodes.at[k].actor == number)
      p->answered[k] = 0;
  if (actor->update == NEO_NET_NONE)
    return NEO_OK;
  neo_interp_set_step(a->interp, a->updates++);
  for (size_t k = 0; k < actor->seen.n && !status; k++)
    status = set(&r, a->interp, actor->seen.at[k].to, &a->seen[k]);
  return status ? status : neo_interp_run(a->interp, actor->update, why);
}

/* The instances after which the node's actor updates. */
static uint32_t interval(const run *r) {
  return r->p->n->actors.at[r->node->actor].seen.n ? 1 : r->p->every;
}

static bool applies(const run *r) {
  return r->node->apply != NEO_NET_NONE && interval(r) == 1 && !r->p->separate;
}

/* The entry that ends the node's work on an instance, in the place of `usual`. */
static uint32_t last_entry(const run *r, uint32_t usual) {
  if (applies(r))
    return r->node->apply;
  bool begins = r->node->first != NEO_NET_NONE && !r->p->answered[r->number];
  return begins ? r->node->first : usual;
}

static neo_status count(const run *r) {
  if (applies(r)) {
    r->p->actors[r->node->actor].updates++;
    return NEO_OK;
  }
  r->p->answered[r->number]++;
  if (least_answered(r->p, r->node->actor) < interval(r))
    return NEO_OK;
  return update(r->p, r->node->actor, r->why);
}

/* ---- nodes */

static neo_status answer(const run *r) {
  for (size_t k = 0; k < r->node->in.n; k++)
    post(r->p, r->node->in.at[k].edge, r->instance, true, result(r, r->node->in.at[k].back));
  return count(r);
}

static const neo_net_instance *instance_of(const run *r) {
  return &r->p->instances.at[r->instance].of;
}

static void answer_nothing(const run *r) {
  for (size_t k = 0; k < r->node->in.n; k++)
    post(r->p, r->node->in.at[k].edge, r->instance, true, NULL);
}

/* An instance that is evaluated: its answers are empty. The entry returns the loss, then the out
 * ports. */
static neo_status evaluate(const run *r) {
  neo_interp *by = r->p->actors[r->node->actor].interp;
  uint32_t next = 0;
  neo_status status = r->node->test == NEO_NET_NONE ? NEO_OK : set_inputs(r, false);
  if (!status && r->node->test != NEO_NET_NONE)
    status = neo_interp_run(by, r->node->test, r->why);
  if (status)
    return status;
  if (r->node->loss.i)
    r->p->instances.at[r->instance].loss = copy_of(r->p, neo_interp_output(by, next++));
  for (size_t k = 0; k < r->node->out.n; k++)
    post(r->p, r->node->out.at[k].edge, r->instance, false, neo_interp_output(by, next++));
  if (!r->node->out.n)
    answer_nothing(r);
  return NEO_OK;
}

static neo_status forward(const run *r) {
  if (instance_of(r)->test)
    return evaluate(r);
  uint32_t entry = r->node->out.n ? r->node->forward : last_entry(r, r->node->forward);
  neo_status status = run_entry(r, entry, false);
  for (size_t k = 0; k < r->node->out.n && !status; k++)
    post(r->p, r->node->out.at[k].edge, r->instance, false, result(r, r->node->out.at[k].value));
  if (r->node->loss.i && !status)
    r->p->instances.at[r->instance].loss = copy_of(r->p, result(r, r->node->loss));
  return status || r->node->out.n ? status : answer(r);
}

static neo_status backward(const run *r) {
  if (instance_of(r)->test) {
    answer_nothing(r);
    return NEO_OK;
  }
  neo_status status = run_entry(r, last_entry(r, r->node->backward), true);
  return status ? status : answer(r);
}

static void copy_forward(const run *r) {
  for (size_t k = 0; k < r->node->out.n; k++)
    post(r->p, r->node->out.at[k].edge, r->instance, false, &slot_of(r)->in[0]);
}

/* The type of the elements that go through an edge: that of the nearest port with a tensor. */
static neo_type type_of(const neo_network *n, uint32_t edge) {
  const neo_net_edge *e = &n->edges.at[edge];
  const neo_net_node *to = &n->nodes.at[e->to];
  while (to->actor == NEO_NET_NONE) {
    e = &n->edges.at[to->out.at[0].edge];
    to = &n->nodes.at[e->to];
  }
  return neo_tensor_type(n->actors.at[to->actor].module, to->in.at[e->to_port].value);
}

static void add_back(const run *r) {
  neo_type type = type_of(r->p->n, r->node->in.at[0].edge);
  neo_values sum = {0};
  for (size_t k = 0; k < r->node->out.n; k++) {
    const neo_values *v = &slot_of(r)->back[k];
    if (!v->at)
      continue;
    for (int64_t i = 0; i < v->n && sum.at; i++)
      sum.at[i].f = neo_value_round(type, sum.at[i].f + v->at[i].f);
    if (!sum.at)
      sum = copy_of(r->p, v);
  }
  post(r->p, r->node->in.at[0].edge, r->instance, true, sum.at ? &sum : NULL);
}

static neo_status ready(const run *r, bool back) {
  if (r->node->kind == NEO_NET_CONTROLLER)
    r->p->instances.at[r->instance].finished = true;
  else if (r->node->kind == NEO_NET_BCAST && back)
    add_back(r);
  else if (r->node->kind == NEO_NET_BCAST)
    copy_forward(r);
  else
    return back ? backward(r) : forward(r);
  return NEO_OK;
}

static neo_status deliver(neo_net_interp *p, const message *m, neo_str *why) {
  const neo_net_edge *e = &p->n->edges.at[m->edge];
  uint32_t number = m->back ? e->from : e->to, port = m->back ? e->from_port : e->to_port;
  run r = {p, &p->n->nodes.at[number], number, m->instance, why};
  slot *s = slot_of(&r);
  bool all;
  if (m->back) {
    s->back[port] = m->payload;
    all = ++s->n_back == r.node->out.n;
  } else {
    s->in[port] = m->payload;
    all = ++s->n_in == r.node->in.n;
  }
  return all ? ready(&r, m->back) : NEO_OK;
}

/* ---- the barrier */

static neo_status check_finished(const neo_net_interp *p, neo_str *why) {
  for (size_t k = 0; k < p->instances.n; k++)
    if (!p->instances.at[k].finished) {
      neo_str_addf(why, "instance %zu has not come back", k);
      return NEO_INTERNAL;
    }
  return NEO_OK;
}

neo_status neo_net_interp_deliver(neo_net_interp *p, neo_str *why) {
  neo_status status = NEO_OK;
  while (p->queue.n && !status) {
    message m = take(p);
    status = deliver(p, &m, why);
  }
  return status ? status : check_finished(p, why);
}

neo_status neo_net_interp_drain(neo_net_interp *p, neo_str *why) {
  neo_status status = neo_net_interp_deliver(p, why);
  for (uint32_t k = 0; k < p->n->actors.n && !status; k++)
    if (least_answered(p, k))
      status = update(p, k, why);
  return status;
}
