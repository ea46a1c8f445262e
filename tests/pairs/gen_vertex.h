/* Private to the generator: programs over graphs. gen_vertex.c draws them; gen_graph.c graphs, and
 * what belongs to their vertices; gen_static.c static definitions of it; gen_loss.c losses and
 * gradients; gen_cell.c vertex functions; gen_list.c lists of edges; gen_by_hand.c recurrences over
 * vertices that are written out.
 *
 * A tensor has rows if its first index is a vertex (or a root) and a row depends on what is linked
 * to that vertex alone, in whichever batch it is. What else depends on the batch (sums over
 * vertices, their numbers, what general forms make of rows) comes from statements in `batch`, and
 * has none. */
#ifndef NEO_TESTS_PAIRS_GEN_VERTEX_H
#define NEO_TESTS_PAIRS_GEN_VERTEX_H
#include "tests/pairs/gen_recur.h"

enum {
  MOST_GRAPHS = 2,
  MOST_TENSORS = 40, /* tensors are bits, and so are: */
  PARAMETER = 60,    /* parameters of calls */
  GATHERED = 61,     /* what is gathered, until what it is made of is known */
  MOST_GATHERS = 3,
  MOST_ROW_WORK = 150 /* elements of a vertex */
};

typedef struct {
  const char *name;                         /* null: written by hand, an input alone */
  const char *child;                        /* the input of children */
  uint32_t number, vertices, places, roots; /* extents; without roots NO_EXTENT */
  uint32_t root, line;
  /* "G3.near": a list of edges; an input with a number for each. Null: none */
  const char *edges, *feature;
  uint32_t feature_line;
} pgraph;

typedef struct {
  pgen g;
  pgraph graph[MOST_GRAPHS];
  uint32_t n_graphs;
  uint64_t batch; /* bit k: statement k depends on the batch */
} pvertices;

/* ---- gen_graph.c */
void pv_graph(pvertices *v);
pgraph *pv_some_graph(pvertices *v);
/* The tensor has rows: notes that for those who compare batches. */
void pv_has_rows(pvertices *v, ptensor *t, const pgraph *graph);
bool pv_is_shared(const pvertices *v, const ptensor *t);
uint32_t pv_row_input(pvertices *v, const pgraph *graph, neo_type type, const uint32_t *dim,
                      uint32_t rank, uint32_t bound);
/* A tensor with rows of this graph and so many further dimensions, of floats if wanted; UINT32_MAX:
 * none. */
uint32_t pv_some_rows(pvertices *v, const pgraph *graph, uint32_t least, uint32_t most,
                      bool is_float);
/* A shared tensor of this shape, one that there is or an input. */
uint32_t pv_weights(pvertices *v, neo_type type, const uint32_t *dim, uint32_t rank);
/* The definitions from tensor `first` on, made by forms that know nothing of rows. */
void pv_note_batch(pvertices *v, size_t first_line);

/* ---- gen_list.c */
/* "near.edges <= 40, ": a list of edges of a graph of so many vertices, or nothing. */
const char *pv_list(pvertices *v, pgraph *x, int64_t vertices);
/* Behind the graph: an input with a number for each edge. */
void pv_list_feature(pvertices *v, pgraph *x);

/* ---- gen_static.c, gen_loss.c */
bool pv_static(pvertices *v);
bool pv_loss(pvertices *v);

/* ---- gen_cell.c */
bool pv_cell(pvertices *v);
bool pv_function(pvertices *v); /* a function of rows that is called for each vertex */

/* ---- gen_by_hand.c */
bool pv_by_hand(pvertices *v);

#endif
