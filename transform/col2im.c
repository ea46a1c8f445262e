/* Col2im: a sum whose window moves over the output becomes a plain matrix product, whose elements
 * are then added up where windows overlap.
 *
 *     dX[n, c, z] = sum[k, p: (z - 7)/2 .. min(6, z/2 + 1)] D[n, k, p] * F[k, c, z - 2*p]
 *     ->
 *     col2im.dX[c, r: 9, n, p: 6] = sum[k] D[n, k, p] * F[k, c, r]
 *     dX[n, c, z] = sum[p: (z - 7)/2 .. min(6, z/2 + 1)] col2im.dX[c, z - 2*p, n, p]
 *
 * Both compute the same products, one for each (p, r). Loops over outputs have windows that overlap
 * the edges: a 9 x 9 filter over 6 x 6 positions has 54 products in a direction, but 20 outputs of
 * 4.5 taps are 90. Register tiles cannot have ragged ends, so most of that multiplies zeros. The
 * price is the matrix, written and read once; it pays where the inner sum is long and the filter is
 * large against the image.
 *
 * An index of one output axis, which occurs nowhere else, and one reduction axis becomes an axis
 * over the dimension that it indexes. All other reduction axes are the product's, if their ranges
 * are fixed and no condition mentions them. The product also has pairs (p, r) outside of every
 * window, so its reads are proved in range again. Its axes follow the order of the factors, so that
 * neighbours stay neighbours: first axes of both factors, last those of the factor that is
 * contiguous along them, or of the smaller one. */
#include "ir/component.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/prove/prove.h"
#include "transform/transform.h"

enum {
  MOST_WINDOWS = 4,
  MOST_ELEMENTS = 1 << 26, /* elements of the matrix */
  ELEMENT_COST = 64,       /* steps of a sum that an element costs, written and read */
};

/* An index that becomes an axis of the product. */
typedef struct {
  neo_expr index;
  uint32_t out, red; /* its output and reduction axis */
  int64_t step;      /* elements that one step of `red` moves */
  int64_t extent;
} window;

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def def;
  neo_def_rec r;
  neo_type type;
  neo_axis_rec
      axis[NEO_PATTERN_AXES + MOST_WINDOWS];       /* axes of windows follow the definition's own */
  int64_t extent[NEO_PATTERN_AXES + MOST_WINDOWS]; /* extents at most */
  window w[MOST_WINDOWS];
  uint32_t n;             /* number of windows */
  uint64_t moved, inside; /* output axes of windows; axes of the product's sum */
  neo_expr factor[2];     /* over the product's axes */
  uint32_t order[NEO_PATTERN_AXES + MOST_WINDOWS], n_order; /* axes of the matrix */
  bool fits;
} col2im_sum;

static uint64_t bit(uint32_t k) {
  return 1ull << k;
}

static uint64_t all_axes(const col2im_sum *x) {
  return bit(x->r.axes.n) - 1;
}

static uint64_t out_axes(const col2im_sum *x) {
  return bit(x->r.n_out) - 1;
}

/* ---- windows */

static bool is_known(const col2im_sum *x, neo_expr index) {
  for (uint32_t k = 0; k < x->n; k++)
    if (x->w[k].index.i == index.i)
      return true;
  return false;
}

/* Is the index out + step*red + constant, in a dimension of constant extent? */
static bool window_of(const col2im_sum *x, neo_expr index, neo_expr extent, window *w) {
  neo_linear l;
  if (!neo_linear_of(x->m, index, &l) || l.n != 2)
    return false;
  *w = (window){.index = index};
  int64_t by = 0;
  for (uint32_t k = 0; k < 2; k++) {
    const neo_node *n = neo_expr_node(x->m, l.term[k].atom);
    if (n->op != NEO_OP_AXIS)
      return false;
    bool is_out = n->attr < x->r.n_out;
    *(is_out ? &w->out : &w->red) = n->attr;
    *(is_out ? &by : &w->step) = l.term[k].coef;
  }
  return (by == 1 || by == -1) && neo_expr_is_int(x->m, extent, &w->extent);
}

static void find_windows(void *ctx, neo_expr e) {
  col2im_sum *x = ctx;
  const neo_node *n = neo_expr_node(x->m, e);
  if (n->op == NEO_OP_LOAD_ELSE || n->op == NEO_OP_RAND)
    x->fits = false;
  if (n->op != NEO_OP_LOAD)
    return;
  for (uint32_t k = 0; k < n->arg.n && x->fits; k++) {
    neo_expr index = neo_list_expr(x->m, n->arg, k);
    uint64_t uses = neo_expr_axes(x->m, index);
    if (!(uses & out_axes(x)) || !(uses & ~out_axes(x)) || is_known(x, index))
      continue;
    window *w = &x->w[x->n];
    x->fits = x->n < MOST_WINDOWS &&
              window_of(x, index, neo_tensor_extent(x->m, (neo_tensor){n->attr}, k), w);
    x->n += x->fits;
  }
}

/* Is no axis in two windows? */
static bool are_disjoint(const col2im_sum *x) {
  uint64_t seen = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    uint64_t these = bit(x->w[k].out) | bit(x->w[k].red);
    if (seen & these)
      return false;
    seen |= these;
  }
  return true;
}

static neo_expr put_axes(void *ctx, neo_module *m, neo_expr e) {
  const col2im_sum *x = ctx;
  for (uint32_t k = 0; k < x->n; k++)
    if (x->w[k].index.i == e.i)
      return neo_axis_ref(m, x->r.axes.n + k);
  return e;
}

/* ---- the definition */

static bool match(col2im_sum *x, neo_def d) {
  neo_module *m = x->m;
  x->def = d;
  x->r = *neo_def_at(m, d);
  if (x->r.reducer != NEO_RED_SUM || x->r.body.n != 1 || x->r.out.n != 1 || x->r.out_map.n ||
      x->r.axes.n > NEO_PATTERN_AXES || x->r.axes.n < x->r.n_out + 2)
    return false;
  neo_expr body = neo_list_expr(m, x->r.body, 0);
  x->type = neo_expr_type(m, body);
  if (neo_expr_node(m, body)->op != NEO_OP_MUL || (x->type != NEO_F32_T && x->type != NEO_F64_T))
    return false;
  x->fits = true;
  neo_expr_visit(m, body, find_windows, x);
  if (!x->fits || !x->n || !are_disjoint(x))
    return false;
  for (uint32_t k = 0; k < 2; k++)
    x->factor[k] = neo_expr_rewrite(m, neo_expr_arg(m, body, k), put_axes, x);
  return true;
}

/* Ranges of the product's axes; a window's axes have the union over all windows. */
static bool find_ranges(col2im_sum *x) {
  for (uint32_t k = 0; k < x->r.axes.n; k++)
    x->axis[k] = *neo_def_axis(x->m, &x->r, k);
  for (uint32_t k = 0; k < x->r.axes.n; k++) {
    neo_axis_rec *a = &x->axis[k];
    neo_facts f = {.axes = x->axis, .n_axes = k};
    int64_t lo, unused;
    if (!neo_interval(x->prover, &f, a->lo, &lo, &unused) || lo < 0 ||
        !neo_interval(x->prover, &f, a->hi, &unused, &x->extent[k]) || x->extent[k] < 1)
      return false;
  }
  for (uint32_t k = 0; k < x->n; k++) {
    uint32_t axis = x->r.axes.n + k;
    neo_expr none = neo_const_i64(x->m, 0);
    x->extent[axis] = x->w[k].extent;
    x->axis[axis] = (neo_axis_rec){.name = neo_name_of(x->m->names, "r"),
                                   .lo = none,
                                   .hi = neo_const_i64(x->m, x->w[k].extent)};
    neo_axis_rec *over = &x->axis[x->w[k].red];
    over->lo = none;
    over->hi = neo_const_i64(x->m, x->extent[x->w[k].red]);
  }
  return true;
}

/* Finds the axes reduced inside: all that no window moves over. */
static bool find_inside(col2im_sum *x) {
  uint64_t uses = neo_expr_axes(x->m, x->factor[0]) | neo_expr_axes(x->m, x->factor[1]);
  x->inside = all_axes(x) & ~out_axes(x);
  for (uint32_t k = 0; k < x->n; k++) {
    x->moved |= bit(x->w[k].out);
    x->inside &= ~bit(x->w[k].red);
  }
  if (!x->inside || uses & x->moved ||
      (x->r.where.i && neo_expr_axes(x->m, x->r.where) & x->inside))
    return false;
  for (uint32_t k = x->r.n_out; k < x->r.axes.n; k++) { /* no window moves these */
    uint64_t ends = neo_expr_axes(x->m, x->axis[k].lo) | neo_expr_axes(x->m, x->axis[k].hi);
    neo_axis_rec own = *neo_def_axis(x->m, &x->r, k);
    uint64_t then = neo_expr_axes(x->m, own.lo) | neo_expr_axes(x->m, own.hi);
    if (ends || then & x->inside)
      return false;
  }
  return true;
}

/* ---- does it pay? */

static double least_of(double a, double b) {
  return a < b ? a : b;
}

/* Products of the loops over outputs against those of the matrix, in the worst direction. Loops of
 * other directions may have exact bounds, outside of tiles. */
static double waste_of(const col2im_sum *x) {
  double most = 1;
  for (uint32_t k = 0; k < x->n; k++) {
    const window *w = &x->w[k];
    double over = (double)x->extent[w->red], step = (double)(w->step < 0 ? -w->step : w->step);
    double taps = least_of(over, (double)w->extent / step);
    double waste = (double)x->extent[w->out] * taps / (over * (double)w->extent);
    most = waste > most ? waste : most;
  }
  return most;
}

static double product_of(const col2im_sum *x, uint64_t axes) {
  double n = 1;
  for (uint32_t k = 0; k < x->r.axes.n + x->n; k++)
    n *= axes >> k & 1 ? (double)x->extent[k] : 1;
  return n;
}

static uint64_t matrix_axes(const col2im_sum *x) {
  return (all_axes(x) & ~x->moved & ~x->inside) | (bit(x->n) - 1) << x->r.axes.n;
}

static bool pays(const col2im_sum *x) {
  return product_of(x, matrix_axes(x)) <= MOST_ELEMENTS &&
         product_of(x, x->inside) * (waste_of(x) - 1) >= ELEMENT_COST;
}

/* ---- order of the matrix' axes */

static uint64_t axes_of(const col2im_sum *x, uint32_t factor) {
  return neo_expr_axes(x->m, x->factor[factor]) & matrix_axes(x);
}

typedef struct {
  const col2im_sum *x;
  uint64_t last; /* axes of last dimensions */
} lying;

static void look_at_last(void *ctx, neo_expr e) {
  lying *y = ctx;
  const neo_node *n = neo_expr_node(y->x->m, e);
  if (n->op == NEO_OP_LOAD && n->arg.n)
    y->last |= neo_expr_axes(y->x->m, neo_list_expr(y->x->m, n->arg, n->arg.n - 1));
}

/* Is the factor contiguous along an axis of the matrix, not along the sum's? */
static bool lies_along(const col2im_sum *x, uint32_t factor) {
  lying y = {x, 0};
  neo_expr_visit(x->m, x->factor[factor], look_at_last, &y);
  return y.last & matrix_axes(x) && !(y.last & x->inside);
}

/* The factor whose axes are last. */
static uint32_t last_factor(const col2im_sum *x) {
  bool along[2] = {lies_along(x, 0), lies_along(x, 1)};
  if (along[0] != along[1])
    return along[0] ? 0 : 1;
  return product_of(x, axes_of(x, 0)) <= product_of(x, axes_of(x, 1)) ? 0 : 1;
}

typedef struct {
  col2im_sum *x;
  uint64_t left;
} ordering;

static void add_axis(void *ctx, neo_expr e) {
  ordering *y = ctx;
  const neo_node *n = neo_expr_node(y->x->m, e);
  if (n->op != NEO_OP_AXIS || !(y->left >> n->attr & 1))
    return;
  y->left &= ~bit(n->attr);
  y->x->order[y->x->n_order++] = n->attr;
}

/* Adds the factor's axes among `axes`, in its order. */
static void add_axes(col2im_sum *x, uint32_t factor, uint64_t axes) {
  ordering y = {x, axes};
  neo_expr_visit(x->m, x->factor[factor], add_axis, &y);
}

static void order_axes(col2im_sum *x) {
  uint32_t last = last_factor(x);
  uint64_t both = axes_of(x, 0) & axes_of(x, 1);
  add_axes(x, last, both);
  add_axes(x, 1 - last, axes_of(x, 1 - last) & ~both);
  add_axes(x, last, axes_of(x, last) & ~both);
}

/* ---- writing the definitions */

typedef struct {
  col2im_sum *x;
  const neo_axis_rec *axis; /* axes of the product */
  uint32_t n;
} reading;

static void prove_read(void *ctx, neo_expr e) {
  reading *y = ctx;
  neo_module *m = y->x->m;
  neo_node n = *neo_expr_node(m, e);
  neo_facts f = {.axes = y->axis, .n_axes = y->n};
  if (n.op != NEO_OP_LOAD)
    return;
  for (uint32_t k = 0; k < n.arg.n && y->x->fits; k++) {
    neo_expr extent = neo_tensor_extent(m, (neo_tensor){n.attr}, k);
    neo_expr index = neo_list_expr(m, n.arg, k);
    y->x->fits = neo_proves_index(y->x->prover, &f, index, extent);
  }
}

/* Axes of the product; by[k] is the expression of the sum's k-th axis over them. */
static uint32_t product_axes(const col2im_sum *x, neo_axis_rec *axis, neo_expr *by) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < x->n_order; k++) {
    by[x->order[k]] = neo_axis_ref(x->m, n);
    axis[n++] = x->axis[x->order[k]];
  }
  for (uint32_t k = 0; k < x->r.axes.n; k++)
    if (x->inside >> k & 1) {
      by[k] = neo_axis_ref(x->m, n);
      axis[n++] = x->axis[k];
    }
  return n;
}

/* Defines the matrix if all its reads are in range. */
static bool define_product(col2im_sum *x, neo_tensor *t) {
  neo_module *m = x->m;
  neo_axis_rec axis[NEO_PATTERN_AXES + MOST_WINDOWS];
  neo_expr by[NEO_PATTERN_AXES + MOST_WINDOWS] = {{0}};
  reading y = {x, axis, product_axes(x, axis, by)};
  neo_expr body = neo_op2(m, NEO_OP_MUL, x->factor[0], x->factor[1]);
  body = neo_expr_subst_axes(m, body, by, x->r.axes.n + x->n);
  neo_expr_visit(m, body, prove_read, &y);
  if (!x->fits)
    return false;
  neo_partial p = {.prefix = "col2im", .of = x->def, .reducer = NEO_RED_SUM, .n_out = x->n_order};
  p.axes = neo_axes_add(m, axis, y.n);
  p.body = body;
  *t = neo_partial_define(m, &p);
  return true;
}

/* Makes the definition add up the matrix along its windows. */
static void add_up(col2im_sum *x, neo_tensor t) {
  neo_module *m = x->m;
  neo_def_rec r = x->r;
  neo_axis_rec axis[NEO_PATTERN_AXES];
  neo_expr by[NEO_PATTERN_AXES] = {{0}}, index[NEO_PATTERN_AXES + MOST_WINDOWS];
  uint32_t n = 0;
  for (uint32_t k = 0; k < r.axes.n; k++)
    if (!(x->inside >> k & 1)) {
      axis[n] = *neo_def_axis(m, &x->r, k);
      axis[n].lo = neo_expr_subst_axes(m, axis[n].lo, by, k);
      axis[n].hi = neo_expr_subst_axes(m, axis[n].hi, by, k);
      by[k] = neo_axis_ref(m, n++);
    }
  for (uint32_t k = 0; k < x->n_order; k++) {
    uint32_t of = x->order[k];
    index[k] = of < r.axes.n ? neo_axis_ref(m, of) : x->w[of - r.axes.n].index;
    index[k] = neo_expr_subst_axes(m, index[k], by, r.axes.n);
  }
  neo_expr body = neo_load(m, t, index, x->n_order, r.span);
  if (r.where.i)
    r.where = neo_expr_subst_axes(m, r.where, by, r.axes.n);
  r.axes = neo_axes_add(m, axis, n);
  r.body = neo_list_one(m, body.i);
  *neo_def_at(m, x->def) = r;
}

neo_status neo_pass_col2im(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  neo_tensor t;
  for (uint32_t k = 1; k < pass->n_defs && m->store == NEO_PRECISION_F32; k++) {
    col2im_sum x = {.m = m, .prover = pass->p};
    neo_prover_at(pass->p, m->defs.at[k].span);
    if (pass->number[k] || !match(&x, (neo_def){k}) || !find_ranges(&x) || !find_inside(&x) ||
        !pays(&x))
      continue;
    order_axes(&x);
    if (define_product(&x, &t))
      add_up(&x, t);
  }
  return NEO_OK;
}
