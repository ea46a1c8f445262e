/* The space of tiles by blocks of threads: all combinations of a few values each. */
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/gpu_tile/strategy.h"

typedef struct {
  const neo_space *x;
  neo_ranking *r;
  uint64_t axes[2]; /* axes of rows, of columns */
  int64_t products;
} listing;

static bool legal(const neo_space *x, const neo_schedule *s) {
  return neo_gpu_tile_legal(x->m, x->f, x->machine, s, NULL);
}

static void offer(const listing *l, const neo_schedule *s) {
  if (legal(l->x, s))
    neo_ranking_add(l->r, s, neo_gpu_tile_cost(l->x, s));
}

/* Offers the schedule with as many stages as the model wants. Warpgroups may have one fewer where
 * shared memory is short; else there are none. */
static void rank_stages(const listing *l, const neo_schedule *s) {
  neo_schedule y = *s;
  bool groups = s->block.products == NEO_THREADS_WARPGROUPS;
  int64_t least = groups ? 3 : neo_stages_wanted(s);
  y.block.stages = l->x->machine->async ? neo_stages_wanted(s) : 0;
  while (y.block.stages && !legal(l->x, &y))
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

void neo_gpu_tile_rank(const neo_space *x, neo_ranking *r) {
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
