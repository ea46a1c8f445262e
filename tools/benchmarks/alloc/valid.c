/* Checks a plan by a sweep over time. The buffers alive are kept by offset; a new one can only
 * overlap its two neighbours there, as the others were found to be apart. */
#include "tools/benchmarks/alloc/valid.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
  const neo_dsa_item *item;
  size_t number;
} row;

typedef struct {
  row *at; /* by offset */
  size_t n;
} alive;

static int by_first(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->item->first != y->item->first)
    return x->item->first < y->item->first ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static int by_last(const void *a, const void *b) {
  const row *x = a, *y = b;
  if (x->item->last != y->item->last)
    return x->item->last < y->item->last ? -1 : 1;
  return (x->number > y->number) - (x->number < y->number);
}

static size_t place_of(const alive *v, int64_t offset) {
  size_t low = 0, high = v->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (v->at[middle].item->offset < offset)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool meet(row a, row b) {
  return a.item->offset < b.item->offset + b.item->size_bytes &&
         b.item->offset < a.item->offset + a.item->size_bytes;
}

static bool add(alive *v, row r, neo_dsa_verdict *out) {
  size_t k = place_of(v, r.item->offset);
  const row *other = k < v->n && meet(v->at[k], r)    ? &v->at[k]
                     : k > 0 && meet(v->at[k - 1], r) ? &v->at[k - 1]
                                                      : NULL;
  if (other) {
    *out = (neo_dsa_verdict){NEO_DSA_OVERLAP, other->number, r.number};
    return false;
  }
  memmove(v->at + k + 1, v->at + k, sizeof *v->at * (v->n - k));
  v->at[k] = r;
  v->n++;
  return true;
}

static void drop(alive *v, const neo_dsa_item *it) {
  size_t k = place_of(v, it->offset);
  memmove(v->at + k, v->at + k + 1, sizeof *v->at * (--v->n - k));
}

static neo_dsa_fault fault_of(const neo_dsa_item *it) {
  if (it->offset < 0)
    return NEO_DSA_NEGATIVE;
  if (it->size_bytes > 0 && it->fixed >= 0 && it->offset != it->fixed)
    return NEO_DSA_MOVED;
  return it->align_bytes > 1 && it->offset % it->align_bytes ? NEO_DSA_MISALIGNED : NEO_DSA_VALID;
}

static neo_dsa_verdict sweep(const row *start, const row *end, size_t n, neo_arena *scratch) {
  neo_dsa_verdict out = {NEO_DSA_VALID, 0, 0};
  alive v = {NEO_NEW_ARRAY(scratch, row, n + 1), 0};
  size_t ended = 0;
  for (size_t k = 0; k < n; k++) {
    for (; end[ended].item->last < start[k].item->first; ended++)
      drop(&v, end[ended].item);
    if (!add(&v, start[k], &out))
      break;
  }
  return out;
}

neo_dsa_verdict neo_dsa_valid(const neo_dsa_item *items, size_t n, neo_arena *scratch) {
  row *start = NEO_NEW_ARRAY(scratch, row, n + 1);
  size_t m = 0;
  for (size_t i = 0; i < n; i++) {
    if (fault_of(&items[i]))
      return (neo_dsa_verdict){fault_of(&items[i]), i, i};
    if (items[i].size_bytes > 0)
      start[m++] = (row){&items[i], i};
  }
  row *end = neo_arena_copy(scratch, start, sizeof *start * (m + 1));
  qsort(start, m, sizeof *start, by_first);
  qsort(end, m, sizeof *end, by_last);
  return sweep(start, end, m, scratch);
}
