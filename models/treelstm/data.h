/* Treebanks and batches of trees, as treelstm.expr takes them. What fails ends the program with a
 * message and exit code 3.
 *
 * The caller owns what is returned, and frees it. */
#pragma once
#include "treelstm.h"
#include <neo/neo_graph.h>

typedef struct { /* a file; `id` of each of its words */
  neo_rt_trees trees;
  int32_t *id;
  int64_t n; /* trees that are used */
} treebank;

typedef struct { /* a batch, its graph and what belongs to its vertices */
  neo_rt_graph_batch graph;
  int32_t *word, *label, *root;
} batch;

/* Ends the program with the message "treelstm: WHAT: WHY". */
void die(const char *what, const char *why);
/* n + 1 elements, all 0. */
void *allocate(int64_t n, size_t bytes);

/* Reads a file, of which the first `limit` trees are used; 0: all. Words are numbered by *vocab,
 * which is made of this file if it is null. */
treebank read_trees(const char *path, int64_t limit, neo_rt_vocab **vocab);
/* How many trees a batch of evaluation may have: as many as fit whatever they are. All three files
 * are looked at for what the model does not take; `least` trees must fit. */
int64_t trees_that_fit(const treebank d[3], const char *const path[3], int64_t least);

/* Room for so many trees. */
batch make_batch(int64_t trees);
/* Frees what a batch has. */
void free_batch(batch *b);
/* Trees order[first .. first + n), or first .. first + n where order is null. */
void fill(batch *b, const treebank *d, const int64_t *order, int64_t first, int64_t n);
