/* The analytic model of loops: the axis of lanes, and the size of tiles and units. */
#include "schedule/model.h"
#include "schedule/loops/collapse.h"
#include "schedule/loops/loops.h"
#include <math.h>

/* ---- loads and work of a stage */

/* The cost of a lane that is read or written by itself: its offset is not affine in the axis, or it
 * is. */
static const double ODD_LANE = 1.25, STRIDED_LANE = 1.125;

enum { NO_AXIS = 62, SOME_LANES = 8 };

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
  int64_t bytes;
  double lanes;
  double cost; /* cost of one vector of lanes along the axis */
  double ops;
  uint32_t depth;
} census;

/* Issue slots of an operation, in additions; operations hidden behind others take slots too. */
static double issue(neo_op op) {
  return fmax(1, neo_op_additions(op));
}

static void count(void *ctx, neo_expr e) {
  census *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  if (neo_op_is_elementwise((neo_op)n->op) && n->type != NEO_I64_T)
    c->ops += issue((neo_op)n->op);
  if (n->op != NEO_OP_LOAD)
    return;
  int64_t stride;
  if (!neo_flat_stride(c->m, c->f, neo_flat_at(c->m, e), c->axis, &stride))
    c->cost += ODD_LANE * c->lanes;
  else
    c->cost += stride == 1 ? 1 : stride == 0 ? 0.5 : STRIDED_LANE * c->lanes;
}

static void visit_bodies(neo_module *m, const neo_stage *s, census *c) {
  neo_expr_visit(m, s->where, count, c);
  for (size_t k = 0; k < s->accs.n; k++)
    neo_expr_visit(m, s->accs.at[k].body, count, c);
  for (size_t k = 0; k < s->outs.n; k++)
    neo_expr_visit(m, s->outs.at[k].value, count, c);
}

/* Element functions that vary along an axis, weighed by their cost. */
typedef struct {
  neo_module *m;
  uint32_t axis;
  double ops;
} lane_work;

static void count_lanes(void *ctx, neo_expr e) {
  lane_work *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  /* A value of accumulators alone is hoisted out of the stage's loops. */
  bool varies = neo_expr_axes(c->m, e) >> c->axis & 1;
  if (varies && neo_op_is_elementwise((neo_op)n->op) && n->type != NEO_I64_T)
    c->ops += issue((neo_op)n->op);
}

double neo_model_lane_ops(neo_module *m, neo_expr e, uint32_t axis) {
  lane_work c = {m, axis, 0};
  neo_expr_visit(m, e, count_lanes, &c);
  return c.ops;
}

static census census_of(neo_module *m, const neo_form *f, const neo_stage *s, uint32_t axis,
                        int64_t lanes) {
  census c = {.m = m, .f = f, .axis = axis, .lanes = (double)lanes};
  visit_bodies(m, s, &c);
  return c;
}

/* ---- cost of lanes along an axis */

/* Operations per point on lanes of axis v, in the stage with most work: before a long sum,
 * operations on its result do not count. `reduced`: only stages that reduce. */
static double lane_ops(neo_module *m, const neo_form *f, int64_t v, bool reduced) {
  double most = -1, ops = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    bool own = v >= (int64_t)f->axes.n;
    lane_work c = {m, (uint32_t)(own ? v + (int64_t)s->axes.n - 1 : v), 0};
    if ((reduced && !s->accs.n) || (own && !s->axes.n)) /* the stage has no lanes */
      continue;
    for (size_t i = 0; i < s->accs.n; i++)
      neo_expr_visit(m, s->accs.at[i].body, count_lanes, &c);
    for (size_t i = 0; i < s->outs.n; i++)
      neo_expr_visit(m, s->outs.at[i].value, count_lanes, &c);
    double work = (1 + c.ops) * neo_stage_points(m, s);
    if (work > most) {
      most = work;
      ops = c.ops;
    }
  }
  return ops;
}

/* Vectors for n elements; the last one may be partial. */
static double vectors(int64_t n, int64_t w) {
  return (double)((n + w - 1) / w);
}

/* The cost of one point of the shared axes, with lanes along shared axis `axis`, whose extent is
 * n. */
static double shared_cost(neo_module *m, const neo_form *f, uint32_t axis, int64_t w) {
  double cost = 0;
  int64_t n = neo_axis_most(m, &f->axes.at[axis]);
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    census c = census_of(m, f, s, axis, w);
    double each = c.cost + c.ops;
    for (size_t i = 0; i < s->outs.n; i++) {
      int64_t stride;
      bool affine = neo_flat_stride(m, f, s->outs.at[i].offset, axis, &stride);
      each += affine && stride == 1 ? 1 : STRIDED_LANE * (double)w;
    }
    cost += each * neo_stage_points(m, s);
  }
  return cost * vectors(n, w) / (double)n;
}

/* The same with lanes along the last own axis of each stage. */
static double own_cost(neo_module *m, const neo_form *f, int64_t w) {
  double cost = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    double n = neo_stage_points(m, s), per = 1, join = 0;
    uint32_t axis = (uint32_t)(f->axes.n + s->axes.n - 1);
    if (s->axes.n) {
      int64_t last = neo_axis_most(m, &s->axes.at[s->axes.n - 1]);
      per = vectors(last, w) / (double)last;
      join = s->accs.n ? 20 : 0;
    }
    census c = census_of(m, f, s, s->axes.n ? axis : NO_AXIS, w);
    cost += (c.cost + c.ops) * n * per + join + (double)s->outs.n * n * per;
  }
  return cost;
}

double neo_model_plain_cost(neo_module *m, const neo_form *f, const neo_schedule *s) {
  int64_t v = s->loops.vector_axis, w = s->loops.vector_width;
  double cost =
      v >= 0 && v < (int64_t)f->axes.n ? shared_cost(m, f, (uint32_t)v, w) : own_cost(m, f, w);
  for (size_t k = 0; k < f->axes.n; k++)
    cost *= (double)neo_axis_most(m, &f->axes.at[k]);
  return cost;
}

/* An exponential fills registers and units by itself; more than two at a time would only spill. */
enum { HEAVY = 16 };

static void choose_lanes(neo_module *m, const neo_form *f, int64_t most_lanes, neo_schedule *s) {
  double best = 1e300;
  uint64_t fixed = neo_form_row_block(f) ? UINT64_MAX : neo_form_bound_axes(m, f);
  for (uint32_t k = 0; k < f->axes.n; k++) {
    int64_t n = neo_axis_most(m, &f->axes.at[k]), w = most_lanes;
    while (w > 1 && w > n)
      w /= 2;
    double cost = shared_cost(m, f, k, w);
    if (fixed >> k & 1 || w < 2 || cost >= best)
      continue;
    best = cost;
    s->loops.vector_axis = k;
    s->loops.vector_width = w;
  }
  int64_t longest = 0;
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].axes.n) {
      int64_t n = neo_axis_most(m, &f->stages.at[k].axes.at[f->stages.at[k].axes.n - 1]);
      longest = n > longest ? n : longest;
    }
  int64_t w = most_lanes;
  while (w > 1 && w > longest)
    w /= 2;
  if (w > 1 && own_cost(m, f, w) < best) {
    s->loops.vector_axis = (int64_t)f->axes.n;
    s->loops.vector_width = w;
    bool heavy = lane_ops(m, f, (int64_t)f->axes.n, true) >= HEAVY;
    s->loops.unroll_k = longest >= 4 * w && !heavy ? 4 : 1;
  }
}

/* ---- units of about NEO_UNIT_WORK elements of work each */

static double work_of_point(neo_module *m, const neo_form *f) {
  double work = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    census c = census_of(m, f, &f->stages.at[k], NO_AXIS, SOME_LANES);
    work += (c.ops + c.cost) * neo_stage_points(m, &f->stages.at[k]);
  }
  return work < 1 ? 1 : work;
}

/* The size of a unit under flags, which rule out most rows: some blocks of rows, so that a unit
 * costs more than its start. */
static int64_t unit_of_flags(neo_module *m, const neo_form *f, const neo_schedule *s,
                             int64_t size) {
  enum { MOST_BLOCKS = 8, UNITS = 64 };
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  neo_form_flags flags;
  if (neo_schedule_outer_loops(f, s, loop) != 1 || loop[0].block ||
      !neo_form_flags_of(m, f, &flags) || (uint32_t)loop[0].axis != flags.axis)
    return size;
  int64_t rows = neo_axis_most(m, &f->axes.at[flags.axis]), blocks = rows / NEO_FLAGS_BLOCK / UNITS;
  blocks = blocks > MOST_BLOCKS ? MOST_BLOCKS : blocks;
  return blocks * NEO_FLAGS_BLOCK > size ? blocks * NEO_FLAGS_BLOCK : size;
}

/* All leading loops are divided into units; unit_size is how many iterations make enough work. */
static void units_of(neo_module *m, const neo_form *f, neo_schedule *s) {
  double work = work_of_point(m, f);
  int64_t v = s->loops.vector_axis, n = (int64_t)f->axes.n, loops = neo_schedule_loops(f, s);
  int64_t an = v >= 0 && v < n ? v : s->loops.axis_n, am = s->loops.axis_m;
  int64_t fused = s->loops.fused;
  for (int64_t k = an - fused + 1; an >= 0 && k <= an; k++) {
    int64_t most_n = neo_axis_most(m, &f->axes.at[k]);
    int64_t block = s->loops.block_n;
    if (k == an - fused + 1 && block) {
      int64_t inner = 1;
      for (int64_t i = k + 1; i <= an; i++)
        inner *= neo_axis_most(m, &f->axes.at[i]);
      most_n = most_n < block / inner ? most_n : block / inner;
    }
    work *= (double)most_n;
  }
  if (am >= 0) {
    int64_t most_m = neo_axis_most(m, &f->axes.at[am]), block = s->loops.block_m;
    work *= (double)(block && block < most_m ? block : most_m);
  }
  s->loops.unit_axes = loops;
  int64_t size = (int64_t)(NEO_UNIT_WORK / work);
  s->loops.unit_size = unit_of_flags(m, f, s, size < 1 ? 1 : size);
  if (!loops)
    s->loops.unit_size = 1;
}

void neo_model_units(neo_module *m, const neo_form *f, neo_schedule *s) {
  neo_collapsed x = neo_collapsed_of(m, f, s);
  units_of(m, x.f, &x.s);
  s->loops.unit_axes = x.s.loops.unit_axes;
  s->loops.unit_size = x.s.loops.unit_size;
}

/* Sums along columns of a tensor [rows, n] beyond the caches: each row is on another page. A wide
 * tile takes more of a page at a time, which outweighs that its accumulators spill. */
enum { WIDE = 16 };

static bool sums_columns(neo_module *m, const neo_form *f, int64_t n, int64_t lanes) {
  enum { LEAST_ROWS = 256, LEAST_TILES = 4, BEYOND = 4 << 20 };
  if (n < WIDE * lanes * LEAST_TILES)
    return false;
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    if (s->accs.n && neo_stage_points(m, s) >= LEAST_ROWS &&
        neo_stage_points(m, s) * (double)n >= BEYOND)
      return true;
  }
  return false;
}

/* A long formula is bound by latency. Two vectors at a time, as one of twice the lanes, fill the
 * units; f64 is excluded, as it calls a library lane by lane. Along long rows four vectors are
 * better, up to two cache lines, if the formula has few functions; with more, four vectors would
 * spill. */
static void widen(neo_module *m, const neo_form *f, const neo_machine *machine, neo_schedule *s) {
  enum { TWO_LINES = 128, LONG_ROW = 32 /* in vectors */ };
  int64_t v = s->loops.vector_axis, w = s->loops.vector_width;
  bool own = v == (int64_t)f->axes.n;
  if (v < 0 || w * 4 != machine->vector_bytes || neo_form_widest(m, f) != 4 ||
      (lane_ops(m, f, v, false) < HEAVY && lane_ops(m, f, v, own) < HEAVY))
    return;
  int64_t n = own ? INT64_MAX : neo_axis_most(m, &f->axes.at[v]);
  for (size_t k = 0; own && k < f->stages.n; k++) {
    const neo_stage *stage = &f->stages.at[k];
    int64_t last = stage->axes.n ? neo_axis_most(m, &stage->axes.at[stage->axes.n - 1]) : INT64_MAX;
    n = last < n ? last : n;
  }
  if (n >= 4 * w)
    s->loops.vector_width = 2 * w;
  if (own && n >= LONG_ROW * w && 4 * machine->vector_bytes <= TWO_LINES &&
      lane_ops(m, f, v, false) < 3 * HEAVY)
    s->loops.vector_width = 4 * w;
}

neo_schedule neo_model_plain(neo_module *m, const neo_form *f, const neo_machine *machine) {
  neo_schedule s = neo_schedule_plain();
  int64_t lanes = machine->vector_bytes / neo_form_widest(m, f);
  choose_lanes(m, f, lanes < 1 ? 1 : lanes, &s);
  int64_t v = s.loops.vector_axis, w = s.loops.vector_width;
  if (v >= 0 && v < (int64_t)f->axes.n) {
    int64_t n = neo_axis_most(m, &f->axes.at[v]);
    double per_element = work_of_point(m, f);
    bool heavy = lane_ops(m, f, v, false) >= HEAVY;
    s.loops.tile_n = heavy ? 1 : n >= 4 * w ? 4 : n >= 2 * w ? 2 : 1;
    int64_t block = (int64_t)(NEO_UNIT_WORK / per_element) / (4 * w) * (4 * w);
    if (block < 4 * w)
      block = 4 * w;
    if (block < n)
      s.loops.block_n = block;
    if (!heavy && sums_columns(m, f, n, w)) {
      s.loops.tile_n = WIDE;
      s.loops.block_n = WIDE * w;
    }
    if (neo_loops_tile_lines(m, f, machine, &s)) {
      neo_model_units(m, f, &s);
      return s;
    }
  }
  widen(m, f, machine, &s);
  neo_model_units(m, f, &s);
  return s;
}
