/* Strongly connected components of definitions: those that need each other, and those that read
 * themselves. They are the recurrences of a module (ir/order.h says in which order one runs). */
#pragma once
#include "ir/ir.h"

typedef struct { /* `reader` reads a tensor that `producer` is a piece of */
  uint32_t producer, reader;
} neo_dependence;

/* Numbers the strongly connected components of a graph of `n_nodes` nodes (R. Tarjan, "Depth-first
 * search and linear graph algorithms"): component[v] from 1 on, so that an edge never leads to a
 * smaller number but inside of a component. Returns how many there are. Edges in any order. */
uint32_t neo_components_of(const neo_dependence *edge, size_t n_edges, uint32_t n_nodes,
                           neo_arena *scratch, uint32_t *component);

/* The recurrences among `defs`: of each definition (by id) its number, from 1 on, producers first; 0:
 * it is part of none. Returns how many there are. `number` has room for all definitions of m. */
uint32_t neo_recurrences(const neo_module *m, const neo_def *defs, size_t n, neo_arena *scratch,
                         uint32_t *number);

/* By id, for each definition of the module: is it part of a recurrence? Of the arena. */
bool *neo_recurrent_defs(const neo_module *m, neo_arena *a);
