/* Private to the space: which values of a parameter are sensible. */
#ifndef NEO_SCHEDULE_SPACE_VALUES_H
#define NEO_SCHEDULE_SPACE_VALUES_H
#include "schedule/space.h"

/* Is it worth measuring? More accumulators than there are registers spill. */
bool neo_space_sensible(const neo_space *x, const neo_schedule *s);
/* Lanes of a vector of the group's widest element. */
int64_t neo_space_lanes(const neo_space *x);

#endif
