/* For frontend/check: a vertex function during the checking of a call. */
#pragma once
#include "frontend/sema/parts.h"

typedef struct {  /* edges <= 4096: children in lists of any length */
  neo_expr edges; /* G.edges, a run-time size */
  neo_tensor
      begin; /* G.begin[G.vertices + 1]: vertex v has the edges begin[v] .. begin[v + 1] - 1 */
  neo_tensor child; /* G.child[e], before the vertex in whose list e is */
  neo_tensor owner; /* G.owner[e]: the vertex in whose list e is; 0: not made yet */
} neo_edge_list;

struct neo_graph { /* graph G(children <= 2, vertices <= 4096) */
  const char *name;
  neo_tensor child;  /* G.child[v, k] : -1 <= i32 < v; 0: the graph has lists alone */
  neo_expr vertices; /* G.vertices, a run-time size */
  int64_t children;
  neo_edge_list *list;
  uint32_t n_lists;
};

typedef struct {
  const neo_ast_bind *bind; /* the gather statement */
  neo_ends ends;            /* the ends declared there for an element */
  neo_tensor stack;         /* the values that the vertices scatter */
  neo_tensor next;          /* the tensor of the body that is scattered; 0: none yet */
} neo_gathered;

struct neo_vertex {
  const neo_graph *graph;
  uint32_t axis; /* the ambient axis of the vertex */
  bool down;     /* gathers from parents */
  bool failed;
  size_t first_def, first_grad, first_custom; /* in the module, of the body */
  NEO_VEC(neo_gathered) gathered;
  NEO_VEC(neo_val) pushed;
};

/* Declares the graph's sizes, inputs and names; false after a report. most[k] is the bound of its
 * k-th kind of edges. */
bool neo_graph_declare(neo_inst *in, const neo_ast_stmt *s, const int64_t *most,
                       int64_t vertices) NEO_MUST_CHECK;
/* Makes the body's instance that of one vertex: an argument with a value per vertex becomes the
 * value of this vertex. False after a report. */
bool neo_vertex_enter(neo_inst *body, struct neo_vertex *x, neo_actuals *a) NEO_MUST_CHECK;
/* Defines `children` in the body's scope. */
void neo_vertex_count(neo_inst *body);
/* Gives the pushed values the names of the call's results. */
void neo_vertex_name_results(neo_inst *body, const neo_ast_stmt *fn, uint32_t n_names,
                             const char *const *full);
/* Whether a statement of vertex functions is allowed here; false after a report. */
bool neo_vertex_here(neo_inst *in, const neo_ast_stmt *s) NEO_MUST_CHECK;
/* Reads the values that the children scattered, `none` for a child that does not exist. */
void neo_vertex_gather(neo_inst *in, const neo_ast_bind *b, const neo_val *none);
/* The same along a list of edges, each of which has a child; `extent` (n dimensions) is the shape
 * of a value. */
void neo_vertex_gather_list(neo_inst *in, const neo_ast_bind *b, const neo_expr *extent,
                            uint32_t n);
/* Gives a gathered name the value that the parents of a vertex take. After a report the vertex
 * function fails. */
void neo_vertex_scatter(neo_inst *in, const neo_ast_bind *b, neo_val v);
/* Makes the value of a name a result of the vertex function. */
void neo_vertex_push(neo_inst *in, const neo_ast_name *name);
/* Defines the scattered values; the tensors go to stack[], one per gather. False after a report. */
bool neo_vertex_leave(neo_inst *body, neo_tensor *stack) NEO_MUST_CHECK;
/* A pushed value as a tensor of all vertices, for use outside of the function. */
neo_val neo_vertex_result(neo_inst *body, uint32_t k);

/* ---- graphs.c */
/* The list whose number of edges the extent is, and the ambient axis of its vertices; null: the
 * extent is another one. */
neo_edge_list *neo_edges_of(const neo_inst *in, neo_expr extent, uint32_t *axis);
/* begin[v + more] as an index, with v the vertex of the ambient axis. */
neo_expr neo_edges_begin(neo_module *m, const neo_edge_list *x, uint32_t axis, int64_t more);
/* The facts about an edge in the list of `owner`: its child comes before `owner`, and, if `vertex`
 * is another axis, is `vertex`. */
neo_expr neo_edges_hold(neo_module *m, const neo_edge_list *x, neo_expr edge, uint32_t owner,
                        uint32_t vertex);
/* The vertex function being checked, perhaps in a caller; null: none. */
const struct neo_vertex *neo_vertex_around(const neo_inst *in);
/* Whether the extents would be those of values of each vertex and edge of a list, which a vertex
 * function cannot have. */
bool neo_vertex_has_pairs(const neo_inst *in, const neo_expr *extent, uint32_t n);
bool neo_vertex_is_list(const neo_inst *in, neo_expr extent);

/* ---- edge_values.c, for vertices.c */
/* The tensor that holds, for each edge, the vertex in whose list the edge is; 0 after a report. */
neo_tensor neo_edges_owner(neo_inst *in, neo_edge_list *x);
/* After the body of a vertex function: turns values of edges into values of vertices, or
 * substitutes them where they are read. False after a report. */
bool neo_edge_values_resolve(neo_inst *body) NEO_MUST_CHECK;
