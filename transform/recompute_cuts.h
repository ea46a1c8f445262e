/* Where the forward pass of a training entry is cut (private to the pass recompute).
 *
 * Definitions 0 .. n-1 of the forward pass stand in order. A cut at p is between definitions p-1 and p;
 * the values that cross it are made before it and read after it. Segments between cuts are kept, with
 * all that the backward pass reads of them, or computed again, from the values that cross the cut
 * where they begin. */
#pragma once
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct { /* a tensor of the forward pass */
  uint32_t made; /* it exists from this cut on */
  uint32_t
      last; /* what reads it last and may be computed again comes before this cut; 0: nothing does */
  double bytes;
  bool saved; /* the backward pass reads it */
} recompute_value;

typedef struct {
  uint32_t n;            /* definitions */
  const double *seconds; /* of each, to compute it again */
  const recompute_value *value;
  uint32_t n_values;
} recompute_chain;

typedef struct {
  uint32_t begin, end; /* definitions */
  bool again;          /* it is computed again */
} recompute_segment;

/* Segments, in order, that take as little time as possible with at most `most` bytes kept at any time of
 * the backward pass; where there are none, or `most` is negative, with as few bytes as possible. The last
 * segment is always kept: the backward pass begins with it. In the arena; sets *n. (recompute_cuts.c) */
recompute_segment *recompute_cut(const recompute_chain *c, double most, neo_arena *a, uint32_t *n);
