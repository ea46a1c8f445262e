/* Graphs and vertex functions (Xu et al., Cavs: an efficient runtime system for dynamic neural
 * networks, USENIX ATC 2018). A graph is an input, in which children come before their vertex:
 *
 *     input G.child[v < G.vertices, K] : -1 <= i32 < v
 *
 * A function is checked with the vertex v as one more ambient axis (state.h). The values that it
 * gathers are elements of those that it scatters, so that both are a recurrence over the vertices:
 *
 *     h[v, k, ..] = (h.scattered[G.child[v, k], ..] else none[k, ..]),  h.scattered[v, ..] = h2[v,
 * ..] */
#include "frontend/sema/vertices.h"

enum { USUAL_PART = 4 };

/* ---- graph */

static void add_member(const neo_inst *in, neo_scope *scope, const neo_ast_name *graph,
                       const char *name, neo_val v) {
  neo_scope_add(in, scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = neo_fe_intern(in->fe, name),
                          .span = graph->span,
                          .value = v});
}

static neo_expr run_time_size(const neo_inst *in, const neo_ast_name *name, const char *full,
                              int64_t most) {
  neo_fe *fe = in->fe;
  neo_size size =
      neo_size_add(fe->m, (neo_size_rec){.kind = NEO_SIZE_RUNTIME,
                                         .name = neo_name_of(fe->names, full),
                                         .hi = most,
                                         .has_usual = true, /* the bound is for the largest batch */
                                         .usual = most / USUAL_PART + 1,
                                         .span = name->span});
  return neo_size_ref(fe->m, size);
}

static neo_tensor add_input(neo_inst *in, const neo_ast_name *name, const char *full,
                            const neo_expr *extent, uint32_t rank) {
  neo_tensor_rec rec = {.role = NEO_ROLE_INPUT, .type = NEO_I32_T, .span = name->span};
  return neo_tensor_make(in, rec, extent, rank, neo_fe_unique(in->fe, full));
}

/* Declares a table of children with `most` slots for each vertex. */
static bool declare_children(neo_inst *in, const neo_ast_name *name, neo_graph *g, int64_t most,
                             neo_scope *scope) {
  neo_fe *fe = in->fe;
  neo_module *m = fe->m;
  neo_expr extent[] = {g->vertices, neo_const_i64(m, most)};
  g->children = most;
  g->child = add_input(in, name, neo_fe_join(fe, name->text, "child"), extent, 2);
  if (!g->child.i)
    return false;
  neo_ends_set(fe, g->child,
               &(neo_ends){.least = neo_const_i64(m, -1), .below = neo_axis_ref(m, 0)});
  add_member(in, scope, name, "children", neo_val_int(most));
  add_member(in, scope, name, "child", neo_val_view(neo_view_whole(m, g->child)));
  return true;
}

/* Children in lists; `full` is the name of the graph, or G.type. */
static bool declare_list(neo_inst *in, const neo_ast_name *name, const char *full, neo_graph *g,
                         neo_edge_list *x, int64_t most) {
  neo_fe *fe = in->fe;
  neo_module *m = fe->m;
  x->edges = run_time_size(in, name, neo_fe_join(fe, full, "edges"), most);
  neo_expr extent = neo_size_add1(fe, g->vertices, 1);
  x->begin = add_input(in, name, neo_fe_join(fe, full, "begin"), &extent, 1);
  x->child = add_input(in, name, neo_fe_join(fe, full, "child"), &x->edges, 1);
  if (!x->begin.i || !x->child.i)
    return false;
  neo_ends_set(fe, x->begin, &(neo_ends){.bound = neo_size_add1(fe, x->edges, 1)});
  neo_ends_set(fe, x->child, &(neo_ends){.bound = g->vertices});
  neo_tensor_at(m, x->begin)->offsets = neo_tensor_at(m, x->child)->offsets = x->begin;
  return true;
}

static void add_list_members(const neo_inst *in, neo_scope *scope, const neo_ast_name *name,
                             const neo_edge_list *x) {
  const neo_module *m = in->fe->m;
  add_member(in, scope, name, "edges", neo_val_index(x->edges));
  add_member(in, scope, name, "begin", neo_val_view(neo_view_whole(m, x->begin)));
  add_member(in, scope, name, "child", neo_val_view(neo_view_whole(m, x->child)));
}

static bool is_declared(neo_inst *in, const neo_ast_edges *edges, uint32_t k) {
  const neo_ast_edge *e = &edges->at[k];
  for (uint32_t i = 0; i < k; i++) {
    const neo_ast_edge *before = &edges->at[i];
    bool both = !e->type.text && !before->type.text; /* children and edges share names */
    if (!both && (before->type.text != e->type.text))
      continue;
    NEO_ERR(in, e->most->span, NAME_REDEFINED, e->type.text ? e->type.text : "child");
    return true;
  }
  return false;
}

/* An edge has two vertices. */
static void assert_vertices(neo_inst *in, const neo_ast_stmt *s, neo_expr edges,
                            neo_expr vertices) {
  neo_module *m = in->fe->m;
  neo_expr none = neo_op2(m, NEO_OP_EQ, edges, neo_const_i64(m, 0));
  neo_expr two = neo_op2(m, NEO_OP_LT, neo_const_i64(m, 1), vertices);
  neo_assert_add(in, s->span, neo_op2(m, NEO_OP_OR, none, two));
}

/* Declares one kind of edges. */
static bool declare_edges(neo_inst *in, const neo_ast_stmt *s, uint32_t k, int64_t most,
                          neo_graph *g, neo_scope *members) {
  neo_fe *fe = in->fe;
  const neo_ast_name *name = &s->u.graph.name;
  const neo_ast_edge *e = &s->u.graph.edges.at[k];
  if (is_declared(in, &s->u.graph.edges, k))
    return false;
  if (!e->lists)
    return declare_children(in, name, g, most, members);
  const char *full = e->type.text ? neo_fe_join(fe, name->text, e->type.text) : name->text;
  neo_edge_list *x = &g->list[g->n_lists++];
  if (!declare_list(in, name, full, g, x, most))
    return false;
  assert_vertices(in, s, x->edges, g->vertices);
  neo_scope *scope = e->type.text ? neo_scope_new(fe, NULL) : members;
  add_list_members(in, scope, name, x);
  if (e->type.text)
    neo_scope_add(in, members,
                  (neo_sym){.kind = NEO_SYM_GRAPH,
                            .name = e->type.text,
                            .span = e->type.span,
                            .scope = scope,
                            .graph = g});
  return true;
}

bool neo_graph_declare(neo_inst *in, const neo_ast_stmt *s, const int64_t *most, int64_t vertices) {
  neo_fe *fe = in->fe;
  const neo_ast_name *name = &s->u.graph.name;
  neo_graph *g = NEO_NEW(fe->arena, neo_graph);
  neo_scope *scope = neo_scope_new(fe, NULL);
  neo_sym sym = {.kind = NEO_SYM_GRAPH, .name = name->text, .span = name->span, .scope = scope};
  bool ok = true;
  g->name = name->text;
  g->vertices = run_time_size(in, name, neo_fe_join(fe, name->text, "vertices"), vertices);
  g->list = NEO_NEW_ARRAY(fe->arena, neo_edge_list, s->u.graph.edges.n);
  add_member(in, scope, name, "vertices", neo_val_index(g->vertices));
  sym.graph = g;
  for (uint32_t k = 0; k < s->u.graph.edges.n && ok; k++)
    ok = declare_edges(in, s, k, most[k], g, scope);
  NEO_PUSH(fe->arena, &fe->graphs, g);
  if (ok)
    neo_scope_add(in, in->scope, sym);
  return ok;
}

/* ---- before the body */

/* Narrows the argument to the row of the vertex, if its first dimension is that of the vertices. */
static void take_row(const neo_inst *body, const struct neo_vertex *x, neo_val *v) {
  uint32_t d = 0;
  if (v->kind != NEO_VAL_VIEW || !v->view.rank ||
      neo_view_extent(body->fe, &v->view, 0).i != x->graph->vertices.i)
    return;
  while (v->view.index[d].i)
    d++;
  v->view.index[d] = neo_axis_ref(body->fe->m, x->axis);
  v->view.rank--;
}

bool neo_vertex_enter(neo_inst *body, struct neo_vertex *x, neo_actuals *a) {
  neo_module *m = body->fe->m;
  if (body->n_ambient == NEO_MAX_AXES) {
    NEO_ERR(body, body->call, TOO_MANY_AXES, NEO_MAX_AXES);
    return false;
  }
  x->axis = body->n_ambient;
  x->first_def = m->defs.n;
  x->first_grad = m->grads.n;
  x->first_custom = m->customs.n;
  body->vertex = x;
  body->once = "vertex function";
  body->loop_axes |= (uint64_t)1 << x->axis;
  body->ambient[body->n_ambient++] = (neo_axis_rec){
      neo_name_of(body->fe->names, "v"), neo_const_i64(m, 0), x->graph->vertices, body->call};
  for (uint32_t k = 0; k < a->n; k++)
    take_row(body, x, &a->at[k]);
  return true;
}

/* The number of child slots that a vertex uses, as the reduction of the frame. */
static neo_expr count_places(neo_frame *f, neo_span at) {
  neo_module *m = f->m;
  const struct neo_vertex *x = f->in->vertex;
  neo_expr place[] = {neo_axis_ref(m, x->axis), neo_axis_ref(m, f->n_out)};
  neo_expr child = neo_load(m, x->graph->child, place, 2, at);
  f->own.set = true;
  f->own.reducer = NEO_RED_SUM;
  f->own.body[0] =
      neo_cast(m, NEO_I32_T, neo_op2(m, NEO_OP_LE, neo_const_int(m, NEO_I32_T, 0), child));
  f->own.n_body = f->own.n_axes = 1;
  f->own.axis[0] = (neo_axis_rec){neo_name_of(f->fe->names, "k"), neo_const_i64(m, 0),
                                  neo_const_i64(m, x->graph->children), at};
  return neo_acc_ref(m, NEO_I32_T, 0);
}

/* Defines `children`: the number of children of the vertex, at most the number of slots or
 * edges. */
void neo_vertex_count(neo_inst *body) {
  neo_fe *fe = body->fe;
  neo_module *m = fe->m;
  const struct neo_vertex *x = body->vertex;
  const neo_ast_name name = {.text = neo_fe_intern(fe, "children"), .span = body->call};
  neo_frame *f = NEO_NEW(fe->arena, neo_frame);
  neo_frame_init(f, body, body->prefix);
  f->n_out = f->n_axes;
  neo_expr all = {0}, bound = neo_const_i64(m, x->graph->children + 1);
  if (x->graph->child.i)
    all = count_places(f, name.span);
  for (uint32_t k = 0; k < x->graph->n_lists; k++) {
    const neo_edge_list *list = &x->graph->list[k];
    neo_expr n = neo_cast(m, NEO_I32_T,
                          neo_op2(m, NEO_OP_SUB, neo_edges_begin(m, list, x->axis, 1),
                                  neo_edges_begin(m, list, x->axis, 0)));
    all = all.i ? neo_op2(m, NEO_OP_ADD, all, n) : n;
    bound = neo_op2(m, NEO_OP_ADD, bound, list->edges);
  }
  neo_val v =
      neo_define_element(f, all, neo_fe_join(fe, body->prefix, name.text), bound, name.span);
  neo_define_bind(body, &name, v, NULL);
}

void neo_vertex_name_results(neo_inst *body, const neo_ast_stmt *fn, uint32_t n_names,
                             const char *const *full) {
  const neo_ast_stmts *stmts = &fn->u.fn.block.stmts;
  body->result = NEO_NEW_ARRAY(body->fe->arena, const char *, n_names + 1);
  body->result_full = NEO_NEW_ARRAY(body->fe->arena, const char *, n_names + 1);
  for (uint32_t k = 0; k < stmts->n && body->n_results < n_names; k++) {
    if (stmts->at[k]->kind != NEO_AST_PUSH)
      continue;
    body->result[body->n_results] = stmts->at[k]->u.names.at[0].text;
    body->result_full[body->n_results] = full[body->n_results];
    body->n_results++;
  }
}

bool neo_vertex_here(neo_inst *in, const neo_ast_stmt *s) {
  if (in->vertex && !in->branch && !in->iterations)
    return true;
  int h = NEO_ERR(in, s->word, MISPLACED, neo_ast_stmt_word(s->kind), "in a vertex function");
  if (in->vertex)
    neo_diag_help(in->fe->diags, h, "it stands outside of the function's loops and choices");
  return false;
}

/* ---- gather */

/* The scattered element of the child whose slot is dimension k of the frame. */
static neo_expr of_child(const neo_frame *f, const neo_gathered *g, neo_expr none, neo_span at) {
  const struct neo_vertex *x = f->in->vertex;
  neo_expr index[NEO_MAX_RANK];
  uint32_t n = f->in->n_ambient, rank = neo_tensor_rank(f->m, g->stack);
  neo_expr place[] = {neo_axis_ref(f->m, x->axis), neo_axis_ref(f->m, n)};
  for (uint32_t d = 0; d < rank; d++)
    index[d] = neo_axis_ref(f->m, d < n ? d : d + 1);
  index[x->axis] = neo_cast(f->m, NEO_I64_T, neo_load(f->m, x->graph->child, place, 2, at));
  return neo_load_else(f->m, g->stack, index, rank, none, at);
}

/* ---- from parents to children: the sum of the values scattered by the vertices whose k-th child
 * this vertex is */

/* Whether the vertex at the frame's next axis is a parent of this one, in its k-th slot. */
static neo_expr is_parent(const neo_frame *f, neo_span at) {
  const struct neo_vertex *x = f->in->vertex;
  neo_expr place[] = {neo_axis_ref(f->m, f->n_out), neo_axis_ref(f->m, f->in->n_ambient)};
  neo_expr own = neo_cast(f->m, NEO_I32_T, neo_axis_ref(f->m, x->axis));
  return neo_op2(f->m, NEO_OP_EQ, neo_load(f->m, x->graph->child, place, 2, at), own);
}

static void reduce_vertices(neo_frame *f, neo_reducer reducer, neo_expr body, neo_span at) {
  f->own.set = true;
  f->own.reducer = reducer;
  f->own.body[0] = body;
  f->own.n_body = f->own.n_axes = 1;
  f->own.axis[0] = (neo_axis_rec){neo_name_of(f->fe->names, "p"), neo_const_i64(f->m, 0),
                                  f->in->vertex->graph->vertices, at};
}

static neo_val sum_of_parents(neo_frame *f, const neo_gathered *g, const char *full, neo_span at) {
  neo_expr index[NEO_MAX_RANK];
  uint32_t n = f->in->n_ambient, rank = neo_tensor_rank(f->m, g->stack);
  neo_type type = neo_tensor_type(f->m, g->stack);
  for (uint32_t d = 0; d < rank; d++)
    index[d] = neo_axis_ref(f->m, d < n ? d : d + 1);
  index[f->in->vertex->axis] = neo_axis_ref(f->m, f->n_out);
  neo_expr body = neo_expr_widen(f, neo_load(f->m, g->stack, index, rank, at));
  reduce_vertices(f, NEO_RED_SUM, body, at);
  f->own.where = is_parent(f, at);
  neo_expr sum = neo_cast(f->m, type, neo_acc_ref(f->m, neo_expr_type(f->m, body), 0));
  return neo_define_element(f, sum, full, (neo_expr){0}, at);
}

static neo_val has_parent(const neo_frame *like, const char *full, neo_span at) {
  neo_inst *in = like->in;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, full);
  if (neo_frame_push(f, NULL, like->axis[in->n_ambient]) < 0)
    return neo_val_poison();
  f->n_out = f->n_axes;
  reduce_vertices(f, NEO_RED_ANY, is_parent(f, at), at);
  return neo_define_element(f, neo_acc_ref(f->m, NEO_BOOL_T, 0), full, (neo_expr){0}, at);
}

static bool is_zero(const neo_ast_expr *e) {
  return e->kind == NEO_AST_NUMBER && e->u.number.value == 0;
}

static neo_val from_parents(neo_frame *f, const neo_gathered *g, neo_expr none, const char *full,
                            neo_span at) {
  bool zero = is_zero(g->bind->value);
  neo_val sum = sum_of_parents(f, g, zero ? full : neo_fe_join(f->fe, full, "sum"), at);
  if (zero || sum.kind != NEO_VAL_VIEW)
    return sum;
  neo_val has = has_parent(f, neo_fe_join(f->fe, full, "has"), at);
  neo_expr e;
  neo_frame *s = neo_element_frame(f->in, &sum, full, at, &e);
  neo_expr index[NEO_MAX_RANK];
  for (uint32_t d = 0; d <= f->in->n_ambient; d++)
    index[d] = neo_axis_ref(f->m, d);
  if (!e.i || has.kind != NEO_VAL_VIEW)
    return neo_val_poison();
  neo_expr c = neo_load(f->m, has.view.tensor, index, f->in->n_ambient + 1, at);
  return neo_define_element(s, neo_op3(f->m, NEO_OP_SELECT, c, e, none), full, (neo_expr){0}, at);
}

/* Always false. */
static bool shape_report(neo_inst *in, const neo_ast_bind *b) {
  const neo_graph *g = in->vertex->graph;
  neo_str of = neo_str_in(in->fe->arena);
  if (g->child.i)
    neo_str_addf(&of, "%lld", (long long)g->children);
  for (uint32_t k = 0; k < g->n_lists; k++)
    neo_str_addf(&of, "%s%s", of.n ? " or " : "", neo_size_text(in->fe, g->list[k].edges));
  NEO_ERR(in, b->var.span, GATHER_SHAPE, b->var.name.text, g->name, neo_str_text(&of));
  return false;
}

static bool has_children(neo_inst *in, const neo_ast_bind *b, const neo_val *none) {
  const neo_graph *g = in->vertex->graph;
  neo_expr want = neo_const_i64(in->fe->m, g->children);
  if (none->kind == NEO_VAL_VIEW && none->view.rank &&
      neo_size_equal(in->fe, neo_view_extent(in->fe, &none->view, 0), want))
    return true;
  return shape_report(in, b);
}

/* The element without the dimension of the children, on which it does not depend. */
static neo_expr of_any_child(const neo_inst *in, neo_expr e) {
  neo_expr by[NEO_MAX_RANK];
  for (uint32_t d = 0; d < NEO_MAX_RANK; d++)
    by[d] = neo_axis_ref(in->fe->m, d - (d > in->n_ambient));
  return neo_expr_subst_axes(in->fe->m, e, by, NEO_MAX_RANK);
}

/* Finds the bounds of the scattered values; false after a report. */
static bool find_ends(neo_inst *in, neo_gathered *g, const neo_val *none) {
  const neo_ast_var *var = &g->bind->var;
  neo_module *m = in->fe->m;
  neo_ends ends = neo_ends_written(in->fe, &var->type, none);
  uint64_t axes = (ends.least.i ? neo_expr_axes(m, ends.least) : 0) |
                  (ends.below.i ? neo_expr_axes(m, ends.below) : 0);
  bool any = ends.bound.i || ends.least.i || ends.below.i;
  if (any && (in->vertex->down || axes >> in->n_ambient & 1)) {
    NEO_ERR(in, var->type.span, GATHER_BOUNDS, var->name.text,
            in->vertex->down ? "what parents scattered is added up"
                             : "what a child scattered does not know which child it is");
    return false;
  }
  g->ends = (neo_ends){ends.bound, of_any_child(in, ends.least), of_any_child(in, ends.below)};
  return true;
}

static void gather(neo_inst *in, neo_gathered *g, const neo_val *none) {
  const neo_ast_name *name = &g->bind->var.name;
  neo_expr extent[NEO_MAX_AXES], e;
  const char *full = neo_fe_join(in->fe, in->prefix, name->text);
  neo_frame *f = neo_element_frame(in, none, full, name->span, &e);
  uint32_t n = 0;
  if (!e.i)
    return;
  if (in->vertex->down && neo_expr_type(f->m, e) == NEO_BOOL_T) {
    NEO_ERR(in, name->span, BOOL_ARITHMETIC, "sum");
    return;
  }
  if (!find_ends(in, g, none))
    return;
  for (uint32_t d = 0; d < f->n_out; d++)
    if (d != in->n_ambient)
      extent[n++] = f->axis[d].hi;
  neo_tensor_rec rec = {
      .role = NEO_ROLE_TEMP, .type = (uint8_t)neo_expr_type(f->m, e), .span = name->span};
  const char *own = neo_fe_unique(in->fe, neo_fe_join(in->fe, full, "scattered"));
  g->stack = neo_tensor_make(in, rec, extent, n, own);
  if (!g->stack.i)
    return;
  neo_ends_set(in->fe, g->stack, &g->ends);
  neo_val v = in->vertex->down ? from_parents(f, g, e, full, name->span)
                               : neo_define_element(f, of_child(f, g, e, name->span), full,
                                                    g->ends.bound, name->span);
  neo_ends ends = neo_ends_written(in->fe, &g->bind->var.type, none);
  if (v.kind == NEO_VAL_VIEW)
    neo_ends_set(in->fe, v.view.tensor, &ends);
  neo_define_bind(in, name, v, NULL);
}

void neo_vertex_gather(neo_inst *in, const neo_ast_bind *b, const neo_val *none) {
  struct neo_vertex *x = in->vertex;
  bool ok = none->kind != NEO_VAL_POISON && has_children(in, b, none);
  if (ok) {
    NEO_PUSH(in->fe->arena, &x->gathered, (neo_gathered){.bind = b});
    neo_gathered *g = &x->gathered.at[x->gathered.n - 1];
    gather(in, g, none);
    ok = g->stack.i != 0;
  }
  if (!ok) {
    x->failed = true;
    neo_scope_poison(in, &b->var.name);
  }
}

/* ---- along lists of edges */

/* A view of the vertices' tensor as a tensor of edges: element e is the element of vertex child[e],
 * or owner[e] in a function towards the children. */
static neo_view through_list(neo_inst *in, neo_tensor stack, neo_edge_list *x, uint32_t rank) {
  neo_view v = neo_view_ambient(in, stack, rank - 1);
  v.index[in->vertex->axis] = (neo_expr){0};
  v.rank = rank;
  v.through = in->vertex->down ? neo_edges_owner(in, x) : x->child;
  return v;
}

static bool gather_list(neo_inst *in, neo_gathered *g, const neo_expr *extent, uint32_t n) {
  const neo_ast_var *var = &g->bind->var;
  neo_expr all[NEO_MAX_AXES + NEO_MAX_RANK];
  uint32_t axis, rank = 0;
  neo_edge_list *x = n ? neo_edges_of(in, extent[0], &axis) : NULL;
  if (!x || axis != in->vertex->axis)
    return shape_report(in, g->bind);
  if (var->type.rel != NEO_AST_REL_NONE || var->type.lo) {
    NEO_ERR(in, var->span, GATHER_LIST, var->name.text, "it has no bounds");
    return false;
  }
  for (uint32_t k = 0; k < in->n_ambient; k++)
    all[rank++] = in->ambient[k].hi;
  for (uint32_t k = 1; k < n; k++)
    all[rank++] = extent[k];
  neo_type type = var->type.given ? neo_type_written(in, &var->type) : NEO_F32_T;
  neo_tensor_rec rec = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type, .span = var->name.span};
  const char *full = neo_fe_join(in->fe, in->prefix, var->name.text);
  const char *own = neo_fe_unique(in->fe, neo_fe_join(in->fe, full, "scattered"));
  g->stack = neo_tensor_make(in, rec, all, rank, own);
  if (g->stack.i)
    neo_define_bind(in, &var->name, neo_val_view(through_list(in, g->stack, x, n)), NULL);
  return g->stack.i != 0;
}

void neo_vertex_gather_list(neo_inst *in, const neo_ast_bind *b, const neo_expr *extent,
                            uint32_t n) {
  struct neo_vertex *x = in->vertex;
  NEO_PUSH(in->fe->arena, &x->gathered, (neo_gathered){.bind = b});
  if (!gather_list(in, &x->gathered.at[x->gathered.n - 1], extent, n)) {
    x->failed = true;
    neo_scope_poison(in, &b->var.name);
  }
}

/* ---- scatter, push */

static neo_gathered *gathered(struct neo_vertex *x, const char *name) {
  for (size_t k = 0; k < x->gathered.n; k++)
    if (x->gathered.at[k].bind->var.name.text == name)
      return &x->gathered.at[k];
  return NULL;
}

static neo_val of_vertex(const neo_inst *in, neo_tensor t) {
  return neo_val_view(neo_view_ambient(in, t, neo_tensor_rank(in->fe->m, t) - in->n_ambient));
}

static bool fits(neo_inst *in, const neo_gathered *g, const neo_ast_bind *b, neo_val *v) {
  neo_module *m = in->fe->m;
  neo_val want = of_vertex(in, g->stack);
  neo_type type = neo_tensor_type(m, g->stack);
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, in->prefix);
  if (v->kind == NEO_VAL_LIT)
    *v = neo_val_expr(neo_val_as(f, b->span, *v, type));
  if (v->kind == NEO_VAL_POISON)
    return false;
  neo_type have =
      v->kind == NEO_VAL_VIEW ? neo_tensor_type(m, v->view.tensor) : neo_expr_type(m, v->e);
  if (have == type && neo_val_same_shape(in->fe, &want, v))
    return true;
  NEO_ERR(in, b->span, SCATTER_SHAPE, b->var.name.text, neo_type_text(type),
          neo_val_shape_text(in->fe, &want), neo_type_text(have), neo_val_shape_text(in->fe, v));
  return false;
}

void neo_vertex_scatter(neo_inst *in, const neo_ast_bind *b, neo_val v) {
  struct neo_vertex *x = in->vertex;
  neo_gathered *g = gathered(x, b->var.name.text);
  if (v.kind == NEO_VAL_POISON || x->failed) {
    x->failed = true;
  } else if (!g || g->next.i) {
    const char *name = b->var.name.text;
    int h =
        NEO_ERR(in, b->var.name.span, NEXT_TARGET, name, g ? "scattered twice" : "not gathered");
    if (!g)
      neo_diag_help(in->fe->diags, h,
                    "what the parents take is declared with its shape and value without a child, "
                    "before it is scattered: gather %s[K, D] = 0",
                    name);
    x->failed = true;
  } else if (!fits(in, g, b, &v)) {
    x->failed = true;
  } else {
    const char *full =
        neo_fe_join(in->fe, neo_fe_join(in->fe, in->prefix, b->var.name.text), "next");
    if (v.kind != NEO_VAL_VIEW || !neo_view_is_own(in, &v.view))
      v = neo_define_copy(in, v, full, b->span);
    g->next = v.kind == NEO_VAL_VIEW ? v.view.tensor : g->next;
    x->failed = !g->next.i || !neo_ends_check(in, v, &g->ends, &g->bind->var, b->span);
  }
}

void neo_vertex_push(neo_inst *in, const neo_ast_name *name) {
  struct neo_vertex *x = in->vertex;
  neo_ast_path path = {(neo_ast_name *)name, 1, name->span};
  neo_sym *s = neo_path_find(in, &path, false);
  bool value = s && s->kind == NEO_SYM_VALUE && s->value.kind != NEO_VAL_POISON;
  if (!value) {
    x->failed = true;
    return;
  }
  neo_val v = s->value;
  if (v.kind != NEO_VAL_VIEW || !neo_view_is_own(in, &v.view))
    v = neo_define_copy(in, v, neo_inst_full(in, name->text), name->span);
  x->failed = x->failed || v.kind != NEO_VAL_VIEW;
  NEO_PUSH(in->fe->arena, &x->pushed, v);
}

/* ---- after the body */

static bool define_scattered(neo_inst *in, const neo_gathered *g) {
  neo_span at = g->bind->span;
  neo_expr e;
  if (!g->next.i) {
    NEO_ERR(in, g->bind->var.name.span, NEXT_TARGET, g->bind->var.name.text,
            "gathered, and never scattered");
    return false;
  }
  neo_val v = of_vertex(in, g->next);
  neo_frame *f = neo_element_frame(in, &v, in->prefix, at, &e);
  if (e.i)
    neo_define_piece(f, g->stack, e, at, true, NULL, 0);
  return e.i != 0;
}

bool neo_vertex_leave(neo_inst *body, neo_tensor *stack) {
  struct neo_vertex *x = body->vertex;
  bool ok = !x->failed;
  for (size_t k = 0; k < x->gathered.n && ok; k++) {
    ok = define_scattered(body, &x->gathered.at[k]);
    stack[k] = x->gathered.at[k].stack;
  }
  return ok && neo_edge_values_resolve(body);
}

neo_val neo_vertex_result(neo_inst *body, uint32_t k) {
  const struct neo_vertex *x = body->vertex;
  neo_view v = neo_view_whole(body->fe->m, x->pushed.at[k].view.tensor);
  for (uint32_t d = 0; d < x->axis; d++)
    v.index[d] = neo_axis_ref(body->fe->m, d);
  v.rank -= x->axis;
  return neo_val_view(v);
}
