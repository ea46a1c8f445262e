/* The model's choice for contractions. Every combination of row and column axes, register tile and
 * packed operands gets a cost (cost.c). The best ones get blocks and units (block.c), and the best
 * of these is the choice. Blocks help some candidates more than others, so the best few of each
 * vector axis and set of packed operands get blocks, unless their cost is much higher. */
#include "schedule/tile/model.h"
#include "schedule/loops/collapse.h"
#include <math.h>

enum { TRIED = 3, SETS = 1 << NEO_MAX_OPERANDS }; /* tiles of each axis and set that get blocks */

typedef struct {
  neo_ranked *at; /* the cheapest so far, cheapest first */
  size_t n;
} ranking;

typedef struct {
  neo_tiles q;
  ranking *top; /* one list for each vector axis and set of packed operands */
  size_t most;
  double best;
} search;

typedef struct {
  int64_t v, fused, am, an; /* an: only with lanes over the reduction */
  int64_t lanes;
  int64_t rows, cols, pack;
  bool own_lanes;
  int64_t n; /* extent of columns */
} candidate;

static neo_schedule basic(const search *c, const candidate *x) {
  neo_schedule s = neo_schedule_plain();
  neo_loop_params *p = &s.loops;
  s.strategy = NEO_STRATEGY_TILE;
  p->vector_axis = x->own_lanes ? (int64_t)c->q.f->axes.n : x->v;
  p->vector_width = x->lanes;
  p->fused = x->fused;
  p->axis_m = x->am;
  p->axis_n = x->own_lanes ? x->an : -1;
  p->tile_m = x->rows;
  p->tile_n = x->own_lanes && x->an < 0 ? 1 : x->cols;
  p->pack = x->pack;
  return s;
}

/* Inserts by cost; of equal ones the first stays first. */
static void insert(neo_ranked *top, size_t *n, size_t most, const neo_ranked *x) {
  if (*n == most && x->cost >= top[*n - 1].cost)
    return;
  size_t k = *n < most ? (*n)++ : *n - 1;
  for (; k && x->cost < top[k - 1].cost; k--)
    top[k] = top[k - 1];
  top[k] = *x;
}

/* The cost that a tile may reach once it has blocks, with a limit as in neo_tiles_cost. If nothing
 * is packed, a long reduction misses the caches for columns at every step. Short blocks of it turn
 * these reads into streams, and another tile shape is then best. */
static double promise(search *c, const candidate *x, const neo_schedule *s, double limit) {
  enum { BLOCK = 8 };
  double cost = neo_tiles_cost(&c->q, s, limit);
  if (x->pack || x->own_lanes || c->q.own[0] <= BLOCK || c->q.whole_sums)
    return cost;
  neo_schedule y = *s;
  y.loops.block_k = BLOCK;
  y.loops.order = x->am >= 0;
  return fmin(cost, neo_tiles_cost(&c->q, &y, fmin(cost, limit)));
}

static void consider(search *c, const candidate *x) {
  neo_ranked y = {basic(c, x), 0};
  int64_t v = x->own_lanes ? (int64_t)c->q.f->axes.n : x->v;
  ranking *top = &c->top[v * SETS + x->pack];
  bool full = top->n == c->most; /* then none of the list costs less than the best */
  y.cost = promise(c, x, &y.schedule, full ? top->at[top->n - 1].cost : INFINITY);
  if (y.cost < c->best)
    c->best = y.cost;
  if (!top->at)
    top->at = NEO_NEW_ARRAY(c->q.m->arena, neo_ranked, c->most);
  insert(top->at, &top->n, c->most, &y);
}

/* ---- enumeration */

/* Does operand k suit blocks of few rows? Operands that all rows share must then be read in place
 * if they are contiguous, because a copy in each block would cost more than the block's products;
 * and tiles must be wide, so that a single row has enough sums to hide their latency. */
static bool suits_few_rows(search *c, const candidate *x, uint32_t k, neo_side side) {
  enum { PART = 8 }; /* 1/PART of the registers */
  bool wide = x->cols >= c->q.machine->vector_regs / PART || (x->cols + 1) * x->lanes > x->n;
  return !neo_tiles_stay_near(&c->q, k) ||
         (!(x->pack >> k & 1) && (side != NEO_SIDE_COLUMNS || wide));
}

static void each_pack(search *c, candidate *x) {
  const neo_contraction *f = c->q.c;
  neo_schedule s = basic(c, x);
  neo_side side[NEO_MAX_OPERANDS];
  int64_t read = 0;
  for (uint32_t k = 0; k < f->n_operands; k++) {
    side[k] = neo_schedule_side(c->q.f, &s, &f->factor[k]);
    read |= (int64_t)neo_schedule_reads(c->q.f, &s, f, k) << k;
  }
  for (x->pack = 0; x->pack < 1LL << f->n_operands; x->pack++) {
    bool ok = !(x->pack & ~read);
    for (uint32_t k = 0; k < f->n_operands && ok; k++) {
      ok = !c->q.machine->few_rows || suits_few_rows(c, x, k, side[k]);
      if (!ok || !(x->pack >> k & 1))
        continue;
      ok = side[k] == NEO_SIDE_ROWS || side[k] == NEO_SIDE_COLUMNS;
      for (uint32_t i = 0; i < k; i++)
        ok = ok && f->factor[i].e.i != f->factor[k].e.i;
    }
    if (ok)
      consider(c, x);
  }
}

/* Does an operand use both rows and columns, so that every element is read once? */
static bool reads_once(const search *c, const candidate *x) {
  uint64_t rows = x->am >= 0 ? 1ULL << x->am : 0;
  uint64_t columns = x->own_lanes ? 0 : ((1ULL << x->fused) - 1) << (x->v - x->fused + 1);
  for (uint32_t k = 0; k < c->q.c->n_operands; k++)
    if (neo_operand_is_read(c->q.c, k, rows, columns) &&
        neo_factor_side(&c->q.c->factor[k], rows, columns) == NEO_SIDE_BOTH)
      return true;
  return false;
}

/* An upper bound of the vectors of columns. Where nothing is read twice, a tile may be as wide as
 * whole rows, which are streams, if rows are short. */
static int64_t most_columns(const search *c, const candidate *x) {
  enum { FEW = 4, MANY = 8 };
  return x->am < 0 || (!x->own_lanes && reads_once(c, x)) ? MANY : FEW;
}

/* Registers of a tile. A tile that is wide because it reads whole rows loads them vector by
 * vector. */
static int64_t registers(const candidate *x, int64_t columns) {
  enum { FEW = 4 };
  bool rows = x->am >= 0 && x->cols > FEW;
  if (rows && x->cols < columns)
    return INT64_MAX;
  return x->rows * x->cols + (rows ? 2 : x->cols) + (x->own_lanes ? x->rows : 1);
}

static void each_tile(search *c, candidate *x) {
  int64_t regs = c->q.machine->vector_regs;
  int64_t most_rows = x->am >= 0 ? 14 : 1, most_cols = most_columns(c, x);
  if (x->am >= 0 && most_rows > c->q.shared[x->am])
    most_rows = c->q.shared[x->am];
  for (x->rows = 1; x->rows <= most_rows; x->rows++)
    for (x->cols = 1; x->cols <= most_cols; x->cols++) {
      bool own = x->own_lanes;
      int64_t columns = own ? x->n : (x->n + x->lanes - 1) / x->lanes;
      if (registers(x, columns) > regs || (x->cols > 1 && x->cols > columns) ||
          (own && x->an < 0 && x->cols > 1))
        continue;
      x->pack = 0;
      if (own)
        consider(c, x);
      else
        each_pack(c, x);
    }
}

static void each_row_axis(search *c, candidate *x, uint64_t taken) {
  for (x->am = -1; x->am < (int64_t)c->q.f->axes.n; x->am++)
    if (x->am < 0 || !(taken >> x->am & 1))
      each_tile(c, x);
}

/* Tries vectors of all lanes, and half of them where the last vector of `length` elements would be
 * at most half full, unless it is one of many. */
static void each_width(search *c, candidate *x, int64_t length, uint64_t taken) {
  enum { MANY = 4 };
  for (x->lanes = c->q.lanes; x->lanes >= 2; x->lanes /= 2) {
    int64_t rest = length % x->lanes;
    each_row_axis(c, x, taken);
    if (!rest || rest > x->lanes / 2 || length > MANY * x->lanes)
      return;
  }
}

static void shared_candidates(search *c) {
  for (int64_t v = 0; v < (int64_t)c->q.f->axes.n; v++) {
    candidate x = {.v = v, .an = -1, .n = 1};
    uint64_t taken = c->q.fixed;
    for (x.fused = 1; x.fused <= 3 && x.fused <= v + 1; x.fused++) {
      int64_t k = v - x.fused + 1;
      if (c->q.fixed >> k & 1 || !neo_form_fusible(c->q.m, c->q.f, (uint32_t)v, (uint32_t)x.fused))
        break;
      taken |= 1ULL << k;
      x.n *= c->q.shared[k];
      each_width(c, &x, x.n, taken);
    }
  }
}

static void own_candidates(search *c) {
  int64_t length = c->q.own[c->q.s->axes.n - 1];
  if (length < c->q.lanes)
    return;
  for (int64_t an = -1; an < (int64_t)c->q.f->axes.n; an++) {
    if (an >= 0 && c->q.fixed >> an & 1)
      continue;
    candidate x = {.v = -1, .an = an, .fused = 1, .own_lanes = true};
    x.n = an >= 0 ? c->q.shared[an] : 1;
    each_width(c, &x, length, c->q.fixed | (an >= 0 ? 1ULL << an : 0));
  }
}

/* ---- entry points */

/* Gives the best of each list blocks and units; those that cost less than `limit` go into
 * out[0..n). columns: null, or the schedule whose axes are collapsed in this form. Blocks of the
 * reduction are then left out, as partial sums would be moved in pieces as short as results. */
static size_t finish(search *c, const neo_schedule *columns, double limit, neo_ranked *out,
                     size_t n, size_t most) {
  const double margin = 1.6;
  for (size_t list = 0; list < (c->q.f->axes.n + 1) * SETS; list++)
    for (size_t k = 0; k < c->top[list].n; k++) {
      neo_ranked x = c->top[list].at[k];
      if (most < TRIED && x.cost > margin * c->best)
        continue;
      x.cost = neo_tiles_block(&c->q, &x.schedule);
      if (x.cost >= limit || (columns && x.schedule.loops.block_k))
        continue;
      if (columns)
        x.schedule =
            neo_collapsed_back(&x.schedule, columns->loops.axis_n, columns->loops.vector_axis);
      insert(out, &n, most, &x);
    }
  return n;
}

/* ---- collapsed columns */

/* The largest vector that divides the axis; 1: there is none. */
static int64_t whole_lanes(const search *c, int64_t axis) {
  int64_t lanes = c->q.lanes;
  while (lanes > 1 && c->q.shared[axis] % lanes)
    lanes /= 2;
  return lanes;
}

/* May `axis` and `last` be collapsed? The same operands must use both, and `last` must be short, so
 * that tiles of lanes along it alone are narrow, but a multiple of a vector. Results are then
 * stored in short pieces, so sums must be long. */
static bool may_collapse(const search *c, int64_t axis, int64_t last) {
  enum { VECTORS = 4, LONG = 1024, LEAST_LANES = 4 };
  int64_t extent;
  if (c->q.steps < LONG || axis == last - 1 || (c->q.fixed >> axis & 1) ||
      (c->q.fixed >> last & 1) || c->q.shared[axis] < 2 ||
      c->q.shared[last] > VECTORS * c->q.lanes || whole_lanes(c, last) < LEAST_LANES ||
      !neo_expr_is_int(c->q.m, c->q.f->axes.at[last].hi, &extent))
    return false;
  for (uint32_t k = 0; k < c->q.c->n; k++) {
    uint64_t axes = c->q.c->factor[k].axes;
    if ((axes >> axis & 1) != (axes >> last & 1))
      return false;
  }
  return true;
}

static size_t try_collapsed(const search *base, int64_t axis, int64_t last, double limit,
                            neo_ranked *out, size_t n, size_t most) {
  neo_contraction contraction;
  neo_schedule columns = neo_schedule_plain();
  columns.loops.vector_axis = last;
  columns.loops.axis_n = axis;
  neo_collapsed collapsed = neo_collapsed_of(base->q.m, base->q.f, &columns);
  search c = {
      .q = {.m = base->q.m, .f = collapsed.f, .machine = base->q.machine, .whole_sums = true},
      .most = base->most,
      .best = 1e300};
  if (!neo_tiles_begin(&c.q, &contraction))
    return n;
  c.top = NEO_NEW_ARRAY(base->q.m->arena, ranking, (collapsed.f->axes.n + 1) * SETS);
  candidate x = {.v = collapsed.s.loops.vector_axis, .an = -1, .fused = 2};
  x.n = c.q.shared[x.v] * c.q.shared[x.v - 1];
  int64_t least = whole_lanes(&c, x.v);
  for (x.lanes = c.q.lanes; x.lanes >= least; x.lanes /= 2)
    each_row_axis(&c, &x, c.q.fixed | 3ULL << (x.v - 1));
  return finish(&c, &columns, limit, out, n, most);
}

size_t neo_model_contractions(neo_module *m, const neo_form *f, const neo_machine *machine,
                              neo_ranked *out, size_t most) {
  neo_contraction contraction;
  size_t tried = most > TRIED ? most : TRIED, n = 0;
  int64_t last = (int64_t)f->axes.n - 1;
  const double better = 0.75; /* measured: short pieces cost more than the model counts */
  search c = {.q = {.m = m, .f = f, .machine = machine}, .most = tried, .best = 1e300};
  if (!most || !neo_tiles_begin(&c.q, &contraction))
    return 0;
  c.top = NEO_NEW_ARRAY(m->arena, ranking, (f->axes.n + 1) * SETS);
  shared_candidates(&c);
  own_candidates(&c);
  n = finish(&c, NULL, 1e300, out, n, most);
  double limit = n ? better * out[0].cost : 1e300;
  for (int64_t axis = 0; axis < last; axis++)
    if (may_collapse(&c, axis, last))
      n = try_collapsed(&c, axis, last, limit, out, n, most);
  return n;
}

double neo_model_contraction_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                                  const neo_schedule *s) {
  neo_contraction contraction;
  neo_collapsed x = neo_collapsed_of(m, f, s);
  neo_tiles q = {.m = m, .f = x.f, .machine = machine};
  if (s->loops.vector_axis < 0 || !neo_tiles_begin(&q, &contraction))
    return -1;
  return neo_tiles_merit(&q, &x.s, INFINITY);
}
