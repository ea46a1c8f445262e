/* The geometry of a contraction's schedule, and the cost of cache misses. */
#include "schedule/tile/cost.h"
#include <math.h>

/* ---- the geometry of a schedule */

/* Cycles of a vector multiply-add: a short vector takes as long as a whole unit, a long one takes
 * several units. */
static double product_cycles(const neo_core *core, double lanes, double bytes) {
  return fmax(1, lanes * bytes / core->unit_bytes) / core->units;
}

/* Counts multiplications outside of the multiply-add. The factors of each side are multiplied
 * first, so that an element's multiply-add has one operand of each side. Factors that vary with
 * neither side join the smaller side. Functions of operands of both sides are computed for each
 * element. */
static void set_products(const neo_tiles *q, geometry *g) {
  double n[4] = {0};
  for (uint32_t k = 0; k < q->c->n; k++)
    n[neo_factor_side(&q->c->factor[k], g->rows, g->columns)]++;
  double *rows = &n[NEO_SIDE_ROWS], *columns = &n[NEO_SIDE_COLUMNS], both = n[NEO_SIDE_BOTH];
  if (*rows > 0 && (*columns == 0 || g->r < g->c) && (*columns > 0 || both > 0))
    *rows += n[NEO_SIDE_NONE];
  else if (*columns > 0 && (*rows > 0 || both > 0))
    *columns += n[NEO_SIDE_NONE];
  else
    both += n[NEO_SIDE_NONE] > 0;
  g->row_products = fmax(0, *rows - 1);
  g->column_products = fmax(0, *columns - 1);
  g->products = fmax(0, both + (*rows > 0) + (*columns > 0) - 2);
  g->products += neo_contraction_functions(q->c, g->rows, g->columns);
}

static double inside_of(const neo_tiles *q, const geometry *g) {
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  double n = 1;
  if (!neo_schedule_steps_first(g->s))
    return n;
  for (int64_t k = neo_schedule_outer_loops(q->f, g->s, loop); k-- > g->s->loops.unit_axes;)
    n *= neo_tile_trips(q, g, &loop[k]);
  return n;
}

/* Steps of a block of the reduction. */
static double block_steps(const neo_tiles *q, const neo_loop_params *p) {
  bool blocked = p->block_k && p->block_k < q->own[0];
  return blocked ? q->steps / (double)q->own[0] * (double)p->block_k : q->steps;
}

static double block_rows(const neo_tiles *q, const neo_schedule *s) {
  double m = (double)neo_tiles_row_length(q, s);
  return s->loops.block_m ? fmin(m, (double)s->loops.block_m) : m;
}

bool neo_tiles_columns_first(const neo_tiles *q, const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  return p->axis_m >= 0 && p->order != 1 &&
         (p->order == 2 || p->pack ||
          neo_elements_are_near(block_rows(q, s) * block_steps(q, p), q->bytes));
}

geometry neo_tile_geometry(neo_tiles *q, const neo_schedule *s) {
  const neo_loop_params *p = &s->loops;
  geometry g = {
      .s = s, .core = &q->machine->core, .v = p->vector_axis, .fused = p->fused, .pack = p->pack};
  g.lanes = (double)p->vector_width;
  g.product = product_cycles(g.core, g.lanes, (double)q->bytes);
  g.am = p->axis_m, g.r = (double)p->tile_m;
  g.an = p->axis_n, g.c = (double)p->tile_n;
  g.partial = (double)p->partial;
  g.own_lanes = g.v >= (int64_t)q->f->axes.n;
  g.prefetches = p->prefetch;
  g.n = (double)neo_tiles_column_length(q, s);
  g.m = (double)neo_tiles_row_length(q, s);
  g.nb = p->block_n ? fmin(g.n, (double)p->block_n) : g.n;
  g.mb = block_rows(q, s);
  g.outer = q->points / (g.n * g.m);
  g.steps = block_steps(q, p);
  g.kb = p->block_k && p->block_k < q->own[0] ? ceil((double)q->own[0] / (double)p->block_k) : 1;
  g.rows = g.am >= 0 ? 1ULL << g.am : 0;
  for (int64_t k = 0; k < g.fused && !g.own_lanes; k++)
    g.columns |= 1ULL << (g.v - k);
  if (g.own_lanes && g.an >= 0)
    g.columns = 1ULL << g.an;
  set_products(q, &g);
  g.clip = 1;
  for (uint32_t k = 0; k < q->f->axes.n; k++)
    if (!(g.columns >> k & 1) && !(g.own_lanes && g.am == k))
      g.clip *= neo_tiles_clip(q, k, g.am == k ? (int64_t)g.r : 1);
  g.tested = g.own_lanes || !q->s->where.i ? 1 : neo_tiles_tested(q, s);
  g.inside = inside_of(q, &g);
  g.columns_first = neo_tiles_columns_first(q, s);
  return g;
}

/* ---- leading loops */

double neo_tile_trips(const neo_tiles *q, const geometry *g, const neo_outer_loop *o) {
  if (!o->block)
    return (double)q->shared[o->axis];
  return o->axis == g->am ? ceil(g->m / g->mb) : ceil(g->n / g->nb);
}

bool neo_tile_depends(const neo_tiles *q, const geometry *g, const neo_outer_loop *o, uint32_t k,
                      neo_side side) {
  if (!o->block)
    return q->c->factor[k].axes >> o->axis & 1;
  return (o->axis == g->am) == (side == NEO_SIDE_ROWS);
}

/* ---- memory */

reuse neo_tile_reuse(double bytes) {
  return (reuse){bytes, {1, 1}};
}

reuse neo_tile_strided_reuse(const neo_tiles *q, double bytes, double lines, int64_t stride) {
  enum { WAYS = 8 };
  int64_t line = (int64_t)q->line_bytes, cache[] = {q->machine->l1_bytes, q->machine->l2_bytes};
  reuse y = neo_tile_reuse(bytes);
  for (int k = 0; k < 2; k++) {
    int64_t sets = cache[k] / (line * WAYS), step = stride / line, a = sets, b = step;
    while (b) {
      int64_t rest = a % b;
      a = b;
      b = rest;
    }
    double used = (double)(sets / (a ? a : 1)) * (lines < 1 ? 1 : lines);
    if (stride % line == 0 && used < (double)sets)
      y.conflicts[k] = (double)sets / used;
  }
  return y;
}

double neo_tile_miss_cycles(const neo_tiles *q, reuse t, line_access x) {
  const neo_core *core = &q->machine->core;
  if (t.bytes * t.conflicts[0] <= 0.75 * (double)q->machine->l1_bytes)
    return 0;
  return t.bytes * t.conflicts[1] <= (double)q->machine->l2_bytes ? core->near[x] : core->beyond[x];
}

double neo_tile_mean_miss_cycles(const neo_tiles *q, reuse first, reuse then, double times,
                                 line_access x) {
  return (neo_tile_miss_cycles(q, first, x) + (times - 1) * neo_tile_miss_cycles(q, then, x)) /
         times;
}

static neo_tile_walk walk_of(neo_tiles *q, uint32_t k) {
  neo_tile_walk w = {.run = 1};
  uint32_t first = (uint32_t)q->f->axes.n;
  double span = 1; /* elements that the run spans */
  for (uint32_t i = (uint32_t)q->s->axes.n; i-- > 0;) {
    neo_axis_access x = neo_tiles_along(q, k, first + i);
    double stride = fabs((double)x.stride);
    if (stride == 0 && !x.odd) {
      w.run *= (double)q->own[i];
      continue;
    }
    if (x.odd || stride > 2 * span) {
      w.jumps = true;
      w.jump = x.odd ? (int64_t)q->line_bytes : (int64_t)stride * q->bytes;
      return w;
    }
    w.run *= (double)q->own[i];
    span = fmax(span, stride * (double)q->own[i]);
  }
  return w;
}

neo_tile_walk neo_tiles_steps(neo_tiles *q, uint32_t factor) {
  if (!q->steps_of[factor].cached)
    q->steps_of[factor].walk = walk_of(q, factor);
  q->steps_of[factor].cached = true;
  return q->steps_of[factor].walk;
}
