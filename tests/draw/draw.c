/* See draw.h. */
#include "tests/draw/draw.h"
#include "tests/pick.h"

static bool (*const draws[])(const neo_space *x, uint64_t *seed, neo_schedule *out) = {
#define X(id, name, family, body, keyed, prefetches, meaning) draw_##name,
#include "schedule/strategy.def"
#undef X
};

/* Is the schedule small? Large tiles and blocks take long to compile and to interpret, and test
 * nothing more. */
static bool small(const neo_schedule *s) {
  enum { LARGE = 6, MANY = 256 };
  int64_t threads = neo_schedule_value(s, NEO_PARAM_THREADS);
  int64_t tile = neo_schedule_value(s, NEO_PARAM_TILE_M) * neo_schedule_value(s, NEO_PARAM_TILE_N) *
                 neo_schedule_value(s, NEO_PARAM_UNROLL);
  return threads ? threads <= MANY : tile <= LARGE;
}

/* A few random steps from the model's choice, so that tests reach every parameter with a row. */
static neo_schedule random_walk(const neo_space *x, uint64_t *seed) {
  neo_schedule s = neo_schedule_default(x->m, x->g, x->machine);
  for (int64_t k = neo_pick(seed, 2, 5); k > 0; k--) {
    neo_schedule y = neo_space_mutate(x, &s, seed);
    if (small(&y))
      s = y;
  }
  return s;
}

/* Tries the most specialized strategy that fits first; each is skipped one time in four. */
neo_schedule neo_schedule_random(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 uint64_t *seed) {
  neo_space x = neo_space_of(m, g, machine);
  if (neo_pick(seed, 0, 5) == 0)
    return random_walk(&x, seed);
  for (int k = NEO_STRATEGIES - 1; k >= 0; k--) {
    neo_schedule s;
    if (!neo_strategy_fits(&x, (neo_strategy)k))
      continue;
    /* A group has one running sum by keys at most: what has none takes no random number for it. */
    if (k == NEO_STRATEGY_KEYED_SCAN && !draw_keyed_scan(&x, seed, &s))
      continue;
    if (neo_pick(seed, 0, 3) && draws[k](&x, seed, &s) &&
        neo_schedule_legal(m, g, machine, &s, NULL))
      return s;
  }
  return neo_schedule_plain();
}
