/* The strategy of loops with lanes and a register tile. On a GPU a unit of work is one thread's
. */
#include "schedule/gpu_rows/gpu_rows.h"
#include "schedule/loops/collapse.h"
#include "schedule/loops/loops.h"
#include "schedule/loops/nontemporal.h"
#include "schedule/model.h"
#include "schedule/values.h"
#include "schedule/vector_access.h"

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

/* ---- on a GPU: one thread for each unit of work, several points or the lanes of a 16-byte access
 * */

static int64_t last_axis(const neo_space *x) {
  return (int64_t)x->f->axes.n - 1;
}

static int64_t widest(const neo_space *x) {
  return NEO_VECTOR_BYTES / (int64_t)neo_form_widest(x->m, x->f);
}

/* The choice for maps over long tensors: each thread takes 16 bytes. False: accesses cannot be
 * vectors, or there are too few points. */
static bool gpu_vectors(const neo_space *x, neo_schedule *out) {
  enum { LEAST_POINTS = 1 << 17 }; /* enough to fill a machine with a fourth of its threads */
  int64_t n = neo_vector_map(x->m, x->f);
  if (!n || neo_form_points(x->m, x->f, ~0ULL) < LEAST_POINTS)
    return false;
  *out = neo_schedule_plain();
  out->loops.vector_axis = last_axis(x);
  out->loops.vector_width = out->loops.block_n = n;
  out->loops.unit_axes = (int64_t)x->f->axes.n;
  return true;
}

/* Members of the strategy's row for GPUs (strategy.h). */
static double gpu_cost(const neo_space *x, const neo_schedule *s) {
  enum { BLOCK = 128 };
  const neo_loop_params *p = &s->loops;
  bool points = p->vector_axis >= 0 && p->vector_axis <= last_axis(x);
  double side_by_side = points ? (double)p->vector_width : 1;
  neo_gpu_thread_share t = {.points = side_by_side * (double)p->unit_size,
                            .together = (double)(p->vector_width * p->unroll_k),
                            .lanes = 1,
                            .block = BLOCK,
                            .read = 1,
                            .vector = (double)p->vector_width};
  return neo_gpu_points_cost(x, &t);
}

static size_t gpu_values(const neo_space *x, const neo_schedule *s, neo_param k,
                         int64_t out[NEO_SPACE_VALUES]) {
  neo_values v = {.now = s->at[k], .at = out};
  if (k == NEO_PARAM(loops, vector_axis))
    neo_values_add(&v, v.now < 0 ? last_axis(x) : -1, -1, last_axis(x));
  if (k == NEO_PARAM(loops, vector_width) && s->loops.vector_axis >= 0)
    neo_values_near(&v, 2, widest(x));
  if (k == NEO_PARAM(loops, unit_size))
    neo_values_near(&v, 1, 16);
  return v.n;
}

static void gpu_propagate(const neo_space *x, neo_param k, neo_schedule *s) {
  if (k == NEO_PARAM(loops, vector_axis))
    s->loops.vector_width = s->loops.vector_axis < 0 ? 1 : widest(x);
  s->loops.unit_axes = neo_schedule_loops(x->f, s);
}

static void rank_sizes(const neo_space *x, const neo_schedule *one, int64_t most, neo_ranking *r) {
  for (int64_t size = 1; size <= most; size *= 2) {
    neo_schedule s = *one;
    s.loops.unit_size = size;
    if (legal(x, &s, NULL))
      neo_ranking_add(r, &s, gpu_cost(x, &s));
  }
}

static void gpu_rank(const neo_space *x, neo_ranking *r) {
  neo_schedule s = neo_schedule_plain();
  s.loops.unit_axes = neo_schedule_loops(x->f, &s);
  rank_sizes(x, &s, 8, r);
  s.loops.vector_axis = last_axis(x);
  gpu_propagate(x, NEO_PARAM(loops, vector_axis), &s);
  if (s.loops.vector_axis >= 0)
    rank_sizes(x, &s, 4, r);
}

static bool choose(const neo_space *x, neo_schedule *out) {
  *out = units_of_points(x);
  if (neo_form_is_nested(x->f))
    return true;
  if (x->machine->gpu) {
    neo_schedule wide;
    if (gpu_vectors(x, &wide) && legal(x, &wide, NULL))
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
    return gpu_cost(x, s);
  neo_machine machine = neo_space_machine(x);
  double cycles = neo_model_contraction_cost(x->m, x->f, &machine, s);
  return cycles >= 0 ? cycles : neo_loops_cost(x, s);
}

/* ---- steps of the search; GPUs have their own */

static size_t values(const neo_space *x, const neo_schedule *s, neo_param k,
                     int64_t out[NEO_SPACE_VALUES]) {
  return x->machine->gpu ? gpu_values(x, s, k, out) : neo_loops_values(x, s, k, out);
}

static void propagate(const neo_space *x, const neo_schedule *from, neo_param k, neo_schedule *s) {
  if (x->machine->gpu)
    gpu_propagate(x, k, s);
  else
    neo_loops_propagate(x, from, k, s);
}

static void update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s) {
  if (!x->machine->gpu)
    neo_loops_update_units(x, from, s);
}

static void rank(const neo_space *x, neo_ranking *r) {
  if (x->machine->gpu && !neo_form_is_nested(x->f))
    gpu_rank(x, r);
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
