/* Values of edges in a recurrence (parts.h), which run by owner (ir/order.h). They lie in the order
 * of their owners: the lists of a level's vertices are next to each other, position by position,
 *
 *     s[e] = f(h[child[e]], z[owner[e]]),   h[v] = sum[e: begin[v] .. begin[v + 1]] s[e]
 *     ->
 *     s'[q] = f(h'[placed[q]], z'[owner'[q]]),   h'[p] = sum[q: begin'[p] .. begin'[p + 1]] s'[q]
 *
 *     begin'[p + 1] = begin'[p] + (begin[v + 1] - begin[v]),   v = order[p]
 *     position[e] = begin'[place[owner[e]]] + e - begin[owner[e]],   position[edge'[q]] == q
 *     owner'[q] = place[owner[edge'[q]]],   placed[q] = place[child[edge'[q]]] */
#include "ir/clone.h"
#include "ir/lists.h"
#include "transform/levels/parts.h"

typedef struct {
  const levels *s;
  const levels_graph *g;
  levels_index *x;
  neo_tensor begin, owner; /* as the graph gives them */
} edges;

static neo_span span_of(const edges *t) {
  return neo_tensor_at(t->s->m, t->x->child)->span;
}

static neo_expr at(const edges *t, neo_tensor table, neo_expr index) {
  neo_expr e = neo_load(t->s->m, table, &index, 1, span_of(t));
  return neo_cast(t->s->m, NEO_I64_T, e);
}

static neo_expr plus(const edges *t, neo_expr a, neo_expr b) {
  return neo_op2(t->s->m, NEO_OP_ADD, a, b);
}

static neo_expr minus(const edges *t, neo_expr a, neo_expr b) {
  return neo_op2(t->s->m, NEO_OP_SUB, a, b);
}

static neo_tensor add_table(const edges *t, const char *prefix, neo_expr extent, neo_expr bound) {
  neo_module *m = t->s->m;
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = NEO_I32_T, .span = span_of(t), .bound = bound};
  r.extent = neo_list_one(m, extent.i);
  r.name = neo_tensor_fresh_name(m, prefix, neo_tensor_name(m, t->x->child));
  return neo_tensor_add(m, r);
}

static neo_axis_rec axis_of(const edges *t, const char *name, neo_expr hi) {
  return (neo_axis_rec){neo_name_of(t->s->m->names, name), levels_int(t->s, 0), hi, span_of(t)};
}

/* table[x] = value over AXIS 0. */
static void define(const edges *t, neo_tensor table, neo_expr value) {
  neo_module *m = t->s->m;
  neo_axis_rec axis = axis_of(t, "q", neo_tensor_extent(m, table, 0));
  neo_def_rec d = {.n_out = 1, .span = span_of(t)};
  d.axes = neo_list_one(m, neo_axis_add(m, axis).i);
  d.finish = neo_list_one(m, neo_cast(m, NEO_I32_T, value).i);
  d.out = neo_list_one(m, table.i);
  neo_def_add(m, d, true);
}

/* Edges of the vertices at places before each. */
static void define_begin(const edges *t) {
  neo_module *m = t->s->m;
  neo_expr p = neo_axis_ref(m, 0), one = levels_int(t->s, 1), before = minus(t, p, one);
  neo_expr v = at(t, t->g->order, before);
  neo_expr n = minus(t, at(t, t->begin, plus(t, v, one)), at(t, t->begin, v));
  neo_expr sum = plus(t, at(t, t->x->begin, before), n);
  neo_expr first = neo_op2(m, NEO_OP_LT, p, one);
  define(t, t->x->begin, neo_op3(m, NEO_OP_SELECT, first, levels_int(t->s, 0), sum));
}

static void define_position(const edges *t) {
  neo_expr e = neo_axis_ref(t->s->m, 0), v = at(t, t->owner, e);
  neo_expr begin = at(t, t->x->begin, at(t, t->g->place, v));
  define(t, t->x->position, minus(t, plus(t, begin, e), at(t, t->begin, v)));
}

/* The inverse of the permutation. */
static void define_edge(const edges *t) {
  neo_module *m = t->s->m;
  neo_expr all = neo_tensor_extent(m, t->x->child, 0), e = neo_axis_ref(m, 1);
  uint32_t axes[] = {neo_axis_add(m, axis_of(t, "q", all)).i,
                     neo_axis_add(m, axis_of(t, "e", all)).i};
  neo_expr is = neo_op2(m, NEO_OP_EQ, at(t, t->x->position, e), neo_axis_ref(m, 0));
  neo_expr body = neo_cast(m, NEO_I32_T, e), sum = neo_acc_ref(m, NEO_I32_T, 0);
  neo_def_add(m,
              (neo_def_rec){.axes = neo_list_new(m, axes, 2),
                            .n_out = 1,
                            .where = is,
                            .reducer = NEO_RED_SUM,
                            .body = neo_list_one(m, body.i),
                            .finish = neo_list_one(m, sum.i),
                            .out = neo_list_one(m, t->x->at.i),
                            .span = span_of(t)},
              true);
}

static void set_role(const edges *t, neo_tensor table, neo_row_role role) {
  neo_tensor_rec *r = neo_tensor_at(t->s->m, table);
  r->rows = neo_tensor_at(t->s->m, t->g->order)->rows;
  r->row_role = (uint8_t)role;
}

static void add_tables(const edges *t) {
  neo_module *m = t->s->m;
  neo_expr all = neo_tensor_extent(m, t->x->child, 0), one = levels_int(t->s, 1), n = t->g->n;
  t->x->begin = add_table(t, "listed.begin", plus(t, n, one), plus(t, all, one));
  t->x->position = add_table(t, "listed.position", all, all);
  t->x->at = add_table(t, "listed.edge", all, all);
  t->x->own = add_table(t, "listed.owner", all, n);
  t->x->below = add_table(t, "listed.child", all, n);
  t->x->listed = add_table(t, "listed.parents", all, all);
  neo_tensor_at(m, t->x->begin)->offsets = t->x->begin;
  neo_tensor_at(m, t->x->own)->offsets = t->x->begin;
  neo_tensor_at(m, t->x->below)->offsets = t->x->begin;
  neo_tensor_at(m, t->owner)->offsets = (neo_tensor){0};
  set_role(t, t->x->below, NEO_ROW_CHILD);
  set_role(t, t->x->listed, NEO_ROW_LISTED);
}

void levels_define_edges(const levels *s, const levels_graph *g, levels_index *x) {
  neo_module *m = s->m;
  neo_tensor begin = neo_tensor_at(m, x->child)->offsets;
  edges t = {s, g, x, begin, neo_owner_by(m, begin)};
  neo_expr q = neo_axis_ref(m, 0);
  add_tables(&t);
  define_begin(&t);
  define_position(&t);
  define_edge(&t);
  define(&t, x->own, at(&t, g->place, at(&t, t.owner, at(&t, x->at, q))));
  define(&t, x->below, at(&t, g->place, at(&t, x->child, at(&t, x->at, q))));
  define(&t, x->listed, at(&t, x->position, at(&t, x->edge, q)));
}

/* ---- in the order */

/* The index of which e is table[..], as the expression or converted to i64; 0: it is another
 * one. */
static neo_expr index_in(const levels *s, neo_tensor table, neo_expr e) {
  const neo_node *n = neo_expr_node(s->m, e);
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(s->m, neo_list_expr(s->m, n->arg, 0));
  return n->op == NEO_OP_LOAD && n->attr == table.i ? neo_list_expr(s->m, n->arg, 0)
                                                    : (neo_expr){0};
}

static neo_expr element(const levels *s, neo_tensor t, neo_expr index) {
  return neo_list_element(s->m, t, index);
}

neo_expr levels_position_of(const levels *s, const levels_index *x, neo_expr edge) {
  neo_expr q = index_in(s, x->at, edge), parent = q.i ? q : index_in(s, x->edge, edge);
  if (q.i)
    return q;
  return parent.i ? element(s, x->listed, parent) : element(s, x->position, edge);
}

neo_expr levels_row_of_edge(const levels *s, const levels_graph *g, neo_expr e) {
  for (uint32_t k = 0; k < g->n_indices; k++) {
    const levels_index *x = &g->index[k];
    if (!x->has_values)
      continue;
    neo_expr child = index_in(s, x->child, e), owner = index_in(s, x->given_owner, e);
    neo_expr edge = child.i ? child : owner;
    neo_expr q = edge.i ? index_in(s, x->at, edge) : edge;
    if (q.i)
      return element(s, child.i ? x->below : x->own, q);
  }
  return (neo_expr){0};
}

/* ---- what fits */

static const neo_order_member *member_of(const neo_order_step *loop, neo_def d) {
  for (uint32_t k = 0; k < loop->n_members; k++)
    if (loop->member[k].def.i == d.i)
      return &loop->member[k];
  return NULL;
}

bool levels_edge_fits(levels *s, const neo_order_step *loop, neo_def reader,
                      const neo_order_member *made, neo_expr index, neo_tensor *child) {
  neo_module *m = s->m;
  const neo_order_member *own = member_of(loop, reader);
  neo_expr edge = neo_axis_ref(m, own->axis), row;
  neo_def_rec d = *neo_def_at(m, reader);
  neo_tensor owner = own->owner.i ? own->owner : made->owner;
  *child = neo_child_of(m, owner);
  if (!child->i)
    return false;
  if (own->owner.i && !made->owner.i)
    return index.i == element(s, own->owner, edge).i || index.i == element(s, *child, edge).i;
  if (own->owner.i && index.i == edge.i)
    return own->owner.i == made->owner.i;
  const neo_node *n = neo_expr_node(m, index);
  if (n->op != NEO_OP_AXIS || n->attr < d.n_out)
    return false;
  neo_tensor begin = neo_list_run(m, neo_def_axis(m, &d, n->attr), &row);
  if (!begin.i || neo_tensor_at(m, made->owner)->offsets.i != begin.i)
    return false;
  *child = neo_child_of(m, made->owner);
  return row.i == (own->owner.i ? element(s, own->owner, edge).i : edge.i);
}
