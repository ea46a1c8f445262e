/* The strategy of register tiles of contractions. */
#include "schedule/loops/loops.h"
#include "schedule/model.h"
#include "schedule/tile/tile.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  neo_ranked best;
  neo_machine machine = neo_space_machine(x);
  if (x->machine->gpu || !neo_model_contractions(x->m, x->f, &machine, &best, 1))
    return false;
  *out = best.schedule;
  neo_loops_add_row_parts(x, out);
  return true;
}

static double cost(const neo_space *x, const neo_schedule *s) {
  neo_machine machine = neo_space_machine(x);
  double cycles = neo_model_contraction_cost(x->m, x->f, &machine, s);
  return cycles >= 0 ? cycles : neo_loops_cost(x, s);
}

static void rank(const neo_space *x, neo_ranking *r) {
  neo_machine machine = neo_space_machine(x);
  neo_ranked *top = NEO_NEW_ARRAY(x->m->arena, neo_ranked, r->most);
  size_t n = x->machine->gpu ? 0 : neo_model_contractions(x->m, x->f, &machine, top, r->most);
  for (size_t k = 0; k < n; k++)
    neo_ranking_add(r, &top[k].schedule, top[k].cost);
}

const neo_strategy_row neo_strategy_tile = {.choose = choose,
                                            .legal = neo_tile_legal,
                                            .cost = cost,
                                            .rank = rank,
                                            .update_units = neo_loops_update_units,
                                            NEO_LOOPS_STEPS};
