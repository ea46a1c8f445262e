/* The order of a graph by levels, as definitions of the kind LEVELS (neo_rows_rec) have it: the reference.
 *
 *     level[v]  = max[k] (level[child[v, k]] else -1) + 1, times kinds, plus kind[v]
 *     first[l]  = how many vertices have a level and kind below l
 *     place[v]  = first[level[v]] + how many vertices before v have that level and kind
 *     vertex[place[v]] = v,  kind'[place[v]] = kind[v]
 *     placed[place[v], k] = (place[child[v, k]] else -1)
 *     edge[end[u - 1] .. end[u] - 1] = slots*place[v] + k of all v and k, in this order, where child[v, k] == u
 *
 * Children in lists have a number e in place of v and k: placed[e] = place[child[e]], edge[..] = e, parent[..] = place[v].
 *
 * (S. Xu et al., Cavs: an efficient runtime system for dynamic neural networks, USENIX ATC 2018, section 3.2.) */
#pragma once
#include "ir/interp.h"

typedef struct { /* arrays as at neo_row_list; null where nobody asks */
  int64_t slots;
  const neo_value *child, *begin;
  neo_value *placed, *end, *edge, *parent;
} neo_level_list;

typedef struct {
  int64_t n, kinds;
  const neo_value *kind; /* null: all are of one kind */
  neo_value *level, *first, *place;
  neo_value *vertex, *placed_kind; /* may be null */
  uint32_t n_lists;
  const neo_level_list *list;
} neo_level_schedule;

/* Fills the arrays. Elements of `edge` after the last are not written. Children come before their parents. */
void neo_level_schedule_make(const neo_level_schedule *x);
