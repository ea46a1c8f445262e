/* Sums over a data equation, found by their shape:
 *
 *   Z[v, d] = sum[e where dst[e] == v and ...] H[src[e], d]
 *
 * Read as it stands this costs E*V; run over e in order, adding into row dst[e], it costs E. */
#ifndef NEO_SCHEDULE_SEGMENT_H
#define NEO_SCHEDULE_SEGMENT_H
#include "fusion/form.h"
#include "schedule/schedule.h"

typedef struct {
  uint32_t stage;  /* the summing stage */
  uint32_t axis;   /* shared axis v */
  neo_expr before; /* what is left of the condition and uses no v; 0: nothing */
  neo_expr key;    /* what v equals; uses no v, and its loads are in range where `before` holds */
  neo_expr rest;   /* of the condition; 0: nothing */
} neo_segment;

/* One sum, one result of its type, which lies in no operand's place. */
bool neo_segment_of(neo_module *m, const neo_group *g, neo_segment *out);
/* Bit k: the key or the rest of the condition depends on axis k, whose lanes it would divide. */
uint64_t neo_segment_tested(const neo_module *m, const neo_form *f, const neo_segment *x);

#endif
