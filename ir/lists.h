/* Positions that offsets cut into lists (neo_tensor_rec.offsets), as the edges of a graph: the
 * edges of vertex v are begin[v] .. begin[v + 1] - 1. Each of them has a child, which comes before
 * v, and an owner, which is v:
 *
 *     e in begin[v] .. begin[v + 1]   =>   owner[e] == v,   child[e] < v */
#pragma once
#include "ir/ir.h"

/* The offsets, if the axis runs through one of the lists that they cut out; *row is the number of
 * the list. 0: it does not. */
neo_tensor neo_list_run(neo_module *m, const neo_axis_rec *x, neo_expr *row);
/* The tensor of owners of `extent` positions; 0: there is none. */
neo_tensor neo_owner_of(const neo_module *m, neo_expr extent);
/* The same, of positions that these offsets cut. */
neo_tensor neo_owner_by(const neo_module *m, neo_tensor begin);
/* The tensor of children of the positions that have these owners; 0: there is none. */
neo_tensor neo_child_of(const neo_module *m, neo_tensor owner);
/* t[at], as an index. */
neo_expr neo_list_element(neo_module *m, neo_tensor t, neo_expr at);
/* Facts that an axis of a definition states of its own lists: of an axis of all positions, that the
 * child is below the owner; of one that runs through a list, that this is the owner. Appends to
 * at[*n], of which there is room for two more. */
void neo_list_facts(neo_module *m, const neo_axis_rec *x, neo_expr axis, neo_expr *at, uint32_t *n);
/* The fact that an index listed[i] states, of the position of the i-th edge in the lists of parents
 * (NEO_ROW_LISTED): the owner of that position is parent[i]. 0: it is another index. */
neo_expr neo_listed_fact(neo_module *m, neo_expr index);
