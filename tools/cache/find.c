/* Looking for records: the best for a group, and the best of the nearest shapes. */
#include "tools/cache/set.h"
#include <math.h>
#include <string.h>

static bool same(const uint64_t a[2], const uint64_t b[2]) {
  return a[0] == b[0] && a[1] == b[1];
}

static bool for_machine(const neo_record *r, const char *target, const char *build) {
  return neo_streq(r->target, target) && neo_streq(r->build, build);
}

bool neo_record_better(const neo_record *a, const neo_record *b) {
  return neo_record_ratio(b) <= neo_record_ratio(a);
}

const neo_record *neo_records_find(const neo_records *s, const uint64_t key[2], const char *target,
                                   const char *build, uint32_t threads) {
  const neo_record *best = NULL;
  for (size_t k = 0; k < s->all.n; k++) {
    const neo_record *r = &s->all.at[k];
    if (!same(r->key, key) || !for_machine(r, target, build))
      continue;
    bool was = best && best->threads == threads, is = r->threads == threads;
    if (!best || is > was || (is == was && neo_record_better(best, r)))
      best = r;
  }
  return best;
}

/* ---- nearest */

typedef struct {
  const neo_record *r;
  double distance;
} candidate;

static double distance(const neo_record *r, const int64_t *sizes) {
  double sum = 0;
  for (uint32_t k = 0; k < r->n_sizes; k++) {
    double a = r->sizes[k] > 0 ? (double)r->sizes[k] : 0.5;
    double b = sizes[k] > 0 ? (double)sizes[k] : 0.5;
    sum += fabs(log(a / b));
  }
  return sum;
}

/* Orders candidates by distance, and equal ones independently of the order in which they were
 * read. */
static int compare(const candidate *a, const candidate *b) {
  if (a->distance != b->distance)
    return a->distance < b->distance ? -1 : 1;
  for (uint32_t k = 0; k < a->r->n_sizes; k++)
    if (a->r->sizes[k] != b->r->sizes[k])
      return a->r->sizes[k] < b->r->sizes[k] ? -1 : 1;
  for (int k = 0; k < 2; k++)
    if (a->r->key[k] != b->r->key[k])
      return a->r->key[k] < b->r->key[k] ? -1 : 1;
  return 0;
}

/* Inserts a candidate into the list of the nearest, which is sorted and has each key once. */
static size_t insert(const neo_record **out, double *far, size_t n, size_t most, candidate x) {
  size_t at = 0;
  for (size_t k = 0; k < n; k++)
    if (same(out[k]->key, x.r->key)) {
      if (neo_record_better(out[k], x.r))
        out[k] = x.r;
      return n;
    }
  while (at < n && compare(&(candidate){out[at], far[at]}, &x) <= 0)
    at++;
  if (at == most)
    return n;
  size_t moved = (n < most ? n : most - 1) - at;
  memmove(&out[at + 1], &out[at], moved * sizeof *out);
  memmove(&far[at + 1], &far[at], moved * sizeof *far);
  out[at] = x.r;
  far[at] = x.distance;
  return n < most ? n + 1 : most;
}

size_t neo_records_nearest(const neo_records *s, const uint64_t family[2], const int64_t *sizes,
                           uint32_t n_sizes, const char *target, const char *build,
                           const neo_record **out, size_t most) {
  double *far = NEO_NEW_ARRAY(s->arena, double, most + 1);
  size_t n = 0;
  for (size_t k = 0; most && k < s->all.n; k++) {
    const neo_record *r = &s->all.at[k];
    if (same(r->family, family) && r->n_sizes == n_sizes && for_machine(r, target, build))
      n = insert(out, far, n, most, (candidate){r, distance(r, sizes)});
  }
  return n;
}
