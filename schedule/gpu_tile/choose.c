/* The model's choice of tiles for thread blocks. It weighs the machine's multiprocessors and
 * threads against the work. A contraction takes the largest tile of its table that still makes a
 * block for each multiprocessor, or the tile that makes most blocks. Larger tiles read each operand
 * less often. */
#include "schedule/gpu_tile/conditions.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/producer.h"
#include "schedule/gpu_tile/shape.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/model.h"

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

void neo_gpu_tile_try(neo_module *m, const neo_form *f, const neo_machine *machine, neo_param k,
                      int64_t value, neo_schedule *s) {
  int64_t old = s->at[k];
  s->at[k] = value;
  if (!neo_gpu_tile_legal(m, f, machine, s, NULL))
    s->at[k] = old;
}

/* Tiles of threads, largest first. */
static const neo_block_shape shapes[] = {
    {128, 128, 8, 8, 8}, {128, 64, 16, 8, 4}, {64, 128, 16, 4, 8}, {64, 64, 16, 4, 4},
    {64, 32, 16, 4, 2},  {32, 64, 16, 2, 4},  {32, 32, 16, 2, 2},  {16, 16, 16, 1, 1}};

/* Tiles of warps. */
static const neo_block_shape warp_shapes[] = {
    {128, 128, 16, 64, 32}, {128, 64, 16, 32, 32}, {64, 128, 16, 32, 32}, {64, 64, 16, 32, 32},
    {64, 32, 16, 32, 16},   {32, 64, 16, 16, 32},  {32, 32, 16, 16, 16},  {16, 32, 16, 16, 8}};

/* Tiles of warpgroups. */
static const neo_block_shape group_shapes[] = {{128, 256, 32, 64, 256}, {128, 128, 32, 64, 128},
                                               {128, 64, 32, 64, 64},   {64, 128, 32, 64, 64},
                                               {64, 64, 32, 64, 64},    {64, 32, 32, 64, 32}};

/* The cost of a step of the whole product. Blocks run in waves of one per multiprocessor; each
 * wave costs the products of a tile and the reads of its operands. */
static double shape_cost(const neo_machine *machine, const neo_block_shape *x, double rows,
                         double columns, double batches) {
  enum { READ = 24 }; /* copying an element into shared memory, in multiplications */
  double blocks = neo_blocks_of(rows, x->block_m) * neo_blocks_of(columns, x->block_n) * batches;
  double waves = neo_blocks_of(blocks, machine->profile.workers);
  double area = (double)(x->block_m * x->block_n), loads = (double)(x->tile_m * x->tile_n);
  double shared = 1 + 1.5 * (double)(x->tile_m + x->tile_n) / loads;
  return waves * (area * shared + READ * (double)(x->block_m + x->block_n));
}

typedef struct {
  const neo_block_shape *at;
  size_t n;
  void (*set)(neo_schedule *s, const neo_block_shape *x);
} shape_table;
#define TABLE(shapes, set) ((shape_table){shapes, sizeof shapes / sizeof *shapes, set})

/* The smallest tile of a warpgroup is large, so warps waste less where rows, columns or steps are
 * few. A warpgroup also takes many steps at a time where elements have 2 bytes, which is slow where
 * each element is copied by itself. */
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
    double n = neo_stage_usual_steps(m, &f->stages.at[k]);
    most = n > most ? n : most;
  }
  return most;
}

/* The model's choice for a schedule that is complete except for its producer. A producer pays where
 * a multiprocessor holds one block and the block has many steps: no other block would multiply
 * while its warpgroups wait for each other. steps: of the sum. True: with a producer. */
static bool producer_wanted(const neo_schedule *s, double steps) {
  enum { TWO_BLOCKS = 16 << 10, LEAST_BLOCKS_OF_STEPS = 8 };
  const neo_block_params *p = &s->block;
  return p->tma && p->block_m * p->block_n > TWO_BLOCKS &&
         steps >= (double)(LEAST_BLOCKS_OF_STEPS * p->block_k);
}

/* A block of warpgroups holds its sums in registers, so that at most two blocks of this size are
 * resident. */
static int64_t stages_budget(const neo_machine *machine, const neo_schedule *s) {
  enum { ANYWHERE = 99 << 10, TWO_BLOCKS = 16 << 10 };
  int64_t all = machine->shared_bytes;
  if (s->block.products != NEO_THREADS_WARPGROUPS)
    return all < ANYWHERE ? all : ANYWHERE;
  return s->block.block_m * s->block.block_n > TWO_BLOCKS ? all : all / 2;
}

/* A schedule of tiles with the model's choice of stages, TMA, a producer and persistence, each if
 * it is legal. */
static neo_schedule staged(neo_module *m, const neo_form *f, const neo_machine *machine,
                           const neo_schedule *s) {
  neo_machine small = *machine;
  neo_schedule y = *s;
  small.shared_bytes = stages_budget(machine, s);
  for (y.block.stages = neo_stages_wanted(s); machine->async && y.block.stages >= 2;
       y.block.stages--)
    if (neo_gpu_tile_legal(m, f, &small, &y, NULL)) {
      neo_gpu_tile_try(m, f, &small, NEO_PARAM(block, tma), 1, &y);
      if (producer_wanted(&y, longest_sum(m, f)))
        neo_gpu_tile_try(m, f, &small, NEO_PARAM(block, producer), 1, &y);
      if (neo_persistent_wanted(m, f, machine, &y, longest_sum(m, f)))
        neo_gpu_tile_try(m, f, &small, NEO_PARAM(block, persistent), 1, &y);
      return y;
    }
  return *s;
}

bool neo_gpu_tile_choose(neo_module *m, const neo_form *f, const neo_machine *machine,
                         neo_schedule *out) {
  enum { LEAST = 16 };
  neo_contraction c;
  uint64_t rows, columns, all = (1ULL << f->axes.n) - 1;
  if (!neo_contraction_of(m, f, &c) || !neo_threads_axes(m, f, &c, &rows, &columns))
    return false;
  double n_rows = neo_form_usual_points(m, f, rows),
         n_columns = neo_form_usual_points(m, f, columns);
  double best = 0, batches = neo_form_usual_points(m, f, all & ~rows & ~columns);
  double steps = neo_stage_usual_steps(m, &f->stages.at[c.stage]);
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
    s = staged(m, f, machine, &s);
    if (!neo_gpu_tile_legal(m, f, machine, &s, NULL))
      continue;
    *out = s;
    best = cost;
    found = true;
  }
  return found;
}
