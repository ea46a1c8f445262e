/* Stages of a GPU's tiles (threads.h): operands are copied into shared memory asynchronously, from
 * sm_80 on, STAGES blocks of steps of which each is in a buffer of its own. While one is
 * multiplied, by warpgroups two, all others are on their way.
 *
 * What is copied so is copied as it is: the operand has one factor, which lies in memory, or is
 * zero where a condition does not hold; for warps it may be rounded as well, which is then done
 * where it is read from shared memory; not for warpgroups, whose unit reads by itself. The other operand, if it is another kind of thing, goes
 * through registers as without stages. */
#ifndef NEO_SCHEDULE_STAGES_H
#define NEO_SCHEDULE_STAGES_H
#include "schedule/contract.h"

enum { NEO_STAGES_MOST = 6 };

/* What is copied of the operand of rows or columns: a load, or selects of one and zero; 0: nothing.
 * *rounded: where it is read, it has to be rounded to tf32; null: that is not possible. */
neo_expr neo_stages_source(neo_module *m, const neo_contraction *c, const neo_schedule *s,
                           neo_side side, bool *rounded);
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
