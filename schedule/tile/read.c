/* What reading the operands of a contraction costs in a step of a tile (cost.h). */
#include "schedule/tile/cost.h"
#include <math.h>

enum { PAGE_BYTES = 4096 };

/* ---- operands where they lie */

/* Of lanes along axes that are walked as one. Where tiles are whole tiles of what is next to each
 * other, the emitter knows which lanes are; else each step computes quotients and remainders, lane
 * by lane. */
static double odd_cycles(const neo_tiles *q, const geometry *g, const neo_look *x) {
  const double single = 1.5, computed = 12;
  double tile = (double)x->tile;
  if (!x->tile)
    return single * g->lanes;
  if (fmod(g->c * g->lanes, tile) > 0 || (g->nb < g->n && fmod(g->nb, tile) > 0))
    return computed * g->lanes;
  int64_t pieces = neo_tiles_pieces(q, x->tile, (int64_t)g->lanes);
  return pieces ? (double)pieces : single * g->lanes;
}

/* Cycles of reading a vector of it: lanes that do not lie next to each other are read one by one.
 * `whole`: those of a vector that does. */
static double read_cycles(const neo_tiles *q, const geometry *g, const neo_look *x, double whole) {
  const double strided = 1.125;
  double t = x->odd ? odd_cycles(q, g, x) : x->strided ? strided * g->lanes : whole;
  return t + (x->guarded ? 3 : 0) + x->ops;
}

/* Rows (or, where lanes run over the reduction, columns) that are read where they lie. */
typedef struct {
  int64_t axis;               /* -1: there is one row */
  double tile, block, extent; /* rows of a tile, of a block, in all */
  double times;               /* that a block is read, once for each tile of the other side */
} lying;

/* Lines that a step of a tile touches in rows `apart` bytes from each other, each read in runs. */
static double row_lines(const neo_tiles *q, double tile, const walk *w, double apart) {
  double run = w->run * (double)q->bytes, together = apart * tile / LINE_BYTES + 1;
  double each = tile * (run / LINE_BYTES + (w->jumps ? 1 : 0));
  return (together < each ? together : each) / w->run;
}

/* Cycles a step of fetching the lines of a tile. */
static double fetched(neo_tiles *q, const geometry *g, uint32_t k, const lying *y) {
  neo_look x = {0};
  if (y->axis >= 0)
    x = neo_tiles_along(q, k, (uint32_t)y->axis);
  walk w = neo_tile_walk(q, k);
  double apart = fabs((double)x.stride) * (double)q->bytes, bytes = (double)q->bytes;
  double whole = q->steps * y->extent * bytes, each;
  double again = g->columns_first ? g->steps * y->block * bytes : 0;
  double lines = row_lines(q, y->tile, &w, apart);
  touched then = neo_tile_in_runs(q, again, apart * y->block / LINE_BYTES + 1, w.jump);
  how come = w.jumps ? ALONE : STREAMS;
  if (!w.jumps)
    then = neo_tile_evenly(again);
  each = neo_tile_far_first(q, g, whole, come) + (y->times - 1) * neo_tile_far(q, then, come);
  each /= y->times;
  if (!w.jumps)
    return lines * each;
  double pages =
      w.jump < PAGE_BYTES || each == 0 ? 0 : fmin(y->tile, apart * y->tile / PAGE_BYTES + 1);
  return lines * (each + 0.3) + pages / w.run * g->core->page;
}

/* Cycles a step of reading the rows of a tile where they lie: again for each tile of columns. */
static double rows_read(neo_tiles *q, const geometry *g, uint32_t k) {
  neo_look x = neo_tiles_along(q, k, (uint32_t)g->am);
  lying y = {g->am, g->r, g->mb, g->m, ceil(g->nb / (g->c * g->lanes))};
  double t = ((x.guarded ? 3 : 0) + x.ops * 0.7 + (x.odd ? 1 : 0)) * g->r;
  return t + fetched(q, g, k, &y);
}

/* Do tiles of columns begin where those do in which the operand lies (transform/prepack.c), vectors
 * in one of them, or of several as a whole? Then they read streams. */
static bool is_laid_out(const neo_tiles *q, const geometry *g, const neo_look *x) {
  double wide = g->c * g->lanes, tile = (double)x->tile;
  return x->tile && neo_tiles_pieces(q, x->tile, (int64_t)g->lanes) && !x->strided && !x->guarded &&
         fmod(wide, tile) == 0 && (g->nb == g->n || fmod(g->nb, tile) == 0);
}

/* Those of whole cache lines are read as if they were packed. Shorter ones, the elements of a
 * capsule, are many streams at a time, each of which crosses from line to line with the steps, or
 * are parts of lines here and there. */
static how of_tiles(neo_tiles *q, uint32_t k, const neo_look *x) {
  uint32_t i = (uint32_t)q->s->axes.n - 1;
  if (x->tile * q->bytes >= LINE_BYTES)
    return STREAM;
  while (i && !(q->c->factor[k].axes >> (q->f->axes.n + i) & 1))
    i--;
  neo_look step = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
  return step.stride == x->tile && !step.odd ? STREAMS : ALONE;
}

/* Cycles a step of reading it: without a copy. Short tiles come from all over the operand. */
static double laid_out_read(neo_tiles *q, const geometry *g, uint32_t k, const neo_look *x) {
  double bytes = (double)q->bytes, wide = g->c * g->lanes, tiles = ceil(g->mb / g->r);
  how as = of_tiles(q, k, x);
  double first = (as == STREAM ? g->steps * g->nb : q->steps * g->n) * bytes;
  double then = g->steps * (wide + g->r) * bytes;
  double block = as == STREAM ? first : q->steps * (g->nb + g->mb) * bytes;
  double from = neo_tile_far_again(q, neo_tile_evenly(first), neo_tile_evenly(block),
                                   neo_tile_visits(q, g, k, NEO_SIDE_COLUMNS), as);
  double each = (from + (tiles - 1) * neo_tile_far(q, neo_tile_evenly(then), as)) / tiles;
  double joined = 0.1 * (double)(neo_tiles_pieces(q, x->tile, (int64_t)g->lanes) - 1);
  return wide * bytes / LINE_BYTES * each + (joined + x->ops) * g->c;
}

/* Lines that a row of a tile touches on average, where tiles follow each other. */
static double tile_lines(double bytes) {
  int64_t a = LINE_BYTES, b = (int64_t)bytes;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return (bytes + LINE_BYTES - (double)a) / LINE_BYTES;
}

bool neo_tile_ahead(const neo_tiles *q, const geometry *g, double tiles) {
  double near = (double)q->machine->l2_bytes / 4, block = g->steps * g->nb * (double)q->bytes;
  return g->fetches && g->merge == 1 && tiles > 1 &&
         (g->columns_first || (g->kb > 1 && block <= near));
}

static bool fetched_ahead(const neo_tiles *q, const geometry *g, double bytes, double tiles) {
  return neo_tile_ahead(q, g, tiles) && bytes > (double)q->machine->l2_bytes;
}

/* Cycles a step of reading the column vectors of a tile where they lie: what is read again for
 * other rows may still be near; what is read first comes as streams only where a block of the
 * reduction is so short that its rows are; short jumps the processor follows by itself. */
static double columns_read(neo_tiles *q, const geometry *g, uint32_t k) {
  enum { FEW = 8, MANY = 16, ROW_BYTES = 4096, FOLLOWED = 1024 };
  neo_look x = neo_tiles_columns(q, k, g->v, g->merge);
  if (is_laid_out(q, g, &x))
    return laid_out_read(q, g, k, &x);
  double t = read_cycles(q, g, &x, 0.15);
  walk w = neo_tile_walk(q, k);
  double bytes = (double)q->bytes, wide = g->c * g->lanes;
  double lines = tile_lines(wide * bytes) + 0.15, row = g->nb * bytes;
  if (!w.jumps || x.odd || x.strided)
    return t * g->c;
  double tiles = ceil(g->mb / g->r), part = g->columns_first ? lines : row / LINE_BYTES;
  touched all = neo_tile_evenly(q->steps * g->n * bytes);
  touched again =
      neo_tile_in_runs(q, g->steps * (g->columns_first ? wide : g->nb) * bytes, part, w.jump);
  bool ahead = fetched_ahead(q, g, all.bytes, tiles);
  bool named = ahead && !g->columns_first;               /* blocks are, row by row */
  bool many = !named && g->steps > MANY && wide < g->nb; /* rows that are begun together */
  if ((int64_t)row == w.jump && !many)
    row *= g->steps; /* one follows the other */
  bool streams = !many && row >= ROW_BYTES / 4;
  bool one = streams && g->steps == 1 && (int64_t)row == w.jump;
  how come = one ? STREAM : streams ? STREAMS : ALONE;
  double first = neo_tile_far(q, all, come) * (streams ? 1 + ROW_BYTES / row : 1);
  if (!streams && w.jump <= FOLLOWED && tiles > 1)
    first *= 0.6;
  if (streams && g->steps > FEW)
    first *= 1.4;
  if (ahead)
    first *= streams ? 0.5 : 0.35;
  double then = neo_tile_far(q, again, streams ? STREAMS : ALONE);
  return t * g->c + lines / w.run * (first + (tiles - 1) * then) / tiles;
}

/* ---- packed operands */

const neo_sliding *neo_tile_slide(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  bool rows = side == NEO_SIDE_ROWS;
  if (!rows && g->merge > 1)
    return NULL;
  const neo_sliding *w = neo_tiles_slide(q, k, (uint32_t)(rows ? g->am : g->v));
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

/* Cycles a step of reading packed operands: streams. Rows are read again for each tile of columns,
 * columns for each tile of rows, and first in each block of rows. What the inner loop walks over
 * comes from as far as all of it is. */
static double packed_read(neo_tiles *q, const geometry *g, uint32_t k, neo_side side,
                          double *passing) {
  bool rows = side == NEO_SIDE_ROWS;
  double bytes = (double)q->bytes, wide = g->c * g->lanes;
  double first = neo_tile_packed(q, g, k, side, g->steps) * bytes;
  double then = rows == g->columns_first ? first : g->steps * g->clip * (wide + g->r) * bytes;
  double times = ceil(rows ? g->nb / wide : g->mb / g->r), apart = 0;
  if (!rows && neo_tile_slide(q, g, k, side))
    apart = 0.15 * g->c;
  double each = neo_tile_far_again(q, neo_tile_evenly(first), neo_tile_evenly(then), times,
                                   rows ? STREAMS : STREAM);
  if (!rows)
    *passing +=
        wide * bytes / LINE_BYTES *
        neo_tile_far_again(q, neo_tile_evenly(first), neo_tile_evenly(then), times, PASSING);
  return (rows ? g->r : wide) * bytes / LINE_BYTES * each + apart;
}

/* Does the stage have a condition that changes inside the tile and that no packed operand takes
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

/* ---- operands that rows and columns choose together */

/* Where they slide along the rows, as an image does under a window: rows of a tile that no step has
 * read before, and how much has been read since the others were. */
static double fresh_rows(neo_tiles *q, const geometry *g, uint32_t k, double *since) {
  const neo_sliding *w = g->am >= 0 ? neo_tiles_slide(q, k, (uint32_t)g->am) : NULL;
  *since = g->r * g->c * g->lanes * (double)q->bytes;
  if (!w)
    return g->r;
  for (uint32_t i = w->own + 1; i < q->s->axes.n; i++)
    *since *= (double)q->own[i];
  return fmin(g->r, 1 + (double)w->alpha * (g->r - 1) / (double)w->n);
}

/* Cycles a step of reading one: no row of it is read again for other columns. Vectors that follow
 * each other step by step are a stream, which takes its time however little is done with it. */
static double both_read(neo_tiles *q, const geometry *g, uint32_t k, double *passing) {
  neo_look x = neo_tiles_columns(q, k, g->v, g->merge);
  double bytes = (double)q->bytes, wide = g->c * g->lanes * bytes, lines = wide / LINE_BYTES;
  double since, fresh = fresh_rows(q, g, k, &since);
  walk steps = neo_tile_walk(q, k);
  bool stream = g->nb * bytes <= wide && steps.jumps && (int64_t)wide == steps.jump && !x.odd;
  touched all = neo_tile_evenly(q->steps * g->n * g->m * bytes), last = neo_tile_evenly(since);
  how come = stream ? STREAM : ALONE;
  if (stream)
    *passing += lines * fresh * neo_tile_far(q, all, PASSING);
  return (read_cycles(q, g, &x, 0) + 0.5) * g->c * g->r +
         lines *
             (fresh * neo_tile_far(q, all, come) + (g->r - fresh) * neo_tile_far(q, last, come));
}

/* ---- all operands */

reads neo_tile_shared_reads(neo_tiles *q, const geometry *g) {
  reads y = {0, 0, 0};
  for (uint32_t k = 0; k < q->c->n; k++) {
    neo_side side = neo_factor_side(&q->c->factor[k], g->rows, g->columns);
    if (g->pack >> k & 1)
      *(side == NEO_SIDE_ROWS ? &y.rows : &y.columns) += packed_read(q, g, k, side, &y.passing);
    else if (side == NEO_SIDE_ROWS)
      y.rows += rows_read(q, g, k);
    else if (side == NEO_SIDE_COLUMNS)
      y.columns += columns_read(q, g, k);
    else if (side == NEO_SIDE_BOTH)
      y.columns += both_read(q, g, k, &y.passing);
    else {
      neo_look x = neo_tiles_columns(q, k, g->v, g->merge);
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
  lying rows = {g->am, g->r, g->mb, g->m, ceil(g->nb / g->c)};
  lying columns = {g->an, g->c, g->nb, g->n, ceil(g->mb / g->r)};
  for (uint32_t k = 0; k < q->c->n; k++) {
    neo_look x = neo_tiles_along(q, k, last);
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
