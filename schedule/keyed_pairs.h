/* Reductions by keys that compare each element with every key:
 *
 *   Z[v] = sum[e] select(key[e] == v, X[e], 0)        V*E comparisons
 *   Z[v] = sum[e where key[e] == v or e == v] X[e]    V*E
 *   Z[v] = max[e where key[e] == v] X[e]              E: a pass over the terms (segment/segment.h)
 *
 * The result is right, but the time is often a surprise, so the compiler reports the source
 * line. */
#pragma once
#include "schedule/schedule.h"

typedef enum {
  NEO_KEYED_BY_SELECT, /* the condition is in the terms of a sum */
  NEO_KEYED_BY_KEY,    /* both sides are data: key[e] == key[f] */
  NEO_KEYED_OTHER, /* the condition determines no single row for a term, or tables are too long */
} neo_keyed_form;

typedef struct {
  neo_keyed_form form;
  double elements, keys; /* the most of each */
} neo_keyed_pairs;

/* Does the group compare so under this schedule, and are the elements and the keys many? On CPUs:
 * on a GPU each element looks for its terms by design. */
bool neo_keyed_pairs_of(neo_module *m, const neo_group *g, const neo_schedule *s,
                        neo_keyed_pairs *out);
