/* Shape, legality and model of contractions of pairs. The model counts the cycles of the matrix
 * unit for all tiles, padded ones included, or those of vectors for all dot products; then copies
 * and stores. Blocks hold the operand of a tile of columns in half of L2. */
#include "schedule/pairs/pairs.h"
#include "base/whole.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include <math.h>

enum { SIDE = NEO_PAIRS_SIDE, REGISTERS = 8, VECTORS = 32, MOST_CELLS = 1 << 22 };

/* ---- shape */

/* Matches a rounded operand: f32(e), where e is bf16. */
static bool narrow_of(const neo_module *m, neo_expr e, neo_expr *narrow) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op != NEO_OP_CAST || n->type != NEO_F32_T)
    return false;
  *narrow = neo_list_expr(m, n->arg, 0);
  return neo_expr_type(m, *narrow) == NEO_BF16_T;
}

static int64_t pairs_with(const neo_pairs_shape *x, uint32_t n, uint32_t paired) {
  int64_t pairs = 1;
  for (uint32_t k = 0; k < n; k++)
    if (__builtin_mul_overflow(pairs, k == paired ? (x->extent[k] + 1) / 2 : x->extent[k],
                               &pairs) ||
        pairs > MOST_CELLS)
      return MOST_CELLS;
  return pairs;
}

/* The axis to pair: the one with the fewest half-empty pairs; of equal ones the one along which
 * more operands are contiguous; then the last. */
static uint32_t best_pairs(neo_module *m, const neo_form *f, const neo_pairs_shape *x, uint32_t n) {
  uint32_t best = n - 1;
  int64_t least = INT64_MAX;
  for (uint32_t k = n; k-- > 0;) {
    int64_t cost = pairs_with(x, n, k) * 4;
    for (int i = 0; i < 2; i++)
      cost -= neo_expr_unit_stride(m, f, x->narrow[i], (uint32_t)f->axes.n + k);
    if (cost < least) {
      least = cost;
      best = k;
    }
  }
  return best;
}

static bool reduction(neo_module *m, const neo_form *f, const neo_schedule *s, neo_pairs_shape *x) {
  const neo_stage *stage = &f->stages.at[x->c.stage];
  uint32_t n = (uint32_t)stage->axes.n;
  int64_t block = s->loops.block_k, unit = 1;
  if (stage->where.i || n > NEO_FORM_MAX_AXES)
    return false;
  for (uint32_t k = 0; k < n; k++) {
    int64_t hi;
    uint64_t bounds = neo_form_axes(m, f, stage->axes.at[k].hi), own = 1ULL << (f->axes.n + k);
    if (!neo_expr_is_int(m, stage->axes.at[k].lo, &x->lo[k]) || bounds >> f->axes.n ||
        !neo_axis_range(m, f, stage, k, &x->lo[k], &hi) || !(x->c.factor[0].axes & own) ||
        !(x->c.factor[1].axes & own))
      return false;
    x->extent[k] = hi > x->lo[k] ? hi - x->lo[k] : 1;
    if (k == 0 && block && block < x->extent[k])
      x->extent[k] = block;
  }
  x->paired = best_pairs(m, f, x, n);
  x->coef[x->paired] = 1;
  for (uint32_t k = n + 1; k-- > 0;) {
    uint32_t axis = k == n ? x->paired : k;
    if (k < n && axis == x->paired)
      continue;
    x->coef[axis] = unit;
    unit *= axis == x->paired ? (x->extent[axis] + 1) / 2 : x->extent[axis];
    if (unit >= MOST_CELLS)
      return false;
  }
  x->pairs = unit;
  x->tiles = (unit + SIDE - 1) / SIDE;
  return true;
}

static int64_t in_block(neo_module *m, const neo_form *f, const neo_schedule *s, bool rows) {
  int64_t axis = rows ? s->loops.axis_m : s->loops.vector_axis, n = 1;
  if (axis < 0)
    return SIDE;
  int64_t block = rows ? s->loops.block_m : s->loops.block_n;
  for (int64_t k = 0; k < (rows ? 1 : s->loops.fused); k++)
    n *= neo_axis_most(m, &f->axes.at[axis - k]);
  return neo_round_up(block && block < n ? block : n, SIDE);
}

neo_pairs_shape neo_pairs_shape_of(neo_module *m, const neo_form *f, const neo_schedule *s) {
  neo_pairs_shape x = {.on = false};
  const neo_loop_params *p = &s->loops;
  bool one_row = p->axis_m < 0;
  if (!neo_contraction_of(m, f, &x.c) || x.c.n != 2 || (one_row && p->pairs != NEO_PAIRS_DOTS) ||
      p->vector_axis < 0 || p->vector_axis >= (int64_t)f->axes.n)
    return x;
  if (f->stages.at[x.c.stage].accs.at[0].type != NEO_F32_T)
    return x;
  for (int k = 0; k < 2; k++) {
    x.side[k] = neo_schedule_side(f, s, &x.c.factor[k]);
    x.side[k] = one_row && x.side[k] == NEO_SIDE_NONE ? NEO_SIDE_ROWS : x.side[k];
    if (!narrow_of(m, x.c.factor[k].e, &x.narrow[k]))
      return x;
  }
  bool straight = x.side[0] == NEO_SIDE_ROWS && x.side[1] == NEO_SIDE_COLUMNS;
  bool crossed = x.side[0] == NEO_SIDE_COLUMNS && x.side[1] == NEO_SIDE_ROWS;
  if ((!straight && !crossed) || !reduction(m, f, s, &x))
    return x;
  x.rows = in_block(m, f, s, true);
  x.columns = in_block(m, f, s, false);
  int64_t longest = x.rows > x.columns ? x.rows : x.columns;
  x.on = longest < MOST_CELLS && longest * x.tiles * SIDE <= MOST_CELLS &&
         (!p->block_k || x.rows * x.columns <= MOST_CELLS);
  return x;
}

bool neo_pairs_in_place(neo_module *m, const neo_form *f, const neo_schedule *s,
                        const neo_pairs_shape *x, int64_t *lo, int64_t *hi) {
  const neo_stage *stage = &f->stages.at[x->c.stage];
  return s->loops.pairs == NEO_PAIRS_DOTS && !s->loops.block_k && stage->axes.n == 1 &&
         neo_expr_is_int(m, stage->axes.at[0].lo, lo) &&
         neo_expr_is_int(m, stage->axes.at[0].hi, hi);
}

/* ---- legality */

/* Do sums and operands fit the registers? Dot products hold one row's operand at a time. */
static bool has_registers(const neo_loop_params *p) {
  int64_t rows = p->tile_m, columns = p->tile_n;
  if (rows < 1 || columns < 1)
    return false;
  if (p->pairs == NEO_PAIRS_DOTS)
    return SIDE % rows == 0 && rows * columns + columns + 1 <= VECTORS;
  rows /= SIDE;
  return p->tile_m % SIDE == 0 && rows * columns + rows + columns <= REGISTERS;
}

bool neo_pairs_legal(neo_module *m, const neo_form *f, const neo_machine *machine,
                     const neo_schedule *s, neo_str *why) {
  const neo_loop_params *p = &s->loops;
  if (p->pairs != machine->matrix)
    return reject(why, "the target has no such instructions for products of pairs");
  if (p->vector_width != SIDE || !has_registers(p))
    return reject(why, "the tile does not fit products of pairs");
  if (p->nontemporal || p->stash)
    return reject(why, "nontemporal and stash are not for products of pairs");
  if (p->block_m % SIDE || (p->block_n % SIDE && p->fused == 1))
    return reject(why, "a block is not a multiple of the matrix unit's tiles");
  neo_pairs_shape x = neo_pairs_shape_of(m, f, s);
  int64_t lo, hi;
  if (!x.on)
    return reject(why, "pairs are for sums of products of two bf16 operands without conditions");
  return p->pack == 3 || neo_pairs_in_place(m, f, s, &x, &lo, &hi) ||
         reject(why, "products of pairs need packed operands here");
}

/* ---- the model */

/* Costs are in cycles, in which two vector multiply-adds issue. */
enum { COPY_CELLS = 4, TRANSPOSED = 2, FUSED = 5 };

static double times(int64_t n, int64_t block) {
  return (double)(block && block < n ? (n + block - 1) / block : 1);
}

/* Cycles of a copy: contiguous cells as vectors, others one by one. */
static double copy_cost(neo_module *m, const neo_form *f, const neo_pairs_shape *x, int k,
                        double cells, const neo_loop_params *p) {
  bool rows = x->side[k] == NEO_SIDE_ROWS;
  int64_t axis = rows ? p->axis_m : p->vector_axis;
  if (!(p->pack >> k & 1))
    return 0;
  bool along = neo_expr_unit_stride(m, f, x->narrow[k],
                                    rows ? (uint32_t)f->axes.n + x->paired : (uint32_t)axis);
  if (!rows && p->fused > 1)
    return cells * FUSED;
  return along ? cells / COPY_CELLS : cells * TRANSPOSED;
}

/* Cycles of the dot products of a pair, for all rows and all vectors of columns: those of a tile
 * overlap the latency. */
static double dots_cost(const neo_core *core, int64_t rows, int64_t vectors,
                        const neo_loop_params *p) {
  int64_t tall = p->tile_m, wide = p->tile_n;
  double cost = 0;
  for (int corner = 0; corner < 4; corner++) {
    int64_t r = corner & 1 ? rows % tall : tall, v = corner & 2 ? vectors % wide : wide;
    double times =
        (double)(corner & 1 ? 1 : rows / tall) * (double)(corner & 2 ? 1 : vectors / wide);
    if (r && v)
      cost += times * fmax((double)(r * v), core->dots_latency) / core->dots;
  }
  return cost;
}

static int64_t rows_of(neo_module *m, const neo_form *f, const neo_loop_params *p) {
  return p->axis_m < 0 ? 1 : neo_axis_most(m, &f->axes.at[p->axis_m]);
}

double neo_pairs_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                      const neo_schedule *s) {
  neo_pairs_shape x = neo_pairs_shape_of(m, f, s);
  const neo_loop_params *p = &s->loops;
  int64_t am = p->axis_m, v = p->vector_axis, stride;
  if (!x.on)
    return 1e300;
  double outer = 1,
         blocks =
             times(x.c.n ? neo_axis_most(m, &f->stages.at[x.c.stage].axes.at[0]) : 1, p->block_k);
  for (int64_t k = 0; k < (int64_t)f->axes.n; k++)
    if (k != am && (k > v || k <= v - p->fused))
      outer *= (double)neo_axis_most(m, &f->axes.at[k]);
  int64_t rows_all = rows_of(m, f, p), m_all = neo_round_up(rows_all, SIDE), n_all = 1;
  for (int64_t k = 0; k < p->fused; k++)
    n_all *= neo_axis_most(m, &f->axes.at[v - k]);
  n_all = neo_round_up(n_all, SIDE);
  double depth = (double)x.tiles * blocks, results = (double)m_all * (double)n_all;
  bool rows_inside = p->unit_axes < neo_schedule_loops(f, s) && !p->block_k;
  double cost = p->pairs == NEO_PAIRS_DOTS
                    ? dots_cost(&machine->core, rows_all, n_all / SIDE, p) *
                          (double)neo_round_up(x.pairs, NEO_DOT_STEPS) * blocks
                    : results / (SIDE * SIDE) * depth * machine->core.pairs_tile;
  for (int k = 0; k < 2; k++) {
    bool rows = x.side[k] == NEO_SIDE_ROWS;
    double cells = (double)(rows ? m_all : n_all) * depth * SIDE;
    double again = rows ? times(n_all, p->block_n) : times(m_all, p->block_m);
    again = !rows && rows_inside ? 1 : again;
    cost += copy_cost(m, f, &x, k, cells * again, p);
  }
  const neo_stage *last = &f->stages.at[f->stages.n - 1];
  bool lanes = last->outs.n &&
               neo_flat_stride(m, f, last->outs.at[0].offset, (uint32_t)v, &stride) && stride == 1;
  return outer * (cost + results * (lanes ? 0.2 : 2.0) * blocks);
}

/* ---- the choice */

/* The extent of the fused columns; *inner: that of all but the outermost of them, which a block has
 * to be a multiple of. */
static int64_t fused_columns(neo_module *m, const neo_form *f, const neo_loop_params *p,
                             int64_t *inner) {
  int64_t v = p->vector_axis, n = 1;
  for (int64_t k = v; k > v - p->fused; k--) {
    *inner = n;
    n *= neo_axis_most(m, &f->axes.at[k]);
  }
  return n;
}

/* Blocks the reduction where even one register tile of columns is too long. */
static void cut_reduction(neo_module *m, const neo_form *f, const neo_contraction *c,
                          neo_schedule *s) {
  enum { LONGEST = 1 << 14, UNIT = 2 * SIDE }; /* steps */
  const neo_stage *stage = &f->stages.at[c->stage];
  int64_t first = neo_axis_most(m, &stage->axes.at[0]);
  double steps = neo_stage_steps(m, stage, 1, (uint32_t)stage->axes.n);
  if (steps * (double)first <= LONGEST)
    return;
  int64_t block = (int64_t)(LONGEST / steps);
  block = block > UNIT ? block / UNIT * UNIT : block < 1 ? 1 : block;
  if (block < first)
    s->loops.block_k = block;
}

/* Are the two steps of each pair of the only reduction axis contiguous, and is the operand a load
 * that needs no rounding? */
static bool lies_in_pairs(neo_module *m, const neo_form *f, neo_expr e) {
  uint32_t own = (uint32_t)f->axes.n;
  neo_linear x;
  if (neo_expr_node(m, e)->op != NEO_OP_LOAD)
    return false;
  if (neo_expr_unit_stride(m, f, e, own))
    return true;
  neo_expr two = neo_const_i64(m, 2);
  neo_expr second = neo_op2(m, NEO_OP_MOD, neo_axis_ref(m, own), two);
  return neo_linear_of(m, neo_flat_at(m, e), &x) && neo_linear_coef(&x, second) == 1;
}

/* Operands whose pairs are contiguous are not packed. */
static void leave_in_place(neo_module *m, const neo_form *f, neo_schedule *s) {
  neo_pairs_shape x = neo_pairs_shape_of(m, f, s);
  int64_t lo, hi;
  if (!x.on || !neo_pairs_in_place(m, f, s, &x, &lo, &hi) || lo % 2)
    return;
  for (int k = 0; k < 2; k++)
    if (lies_in_pairs(m, f, x.narrow[k]))
      s->loops.pack &= ~(1LL << k);
}

/* Chooses blocks that fit into scratch and L2: blocks of the reduction first, then of columns, then
 * of rows. Columns that are read in place are streams, so that rows are packed once. */
static void cut(neo_module *m, const neo_form *f, const neo_machine *machine, neo_schedule *s) {
  neo_loop_params *p = &s->loops;
  int64_t near = machine->l2_bytes / 2 / 4, inner = 1, pairs = 1;
  neo_contraction c;
  if (!neo_contraction_of(m, f, &c))
    return;
  cut_reduction(m, f, &c, s);
  leave_in_place(m, f, s);
  bool copied[2] = {false};
  for (int k = 0; k < 2; k++)
    copied[neo_schedule_side(f, s, &c.factor[k]) != NEO_SIDE_COLUMNS] = p->pack >> k & 1;
  const neo_stage *stage = &f->stages.at[c.stage];
  for (uint32_t k = 0; k < stage->axes.n && pairs < near; k++) {
    int64_t n = neo_axis_most(m, &stage->axes.at[k]), block = p->block_k;
    pairs *= k == 0 && block && block < n ? block : n;
  }
  pairs = neo_round_up((pairs + 1) / 2, SIDE);
  int64_t columns = fused_columns(m, f, p, &inner), unit = p->tile_n * SIDE;
  unit = p->fused > 1 ? inner : unit;
  if (copied[0] && columns * pairs > near && columns > unit)
    p->block_n = near / pairs < unit ? unit : near / pairs / unit * unit;
  int64_t rows = rows_of(m, f, p);
  unit = neo_round_up(p->tile_m, SIDE);
  if (copied[1] && rows * pairs > near / 2 && rows > unit)
    p->block_m = near / 2 / pairs < unit ? unit : near / 2 / pairs / unit * unit;
}

/* Divides a product that would be a single unit but is long enough for several: by rows, where each
 * unit packs its own, or by columns that are read in place. */
static void share_out(neo_module *m, const neo_form *f, neo_schedule *s) {
  enum { UNITS = 4, LEAST = 1 << 20 }; /* multiplications of a unit */
  neo_loop_params *p = &s->loops;
  int64_t inner, rows = rows_of(m, f, p), columns = fused_columns(m, f, p, &inner);
  neo_contraction c;
  if (p->block_m || p->block_n || !neo_contraction_of(m, f, &c))
    return;
  const neo_stage *stage = &f->stages.at[c.stage];
  double products = (double)rows * (double)columns * neo_stage_points(m, stage);
  bool in_place = false;
  for (int k = 0; k < 2; k++)
    in_place |= neo_schedule_side(f, s, &c.factor[k]) == NEO_SIDE_COLUMNS && !(p->pack >> k & 1);
  int64_t tall = neo_round_up(p->tile_m, SIDE), wide = p->tile_n * SIDE;
  if (products < 2.0 * LEAST)
    return;
  if (rows >= 2 * tall)
    p->block_m = neo_round_up((rows + UNITS - 1) / UNITS, tall);
  else if (in_place && p->fused == 1 && columns >= 2 * wide)
    p->block_n = neo_round_up((columns + UNITS - 1) / UNITS, wide);
}

/* Keeps blocks of rows inside of a unit, which then packs its columns once, where other loops make
 * enough units. */
static void set_units(neo_module *m, const neo_form *f, neo_schedule *s) {
  enum { ENOUGH = 8 };
  neo_loop_params *p = &s->loops;
  int64_t v = p->vector_axis, inner;
  double units = times(fused_columns(m, f, p, &inner), p->block_n);
  for (int64_t k = 0; k < (int64_t)f->axes.n; k++)
    if (k != p->axis_m && (k > v || k <= v - p->fused))
      units *= (double)neo_axis_most(m, &f->axes.at[k]);
  neo_model_units(m, f, s);
  if (p->block_m && units >= ENOUGH) {
    p->unit_axes = neo_schedule_loops(f, s) - 1;
    p->unit_size = 1;
  }
}

/* The largest tile that registers hold or that rows and columns need, in tiles of nearly equal
 * size. Where rows are few, a tile has more columns. */
static void set_dots(neo_loop_params *p, int64_t rows, int64_t columns) {
  static const int64_t most[][2] = {{1, 4}, {2, 4}, {4, 6}, {8, 3}, {16, 1}};
  int64_t vectors = (columns + SIDE - 1) / SIDE, k = 0;
  while (k < 3 && most[k][0] < rows)
    k++;
  k += k == 3 && vectors == 1 && rows > most[3][0];
  p->tile_m = most[k][0];
  int64_t tiles = (vectors + most[k][1] - 1) / most[k][1];
  p->tile_n = (vectors + tiles - 1) / tiles;
}

static void set_tile(neo_loop_params *p, int64_t rows, int64_t columns) {
  int64_t wide = columns <= SIDE ? 1 : columns <= 2 * SIDE ? 2 : 3;
  if (p->pairs == NEO_PAIRS_DOTS) {
    set_dots(p, rows, columns);
    return;
  }
  p->tile_m = rows > SIDE ? 2 * SIDE : SIDE;
  p->tile_n = wide == 3 && rows > SIDE ? 2 : wide;
}

static neo_schedule tiled(neo_module *m, const neo_form *f, const neo_machine *machine, int64_t am,
                          int64_t v, int64_t fused) {
  neo_schedule s = neo_schedule_plain();
  neo_loop_params *p = &s.loops;
  int64_t inner;
  s.strategy = NEO_STRATEGY_PAIRS;
  p->pairs = machine->matrix;
  p->pack = 3;
  p->vector_axis = v;
  p->vector_width = SIDE;
  p->fused = fused;
  p->axis_m = am;
  set_tile(p, rows_of(m, f, p), fused_columns(m, f, p, &inner));
  cut(m, f, machine, &s);
  if (machine->matrix == NEO_PAIRS_DOTS)
    share_out(m, f, &s);
  set_units(m, f, &s);
  return s;
}

typedef struct {
  neo_module *m;
  const neo_form *f;
  const neo_machine *machine;
  uint64_t fixed;
  double best;
  neo_schedule *out;
} search;

static void try_rows(search *c, int64_t v, int64_t fused) {
  int64_t none = c->machine->matrix == NEO_PAIRS_DOTS ? -1 : 0;
  for (int64_t am = none; am < (int64_t)c->f->axes.n; am++) {
    if (am >= 0 && ((am <= v && am > v - fused) || c->fixed >> am & 1))
      continue;
    neo_schedule s = tiled(c->m, c->f, c->machine, am, v, fused);
    if (!neo_pairs_legal(c->m, c->f, c->machine, &s, NULL))
      continue;
    double cost = neo_pairs_cost(c->m, c->f, c->machine, &s);
    if (cost < c->best) {
      c->best = cost;
      *c->out = s;
    }
  }
}

bool neo_model_pairs(neo_module *m, const neo_form *f, const neo_machine *machine,
                     neo_schedule *out) {
  neo_contraction c;
  neo_expr narrow;
  if (!machine->matrix || !neo_contraction_of(m, f, &c) || c.n != 2 ||
      !narrow_of(m, c.factor[0].e, &narrow) || !narrow_of(m, c.factor[1].e, &narrow))
    return false;
  search x = {m, f, machine, neo_form_bound_axes(m, f), 1e300, out};
  for (int64_t v = 0; v < (int64_t)f->axes.n; v++)
    for (int64_t fused = 1; fused <= 3 && fused <= v + 1; fused++) {
      if (x.fixed >> (v - fused + 1) & 1 || !neo_form_fusible(m, f, (uint32_t)v, (uint32_t)fused))
        break;
      try_rows(&x, v, fused);
    }
  return x.best < 1e300;
}
