/* Random schedules of thread blocks at points, for tests. */
#include "base/random.h"
#include "schedule/gpu_rows/gpu_rows.h"

static void try_value(const neo_space *x, neo_param k, int64_t value, neo_schedule *s) {
  int64_t old = s->at[k];
  s->at[k] = value;
  if (!neo_gpu_rows_legal(x, s, NULL))
    s->at[k] = old;
}

static void draw_vectors(const neo_space *x, uint64_t *seed, neo_schedule *s) {
  neo_schedule wide = *s;
  wide.rows.vector_axis = (int64_t)x->f->axes.n - neo_pick(seed, 0, 1);
  wide.rows.vector_width = 1 << neo_pick(seed, 1, 3);
  if (neo_pick(seed, 0, 2) && neo_gpu_rows_legal(x, &wide, NULL))
    *s = wide;
  try_value(x, NEO_PARAM(rows, unroll_k), neo_pick(seed, 1, 6), s);
  try_value(x, NEO_PARAM(rows, stash), neo_pick(seed, 0, 3) > 0, s);
}

bool neo_gpu_rows_draw(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  *out = neo_schedule_plain();
  out->strategy = NEO_STRATEGY_GPU_ROWS;
  out->rows.lanes = 1 << neo_pick(seed, 0, 5);
  out->rows.threads = out->rows.lanes * neo_pick(seed, 1, 3);
  out->rows.across = neo_pick(seed, 0, 1);
  draw_vectors(x, seed, out);
  return true;
}
