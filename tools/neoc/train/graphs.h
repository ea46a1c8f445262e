/* Graphs as data of `neoc train`: rows with inputs of varying length, by --data V=FILE for a
 * run-time size V.
 *
 *   V=mol.npz:vertex_start    row k of the data are the elements start[k] .. start[k + 1] - 1 of
 *   M=mol.npz:edge_start      the arrays of inputs X[V, ..] and E[M, ..]
 *   from=mol.npz:from         an input `from[M] : i32 < V` counts the vertices of its graph from 0
 *   (no word for `of[V] : i32 < B`)   gets the number of its graph in the batch
 *   G.vertices=mol.npz:start,G.edges=mol.npz:indptr:csr,G.child=mol.npz:child
 *                             for `graph G(edges <= E, ..)`, whose G.begin gets the rows' offsets
 *
 * A batch is the disjoint union of its graphs: they are concatenated, and vertices are numbered
 * consecutively. */
#pragma once
#include "tools/neoc/train/data.h"

typedef struct { /* a run-time size that differs by row */
  int32_t size;
  const char *name, *path;
  int64_t *start;   /* [rows + 1] */
  int64_t *largest; /* [rows + 1]: total elements of the k largest rows; */
  int64_t *smallest;
  int64_t *vertex_start; /* for compressed rows: the first edge of each vertex; null: others */
  size_t vertices;       /* the size that counts these vertices */
  int64_t now;           /* elements of the present batch */
} neoc_ragged;

struct neoc_graphs {
  neoc_ragged *at;
  size_t n;
};

/* The number of a size in d->graphs; -1: it is not in there. */
int neoc_ragged_find(const neoc_data *d, int32_t size);
/* Reads V=FILE of --data, for all sizes of the n entries, into d->graphs and d->rows. */
neoc_exit neoc_graphs_open(neoc_data *d, const int32_t *entries, size_t n);
/* Whether --data gives the size NAME. */
bool neoc_graphs_has(const neoc_data *d, const char *name);
/* Sets the kind of data that an input gets; `text` is its text in --data, or null. False: it is an
 * ordinary input. */
bool neoc_graphs_give(const neoc_data *d, int32_t tensor, const char *text);
/* Reads and checks the values of an input. */
neoc_exit neoc_graphs_take(neoc_data *d, int32_t tensor, const char *text);
/* Checks that all batches of n rows fit (0: no check). *most is the number of rows that always
 * fit. */
neoc_exit neoc_graphs_limit(const neoc_data *d, int64_t n, int64_t *most);
/* Make a batch: the sizes of rows order[0 .. n), then the data of an input. */
void neoc_graphs_begin(const neoc_data *d, const int64_t *order, int64_t n);
void neoc_graphs_put(const neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                     void *out);
/* "element 3 of row 17 of x.npz:kind": the origin of an element of the present batch. In the arena
 * of the command line. */
const char *neoc_graphs_place(const neoc_data *d, int32_t tensor, const int64_t *order, int64_t n,
                              int64_t element);
/* The elements along the first dimension of an input in the present batch. */
int64_t neoc_graphs_count(const neoc_data *d, int32_t tensor);
