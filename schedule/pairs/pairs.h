/* Contractions of pairs of bf16, by the matrix unit or by dot products of vectors: which forms they
 * match, the layout of their operands in scratch, and the cost of their schedules.
 *
 * A product of two factors that were rounded to bf16 (transform/mixed_precision.c) and are summed
 * in f32 can be computed by tiles of 16 rows, 16 columns and 32 steps of the reduction, or by
 * vectors of 16 columns and 2 steps (codegen/loop/tile.h). Both operands are packed into scratch as
 * cells of two numbers that are neighbours along one of the reduction axes, the paired one. Tiles
 * of 16 by 16 cells, 1 KB each, are contiguous:
 *
 *     rows:     cell[row / 16][pair / 16][row % 16][pair % 16]
 *     columns:  cell[column / 16][pair / 16][pair % 16][column % 16]
 *
 * The pairs of all reduction axes are one index: the other axes in order, then the paired one.
 * Padding is zero: an odd last element, pairs beyond the last up to a multiple of 16, rows and
 * columns beyond the last. On the matrix unit the register tile is 1 or 2 tiles of rows and up to 3
 * of columns, since sums and operands share 8 registers. For dot products it is a number of rows
 * that divides 16, and vectors of columns; rows are not padded to 16, and there is one row where no
 * axis is one of rows. Dot products may read an operand in place, which pays where pairs are
 * contiguous: weights that transform/prepack.c laid out, in pairs of steps and tiles of 16 columns,
 * are not packed again. */
#pragma once
#include "schedule/contract.h"

enum { NEO_PAIRS_SIDE = 16, NEO_DOT_STEPS = 4 /* pairs by which dot products are unrolled */ };

typedef struct {
  bool on;
  neo_contraction c;
  neo_side side[2];
  neo_expr narrow[2]; /* the operands as bf16 */
  uint32_t paired;    /* the own axis whose neighbours are pairs */
  /* ranges of own axes, in a block, at the largest sizes */
  int64_t lo[NEO_FORM_MAX_AXES], extent[NEO_FORM_MAX_AXES];
  /* stride of each own axis in pairs; of the paired axis, between two pairs: 1 */
  int64_t coef[NEO_FORM_MAX_AXES];
  int64_t pairs, tiles;  /* pairs of the reduction in a block, and tiles of them */
  int64_t rows, columns; /* rows and columns of a block, rounded up to tiles */
} neo_pairs_shape;

/* on: false if the schedule's axes do not fit. */
neo_pairs_shape neo_pairs_shape_of(neo_module *m, const neo_form *f, const neo_schedule *s);
/* May dot products read operands in place? Steps are then counted from *lo to *hi. */
bool neo_pairs_in_place(neo_module *m, const neo_form *f, const neo_schedule *s,
                        const neo_pairs_shape *x, int64_t *lo, int64_t *hi);
/* Is the schedule of pairs legal on this machine? If not, *why (may be null) gets the reason. */
bool neo_pairs_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                     const neo_schedule *s, neo_str *why);
/* The best schedule of this strategy; false: there is none. */
bool neo_model_pairs(neo_module *m, const neo_form *f, const neo_machine *machine,
                     neo_schedule *out);
double neo_pairs_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_schedule *s); /* in cycles */
