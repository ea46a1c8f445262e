/* The strategy of contractions of pairs of bf16. */
#include "base/random.h"
#include "schedule/loops/collapse.h"
#include "schedule/loops/draw.h"
#include "schedule/model.h"
#include "schedule/pairs/pairs.h"
#include "schedule/reject.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  return neo_model_pairs(x->m, x->f, x->machine, out);
}

static bool pays(const neo_space *x, const neo_schedule *s) {
  return neo_pairs_pays(x->m, x->f, x->machine, s);
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  if (!s->loops.pairs)
    return reject(why, "pairs are multiplied by the strategy of that name");
  if (!neo_loops_legal(x, s, why) || !neo_loops_columns_legal(x, s, why) ||
      !neo_loops_bounds_legal(x, s, why))
    return false;
  neo_collapsed y = neo_collapsed_of(x->m, x->f, s);
  return neo_loops_fused_legal(x->m, y.f, &y.s, why) &&
         neo_pairs_legal(x->m, y.f, x->machine, &y.s, why);
}

static double cost(const neo_space *x, const neo_schedule *s) {
  return neo_pairs_cost(x->m, x->f, x->machine, s);
}

/* ---- random ones */

static bool draw(const neo_space *x, uint64_t *seed, neo_schedule *s) {
  bool tiles = x->machine->matrix == NEO_PAIRS_TILES;
  if (!choose(x, s))
    return false;
  neo_loops_try(x, legal, NEO_PARAM(loops, tile_m),
                tiles ? 16 * neo_pick(seed, 1, 2) : 1 << neo_pick(seed, 0, 4), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, tile_n), neo_pick(seed, 1, 3), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, block_m), 16 * neo_pick(seed, 0, 2), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, fused), neo_pick(seed, 1, 3), s);
  int64_t columns =
      s->loops.fused > 1 ? neo_loops_draw_columns(x, s, seed) : 16 * neo_pick(seed, 0, 3);
  neo_loops_try(x, legal, NEO_PARAM(loops, block_n), columns, s);
  neo_loops_try(x, legal, NEO_PARAM(loops, block_k), neo_pick(seed, 0, 40), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, pack), neo_pick(seed, 0, 3), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, unit_axes),
                neo_pick(seed, 0, neo_schedule_loops(x->f, s)), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, unit_size), neo_pick(seed, 1, 3), s);
  return true;
}

const neo_strategy_row neo_strategy_pairs = {.choose = choose,
                                             .pays = pays,
                                             .legal = legal,
                                             .cost = cost,
                                             .draw = draw,
                                             .update_units = neo_loops_update_units,
                                             NEO_LOOPS_STEPS};
