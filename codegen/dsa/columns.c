/* The columns of an instance, and the buffers of each column. */
#include "codegen/dsa/internal.h"
#include <stdlib.h>

enum { MOST_COVERS = 1 << 26 };

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

/* The step of each column: the last start before an end. Items are sorted by their first step. */
static int64_t *steps_of(dsa_instance *in, const neo_dsa_item *items, const size_t *item_of) {
  int64_t *last = NEO_NEW_ARRAY(in->arena, int64_t, in->n + 1);
  int64_t *step = NEO_NEW_ARRAY(in->arena, int64_t, in->n + 1);
  int32_t ended = 0;
  for (int32_t i = 0; i < in->n; i++)
    last[i] = items[item_of[i]].last;
  qsort(last, (size_t)in->n, sizeof *last, compare);
  for (int32_t i = 0; i < in->n;) {
    while (last[ended] < items[item_of[i]].first)
      ended++;
    for (; i < in->n && items[item_of[i]].first <= last[ended]; i++)
      step[in->n_columns] = items[item_of[i]].first;
    in->n_columns++;
  }
  return step;
}

/* The first column at or after a step. */
static int32_t column_at(const dsa_instance *in, const int64_t *step, int64_t at) {
  int32_t low = 0, high = in->n_columns;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (step[middle] < at)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Loads of columns and starts in them; returns how many entries the lists of covers have. */
static int64_t count_covers(dsa_instance *in, int64_t *covers) {
  int64_t all = 0;
  in->load = NEO_NEW_ARRAY(in->arena, int64_t, in->n_columns + 1);
  in->start_at = NEO_NEW_ARRAY(in->arena, int32_t, in->n_columns + 2);
  for (int32_t i = 0; i < in->n; i++) {
    const dsa_buffer *b = &in->buffer[i];
    in->start_at[b->begin + 1]++;
    in->load[b->begin] += b->size;
    in->load[b->end] -= b->size;
    covers[b->begin]++;
    covers[b->end]--;
    all += b->end - b->begin;
  }
  for (int32_t c = 0; c < in->n_columns; c++) {
    in->start_at[c + 1] += in->start_at[c];
    in->load[c] += c ? in->load[c - 1] : 0;
    covers[c] += c ? covers[c - 1] : 0;
  }
  return all;
}

typedef struct {
  int32_t width, buffer;
} wide;

static int compare_wide(const void *a, const void *b) {
  const wide *x = a, *y = b;
  if (x->width != y->width)
    return x->width < y->width ? -1 : 1;
  return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

/* Lists the buffers of each column, narrow ones first: they can be on the floor more often than
 * wide ones. */
static void list_covers(dsa_instance *in, const int64_t *covers) {
  in->cover_at = NEO_NEW_ARRAY(in->arena, int32_t, in->n_columns + 1);
  for (int32_t c = 0; c < in->n_columns; c++)
    in->cover_at[c + 1] = in->cover_at[c] + (int32_t)covers[c];
  int32_t *at = neo_arena_copy(in->arena, in->cover_at, sizeof *at * ((size_t)in->n_columns + 1));
  wide *order = NEO_NEW_ARRAY(in->arena, wide, in->n);
  for (int32_t i = 0; i < in->n; i++)
    order[i] = (wide){in->buffer[i].end - in->buffer[i].begin, i};
  qsort(order, (size_t)in->n, sizeof *order, compare_wide);
  in->cover = NEO_NEW_ARRAY(in->arena, int32_t, in->cover_at[in->n_columns] + 1);
  for (int32_t k = 0; k < in->n; k++) {
    const dsa_buffer *b = &in->buffer[order[k].buffer];
    for (int32_t c = b->begin; c < b->end; c++)
      in->cover[at[c]++] = order[k].buffer;
  }
}

void dsa_columns(dsa_instance *in, const neo_dsa_item *items, const size_t *item_of) {
  const int64_t *step = steps_of(in, items, item_of);
  for (int32_t i = 0; i < in->n; i++) {
    in->buffer[i].begin = column_at(in, step, items[item_of[i]].first);
    in->buffer[i].end = column_at(in, step, items[item_of[i]].last + 1);
  }
  int64_t *covers = NEO_NEW_ARRAY(in->arena, int64_t, in->n_columns + 1);
  if (count_covers(in, covers) <= MOST_COVERS)
    list_covers(in, covers);
}
