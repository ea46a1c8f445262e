/* Dimension permutation for recurrences; see iterations_outermost.h. */
#include "transform/iterations_outermost.h"
#include "ir/clone.h"
#include "ir/define.h"
#include "ir/layout.h"

typedef struct {
  neo_module *m;
  neo_arena *a;
  const neo_order_member *member;
  size_t n;
  bool *named;
  bool *made;     /* by tensor: result of a member */
  uint32_t *axis; /* by tensor: the dimension that becomes the first; 0: none */
} moving;

/* Can the results of the definition be permuted? */
static bool moves(const moving *s, const neo_order_member *x) {
  const neo_module *m = s->m;
  const neo_def_rec *d = neo_def_at(m, x->def);
  bool all = x->axis && !d->out_map.n && d->axes.n <= 64;
  for (uint32_t k = 0; k < d->out.n && all; k++) {
    const neo_tensor_rec *t = neo_tensor_at(m, neo_def_out(m, x->def, k));
    all = t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && !t->bound.i;
  }
  return all;
}

/* ---- results that users see */

typedef struct {
  neo_map *to;
} renaming;

static neo_expr read_renamed(void *ctx, neo_module *m, neo_expr e) {
  const renaming *r = ctx;
  neo_node n = *neo_expr_node(m, e);
  uint64_t to;
  if (!neo_node_is_load(&n) || !neo_map_get(r->to, n.attr, &to))
    return e;
  neo_expr arg[NEO_NODE_ARGS];
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, (uint32_t)to, arg, n.arg.n, n.span);
}

/* Replaces t as the definition's result; t becomes a copy of the new tensor. */
static neo_tensor replace(moving *s, neo_def d, neo_tensor t) {
  neo_module *m = s->m;
  neo_tensor_rec r = *neo_tensor_at(m, t);
  neo_def_rec def = *neo_def_at(m, d);
  uint32_t id[NEO_DEF_AXES];
  r.name = neo_tensor_fresh_name(m, "outermost", neo_name_text(m->names, r.name));
  r.pieces = neo_list_one(m, d.i);
  neo_tensor own = neo_tensor_add(m, r);
  for (uint32_t k = 0; k < def.out.n; k++) {
    uint32_t out = neo_list_at(m, def.out, k);
    id[k] = out == t.i ? own.i : out;
  }
  neo_def_at(m, d)->out = neo_list_new(m, id, def.out.n);
  for (uint32_t k = 0; k < def.n_out; k++)
    id[k] = neo_axis_add(m, *neo_def_axis(m, &def, k)).i;
  neo_equation_define(m, d, t, neo_list_new(m, id, def.n_out), neo_load_own(m, own, def.span));
  return own;
}

static void replace_named(moving *s) {
  neo_module *m = s->m;
  uint32_t n_defs = (uint32_t)m->defs.n; /* copies read their source */
  neo_map to = neo_map_in(s->a);
  for (size_t k = 0; k < s->n; k++)
    for (uint32_t i = 0; moves(s, &s->member[k]) && i < neo_def_at(m, s->member[k].def)->out.n;
         i++) {
      neo_tensor t = neo_def_out(m, s->member[k].def, i);
      if (s->named[t.i])
        neo_map_set(&to, t.i, replace(s, s->member[k].def, t).i);
    }
  renaming r = {&to};
  for (uint32_t d = 1; d < n_defs && to.n; d++)
    neo_def_rewrite(m, (neo_def){d}, read_renamed, &r);
}

/* ---- temporaries with the same layout */

typedef struct {
  moving *s;
  const neo_order_member *x;
  bool *other; /* by tensor: read with another layout */
} row_look;

static void look_row(void *ctx, neo_expr e) {
  row_look *l = ctx;
  const neo_module *m = l->s->m;
  const neo_node *n = neo_expr_node(m, e);
  if (!neo_node_is_load(n))
    return;
  const neo_tensor_rec *t = neo_tensor_at(m, (neo_tensor){n->attr});
  uint32_t rank = t->extent.n;
  if (l->s->made[n->attr] || rank < 2)
    return;
  bool same = true; /* read on a diagonal */
  for (uint32_t k = 1; k < rank; k++)
    same = same && neo_list_at(m, n->arg, k) == neo_list_at(m, n->arg, 0);
  if (same)
    return;
  neo_expr last = neo_list_expr(m, n->arg, rank - 1);
  bool row =
      neo_expr_node(m, last)->op == NEO_OP_AXIS && neo_expr_node(m, last)->attr == l->x->axis;
  bool can =
      row && t->role == NEO_ROLE_TEMP && t->pieces.n == 1 && !t->bound.i && !l->s->named[n->attr];
  if (!can || neo_def_at(m, neo_list_def(m, t->pieces, 0))->out_map.n ||
      neo_def_at(m, neo_list_def(m, t->pieces, 0))->out.n != 1)
    l->other[n->attr] = true;
  else
    l->s->axis[n->attr] = rank - 1;
}

static void find_tensors(moving *s) {
  neo_module *m = s->m;
  bool *other = NEO_NEW_ARRAY(s->a, bool, m->tensors.n);
  for (size_t k = 0; k < s->n; k++)
    for (uint32_t i = 0; i < neo_def_at(m, s->member[k].def)->out.n; i++)
      s->made[neo_def_out(m, s->member[k].def, i).i] = true;
  for (size_t k = 0; k < s->n; k++) {
    row_look l = {s, &s->member[k], other};
    neo_def_visit(m, s->member[k].def, look_row, &l);
  }
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (other[t])
      s->axis[t] = 0;
  for (size_t k = 0; k < s->n; k++)
    for (uint32_t i = 0; moves(s, &s->member[k]) && i < neo_def_at(m, s->member[k].def)->out.n; i++)
      s->axis[neo_def_out(m, s->member[k].def, i).i] = s->member[k].axis;
}

/* ---- rewriting the module */

/* The dimension that is at k once `first` is the first one. */
static uint32_t source(uint32_t first, uint32_t k) {
  return k == 0 ? first : k <= first ? k - 1 : k;
}

static void move(moving *s) {
  neo_module *m = s->m;
  const uint32_t **order = NEO_NEW_ARRAY(s->a, const uint32_t *, m->tensors.n);
  for (uint32_t t = 1; t < m->tensors.n; t++) {
    uint32_t rank = neo_tensor_rank(m, (neo_tensor){t});
    uint32_t *dims = NEO_NEW_ARRAY(s->a, uint32_t, rank + 1);
    for (uint32_t k = 0; k < rank; k++)
      dims[k] = source(s->axis[t], k);
    order[t] = s->axis[t] ? dims : NULL;
  }
  neo_layout_tensors(m, order);
  for (uint32_t d = 1; d < m->defs.n; d++) {
    neo_def_rec r = *neo_def_at(m, (neo_def){d});
    uint32_t at[NEO_DEF_AXES], first = r.out.n ? s->axis[neo_list_at(m, r.out, 0)] : 0;
    for (uint32_t k = 0; first && k < r.axes.n; k++)
      at[k] = k < r.n_out ? source(first, k) : k;
    if (first)
      neo_def_order_axes(m, (neo_def){d}, at);
  }
}

void neo_iterations_outermost(neo_module *m, neo_arena *a, const neo_order_member *member,
                              size_t n) {
  moving s = {.m = m, .a = a, .member = member, .n = n};
  s.named = neo_named_tensors(m, a);
  replace_named(&s);
  s.named = neo_named_tensors(m, a); /* tensors were added */
  s.made = NEO_NEW_ARRAY(a, bool, m->tensors.n);
  s.axis = NEO_NEW_ARRAY(a, uint32_t, m->tensors.n);
  find_tensors(&s);
  move(&s);
}
