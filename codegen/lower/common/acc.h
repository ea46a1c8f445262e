/* Accumulators, for what else is in codegen/lower/common and for stages at a register tile.
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_COMMON_ACC_H
#define NEO_CODEGEN_LOWER_COMMON_ACC_H
#include "codegen/lower/common/scope.h"

/* ---- lower/common/acc.c */
/* At the element of the tile at hand. */
void neo_acc_set(lowering *l, neo_block *in, const acc_reg *r, const neo_lx *value);
/* Registers for the accumulators of a stage; the same with nothing in them. lanes: one for each. */
void neo_acc_make(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes);
void neo_acc_begin(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes);
/* Does x win over the best so far, whose payload is given? NaN wins, the first of equals wins,
 * anything wins over nothing. */
const neo_lx *neo_acc_wins(lowering *l, neo_reducer kind, const neo_lx *x, const neo_lx *best,
                           const neo_lx *payload);
/* Of a reducer without a payload. */
const neo_lx *neo_acc_combined(lowering *l, neo_reducer kind, const neo_lx *a, const neo_lx *x);
/* yes where cond (null: always) holds, else no. */
const neo_lx *neo_acc_where(lowering *l, const neo_lx *cond, const neo_lx *yes, const neo_lx *no);

#endif
