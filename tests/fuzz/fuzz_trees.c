/* Fuzzes the reader of bracketed trees: what it accepts is a batch of trees as it stands, and has a
 * vocabulary that knows each word. */
#include "include/neo/neo_graph.h"
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

static void batch_of(const neo_rt_trees *t) {
  size_t v = (size_t)t->vertices, k = (size_t)t->most_children;
  int32_t *room = malloc((v * (k + 2) + 1) * sizeof *room);
  int64_t *start = malloc((size_t)(t->trees + 1) * sizeof *start);
  int32_t *lists = malloc((2 * v + 1) * sizeof *lists);
  neo_rt_graph_batch b = {.children = t->most_children,
                          .most_vertices = t->vertices,
                          .most_graphs = t->trees,
                          .child = room + 2 * v,
                          .from = room,
                          .start = start,
                          .work = room + v};
  neo_rt_graph_batch l = b;
  l.begin = lists;
  l.child = lists + v + 1;
  l.most_edges = t->vertices;
  for (int64_t x = 0; x < t->trees; x++) {
    neo_rt_graph g = neo_rt_trees_graph(t, x);
    if (neo_rt_graph_batch_add(&b, &g, NULL, 0) || neo_rt_graph_batch_add(&l, &g, NULL, 0))
      abort();
  }
  if (b.vertices != t->vertices || l.edges != t->vertices - t->trees)
    abort();
  free(lists);
  free(start);
  free(room);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n) {
  neo_rt_trees t;
  neo_rt_vocab *vocab;
  char error[256];
  if (neo_rt_trees_parse(p, n, &t, error, sizeof error))
    return 0;
  batch_of(&t);
  if (neo_rt_vocab_create(&t, t.words + 1, &vocab))
    abort();
  for (int64_t k = 0; k < t.words; k++)
    if (neo_rt_vocab_find(vocab, t.text[k]) < 1)
      abort();
  neo_rt_vocab_destroy(vocab);
  neo_rt_trees_free(&t);
  return 0;
}
