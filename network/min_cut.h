/* Minimum cuts of a directed graph with integer capacities, by maximum flow. Private to network and
 * its tests. */
#pragma once
#include "base/arena.h"
#include "base/vec.h"
#include <stdbool.h>

typedef struct { /* arcs 2*k and 2*k + 1 are each other's reverse */
  uint32_t to;
  int64_t left; /* capacity that no flow uses */
} neo_min_cut_arc;

typedef struct {
  neo_arena *a;
  uint32_t n; /* vertices */
  NEO_VEC(neo_min_cut_arc) arcs;
  NEO_VEC(uint32_t) * out; /* by vertex: its arcs */
} neo_min_cut;

/* The capacity of an arc that no cut may hold. Cuts of capacities below it add up to less than it
 * if there are fewer than 2^20 of them, each below 2^40. */
#define NEO_MIN_CUT_NEVER ((int64_t)1 << 60)

/* A graph of n vertices without arcs, in the arena. */
neo_min_cut neo_min_cut_new(neo_arena *a, uint32_t n);
void neo_min_cut_add(neo_min_cut *c, uint32_t from, uint32_t to, int64_t capacity);
/* Whether each vertex is on the side of the sink, for that minimum cut which has the fewest there.
 * The flow uses up the capacities. Null: each cut holds an arc of NEO_MIN_CUT_NEVER. (min_cut.c) */
const bool *neo_min_cut_sides(neo_min_cut *c, uint32_t source, uint32_t sink);
