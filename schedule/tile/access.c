/* The accesses of a contraction's operands along each axis. They are cached, because hundreds of
 * candidates use each. */
#include "schedule/tile/model.h"

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
  neo_axis_access y;
  double *elements; /* if not null, only elements are counted */
} looking;

static void look_at(void *ctx, neo_expr e) {
  looking *c = ctx;
  const neo_node *n = neo_expr_node(c->m, e);
  int64_t stride;
  if (n->op == NEO_OP_SELECT)
    c->y.guarded = true;
  if (neo_op_is_elementwise((neo_op)n->op) && neo_type_is_float((neo_type)n->type) &&
      n->op != NEO_OP_SELECT)
    c->y.ops += 1;
  if (n->op != NEO_OP_LOAD)
    return;
  if (c->elements) {
    int64_t size = neo_extent_most(c->m, neo_tensor_elements(c->m, (neo_tensor){n->attr}));
    *c->elements += size > 0 ? (double)size : 0;
    return;
  }
  if (!neo_flat_stride(c->m, c->f, neo_flat_at(c->m, e), c->axis, &stride)) {
    bool tiled = neo_flat_tiled(c->m, c->f, neo_flat_at(c->m, e), c->axis, &stride);
    c->y.tile = tiled && !c->y.odd ? stride : 0;
    c->y.odd = true;
    return;
  }
  if (c->y.stride == 0)
    c->y.stride = stride;
  if (stride == 1 || stride == 0)
    c->y.unit = true;
  else
    c->y.strided = true;
}

static neo_axis_access look_along(const neo_tiles *q, neo_expr e, uint32_t axis) {
  looking c = {.m = q->m, .f = q->f, .axis = axis};
  neo_expr_visit(q->m, e, look_at, &c);
  return c.y;
}

neo_axis_access neo_tiles_along(neo_tiles *q, uint32_t factor, uint32_t axis) {
  bool *cached = &q->along[factor][axis].cached;
  neo_axis_access *y = &q->along[factor][axis].look;
  if (!*cached)
    *y = look_along(q, q->c->factor[factor].e, axis);
  *cached = true;
  return *y;
}

enum { RESULTS = 64 }; /* results for which the stride along an axis is cached */

static void look_at_results(neo_tiles *q, uint32_t axis) {
  size_t n = 0;
  q->results[axis].cached = q->results[axis].same_stride = true;
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++, n++) {
      int64_t stride;
      bool ok = neo_flat_stride(q->m, q->f, q->f->stages.at[k].outs.at[i].offset, axis, &stride);
      q->results[axis].same_stride =
          q->results[axis].same_stride && ok && (n == 0 || stride == q->results[axis].stride);
      q->results[axis].stride = stride;
      if (ok && stride == 1 && n < RESULTS)
        q->results[axis].unit |= 1ULL << n;
    }
}

bool neo_tiles_results_have_stride(neo_tiles *q, uint32_t axis, int64_t stride) {
  if (!q->results[axis].cached)
    look_at_results(q, axis);
  return q->results[axis].same_stride && q->results[axis].stride == stride;
}

bool neo_tiles_result_is_contiguous(neo_tiles *q, uint32_t axis, size_t k) {
  if (!q->results[axis].cached)
    look_at_results(q, axis);
  return k < RESULTS && (q->results[axis].unit >> k & 1);
}

bool neo_tiles_stay_near(neo_tiles *q, uint32_t factor) {
  uint64_t axes = q->c->factor[factor].axes;
  bool contiguous = false;
  int64_t n;
  for (uint32_t k = 0; k < q->f->axes.n; k++) {
    if (!(axes >> k & 1))
      continue;
    if (!neo_expr_is_int(q->m, q->f->axes.at[k].hi, &n))
      return false;
    neo_axis_access x = neo_tiles_along(q, factor, k);
    contiguous |= x.stride == 1 && !x.odd && !x.guarded;
  }
  return contiguous && q->elements[factor] * (double)q->bytes <= (double)q->machine->l2_bytes;
}

double neo_tiles_elements(neo_tiles *q, uint32_t factor) {
  return q->elements[factor];
}

/* The cost of storing a vector of every result, with its loads: as whole vectors, or lane by
 * lane. */
typedef struct {
  neo_tiles *q;
  uint32_t axis;
  int64_t lanes;
  neo_tile_end end;
} ending;

static const double LANE_LOAD = 1.25; /* cycles of a single lane's load */

int64_t neo_tiles_pieces(const neo_tiles *q, int64_t tile, int64_t lanes) {
  enum { LEAST_BYTES = 16 }; /* least bytes of a partial vector (codegen/llvm/core/access.c) */
  int64_t run = tile % lanes == 0 ? lanes : lanes % tile == 0 ? tile : 1;
  return run == lanes || run * q->bytes >= LEAST_BYTES ? lanes / run : 0;
}

/* Into how many vectors the access divides where the tensor is tiled; 0: it is done lane by
 * lane. */
static int64_t in_tiles(ending *c, neo_expr at) {
  int64_t n;
  return neo_flat_tiled(c->q->m, c->q->f, at, c->axis, &n) ? neo_tiles_pieces(c->q, n, c->lanes)
                                                           : 0;
}

/* Counts the lines of an access whose lanes are strided: each lane has its own line, which other
 * rows of the tile may share; vectors in tiles have one each. */
static void count_lines(ending *c, neo_tensor t, neo_expr at) {
  int64_t size = neo_extent_most(c->q->m, neo_tensor_elements(c->q->m, t)), stride;
  if (size * c->q->bytes <= c->q->machine->l2_bytes)
    return;
  int64_t pieces = in_tiles(c, at);
  c->end.far += pieces ? (double)pieces / (double)c->lanes : 1;
  for (uint32_t k = 0; k < c->q->f->axes.n; k++)
    if (!neo_flat_stride(c->q->m, c->q->f, at, k, &stride) || stride != 1)
      c->end.shared_along &= ~(1ULL << k);
}

static int64_t elements_of(neo_module *m, neo_expr load) {
  return neo_extent_most(m, neo_tensor_elements(m, (neo_tensor){neo_expr_node(m, load)->attr}));
}

static void count_load(void *ctx, neo_expr e) {
  ending *c = ctx;
  neo_module *m = c->q->m;
  int64_t stride = -1;
  if (neo_expr_node(m, e)->op != NEO_OP_LOAD)
    return;
  bool affine = neo_flat_stride(m, c->q->f, neo_flat_at(m, e), c->axis, &stride);
  bool whole = affine && (stride == 0 || stride == 1);
  int64_t pieces = whole ? 1 : in_tiles(c, neo_flat_at(m, e));
  c->end.cycles += pieces ? 1.5 * (double)pieces : LANE_LOAD * (double)c->lanes;
  c->end.rows += stride == 1 && elements_of(m, e) * c->q->bytes > c->q->machine->l2_bytes;
  if (!whole)
    count_lines(c, (neo_tensor){neo_expr_node(m, e)->attr}, neo_flat_at(m, e));
}

static neo_tile_end end_of(neo_tiles *q, int64_t v, int64_t fused, int64_t lanes) {
  enum { CONTIGUOUS = 2 };
  ending t = {q, (uint32_t)v, lanes, {.shared_along = ~0ULL}};
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++) {
      const neo_form_out *x = &q->f->stages.at[k].outs.at[i];
      neo_expr at = x->offset, value = x->value;
      int64_t stride = 0;
      if (fused > 1) {
        at = neo_fused_expr(q->m, q->f, (uint32_t)v, (uint32_t)fused, at);
        value = neo_fused_expr(q->m, q->f, (uint32_t)v, (uint32_t)fused, value);
      }
      bool affine = neo_flat_stride(q->m, q->f, at, (uint32_t)v, &stride);
      int64_t pieces = affine && stride == 1 ? 1 : in_tiles(&t, at);
      t.end.cycles += CONTIGUOUS * (double)pieces;
      t.end.scattered += !pieces;
      if (!affine || stride != 1)
        count_lines(&t, x->tensor, at);
      neo_expr_visit(q->m, value, count_load, &t);
    }
  return t.end;
}

static void remember_walk(neo_tiles *q, int64_t v, int64_t fused) {
  if (q->walk.v == v && q->walk.fused == fused)
    return;
  q->walk.v = v;
  q->walk.fused = fused;
  q->walk.lanes = 0;
  for (uint32_t k = 0; k < q->c->n_operands; k++) {
    neo_expr e = q->c->factor[k].e;
    if (fused > 1)
      e = neo_fused_expr(q->m, q->f, (uint32_t)v, (uint32_t)fused, e);
    q->walk.factor[k] = look_along(q, e, (uint32_t)v);
  }
}

neo_axis_access neo_tiles_columns(neo_tiles *q, uint32_t factor, int64_t v, int64_t fused) {
  remember_walk(q, v, fused);
  return q->walk.factor[factor];
}

neo_tile_end neo_tiles_end(neo_tiles *q, int64_t v, int64_t fused, int64_t lanes) {
  remember_walk(q, v, fused);
  if (q->walk.lanes != lanes)
    q->walk.end = end_of(q, v, fused, lanes);
  q->walk.lanes = lanes;
  return q->walk.end;
}

static void count_after(void *ctx, neo_expr e) {
  neo_tiles *q = ctx;
  const neo_node *n = neo_expr_node(q->m, e);
  if (neo_op_is_elementwise((neo_op)n->op) && n->type != NEO_I64_T)
    q->after += neo_op_additions((neo_op)n->op);
}

/* Counts the functions of the results' values, each once. */
static void look_after(neo_tiles *q) {
  q->after = 0;
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++)
      neo_expr_visit(q->m, q->f->stages.at[k].outs.at[i].value, count_after, q);
}

bool neo_tiles_begin(neo_tiles *q, neo_contraction *c) {
  q->whole_sums = q->whole_sums || q->f->in_order;
  if (!neo_contraction_of(q->m, q->f, c))
    return false;
  q->c = c;
  q->s = &q->f->stages.at[c->stage];
  q->points = q->steps = 1;
  q->bytes = neo_type_bytes((neo_type)q->s->accs.at[0].type);
  q->line_bytes = (double)q->machine->profile.line_bytes;
  q->lanes = q->machine->vector_bytes / q->bytes;
  for (uint32_t k = 0; k < q->f->axes.n; k++)
    q->points *= (double)(q->shared[k] = neo_axis_usual(q->m, &q->f->axes.at[k]));
  for (uint32_t k = 0; k < q->f->axes.n; k++)
    q->most[k] = neo_axis_most(q->m, &q->f->axes.at[k]);
  for (uint32_t k = 0; k < q->s->axes.n; k++) {
    int64_t hi;
    if (!neo_axis_range(q->m, q->f, q->s, k, &q->first[k], &hi))
      q->first[k] = 0;
  }
  q->clips.n = neo_clips_of(q->m, q->f, q->s->where, q->clips.at);
  for (uint32_t k = 0; k < q->s->axes.n; k++)
    q->steps *= (double)(q->own[k] = neo_axis_usual(q->m, &q->s->axes.at[k]));
  for (uint32_t k = 0; k < c->n_operands; k++) {
    looking x = {.m = q->m, .f = q->f, .elements = &q->elements[k]};
    neo_expr_visit(q->m, c->factor[k].e, look_at, &x);
  }
  look_after(q);
  q->fixed = neo_form_bound_axes(q->m, q->f);
  q->walk.v = -1;
  return q->lanes >= 2;
}

int64_t neo_tiles_column_length(const neo_tiles *q, const neo_schedule *s) {
  int64_t v = s->loops.vector_axis, n = 1;
  if (v >= (int64_t)q->f->axes.n)
    return s->loops.axis_n >= 0 ? q->shared[s->loops.axis_n] : 1;
  for (int64_t k = 0; k < s->loops.fused; k++)
    n *= q->shared[v - k];
  return n;
}

int64_t neo_tiles_row_length(const neo_tiles *q, const neo_schedule *s) {
  return s->loops.axis_m >= 0 ? q->shared[s->loops.axis_m] : 1;
}

int64_t neo_tiles_column_unit(const neo_tiles *q, const neo_schedule *s) {
  int64_t v = s->loops.vector_axis, unit = s->loops.tile_n;
  if (v < (int64_t)q->f->axes.n)
    unit *= s->loops.vector_width;
  if (s->loops.fused > 1)
    unit = 1;
  for (int64_t k = 0; k < s->loops.fused - 1; k++)
    unit *= q->shared[v - k];
  return unit;
}
