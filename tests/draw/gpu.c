/* Random schedules of thread blocks at points, of nested reductions and of sums by keys. */
#include "schedule/gpu_nested/nested.h"
#include "schedule/gpu_scatter/gpu_scatter.h"
#include "schedule/gpu_tile/shape.h"
#include "tests/draw/draw.h"
#include "tests/pick.h"

enum { WARP = 32 };

/* ---- points */

static bool is_legal(const neo_space *x, const neo_schedule *s) {
  return neo_strategy_row_of(NEO_STRATEGY_GPU_ROWS)->legal(x, s, NULL);
}

static void try_value(const neo_space *x, neo_param k, int64_t value, neo_schedule *s) {
  int64_t old = s->at[k];
  s->at[k] = value;
  if (!is_legal(x, s))
    s->at[k] = old;
}

static void draw_vectors(const neo_space *x, uint64_t *seed, neo_schedule *s) {
  neo_schedule wide = *s;
  wide.rows.vector_axis = (int64_t)x->f->axes.n - neo_pick(seed, 0, 1);
  wide.rows.vector_width = 1 << neo_pick(seed, 1, 3);
  if (neo_pick(seed, 0, 2) && is_legal(x, &wide))
    *s = wide;
  try_value(x, NEO_PARAM(rows, unroll_k), neo_pick(seed, 1, 6), s);
  try_value(x, NEO_PARAM(rows, stash), neo_pick(seed, 0, 3) > 0, s);
}

bool draw_gpu_rows(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  *out = neo_schedule_plain();
  out->strategy = NEO_STRATEGY_GPU_ROWS;
  out->rows.lanes = 1 << neo_pick(seed, 0, 5);
  out->rows.threads = out->rows.lanes * neo_pick(seed, 1, 3);
  out->rows.across = neo_pick(seed, 0, 1);
  draw_vectors(x, seed, out);
  return true;
}

/* ---- nested reductions */

/* tall * wide threads or warps, each with tm rows by tk steps and tn columns. */
static neo_schedule nested_of(const neo_nested *n, bool warps, const int64_t at[5]) {
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_NESTED;
  neo_nested_params *p = &s.nested;
  int64_t tall = at[0], wide = at[1], tm = at[2], tk = at[3], tn = at[4];
  if (warps) {
    tm *= NEO_WARP_ROWS;
    tk = NEO_WARP_COLUMNS << (tk - 1);
    tn *= NEO_WARP_COLUMNS;
  }
  p->threads = tall * wide * (warps ? WARP : 1);
  p->products = warps ? NEO_THREADS_WARPS : 0;
  p->tile_m = tm;
  p->block_m = tall * tm;
  p->block_k = wide * tk;
  if (n->columns) {
    p->tile_n = tn;
    p->block_n = wide * tn;
  }
  return s;
}

bool draw_gpu_nested(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  neo_nested n;
  for (int tries = 0; tries < 20 && neo_nested_of(x->m, x->f, &n); tries++) {
    int64_t at[5];
    for (int k = 0; k < 5; k++)
      at[k] = neo_pick(seed, 1, k < 2 ? 4 : 3);
    bool warps = tries % 2 == 0;
    *out = nested_of(&n, warps, at);
    int64_t stages = neo_pick(seed, 0, 3); /* no stages half of the time */
    out->nested.stages = warps && stages > 1 ? stages : 0;
    if (neo_nested_legal(x->m, x->f, x->machine, out, NULL))
      return true;
  }
  return false;
}

/* ---- sums by keys */

bool draw_gpu_scatter(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  neo_segment e;
  *out = neo_schedule_plain();
  out->strategy = NEO_STRATEGY_GPU_SCATTER;
  out->rows.threads = neo_pick(seed, 1, 4) * (neo_pick(seed, 0, 1) ? WARP : 5);
  return neo_scatter_of(x->m, x->g, &e);
}
