/* What the files of a stage at one register tile share (lower/common/stage.c, lower/common/acc.c, lower/common/lanes.c);
 * lower/scope.h has what others call of them. */
#ifndef NEO_CODEGEN_LOWER_STAGE_H
#define NEO_CODEGEN_LOWER_STAGE_H
#include "codegen/lower/scope.h"

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

/* ---- lower/common/stage.c */
/* Where the condition does not change inside the tile, nor along lanes of an own axis (UINT32_MAX:
 * there are none), it is a branch; else it is left as part of every lane. */
neo_block *neo_lower_open_where(lowering *l, neo_block *in, const stage_bounds *b,
                                uint32_t lane_axis, neo_expr *left);
/* Of own axis k; of the first one the block at hand. */
void neo_lower_own_range(lowering *l, const stage_bounds *b, uint32_t k, const neo_lx **lo,
                         const neo_lx **hi);

/* ---- lower/common/lanes.c */
/* The accumulators of a stage, with the steps of its last own axis in lanes. */
void neo_lower_reduce_lanes(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            const stage_bounds *b);

#endif
