/* The strategy of thread blocks at points. */
#include "schedule/gpu_rows/gpu_rows.h"
#include "schedule/model.h"
#include "schedule/values.h"
#include "schedule/vector_access.h"

static int64_t last_axis(const neo_space *x) {
  return (int64_t)x->f->axes.n - 1;
}

static neo_schedule points(int64_t threads, int64_t lanes, int64_t across) {
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_ROWS;
  s.rows.threads = threads > lanes ? threads : lanes;
  s.rows.lanes = lanes;
  s.rows.across = across;
  return s;
}

/* ---- steps */

static size_t values(const neo_space *x, const neo_schedule *s, neo_param k,
                     int64_t out[NEO_SPACE_VALUES]) {
  neo_values v = {.now = s->at[k], .at = out};
  switch (k) {
  case NEO_PARAM(rows, vector_axis):
    neo_values_add(&v, last_axis(x) + 1, -1, last_axis(x) + 1);
    neo_values_add(&v, last_axis(x), -1, last_axis(x) + 1);
    neo_values_add(&v, -1, -1, -1);
    break;
  case NEO_PARAM(rows, vector_width):
    if (s->rows.vector_axis >= 0)
      neo_values_near(&v, 2, 8);
    break;
  case NEO_PARAM(rows, unroll_k):
    neo_values_near(&v, 1, 32);
    break;
  case NEO_PARAM(rows, threads):
    neo_values_near(&v, 32, NEO_BLOCK_MOST);
    break;
  case NEO_PARAM(rows, lanes):
    neo_values_near(&v, 1, NEO_BLOCK_MOST);
    break;
  default: /* yes or no */
    neo_values_add(&v, !v.now, 0, 1);
  }
  return v.n;
}

/* A stashed row has all its steps unrolled; where that is not legal the stash is dropped. */
static void propagate_stash(const neo_space *x, neo_param k, neo_schedule *s) {
  neo_row_params *p = &s->rows;
  int64_t chunk = p->lanes * p->vector_width;
  if (!p->stash)
    return;
  if (k != NEO_PARAM(rows, unroll_k))
    p->unroll_k = (neo_gpu_rows_stash(x->m, x->f, s).row + chunk - 1) / chunk;
  if (k != NEO_PARAM(rows, stash) && !neo_gpu_rows_legal(x, s, NULL))
    p->stash = 0, p->unroll_k = k == NEO_PARAM(rows, unroll_k) ? p->unroll_k : 1;
}

static void propagate(const neo_space *x, const neo_schedule *from, neo_param k, neo_schedule *s) {
  neo_row_params *p = &s->rows;
  (void)from;
  if (p->threads < p->lanes && k == NEO_PARAM(rows, lanes))
    p->threads = p->lanes;
  if (p->threads < p->lanes)
    p->lanes = p->threads;
  if (k == NEO_PARAM(rows, vector_axis))
    p->vector_width =
        p->vector_axis < 0 ? 1 : NEO_VECTOR_BYTES / (int64_t)neo_form_widest(x->m, x->f);
  propagate_stash(x, k, s);
}

static size_t starts(const neo_space *x, neo_schedule *out, size_t most) {
  enum { BLOCK = 256 };
  neo_schedule some[] = {points(BLOCK, NEO_BLOCK_WARP, 0), points(BLOCK, 1, 1)};
  size_t n = 0;
  for (size_t k = 0; k < 2 && n < most; k++)
    if (neo_gpu_rows_legal(x, &some[k], NULL))
      out[n++] = some[k];
  return n;
}

/* ---- the list: all combinations of a few values each */

static bool set(const neo_space *x, const neo_schedule *s, neo_param k, int64_t value,
                neo_schedule *out) {
  *out = *s;
  out->at[k] = value;
  propagate(x, s, k, out);
  return s->at[k] != value && out->at[k] == value && neo_gpu_rows_legal(x, out, NULL);
}

static double joins_cost(const neo_row_params *p) {
  enum { JOIN = 30, SHUFFLE = 4 };
  double cost = 0;
  int64_t stride = p->across ? p->threads / p->lanes : 1;
  for (int64_t n = p->lanes; n > 1; n /= 2)
    cost += n * stride > NEO_BLOCK_WARP ? JOIN : SHUFFLE;
  return cost;
}

/* Estimates in cycles of the machine. */
static double gpu_rows_cost(const neo_space *x, const neo_schedule *s) {
  const neo_row_params *p = &s->rows;
  bool points = p->vector_axis >= 0 && p->vector_axis < (int64_t)x->f->axes.n;
  neo_gpu_thread_share t = {.points = points ? (double)p->vector_width : 1,
                            .together = (double)(p->vector_width * p->unroll_k),
                            .lanes = (double)p->lanes,
                            .block = (double)p->threads,
                            .joins = joins_cost(p),
                            .read = p->stash ? 0.5 : 1, /* the second read comes from registers */
                            .vector = (double)p->vector_width,
                            .along = p->lanes >= 8 && !p->across};
  return neo_gpu_points_cost(x, &t);
}

static void offer(const neo_space *x, const neo_schedule *s, neo_ranking *r) {
  neo_ranking_add(r, s, gpu_rows_cost(x, s));
}

/* Vectors along each axis that has them, some steps unrolled, or a stashed row. */
static void rank_vectors(const neo_space *x, const neo_schedule *one, neo_ranking *r) {
  for (int64_t axis = last_axis(x) - 1; axis <= last_axis(x) + 1; axis++) {
    neo_schedule s = *one, y;
    bool vectors = axis >= last_axis(x);
    if (vectors && !set(x, one, NEO_PARAM(rows, vector_axis), axis, &s))
      continue;
    if (vectors)
      offer(x, &s, r);
    if (set(x, &s, NEO_PARAM(rows, unroll_k), 4, &y))
      offer(x, &y, r);
    if (set(x, &s, NEO_PARAM(rows, stash), 1, &y))
      offer(x, &y, r);
  }
}

static void rank(const neo_space *x, neo_ranking *r) {
  for (int64_t lanes = 1; lanes <= NEO_BLOCK_MOST; lanes *= 2)
    for (int64_t threads = 64; threads <= NEO_BLOCK_MOST; threads *= 2)
      for (int64_t across = 0; across < 2; across++) {
        neo_schedule s = points(threads, lanes, across);
        if (threads < lanes || !neo_gpu_rows_legal(x, &s, NULL))
          continue;
        offer(x, &s, r);
        rank_vectors(x, &s, r);
      }
}

const neo_strategy_row neo_strategy_gpu_rows = {.choose = neo_gpu_rows_choose,
                                                .legal = neo_gpu_rows_legal,
                                                .cost = gpu_rows_cost,
                                                .rank = rank,
                                                .values = values,
                                                .propagate = propagate,
                                                .starts = starts};
