/* The model's choice for thread blocks at points. A reduction gets as many lanes as fill the
 * machine with threads, but no more than it has steps to divide. Where its reads are contiguous
 * along an own axis, it gets at least a warp of lanes, so that a warp's accesses are coalesced. */
#include "schedule/gpu_rows/gpu_rows.h"
#include "schedule/model.h"
#include "schedule/vector_access.h"

/* Counts the loads of a stage that are contiguous along an axis. */
typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
  int n;
} census;

static void count(void *ctx, neo_expr e) {
  census *c = ctx;
  int64_t stride;
  bool load = neo_expr_node(c->m, e)->op == NEO_OP_LOAD && neo_expr_node(c->m, e)->arg.n;
  c->n +=
      load && neo_flat_stride(c->m, c->f, neo_flat_at(c->m, e), c->axis, &stride) && stride == 1;
}

static int contiguous(neo_module *m, const neo_form *f, const neo_stage *s, uint32_t axis) {
  census c = {m, f, axis, 0};
  neo_stage_visit(m, s, count, &c);
  return c.n;
}

/* The most elements of one access, along rows or along columns: at most 16 bytes of the narrowest
 * tensor, and at most 8 elements. */
static int64_t widest_of(neo_module *m, const neo_form *f, bool rows) {
  enum { MOST = 8 };
  int64_t n = 2;
  for (size_t k = 0; k < f->accesses.n; k++) {
    int64_t bytes = neo_type_bytes(neo_tensor_type(m, f->accesses.at[k].tensor));
    n = NEO_VECTOR_BYTES / bytes > n ? NEO_VECTOR_BYTES / bytes : n;
  }
  n = n > MOST ? MOST : n;
  while (n > 1 && !(rows ? neo_vector_rows(m, f, n) : neo_vector_columns(m, f, n)))
    n /= 2;
  return n;
}

static neo_schedule points_schedule(const neo_form *f, int64_t lanes, bool rows, int64_t wide) {
  enum { BLOCK = 256 };
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_ROWS;
  s.rows.lanes = lanes;
  s.rows.across = !rows;
  s.rows.threads = lanes < BLOCK ? BLOCK : lanes;
  s.rows.vector_width = wide;
  if (wide > 1)
    s.rows.vector_axis = (int64_t)f->axes.n - !rows;
  return s;
}

/* Stashes a row in registers, so that it is read once: the row gets enough lanes that each holds a
 * few elements. */
static bool stash_row(const neo_space *x, double points, int64_t wide, neo_schedule *out) {
  enum { ELEMENTS = 32, FEW = 4 }; /* a thread waits for all its elements of a row at once */
  neo_module *m = x->m;
  const neo_form *f = x->f;
  neo_schedule s = points_schedule(f, NEO_BLOCK_WARP, true, wide);
  neo_stash stash = neo_gpu_rows_stash(m, f, &s);
  if (!stash.n)
    return false;
  int64_t lanes = 1, groups = (stash.row + wide - 1) / wide;
  int64_t most = ELEMENTS / (stash.n > 2 ? 2 : 1);
  while (lanes < groups && (lanes < NEO_BLOCK_WARP || groups * wide > lanes * most))
    lanes *= 2;
  while (lanes * 2 <= groups && lanes < 256 &&
         points * (double)lanes < neo_machine_busy_threads(x->machine) / FEW)
    lanes *= 2;
  if (lanes > NEO_BLOCK_MOST)
    return false;
  s = points_schedule(f, lanes, true, wide);
  s.rows.unroll_k = (groups + lanes - 1) / lanes;
  s.rows.stash = 1;
  *out = s;
  return neo_gpu_rows_legal(x, &s, NULL);
}

static int64_t written_out(double steps) {
  enum { MOST = 4 };
  return steps >= MOST ? MOST : steps >= 2 ? 2 : 1;
}

static bool choose_rows(const neo_space *x, double longest, neo_schedule *out) {
  enum { MOST_LANES = 256, FEW = 4, LEAST = 16 };
  neo_module *m = x->m;
  const neo_form *f = x->f;
  double points = neo_form_usual_points(m, f, ~0ULL);
  int64_t wide = widest_of(m, f, true), lanes = 1;
  if (stash_row(x, points, wide, out))
    return true;
  double steps = longest / (double)wide, least = wide > 1 ? 2 : FEW;
  if (longest < LEAST)
    return false;
  while (lanes < MOST_LANES && (double)lanes * least <= steps &&
         (lanes < NEO_BLOCK_WARP || points * (double)lanes < neo_machine_busy_threads(x->machine)))
    lanes *= 2;
  *out = points_schedule(f, lanes, true, wide);
  out->rows.unroll_k = written_out(steps / (double)lanes);
  return lanes > 1 && neo_gpu_rows_legal(x, out, NULL);
}

/* Neighbouring threads cover at least a line, where there are as many columns. */
static bool choose_columns(const neo_space *x, double longest, neo_schedule *out) {
  enum { BLOCK = 256, FEW = 4 };
  neo_module *m = x->m;
  const neo_form *f = x->f;
  double points = neo_form_usual_points(m, f, ~0ULL);
  int64_t wide = widest_of(m, f, false), lanes = 1;
  double line = (double)x->machine->profile.line_bytes / neo_type_bytes(NEO_F32_T);
  double side = points < line ? points : line; /* elements */
  while (lanes < BLOCK && (double)(lanes * FEW) <= longest &&
         points * (double)lanes < neo_machine_busy_threads(x->machine))
    lanes *= 2;
  if (lanes == 1 && wide == 1)
    return false;
  *out = points_schedule(f, lanes, false, wide);
  while (out->rows.threads < NEO_BLOCK_MOST && (double)(out->rows.threads / lanes * wide) < side)
    out->rows.threads *= 2;
  out->rows.unroll_k = written_out(longest / (double)lanes);
  return neo_gpu_rows_legal(x, out, NULL);
}

bool neo_gpu_rows_choose(const neo_space *x, neo_schedule *out) {
  neo_module *m = x->m;
  const neo_form *f = x->f;
  double longest = 1;
  int along = 0, across = 0;
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    double steps = neo_stage_usual_steps(m, s);
    longest = steps > longest ? steps : longest;
    if (s->axes.n)
      along += contiguous(m, f, s, (uint32_t)(f->axes.n + s->axes.n - 1));
    if (s->axes.n && f->axes.n)
      across += contiguous(m, f, s, (uint32_t)f->axes.n - 1);
  }
  if (longest < 2)
    return false;
  return along > across ? choose_rows(x, longest, out) : choose_columns(x, longest, out);
}
