/* Keyed scans: running reductions over the earlier elements with the same key, matched by their
 * shape:
 *
 *   P[u] = sum[k where k < u and key[k] == key[u]] X[k]
 *   P[u] = sum[k where k < u and key[k] == key[u] and 0 <= key[u]] X[k]    0 for a negative key
 *   P[b, u] = prod[k where u < k and key[k] == key[u] and w[k] > 0 and key[u] < N] X[b, k]
 *
 *   ->  table[..] = 0;  for u: P[u] = table[key[u]];  table[key[u]] += X[u]
 *
 * A literal evaluation costs U*U. One pass along u, downwards if `u < k`, with a running value for
 * each key in a table, costs U and the number of keys. With X = 1 it gives equal keys ranks, in
 * order, as in a counting sort. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  uint32_t axis;  /* shared axis u; all expressions are functions of it */
  bool down;      /* the scan runs from the last element to the first */
  neo_expr key;   /* i64, below n; several keys are combined into one number */
  neo_expr n;     /* number of keys, over sizes */
  neo_expr value; /* the value that u adds to its key */
  neo_expr adds;  /* the condition of adding; 0: always */
  neo_expr asks;  /* the condition of a result; elsewhere P[u] is the identity; 0: always */
  neo_expr
      there;    /* the part of `asks` that keeps the key in range; 0: the key is always in range */
  bool plain;   /* upward sums along the only axis; `asks` is 0, or keys are not negative */
  int64_t most; /* number of keys at the largest sizes */
} neo_keyed_scan;

/* Is the group a keyed scan? It has one reduction, over one axis with the range of a shared axis,
 * and its results share no memory with operands. */
bool neo_keyed_scan_of(neo_module *m, const neo_group *g, neo_keyed_scan *out);
