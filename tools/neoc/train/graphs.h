/* Graphs as data of `neoc train`: rows whose inputs have another length in each, --data V=FILE for a
 * run-time size V.
 *
 *   V=mol.npz:vertex_start        row k of the data is what lies from start[k] to start[k + 1] - 1 in the
 *   M=mol.npz:edge_start          arrays of inputs X[V, ..] and E[M, ..]
 *   from=mol.npz:from             an input `from[M] : i32 < V` counts the vertices of its graph from 0
 *   (no word for `of[V] : i32 < B`)   gets the number of its graph in the batch
 *   G.vertices=mol.npz:start,G.edges=mol.npz:indptr:csr,G.child=mol.npz:child
 *                                 of `graph G(edges <= E, ..)`, whose G.begin gets the rows' offsets
 *
 * A batch is the disjoint union of its graphs: they lie behind each other, and numbers of vertices
 * count on. */
#pragma once
#include "tools/neoc/train/data.h"

typedef struct { /* a run-time size that is another one in each row */
  int32_t size;
  const char *name, *path;
  int64_t *start;   /* [rows + 1] */
  int64_t *largest; /* [rows + 1]: elements of so many of the largest rows; */
  int64_t *smallest;
  int64_t *vertex_start; /* of compressed rows: edges of each vertex begin here; null: others */
  size_t vertices;       /* the size whose elements have these edges */
  int64_t now;           /* elements of the batch */
} neoc_ragged;

struct neoc_graphs {
  neoc_ragged *at;
  size_t n;
};

/* The number of a size in d->graphs; -1. */
int neoc_ragged_find(const neoc_data *d, int32_t size);
/* Reads V=FILE of --data for all sizes of the n entries, into d->graphs and d->rows. */
neoc_exit neoc_graphs_open(neoc_data *d, const int32_t *entries, size_t n);
/* Is NAME a size that --data tells? */
bool neoc_graphs_has(const neoc_data *d, const char *name);
/* Sets what an input gets; `text` is what --data says of it, or null. False: it is an input as others. */
bool neoc_graphs_give(const neoc_data *d, int32_t tensor, const char *text);
/* Reads and checks its values. */
neoc_exit neoc_graphs_take(neoc_data *d, int32_t tensor, const char *text);
/* Do all batches of n rows fit (0: nobody asks)? *most is how many rows always do. */
neoc_exit neoc_graphs_limit(const neoc_data *d, int64_t n, int64_t *most);
/* Batches: the sizes of rows order[0 .. n), then what an input gets. */
void neoc_graphs_begin(const neoc_data *d, const int64_t *order, int64_t n);
void neoc_graphs_put(const neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                     void *out);
/* "element 3 of row 17 of x.npz:kind": of an element of the present batch. */
const char *neoc_graphs_place(const neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                              int64_t element);
/* Elements along the first dimension of an input in the present batch. */
int64_t neoc_graphs_count(const neoc_data *d, int32_t tensor);
