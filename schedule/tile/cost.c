/* The cost of a contraction's schedule on one core, in cycles.
 *
 * A step of a tile of R x C vectors takes as many cycles as the machine's row (base/machine.def)
 * says of R*C multiply-adds, bounded by issue and by latency (4 cycles on most, hidden from 8
 * accumulators on). Operands that are not in L1 cost extra: by the lines that a step touches, by
 * whether these are a stream, and by their reuse distance. Then there are the copies into scratch,
 * as often as they are made (codegen/lower/lower.c), the ends of tiles, partial sums between blocks
 * of the reduction, and partial tiles. The numbers rank schedules; they do not predict time. */
#include "schedule/tile/cost.h"
#include <math.h>

/* ---- tiles */

/* Cycles of a step of a tile of r rows and c vectors. If lanes are columns, the factors of a row
 * are multiplied as numbers, and the product is spread over a vector afterwards. */
static double step_cycles(const geometry *g, double r, double c, double reading,
                          double throughput) {
  double rows = r * g->row_products, columns = c * g->column_products;
  double vectors = r * c * (1 + g->products) + columns + (g->own_lanes ? rows : 0);
  double numbers = g->own_lanes ? 0 : rows, spread = g->row_products > 0 ? numbers + r : 0;
  double fma = vectors * g->product + numbers / g->core->units;
  double issue = (vectors + spread + r + c + 5) / g->core->issue;
  double t = fmax(fmax(fma, issue), throughput), loads = 0.06 * (r + c);
  return fmax(t, g->core->latency / g->partial) + loads + reading;
}

/* Whole tiles along one direction, and the elements of the partial one. */
typedef struct {
  double whole, rest;
} cuts;

static cuts cut(double length, double tile) {
  double whole = floor(length / tile);
  return (cuts){whole, length - whole * tile};
}

typedef struct {
  double lanes, steps, end; /* lanes of a vector; steps of a tile; cycles at the end, per vector */
  reads rd;
} tiling;

/* Cycles of all tiles of a block. */
static double block_cycles(const geometry *g, const tiling *t, double rows, double columns) {
  cuts r = cut(rows, g->r), c = cut(ceil(columns / t->lanes), g->c);
  double cycles = g->pack || g->kb > 1 ? g->core->copied : g->core->block;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      double tr = i ? r.rest : g->r, tc = j ? c.rest : g->c;
      double count = (i ? r.rest > 0 : r.whole) * (j ? c.rest > 0 : c.whole);
      double reading = t->rd.rows * tr / g->r + t->rd.columns * tc / g->c;
      double step = step_cycles(g, tr, tc, reading, t->rd.throughput * tc / g->c);
      cycles += count * (t->steps * step + tr * tc * t->end + g->core->tile);
    }
  return cycles;
}

/* Cycles of all blocks. */
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

/* ---- results */

/* Are the rows of a tile adjacent in every result? They then fill cache lines together. */
static bool rows_contiguous(neo_tiles *q, const geometry *g) {
  return g->am >= 0 &&
         neo_tiles_results_have_stride(q, (uint32_t)g->am, (int64_t)(g->c * g->lanes));
}

/* Bytes of the contiguous run of the k-th result that consecutive tiles write; 0: it is not
 * contiguous. */
static double run_bytes(neo_tiles *q, const geometry *g, size_t k) {
  bool rows = g->columns_first && g->am >= 0;
  int64_t axis = rows ? g->am : g->v;
  if (rows_contiguous(q, g))
    return g->m * g->n * (double)q->bytes;
  if (!neo_tiles_result_is_contiguous(q, (uint32_t)axis, k))
    return 0;
  return (rows ? g->mb : g->nb) * (double)q->bytes;
}

/* Cycles per vector of fetching and writing back the lines of all results: streams where
 * consecutive tiles of the inner loop are adjacent in memory, else single lines. */
static double written(neo_tiles *q, const geometry *g) {
  enum { RUN_BYTES = 1024 };
  double cycles = 0, lines = g->lanes * (double)q->bytes / q->line_bytes;
  reuse all = neo_tile_reuse(q->points * (double)q->bytes);
  size_t result = 0;
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++) {
      double run = run_bytes(q, g, result++);
      double alone = neo_tile_miss_cycles(q, all, ALONE);
      double each = run > 0 ? neo_tile_miss_cycles(q, all, STREAM) * (1 + RUN_BYTES / run) : alone;
      cycles += lines * (each < alone ? each : alone);
    }
  return cycles;
}

/* ---- the whole */

/* Cycles of adding a vector to a partial sum and storing it: partial sums are streams or short
 * rows. */
static double partial_sum_cycles(const neo_tiles *q, const geometry *g) {
  enum { RUN_BYTES = 1024 };
  double bytes = (double)q->bytes, sums = g->mb * g->nb * g->inside * bytes;
  bool streams = !g->columns_first && g->nb * bytes >= RUN_BYTES;
  int cache = sums <= (double)q->machine->l1_bytes / 2   ? 0
              : sums <= (double)q->machine->l2_bytes / 2 ? 1
                                                         : 2;
  return g->core->partial[cache][streams ? 0 : 1];
}

/* Cycles per vector of reading the tensor that is updated, where no cache holds it from kernel to
 * kernel. Pieces of several rows are not one stream; their latency is hidden least where sums are
 * short. */
static double updated(neo_tiles *q, const geometry *g, const neo_tile_end *end) {
  enum { HELD_BYTES = 8 << 20 };
  double piece = g->core->beyond[NEO_LINE_ALONE], alternating = g->core->line;
  double meanwhile = 2 * g->core->latency;
  double lines = g->lanes * (double)q->bytes / q->line_bytes;
  if (!end->rows || g->r <= 1 || q->points * (double)q->bytes <= HELD_BYTES ||
      rows_contiguous(q, g))
    return 0;
  double bare = fmax(0, 1 - q->steps * g->product / meanwhile);
  return lines * (piece / fmin(g->r, g->c) + alternating * bare);
}

/* Cycles per vector of storing single lanes. Adjacent rows are transposed in registers first
 * (codegen/llvm/core/transpose.c). */
static double scattered_cycles(neo_tiles *q, const geometry *g) {
  enum { LEAST_ROWS = 4 };
  bool transposed =
      g->am >= 0 && g->r >= LEAST_ROWS && neo_tiles_results_have_stride(q, (uint32_t)g->am, 1);
  return (transposed ? 0.5 : 0.9) * g->lanes;
}

static double shared_cost(neo_tiles *q, const geometry *g, const neo_schedule *s, double limit) {
  double partial = partial_sum_cycles(q, g);
  tiling t = {.lanes = g->lanes, .steps = q->steps * g->clip, .rd = neo_tile_shared_reads(q, g)};
  neo_tile_end end = neo_tiles_end(q, g->v, g->fused, (int64_t)g->lanes);
  t.end = 3 + end.cycles + end.scattered * scattered_cycles(q, g) + q->after * g->product;
  t.end += end.far * t.lanes * g->core->line / (end.shared_along & g->rows ? g->r : 1);
  bool half = g->c * g->lanes * (double)q->bytes < q->line_bytes;
  if (half && !rows_contiguous(q, g)) /* half cache lines are fetched twice */
    t.end *= 1.8;
  t.end += (g->kb - 1) * partial + written(q, g) + updated(q, g, &end);
  double more = (g->kb - 1) * g->core->part * ceil(g->m / g->r) * ceil(g->n / (g->c * t.lanes));
  double cycles = g->outer * (tiles_cycles(g, &t) + more);
  return cycles < limit ? cycles + neo_tile_copies(q, g, s) : cycles;
}

/* Cycles at the end of an element whose sum is in lanes: a tree adds the lanes, with a shuffle and
 * an addition for each level; the epilogue is computed on one number at a time. */
static double own_end(const neo_tiles *q, const geometry *g) {
  const double begun_and_stored = 6;
  return begun_and_stored + 2 * log2(g->lanes) + q->after / g->core->units;
}

static double own_cost(neo_tiles *q, const geometry *g) {
  double length = (double)q->own[q->s->axes.n - 1], w = g->lanes;
  double runs = q->steps * g->clip / length, tail = fmod(length, w) > 0 ? 4 : 0;
  tiling t = {.lanes = 1, .end = own_end(q, g), .rd = neo_tile_own_reads(q, g)};
  t.steps = runs * (ceil(length / w) + tail * 0.5 + 1);
  t.end += (g->kb - 1) * (partial_sum_cycles(q, g) + t.end);
  return g->outer * tiles_cycles(g, &t);
}

static double cost_of(neo_tiles *q, const geometry *g, const neo_schedule *s, double limit) {
  return g->own_lanes ? own_cost(q, g) : shared_cost(q, g, s, limit);
}

double neo_tiles_cost(neo_tiles *q, const neo_schedule *s, double limit) {
  geometry g = neo_tile_geometry(q, s);
  return cost_of(q, &g, s, limit);
}

/* ---- several cores */

/* Idle time for an unknown number of cores: a weighted mean over 2, 4 and 8 cores, of which only a
 * part counts. */
static double idle_usually(const neo_tile_units *u) {
  static const double part[] = {0.5, 0.3, 0.2}, weight = 0.12;
  double sum = 0, cores = 2;
  for (int k = 0; k < 3; k++, cores *= 2)
    sum += part[k] * neo_tile_units_idle(u, cores);
  return weight * sum;
}

double neo_tiles_merit(neo_tiles *q, const neo_schedule *s, double limit) {
  geometry g = neo_tile_geometry(q, s);
  double cost = cost_of(q, &g, s, limit);
  if (cost >= limit)
    return cost;
  neo_tile_units u = neo_tile_units_of(q, &g, s);
  double units = neo_tile_units_count(&u);
  cost += units * q->machine->core.unit + (units > 1 ? q->machine->core.region : 0);
  uint32_t threads = q->machine->threads;
  if (cost >= limit)
    return cost;
  return cost * (1 + (threads ? neo_tile_units_idle(&u, threads) : idle_usually(&u)));
}
