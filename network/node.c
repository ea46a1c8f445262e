/* The module of an actor. For a node that computes H of X with W, and W.next = W - lr*W.grad:
 *
 *     input X, seed.H, weight;  param W;  state acc.W, acc.weight
 *     def H[..] = ..                             as in the model
 *     gradient of H seed seed.H for X, W into grad.X, grad.W
 *     acc.W.next = acc.W + grad.W                acc.weight.next = acc.weight + weight
 *     W.grad = acc.W/acc.weight                  acc.W.clear = 0
 *     entry forward: H;  entry backward: grad.X; updates acc.W.next, acc.weight.next
 *     entry update: updates W.next, acc.W.clear, acc.weight.clear
 *
 * With several out ports, the gradient is that of the sum of their products with their seeds. The
 * gradient of the loss has the weight as its seed, so that sums over instances weigh them. */
#include "ir/clone.h"
#include "ir/define.h"
#include "ir/import.h"
#include "network/parts.h"

typedef struct {
  const neo_net_step *s;
  const neo_net_classes *c;
  const neo_net_owners *o;
  neo_network *n;
  uint32_t actor;
  neo_module *m; /* the actor's */
  neo_import kept;
  neo_tensor *sum;          /* by pair: acc.W; 0: not in this actor */
  neo_tensor weight, total; /* the INPUT, and acc.weight; 0: none */
  bool weighs;              /* an entry adds to acc.weight */
  uint32_t nodes;           /* nodes that have their entries */
} maker;

typedef struct { /* a node of the actor */
  maker *k;
  uint32_t class, number; /* numbers of the class and of the node */
  neo_import x;
  neo_tensors wrt, out;         /* the gradient request's tensors; those of ports come first */
  neo_tensors results, updates; /* the backward pass's results and updates */
} part;

static neo_net_node *node_of(const part *p) {
  return &p->k->n->nodes.at[p->number];
}

/* ---- definitions */

/* out[i, ..] = value */
static void define(neo_module *m, neo_tensor out, neo_expr value) {
  neo_axis_rec axis[16];
  uint32_t rank = neo_tensor_rank(m, out);
  neo_span span = neo_tensor_at(m, out)->span;
  for (uint32_t k = 0; k < rank; k++) {
    axis[k] = (neo_axis_rec){.lo = neo_const_i64(m, 0), .hi = neo_tensor_extent(m, out, k)};
    axis[k].span = span;
  }
  neo_def_rec r = {.n_out = rank, .reducer = NEO_RED_NONE, .span = span};
  r.axes = neo_axes_add(m, axis, rank);
  r.finish = neo_list_one(m, value.i);
  r.out = neo_list_one(m, out.i);
  neo_tensor_rec *t = neo_tensor_at(m, out);
  bool kept = t->role == NEO_ROLE_STATE;
  neo_def d = neo_def_add(m, r, !kept);
  if (kept)
    neo_tensor_at(m, out)->init = d;
}

static neo_expr own(neo_module *m, neo_tensor t) {
  return neo_load_own(m, t, neo_tensor_at(m, t)->span);
}

/* A new tensor of the model's span, with the type and extents of `like`. */
static neo_tensor tensor_like(neo_module *m, neo_tensor like, neo_role role, neo_type type,
                              const char *prefix) {
  neo_tensor_rec of = *neo_tensor_at(m, like);
  neo_tensor_rec r = {.role = (uint8_t)role, .type = (uint8_t)type, .span = of.span};
  r.extent = of.extent;
  r.name = neo_tensor_fresh_name(m, prefix, neo_name_text(m->names, of.name));
  return neo_tensor_add(m, r);
}

/* prefix.state = value, a new value of the state. */
static neo_tensor define_update(neo_module *m, neo_tensor state, const char *prefix,
                                neo_expr value) {
  neo_tensor u = tensor_like(m, state, NEO_ROLE_UPDATE, neo_tensor_type(m, state), prefix);
  neo_tensor_at(m, u)->updates = state;
  define(m, u, value);
  return u;
}

static neo_tensor scalar(neo_module *m, neo_role role, neo_type type, const char *name) {
  neo_tensor_rec r = {.role = (uint8_t)role, .type = (uint8_t)type};
  bool taken = neo_tensor_find(m, name).i != 0;
  r.name = taken ? neo_tensor_fresh_name(m, "net", name) : neo_name_of(m->names, name);
  return neo_tensor_add(m, r);
}

/* ---- sums of gradients */

static neo_type sum_type(neo_type t) {
  return t == NEO_F64_T ? t : NEO_F32_T;
}

/* acc.W, which begins with 0. */
static neo_tensor sum_of(maker *k, size_t pair) {
  neo_module *m = k->m;
  if (k->sum[pair].i)
    return k->sum[pair];
  neo_tensor w = neo_import_tensor(&k->kept, k->s->pairs.at[pair].wrt);
  neo_type type = sum_type(neo_tensor_type(m, w));
  neo_tensor sum = tensor_like(m, w, NEO_ROLE_STATE, type, "acc");
  neo_tensor_at(m, sum)->optimizer = true;
  define(m, sum, neo_const_int(m, type, 0));
  return k->sum[pair] = sum;
}

static void make_weight(maker *k) {
  if (!k->weight.i)
    k->weight = scalar(k->m, NEO_ROLE_INPUT, NEO_F32_T, "weight");
}

static void add_sum(part *p, size_t pair, neo_tensor gradient) {
  neo_module *m = p->k->m;
  neo_tensor sum = sum_of(p->k, pair);
  neo_expr more = neo_cast(m, neo_tensor_type(m, sum), own(m, gradient));
  neo_expr value = neo_op2(m, NEO_OP_ADD, own(m, sum), more);
  NEO_PUSH(p->k->s->a, &p->updates, define_update(m, sum, "next", value));
}

static void add_weight(part *p) {
  maker *k = p->k;
  if (k->weighs)
    return;
  k->weighs = true;
  make_weight(k);
  k->total = scalar(k->m, NEO_ROLE_STATE, NEO_F32_T, "acc.weight");
  neo_tensor_at(k->m, k->total)->optimizer = true;
  define(k->m, k->total, neo_const_int(k->m, NEO_F32_T, 0));
  neo_expr value = neo_op2(k->m, NEO_OP_ADD, own(k->m, k->total), own(k->m, k->weight));
  NEO_PUSH(k->s->a, &p->updates, define_update(k->m, k->total, "next", value));
}

/* ---- what a node holds of the model */

static bool is_made_here(const part *p, neo_tensor t) {
  neo_list pieces = neo_tensor_at(p->k->s->m, t)->pieces;
  uint32_t place = pieces.n ? p->k->s->place[neo_list_at(p->k->s->m, pieces, 0)] : 0;
  return place && p->k->c->of[place - 1] == p->class;
}

static neo_tensor model_tensor(const part *p, const neo_net_port *port) {
  const neo_module *m = p->k->s->m;
  return port->name ? neo_tensor_find(m, neo_name_text(m->names, port->name)) : (neo_tensor){0};
}

static void import_in_ports(part *p) {
  neo_net_ports *in = &node_of(p)->in;
  for (size_t k = 0; k < in->n; k++) {
    neo_tensor t = model_tensor(p, &in->at[k]);
    if (!t.i)
      continue;
    in->at[k].value = neo_import_like(&p->x, t, NEO_ROLE_INPUT, NULL);
    neo_map_set(&p->x.tensors, t.i, in->at[k].value.i);
  }
  for (size_t k = 0; k < in->n; k++) {
    neo_tensor t = model_tensor(p, &in->at[k]);
    neo_tensor offsets = neo_import_known(&p->x, neo_tensor_at(p->k->s->m, t)->offsets);
    if (t.i)
      neo_tensor_at(p->k->m, in->at[k].value)->offsets = offsets;
  }
}

static void import_customs(part *p) {
  const neo_module *from = p->k->s->m;
  for (size_t c = 0; c < from->customs.n; c++) {
    neo_custom_rec r = from->customs.at[c];
    bool here = false;
    for (uint32_t k = 0; k < r.outs.n; k++)
      here = here || is_made_here(p, neo_list_tensor(from, r.outs, k));
    if (!here)
      continue;
    r.ins = neo_import_tensors(&p->x, r.ins);
    r.outs = neo_import_tensors(&p->x, r.outs);
    r.dys = neo_import_tensors(&p->x, r.dys);
    r.dxs = neo_import_tensors(&p->x, r.dxs);
    NEO_PUSH(p->k->m->arena, &p->k->m->customs, r);
  }
}

/* The requests whose results the node reads: then it is the only node. */
static void import_requests(part *p) {
  const neo_net_step *s = p->k->s;
  bool *taken = NEO_NEW_ARRAY(s->a, bool, s->m->grads.n + 1);
  for (bool more = true; more;) {
    more = false;
    neo_import_finish(&p->x);
    for (size_t k = 0; k < s->m->grads.n; k++) {
      neo_grad_rec g = s->m->grads.at[k];
      bool read = false;
      for (uint32_t j = 0; j < g.out.n; j++) {
        neo_tensor out = neo_list_tensor(s->m, g.out, j);
        read = read || (s->asked[out.i] && neo_import_known(&p->x, out).i);
      }
      if (!read || taken[k])
        continue;
      taken[k] = more = true;
      g.y = neo_import_tensor(&p->x, g.y);
      g.seed = neo_import_tensor(&p->x, g.seed);
      g.wrt = neo_import_tensors(&p->x, g.wrt);
      g.out = neo_import_tensors(&p->x, g.out);
      g.hold = neo_import_tensors(&p->x, g.hold);
      NEO_PUSH(p->k->m->arena, &p->k->m->grads, g);
    }
  }
}

static void import_results(part *p) {
  const neo_net_step *s = p->k->s;
  neo_net_ports *out = &node_of(p)->out;
  for (size_t k = 0; k < out->n; k++)
    out->at[k].value = neo_import_tensor(&p->x, model_tensor(p, &out->at[k]));
  if (node_of(p)->kind == NEO_NET_LOSS)
    node_of(p)->loss = neo_import_tensor(&p->x, s->loss);
  for (size_t k = 0; k < s->own.n; k++)
    if (is_made_here(p, s->own.at[k]))
      NEO_PUSH(s->a, &p->updates, neo_import_tensor(&p->x, s->own.at[k]));
}

/* Values that the optimizer reads of an instance: they are results of the node. */
static void import_needs(part *p) {
  const neo_net_step *s = p->k->s;
  neo_net_actor *actor = &p->k->n->actors.at[p->k->actor];
  for (size_t k = 0; k < s->needs.n; k++) {
    neo_tensor t = s->needs.at[k].tensor,
               state = neo_tensor_at(s->m, s->needs.at[k].update)->updates;
    bool input = neo_tensor_at(s->m, t)->role == NEO_ROLE_INPUT, known = false;
    bool here = input ? neo_import_known(&p->x, t).i != 0 : is_made_here(p, t) || s->asked[t.i];
    for (size_t j = 0; j < actor->seen.n; j++)
      known = known || actor->seen.at[j].of.i == t.i;
    if (known || !here || p->k->o->of_tensor[state.i] != p->k->actor)
      continue;
    neo_tensor from = neo_import_tensor(&p->x, t), of = from;
    if (input) {
      from = tensor_like(p->k->m, of, NEO_ROLE_TEMP, neo_tensor_type(p->k->m, of), "seen");
      define(p->k->m, from, own(p->k->m, of));
    }
    NEO_PUSH(s->a, &p->results, from);
    NEO_PUSH(p->k->n->arena, &actor->seen,
             (neo_net_seen){.of = t, .from = from, .node = p->number});
  }
}

/* ---- the gradient of a node */

static void want_gradient(part *p, neo_tensor wrt, neo_tensor out) {
  NEO_PUSH(p->k->s->a, &p->wrt, wrt);
  NEO_PUSH(p->k->s->a, &p->out, out);
}

static void want_ports(part *p) {
  neo_module *m = p->k->m;
  neo_net_ports *in = &node_of(p)->in;
  for (size_t k = 0; k < in->n; k++) {
    neo_tensor x = in->at[k].value;
    if (!in->at[k].gradient)
      continue;
    in->at[k].back = tensor_like(m, x, NEO_ROLE_TEMP, neo_tensor_type(m, x), "grad");
    want_gradient(p, x, in->at[k].back);
    NEO_PUSH(p->k->s->a, &p->results, in->at[k].back);
  }
}

static bool reads(const part *p, neo_tensor t) {
  const neo_net_step *s = p->k->s;
  for (size_t k = 0; k < s->n_defs; k++) {
    neo_tensors read = p->k->c->of[k] == p->class ? neo_net_reads(s, s->defs[k]) : (neo_tensors){0};
    for (size_t j = 0; j < read.n; j++)
      if (read.at[j].i == t.i)
        return true;
  }
  return false;
}

static void want_params(part *p) {
  neo_module *m = p->k->m;
  for (size_t k = 0; k < p->k->s->pairs.n; k++) {
    neo_tensor wrt = p->k->s->pairs.at[k].wrt;
    if (p->k->o->of_tensor[wrt.i] != p->k->actor || !reads(p, wrt))
      continue;
    neo_tensor w = neo_import_tensor(&p->k->kept, wrt);
    neo_tensor out = tensor_like(m, w, NEO_ROLE_TEMP, neo_tensor_type(m, w), "grad");
    want_gradient(p, w, out);
    add_sum(p, k, out);
    add_weight(p);
  }
}

static void add_seeds(part *p) {
  neo_module *m = p->k->m;
  neo_net_ports *out = &node_of(p)->out;
  for (size_t k = 0; k < out->n; k++)
    if (out->at[k].gradient)
      out->at[k].back = tensor_like(m, out->at[k].value, NEO_ROLE_INPUT,
                                    neo_tensor_type(m, out->at[k].value), "seed");
}

/* sum[..] y[..]*seed[..] */
static neo_expr product_of(part *p, const neo_net_port *port, neo_type type) {
  neo_module *m = p->k->m;
  neo_axis_rec axis[16];
  uint32_t rank = neo_tensor_rank(m, port->value);
  neo_expr x = neo_cast(m, type, own(m, port->value)), dx = neo_cast(m, type, own(m, port->back));
  neo_expr body = neo_op2(m, NEO_OP_MUL, x, dx);
  if (!rank)
    return body;
  for (uint32_t k = 0; k < rank; k++)
    axis[k] = (neo_axis_rec){.lo = neo_const_i64(m, 0), .hi = neo_tensor_extent(m, port->value, k)};
  neo_partial sum = {"sum", neo_tensor_piece(m, port->value, 0), NEO_RED_SUM, {0}, 0, {0}, body};
  sum.axes = neo_axes_add(m, axis, rank);
  return neo_load(m, neo_partial_define(m, &sum), NULL, 0, 0);
}

static neo_type widest(const part *p) {
  const neo_net_ports *out = &node_of(p)->out;
  neo_type type = NEO_F32_T;
  for (size_t k = 0; k < out->n; k++)
    if (out->at[k].gradient && neo_tensor_type(p->k->m, out->at[k].value) == NEO_F64_T)
      type = NEO_F64_T;
  return type;
}

/* The tensor whose gradient is asked for, and its seed. */
static bool seeded(part *p, neo_grad_rec *g) {
  neo_module *m = p->k->m;
  const neo_net_ports *out = &node_of(p)->out;
  neo_type type = widest(p);
  neo_expr sum = {0};
  uint32_t n = 0;
  for (size_t k = 0; k < out->n; k++) {
    if (!out->at[k].gradient)
      continue;
    n++;
    g->y = out->at[k].value;
    g->seed = out->at[k].back;
  }
  for (size_t k = 0; k < out->n && n > 1; k++) {
    neo_expr x = out->at[k].gradient ? product_of(p, &out->at[k], type) : (neo_expr){0};
    sum = sum.i && x.i ? neo_op2(m, NEO_OP_ADD, sum, x) : x.i ? x : sum;
  }
  if (n > 1) {
    g->y = scalar(m, NEO_ROLE_TEMP, type, neo_arena_printf(m->arena, "products%u", p->number));
    g->seed.i = 0;
    define(m, g->y, sum);
  }
  return n > 0;
}

static void seed_loss(part *p, neo_grad_rec *g) {
  maker *k = p->k;
  g->y = node_of(p)->loss;
  make_weight(k);
  g->seed = k->weight;
  if (neo_tensor_type(k->m, g->y) == NEO_F32_T)
    return;
  g->seed = tensor_like(k->m, g->y, NEO_ROLE_TEMP, neo_tensor_type(k->m, g->y), "seed");
  define(k->m, g->seed, neo_cast(k->m, neo_tensor_type(k->m, g->y), own(k->m, k->weight)));
}

static neo_list tensors(const part *p, const neo_tensors *from) {
  uint32_t *id = NEO_NEW_ARRAY(p->k->s->a, uint32_t, from->n + 1);
  for (size_t k = 0; k < from->n; k++)
    id[k] = from->at[k].i;
  return neo_list_new(p->k->m, id, from->n);
}

static void ask_gradient(part *p) {
  neo_grad_rec g = {.span = p->k->s->entry.span};
  bool loss = node_of(p)->kind == NEO_NET_LOSS;
  add_seeds(p);
  if (loss)
    seed_loss(p, &g);
  if (!loss && !seeded(p, &g))
    return;
  want_ports(p);
  want_params(p);
  g.wrt = tensors(p, &p->wrt);
  g.out = tensors(p, &p->out);
  if (g.wrt.n)
    NEO_PUSH(p->k->m->arena, &p->k->m->grads, g);
}

/* ---- entries */

static uint32_t add_entry(maker *k, neo_entry_kind kind, const char *name, neo_list outputs,
                          neo_list updates) {
  neo_module *m = k->m;
  neo_entry_rec e = {.kind = (uint8_t)kind, .name = neo_name_of(m->names, name)};
  uint32_t *names = NEO_NEW_ARRAY(k->s->a, uint32_t, outputs.n + 1);
  for (uint32_t j = 0; j < outputs.n; j++)
    names[j] = neo_tensor_at(m, neo_list_tensor(m, outputs, j))->name;
  e.outputs = outputs;
  e.names = neo_list_new(m, names, outputs.n);
  e.updates = updates;
  e.span = k->s->entry.span;
  NEO_PUSH(m->arena, &m->entries, e);
  return (uint32_t)m->entries.n - 1;
}

/* "forward" for the first node of the actor, "forward2" for the second ... */
static const char *numbered(const part *p, const char *name) {
  uint32_t k = p->k->nodes + 1;
  return k > 1 ? neo_arena_printf(p->k->m->arena, "%s%u", name, k) : name;
}

static void add_entries(part *p) {
  neo_net_node *node = node_of(p);
  neo_tensors forward = {0};
  bool both = !node->out.n; /* nothing is to wait for */
  if (node->loss.i)
    NEO_PUSH(p->k->s->a, &forward, node->loss);
  for (size_t k = 0; k < node->out.n; k++)
    NEO_PUSH(p->k->s->a, &forward, node->out.at[k].value);
  for (size_t k = 0; k < p->results.n && both; k++)
    NEO_PUSH(p->k->s->a, &forward, p->results.at[k]);
  neo_list updates = tensors(p, &p->updates), none = {0};
  node->forward = add_entry(p->k, NEO_ENTRY_GRAD, numbered(p, "forward"), tensors(p, &forward),
                            both ? updates : none);
  if (!both && (updates.n || p->results.n))
    node->backward =
        add_entry(p->k, NEO_ENTRY_GRAD, numbered(p, "backward"), tensors(p, &p->results), updates);
  p->k->nodes++;
}

static void make_node(maker *k, uint32_t class) {
  part p = {.k = k, .class = class, .number = class + 1};
  p.x = neo_import_begin(k->s->m, k->m, &k->kept, k->s->a);
  import_in_ports(&p);
  import_results(&p);
  import_customs(&p);
  import_needs(&p);
  import_requests(&p);
  ask_gradient(&p);
  neo_import_finish(&p.x);
  add_entries(&p);
}

/* ---- the update */

/* W.grad = acc.W/acc.weight */
static void define_gradients(maker *k, neo_import *x) {
  neo_module *m = k->m;
  for (size_t j = 0; j < k->s->pairs.n; j++) {
    if (!k->sum[j].i)
      continue;
    neo_tensor out = k->s->pairs.at[j].out, g = neo_import_like(x, out, NEO_ROLE_TEMP, NULL);
    neo_type type = neo_tensor_type(m, k->sum[j]);
    neo_expr weight = neo_cast(m, type, neo_load(m, k->total, NULL, 0, 0));
    neo_expr mean = neo_op2(m, NEO_OP_DIV, own(m, k->sum[j]), weight);
    define(m, g, neo_cast(m, neo_tensor_type(m, g), mean));
    neo_map_set(&x->tensors, out.i, g.i);
  }
}

static void declare_seen(maker *k, neo_import *x) {
  neo_net_actor *actor = &k->n->actors.at[k->actor];
  for (size_t j = 0; j < actor->seen.n; j++) {
    neo_net_seen *seen = &actor->seen.at[j];
    seen->to = neo_import_like(x, seen->of, NEO_ROLE_INPUT, "last");
    neo_map_set(&x->tensors, seen->of.i, seen->to.i);
  }
}

/* The updates of what the actor owns, and of the copies that it has. The actor of the loss has all
 * copies, so that there is one of each. */
static void import_updates(maker *k, neo_import *x, neo_tensors *updates) {
  const neo_net_step *s = k->s;
  bool *taken = NEO_NEW_ARRAY(s->a, bool, s->optimizer.n + 1), more = true;
  bool loss = k->o->of_class[k->c->loss] == k->actor;
  while (more) {
    more = false;
    for (size_t j = 0; j < s->optimizer.n; j++) {
      neo_tensor state = neo_tensor_at(s->m, s->optimizer.at[j])->updates;
      bool copy = s->copied[state.i] && (loss || neo_import_known(&k->kept, state).i);
      if (taken[j] || !(copy || k->o->of_tensor[state.i] == k->actor))
        continue;
      taken[j] = more = true;
      NEO_PUSH(s->a, updates, neo_import_tensor(x, s->optimizer.at[j]));
      neo_import_finish(x);
    }
  }
}

static void clear(maker *k, neo_tensor sum, neo_tensors *updates) {
  neo_expr zero = neo_const_int(k->m, neo_tensor_type(k->m, sum), 0);
  NEO_PUSH(k->s->a, updates, define_update(k->m, sum, "clear", zero));
}

static void make_update(maker *k) {
  neo_import x = neo_import_begin(k->s->m, k->m, &k->kept, k->s->a);
  neo_net_actor *actor = &k->n->actors.at[k->actor];
  part p = {.k = k};
  neo_tensors updates = {0};
  define_gradients(k, &x);
  declare_seen(k, &x);
  import_updates(k, &x, &updates);
  for (size_t j = 0; j < k->s->pairs.n; j++)
    if (k->sum[j].i)
      clear(k, k->sum[j], &updates);
  if (k->total.i)
    clear(k, k->total, &updates);
  if (updates.n)
    actor->update = add_entry(k, NEO_ENTRY_TRAIN, "update", (neo_list){0}, tensors(&p, &updates));
}

void neo_net_make_actor(const neo_net_step *s, const neo_net_classes *c, const neo_net_owners *o,
                        uint32_t actor, neo_network *n) {
  maker k = {.s = s, .c = c, .o = o, .n = n, .actor = actor};
  const char *name = neo_name_text(s->m->names, s->m->name);
  k.m = neo_module_new(n->arena, s->m->names, s->m->diags,
                       neo_arena_printf(n->arena, "%s_n%u", name, actor));
  k.kept = neo_import_begin(s->m, k.m, NULL, s->a);
  k.sum = NEO_NEW_ARRAY(s->a, neo_tensor, s->pairs.n + 1);
  neo_import_frame(&k.kept);
  NEO_PUSH(n->arena, &n->actors, (neo_net_actor){.module = k.m, .update = NEO_NET_NONE});
  for (uint32_t class = 0; class < c->n; class ++)
    if (o->of_class[class] == actor)
      make_node(&k, class);
  make_update(&k);
  n->actors.at[actor].weight = k.weight;
}
