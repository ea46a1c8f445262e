/* The units of work of a contraction's schedule (cost.h), and their balance among cores.
 *
 * A core runs a contiguous range of units (runtime/cpu/run.c), and a unit a contiguous range of the
 * iterations of the loops that are divided. The last block of rows or of columns may be smaller
 * than the others, so the work of a range is a difference of sums over the first iterations. Such a
 * sum follows from the mixed-radix digits of an iteration's number, loop by loop. */
#include "schedule/tile/cost.h"
#include <math.h>

neo_tile_units neo_tile_units_of(const neo_tiles *q, const geometry *g, const neo_schedule *s) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  uint32_t loops = (uint32_t)neo_schedule_outer_loops(q->f, s, loop);
  uint32_t divided = (uint32_t)s->loops.unit_axes;
  neo_tile_units u = {
      .n = divided < loops ? divided : loops, .total = 1, .size = (double)s->loops.unit_size};
  for (uint32_t k = 0; k < u.n; k++) {
    double trips = neo_tile_trips(q, g, &loop[k]);
    double block = loop[k].axis == g->am ? g->mb / g->m : g->nb / g->n;
    u.loop[k].trips = trips;
    u.loop[k].whole = loop[k].block ? block : 1 / trips;
    u.total *= trips;
  }
  return u;
}

double neo_tile_units_count(const neo_tile_units *u) {
  return ceil(u->total / u->size);
}

/* The share of all work that is in the first `units` units. */
static double work_of_first(const neo_tile_units *u, double units) {
  double at = fmin(units * u->size, u->total), inner = u->total, part = 1, sum = 0;
  if (at == u->total)
    return 1;
  for (uint32_t k = 0; k < u->n; k++) {
    double trips = u->loop[k].trips, whole = u->loop[k].whole;
    inner /= trips;
    double digit = floor(at / inner);
    sum += part * digit * whole;
    part *= digit < trips - 1 ? whole : 1 - digit * whole;
    at -= digit * inner;
  }
  return sum;
}

double neo_tile_units_idle(const neo_tile_units *u, double cores) {
  double units = neo_tile_units_count(u), most = 0, before = 0;
  for (double core = 1; core <= cores; core++) {
    double first = work_of_first(u, floor(units * core / cores));
    most = fmax(most, first - before);
    before = first;
  }
  return fmax(cores * most - 1, 0);
}
