/* Private to transform/levels*.c: graphs whose recurrences run level by level (levels.c).
 *
 *   levels.c           which recurrences they are, and the tensors that lie in their order
 *   levels_reads.c     what a recurrence reads of itself: a child's elements, or those of parents
 *   levels_lists.c     children in lists of any length
 *   levels_edges.c     values of edges, in the order of their owners
 *   levels_owners.c    what an edge takes of the vertex in whose list it is
 *   levels_tables.c    the levels, the order, and the lists of parents, as one definition
 *   levels_keys.c      kinds that are batches of their own, as the option asks
 *   levels_rewrite.c   definitions and reads in this order
 *   levels_leaves.c    what is there only for leaves, or only for others
 *   levels_needed.c    what is read only of leaves, or only of others
 *   levels_copies.c    reads of what is a copy there
 *   levels_gathers.c   what one value of a recurrence alone reads
 *   levels_kinds.c     what is read only of vertices of a kind, which data tell */
#pragma once
#include "ir/order.h"

enum {
  LEVELS_INDICES = 8,
  LEVELS_CONDITIONS = 2,
  LEVELS_RANK = 8,
  LEVELS_DEPTH = 4 /* definitions that are looked through for factors that are 0 */
};

/* A tensor of positions before their own: child[v, ..], or child[e] of the edges in the list of v (levels_lists.c); and
 * what the order makes of it. */
typedef struct {
  neo_tensor child;
  neo_tensor placed; /* the same in the order; of a list: the child's place, for each edge */
  bool has_parents;  /* sums over the parents of a vertex are asked for: */
  neo_tensor end;    /* those of vertex u are end[u - 1] .. end[u] - 1, from 0 on if u is 0 */
  neo_tensor
      edge; /* a parent's place times the number of its slots, plus the slot in which the child is; of lists: the
               number of the edge, */
  neo_tensor parent; /* and the place of the parent */
  neo_tensor owner;  /* of lists: the vertex in whose list an edge is; 0: nobody asks */
  /* Values of edges are in the order of levels (levels_edges.c): */
  bool has_values;
  neo_tensor given_owner; /* of an edge: a vertex */
  neo_tensor begin;       /* of a place: where its list begins */
  neo_tensor position;    /* of an edge */
  neo_tensor at;          /* the edge at a position */
  neo_tensor own, below;  /* of a position: the places of its owner and of its child */
  neo_tensor listed;      /* of edge[]: the position of that edge */
} levels_index;

typedef struct {
  neo_expr n; /* vertices */
  levels_index index[LEVELS_INDICES];
  uint32_t n_indices;
  /* Block b has the places first[b] .. first[b+1] - 1: a level, or, with kinds, those of kind b % K in level b / K. */
  neo_tensor first;
  neo_tensor place; /* of a vertex */
  neo_tensor order; /* the vertex at a place */
  neo_expr is
      [LEVELS_CONDITIONS]; /* what makes the kind of a vertex, AXIS 0; is[i] counts 2^i (levels_keys.c) */
  uint32_t n_is;
  neo_tensor kind;  /* of the vertex at a place; 0: all are of one kind */
  neo_tensor count; /* how many children the vertex at a place has; 0: nobody asks */
} levels_graph;

typedef struct {       /* of a tensor with an element for each vertex */
  levels_graph *graph; /* null: it stays as it is */
  uint32_t dim;        /* the vertex */
  neo_tensor to;       /* the tensor in the order */
  const levels_index *
      edges; /* of a tensor with an element for each edge, of which dim is the dimension; null: of none */
} levels_tensor;

typedef struct {
  neo_module *m;
  neo_arena *a;
  neo_prover *p;
  const uint32_t *number; /* of recurrences, by definition */
  uint32_t n_defs, n_tensors;
  double least_work; /* values of a vertex that one definition of a recurrence computes */
  levels_tensor *of; /* by tensor */
  levels_graph ***
      vertex; /* by definition, by axis: the graph whose vertices it runs over in their order; null: of
                             none. A definition without any has no list */
  const levels_index **edges; /* by definition that runs by owner: its list, along axis of_edge[] */
  uint32_t *of_edge;
  bool *leveled; /* by recurrence */
  bool unlisted; /* a recurrence with values of edges has no levels */
  NEO_VEC(levels_graph *) graphs;
} levels;

static inline neo_expr levels_int(const levels *s, int64_t x) {
  return neo_const_i64(s->m, x);
}
/* Is the axis one of all vertices? */
static inline bool levels_is_vertex(const levels *s, const neo_def_rec *d, uint32_t axis,
                                    neo_expr n) {
  const neo_axis_rec *x = neo_def_axis(s->m, d, axis);
  int64_t lo;
  return x->hi.i == n.i && neo_expr_is_int(s->m, x->lo, &lo) && lo == 0;
}

/* levels_reads.c */
/* The graph's index of that tensor, which is added if it has none; null: there are too many. */
levels_index *levels_index_of(levels_graph *g, neo_tensor child);
/* The tensor of positions whose element e is, converted to i64, and its first index; 0: it is none. */
neo_tensor levels_child_of(const levels *s, neo_expr e, neo_expr *vertex);
/* The tensor of an equation child[parent, ..] == vertex, of which the right side is given, among the conditions of a
 * definition; 0: it is none. */
neo_tensor levels_parents_of(const levels *s, const neo_def_rec *d, neo_expr e, neo_expr vertex,
                             neo_expr *parent, neo_expr *child);
/* Is the axis the only one of the reduction that runs over the graph's vertices, and over those that are parents of the
 * vertex, which the graph lists? */
bool levels_runs_parents(const levels *s, const neo_def_rec *d, uint32_t axis,
                         const levels_graph *g);
/* Does every read that the recurrence makes of itself come from the same vertex, a child or a parent? Then the
 * tensors of positions are added to the graph. `loop`: the outermost of its order. */
bool levels_reads_fit(levels *s, const neo_order_step *loop, levels_graph *g);

/* levels_lists.c */
/* The offsets, if the axis runs through a list that they cut out; *row is the number of the list. */
neo_tensor levels_offsets_of(const levels *s, const neo_axis_rec *x, neo_expr *row);
/* The tensor of edges of which e is an element, converted to i64, at an axis of the definition that runs through the
 * list of *vertex, which the child comes before by a condition; 0: it is none. */
neo_tensor levels_listed_child_of(const levels *s, const neo_def_rec *d, neo_expr e,
                                  neo_expr *vertex);
/* Does the definition, in the order, reduce along a list of the vertex at this place? Leaves have no edges. */
bool levels_runs_list_of(const levels *s, const levels_graph *g, const neo_def_rec *d, neo_expr at);
/* Has the tensor an element for each edge, and not for each vertex and slot? */
bool levels_is_list(const levels *s, neo_tensor child);

/* levels_edges.c */
/* Does the read, at `index` of the producer's own axis, keep to edges of the vertex, to their ends, or to the edge itself?
 * The reader, the producer or both run by owner. *child: the list that is asked for. */
bool levels_edge_fits(levels *s, const neo_order_step *loop, neo_def reader,
                      const neo_order_member *made, neo_expr index, neo_tensor *child);
/* Defines the tables of an index with values. */
void levels_define_edges(const levels *s, const levels_graph *g, levels_index *x);
/* The position of an edge. */
neo_expr levels_position_of(const levels *s, const levels_index *x, neo_expr edge);
/* The place of the vertex, if e is child[edge[q]] or owner[edge[q]]; 0: it is another expression. */
neo_expr levels_row_of_edge(const levels *s, const levels_graph *g, neo_expr e);

/* levels_owners.c: outside of recurrences sums over the vertex in whose list an edge is become reads of it, which asks for the
 * index's owner and parents. */
void levels_name_owners(levels *s, const bool *is_init);
/* Defines the owners, after the graph's tables. */
void levels_define_owner(levels *s, const levels_graph *g, const levels_index *index);

/* levels_tables.c: defines what the graph and its indices have. */
void levels_define(levels *s, levels_graph *g);
/* How many children a vertex has at most. */
int64_t levels_slots_of(const levels *s, neo_tensor child);

/* levels_keys.c */
/* How many kinds of vertices have blocks of their own; 1: all are in one. */
static inline int64_t levels_kinds_of(const levels_graph *g) {
  return (int64_t)1 << g->n_is;
}
/* Finds the conditions that make a kind. */
void levels_find_keys(levels *s);
/* The kind of each vertex, which orders those of a level; 0: all are of one. */
neo_tensor levels_define_kinds(levels *s, levels_graph *g);
/* After definitions are written in the order: they ask for kinds, and what is read of one kind alone is there for it. */
void levels_write_kinds(levels *s);

/* levels_leaves.c */
/* How many leaves there are: as the expression that all conditions have. */
neo_expr levels_leaves_of(const levels *s, const levels_graph *g, neo_span span);
/* How many vertices have levels 0 and 1: parents of others than leaves come after them. */
neo_expr levels_second_of(const levels *s, const levels_graph *g, neo_span span);
/* The element of a list of parents of which x is the parent's place, which has children; null: it is another place. */
const neo_node *levels_parent(const levels *s, const levels_graph *g, neo_expr x);
/* Does the definition count the children of a vertex, in the one graph that has them? Null: it does not. */
levels_graph *levels_counts_children(const levels *s, neo_def d);
/* A comparison that asks if there are children, of the vertex at place x: leaves are at the first places. 0: it
 * asks something else. */
neo_expr levels_compare_count(const levels *s, const levels_graph *g, neo_expr e);
typedef struct {
  const levels *s;
  void *ctx;
  void (*condition)(void *ctx, neo_expr c, bool holds);
  void (*load)(void *ctx, const neo_node *n); /* null: not asked */
} levels_zero;

/* Finds conditions under which alone the term is not 0, and loads that are 0 where they are out of range: those of its
 * factors, and of what these are through so many definitions. */
void levels_where_not_zero(const levels_zero *x, neo_expr term, int depth);
typedef enum { LEVELS_ALL_TERMS, LEVELS_OF_LEAVES, LEVELS_OF_OTHERS } levels_terms;
/* Which terms of a sum are not 0, by the place on this axis. */
levels_terms levels_terms_of(const levels *s, const levels_graph *g, const neo_def_rec *d,
                             uint32_t axis);
/* The range of an axis of a sum over the graph's places, `axis`, without terms that are 0; false: it stays. The range is that
 * of all places, or of leaves, or of others. */
typedef bool levels_narrower(void *ctx, const neo_def_rec *d, levels_graph *g, uint32_t k,
                             neo_axis_rec *axis);
void levels_narrow_axes(levels *s, neo_def id, levels_narrower *narrow, void *ctx);
/* Sums over places whose terms are 0 for leaves, or for others, are over the rest. */
void levels_narrow_sums(levels *s, neo_def d);

typedef struct { /* by tensor */
  bool *wanted;  /* it lies in an order: */
  levels_graph **graph;
  uint32_t *dim; /* of the vertices */
} levels_ordered;

/* levels_needed.c: leaves out what nobody reads. */
void levels_leave_out(levels *s);
/* The tensors that lie in an order. */
levels_ordered levels_tensors_in_order(levels *s);

/* levels_gathers.c: what one value of a recurrence alone reads of elsewhere is read there. */
void levels_read_there(levels *s);

/* levels_kinds.c: leaves out what nobody reads of other kinds. */
void levels_leave_out_kinds(levels *s);

/* levels_rewrite.c: writes all definitions in the graphs' orders. */
void levels_rewrite(levels *s, const bool *is_init);
