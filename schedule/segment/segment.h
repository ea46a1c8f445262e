/* Reductions by keys, that is over equations of data, or over intervals that data say, matched
 * by their shape:
 *
 *   Z[v, d] = max[e where dst[e] == v and ...] H[src[e], d]
 *   G[e, d] = sum[v where begin[v] <= e and e < begin[v + 1]] D[v, d]
 *
 * Evaluated literally these cost E*V. One pass over the reduction's points in order, each of
 * which goes to its own row (a run of rows), costs E + V (the rows of all intervals).
 *
 * Accumulators of the rows lie in memory: in the result, if it is of their type, else in tables
 * of the kernel. A reducer of two stages (logsumexp: the maximum, then the sum) makes a pass for
 * each. A row's terms are taken in the order of the points, as the reduction itself takes them. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

enum {
  NEO_SEGMENT_KEYS = 4,           /* axes that data say */
  NEO_SEGMENT_PASSES = 2,         /* stages of a reducer */
  NEO_SEGMENT_ELEMENTS = 1 << 24, /* of a table, at most */
  NEO_SEGMENT_ACCS = 4,
};

typedef struct {
  uint32_t axis; /* shared axis v */
  /* v equals `from`, or is at least that. It does not use v; its loads are in range where `before`
   * holds and the axes of the keys before this one are in their ranges. */
  neo_expr from;
  neo_expr last, end; /* of an interval: v is at most `last`, or below `end`; 0: an equation */
} neo_segment_key;

typedef struct {
  neo_expr before; /* conjuncts that use no key's axis and no data; 0: none */
  neo_segment_key key[NEO_SEGMENT_KEYS];
  uint32_t n_keys;
  neo_expr rest; /* the rest of the condition; 0: none */
  bool of_rows;  /* keys are in range only where there are rows: these are what reads them */
} neo_segment_pass;

typedef struct {
  uint32_t axis;     /* of the first key: the rows */
  uint64_t axes;     /* of all keys, as bits */
  uint32_t n_passes; /* the first stages of the form; the last one stores */
  neo_segment_pass pass[NEO_SEGMENT_PASSES];
  bool in_place;  /* accumulator 0 lies in the only result */
  bool ends;      /* and it is the result: nothing is left to do behind the pass */
  bool rows;      /* only rows that some key is are read: others are not written */
} neo_segment;

/* Is the group a reduction by keys? Results may share memory with operands unless accumulators
 * lie in them. Its form then tells which axes the keys say (neo_form.keyed). */
bool neo_segment_of(neo_module *m, const neo_group *g, neo_segment *out);
/* Is there one equation alone, whose terms are added up, or stored, in the result? */
bool neo_segment_is_sum(const neo_form *f, const neo_segment *x);
/* Bit k: the key or the condition depends on axis k, so that lanes along it would diverge. */
uint64_t neo_segment_tested(const neo_module *m, const neo_form *f, const neo_segment *x);
/* Elements of the longest table, for so many columns of the vector axis; 0: there is no table. */
double neo_segment_table(neo_module *m, const neo_form *f, const neo_segment *x, int64_t columns);
/* The share of the E*V points that passes over e visit, with the V rows. */
double neo_segment_visited(neo_module *m, const neo_form *f, const neo_segment *x);
/* Do passes take less time than loops over all points, whose lanes share a vector? */
bool neo_segment_pays(neo_module *m, const neo_group *g, const neo_machine *machine);
