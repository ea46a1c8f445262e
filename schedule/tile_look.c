/* How the operands of a contraction are read along each axis; every answer is remembered, since each is asked for by
 * hundreds of candidates. */
#include "schedule/tile.h"

typedef struct {
  neo_module *m;
  uint32_t axis;
  neo_look y;
  double *elements; /* null: not asked for; else nothing else is */
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
  if (!neo_flat_stride(c->m, neo_flat_at(c->m, e), c->axis, &stride)) {
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

static neo_look look_along(neo_module *m, neo_expr e, uint32_t axis) {
  looking c = {.m = m, .axis = axis};
  neo_expr_visit(m, e, look_at, &c);
  return c.y;
}

neo_look neo_tiles_along(neo_tiles *q, uint32_t factor, uint32_t axis) {
  bool *known = &q->along[factor][axis].known;
  neo_look *y = &q->along[factor][axis].look;
  if (!*known)
    *y = look_along(q->m, q->c->factor[factor].e, axis);
  *known = true;
  return *y;
}

double neo_tiles_elements(neo_tiles *q, uint32_t factor) {
  return q->elements[factor];
}

const neo_sliding *neo_tiles_slide(neo_tiles *q, uint32_t factor, uint32_t axis) {
  bool *known = &q->slide[factor][axis].known, *slides = &q->slide[factor][axis].slides;
  neo_sliding *y = &q->slide[factor][axis].slide;
  if (!*known)
    *slides = neo_sliding_of(q->m, q->f, q->s, q->c->factor[factor].e, axis, y);
  *known = true;
  return *slides ? y : NULL;
}

/* Cycles of storing a vector: contiguous, or lane by lane. */
static double store_cycles(neo_tiles *q, int64_t v, int64_t merge) {
  enum { CONTIGUOUS = 2, SCATTERED = 7 };
  double t = 0;
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++) {
      neo_expr at = q->f->stages.at[k].outs.at[i].offset;
      int64_t stride = 0;
      if (merge > 1)
        at = neo_walked_expr(q->m, q->f, (uint32_t)v, (uint32_t)merge, at);
      bool known = neo_flat_stride(q->m, at, (uint32_t)v, &stride);
      t += known && stride == 1 ? CONTIGUOUS : SCATTERED;
    }
  return t;
}

static void remember_walk(neo_tiles *q, int64_t v, int64_t merge) {
  if (q->walk.v == v && q->walk.merge == merge)
    return;
  q->walk.v = v;
  q->walk.merge = merge;
  for (uint32_t k = 0; k < q->c->n; k++) {
    neo_expr e = q->c->factor[k].e;
    if (merge > 1)
      e = neo_walked_expr(q->m, q->f, (uint32_t)v, (uint32_t)merge, e);
    q->walk.factor[k] = look_along(q->m, e, (uint32_t)v);
  }
  q->walk.stores = store_cycles(q, v, merge);
}

neo_look neo_tiles_columns(neo_tiles *q, uint32_t factor, int64_t v, int64_t merge) {
  remember_walk(q, v, merge);
  return q->walk.factor[factor];
}

double neo_tiles_stores(neo_tiles *q, int64_t v, int64_t merge) {
  remember_walk(q, v, merge);
  return q->walk.stores;
}

/* Loads of the stages that store, each a vector of its own. */
static void count_load(void *ctx, neo_expr e) {
  looking *c = ctx;
  c->y.ops += neo_expr_node(c->m, e)->op == NEO_OP_LOAD ? 1.5 : 0;
}

static double store_loads(const neo_tiles *q) {
  looking c = {.m = q->m};
  for (size_t k = 0; k < q->f->stages.n; k++)
    for (size_t i = 0; i < q->f->stages.at[k].outs.n; i++)
      neo_expr_visit(q->m, q->f->stages.at[k].outs.at[i].value, count_load, &c);
  return c.y.ops;
}

bool neo_tiles_begin(neo_tiles *q, neo_contraction *c) {
  if (!neo_contraction_of(q->m, q->f, c))
    return false;
  q->c = c;
  q->s = &q->f->stages.at[c->stage];
  q->points = q->steps = 1;
  q->bytes = neo_type_bytes((neo_type)q->s->accs.at[0].type);
  q->lanes = q->machine->vector_bytes / q->bytes;
  for (uint32_t k = 0; k < q->f->axes.n; k++)
    q->points *= (double)(q->shared[k] = neo_axis_most(q->m, &q->f->axes.at[k]));
  for (uint32_t k = 0; k < q->s->axes.n; k++) {
    int64_t hi;
    if (!neo_axis_range(q->m, q->f, q->s, k, &q->first[k], &hi))
      q->first[k] = 0;
  }
  neo_tiles_find_clips(q, q->s->where);
  for (uint32_t k = 0; k < q->s->axes.n; k++)
    q->steps *= (double)(q->own[k] = neo_axis_most(q->m, &q->s->axes.at[k]));
  q->store_loads = store_loads(q);
  for (uint32_t k = 0; k < c->n; k++) {
    looking x = {.m = q->m, .elements = &q->elements[k]};
    neo_expr_visit(q->m, c->factor[k].e, look_at, &x);
  }
  q->fixed = neo_form_bound_axes(q->m, q->f);
  q->walk.v = -1;
  return q->lanes >= 2;
}

int64_t neo_tiles_column_length(const neo_tiles *q, const neo_schedule *s) {
  int64_t v = s->at[NEO_SCHED_VECTOR_AXIS], n = 1;
  if (v >= (int64_t)q->f->axes.n)
    return s->at[NEO_SCHED_AXIS_N] >= 0 ? q->shared[s->at[NEO_SCHED_AXIS_N]] : 1;
  for (int64_t k = 0; k < s->at[NEO_SCHED_MERGE]; k++)
    n *= q->shared[v - k];
  return n;
}

int64_t neo_tiles_row_length(const neo_tiles *q, const neo_schedule *s) {
  return s->at[NEO_SCHED_AXIS_M] >= 0 ? q->shared[s->at[NEO_SCHED_AXIS_M]] : 1;
}

int64_t neo_tiles_column_unit(const neo_tiles *q, const neo_schedule *s) {
  int64_t v = s->at[NEO_SCHED_VECTOR_AXIS], unit = s->at[NEO_SCHED_TILE_N];
  if (v < (int64_t)q->f->axes.n)
    unit *= q->lanes;
  if (s->at[NEO_SCHED_MERGE] > 1)
    unit = 1;
  for (int64_t k = 0; k < s->at[NEO_SCHED_MERGE] - 1; k++)
    unit *= q->shared[v - k];
  return unit;
}
