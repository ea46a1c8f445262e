/* Blocks of threads: random ones, for tests: small, since tests interpret them. */
#include "base/random.h"
#include "schedule/threads_shape.h"

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
  out->at[NEO_SCHED_ROW_AXES] = (int64_t)rows;
  out->at[NEO_SCHED_COLUMN_AXES] = (int64_t)columns;
  out->at[NEO_SCHED_STAGES] = pick(seed, 0, 1) ? pick(seed, 2, 4) : 0;
  if (!neo_threads_legal(m, f, machine, out, NULL))
    out->at[NEO_SCHED_STAGES] = 0;
  if (out->at[NEO_SCHED_STAGES] && out->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS)
    neo_threads_try(m, f, machine, NEO_SCHED_BULK, pick(seed, 0, 2) > 0, out);
  if (out->at[NEO_SCHED_BULK])
    neo_threads_try(m, f, machine, NEO_SCHED_PRODUCER, pick(seed, 0, 1), out);
  if (out->at[NEO_SCHED_PRODUCER])
    neo_threads_try(m, f, machine, NEO_SCHED_PERSISTENT, pick(seed, 0, 1), out);
  return true;
}

static void random_vectors(neo_module *m, const neo_form *f, const neo_machine *machine,
                           uint64_t *seed, neo_schedule *s) {
  neo_schedule wide = *s;
  wide.at[NEO_SCHED_VECTOR_AXIS] = (int64_t)f->axes.n - pick(seed, 0, 1);
  wide.at[NEO_SCHED_VECTOR_WIDTH] = 1 << pick(seed, 1, 3);
  if (pick(seed, 0, 2) && neo_threads_legal(m, f, machine, &wide, NULL))
    *s = wide;
  neo_threads_try(m, f, machine, NEO_SCHED_UNROLL_K, pick(seed, 1, 6), s);
  neo_threads_try(m, f, machine, NEO_SCHED_KEEP, pick(seed, 0, 3) > 0, s);
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
  out->at[NEO_SCHED_LANES] = 1 << pick(seed, 0, 5);
  out->at[NEO_SCHED_THREADS] = out->at[NEO_SCHED_LANES] * pick(seed, 1, 3);
  out->at[NEO_SCHED_ACROSS] = pick(seed, 0, 1);
  random_vectors(m, f, machine, seed, out);
  return true;
}
