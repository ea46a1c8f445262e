/* The cost of a contraction's schedule: its geometry, the cost of memory by reuse distance, and the
 * parts that are added up. Private to schedule/tile.
 *
 *   memory.c        geometry, leading loops, cost of cache misses
 *   read.c          reading operands in a step
 *   copy.c          copies into scratch
 *   cost.c          tiles, results, the whole
 *   units.c         units of work */
#pragma once
#include "schedule/tile/model.h"

typedef struct {
  const neo_schedule *s;
  const neo_core *core; /* the machine's core */
  int64_t v, fused, am, an, pack;
  double lanes;   /* lanes of a vector */
  double product; /* cycles of a vector multiply-add, of which two issue at a time */
  double row_products, column_products, products; /* operations of a step before its
                          multiply-adds (codegen/lower/common/acc.c): for a row, for a vector of
                          columns, for each vector of the tile */
  double r, c;                                    /* register tile: rows, vectors (or columns) */
  double partial;                                 /* accumulators of an element */
  double n, m, nb, mb; /* extents of columns and rows; those of a block */
  double outer, steps,
      kb;        /* points outside of the tile; steps of a block of the reduction; blocks */
  double inside; /* iterations of the leading loops inside of each block of steps */
  uint64_t rows, columns; /* axes of rows, of columns */
  double clip;            /* share of the steps that remain under conditions, on average */
  double tested;          /* share of the products that test a condition */
  bool own_lanes, columns_first, prefetches;
} geometry;

/* The geometry of a schedule: extents, steps and shares of its loops and tiles. */
geometry neo_tile_geometry(neo_tiles *q, const neo_schedule *s);

/* The iterations of a leading loop. */
double neo_tile_trips(const neo_tiles *q, const geometry *g, const neo_outer_loop *o);
/* Does an operand depend on the loop? */
bool neo_tile_depends(const neo_tiles *q, const geometry *g, const neo_outer_loop *o, uint32_t k,
                      neo_side side);

/* A reuse distance: the bytes that are touched before a line is touched again. conflicts: the
 * factor by which strided lines shrink each of the two caches, as they map to a part of its
 * sets. */
typedef struct {
  double bytes, conflicts[2];
} reuse;

/* The distance for contiguous data of `bytes` bytes. */
reuse neo_tile_reuse(double bytes);
/* The distance for runs of `lines` lines with a stride of `stride` bytes. */
reuse neo_tile_strided_reuse(const neo_tiles *q, double bytes, double lines, int64_t stride);

/* Cycles of a line: in one stream, in streams that restart with each tile, or alone. THROUGHPUT:
 * the least time between two lines, even if their latency is hidden. */
typedef enum {
  STREAM = NEO_LINE_STREAM,
  STREAMS = NEO_LINE_STREAMS,
  ALONE = NEO_LINE_ALONE,
  THROUGHPUT = NEO_LINE_THROUGHPUT
} line_access;

/* The cycles of a line that is accessed again at this distance. */
double neo_tile_miss_cycles(const neo_tiles *q, reuse t, line_access x);
/* The mean over `times` passes, of which the first one has a longer distance than later ones. */
double neo_tile_mean_miss_cycles(const neo_tiles *q, reuse first, reuse later, double times,
                                 line_access x);

/* Are large columns prefetched (prefetch.h) with enough arithmetic to hide the latency, so that
 * they are still cached when they are read? */
bool neo_tile_prefetches(const neo_tiles *q, const geometry *g, double tiles);
/* The sliding of the packed operand along its side (schedule/tile/pack.c); null: it does not
 * slide. */
const neo_sliding *neo_tile_slide(neo_tiles *q, const geometry *g, uint32_t k, neo_side side);
/* Elements of a packed block of rows or columns, for `steps` steps of the reduction. */
double neo_tile_packed(neo_tiles *q, const geometry *g, uint32_t k, neo_side side, double steps);

/* The cycles of reads in a step, beyond their issue slots: for all rows of the tile, and for its
 * columns. */
typedef struct {
  double rows, columns;
  double throughput; /* the least cycles of the lines of columns */
} reads;

/* The reads with lanes over a shared axis: rows are read as numbers, columns as vectors. */
reads neo_tile_shared_reads(neo_tiles *q, const geometry *g);
/* The reads with lanes over the last own axis: both operands are read as vectors. */
reads neo_tile_own_reads(neo_tiles *q, const geometry *g);

/* The units of work of a schedule. */
neo_tile_units neo_tile_units_of(const neo_tiles *q, const geometry *g, const neo_schedule *s);

/* Cycles of all copies of packed operands. */
double neo_tile_copies(neo_tiles *q, const geometry *g, const neo_schedule *s);
