/* Random programs over graphs whose vertices have children in lists:
 *
 *   graph G(edges <= 200, mod.edges <= 90, vertices <= 60)
 *   vertex f(x[J]) over G { gather h[G.edges, J], g[G.mod.edges, J] ... }
 *   p[v < G.vertices, j] = ... sum[G.begin[v] <= e < G.begin[v + 1] where G.child[e] < v] p[G.child[e], j]*w[e]
 *
 * Vertex functions, from children and from parents, and plain recurrences, one and two types of edges, places for children
 * beside them, every reducer of floats, features of edges, values of edges that have names, softmax over the edges of a
 * vertex, further conditions, loops around of one and two levels, gradients; no vertices, one, no edges, many. */
#ifndef NEO_TESTS_PAIRS_EDGES_H
#define NEO_TESTS_PAIRS_EDGES_H
#include "tests/pairs/program.h"

pairs_drawer pairs_draw_edges;

#endif
