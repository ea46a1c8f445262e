/* A treebank as data of `neoc train`: --data G=trees.txt for `graph G(…)`.
 *
 * A row is a tree. Of a batch of trees, inputs of the entry get
 *
 *   G.child                   the children of each vertex, also in lists, with G.begin
 *   word[G.vertices] : i32    the id of its word; of a branch -1, or 0 where the bound has no -1
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
  int32_t begin;            /* the tensor G.begin; -1: children have places */
  int32_t vertices,
      edges; /* the run-time sizes G.vertices and G.edges; edges is -1 without lists */
  neo_rt_trees trees;
  const neo_rt_trees *words; /* the training's file, whose words have ids */
  neo_rt_vocab *vocab;       /* null: no input takes words */
  int32_t *id;               /* [words of the file] */
  int64_t *largest;          /* [trees + 1]: vertices of so many of the largest trees */
};

/* "G" of a tensor whose first dimension is G.vertices; null of others. In the arena. */
const char *neoc_graph_of(const neoc_data *d, int32_t tensor);
/* Reads the file of --data G=FILE into d->bank, if there is such a word for a graph of the n
 * entries; `before`: the training's data, whose words have the ids, or null. */
neoc_exit neoc_treebank_open(neoc_data *d, const int32_t *entries, size_t n,
                             const neoc_data *before);
void neoc_treebank_close(neoc_treebank *b);
/* Does the treebank give this input? `text` is what --data says of it, or null. */
bool neoc_treebank_gives(const neoc_data *d, int32_t tensor, const char *text);
/* Takes it for this input: its shape must fit, and the file's labels and words its bound. */
neoc_exit neoc_treebank_take(neoc_data *d, int32_t tensor, const char *text);
/* Where the graph is declared, as far as the model tells. */
const char *neoc_treebank_place(const neoc_data *d);
/* The places for children that a vertex has. */
int64_t neoc_treebank_children(const neoc_data *d);
/* The vertices that a batch of n trees may have; each comes once in as many as the file has. */
int64_t neoc_treebank_most(const neoc_data *d, int64_t n);
/* The same of their edges: a tree has one less than vertices. */
int64_t neoc_treebank_edges(const neoc_data *d, int64_t n);
/* The trees that any batch may have. */
int64_t neoc_treebank_fits(const neoc_data *d);
/* Does a batch of trees tell the run-time size? */
bool neoc_treebank_tells(const neoc_data *d, int32_t size);

/* ---- batches */

struct neoc_tree_batch {
  neo_rt_graph_batch graph;
};
/* Room for a feed's trees, as many as may be in a batch. */
neoc_tree_batch *neoc_tree_batch_new(const neoc_data *d, int64_t trees);
/* Trees order[0 .. n); errors have been excluded before. */
void neoc_tree_batch_fill(const neoc_data *d, neoc_tree_batch *b, const int64_t *order, int64_t n);
/* What an input gets of the batch. */
void neoc_tree_batch_put(const neoc_data *d, const neoc_tree_batch *b, int32_t tensor,
                         const int64_t *order, void *out);
