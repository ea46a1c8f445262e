/* The order of a graph by levels, as definitions of the kind LEVELS compute it (neo_rows_rec): the
 * reference.
 *
 *     level[v]  = (max[k] (level[child[v, k]] else -1) + 1)*kinds + kind[v]
 *     first[b]  = number of vertices with level[v] < b
 *     place[v]  = first[level[v]] + number of vertices u < v with level[u] == level[v]
 *     vertex[place[v]] = v,  kind'[place[v]] = kind[v]
 *     placed[place[v], k] = (place[child[v, k]] else -1)
 *     edge[end[u - 1] .. end[u] - 1] = slots*place[v] + k of all v and k with child[v, k] == u, in
 *                                      this order
 *
 * Here the level of a child in max[k] is its block divided by kinds. Children in lists have the
 * number e of their edge instead of v and k: placed[e] = place[child[e]], edge[..] = e, parent[..]
 * = place[v].
 *
 * (S. Xu et al., Cavs: an efficient runtime system for dynamic neural networks, USENIX ATC 2018,
 * section 3.2.) */
#pragma once
#include "ir/interp/interp.h"

typedef struct { /* arrays as in neo_row_list; null: not wanted */
  int64_t slots;
  const neo_value *child, *begin;
  neo_value *placed, *end, *edge, *parent;
} neo_level_list;

typedef struct {
  int64_t n, kinds;
  const neo_value *kind; /* null: one kind */
  neo_value *level, *first, *place;
  neo_value *vertex, *placed_kind; /* may be null */
  uint32_t n_lists;
  const neo_level_list *list;
} neo_level_schedule;

/* Fills the arrays. Children have to come before their parents. Elements of `edge` after the last
 * edge are not written. */
void neo_level_schedule_make(const neo_level_schedule *x);
