/* Software pipelining of a GPU's tiles (gpu_tile.h). From sm_80 on, operands are copied
 * asynchronously into shared memory, which has STAGES buffers of one block of steps each. While one
 * buffer is multiplied (two by warpgroups), the copies of all others are in flight.
 *
 * An asynchronous copy cannot compute. So the operand has one factor, which is a load, or zero
 * where a condition does not hold. For warps it may also be rounded, which is done where it is read
 * from shared memory; not for warpgroups, since the tensor core reads shared memory by itself. An
 * operand of another kind goes through registers, as without stages.
 *
 * With TMA, which needs warpgroups, no thread copies: the device's copy engine does, a box of rows
 * by steps at a time, where both operands are such boxes (below). */
#pragma once
#include "schedule/contract.h"

enum { NEO_STAGES_MOST = 6 };

/* The part of a factor that is copied: a load, or selects of a load and zero; 0: there is none.
 * *rounded: its reader has to round it to tf32; null: that is not possible. neo_stages_source
 * returns the operand of rows or of columns. */
neo_expr neo_stages_plain(neo_module *m, neo_expr e, bool *rounded);
neo_expr neo_stages_source(neo_module *m, const neo_contraction *c, const neo_schedule *s,
                           neo_side side, bool *rounded);
/* Can TMA copy this operand of warpgroups? It must be a load whose offset is a sum of axes times
 * constants, one of them along rows (or columns) and one along the steps. The axes of the tensor
 * are the contiguous one, the other of these two, and batches. */
enum { NEO_STAGES_RANK = 5 };
typedef struct {
  uint32_t rank;
  neo_expr at[NEO_STAGES_RANK];    /* an AXIS */
  uint32_t axis[NEO_STAGES_RANK];  /* number of that axis */
  int64_t stride[NEO_STAGES_RANK]; /* elements */
  bool along_steps;                /* the steps are the first axis */
} neo_stages_box;
bool neo_stages_boxed(neo_module *m, const neo_form *f, const neo_contraction *c,
                      const neo_schedule *s, neo_side side, neo_stages_box *out);
/* Buffers in shared memory, each for a block of steps. */
int64_t neo_stages_buffers(const neo_schedule *s);
/* The model's number of stages, for a schedule that is complete and legal without them. */
int64_t neo_stages_wanted(const neo_schedule *s);
