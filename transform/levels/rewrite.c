/* Rewriting in level order (parts.h). An axis of all vertices becomes order[p]; reads at
 * order[p], or of its children, become reads in the order:
 *
 *     h[order[x]]                     ->  h'[x]
 *     h[child[order[x], k]]           ->  h'[placed[x, k]]
 *     h[e]                            ->  h'[place[e]]
 *     child[order[x], k] == order[y]  ->  placed[x, k] == y */
#include "ir/clone.h"
#include "ir/comparison.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/lists.h"
#include "transform/levels/parts.h"

enum { MOST_CONJUNCTS = 8 };

typedef struct {
  levels *s;
  neo_def_rec d;
  neo_expr by[NEO_DEF_AXES];               /* axis -> its expression in the order */
  const levels_index *edges[NEO_DEF_AXES]; /* axis -> its list, in the order; null: of none */
  bool gone[NEO_DEF_AXES];                 /* reduction axes that a list replaces */
  levels_graph *graph;                     /* graph of the list; null: none */
  const levels_index *index;               /* the parents' index */
  uint32_t vertex;                         /* axis of the vertex whose parents they are */
  /* By axis in the order, if it runs over the list of a vertex: its edges, and that vertex'
   * position. */
  const levels_index *list[NEO_DEF_AXES];
  neo_expr row[NEO_DEF_AXES];
  neo_expr left; /* conditions without the equation; 0: none */
  /* If an edge has to be in a certain slot: its own along each dimension, over the axes in the
   * order, and that one. */
  neo_expr own_slot[LEVELS_RANK], slot[LEVELS_RANK];
  uint32_t n_slots;
} writing;

static neo_expr element(const levels *s, neo_tensor t, neo_expr at, neo_span span) {
  return neo_cast(s->m, NEO_I64_T, neo_load(s->m, t, &at, 1, span));
}

/* ---- reads */

/* x, if e is order[x]; 0: another expression. */
static neo_expr place_of(const levels *s, const levels_graph *g, neo_expr e) {
  const neo_node *n = neo_expr_node(s->m, e);
  if (n->op != NEO_OP_CAST || n->type != NEO_I64_T)
    return (neo_expr){0};
  n = neo_expr_node(s->m, neo_list_expr(s->m, n->arg, 0));
  return n->op == NEO_OP_LOAD && n->attr == g->order.i ? neo_list_expr(s->m, n->arg, 0)
                                                       : (neo_expr){0};
}

/* The edges whose element e is, perhaps converted to i64, at an axis over a list; *at is the axis.
 * Null: another expression. */
static const levels_index *edges_at(const writing *w, neo_expr e, uint32_t *at) {
  neo_module *m = w->s->m;
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST && n->type == NEO_I64_T)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  if (n->op != NEO_OP_LOAD || n->arg.n != 1)
    return NULL;
  const neo_node *axis = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  *at = axis->op == NEO_OP_AXIS ? axis->attr : 0;
  const levels_index *x = axis->op == NEO_OP_AXIS ? w->list[*at] : NULL;
  return x && x->child.i == n->attr ? x : NULL;
}

/* The position of the end of an edge, in the order of the owners; 0: another expression. */
static neo_expr row_of_edge(const levels *s, neo_expr e) {
  neo_expr row = {0};
  for (size_t k = 0; k < s->graphs.n && !row.i; k++)
    row = levels_row_of_edge(s, s->graphs.at[k], e);
  return row;
}

/* placed[e] as an i64, if the expression is child[e] of an edge; 0: another one. */
static neo_expr placed_edge(const writing *w, neo_expr e) {
  uint32_t at;
  neo_expr row = row_of_edge(w->s, e);
  if (row.i)
    return row;
  const levels_index *x = edges_at(w, e, &at);
  return x ? element(w->s, x->placed, neo_axis_ref(w->s->m, at), w->d.span) : (neo_expr){0};
}

/* child[e] < order[x]  ->  placed[e] < x, for an edge in the list of that vertex; 0: another
 * condition. */
static neo_expr earlier_in_order(const writing *w, const levels_graph *g, neo_expr e) {
  neo_module *m = w->s->m;
  neo_node n = *neo_expr_node(m, e);
  uint32_t at;
  if (n.op != NEO_OP_LT)
    return (neo_expr){0};
  neo_expr end = row_of_edge(w->s, neo_list_expr(m, n.arg, 0));
  neo_expr other = end.i ? place_of(w->s, g, neo_list_expr(m, n.arg, 1)) : end;
  other = end.i && !other.i ? row_of_edge(w->s, neo_list_expr(m, n.arg, 1)) : other;
  if (other.i)
    return neo_op2(m, NEO_OP_LT, end, other);
  if (!edges_at(w, neo_list_expr(m, n.arg, 0), &at))
    return (neo_expr){0};
  neo_expr row = place_of(w->s, g, neo_list_expr(m, n.arg, 1));
  return row.i && row.i == w->row[at].i
             ? neo_op2(m, NEO_OP_LT, placed_edge(w, neo_list_expr(m, n.arg, 0)), row)
             : (neo_expr){0};
}

/* placed[x, ..] as an i64, if e is child[order[x], ..]; 0: another expression. */
static neo_expr placed_child(const levels *s, const levels_graph *g, neo_expr e) {
  neo_module *m = s->m;
  neo_expr vertex, at[LEVELS_RANK];
  neo_tensor child = levels_child_of(s, e, &vertex);
  neo_expr x = child.i ? place_of(s, g, vertex) : (neo_expr){0};
  if (!x.i)
    return x;
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_CAST)
    n = *neo_expr_node(m, neo_list_expr(m, n.arg, 0));
  for (uint32_t k = 0; k < neo_tensor_rank(m, child); k++)
    at[k] = k ? neo_list_expr(m, n.arg, k) : x;
  for (uint32_t k = 0; k < g->n_indices; k++)
    if (g->index[k].child.i == child.i)
      return neo_cast(m, NEO_I64_T,
                      neo_load(m, g->index[k].placed, at, neo_tensor_rank(m, child), n.span));
  return (neo_expr){0};
}

/* The position of the vertex in the order; -1: there is no vertex of that number. */
static neo_expr place_or_none(const levels *s, const levels_graph *g, neo_expr vertex,
                              neo_span span) {
  neo_module *m = s->m;
  neo_expr none = neo_const_int(m, NEO_I32_T, -1);
  return neo_cast(m, NEO_I64_T, neo_load_else(m, g->place, &vertex, 1, none, span));
}

static neo_expr read_in_order(const writing *w, neo_expr e) {
  const levels *s = w->s;
  neo_module *m = s->m;
  neo_node n = *neo_expr_node(m, e);
  const levels_tensor *t = &s->of[n.attr];
  uint32_t rank = neo_tensor_rank(m, (neo_tensor){n.attr});
  neo_expr at[LEVELS_RANK + 1];
  for (uint32_t k = 0; k < n.arg.n; k++)
    at[k] = neo_list_expr(m, n.arg, k);
  if (t->edges) {
    at[t->dim] = levels_position_of(s, t->edges, at[t->dim]);
    return neo_load(m, t->to, at, rank, n.span);
  }
  neo_expr vertex = at[t->dim], x = place_of(s, t->graph, vertex);
  if (!x.i)
    x = placed_child(s, t->graph, vertex);
  if (!x.i)
    x = placed_edge(w, vertex);
  if (!x.i && n.op == NEO_OP_LOAD)
    x = element(s, t->graph->place, vertex, n.span);
  if (!x.i)
    x = place_or_none(s, t->graph, vertex, n.span);
  at[t->dim] = x;
  return n.op == NEO_OP_LOAD ? neo_load(m, t->to, at, rank, n.span)
                             : neo_load_else(m, t->to, at, rank, at[rank], n.span);
}

/* Does the comparison of a child with constant c test whether it exists? Its elements are at least
 * -1. */
static bool asks_whether(neo_op op, bool swapped, int64_t c) {
  switch (op) {
  case NEO_OP_LT: /* child < c, or c < child */
    return swapped ? c == -1 : c == 0;
  case NEO_OP_LE:
    return swapped ? c == 0 : c == -1;
  default:
    return c == -1;
  }
}

static neo_expr compare_in_order(const levels *s, const levels_graph *g, neo_expr e) {
  neo_module *m = s->m;
  neo_node n = *neo_expr_node(m, e);
  neo_expr side[2] = {neo_list_expr(m, n.arg, 0), neo_list_expr(m, n.arg, 1)};
  bool equation = n.op == NEO_OP_EQ || n.op == NEO_OP_NE;
  int64_t c;
  for (int k = 0; k < 2; k++) {
    neo_expr own = side[k], other = side[1 - k], child = placed_child(s, g, own);
    neo_expr x = child.i ? child : place_of(s, g, own), y = place_of(s, g, other);
    if (equation && y.i)
      return neo_op2(m, (neo_op)n.op, x.i ? x : place_or_none(s, g, own, n.span), y);
    if (!x.i)
      continue;
    if (!child.i || !neo_expr_is_int(m, other, &c) || !asks_whether((neo_op)n.op, k == 1, c))
      continue;
    neo_expr pair[2] = {neo_cast(m, neo_expr_type(m, own), child), other};
    return neo_op2(m, (neo_op)n.op, pair[k == 1], pair[k == 0]);
  }
  return e;
}

static neo_expr in_order(void *ctx, neo_module *m, neo_expr e) {
  const writing *w = ctx;
  const levels *s = w->s;
  const neo_node *n = neo_expr_node(m, e);
  if (neo_node_is_load(n))
    return n->attr < s->n_tensors && (s->of[n->attr].graph || s->of[n->attr].edges)
               ? read_in_order(w, e)
               : e;
  bool compares =
      n->op == NEO_OP_EQ || n->op == NEO_OP_NE || n->op == NEO_OP_LT || n->op == NEO_OP_LE;
  for (size_t k = 0; k < s->graphs.n && compares; k++) {
    const levels_graph *g = s->graphs.at[k];
    neo_expr asked = g->n_indices ? levels_compare_count(s, g, e) : (neo_expr){0};
    asked = asked.i ? asked : earlier_in_order(w, g, e);
    neo_expr other = asked.i ? asked : g->n_indices ? compare_in_order(s, g, e) : e;
    if (other.i != e.i)
      return other;
  }
  return e;
}

/* ---- definitions */

static neo_expr written(const writing *w, neo_expr e) {
  if (!e.i)
    return e;
  e = neo_expr_subst_axes(w->s->m, e, w->by, w->d.axes.n);
  return neo_expr_rewrite(w->s->m, e, in_order, (void *)w);
}

static neo_list written_list(const writing *w, neo_list l) {
  uint32_t id[NEO_DEF_AXES];
  for (uint32_t k = 0; k < l.n; k++)
    id[k] = written(w, neo_list_expr(w->s->m, l, k)).i;
  return neo_list_new(w->s->m, id, l.n);
}

/* ---- parents */

/* Is it a reduction axis over all values of a slot of `child`, in no other index or range? */
static bool takes_all(const writing *w, neo_expr at, neo_expr extent) {
  const neo_node *n = neo_expr_node(w->s->m, at);
  return n->op == NEO_OP_AXIS && n->attr >= w->d.n_out && !w->gone[n->attr] &&
         levels_is_vertex(w->s, &w->d, n->attr, extent);
}

/* The element of the list at its axis. */
static neo_expr edge_of(const writing *w) {
  return element(w->s, w->index->edge, neo_axis_ref(w->s->m, w->d.n_out), w->d.span);
}

/* The position of the parent that the list has at its axis. */
static neo_expr parent_of(const writing *w) {
  levels *s = w->s;
  if (levels_is_list(s, w->index->child))
    return element(s, w->index->parent, neo_axis_ref(s->m, w->d.n_out), w->d.span);
  return neo_op2(s->m, NEO_OP_DIV, edge_of(w), levels_int(s, levels_slots_of(s, w->index->child)));
}

/* Makes reads of the child reads of the vertex itself. */
static void read_own(writing *w, neo_expr child) {
  neo_module *m = w->s->m;
  neo_expr own = neo_axis_ref(m, w->vertex);
  child = neo_cast(m, NEO_I64_T, child);
  w->d.body = neo_list_replace(m, w->d.body, child, own);
  w->left = neo_expr_replace(m, w->left, child, own);
}

/* Runs over the edges to the vertex instead of the axes of parents and of their lists; the child of
 * each is that vertex. */
static void take_edges(writing *w, neo_expr parent, neo_expr child) {
  levels *s = w->s;
  neo_module *m = s->m;
  const neo_node *n = neo_expr_node(m, child);
  if (n->op == NEO_OP_CAST)
    n = neo_expr_node(m, neo_list_expr(m, n->arg, 0));
  uint32_t r = neo_expr_node(m, parent)->attr,
           e = neo_expr_node(m, neo_list_expr(m, n->arg, 0))->attr;
  w->gone[r] = w->gone[e] = true;
  read_own(w, child);
  w->by[r] = element(s, w->graph->order, parent_of(w), w->d.span);
  w->by[e] = edge_of(w);
}

/* Runs over the list of parents instead of the axes of the equation. */
static void take_list(writing *w, neo_expr parent, neo_expr child) {
  levels *s = w->s;
  neo_module *m = s->m;
  neo_node n = *neo_expr_node(m, child);
  if (n.op == NEO_OP_CAST)
    n = *neo_expr_node(m, neo_list_expr(m, n.arg, 0));
  uint32_t rank = neo_tensor_rank(m, w->index->child);
  neo_expr all_slots = levels_int(s, levels_slots_of(s, w->index->child)), edge = edge_of(w);
  neo_expr at = neo_op2(m, NEO_OP_DIV, edge, all_slots);
  neo_expr slot = neo_op2(m, NEO_OP_MOD, edge, all_slots);
  uint32_t r = neo_expr_node(m, parent)->attr;
  int64_t slots = levels_slots_of(s, w->index->child), extent = 1;
  w->gone[r] = true;
  w->by[r] = element(s, w->graph->order, at, w->d.span);
  for (uint32_t k = 1; k < rank; k++) {
    neo_expr all = neo_tensor_extent(m, w->index->child, k), index = neo_list_expr(m, n.arg, k);
    (void)neo_expr_is_int(m, all, &extent);
    slots /= extent;
    neo_expr own = neo_op2(m, NEO_OP_DIV, slot, levels_int(s, slots));
    slot = neo_op2(m, NEO_OP_MOD, slot, levels_int(s, slots));
    if (takes_all(w, index, all)) {
      w->gone[neo_expr_node(m, index)->attr] = true;
      w->by[neo_expr_node(m, index)->attr] = own;
    } else {
      w->own_slot[w->n_slots] = own;
      w->slot[w->n_slots++] = index;
    }
  }
}

static levels_index *with_parents(levels_graph *g, neo_tensor child) {
  for (uint32_t k = 0; k < g->n_indices; k++)
    if (g->index[k].child.i == child.i && g->index[k].has_parents)
      return &g->index[k];
  return NULL;
}

/* Finds child[r, ..] == u for an axis r of the sum and u of the definition, both over vertices. */
static void find_list(writing *w, levels_graph *const *vertex) {
  levels *s = w->s;
  neo_module *m = s->m;
  neo_expr part[MOST_CONJUNCTS], parent = {0}, child = {0};
  uint32_t n = 0, at = MOST_CONJUNCTS;
  if (!vertex || !w->d.where.i || !neo_conjuncts_of(m, w->d.where, part, &n, MOST_CONJUNCTS))
    return;
  for (uint32_t u = 0; u < w->d.n_out && !w->graph; u++)
    for (uint32_t k = 0; k < n && vertex[u] && !w->graph; k++) {
      neo_tensor t = levels_parents_of(s, &w->d, part[k], neo_axis_ref(m, u), &parent, &child);
      const neo_node *r = neo_expr_node(m, parent);
      bool is =
          t.i && r->op == NEO_OP_AXIS && r->attr >= w->d.n_out && vertex[r->attr] == vertex[u];
      w->index = is ? with_parents(vertex[u], t) : NULL;
      w->graph = w->index ? vertex[u] : NULL;
      w->vertex = u;
      at = k;
    }
  if (!w->graph)
    return;
  bool list = levels_is_list(s, w->index->child);
  neo_expr earlier = neo_op2(m, NEO_OP_LT, neo_cast(m, NEO_I64_T, child), parent);
  for (uint32_t k = 0; k < n; k++)
    if (k != at && !(list && part[k].i == earlier.i)) /* edges come before by declaration */
      w->left = neo_both(m, w->left, part[k]);
  if (list)
    take_edges(w, parent, child);
  else
    take_list(w, parent, child);
}

/* ---- axes */

/* The list that axis k of a definition runs through, of which values of edges are in the order;
 * null: it runs through none. Those of a vertex in the order, or all, of a definition that runs by
 * owner. */
static const levels_index *edges_of(writing *w, levels_graph *const *vertex, neo_def id,
                                    uint32_t k) {
  levels *s = w->s;
  neo_expr row;
  if (s->edges[id.i] && s->of_edge[id.i] == k)
    return s->edges[id.i];
  neo_tensor begin = neo_list_run(s->m, neo_def_axis(s->m, &w->d, k), &row);
  const neo_node *v = begin.i ? neo_expr_node(s->m, row) : NULL;
  bool by_vertex = v && vertex && v->op == NEO_OP_AXIS && vertex[v->attr] && !w->gone[v->attr];
  const levels_graph *g = by_vertex ? vertex[v->attr] : NULL;
  if (v && !g && s->edges[id.i]) {
    neo_expr own =
        neo_list_element(s->m, s->edges[id.i]->given_owner, neo_axis_ref(s->m, s->of_edge[id.i]));
    bool own_list =
        row.i == own.i && neo_tensor_at(s->m, s->edges[id.i]->child)->offsets.i == begin.i;
    return own_list ? s->edges[id.i] : NULL;
  }
  for (uint32_t i = 0; g && i < g->n_indices; i++)
    if (g->index[i].has_values && neo_tensor_at(s->m, g->index[i].child)->offsets.i == begin.i)
      return &g->index[i];
  return NULL;
}

/* The edge at position `at`. */
static neo_expr edge_at(writing *w, const levels_index *x, neo_expr at) {
  return element(w->s, x->at, at, w->d.span);
}

static void place_axes(writing *w, levels_graph *const *vertex, neo_def id) {
  levels *s = w->s;
  neo_module *m = s->m;
  uint32_t to = 0;
  for (uint32_t k = 0; k < w->d.axes.n; k++) {
    if (k == w->d.n_out && w->graph)
      to++; /* the list's axis */
    if (w->gone[k])
      continue;
    neo_expr at = neo_axis_ref(m, to++);
    w->edges[k] = edges_of(w, vertex, id, k);
    w->by[k] = w->edges[k]           ? edge_at(w, w->edges[k], at)
               : vertex && vertex[k] ? element(s, vertex[k]->order, at, w->d.span)
                                     : at;
  }
}

/* ---- lists of children */

/* Notes that axis k runs over the list of a vertex, if it does. */
static void note_list(writing *w, levels_graph *const *vertex, uint32_t k) {
  levels *s = w->s;
  neo_expr row;
  neo_tensor offsets = levels_offsets_of(s, neo_def_axis(s->m, &w->d, k), &row);
  const neo_node *v = offsets.i ? neo_expr_node(s->m, row) : NULL;
  const levels_graph *g = v && v->op == NEO_OP_AXIS ? vertex[v->attr] : NULL;
  uint32_t at = neo_expr_node(s->m, w->by[k])->attr;
  for (uint32_t i = 0; g && i < g->n_indices; i++) {
    if (neo_tensor_at(s->m, g->index[i].child)->offsets.i != offsets.i)
      continue;
    w->list[at] = &g->index[i];
    w->row[at] = place_of(s, g, w->by[v->attr]);
    return;
  }
}

static void find_own_lists(writing *w, levels_graph *const *vertex) {
  for (uint32_t k = w->d.n_out; vertex && k < w->d.axes.n; k++)
    if (!w->gone[k] && neo_expr_node(w->s->m, w->by[k])->op == NEO_OP_AXIS)
      note_list(w, vertex, k);
}

/* The axis of the list of the vertex's parents. */
static neo_axis_rec list_of(const writing *w, neo_span span) {
  levels *s = w->s;
  neo_module *m = s->m;
  neo_expr u = element(s, w->graph->order, neo_axis_ref(m, w->vertex), span);
  neo_expr before = neo_op2(m, NEO_OP_SUB, u, levels_int(s, 1));
  neo_expr none = neo_const_int(m, NEO_I32_T, 0), end = element(s, w->index->end, u, span);
  neo_expr first = neo_load_else(m, w->index->end, &before, 1, none, span);
  neo_expr all = neo_tensor_extent(m, w->index->edge, 0);
  return (neo_axis_rec){.name = neo_name_of(m->names, "e"),
                        .lo = neo_cast(m, NEO_I64_T, first),
                        .hi = neo_op2(m, NEO_OP_MIN, end, all),
                        .span = span};
}

/* The begin of a list in the order of the owners:
 *
 *     begin[order[p]]        ->  begin'[p]
 *     begin[owner[edge[q]]]  ->  begin'[owner'[q]] */
static neo_expr written_bound(const writing *w, uint32_t axis, neo_expr e) {
  levels *s = w->s;
  neo_module *m = s->m;
  neo_expr old = e, row;
  const levels_index *x = w->edges[axis];
  neo_axis_rec a = *neo_def_axis(m, &w->d, axis);
  e = written(w, e);
  if (!x || !neo_list_run(m, &a, &row).i)
    return e;
  neo_expr v = neo_expr_subst_axes(m, row, w->by, w->d.axes.n), p = {0};
  for (size_t k = 0; k < s->graphs.n && !p.i; k++)
    p = place_of(s, s->graphs.at[k], v);
  p = p.i ? p : row_of_edge(s, v);
  bool end = old.i == a.hi.i;
  return element(s, x->begin, end ? neo_op2(m, NEO_OP_ADD, p, levels_int(s, 1)) : p, a.span);
}

static neo_list written_axes(const writing *w) {
  levels *s = w->s;
  neo_module *m = s->m;
  uint32_t id[NEO_DEF_AXES + 1], n = 0;
  for (uint32_t k = 0; k < w->d.axes.n; k++) {
    neo_axis_rec x = *neo_def_axis(m, &w->d, k);
    if (k == w->d.n_out && w->graph) {
      id[n++] = neo_axis_add(m, list_of(w, x.span)).i;
    }
    if (w->gone[k])
      continue;
    x.lo = written_bound(w, k, x.lo);
    x.hi = written_bound(w, k, x.hi);
    id[n++] = neo_axis_add(m, x).i;
  }
  return neo_list_new(m, id, n);
}

/* Conditions, with the one that a parent comes later, so that the read is of an earlier iteration:
 * the list alone does not imply it. */
static neo_expr written_where(const writing *w) {
  levels *s = w->s;
  neo_module *m = s->m;
  if (!w->graph)
    return written(w, w->d.where);
  neo_expr where = neo_op2(m, NEO_OP_LT, neo_axis_ref(m, w->vertex), parent_of(w));
  for (uint32_t k = 0; k < w->n_slots; k++)
    where = neo_both(m, where, neo_op2(m, NEO_OP_EQ, w->own_slot[k], written(w, w->slot[k])));
  return neo_both(m, where, written(w, w->left));
}

/* ---- results */

static void add_tensor(levels *s, uint32_t t) {
  neo_module *m = s->m;
  levels_tensor *x = &s->of[t];
  neo_tensor_rec r = *neo_tensor_at(m, (neo_tensor){t});
  neo_expr end[] = {r.least, r.below};
  for (int k = 0; k < 2; k++)
    if (end[k].i && neo_expr_axes(m, end[k]) >> x->dim & 1)
      r.least = r.below = (neo_expr){0};
  r.name = neo_tensor_fresh_name(m, "by_level", neo_name_text(m->names, r.name));
  x->to = neo_tensor_add(m, r);
  neo_tensor_at(m, (neo_tensor){t})->pieces = (neo_list){0};
}

/* Defines the tensor as a copy. d: a definition of it, perhaps of a part. */
static void define_copy(const levels *s, const neo_def_rec *d, neo_def origin, uint32_t t) {
  neo_module *m = s->m;
  const levels_tensor *x = &s->of[t];
  uint32_t id[LEVELS_RANK];
  neo_expr at[LEVELS_RANK];
  for (uint32_t k = 0; k < d->n_out; k++) {
    neo_axis_rec axis = *neo_def_axis(m, d, k);
    axis.lo = levels_int(s, 0);
    axis.hi = neo_tensor_extent(m, x->to, k);
    id[k] = d->out_map.n ? neo_axis_add(m, axis).i : neo_list_at(m, d->axes, k);
    at[k] = neo_axis_ref(m, k);
  }
  at[x->dim] = x->edges ? element(s, x->edges->position, at[x->dim], d->span)
                        : element(s, x->graph->place, at[x->dim], d->span);
  neo_equation_define(m, origin, (neo_tensor){t}, neo_list_new(m, id, d->n_out),
                      neo_load(m, x->to, at, d->n_out, d->span));
}

/* A tensor of several definitions gets one copy: the first definition adds it. */
static bool is_first(const levels *s, neo_def id, neo_tensor t) {
  return neo_tensor_piece(s->m, t, 0).i == id.i;
}

static bool is_placed(const levels *s, uint32_t t) {
  return s->of[t].graph || s->of[t].edges;
}

static void write_def(levels *s, neo_def id) {
  neo_module *m = s->m;
  writing w = {.s = s, .d = *neo_def_at(m, id)};
  neo_def_rec to = w.d;
  uint32_t out[4];
  find_list(&w, s->vertex[id.i]);
  place_axes(&w, s->vertex[id.i], id);
  find_own_lists(&w, s->vertex[id.i]);
  to.axes = written_axes(&w);
  to.where = written_where(&w);
  to.body = written_list(&w, w.d.body);
  to.finish = written_list(&w, w.d.finish);
  for (uint32_t k = 0; k < w.d.out.n; k++) {
    uint32_t t = neo_list_at(m, w.d.out, k);
    out[k] = is_placed(s, t) ? s->of[t].to.i : t;
  }
  to.out = neo_list_new(m, out, w.d.out.n);
  *neo_def_at(m, id) = to;
  for (uint32_t k = 0; k < w.d.out.n; k++) {
    uint32_t t = neo_list_at(m, w.d.out, k);
    if (is_placed(s, t) && is_first(s, id, s->of[t].to))
      define_copy(s, &w.d, id, t);
  }
}

/* Finds definitions that count children. */
static void find_counts(levels *s) {
  for (uint32_t d = 1; d < s->n_defs; d++) {
    levels_graph *g = levels_counts_children(s, (neo_def){d});
    uint32_t t = g ? neo_def_out(s->m, (neo_def){d}, 0).i : 0;
    if (g && s->of[t].graph == g)
      g->count = s->of[t].to;
  }
}

void levels_rewrite(levels *s, const bool *is_init) {
  for (uint32_t t = 1; t < s->n_tensors; t++)
    if (is_placed(s, t))
      add_tensor(s, t);
  find_counts(s);
  for (uint32_t d = 1; d < s->n_defs; d++)
    if (!is_init[d])
      write_def(s, (neo_def){d});
  for (uint32_t d = 1; d < s->n_defs; d++)
    if (!is_init[d])
      levels_narrow_sums(s, (neo_def){d});
}
