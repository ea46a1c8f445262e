/* Batches of trees: the graph, and the data of its vertices. */
#include "tools/neoc/train/trees.h"

neoc_tree_batch *neoc_tree_batch_new(const neoc_data *d, int64_t trees) {
  neo_arena *a = d->r->cli->arena;
  neoc_tree_batch *x = NEO_NEW(a, neoc_tree_batch);
  int64_t n = neoc_treebank_most(d, trees);
  int64_t k = neoc_treebank_children(d);
  x->graph = (neo_rt_graph_batch){.children = (int32_t)k, .most_vertices = n, .most_graphs = trees};
  x->graph.child = NEO_NEW_ARRAY(a, int32_t, n * k + 1);
  x->graph.begin = d->bank->begin < 0 ? NULL : NEO_NEW_ARRAY(a, int32_t, n + 1);
  x->graph.most_edges = n * k;
  x->graph.from = NEO_NEW_ARRAY(a, int32_t, n + 1);
  x->graph.work = NEO_NEW_ARRAY(a, int32_t, n + 1);
  x->graph.start = NEO_NEW_ARRAY(a, int64_t, trees + 1);
  return x;
}

void neoc_tree_batch_fill(const neoc_data *d, neoc_tree_batch *b, const int64_t *order, int64_t n) {
  b->graph.vertices = b->graph.graphs = b->graph.edges = 0;
  for (int64_t k = 0; k < n; k++) {
    neo_rt_graph g = neo_rt_trees_graph(&d->bank->trees, order[k]);
    if (neo_rt_graph_batch_add(&b->graph, &g, NULL, 0))
      return; /* never reached: room and trees have been checked */
  }
}

/* Writes, for each vertex v of the batch, its number in the file. */
static void put_of_vertices(const neoc_data *d, const neoc_tree_batch *b, int32_t tensor,
                            const int64_t *order, int32_t *out) {
  const neo_rt_trees *t = &d->bank->trees;
  const neoc_source *s = &d->source[tensor];
  int32_t none = s->minus_one ? -1 : 0;
  for (int64_t k = 0; k < b->graph.graphs; k++)
    for (int64_t v = b->graph.start[k]; v < b->graph.start[k + 1]; v++) {
      int64_t at = t->start[order[k]] + b->graph.from[v];
      out[v] = s->member == NEOC_LABEL ? t->label[at]
               : t->word[at] < 0       ? none
                                       : d->bank->id[t->word[at]];
    }
}

void neoc_tree_batch_put(const neoc_data *d, const neoc_tree_batch *b, int32_t tensor,
                         const int64_t *order, void *out) {
  int32_t *to = out;
  neoc_member member = d->source[tensor].member;
  int64_t children = b->graph.begin ? b->graph.edges : b->graph.vertices * b->graph.children;
  if (member == NEOC_CHILD)
    for (int64_t k = 0; k < children; k++)
      to[k] = b->graph.child[k];
  else if (member == NEOC_BEGIN)
    for (int64_t v = 0; v <= b->graph.vertices; v++)
      to[v] = b->graph.begin[v];
  else if (member == NEOC_ROOT)
    for (int64_t k = 0; k < b->graph.graphs; k++)
      to[k] = (int32_t)b->graph.start[k + 1] - 1;
  else
    put_of_vertices(d, b, tensor, order, to);
}
