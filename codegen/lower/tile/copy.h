/* What the files of copies into scratch share:
 *
 *   lower/tile/copy.c         operands: their rows, columns, runs
 *   lower/tile/copy_order.c   which loop of a copy is where
 *   lower/tile/copy_loops.c    the loops
 *   lower/tile/copy_fused.c  columns of several axes that lanes walk as one
 *
 * Private to codegen/lower/tile. */
#ifndef NEO_CODEGEN_LOWER_COPY_H
#define NEO_CODEGEN_LOWER_COPY_H
#include "codegen/lower/tile/pack.h"

typedef struct { /* a loop of the copy */
  uint32_t axis;
  bool adds; /* its variable is added to the axis' value, which another loop began */
  const neo_lx *lo, *hi;
  int64_t step, scale, coef; /* of an iteration: elements of the axis, of scratch */
  const neo_lx *origin;      /* where scratch counts from */
  int64_t base;              /* of the axis where the variable is 0 */
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
  const copy_loop *across; /* around the innermost loop: `n_across` iterations, unrolled inside */
  int64_t n_across;
  uint32_t square; /* the loop of which iterations go there; c->n: there is none */
} copier;

/* ---- lower/tile/copy_order.c */
/* The loop along which the operand's loads are contiguous becomes the innermost, so that they are
 * vectors. */
void neo_copy_contiguous_last(copier *c);
/* Where no loop is contiguous on both sides, but one in memory and another one in scratch, squares
 * of these two are read as vectors along the one, the innermost, and written as vectors along the
 * other (llvm/core/transpose.c). That one comes where it moves in memory: each of its vectors is a stream. */
void neo_copy_squares(copier *c);
/* The first n loops, over own axes, go from large steps in memory to small ones: what is read stays
 * near, though the reduction has another order. Ranges that depend on other own axes keep theirs.
 */
void neo_copy_source_order(copier *c, uint32_t n);

/* ---- lower/tile/copy_loops.c: loops of copies, and their code: loops k and on */
/* A loop more, inside of all others; one over own axis k: all of it, of the first the block at
 * hand. */
void neo_copy_add(copier *c, copy_loop x);
copy_loop neo_copy_own_loop(copier *c, uint32_t k);
void neo_copy_loops(copier *c, neo_block *in, uint32_t k);

/* ---- lower/tile/copy_fused.c */
typedef struct { /* columns [lo, hi) */
  const neo_lx *lo, *hi;
  uint32_t first; /* own axis from which on steps are in the temporary together */
} fused_columns;
/* Loops over own axes k and on that are not in the temporary, in which it is filled and cut. */
void neo_copy_fused(copier *c, neo_block *in, const fused_columns *w, uint32_t k);

#endif
