/* The order of a recurrence: definitions that need each other are computed along loops over axes of
 * theirs, so that each element is there before it is read.
 *
 * A level gives each definition of a component one of its output axes, a direction for all of them,
 * and a delay: the point with that axis at x runs in round x + delay. Each read has to come from the
 * same round or an earlier one, which the prover shows with what is known at the read
 * (ir/guarded_read.h). Reads from earlier rounds are carried by the loop; what is left is an ordinary
 * order of definitions inside of a round, or a component again, which gets a loop of its own
 * (R. Allen, K. Kennedy, "Automatic translation of Fortran programs to vector form"). */
#pragma once
#include "ir/prove.h"

typedef struct { /* a definition in a loop */
  neo_def def;
  uint32_t axis; /* an output axis: in round r it is at r - delay */
  int64_t delay;
} neo_order_member;

typedef struct neo_order_step { /* a definition at the point at hand, or a loop */
  neo_def def;                  /* 0: a loop */
  bool down;                    /* rounds run from the last to the first */
  uint32_t n_members, n_steps;
  neo_order_member *member;
  struct neo_order_step *step; /* what runs in each round, one after the other */
} neo_order_step;

/* A read that has no place in any order that was tried. */
typedef struct {
  neo_def reader, producer;
  neo_expr read;
  bool gave_up; /* a proof was given up for its quota, or the search for its steps */
  bool refuted; /* `at` is a point whose read is not earlier in the first order that was tried */
  bool down;    /* in which the reader runs along its output axis `axis` */
  uint32_t axis;
  neo_witness at;
} neo_order_failure;

/* An order of the definitions, which are one component (ir/component.h): its outermost loop. False:
 * none was found, and *why (may be null) names a read. The result is of the arena. */
bool neo_order_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                    neo_order_step *out, neo_order_failure *why) NEO_MUST_CHECK;

/* The first `most` orders whose outermost loops differ, the one of neo_order_find first. Returns how many. */
uint32_t neo_orders_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                         neo_order_step *out, uint32_t most, neo_order_failure *why);

/* neo_module_verify, and then: has each recurrence an order? NEO_INTERNAL with a text: no. It asks the prover,
 * which makes expressions; a module that is not to change is verified alone. */
neo_status neo_module_check(neo_module *m, neo_str *why) NEO_MUST_CHECK;
/* The same; *failure is the read that has no place in an order, without a reader where it is not that. */
neo_status neo_module_check_orders(neo_module *m, neo_str *why,
                                   neo_order_failure *failure) NEO_MUST_CHECK;

/* neo_module_check, and then: is every read shown to be inside of its tensor (ir/verify_reads.c)? For tests: a pass may
 * drop a guard by what it knew and the prover does not find again. */
neo_status neo_module_check_reads(neo_module *m, neo_str *why) NEO_MUST_CHECK;

/* Rounds of a loop, from the least to the last plus one, as expressions over sizes: over all members.
 */
void neo_order_rounds(neo_module *m, const neo_order_step *loop, neo_expr *lo, neo_expr *hi);

/* The output axis of a definition outside of a recurrence that is at a constant distance from the rounds of all
 * that it reads of it: y[t, i] = sum[n] h[t, i, n]*c[n] runs along t. -1: there is none. `loop`: the outermost
 * of the recurrence's order. */
int64_t neo_order_round_axis(neo_module *m, const neo_order_step *loop, neo_def d);
