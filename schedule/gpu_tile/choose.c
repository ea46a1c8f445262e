/* Blocks of threads: the model's choice.
 *
 * It counts what the machine has, multiprocessors and their threads, against what there is to
 * do. A contraction takes the largest tile of its table that still makes a block for each
 * multiprocessor, or the one with most blocks; larger tiles read each operand less often. A
 * reduction takes as many lanes as give the machine enough threads, and no more than there are
 * steps to divide; where what it reads is contiguous along an own axis, at least a warp's worth of
 * them, so that a warp's accesses are neighbours. */
#include "schedule/gpu_tile/conditions.h"
#include "schedule/row_stash.h"
#include "schedule/model.h"
#include "schedule/gpu_tile/producer.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/gpu_tile/shape.h"
#include "schedule/vector_access.h"

/* ---- shapes of tiles */

void neo_block_threads(neo_schedule *s, const neo_block_shape *x) {
  s->strategy = NEO_STRATEGY_GPU_TILE;
  neo_block_params *p = &s->block;
  p->block_m = x->block_m;
  p->block_n = x->block_n;
  p->block_k = x->block_k;
  p->tile_m = x->tile_m;
  p->tile_n = x->tile_n;
  p->threads = x->block_m / x->tile_m * (x->block_n / x->tile_n);
}

void neo_block_warps(neo_schedule *s, const neo_block_shape *x) {
  neo_block_threads(s, x);
  s->block.products = 1;
  s->block.threads *= NEO_BLOCK_WARP;
}

void neo_block_warpgroups(neo_schedule *s, const neo_block_shape *x) {
  neo_block_threads(s, x);
  s->block.products = NEO_THREADS_WARPGROUPS;
  s->block.threads *= NEO_BLOCK_GROUP;
}

void neo_threads_try(neo_module *m, const neo_form *f, const neo_machine *machine, neo_param k,
                     int64_t value, neo_schedule *s) {
  int64_t old = s->at[k];
  s->at[k] = value;
  if (!neo_threads_legal(m, f, machine, s, NULL))
    s->at[k] = old;
}

/* Largest first. */
static const neo_block_shape shapes[] = {
    {128, 128, 8, 8, 8}, {128, 64, 16, 8, 4}, {64, 128, 16, 4, 8}, {64, 64, 16, 4, 4},
    {64, 32, 16, 4, 2},  {32, 64, 16, 2, 4},  {32, 32, 16, 2, 2},  {16, 16, 16, 1, 1}};

/* By warps, whose tiles these are. */
static const neo_block_shape warp_shapes[] = {
    {128, 128, 16, 64, 32}, {128, 64, 16, 32, 32}, {64, 128, 16, 32, 32}, {64, 64, 16, 32, 32},
    {64, 32, 16, 32, 16},   {32, 64, 16, 16, 32},  {32, 32, 16, 16, 16},  {16, 32, 16, 16, 8}};

/* By warpgroups. */
static const neo_block_shape group_shapes[] = {{128, 256, 32, 64, 256}, {128, 128, 32, 64, 128},
                                               {128, 64, 32, 64, 64},   {64, 128, 32, 64, 64},
                                               {64, 64, 32, 64, 64},    {64, 32, 32, 64, 32}};

/* Time of a step of the whole product: blocks run in rounds of one a multiprocessor, of which each
 * takes what its tile computes, and what it has to read. */
static double shape_cost(const neo_machine *machine, const neo_block_shape *x, double rows,
                         double columns, double batches) {
  enum { READ = 24 }; /* what an element to be staged costs, in multiplications */
  double blocks = neo_blocks_of(rows, x->block_m) * neo_blocks_of(columns, x->block_n) * batches;
  double rounds = neo_blocks_of(blocks, machine->profile.workers);
  double area = (double)(x->block_m * x->block_n), loads = (double)(x->tile_m * x->tile_n);
  double shared = 1 + 1.5 * (double)(x->tile_m + x->tile_n) / loads;
  return rounds * (area * shared + READ * (double)(x->block_m + x->block_n));
}

typedef struct {
  const neo_block_shape *at;
  size_t n;
  void (*set)(neo_schedule *s, const neo_block_shape *x);
} shape_table;
#define TABLE(shapes, set) ((shape_table){shapes, sizeof shapes / sizeof *shapes, set})

/* A warpgroup's least tile is large: where rows, columns or steps are fewer, warps waste less; and
 * its steps are many, if they are of 2 bytes, which is no good where each is copied by itself. */
static shape_table shapes_for(const neo_machine *machine, bool runs, double rows, double columns,
                              double steps) {
  enum { LEAST_ROWS = 48, LEAST_COLUMNS = 24, LEAST_STEPS = 64 };
  if (machine->warpgroups && runs && rows >= LEAST_ROWS && columns >= LEAST_COLUMNS &&
      steps >= LEAST_STEPS)
    return TABLE(group_shapes, neo_block_warpgroups);
  return TABLE(warp_shapes, neo_block_warps);
}

static double longest_sum(neo_module *m, const neo_form *f) {
  double most = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    double n = neo_stage_points(m, &f->stages.at[k]);
    most = n > most ? n : most;
  }
  return most;
}

neo_schedule neo_threads_staged(neo_module *m, const neo_form *f, const neo_machine *machine,
                                const neo_schedule *s) {
  neo_machine small = *machine;
  neo_schedule y = *s;
  small.shared_bytes = neo_stages_budget(machine, s);
  for (y.block.stages = neo_stages_wanted(s); machine->async && y.block.stages >= 2;
       y.block.stages--)
    if (neo_threads_legal(m, f, &small, &y, NULL)) {
      neo_threads_try(m, f, &small, NEO_PARAM(block, tma), 1, &y);
      if (neo_producer_wanted(&y, longest_sum(m, f)))
        neo_threads_try(m, f, &small, NEO_PARAM(block, producer), 1, &y);
      if (neo_persistent_wanted(m, f, machine, &y, longest_sum(m, f)))
        neo_threads_try(m, f, &small, NEO_PARAM(block, persistent), 1, &y);
      return y;
    }
  return *s;
}

static bool choose_tiles(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out) {
  enum { LEAST = 16 };
  neo_contraction c;
  uint64_t rows, columns, all = (1ULL << f->axes.n) - 1;
  if (!neo_contraction_of(m, f, &c) || !neo_threads_axes(m, f, &c, &rows, &columns))
    return false;
  double n_rows = neo_form_points(m, f, rows), n_columns = neo_form_points(m, f, columns);
  double best = 0, batches = neo_form_points(m, f, all & ~rows & ~columns);
  double steps = neo_stage_points(m, &f->stages.at[c.stage]);
  if (n_rows < LEAST || n_columns < LEAST || steps < LEAST)
    return false;
  bool found = false;
  neo_warps warps = neo_warps_on(m, f, machine, &c);
  if (!neo_tile_copies_conditions(m, f, &c, rows, columns))
    warps = NEO_WARPS_NONE;
  shape_table table = TABLE(shapes, neo_block_threads);
  int64_t each = warps && neo_block_copies_runs(m, f, &c) ? neo_warps_steps(warps) : 1;
  if (warps)
    table = shapes_for(machine, each == neo_warps_steps(warps) && warps != NEO_WARPS_3XTF32, n_rows,
                       n_columns, steps);
  for (size_t k = 0; k < table.n; k++) {
    neo_schedule s = neo_schedule_plain();
    double cost = shape_cost(machine, &table.at[k], n_rows, n_columns, batches);
    table.set(&s, &table.at[k]);
    s.block.block_k *= each;
    s.block.row_axes = (int64_t)rows;
    s.block.column_axes = (int64_t)columns;
    if (found && cost >= best)
      continue;
    s = neo_threads_staged(m, f, machine, &s);
    if (!neo_threads_legal(m, f, machine, &s, NULL))
      continue;
    *out = s;
    best = cost;
    found = true;
  }
  return found;
}

/* How much lies contiguous along an axis: loads of the stages. */
typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
  int n;
} census;

static void count(void *ctx, neo_expr e) {
  census *c = ctx;
  int64_t stride;
  bool load = neo_expr_node(c->m, e)->op == NEO_OP_LOAD && neo_expr_node(c->m, e)->arg.n;
  c->n +=
      load && neo_flat_stride(c->m, c->f, neo_flat_at(c->m, e), c->axis, &stride) && stride == 1;
}

static int contiguous(neo_module *m, const neo_form *f, const neo_stage *s, uint32_t axis) {
  census c = {m, f, axis, 0};
  neo_stage_visit(m, s, count, &c);
  return c.n;
}

/* How many elements may be read and written as one, 16 bytes of the narrowest tensor or 8 elements:
 * of rows, or of columns. */
static int64_t widest_of(neo_module *m, const neo_form *f, bool rows) {
  enum { MOST = 8 };
  int64_t n = 2;
  for (size_t k = 0; k < f->accesses.n; k++) {
    int64_t bytes = neo_type_bytes((neo_type)neo_tensor_at(m, f->accesses.at[k].tensor)->type);
    n = NEO_WIDE_BYTES / bytes > n ? NEO_WIDE_BYTES / bytes : n;
  }
  n = n > MOST ? MOST : n;
  while (n > 1 && !(rows ? neo_wide_rows(m, f, n) : neo_wide_columns(m, f, n)))
    n /= 2;
  return n;
}

static neo_schedule points_schedule(const neo_form *f, int64_t lanes, bool rows, int64_t wide) {
  enum { BLOCK = 256 };
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_ROWS;
  s.rows.lanes = lanes;
  s.rows.across = !rows;
  s.rows.threads = lanes < BLOCK ? BLOCK : lanes;
  s.rows.vector_width = wide;
  if (wide > 1)
    s.rows.vector_axis = (int64_t)f->axes.n - !rows;
  return s;
}

/* A row that is read once: as many lanes as have it in some registers each. */
static bool keep_row(neo_module *m, const neo_form *f, const neo_machine *machine, double points,
                     int64_t wide, neo_schedule *out) {
  enum { ELEMENTS = 32, FEW = 4 }; /* a thread waits for all that it has of a row at once */
  neo_schedule s = points_schedule(f, NEO_BLOCK_WARP, true, wide);
  neo_keeps keeps = neo_keep_find(m, f, &s);
  if (!keeps.n)
    return false;
  int64_t lanes = 1, groups = (keeps.row + wide - 1) / wide;
  int64_t most = ELEMENTS / (keeps.n > 2 ? 2 : 1);
  while (lanes < groups && (lanes < NEO_BLOCK_WARP || groups * wide > lanes * most))
    lanes *= 2;
  while (lanes * 2 <= groups && lanes < 256 &&
         points * (double)lanes < neo_machine_busy_threads(machine) / FEW)
    lanes *= 2;
  if (lanes > NEO_BLOCK_MOST)
    return false;
  s = points_schedule(f, lanes, true, wide);
  s.rows.unroll_k = (groups + lanes - 1) / lanes;
  s.rows.stash = 1;
  *out = s;
  return neo_threads_legal(m, f, machine, &s, NULL);
}

static int64_t written_out(double steps) {
  enum { MOST = 4 };
  return steps >= MOST ? MOST : steps >= 2 ? 2 : 1;
}

static bool choose_rows(neo_module *m, const neo_form *f, const neo_machine *machine,
                        double longest, neo_schedule *out) {
  enum { MOST_LANES = 256, FEW = 4, LEAST = 16 };
  double points = neo_form_points(m, f, ~0ULL);
  int64_t wide = widest_of(m, f, true), lanes = 1;
  if (keep_row(m, f, machine, points, wide, out))
    return true;
  double steps = longest / (double)wide, least = wide > 1 ? 2 : FEW;
  if (longest < LEAST)
    return false;
  while (lanes < MOST_LANES && (double)lanes * least <= steps &&
         (lanes < NEO_BLOCK_WARP || points * (double)lanes < neo_machine_busy_threads(machine)))
    lanes *= 2;
  *out = points_schedule(f, lanes, true, wide);
  out->rows.unroll_k = written_out(steps / (double)lanes);
  return lanes > 1 && neo_threads_legal(m, f, machine, out, NULL);
}

/* Neighbouring threads have 64 bytes side by side at least, where there are as many columns. */
static bool choose_columns(neo_module *m, const neo_form *f, const neo_machine *machine,
                           double longest, neo_schedule *out) {
  enum { BLOCK = 256, FEW = 4, LINE = 16 };
  double points = neo_form_points(m, f, ~0ULL);
  int64_t wide = widest_of(m, f, false), lanes = 1;
  double side = points < LINE ? points : LINE; /* elements */
  while (lanes < BLOCK && (double)(lanes * FEW) <= longest &&
         points * (double)lanes < neo_machine_busy_threads(machine))
    lanes *= 2;
  if (lanes == 1 && wide == 1)
    return false;
  *out = points_schedule(f, lanes, false, wide);
  while (out->rows.threads < NEO_BLOCK_MOST && (double)(out->rows.threads / lanes * wide) < side)
    out->rows.threads *= 2;
  out->rows.unroll_k = written_out(longest / (double)lanes);
  return neo_threads_legal(m, f, machine, out, NULL);
}

static bool choose_points(neo_module *m, const neo_form *f, const neo_machine *machine,
                          neo_schedule *out) {
  double longest = 1;
  int along = 0, across = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    double steps = neo_stage_points(m, s);
    longest = steps > longest ? steps : longest;
    if (s->axes.n)
      along += contiguous(m, f, s, (uint32_t)(f->axes.n + s->axes.n - 1));
    if (s->axes.n && f->axes.n)
      across += contiguous(m, f, s, (uint32_t)f->axes.n - 1);
  }
  if (longest < 2)
    return false;
  return along > across ? choose_rows(m, f, machine, longest, out)
                        : choose_columns(m, f, machine, longest, out);
}

bool neo_model_threads(neo_module *m, const neo_form *f, const neo_machine *machine,
                       neo_schedule *out) {
  return choose_tiles(m, f, machine, out) || choose_points(m, f, machine, out);
}
