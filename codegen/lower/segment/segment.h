/* Sums over a data equation, run over their source (schedule/segment/segment.h): rows [m_lo, m_hi), columns
 * [n_lo, n_hi).
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_SEGMENT_H
#define NEO_CODEGEN_LOWER_SEGMENT_H
#include "codegen/lower/common/scope.h"

void neo_lower_segment(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi,
                       const neo_lx *n_lo, const neo_lx *n_hi);

#endif
