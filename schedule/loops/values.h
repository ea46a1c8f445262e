/* Private to the space: which values of a parameter are sensible. */
#ifndef NEO_SCHEDULE_SPACE_VALUES_H
#define NEO_SCHEDULE_SPACE_VALUES_H
#include "schedule/space.h"

/* neo_space_values of loops on registers and caches. */
size_t neo_loops_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]);
/* Is it worth measuring? More accumulators than there are registers spill. */
bool neo_space_sensible(const neo_space *x, const neo_schedule *s);
/* Lanes of a vector of the group's widest element. */
int64_t neo_space_lanes(const neo_space *x);
/* What a block of 0 iterations stands for: of the first reduction axis, which is the first own axis
 * of the stage that has some, and of the elements along the vector axis. */
int64_t neo_space_reduced_length(const neo_space *x);
int64_t neo_space_column_length(const neo_space *x, const neo_schedule *s);

#endif
