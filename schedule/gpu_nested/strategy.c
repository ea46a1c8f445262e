/* Rows of nested reductions by blocks of threads: the row of the strategy. */
#include "schedule/strategy.h"
#include "schedule/gpu_nested/nested.h"
#include "schedule/values.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  return neo_nested_ranked(x->m, x->f, x->machine, out, 1) > 0;
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  return neo_nested_legal(x->m, x->f, x->machine, s, why);
}

static double cost(const neo_space *x, const neo_schedule *s) {
  return neo_nested_cost(x->m, x->f, x->machine, s);
}

static void rank(const neo_space *x, neo_ranking *r) {
  neo_schedule *top = NEO_NEW_ARRAY(x->m->arena, neo_schedule, r->most);
  size_t n = neo_nested_ranked(x->m, x->f, x->machine, top, r->most);
  for (size_t k = 0; k < n; k++)
    neo_ranking_add(r, &top[k], cost(x, &top[k]));
}

/* The sides of tiles and blocks depend on one another, so only stages are stepped through; the
 * ranked list has all combinations of sides. */
static size_t values(const neo_space *x, const neo_schedule *s, neo_param k,
                     int64_t out[NEO_SPACE_VALUES]) {
  neo_values v = {.now = s->at[k], .at = out};
  (void)x;
  for (int64_t stages = 0; k == NEO_PARAM(nested, stages) && stages <= 4; stages++)
    neo_values_add(&v, stages, 0, stages == 1 ? 0 : 4);
  return v.n;
}

const neo_strategy_row neo_strategy_gpu_nested = {.nested = true,
                                                  .choose = choose,
                                                  .legal = legal,
                                                  .cost = cost,
                                                  .rank = rank,
                                                  .values = values};
