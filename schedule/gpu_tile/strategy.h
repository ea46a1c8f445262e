/* The strategy of tiles by thread blocks. Private to schedule/gpu_tile. */
#pragma once
#include "schedule/strategy.h"

/* A member of the strategy's row (strategy.h). */
double neo_gpu_tile_cost(const neo_space *x, const neo_schedule *s);
