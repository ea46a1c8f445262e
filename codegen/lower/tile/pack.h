/* Packed operands of a contraction: copies in scratch, in the order in which register tiles read
 * them.
 *
 *   pack.c   which operands are packed, and their layout
 *   copy*.c  the copies (tile/copy.h)
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* Fills l->packs, and removes the conjuncts that the copies test from the bounds' conditions. */
void neo_lower_plan_packs(lowering *l);
/* ---- lower/tile/copy.c */
/* Copies the block of rows [range[0], range[1]) and columns [range[2], range[3]) of an operand. s
 * is a stage of the original form, and so are the facts. */
void neo_lower_copy(lowering *l, neo_block *in, const pack *p, const neo_stage *s,
                    const stage_bounds *b, const neo_lx *const *range);
