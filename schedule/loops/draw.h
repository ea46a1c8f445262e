/* Random schedules of loops. Private to schedule. */
#ifndef NEO_SCHEDULE_LOOPS_DRAW_H
#define NEO_SCHEDULE_LOOPS_DRAW_H
#include "schedule/loops/loops.h"

/* What the strategy takes for legal, as strategy.h says. */
typedef bool (*neo_loops_legality)(const neo_space *x, const neo_schedule *s, neo_str *why);

/* Lanes, a register tile and blocks of it. */
neo_schedule neo_loops_draw(const neo_space *x, neo_loops_legality legal, neo_strategy strategy,
                            uint64_t *seed);
/* And the order of its loops, units, stores. */
void neo_loops_draw_rest(const neo_space *x, neo_loops_legality legal, uint64_t *seed,
                         neo_schedule *s);
/* Blocks of columns and units, of what has its other parameters. */
void neo_loops_draw_units(const neo_space *x, uint64_t *seed, neo_schedule *s);
/* A length for blocks of columns. */
int64_t neo_loops_draw_columns(const neo_space *x, const neo_schedule *s, uint64_t *seed);
/* k becomes value where that is legal. */
void neo_loops_try(const neo_space *x, neo_loops_legality legal, neo_param k, int64_t value,
                   neo_schedule *s);

#endif
