/* plan.c: offsets for buffers that live at different times: a portfolio of greedy orders.
 *
 * One greedy run takes the items in some order and puts each at the lowest offset where it meets
 * nothing that lives with it (first fit), or in the tightest such gap (best fit). Orders: by size,
 * by size times life, by life, by start, by end. While the best peak is above the lower bound, a
 * deterministic descent follows: an item moves forward in the best order (in turns the one at the
 * peak, and a random one before it), and the run is repeated; a move that makes it worse is taken
 * back.
 *
 * A run costs O(n^2) at worst (the items placed so far are kept sorted by offset), so the number of
 * rounds falls with n. It does not allocate: `scratch` is two arrays of n int32, the order and the
 * placed items.
 *
 * Lower bound: the largest sum of sizes alive at one time. */
#include "include/neo/neo_rt.h"
#include <stdbool.h>

typedef struct {
  neo_rt_item *items;
  int32_t n;
  int64_t align;
  int32_t *order, *placed;
} plan;

enum { BY_SIZE, BY_AREA, BY_LIFE, BY_START, BY_END, N_ORDERS };
enum { FIRST_FIT, BEST_FIT, N_FITS };

static bool together(const neo_rt_item *a, const neo_rt_item *b) {
  return a->first <= b->last && b->first <= a->last;
}

static int64_t aligned(int64_t n, int64_t align) {
  return (n + align - 1) / align * align;
}

/* ------------------------------------------------------------ sorting */

static double key_of(const neo_rt_item *i, int by) {
  double life = (double)i->last - i->first + 1;
  switch (by) {
  case BY_SIZE:
    return (double)i->size_bytes;
  case BY_AREA:
    return (double)i->size_bytes * life;
  case BY_LIFE:
    return life;
  case BY_START:
    return -(double)i->first;
  default:
    return (double)i->last;
  }
}

/* Whether a comes before b: larger key, then larger size, then smaller number. */
static bool before(const plan *p, int32_t a, int32_t b, int by) {
  double ka = key_of(&p->items[a], by), kb = key_of(&p->items[b], by);
  if (ka != kb)
    return ka > kb;
  if (p->items[a].size_bytes != p->items[b].size_bytes)
    return p->items[a].size_bytes > p->items[b].size_bytes;
  return a < b;
}

static void sift(const plan *p, int32_t *at, int32_t root, int32_t n, int by) {
  for (int32_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
    if (child + 1 < n && before(p, at[child], at[child + 1], by))
      child++;
    if (!before(p, at[root], at[child], by))
      return;
    int32_t t = at[root];
    at[root] = at[child];
    at[child] = t;
    root = child;
  }
}

/* Heap sort: qsort may allocate, and has no context. */
static void sort(const plan *p, int32_t *at, int by) {
  for (int32_t i = 0; i < p->n; i++)
    at[i] = i;
  for (int32_t i = p->n / 2; i-- > 0;)
    sift(p, at, i, p->n, by);
  for (int32_t i = p->n - 1; i > 0; i--) {
    int32_t t = at[0];
    at[0] = at[i];
    at[i] = t;
    sift(p, at, 0, i, by);
  }
}

/* ------------------------------------------------------------ one greedy run */

static int64_t find_offset(const plan *p, const neo_rt_item *item, int32_t n_placed, int fit) {
  int64_t end = 0, best = -1, best_gap = INT64_MAX; /* end of what lives with it so far */
  for (int32_t i = 0; i < n_placed; i++) {
    const neo_rt_item *other = &p->items[p->placed[i]];
    if (!together(item, other))
      continue;
    int64_t at = aligned(end, p->align), gap = other->offset - at;
    if (gap >= item->size_bytes && gap < best_gap) {
      if (fit == FIRST_FIT)
        return at;
      best = at;
      best_gap = gap;
    }
    if (other->offset + other->size_bytes > end)
      end = other->offset + other->size_bytes;
  }
  return best >= 0 ? best : aligned(end, p->align);
}

/* Keeps `placed` sorted by offset. */
static void insert(const plan *p, int32_t item, int32_t n_placed) {
  int32_t lo = 0, hi = n_placed;
  while (lo < hi) {
    int32_t mid = lo + (hi - lo) / 2;
    if (p->items[p->placed[mid]].offset <= p->items[item].offset)
      lo = mid + 1;
    else
      hi = mid;
  }
  for (int32_t i = n_placed; i > lo; i--)
    p->placed[i] = p->placed[i - 1];
  p->placed[lo] = item;
}

/* Places all in the order; returns the peak. Stops early above `limit`. */
static int64_t place(const plan *p, int fit, int64_t limit) {
  int64_t peak = 0;
  int32_t n_placed = 0;
  for (int32_t i = 0; i < p->n && peak <= limit; i++) {
    neo_rt_item *item = &p->items[p->order[i]];
    item->offset = 0;
    if (item->size_bytes <= 0)
      continue;
    item->offset = find_offset(p, item, n_placed, fit);
    insert(p, p->order[i], n_placed++);
    if (item->offset + item->size_bytes > peak)
      peak = item->offset + item->size_bytes;
  }
  return peak;
}

/* ------------------------------------------------------------ the lower bound */

/* Sum alive over time: starts and ends in two sorted lists, starts first at the same step. */
static int64_t most_alive(const plan *p, int64_t align) {
  int64_t now = 0, most = 0;
  sort(p, p->order, BY_START);
  sort(p, p->placed, BY_END); /* from the last end */
  int32_t end = p->n - 1;
  for (int32_t i = 0; i < p->n; i++) {
    const neo_rt_item *item = &p->items[p->order[i]];
    for (; end >= 0 && p->items[p->placed[end]].last < item->first; end--)
      now -= aligned(p->items[p->placed[end]].size_bytes, align);
    now += aligned(item->size_bytes, align);
    if (now > most)
      most = now;
  }
  return most;
}

/* ------------------------------------------------------------ descent */

static void move(const plan *p, int32_t from, int32_t to) {
  int32_t item = p->order[from];
  for (; from > to; from--)
    p->order[from] = p->order[from - 1];
  for (; from < to; from++)
    p->order[from] = p->order[from + 1];
  p->order[to] = item;
}

/* Place in the order of the last item that reaches `peak`. */
static int32_t at_peak(const plan *p, int64_t peak) {
  for (int32_t i = p->n; i-- > 0;) {
    const neo_rt_item *item = &p->items[p->order[i]];
    if (item->size_bytes > 0 && item->offset + item->size_bytes == peak)
      return i;
  }
  return -1;
}

static uint64_t next_random(uint64_t *s) {
  uint64_t z = (*s += UINT64_C(0x9e3779b97f4a7c15));
  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

/* Rounds are paid for by n: about 2^26 steps of work in all, a quarter of a second. */
static int32_t round_limit(int32_t n) {
  int64_t rounds = (INT64_C(1) << 26) / ((int64_t)n * n / 4 + 1);
  return rounds > 2000 ? 2000 : (int32_t)rounds;
}

/* Moves an item at the peak forward in the order, again and again; keeps what is no worse. The
 * order is the best one at the end, and the items hold its plan. */
static int64_t descend(const plan *p, int fit, int64_t good_enough) {
  uint64_t random = (uint64_t)p->n;
  int64_t peak = place(p, fit, INT64_MAX);
  for (int32_t round = round_limit(p->n); round > 0 && peak > good_enough; round--) {
    int32_t from = at_peak(p, peak);
    if (from <= 0)
      break;
    if (round % 2)
      from = 1 + (int32_t)(next_random(&random) % (uint64_t)from);
    int32_t to = (int32_t)(next_random(&random) % (uint64_t)from);
    move(p, from, to);
    int64_t now = place(p, fit, peak);
    if (now > peak) {
      move(p, to, from);
      place(p, fit, INT64_MAX);
    } else {
      peak = now;
    }
  }
  return peak;
}

int64_t neo_rt_plan(neo_rt_item *items, int32_t n, int64_t align, int64_t *scratch,
                    int64_t *lower_bound) {
  if (align < 1)
    align = 1;
  plan p = {items, n, align, (int32_t *)scratch, (int32_t *)scratch + n};
  int64_t bound = n > 0 ? most_alive(&p, 1) : 0, peak = INT64_MAX;
  if (lower_bound)
    *lower_bound = bound;
  if (n <= 0)
    return 0;
  int64_t good_enough = most_alive(&p, align);
  good_enough += good_enough / 512;
  int best_order = 0, best_fit = 0;
  for (int run = 0; run < N_ORDERS * N_FITS && peak > good_enough; run++) {
    sort(&p, p.order, run % N_ORDERS);
    int64_t now = place(&p, run / N_ORDERS, peak == INT64_MAX ? peak : peak - 1);
    if (now >= peak)
      continue;
    peak = now;
    best_order = run % N_ORDERS;
    best_fit = run / N_ORDERS;
  }
  sort(&p, p.order, best_order);
  return descend(&p, best_fit, good_enough);
}

int neo_rt_plan_valid(const neo_rt_item *items, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    const neo_rt_item *a = &items[i];
    if (a->offset < 0)
      return 0;
    for (int32_t j = 0; j < i; j++) {
      const neo_rt_item *b = &items[j];
      if (together(a, b) && a->offset < b->offset + b->size_bytes &&
          b->offset < a->offset + a->size_bytes)
        return 0;
    }
  }
  return 1;
}
