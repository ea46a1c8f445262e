/* A sliding sum as minimal filtering (winograd.c) matches it, and the directions in which it is
 * filtered (choose.c). */
#pragma once
#include "ir/prove/prove.h"
#include "transform/winograd/toom.h"

enum {
  NEO_WINOGRAD_AXES = 24,
  NEO_WINOGRAD_RANK = 16, /* rank of data, taps and sums */
  NEO_WINOGRAD_DIRECTIONS = 3,
  NEO_WINOGRAD_PHASES = 4,
};

/* An index stride*out + red + constant in dimension data_dim of the data; red counts taps in
 * dimension taps_dim of the filter. */
typedef struct {
  uint32_t out, red;
  uint32_t data_dim, taps_dim;
  int64_t stride, constant, outs, taps;
  neo_toom toom; /* toom.m outputs are computed together */
} neo_winograd_direction;

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def def;
  neo_def_rec r; /* sum of data * taps, without conditions */
  neo_type type;
  bool taps_first;          /* taps are the first factor */
  neo_expr data, taps;      /* reads */
  neo_winograd_direction w; /* current direction */
} neo_winograd_sum;

/* The directions of least total cost, in the order of filtering; none if nothing slides or plain
 * products cost no more. Sets taps_first. With `always`, only products count. */
uint32_t neo_winograd_choose(neo_winograd_sum *x, bool always, neo_winograd_direction *along);

/* Sets data, taps and w to the direction of x that is like this one: of the original sum, or of the
 * remaining sum after other directions. False: it has none. */
bool neo_winograd_find(neo_winograd_sum *x, const neo_winograd_direction *like) NEO_MUST_CHECK;

/* The tensor that a LOAD reads, and the number of its dimensions. */
neo_tensor neo_winograd_tensor(const neo_winograd_sum *x, neo_expr load);
uint32_t neo_winograd_rank(const neo_winograd_sum *x, neo_expr load);

/* The number of groups of outputs along this direction. */
int64_t neo_winograd_groups(const neo_winograd_direction *w);
