/* Graphs of random programs at run time: chains, trees, and graphs whose vertices share children,
 * some of them in one batch. An instance is what is linked; its vertices stand in a row.
 *
 * An arrangement puts a batch together anew: other orders in which children come first, or some
 * instances alone. What belongs to a vertex depends on its instance alone, so it has the same bits
 * in each. */
#ifndef NEO_TESTS_PAIRS_GRAPH_H
#define NEO_TESTS_PAIRS_GRAPH_H
#include "tests/pairs/program.h"

typedef struct {
  int64_t n;          /* vertices */
  uint32_t slots;     /* places of children */
  int64_t *child;     /* [n, slots]; -1: none */
  uint32_t *instance; /* of each vertex */
  uint32_t instances;
  int64_t n_roots, *root; /* what the input of roots names */
  bool forest;            /* no vertex is twice a child */
} pairs_links;

/* The graph of the program's seed and sizes. */
pairs_links pairs_links_of(neo_arena *a, const pairs_program *p, uint32_t graph);
/* The elements of an input that says how vertices are linked; null: it is another. */
const int64_t *pairs_linked_input(neo_arena *a, const pairs_program *p, const char *name);

typedef enum {
  PAIRS_MERGED,   /* instances interleaved, each in its own order */
  PAIRS_SORTED,   /* any order in which children come first; merged where children are shared */
  PAIRS_REVERSED, /* the last instance first */
  PAIRS_SINGLE    /* one instance */
} pairs_arranging;

typedef struct {
  int64_t n, *vertex;    /* [n]: which vertex of the batch each one is */
  int64_t *place;        /* of a vertex of the batch, or -1 */
  int64_t n_roots, *row; /* which element of the roots */
} pairs_arrangement;

/* `which`: a seed, or the instance (of so many as there are). */
pairs_arrangement pairs_arrange(neo_arena *a, const pairs_links *x, pairs_arranging how,
                                uint64_t which);

#endif
