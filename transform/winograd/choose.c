/* Directions of minimal filtering (winograd.c), and outputs computed together in each.
 *
 * Each dimension of the data that slides along an output axis is a direction. The cost of a set of
 * directions with numbers of outputs is the multiply-adds of the remaining product and the elements
 * of new tensors, written and read. The search takes the least cost among all sets with small
 * errors; since savings and errors multiply, the best set is not made of the best single
 * directions.
 *
 * Errors: an output's error is at most MOST_ERROR times that of the plain sum's products for each
 * matrix (neo_toom_error), and that of all outputs at most MOST_ERROR times the plain sum's, as
 * root mean squares (error_of). */
#include "transform/winograd/parts.h"
#include <math.h>
#include <string.h>

#define LEAST_GAIN 0.87 /* cost against the plain sum's that pays */

enum {
  MOST_ERROR = 16,
  ELEMENT_COST = 64, /* multiply-adds that an element of the three tensors costs */
};

neo_tensor neo_winograd_tensor(const neo_winograd_sum *x, neo_expr load) {
  return (neo_tensor){neo_expr_node(x->m, load)->attr};
}

uint32_t neo_winograd_rank(const neo_winograd_sum *x, neo_expr load) {
  return neo_tensor_rank(x->m, neo_winograd_tensor(x, load));
}

int64_t neo_winograd_groups(const neo_winograd_direction *w) {
  return (w->outs + w->toom.m - 1) / w->toom.m;
}

/* ---- extents */

/* The size, taken from the middle of its decades where it is unknown. */
static double guess(neo_winograd_sum *x, neo_expr lo, neo_expr hi) {
  int64_t least, most, low, high, unused;
  if (!neo_interval(x->prover, NULL, lo, &least, &unused) ||
      !neo_interval(x->prover, NULL, hi, &unused, &most))
    return 1;
  bool known = neo_interval(x->prover, NULL, hi, &low, &high) && low == high;
  double n = most > least ? (double)(most - least) : 1;
  return known ? n : sqrt(n);
}

/* Finds extents; false: some range depends on data or on other axes. */
static bool find_extents(neo_winograd_sum *x, double *extent) {
  for (uint32_t k = 0; k < x->r.axes.n; k++) {
    const neo_axis_rec a = *neo_def_axis(x->m, &x->r, k);
    if (neo_expr_axes(x->m, a.lo) | neo_expr_axes(x->m, a.hi) ||
        neo_expr_uses_op(x->m, a.hi, NEO_OP_LOAD) || neo_expr_uses_op(x->m, a.lo, NEO_OP_LOAD))
      return false;
    extent[k] = guess(x, a.lo, a.hi);
  }
  return true;
}

static bool length_of(const neo_winograd_sum *x, uint32_t axis, int64_t *n) {
  const neo_axis_rec *a = neo_def_axis(x->m, &x->r, axis);
  int64_t lo;
  return neo_expr_is_int(x->m, a->lo, &lo) && lo == 0 && neo_expr_is_int(x->m, a->hi, n);
}

/* ---- directions */

/* Is the index stride*out + red + constant? */
static bool slides(neo_winograd_sum *x, neo_expr index, neo_winograd_direction *w) {
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
  return found == 3 && w->stride >= 1 && w->stride <= NEO_WINOGRAD_PHASES &&
         length_of(x, w->out, &w->outs) && length_of(x, w->red, &w->taps);
}

static uint64_t bit(uint32_t k) {
  return 1ull << k;
}

/* Is `dim` the only dimension of the read whose index uses one of these axes? */
static bool is_alone(const neo_winograd_sum *x, neo_expr load, uint32_t dim, uint64_t axes) {
  for (uint32_t k = 0, n = neo_winograd_rank(x, load); k < n; k++)
    if (k != dim && neo_expr_axes(x->m, neo_expr_arg(x->m, load, k)) & axes)
      return false;
  return true;
}

/* Do the taps count along `red` in one dimension, without `out`? */
static bool find_taps(const neo_winograd_sum *x, neo_winograd_direction *w) {
  uint32_t n = neo_winograd_rank(x, x->taps);
  neo_linear l;
  for (w->taps_dim = 0; w->taps_dim < n; w->taps_dim++)
    if (neo_expr_axes(x->m, neo_expr_arg(x->m, x->taps, w->taps_dim)) & bit(w->red))
      break;
  return w->taps_dim < n && !(neo_expr_axes(x->m, x->taps) & bit(w->out)) &&
         is_alone(x, x->taps, w->taps_dim, bit(w->red)) &&
         neo_linear_of(x->m, neo_expr_arg(x->m, x->taps, w->taps_dim), &l) && l.n == 1 &&
         neo_expr_node(x->m, l.term[0].atom)->op == NEO_OP_AXIS && l.term[0].coef == 1;
}

/* A direction in which data slide, with the matrices for each number of outputs. */
typedef struct {
  neo_winograd_direction as;
  neo_toom toom[NEO_TOOM_MOST];
  double error[NEO_TOOM_MOST];
  uint32_t n;
} direction;

typedef struct {
  neo_winograd_sum *x;
  bool always;
  double extent[NEO_WINOGRAD_AXES];                        /* extents of axes, as far as known */
  double data[NEO_WINOGRAD_RANK], taps[NEO_WINOGRAD_RANK]; /* extents of the reads' tensors */
  direction way[NEO_WINOGRAD_DIRECTIONS];
  uint32_t n;
  neo_winograd_direction along[NEO_WINOGRAD_DIRECTIONS]; /* current set */
  uint32_t n_along;
  neo_winograd_direction best[NEO_WINOGRAD_DIRECTIONS];
  uint32_t n_best;
  bool taps_first; /* order of factors in the best set */
  double cost;     /* cost of the best set, or an upper bound */
} choice;

static void find_matrices(direction *d) {
  uint32_t k = (uint32_t)((d->as.taps + d->as.stride - 1) / d->as.stride);
  for (uint32_t m = 2; m <= d->as.outs && neo_toom_of(m, k, &d->toom[d->n]); m++) {
    if (neo_toom_error(&d->toom[d->n]) > MOST_ERROR)
      continue;
    d->error[d->n] = neo_toom_mean_error(&d->toom[d->n]);
    d->n++;
  }
}

/* Finds the directions in which the data of x slide. */
static uint32_t find_directions(neo_winograd_sum *x, direction *way) {
  uint32_t found = 0;
  for (uint32_t k = 0, n = neo_winograd_rank(x, x->data); k < n; k++) {
    neo_winograd_direction w = {.data_dim = k};
    if (found < NEO_WINOGRAD_DIRECTIONS && slides(x, neo_expr_arg(x->m, x->data, k), &w) &&
        w.taps <= NEO_TOOM_MOST * w.stride && is_alone(x, x->data, k, bit(w.out) | bit(w.red)) &&
        find_taps(x, &w)) {
      way[found] = (direction){.as = w};
      find_matrices(&way[found++]);
    }
  }
  return found;
}

static bool is_like(const neo_winograd_direction *a, const neo_winograd_direction *b) {
  return a->stride == b->stride && a->constant == b->constant && a->outs == b->outs &&
         a->taps == b->taps;
}

/* ---- does it pay? */

static void extents_of(neo_winograd_sum *x, neo_expr load, double *extent) {
  neo_expr zero = neo_const_i64(x->m, 0);
  for (uint32_t k = 0, n = neo_winograd_rank(x, load); k < n; k++)
    extent[k] = guess(x, zero, neo_tensor_extent(x->m, neo_winograd_tensor(x, load), k));
}

static double product_of(const double *extent, uint32_t n) {
  double product = 1;
  for (uint32_t k = 0; k < n; k++)
    product *= extent[k];
  return product;
}

/* Multiply-adds of the remaining product, with elements of the tensors, those that the next
 * direction starts from included. */
static double cost_of(const choice *c) {
  const neo_winograd_sum *x = c->x;
  double data = product_of(c->data, neo_winograd_rank(x, x->data));
  double taps = product_of(c->taps, neo_winograd_rank(x, x->taps));
  double sums = product_of(c->extent, x->r.n_out);
  double steps = product_of(c->extent + x->r.n_out, x->r.axes.n - x->r.n_out), elements = 0;
  for (uint32_t k = 0; k < c->n_along; k++) {
    const neo_winograd_direction *w = &c->along[k];
    double points = w->toom.n, groups = (double)neo_winograd_groups(w), phases = (double)w->stride;
    data *= points * groups * phases / c->data[w->data_dim];
    taps *= points * phases / c->taps[w->taps_dim];
    sums *= points * groups / c->extent[w->out];
    steps *= phases / c->extent[w->red];
    elements += data + taps + sums;
  }
  return sums * steps + (c->always ? 0 : ELEMENT_COST * elements);
}

/* Errors against the plain sum's. Where N products are added in order, each addition rounds a
 * partial sum, whose size grows with the root of its length: an error of N/sqrt(2) roundings of a
 * product. With k taps filtered N/k are added, each off by two more roundings because its factors
 * are sums. Matrices make both larger (neo_toom_mean_error), one direction after the other. */
static double error_of(const choice *c, double of_matrices) {
  const neo_winograd_sum *x = c->x;
  double steps = product_of(c->extent + x->r.n_out, x->r.axes.n - x->r.n_out), taps = 1;
  for (uint32_t k = 0; k < c->n_along; k++)
    taps *= (double)c->along[k].taps / (double)c->along[k].stride;
  return of_matrices * sqrt((1 + 8 * taps / steps) / taps);
}

static bool fits(const choice *c) {
  uint32_t rank = neo_winograd_rank(c->x, c->x->data), other = neo_winograd_rank(c->x, c->x->taps);
  return (rank > other ? rank : other) + 2 * c->n_along <= NEO_WINOGRAD_RANK &&
         c->x->r.axes.n + 2 * c->n_along <= NEO_WINOGRAD_AXES;
}

static void consider(choice *c, double of_matrices) {
  if (!fits(c) || error_of(c, of_matrices) > MOST_ERROR)
    return;
  double cost = cost_of(c);
  if (cost >= c->cost)
    return;
  c->cost = cost;
  c->taps_first = c->x->taps_first;
  c->n_best = c->n_along;
  memcpy(c->best, c->along, sizeof c->along);
}

/* Tries all sets with the current directions and some from number `first` on. */
static void consider_more(choice *c, uint32_t first, double of_matrices) {
  for (uint32_t k = first; k < c->n; k++) {
    const direction *d = &c->way[k];
    neo_winograd_direction *w = &c->along[c->n_along++];
    for (uint32_t j = 0; j < d->n; j++) {
      *w = d->as;
      w->toom = d->toom[j];
      consider(c, of_matrices * d->error[j]);
      consider_more(c, k + 1, of_matrices * d->error[j]);
    }
    c->n_along--;
  }
}

static void set_operands(neo_winograd_sum *x, bool taps_first) {
  neo_expr body = neo_list_expr(x->m, x->r.body, 0);
  x->taps_first = taps_first;
  x->taps = neo_expr_arg(x->m, body, taps_first ? 0 : 1);
  x->data = neo_expr_arg(x->m, body, taps_first ? 1 : 0);
}

uint32_t neo_winograd_choose(neo_winograd_sum *x, bool always, neo_winograd_direction *along) {
  choice c = {.x = x, .always = always};
  if (!find_extents(x, c.extent))
    return 0;
  c.cost = always ? (double)INFINITY : LEAST_GAIN * product_of(c.extent, x->r.axes.n);
  for (uint32_t k = 0; k < 2; k++) {
    set_operands(x, k == 0);
    c.n = find_directions(x, c.way);
    if (c.n) {
      extents_of(x, x->data, c.data);
      extents_of(x, x->taps, c.taps);
      consider_more(&c, 0, 1);
    }
  }
  x->taps_first = c.taps_first;
  memcpy(along, c.best, sizeof c.best);
  return c.n_best;
}

bool neo_winograd_find(neo_winograd_sum *x, const neo_winograd_direction *like) {
  direction way[NEO_WINOGRAD_DIRECTIONS];
  set_operands(x, x->taps_first);
  uint32_t n = find_directions(x, way), k = 0;
  while (k < n && !is_like(&way[k].as, like))
    k++;
  if (k == n)
    return false;
  x->w = way[k].as;
  x->w.toom = like->toom;
  return true;
}
