/* The order of a plan's buffers in memory, from which their offsets at smaller sizes follow.
 *
 * The buffers alive at a step are a stack: in the order of offsets, each rests on the one before
 * it. If two buffers are alive together, they are so at the first step of the later one, where a
 * chain of such pairs leads from the upper one to the lower one. So pairs at first steps are
 * enough:
 *
 *   steps 0..9: A at 0 of 100     at 0: A            pairs: B on A (step 2), C on A (step 5)
 *   steps 2..4: B at 100 of 50    at 2: A, B         at smaller sizes of A, B and C begin lower
 *   steps 5..9: C at 100 of 20    at 5: A, C
 *
 * The begin of a buffer adds two pairs, the end one, so that there are fewer than three pairs for
 * each buffer.
 *
 * Buffers that are separate at all times, as on a GPU, would be pairs of any two of them. Heights
 * reduce their number: a height is above the previous height and above all buffers that end at it
 * or below, and a buffer rests on the highest height that is not above its beginning. */
#include "base/vec.h"
#include "codegen/dsa/internal.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  const neo_dsa_item *item;
  size_t number;
} row;

typedef struct {
  neo_arena *a;
  NEO_VEC(neo_dsa_place) places;
  NEO_VEC(uint32_t) below;
} stack;

static int64_t end_of(const neo_dsa_item *it) {
  return it->offset + dsa_align_up(it->size_bytes, it->align_bytes > 1 ? it->align_bytes : 1);
}

static int compare(int64_t a, int64_t b, size_t x, size_t y) {
  return a != b ? (a < b ? -1 : 1) : (x > y) - (x < y);
}

static int by_offset(const void *a, const void *b) {
  const row *x = a, *y = b;
  return compare(x->item->offset, y->item->offset, x->number, y->number);
}

static int by_end(const void *a, const void *b) {
  const row *x = a, *y = b;
  return compare(end_of(x->item), end_of(y->item), x->number, y->number);
}

static int by_first(const void *a, const void *b) {
  const row *x = a, *y = b;
  return compare(x->item->first, y->item->first, x->number, y->number);
}

static row *sorted(const row *rows, size_t n, int (*by)(const void *, const void *), neo_arena *a) {
  row *at = neo_arena_copy(a, rows, sizeof *rows * (n + 1));
  qsort(at, n, sizeof *at, by);
  return at;
}

static uint32_t put_place(stack *s, int64_t offset, size_t item) {
  neo_dsa_place x = {offset, item, (uint32_t)s->below.n, 0};
  NEO_PUSH(s->a, &s->places, x);
  return (uint32_t)s->places.n - 1;
}

static void put_below(stack *s, uint32_t place) {
  NEO_PUSH(s->a, &s->below, place);
  s->places.at[s->places.n - 1].n_below++;
}

/* ---- at all times */

static void stack_heights(stack *s, const row *rows, size_t n, size_t n_items) {
  const row *start = sorted(rows, n, by_offset, s->a), *end = sorted(rows, n, by_end, s->a);
  uint32_t *place = NEO_NEW_ARRAY(s->a, uint32_t, n_items + 1);
  size_t ended = 0;
  uint32_t height = 0;
  bool any = false;
  for (size_t k = 0; k < n; k++) {
    size_t from = ended;
    while (end_of(end[ended].item) <= start[k].item->offset)
      ended++;
    if (ended > from) {
      uint32_t before = height;
      height = put_place(s, end_of(end[ended - 1].item), NEO_DSA_NO_ITEM);
      if (any)
        put_below(s, before);
      for (size_t i = from; i < ended; i++)
        put_below(s, place[end[i].number]);
      any = true;
    }
    place[start[k].number] = put_place(s, start[k].item->offset, start[k].number);
    if (any)
      put_below(s, height);
  }
}

/* ---- while they live */

typedef NEO_VEC(size_t) rank_vec; /* buffers by their rank in the order of offsets */

typedef struct {
  const row *by_offset;
  rank_vec alive; /* sorted */
  rank_vec *below;
  size_t *under; /* by buffer: number of the last buffer found below it, + 1 */
  neo_arena *a;
} sweep;

static size_t place_of(const rank_vec *v, size_t rank) {
  size_t low = 0, high = v->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (v->at[middle] < rank)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static void insert(sweep *w, size_t rank) {
  size_t k = place_of(&w->alive, rank);
  NEO_PUSH(w->a, &w->alive, rank);
  memmove(w->alive.at + k + 1, w->alive.at + k, sizeof *w->alive.at * (w->alive.n - 1 - k));
  w->alive.at[k] = rank;
}

static void drop_ended(sweep *w, int64_t step) {
  size_t n = 0;
  for (size_t k = 0; k < w->alive.n; k++)
    if (w->by_offset[w->alive.at[k]].item->last >= step)
      w->alive.at[n++] = w->alive.at[k];
  w->alive.n = n;
}

static void note_pair(sweep *w, size_t under, size_t above) {
  rank_vec *below = &w->below[above];
  bool known = w->under[above] == under + 1;
  w->under[above] = under + 1;
  for (size_t k = 0; k < below->n && !known; k++)
    known = below->at[k] == under;
  if (!known)
    NEO_PUSH(w->a, below, under);
}

static void note_pairs(sweep *w) {
  for (size_t k = 1; k < w->alive.n; k++)
    note_pair(w, w->alive.at[k - 1], w->alive.at[k]);
}

static void stack_lives(stack *s, const row *rows, size_t n, size_t n_items) {
  sweep w = {.by_offset = sorted(rows, n, by_offset, s->a), .a = s->a};
  const row *start = sorted(rows, n, by_first, s->a);
  size_t *rank = NEO_NEW_ARRAY(s->a, size_t, n_items + 1);
  w.below = NEO_NEW_ARRAY(s->a, rank_vec, n + 1);
  w.under = NEO_NEW_ARRAY(s->a, size_t, n + 1);
  for (size_t k = 0; k < n; k++)
    rank[w.by_offset[k].number] = k;
  for (size_t k = 0; k < n;) {
    int64_t step = start[k].item->first;
    drop_ended(&w, step);
    for (; k < n && start[k].item->first == step; k++)
      insert(&w, rank[start[k].number]);
    note_pairs(&w);
  }
  for (size_t k = 0; k < n; k++) {
    (void)put_place(s, w.by_offset[k].item->offset, w.by_offset[k].number);
    for (size_t i = 0; i < w.below[k].n; i++)
      put_below(s, (uint32_t)w.below[k].at[i]);
  }
}

neo_dsa_stack neo_dsa_stack_of(const neo_dsa_item *items, size_t n, bool always, neo_arena *a) {
  stack s = {.a = a};
  row *rows = NEO_NEW_ARRAY(a, row, n + 1);
  size_t m = 0;
  for (size_t i = 0; i < n; i++)
    if (items[i].size_bytes > 0)
      rows[m++] = (row){&items[i], i};
  if (always)
    stack_heights(&s, rows, m, n);
  else
    stack_lives(&s, rows, m, n);
  return (neo_dsa_stack){s.places.at, s.below.at, s.places.n, s.below.n};
}
