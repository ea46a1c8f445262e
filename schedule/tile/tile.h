/* The strategy of register tiles (tile/strategy.c). Private to schedule/tile. */
#pragma once
#include "schedule/strategy.h"

/* Members of the strategy's row (strategy.h); they include the common parts of all strategies of
 * loops. */
bool neo_tile_legal(const neo_space *x, const neo_schedule *s, neo_str *why);
