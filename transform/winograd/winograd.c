/* Minimal filtering (Winograd): neighbouring outputs of a sum that slides along an output axis are
 * computed together, from fewer products than outputs times taps.
 *
 *     Y[n, k, q] = sum[c, s: 3] F[k, c, s] * X[n, c, q + s]
 *     ->
 *     data.Y[t: 6, p, n, c] = sum[u: 6] B[t, u] * (X[n, c, 4*p + u] else 0)
 *     taps.Y[t: 6, k, c]    = sum[s: 3] G[t, s] * F[k, c, s]
 *     sums.Y[t: 6, p, n, k] = sum[c] taps.Y[t, k, c] * data.Y[t, p, n, c]
 *     Y[n, k, q]            = sum[t: 6] A[q % 4, t] * sums.Y[t, q/4, n, k]
 *
 * Six products of matrices replace twelve; A, B, G are constants (toom.h). S. Winograd: Arithmetic
 * complexity of computations, SIAM 1980; for convolutions of networks: A. Lavin, S. Gray: Fast
 * algorithms for convolutional neural networks, CVPR 2016. The pass rewrites definitions before
 * autodiff, so gradients of the three linear maps and of the product have the same savings, and no
 * operator is known by name.
 *
 * A stride divides the taps into phases: filters of stride 1 over every stride-th sample, with
 * zeros in G for missing taps. All phases share the points, so they are one more axis of the
 * product's sum, added up before the last map:
 *
 *     Y[q] = sum[s: 9] F[s] * X[2*q + s]
 *     ->
 *     data.Y[t: 9, p, h: 2] = sum[u: 9] B[t, u] * (X[10*p + 2*u + h] else 0)
 *     taps.Y[t: 9, h: 2]    = sum[s: 5] G[t, h, s] * (F[2*s + h] else 0)
 *     sums.Y[t: 9, p]       = sum[h: 2] taps.Y[t, h] * data.Y[t, p, h]          18 products for 45
 *
 * sums.Y still slides along the other directions of an image and is filtered again; savings
 * multiply. Maps of one direction at a time add their arithmetic, where one map for all directions
 * would multiply it, and each reads contiguous data.
 *
 * choose.c chooses directions and outputs for each, by arithmetic saved against elements
 * of new tensors; few channels, filters that are large against the batch, and single taps stay. The
 * last outputs may be beyond the end; data there are zeros.
 *
 * Results are rounded differently. The loss is bounded, and only sums of f32 and f64 whose operands
 * may not be rounded further are filtered. A datum that is not finite reaches all outputs computed
 * with it. */
#include "transform/winograd/winograd.h"
#include "ir/clone.h"
#include "ir/component.h"
#include "ir/define.h"
#include "transform/winograd/parts.h"
#include <string.h>

/* ---- the definition */

/* Is it a read of floats of the sum's type, zero outside? */
static bool is_operand(const neo_winograd_sum *x, neo_expr e) {
  const neo_node *n = neo_expr_node(x->m, e);
  if (!neo_node_is_load(n))
    return false;
  neo_tensor t = {n->attr};
  uint32_t rank = neo_tensor_rank(x->m, t);
  return neo_tensor_at(x->m, t)->type == x->type && rank <= NEO_WINOGRAD_RANK &&
         neo_tensor_at(x->m, t)->role != NEO_ROLE_COTANGENT &&
         (n->op == NEO_OP_LOAD || neo_expr_is_zero(x->m, neo_expr_arg(x->m, e, rank)));
}

static bool match(neo_winograd_sum *x, neo_def d) {
  neo_module *m = x->m;
  x->def = d;
  x->r = *neo_def_at(m, d);
  if (x->r.reducer != NEO_RED_SUM || x->r.body.n != 1 || x->r.out.n != 1 || x->r.out_map.n ||
      x->r.where.i || x->r.axes.n > NEO_WINOGRAD_AXES - 1)
    return false;
  neo_list pieces = neo_tensor_at(m, neo_list_tensor(m, x->r.out, 0))->pieces;
  neo_expr body = neo_list_expr(m, x->r.body, 0);
  x->type = neo_expr_type(m, body);
  return pieces.n == 1 && neo_list_at(m, pieces, 0) == d.i &&
         (x->type == NEO_F32_T || x->type == NEO_F64_T) &&
         neo_expr_node(m, body)->op == NEO_OP_MUL && is_operand(x, neo_expr_arg(m, body, 0)) &&
         is_operand(x, neo_expr_arg(m, body, 1));
}

/* ---- constants */

typedef struct {
  uint32_t extent[3], rank;
  double at[NEO_TOOM_MOST * NEO_WINOGRAD_PHASES * NEO_TOOM_MOST];
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

/* The constant tensor of these elements, shared by all users. */
static neo_tensor constant_of(const neo_winograd_sum *x, const char *name, const matrix *a) {
  neo_module *m = x->m;
  size_t n = 1, size = neo_type_bytes(x->type);
  uint32_t extent[3];
  for (uint32_t k = 0; k < a->rank; k++) {
    n *= a->extent[k];
    extent[k] = neo_const_i64(m, a->extent[k]).i;
  }
  char *data = neo_arena_alloc(m->arena, n * size);
  for (size_t k = 0; k < n; k++) {
    float narrow = (float)a->at[k];
    memcpy(data + k * size, x->type == NEO_F32_T ? (void *)&narrow : (void *)&a->at[k], size);
  }
  for (uint32_t t = 1; t < m->tensors.n; t++)
    if (is_matrix(m, &m->tensors.at[t], a, x->type, data, n * size))
      return (neo_tensor){t};
  neo_tensor_rec r = {.role = NEO_ROLE_CONST,
                      .type = (uint8_t)x->type,
                      .span = x->r.span,
                      .data = data,
                      .n_data_bytes = n * size};
  r.name = neo_tensor_fresh_name(m, "winograd", name);
  r.extent = neo_list_new(m, extent, a->rank);
  return neo_tensor_add(m, r);
}

static neo_tensor data_matrix(const neo_winograd_sum *x) {
  uint32_t n = x->w.toom.n;
  matrix a = {.extent = {n, n}, .rank = 2};
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t u = 0; u < n; u++)
      a.at[t * n + u] = x->w.toom.data[t][u];
  return constant_of(x, "data", &a);
}

static neo_tensor sums_matrix(const neo_winograd_sum *x) {
  uint32_t n = x->w.toom.n, m = x->w.toom.m;
  matrix a = {.extent = {m, n}, .rank = 2};
  for (uint32_t i = 0; i < m; i++)
    for (uint32_t t = 0; t < n; t++)
      a.at[i * n + t] = x->w.toom.sums[i][t];
  return constant_of(x, "sums", &a);
}

/* Indexed by point, phase and tap of the phase; without phases by point and tap. */
static neo_tensor taps_matrix(const neo_winograd_sum *x) {
  uint32_t n = x->w.toom.n, k = x->w.toom.k, phases = (uint32_t)x->w.stride;
  matrix a = {.extent = {n, phases, k}, .rank = 3};
  for (uint32_t t = 0; t < n; t++)
    for (uint32_t h = 0; h < phases; h++)
      for (uint32_t s = 0; s < k; s++)
        a.at[(t * phases + h) * k + s] =
            (int64_t)(s * phases + h) < x->w.taps ? x->w.toom.taps[t][s] : 0;
  if (phases == 1) {
    a.extent[1] = k;
    a.rank = 2;
  }
  return constant_of(x, "taps", &a);
}

/* ---- writing definitions: axes and extents in order */

typedef struct {
  const neo_winograd_sum *x;
  neo_axis_rec axis[NEO_WINOGRAD_AXES + 4];
  uint32_t n;
} writing;

static neo_expr int_of(const neo_winograd_sum *x, int64_t v) {
  return neo_const_i64(x->m, v);
}

static neo_expr sum_of(const neo_winograd_sum *x, neo_expr a, neo_expr b) {
  return neo_op2(x->m, NEO_OP_ADD, a, b);
}

static neo_expr times(const neo_winograd_sum *x, neo_expr a, int64_t by) {
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

/* The axis of the phase, or 0 if there is one phase. */
static neo_expr phase_axis(writing *y) {
  return y->x->w.stride > 1 ? new_axis(y, "h", int_of(y->x, y->x->w.stride)) : (neo_expr){0};
}

static neo_list axes_of(const writing *y) {
  uint32_t ids[NEO_WINOGRAD_AXES + 4];
  for (uint32_t k = 0; k < y->n; k++)
    ids[k] = neo_axis_add(y->x->m, y->axis[k]).i;
  return neo_list_new(y->x->m, ids, y->n);
}

/* Defines the sum of `body` over the axes from n_out on, as a new tensor over those before. */
static neo_tensor define(const writing *y, const char *prefix, uint32_t n_out, neo_expr body) {
  neo_partial p = {.prefix = prefix, .of = y->x->def, .reducer = NEO_RED_SUM, .n_out = n_out};
  p.axes = axes_of(y);
  p.body = body;
  return neo_partial_define(y->x->m, &p);
}

static neo_expr read_else_zero(const neo_winograd_sum *x, neo_expr like, const neo_expr *index) {
  return neo_load_else(x->m, neo_winograd_tensor(x, like), index, neo_winograd_rank(x, like),
                       neo_const_int(x->m, x->type, 0), x->r.span);
}

/* Has dimension k of the read's tensor one element, which every read is of? */
static bool winograd_is_unit(const neo_winograd_sum *x, neo_expr load, uint32_t k) {
  int64_t n, at;
  return neo_expr_is_int(x->m, neo_tensor_extent(x->m, neo_winograd_tensor(x, load), k), &n) &&
         n == 1 &&
         (neo_expr_node(x->m, load)->op == NEO_OP_LOAD ||
          (neo_expr_is_int(x->m, neo_expr_arg(x->m, load, k), &at) && at == 0));
}

/* Adds an axis over dimension k of the read tensor, unless it has one element. */
static neo_expr dimension_axis(writing *y, neo_expr load, uint32_t k) {
  neo_expr extent = neo_tensor_extent(y->x->m, neo_winograd_tensor(y->x, load), k);
  return winograd_is_unit(y->x, load, k) ? int_of(y->x, 0) : new_axis(y, "i", extent);
}

/* Adds the axis of groups after t, so that dimensions stay neighbours; 0 if there is one group. */
static neo_expr group_axis(writing *y) {
  int64_t n = neo_winograd_groups(&y->x->w);
  return n > 1 ? new_axis(y, "p", int_of(y->x, n)) : (neo_expr){0};
}

/* data.Y[t, p, h, ..] */
static neo_tensor define_data(const neo_winograd_sum *x) {
  writing y = {.x = x};
  neo_expr index[NEO_WINOGRAD_RANK], at = int_of(x, x->w.constant);
  neo_expr t = new_axis(&y, "t", int_of(x, x->w.toom.n));
  neo_expr group = group_axis(&y), phase = phase_axis(&y);
  for (uint32_t k = 0, n = neo_winograd_rank(x, x->data); k < n; k++)
    if (k != x->w.data_dim)
      index[k] = dimension_axis(&y, x->data, k);
  uint32_t n_out = y.n;
  neo_expr u = new_axis(&y, "u", int_of(x, x->w.toom.n));
  at = sum_of(x, at, times(x, u, x->w.stride));
  if (group.i)
    at = sum_of(x, at, times(x, group, x->w.stride * x->w.toom.m));
  if (phase.i)
    at = sum_of(x, at, phase);
  index[x->w.data_dim] = at;
  neo_expr b = neo_load(x->m, data_matrix(x), (neo_expr[]){t, u}, 2, x->r.span);
  neo_expr body = neo_op2(x->m, NEO_OP_MUL, b, read_else_zero(x, x->data, index));
  return define(&y, "data", n_out, body);
}

/* taps.Y[t, h, ..] */
static neo_tensor define_taps(const neo_winograd_sum *x) {
  writing y = {.x = x};
  neo_expr index[NEO_WINOGRAD_RANK], by[NEO_WINOGRAD_AXES] = {{0}};
  neo_expr t = new_axis(&y, "t", int_of(x, x->w.toom.n)), phase = phase_axis(&y);
  for (uint32_t k = 0, n = neo_winograd_rank(x, x->taps); k < n; k++)
    if (k != x->w.taps_dim)
      index[k] = dimension_axis(&y, x->taps, k);
  uint32_t n_out = y.n;
  neo_expr s = new_axis(&y, "s", int_of(x, x->w.toom.k)), at = times(x, s, x->w.stride);
  by[x->w.red] = phase.i ? sum_of(x, at, phase) : at;
  neo_expr own = neo_expr_arg(x->m, x->taps, x->w.taps_dim);
  index[x->w.taps_dim] = neo_expr_subst_axes(x->m, own, by, x->r.axes.n);
  neo_expr where[] = {t, phase.i ? phase : s, s};
  neo_expr g = neo_load(x->m, taps_matrix(x), where, phase.i ? 3 : 2, x->r.span);
  neo_expr body = neo_op2(x->m, NEO_OP_MUL, g, read_else_zero(x, x->taps, index));
  return define(&y, "taps", n_out, body);
}

/* The read of `to` for `load`: with the indices `first` (0: none) in front and without dimension
 * `dim`. */
static neo_expr read_of(const neo_winograd_sum *x, neo_expr load, neo_tensor to, uint32_t dim,
                        const neo_expr *by, const neo_expr *first) {
  neo_module *m = x->m;
  neo_expr index[NEO_WINOGRAD_RANK + 3];
  uint32_t n = 0, rank = neo_winograd_rank(x, load);
  for (uint32_t k = 0; k < 3; k++)
    if (first[k].i)
      index[n++] = first[k];
  for (uint32_t k = 0; k < rank; k++)
    if (k != dim && !winograd_is_unit(x, load, k))
      index[n++] = neo_expr_subst_axes(m, neo_expr_arg(m, load, k), by, x->r.axes.n);
  if (neo_expr_node(m, load)->op == NEO_OP_LOAD)
    return neo_load(m, to, index, n, x->r.span);
  return neo_load_else(m, to, index, n, neo_const_int(m, x->type, 0), x->r.span);
}

/* sums.Y[t, p, ..] */
static neo_tensor define_sums(const neo_winograd_sum *x, neo_tensor data, neo_tensor taps) {
  writing y = {.x = x};
  neo_expr by[NEO_WINOGRAD_AXES] = {{0}}, phase = {0};
  neo_expr t = new_axis(&y, "t", int_of(x, x->w.toom.n)), group = group_axis(&y);
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

/* Makes the definition assemble the outputs. */
static void put_together(const neo_winograd_sum *x, neo_tensor sums) {
  neo_module *m = x->m;
  neo_def_rec r = x->r;
  writing y = {.x = x};
  neo_expr index[NEO_WINOGRAD_AXES], q = neo_axis_ref(m, x->w.out), by = int_of(x, x->w.toom.m);
  uint32_t n = neo_winograd_groups(&x->w) > 1 ? 2 : 1;
  for (uint32_t k = 0; k < r.n_out; k++) {
    neo_expr axis = add_axis(&y, *neo_def_axis(m, &r, k));
    if (k != x->w.out)
      index[n++] = axis;
  }
  index[1] = neo_winograd_groups(&x->w) > 1 ? neo_op2(m, NEO_OP_DIV, q, by) : index[1];
  neo_expr t = index[0] = new_axis(&y, "t", int_of(x, x->w.toom.n));
  neo_expr where[] = {neo_op2(m, NEO_OP_MOD, q, by), t};
  neo_expr a = neo_load(m, sums_matrix(x), where, 2, r.span);
  neo_expr body = neo_op2(m, NEO_OP_MUL, a, neo_load(m, sums, index, n, r.span));
  r.axes = axes_of(&y);
  r.body = neo_list_one(m, body.i);
  *neo_def_at(m, x->def) = r;
}

/* Filters in one direction, and returns the remaining sum; the definition assembles its outputs. */
static neo_def filter_along(neo_winograd_sum *x) {
  neo_tensor data = define_data(x), taps = define_taps(x);
  neo_tensor sums = define_sums(x, data, taps);
  put_together(x, sums);
  return neo_tensor_piece(x->m, sums, 0);
}

/* Filters in the chosen directions, each time the remaining sum of the one before. */
static neo_status filter(neo_winograd_sum *x, const neo_winograd_direction *along, uint32_t ways) {
  neo_def left = x->def;
  for (uint32_t way = 0; way < ways; way++) {
    if (way && !match(x, left))
      return neo_pass_broken(x->m, left, "filtering left no sum of products of reads");
    if (!neo_winograd_find(x, &along[way]))
      return neo_pass_broken(x->m, left, "filtering in one direction took another one away");
    left = filter_along(x);
  }
  return NEO_OK;
}

neo_status neo_winograd(const neo_pass_context *pass, bool always) {
  neo_module *m = pass->m;
  neo_status s = NEO_OK;
  bool exact = m->math == NEO_PRECISION_F32 || m->math == NEO_PRECISION_3XTF32;
  bool plain = exact && m->store == NEO_PRECISION_F32;
  for (uint32_t k = 1; k < pass->n_defs && plain && !s; k++) {
    neo_winograd_sum x = {.m = m, .prover = pass->p};
    neo_winograd_direction along[NEO_WINOGRAD_DIRECTIONS];
    neo_prover_at(pass->p, m->defs.at[k].span);
    if (!pass->number[k] && match(&x, (neo_def){k}))
      s = filter(&x, along, neo_winograd_choose(&x, always, along));
  }
  return s;
}

neo_status neo_pass_winograd(const neo_pass_context *pass) {
  return neo_winograd(pass, false);
}
