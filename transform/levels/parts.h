/* Private to transform/levels*.c: graphs whose recurrences run level by level (levels.c).
 *
 *   levels.c           matching recurrences, and tensors in their order
 *   reads.c     reads of a recurrence of itself: a child's elements, or those of parents
 *   lists.c     children in lists of any length
 *   edges.c     values of edges, in the order of their owners
 *   owners.c    reads of an edge's owner
 *   tables.c    the levels, the order, and the lists of parents, as one definition
 *   keys.c      kinds with their own batches, by option
 *   rewrite.c   definitions and reads in this order
 *   leaves.c    conditions and sums for leaves alone, or for others
 *   needed.c    dead elements for leaves, or for others
 *   copies.c    copy propagation
 *   gathers.c   inlining of gathers into recurrences
 *   kinds.c     dead elements for kinds of vertices, which data determine */
#pragma once
#include "ir/order.h"

enum {
  LEVELS_INDICES = 8,
  LEVELS_CONDITIONS = 2,
  LEVELS_RANK = 8,
  LEVELS_DEPTH = 4 /* definitions that are searched for zero factors */
};

/* A tensor of positions before their own: child[v, ..], or child[e] of the edges in the list of v
 * (lists.c); with its tables in the order. */
typedef struct {
  neo_tensor child;
  neo_tensor placed; /* in the order: the child's position; for lists, by edge */
  bool has_parents;  /* sums over the parents of a vertex need these tables: */
  neo_tensor end;    /* parents of vertex u are end[u - 1] .. end[u] - 1, from 0 on if u is 0 */
  /* a parent's position times the number of its slots, plus the child's slot; for lists: the
   * number of the edge, */
  neo_tensor edge;
  neo_tensor parent; /* and the position of the parent */
  neo_tensor owner;  /* by edge of a list: its owner; 0: not needed */
  /* Values of edges, in the order of levels (edges.c), need these tables: */
  bool has_values;
  neo_tensor given_owner; /* by edge: its owner, a vertex */
  neo_tensor begin;       /* by position of a vertex: begin of its list */
  neo_tensor position;    /* by edge */
  neo_tensor at;          /* by position: the edge */
  neo_tensor own, below;  /* by position: positions of its owner and of its child */
  neo_tensor listed;      /* by element of `edge`: the position of that edge */
} levels_index;

typedef struct {
  neo_expr n; /* number of vertices */
  levels_index index[LEVELS_INDICES];
  uint32_t n_indices;
  /* Block b has the positions first[b] .. first[b+1] - 1: a level, or, with kinds, those of kind b
   * % K in level b / K. */
  neo_tensor first;
  neo_tensor place; /* position of a vertex */
  neo_tensor order; /* vertex at a position */
  /* conditions on the vertex, AXIS 0, that make its kind; is[i] counts 2^i (keys.c) */
  neo_expr is[LEVELS_CONDITIONS];
  uint32_t n_is;
  neo_tensor kind;  /* kind of the vertex at a position; 0: one kind */
  neo_tensor count; /* number of children of the vertex at a position; 0: not needed */
} levels_graph;

typedef struct {             /* a tensor with an element for each vertex */
  levels_graph *graph;       /* null: not in an order */
  uint32_t dim;              /* dimension of the vertices */
  neo_tensor to;             /* the tensor in the order */
  const levels_index *edges; /* list whose edges dimension dim is; null: it is of vertices */
} levels_tensor;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const uint32_t *number; /* recurrences, by definition */
  uint32_t n_defs, n_tensors;
  double least_work; /* values of a vertex that one definition of a recurrence computes */
  levels_tensor *of; /* by tensor */
  /* by definition, by axis: the graph whose order it follows; null: none. A definition without
   * any has no list */
  levels_graph ***vertex;
  const levels_index **edges; /* by definition that runs by owner: its list, along axis of_edge[] */
  uint32_t *of_edge;
  bool *leveled; /* by recurrence */
  bool unlisted; /* a recurrence with values of edges has no levels */
  NEO_VEC(levels_graph *) graphs;
} levels;

static inline neo_expr levels_int(const levels *s, int64_t x) {
  return neo_const_i64(s->m, x);
}
/* Does the axis run over all vertices? */
static inline bool levels_is_vertex(const levels *s, const neo_def_rec *d, uint32_t axis,
                                    neo_expr n) {
  const neo_axis_rec *x = neo_def_axis(s->m, d, axis);
  int64_t lo;
  return x->hi.i == n.i && neo_expr_is_int(s->m, x->lo, &lo) && lo == 0;
}

/* reads.c */
/* The graph's index of that tensor, which is added if it has none; null: there are too many. */
levels_index *levels_index_of(levels_graph *g, neo_tensor child);
/* The tensor of positions whose element e is, converted to i64, and its first index; 0: another
 * expression. */
neo_tensor levels_child_of(const levels *s, neo_expr e, neo_expr *vertex);
/* The tensor in an equation child[parent, ..] == vertex of the definition's conditions, whose right
 * side is given; 0: none. */
neo_tensor levels_parents_of(const levels *s, const neo_def_rec *d, neo_expr e, neo_expr vertex,
                             neo_expr *parent, neo_expr *child);
/* Is the axis the only reduction axis over the graph's vertices, over parents of the vertex that
 * the graph lists? */
bool levels_runs_parents(const levels *s, const neo_def_rec *d, uint32_t axis,
                         const levels_graph *g);
/* Does every read of the recurrence of itself come from the same vertex, a child or a parent? The
 * tensors of positions are then added to the graph. `loop`: the outermost of its order. */
bool levels_reads_fit(levels *s, const neo_order_step *loop, levels_graph *g);

/* lists.c */
/* The offsets, if the axis runs over a list that they cut; *row is the number of the list. */
neo_tensor levels_offsets_of(const levels *s, const neo_axis_rec *x, neo_expr *row);
/* The tensor of edges whose element e is, converted to i64, at an axis of the definition over the
 * list of *vertex, which the child precedes by a condition; 0: none. */
neo_tensor levels_listed_child_of(const levels *s, const neo_def_rec *d, neo_expr e,
                                  neo_expr *vertex);
/* Does the definition, in the order, reduce along a list of the vertex at this position? Leaves
 * have no edges. */
bool levels_runs_list_of(const levels *s, const levels_graph *g, const neo_def_rec *d, neo_expr at);
/* Has the tensor an element for each edge, instead of each vertex and slot? */
bool levels_is_list(const levels *s, neo_tensor child);

/* edges.c */
/* Does the read, at `index` of the producer's own axis, keep to edges of the vertex, to their ends,
 * or to the edge itself? The reader, the producer or both run by owner. *child: the list. */
bool levels_edge_fits(levels *s, const neo_order_step *loop, neo_def reader,
                      const neo_order_member *made, neo_expr index, neo_tensor *child);
/* Defines the tables of an index with values. */
void levels_define_edges(const levels *s, const levels_graph *g, levels_index *x);
/* The position of an edge. */
neo_expr levels_position_of(const levels *s, const levels_index *x, neo_expr edge);
/* The position of the vertex, if e is child[edge[q]] or owner[edge[q]]; 0: another expression. */
neo_expr levels_row_of_edge(const levels *s, const levels_graph *g, neo_expr e);

/* owners.c: makes sums over the owner of an edge, outside of recurrences, reads of it; marks
 * the index's owner and parents as needed. */
void levels_name_owners(levels *s, const bool *is_init);
/* Defines the owners, after the graph's tables. */
void levels_define_owner(levels *s, const levels_graph *g, const levels_index *index);

/* tables.c: defines the tables of the graph and its indices. */
void levels_define(levels *s, levels_graph *g);
/* The most children of a vertex. */
int64_t levels_slots_of(const levels *s, neo_tensor child);

/* keys.c */
/* The number of kinds with their own blocks; 1: no kinds. */
static inline int64_t levels_kinds_of(const levels_graph *g) {
  return (int64_t)1 << g->n_is;
}
/* Finds the conditions that make a kind. */
void levels_find_keys(levels *s);
/* After definitions are in the order: makes conditions tests of kinds, and tensors of one kind
 * partial. */
void levels_write_kinds(levels *s);

/* leaves.c */
/* The number of leaves, in the form that all conditions use. */
neo_expr levels_leaves_of(const levels *s, const levels_graph *g, neo_span span);
/* The number of vertices of levels 0 and 1: parents of vertices with children come after them. */
neo_expr levels_second_of(const levels *s, const levels_graph *g, neo_span span);
/* The element of a list of parents whose parent's position x is, and which has children; null:
 * another one. */
const neo_node *levels_parent(const levels *s, const levels_graph *g, neo_expr x);
/* The graph whose children the definition counts; null: none. */
levels_graph *levels_counts_children(const levels *s, neo_def d);
/* The comparison of position x with `leaves` for a comparison that tests whether the vertex has
 * children; 0: another one. */
neo_expr levels_compare_count(const levels *s, const levels_graph *g, neo_expr e);
typedef struct {
  const levels *s;
  void *ctx;
  void (*condition)(void *ctx, neo_expr c, bool holds);
  void (*load)(void *ctx, const neo_node *n); /* null: not needed */
} levels_zero;

/* Finds conditions that hold wherever the term is not 0, and loads that are 0 out of range, among
 * its factors and, down to this depth, their definitions. */
void levels_where_not_zero(const levels_zero *x, neo_expr term, int depth);
typedef enum { LEVELS_ALL_TERMS, LEVELS_OF_LEAVES, LEVELS_OF_OTHERS } levels_terms;
/* The nonzero terms of a sum, by position on this axis. */
levels_terms levels_terms_of(const levels *s, const levels_graph *g, const neo_def_rec *d,
                             uint32_t axis);
/* Narrows an axis of a sum over the graph's positions, `axis`, to nonzero terms; false: it stays.
 * The range is that of all positions, of leaves, or of others. */
typedef bool levels_narrower(void *ctx, const neo_def_rec *d, levels_graph *g, uint32_t k,
                             neo_axis_rec *axis);
void levels_narrow_axes(levels *s, neo_def id, levels_narrower *narrow, void *ctx);
/* Narrows sums over positions whose terms are 0 for leaves, or for others, to the rest. */
void levels_narrow_sums(levels *s, neo_def d);

typedef struct { /* by tensor */
  bool *wanted;  /* is the tensor to be stored in an order of vertices? */
  levels_graph **graph;
  uint32_t *dim; /* dimension of the vertices */
} levels_ordered;

/* needed.c: removes dead elements. */
void levels_leave_out(levels *s);
/* Finds the tensors that are stored in an order of the vertices, with the dimension of these. */
levels_ordered levels_tensors_in_order(levels *s);

/* gathers.c: inlines what one value of a recurrence alone reads. */
void levels_read_there(levels *s);

/* kinds.c: removes elements that other kinds do not read. */
void levels_leave_out_kinds(levels *s);

/* rewrite.c: writes all definitions in the graphs' orders. */
void levels_rewrite(levels *s, const bool *is_init);
