/* The module of an actor. For a node that computes H of X with W, and W.next = W - lr*W.grad
 * (without prefixes of names that several tensors would have):
 *
 *     input X, seed.H, weight;  param W;  state acc.W, acc.weight
 *     def H[..] = ..                             as in the model
 *     gradient of H seed seed.H for X, W into grad.X, grad.W
 *     entry forward:  H
 *     entry backward: grad.X; updates acc.W = acc.W + grad.W, acc.weight = acc.weight + weight
 *     entry first:    grad.X; updates acc.W = grad.W, acc.weight = weight
 *     entry apply:    grad.X; updates W = W - lr*grad.W/weight
 *     entry update:           updates W = W - lr*acc.W/acc.weight
 *     entry test:     H, where `training` is false
 *
 * With several out ports, the gradient is that of the sum of their products with their seeds. The
 * gradient of the loss has the weight as its seed, so that sums over instances weigh them. */
#include "ir/define.h"
#include "network/actor.h"

/* ---- sums of gradients */

static neo_type sum_type(neo_type t) {
  return t == NEO_F64_T ? t : NEO_F32_T;
}

/* acc.W, which begins with 0. */
static neo_tensor make_sum(neo_net_maker *k, size_t pair) {
  neo_module *m = k->m;
  neo_tensor w = neo_import_tensor(&k->kept, k->s->pairs.at[pair].wrt);
  neo_type type = sum_type(neo_tensor_type(m, w));
  neo_tensor sum = neo_net_tensor_like(m, w, NEO_ROLE_STATE, type, "acc");
  neo_tensor_at(m, sum)->optimizer = true;
  neo_net_define(m, sum, neo_const_int(m, type, 0));
  return sum;
}

static void make_weight(neo_net_maker *k) {
  if (!k->weight.i)
    k->weight = neo_net_scalar(k->m, NEO_ROLE_INPUT, NEO_F32_T, "weight");
}

/* sum += more; in the first message after an update, sum = more. */
static void add_to(neo_net_part *p, neo_tensor sum, neo_tensor more) {
  neo_module *m = p->k->m;
  neo_expr value = neo_cast(m, neo_tensor_type(m, sum), neo_net_own(m, more));
  neo_expr both = neo_op2(m, NEO_OP_ADD, neo_net_own(m, sum), value);
  NEO_PUSH(p->k->s->a, &p->sums, neo_net_define_update(m, sum, "next", both));
  if (p->k->n_nodes == 1)
    NEO_PUSH(p->k->s->a, &p->firsts, neo_net_define_update(m, sum, "first", value));
}

static void add_weight(neo_net_part *p) {
  neo_net_maker *k = p->k;
  if (p->total.i)
    return;
  make_weight(k);
  p->total = neo_net_scalar(k->m, NEO_ROLE_STATE, NEO_F32_T, "acc.weight");
  neo_tensor_at(k->m, p->total)->optimizer = true;
  neo_net_define(k->m, p->total, neo_const_int(k->m, NEO_F32_T, 0));
  NEO_PUSH(k->s->a, &k->totals, p->total);
  add_to(p, p->total, k->weight);
}

static void add_sum(neo_net_part *p, size_t pair, neo_tensor gradient) {
  neo_net_maker *k = p->k;
  neo_tensor sum = make_sum(k, pair);
  NEO_PUSH(k->s->a, &k->sums, (neo_net_sum){pair, sum, p->total});
  NEO_PUSH(k->s->a, &k->last, (neo_net_sum){pair, gradient, k->weight});
  add_to(p, sum, gradient);
}

/* ---- what a node holds of the model */

static bool is_made_here(const neo_net_part *p, neo_tensor t) {
  neo_list pieces = neo_tensor_at(p->k->s->m, t)->pieces;
  uint32_t place = pieces.n ? p->k->s->place[neo_list_at(p->k->s->m, pieces, 0)] : 0;
  return place && p->k->c->of[place - 1] == p->class;
}

static neo_tensor model_tensor(const neo_net_part *p, const neo_net_port *port) {
  const neo_module *m = p->k->s->m;
  return port->name ? neo_tensor_find(m, neo_name_text(m->names, port->name)) : (neo_tensor){0};
}

static void import_in_ports(neo_net_part *p) {
  neo_net_ports *in = &neo_net_node_of(p)->in;
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

static void import_customs(neo_net_part *p) {
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
static void import_requests(neo_net_part *p) {
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

static void import_results(neo_net_part *p) {
  const neo_net_step *s = p->k->s;
  neo_net_ports *out = &neo_net_node_of(p)->out;
  for (size_t k = 0; k < out->n; k++)
    out->at[k].value = neo_import_tensor(&p->x, model_tensor(p, &out->at[k]));
  if (neo_net_node_of(p)->kind == NEO_NET_LOSS)
    neo_net_node_of(p)->loss = neo_import_tensor(&p->x, s->loss);
  for (size_t k = 0; k < s->own.n; k++)
    if (is_made_here(p, s->own.at[k]))
      NEO_PUSH(s->a, &p->updates, neo_import_tensor(&p->x, s->own.at[k]));
}

/* Values that the optimizer reads of an instance: they are results of the node. */
static void import_needs(neo_net_part *p) {
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
      from = neo_net_tensor_like(p->k->m, of, NEO_ROLE_TEMP, neo_tensor_type(p->k->m, of), "seen");
      neo_net_define(p->k->m, from, neo_net_own(p->k->m, of));
    }
    NEO_PUSH(s->a, &p->results, from);
    NEO_PUSH(p->k->n->arena, &actor->seen,
             (neo_net_seen){.of = t, .from = from, .node = p->number});
  }
}

/* ---- the gradient of a node */

static void want_gradient(neo_net_part *p, neo_tensor wrt, neo_tensor out) {
  NEO_PUSH(p->k->s->a, &p->wrt, wrt);
  NEO_PUSH(p->k->s->a, &p->out, out);
}

static void want_ports(neo_net_part *p) {
  neo_module *m = p->k->m;
  neo_net_ports *in = &neo_net_node_of(p)->in;
  for (size_t k = 0; k < in->n; k++) {
    neo_tensor x = in->at[k].value;
    if (!in->at[k].gradient)
      continue;
    in->at[k].back = neo_net_tensor_like(m, x, NEO_ROLE_TEMP, neo_tensor_type(m, x), "grad");
    want_gradient(p, x, in->at[k].back);
    NEO_PUSH(p->k->s->a, &p->results, in->at[k].back);
  }
}

static bool reads(const neo_net_part *p, neo_tensor t) {
  const neo_net_step *s = p->k->s;
  for (size_t k = 0; k < s->n_defs; k++) {
    neo_tensors read = p->k->c->of[k] == p->class ? neo_net_reads(s, s->defs[k]) : (neo_tensors){0};
    for (size_t j = 0; j < read.n; j++)
      if (read.at[j].i == t.i)
        return true;
  }
  return false;
}

static void want_params(neo_net_part *p) {
  neo_module *m = p->k->m;
  for (size_t k = 0; k < p->k->s->pairs.n; k++) {
    neo_tensor wrt = p->k->s->pairs.at[k].wrt;
    if (p->k->o->of_tensor[wrt.i] != p->k->actor || !reads(p, wrt))
      continue;
    neo_tensor w = neo_import_tensor(&p->k->kept, wrt);
    neo_tensor out = neo_net_tensor_like(m, w, NEO_ROLE_TEMP, neo_tensor_type(m, w), "grad");
    want_gradient(p, w, out);
    add_weight(p);
    add_sum(p, k, out);
  }
}

static void add_seeds(neo_net_part *p) {
  neo_module *m = p->k->m;
  neo_net_ports *out = &neo_net_node_of(p)->out;
  for (size_t k = 0; k < out->n; k++)
    if (out->at[k].gradient)
      out->at[k].back = neo_net_tensor_like(m, out->at[k].value, NEO_ROLE_INPUT,
                                            neo_tensor_type(m, out->at[k].value), "seed");
}

/* sum[..] y[..]*seed[..] */
static neo_expr product_of(neo_net_part *p, const neo_net_port *port, neo_type type) {
  neo_module *m = p->k->m;
  neo_axis_rec axis[16];
  uint32_t rank = neo_tensor_rank(m, port->value);
  neo_expr x = neo_cast(m, type, neo_net_own(m, port->value)),
           dx = neo_cast(m, type, neo_net_own(m, port->back));
  neo_expr body = neo_op2(m, NEO_OP_MUL, x, dx);
  if (!rank)
    return body;
  for (uint32_t k = 0; k < rank; k++)
    axis[k] = (neo_axis_rec){.lo = neo_const_i64(m, 0), .hi = neo_tensor_extent(m, port->value, k)};
  neo_partial sum = {"sum", neo_tensor_piece(m, port->value, 0), NEO_RED_SUM, {0}, 0, {0}, body};
  sum.axes = neo_axes_add(m, axis, rank);
  return neo_load(m, neo_partial_define(m, &sum), NULL, 0, 0);
}

static neo_type widest(const neo_net_part *p) {
  const neo_net_ports *out = &neo_net_node_of(p)->out;
  neo_type type = NEO_F32_T;
  for (size_t k = 0; k < out->n; k++)
    if (out->at[k].gradient && neo_tensor_type(p->k->m, out->at[k].value) == NEO_F64_T)
      type = NEO_F64_T;
  return type;
}

/* The tensor whose gradient is asked for, and its seed. */
static bool seeded(neo_net_part *p, neo_grad_rec *g) {
  neo_module *m = p->k->m;
  const neo_net_ports *out = &neo_net_node_of(p)->out;
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
    g->y =
        neo_net_scalar(m, NEO_ROLE_TEMP, type, neo_arena_printf(m->arena, "products%u", p->number));
    g->seed.i = 0;
    neo_net_define(m, g->y, sum);
  }
  return n > 0;
}

static void seed_loss(neo_net_part *p, neo_grad_rec *g) {
  neo_net_maker *k = p->k;
  g->y = neo_net_node_of(p)->loss;
  make_weight(k);
  g->seed = k->weight;
  if (neo_tensor_type(k->m, g->y) == NEO_F32_T)
    return;
  g->seed = neo_net_tensor_like(k->m, g->y, NEO_ROLE_TEMP, neo_tensor_type(k->m, g->y), "seed");
  neo_net_define(k->m, g->seed,
                 neo_cast(k->m, neo_tensor_type(k->m, g->y), neo_net_own(k->m, k->weight)));
}

static void ask_gradient(neo_net_part *p) {
  neo_grad_rec g = {.span = p->k->s->entry.span};
  bool loss = neo_net_node_of(p)->kind == NEO_NET_LOSS;
  add_seeds(p);
  if (loss)
    seed_loss(p, &g);
  if (!loss && !seeded(p, &g))
    return;
  want_ports(p);
  want_params(p);
  g.wrt = neo_net_list(p->k, &p->wrt);
  g.out = neo_net_list(p->k, &p->out);
  if (g.wrt.n)
    NEO_PUSH(p->k->m->arena, &p->k->m->grads, g);
}

/* ---- entries */

/* "forward" for the first node of the actor, "forward2" for the second ... */
static const char *numbered(const neo_net_part *p, const char *name) {
  uint32_t k = p->k->nodes + 1;
  return k > 1 ? neo_arena_printf(p->k->m->arena, "%s%u", name, k) : name;
}

static void append(const neo_net_part *p, neo_tensors *to, const neo_tensors *from) {
  for (size_t k = 0; k < from->n; k++)
    NEO_PUSH(p->k->s->a, to, from->at[k]);
}

/* An entry of the backward pass: gradients change with those that it updates, so each fuses by
 * itself. */
static uint32_t add_backward(const neo_net_part *p, const char *name, neo_list outputs,
                             const neo_tensors *more) {
  neo_tensors updates = {0};
  append(p, &updates, &p->updates);
  append(p, &updates, more);
  return neo_net_add_entry(p->k, NEO_ENTRY_TRAIN, numbered(p, name), outputs,
                           neo_net_list(p->k, &updates));
}

static void add_variants(const neo_net_part *p, neo_list outputs) {
  neo_tensors optimizer = {0};
  neo_net_node *node = neo_net_node_of(p);
  if (!p->firsts.n)
    return;
  node->first = add_backward(p, "first", outputs, &p->firsts);
  if (neo_net_apply(p, &optimizer))
    node->apply = add_backward(p, "apply", outputs, &optimizer);
}

/* The loss, if it is here, and the out ports. */
static neo_list forward_outputs(const neo_net_part *p) {
  neo_net_node *node = neo_net_node_of(p);
  neo_tensors outputs = {0};
  if (node->loss.i)
    NEO_PUSH(p->k->s->a, &outputs, node->loss);
  for (size_t k = 0; k < node->out.n; k++)
    NEO_PUSH(p->k->s->a, &outputs, node->out.at[k].value);
  return neo_net_list(p->k, &outputs);
}

static void add_test(const neo_net_part *p) {
  neo_list outputs = forward_outputs(p);
  if (outputs.n)
    neo_net_node_of(p)->test =
        neo_net_add_entry(p->k, NEO_ENTRY_FORWARD, numbered(p, "test"), outputs, (neo_list){0});
}

/* Without readers there is nothing to wait for: `forward` does both. */
static void add_entries(const neo_net_part *p) {
  neo_net_node *node = neo_net_node_of(p);
  bool both = !node->out.n;
  neo_tensors outputs = {0};
  if (node->loss.i && both)
    NEO_PUSH(p->k->s->a, &outputs, node->loss);
  append(p, &outputs, &p->results);
  neo_list results = neo_net_list(p->k, &outputs);
  if (!both)
    node->forward = neo_net_add_entry(p->k, NEO_ENTRY_GRAD, numbered(p, "forward"),
                                      forward_outputs(p), (neo_list){0});
  if (both)
    node->forward = add_backward(p, "forward", results, &p->sums);
  else if (results.n || p->updates.n || p->sums.n)
    node->backward = add_backward(p, "backward", results, &p->sums);
  add_variants(p, results);
  add_test(p);
  p->k->nodes++;
}

static void make_node(neo_net_maker *k, uint32_t class) {
  neo_net_part p = {.k = k, .class = class, .number = class + 1};
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

void neo_net_make_actor(const neo_net_step *s, const neo_net_classes *c, const neo_net_owners *o,
                        uint32_t actor, neo_network *n) {
  neo_net_maker k = {.s = s, .c = c, .o = o, .n = n, .actor = actor};
  const char *name = neo_name_text(s->m->names, s->m->name);
  k.m = neo_module_new(n->arena, s->m->names, s->m->diags,
                       neo_arena_printf(n->arena, "%s_n%u", name, actor));
  k.kept = neo_import_begin(s->m, k.m, NULL, s->a);
  neo_import_frame(&k.kept);
  NEO_PUSH(n->arena, &n->actors, (neo_net_actor){.module = k.m, .update = NEO_NET_NONE});
  for (uint32_t class = 0; class < c->n; class ++)
    k.n_nodes += o->of_class[class] == actor;
  for (uint32_t class = 0; class < c->n; class ++)
    if (o->of_class[class] == actor)
      make_node(&k, class);
  neo_net_make_update(&k);
  n->actors.at[actor].weight = k.weight;
}
