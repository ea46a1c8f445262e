/* The model's choice for contractions: every pair of row and column axes, register tile and way of reading the operands is
 * given a number of cycles, and the least is taken.
 *
 * A step of a tile of R x C vectors takes R*C/2 cycles of multiply-adds, bounded by issue (about 4.5 operations a cycle)
 * and by latency (4 cycles, hidden from 8 accumulators on); what loads cost beyond that depends on strides and guards.
 * Then come copies into scratch, the ends of tiles, and what does not divide evenly. The constants were measured on cores
 * with two 256-bit multiply-adds a cycle; they rank candidates, they do not predict time. */
#include "schedule/model.h"
#include <math.h>
#include <string.h>

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_machine *machine;
  const neo_contraction *c;
  const neo_stage *s;
  int64_t shared[NEO_FORM_MAX_AXES], own[NEO_FORM_MAX_AXES];
  double points, steps; /* of the shared axes; of the reduction */
  int64_t lanes;
  neo_ranked *top; /* the cheapest so far, cheapest first */
  size_t n_top, most;
} search;

/* ---- how an expression walks along an axis */

typedef struct {
  neo_module *m;
  uint32_t axis;
  bool unit, strided, odd;
  double ops;
  bool guarded;
} look;

static void look_at(void *ctx, neo_expr e) {
  look *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  int64_t stride;
  if (n->op == NEO_OP_SELECT)
    c->guarded = true;
  if (neo_op_is_elementwise((neo_op)n->op) && neo_type_is_float((neo_type)n->type) &&
      n->op != NEO_OP_SELECT)
    c->ops += 1;
  if (n->op != NEO_OP_LOAD)
    return;
  if (!neo_flat_stride(c->m, neo_flat_at(c->m, e), c->axis, &stride))
    c->odd = true;
  else if (stride == 1 || stride == 0)
    c->unit = true;
  else
    c->strided = true;
}

static look look_along(search *q, neo_expr e, int64_t axis) {
  look c = {.m = q->m, .axis = axis < 0 ? 62 : (uint32_t)axis};
  neo_expr_visit(q->m, e, look_at, &c);
  return c;
}

/* Cycles of reading one vector along the axis, beyond its share of issue. */
static double vector_read(const look *x) {
  double t = x->odd ? 12 : x->strided ? 9 : 0;
  return t + (x->guarded ? 3 : 0) + x->ops;
}

/* ---- one candidate */

typedef struct {
  int64_t v, merge, am, an; /* an: K lanes only */
  int64_t rows, cols, pack;
  bool own_lanes;
  double n, m_len; /* extents of columns and rows */
} candidate;

/* Cycles of a step of a tile of r rows and c vectors. */
static double step_cycles(double r, double c, double reads) {
  double fma = r * c / 2, issue = (r * c + r + c + 4) / 4.5 + reads;
  double t = fma > issue ? fma : issue;
  return (t < 4 ? 4 : t) + 0.4;
}

/* Whole tiles and what is left over along one direction: f(size) for each. */
typedef struct {
  double whole, rest;
} cuts;

static cuts cut(double length, double tile) {
  double whole = floor(length / tile);
  return (cuts){whole, length - whole * tile};
}

typedef struct {
  double row, column; /* of reading one row element, one column vector */
} reads;

static double tiles_cycles(const candidate *x, double lanes, const reads *rd, double steps,
                           double end) {
  cuts r = cut(x->m_len, (double)x->rows), c = cut(ceil(x->n / lanes), (double)x->cols);
  double cycles = 0;
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      double rows = i ? r.rest : (double)x->rows, cols = j ? c.rest : (double)x->cols;
      double count = (i ? r.rest > 0 : r.whole) * (j ? c.rest > 0 : c.whole);
      double extra = rows * rd->row + cols * rd->column;
      cycles += count * (steps * step_cycles(rows, cols, extra) + rows * cols * end + 20);
    }
  return cycles;
}

/* Does the stage have a condition that no packed operand takes (codegen/lower_pack.c)? */
static bool conditional(const search *q, const candidate *x) {
  uint64_t axes = neo_expr_axes(q->m, q->s->where), block = 0;
  if (!q->s->where.i)
    return false;
  if (x->am >= 0)
    block |= 1ULL << x->am;
  for (int64_t k = 0; k < x->merge && !x->own_lanes; k++)
    block |= 1ULL << (x->v - k);
  axes &= block | ~((1ULL << q->f->axes.n) - 1);
  for (uint32_t k = 0; k < q->c->n; k++)
    if (x->pack >> k & 1 && !(axes & ~q->c->factor[k].axes))
      return false;
  return true;
}

/* Reading a row element or a column vector of a factor, and copying it first if that is the candidate's choice. */
static void factor_cost(search *q, const candidate *x, uint32_t k, neo_side side, reads *rd,
                        double *copies) {
  const neo_factor *f = &q->c->factor[k];
  uint32_t last = (uint32_t)(q->f->axes.n + q->s->axes.n - 1);
  neo_expr walked =
      x->merge > 1 ? neo_walked_expr(q->m, q->f, (uint32_t)x->v, (uint32_t)x->merge, f->e) : f->e;
  look along = look_along(q, walked, side == NEO_SIDE_ROWS ? x->am : x->v);
  look down = look_along(q, f->e, last);
  if (!(x->pack >> k & 1)) {
    if (side == NEO_SIDE_COLUMNS)
      rd->column +=
          vector_read(&along) + (down.strided && x->m_len > 4 * (double)x->rows ? 1.5 : 0);
    else if (side == NEO_SIDE_ROWS)
      rd->row += (along.guarded ? 3 : 0) + along.ops * 0.7 +
                 (down.strided ? (along.strided ? 1 : 0.3) : 0);
    else
      rd->column += (double)(side == NEO_SIDE_BOTH ? x->rows : 1) * (vector_read(&along) + 0.5);
    return;
  }
  double elements = 1, length = side == NEO_SIDE_ROWS ? x->m_len : x->n;
  for (uint32_t i = 0; i < q->s->axes.n; i++)
    if (f->axes >> (q->f->axes.n + i) & 1)
      elements *= (double)q->own[i];
  look inner = side == NEO_SIDE_COLUMNS && x->merge > 1 ? look_along(q, f->e, x->v) : along;
  int64_t run = side == NEO_SIDE_ROWS ? x->rows : x->merge > 1 ? q->shared[x->v] : q->lanes;
  bool vectors = inner.unit && !inner.strided && !inner.odd && run >= q->lanes;
  double each = (vectors ? 0.4 : 1.4) + (along.guarded || q->s->where.i ? 0.5 : 0) +
                along.ops / (vectors ? (double)q->lanes : 1);
  *copies += elements * length * each;
}

/* Loads of the stages that store, each a vector of its own. */
static void count_load(void *ctx, neo_expr e) {
  look *c = ctx;
  c->ops += neo_expr_node(c->m, e)->op == NEO_OP_LOAD ? 1.5 : 0;
}

static double store_loads(search *q) {
  look c = {.m = q->m};
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++)
      neo_expr_visit(q->m, q->f->stages.at[k].outs.at[i].value, count_load, &c);
  return c.ops;
}

static double outer_points(const search *q, const candidate *x) {
  return q->points / (x->n * x->m_len);
}

static double cost_of(search *q, const candidate *x) {
  reads rd = {0, 0};
  double copies = 0, end = 3;
  uint64_t columns = 0, rows = x->am >= 0 ? 1ULL << x->am : 0;
  for (int64_t k = 0; k < x->merge; k++)
    columns |= 1ULL << (x->v - k);
  for (uint32_t k = 0; k < q->c->n; k++)
    factor_cost(q, x, k, neo_factor_side(&q->c->factor[k], rows, columns), &rd, &copies);
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++) {
      neo_expr at = q->f->stages.at[k].outs.at[i].offset;
      int64_t stride = 0;
      if (x->merge > 1)
        at = neo_walked_expr(q->m, q->f, (uint32_t)x->v, (uint32_t)x->merge, at);
      bool known = neo_flat_stride(q->m, at, (uint32_t)x->v, &stride);
      end += known && stride == 1 ? 2 : 14;
    }
  end += store_loads(q);
  if (x->cols * q->lanes * 4 < 64) /* half cache lines are fetched twice */
    end *= 1.8;
  if (conditional(q, x))
    rd.column += 3 * (double)x->rows;
  return outer_points(q, x) * (tiles_cycles(x, (double)q->lanes, &rd, q->steps, end) + copies);
}

/* Lanes over the last own axis: both operands are vectors, one is kept over the other's. */
static double own_cost_of(search *q, const candidate *x) {
  uint32_t last = (uint32_t)(q->f->axes.n + q->s->axes.n - 1);
  double length = (double)q->own[q->s->axes.n - 1], w = (double)q->lanes, extra_r = 0, extra_c = 0;
  uint64_t rows = x->am >= 0 ? 1ULL << x->am : 0, columns = x->an >= 0 ? 1ULL << x->an : 0;
  for (uint32_t k = 0; k < q->c->n; k++) {
    look along = look_along(q, q->c->factor[k].e, last);
    double t = vector_read(&along) + 0.1;
    neo_side side = neo_factor_side(&q->c->factor[k], rows, columns);
    if (side == NEO_SIDE_ROWS)
      extra_r += t;
    else if (side == NEO_SIDE_COLUMNS)
      extra_c += t;
    else
      extra_c += side == NEO_SIDE_BOTH ? t * (double)x->rows : t;
  }
  if (conditional(q, x))
    extra_c += 3;
  candidate y = *x;
  reads rd = {extra_r, extra_c};
  double runs = q->steps / length, tail = fmod(length, w) > 0 ? 4 : 0;
  double steps = runs * (ceil(length / w) + tail * 0.5 + 1);
  return outer_points(q, x) * tiles_cycles(&y, 1, &rd, steps, 14);
}

/* ---- the schedule of a candidate */

static int64_t round_up(int64_t x, int64_t n) {
  return (x + n - 1) / n * n;
}

static neo_schedule basic(const search *q, const candidate *x) {
  neo_schedule s = neo_schedule_plain();
  int64_t *p = s.at;
  p[NEO_SCHED_VECTOR_AXIS] = x->own_lanes ? (int64_t)q->f->axes.n : x->v;
  p[NEO_SCHED_VECTOR_WIDTH] = q->lanes;
  p[NEO_SCHED_MERGE] = x->merge;
  p[NEO_SCHED_AXIS_M] = x->am;
  p[NEO_SCHED_AXIS_N] = x->own_lanes ? x->an : -1;
  p[NEO_SCHED_TILE_M] = x->rows;
  p[NEO_SCHED_TILE_N] = x->own_lanes && x->an < 0 ? 1 : x->cols;
  p[NEO_SCHED_PACK] = x->pack;
  return s;
}

static double candidate_cost(search *q, const candidate *x) {
  return x->own_lanes ? own_cost_of(q, x) : cost_of(q, x);
}

/* Of equal ones the first stays first. */
static void consider(search *q, const candidate *x) {
  double cost = candidate_cost(q, x);
  if (q->n_top == q->most && cost >= q->top[q->n_top - 1].cost)
    return;
  size_t k = q->n_top < q->most ? q->n_top++ : q->n_top - 1;
  for (; k && cost < q->top[k - 1].cost; k--)
    q->top[k] = q->top[k - 1];
  q->top[k] = (neo_ranked){basic(q, x), cost};
}

/* ---- enumeration */

static void each_pack(search *q, candidate *x) {
  for (x->pack = 0; x->pack < 1LL << q->c->n; x->pack++) {
    neo_schedule s = basic(q, x);
    bool ok = true;
    for (uint32_t k = 0; k < q->c->n && ok; k++) {
      neo_side side = neo_schedule_side(q->f, &s, &q->c->factor[k]);
      if (x->pack >> k & 1)
        ok = side == NEO_SIDE_ROWS || side == NEO_SIDE_COLUMNS;
      for (uint32_t i = 0; i < k && x->pack >> k & 1; i++)
        ok = ok && q->c->factor[i].e.i != q->c->factor[k].e.i;
    }
    if (ok)
      consider(q, x);
  }
}

static void each_tile(search *q, candidate *x) {
  int64_t regs = q->machine->vector_regs;
  int64_t most_rows = x->am >= 0 ? 14 : 1;
  if (x->am >= 0 && most_rows > q->shared[x->am])
    most_rows = q->shared[x->am];
  for (x->rows = 1; x->rows <= most_rows; x->rows++)
    for (x->cols = 1; x->cols <= 4; x->cols++) {
      bool own = x->own_lanes;
      int64_t used = x->rows * x->cols + x->cols + (own ? x->rows : 1);
      double columns = own ? x->n : ceil(x->n / (double)q->lanes);
      if (used > regs || (x->cols > 1 && (double)x->cols > columns) ||
          (own && x->an < 0 && x->cols > 1))
        continue;
      x->pack = 0;
      if (own)
        consider(q, x);
      else
        each_pack(q, x);
    }
}

static void each_row_axis(search *q, candidate *x, uint64_t taken) {
  for (x->am = -1; x->am < (int64_t)q->f->axes.n; x->am++) {
    if (x->am >= 0 && taken >> x->am & 1)
      continue;
    x->m_len = x->am >= 0 ? (double)q->shared[x->am] : 1;
    each_tile(q, x);
  }
}

static void shared_candidates(search *q, uint64_t fixed) {
  for (int64_t v = 0; v < (int64_t)q->f->axes.n; v++) {
    candidate x = {.v = v, .an = -1, .n = 1};
    uint64_t taken = fixed;
    for (x.merge = 1; x.merge <= 3 && x.merge <= v + 1; x.merge++) {
      int64_t k = v - x.merge + 1;
      if (fixed >> k & 1 || !neo_form_walks(q->m, q->f, (uint32_t)v, (uint32_t)x.merge))
        break;
      taken |= 1ULL << k;
      x.n *= (double)q->shared[k];
      each_row_axis(q, &x, taken);
    }
  }
}

static void own_candidates(search *q, uint64_t fixed) {
  if (q->own[q->s->axes.n - 1] < q->lanes)
    return;
  for (int64_t an = -1; an < (int64_t)q->f->axes.n; an++) {
    if (an >= 0 && fixed >> an & 1)
      continue;
    candidate x = {.v = -1, .an = an, .merge = 1, .own_lanes = true};
    x.n = an >= 0 ? (double)q->shared[an] : 1;
    each_row_axis(q, &x, fixed | (an >= 0 ? 1ULL << an : 0));
  }
}

/* ---- blocks and units */

/* Steps of the reduction in one iteration of its first axis. */
static int64_t inner_steps(const search *q) {
  int64_t n = 1;
  for (uint32_t k = 1; k < q->s->axes.n; k++)
    n *= q->own[k];
  return n;
}

static int64_t column_length(const search *q, const neo_schedule *s) {
  int64_t v = s->at[NEO_SCHED_VECTOR_AXIS], n = 1;
  if (v >= (int64_t)q->f->axes.n)
    return s->at[NEO_SCHED_AXIS_N] >= 0 ? q->shared[s->at[NEO_SCHED_AXIS_N]] : 1;
  for (int64_t k = 0; k < s->at[NEO_SCHED_MERGE]; k++)
    n *= q->shared[v - k];
  return n;
}

/* Columns packed: streams of tiles are contiguous, so that a block of them may lie beyond L2; what a worker keeps is
 * bounded, and so are the steps of the reduction in a block where a single tile would be too long. */
static void block_packed(const search *q, neo_schedule *s) {
  enum { BLOCK_BYTES = 1 << 20, MOST_BYTES = 2 << 20 };
  int64_t *p = s->at, bytes = 4 * (q->lanes == q->machine->vector_bytes / 8 ? 2 : 1);
  int64_t unit = p[NEO_SCHED_TILE_N] * q->lanes, inner = inner_steps(q), steps = inner * q->own[0];
  for (int64_t k = 0; k < p[NEO_SCHED_MERGE] - 1; k++)
    unit = k ? unit * q->shared[p[NEO_SCHED_VECTOR_AXIS] - k] : q->shared[p[NEO_SCHED_VECTOR_AXIS]];
  int64_t most_steps = MOST_BYTES / (unit * bytes);
  if (steps > most_steps && q->own[0] > 1) {
    int64_t count = (steps + most_steps - 1) / most_steps;
    int64_t block = (q->own[0] + count - 1) / count;
    p[NEO_SCHED_BLOCK_K] = block >= q->own[0] ? 0 : block;
  }
  if (p[NEO_SCHED_BLOCK_K])
    steps = p[NEO_SCHED_BLOCK_K] * inner;
  int64_t n = column_length(q, s), most_n = BLOCK_BYTES / (steps * bytes);
  int64_t block = most_n / unit * unit;
  if (block < unit)
    block = unit;
  if (block < n) { /* blocks of equal size */
    int64_t count = (n + block - 1) / block;
    block = round_up((n + count - 1) / count, unit);
    p[NEO_SCHED_BLOCK_N] = block;
  }
}

/* Lanes over the reduction: what a block of it reads stays within half of L2. */
static void block_own(const search *q, neo_schedule *s) {
  double bytes = 0;
  for (uint32_t k = 0; k < q->c->n; k++) {
    double n = 4;
    for (uint32_t i = 0; i < q->f->axes.n; i++) {
      bool in_tensor = q->c->factor[k].axes >> i & 1;
      n *= in_tensor ? (double)q->shared[i] : 1;
    }
    for (uint32_t i = 1; i < q->s->axes.n; i++)
      n *= q->c->factor[k].axes >> (q->f->axes.n + i) & 1 ? (double)q->own[i] : 1;
    bytes += n;
  }
  double out = q->points;
  int64_t block = (int64_t)((double)q->machine->l2_bytes / 2 / bytes);
  if (block < 1)
    block = 1;
  if (block < q->own[0] && q->s->axes.n > 1 && out < 1e6)
    s->at[NEO_SCHED_BLOCK_K] = block;
}

static double items(const search *q, const neo_schedule *s) {
  double n = q->points / (double)column_length(q, s);
  if (s->at[NEO_SCHED_AXIS_M] >= 0)
    n /= (double)q->shared[s->at[NEO_SCHED_AXIS_M]];
  if (s->at[NEO_SCHED_BLOCK_N])
    n *= ceil((double)column_length(q, s) / (double)s->at[NEO_SCHED_BLOCK_N]);
  return n;
}

enum { GOOD_UNITS = 8, LEAST_WORK = 40000 };

/* Rows are cut where there are too few units otherwise; columns where they are not packed. */
static void divide(const search *q, neo_schedule *s) {
  int64_t *p = s->at, am = p[NEO_SCHED_AXIS_M];
  double work = q->points * q->steps, n = items(q, s), want = work / LEAST_WORK;
  if (want > GOOD_UNITS)
    want = GOOD_UNITS;
  if (n >= want)
    return;
  if (am >= 0) {
    int64_t least = p[NEO_SCHED_PACK] ? 128 : p[NEO_SCHED_TILE_M] * 2, m = q->shared[am];
    int64_t block = round_up((int64_t)ceil((double)m / ceil(want / n)), p[NEO_SCHED_TILE_M]);
    if (block < least)
      block = least;
    if (block < m) {
      p[NEO_SCHED_BLOCK_M] = block;
      n *= ceil((double)m / (double)block);
    }
  }
  bool columns = p[NEO_SCHED_VECTOR_AXIS] < (int64_t)q->f->axes.n || p[NEO_SCHED_AXIS_N] >= 0;
  if (n >= want || !columns || p[NEO_SCHED_BLOCK_N])
    return;
  int64_t tile =
      p[NEO_SCHED_TILE_N] * (p[NEO_SCHED_VECTOR_AXIS] < (int64_t)q->f->axes.n ? q->lanes : 1);
  int64_t length = column_length(q, s), unit = tile;
  for (int64_t k = 0; k < p[NEO_SCHED_MERGE] - 1; k++)
    unit = k ? unit * q->shared[p[NEO_SCHED_VECTOR_AXIS] - k] : q->shared[p[NEO_SCHED_VECTOR_AXIS]];
  double lanes = p[NEO_SCHED_VECTOR_AXIS] < (int64_t)q->f->axes.n ? (double)q->lanes : 1;
  for (double parts = ceil(want / n); parts > 1; parts--) {
    int64_t block = round_up((int64_t)ceil((double)length / parts), unit);
    double vectors = ceil((double)block / lanes);
    if (block >= length || (double)block / (vectors * lanes) < 0.87)
      continue; /* too many dead lanes */
    p[NEO_SCHED_BLOCK_N] = block;
    return;
  }
}

/* ---- the model from outside */

static bool begin(search *q, neo_contraction *c) {
  if (!neo_contraction_of(q->m, q->f, c))
    return false;
  q->c = c;
  q->s = &q->f->stages.at[c->stage];
  q->points = q->steps = 1;
  q->lanes = q->machine->vector_bytes / neo_type_bytes((neo_type)q->s->accs.at[0].type);
  for (uint32_t k = 0; k < q->f->axes.n; k++)
    q->points *= (double)(q->shared[k] = neo_axis_most(q->m, &q->f->axes.at[k]));
  for (uint32_t k = 0; k < q->s->axes.n; k++)
    q->steps *= (double)(q->own[k] = neo_axis_most(q->m, &q->s->axes.at[k]));
  return q->lanes >= 2;
}

/* Blocks and units of a schedule that has its tile. */
static void finish(search *q, neo_schedule *s) {
  int64_t v = s->at[NEO_SCHED_VECTOR_AXIS];
  if (s->at[NEO_SCHED_PACK])
    block_packed(q, s);
  if (v == (int64_t)q->f->axes.n) {
    block_own(q, s);
    if (s->at[NEO_SCHED_AXIS_N] < 0 && s->at[NEO_SCHED_TILE_M] < 8)
      s->at[NEO_SCHED_UNROLL_K] = s->at[NEO_SCHED_TILE_M] < 4 ? 4 : 2;
  }
  divide(q, s);
  neo_model_units(q->m, q->f, s);
}

size_t neo_model_contractions(neo_module *m, const neo_form *f, const neo_machine *machine,
                              neo_ranked *out, size_t most) {
  neo_contraction c;
  search q = {.m = m, .f = f, .machine = machine, .top = out, .most = most};
  if (!most || !begin(&q, &c))
    return 0;
  uint64_t fixed = neo_form_bound_axes(m, f);
  shared_candidates(&q, fixed);
  own_candidates(&q, fixed);
  for (size_t k = 0; k < q.n_top; k++)
    finish(&q, &out[k].schedule);
  return q.n_top;
}

bool neo_model_contraction(neo_module *m, const neo_form *f, const neo_machine *machine,
                           neo_schedule *out) {
  neo_ranked best;
  if (!neo_model_contractions(m, f, machine, &best, 1))
    return false;
  *out = best.schedule;
  return true;
}

static candidate candidate_of(const search *q, const neo_schedule *s) {
  const int64_t *p = s->at;
  candidate x = {.v = p[NEO_SCHED_VECTOR_AXIS], .merge = p[NEO_SCHED_MERGE], .pack = p[NEO_SCHED_PACK]};
  x.am = p[NEO_SCHED_AXIS_M], x.rows = p[NEO_SCHED_TILE_M], x.cols = p[NEO_SCHED_TILE_N];
  x.own_lanes = x.v >= (int64_t)q->f->axes.n;
  x.an = x.own_lanes ? p[NEO_SCHED_AXIS_N] : -1;
  x.v = x.own_lanes ? -1 : x.v;
  x.n = (double)column_length(q, s);
  x.m_len = x.am >= 0 ? (double)q->shared[x.am] : 1;
  return x;
}

double neo_model_contraction_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                                  const neo_schedule *s) {
  neo_contraction c;
  search q = {.m = m, .f = f, .machine = machine};
  if (s->at[NEO_SCHED_VECTOR_AXIS] < 0 || !begin(&q, &c))
    return -1;
  candidate x = candidate_of(&q, s);
  return candidate_cost(&q, &x);
}
