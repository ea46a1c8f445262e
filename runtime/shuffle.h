/* shuffle.h: random numbers for orders of rows; neo_rt_shuffle makes a permutation. */
#pragma once
#include "include/neo/neo_rt.h"

/* Writes n independent numbers in [0, below), determined by (seed, epoch). */
void neo_rti_draw(uint64_t seed, uint64_t epoch, int64_t below, int64_t n, int64_t *out);
