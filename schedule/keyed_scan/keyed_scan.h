/* Running reductions of equal keys, matched by their shape:
 *
 *   P[u] = sum[k where k < u and key[k] == key[u]] X[k]
 *   P[u] = sum[k where k < u and key[k] == key[u] and 0 <= key[u]] X[k]    0: there is no key
 *   P[b, u] = prod[k where u < k and key[k] == key[u] and w[k] > 0 and key[u] < N] X[b, k]
 *
 * Evaluated literally this costs U*U. One pass along u, from its other end if `u < k`, with a
 * running value for each key in a table, costs U and the keys. It is how equal keys get places
 * of their own, in order: a counting sort. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  uint32_t axis;  /* shared axis u; all expressions are at it */
  bool down;      /* from the last element on */
  neo_expr key;   /* i64, below n; of several keys, the number of all together */
  neo_expr n;     /* keys, over sizes */
  neo_expr value; /* that u adds to its key */
  neo_expr adds;  /* where it does; 0: always */
  neo_expr asks;  /* elsewhere P[u] is what a reduction of nothing is; 0: it is nowhere */
  neo_expr there; /* the part of `asks` without which no key is in range; 0: there always is one */
  bool plain;     /* upward sums along the only axis; `asks` is 0, or that keys are not negative */
  int64_t most;   /* keys at the largest sizes */
} neo_keyed_scan;

/* There is one reduction, over one axis of the range of a shared one. Results share no memory with
 * operands. */
bool neo_keyed_scan_of(neo_module *m, const neo_group *g, neo_keyed_scan *out);
