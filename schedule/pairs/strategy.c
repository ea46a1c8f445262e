/* The strategy of contractions of pairs of bf16. */
#include "schedule/loops/collapse.h"
#include "schedule/loops/loops.h"
#include "schedule/model.h"
#include "schedule/pairs/pairs.h"
#include "schedule/reject.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  return neo_model_pairs(x->m, x->f, x->machine, out);
}

static double vector_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                          const neo_pairs_shape *x) {
  double lanes = machine->vector_bytes / 4.0;
  const neo_stage *s = &f->stages.at[x->c.stage];
  return neo_form_points(m, f, ~0ULL) * neo_stage_points(m, s) / (2 * lanes);
}

/* Is it cheaper than vectors as wide as the machine's, at their best? */
static bool pairs_pays(neo_module *m, const neo_form *f, const neo_machine *machine,
                       const neo_schedule *s) {
  neo_pairs_shape x = neo_pairs_shape_of(m, f, s);
  return x.on && neo_pairs_cost(m, f, machine, s) < vector_cost(m, f, machine, &x);
}

static bool pays(const neo_space *x, const neo_schedule *s) {
  return pairs_pays(x->m, x->f, x->machine, s);
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

const neo_strategy_row neo_strategy_pairs = {.choose = choose,
                                             .pays = pays,
                                             .legal = legal,
                                             .cost = cost,
                                             .update_units = neo_loops_update_units,
                                             NEO_LOOPS_STEPS};
