/* A treebank as data of `neoc train`: --data G=trees.txt for `graph G(…)`.
 *
 * A row is a tree. From a batch of trees, inputs of the entry get
 *
 *   G.child                   the children of each vertex, also in lists, with G.begin
 *   word[G.vertices] : i32    the id of its word; of an inner vertex -1, or 0 without -1
 *   label[G.vertices] : i32   its label
 *   root[B] : i32             the vertex that is the root of each tree
 *
 * by these names, or by others: y=G:label. */
#pragma once
#include "include/neo/neo_graph.h"
#include "tools/neoc/train/data.h"

struct neoc_treebank {
  const char *graph, *path; /* "G", "trees.txt" */
  int32_t child;            /* the tensor G.child; -1: the model does not read it */
  int32_t begin;            /* the tensor G.begin; -1: children are in slots */
  int32_t vertices,
      edges; /* the run-time sizes G.vertices and G.edges; edges is -1 without lists */
  neo_rt_trees trees;
  const neo_rt_trees *words; /* the training's file, which determines the ids of words */
  neo_rt_vocab *vocab;       /* null: no input takes words */
  int32_t *id;               /* [words of the file] */
  int64_t *largest;          /* [trees + 1]: total vertices of the k largest trees */
};

/* "G" for a tensor whose first dimension is G.vertices; null for others. In the arena. */
const char *neoc_graph_of(const neoc_data *d, int32_t tensor);
/* Reads the file of --data G=FILE into d->bank, if a graph of the n entries has such a word.
 * `before` is the training's data, whose words have the ids, or null. */
neoc_exit neoc_treebank_open(neoc_data *d, const int32_t *entries, size_t n,
                             const neoc_data *before);
/* Frees a treebank; null is allowed. */
void neoc_treebank_close(neoc_treebank *b);
/* Whether the treebank gives this input; `text` is its text in --data, or null. */
bool neoc_treebank_gives(const neoc_data *d, int32_t tensor, const char *text);
/* Gives the input its data: its shape must fit, and the file's labels and words must be within its
 * bound. */
neoc_exit neoc_treebank_take(neoc_data *d, int32_t tensor, const char *text);
/* The source position of the graph's declaration, as far as the model tells. Owned by the model. */
const char *neoc_treebank_place(const neoc_data *d);
/* The number of slots for children of a vertex. */
int64_t neoc_treebank_children(const neoc_data *d);
/* The largest number of vertices of a batch of n trees, in which each tree occurs once per pass
 * over the file. */
int64_t neoc_treebank_most(const neoc_data *d, int64_t n);
/* The same for edges: a tree has one edge less than vertices. */
int64_t neoc_treebank_edges(const neoc_data *d, int64_t n);
/* The number of trees that fit any batch. */
int64_t neoc_treebank_fits(const neoc_data *d);
/* Whether a batch of trees determines the run-time size. */
bool neoc_treebank_tells(const neoc_data *d, int32_t size);

/* ---- batches */

struct neoc_tree_batch {
  neo_rt_graph_batch graph;
};
/* Makes room for a feed's trees, as many as a batch can have. In the arena of the command line. */
neoc_tree_batch *neoc_tree_batch_new(const neoc_data *d, int64_t trees);
/* Fills a batch with trees order[0 .. n); their errors were excluded before. */
void neoc_tree_batch_fill(const neoc_data *d, neoc_tree_batch *b, const int64_t *order, int64_t n);
/* Writes an input's data for the batch. */
void neoc_tree_batch_put(const neoc_data *d, const neoc_tree_batch *b, int32_t tensor,
                         const int64_t *order, void *out);
