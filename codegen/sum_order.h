/* For recurrence.c: the order in which kernels add the terms of their sums. Rows of a recurrence
 * that run at once, and rows that run alone (neo_block_range), have kernels of their own, and
 * whether a row is alone follows from the batch: its values have the same bits in all of them if
 * each sum is added up in the order of its axes, one term after another, and these axes have the
 * same order in either kernel. Sums of integers and bools have one value in any order. */
#pragma once
#include "schedule/schedule.h"

typedef struct {
  NEO_VEC(uint64_t) sums; /* a hash of each one's axes */
  bool other;             /* some add terms in another order than that of axes */
} neo_sum_order;

/* Adds the sums of a group under the schedule; memory is the arena's. */
void neo_sum_order_add(neo_module *m, neo_arena *a, const neo_group *g, const neo_schedule *s,
                       neo_sum_order *o);
/* Do both have the same sums, each in the order of its axes? Sorts them. */
bool neo_sum_orders_equal(neo_sum_order *a, neo_sum_order *b);
