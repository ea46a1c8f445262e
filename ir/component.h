/* Strongly connected components of definitions. A component with more than one definition, or with
 * one that reads itself, is a recurrence; ir/order.h finds the order in which it runs. */
#pragma once
#include "ir/ir.h"

typedef struct { /* `reader` reads a tensor that `producer` is a piece of */
  uint32_t producer, reader;
} neo_dependence;

/* Numbers the strongly connected components of a graph with n_nodes nodes (R. Tarjan, "Depth-first
 * search and linear graph algorithms"). component[v] is from 1 on; an edge leads to a smaller
 * number only within a component. Returns the number of components. The edges are in any order. */
uint32_t neo_components_of(const neo_dependence *edge, size_t n_edges, uint32_t n_nodes,
                           neo_arena *scratch, uint32_t *component);

/* Finds the recurrences among `defs`. number[d] (by id, with room for all definitions of m) is the
 * recurrence of a definition, from 1 on, producers first; 0: it is part of none. Returns the number
 * of recurrences. */
uint32_t neo_recurrences(const neo_module *m, const neo_def *defs, size_t n, neo_arena *scratch,
                         uint32_t *number);

/* The same among all definitions of the module; the numbers are of the arena. */
uint32_t neo_all_recurrences(const neo_module *m, neo_arena *a, uint32_t **number);
/* The definitions below n_defs that have this number, by id. Of the arena. */
neo_def *neo_recurrence_members(const uint32_t *number, uint32_t n_defs, uint32_t which,
                                neo_arena *a, size_t *n);

/* By id: whether the definition is part of a recurrence. In the arena. */
bool *neo_recurrent_defs(const neo_module *m, neo_arena *a);
