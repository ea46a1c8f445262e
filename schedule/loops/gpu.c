/* See gpu.h. */
#include "schedule/loops/gpu.h"
#include "schedule/gpu_rows/gpu_rows.h"
#include "schedule/model.h"
#include "schedule/values.h"
#include "schedule/vector_access.h"

static int64_t last_axis(const neo_space *x) {
  return (int64_t)x->f->axes.n - 1;
}

static int64_t widest(const neo_space *x) {
  return NEO_VECTOR_BYTES / (int64_t)neo_form_widest(x->m, x->f);
}

bool neo_loops_gpu_vectors(const neo_space *x, neo_schedule *out) {
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

double neo_loops_gpu_cost(const neo_space *x, const neo_schedule *s) {
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

size_t neo_loops_gpu_values(const neo_space *x, const neo_schedule *s, neo_param k,
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

void neo_loops_gpu_propagate(const neo_space *x, neo_param k, neo_schedule *s) {
  if (k == NEO_PARAM(loops, vector_axis))
    s->loops.vector_width = s->loops.vector_axis < 0 ? 1 : widest(x);
  s->loops.unit_axes = neo_schedule_loops(x->f, s);
}

static void rank_sizes(const neo_space *x, neo_loops_legality legal, const neo_schedule *one,
                       int64_t most, neo_ranking *r) {
  for (int64_t size = 1; size <= most; size *= 2) {
    neo_schedule s = *one;
    s.loops.unit_size = size;
    if (legal(x, &s, NULL))
      neo_ranking_add(r, &s, neo_loops_gpu_cost(x, &s));
  }
}

void neo_loops_gpu_rank(const neo_space *x, neo_loops_legality legal, neo_ranking *r) {
  neo_schedule s = neo_schedule_plain();
  s.loops.unit_axes = neo_schedule_loops(x->f, &s);
  rank_sizes(x, legal, &s, 8, r);
  s.loops.vector_axis = last_axis(x);
  neo_loops_gpu_propagate(x, NEO_PARAM(loops, vector_axis), &s);
  if (s.loops.vector_axis >= 0)
    rank_sizes(x, legal, &s, 4, r);
}
