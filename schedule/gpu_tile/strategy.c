/* The strategy of tiles by thread blocks. */
#include "schedule/gpu_tile/strategy.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/values.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  return neo_gpu_tile_choose(x->m, x->f, x->machine, out);
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  return neo_gpu_tile_legal(x->m, x->f, x->machine, s, why);
}

static void set_threads(neo_block_params *p) {
  p->threads = p->block_m / p->tile_m * (p->block_n / p->tile_n) * neo_gpu_tile_sharers(p);
}

/* Rows of the tensor core's smallest tile. */
static int64_t least_rows(const neo_schedule *s) {
  return s->block.products == NEO_THREADS_WARPGROUPS ? 64 : s->block.products ? 8 : 1;
}

static size_t values(const neo_space *x, const neo_schedule *s, neo_param k,
                     int64_t out[NEO_SPACE_VALUES]) {
  bool warps = s->block.products;
  neo_values v = {.now = s->at[k], .at = out};
  (void)x;
  switch (k) {
  case NEO_PARAM(block, products):
    neo_values_add(&v, NEO_THREADS_WARPS + NEO_THREADS_WARPGROUPS - v.now, warps,
                   NEO_THREADS_WARPGROUPS);
    break;
  case NEO_PARAM(block, block_m):
  case NEO_PARAM(block, block_n):
    neo_values_near(&v, 8, 256);
    break;
  case NEO_PARAM(block, tile_m):
    neo_values_near(&v, least_rows(s), warps ? 128 : 16);
    break;
  case NEO_PARAM(block, tile_n):
    neo_values_near(&v, warps ? 8 : 1, least_rows(s) > 8 ? 256 : warps ? 128 : 16);
    break;
  case NEO_PARAM(block, block_k):
    neo_values_near(&v, warps ? 8 : 4, 64);
    break;
  case NEO_PARAM(block, stages):
    for (int64_t n = 3; n <= 4; n++)
      neo_values_add(&v, n, 2, NEO_STAGES_MOST);
    neo_values_add(&v, 2, 2, NEO_STAGES_MOST);
    neo_values_add(&v, 0, 0, 0);
    break;
  case NEO_PARAM(block, tma):
    neo_values_add(&v, !v.now, 0, s->block.stages > 0);
    break;
  case NEO_PARAM(block, producer):
    neo_values_add(&v, !v.now, 0, s->block.tma);
    break;
  case NEO_PARAM(block, persistent):
    neo_values_add(&v, !v.now, 0, s->block.producer);
    break;
  case NEO_PARAM(block, row_axes): /* exchanges rows and columns */
    neo_values_add(&v, s->block.column_axes, 1, INT64_MAX);
    break;
  default:
    break;
  }
  return v.n;
}

/* Chooses a tile for the threads that multiply now. It has stages if the schedule had some and they
 * are still legal. */
static void set_maker(const neo_space *x, neo_schedule *s) {
  neo_block_params *p = &s->block;
  neo_contraction c;
  bool groups = p->products == NEO_THREADS_WARPGROUPS;
  neo_warps made =
      neo_contraction_of(x->m, x->f, &c) ? neo_threads_warps(x->m, x->f, &c) : NEO_WARPS_NONE;
  bool halves = made == NEO_WARPS_BF16 || made == NEO_WARPS_F16;
  int64_t side = groups ? 64 : 32, n = p->block_n;
  p->block_k = (groups ? 32 : 16) * (halves ? 2 : 1);
  p->block_m = p->block_m < side ? side : p->block_m;
  p->tile_m = side;
  p->tile_n = groups || n < side ? n : side;
  set_threads(p);
  p->stages = p->stages ? neo_stages_wanted(s) : 0;
  p->tma = p->producer = p->persistent = 0;
  if (!neo_gpu_tile_legal(x->m, x->f, x->machine, s, NULL))
    p->stages = 0;
}

static void propagate(const neo_space *x, const neo_schedule *from, neo_param k, neo_schedule *s) {
  if (k == NEO_PARAM(block, row_axes))
    s->block.column_axes = from->block.row_axes;
  if (k == NEO_PARAM(block, products))
    set_maker(x, s);
  if (s->block.tile_m > 0 && s->block.tile_n > 0)
    set_threads(&s->block);
}

static const neo_param repairs[] = {NEO_PARAM(block, persistent), NEO_PARAM(block, producer),
                                    NEO_PARAM(block, tma)};

/* Changes two sides at once: both up, both down, or one up and one down. */
static size_t reshape(const neo_space *x, const neo_schedule *s, neo_setting (*out)[2],
                      size_t most) {
  static const neo_param pairs[][2] = {{NEO_PARAM(block, tile_m), NEO_PARAM(block, tile_n)},
                                       {NEO_PARAM(block, block_m), NEO_PARAM(block, block_n)},
                                       {NEO_PARAM(block, block_m), NEO_PARAM(block, tile_m)},
                                       {NEO_PARAM(block, block_n), NEO_PARAM(block, tile_n)},
                                       {NEO_PARAM(block, block_k), NEO_PARAM(block, block_m)},
                                       {NEO_PARAM(block, block_k), NEO_PARAM(block, block_n)}};
  size_t n = 0;
  (void)x;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++)
    for (int way = 0; way < 4 && n < most; way++, n++)
      for (int i = 0; i < 2; i++) {
        int64_t now = s->at[pairs[k][i]];
        out[n][i] = (neo_setting){pairs[k][i], way >> i & 1 ? now * 2 : now / 2};
      }
  return n;
}

/* ---- The space of tiles by blocks of threads: all combinations of a few values each. */

typedef struct {
  const neo_space *x;
  neo_ranking *r;
  uint64_t axes[2]; /* axes of rows, of columns */
  int64_t products;
} listing;

static void offer(const listing *l, const neo_schedule *s) {
  if (legal(l->x, s, NULL))
    neo_ranking_add(l->r, s, neo_gpu_tile_cost(l->x, s));
}

/* Offers the schedule with as many stages as the model wants. Warpgroups may have one fewer where
 * shared memory is short; else there are none. */
static void rank_stages(const listing *l, const neo_schedule *s) {
  neo_schedule y = *s;
  bool groups = s->block.products == NEO_THREADS_WARPGROUPS;
  int64_t least = groups ? 3 : neo_stages_wanted(s);
  y.block.stages = l->x->machine->async ? neo_stages_wanted(s) : 0;
  while (y.block.stages && !legal(l->x, &y, NULL))
    y.block.stages = y.block.stages > least ? y.block.stages - 1 : 0;
  offer(l, &y);
  if (!y.block.stages || !groups)
    return;
  y.block.tma = 1;
  offer(l, &y);
  y.block.producer = 1;
  offer(l, &y);
  y.block.persistent = 1;
  offer(l, &y);
}

static void rank_tile(const listing *l, int64_t products, const int64_t *block,
                      const int64_t *tile) {
  enum { LEAST_THREADS = 32, MOST_IN_TILE = 512 };
  neo_schedule s = neo_schedule_plain();
  neo_block_params *p = &s.block;
  s.strategy = NEO_STRATEGY_GPU_TILE;
  p->products = products;
  p->block_m = block[0], p->block_n = block[1];
  p->tile_m = tile[0], p->tile_n = tile[1];
  p->threads = block[0] / tile[0] * (block[1] / tile[1]) * neo_gpu_tile_sharers(p);
  if (p->threads < LEAST_THREADS || p->threads > MOST_IN_TILE)
    return;
  for (p->block_k = 8; p->block_k <= 64; p->block_k *= 2)
    for (int side = 0; side < 2; side++) {
      p->row_axes = (int64_t)l->axes[side];
      p->column_axes = (int64_t)l->axes[!side];
      rank_stages(l, &s);
    }
}

static void rank_tiles(const listing *l, const int64_t *block) {
  int64_t least = l->products ? 8 : 1, most = l->products > 1 ? 256 : l->products ? 64 : 16;
  int64_t tile[2];
  for (tile[0] = least; tile[0] <= most; tile[0] *= 2)
    for (tile[1] = least; tile[1] <= most; tile[1] *= 2)
      for (int64_t by = l->products; by >= (l->products ? 1 : 0); by--)
        rank_tile(l, by, block, tile);
}

/* Members of the strategy's row (strategy.h). */
static void gpu_tile_rank(const neo_space *x, neo_ranking *r) {
  enum { LEAST = 16, MOST = 256 };
  listing l = {.x = x, .r = r};
  neo_contraction c;
  neo_schedule first;
  int64_t block[2];
  if (!neo_contraction_of(x->m, x->f, &c) ||
      !neo_threads_axes(x->m, x->f, &c, &l.axes[0], &l.axes[1]))
    return;
  l.products = neo_gpu_tile_choose(x->m, x->f, x->machine, &first) ? first.block.products : 0;
  for (block[0] = LEAST; block[0] <= MOST; block[0] *= 2)
    for (block[1] = LEAST; block[1] <= MOST; block[1] *= 2)
      rank_tiles(&l, block);
}

static size_t starts(const neo_space *x, neo_schedule *out, size_t most) {
  neo_ranking best = neo_ranking_new(x->m->arena, most ? 1 : 0);
  gpu_tile_rank(x, &best);
  if (best.n)
    *out = best.at[0];
  return best.n;
}

const neo_strategy_row neo_strategy_gpu_tile = {
    .choose = choose,
    .legal = legal,
    .cost = neo_gpu_tile_cost,
    .rank = gpu_tile_rank,
    .values = values,
    .propagate = propagate,
    .repairs = repairs,
    .n_repairs = sizeof repairs / sizeof *repairs,
    .reshape = reshape,
    .starts = starts,
};
