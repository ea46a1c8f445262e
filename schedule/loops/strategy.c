/* The strategy of loops with lanes and a register tile. On a GPU a unit of work is one thread's
 * (loops/gpu.c). */
#include "schedule/loops/collapse.h"
#include "schedule/loops/gpu.h"
#include "schedule/loops/loops.h"
#include "schedule/loops/nontemporal.h"
#include "schedule/model.h"

void neo_loops_add_row_parts(const neo_space *x, neo_schedule *s) {
  s->loops.nontemporal = neo_nontemporal_pays(x->m, x->g, x->machine, s);
  s->loops.stash = neo_loops_stash(x->m, x->f, s).n > 0;
}

double neo_loops_cost(const neo_space *x, const neo_schedule *s) {
  return neo_model_plain_cost(x->m, x->f, s);
}

static neo_schedule units_of_points(const neo_space *x) {
  neo_schedule s = neo_schedule_plain();
  s.loops.unit_axes = neo_schedule_loops(x->f, &s);
  return s;
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  if (neo_form_is_nested(x->f))
    return neo_loops_units_legal(x, s, why);
  if (!neo_loops_plain_legal(s, why) || !neo_loops_legal(x, s, why) ||
      !neo_loops_bounds_legal(x, s, why))
    return false;
  neo_collapsed y = neo_collapsed_of(x->m, x->f, s);
  return neo_loops_fused_legal(x->m, y.f, &y.s, why);
}

static bool choose(const neo_space *x, neo_schedule *out) {
  *out = units_of_points(x);
  if (neo_form_is_nested(x->f))
    return true;
  if (x->machine->gpu) {
    neo_schedule wide;
    if (neo_loops_gpu_vectors(x, &wide) && legal(x, &wide, NULL))
      *out = wide;
    return true;
  }
  *out = neo_model_plain(x->m, x->f, x->machine);
  if (legal(x, out, NULL))
    neo_loops_add_row_parts(x, out);
  return true;
}

static double cost(const neo_space *x, const neo_schedule *s) {
  if (x->machine->gpu)
    return neo_loops_gpu_cost(x, s);
  neo_machine machine = neo_space_machine(x);
  double cycles = neo_model_contraction_cost(x->m, x->f, &machine, s);
  return cycles >= 0 ? cycles : neo_loops_cost(x, s);
}

/* ---- steps of the search; GPUs have their own */

static size_t values(const neo_space *x, const neo_schedule *s, neo_param k,
                     int64_t out[NEO_SPACE_VALUES]) {
  return x->machine->gpu ? neo_loops_gpu_values(x, s, k, out) : neo_loops_values(x, s, k, out);
}

static void propagate(const neo_space *x, const neo_schedule *from, neo_param k, neo_schedule *s) {
  if (x->machine->gpu)
    neo_loops_gpu_propagate(x, k, s);
  else
    neo_loops_propagate(x, from, k, s);
}

static void update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s) {
  if (!x->machine->gpu)
    neo_loops_update_units(x, from, s);
}

static void rank(const neo_space *x, neo_ranking *r) {
  if (x->machine->gpu && !neo_form_is_nested(x->f))
    neo_loops_gpu_rank(x, legal, r);
}

static bool sensible(const neo_space *x, const neo_schedule *s) {
  return x->machine->gpu || neo_loops_sensible(x, s);
}

static size_t reshape(const neo_space *x, const neo_schedule *s, neo_setting (*out)[2],
                      size_t most) {
  return x->machine->gpu ? 0 : neo_loops_reshape(x, s, out, most);
}

/* For contractions the strategy `tile` has better starting points. */
static size_t starts(const neo_space *x, neo_schedule *out, size_t most) {
  neo_contraction c;
  if (!most || (!x->machine->gpu && neo_contraction_of(x->m, x->f, &c)))
    return 0;
  *out = units_of_points(x);
  return x->machine->gpu || choose(x, out);
}

const neo_strategy_row neo_strategy_loops = {.nested = true,
                                             .choose = choose,
                                             .legal = legal,
                                             .cost = cost,
                                             .rank = rank,
                                             .values = values,
                                             .propagate = propagate,
                                             .repairs = neo_loops_repairs,
                                             .n_repairs = NEO_LOOPS_REPAIRS,
                                             .update_units = update_units,
                                             .sensible = sensible,
                                             .reshape = reshape,
                                             .starts = starts,
                                             .columns = neo_loops_columns};
