/* A producer of a GPU's tiles whose operands are boxes (stages.h, BULK): with PRODUCER, a block has
 * a warpgroup more, of which one thread asks for the boxes of all steps, each as soon as its stage
 * is free, while the others, the consumers, multiply. THREADS are the consumers.
 *
 * A kernel's threads all begin with as many registers. The producer needs few, and gives up the
 * others; the consumers, which hold the sums, take them (setmaxnreg). How many follows from how
 * many blocks are to be on a multiprocessor: as many as shared memory holds, if that leaves the
 * consumers what their sums and all else take. What a thread begins with has to be enough for one
 * product, as ptxas has it. Where it is enough for everything, nobody gives up any.
 *
 * With PERSISTENT, no more blocks are launched than multiprocessors have at a time, each of which
 * takes one tile after another: the producer goes on to the boxes of the next tile while consumers
 * store this one, and what a block begins with is done once. Without a producer that is not legal:
 * the threads that would ask for the next tile's boxes are those that store, and what a block's end
 * and the next one's beginning cost is hidden by others on the multiprocessor. */
#ifndef NEO_SCHEDULE_PRODUCER_H
#define NEO_SCHEDULE_PRODUCER_H
#include "fusion/form.h"
#include "schedule/schedule.h"

/* Of each thread, multiples of eight. */
typedef struct {
  uint32_t producer, consumer; /* 0, 0: what they begin with */
} neo_producer_registers;
/* For a legal schedule. */
neo_producer_registers neo_producer_share(const neo_schedule *s);
/* How many blocks of a legal schedule with a producer are on a multiprocessor. */
int64_t neo_producer_blocks(const neo_schedule *s);
/* For a schedule of boxes. */
bool neo_producer_legal(const neo_schedule *s, neo_str *why);
/* The model's, for a schedule of boxes that is else complete: where a multiprocessor has one block,
 * and a block many steps, so that nobody else multiplies while its warpgroups wait for each other.
 * steps: of the sum. */
bool neo_producer_wanted(const neo_schedule *s, double steps);
/* For one that keeps the other rules. */
bool neo_persistent_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why);
/* The model's, for a schedule that is else complete: where it has a producer, and blocks'
 * beginnings take a part of the kernel's time that is worth it, at the largest sizes. */
bool neo_persistent_wanted(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s, double steps);

#endif
