/* Contractions of pairs of bf16 (schedule/pairs/pairs.h), by tiles of the matrix unit (matrix.c) or
 * by dots of vectors (dots.c).
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* Fills l->matrix and l->packs. */
void neo_lower_matrix_plan(lowering *l);
void neo_lower_matrix_copy(lowering *l, neo_block *in, const pack *p, const neo_lx *const *range);
/* Computes all tiles of a block of rows and columns by the matrix unit. */
void neo_lower_matrix_block(lowering *l, neo_block *in, const neo_lx *const *range);
/* Adds a register tile's sums, by dots, to accumulators that are declared. */
void neo_lower_dots(lowering *l, neo_block *in, const neo_stage *s, const tile *t);
