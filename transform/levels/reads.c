/* Reads of recurrences over a graph (parts.h). */
#include "ir/comparison.h"
#include "ir/lists.h"
#include "transform/levels/parts.h"

enum { MOST_CONJUNCTS = 8 };

/* Are its elements -1, or positions before that of its first index? */
static bool has_children(const levels *s, neo_tensor t) {
  const neo_module *m = s->m;
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  uint32_t rank = neo_tensor_rank(m, t);
  int64_t least, slots;
  bool is = neo_type_is_int((neo_type)r->type) && rank && rank <= LEVELS_RANK && r->least.i &&
            r->below.i && (r->role == NEO_ROLE_INPUT || r->role == NEO_ROLE_CONST);
  is = is && neo_expr_is_int(m, r->least, &least) && least >= -1 &&
       r->below.i == neo_axis_ref(s->m, 0).i;
  for (uint32_t k = 1; k < rank && is; k++)
    is = neo_expr_is_int(m, neo_tensor_extent(m, t, k), &slots) && slots > 0;
  return is;
}

neo_tensor levels_child_of(const levels *s, neo_expr e, neo_expr *vertex) {
  neo_module *m = s->m;
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  neo_tensor t = {n->attr};
  if (n->op != NEO_OP_LOAD || !has_children(s, t))
    return (neo_tensor){0};
  *vertex = neo_list_expr(m, n->arg, 0);
  return t;
}

/* Is e the vertex, perhaps converted to i32, in which all are? */
static bool is_vertex(const levels *s, neo_expr e, neo_expr vertex) {
  const neo_node *n = neo_expr_node(s->m, e);
  bool narrow = n->op == NEO_OP_CAST && n->type == NEO_I32_T;
  return e.i == vertex.i || (narrow && neo_list_expr(s->m, n->arg, 0).i == vertex.i);
}

neo_tensor levels_parents_of(const levels *s, const neo_def_rec *d, neo_expr e, neo_expr vertex,
                             neo_expr *parent, neo_expr *child) {
  neo_module *m = s->m;
  const neo_node n = *neo_expr_node(m, e);
  for (uint32_t side = 0; side < 2 && n.op == NEO_OP_EQ; side++) {
    *child = neo_list_expr(m, n.arg, side);
    neo_tensor t = levels_child_of(s, *child, parent);
    t = t.i ? t : levels_listed_child_of(s, d, *child, parent);
    if (t.i && is_vertex(s, neo_list_expr(m, n.arg, 1 - side), vertex))
      return t;
  }
  return (neo_tensor){0};
}

levels_index *levels_index_of(levels_graph *g, neo_tensor child) {
  for (uint32_t k = 0; k < g->n_indices; k++)
    if (g->index[k].child.i == child.i)
      return &g->index[k];
  if (g->n_indices == LEVELS_INDICES)
    return NULL;
  g->index[g->n_indices] = (levels_index){.child = child};
  return &g->index[g->n_indices++];
}

static bool has_parents(const levels_graph *g, neo_tensor child) {
  bool has = false;
  for (uint32_t k = 0; k < g->n_indices; k++)
    has = has || (g->index[k].child.i == child.i && g->index[k].has_parents);
  return has;
}

bool levels_runs_parents(const levels *s, const neo_def_rec *d, uint32_t axis,
                         const levels_graph *g) {
  neo_expr part[MOST_CONJUNCTS], parent, child, own = neo_axis_ref(s->m, axis);
  uint32_t n = 0, n_axes = 0;
  bool runs = false;
  for (uint32_t k = d->n_out; k < d->axes.n; k++)
    n_axes += levels_is_vertex(s, d, k, g->n);
  if (n_axes != 1 || !d->where.i || !neo_conjuncts_of(s->m, d->where, part, &n, MOST_CONJUNCTS))
    return false;
  for (uint32_t u = 0; u < d->n_out; u++)
    for (uint32_t k = 0; k < n && levels_is_vertex(s, d, u, g->n) && !runs; k++) {
      neo_tensor t = levels_parents_of(s, d, part[k], neo_axis_ref(s->m, u), &parent, &child);
      runs = t.i && parent.i == own.i && has_parents(g, t);
    }
  return runs;
}

typedef struct {
  levels *s;
  levels_graph *g;
  const neo_order_step *loop;
  const neo_order_member *reader;
  bool fits;
} look;

static const neo_order_member *made_by(const look *l, neo_tensor t) {
  neo_list pieces = neo_tensor_at(l->s->m, t)->pieces;
  for (uint32_t k = 0; k < l->loop->n_members && pieces.n; k++)
    if (l->loop->member[k].def.i == neo_list_at(l->s->m, pieces, 0))
      return &l->loop->member[k];
  return NULL;
}

/* Has the sum the condition that the vertex is a child of the one at `at`? */
static bool is_parent(look *l, neo_expr at) {
  levels *s = l->s;
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, l->reader->def);
  neo_expr own = neo_axis_ref(m, l->reader->axis), part[MOST_CONJUNCTS], parent, child;
  const neo_node *n = neo_expr_node(m, at);
  uint32_t n_parts = 0;
  if (n->op != NEO_OP_AXIS || n->attr < d.n_out || !levels_is_vertex(s, &d, n->attr, l->g->n) ||
      !neo_conjuncts_of(m, d.where, part, &n_parts, MOST_CONJUNCTS))
    return false;
  for (uint32_t k = 0; k < n_parts; k++) {
    neo_tensor t = levels_parents_of(s, &d, part[k], own, &parent, &child);
    levels_index *x = t.i && parent.i == at.i ? levels_index_of(l->g, t) : NULL;
    if (!x)
      continue;
    x->has_parents = true;
    return true;
  }
  return false;
}

/* The vertex at an axis that runs over all, and over the lists of each: is this edge one that leads
 * to the reader's vertex? */
static bool is_of_parent(look *l, const neo_order_member *made, neo_expr edge) {
  neo_module *m = l->s->m;
  neo_def_rec d = *neo_def_at(m, l->reader->def);
  const neo_node *n = neo_expr_node(m, edge);
  neo_expr row;
  if (l->reader->owner.i || n->op != NEO_OP_AXIS || n->attr < d.n_out)
    return false;
  neo_tensor begin = neo_list_run(m, neo_def_axis(m, &d, n->attr), &row);
  return begin.i && begin.i == neo_tensor_at(m, made->owner)->offsets.i && is_parent(l, row);
}

/* A read by an edge, or of one. */
static void look_at_edge(look *l, const neo_order_member *made, neo_expr at) {
  neo_tensor child;
  bool of_parent = made->owner.i && is_of_parent(l, made, at);
  l->fits = of_parent || levels_edge_fits(l->s, l->loop, l->reader->def, made, at, &child);
  child = of_parent ? neo_child_of(l->s->m, made->owner) : child;
  levels_index *x = l->fits ? levels_index_of(l->g, child) : NULL;
  l->fits = x != NULL;
  if (!x)
    return;
  x->has_values = x->has_parents = true;
  x->given_owner = neo_owner_by(l->s->m, neo_tensor_at(l->s->m, child)->offsets);
}

static void look_at(void *ctx, neo_expr e) {
  look *l = ctx;
  neo_module *m = l->s->m;
  const neo_node *n = neo_expr_node(m, e);
  neo_expr own = neo_axis_ref(m, l->reader->axis), vertex = {0};
  if (!l->fits || !neo_node_is_load(n))
    return;
  const neo_order_member *made = made_by(l, (neo_tensor){n->attr});
  if (!made)
    return;
  neo_expr at = neo_list_expr(m, neo_expr_node(m, e)->arg, made->axis);
  if (l->reader->owner.i || made->owner.i) {
    look_at_edge(l, made, at);
    return;
  }
  neo_def_rec d = *neo_def_at(m, l->reader->def);
  neo_tensor child = levels_child_of(l->s, at, &vertex);
  child = child.i ? child : levels_listed_child_of(l->s, &d, at, &vertex);
  if (child.i)
    l->fits = vertex.i == own.i && levels_index_of(l->g, child);
  else
    l->fits = at.i == own.i || is_parent(l, at);
}

bool levels_reads_fit(levels *s, const neo_order_step *loop, levels_graph *g) {
  look l = {.s = s, .g = g, .loop = loop, .fits = true};
  for (uint32_t k = 0; k < loop->n_members && l.fits; k++) {
    l.reader = &loop->member[k];
    neo_def_visit(s->m, l.reader->def, look_at, &l);
  }
  return l.fits;
}
