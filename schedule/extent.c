/* Lengths of loops: extents of axes, points of the shared axes, steps of own axes; and the axes
 * that bound other loops. */
#include "schedule/extent.h"

int64_t neo_axis_most(neo_module *m, const neo_axis_rec *x) {
  int64_t n = neo_extent_most(m, x->hi), lo;
  if (n < 0)
    return 64; /* bounded by data: a guess */
  if (neo_expr_is_int(m, x->lo, &lo))
    n -= lo;
  return n < 1 ? 1 : n;
}

static neo_expr usual_size(void *ctx, neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  (void)ctx;
  if (n->op != NEO_OP_SIZE || !neo_size_at(m, (neo_size){n->attr})->has_usual)
    return e;
  return neo_const_int(m, NEO_I64_T, neo_size_at(m, (neo_size){n->attr})->usual);
}

int64_t neo_axis_usual(neo_module *m, const neo_axis_rec *x) {
  neo_axis_rec y = *x;
  y.lo = neo_expr_rewrite(m, x->lo, usual_size, NULL);
  y.hi = neo_expr_rewrite(m, x->hi, usual_size, NULL);
  return neo_axis_most(m, &y);
}

double neo_form_points(neo_module *m, const neo_form *f, uint64_t axes) {
  double n = 1;
  for (uint32_t k = 0; k < f->axes.n; k++)
    if (axes >> k & 1)
      n *= (double)neo_axis_most(m, &f->axes.at[k]);
  return n;
}

double neo_stage_steps(neo_module *m, const neo_stage *s, uint32_t from, uint32_t to) {
  double n = 1;
  for (uint32_t k = from; k < to; k++)
    n *= (double)neo_axis_most(m, &s->axes.at[k]);
  return n;
}

bool neo_form_has_own_axes(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].axes.n)
      return true;
  return false;
}

uint64_t neo_form_bound_axes(const neo_module *m, const neo_form *f) {
  uint64_t axes = 0;
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].axes.n; i++) {
      const neo_axis_rec *x = &f->stages.at[k].axes.at[i];
      axes |= neo_form_axes(m, f, x->lo) | neo_form_axes(m, f, x->hi);
    }
  return axes & ((1ULL << f->axes.n) - 1);
}

int64_t neo_form_steps_length(neo_module *m, const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].axes.n)
      return neo_axis_most(m, &f->stages.at[k].axes.at[0]);
  return 1;
}
