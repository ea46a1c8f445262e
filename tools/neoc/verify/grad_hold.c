/* See grad_hold.h. */
#include "tools/neoc/verify/grad_hold.h"
#include "ir/clone.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  neoc_holds *holds;
  bool stops;
  neo_map to, back;  /* tensor -> its copy; copy -> the tensor */
  neo_map done;      /* definitions that have been copied */
  neo_tensor acc[4]; /* results of the present definition's reducer, as inputs */
  uint32_t n_out;
} holder;

void neoc_holds_init(neoc_holds *h, neo_arena *a, bool own) {
  *h = (neoc_holds){.own = own};
  neo_map_init(&h->input_of, a);
}

bool neoc_holds_input(const neoc_holds *h, neo_tensor t) {
  for (size_t k = 0; k < h->at.n; k++)
    if (h->at.at[k].input.i == t.i)
      return true;
  return false;
}

/* ---- tensors that a tensor depends on */

static void add_reads(const neo_module *m, neo_arena *a, neo_tensor root, bool *read) {
  neo_def *defs;
  neo_tensor *reads;
  size_t n = neo_module_topo(m, &root, 1, a, &defs, NULL);
  read[root.i] = true;
  for (size_t d = 0; d < n; d++) {
    size_t n_reads = neo_def_reads(m, defs[d], a, &reads);
    for (size_t k = 0; k < n_reads; k++)
      read[reads[k].i] = true;
  }
}

/* Whether a result of the request is read that no definition makes yet. */
static bool is_asked(const neo_module *m, const neo_grad_rec *g, const bool *read) {
  for (uint32_t k = 0; k < g->out.n; k++)
    if (read[neo_list_at(m, g->out, k)])
      return true;
  return false;
}

/* Visits requests from the last to the first: later ones may read the results of earlier ones. */
bool *neoc_reads(const neo_module *m, neo_arena *a, neo_tensor y) {
  bool *read = NEO_NEW_ARRAY(a, bool, m->tensors.n + 1);
  add_reads(m, a, y, read);
  for (size_t k = m->grads.n; k-- > 0;) {
    neo_grad_rec g = m->grads.at[k];
    if (!is_asked(m, &g, read))
      continue;
    add_reads(m, a, g.y, read);
    if (g.seed.i)
      add_reads(m, a, g.seed, read);
  }
  return read;
}

/* ---- inputs that replace tensors */

static neo_tensor input_of(holder *h, neo_tensor t) {
  uint64_t known;
  if (neo_map_get(&h->holds->input_of, t.i, &known))
    return (neo_tensor){(uint32_t)known};
  neo_tensor_rec of = *neo_tensor_at(h->m, t);
  neo_tensor_rec rec = {.role = NEO_ROLE_INPUT, .type = of.type, .span = of.span};
  rec.name = neo_tensor_fresh_name(h->m, "held", neo_name_text(h->m->names, of.name));
  rec.extent = of.extent;
  rec.bound = of.bound;
  rec.least = of.least;
  rec.below = of.below;
  neo_tensor input = neo_tensor_add(h->m, rec);
  neo_map_set(&h->holds->input_of, t.i, input.i);
  NEO_PUSH(h->a, &h->holds->at, (neoc_held){t, input});
  return input;
}

/* Whether the tensor's value may depend on a parameter or an input. */
static bool varies(const holder *h, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(h->m, t);
  bool is_float = neo_type_is_float((neo_type)r->type);
  bool given = r->role == NEO_ROLE_INPUT && !neoc_holds_input(h->holds, t);
  return r->role == NEO_ROLE_TEMP || (is_float && (given || r->role == NEO_ROLE_PARAM));
}

/* ---- stop() */

typedef struct {
  const neo_module *m;
  bool stop;
  uint32_t accs; /* bit k: ACC k occurs inside of a stop() */
} stop_look;

static void look_acc(void *ctx, neo_expr e) {
  stop_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  if (n->op == NEO_OP_ACC)
    l->accs |= 1u << n->attr;
}

static void look_stop(void *ctx, neo_expr e) {
  stop_look *l = ctx;
  if (neo_expr_node(l->m, e)->op != NEO_OP_STOP)
    return;
  l->stop = true;
  neo_expr_visit(l->m, neo_expr_arg(l->m, e, 0), look_acc, l);
}

static bool has_stop(neo_module *m, neo_def d) {
  stop_look l = {m, false, 0};
  neo_def_visit(m, d, look_stop, &l);
  return l.stop;
}

/* Makes the result of reducer k of the definition a tensor of its own, with its input. */
static neo_tensor hold_acc(holder *h, neo_def d, uint32_t k) {
  neo_module *m = h->m;
  neo_def_rec r = *neo_def_at(m, d);
  uint32_t axes[NEO_DEF_AXES];
  neo_expr extent[NEO_DEF_AXES];
  neo_type t = neo_expr_type(m, neo_list_expr(m, r.body, 0));
  neo_expr acc = neo_acc_ref(m, neo_reducer_acc_type(t, k), k);
  for (uint32_t i = 0; i < r.axes.n; i++) {
    neo_axis_rec axis = *neo_def_axis(m, &r, i);
    extent[i] = axis.hi;
    axes[i] = neo_axis_add(m, axis).i;
  }
  neo_tensor of = {neo_list_at(m, r.out, 0)};
  neo_tensor_rec rec = {.role = NEO_ROLE_TEMP, .type = (uint8_t)neo_expr_type(m, acc)};
  rec.name = neo_tensor_fresh_name(m, "reduced", neo_tensor_name(m, of));
  rec.extent = neo_list_new(m, &extent[0].i, r.n_out);
  rec.span = r.span;
  neo_tensor out = neo_tensor_add(m, rec);
  r.out_map = (neo_list){0};
  r.axes = neo_list_new(m, axes, r.axes.n);
  r.finish = neo_list_one(m, acc.i);
  r.out = neo_list_one(m, out.i);
  neo_def_add(m, r, true);
  return input_of(h, out);
}

static neo_expr read_acc(holder *h, uint32_t k) {
  neo_expr index[NEO_DEF_AXES];
  for (uint32_t i = 0; i < h->n_out; i++)
    index[i] = neo_axis_ref(h->m, i);
  return neo_load(h->m, h->acc[k], index, h->n_out, 0);
}

/* Rewrites a node inside of a stop(): its reads are held. */
static neo_expr held_read(void *ctx, neo_module *m, neo_expr e) {
  holder *h = ctx;
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_ACC)
    return read_acc(h, n.attr);
  if (!neo_node_is_load(&n))
    return e;
  uint64_t t = n.attr;
  neo_map_get(&h->back, t, &t);
  neo_tensor of = {(uint32_t)t};
  if (!varies(h, of))
    return e;
  neo_expr arg[20];
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, input_of(h, of).i, arg, n.arg.n, n.span);
}

static neo_expr held_stop(void *ctx, neo_module *m, neo_expr e) {
  if (neo_expr_node(m, e)->op != NEO_OP_STOP)
    return e;
  return neo_expr_rewrite(m, neo_expr_arg(m, e, 0), held_read, ctx);
}

static void hold_stops(holder *h, neo_def original, neo_def copy) {
  stop_look l = {h->m, false, 0};
  neo_def_visit(h->m, original, look_stop, &l);
  h->n_out = neo_def_at(h->m, original)->n_out;
  for (uint32_t k = 0; k < 4; k++)
    if (l.accs >> k & 1)
      h->acc[k] = hold_acc(h, original, k);
  if (l.stop)
    neo_def_rewrite(h->m, copy, held_stop, h);
}

/* ---- copies */

static bool is_held(holder *h, neo_def d) {
  neo_list outs = neo_def_at(h->m, d)->out;
  for (uint32_t k = 0; k < outs.n; k++) {
    uint64_t to = 0;
    neo_map_get(&h->to, neo_list_at(h->m, outs, k), &to);
    if (neoc_holds_input(h->holds, (neo_tensor){(uint32_t)to}))
      return true;
  }
  return false;
}

/* Copies a definition. False: it has been copied, or needs no copy. */
static bool copy_def(holder *h, neo_def d, neo_def *out) {
  if (neo_map_get(&h->done, d.i, NULL) || is_held(h, d))
    return false;
  neo_map_set(&h->done, d.i, 1);
  neo_list outs = neo_def_at(h->m, d)->out;
  neo_def copy = neo_def_clone(h->m, d, "held", &h->to);
  for (uint32_t k = 0; k < outs.n; k++)
    neo_map_set(&h->back, neo_def_out(h->m, copy, k).i, neo_list_at(h->m, outs, k));
  if (h->stops)
    hold_stops(h, d, copy);
  *out = copy;
  return true;
}

static neo_tensor copy_of(const holder *h, neo_tensor t) {
  uint64_t to = t.i;
  neo_map_get(&h->to, t.i, &to);
  return (neo_tensor){(uint32_t)to};
}

static neo_tensor copy_graph(holder *h, neo_tensor root) {
  neo_def *defs;
  size_t n = neo_module_topo(h->m, &root, 1, h->a, &defs, NULL);
  bool *marked = neo_defs_affected(h->m, defs, n, &h->to, h->stops ? has_stop : NULL, h->a);
  for (size_t k = 0; k < n; k++)
    marked[k] = marked[k] && copy_def(h, defs[k], &defs[k]);
  for (size_t k = 0; k < n; k++) /* definitions that depend on each other read copies that were made
                                    later */
    if (marked[k])
      neo_def_rename(h->m, defs[k], &h->to);
  return copy_of(h, root);
}

static void hold_customs(holder *h, const bool *read) {
  for (size_t c = 0; c < h->m->customs.n; c++) {
    neo_list outs = h->m->customs.at[c].outs;
    for (uint32_t k = 0; k < outs.n; k++) {
      neo_tensor out = {neo_list_at(h->m, outs, k)};
      if (read[out.i])
        neo_map_set(&h->to, out.i, input_of(h, out).i);
    }
  }
}

/* Copies a gradient request whose y or seed has been copied; the copy has results of its own. */
static void copy_request(holder *h, neo_grad_rec g) {
  neo_module *m = h->m;
  neo_tensor y = copy_graph(h, g.y), seed = g.seed.i ? copy_graph(h, g.seed) : g.seed;
  if (y.i == g.y.i && seed.i == g.seed.i)
    return;
  uint32_t *outs = NEO_NEW_ARRAY(h->a, uint32_t, g.out.n + 1);
  for (uint32_t k = 0; k < g.out.n; k++) {
    neo_tensor out = {neo_list_at(m, g.out, k)};
    neo_tensor_rec rec = *neo_tensor_at(m, out);
    rec.name = neo_tensor_fresh_name(m, "held", neo_name_text(m->names, rec.name));
    rec.pieces = (neo_list){0};
    outs[k] = neo_tensor_add(m, rec).i;
    neo_map_set(&h->to, out.i, outs[k]);
    neo_map_set(&h->back, outs[k], out.i);
  }
  neo_grad_rec copy = {.y = y, .seed = seed, .n_batch = g.n_batch, .span = g.span};
  copy.hold = neo_tensors_renamed(m, g.hold, &h->to, h->a);
  copy.wrt = neo_tensors_renamed(m, g.wrt, &h->to, h->a);
  copy.out = neo_list_new(m, outs, g.out.n);
  NEO_PUSH(m->arena, &m->grads, copy);
}

neo_tensor neoc_hold(neo_module *m, neo_arena *a, neo_tensor y, bool stops, neoc_holds *holds) {
  holder h = {.m = m, .a = a, .holds = holds, .stops = stops};
  bool *read = neoc_reads(m, a, y);
  size_t n = m->grads.n;
  neo_map_init(&h.to, a);
  neo_map_init(&h.back, a);
  neo_map_init(&h.done, a);
  if (!holds->own)
    hold_customs(&h, read);
  for (size_t k = 0; k < n; k++)
    if (is_asked(m, &m->grads.at[k], read))
      copy_request(&h, m->grads.at[k]);
  return copy_graph(&h, y);
}
