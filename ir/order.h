/* The order of a recurrence. Definitions that depend on each other are computed in loops along axes
 * of theirs, so that each element is computed before it is read.
 *
 * A loop gives each definition of a component one of its output axes, a direction for all of them,
 * and a delay: the point with that axis at x is computed in iteration x + delay. Each read must be
 * of an element of the same iteration or an earlier one; the prover shows this from the conditions
 * at the read (ir/guarded_read.h). Reads of earlier iterations are carried by the loop. The
 * remaining reads give an order of definitions within an iteration, or form a component again,
 * which gets a loop of its own (R. Allen, K. Kennedy, "Automatic translation of Fortran programs to
 * vector form"). */
#pragma once
#include "ir/prove/prove.h"

typedef struct { /* a definition in a loop */
  neo_def def;
  uint32_t axis; /* an output axis: in iteration r it is at r - delay */
  int64_t delay;
  /* 0, or the owners of the axis' positions (ir/lists.h): in iteration r are those of list r -
   * delay, as many as there are. */
  neo_tensor owner;
} neo_order_member;

typedef struct neo_order_step { /* one definition, or a loop */
  neo_def def;                  /* 0: a loop */
  bool down;                    /* iterations run from the last to the first */
  uint32_t n_members, n_steps;
  neo_order_member *member;
  struct neo_order_step *step; /* the steps of an iteration, in order */
} neo_order_step;

/* A read that comes before its element in every order that was tried. */
typedef struct {
  neo_def reader, producer;
  neo_expr read;
  bool gave_up; /* a proof was given up for its quota, or the search for its limit of steps */
  bool refuted; /* at point `at` the element is not computed earlier, in the first order that was
                   tried */
  bool down;    /* the direction of that order, along the reader's output axis `axis` */
  uint32_t axis;
  neo_witness at;
} neo_order_failure;

/* Finds an order of the definitions, which are one component (ir/component.h); *out is its
 * outermost loop. False: none was found, and *why (may be null) names a read. The result is in the
 * arena. */
bool neo_order_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                    neo_order_step *out, neo_order_failure *why) NEO_MUST_CHECK;

/* The same, in which a definition of the positions of lists, as edges of a graph, may run by owner:
 * all positions of a list in the iteration of that list (neo_order_member.owner). */
bool neo_list_order_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                         neo_order_step *out, neo_order_failure *why) NEO_MUST_CHECK;
uint32_t neo_list_orders_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                              neo_order_step *out, uint32_t most, neo_order_failure *why);
/* Whether a member of the loop runs by owner. */
bool neo_order_has_lists(const neo_order_step *loop);

/* Finds up to `most` orders with different outermost loops, that of neo_order_find first. Returns
 * their number. */
uint32_t neo_orders_find(neo_prover *p, const neo_def *defs, size_t n, neo_arena *arena,
                         neo_order_step *out, uint32_t most, neo_order_failure *why);

/* Verifies the module (neo_module_verify), and that each recurrence has an order: NEO_INTERNAL,
 * with a text, if one has none. The prover adds expressions to the module; for a module that must
 * not change call neo_module_verify. */
neo_status neo_module_check(neo_module *m, neo_str *why) NEO_MUST_CHECK;
/* The same. *failure is the read that no order suits; it has no reader if the failure is another
 * one. */
neo_status neo_module_check_orders(neo_module *m, neo_str *why,
                                   neo_order_failure *failure) NEO_MUST_CHECK;

/* Also checks that every read is shown to be inside of its tensor (ir/verify/reads.c). For tests: a
 * pass may drop a guard by a fact that the prover does not find again. NEO_INTERNAL has a text in
 * *why. */
neo_status neo_module_check_reads(neo_module *m, neo_str *why) NEO_MUST_CHECK;

/* The iterations of a loop, [*lo, *hi), over all its members, as expressions over sizes. */
void neo_order_iterations(neo_module *m, const neo_order_step *loop, neo_expr *lo, neo_expr *hi);

/* The output axis of a definition d outside of a recurrence which is at a constant distance from
 * the iteration of every element of the recurrence that d reads: y[t, i] = sum[n] h[t, i, n]*c[n]
 * runs along t. -1: there is none. `loop` is the outermost loop of the recurrence's order. */
int64_t neo_order_iteration_axis(neo_module *m, const neo_order_step *loop, neo_def d);
