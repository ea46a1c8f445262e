/* Cuts of a training entry's forward pass (private to the pass recompute).
 *
 * Definitions 0 .. n-1 of the forward pass are in order. A cut at p is between definitions p-1 and
 * p; values computed before it and read after it cross it. A segment between cuts is stored, with
 * all that the backward pass reads of it, or recomputed from the values that cross the cut at its
 * begin. */
#pragma once
#include "base/arena.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct { /* a tensor of the forward pass */
  uint32_t made; /* first cut after its definition */
  uint32_t last; /* first cut after its last recomputable reader; 0: it has none */
  double bytes;
  bool saved; /* the backward pass reads it */
} recompute_value;

typedef struct {
  uint32_t n;            /* number of definitions */
  const double *seconds; /* to recompute each definition */
  const recompute_value *value;
  uint32_t n_values;
} recompute_chain;

typedef struct {
  uint32_t begin, end; /* range of definitions */
  bool again;          /* recomputed */
} recompute_segment;

/* Segments, in order, of the least time with at most `most` bytes stored at any time of the
 * backward pass; if there are none, or `most` is negative, of the fewest bytes. The last segment is
 * always stored: the backward pass begins with it. In the arena; sets *n. (cuts.c) */
recompute_segment *recompute_cut(const recompute_chain *c, double most, neo_arena *a, uint32_t *n);
