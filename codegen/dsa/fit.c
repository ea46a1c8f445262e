/* Greedy plans: buffers in some order, each at the lowest offset that overlaps no placed buffer
 * (first fit) or in the tightest such gap (best fit). Fixed buffers come first. Orders: by size, by
 * size times life, by life, by start, by end. Each plan takes O(n^2), so large instances try few
 * orders. */
#include "codegen/dsa/internal.h"
#include <stdlib.h>
#include <string.h>

enum { BY_SIZE, BY_AREA, BY_LIFE, BY_START, BY_END, N_ORDERS };
enum { MANY = 4096, RUNS_OF_MANY = 2 };

typedef struct {
  double key;
  int32_t buffer;
} ranked;

typedef struct {
  const dsa_instance *in;
  ranked *order;
  int64_t *offset;
  int32_t *placed, n_placed; /* by offset */
  bool tightest;
} fit;

int64_t dsa_align_up(int64_t n, int64_t align) {
  return (n + align - 1) / align * align;
}

static double key_of(const dsa_buffer *b, int by) {
  switch (by) {
  case BY_SIZE:
    return (double)b->size;
  case BY_AREA:
    return (double)b->size * (double)b->life;
  case BY_LIFE:
    return (double)b->life;
  case BY_START:
    return -(double)b->begin;
  default:
    return (double)b->end;
  }
}

static int compare(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->key != y->key)
    return x->key > y->key ? -1 : 1;
  return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static void rank(fit *f, int by) {
  for (int32_t i = 0; i < f->in->n; i++) {
    const dsa_buffer *b = &f->in->buffer[i];
    f->order[i] = (ranked){b->fixed >= 0 ? 1e300 : key_of(b, by), i};
  }
  qsort(f->order, (size_t)f->in->n, sizeof *f->order, compare);
}

static int64_t lowest(const fit *f, const dsa_buffer *b) {
  int64_t end = 0, best = -1, best_gap = INT64_MAX; /* end: of the buffers alive with it so far */
  for (int32_t i = 0; i < f->n_placed; i++) {
    const dsa_buffer *other = &f->in->buffer[f->placed[i]];
    if (other->begin >= b->end || b->begin >= other->end)
      continue;
    int64_t at = dsa_align_up(end, b->align), other_at = f->offset[f->placed[i]];
    if (other_at - at >= b->size && other_at - at < best_gap) {
      if (!f->tightest)
        return at;
      best = at;
      best_gap = other_at - at;
    }
    if (other_at + other->size > end)
      end = other_at + other->size;
  }
  return best >= 0 ? best : dsa_align_up(end, b->align);
}

static void insert(fit *f, int32_t buffer) {
  int32_t low = 0, high = f->n_placed;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (f->offset[f->placed[middle]] <= f->offset[buffer])
      low = middle + 1;
    else
      high = middle;
  }
  memmove(f->placed + low + 1, f->placed + low, sizeof *f->placed * (size_t)(f->n_placed - low));
  f->placed[low] = buffer;
  f->n_placed++;
}

/* Stops early at `limit`. */
static int64_t place(fit *f, int64_t limit) {
  int64_t peak = 0;
  f->n_placed = 0;
  for (int32_t i = 0; i < f->in->n && peak < limit; i++) {
    int32_t k = f->order[i].buffer;
    const dsa_buffer *b = &f->in->buffer[k];
    f->offset[k] = b->fixed >= 0 ? b->fixed : lowest(f, b);
    insert(f, k);
    if (f->offset[k] + b->size > peak)
      peak = f->offset[k] + b->size;
  }
  return peak;
}

int64_t dsa_fit(const dsa_instance *in, int64_t *offset) {
  size_t bytes = sizeof *offset * (size_t)in->n;
  fit f = {.in = in};
  f.order = NEO_NEW_ARRAY(in->arena, ranked, in->n + 1);
  f.offset = NEO_NEW_ARRAY(in->arena, int64_t, in->n + 1);
  f.placed = NEO_NEW_ARRAY(in->arena, int32_t, in->n + 1);
  int64_t best = INT64_MAX;
  int runs = in->n > MANY ? RUNS_OF_MANY : 2 * N_ORDERS;
  for (int run = 0; run < runs && best > in->bound; run++) {
    f.tightest = run >= N_ORDERS;
    rank(&f, run % N_ORDERS);
    int64_t peak = place(&f, best);
    if (peak >= best)
      continue;
    best = peak;
    memcpy(offset, f.offset, bytes);
  }
  return best;
}
