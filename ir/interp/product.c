/* Fast path for sums of products of two reads, or of one read, whose indices advance by a constant
 * step along the innermost reduction axis: most of the work of a network. Both reads step through
 * memory; the general evaluator would compute every index anew. A read may be converted or rounded
 * before it is multiplied. Values and error bounds are the same as in the general evaluator. */
#include "ir/interp/parts.h"
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

/* The read that is converted and rounded to e, at most NEO_FACTOR_MAPS times; 0: another. */
static neo_expr read_of(neo_module *m, neo_expr e) {
  for (int k = 0; k <= NEO_FACTOR_MAPS; k++) {
    const neo_node *n = neo_expr_node(m, e);
    if (n->op == NEO_OP_LOAD)
      return e;
    if ((n->op != NEO_OP_CAST && n->op != NEO_OP_TF32) || !neo_type_is_float((neo_type)n->type))
      break;
    e = neo_expr_arg(m, e, 0);
    if (!neo_type_is_float(neo_expr_type(m, e)))
      break;
  }
  return (neo_expr){0};
}

/* The factors of the body: one or two; 0 for another body. */
static uint32_t factors(neo_module *m, neo_expr body, neo_expr out[2]) {
  uint32_t n = neo_expr_node(m, body)->op == NEO_OP_MUL ? 2 : 1;
  for (uint32_t k = 0; k < n; k++) {
    out[k] = n == 2 ? neo_expr_arg(m, body, k) : body;
    if (!read_of(m, out[k]).i)
      return 0;
  }
  return n;
}

void neo_interp_frame_find_product(neo_interp_frame *f) {
  const neo_def_rec *d = &f->d;
  uint32_t inner = d->axes.n - 1;
  neo_expr factor[2];
  f->n_factors = 0;
  if (d->reducer != NEO_RED_SUM || d->where.i || d->axes.n <= d->n_out || inner >= 63)
    return;
  neo_expr body = neo_list_expr(f->m, d->body, 0);
  if (!is_float(neo_expr_type(f->m, body)))
    return;
  uint32_t n = factors(f->m, body, factor);
  for (uint32_t k = 0; k < n; k++) {
    uint64_t node = 0;
    if (!moves_evenly(f->m, read_of(f->m, factor[k]), inner))
      return;
    (void)neo_map_get(&f->index, factor[k].i, &node);
    f->factor[k] = (uint32_t)node;
  }
  f->n_factors = n;
}

typedef struct { /* a factor along the axis: a read, then its conversions, in reverse order */
  const neo_value *at;
  const double *error; /* null: all 0 */
  int64_t step;
  const neo_inode *map[NEO_FACTOR_MAPS];
  uint32_t n_maps;
} stream;

/* Returns the factor's read; the conversions that follow it go to *s. */
static const neo_inode *find_read(const neo_interp_frame *f, uint32_t factor, stream *s) {
  const neo_inode *n = &f->node.at[factor];
  for (s->n_maps = 0; n->op != NEO_OP_LOAD; n = &f->node.at[n->arg[0]])
    s->map[s->n_maps++] = n;
  return n;
}

/* The row-major offset of the element read at the present values of the axes; -1: outside, or not
 * certain. */
static int64_t place(neo_interp_frame *f, const neo_inode *load) {
  double error = 0;
  int64_t at = neo_interp_frame_offset(f, load, &error);
  return error == 0 ? at : -1;
}

/* Does a conversion leave values as they are, and errors that are 0? */
static bool widens(const neo_inode *n) {
  return n->op == NEO_OP_CAST && is_float((neo_type)n->type) &&
         neo_error_unit((neo_type)n->type) <= neo_error_unit((neo_type)n->arg_type);
}

static double element(const stream *s, int64_t i, bool track, double *error) {
  neo_value x = s->at[i * s->step];
  *error = track && s->error ? s->error[i * s->step] : 0;
  for (uint32_t k = s->n_maps; k-- > 0;) {
    const neo_inode *n = s->map[k];
    if (*error == 0 && widens(n))
      continue;
    neo_value y = neo_value_op((neo_op)n->op, (neo_type)n->type, (neo_type)n->arg_type, &x);
    if (track)
      *error = neo_error_op((neo_op)n->op, (neo_type)n->type, (neo_type)n->arg_type, &x, error, y);
    x = y;
  }
  return x.f;
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

/* split: products may be made of three products of tf32. */
static void add_products(neo_accu *a, neo_type t, bool split, const stream s[2], int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double e[2], x = element(&s[0], i, a->track, &e[0]), y = element(&s[1], i, a->track, &e[1]);
    double v = t == NEO_F32_T ? (double)(float)(x * y) : x * y, error = 0;
    if (a->track)
      error = product_error(t, x, y, v, e[0], e[1]);
    if (a->track && split)
      error += neo_error_split((const neo_value[]){{.f = x}, {.f = y}}, v);
    neo_accu_sum(a, v, error);
  }
}

static void add_reads(neo_accu *a, const stream *s, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    double error, x = element(s, i, a->track, &error);
    neo_accu_sum(a, x, error);
  }
}

/* Whether each cell of the stream holds its own element. If not, the general evaluator finds the
 * one that does not. */
static bool all_hold(const neo_interp_cells *c, int64_t first, int64_t step, int64_t n) {
  bool all = !c->where;
  for (int64_t i = 0; i < n && all; i++)
    all = c->holds[first + i * step] == first + i * step + 1;
  return all;
}

bool neo_interp_frame_sum(neo_interp_frame *f, neo_accu *a, uint32_t axis, int64_t lo, int64_t hi) {
  stream s[2];
  const neo_inode *load[2];
  int64_t first[2];
  if (hi - lo < 2)
    return false;
  neo_interp_frame_set_axis(f, axis, lo);
  for (uint32_t k = 0; k < f->n_factors; k++) {
    load[k] = find_read(f, f->factor[k], &s[k]);
    if ((first[k] = place(f, load[k])) < 0)
      return false;
  }
  neo_interp_frame_set_axis(f, axis, hi - 1);
  for (uint32_t k = 0; k < f->n_factors; k++) {
    const neo_interp_store *from = load[k]->from;
    int64_t last = place(f, load[k]);
    if (last < 0)
      return false;
    bool errors = f->env->track && from->error_valid;
    s[k].at = from->v.at + first[k];
    s[k].error = errors ? from->error + first[k] : NULL;
    s[k].step = (last - first[k]) / (hi - 1 - lo);
    if (from->cells && !all_hold(from->cells, first[k], s[k].step, hi - lo))
      return false;
  }
  neo_type t = (neo_type)f->node.at[f->body[0]].type;
  if (f->n_factors == 2)
    add_products(a, t, f->m->math == NEO_PRECISION_3XTF32 && t == NEO_F32_T, s, hi - lo);
  else
    add_reads(a, s, hi - lo);
  return true;
}
