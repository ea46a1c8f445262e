/* Under which conditions definitions are needed at all: what a run-time `case` chooses between.
 *
 *     z[n] = select(k[] == 2, a[n], b[n])       a only where k[] == 2, and all that only a needs
 *
 * What is not needed may have any value, which a select does not take. An integer or bool that
 * is an index has to be in range wherever its reader runs, whether a select takes what is read
 * there or not. */
#pragma once
#include "ir/condition.h"
#include "ir/prove.h"

typedef struct { /* all of them hold; n == 0: always; one is the constant false: never */
  uint32_t n;
  const neo_expr *at; /* as neo_condition_of has them, or a disjunction of such; in order */
} neo_conditions;

bool neo_conditions_same(const neo_conditions *a, const neo_conditions *b);
/* Does it hold at no time at which `other` does? */
bool neo_conditions_exclude(neo_module *m, const neo_conditions *a, const neo_conditions *other);
/* Does each condition of `weaker` follow from those of `c`? */
bool neo_conditions_imply(neo_module *m, const neo_conditions *c, const neo_conditions *weaker);

typedef struct {
  const neo_def *defs; /* producers first */
  size_t n;
  const bool *always;       /* by tensor: it is needed whatever holds, as users see it */
  const uint32_t *together; /* by definition: those of one number above 0 run in one kernel or loop,
                               all where one is needed; null: those of a recurrence do */
  neo_prover *points; /* not null: conditions over axes of loops count, too: in which iterations is it needed? */
} neo_needed_input;

/* By id, the conditions of the definitions; of all others none. Null: the module has no
 * conditions. The result is of the arena.
 *
 * With `points` AXIS k of a condition is the k-th output axis of the definition, along which a loop of its recurrence
 * runs (ir/loop_axes.h):
 *
 *     a[t, j] = ...,  z[t, j] = select(k[t] == 2, a[t, j], b[t, j])      of a: k[AXIS 0] == 2 */
const neo_conditions *neo_needed_where(neo_module *m, const neo_needed_input *in, neo_arena *a);

/* By tensor, is it an integer or bool that is an index of the definition, or a bound or an
 * equation of its reduction, or what such is made of? Of the arena. */
bool *neo_steering_tensors(const neo_module *m, const neo_def *defs, size_t n, neo_arena *a);
