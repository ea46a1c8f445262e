/* Copies of operands into scratch (packing), in these files:
 *
 *   lower/tile/copy.c         operands: their rows, columns, runs; columns of several fused axes
 *   lower/tile/copy_order.c   which loop of a copy is where
 *   lower/tile/copy_loops.c   the loops, prefetches of rows that are gathered
 *
 * Private to codegen/lower/tile. */
#pragma once
#include "codegen/lower/tile/pack.h"

typedef struct { /* a loop of the copy */
  uint32_t axis;
  bool adds; /* its variable is added to the axis' value, which another loop has set */
  const neo_lx *lo, *hi;
  int64_t step, scale, coef; /* step of the loop; its stride along the axis, and in scratch */
  const neo_lx *origin;      /* value of the variable at which scratch begins */
  int64_t base;              /* value of the axis where the variable is 0 */
} copy_loop;

typedef struct {
  lowering *l;
  const pack *p;
  const neo_stage *s;
  const stage_bounds *b;
  neo_expr value;
  uint32_t buf;
  copy_loop at[NEO_FORM_MAX_AXES + 4];
  uint32_t n;
  lower_terms offset;
  const copy_loop *across; /* n_across iterations of this loop are unrolled in the innermost one */
  int64_t n_across;
  uint32_t step;                    /* the own axis of the innermost loop over own axes, */
  const neo_lx *at_step, *end_step; /* its value and its end; null: there is no such loop */
  uint32_t square;                  /* the number of that loop; c->n: there is none */
} copier;

/* ---- lower/tile/copy_order.c */
/* Makes the loop innermost along which the operand's loads are contiguous, so that they are
 * vectors. */
void neo_copy_contiguous_last(copier *c);
/* If one loop is contiguous in memory and another one in scratch, but none in both, chooses square
 * blocks of these two. They are loaded as vectors along the first, which is innermost, transposed
 * in registers (llvm/core/transpose.c), and stored as vectors along the second. The second loop's
 * place among the others follows its stride in memory. */
void neo_copy_squares(copier *c);
/* Interchanges the first n loops, over own axes, by falling stride in memory, for locality of
 * reads. Ranges that depend on other own axes keep their order. */
void neo_copy_source_order(copier *c, uint32_t n);

/* ---- lower/tile/copy_loops.c: loops of copies, and their code: loops k and on */
/* add appends a loop inside of all others. own_loop is the loop over own axis k, which for the
 * first axis is the current block. */
void neo_copy_add(copier *c, copy_loop x);
copy_loop neo_copy_own_loop(copier *c, uint32_t k);
void neo_copy_loops(copier *c, neo_block *in, uint32_t k);
