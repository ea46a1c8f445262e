/* Random tiles of thread blocks; they are small, since tests interpret them. */
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/shape.h"
#include "tests/draw/draw.h"
#include "tests/pick.h"

bool draw_gpu_tile(const neo_space *space, uint64_t *seed, neo_schedule *out) {
  neo_module *m = space->m;
  const neo_form *f = space->f;
  const neo_machine *machine = space->machine;
  neo_contraction c;
  uint64_t rows, columns;
  *out = neo_schedule_plain();
  if (!neo_contraction_of(m, f, &c) || !neo_threads_axes(m, f, &c, &rows, &columns))
    return false;
  if (neo_pick(seed, 0, 1)) { /* rows and columns exchanged; sometimes not all axes */
    uint64_t swap = rows;
    rows = columns;
    columns = swap;
  }
  if (neo_pick(seed, 0, 3) == 0 && rows & (rows - 1))
    rows &= rows - 1;
  int64_t tm = neo_pick(seed, 1, 5), tn = neo_pick(seed, 1, 5);
  int64_t tall = 1 << neo_pick(seed, 0, 3), wide = 1 << neo_pick(seed, 0, 4);
  neo_block_shape x = {tm * tall, tn * wide, neo_pick(seed, 1, 9), tm, tn};
  neo_block_threads(out, &x);
  neo_warps warps = neo_warps_on(m, f, machine, &c);
  if (warps && neo_pick(seed, 0, 3)) {
    x.tile_m = NEO_WARP_ROWS * neo_pick(seed, 1, 2);
    x.tile_n = NEO_WARP_COLUMNS * neo_pick(seed, 1, 3);
    x.block_m = x.tile_m * neo_pick(seed, 1, 2);
    x.block_n = x.tile_n * neo_pick(seed, 1, 2);
    x.block_k = NEO_WARP_CELLS * neo_warps_steps(warps) * neo_pick(seed, 1, 2);
    neo_block_warps(out, &x);
  }
  if (machine->warpgroups && warps && warps != NEO_WARPS_3XTF32 && neo_pick(seed, 0, 2) == 0) {
    x = (neo_block_shape){.block_k = neo_warps_steps(warps) * NEO_BLOCK_GROUP_BYTES / 4,
                          .tile_m = NEO_BLOCK_GROUP_ROWS};
    x.tile_n = neo_pick(seed, 0, 3) ? NEO_BLOCK_GROUP_COLUMNS * neo_pick(seed, 1, 4) : 64;
    x.tile_m *= neo_pick(seed, 0, 3) ? 1 : 2;
    x.block_m = x.tile_m * neo_pick(seed, 1, 2);
    x.block_n = x.tile_n * neo_pick(seed, 1, 2);
    neo_block_warpgroups(out, &x);
  }
  out->block.row_axes = (int64_t)rows;
  out->block.column_axes = (int64_t)columns;
  out->block.stages = neo_pick(seed, 0, 1) ? neo_pick(seed, 2, 4) : 0;
  if (!neo_gpu_tile_legal(m, f, machine, out, NULL))
    out->block.stages = 0;
  if (out->block.stages && out->block.products == NEO_THREADS_WARPGROUPS)
    neo_gpu_tile_try(m, f, machine, NEO_PARAM(block, tma), neo_pick(seed, 0, 2) > 0, out);
  if (out->block.tma)
    neo_gpu_tile_try(m, f, machine, NEO_PARAM(block, producer), neo_pick(seed, 0, 1), out);
  if (out->block.producer)
    neo_gpu_tile_try(m, f, machine, NEO_PARAM(block, persistent), neo_pick(seed, 0, 1), out);
  return true;
}
