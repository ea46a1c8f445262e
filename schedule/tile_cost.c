/* What a schedule of a contraction costs on one core, in cycles.
 *
 * A step of a tile of R x C vectors takes R*C/2 cycles of multiply-adds, R*C where they are of 512
 * bits, bounded by issue (about 4.2 operations a cycle) and by latency (4 cycles, hidden from 8
 * accumulators on). To that comes what reading the operands costs where they are not in the nearest
 * cache, by the lines that a step touches, whether they come as a stream, and by what else is
 * touched before they are touched again; then copies into scratch, as often as they are made
 * (codegen/lower.c), the ends of tiles, sums kept between blocks of the reduction, and tiles that
 * are not whole. The constants were measured on cores with two 256-bit multiply-adds a cycle, 32
 * KiB and 512 KiB of caches; they rank schedules, they do not predict time. */
#include "schedule/tile.h"
#include <math.h>

enum {
  LINE_BYTES = 64,
  PAGE_BYTES = 4096,
  NEW_PAGE = 80, /* cycles: its address is looked up, and nothing foresees what is read of it */
  LINE_CYCLES = 4,
  TILE_CYCLES = 20,
  PART_CYCLES = 4,
  BLOCK_CYCLES = 60,
  COPIED_CYCLES = 1000
};

/* ---- the geometry of a schedule */

typedef struct {
  const neo_schedule *s;
  int64_t v, merge, am, an, pack;
  double lanes;        /* of a vector */
  double product;      /* cycles of a multiply-add of vectors, of which two are begun at a time */
  double r, c;         /* of the register tile: rows, vectors (or columns) */
  double n, m, nb, mb; /* extents of columns and rows; of a block */
  double outer, steps,
      kb; /* points of the axes outside of the tile; steps in a block of the reduction, blocks */
  uint64_t rows, columns; /* axes */
  double clip;            /* part of the steps that is left of them on average */
  double tested;          /* part of the products with a condition */
  bool own_lanes, columns_first, fetches;
} geometry;

/* Two units that take 256 bits each: a shorter vector takes as long, a longer one is two. */
static double product_cycles(double lanes, double bytes) {
  enum { UNIT_BYTES = 32 };
  return fmax(1, lanes * bytes / UNIT_BYTES) / 2;
}

static geometry geometry_of(neo_tiles *q, const neo_schedule *s) {
  const int64_t *p = s->at;
  geometry g = {.s = s,
                .v = p[NEO_SCHED_VECTOR_AXIS],
                .merge = p[NEO_SCHED_MERGE],
                .pack = p[NEO_SCHED_PACK]};
  g.lanes = (double)p[NEO_SCHED_VECTOR_WIDTH];
  g.product = product_cycles(g.lanes, (double)q->bytes);
  g.am = p[NEO_SCHED_AXIS_M], g.r = (double)p[NEO_SCHED_TILE_M];
  g.an = p[NEO_SCHED_AXIS_N], g.c = (double)p[NEO_SCHED_TILE_N];
  g.own_lanes = g.v >= (int64_t)q->f->axes.n;
  g.fetches = p[NEO_SCHED_FETCH];
  g.n = (double)neo_tiles_column_length(q, s);
  g.m = (double)neo_tiles_row_length(q, s);
  g.nb = p[NEO_SCHED_BLOCK_N] ? fmin(g.n, (double)p[NEO_SCHED_BLOCK_N]) : g.n;
  g.mb = p[NEO_SCHED_BLOCK_M] ? fmin(g.m, (double)p[NEO_SCHED_BLOCK_M]) : g.m;
  g.outer = q->points / (g.n * g.m);
  g.steps = q->steps;
  g.kb = 1;
  if (p[NEO_SCHED_BLOCK_K] && p[NEO_SCHED_BLOCK_K] < q->own[0]) {
    g.steps = q->steps / (double)q->own[0] * (double)p[NEO_SCHED_BLOCK_K];
    g.kb = ceil((double)q->own[0] / (double)p[NEO_SCHED_BLOCK_K]);
  }
  g.rows = g.am >= 0 ? 1ULL << g.am : 0;
  for (int64_t k = 0; k < g.merge && !g.own_lanes; k++)
    g.columns |= 1ULL << (g.v - k);
  if (g.own_lanes && g.an >= 0)
    g.columns = 1ULL << g.an;
  g.clip = 1;
  for (uint32_t k = 0; k < q->f->axes.n; k++)
    if (!(g.columns >> k & 1) && !(g.own_lanes && g.am == k))
      g.clip *= neo_tiles_clip(q, k, g.am == k ? (int64_t)g.r : 1);
  g.tested = g.own_lanes || !q->s->where.i ? 1 : neo_tiles_tested(q, s);
  g.columns_first =
      g.am >= 0 && !p[NEO_SCHED_ORDER] && (g.pack || neo_rows_are_near(g.mb * g.steps, q->bytes));
  return g;
}

/* ---- leading loops */

static double trips(const neo_tiles *q, const geometry *g, const neo_outer_loop *o) {
  if (!o->block)
    return (double)q->shared[o->axis];
  return o->axis == g->am ? ceil(g->m / g->mb) : ceil(g->n / g->nb);
}

/* Is an operand another one in each iteration of the loop? */
static bool matters(const neo_tiles *q, const geometry *g, const neo_outer_loop *o, uint32_t k,
                    neo_side side) {
  if (!o->block)
    return q->c->factor[k].axes >> o->axis & 1;
  return (o->axis == g->am) == (side == NEO_SIDE_ROWS);
}

/* How often in a row those of axes come to the same block of an operand. */
static double visits(const neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  double times = 1;
  for (uint32_t n = neo_schedule_nest(q->f, g->s, loop);
       n > 0 && !loop[n - 1].block && !matters(q, g, &loop[n - 1], k, side); n--)
    times *= trips(q, g, &loop[n - 1]);
  return times;
}

/* ---- reading */

/* What was not touched for so many bytes, and how much larger it seems to the two caches, because
 * it falls on a part of their sets only. */
typedef struct {
  double bytes, crowd[2];
} touched;

static touched evenly(double bytes) {
  return (touched){bytes, {1, 1}};
}

/* Runs of `lines` lines, `apart` bytes from one to the next. */
static touched in_runs(const neo_tiles *q, double bytes, double lines, int64_t apart) {
  enum { WAYS = 8 };
  int64_t cache[] = {q->machine->l1_bytes, q->machine->l2_bytes};
  touched y = evenly(bytes);
  for (int k = 0; k < 2; k++) {
    int64_t sets = cache[k] / (LINE_BYTES * WAYS), step = apart / LINE_BYTES, a = sets, b = step;
    while (b) {
      int64_t rest = a % b;
      a = b;
      b = rest;
    }
    double used = (double)(sets / (a ? a : 1)) * (lines < 1 ? 1 : lines);
    if (apart % LINE_BYTES == 0 && used < (double)sets)
      y.crowd[k] = (double)sets / used;
  }
  return y;
}

/* Cycles of a line of it: in one stream, in streams that begin anew with each tile, or alone; and
 * those that pass before the next one can come, whatever else is done meanwhile. */
typedef enum { STREAM, STREAMS, ALONE, PASSING } how;

static double far(const neo_tiles *q, touched t, how x) {
  static const double near[] = {0.15, 0.5, 3.5, 2.5}, beyond[] = {0.5, 2.5, 8, 6};
  if (t.bytes * t.crowd[0] <= 0.75 * (double)q->machine->l1_bytes)
    return 0;
  return t.bytes * t.crowd[1] <= (double)q->machine->l2_bytes ? near[x] : beyond[x];
}

/* The same where the first of `times` passes finds it further away. */
static double far_again(const neo_tiles *q, touched first, touched then, double times, how x) {
  return (far(q, first, x) + (times - 1) * far(q, then, x)) / times;
}

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

/* A walk over the steps of the reduction: after `run` steps next to each other it jumps. */
typedef struct {
  double run;
  bool jumps;
  int64_t jump; /* bytes */
} walk;

static walk walk_of(neo_tiles *q, uint32_t k) {
  walk w = {.run = 1};
  uint32_t first = (uint32_t)q->f->axes.n;
  double reach = 1; /* elements that the run covers */
  for (uint32_t i = (uint32_t)q->s->axes.n; i-- > 0;) {
    neo_look x = neo_tiles_along(q, k, first + i);
    double stride = fabs((double)x.stride);
    if (stride == 0 && !x.odd) {
      w.run *= (double)q->own[i];
      continue;
    }
    if (x.odd || stride > 2 * reach) {
      w.jumps = true;
      w.jump = x.odd ? LINE_BYTES : (int64_t)stride * q->bytes;
      return w;
    }
    w.run *= (double)q->own[i];
    reach = fmax(reach, stride * (double)q->own[i]);
  }
  return w;
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
  walk w = walk_of(q, k);
  double apart = fabs((double)x.stride) * (double)q->bytes, bytes = (double)q->bytes;
  double whole = q->steps * y->extent * bytes, each;
  double again = g->columns_first ? g->steps * y->block * bytes : 0;
  double lines = row_lines(q, y->tile, &w, apart);
  if (!w.jumps)
    return lines * far_again(q, evenly(whole), evenly(again), y->times, STREAMS);
  each = far_again(q, evenly(whole), in_runs(q, again, apart * y->block / LINE_BYTES + 1, w.jump),
                   y->times, ALONE);
  double pages =
      w.jump < PAGE_BYTES || each == 0 ? 0 : fmin(y->tile, apart * y->tile / PAGE_BYTES + 1);
  return lines * (each + 0.3) + pages / w.run * NEW_PAGE;
}

/* Cycles a step of reading the rows of a tile where they lie: again for each tile of columns. */
static double rows_read(neo_tiles *q, const geometry *g, uint32_t k) {
  neo_look x = neo_tiles_along(q, k, (uint32_t)g->am);
  lying y = {g->am, g->r, g->mb, g->m, ceil(g->nb / (g->c * g->lanes))};
  double t = ((x.guarded ? 3 : 0) + x.ops * 0.7 + (x.odd ? 1 : 0)) * g->r;
  return t + fetched(q, g, k, &y);
}

/* Do tiles of columns begin where those do in which the operand lies (transform/layout.c), vectors
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
  double from = far_again(q, evenly(first), evenly(block), visits(q, g, k, NEO_SIDE_COLUMNS), as);
  double each = (from + (tiles - 1) * far(q, evenly(then), as)) / tiles;
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

/* Are large columns fetched (fetch.h), still near when they are needed, and is there arithmetic to
 * do meanwhile? */
static bool ahead(const neo_tiles *q, const geometry *g, double tiles) {
  double l1 = (double)q->machine->l1_bytes, block = g->steps * g->nb * (double)q->bytes;
  return g->fetches && g->merge == 1 && tiles > 1 &&
         (g->columns_first || (g->kb > 1 && block <= l1));
}

static bool fetched_ahead(const neo_tiles *q, const geometry *g, double bytes, double tiles) {
  return ahead(q, g, tiles) && bytes > (double)q->machine->l2_bytes;
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
  walk w = walk_of(q, k);
  double bytes = (double)q->bytes, wide = g->c * g->lanes;
  double lines = tile_lines(wide * bytes) + 0.15, row = g->nb * bytes;
  if (!w.jumps || x.odd || x.strided)
    return t * g->c;
  double tiles = ceil(g->mb / g->r), part = g->columns_first ? lines : row / LINE_BYTES;
  touched all = evenly(q->steps * g->n * bytes);
  touched again = in_runs(q, g->steps * (g->columns_first ? wide : g->nb) * bytes, part, w.jump);
  bool many = g->steps > MANY && wide < g->nb; /* rows that are begun together */
  if ((int64_t)row == w.jump && !many)
    row *= g->steps; /* one follows the other */
  bool streams = !many && row >= ROW_BYTES / 4;
  double first = far(q, all, streams ? STREAMS : ALONE) * (streams ? 1 + ROW_BYTES / row : 1);
  if (!streams && w.jump <= FOLLOWED && tiles > 1)
    first *= 0.6;
  if (streams && g->steps > FEW)
    first *= 1.4;
  if (fetched_ahead(q, g, all.bytes, tiles))
    first *= streams ? 0.5 : 0.35;
  double then = far(q, again, streams ? STREAMS : ALONE);
  return t * g->c + lines / w.run * (first + (tiles - 1) * then) / tiles;
}

/* Does the packed operand slide along its side (schedule/pack.c)? */
static const neo_sliding *slide_of(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  bool rows = side == NEO_SIDE_ROWS;
  if (!rows && g->merge > 1)
    return NULL;
  const neo_sliding *w = neo_tiles_slide(q, k, (uint32_t)(rows ? g->am : g->v));
  if (!w || (!rows && w->alpha > 1) || (w->own == 0 && g->kb > 1))
    return NULL;
  return w;
}

/* Elements of a packed block of rows or columns, for so many steps of the reduction. */
static double packed_elements(neo_tiles *q, const geometry *g, uint32_t k, neo_side side,
                              double steps) {
  const neo_sliding *w = slide_of(q, g, k, side);
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
  double first = packed_elements(q, g, k, side, g->steps) * bytes;
  double then = rows == g->columns_first ? first : g->steps * g->clip * (wide + g->r) * bytes;
  double times = ceil(rows ? g->nb / wide : g->mb / g->r), apart = 0;
  if (!rows && slide_of(q, g, k, side))
    apart = 0.15 * g->c;
  double each = far_again(q, evenly(first), evenly(then), times, rows ? STREAMS : STREAM);
  if (!rows)
    *passing +=
        wide * bytes / LINE_BYTES * far_again(q, evenly(first), evenly(then), times, PASSING);
  return (rows ? g->r : wide) * bytes / LINE_BYTES * each + apart;
}

/* Does the stage have a condition that changes inside the tile and that no packed operand takes
 * (codegen/lower_pack.c)? */
static bool conditional(const neo_tiles *q, const geometry *g) {
  uint64_t axes = neo_expr_axes(q->m, q->s->where);
  if (!q->s->where.i || !(axes & (g->rows | g->columns)))
    return false;
  axes &= g->rows | g->columns | ~((1ULL << q->f->axes.n) - 1);
  for (uint32_t k = 0; k < q->c->n; k++)
    if (g->pack >> k & 1 && !(axes & ~q->c->factor[k].axes))
      return false;
  return true;
}

/* What reading costs in a step beyond its share of issue: for the whole tile's rows, for its
 * columns. */
typedef struct {
  double rows, columns;
  double passing; /* cycles that lines of columns take to come, at the least */
} reads;

static reads shared_reads(neo_tiles *q, const geometry *g) {
  reads y = {0, 0, 0};
  for (uint32_t k = 0; k < q->c->n; k++) {
    neo_side side = neo_factor_side(&q->c->factor[k], g->rows, g->columns);
    if (g->pack >> k & 1)
      *(side == NEO_SIDE_ROWS ? &y.rows : &y.columns) += packed_read(q, g, k, side, &y.passing);
    else if (side == NEO_SIDE_ROWS)
      y.rows += rows_read(q, g, k);
    else if (side == NEO_SIDE_COLUMNS)
      y.columns += columns_read(q, g, k);
    else {
      neo_look x = neo_tiles_columns(q, k, g->v, g->merge);
      double t = read_cycles(q, g, &x, 0) + 0.5;
      if (side == NEO_SIDE_BOTH) /* each element is used once */
        t += g->lanes * (double)q->bytes / LINE_BYTES *
             far(q, evenly(q->steps * g->n * g->m * (double)q->bytes), ALONE);
      y.columns += t * g->c * (side == NEO_SIDE_BOTH ? g->r : 1);
    }
  }
  if (conditional(q, g))
    y.columns += 3 * g->tested * g->r * g->c;
  return y;
}

/* Lanes over the last own axis: both operands are vectors, whose lines are fetched as those of rows
 * are. */
static reads own_reads(neo_tiles *q, const geometry *g) {
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

/* ---- tiles */

/* Cycles of a step of a tile of r rows and c vectors. */
static double step_cycles(const geometry *g, double r, double c, double reading, double passing) {
  double fma = r * c * g->product, issue = (r * c + r + c + 5) / 4.2;
  double t = fmax(fmax(fma, issue), passing), loads = 0.06 * (r + c);
  return (t < 4 ? 4 : t) + loads + reading;
}

/* Whole tiles and what is left over along one direction. */
typedef struct {
  double whole, rest;
} cuts;

static cuts cut(double length, double tile) {
  double whole = floor(length / tile);
  return (cuts){whole, length - whole * tile};
}

typedef struct {
  double lanes, steps, end; /* of a vector; of a tile; cycles of the end of a vector */
  reads rd;
} tiling;

/* All tiles of a block. */
static double block_cycles(const geometry *g, const tiling *t, double rows, double columns) {
  cuts r = cut(rows, g->r), c = cut(ceil(columns / t->lanes), g->c);
  double cycles = g->pack || g->kb > 1 ? COPIED_CYCLES : BLOCK_CYCLES;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      double tr = i ? r.rest : g->r, tc = j ? c.rest : g->c;
      double count = (i ? r.rest > 0 : r.whole) * (j ? c.rest > 0 : c.whole);
      double reading = t->rd.rows * tr / g->r + t->rd.columns * tc / g->c;
      double step = step_cycles(g, tr, tc, reading, t->rd.passing * tc / g->c);
      cycles += count * (t->steps * step + tr * tc * t->end + TILE_CYCLES);
    }
  return cycles;
}

/* All blocks. */
static double tiles_cycles(const geometry *g, const tiling *t) {
  cuts m = cut(g->m, g->mb), n = cut(g->n, g->nb);
  double cycles = m.whole * n.whole * block_cycles(g, t, g->mb, g->nb);
  if (m.rest > 0)
    cycles += n.whole * block_cycles(g, t, m.rest, g->nb);
  if (n.rest > 0)
    cycles += m.whole * block_cycles(g, t, g->mb, n.rest);
  if (m.rest > 0 && n.rest > 0)
    cycles += block_cycles(g, t, m.rest, n.rest);
  return cycles;
}

/* ---- copies */

/* Does each tile fetch a part of what the next copy of columns reads (fetch.h), and is it still
 * there then? */
static bool copy_fetched(const neo_tiles *q, const geometry *g, neo_side side, const walk *w) {
  double row = g->nb * (double)q->bytes, lines = row / LINE_BYTES + 1;
  touched both = in_runs(q, 2 * g->steps * row, lines, w->jumps ? w->jump : LINE_BYTES);
  return g->fetches && side == NEO_SIDE_COLUMNS && q->s->axes.n == 1 && g->am >= 0 &&
         g->mb == g->m && (g->kb > 1 || g->nb < g->n) &&
         both.bytes * both.crowd[1] <= (double)q->machine->l2_bytes;
}

bool neo_tiles_fetch_large(neo_tiles *q, const neo_schedule *s) {
  neo_schedule y = *s;
  y.at[NEO_SCHED_FETCH] = 1;
  geometry g = geometry_of(q, &y);
  for (uint32_t k = 0; k < q->c->n; k++) {
    walk w = walk_of(q, k);
    neo_side side = neo_factor_side(&q->c->factor[k], g.rows, g.columns);
    double bytes = neo_tiles_elements(q, k) * (double)q->bytes;
    if (side != NEO_SIDE_COLUMNS || !w.jumps || q->s->axes.n > 1 ||
        bytes <= 0.5 * (double)q->machine->l2_bytes)
      continue;
    bool packed = g.pack >> k & 1;
    if (packed ? copy_fetched(q, &g, side, &w) : g.kb > 1 && ahead(q, &g, ceil(g.mb / g.r)))
      return true;
  }
  return false;
}

/* Cycles an element of fetching what is copied: the lines of the tensor, each as often as there are
 * copies of its elements in a row; a row of columns is a stream where it is long. */
static double source_cycles(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  bool rows = side == NEO_SIDE_ROWS;
  double bytes = (double)q->bytes, elements = rows ? g->m : g->n, tensor = neo_tiles_elements(q, k);
  for (uint32_t i = 0; i < q->s->axes.n; i++)
    if (q->c->factor[k].axes >> (q->f->axes.n + i) & 1)
      elements *= (double)q->own[i];
  walk w = walk_of(q, k);
  double line = w.jumps ? 10 : 2.5;
  if (copy_fetched(q, g, side, &w))
    line *= 0.3;
  if (elements * bytes <= (double)q->machine->l2_bytes)
    line = 1;
  return line * bytes / LINE_BYTES * (tensor < elements ? tensor / elements : 1);
}

enum { SHORT = 4 }; /* vectors in a run for which edges are worth a loop of their own */

/* Of an operand that slides in runs: elements of those that follow each other in memory without a
 * gap as long as themselves, and what they reach over; false: all of them do. */
static bool slide_jumps(neo_tiles *q, uint32_t k, const neo_sliding *w, double run, double *count,
                        double *reach) {
  *count = *reach = 1;
  for (uint32_t i = (uint32_t)q->s->axes.n; i-- > 0;) {
    neo_look x = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
    double stride = fabs((double)x.stride), n = i == w->own ? run : (double)q->own[i];
    if (stride == 0 && !x.odd)
      continue;
    if (x.odd || stride > 2 * *reach)
      return true;
    *count *= n;
    *reach = fmax(*reach, stride * n);
  }
  return false;
}

/* Cycles an element of fetching what slides: the lines of a tensor beyond the caches, again with
 * each copy. After a jump they are waited for: nothing foresees it, and there is no arithmetic to
 * do meanwhile. */
static double slide_source_cycles(neo_tiles *q, uint32_t k, const neo_sliding *w, double run) {
  const double near = 1, stream = 2.5, alone = 20;
  double count, reach, bytes = (double)q->bytes;
  if (neo_tiles_elements(q, k) * bytes <= (double)q->machine->l2_bytes)
    return near * bytes / LINE_BYTES;
  if (!slide_jumps(q, k, w, run, &count, &reach))
    return stream * bytes / LINE_BYTES;
  return alone * (reach * bytes / LINE_BYTES + 1) / count;
}

/* Cycles of copying an element of an operand that slides: vectors, and what is left of a run in
 * smaller ones, or one by one where its length is not the same everywhere. */
static double slide_copy_cycles(neo_tiles *q, uint32_t k, const neo_sliding *w, double lanes,
                                bool guarded, double length, bool whole) {
  neo_look own = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + w->own);
  double run = (double)w->alpha * (length - 1) + (double)w->n;
  double rest = fmod(run, lanes), edges = !guarded ? 0 : run >= SHORT * lanes ? 0.15 : 0.5;
  if (own.stride != w->beta || own.odd)
    return 1.8 + edges + own.ops;
  double left = whole ? 4 * (rest > 0) + rest * 0.5 : rest * 3;
  return (0.4 * (run - rest) + left) / run + edges + own.ops / lanes;
}

/* Cycles an element where axes that are walked as one step over whole lines: each lane is fetched
 * by itself, and its line again for the next step of the reduction. */
static double lone_cycles(const neo_tiles *q, const geometry *g, const neo_look *x) {
  int64_t apart = (x->stride < 0 ? -x->stride : x->stride) * q->bytes;
  return 3 + far(q, in_runs(q, g->nb * LINE_BYTES, 1, apart), ALONE);
}

/* Cycles of copying an element of a packed operand. */
static double copy_cycles(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  bool rows = side == NEO_SIDE_ROWS;
  uint32_t axis = (uint32_t)(rows ? g->am : g->v);
  const neo_sliding *slide = slide_of(q, g, k, side);
  neo_look x = neo_tiles_along(q, k, axis);
  walk w = walk_of(q, k);
  double lanes = g->lanes, length = (double)q->shared[axis], t;
  bool masked = neo_expr_axes(q->m, q->s->where) & (g->rows | g->columns);
  if (slide) {
    double block = rows ? g->mb : g->nb;
    double run = (double)slide->alpha * (block - 1) + (double)slide->n;
    return slide_copy_cycles(q, k, slide, g->lanes, x.guarded || masked, block,
                             rows ? g->mb == g->m : g->nb == g->n) +
           slide_source_cycles(q, k, slide, run);
  }
  bool along = x.stride == 1 && !x.odd, second = x.stride == 2 && !x.odd;
  bool down = false, square = false; /* contiguous along the reduction; turned (lower_copy.c) */
  for (uint32_t i = 0; i < q->s->axes.n && !rows && g->merge == 1; i++) {
    neo_look y = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
    square |= (y.stride == 1 || y.stride == 2) && !y.odd && 2 * (double)q->own[i] >= lanes;
  }
  for (uint32_t i = (uint32_t)q->s->axes.n; i-- > 0 && !down;) {
    neo_look y = neo_tiles_along(q, k, (uint32_t)q->f->axes.n + i);
    down = y.stride == 1 && !y.odd;
    if (y.stride)
      break;
  }
  if (rows && down)
    t = w.run >= 2 * lanes ? 0.3 : 1;
  else if (rows && along)
    t = 1.2; /* tiles of rows are no vectors */
  else if (along && length >= lanes)
    t = 0.4;
  else if (second && !rows && length >= lanes)
    t = 0.7;
  else if (square)
    t = 0.8;
  else
    t = down && w.run >= lanes ? 1.4 : 1.8;
  if (x.guarded || masked)
    t += (along || second) && length >= SHORT * lanes ? 0.15 : 0.5;
  if (!rows && g->merge > 1)
    t += along || second ? 0.2 : lone_cycles(q, g, &x);
  return t + source_cycles(q, g, k, side) + x.ops / (along ? lanes : 1);
}

/* Cycles an element of writing it to scratch that is too large to stay near. */
static double scratch_cycles(neo_tiles *q, const geometry *g, uint32_t k, neo_side side) {
  double bytes = packed_elements(q, g, k, side, g->steps) * (double)q->bytes, line = 8;
  return bytes > (double)q->machine->l2_bytes / 2 ? line * (double)q->bytes / LINE_BYTES : 0;
}

/* How often an operand is copied: codegen/lower.c makes a copy as far out in a unit as it is the
 * same. */
static double copy_count(const neo_tiles *q, const geometry *g, const neo_schedule *s, uint32_t k,
                         neo_side side) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  double count = 1;
  int64_t n = neo_schedule_nest(q->f, s, loop), units = s->at[NEO_SCHED_UNIT_AXES], level = n;
  while (!s->at[NEO_SCHED_BLOCK_K] && level > 0 && !matters(q, g, &loop[level - 1], k, side))
    level--;
  for (int64_t i = 0; i < (level < units ? units : level); i++)
    count *= trips(q, g, &loop[i]);
  if (level == 0 && units > 0)
    count = ceil(count / (double)s->at[NEO_SCHED_UNIT_SIZE]);
  return count;
}

static double copies_cycles(neo_tiles *q, const geometry *g, const neo_schedule *s) {
  double cycles = 0;
  for (uint32_t k = 0; k < q->c->n; k++) {
    neo_side side = neo_factor_side(&q->c->factor[k], g->rows, g->columns);
    if (!(g->pack >> k & 1) || (side != NEO_SIDE_ROWS && side != NEO_SIDE_COLUMNS))
      continue;
    double steps = 1, elements;
    for (uint32_t i = 0; i < q->s->axes.n; i++)
      if (q->c->factor[k].axes >> (q->f->axes.n + i) & 1)
        steps *= (double)q->own[i];
    elements = packed_elements(q, g, k, side, steps);
    double each = copy_cycles(q, g, k, side) + scratch_cycles(q, g, k, side);
    cycles += copy_count(q, g, s, k, side) * elements * each;
  }
  return cycles;
}

/* ---- what is written */

/* Do the rows of a tile follow each other in every result? Then they fill cache lines together. */
static bool rows_follow(neo_tiles *q, const geometry *g) {
  return g->am >= 0 && neo_tiles_results_follow(q, (uint32_t)g->am, (int64_t)(g->c * g->lanes));
}

/* Does the k-th result lie in long runs along the axis, whose tiles follow each other? */
static double run_bytes(neo_tiles *q, const geometry *g, size_t k) {
  bool rows = g->columns_first && g->am >= 0;
  int64_t axis = rows ? g->am : g->v;
  if (rows_follow(q, g))
    return g->m * g->n * (double)q->bytes;
  if (!neo_tiles_result_runs(q, (uint32_t)axis, k))
    return 0;
  return (rows ? g->mb : g->nb) * (double)q->bytes;
}

/* Cycles a vector of fetching and writing back the lines of all results: streams where the tiles of
 * the inner loop follow each other in memory, else a line here and a line there. */
static double written(neo_tiles *q, const geometry *g) {
  enum { RUN_BYTES = 1024 };
  double cycles = 0, lines = g->lanes * (double)q->bytes / LINE_BYTES;
  touched all = evenly(q->points * (double)q->bytes);
  size_t result = 0;
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++) {
      double run = run_bytes(q, g, result++);
      double alone = far(q, all, ALONE);
      double each = run > 0 ? far(q, all, STREAM) * (1 + RUN_BYTES / run) : alone;
      cycles += lines * (each < alone ? each : alone);
    }
  return cycles;
}

/* ---- the whole */

/* Adding a vector to what there is of it, and keeping it: lines of rows here and there, or streams.
 * */
static double kept_cycles(const neo_tiles *q, const geometry *g) {
  enum { RUN_BYTES = 1024 };
  double bytes = (double)q->bytes, kept = g->mb * g->nb * bytes;
  bool streams = !g->columns_first && g->nb * bytes >= RUN_BYTES;
  if (kept <= (double)q->machine->l1_bytes / 2)
    return streams ? 1.5 : 2.5;
  if (kept <= (double)q->machine->l2_bytes / 2)
    return streams ? 0.8 : 5;
  return streams ? 4 : 9;
}

/* Cycles a vector of storing lane by lane; of rows that lie side by side, once their tile is turned
 * (codegen/llvm_turn.c). */
static double scattered_cycles(neo_tiles *q, const geometry *g) {
  enum { LEAST_ROWS = 4 };
  bool turned = g->am >= 0 && g->r >= LEAST_ROWS && neo_tiles_results_follow(q, (uint32_t)g->am, 1);
  return (turned ? 0.5 : 0.9) * g->lanes;
}

static double shared_cost(neo_tiles *q, const geometry *g, const neo_schedule *s) {
  double partial = kept_cycles(q, g);
  tiling t = {.lanes = g->lanes, .steps = q->steps * g->clip, .rd = shared_reads(q, g)};
  neo_tile_end end = neo_tiles_end(q, g->v, g->merge, (int64_t)g->lanes);
  t.end = 3 + end.cycles + end.scattered * scattered_cycles(q, g);
  t.end += end.far * t.lanes * LINE_CYCLES / (end.shared_along & g->rows ? g->r : 1);
  bool half = g->c * g->lanes * (double)q->bytes < LINE_BYTES;
  if (half && !rows_follow(q, g)) /* half cache lines are fetched twice */
    t.end *= 1.8;
  t.end += (g->kb - 1) * partial + written(q, g);
  double more = (g->kb - 1) * PART_CYCLES * ceil(g->m / g->r) * ceil(g->n / (g->c * t.lanes));
  return g->outer * (tiles_cycles(g, &t) + more) + copies_cycles(q, g, s);
}

static double own_cost(neo_tiles *q, const geometry *g) {
  double length = (double)q->own[q->s->axes.n - 1], w = g->lanes;
  double runs = q->steps * g->clip / length, tail = fmod(length, w) > 0 ? 4 : 0;
  tiling t = {.lanes = 1, .end = 14, .rd = own_reads(q, g)};
  t.steps = runs * (ceil(length / w) + tail * 0.5 + 1);
  t.end += (g->kb - 1) * (kept_cycles(q, g) + t.end);
  return g->outer * tiles_cycles(g, &t);
}

static double units_of(const neo_tiles *q, const geometry *g, const neo_schedule *s) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  int64_t units = s->at[NEO_SCHED_UNIT_AXES], loops = neo_schedule_nest(q->f, s, loop);
  double n = 1;
  for (int64_t i = 0; i < units && i < loops; i++)
    n *= trips(q, g, &loop[i]);
  return ceil(n / (double)s->at[NEO_SCHED_UNIT_SIZE]);
}

double neo_tiles_cost(neo_tiles *q, const neo_schedule *s, double *units) {
  geometry g = geometry_of(q, s);
  if (units)
    *units = units_of(q, &g, s);
  return g.own_lanes ? own_cost(q, &g) : shared_cost(q, &g, s);
}
