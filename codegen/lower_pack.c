/* Operands of a contraction copied into scratch. */
#include "codegen/lower_scope.h"

void neo_lower_blocks(lowering *l, neo_block *in, const neo_lx *m_lo, const neo_lx *m_hi,
                      const neo_lx *n_lo, const neo_lx *n_hi) {
  neo_lower_block(l, in, m_lo, m_hi, n_lo, n_hi);
}
