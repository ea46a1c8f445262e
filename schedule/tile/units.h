/* The units of work of a contraction's schedule, and their balance among cores. Private to
 * schedule/tile and its tests. */
#pragma once
#include "fusion/form.h"

/* The leading loops that are divided into units, the outermost first. */
typedef struct {
  uint32_t n;
  struct {
    double trips, whole; /* iterations; the share of the work of each iteration but the last one,
                            which has the rest */
  } loop[NEO_FORM_MAX_AXES + 2];
  double total, size; /* iterations of all loops together; of a unit */
} neo_tile_units;

/* The number of units. */
double neo_tile_units_count(const neo_tile_units *u);
/* The time that `cores` cores are idle, relative to the time that they are busy. */
double neo_tile_units_idle(const neo_tile_units *u, double cores);
