/* Minimal filtering: where a sum slides along an output axis, a few outputs are made together, from
 * fewer products than outputs times taps.
 *
 *     Y[n, k, q] = sum[c, s: 3] F[k, c, s] * X[n, c, q + s]
 *     ->
 *     data.Y[t: 6, p, n, c] = sum[u: 6] B[t, u] * (X[n, c, 4*p + u] else 0)
 *     taps.Y[t: 6, k, c]    = sum[s: 3] G[t, s] * F[k, c, s]
 *     sums.Y[t: 6, p, n, k] = sum[c] taps.Y[t, k, c] * data.Y[t, p, n, c]
 *     Y[n, k, q]            = sum[t: 6] A[q % 4, t] * sums.Y[t, q/4, n, k]
 *
 * Six products of matrices take the place of twelve; the matrices A, B, G are constants (toom.h).
 * S. Winograd: Arithmetic complexity of computations, SIAM 1980; for convolutions of networks: A.
 * Lavin, S. Gray: Fast algorithms for convolutional neural networks, CVPR 2016. Here it is a
 * change of definitions before gradients are made: those of the three linear maps and of the
 * product follow by themselves and have the same savings, and which operator it is does not
 * matter.
 *
 * A stride divides the taps into phases, filters of stride 1 over every stride-th sample; taps that
 * a phase lacks are zeros of its G. All phases share the points, so that they are one more axis of
 * the product's sum, and their sums add up before the last map:
 *
 *     Y[q] = sum[s: 9] F[s] * X[2*q + s]
 *     ->
 *     data.Y[t: 9, p, h: 2] = sum[u: 9] B[t, u] * (X[10*p + 2*u + h] else 0)
 *     taps.Y[t: 9, h: 2]    = sum[s: 5] G[t, h, s] * (F[2*s + h] else 0)
 *     sums.Y[t: 9, p]       = sum[h: 2] taps.Y[t, h] * data.Y[t, p, h]          18 products for 45
 *
 * One direction is done, the one that costs least. Whether it pays is a matter of arithmetic saved
 * against elements of the three tensors that are written and read; thus few channels, filters that
 * are large against the batch, and single taps stay as they are. How many outputs go together is
 * part of the choice; the last ones may be more than there are, data beyond an end are zeros.
 *
 * Results are rounded differently. The loss is bounded: no matrices are used whose errors are more
 * than MOST_ERROR times those of the plain sum (neo_toom_error), and only sums of f32 and f64 whose
 * operands may not be rounded further are filtered. A datum that is not finite reaches all outputs
 * that are made with it. */
#include "transform/filter.h"
#include "ir/clone.h"
#include "ir/prove.h"
#include "transform/toom.h"
#include <math.h>
#include <string.h>

#define LEAST_GAIN 0.87 /* of the plain cost is paid for */

enum {
  MOST_AXES = 24,
  MOST_RANK = 14, /* of an operand; it gets two dimensions more */
  MOST_PHASES = 4,
  MOST_ERROR = 16,
  ELEMENT_COST = 64, /* of an element of the three tensors, in multiply-adds of the product */
};

/* An index stride*out + red + constant of the data, and where the taps have red. */
typedef struct {
  uint32_t out, red;
  uint32_t data_dim, taps_dim;
  int64_t stride, constant, outs, taps;
  uint32_t together; /* outputs that are made together */
  double cost;
} window;

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def def;
  neo_def_rec r;
  neo_type type;
  double extent[MOST_AXES]; /* as far as it is known */
  neo_expr data, taps;      /* reads */
  bool taps_first, always;
  window w;
  neo_toom toom;
} filtering;

static neo_tensor tensor_of(const filtering *x, neo_expr load) {
  return (neo_tensor){neo_expr_node(x->m, load)->attr};
}

static uint32_t rank_of(const filtering *x, neo_expr load) {
  return neo_tensor_rank(x->m, tensor_of(x, load));
}

/* Has the dimension one element, which every read is of? */
static bool is_single(const filtering *x, neo_expr load, uint32_t k) {
  int64_t n, at;
  return neo_expr_is_int(x->m, neo_tensor_extent(x->m, tensor_of(x, load), k), &n) && n == 1 &&
         (neo_expr_node(x->m, load)->op == NEO_OP_LOAD ||
          (neo_expr_is_int(x->m, neo_expr_arg(x->m, load, k), &at) && at == 0));
}

static int64_t groups_of(const window *w) {
  return (w->outs + w->together - 1) / w->together;
}

/* ---- the definition */

static bool is_zero(const neo_module *m, neo_expr e) {
  double x;
  return neo_expr_is_float(m, e, &x) && x == 0;
}

/* A read of floats of the sum's type, zero where there is nothing? */
static bool is_operand(const filtering *x, neo_expr e) {
  const neo_node *n = neo_expr_node(x->m, e);
  if (n->op != NEO_OP_LOAD && n->op != NEO_OP_LOAD_ELSE)
    return false;
  neo_tensor t = {n->attr};
  uint32_t rank = neo_tensor_rank(x->m, t);
  return neo_tensor_at(x->m, t)->type == x->type && rank <= MOST_RANK &&
         neo_tensor_at(x->m, t)->role != NEO_ROLE_COTANGENT &&
         (n->op == NEO_OP_LOAD || is_zero(x->m, neo_expr_arg(x->m, e, rank)));
}

static bool take_apart(filtering *x, neo_def d) {
  neo_module *m = x->m;
  x->def = d;
  x->r = *neo_def_at(m, d);
  if (x->r.reducer != NEO_RED_SUM || x->r.body.n != 1 || x->r.out.n != 1 || x->r.out_map.n ||
      x->r.where.i || x->r.axes.n > MOST_AXES - 1)
    return false;
  neo_list pieces = neo_tensor_at(m, (neo_tensor){neo_list_at(m, x->r.out, 0)})->pieces;
  neo_expr body = neo_list_expr(m, x->r.body, 0);
  x->type = neo_expr_type(m, body);
  return pieces.n == 1 && neo_list_at(m, pieces, 0) == d.i &&
         (x->type == NEO_F32_T || x->type == NEO_F64_T) &&
         neo_expr_node(m, body)->op == NEO_OP_MUL && is_operand(x, neo_expr_arg(m, body, 0)) &&
         is_operand(x, neo_expr_arg(m, body, 1));
}

/* What is not known of an extent is taken to lie in the middle of the decades it may be in. */
static double guess(filtering *x, neo_expr lo, neo_expr hi, const neo_facts *f) {
  int64_t least, most, unused;
  if (!neo_interval(x->prover, f, lo, &least, &unused) ||
      !neo_interval(x->prover, f, hi, &unused, &most))
    return 1;
  int64_t low, high;
  bool known = neo_interval(x->prover, f, hi, &low, &high) && low == high;
  double n = most > least ? (double)(most - least) : 1;
  return known ? n : sqrt(n);
}

/* Extents; false: some range depends on data or on other axes. */
static bool find_extents(filtering *x) {
  for (uint32_t k = 0; k < x->r.axes.n; k++) {
    const neo_axis_rec a = *neo_def_axis(x->m, &x->r, k);
    neo_facts none = {0};
    if (neo_expr_axes(x->m, a.lo) | neo_expr_axes(x->m, a.hi) ||
        neo_expr_uses_op(x->m, a.hi, NEO_OP_LOAD) || neo_expr_uses_op(x->m, a.lo, NEO_OP_LOAD))
      return false;
    x->extent[k] = guess(x, a.lo, a.hi, &none);
  }
  return true;
}

/* ---- windows */

static bool length_of(const filtering *x, uint32_t axis, int64_t *n) {
  const neo_axis_rec *a = neo_def_axis(x->m, &x->r, axis);
  int64_t lo;
  return neo_expr_is_int(x->m, a->lo, &lo) && lo == 0 && neo_expr_is_int(x->m, a->hi, n);
}

/* stride*out + red + constant? */
static bool is_window(filtering *x, neo_expr index, window *w) {
  neo_linear l;
  if (!neo_linear_of(x->m, index, &l) || l.n != 2)
    return false;
  int found = 0;
  for (uint32_t k = 0; k < 2; k++) {
    const neo_node *n = neo_expr_node(x->m, l.term[k].atom);
    if (n->op != NEO_OP_AXIS)
      return false;
    if (n->attr < x->r.n_out) {
      w->out = n->attr;
      w->stride = l.term[k].coef;
      found |= 1;
    } else if (l.term[k].coef == 1) {
      w->red = n->attr;
      found |= 2;
    }
  }
  w->constant = l.constant;
  return found == 3 && w->stride >= 1 && w->stride <= MOST_PHASES &&
         length_of(x, w->out, &w->outs) && length_of(x, w->red, &w->taps);
}

static uint64_t bit(uint32_t k) {
  return 1ull << k;
}

/* Is `dim` the only dimension of the read whose index uses one of these axes? */
static bool is_alone(const filtering *x, neo_expr load, uint32_t dim, uint64_t axes) {
  for (uint32_t k = 0, n = rank_of(x, load); k < n; k++)
    if (k != dim && neo_expr_axes(x->m, neo_expr_arg(x->m, load, k)) & axes)
      return false;
  return true;
}

/* Do the taps count along `red`, in one dimension, and not look at `out`? */
static bool find_taps(const filtering *x, window *w) {
  uint32_t n = rank_of(x, x->taps);
  neo_linear l;
  for (w->taps_dim = 0; w->taps_dim < n; w->taps_dim++)
    if (neo_expr_axes(x->m, neo_expr_arg(x->m, x->taps, w->taps_dim)) & bit(w->red))
      break;
  return w->taps_dim < n && !(neo_expr_axes(x->m, x->taps) & bit(w->out)) &&
         is_alone(x, x->taps, w->taps_dim, bit(w->red)) &&
         neo_linear_of(x->m, neo_expr_arg(x->m, x->taps, w->taps_dim), &l) && l.n == 1 &&
         neo_expr_node(x->m, l.term[0].atom)->op == NEO_OP_AXIS && l.term[0].coef == 1;
}

/* ---- does it pay? */

static double elements_of(filtering *x, neo_expr load, uint32_t but) {
  double n = 1;
  neo_facts none = {0};
  for (uint32_t k = 0, rank = rank_of(x, load); k < rank; k++)
    n *= k == but ? 1
                  : guess(x, neo_const_int(x->m, NEO_I64_T, 0),
                          neo_tensor_extent(x->m, tensor_of(x, load), k), &none);
  return n;
}

static double cost_of(filtering *x, const window *w, const neo_toom *toom) {
  double points = 1, steps = 1, groups = (double)groups_of(w), n = toom->n;
  for (uint32_t k = 0; k < x->r.axes.n; k++)
    *(k < x->r.n_out ? &points : &steps) *= k == w->out || k == w->red ? 1 : x->extent[k];
  double sums = points * groups * n, phases = (double)w->stride;
  double data = elements_of(x, x->data, w->data_dim) * groups * n * phases;
  double taps = elements_of(x, x->taps, w->taps_dim) * n * phases;
  double moved = x->always ? 0 : ELEMENT_COST * (sums + data + taps);
  return sums * steps * phases + moved;
}

static double plain_cost(const filtering *x) {
  double n = 1;
  for (uint32_t k = 0; k < x->r.axes.n; k++)
    n *= x->extent[k];
  return n;
}

/* The best number of outputs to make together; false: nothing of use. */
static bool choose_together(filtering *x, window w) {
  bool found = false;
  uint32_t k = (uint32_t)((w.taps + w.stride - 1) / w.stride);
  for (w.together = 2; w.together <= w.outs; w.together++) {
    neo_toom toom;
    if (!neo_toom_of(w.together, k, &toom))
      break;
    if (neo_toom_error(&toom) > MOST_ERROR)
      continue;
    w.cost = cost_of(x, &w, &toom);
    if (w.cost >= x->w.cost)
      continue;
    x->w = w;
    x->toom = toom;
    found = true;
  }
  return found;
}

/* Windows of these reads, in any direction. */
static bool find_window(filtering *x) {
  bool found = false;
  for (uint32_t k = 0, n = rank_of(x, x->data); k < n; k++) {
    window w = {.data_dim = k};
    if (is_window(x, neo_expr_arg(x->m, x->data, k), &w) && w.taps <= NEO_TOOM_MOST * w.stride &&
        is_alone(x, x->data, k, bit(w.out) | bit(w.red)) && find_taps(x, &w))
      found = choose_together(x, w) || found;
  }
  return found;
}

static bool choose(filtering *x) {
  neo_expr body = neo_list_expr(x->m, x->r.body, 0);
  filtering best = *x;
  bool found = false;
  best.w.cost = x->always ? (double)INFINITY : LEAST_GAIN * plain_cost(x);
  for (uint32_t k = 0; k < 2; k++) {
    filtering one = best;
    one.taps_first = k == 0;
    one.taps = neo_expr_arg(x->m, body, k);
    one.data = neo_expr_arg(x->m, body, 1 - k);
    if (find_window(&one)) {
      best = one;
      found = true;
    }
  }
  *x = best;
  return found;
}

/* ---- constants */

typedef struct {
  uint32_t extent[3], rank;
  double at[NEO_TOOM_MOST * MOST_PHASES * NEO_TOOM_MOST];
} matrix;

static bool is_matrix(const neo_module *m, const neo_tensor_rec *t, const matrix *a, neo_type type,
                      const void *data, size_t bytes) {
  if (t->role != NEO_ROLE_CONST || t->type != type || t->extent.n != a->rank ||
      t->n_data_bytes != bytes || memcmp(t->data, data, bytes) != 0)
    return false;
  for (uint32_t k = 0; k < a->rank; k++) {
    int64_t n;
    if (!neo_expr_is_int(m, neo_list_expr(m, t->extent, k), &n) || n != a->extent[k])
      return false;
  }
  return true;
}

/* The constant tensor of these elements, one for all that need it. */
static neo_tensor constant_of(const filtering *x, const char *name, const matrix *a) {
  neo_module *m = x->m;
  size_t n = 1, size = neo_type_bytes(x->type);
  uint32_t extent[3];
  for (uint32_t k = 0; k < a->rank; k++) {
    n *= a->extent[k];
    extent[k] = neo_const_int(m, NEO_I64_T, a->extent[k]).i;
  }
  char *data = neo_arena_alloc(m->arena, n * size);
  for (size_t k = 0; k < n; k++) {
    float single = (float)a->at[k];
    memcpy(data + k * size, x->type == NEO_F32_T ? (void *)&single : (void *)&a->at[k], size);
  }
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (is_matrix(m, &m->tensors.at[t], a, x->type, data, n * size))
      return (neo_tensor){t};
  neo_tensor_rec r = {.role = NEO_ROLE_CONST,
                      .type = (uint8_t)x->type,
                      .span = x->r.span,
                      .data = data,
                      .n_data_bytes = n * size};
  r.name = neo_tensor_fresh_name(m, "filter", name);
  r.extent = neo_list_new(m, extent, a->rank);
  return neo_tensor_add(m, r);
}

static neo_tensor data_matrix(const filtering *x) {
  uint32_t n = x->toom.n;
  matrix a = {.extent = {n, n}, .rank = 2};
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t u = 0; u < n; u++)
      a.at[t * n + u] = x->toom.data[t][u];
  return constant_of(x, "data", &a);
}

static neo_tensor sums_matrix(const filtering *x) {
  uint32_t n = x->toom.n, m = x->toom.m;
  matrix a = {.extent = {m, n}, .rank = 2};
  for (uint32_t i = 0; i < m; i++)
    for (uint32_t t = 0; t < n; t++)
      a.at[i * n + t] = x->toom.sums[i][t];
  return constant_of(x, "sums", &a);
}

/* By point, phase and tap of the phase; without phases by point and tap. */
static neo_tensor taps_matrix(const filtering *x) {
  uint32_t n = x->toom.n, k = x->toom.k, phases = (uint32_t)x->w.stride;
  matrix a = {.extent = {n, phases, k}, .rank = 3};
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t h = 0; h < phases; h++)
      for (uint32_t s = 0; s < k; s++)
        a.at[(t * phases + h) * k + s] =
            (int64_t)(s * phases + h) < x->w.taps ? x->toom.taps[t][s] : 0;
  if (phases == 1) {
    a.extent[1] = k;
    a.rank = 2;
  }
  return constant_of(x, "taps", &a);
}

/* ---- writing definitions: axes and extents one after the other */

typedef struct {
  const filtering *x;
  neo_axis_rec axis[MOST_AXES + 4];
  uint32_t n;
} writing;

static neo_expr int_of(const filtering *x, int64_t v) {
  return neo_const_int(x->m, NEO_I64_T, v);
}

static neo_expr sum_of(const filtering *x, neo_expr a, neo_expr b) {
  return neo_op2(x->m, NEO_OP_ADD, a, b);
}

static neo_expr times(const filtering *x, neo_expr a, int64_t by) {
  return neo_op2(x->m, NEO_OP_MUL, a, int_of(x, by));
}

static neo_expr add_axis(writing *y, neo_axis_rec a) {
  y->axis[y->n] = a;
  return neo_axis_ref(y->x->m, y->n++);
}

static neo_expr new_axis(writing *y, const char *name, neo_expr extent) {
  return add_axis(y, (neo_axis_rec){.name = neo_name_of(y->x->m->names, name),
                                    .lo = int_of(y->x, 0),
                                    .hi = extent,
                                    .span = y->x->r.span});
}

/* The phase's axis, or 0 where there is one phase. */
static neo_expr phase_axis(writing *y) {
  return y->x->w.stride > 1 ? new_axis(y, "h", int_of(y->x, y->x->w.stride)) : (neo_expr){0};
}

static neo_list axes_of(const writing *y) {
  uint32_t ids[MOST_AXES + 4];
  for (uint32_t k = 0; k < y->n; k++)
    ids[k] = neo_axis_add(y->x->m, y->axis[k]).i;
  return neo_list_new(y->x->m, ids, y->n);
}

/* The sum of `body` over the axes from n_out on, as a new tensor over those before. */
static neo_tensor define(const writing *y, const char *prefix, uint32_t n_out, neo_expr body) {
  neo_module *m = y->x->m;
  const filtering *x = y->x;
  uint32_t extent[MOST_AXES + 4];
  neo_tensor of = {neo_list_at(m, x->r.out, 0)};
  for (uint32_t k = 0; k < n_out; k++)
    extent[k] = y->axis[k].hi.i;
  neo_tensor_rec t = {.role = NEO_ROLE_TEMP, .type = (uint8_t)x->type, .span = x->r.span};
  t.name = neo_tensor_fresh_name(m, prefix, neo_name_text(m->names, neo_tensor_at(m, of)->name));
  t.extent = neo_list_new(m, extent, n_out);
  neo_tensor made = neo_tensor_add(m, t);
  neo_def_rec r = {.reducer = NEO_RED_SUM, .n_out = n_out, .span = x->r.span};
  r.origin = x->r.origin ? x->r.origin : x->def.i;
  r.axes = axes_of(y);
  r.body = neo_list_new(m, &body.i, 1);
  r.finish = neo_list_new(m, &(uint32_t){neo_acc_ref(m, x->type, 0).i}, 1);
  r.out = neo_list_new(m, &made.i, 1);
  neo_def_add(m, r, true);
  return made;
}

static neo_expr read_else_zero(const filtering *x, neo_expr like, const neo_expr *index) {
  return neo_load_else(x->m, tensor_of(x, like), index, rank_of(x, like),
                       neo_const_int(x->m, x->type, 0), x->r.span);
}

/* An axis over dimension k of the tensor that is read; dimensions of one element have none. */
static neo_expr dimension_axis(writing *y, neo_expr load, uint32_t k) {
  neo_expr extent = neo_tensor_extent(y->x->m, tensor_of(y->x, load), k);
  return is_single(y->x, load, k) ? int_of(y->x, 0) : new_axis(y, "i", extent);
}

/* The groups' axis, in front of all but t, so that dimensions stay neighbours; 0 of one group. */
static neo_expr group_axis(writing *y) {
  int64_t n = groups_of(&y->x->w);
  return n > 1 ? new_axis(y, "p", int_of(y->x, n)) : (neo_expr){0};
}

/* data.Y[t, p, h, ..] */
static neo_tensor define_data(const filtering *x) {
  writing y = {.x = x};
  neo_expr index[MOST_RANK], at = int_of(x, x->w.constant);
  neo_expr t = new_axis(&y, "t", int_of(x, x->toom.n));
  neo_expr group = group_axis(&y), phase = phase_axis(&y);
  for (uint32_t k = 0, n = rank_of(x, x->data); k < n; k++)
    if (k != x->w.data_dim)
      index[k] = dimension_axis(&y, x->data, k);
  uint32_t n_out = y.n;
  neo_expr u = new_axis(&y, "u", int_of(x, x->toom.n));
  at = sum_of(x, at, times(x, u, x->w.stride));
  if (group.i)
    at = sum_of(x, at, times(x, group, x->w.stride * x->w.together));
  if (phase.i)
    at = sum_of(x, at, phase);
  index[x->w.data_dim] = at;
  neo_expr b = neo_load(x->m, data_matrix(x), (neo_expr[]){t, u}, 2, x->r.span);
  neo_expr body = neo_op2(x->m, NEO_OP_MUL, b, read_else_zero(x, x->data, index));
  return define(&y, "data", n_out, body);
}

/* taps.Y[t, h, ..] */
static neo_tensor define_taps(const filtering *x) {
  writing y = {.x = x};
  neo_expr index[MOST_RANK], by[MOST_AXES] = {{0}};
  neo_expr t = new_axis(&y, "t", int_of(x, x->toom.n)), phase = phase_axis(&y);
  for (uint32_t k = 0, n = rank_of(x, x->taps); k < n; k++)
    if (k != x->w.taps_dim)
      index[k] = dimension_axis(&y, x->taps, k);
  uint32_t n_out = y.n;
  neo_expr s = new_axis(&y, "s", int_of(x, x->toom.k)), at = times(x, s, x->w.stride);
  by[x->w.red] = phase.i ? sum_of(x, at, phase) : at;
  neo_expr own = neo_expr_arg(x->m, x->taps, x->w.taps_dim);
  index[x->w.taps_dim] = neo_expr_subst_axes(x->m, own, by, x->r.axes.n);
  neo_expr where[] = {t, phase.i ? phase : s, s};
  neo_expr g = neo_load(x->m, taps_matrix(x), where, phase.i ? 3 : 2, x->r.span);
  neo_expr body = neo_op2(x->m, NEO_OP_MUL, g, read_else_zero(x, x->taps, index));
  return define(&y, "taps", n_out, body);
}

/* The read of `load` as one of `to`, which has the dimensions of `first` (0: none) in front instead
 * of dimension `dim`. */
static neo_expr read_of(const filtering *x, neo_expr load, neo_tensor to, uint32_t dim,
                        const neo_expr *by, const neo_expr *first) {
  neo_module *m = x->m;
  neo_expr index[MOST_RANK + 3];
  uint32_t n = 0, rank = rank_of(x, load);
  for (uint32_t k = 0; k < 3; k++)
    if (first[k].i)
      index[n++] = first[k];
  for (uint32_t k = 0; k < rank; k++)
    if (k != dim && !is_single(x, load, k))
      index[n++] = neo_expr_subst_axes(m, neo_expr_arg(m, load, k), by, x->r.axes.n);
  if (neo_expr_node(m, load)->op == NEO_OP_LOAD)
    return neo_load(m, to, index, n, x->r.span);
  return neo_load_else(m, to, index, n, neo_const_int(m, x->type, 0), x->r.span);
}

/* sums.Y[t, p, ..] */
static neo_tensor define_sums(const filtering *x, neo_tensor data, neo_tensor taps) {
  writing y = {.x = x};
  neo_expr by[MOST_AXES] = {{0}}, phase = {0};
  neo_expr t = new_axis(&y, "t", int_of(x, x->toom.n)), group = group_axis(&y);
  uint32_t n_out = 0;
  for (uint32_t k = 0; k < x->r.axes.n; k++) {
    if (k == x->r.n_out)
      n_out = y.n;
    if (k == x->w.red)
      phase = phase_axis(&y);
    else if (k != x->w.out)
      by[k] = add_axis(&y, *neo_def_axis(x->m, &x->r, k));
  }
  neo_expr a = read_of(x, x->data, data, x->w.data_dim, by, (neo_expr[]){t, group, phase});
  neo_expr b = read_of(x, x->taps, taps, x->w.taps_dim, by, (neo_expr[3]){t, phase});
  neo_expr body = neo_op2(x->m, NEO_OP_MUL, x->taps_first ? b : a, x->taps_first ? a : b);
  return define(&y, "sums", n_out, body);
}

/* The definition puts the outputs together. */
static void put_together(const filtering *x, neo_tensor sums) {
  neo_module *m = x->m;
  neo_def_rec r = x->r;
  writing y = {.x = x};
  neo_expr index[MOST_AXES], q = neo_axis_ref(m, x->w.out), by = int_of(x, x->w.together);
  uint32_t n = groups_of(&x->w) > 1 ? 2 : 1;
  for (uint32_t k = 0; k < r.n_out; k++) {
    neo_expr axis = add_axis(&y, *neo_def_axis(m, &r, k));
    if (k != x->w.out)
      index[n++] = axis;
  }
  index[1] = groups_of(&x->w) > 1 ? neo_op2(m, NEO_OP_DIV, q, by) : index[1];
  neo_expr t = index[0] = new_axis(&y, "t", int_of(x, x->toom.n));
  neo_expr where[] = {neo_op2(m, NEO_OP_MOD, q, by), t};
  neo_expr a = neo_load(m, sums_matrix(x), where, 2, r.span);
  neo_expr body = neo_op2(m, NEO_OP_MUL, a, neo_load(m, sums, index, n, r.span));
  r.axes = axes_of(&y);
  r.body = neo_list_new(m, &body.i, 1);
  *neo_def_at(m, x->def) = r;
}

neo_status neo_filter(neo_module *m, bool always) {
  neo_prover *p = neo_prover_new(m);
  bool exact = m->math == NEO_PRECISION_F32 || m->math == NEO_PRECISION_3XTF32;
  bool plain = exact && m->store == NEO_PRECISION_F32;
  for (uint32_t k = 1, n = (uint32_t)m->defs.n; k < n && plain; k++) {
    filtering x = {.m = m, .prover = p, .always = always};
    neo_prover_at(p, m->defs.at[k].span);
    if (!take_apart(&x, (neo_def){k}) || !find_extents(&x) || !choose(&x))
      continue;
    neo_tensor data = define_data(&x), taps = define_taps(&x);
    put_together(&x, define_sums(&x, data, taps));
  }
  neo_prover_free(p);
  return NEO_OK;
}

neo_status neo_pass_filter(neo_module *m) {
  return neo_filter(m, false);
}
