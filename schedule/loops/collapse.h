/* Columns of the register tile along two axes that lie apart in the form.
 *
 *     u[n, m, p, q, j] = sum[c, r, s, k] A[n, c, 2*p + r, 2*q + s, k] * F[m, c, r, s, k, j]
 *
 * Where lanes run along j, which is short (the elements of a capsule), a tile of rows and one
 * vector multiplies and adds once for nearly every load. Its other columns are those of m, which
 * the same operand has: columns are the pairs (m, j), walked as one axis as neighbouring axes are
 * (schedule/contract.c), so that packed operands are streams of whole tiles, tiles cross from one m
 * to the next, and what is left over is one tile for all m. A vector of lanes lies in one m where
 * j's extent is a multiple of it, and is stored as one; where it is none, the emitter knows the
 * pattern of the lanes (codegen/llvm/core/addr.c).
 *
 * A schedule says so by AXIS_N, with lanes over a shared axis: the axis that is walked outside of
 * those that MERGE names. What it means is said once, here: the schedule with one merged axis more,
 * of the form whose axis_n stands right before them. Legality, the model and the lowering take that
 * pair. Leading loops are the same and in the same order, so units of work are too. */
#ifndef NEO_SCHEDULE_COLLAPSE_H
#define NEO_SCHEDULE_COLLAPSE_H
#include "fusion/form.h"
#include "schedule/schedule.h"

/* Has the schedule of the form an axis beside its columns? */
bool neo_schedule_is_collapsed(const neo_form *f, const neo_schedule *s);

typedef struct {
  const neo_form *f;
  neo_schedule s;
} neo_collapsed;
/* The form and the schedule as above; as they are where there is no such axis. In the module's
 * arena. The schedule's axes are axes of the form, axis_n none of the others of the tile. */
neo_collapsed neo_collapsed_of(neo_module *m, const neo_form *f, const neo_schedule *s);
/* The other way: `turned` is a schedule of the form in which `axis` stands right before `last`,
 * its vector axis, both merged; the result is one of the form in which they lie apart. */
neo_schedule neo_collapsed_back(const neo_schedule *turned, int64_t axis, int64_t last);

#endif
