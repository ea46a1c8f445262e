/* Lengths of loops: extents of axes, points of the shared axes, steps of own axes; and the axes
 * that bound other loops. */
#include "schedule/extent.h"
#include "ir/element.h"

/* The largest value of an element, by the end that all elements have, or of a choice between such;
 * -1: it is another expression, or has no end. */
static int64_t element_most(neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  int64_t x;
  if (neo_expr_is_int(m, e, &x))
    return x;
  if (n.op == NEO_OP_CAST)
    return element_most(m, neo_list_expr(m, n.arg, 0));
  if (n.op == NEO_OP_SELECT) {
    int64_t a = element_most(m, neo_list_expr(m, n.arg, 1));
    int64_t b = element_most(m, neo_list_expr(m, n.arg, 2));
    return a < 0 || b < 0 ? -1 : a > b ? a : b;
  }
  if (n.op != NEO_OP_LOAD)
    return -1;
  neo_expr bound = neo_tensor_at(m, (neo_tensor){n.attr})->bound;
  neo_expr below = bound.i ? bound : neo_element_ends_of(m, e).limit;
  return below.i ? neo_extent_most(m, below) - 1 : -1;
}

int64_t neo_axis_most(neo_module *m, const neo_axis_rec *x) {
  int64_t n = neo_extent_most(m, x->hi), lo;
  bool from = neo_expr_is_int(m, x->lo, &lo);
  if (n < 0 && from) /* from a number on: it may be all that there is, unlike one of many lists */
    n = element_most(m, x->hi);
  if (n < 0)
    return 64; /* bounded by data: a guess */
  if (from)
    n -= lo;
  return n < 1 ? 1 : n;
}

static neo_expr usual_size(void *ctx, neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  (void)ctx;
  if (n->op != NEO_OP_SIZE || !neo_size_at(m, (neo_size){n->attr})->has_usual)
    return e;
  return neo_const_i64(m, neo_size_at(m, (neo_size){n->attr})->usual);
}

int64_t neo_axis_usual(neo_module *m, const neo_axis_rec *x) {
  neo_axis_rec y = *x;
  int64_t length = neo_list_length(m, x);
  if (length)
    return length;
  y.lo = neo_expr_rewrite(m, x->lo, usual_size, NULL);
  y.hi = neo_expr_rewrite(m, x->hi, usual_size, NULL);
  return neo_axis_most(m, &y);
}

typedef int64_t axis_length(neo_module *m, const neo_axis_rec *x);

static double points_of(neo_module *m, const neo_form *f, uint64_t axes, axis_length *length) {
  double n = 1;
  for (uint32_t k = 0; k < f->axes.n; k++)
    if (axes >> k & 1)
      n *= (double)length(m, &f->axes.at[k]);
  return n;
}

double neo_form_points(neo_module *m, const neo_form *f, uint64_t axes) {
  return points_of(m, f, axes, neo_axis_most);
}

double neo_form_usual_points(neo_module *m, const neo_form *f, uint64_t axes) {
  return points_of(m, f, axes, neo_axis_usual);
}

static double steps_of(neo_module *m, const neo_stage *s, uint32_t from, uint32_t to,
                       axis_length *length) {
  double n = 1;
  for (uint32_t k = from; k < to; k++)
    n *= (double)length(m, &s->axes.at[k]);
  return n;
}

double neo_stage_steps(neo_module *m, const neo_stage *s, uint32_t from, uint32_t to) {
  return steps_of(m, s, from, to, neo_axis_most);
}

double neo_stage_usual_steps(neo_module *m, const neo_stage *s) {
  return steps_of(m, s, 0, (uint32_t)s->axes.n, neo_axis_usual);
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

/* ---- the widest value */

typedef struct {
  neo_module *m;
  uint32_t bytes;
} widest;

static void widen(void *ctx, neo_expr e) {
  widest *w = ctx;
  const neo_node *n = neo_expr_node(w->m, e);
  if (n->op != NEO_OP_LOAD && n->op != NEO_OP_ACC && n->type != NEO_F64_T && n->type != NEO_F32_T)
    return;
  uint32_t bytes = neo_type_bytes((neo_type)n->type);
  if (n->type != NEO_I64_T && bytes > w->bytes)
    w->bytes = bytes;
}

static void widen_by_outs(widest *w, const neo_stage *s) {
  for (size_t k = 0; k < s->outs.n; k++) {
    uint32_t bytes = neo_type_bytes(neo_expr_type(w->m, s->outs.at[k].value));
    w->bytes = bytes > w->bytes ? bytes : w->bytes;
    neo_expr_visit(w->m, s->outs.at[k].value, widen, w);
  }
}

static void widen_by_accs(widest *w, const neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++) {
    uint32_t bytes = neo_type_bytes((neo_type)s->accs.at[k].type);
    bool index = s->accs.at[k].type == NEO_I64_T && k; /* an argmax's payload */
    w->bytes = bytes > w->bytes && !index ? bytes : w->bytes;
    neo_expr_visit(w->m, s->accs.at[k].body, widen, w);
  }
}

uint32_t neo_form_widest(neo_module *m, const neo_form *f) {
  widest w = {m, 1};
  for (size_t k = 0; k < f->stages.n; k++) {
    neo_expr_visit(m, f->stages.at[k].where, widen, &w);
    widen_by_accs(&w, &f->stages.at[k]);
    widen_by_outs(&w, &f->stages.at[k]);
  }
  return w.bytes;
}
