/* Columns of the register tile along two axes that are not adjacent in the form.
 *
 *     u[n, m, p, q, j] = sum[c, r, s, k] A[n, c, 2*p + r, 2*q + s, k] * F[m, c, r, s, k, j]
 *
 * If lanes run along j, which is short (the elements of a capsule), a tile of rows and one vector
 * has nearly one load for each multiply-add. The same operand also uses m, so more columns are
 * available: columns are the pairs (m, j), collapsed into one axis like adjacent axes
 * (schedule/contract.c). Packed operands are then whole consecutive tiles, tiles cross from one m
 * to the next, and only one partial tile is left for all m. If j's extent is a multiple of the
 * vector, a vector is within one m and is stored as a whole; otherwise the emitter knows the
 * pattern of the lanes (codegen/llvm/core/addr.c).
 *
 * In a schedule with lanes over a shared axis, AXIS_N is the outer one of the collapsed axes, and
 * FUSED counts the others. neo_collapsed_of defines the meaning: the form is reordered so that
 * AXIS_N is right before the fused axes, and the schedule fuses one more axis. Legality, the model
 * and the lowering use that form and schedule. The leading loops and their order do not change, and
 * so do the units of work. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

/* Does the schedule collapse a separate axis into its columns? */
bool neo_schedule_is_collapsed(const neo_form *f, const neo_schedule *s);

typedef struct {
  const neo_form *f;
  neo_schedule s;
} neo_collapsed;
/* The reordered form and its schedule, in the module's arena; the arguments themselves where
 * nothing is collapsed. The schedule's axes must be axes of the form, and axis_n none of the tile's
 * other axes. */
neo_collapsed neo_collapsed_of(neo_module *m, const neo_form *f, const neo_schedule *s);
/* The inverse: `collapsed` is a schedule of the form in which `axis` stands right before `last`,
 * its vector axis, and both are fused. The result is the schedule of the form in which they are
 * separate. */
neo_schedule neo_collapsed_back(const neo_schedule *collapsed, int64_t axis, int64_t last);
