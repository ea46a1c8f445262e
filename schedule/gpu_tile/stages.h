/* Stages of a GPU's tiles (gpu_tile.h): operands are copied into shared memory asynchronously, from
 * sm_80 on, STAGES blocks of steps of which each is in a buffer of its own. While one is
 * multiplied, by warpgroups two, all others are on their way.
 *
 * What is copied so is copied as it is: the operand has one factor, which lies in memory, or is
 * zero where a condition does not hold; for warps it may be rounded as well, which is then done
 * where it is read from shared memory; not for warpgroups, whose unit reads by itself. The other
 * operand, if it is another kind of thing, goes through registers as without stages.
 *
 * With BULK, of warpgroups, nobody's threads copy: the device's copy engine does, a box of rows by
 * steps at a time, where both operands are such boxes (below). */
#ifndef NEO_SCHEDULE_STAGES_H
#define NEO_SCHEDULE_STAGES_H
#include "schedule/contract.h"

enum { NEO_STAGES_MOST = 6 };

/* What is copied of a factor: a load, or selects of one and zero; 0: nothing. *rounded: where it is
 * read, it has to be rounded to tf32; null: that is not possible. Of the operand of rows or columns.
 */
neo_expr neo_stages_plain(neo_module *m, neo_expr e, bool *rounded);
neo_expr neo_stages_source(neo_module *m, const neo_contraction *c, const neo_schedule *s,
                           neo_side side, bool *rounded);
/* An operand of warpgroups that the copy engine can bring, with BULK: a load, at an offset that is
 * a sum of axes times constants, one of them along rows (or columns) and one along the steps. Axes
 * of the tensor: the one whose elements lie side by side, the other of the two, and batches. */
enum { NEO_STAGES_RANK = 5 };
typedef struct {
  uint32_t rank;
  neo_expr at[NEO_STAGES_RANK];    /* an AXIS */
  uint32_t axis[NEO_STAGES_RANK];  /* its number */
  int64_t stride[NEO_STAGES_RANK]; /* elements */
  bool along_steps;                /* the first axis is that of the steps */
} neo_stages_box;
bool neo_stages_boxed(neo_module *m, const neo_form *f, const neo_contraction *c,
                      const neo_schedule *s, neo_side side, neo_stages_box *out);
/* Buffers in shared memory for a block of steps. */
int64_t neo_stages_buffers(const neo_schedule *s);
/* How much of shared memory the blocks of the schedule may take; of it, what the model takes. */
int64_t neo_stages_shared(const neo_machine *machine, const neo_schedule *s);
int64_t neo_stages_budget(const neo_machine *machine, const neo_schedule *s);
bool neo_stages_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_contraction *c, const neo_schedule *s, neo_str *why);
/* The model's: for tiles that are else complete and legal. */
int64_t neo_stages_wanted(const neo_schedule *s);

#endif
