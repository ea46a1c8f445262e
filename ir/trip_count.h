/* Loops that end early, as a `while` is written (frontend/sema/alive.c): once its condition failed
 * it stays false, and how many iterations ran is counted.
 *
 *     alive[t, r] = (alive[t, r - 1] else true) and c[t, r]   or with another bool for true
 *     ran[t, r]   = select(alive[t, r], (ran[t, r - 1] else 0) + 1, (ran[t, r - 1] else 0))
 *     rounds[t]   = ran[t, L - 1] */
#pragma once
#include "ir/ir.h"

/* Is it such a condition along its dimension `axis`: false after an element that is false? */
bool neo_stays_false(neo_module *m, neo_tensor alive, uint32_t axis);
/* The trip counts, `rounds`: how many elements along the dimension are true, by position along the
 * others. 0: nobody counts. */
neo_tensor neo_trip_count(neo_module *m, neo_tensor alive, uint32_t axis);
/* The condition alive[.., AXIS k], which holds at all positions of the definition's axis k as that
 * ends at a trip count, rounds[..]; 0: it ends elsewhere. */
neo_expr neo_trip_condition(neo_module *m, const neo_def_rec *d, uint32_t k);
