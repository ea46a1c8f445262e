/* See level_schedule.h. */
#include "ir/level_schedule.h"

/* Index of the first edge of vertex v; for v = n the number of edges. */
static int64_t edge_of(const neo_level_list *l, int64_t v) {
  return l->begin ? l->begin[v].i : v * l->slots;
}

static void find_levels(const neo_level_schedule *x) {
  for (int64_t v = 0; v < x->n; v++) {
    int64_t level = 0;
    for (uint32_t i = 0; i < x->n_lists; i++)
      for (int64_t e = edge_of(&x->list[i], v); e < edge_of(&x->list[i], v + 1); e++) {
        int64_t child = x->list[i].child[e].i;
        int64_t own = child >= 0 ? x->level[child].i / x->kinds + 1 : 0;
        level = own > level ? own : level;
      }
    x->level[v].i = level * x->kinds + (x->kind ? x->kind[v].i : 0);
  }
}

static void find_places(const neo_level_schedule *x) {
  int64_t blocks = x->n * x->kinds;
  for (int64_t b = 0; b <= blocks; b++)
    x->first[b].i = 0;
  for (int64_t v = 0; v < x->n; v++)
    x->place[v].i = x->first[x->level[v].i + 1].i++;
  for (int64_t b = 0; b < blocks; b++)
    x->first[b + 1].i += x->first[b].i;
  for (int64_t v = 0; v < x->n; v++)
    x->place[v].i += x->first[x->level[v].i].i;
  for (int64_t v = 0; x->vertex && v < x->n; v++)
    x->vertex[x->place[v].i].i = v;
  for (int64_t v = 0; x->placed_kind && v < x->n; v++)
    x->placed_kind[x->place[v].i].i = x->level[v].i % x->kinds;
}

static void place_children(const neo_level_schedule *x, const neo_level_list *l) {
  for (int64_t v = 0; l->placed && v < x->n; v++)
    for (int64_t e = edge_of(l, v); e < edge_of(l, v + 1); e++) {
      int64_t at = l->begin ? e : x->place[v].i * l->slots + e % l->slots;
      l->placed[at].i = l->child[e].i >= 0 ? x->place[l->child[e].i].i : -1;
    }
}

static void list_edge(const neo_level_schedule *x, const neo_level_list *l, int64_t v, int64_t e) {
  int64_t at = l->end[l->child[e].i].i++;
  l->edge[at].i = l->begin ? e : l->slots * x->place[v].i + e % l->slots;
  if (l->parent)
    l->parent[at].i = x->place[v].i;
}

/* Counting sort of the edges by child. First pass: l->end[u] counts the parents of u; then it
 * becomes the start of u's list, and is advanced to its end as edges are stored. */
static void list_parents(const neo_level_schedule *x, const neo_level_list *l) {
  int64_t sum = 0;
  for (int64_t u = 0; u < x->n; u++)
    l->end[u].i = 0;
  for (int64_t e = 0; x->n && e < edge_of(l, x->n); e++)
    if (l->child[e].i >= 0)
      l->end[l->child[e].i].i++;
  for (int64_t u = 0; u < x->n; u++) {
    int64_t count = l->end[u].i;
    l->end[u].i = sum;
    sum += count;
  }
  for (int64_t v = 0; v < x->n; v++)
    for (int64_t e = edge_of(l, v); e < edge_of(l, v + 1); e++)
      if (l->child[e].i >= 0)
        list_edge(x, l, v, e);
}

void neo_level_schedule_make(const neo_level_schedule *x) {
  find_levels(x);
  find_places(x);
  for (uint32_t i = 0; i < x->n_lists; i++) {
    place_children(x, &x->list[i]);
    if (x->list[i].end)
      list_parents(x, &x->list[i]);
  }
}
