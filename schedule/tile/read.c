/* The cost of reading a contraction's operands in a step of a tile (cost.h). */
#include "schedule/tile/cost.h"
#include "schedule/tile/model.h"
#include <math.h>

enum { PAGE_BYTES = 4096 };

/* ---- operands in place */

/* Cycles of a vector of lanes along fused axes. Where register tiles consist of whole contiguous
 * tiles, the emitter knows which lanes are adjacent. Else each step computes quotients and
 * remainders, lane by lane. */
static double odd_cycles(const neo_tiles *q, const geometry *g, const neo_axis_access *x) {
  const double lone = 1.5, computed = 12;
  double tile = (double)x->tile;
  if (!x->tile)
    return lone * g->lanes;
  if (fmod(g->c * g->lanes, tile) > 0 || (g->nb < g->n && fmod(g->nb, tile) > 0))
    return computed * g->lanes;
  int64_t pieces = neo_tiles_pieces(q, x->tile, (int64_t)g->lanes);
  return pieces ? (double)pieces : lone * g->lanes;
}

/* Cycles of reading a vector: lanes that are not adjacent are read one by one. `whole`: the cycles
 * of adjacent ones. */
static double read_cycles(const neo_tiles *q, const geometry *g, const neo_axis_access *x,
                          double whole) {
  const double strided = 1.125;
  double t = x->odd ? odd_cycles(q, g, x) : x->strided ? strided * g->lanes : whole;
  return t + (x->guarded ? 3 : 0) + x->ops;
}

/* Rows (or columns, where lanes run over the reduction) that are read in place. */
typedef struct {
  int64_t axis;               /* axis of the rows; -1: one row */
  double tile, block, extent; /* rows of a tile, of a block, of the operand */
  double times;               /* how often a block is read: once for each tile of the other side */
  bool inner;                 /* between two reads of a tile the others of its block are read */
} unpacked;

/* Lines per step of a tile whose rows have a stride of `stride` bytes and are read in runs. */
static double row_lines(const neo_tiles *q, double tile, const neo_tile_walk *w, double stride) {
  double run = w->run * (double)q->bytes, together = stride * tile / q->line_bytes + 1;
  double each = tile * (run / q->line_bytes + (w->jumps ? 1 : 0));
  return (together < each ? together : each) / w->run;
}

/* The number of consecutive iterations of the loops over axes that read the same block of an
 * operand. */
static double tile_visits(const neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  double times = 1;
  for (uint32_t n = neo_schedule_outer_loops(q->f, g->s, loop);
       n > 0 && !loop[n - 1].block && !neo_tile_depends(q, g, &loop[n - 1], k, side); n--)
    times *= neo_tile_trips(q, g, &loop[n - 1]);
  return times;
}

/* The mean for the first tile of a block that reads `bytes` bytes of an operand. If blocks of the
 * reduction are around the leading loops, later iterations find their block cached. */
static double tile_first_miss_cycles(const neo_tiles *q, const geometry *g, double bytes,
                                     line_access x) {
  return neo_tile_mean_miss_cycles(q, neo_tile_reuse(bytes), neo_tile_reuse(bytes / g->kb),
                                   g->inside, x);
}

/* Cycles per step of fetching the lines of a tile. */
static double fetched(neo_tiles *q, const geometry *g, uint32_t k, const unpacked *y) {
  neo_axis_access x = {0};
  if (y->axis >= 0)
    x = neo_tiles_along(q, k, (uint32_t)y->axis);
  neo_tile_walk w = neo_tiles_steps(q, k);
  double stride = fabs((double)x.stride) * (double)q->bytes, bytes = (double)q->bytes;
  double whole = q->steps * y->extent * bytes, each;
  double rows = y->inner ? y->block : w.jumps ? y->tile : 0; /* before one is read again */
  double again = g->steps * rows * bytes;
  double lines = row_lines(q, y->tile, &w, stride);
  reuse then = neo_tile_strided_reuse(q, again, stride * rows / q->line_bytes + 1, w.jump);
  line_access come = w.jumps ? ALONE : STREAMS;
  if (!w.jumps)
    then = neo_tile_reuse(again);
  each = tile_first_miss_cycles(q, g, whole, come) +
         (y->times - 1) * neo_tile_miss_cycles(q, then, come);
  each /= y->times;
  if (!w.jumps)
    return lines * each;
  double pages =
      w.jump < PAGE_BYTES || each == 0 ? 0 : fmin(y->tile, stride * y->tile / PAGE_BYTES + 1);
  return lines * (each + 0.3) + pages / w.run * g->core->page;
}

/* Cycles per step of reading the rows of a tile in place, again for each tile of columns. */
static double rows_read(neo_tiles *q, const geometry *g, uint32_t k) {
  neo_axis_access x = neo_tiles_along(q, k, (uint32_t)g->am);
  unpacked y = {g->am, g->r, g->mb, g->m, ceil(g->nb / (g->c * g->lanes)), g->columns_first};
  double t = ((x.guarded ? 3 : 0) + x.ops * 0.7 + (x.odd ? 1 : 0)) * g->r;
  return t + fetched(q, g, k, &y);
}

/* Is the operand prepacked (transform/prepack.c) in tiles that divide the register tiles of
 * columns? Reads are then streams. */
static bool is_prepacked(const neo_tiles *q, const geometry *g, const neo_axis_access *x) {
  double wide = g->c * g->lanes, tile = (double)x->tile;
  return x->tile && neo_tiles_pieces(q, x->tile, (int64_t)g->lanes) && !x->strided && !x->guarded &&
         fmod(wide, tile) == 0 && (g->nb == g->n || fmod(g->nb, tile) == 0);
}

/* Prepacked tiles of whole cache lines are read like packed operands. Shorter ones (the elements of
 * a capsule) are many streams at a time, each of which crosses lines with the steps, or they are
 * scattered parts of lines. */
static line_access prepacked_access(neo_tiles *q, uint32_t k, const neo_axis_access *x) {
  uint32_t i = (uint32_t)q->s->axes.n - 1;
  if ((double)(x->tile * q->bytes) >= q->line_bytes)
    return STREAM;
  while (i && !(q->c->factor[k].axes >> (q->f->axes.n + i) & 1))
    i--;
  neo_axis_access step = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
  return step.stride == x->tile && !step.odd ? STREAMS : ALONE;
}

/* Cycles per step of reading a prepacked operand without a copy. Short tiles come from all over the
 * operand. */
static double prepacked_read(neo_tiles *q, const geometry *g, uint32_t k,
                             const neo_axis_access *x) {
  double bytes = (double)q->bytes, wide = g->c * g->lanes, tiles = ceil(g->mb / g->r);
  line_access as = prepacked_access(q, k, x);
  double first = (as == STREAM ? neo_tiles_elements(q, k) : q->steps * g->n) * bytes;
  double then = g->steps * ((g->columns_first ? wide : g->nb) + g->r) * bytes;
  double block = (as == STREAM ? g->steps * g->nb : q->steps * (g->nb + g->mb)) * bytes;
  double from = neo_tile_mean_miss_cycles(q, neo_tile_reuse(first), neo_tile_reuse(block),
                                          tile_visits(q, g, k, NEO_SIDE_COLUMNS), as);
  double each = (from + (tiles - 1) * neo_tile_miss_cycles(q, neo_tile_reuse(then), as)) / tiles;
  double joined = 0.1 * (double)(neo_tiles_pieces(q, x->tile, (int64_t)g->lanes) - 1);
  return wide * bytes / q->line_bytes * each + (joined + x->ops) * g->c;
}

/* Lines that a row of a tile touches on average, where tiles are adjacent. */
static double tile_lines(const neo_tiles *q, double bytes) {
  int64_t a = (int64_t)q->line_bytes, b = (int64_t)bytes;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return (bytes + q->line_bytes - (double)a) / q->line_bytes;
}

bool neo_tile_prefetches(const neo_tiles *q, const geometry *g, double tiles) {
  double near = (double)q->machine->l2_bytes / 4, block = g->steps * g->nb * (double)q->bytes;
  return g->prefetches && g->fused == 1 && tiles > 1 &&
         (g->columns_first || (g->kb > 1 && block <= near));
}

static bool is_prefetched(const neo_tiles *q, const geometry *g, double bytes, double tiles) {
  return neo_tile_prefetches(q, g, tiles) && bytes > (double)q->machine->l2_bytes;
}

/* Additional cycles of the first line of a contiguous run. A run in a page of its own waits for the
 * page's translation, too, which takes least if the tensor is small enough that its pages stay in
 * the TLB from call to call. */
static double run_start(const neo_tiles *q, reuse all, int64_t jump) {
  enum { HELD_BYTES = 8 << 20, HELD_PAGE = 2 };
  double alone = neo_tile_miss_cycles(q, all, ALONE);
  bool far = all.bytes > (double)q->machine->l2_bytes && jump >= PAGE_BYTES;
  double page = all.bytes > HELD_BYTES ? q->machine->core.page : HELD_PAGE * alone;
  return alone + (far ? page : 0);
}

/* The least cycles to read the lines of a step of one row, which reads each line of the columns
 * once. There are only these reads between two steps, so those of many steps are in flight at the
 * same time: their bound is the throughput of the cache, and the beginnings of runs. If tiles
 * alternate between more rows than a prefetcher follows, the throughput is lower. */
static double one_row_read(const neo_tiles *q, double lines, double run_bytes, reuse all,
                           int64_t jump, bool alternating) {
  double throughput = neo_tile_miss_cycles(q, all, THROUGHPUT);
  if (alternating && all.bytes > (double)q->machine->l2_bytes)
    throughput *= 1.4;
  return lines * (throughput + run_start(q, all, jump) * q->line_bytes / run_bytes);
}

/* Cycles per step of reading contiguous columns that the second cache holds: a processor fetches
 * those of many steps ahead, so that they are as good as a stream. */
static double near_read(const neo_tiles *q, const geometry *g) {
  double wide = g->c * g->lanes * (double)q->bytes;
  return (wide + q->line_bytes - (double)q->bytes) / q->line_bytes * q->machine->core.near[STREAM];
}

/* Cycles per step of reading the column vectors of a tile in place. Reads for later tiles of rows
 * may hit a cache. First reads are streams only where a block of the reduction is so short that its
 * rows are; the hardware prefetcher follows short strides. */
static double columns_read(neo_tiles *q, const geometry *g, uint32_t k, double *throughput) {
  enum { FEW = 8, MANY = 16, ROW_BYTES = 4096, FOLLOWED = 1024 };
  neo_axis_access x = neo_tiles_columns(q, k, g->v, g->fused);
  if (is_prepacked(q, g, &x))
    return prepacked_read(q, g, k, &x);
  double t = read_cycles(q, g, &x, 0.15);
  if (q->machine->few_rows && x.stride == 1 && !x.odd && neo_tiles_stay_near(q, k))
    return t * g->c + near_read(q, g);
  neo_tile_walk w = neo_tiles_steps(q, k);
  double bytes = (double)q->bytes, wide = g->c * g->lanes;
  double lines = tile_lines(q, wide * bytes) + 0.15, row = g->nb * bytes;
  if (!w.jumps || x.odd || x.strided)
    return t * g->c;
  double tiles = ceil(g->mb / g->r), part = g->columns_first ? lines : row / q->line_bytes;
  reuse all = neo_tile_reuse(q->steps * g->n * bytes);
  reuse again =
      neo_tile_strided_reuse(q, g->steps * (g->columns_first ? wide : g->nb) * bytes, part, w.jump);
  bool prefetched = is_prefetched(q, g, all.bytes, tiles);
  bool named = prefetched && !g->columns_first;          /* blocks are prefetched row by row */
  bool many = !named && g->steps > MANY && wide < g->nb; /* rows that start together */
  if ((int64_t)row == w.jump && !many)
    row *= g->steps; /* rows are adjacent */
  if (g->am < 0) {
    *throughput += one_row_read(q, lines / w.run, many ? wide * bytes : row, all, w.jump,
                                g->steps > FEW && wide < g->nb);
    return t * g->c;
  }
  bool streams = !many && row >= ROW_BYTES / 4;
  bool one = streams && g->steps == 1 && (int64_t)row == w.jump;
  line_access come = one ? STREAM : streams ? STREAMS : ALONE;
  double first = neo_tile_miss_cycles(q, all, come) * (streams ? 1 + ROW_BYTES / row : 1);
  if (!streams && w.jump <= FOLLOWED && tiles > 1)
    first *= 0.6;
  if (streams && g->steps > FEW)
    first *= 1.4;
  if (prefetched)
    first = fmax(first * (streams ? 0.5 : 0.35), neo_tile_miss_cycles(q, all, THROUGHPUT));
  double then = neo_tile_miss_cycles(q, again, streams ? STREAMS : ALONE);
  return t * g->c + lines / w.run * (first + (tiles - 1) * then) / tiles;
}

/* ---- packed operands */

/* The sliding of the factor along the axis; null: it does not slide. */
static const neo_sliding *tiles_slide(neo_tiles *q, uint32_t factor, uint32_t axis) {
  bool *cached = &q->slide[factor][axis].cached, *slides = &q->slide[factor][axis].slides;
  neo_sliding *y = &q->slide[factor][axis].slide;
  if (!*cached)
    *slides = neo_sliding_of(q->m, q->f, q->s, q->c->factor[factor].e, axis, y);
  *cached = true;
  return *slides ? y : NULL;
}

const neo_sliding *neo_tile_slide(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  bool rows = side == NEO_SIDE_ROWS;
  if (!rows && g->fused > 1)
    return NULL;
  const neo_sliding *w = tiles_slide(q, k, (uint32_t)(rows ? g->am : g->v));
  if (!w || (!rows && w->alpha > 1) || (w->own == 0 && g->kb > 1))
    return NULL;
  return w;
}

double neo_tile_packed(neo_tiles *q, const geometry *g, uint32_t k, neo_side side, double steps) {
  const neo_sliding *w = neo_tile_slide(q, g, k, side);
  double length = side == NEO_SIDE_ROWS ? g->mb : g->nb;
  if (!w)
    return steps * length;
  return steps / (double)w->n * ((double)w->alpha * (length - 1) + (double)w->n);
}

/* Cycles per step of reading packed operands, which are streams. Rows are read again for each tile
 * of columns, and columns for each tile of rows and first in each block of rows. The operand of the
 * inner loop has all of itself as its reuse distance. */
static double packed_read(neo_tiles *q, const geometry *g, uint32_t k, neo_side side,
                          double *throughput) {
  bool rows = side == NEO_SIDE_ROWS;
  double bytes = (double)q->bytes, wide = g->c * g->lanes;
  double first = neo_tile_packed(q, g, k, side, g->steps) * bytes;
  double then = rows == g->columns_first ? first : g->steps * g->clip * (wide + g->r) * bytes;
  double times = ceil(rows ? g->nb / wide : g->mb / g->r), unaligned = 0;
  if (!rows && neo_tile_slide(q, g, k, side))
    unaligned = 0.15 * g->c;
  double each = neo_tile_mean_miss_cycles(q, neo_tile_reuse(first), neo_tile_reuse(then), times,
                                          rows ? STREAMS : STREAM);
  if (!rows)
    *throughput += wide * bytes / q->line_bytes *
                   neo_tile_mean_miss_cycles(q, neo_tile_reuse(first), neo_tile_reuse(then), times,
                                             THROUGHPUT);
  return (rows ? g->r : wide) * bytes / q->line_bytes * each + unaligned;
}

/* Does the stage have a condition that varies inside of the tile and that no packed operand applies
 * (codegen/lower/tile/pack.c)? */
static bool conditional(const neo_tiles *q, const geometry *g) {
  uint64_t axes = neo_form_axes(q->m, q->f, q->s->where);
  if (!q->s->where.i || !(axes & (g->rows | g->columns)))
    return false;
  axes &= g->rows | g->columns | ~((1ULL << q->f->axes.n) - 1);
  for (uint32_t k = 0; k < q->c->n; k++)
    if (g->pack >> k & 1 && !(axes & ~q->c->factor[k].axes))
      return false;
  return true;
}

/* ---- operands that use rows and columns */

/* Rows of a tile that no step has read before, where an operand slides along the rows as an image
 * does under a window. *since: bytes that are read before the other rows are read again. */
static double fresh_rows(neo_tiles *q, const geometry *g, uint32_t k, double *since) {
  const neo_sliding *w = g->am >= 0 ? tiles_slide(q, k, (uint32_t)g->am) : NULL;
  *since = g->r * g->c * g->lanes * (double)q->bytes;
  if (!w)
    return g->r;
  for (uint32_t i = w->own + 1; i < q->s->axes.n; i++)
    *since *= (double)q->own[i];
  return fmin(g->r, 1 + (double)w->alpha * (g->r - 1) / (double)w->n);
}

/* Cycles per step of reading such an operand: no row of it is read again for other columns. Vectors
 * that are adjacent from step to step are a stream, which is bound by its throughput. */
static double both_read(neo_tiles *q, const geometry *g, uint32_t k, double *throughput) {
  neo_axis_access x = neo_tiles_columns(q, k, g->v, g->fused);
  double bytes = (double)q->bytes, wide = g->c * g->lanes * bytes, lines = wide / q->line_bytes;
  double since, fresh = fresh_rows(q, g, k, &since);
  neo_tile_walk steps = neo_tiles_steps(q, k);
  bool stream = g->nb * bytes <= wide && steps.jumps && (int64_t)wide == steps.jump && !x.odd;
  reuse all = neo_tile_reuse(q->steps * g->n * g->m * bytes), last = neo_tile_reuse(since);
  line_access come = stream ? STREAM : ALONE;
  if (stream)
    *throughput += lines * fresh * neo_tile_miss_cycles(q, all, THROUGHPUT);
  return (read_cycles(q, g, &x, 0) + 0.5) * g->c * g->r +
         lines * (fresh * neo_tile_miss_cycles(q, all, come) +
                  (g->r - fresh) * neo_tile_miss_cycles(q, last, come));
}

/* ---- all operands */

reads neo_tile_shared_reads(neo_tiles *q, const geometry *g) {
  reads y = {0, 0, 0};
  for (uint32_t k = 0; k < q->c->n_operands; k++) {
    neo_side side = neo_factor_side(&q->c->factor[k], g->rows, g->columns);
    if (!neo_operand_is_read(q->c, k, g->rows, g->columns))
      continue;
    if (g->pack >> k & 1)
      *(side == NEO_SIDE_ROWS ? &y.rows : &y.columns) += packed_read(q, g, k, side, &y.throughput);
    else if (side == NEO_SIDE_ROWS)
      y.rows += rows_read(q, g, k);
    else if (side == NEO_SIDE_COLUMNS)
      y.columns += columns_read(q, g, k, &y.throughput);
    else if (side == NEO_SIDE_BOTH)
      y.columns += both_read(q, g, k, &y.throughput);
    else {
      neo_axis_access x = neo_tiles_columns(q, k, g->v, g->fused);
      y.columns += (read_cycles(q, g, &x, 0) + 0.5) * g->c;
    }
  }
  if (conditional(q, g))
    y.columns += 3 * g->tested * g->r * g->c;
  return y;
}

reads neo_tile_own_reads(neo_tiles *q, const geometry *g) {
  reads y = {0, 0, 0};
  uint32_t last = (uint32_t)(q->f->axes.n + q->s->axes.n - 1);
  unpacked rows = {g->am, g->r, g->mb, g->m, ceil(g->nb / g->c), g->columns_first};
  unpacked columns = {g->an, g->c, g->nb, g->n, ceil(g->mb / g->r), !g->columns_first};
  for (uint32_t k = 0; k < q->c->n_operands; k++) {
    neo_axis_access x = neo_tiles_along(q, k, last);
    if (!neo_operand_is_read(q->c, k, g->rows, g->columns))
      continue;
    double t = read_cycles(q, g, &x, 0) + 0.1;
    neo_side side = neo_factor_side(&q->c->factor[k], g->rows, g->columns);
    if (side == NEO_SIDE_ROWS)
      y.rows += t * g->r + g->lanes * fetched(q, g, k, &rows);
    else if (side == NEO_SIDE_COLUMNS)
      y.columns += t * g->c + g->lanes * fetched(q, g, k, &columns);
    else
      y.columns += t * g->c * (side == NEO_SIDE_BOTH ? g->r : 1);
  }
  if (conditional(q, g))
    y.columns += 3 * g->c;
  return y;
}
