/* Blocks of threads: random ones, for tests: small, since tests interpret them. */
#include "base/random.h"
#include "schedule/gpu_tile/shape.h"

static int64_t pick(uint64_t *seed, int64_t lo, int64_t hi) {
  return lo + (int64_t)(neo_splitmix(seed) % (uint64_t)(hi - lo + 1));
}

static bool random_tiles(neo_module *m, const neo_form *f, const neo_machine *machine,
                         const neo_contraction *c, uint64_t *seed, neo_schedule *out) {
  uint64_t rows, columns;
  if (!neo_threads_axes(m, f, c, &rows, &columns))
    return false;
  if (pick(seed, 0, 1)) { /* the other way round, and not all of the axes */
    uint64_t swap = rows;
    rows = columns;
    columns = swap;
  }
  if (pick(seed, 0, 3) == 0 && rows & (rows - 1))
    rows &= rows - 1;
  int64_t tm = pick(seed, 1, 5), tn = pick(seed, 1, 5);
  int64_t tall = 1 << pick(seed, 0, 3), wide = 1 << pick(seed, 0, 4);
  neo_block_shape x = {tm * tall, tn * wide, pick(seed, 1, 9), tm, tn};
  neo_block_threads(out, &x);
  neo_warps warps = neo_warps_on(m, f, machine, c);
  if (warps && pick(seed, 0, 3)) {
    x.tile_m = NEO_WARP_ROWS * pick(seed, 1, 2);
    x.tile_n = NEO_WARP_COLUMNS * pick(seed, 1, 3);
    x.block_m = x.tile_m * pick(seed, 1, 2);
    x.block_n = x.tile_n * pick(seed, 1, 2);
    x.block_k = NEO_WARP_CELLS * neo_warps_steps(warps) * pick(seed, 1, 2);
    neo_block_warps(out, &x);
  }
  if (machine->warpgroups && warps && warps != NEO_WARPS_3XTF32 && pick(seed, 0, 2) == 0) {
    x = (neo_block_shape){.block_k = neo_warps_steps(warps) * NEO_BLOCK_GROUP_BYTES / 4,
                          .tile_m = NEO_BLOCK_GROUP_ROWS};
    x.tile_n = pick(seed, 0, 3) ? NEO_BLOCK_GROUP_COLUMNS * pick(seed, 1, 4) : 64;
    x.tile_m *= pick(seed, 0, 3) ? 1 : 2;
    x.block_m = x.tile_m * pick(seed, 1, 2);
    x.block_n = x.tile_n * pick(seed, 1, 2);
    neo_block_warpgroups(out, &x);
  }
  out->block.row_axes = (int64_t)rows;
  out->block.column_axes = (int64_t)columns;
  out->block.stages = pick(seed, 0, 1) ? pick(seed, 2, 4) : 0;
  if (!neo_threads_legal(m, f, machine, out, NULL))
    out->block.stages = 0;
  if (out->block.stages && out->block.products == NEO_THREADS_WARPGROUPS)
    neo_threads_try(m, f, machine, NEO_PARAM(block, tma), pick(seed, 0, 2) > 0, out);
  if (out->block.tma)
    neo_threads_try(m, f, machine, NEO_PARAM(block, producer), pick(seed, 0, 1), out);
  if (out->block.producer)
    neo_threads_try(m, f, machine, NEO_PARAM(block, persistent), pick(seed, 0, 1), out);
  return true;
}

static void random_vectors(neo_module *m, const neo_form *f, const neo_machine *machine,
                           uint64_t *seed, neo_schedule *s) {
  neo_schedule wide = *s;
  wide.rows.vector_axis = (int64_t)f->axes.n - pick(seed, 0, 1);
  wide.rows.vector_width = 1 << pick(seed, 1, 3);
  if (pick(seed, 0, 2) && neo_threads_legal(m, f, machine, &wide, NULL))
    *s = wide;
  neo_threads_try(m, f, machine, NEO_PARAM(rows, unroll_k), pick(seed, 1, 6), s);
  neo_threads_try(m, f, machine, NEO_PARAM(rows, stash), pick(seed, 0, 3) > 0, s);
}

bool neo_threads_random(neo_module *m, const neo_form *f, const neo_machine *machine,
                        uint64_t *seed, neo_schedule *out) {
  neo_contraction c;
  *out = neo_schedule_plain();
  if (pick(seed, 0, 4) == 0)
    return false;
  if (neo_contraction_of(m, f, &c) && pick(seed, 0, 3) &&
      random_tiles(m, f, machine, &c, seed, out))
    return true;
  *out = neo_schedule_plain();
  out->strategy = NEO_STRATEGY_GPU_ROWS;
  out->rows.lanes = 1 << pick(seed, 0, 5);
  out->rows.threads = out->rows.lanes * pick(seed, 1, 3);
  out->rows.across = pick(seed, 0, 1);
  random_vectors(m, f, machine, seed, out);
  return true;
}
