/* Segmented sums (schedule/segment/segment.h), for rows [m_lo, m_hi) and columns [n_lo, n_hi).
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_SEGMENT_H
#define NEO_CODEGEN_LOWER_SEGMENT_H
#include "codegen/lower/common/scope.h"

void neo_lower_segment(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi,
                       const neo_lx *n_lo, const neo_lx *n_hi);

#endif
