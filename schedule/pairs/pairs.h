/* Contractions of pairs, on the matrix unit or by dots of vectors: which, how their operands lie in
 * scratch, and what a schedule of one costs.
 *
 * A product of two factors that were rounded to bf16 (transform/mixed_precision.c) and are summed in f32 can
 * be done by tiles of 16 rows, 16 columns and 32 steps of the reduction, or by vectors of 16
 * columns and 2 steps (codegen/loop/tile.h). Both
 * operands are copied into scratch, as cells of two numbers that are neighbours along one of the
 * reduction axes, the paired one; tiles are 16 by 16 cells, 1 KB, in a row:
 *
 *     rows:     cell[row / 16][pair / 16][row % 16][pair % 16]
 *     columns:  cell[column / 16][pair / 16][pair % 16][column % 16]
 *
 * The pairs of all reduction axes are one index: the other axes in order, then the paired one. What
 * does not exist (an odd last element, pairs beyond a multiple of 16, rows and columns beyond the
 * last) is zero. On the matrix unit the register tile is 1 or 2 tiles of rows and up to 3 of
 * columns: sums and operands together have 8 registers. Of dots it is rows that a tile of the
 * operand has whole numbers of, and vectors of columns; rows are what there are, not 16, or one
 * where no axis is of rows. They may
 * read an operand in place, which pays where pairs lie together: what transform/prepack.c lays out
 * for them, W's steps in pairs in tiles of 16 columns, is read as it lies. */
#ifndef NEO_SCHEDULE_PAIRS_H
#define NEO_SCHEDULE_PAIRS_H
#include "schedule/contract.h"

enum { NEO_PAIRS_SIDE = 16, NEO_DOT_STEPS = 4 /* pairs that dots are unrolled by */ };

typedef struct {
  bool on;
  neo_contraction c;
  neo_side side[2];
  neo_expr narrow[2]; /* the operands as bf16 */
  uint32_t paired;    /* own axis of which neighbours are pairs */
  /* of own axes, in a block, at the largest sizes */
  int64_t lo[NEO_FORM_MAX_AXES], extent[NEO_FORM_MAX_AXES];
  /* pairs between two steps of an own axis; of the paired one, between two pairs: 1 */
  int64_t coef[NEO_FORM_MAX_AXES];
  int64_t pairs, tiles;  /* of the reduction, in a block */
  int64_t rows, columns; /* in a block, in whole tiles */
} neo_pairs_shape;

/* on: false if the schedule's axes do not fit. */
neo_pairs_shape neo_pairs_shape_of(neo_module *m, const neo_form *f, const neo_schedule *s);
/* May dots read operand k in place, steps counted from *lo to *hi? */
bool neo_pairs_in_place(neo_module *m, const neo_form *f, const neo_schedule *s,
                        const neo_pairs_shape *x, int64_t *lo, int64_t *hi);
bool neo_pairs_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                     const neo_schedule *s, neo_str *why);
/* The best such schedule; false: there is none. */
bool neo_model_pairs(neo_module *m, const neo_form *f, const neo_machine *machine,
                     neo_schedule *out);
double neo_pairs_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_schedule *s); /* cycles */
/* Against vectors as wide as the machine has them, at their best. */
bool neo_pairs_pays(neo_module *m, const neo_form *f, const neo_machine *machine,
                    const neo_schedule *s);

#endif
