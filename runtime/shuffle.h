/* shuffle.h: random numbers for orders of rows; neo_rt_shuffle makes a permutation. */
#pragma once
#include "include/neo/neo_rt.h"

/* n numbers in [0, below), each by itself, from (seed, epoch). */
void neo_rti_draw(uint64_t seed, uint64_t epoch, int64_t below, int64_t n, int64_t *out);
