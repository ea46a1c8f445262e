/* Sums of products of two reads, or of one, whose indices move evenly along the innermost reduction
 * axis: most of the work of a network. Both reads step through memory, where the general way
 * evaluates every index anew. Values and bounds of errors are those of the general way. */
#include "ir/interp_parts.h"
#include <math.h>

/* Do the read's indices depend on the axis by multiples of it alone? */
static bool moves_evenly(neo_module *m, neo_expr load, uint32_t axis) {
  uint32_t n = neo_expr_node(m, load)->arg.n;
  neo_expr self = neo_axis_ref(m, axis);
  for (uint32_t k = 0; k < n; k++) {
    neo_linear l;
    neo_expr index = neo_expr_arg(m, load, k);
    if (!(neo_expr_axes(m, index) >> axis & 1))
      continue;
    if (!neo_linear_of(m, index, &l))
      return false;
    for (uint32_t i = 0; i < l.n; i++)
      if (l.term[i].atom.i != self.i && neo_expr_axes(m, l.term[i].atom) >> axis & 1)
        return false;
  }
  return true;
}

static bool is_float(neo_type t) {
  return t == NEO_F32_T || t == NEO_F64_T;
}

/* The reads that the body multiplies: one or two; 0 for another body. */
static uint32_t factors(neo_module *m, neo_expr body, neo_expr out[2]) {
  uint32_t n = neo_expr_node(m, body)->op == NEO_OP_MUL ? 2 : 1;
  for (uint32_t k = 0; k < n; k++) {
    out[k] = n == 2 ? neo_expr_arg(m, body, k) : body;
    if (neo_expr_node(m, out[k])->op != NEO_OP_LOAD)
      return 0;
  }
  return n;
}

void neo_frame_find_product(neo_frame *f) {
  const neo_def_rec *d = &f->d;
  uint32_t inner = d->axes.n - 1;
  neo_expr read[2];
  f->n_factors = 0;
  if (d->reducer != NEO_RED_SUM || d->where.i || d->axes.n <= d->n_out || inner >= 63)
    return;
  neo_expr body = neo_list_expr(f->m, d->body, 0);
  if (!is_float(neo_expr_type(f->m, body)) || f->m->math == NEO_PRECISION_3XTF32)
    return;
  uint32_t n = factors(f->m, body, read);
  for (uint32_t k = 0; k < n; k++) {
    uint64_t node = 0;
    if (!moves_evenly(f->m, read[k], inner))
      return;
    (void)neo_map_get(&f->index, read[k].i, &node);
    f->factor[k] = (uint32_t)node;
  }
  f->n_factors = n;
}

typedef struct { /* a read along the axis */
  const neo_value *at;
  const double *error; /* null: all 0 */
  int64_t step;
} stream;

/* Where the read is at the present values of the axes; -1: outside, or not certain. */
static int64_t place(neo_frame *f, uint32_t node) {
  double error = 0;
  int64_t at = neo_frame_offset(f, &f->node.at[node], &error);
  return error == 0 ? at : -1;
}

static double product_error(neo_type t, double x, double y, double v, double ex, double ey) {
  if (isinf(ex) || isinf(ey))
    return (double)INFINITY;
  if (!isfinite(v))
    return ex == 0 && ey == 0 ? 0 : (double)INFINITY;
  if (ex == 0 && ey == 0 && fma(x, y, -v) == 0)
    return 0;
  double carried = fabs(x) * ey + fabs(y) * ex + ex * ey;
  return 1.01 * carried + 2 * neo_error_unit(t) * fabs(v) + neo_error_least(t);
}

static void add_products(neo_accu *a, neo_type t, const stream s[2], int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    int64_t p = i * s[0].step, q = i * s[1].step;
    double x = s[0].at[p].f, y = s[1].at[q].f;
    double v = t == NEO_F32_T ? (double)(float)(x * y) : x * y, error = 0;
    if (a->track)
      error =
          product_error(t, x, y, v, s[0].error ? s[0].error[p] : 0, s[1].error ? s[1].error[q] : 0);
    neo_accu_sum(a, v, error);
  }
}

static void add_reads(neo_accu *a, const stream *s, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    neo_accu_sum(a, s->at[i * s->step].f, s->error ? s->error[i * s->step] : 0);
}

bool neo_frame_sum(neo_frame *f, neo_accu *a, uint32_t axis, int64_t lo, int64_t hi) {
  stream s[2];
  int64_t first[2];
  if (hi - lo < 2)
    return false;
  neo_frame_set_axis(f, axis, lo);
  for (uint32_t k = 0; k < f->n_factors; k++)
    if ((first[k] = place(f, f->factor[k])) < 0)
      return false;
  neo_frame_set_axis(f, axis, hi - 1);
  for (uint32_t k = 0; k < f->n_factors; k++) {
    const neo_interp_store *from = f->node.at[f->factor[k]].from;
    int64_t last = place(f, f->factor[k]);
    if (last < 0)
      return false;
    bool errors = f->env->track && from->error_valid;
    s[k] = (stream){from->v.at + first[k], errors ? from->error + first[k] : NULL,
                    (last - first[k]) / (hi - 1 - lo)};
  }
  if (f->n_factors == 2)
    add_products(a, (neo_type)f->node.at[f->body[0]].type, s, hi - lo);
  else
    add_reads(a, s, hi - lo);
  return true;
}
