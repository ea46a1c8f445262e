/* See import.h. Definitions wait in a list, so that the depth of a graph is no depth of calls. */
#include "ir/import.h"
#include "ir/clone.h"
#include "ir/node.h"

neo_import neo_import_begin(const neo_module *from, neo_module *to, neo_import *kept,
                            neo_arena *scratch) {
  neo_import x = {.from = from, .to = to, .kept = kept, .arena = scratch};
  neo_map_init(&x.tensors, scratch);
  neo_map_init(&x.exprs, scratch);
  neo_map_init(&x.defs, scratch);
  return x;
}

/* ---- expressions */

static void copy_node(void *ctx, neo_expr e) {
  neo_import *x = ctx;
  neo_node n = *neo_expr_node(x->from, e);
  neo_expr arg[NEO_NODE_ARGS];
  uint64_t attr = n.op == NEO_OP_CONST ? x->from->constants.at[n.attr] : n.attr, copy = 0;
  assert(n.arg.n <= NEO_NODE_ARGS);
  if (neo_map_get(&x->exprs, e.i, NULL))
    return;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    (void)neo_map_get(&x->exprs, neo_list_at(x->from, n.arg, k), &copy);
    arg[k].i = (uint32_t)copy;
  }
  if (neo_node_is_load(&n))
    attr = neo_import_tensor(x, (neo_tensor){n.attr}).i;
  neo_expr made =
      neo_node_intern(x->to, (neo_op)n.op, (neo_type)n.type, attr, arg, n.arg.n, n.span);
  neo_map_set(&x->exprs, e.i, made.i);
}

static neo_expr import_expr(neo_import *x, neo_expr e) {
  uint64_t copy = 0;
  if (!e.i)
    return e;
  neo_expr_visit(x->from, e, copy_node, x);
  (void)neo_map_get(&x->exprs, e.i, &copy);
  return (neo_expr){(uint32_t)copy};
}

static neo_list import_exprs(neo_import *x, neo_list l) {
  uint32_t *id = NEO_NEW_ARRAY(x->arena, uint32_t, l.n + 1);
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = import_expr(x, neo_list_expr(x->from, l, k)).i;
  return neo_list_new(x->to, id, l.n);
}

/* ---- tensors */

static bool is_kept(const neo_import *x, neo_tensor t) {
  neo_role r = (neo_role)neo_tensor_at(x->from, t)->role;
  return r == NEO_ROLE_PARAM || r == NEO_ROLE_STATE || r == NEO_ROLE_SETTING || r == NEO_ROLE_CONST;
}

static uint32_t name_of(neo_import *x, uint32_t name, const char *prefix) {
  const char *text = neo_name_text(x->to->names, name);
  bool fresh = !prefix && !neo_tensor_find(x->to, text).i;
  return fresh ? name : neo_tensor_fresh_name(x->to, prefix ? prefix : "copy", text);
}

neo_tensor neo_import_like(neo_import *x, neo_tensor t, neo_role role, const char *prefix) {
  neo_tensor_rec old = *neo_tensor_at(x->from, t);
  assert(!old.rows.i && !old.within.i && !old.in.i && "nothing is fused or ordered yet");
  neo_tensor_rec r = {.role = (uint8_t)role, .type = old.type, .span = old.span};
  r.name = name_of(x, old.name, prefix);
  r.bound = import_expr(x, old.bound);
  r.least = import_expr(x, old.least);
  r.below = import_expr(x, old.below);
  r.extent = import_exprs(x, old.extent);
  return neo_tensor_add(x->to, r);
}

neo_tensor neo_import_known(const neo_import *x, neo_tensor t) {
  uint64_t copy = 0;
  if (x->kept && is_kept(x, t))
    return neo_import_known(x->kept, t);
  (void)neo_map_get(&x->tensors, t.i, &copy);
  return (neo_tensor){(uint32_t)copy};
}

neo_tensor neo_import_tensor(neo_import *x, neo_tensor t) {
  neo_tensor known = neo_import_known(x, t);
  if (known.i || !t.i)
    return known;
  if (x->kept && is_kept(x, t))
    return neo_import_tensor(x->kept, t);
  neo_tensor_rec old = *neo_tensor_at(x->from, t);
  neo_tensor copy = neo_import_like(x, t, (neo_role)old.role, NULL);
  neo_map_set(&x->tensors, t.i, copy.i);
  neo_tensor updates = neo_import_tensor(x, old.updates);
  neo_tensor offsets = neo_import_tensor(x, old.offsets);
  neo_tensor_rec *r = neo_tensor_at(x->to, copy);
  r->updates = updates;
  r->offsets = offsets;
  r->optimizer = old.optimizer;
  r->inner = old.inner;
  r->data = old.data;
  r->n_data_bytes = old.n_data_bytes;
  NEO_PUSH(x->arena, &x->declared, t);
  return copy;
}

neo_list neo_import_tensors(neo_import *x, neo_list l) {
  uint32_t *id = NEO_NEW_ARRAY(x->arena, uint32_t, l.n + 1);
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = neo_import_tensor(x, neo_list_tensor(x->from, l, k)).i;
  return neo_list_new(x->to, id, l.n);
}

/* ---- definitions */

static neo_list import_axes(neo_import *x, neo_list l) {
  uint32_t *id = NEO_NEW_ARRAY(x->arena, uint32_t, l.n + 1);
  for (uint32_t k = 0; k < l.n; k++) {
    neo_axis_rec a = *neo_axis_at(x->from, (neo_axis){neo_list_at(x->from, l, k)});
    a.lo = import_expr(x, a.lo);
    a.hi = import_expr(x, a.hi);
    id[k] = neo_axis_add(x->to, a).i;
  }
  return neo_list_new(x->to, id, l.n);
}

static neo_list import_numbers(neo_import *x, neo_list l) {
  uint32_t *id = NEO_NEW_ARRAY(x->arena, uint32_t, l.n + 1);
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = neo_list_at(x->from, l, k);
  return neo_list_new(x->to, id, l.n);
}

static neo_def import_def(neo_import *x, neo_def d, bool piece) {
  neo_def_rec r = *neo_def_at(x->from, d);
  assert(!neo_def_is_levels(&r) && !r.after.i && !r.chunk_loop && "passes run after the import");
  r.axes = import_axes(x, r.axes);
  r.where = import_expr(x, r.where);
  r.body = import_exprs(x, r.body);
  r.finish = import_exprs(x, r.finish);
  r.out = neo_import_tensors(x, r.out);
  r.out_map = import_numbers(x, r.out_map);
  r.origin = 0;
  return neo_def_add(x->to, r, piece);
}

static void define(neo_import *x, neo_tensor t) {
  neo_tensor_rec r = *neo_tensor_at(x->from, t);
  for (uint32_t k = 0; k < r.pieces.n; k++) {
    uint32_t d = neo_list_at(x->from, r.pieces, k);
    if (!neo_map_get(&x->defs, d, NULL)) {
      neo_map_set(&x->defs, d, 1);
      (void)import_def(x, (neo_def){d}, true);
    }
  }
  if (r.init.i) {
    neo_def init = import_def(x, r.init, false);
    neo_tensor_at(x->to, neo_import_known(x, t))->init = init;
  }
}

void neo_import_finish(neo_import *x) {
  while (x->next < x->declared.n)
    define(x, x->declared.at[x->next++]);
  if (x->kept)
    neo_import_finish(x->kept);
}

/* ---- the frame */

void neo_import_frame(neo_import *x) {
  neo_module *m = x->to;
  const neo_module *from = x->from;
  assert(m->sizes.n == 1 && "the module is empty");
  for (uint32_t k = 1; k < from->sizes.n; k++) {
    neo_size_rec s = from->sizes.at[k];
    s.value = import_expr(x, s.value);
    (void)neo_size_add(m, s);
  }
  for (size_t k = 0; k < from->asserts.n; k++) {
    neo_assert_rec a = from->asserts.at[k];
    a.holds = import_expr(x, a.holds);
    NEO_PUSH(m->arena, &m->asserts, a);
  }
  m->n_sites = from->n_sites;
  m->math = from->math;
  m->store = from->store;
}
