/* neo_graph.h: batches of graphs for vertex functions, and treebanks to make them of (libneort).
 *
 * A model with `graph G(children <= K, vertices <= N)` takes, for each batch, the size G_vertices
 * and the children of each vertex, G_child: [G_vertices, K] i32, which come before it; -1: none.
 * These functions make such a batch from graphs of any order:
 *
 *   neo_rt_graph_batch b = {.children = K, .most_vertices = N, .most_graphs = B,
 *                           .child = child, .from = from, .start = start, .work = work};
 *   for each graph g of the batch: neo_rt_graph_batch_add(&b, &g, error, sizeof error);
 *   model_step(ctx, b.vertices, child, ..., &loss);
 *
 * With `graph G(edges <= E, vertices <= N)` a model takes the sizes G_vertices and G_edges, and
 * lists of children, G_begin and G_child. They are filled if the batch has room for offsets:
 *
 *   neo_rt_graph_batch b = {.most_vertices = N, .most_edges = E, .most_graphs = B, .begin = begin,
 *                           .child = child, .from = from, .start = start, .work = work};
 *
 * A status is one of neo_rt_code. A function that fails has changed nothing, and writes the reason
 * to `error` (which may be null; error_bytes is its size). Functions have no state: any thread may
 * call them, for different objects. */
#ifndef NEO_GRAPH_H
#define NEO_GRAPH_H
#include <neo/neo_rt.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ graphs */

/* A graph without cycles; its vertices are 0 to vertices - 1, in any order. A vertex may be the
 * child of several others, or several times of one. */
typedef struct {
  int64_t vertices;
  const int64_t *first; /* [vertices + 1], ascending: v has child[first[v] .. first[v + 1]) */
  const int32_t *child; /* numbers of vertices; -1: an empty slot */
} neo_rt_graph;

/* Finds an order of the vertices in which children come first: order[k] is the k-th vertex. A graph
 * that has this order already keeps it; another gets the order in which a depth-first search from
 * vertex 0, then 1 and so on, leaves vertices. In O(vertices + edges), without recursion. order,
 * work: [vertices], the caller's. NEO_RT_E_RANGE: a child is no vertex; NEO_RT_E_ARGUMENT: the
 * graph has a cycle, which the message shows. */
NEO_RT_API neo_rt_status neo_rt_graph_order(const neo_rt_graph *graph, int32_t *order,
                                            int32_t *work, char *error, size_t error_bytes);

/* A batch, to which graphs are added one after the other. All memory is the caller's. */
typedef struct {
  int32_t children;      /* slots of a vertex: K; unused for lists */
  int64_t most_vertices; /* N at most */
  int64_t most_graphs;
  int32_t *child; /* [most_vertices, children]: G_child; for lists [most_edges] */
  int32_t *from;  /* [most_vertices]: the vertex's number in its graph */
  int64_t *start; /* [most_graphs + 1]: graph b has the vertices start[b] .. start[b + 1) */
  int32_t *work;  /* [most_vertices] */
  int64_t vertices, graphs; /* numbers in the batch so far: 0 at first, and again for the next
                               batch */
  /* Lists of children; all are 0 if vertices have slots. */
  int32_t *begin;     /* [most_vertices + 1]: G_begin */
  int64_t *edge;      /* [most_edges]: the edge's index in its graph's `child`; may be null */
  int64_t most_edges; /* E at most */
  int64_t edges;      /* number in the batch so far, as `vertices` */
} neo_rt_graph_batch;

/* Appends a graph, in the order of neo_rt_graph_order: so the data of vertex v of the batch are
 * those of vertex from[v] of its graph, and the root of a tree is its last vertex. Allocates
 * nothing. Messages name graph and vertex. NEO_RT_E_SHAPE: more vertices, graphs, children or edges
 * than there is room for; NEO_RT_E_RANGE, NEO_RT_E_ARGUMENT as above. A list has no empty slots. */
NEO_RT_API neo_rt_status neo_rt_graph_batch_add(neo_rt_graph_batch *batch,
                                                const neo_rt_graph *graph, char *error,
                                                size_t error_bytes);

/* ------------------------------------------------------------------ treebanks */

/* Trees with labelled vertices and words at the leaves, in the brackets of the Stanford sentiment
 * treebank: (3 (2 It) (4 (2 's) (4 good))). Trees follow each other; spaces and line ends may
 * separate labels, words and brackets. A label is an integer from 0 on. Vertices are numbered
 * within their tree in the order in which brackets close: children first, the root last. */
typedef struct {
  int64_t trees, vertices, words;
  int64_t *start; /* [trees + 1]: tree t has the vertices start[t] .. start[t + 1) of the file */
  int64_t *first; /* [vertices + 1] */
  int32_t *child; /* [first[vertices]] */
  int32_t *label; /* [vertices] */
  int32_t *word;  /* [vertices]: number of the word; -1: an inner vertex */
  int32_t *line, *column; /* [vertices]: of the opening bracket, from 1 */
  const char **text;      /* [words]: distinct words, in order of first occurrence */
  int64_t *count;         /* [words]: number of occurrences */
  int32_t most_children;
  int64_t most_vertices; /* vertices of the largest tree */
  void *memory;          /* the block that has all of it */
} neo_rt_trees;

/* Reads a file; the caller frees *trees after success. NEO_RT_E_FORMAT, with "file:line:column:
 * ...": the text is no such tree; NEO_RT_E_IO, NEO_RT_E_MEMORY. */
NEO_RT_API neo_rt_status neo_rt_trees_load(const char *path, neo_rt_trees *trees, char *error,
                                           size_t error_bytes);
/* The same for n bytes of text in memory; messages begin with "line:column: ". */
NEO_RT_API neo_rt_status neo_rt_trees_parse(const void *text, size_t n, neo_rt_trees *trees,
                                            char *error, size_t error_bytes);
/* Frees the trees, which are then empty; null is allowed. */
NEO_RT_API void neo_rt_trees_free(neo_rt_trees *trees);
/* Tree t as a graph, which lives as long as the trees. Labels, words, lines and columns of its
 * vertices begin at start[t]. */
NEO_RT_API neo_rt_graph neo_rt_trees_graph(const neo_rt_trees *trees, int64_t t);

/* ------------------------------------------------------------------ vocabularies */

/* Ids of words: 0 is for unknown words, then come the words of a treebank by frequency, equally
 * frequent ones in order of first occurrence. */
typedef struct neo_rt_vocab neo_rt_vocab;
/* Makes a vocabulary of at most `most` ids, including that of unknown words: rarer words are
 * unknown. The caller frees it by neo_rt_vocab_destroy; *vocab is null after a failure. */
NEO_RT_API neo_rt_status neo_rt_vocab_create(const neo_rt_trees *trees, int64_t most,
                                             neo_rt_vocab **vocab);
/* Frees a vocabulary; null is allowed. */
NEO_RT_API void neo_rt_vocab_destroy(neo_rt_vocab *vocab);
/* Number of ids. */
NEO_RT_API int64_t neo_rt_vocab_size(const neo_rt_vocab *vocab);
/* The id of a word; that of unknown words if it has none. */
NEO_RT_API int32_t neo_rt_vocab_find(const neo_rt_vocab *vocab, const char *word);
/* The word of an id; null for that of unknown words, and for an unknown id. */
NEO_RT_API const char *neo_rt_vocab_word(const neo_rt_vocab *vocab, int64_t id);
/* A hash of all words in order. Store the hash of a training's vocabulary with the weights. */
NEO_RT_API uint64_t neo_rt_vocab_hash(const neo_rt_vocab *vocab);

#ifdef __cplusplus
}
#endif
#endif
