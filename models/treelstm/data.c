/* See data.h. */
#include "data.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void die(const char *what, const char *why) {
  fprintf(stderr, "treelstm: %s: %s\n", what, why);
  exit(3);
}

void *allocate(int64_t n, size_t bytes) {
  void *p = calloc((size_t)n + 1, bytes);
  if (!p)
    die("memory", "there is too little");
  return p;
}

/* ---- what the model says of itself */

static int64_t extent(int tensor, int dimension) {
  const neo_rt_model *m = &treelstm_model;
  return neo_rt_eval(m, m->extents[m->tensors[tensor].extent + dimension], NULL);
}

static int64_t most(const char *size) {
  for (int k = 0; k < treelstm_model.n_sizes; k++)
    if (!strcmp(treelstm_model.sizes[k].name, size))
      return treelstm_model.sizes[k].hi;
  die(size, "the model has no such size");
  return 0;
}

/* ---- data */

treebank read_trees(const char *path, int64_t limit, neo_rt_vocab **vocab) {
  treebank d;
  char error[512];
  if (neo_rt_trees_load(path, &d.trees, error, sizeof error))
    die("data", error);
  if (!*vocab && neo_rt_vocab_create(&d.trees, extent(TREELSTM_T_table, 0), vocab))
    die(path, "no memory for its vocabulary");
  d.id = allocate(d.trees.words, sizeof *d.id);
  for (int64_t k = 0; k < d.trees.words; k++)
    d.id[k] = neo_rt_vocab_find(*vocab, d.trees.text[k]);
  d.n = limit && limit < d.trees.trees ? limit : d.trees.trees;
  return d;
}

/* A label that the model does not have, or a vertex with more children, is told with its place. */
static void check_trees(const treebank *d, const char *path) {
  char what[512];
  for (int64_t v = 0; v < d->trees.vertices; v++) {
    int64_t children = d->trees.first[v + 1] - d->trees.first[v];
    snprintf(what, sizeof what, "%s:%d:%d", path, d->trees.line[v], d->trees.column[v]);
    if (d->trees.label[v] >= extent(TREELSTM_T_L_b, 0))
      die(what, "the model has no class for this label");
    if (children > extent(TREELSTM_T_G_child, 1))
      die(what, "more children than a vertex of the model has");
  }
}

batch make_batch(int64_t trees) {
  int64_t n = most("G.vertices"), k = extent(TREELSTM_T_G_child, 1);
  batch b = {.graph = {.children = (int32_t)k, .most_vertices = n, .most_graphs = trees}};
  b.graph.child = allocate(n * k, sizeof *b.graph.child);
  b.graph.from = allocate(n, sizeof *b.graph.from);
  b.graph.work = allocate(n, sizeof *b.graph.work);
  b.graph.start = allocate(trees + 1, sizeof *b.graph.start);
  b.word = allocate(n, sizeof *b.word);
  b.label = allocate(n, sizeof *b.label);
  b.root = allocate(trees, sizeof *b.root);
  return b;
}

void free_batch(batch *b) {
  void *all[] = {b->graph.child, b->graph.from, b->graph.work, b->graph.start,
                 b->word,        b->label,      b->root};
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    free(all[k]);
}

static void add_tree(batch *b, const treebank *d, int64_t t) {
  char error[256];
  int64_t at = b->graph.vertices, v0 = d->trees.start[t];
  neo_rt_graph g = neo_rt_trees_graph(&d->trees, t);
  if (neo_rt_graph_batch_add(&b->graph, &g, error, sizeof error))
    die("batch", error);
  for (; at < b->graph.vertices; at++) {
    int64_t v = v0 + b->graph.from[at];
    b->word[at] = d->trees.word[v] < 0 ? -1 : d->id[d->trees.word[v]];
    b->label[at] = d->trees.label[v];
  }
  b->root[b->graph.graphs - 1] = (int32_t)at - 1;
}

void fill(batch *b, const treebank *d, const int64_t *order, int64_t first, int64_t n) {
  b->graph.vertices = b->graph.graphs = 0;
  for (int64_t k = first; k < first + n; k++)
    add_tree(b, d, order ? order[k] : k);
}

int64_t trees_that_fit(const treebank d[3], const char *const path[3], int64_t least) {
  int64_t largest = 1, n = most("G.vertices"), fit;
  for (int k = 0; k < 3; k++) {
    check_trees(&d[k], path[k]);
    largest = d[k].trees.most_vertices > largest ? d[k].trees.most_vertices : largest;
  }
  fit = n / largest < most("B") ? n / largest : most("B");
  if (fit < least) {
    char why[160];
    snprintf(why, sizeof why,
             "trees of up to %" PRId64 " vertices: the model takes %" PRId64 " of them at once",
             largest, fit);
    die("--batch", why);
  }
  return fit;
}
