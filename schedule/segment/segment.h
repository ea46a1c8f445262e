/* Segmented sums, that is sums over an equation of data, matched by their shape:
 *
 *   Z[v, d] = sum[e where dst[e] == v and ...] H[src[e], d]
 *
 * Evaluated literally this costs E*V. One pass over e in order, which adds into row dst[e], costs
 * E. */
#ifndef NEO_SCHEDULE_SEGMENT_H
#define NEO_SCHEDULE_SEGMENT_H
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  uint32_t stage;  /* the summing stage */
  uint32_t axis;   /* shared axis v */
  neo_expr before; /* conjuncts that use no v and no data; 0: none */
  neo_expr key;    /* v equals it; uses no v, and its loads are in range where `before` holds */
  neo_expr rest;   /* the rest of the condition; 0: none */
  bool rows;       /* only rows that some key is are read: others are not written */
  bool injective;  /* and each is one integer term: it is stored */
} neo_segment;

/* There is one sum, or the question whether there is a term, and one result of its type, which shares no memory with operands. */
bool neo_segment_of(neo_module *m, const neo_group *g, neo_segment *out);
/* Bit k: the key or the condition depends on axis k, so that lanes along it would diverge. */
uint64_t neo_segment_tested(const neo_module *m, const neo_form *f, const neo_segment *x);
/* The share of the E*V points that one pass over e visits, with its V rows: 1/V + 1/E. */
double neo_segment_visited(neo_module *m, const neo_form *f, const neo_segment *x);

#endif
