/* Running sums by keys, matched by their shape:
 *
 *   P[u] = sum[k where k < u and key[k] == key[u]] X[k]          for instance 1: how many equal keys come before
 *   P[u] = sum[k where k < u and key[k] == key[u] and 0 <= key[u]] X[k]      0 where there is no key
 *
 * Evaluated literally this costs U*U. One pass along u, with a running sum for each key in a table, costs U and
 * the keys. It is how equal keys get places of their own, in order: a counting sort. */
#ifndef NEO_SCHEDULE_KEYED_SCAN_H
#define NEO_SCHEDULE_KEYED_SCAN_H
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  neo_expr key;   /* of shared axis 0: i64, below n */
  neo_expr n;     /* keys, over sizes */
  neo_expr value; /* that u adds to its key, over shared axis 0 */
  bool bounded;   /* keys are never negative */
  bool asks;      /* negative ones have no sum: only elements with 0 <= key[u] are counted */
  int64_t most;   /* keys at the largest sizes */
} neo_keyed_scan;

/* There is one shared axis, and one sum over one axis of the same range. Results share no memory with
 * operands. */
bool neo_keyed_scan_of(neo_module *m, const neo_group *g, neo_keyed_scan *out);

#endif
