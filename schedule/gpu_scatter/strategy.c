/* The strategy of integer sums by keys (gpu_scatter.h). */
#include "schedule/strategy.h"
#include "schedule/block.h"
#include "schedule/gpu_scatter/gpu_scatter.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include "schedule/values.h"

/* Threads divide terms by their number: the range of each axis is the same everywhere. */
static bool counts_terms(neo_module *m, const neo_form *f, const neo_stage *s) {
  for (size_t k = 0; k < s->axes.n; k++)
    if (neo_form_axes(m, f, s->axes.at[k].lo) || neo_form_axes(m, f, s->axes.at[k].hi) ||
        neo_expr_uses_op(m, s->axes.at[k].lo, NEO_OP_LOAD) ||
        neo_expr_uses_op(m, s->axes.at[k].hi, NEO_OP_LOAD))
      return false;
  return true;
}

bool neo_scatter_of(neo_module *m, const neo_group *g, neo_segment *out) {
  const neo_form *f = neo_group_form(m, g);
  if (!neo_segment_of(m, g, out) || neo_form_row_block(f))
    return false;
  const neo_form_acc *a = &f->stages.at[0].accs.at[0];
  return neo_segment_is_sum(f, out) && (a->type == NEO_I32_T || a->type == NEO_I64_T) &&
         counts_terms(m, f, &f->stages.at[0]);
}

/* ---- costs */

/* Elements along the axes next to the rows, and terms, at the usual or at the largest sizes. */
static double columns_of(const neo_space *x, const neo_segment *s, bool most) {
  uint64_t others = ~((uint64_t)1 << s->axis);
  return most ? neo_form_points(x->m, x->f, others) : neo_form_usual_points(x->m, x->f, others);
}

static double terms_of(const neo_space *x, const neo_segment *s, bool most) {
  const neo_stage *sum = &x->f->stages.at[0];
  uint32_t n = (uint32_t)sum->axes.n;
  double steps = most ? neo_stage_steps(x->m, sum, 0, n) : neo_stage_usual_steps(x->m, sum);
  return columns_of(x, s, most) * steps;
}

/* The cost in cycles: a term's latency is that of its key and then that of its row. */
static double cost(const neo_space *x, const neo_schedule *s) {
  neo_segment e;
  const neo_multiprocessor *sm = &x->machine->sm;
  if (!neo_scatter_of(x->m, x->g, &e))
    return sm->launch;
  double terms = terms_of(x, &e, false), threads = (double)s->rows.threads;
  double points = neo_form_usual_points(x->m, x->f, ~0ULL);
  double waves = terms / threads + points / threads;
  return sm->launch + (1 + waves) * 2 * sm->wait;
}

/* ---- the row of the strategy */

static neo_schedule of_threads(int64_t threads) {
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_SCATTER;
  s.rows.threads = threads;
  return s;
}

static bool choose(const neo_space *x, neo_schedule *out) {
  neo_segment e;
  if (!neo_scatter_of(x->m, x->g, &e))
    return false;
  *out = of_threads(NEO_BLOCK_MOST);
  return true;
}

/* One block adds some thousand times fewer terms in the same time than all blocks compare with
 * rows. Sizes are the largest ones: where they are small the difference is, too. */
static bool pays(const neo_space *x, const neo_schedule *s) {
  enum { COMPARED = 3000 };
  neo_segment e;
  (void)s;
  if (!neo_scatter_of(x->m, x->g, &e))
    return false;
  double terms = terms_of(x, &e, true), points = neo_form_points(x->m, x->f, ~0ULL);
  double rows = points / columns_of(x, &e, true);
  return rows * terms >= COMPARED * (points + terms);
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  neo_segment e;
  neo_schedule plain = of_threads(s->rows.threads);
  if (!neo_scatter_of(x->m, x->g, &e))
    return reject(why, "gpu_scatter is for integer sums by keys");
  if (!neo_schedule_equal(s, &plain))
    return reject(why, "a sum by keys has no parameter but threads");
  return (s->rows.threads >= 1 && s->rows.threads <= NEO_BLOCK_MOST) ||
         reject(why, "a block has 1 to 1024 threads");
}

static size_t values(const neo_space *x, const neo_schedule *s, neo_param k,
                     int64_t out[NEO_SPACE_VALUES]) {
  neo_values v = {.now = s->at[k], .at = out};
  (void)x;
  if (k == NEO_PARAM(rows, threads))
    neo_values_near(&v, NEO_BLOCK_WARP, NEO_BLOCK_MOST);
  return v.n;
}

static double visited(const neo_space *x, const neo_schedule *s) {
  neo_segment e;
  (void)s;
  return neo_scatter_of(x->m, x->g, &e) ? neo_segment_visited(x->m, x->f, &e) : 1;
}

const neo_strategy_row neo_strategy_gpu_scatter = {.fewer_steps = true,
                                                   .choose = choose,
                                                   .pays = pays,
                                                   .legal = legal,
                                                   .cost = cost,
                                                   .visited = visited,
                                                   .values = values};
