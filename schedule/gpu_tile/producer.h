/* Warp specialization for tiles whose operands are copied by TMA (stages.h). With PRODUCER, a block
 * has one more warpgroup, the producer. One of its threads issues the TMA copies of all steps, each
 * as soon as its stage is free, while the other warpgroups, the consumers, multiply. THREADS counts
 * the consumers.
 *
 * All threads of a kernel start with the same number of registers. The producer needs few and
 * releases the others; the consumers, which hold the sums, take them (setmaxnreg). The numbers
 * follow from how many blocks a multiprocessor is to hold: as many as shared memory has room for,
 * if that leaves the consumers registers for their sums and everything else. ptxas requires that a
 * thread's initial registers suffice for one product. Where they suffice for everything, none are
 * moved.
 *
 * With PERSISTENT, only as many blocks are launched as the multiprocessors hold at a time, and each
 * computes one tile after another. The producer issues the copies of the next tile while consumers
 * store the current one, and the setup of a block is done once. Without a producer this is not
 * legal: the threads that would issue the next copies would be those that store, and other blocks
 * of the multiprocessor hide the end of one block and the start of the next anyway. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

/* Registers of each thread, multiples of eight. */
typedef struct {
  uint32_t producer, consumer; /* 0, 0: the initial ones stay */
} neo_producer_registers;
/* The registers that a legal schedule with a producer moves. */
neo_producer_registers neo_producer_share(const neo_machine *machine, const neo_schedule *s);
/* The number of blocks that a multiprocessor holds, for a legal schedule with a producer. */
int64_t neo_producer_blocks(const neo_machine *machine, const neo_schedule *s);
/* Is the producer of a schedule legal, as far as registers and threads decide it? */
bool neo_producer_legal(const neo_machine *machine, const neo_schedule *s, neo_str *why);
/* Is the persistence of a schedule legal, if its other parameters are? */
bool neo_persistent_legal(neo_module *m, const neo_form *f, const neo_schedule *s, neo_str *why);
/* The model's choice for a schedule that is complete except for persistence: it pays where the
 * schedule has a producer and starting blocks takes a large enough part of the kernel's time, at
 * the largest sizes. True: persistent. */
bool neo_persistent_wanted(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s, double steps);
