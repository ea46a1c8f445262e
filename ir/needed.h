/* Under which conditions definitions are needed at all: what a run-time `case` chooses between.
 *
 *     z[n] = select(far[], a[n], b[n])          a only where far[], and all that only a needs
 *
 * A condition is an element of a bool tensor without dimensions, or its negation. */
#ifndef NEO_IR_NEEDED_H
#define NEO_IR_NEEDED_H
#include "ir/ir.h"

enum { NEO_MOST_CONDITIONS = 4 };

typedef struct {
  uint32_t n; /* 0: it is needed always */
  neo_expr at[NEO_MOST_CONDITIONS];
} neo_conditions;

/* Is it such a condition? */
bool neo_is_condition(const neo_module *m, neo_expr e);
/* The tensor of a condition; *negated: where its element is false. */
neo_tensor neo_condition_tensor(const neo_module *m, neo_expr e, bool *negated);
bool neo_conditions_have(const neo_conditions *c, neo_expr e);

/* By id, the conditions of the n definitions, producers first; of all others none. `always`: by tensor, is it needed
 * whatever holds, as users see it? What is not needed may have any value, which a select does not take.
 * Integers may be indices, which have to be in range: they are needed always. Null: the module has no
 * conditions. The result is of the arena. */
const neo_conditions *neo_needed_where(neo_module *m, const neo_def *defs, size_t n,
                                       const bool *always, neo_arena *a);

#endif
