/* Upper bounds of extents. */
#include "fusion/form.h"

typedef struct { /* known bounds: lo <= x <= hi */
  __int128 lo, hi;
  bool has_lo, has_hi;
} bounds;

static bounds bounds_of(neo_module *m, neo_expr e);

static bounds constant(int64_t x) {
  return (bounds){x, x, true, true};
}

static bounds sum(bounds a, bounds b) {
  return (bounds){a.lo + b.lo, a.hi + b.hi, a.has_lo && b.has_lo, a.has_hi && b.has_hi};
}

/* A difference. A subtrahend without known lower bound, the start of a range, counts as not
 * negative. */
static bounds difference(bounds a, bounds b) {
  __int128 least = b.has_lo ? b.lo : 0;
  return (bounds){a.lo - b.hi, a.hi - least, a.has_lo && b.has_hi, a.has_hi};
}

static bounds scaled(bounds a, int64_t by) {
  if (by < 0) /* a difference in linear form */
    return difference(constant(0), scaled(a, -by));
  return (bounds){a.lo * by, a.hi * by, a.has_lo, a.has_hi};
}

static bounds product(neo_module *m, neo_expr e) {
  int64_t x;
  neo_expr left = neo_expr_arg(m, e, 0), right = neo_expr_arg(m, e, 1);
  bounds a = bounds_of(m, left), b = bounds_of(m, right);
  if (neo_expr_is_int(m, right, &x) && x > INT64_MIN)
    return scaled(a, x);
  if (neo_expr_is_int(m, left, &x) && x > INT64_MIN)
    return scaled(b, x);
  bool positive = a.has_lo && a.lo >= 0 && b.has_lo && b.lo >= 0;
  return (bounds){a.lo * b.lo, a.hi * b.hi, positive, a.has_hi && b.has_hi};
}

/* Quotients are rounded down. */
static bounds quotient(neo_module *m, neo_expr e) {
  int64_t x;
  bounds a = bounds_of(m, neo_expr_arg(m, e, 0));
  if (!neo_expr_is_int(m, neo_expr_arg(m, e, 1), &x) || x <= 0)
    return (bounds){0, a.hi, false, a.has_hi};
  __int128 lo = a.lo / x - (a.lo % x < 0), hi = a.hi / x - (a.hi % x < 0);
  return (bounds){lo, hi, a.has_lo, a.has_hi};
}

static bounds smaller(bounds a, bounds b) {
  bounds y = {a.lo < b.lo ? a.lo : b.lo, 0, a.has_lo && b.has_lo, a.has_hi || b.has_hi};
  y.hi = a.has_hi && (!b.has_hi || a.hi < b.hi) ? a.hi : b.hi;
  return y;
}

static bounds larger(bounds a, bounds b) {
  bounds y = {0, a.hi > b.hi ? a.hi : b.hi, a.has_lo || b.has_lo, a.has_hi && b.has_hi};
  y.lo = a.has_lo && (!b.has_lo || a.lo > b.lo) ? a.lo : b.lo;
  return y;
}

/* Limits bounds, so that sums and products do not overflow. */
static bounds limited(bounds x) {
  enum { SPARE_BITS = 2 };
  const __int128 most = INT64_MAX >> SPARE_BITS;
  x.hi = x.hi > most ? most : x.hi;
  x.has_lo = x.has_lo && x.lo >= -most && x.lo <= most;
  x.has_hi = x.has_hi && x.hi >= -most;
  return x;
}

static bounds bounds_of(neo_module *m, neo_expr e) {
  const neo_node n = *neo_expr_node(m, e);
  int64_t x;
  if (neo_expr_is_int(m, e, &x))
    return limited(constant(x));
  if (n.op == NEO_OP_SIZE) {
    const neo_size_rec *s = neo_size_at(m, (neo_size){n.attr});
    return limited((bounds){s->lo, s->hi, true, true});
  }
  switch (n.op) {
  case NEO_OP_ADD:
    return limited(sum(bounds_of(m, neo_expr_arg(m, e, 0)), bounds_of(m, neo_expr_arg(m, e, 1))));
  case NEO_OP_SUB:
    return limited(
        difference(bounds_of(m, neo_expr_arg(m, e, 0)), bounds_of(m, neo_expr_arg(m, e, 1))));
  case NEO_OP_MUL:
    return limited(product(m, e));
  case NEO_OP_DIV:
    return limited(quotient(m, e));
  case NEO_OP_MIN:
    return limited(
        smaller(bounds_of(m, neo_expr_arg(m, e, 0)), bounds_of(m, neo_expr_arg(m, e, 1))));
  case NEO_OP_MAX:
    return limited(
        larger(bounds_of(m, neo_expr_arg(m, e, 0)), bounds_of(m, neo_expr_arg(m, e, 1))));
  default:
    return (bounds){0};
  }
}

int64_t neo_extent_most(neo_module *m, neo_expr e) {
  bounds x = bounds_of(m, e);
  if (!x.has_hi)
    return -1;
  return x.hi < 0 ? 0 : (int64_t)x.hi;
}

/* The tensor of rank 1 that the bound is loaded from, perhaps guarded or limited by a size; 0:
 * none. */
static neo_tensor loaded_from(neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_CAST)
    return loaded_from(m, neo_list_expr(m, n->arg, 0));
  if (n->op == NEO_OP_MIN) {
    neo_expr a = neo_list_expr(m, n->arg, 0), b = neo_list_expr(m, n->arg, 1);
    neo_tensor t = loaded_from(m, a);
    return t.i ? t : loaded_from(m, b);
  }
  bool is = (n->op == NEO_OP_LOAD && n->arg.n == 1) || (n->op == NEO_OP_LOAD_ELSE && n->arg.n == 2);
  return (neo_tensor){is ? n->attr : 0};
}

int64_t neo_list_length(neo_module *m, const neo_axis_rec *x) {
  neo_tensor lo = loaded_from(m, x->lo), hi = loaded_from(m, x->hi);
  if (!lo.i || lo.i != hi.i)
    return 0;
  const neo_tensor_rec *t = neo_tensor_at(m, lo);
  neo_expr below = t->bound.i ? t->bound : t->below;
  int64_t all = below.i ? neo_extent_most(m, below) : 0;
  int64_t lists = neo_extent_most(m, neo_tensor_extent(m, lo, 0));
  return all > 1 && lists > 1 ? (all - 1 + lists - 2) / (lists - 1) : 0;
}
