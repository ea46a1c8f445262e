/* Values of edges. Within a vertex function a definition may have an element for each edge of the
 * vertex: `f[e, j] = h[e, j]*w[e]`. While the function is checked such values are tensors of all
 * edges, possibly also of all vertices. After its body none of them is left in the recurrence:
 *
 *     m[e, j] = sum[l] h.scattered[child[e], l]*W[l, j]   depends on the child alone: becomes a
 *                                                         value of vertices, read at child[e]
 *     f[v, e, j] = tanh(m[e, j] + q[v])*w[e]              no reduction: substituted into readers
 *     s[v, e] = sum[j] f[v, e, j]*q[v, j]                 any other: the edge tells the vertex
 *     ->
 *     m[v, j] = sum[l] h.scattered[v, l]*W[l, j],   f[v, e, j] -> tanh(m[child[e], j] + q[v])*w[e]
 *     s[e] = sum[j] f[owner[e], e, j]*q[owner[e], j]
 *
 * The last is a value of edges in the recurrence, which runs by owner (ir/order.h). It is read for
 * edges of the vertex alone.
 *
 * Towards the children, the edges are those that lead to the vertex, and values are read of their
 * owners, the vertices in whose lists they are. A reduction runs over both, so that owner[e] is the
 * index of the owner. */
#include "frontend/sema/vertices.h"
#include "ir/comparison.h"
#include "ir/lists.h"

typedef enum { OF_NO_EDGE, OF_VERTEX, IN_PLACE, OF_EDGE } edge_value;
enum { NO_DIM = UINT32_MAX, MOST_CONJUNCTS = 16 };

typedef struct {
  neo_inst *in;
  neo_module *m;
  edge_value *value;  /* by tensor */
  uint32_t *dim;      /* by tensor: its dimension of edges */
  uint32_t *vertex;   /* by tensor OF_EDGE: its dimension of vertices, which is dropped; NO_DIM */
  neo_tensor *end;    /* by tensor: for each edge, the vertex that is read */
  neo_def reader;     /* the definition whose reads are examined */
  uint32_t n_tensors; /* length of these arrays */
  bool *paired;       /* by tensor: its elements are of the vertex that has the edge */
  bool *recurs;       /* by tensor: it depends on what vertices scatter */
  bool ok;
} edge_values;

static neo_expr at_end(neo_module *m, neo_tensor end, neo_expr edge) {
  neo_span at = neo_tensor_at(m, end)->span;
  return neo_cast(m, NEO_I64_T, neo_load(m, end, &edge, 1, at));
}

static void report(edge_values *x, neo_tensor t) {
  const neo_module *m = x->m;
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  if (!x->ok)
    return;
  int h = NEO_ERR(x->in, r->span, EDGE_VALUES, neo_name_text(m->names, r->name));
  neo_diag_help(x->in->fe->diags, h,
                "values of edges are read for the edges of the vertex, in a reduction over them; "
                "towards the children a reduction for each edge takes nothing that the vertex "
                "makes of others");
  x->ok = false;
}

/* ---- reads */

static bool is_read(const neo_node *n) {
  return n->op == NEO_OP_LOAD || n->op == NEO_OP_LOAD_ELSE;
}

/* Whether a condition of the reduction is that the edge's child is the vertex. */
static bool has_child(edge_values *x, const neo_def_rec *d, neo_expr edge, neo_tensor child,
                      neo_expr vertex) {
  neo_expr part[MOST_CONJUNCTS];
  uint32_t n = 0;
  bool is = false;
  if (!d->where.i || !neo_conjuncts_of(x->m, d->where, part, &n, MOST_CONJUNCTS))
    return false;
  neo_expr same = neo_op2(x->m, NEO_OP_EQ, at_end(x->m, child, edge), vertex);
  for (uint32_t k = 0; k < n; k++)
    is = is || part[k].i == same.i;
  return is;
}

/* Whether the number of positions is that of all edges of a list. */
static bool runs_all(edge_values *x, neo_expr n) {
  const neo_graph *g = x->in->vertex->graph;
  bool all = false;
  for (uint32_t k = 0; k < g->n_lists; k++)
    all = all || neo_size_equal(x->in->fe, n, g->list[k].edges);
  return all;
}

/* Whether the edge is one of the vertex: those that a reduction at hand runs through, or the
 * definition's own. */
static bool is_of_vertex(edge_values *x, neo_expr edge, neo_expr vertex) {
  neo_def_rec d = *neo_def_at(x->m, x->reader);
  const neo_node *n = neo_expr_node(x->m, edge), *v = neo_expr_node(x->m, vertex);
  const neo_graph *g = x->in->vertex->graph;
  neo_expr row;
  if (n->op != NEO_OP_AXIS || v->op != NEO_OP_AXIS || v->attr >= d.n_out)
    return false;
  if (n->attr < d.n_out) /* the definition is a value of edges itself */
    return runs_all(x, neo_def_axis(x->m, &d, n->attr)->hi);
  neo_tensor begin = neo_list_run(x->m, neo_def_axis(x->m, &d, n->attr), &row);
  for (uint32_t k = 0; k < g->n_lists && x->in->vertex->down; k++)
    if (g->list[k].begin.i == begin.i)
      return has_child(x, &d, edge, g->list[k].child, vertex);
  return begin.i && row.i == vertex.i;
}

/* The element of a value of edges, without the dimension of vertices. */
static neo_expr element_of_edge(edge_values *x, neo_tensor t, const neo_expr *at, uint32_t n,
                                neo_span span) {
  neo_expr rest[NEO_MAX_RANK + 1];
  uint32_t to = 0;
  for (uint32_t k = 0; k < n; k++)
    if (k != x->vertex[t.i])
      rest[to++] = at[k];
  return neo_load(x->m, t, rest, to, span);
}

static neo_expr resolved(void *ctx, neo_module *m, neo_expr e) {
  edge_values *x = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_tensor t = {n.attr};
  neo_expr at[NEO_MAX_RANK + 1];
  if (!is_read(&n) || t.i >= x->n_tensors || x->value[t.i] == OF_NO_EDGE)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    at[k] = neo_list_expr(m, n.arg, k);
  bool of_vertex = !x->paired[t.i] || is_of_vertex(x, at[x->dim[t.i]], at[x->vertex[t.i]]);
  if (n.op == NEO_OP_LOAD_ELSE || !of_vertex) { /* outside of the tensor no edge has an end */
    report(x, t);
    return e;
  }
  if (x->value[t.i] == OF_EDGE)
    return element_of_edge(x, t, at, n.arg.n, n.span);
  if (x->value[t.i] == IN_PLACE) {
    neo_def_rec d = *neo_def_at(m, (neo_def){neo_list_at(m, neo_tensor_at(m, t)->pieces, 0)});
    return neo_expr_subst_axes(m, neo_list_expr(m, d.finish, 0), at, n.arg.n);
  }
  at[x->dim[t.i]] = at_end(m, x->end[t.i], at[x->dim[t.i]]);
  return neo_load(m, t, at, n.arg.n, n.span);
}

/* ---- classes of definitions */

typedef struct {
  edge_values *x;
  neo_tensor own;
  bool recurrent, self; /* reads scattered values; reads itself */
  bool paired;          /* reads values of edges that are of the vertex */
} read_look;

static void look_at_read(void *ctx, neo_expr e) {
  read_look *l = ctx;
  const struct neo_vertex *v = l->x->in->vertex;
  const neo_node *n = neo_expr_node(l->x->m, e);
  if (!is_read(n))
    return;
  l->self = l->self || n->attr == l->own.i;
  bool known = n->attr < l->x->n_tensors;
  edge_value value = known ? l->x->value[n->attr] : OF_NO_EDGE;
  l->recurrent = l->recurrent || value == OF_VERTEX || value == OF_EDGE;
  l->paired = l->paired || (value == OF_EDGE && l->x->paired[n->attr]);
  l->x->recurs[l->own.i] |= l->recurrent || (known && l->x->recurs[n->attr]);
  for (size_t k = 0; k < v->gathered.n; k++)
    l->recurrent = l->recurrent || n->attr == v->gathered.at[k].stack.i;
}

typedef struct {
  const neo_module *m;
  neo_expr axis, vertex; /* an edge's axis, and the load of the vertex at its end */
  bool alone;            /* the edge is used only to load its end */
} end_look;

static void look_at_end(void *ctx, neo_expr e) {
  end_look *l = ctx;
  const neo_node *n = neo_expr_node(l->m, e);
  for (uint32_t k = 0; k < n->arg.n; k++) {
    neo_expr arg = neo_list_expr(l->m, n->arg, k);
    bool index = n->op == NEO_OP_CAST && n->type == NEO_I64_T;
    l->alone =
        l->alone && (arg.i != l->axis.i || e.i == l->vertex.i) && (arg.i != l->vertex.i || index);
  }
}

static bool is_of_end(edge_values *x, neo_def id, uint32_t dim, neo_tensor end) {
  neo_module *m = x->m;
  neo_expr axis = neo_axis_ref(m, dim);
  end_look l = {m, axis, neo_load(m, end, &axis, 1, neo_tensor_at(m, end)->span), true};
  neo_def_visit(m, id, look_at_end, &l);
  return l.alone;
}

static neo_expr end_as_axis(void *ctx, neo_module *m, neo_expr e) {
  const neo_expr *from_to = ctx;
  (void)m;
  return e.i == from_to[0].i ? from_to[1] : e;
}

static void set_extent(edge_values *x, neo_tensor t, neo_def id, neo_expr n) {
  neo_module *m = x->m;
  uint32_t dim = x->dim[t.i], extent[NEO_MAX_RANK], rank = neo_tensor_rank(m, t);
  neo_def_axis(m, neo_def_at(m, id), dim)->hi = n;
  for (uint32_t k = 0; k < rank; k++)
    extent[k] = k == dim ? n.i : neo_tensor_extent(m, t, k).i;
  neo_tensor_at(m, t)->extent = neo_list_new(m, extent, rank);
}

/* Turns a value of edges into one of vertices. */
static void make_of_vertex(edge_values *x, neo_tensor t, neo_def id) {
  neo_module *m = x->m;
  neo_expr axis = neo_axis_ref(m, x->dim[t.i]), from_to[] = {at_end(m, x->end[t.i], axis), axis};
  neo_def_rewrite(m, id, end_as_axis, from_to);
  set_extent(x, t, id, x->in->vertex->graph->vertices);
  x->value[t.i] = OF_VERTEX;
}

typedef struct {
  edge_values *x;
  neo_expr vertex;
  bool is;
} own_look;

static void look_at_own(void *ctx, neo_expr e) {
  own_look *l = ctx;
  const neo_node *n = neo_expr_node(l->x->m, e);
  if (!is_read(n) || n->attr >= l->x->n_tensors || !l->x->recurs[n->attr])
    return;
  for (uint32_t k = 0; k < n->arg.n; k++)
    l->is = l->is || neo_list_at(l->x->m, n->arg, k) == l->vertex.i;
}

/* Whether the definition reads what its vertex, on axis v, makes of what it gathers. */
static bool reads_own(edge_values *x, neo_def id, uint32_t v) {
  own_look l = {x, neo_axis_ref(x->m, v), false};
  neo_def_visit(x->m, id, look_at_own, &l);
  return l.is;
}

/* The list whose edges are a dimension of the tensor; null: none. *dim: the dimension; *n: the
 * number of such dimensions. */
static neo_edge_list *list_of(edge_values *x, neo_tensor t, uint32_t *dim, uint32_t *n) {
  const neo_graph *g = x->in->vertex->graph;
  neo_edge_list *found = NULL;
  *n = 0;
  for (uint32_t k = 0; k < neo_tensor_rank(x->m, t); k++)
    for (uint32_t i = 0; i < g->n_lists; i++)
      if (neo_size_equal(x->in->fe, neo_tensor_extent(x->m, t, k), g->list[i].edges)) {
        found = &g->list[i];
        *dim = k;
        ++*n;
      }
  return found;
}

/* The tensor's dimension of vertices, which is that of the vertex at hand; NO_DIM: it has none. */
static uint32_t vertices_of(const edge_values *x, neo_tensor t) {
  for (uint32_t k = 0; k < neo_tensor_rank(x->m, t); k++)
    if (neo_tensor_extent(x->m, t, k).i == x->in->vertex->graph->vertices.i)
      return k;
  return NO_DIM;
}

/* ---- values of edges */

/* Writes the definition without its axis `gone`, which is `value` over the axes that are left. */
static void drop_axis(neo_module *m, neo_def id, uint32_t gone, neo_expr value) {
  neo_def_rec d = *neo_def_at(m, id);
  neo_expr by[NEO_MAX_AXES + NEO_MAX_RANK];
  uint32_t axes[NEO_MAX_AXES + NEO_MAX_RANK], n = 0;
  for (uint32_t k = 0; k < d.axes.n; k++)
    by[k] = k == gone ? value : neo_axis_ref(m, k - (k > gone));
  for (uint32_t k = 0; k < d.axes.n; k++) {
    neo_axis_rec a = *neo_def_axis(m, &d, k);
    a.lo = neo_expr_subst_axes(m, a.lo, by, d.axes.n);
    a.hi = neo_expr_subst_axes(m, a.hi, by, d.axes.n);
    if (k != gone)
      axes[n++] = neo_axis_add(m, a).i;
  }
  uint32_t n_axes = d.axes.n;
  d.axes = neo_list_new(m, axes, n);
  d.n_out--;
  d.where = d.where.i ? neo_expr_subst_axes(m, d.where, by, n_axes) : d.where;
  d.body = neo_list_subst_axes(m, d.body, by, n_axes);
  d.finish = neo_list_subst_axes(m, d.finish, by, n_axes);
  *neo_def_at(m, id) = d;
}

static void drop_dim(neo_module *m, neo_tensor t, uint32_t gone) {
  uint32_t extent[NEO_MAX_RANK], n = 0;
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    if (k != gone)
      extent[n++] = neo_tensor_extent(m, t, k).i;
  neo_tensor_at(m, t)->extent = neo_list_new(m, extent, n);
}

/* Whether the definition is of edges alone once the edge tells the vertex. Towards the children a
 * value is made when its owner is, before those that the edge leads to: nothing that these make of
 * other edges is there. */
static bool can_be_of_edge(edge_values *x, neo_tensor t, neo_def id) {
  uint32_t v = vertices_of(x, t);
  return v == NO_DIM || !x->in->vertex->down || !reads_own(x, id, v);
}

/* Makes a value of edges one of the recurrence. */
static void make_of_edge(edge_values *x, neo_tensor t, neo_def id, neo_edge_list *list) {
  neo_module *m = x->m;
  neo_tensor owner = neo_edges_owner(x->in, list), of = x->in->vertex->down ? list->child : owner;
  uint32_t v = vertices_of(x, t), edge = x->dim[t.i];
  x->ok = x->ok && owner.i;
  if (!owner.i)
    return;
  neo_tensor_at(m, owner)->offsets = list->begin;
  set_extent(x, t, id, list->edges);
  x->vertex[t.i] = v;
  x->value[t.i] = OF_EDGE;
  x->paired[t.i] = v != NO_DIM;
  if (v == NO_DIM)
    return;
  drop_axis(m, id, v, at_end(m, of, neo_axis_ref(m, edge - (edge > v))));
  drop_dim(m, t, v);
}

static bool is_stack(const edge_values *x, neo_tensor t) {
  const struct neo_vertex *v = x->in->vertex;
  bool is = false;
  for (size_t k = 0; k < v->gathered.n; k++)
    is = is || v->gathered.at[k].stack.i == t.i;
  return is;
}

static void make_in_place(edge_values *x, neo_tensor t, bool paired) {
  x->value[t.i] = IN_PLACE;
  x->vertex[t.i] = vertices_of(x, t);
  x->paired[t.i] = paired && x->vertex[t.i] != NO_DIM;
}

static void resolve_def(edge_values *x, neo_def id) {
  neo_module *m = x->m;
  x->reader = id;
  neo_def_rewrite(m, id, resolved, x);
  neo_def_rec d = *neo_def_at(m, id);
  neo_tensor t = {neo_list_at(m, d.out, 0)};
  uint32_t n;
  neo_edge_list *list = list_of(x, t, &x->dim[t.i], &n);
  read_look l = {.x = x, .own = t};
  neo_def_visit(m, id, look_at_read, &l);
  bool pairs = list && vertices_of(x, t) != NO_DIM;
  if (!list || (!l.recurrent && !pairs))
    return;
  x->end[t.i] = x->in->vertex->down ? list->owner : list->child;
  bool plain = !d.out_map.n && neo_tensor_at(m, t)->pieces.n == 1 && !l.self && n == 1;
  if (!plain || is_stack(x, t))
    report(x, t);
  else if (!pairs && is_of_end(x, id, x->dim[t.i], x->end[t.i]))
    make_of_vertex(x, t, id);
  else if (d.reducer == NEO_RED_NONE)
    make_in_place(x, t, l.paired);
  else if (can_be_of_edge(x, t, id))
    make_of_edge(x, t, id, list);
  else
    report(x, t);
}

/* Empties tensors of edges that are computed where they are read: they have no elements of their
 * own. */
static void clear(edge_values *x, size_t first, size_t end) {
  for (size_t k = first; k < end; k++) {
    neo_def id = {(uint32_t)k};
    neo_tensor t = {neo_list_at(x->m, neo_def_at(x->m, id)->out, 0)};
    if (x->value[t.i] == IN_PLACE)
      set_extent(x, t, id, neo_const_int(x->m, NEO_I64_T, 0));
  }
}

/* ---- edges that lead to a vertex */

/* Replaces owner[e] by p where e runs through the list of p. */
static void name_owners(edge_values *x, neo_def id) {
  neo_module *m = x->m;
  const neo_graph *g = x->in->vertex->graph;
  neo_def_rec d = *neo_def_at(m, id);
  for (uint32_t k = d.n_out + 1; k < d.axes.n; k++)
    for (uint32_t i = 0; i < g->n_lists; i++) {
      neo_expr edge = neo_axis_ref(m, k), from_to[2];
      if (!g->list[i].owner.i ||
          neo_def_axis(m, &d, k)->lo.i != neo_edges_begin(m, &g->list[i], k - 1, 0).i)
        continue;
      from_to[0] = at_end(m, g->list[i].owner, edge);
      from_to[1] = neo_axis_ref(m, k - 1);
      neo_def_rewrite(m, id, end_as_axis, from_to);
    }
}

/* ---- other uses of tensors */

static void check_tensor(edge_values *x, neo_tensor t) {
  if (t.i < x->n_tensors && x->value[t.i] != OF_NO_EDGE)
    report(x, t);
}

static void check_list(edge_values *x, neo_list l) {
  for (uint32_t k = 0; k < l.n; k++)
    check_tensor(x, (neo_tensor){neo_list_at(x->m, l, k)});
}

/* Checks gradients within the body, functions with custom gradients, and results. */
static void check_others(edge_values *x) {
  const neo_module *m = x->m;
  const struct neo_vertex *v = x->in->vertex;
  for (size_t k = v->first_grad; k < m->grads.n; k++) {
    check_tensor(x, m->grads.at[k].y);
    check_tensor(x, m->grads.at[k].seed);
    check_list(x, m->grads.at[k].wrt);
    check_list(x, m->grads.at[k].hold);
  }
  for (size_t k = v->first_custom; k < m->customs.n; k++) {
    check_list(x, m->customs.at[k].ins);
    check_list(x, m->customs.at[k].outs);
  }
  for (size_t k = 0; k < v->pushed.n; k++)
    check_tensor(x, v->pushed.at[k].view.tensor);
}

bool neo_edge_values_resolve(neo_inst *body) {
  const struct neo_vertex *v = body->vertex;
  neo_module *m = body->fe->m;
  edge_values x = {.in = body, .m = m, .n_tensors = (uint32_t)m->tensors.n, .ok = true};
  size_t n_defs = m->defs.n;
  if (!v->graph->n_lists)
    return true;
  x.value = NEO_NEW_ARRAY(body->fe->arena, edge_value, x.n_tensors);
  x.dim = NEO_NEW_ARRAY(body->fe->arena, uint32_t, x.n_tensors);
  x.end = NEO_NEW_ARRAY(body->fe->arena, neo_tensor, x.n_tensors);
  x.vertex = NEO_NEW_ARRAY(body->fe->arena, uint32_t, x.n_tensors);
  x.paired = NEO_NEW_ARRAY(body->fe->arena, bool, x.n_tensors);
  x.recurs = NEO_NEW_ARRAY(body->fe->arena, bool, x.n_tensors);
  for (size_t k = 0; k < v->gathered.n; k++)
    x.recurs[v->gathered.at[k].stack.i] = true;
  for (size_t k = v->first_def; k < n_defs && x.ok; k++)
    resolve_def(&x, (neo_def){(uint32_t)k});
  for (size_t k = v->first_def; k < n_defs && x.ok && v->down; k++)
    name_owners(&x, (neo_def){(uint32_t)k});
  clear(&x, v->first_def, n_defs);
  check_others(&x);
  return x.ok;
}

/* ---- owners of edges */

neo_tensor neo_edges_owner(neo_inst *in, neo_edge_list *x) {
  neo_module *m = in->fe->m;
  neo_span at = neo_tensor_at(m, x->begin)->span;
  neo_expr vertices = in->vertex->graph->vertices, zero = neo_const_i64(m, 0);
  if (x->owner.i)
    return x->owner;
  neo_tensor_rec rec = {.role = NEO_ROLE_TEMP, .type = NEO_I32_T, .span = at, .bound = vertices};
  const char *full = neo_fe_unique(in->fe, neo_fe_join(in->fe, in->vertex->graph->name, "owner"));
  x->owner = neo_tensor_make(in, rec, &x->edges, 1, full);
  neo_axis_rec edge = {neo_name_of(in->fe->names, "e"), zero, x->edges, at},
               vertex = {neo_name_of(in->fe->names, "v"), zero, vertices, at};
  uint32_t axes[] = {neo_axis_add(m, edge).i, neo_axis_add(m, vertex).i};
  neo_expr e = neo_axis_ref(m, 0), v = neo_axis_ref(m, 1);
  neo_expr sum = neo_cast(m, NEO_I32_T, neo_acc_ref(m, NEO_I64_T, 0));
  neo_expr first = neo_edges_begin(m, x, 1, 0);
  neo_expr has = neo_between(m, first, e, neo_edges_begin(m, x, 1, 1));
  neo_def_add(m,
              (neo_def_rec){.axes = neo_list_new(m, axes, 2),
                            .n_out = 1,
                            .where = has,
                            .reducer = NEO_RED_SUM,
                            .body = neo_list_one(m, v.i),
                            .finish = neo_list_one(m, sum.i),
                            .out = neo_list_one(m, x->owner.i),
                            .span = at},
              true);
  return x->owner;
}
