/* Software prefetching. A register tile reads separate rows of a few cache lines each. These are
 * too short for the hardware prefetcher to detect a stream, so each tile would stall. While a tile
 * is computed, it prefetches the lines that the next tile of the outer loop reads first (`prefetch`
 * 1), or the tile after that (2), and so on:
 *
 *     tiles of columns outside:                        those of the next tile of columns
 *     rows outside, or one tile of them; blocks:       the same columns in the next block
 *
 * A tile without blocks also prefetches the elements that its successor needs in its epilogue: the
 * parameter that an optimizer's update reads. For packed columns (schedule/tile/pack.c) the tiles
 * prefetch, in memory order, the data of the next copy: that of the next block of the reduction, or
 * of the next block of columns. If a tile has many lines, its steps share them, so that memory is
 * busy while the tile computes and other misses do not queue after them. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

enum { NEO_PREFETCH_MOST = 8, NEO_PREFETCH_DISTANCE = 8 /* tiles */ };

typedef struct {
  neo_expr load;
  uint32_t axis; /* prefetched is the element of the point `by` further along AXIS `axis` */
  int64_t by;
  bool far;       /* into L2, as L1 would evict the line before it is read */
  bool at_end;    /* the load follows the sum; else it is in its steps */
  bool shared;    /* each step prefetches a part of the lines; else its own, or all at once */
  uint32_t stage; /* the sum */
} neo_prefetch;

/* Writes the prefetches of the tiles of `s`; where its `prefetch` is 0, those that it would have
 * with 1. `out` has room for NEO_PREFETCH_MOST. Returns how many there are. */
uint32_t neo_prefetch_find(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s, neo_prefetch *out);
