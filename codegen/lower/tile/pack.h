/* Operands of a contraction in scratch, in the order in which register tiles read them:
 *
 *   pack.c   which operands are packed, and how they lie there
 *   copy*.c  how they are copied there (tile/copy.h)
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_PACK_H
#define NEO_CODEGEN_LOWER_PACK_H
#include "codegen/lower/common/scope.h"

/* Fills l->packs, and leaves out of bounds' conditions what the copies take. */
void neo_lower_plan_packs(lowering *l);
/* ---- lower/tile/copy.c: the block [range[0], range[1]) of rows and [range[2], range[3]) of columns
 * of an operand. s: of the original form, as the facts. */
void neo_lower_copy(lowering *l, neo_block *in, const pack *p, const neo_stage *s,
                    const stage_bounds *b, const neo_lx *const *range);

#endif
