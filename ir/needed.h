/* The conditions under which definitions are needed at all: a run-time `case` chooses between them.
 *
 *     z[n] = select(k[] == 2, a[n], b[n])       a only where k[] == 2, and all that only a needs
 *
 * A definition that is not needed may have any value, as a select does not take it. The exception
 * are integers and bools that steer, such as indices: they have to be in range wherever their
 * reader runs, even if a select does not take the element read. */
#pragma once
#include "ir/condition.h"
#include "ir/prove/prove.h"

typedef struct { /* a conjunction; n == 0: always; one that is the constant false: never */
  uint32_t n;
  const neo_expr *at; /* each in canonical form (neo_condition_of), or a disjunction of such; in
                         order */
} neo_conditions;

/* Whether both are the same conditions in the same order. */
bool neo_conditions_same(const neo_conditions *a, const neo_conditions *b);
/* Whether both never hold at the same time. */
bool neo_conditions_exclude(neo_module *m, const neo_conditions *a, const neo_conditions *other);
/* Whether each condition of `weaker` follows from those of `c`. */
bool neo_conditions_imply(neo_module *m, const neo_conditions *c, const neo_conditions *weaker);

typedef struct {
  const neo_def *defs; /* producers first */
  size_t n;
  const bool *always;       /* by tensor: it is needed in every call, as users see it */
  const uint32_t *together; /* by definition: those of one number above 0 run in one kernel or loop,
                               so all run if one is needed; null: the definitions of a recurrence
                               do */
  neo_prover *points;       /* not null: conditions over axes of loops count too, and tell in which
                         iterations a definition is needed */
} neo_needed_input;

/* By definition id: the conditions under which it is needed; none for all others. Null: the module
 * has no conditions. In the arena.
 *
 * With `points`, AXIS k of a condition is the k-th output axis of the definition, along which a
 * loop of its recurrence runs (ir/loop_axes.h):
 *
 *     a[t, j] = ...,  z[t, j] = select(k[t] == 2, a[t, j], b[t, j])      a where k[AXIS 0] == 2 */
const neo_conditions *neo_needed_where(neo_module *m, const neo_needed_input *in, neo_arena *a);

/* By tensor: whether it steers one of the definitions: an integer or bool that is an index, a bound
 * or an equation of a reduction, or that such a tensor is computed from. In the arena. */
bool *neo_steering_tensors(const neo_module *m, const neo_def *defs, size_t n, neo_arena *a);
