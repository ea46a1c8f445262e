/* Random schedules of loops. Private to schedule. */
#ifndef NEO_SCHEDULE_LOOPS_DRAW_H
#define NEO_SCHEDULE_LOOPS_DRAW_H
#include "schedule/loops/loops.h"

/* The strategy's legality (strategy.h). */
typedef bool (*neo_loops_legality)(const neo_space *x, const neo_schedule *s, neo_str *why);

/* Draws lanes, a register tile and blocks. */
neo_schedule neo_loops_draw(const neo_space *x, neo_loops_legality legal, neo_strategy strategy,
                            uint64_t *seed);
/* Draws the order of loops, units, nontemporal stores and the stash. */
void neo_loops_draw_rest(const neo_space *x, neo_loops_legality legal, uint64_t *seed,
                         neo_schedule *s);
/* Draws blocks of columns and units for a schedule whose other parameters are set. */
void neo_loops_draw_units(const neo_space *x, uint64_t *seed, neo_schedule *s);
/* Draws a length for blocks of columns. */
int64_t neo_loops_draw_columns(const neo_space *x, const neo_schedule *s, uint64_t *seed);
/* Sets parameter k where that is legal. */
void neo_loops_try(const neo_space *x, neo_loops_legality legal, neo_param k, int64_t value,
                   neo_schedule *s);

#endif
