/* Lines that are fetched before they are needed. A register tile reads rows that lie apart, each of
 * a few cache lines: too short for the processor to see a stream in them, so that each tile would
 * wait for memory anew. While a tile is computed, the lines that the next one of the outer loop
 * reads first can be named to the processor: (`fetch` 1), or that after the next, and so on:
 *
 *     tiles of columns outside:                        those of the next tile of columns
 *     rows outside, or one tile of them; blocks:       the same columns in the next block
 *
 * and during a tile without blocks the elements that its successor along the outer loop needs at
 * its end, for which an optimizer's update reads the parameter. Of columns that are copied into
 * scratch (schedule/tile/pack.c) the tiles fetch what the next copy reads, that of the next block
 * of the reduction, or of the next block of columns, in the order in which it lies. Where a tile
 * has many lines its steps share them: memory is busy all the time that the tile computes, and
 * what is not in the nearest cache does not wait behind them. */
#ifndef NEO_SCHEDULE_PREFETCH_H
#define NEO_SCHEDULE_PREFETCH_H
#include "fusion/form.h"
#include "schedule/schedule.h"

enum { NEO_PREFETCH_MOST = 8, NEO_PREFETCH_LINE = 64, NEO_PREFETCH_AHEAD = 8 /* tiles */ };

typedef struct {
  neo_expr load;
  uint32_t axis; /* the load is that of a point `by` further along AXIS `axis` */
  int64_t by;
  bool far;    /* into the second cache: so much is read meanwhile that the nearest would lose it */
  bool at_end; /* of what follows the sum; else of steps of it */
  bool shared; /* each step fetches a part of the lines; else those of this step, or all at once */
  uint32_t stage; /* the sum */
} neo_prefetch;

/* What is fetched with the tiles of `s`; where its `fetch` is 0, as if it were 1. out: room for
 * NEO_PREFETCH_MOST; returns how many. */
uint32_t neo_prefetch_find(neo_module *m, const neo_form *f, const neo_schedule *s,
                           neo_prefetch *out);

#endif
