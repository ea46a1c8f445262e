/* Segmented reductions, matched by their shape: the condition of a reduction compares an axis with
 * data, by an equation or as an interval.
 *
 *   Z[v, d] = max[e where dst[e] == v and ...] H[src[e], d]
 *   G[e, d] = sum[v where begin[v] <= e and e < begin[v + 1]] D[v, d]
 *
 * A literal evaluation costs E*V. One pass over the reduction's points in order, which adds each to
 * its own row (or run of rows), costs E + V (the rows of all intervals).
 *
 * Accumulators of the rows are in memory: in the result, if it has their type, else in tables of
 * the kernel. A reducer of two stages (logsumexp: the maximum, then the sum) makes a pass for each.
 * The order of a row's terms is that of the points, as in the reduction itself. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

enum {
  NEO_SEGMENT_KEYS = 4,           /* axes that are compared with data */
  NEO_SEGMENT_PASSES = 2,         /* stages of a reducer */
  NEO_SEGMENT_ELEMENTS = 1 << 24, /* elements of a table, at most */
  NEO_SEGMENT_ACCS = 4,
};

typedef struct {
  uint32_t axis; /* shared axis v */
  /* v equals `from`, or is at least `from`, which does not use v. Loads in `from` are in range if
   * `before` holds and the axes of the earlier keys are in their ranges. */
  neo_expr from;
  neo_expr last, end; /* an interval: v is at most `last`, or below `end`; 0: an equation */
} neo_segment_key;

typedef struct {
  neo_expr before; /* conjuncts that use no key's axis and no data; 0: none */
  neo_segment_key key[NEO_SEGMENT_KEYS];
  uint32_t n_keys;
  neo_expr rest; /* the rest of the condition; 0: none */
  bool of_rows;  /* keys are in range only if there are rows, because only rows evaluate them */
} neo_segment_pass;

typedef struct {
  uint32_t axis;     /* axis of the first key: the rows */
  uint64_t axes;     /* axes of all keys, as bits */
  uint32_t n_passes; /* the first stages of the form; the last one stores */
  neo_segment_pass pass[NEO_SEGMENT_PASSES];
  bool in_place; /* the only result holds accumulator 0 */
  bool ends;     /* and accumulator 0 is the result: nothing follows the pass */
  bool rows;     /* readers need only rows that some term has: other rows are not written */
} neo_segment;

/* Is the group a segmented reduction? Results may share memory with operands unless they hold
 * accumulators. The form then has the keys' axes in neo_form.keyed. */
bool neo_segment_of(neo_module *m, const neo_group *g, neo_segment *out);
/* Is there one equation alone, whose terms are added up, or stored, in the result? */
bool neo_segment_is_sum(const neo_form *f, const neo_segment *x);
/* Bit k: the key or the condition depends on axis k, so that lanes along it would diverge. */
uint64_t neo_segment_tested(const neo_module *m, const neo_form *f, const neo_segment *x);
/* Elements of the longest table, for this number of columns of the vector axis; 0: there is no
 * table. */
double neo_segment_table(neo_module *m, const neo_form *f, const neo_segment *x, int64_t columns);
/* The share of the E*V points that passes over e visit, with the V rows. */
double neo_segment_visited(neo_module *m, const neo_form *f, const neo_segment *x);
/* Do passes take less time than loops over all points, whose lanes share a vector? */
bool neo_segment_pays(neo_module *m, const neo_group *g, const neo_machine *machine);
