/* Private to what a schedule of a contraction costs: its geometry, what memory costs by what was
 * touched since, and the parts that are added up.
 *
 *   memory.c        geometry, leading loops, lines that come from far
 *   read.c          reading operands in a step
 *   copy.c          copies into scratch
 *   cost.c          tiles, results, the whole */
#ifndef NEO_SCHEDULE_TILE_COST_H
#define NEO_SCHEDULE_TILE_COST_H
#include "schedule/tile/model.h"

enum { LINE_BYTES = 64 };

typedef struct {
  const neo_schedule *s;
  const neo_core *core; /* of the machine */
  int64_t v, merge, am, an, pack;
  double lanes;        /* of a vector */
  double product;      /* cycles of a multiply-add of vectors, of which two are begun at a time */
  double r, c;         /* of the register tile: rows, vectors (or columns) */
  double n, m, nb, mb; /* extents of columns and rows; of a block */
  double outer, steps,
      kb; /* points of the axes outside of the tile; steps in a block of the reduction, blocks */
  double inside; /* iterations of the leading loops inside of each of these; 1: it is inside */
  uint64_t rows, columns; /* axes */
  double clip;            /* part of the steps that is left of them on average */
  double tested;          /* part of the products with a condition */
  bool own_lanes, columns_first, fetches;
} geometry;

geometry neo_tile_geometry(neo_tiles *q, const neo_schedule *s);

double neo_tile_trips(const neo_tiles *q, const geometry *g, const neo_outer_loop *o);
/* Is an operand another one in each iteration of the loop? */
bool neo_tile_matters(const neo_tiles *q, const geometry *g, const neo_outer_loop *o, uint32_t k,
                      neo_side side);
/* How often in a row those of axes come to the same block of an operand. */
double neo_tile_visits(const neo_tiles *q, const geometry *g, uint32_t k, neo_side side);

/* What was not touched for so many bytes, and how much larger it seems to the two caches, because
 * it falls on a part of their sets only. */
typedef struct {
  double bytes, crowd[2];
} touched;

touched neo_tile_evenly(double bytes);
/* Runs of `lines` lines, `apart` bytes from one to the next. */
touched neo_tile_in_runs(const neo_tiles *q, double bytes, double lines, int64_t apart);

/* Cycles of a line of it: in one stream, in streams that begin anew with each tile, or alone; and
 * those that pass before the next one can come, whatever else is done meanwhile. */
typedef enum {
  STREAM = NEO_LINE_STREAM,
  STREAMS = NEO_LINE_STREAMS,
  ALONE = NEO_LINE_ALONE,
  PASSING = NEO_LINE_PASSING
} how;

double neo_tile_far(const neo_tiles *q, touched t, how x);
/* The same where the first of `times` passes finds it further away. */
double neo_tile_far_again(const neo_tiles *q, touched first, touched then, double times, how x);

/* Of so many bytes of an operand, for the first tile of a block: where each block of the reduction
 * is walked in all iterations of the leading loops, it is near from the second on. */
double neo_tile_far_first(const neo_tiles *q, const geometry *g, double bytes, how x);

/* A walk over the steps of the reduction: after `run` steps next to each other it jumps. */
typedef struct {
  double run;
  bool jumps;
  int64_t jump; /* bytes */
} walk;

walk neo_tile_walk(neo_tiles *q, uint32_t k);

/* Are large columns fetched (prefetch.h), still near when they are needed, and is there
 * arithmetic to do meanwhile? */
bool neo_tile_ahead(const neo_tiles *q, const geometry *g, double tiles);
/* Does the packed operand slide along its side (schedule/tile/pack.c)? Null: it does not. */
const neo_sliding *neo_tile_slide(neo_tiles *q, const geometry *g, uint32_t k, neo_side side);
/* Elements of a packed block of rows or columns, for so many steps of the reduction. */
double neo_tile_packed(neo_tiles *q, const geometry *g, uint32_t k, neo_side side, double steps);

/* What reading costs in a step beyond its share of issue: for the whole tile's rows, for its
 * columns. */
typedef struct {
  double rows, columns;
  double passing; /* cycles that lines of columns take to come, at the least */
} reads;

reads neo_tile_shared_reads(neo_tiles *q, const geometry *g);
/* Lanes over the last own axis: both operands are vectors, whose lines are fetched as those of rows
 * are. */
reads neo_tile_own_reads(neo_tiles *q, const geometry *g);

/* Cycles of all copies of packed operands. */
double neo_tile_copies(neo_tiles *q, const geometry *g, const neo_schedule *s);

#endif
