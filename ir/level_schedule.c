/* See level_schedule.h. */
#include "ir/level_schedule.h"

static void find_levels(const neo_level_schedule *x) {
  for (int64_t v = 0; v < x->n; v++) {
    int64_t level = 0;
    for (uint32_t i = 0; i < x->n_lists; i++)
      for (int64_t k = 0; k < x->list[i].slots; k++) {
        int64_t child = x->list[i].child[v * x->list[i].slots + k].i;
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
    for (int64_t k = 0; k < l->slots; k++) {
      int64_t child = l->child[v * l->slots + k].i;
      l->placed[x->place[v].i * l->slots + k].i = child >= 0 ? x->place[child].i : -1;
    }
}

/* The ends are those of shorter lists until all edges are counted. */
static void list_parents(const neo_level_schedule *x, const neo_level_list *l) {
  int64_t edges = x->n * l->slots, sum = 0;
  for (int64_t u = 0; u < x->n; u++)
    l->end[u].i = 0;
  for (int64_t e = 0; e < edges; e++)
    if (l->child[e].i >= 0)
      l->end[l->child[e].i].i++;
  for (int64_t u = 0; u < x->n; u++) {
    int64_t count = l->end[u].i;
    l->end[u].i = sum;
    sum += count;
  }
  for (int64_t e = 0; e < edges; e++)
    if (l->child[e].i >= 0)
      l->edge[l->end[l->child[e].i].i++].i = l->slots * x->place[e / l->slots].i + e % l->slots;
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
