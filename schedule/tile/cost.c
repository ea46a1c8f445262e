/* What a schedule of a contraction costs on one core, in cycles.
 *
 * A step of a tile of R x C vectors takes as many cycles as the machine's row (base/machine.def)
 * says of R*C multiply-adds, bounded by issue and by latency (4 cycles on most, hidden from 8
 * accumulators on). To that comes what reading the operands costs where they are not in the nearest
 * cache, by the lines that a step touches, whether they come as a stream, and by what else is
 * touched before they are touched again; then copies into scratch, as often as they are made
 * (codegen/lower/lower.c), the ends of tiles, sums kept between blocks of the reduction, and tiles that
 * are not whole. The numbers rank schedules, they do not predict time. */
#include "schedule/tile/cost.h"
#include <math.h>

/* ---- tiles */

/* Cycles of a step of a tile of r rows and c vectors. */
static double step_cycles(const geometry *g, double r, double c, double reading, double passing) {
  double fma = r * c * g->product, issue = (r * c + r + c + 5) / g->core->issue;
  double t = fmax(fmax(fma, issue), passing), loads = 0.06 * (r + c);
  return fmax(t, g->core->latency) + loads + reading;
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
  double cycles = g->pack || g->kb > 1 ? g->core->copied : g->core->block;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      double tr = i ? r.rest : g->r, tc = j ? c.rest : g->c;
      double count = (i ? r.rest > 0 : r.whole) * (j ? c.rest > 0 : c.whole);
      double reading = t->rd.rows * tr / g->r + t->rd.columns * tc / g->c;
      double step = step_cycles(g, tr, tc, reading, t->rd.passing * tc / g->c);
      cycles += count * (t->steps * step + tr * tc * t->end + g->core->tile);
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
  touched all = neo_tile_evenly(q->points * (double)q->bytes);
  size_t result = 0;
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++) {
      double run = run_bytes(q, g, result++);
      double alone = neo_tile_far(q, all, ALONE);
      double each = run > 0 ? neo_tile_far(q, all, STREAM) * (1 + RUN_BYTES / run) : alone;
      cycles += lines * (each < alone ? each : alone);
    }
  return cycles;
}

/* ---- the whole */

/* Adding a vector to what there is of it, and keeping it: lines of rows here and there, or streams.
 * */
static double kept_cycles(const neo_tiles *q, const geometry *g) {
  enum { RUN_BYTES = 1024 };
  double bytes = (double)q->bytes, kept = g->mb * g->nb * g->inside * bytes;
  bool streams = !g->columns_first && g->nb * bytes >= RUN_BYTES;
  int cache = kept <= (double)q->machine->l1_bytes / 2   ? 0
              : kept <= (double)q->machine->l2_bytes / 2 ? 1
                                                         : 2;
  return g->core->kept[cache][streams ? 0 : 1];
}

/* Cycles a vector of reading what is updated, where no cache holds it from one kernel to the next:
 * pieces of several rows are no one stream, which is least hidden where sums are short. */
static double updated(neo_tiles *q, const geometry *g, const neo_tile_end *end) {
  enum { HELD_BYTES = 8 << 20 };
  double piece = g->core->beyond[NEO_LINE_ALONE], alternating = g->core->line;
  double meanwhile = 2 * g->core->latency;
  double lines = g->lanes * (double)q->bytes / LINE_BYTES;
  if (!end->rows || g->r <= 1 || q->points * (double)q->bytes <= HELD_BYTES || rows_follow(q, g))
    return 0;
  double bare = fmax(0, 1 - q->steps * g->product / meanwhile);
  return lines * (piece / fmin(g->r, g->c) + alternating * bare);
}

/* Cycles a vector of storing lane by lane; of rows that lie side by side, once their tile is turned
 * (codegen/llvm/core/transpose.c). */
static double scattered_cycles(neo_tiles *q, const geometry *g) {
  enum { LEAST_ROWS = 4 };
  bool turned = g->am >= 0 && g->r >= LEAST_ROWS && neo_tiles_results_follow(q, (uint32_t)g->am, 1);
  return (turned ? 0.5 : 0.9) * g->lanes;
}

static double shared_cost(neo_tiles *q, const geometry *g, const neo_schedule *s) {
  double partial = kept_cycles(q, g);
  tiling t = {.lanes = g->lanes, .steps = q->steps * g->clip, .rd = neo_tile_shared_reads(q, g)};
  neo_tile_end end = neo_tiles_end(q, g->v, g->merge, (int64_t)g->lanes);
  t.end = 3 + end.cycles + end.scattered * scattered_cycles(q, g);
  t.end += end.far * t.lanes * g->core->line / (end.shared_along & g->rows ? g->r : 1);
  bool half = g->c * g->lanes * (double)q->bytes < LINE_BYTES;
  if (half && !rows_follow(q, g)) /* half cache lines are fetched twice */
    t.end *= 1.8;
  t.end += (g->kb - 1) * partial + written(q, g) + updated(q, g, &end);
  double more = (g->kb - 1) * g->core->part * ceil(g->m / g->r) * ceil(g->n / (g->c * t.lanes));
  return g->outer * (tiles_cycles(g, &t) + more) + neo_tile_copies(q, g, s);
}

static double own_cost(neo_tiles *q, const geometry *g) {
  double length = (double)q->own[q->s->axes.n - 1], w = g->lanes;
  double runs = q->steps * g->clip / length, tail = fmod(length, w) > 0 ? 4 : 0;
  tiling t = {.lanes = 1, .end = 14, .rd = neo_tile_own_reads(q, g)};
  t.steps = runs * (ceil(length / w) + tail * 0.5 + 1);
  t.end += (g->kb - 1) * (kept_cycles(q, g) + t.end);
  return g->outer * tiles_cycles(g, &t);
}

static double units_of(const neo_tiles *q, const geometry *g, const neo_schedule *s) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  int64_t units = s->loops.unit_axes, loops = neo_schedule_outer_loops(q->f, s, loop);
  double n = 1;
  for (int64_t i = 0; i < units && i < loops; i++)
    n *= neo_tile_trips(q, g, &loop[i]);
  return ceil(n / (double)s->loops.unit_size);
}

double neo_tiles_cost(neo_tiles *q, const neo_schedule *s, double *units) {
  geometry g = neo_tile_geometry(q, s);
  if (units)
    *units = units_of(q, &g, s);
  return g.own_lanes ? own_cost(q, &g) : shared_cost(q, &g, s);
}
