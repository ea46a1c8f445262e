/* See exclusive.h. Large items come first. Each joins the place with the largest saving: its own
 * bytes times its own life, less the growth of the place's size times life. The offsets of places
 * are then planned as if each were one buffer (codegen/dsa). */
#include "codegen/plan/exclusive.h"
#include <stdlib.h>

typedef struct {
  NEO_VEC(size_t) items; /* items that share the memory of the first */
  int64_t size_bytes, first, last;
} place;

typedef struct {
  neo_module *m;
  const plan_exclusive *x;
  neo_arena *a;
  NEO_VEC(place) places;
} sharing;

typedef struct {
  int64_t size_bytes;
  size_t item;
} row;

static int larger_first(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->size_bytes != y->size_bytes)
    return x->size_bytes < y->size_bytes ? 1 : -1;
  return (x->item > y->item) - (x->item < y->item);
}

static bool live_together(const plan_life *a, const plan_life *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* Are the two never there in one call at one time? *gains: but in different calls they are. */
static bool are_exclusive(const sharing *s, size_t item, size_t other, bool *gains) {
  const plan_lives *a = &s->x->lives[item], *b = &s->x->lives[other];
  for (size_t i = 0; i < a->n; i++)
    for (size_t k = 0; k < b->n; k++) {
      if (!live_together(&a->at[i], &b->at[k]))
        continue;
      if (!neo_conditions_exclude(s->m, &a->at[i].when, &b->at[k].when))
        return false;
      *gains = true;
    }
  return true;
}

/* May it be in this place, and is something there at the same time in other calls? */
static bool fits(const sharing *s, const place *p, size_t item) {
  bool gains = false;
  for (size_t k = 0; k < p->items.n; k++)
    if (!are_exclusive(s, item, p->items.at[k], &gains))
      return false;
  return gains;
}

static bool is_conditional(const plan_lives *l) {
  for (size_t k = 0; k < l->n; k++)
    if (!l->at[k].when.n)
      return false;
  return true;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static double area(int64_t size_bytes, int64_t first, int64_t last) {
  return (double)size_bytes * (double)(last - first + 1);
}

static double saving(const place *p, const neo_dsa_item *it) {
  return area(p->size_bytes, p->first, p->last) + area(it->size_bytes, it->first, it->last) -
         area(most(p->size_bytes, it->size_bytes), least(p->first, it->first),
              most(p->last, it->last));
}

static void put(sharing *s, size_t item) {
  const neo_dsa_item *it = &s->x->item[item];
  place *best = NULL;
  double most_saved = 0;
  for (size_t k = 0; k < s->places.n; k++) {
    double saved = saving(&s->places.at[k], it);
    if (saved > most_saved && fits(s, &s->places.at[k], item)) {
      best = &s->places.at[k];
      most_saved = saved;
    }
  }
  if (!best) {
    NEO_PUSH(s->a, &s->places, (place){.size_bytes = it->size_bytes, it->first, it->last});
    best = &s->places.at[s->places.n - 1];
  }
  NEO_PUSH(s->a, &best->items, item);
  best->size_bytes = most(best->size_bytes, it->size_bytes);
  best->first = least(best->first, it->first);
  best->last = most(best->last, it->last);
}

void plan_share_exclusive(neo_module *m, const plan_exclusive *x, size_t *into,
                          neo_arena *scratch) {
  sharing s = {.m = m, .x = x, .a = scratch};
  row *rows = NEO_NEW_ARRAY(scratch, row, x->n + 1);
  size_t n = 0;
  for (size_t k = 0; k < x->n; k++) {
    into[k] = k;
    if (is_conditional(&x->lives[k]) && x->item[k].size_bytes > x->least_bytes)
      rows[n++] = (row){x->item[k].size_bytes, k};
  }
  qsort(rows, n, sizeof *rows, larger_first);
  for (size_t k = 0; k < n; k++)
    put(&s, rows[k].item);
  for (size_t k = 0; k < s.places.n; k++) {
    const place *p = &s.places.at[k];
    neo_dsa_item *own = &x->item[p->items.at[0]];
    own->size_bytes = p->size_bytes;
    own->first = p->first;
    own->last = p->last;
    for (size_t i = 1; i < p->items.n; i++) {
      into[p->items.at[i]] = p->items.at[0];
      x->item[p->items.at[i]].size_bytes = 0;
    }
  }
}
