/* Segmented sums (schedule/segment/segment.h), for rows [m_lo, m_hi) and columns [n_lo, n_hi).
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_SEGMENT_H
#define NEO_CODEGEN_LOWER_SEGMENT_H
#include "codegen/lower/common/scope.h"
#include "schedule/segment/segment.h"

void neo_lower_segment(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi,
                       const neo_lx *n_lo, const neo_lx *n_hi);
/* The block in which the term at the own axes belongs to a row in [lo, hi), at which the axis of the equation is then. */
neo_block *neo_lower_segment_term(lowering *l, neo_block *in, const neo_segment *seg,
                                  const neo_lx *lo, const neo_lx *hi);

#endif
