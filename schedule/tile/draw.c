/* Random register tiles, for tests. */
#include "schedule/loops/draw.h"
#include "base/random.h"
#include "schedule/contract.h"
#include "schedule/tile/tile.h"

bool neo_tile_draw(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  neo_contraction c;
  if (!neo_contraction_of(x->m, x->f, &c))
    return false;
  neo_schedule s = neo_loops_draw(x, neo_tile_legal, NEO_STRATEGY_TILE, seed);
  neo_loops_try(x, neo_tile_legal, NEO_PARAM(loops, block_k), neo_pick(seed, 0, 5), &s);
  int64_t first = neo_pick(seed, 0, 7);
  neo_loops_try(x, neo_tile_legal, NEO_PARAM(loops, blocks_first), first & 3, &s);
  neo_loops_try(x, neo_tile_legal, NEO_PARAM(loops, blocks_first), first, &s);
  enum { LEAST = 3 };
  uint32_t bits = c.n_operands > LEAST ? c.n_operands : LEAST;
  for (uint32_t bit = 0; bit < bits; bit++)
    if (neo_pick(seed, 0, 2))
      neo_loops_try(x, neo_tile_legal, NEO_PARAM(loops, pack), s.loops.pack | 1 << bit, &s);
  neo_loops_draw_rest(x, neo_tile_legal, seed, &s);
  neo_loops_try(x, neo_tile_legal, NEO_PARAM(loops, prefetch), neo_pick(seed, 0, 1), &s);
  *out = s;
  return true;
}
