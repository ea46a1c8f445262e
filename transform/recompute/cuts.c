/* Dynamic programming over cuts. When the backward pass reaches a segment, memory holds the values
 * that cross the cuts up to its begin, and those that it saves:
 *
 *     kept[p] = kept[q] + bytes that cross p and are made after q         segment q..p recomputed
 *             = kept[q] + bytes saved in q..p                             or stored
 *     peak    = kept[q] + bytes saved in q..p <= most
 *
 * Earlier segments may thus be longer than later ones. Of all ways to p the one of least seconds +
 * price*kept[p] is taken, for several prices of a byte; a price of 0 recomputes only for the limit.
 * (T. Chen et al., "Training deep nets with sublinear memory cost"; R. Kumar et al., "Efficient
 * rematerialization for deep networks".) */
#include "transform/recompute/cuts.h"
#include <math.h>

enum { MOST_CUTS = 160, HALVINGS = 24 };

typedef struct {
  const recompute_chain *c;
  neo_arena *a;
  uint32_t n, *at;            /* cuts: at[0] is 0, at[n - 1] the end */
  double *seconds, *saved;    /* prefix sums by cut */
  double *fresh[2];           /* [q*n + p]: bytes across p that are made after q; unsaved ones */
  double *cost, *kept, *time; /* by cut: the best way to it */
  uint32_t *from;
  bool *again;
} cutter;

/* ---- candidate cuts */

static double crossing(const recompute_chain *c, uint32_t p) {
  double bytes = 0;
  for (uint32_t k = 0; k < c->n_values; k++)
    if (c->value[k].made <= p && p < c->value[k].last)
      bytes += c->value[k].bytes;
  return bytes;
}

/* Finds cuts that few bytes cross, one in each window of definitions. */
static void find_cuts(cutter *x) {
  uint32_t n = x->c->n, windows = n < MOST_CUTS ? n : MOST_CUTS;
  x->at = NEO_NEW_ARRAY(x->a, uint32_t, windows + 2);
  x->at[x->n++] = 0;
  for (uint32_t w = 0; w < windows; w++) {
    uint32_t from = (uint32_t)((uint64_t)n * w / windows) + 1,
             to = (uint32_t)((uint64_t)n * (w + 1) / windows), best = from;
    double least = crossing(x->c, from);
    for (uint32_t p = from + 1; p <= to; p++) {
      double bytes = crossing(x->c, p);
      best = bytes < least ? p : best;
      least = bytes < least ? bytes : least;
    }
    if (best < n)
      x->at[x->n++] = best;
  }
  x->at[x->n++] = n;
}

/* ---- costs between two cuts */

static void add_up(cutter *x) {
  const recompute_chain *c = x->c;
  x->seconds = NEO_NEW_ARRAY(x->a, double, x->n);
  x->saved = NEO_NEW_ARRAY(x->a, double, x->n);
  for (uint32_t p = 0; p < x->n; p++) {
    for (uint32_t k = 0; k < x->at[p]; k++)
      x->seconds[p] += c->seconds[k];
    for (uint32_t k = 0; k < c->n_values; k++)
      if (c->value[k].saved && c->value[k].made <= x->at[p])
        x->saved[p] += c->value[k].bytes;
  }
}

/* The last cut before the value is computed. */
static uint32_t cut_before(const cutter *x, uint32_t made) {
  uint32_t q = 0;
  while (q + 1 < x->n && x->at[q + 1] < made)
    q++;
  return q;
}

static void find_fresh(cutter *x) {
  const recompute_chain *c = x->c;
  for (int k = 0; k < 2; k++)
    x->fresh[k] = NEO_NEW_ARRAY(x->a, double, x->n * x->n);
  for (uint32_t k = 0; k < c->n_values; k++) {
    const recompute_value *v = &c->value[k];
    uint32_t q = cut_before(x, v->made);
    for (uint32_t p = q + 1; p < x->n && x->at[p] < v->last; p++) {
      x->fresh[0][q * x->n + p] += v->bytes;
      x->fresh[1][q * x->n + p] += v->saved ? 0 : v->bytes;
    }
  }
  for (int k = 0; k < 2; k++)
    for (uint32_t q = x->n - 1; q-- > 0;) /* values computed after q + 1 are computed after q */
      for (uint32_t p = q + 2; p < x->n; p++)
        x->fresh[k][q * x->n + p] += x->fresh[k][(q + 1) * x->n + p];
}

/* ---- the best way */

static void offer(cutter *x, uint32_t q, uint32_t p, bool again, double price) {
  double saved = x->saved[p] - x->saved[q];
  double time = x->time[q] + (again ? x->seconds[p] - x->seconds[q] : 0);
  double kept = x->kept[q];
  if (p + 1 < x->n) /* nothing comes after the last segment */
    kept += x->fresh[!again][q * x->n + p] + (again ? 0 : saved);
  double cost = price < INFINITY ? time + price * kept : kept;
  if (cost > x->cost[p] || (cost >= x->cost[p] && time >= x->time[p]))
    return;
  x->cost[p] = cost;
  x->kept[p] = kept;
  x->time[p] = time;
  x->from[p] = q;
  x->again[p] = again;
}

/* Finds a way to the end that stores at most `most` bytes. */
static bool find_way(cutter *x, double most, double price) {
  for (uint32_t p = 1; p < x->n; p++)
    x->cost[p] = INFINITY;
  x->cost[0] = x->kept[0] = x->time[0] = 0;
  for (uint32_t p = 1; p < x->n; p++)
    for (uint32_t q = 0; q < p; q++) {
      double peak = x->kept[q] + x->saved[p] - x->saved[q];
      if (isinf(x->cost[q]) || peak > most)
        continue;
      offer(x, q, p, false, price);
      if (p + 1 < x->n)
        offer(x, q, p, true, price);
    }
  return !isinf(x->cost[x->n - 1]);
}

/* The fewest bytes of any way. */
static double fewest(cutter *x) {
  double low = 0, high = x->saved[x->n - 1];
  for (int k = 0; k < HALVINGS; k++) {
    double middle = (low + high) / 2;
    if (find_way(x, middle, INFINITY))
      high = middle;
    else
      low = middle;
  }
  return high;
}

/* The price whose way takes the least time; INFINITY: there is no way. */
static double best_price(cutter *x, double most) {
  double best = INFINITY, least = INFINITY;
  double scale = x->seconds[x->n - 1] / (x->saved[x->n - 1] + 1);
  for (int k = 0; k <= 12; k++) {
    double price = k ? scale * pow(4, k - 6) : 0;
    if (!find_way(x, most, price) || x->time[x->n - 1] >= least)
      continue;
    least = x->time[x->n - 1];
    best = price;
  }
  return best;
}

static recompute_segment *segments_of(const cutter *x, uint32_t *n) {
  recompute_segment *out = NEO_NEW_ARRAY(x->a, recompute_segment, x->n);
  *n = 0;
  for (uint32_t p = x->n - 1; p; p = x->from[p])
    ++*n;
  for (uint32_t p = x->n - 1, k = *n; p; p = x->from[p])
    out[--k] = (recompute_segment){x->at[x->from[p]], x->at[p], x->again[p]};
  return out;
}

recompute_segment *recompute_cut(const recompute_chain *c, double most, neo_arena *a, uint32_t *n) {
  cutter x = {.c = c, .a = a};
  find_cuts(&x);
  add_up(&x);
  find_fresh(&x);
  x.cost = NEO_NEW_ARRAY(a, double, x.n);
  x.kept = NEO_NEW_ARRAY(a, double, x.n);
  x.time = NEO_NEW_ARRAY(a, double, x.n);
  x.from = NEO_NEW_ARRAY(a, uint32_t, x.n);
  x.again = NEO_NEW_ARRAY(a, bool, x.n);
  double least = fewest(&x);
  most = most > least ? most : least;
  (void)find_way(&x, most, best_price(&x, most));
  return segments_of(&x, n);
}
