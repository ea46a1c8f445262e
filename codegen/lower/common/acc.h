/* Accumulators, as other files of codegen/lower/common and the stages at a register tile use them.
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* ---- lower/common/acc.c */
/* The identity of a reducer, which its accumulator starts from; of a payload (NONE) INT64_MIN. */
neo_value neo_acc_identity(neo_reducer kind, neo_type t);
/* Sets the accumulator's element at the tile's current row, column and lane. */
void neo_acc_set(lowering *l, neo_block *in, const acc_reg *r, const neo_lx *value);
/* make declares registers for a stage's accumulators; begin also sets them to the identity. lanes:
 * each lane has an accumulator of its own. */
void neo_acc_make(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes);
void neo_acc_begin(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes);
/* Does x win over the best so far, whose payload is given? NaN wins; of equals the first wins;
 * anything wins over an empty accumulator. */
const neo_lx *neo_acc_wins(lowering *l, neo_reducer kind, const neo_lx *x, const neo_lx *best,
                           const neo_lx *payload);
/* a and x combined by a reducer without a payload. */
const neo_lx *neo_acc_combined(lowering *l, neo_reducer kind, const neo_lx *a, const neo_lx *x);
/* yes where cond (null: always) holds, else no. */
const neo_lx *neo_acc_where(lowering *l, const neo_lx *cond, const neo_lx *yes, const neo_lx *no);
