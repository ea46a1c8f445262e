/* The product over all other points of a reduction, without division: right at zeros.
 *
 * Points are ordered by the first reduction axis, then the second, and so on. The points before
 * point r are, for each axis d, those that agree with r on the axes before d and are before r on d;
 * likewise those after it:
 *
 *   before_d[x, u_1 .. u_d] = prod[k_d, k_d+1 ..  where k_d < u_d] body(x, u_1 .., k_d, k_d+1 ..)
 *   after_d[x, u_1 .. u_d]  = prod[k_d, k_d+1 ..  where u_d < k_d] body(x, u_1 .., k_d, k_d+1 ..)
 *
 *   d prod / d body(x, r) = product over d of before_d[x, r] * after_d[x, r]
 *
 * Each is a reduction whose domain grows with u_d, which the schedule runs along it: so the
 * gradient costs as much as the product. u_d counts from the least value of the axis. If the range
 * of an axis before d depends on other axes, the condition tests that its value is in range.
 *
 * A key key(k) that is data determines the output axis v of each term. A term has one v only, so
 * the tensors need no axis v:
 *
 *   before[u] = prod[k where k < u and key(k) == key(u) and 0 <= key(u) and key(u) < V]
 *               body(key(k), k)
 *
 * which is a running product of equal keys (schedule/keyed_scan). Points of several reduction axes
 * are numbered in their order: k and u are these numbers, with k0 = k/K1 and k1 = k%K1 for two
 * axes, and keys and terms are stored by number. */
#include "autodiff/solve.h"
#include "ir/keyed_axes.h"

enum { MOST_DIMENSIONS = 16 };

typedef struct {
  ad_state *s;
  neo_module *m;
  neo_def_rec d;
  uint32_t n_red;
  ad_box box[NEO_DEF_AXES];
  neo_keyed_axes keys;
  neo_tensor flat_key[NEO_DEF_AXES], flat_term; /* by number of the point; 0: not defined */
} product;

/* One of the tensors: its axes, and the definition's axes as expressions over these. */
typedef struct {
  neo_axis_rec axis[NEO_DEF_AXES];
  neo_expr move[NEO_DEF_AXES];
  neo_expr where;
  uint32_t n_out, n;
} part;

/* Makes position u of reduction axis j stand for value u + lo, which may be outside of the
 * range. */
static void fix_axis(product *p, part *t, uint32_t j) {
  neo_module *m = p->m;
  uint32_t k = p->d.n_out + j;
  neo_axis_rec a = *neo_def_axis(m, &p->d, k);
  neo_expr at = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, k), p->box[j].lo);
  t->axis[k] = (neo_axis_rec){a.name, neo_const_i64(m, 0), p->box[j].length, a.span};
  t->move[k] = at;
  if (p->box[j].exact)
    return;
  neo_expr lo = ad_guard_reads(m, neo_expr_subst_axes(m, a.lo, t->move, k));
  neo_expr hi = ad_guard_reads(m, neo_expr_subst_axes(m, a.hi, t->move, k));
  t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LE, lo, at));
  t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LT, at, hi));
}

static bool all_exact(const product *p, uint32_t n) {
  for (uint32_t j = 0; j < n; j++)
    if (!p->box[j].exact)
      return false;
  return true;
}

/* Adds the conditions on the keys of points k and u, which are at_k and at_u. */
static void ask_keys(product *p, part *t, const neo_expr *at_u, const neo_expr *at_k) {
  neo_module *m = p->m;
  for (uint32_t v = 0; v < p->d.n_out; v++) {
    if (!(p->keys.axes >> v & 1))
      continue;
    neo_expr zero = neo_const_i64(m, 0), n = neo_def_axis(m, &p->d, v)->hi;
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_EQ, at_k[v], at_u[v]));
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LE, zero, at_u[v]));
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LT, at_u[v], n));
  }
}

/* Sets at[n_out + j] to the value of reduction axis j at the point with this number. Returns the
 * number of points. */
static neo_expr digits_of(product *p, neo_expr number, neo_expr *at) {
  neo_module *m = p->m;
  neo_expr left = number, total = neo_const_i64(m, 1);
  for (uint32_t j = p->n_red; j-- > 0;) {
    neo_expr digit = j ? neo_op2(m, NEO_OP_MOD, left, p->box[j].length) : left;
    at[p->d.n_out + j] = neo_op2(m, NEO_OP_ADD, digit, p->box[j].lo);
    left = neo_op2(m, NEO_OP_DIV, left, p->box[j].length);
    total = neo_op2(m, NEO_OP_MUL, total, p->box[j].length);
  }
  return total;
}

/* Adds one axis over all points of the reduction, and sets at[] to the values of the reduction's
 * axes at such a point. Returns the new axis. */
static neo_expr push_points(product *p, part *t, neo_expr *at) {
  neo_module *m = p->m;
  neo_axis_rec a = *neo_def_axis(m, &p->d, p->d.n_out);
  neo_expr number = neo_axis_ref(m, t->n);
  neo_expr total = digits_of(p, number, at);
  t->axis[t->n++] = (neo_axis_rec){a.name, neo_const_i64(m, 0), total, a.span};
  return number;
}

/* Writes to at[] the output indices of the given point: those that keys name are read from the
 * keys, and may be outside of the output. */
static void keys_at(product *p, const neo_expr *point, neo_expr *at) {
  neo_module *m = p->m;
  for (uint32_t v = 0; v < p->d.n_out; v++)
    at[v] = p->keys.axes >> v & 1
                ? neo_expr_subst_axes(m, ad_guard_reads(m, p->keys.key[v]), point, p->d.axes.n)
                : point[v];
}

/* Adds the conditions that the values of the axes at a point are in ranges that depend on other
 * values. */
static void ask_ranges(product *p, part *t) {
  neo_module *m = p->m;
  for (uint32_t j = 0; j < p->n_red; j++) {
    neo_axis_rec a = *neo_def_axis(m, &p->d, p->d.n_out + j);
    neo_expr at = t->move[p->d.n_out + j];
    if (p->box[j].exact)
      continue;
    neo_expr lo = ad_guard_reads(m, neo_expr_subst_axes(m, a.lo, t->move, p->d.n_out + j));
    neo_expr hi = ad_guard_reads(m, neo_expr_subst_axes(m, a.hi, t->move, p->d.n_out + j));
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LE, lo, at));
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LT, at, hi));
  }
}

/* Adds the axes, except those that keys determine. */
static void make_keyed_axes(product *p, part *t, bool after) {
  neo_module *m = p->m;
  uint32_t n_out = p->d.n_out;
  neo_expr at_u[NEO_DEF_AXES] = {{0}}, at_k[NEO_DEF_AXES] = {{0}}, point_u[NEO_DEF_AXES] = {{0}},
           point_k[NEO_DEF_AXES] = {{0}};
  for (uint32_t k = 0; k < n_out; k++)
    if (!(p->keys.axes >> k & 1)) {
      point_u[k] = point_k[k] = neo_axis_ref(m, t->n);
      t->axis[t->n++] = *neo_def_axis(m, &p->d, k);
    }
  neo_expr u = push_points(p, t, point_u);
  t->n_out = t->n;
  neo_expr number = push_points(p, t, point_k);
  keys_at(p, point_u, at_u);
  keys_at(p, point_k, at_k);
  for (uint32_t k = 0; k < p->d.axes.n; k++) /* the keys are equal: terms depend on k alone */
    t->move[k] = k < n_out ? at_k[k] : point_k[k];
  t->where = after ? neo_op2(m, NEO_OP_LT, u, number) : neo_op2(m, NEO_OP_LT, number, u);
  ask_ranges(p, t);
  ask_keys(p, t, at_u, at_k);
  if (p->keys.others.i)
    t->where =
        neo_both(m, t->where,
                 ad_guard_reads(m, neo_expr_subst_axes(m, p->keys.others, t->move, p->d.axes.n)));
}

static void make_axes(product *p, part *t, uint32_t d, bool after) {
  neo_module *m = p->m;
  if (p->keys.axes) {
    make_keyed_axes(p, t, after);
    return;
  }
  uint32_t n_out = p->d.n_out, u = n_out + d;
  for (uint32_t k = 0; k < n_out; k++) {
    t->axis[k] = *neo_def_axis(m, &p->d, k);
    t->move[k] = neo_axis_ref(m, k);
  }
  for (uint32_t j = 0; j < d; j++)
    fix_axis(p, t, j);
  neo_axis_rec a = *neo_def_axis(m, &p->d, u);
  t->axis[u] = (neo_axis_rec){a.name, neo_const_i64(m, 0), p->box[d].length, a.span};
  t->n_out = t->n = u + 1;
  for (uint32_t k = u; k < p->d.axes.n; k++) {
    a = *neo_def_axis(m, &p->d, k);
    a.lo = neo_expr_subst_axes(m, a.lo, t->move, k);
    a.hi = neo_expr_subst_axes(m, a.hi, t->move, k);
    if (!all_exact(p, d)) { /* earlier axes may have values that belong to no point */
      a.lo = ad_guard_reads(m, a.lo);
      a.hi = ad_guard_reads(m, a.hi);
    }
    t->move[k] = neo_axis_ref(m, t->n);
    t->axis[t->n++] = a;
  }
  neo_expr here = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, u), p->box[d].lo);
  neo_expr order =
      after ? neo_op2(m, NEO_OP_LT, here, t->move[u]) : neo_op2(m, NEO_OP_LT, t->move[u], here);
  t->where = neo_both(m, t->where, order);
  if (p->d.where.i)
    t->where = neo_both(m, t->where, neo_expr_subst_axes(m, p->d.where, t->move, p->d.axes.n));
}

static neo_expr wide(neo_module *m, neo_expr e) {
  neo_type t = neo_expr_type(m, e);
  return t == NEO_F16_T || t == NEO_BF16_T ? neo_cast(m, NEO_F32_T, e) : e;
}

static neo_tensor define_of(product *p, const part *t, const char *name, neo_expr body) {
  neo_module *m = p->m;
  neo_tensor like = {neo_list_at(m, p->d.out, 0)};
  neo_expr acc = neo_acc_ref(m, neo_expr_type(m, body), 0);
  neo_tensor out = ad_temp(m, name, like, neo_expr_type(m, body), t->axis, t->n_out, p->d.span);
  neo_def_rec r = {
      .n_out = t->n_out, .reducer = NEO_RED_PROD, .where = t->where, .span = p->d.span};
  r.body = neo_list_one(m, body.i);
  r.finish = neo_list_one(m, acc.i);
  ad_define(m, out, r, t->axis, t->n);
  return out;
}

static neo_tensor define(product *p, const part *t, const char *name) {
  neo_module *m = p->m;
  neo_expr body = neo_expr_subst_axes(m, neo_list_expr(m, p->d.body, 0), t->move, p->d.axes.n);
  return define_of(p, t, name, wide(m, p->keys.axes ? ad_guard_reads(m, body) : body));
}

/* The number of values of the digit for axis k in a point's position among all points of all
 * results. */
static neo_expr length_of(product *p, uint32_t k) {
  return k < p->d.n_out ? neo_def_axis(p->m, &p->d, k)->hi : p->box[k - p->d.n_out].length;
}

/* The number of a point among all points of the axes from `first` on. */
static neo_expr position(product *p, uint32_t first) {
  neo_module *m = p->m;
  neo_expr at = neo_const_i64(m, 0);
  for (uint32_t k = first; k < p->d.axes.n; k++) {
    neo_expr x = neo_axis_ref(m, k);
    if (k >= p->d.n_out)
      x = neo_op2(m, NEO_OP_SUB, x, p->box[k - p->d.n_out].lo);
    at = neo_op2(m, NEO_OP_ADD, neo_op2(m, NEO_OP_MUL, at, length_of(p, k)), x);
  }
  return at;
}

/* ---- keys at points of several axes */

static neo_tensor define_flat(product *p, const part *t, const char *name, neo_expr value) {
  neo_module *m = p->m;
  neo_tensor like = {neo_list_at(m, p->d.out, 0)};
  neo_tensor out = ad_temp(m, name, like, neo_expr_type(m, value), t->axis, t->n, p->d.span);
  neo_def_rec r = {.n_out = t->n, .reducer = NEO_RED_NONE, .span = p->d.span};
  r.finish = neo_list_one(m, value.i);
  ad_define(m, out, r, t->axis, t->n);
  return out;
}

/* The condition that the point, whose keys are given, has a term. */
static neo_expr has_term(product *p, part *t, const neo_expr *key) {
  neo_module *m = p->m;
  ask_ranges(p, t);
  for (uint32_t v = 0; v < p->d.n_out; v++) {
    if (!(p->keys.axes >> v & 1))
      continue;
    neo_expr zero = neo_const_i64(m, 0), n = neo_def_axis(m, &p->d, v)->hi;
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LE, zero, key[v]));
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LT, key[v], n));
  }
  neo_expr others = p->keys.others;
  return others.i
             ? neo_both(m, t->where,
                        ad_guard_reads(m, neo_expr_subst_axes(m, others, t->move, p->d.axes.n)))
             : t->where;
}

/* Stores keys and terms by the numbers of points: no running product is recognized along an axis
 * whose positions are digits of a number. The key is -1 if there is no term. */
static void flatten(product *p) {
  neo_module *m = p->m;
  part *t = NEO_NEW(p->s->scratch, part);
  neo_expr key[NEO_DEF_AXES] = {{0}}, point[NEO_DEF_AXES] = {{0}}, none = neo_const_i64(m, -1);
  for (uint32_t k = 0; k < p->d.n_out; k++)
    if (!(p->keys.axes >> k & 1)) {
      point[k] = neo_axis_ref(m, t->n);
      t->axis[t->n++] = *neo_def_axis(m, &p->d, k);
    }
  (void)push_points(p, t, point);
  keys_at(p, point, key);
  for (uint32_t k = 0; k < p->d.axes.n; k++)
    t->move[k] = k < p->d.n_out ? key[k] : point[k];
  neo_expr there = has_term(p, t, key);
  for (uint32_t v = 0; v < p->d.n_out; v++) {
    if (!(p->keys.axes >> v & 1))
      continue;
    neo_tensor to = define_flat(p, t, "key", neo_op3(m, NEO_OP_SELECT, there, key[v], none));
    neo_tensor_at(m, to)->least = none;
    neo_tensor_at(m, to)->below = neo_def_axis(m, &p->d, v)->hi;
    p->flat_key[v] = to;
  }
  neo_expr body = neo_expr_subst_axes(m, neo_list_expr(m, p->d.body, 0), t->move, p->d.axes.n);
  body = wide(m, ad_guard_reads(m, body));
  neo_expr one = neo_const_float(m, neo_expr_type(m, body), 1);
  p->flat_term = define_flat(p, t, "term", neo_op3(m, NEO_OP_SELECT, there, body, one));
}

/* before[u] = prod[k where k < u and key[k] == key[u] and 0 <= key[u]] term[k] */
static neo_tensor define_running(product *p, part *t, bool after) {
  neo_module *m = p->m;
  neo_expr at_u[NEO_DEF_AXES], at_k[NEO_DEF_AXES], unused[NEO_DEF_AXES];
  for (uint32_t k = 0; k < p->d.n_out; k++)
    if (!(p->keys.axes >> k & 1)) {
      at_u[t->n] = at_k[t->n] = neo_axis_ref(m, t->n);
      t->axis[t->n++] = *neo_def_axis(m, &p->d, k);
    }
  uint32_t last = t->n;
  neo_expr u = at_u[last] = push_points(p, t, unused);
  t->n_out = t->n;
  neo_expr k = at_k[last] = push_points(p, t, unused);
  t->where = after ? neo_op2(m, NEO_OP_LT, u, k) : neo_op2(m, NEO_OP_LT, k, u);
  for (uint32_t v = 0; v < p->d.n_out; v++) {
    if (!(p->keys.axes >> v & 1))
      continue;
    neo_expr of_u = neo_load(m, p->flat_key[v], at_u, last + 1, p->d.span);
    neo_expr of_k = neo_load(m, p->flat_key[v], at_k, last + 1, p->d.span);
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_EQ, of_k, of_u));
    t->where = neo_both(m, t->where, neo_op2(m, NEO_OP_LE, neo_const_i64(m, 0), of_u));
  }
  return define_of(p, t, after ? "after" : "before",
                   neo_load(m, p->flat_term, at_k, last + 1, p->d.span));
}

/* Reads the tensor before_d or after_d at the current point. */
static neo_expr factor(product *p, uint32_t d, bool after) {
  neo_module *m = p->m;
  neo_expr at[NEO_DEF_AXES];
  part *t = NEO_NEW(p->s->scratch, part);
  bool flat = p->keys.axes && p->n_red > 1;
  if (flat && !p->flat_term.i)
    flatten(p);
  if (!flat)
    make_axes(p, t, d, after);
  neo_tensor out = flat ? define_running(p, t, after) : define(p, t, after ? "after" : "before");
  uint32_t n = 0;
  for (uint32_t k = 0; k < p->d.n_out; k++)
    if (!(p->keys.axes >> k & 1))
      at[n++] = neo_axis_ref(m, k);
  if (p->keys.axes)
    at[n++] = position(p, p->d.n_out);
  for (uint32_t k = p->d.n_out; !p->keys.axes && n < t->n_out; k++)
    at[n++] = neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, k), p->box[k - p->d.n_out].lo);
  return neo_load(m, out, at, n, p->d.span);
}

/* ---- more axes than a tensor has dimensions */

static neo_expr digits(product *p, neo_expr *digit) {
  neo_module *m = p->m;
  neo_expr left = neo_axis_ref(m, 0), total = neo_const_i64(m, 1);
  for (uint32_t k = p->d.axes.n; k-- > 0;) {
    digit[k] = neo_op2(m, NEO_OP_MOD, left, length_of(p, k));
    left = neo_op2(m, NEO_OP_DIV, left, length_of(p, k));
    total = neo_op2(m, NEO_OP_MUL, total, length_of(p, k));
  }
  return total;
}

/* others[position of x, r] = prod[k where k is not r] body(x, k): as slow as it looks. */
static neo_expr all_others(product *p) {
  neo_module *m = p->m;
  part *t = NEO_NEW(p->s->scratch, part);
  neo_expr digit[NEO_DEF_AXES], differ = {0}, at = position(p, 0);
  t->n_out = t->n = 1;
  t->axis[0] = (neo_axis_rec){neo_def_axis(m, &p->d, p->d.n_out)->name, neo_const_i64(m, 0),
                              digits(p, digit), p->d.span};
  for (uint32_t k = 0; k < p->d.axes.n; k++) {
    neo_axis_rec a = *neo_def_axis(m, &p->d, k);
    t->move[k] = digit[k];
    if (k < p->d.n_out)
      continue;
    a.lo = neo_expr_subst_axes(m, a.lo, t->move, k);
    a.hi = neo_expr_subst_axes(m, a.hi, t->move, k);
    t->move[k] = neo_axis_ref(m, t->n);
    t->axis[t->n++] = a;
    neo_expr here = neo_op2(m, NEO_OP_ADD, digit[k], p->box[k - p->d.n_out].lo);
    neo_expr ne = neo_op2(m, NEO_OP_NE, t->move[k], here);
    differ = differ.i ? neo_op2(m, NEO_OP_OR, differ, ne) : ne;
  }
  t->where = differ;
  if (p->d.where.i)
    t->where = neo_both(m, differ, neo_expr_subst_axes(m, p->d.where, t->move, p->d.axes.n));
  return neo_load(m, define(p, t, "others"), &at, 1, p->d.span);
}

/* Finds the output axes that data determine, if all points of the reduction can be numbered. */
static void find_keys(product *p) {
  neo_axis_rec axis[NEO_DEF_AXES];
  for (uint32_t k = 0; k < p->d.axes.n; k++)
    axis[k] = *neo_def_axis(p->m, &p->d, k);
  if (ad_points_fit(p->s, &p->d, p->d.n_out))
    neo_keyed_axes_of(p->s->env.prover, axis, p->d.axes.n, p->d.n_out, p->d.where, &p->keys);
}

neo_expr ad_product(ad_state *s, neo_def def, neo_expr g) {
  neo_module *m = s->m;
  product *p = NEO_NEW(s->scratch, product);
  *p = (product){.s = s, .m = m, .d = *neo_def_at(m, def)};
  p->n_red = p->d.axes.n - p->d.n_out;
  if (p->d.axes.n >= 62)
    return ad_no_range(s, &p->d, "prod");
  for (uint32_t j = 0; j < p->n_red; j++)
    if (!ad_box_of(s, &p->d, p->d.n_out + j, &p->box[j]))
      return ad_no_range(s, &p->d, "prod");
  neo_type type = neo_expr_type(m, g);
  neo_expr others = {0};
  find_keys(p);
  if (p->d.axes.n > MOST_DIMENSIONS && !ad_points_fit(s, &p->d, 0))
    return ad_no_range(s, &p->d, "prod");
  if (p->d.axes.n > MOST_DIMENSIONS)
    return ad_scale(m, g, neo_cast(m, type, all_others(p)));
  for (uint32_t j = 0; j < (p->keys.axes ? 1 : p->n_red); j++)
    for (int after = 0; after < 2; after++) {
      neo_expr x = factor(p, j, after);
      others = others.i ? neo_op2(m, NEO_OP_MUL, others, x) : x;
    }
  return others.i ? ad_scale(m, g, neo_cast(m, type, others)) : g;
}
