/* Polyphase decomposition (index-set splitting by remainders): if the domain of a reduction depends
 * on the remainder of an output axis, each remainder becomes a piece, whose loop needs no
 * condition.
 *
 *     dX[z] = sum[p: z/2 .. min(P, (z + 1)/2 + 1)] D[p] * F[z + 1 - 2*p]
 *     ->
 *     dX[2*y]     = sum[p: y .. y + 1]         D[p] * F[2*y + 1 - 2*p]
 *     dX[2*y + 1] = sum[p: y .. min(P, y + 2)] D[p] * F[2*y + 2 - 2*p]
 *
 * Gradients of strided reads (z = s*p + r) and transposed convolutions have this form. The period
 * of an output axis is the least m for which z = m*y + a takes the axis out of every quotient and
 * remainder of the reduction's condition, and of bounds that would be closer than any ends a
 * constant apart. If a remainder then contains one reduction axis, that axis is stepped: r = m*r' +
 * c.
 *
 * Sums that only add rows along the axis (sum[p] T[p, z - 2*p]) stay whole.
 *
 * Points stay in their reduction and their order, so results are bit-identical. Pieces of a
 * recurrence run in one order. normalize_loops.c then makes bounds y .. y + 2 into 0 .. 2. */
#include "base/whole.h"
#include "ir/component.h"
#include "ir/out_map.h"
#include "transform/normalize_loops.h"

enum { MAX_PERIOD = 8, MAX_PIECES = 16 };

typedef struct {
  neo_module *m;
  neo_prover *prover;
  neo_def_rec r;
  neo_axis_rec axis[NEO_DEF_AXES];
  neo_expr where;
  int64_t period[16]; /* periods of output axes */
} split;

/* Least common multiple, saturated. */
static int64_t lcm(int64_t a, int64_t b) {
  int64_t y = a / neo_gcd(a, b) * b;
  return y > MAX_PERIOD ? MAX_PERIOD + 1 : y;
}

/* ---- periods */

static int64_t period_of(neo_module *m, neo_expr e, uint32_t axis);

/* Period of (sum of terms)/c, or the remainder: the axis must step by multiples of c in each term.
 * Integers of other types than indices are data, or wrap. */
static int64_t period_of_quotient(neo_module *m, neo_expr e, uint32_t axis) {
  neo_expr x = neo_expr_arg(m, e, 0);
  int64_t c, y = 1;
  neo_linear l;
  if (!(neo_expr_axes(m, e) >> axis & 1) || neo_expr_type(m, e) != NEO_I64_T)
    return 1;
  if (!neo_expr_is_int(m, neo_expr_arg(m, e, 1), &c) || c <= 0 || !neo_linear_of(m, x, &l))
    return MAX_PERIOD + 1;
  for (uint32_t k = 0; k < l.n; k++) {
    if (!(neo_expr_axes(m, l.term[k].atom) >> axis & 1))
      continue;
    int64_t step = c / neo_gcd(c, l.term[k].coef);
    if (step > MAX_PERIOD)
      return MAX_PERIOD + 1;
    y = lcm(y, step * period_of(m, l.term[k].atom, axis));
  }
  return y;
}

static int64_t period_of(neo_module *m, neo_expr e, uint32_t axis) {
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_DIV || n.op == NEO_OP_MOD)
    return period_of_quotient(m, e, axis);
  int64_t y = 1;
  for (uint32_t k = 0; k < n.arg.n; k++)
    y = lcm(y, period_of(m, neo_list_expr(m, n.arg, k), axis));
  return y;
}

/* Adds periods of remainders, which select points; quotients beside them get the same period. */
static void add_condition(split *s) {
  if (!s->where.i || !neo_expr_uses_op(s->m, s->where, NEO_OP_MOD))
    return;
  for (uint32_t z = 0; z < s->r.n_out; z++)
    s->period[z] = lcm(s->period[z], period_of(s->m, s->where, z));
}

static void add_bounds(split *s) {
  uint64_t out = (1ull << s->r.n_out) - 1;
  for (uint32_t k = s->r.n_out; k < s->r.axes.n; k++) {
    neo_expr lo = s->axis[k].lo, hi = s->axis[k].hi;
    neo_facts f = {.axes = s->axis, .n_axes = k};
    bool fixed = !((neo_expr_axes(s->m, lo) | neo_expr_axes(s->m, hi)) & out);
    if (fixed || !neo_loop_start_wanted(s->m, s->prover, &f, &s->axis[k]))
      continue;
    for (uint32_t z = 0; z < s->r.n_out; z++)
      s->period[z] = lcm(s->period[z], lcm(period_of(s->m, lo, z), period_of(s->m, hi, z)));
  }
}

/* The number of pieces; 1: nothing to split. */
static int64_t find_periods(split *s) {
  int64_t pieces = 1;
  for (uint32_t z = 0; z < s->r.n_out; z++)
    s->period[z] = 1;
  add_condition(s);
  add_bounds(s);
  for (uint32_t z = 0; z < s->r.n_out; z++) {
    if (s->period[z] > MAX_PERIOD)
      s->period[z] = 1;
    pieces *= s->period[z];
    if (pieces > MAX_PIECES)
      return 1;
  }
  return pieces;
}

/* ---- one piece */

static neo_expr int_of(split *s, int64_t x) {
  return neo_const_i64(s->m, x);
}

static neo_expr times(split *s, neo_expr e, int64_t by) {
  return neo_op2(s->m, NEO_OP_MUL, e, int_of(s, by));
}

/* ceil((e + add)/by) */
static neo_expr quotient_up(split *s, neo_expr e, int64_t add, int64_t by) {
  neo_expr x = neo_op2(s->m, NEO_OP_ADD, e, int_of(s, add + by - 1));
  return neo_op2(s->m, NEO_OP_DIV, x, int_of(s, by));
}

static neo_expr simpler(split *s, neo_expr e, uint32_t n_axes) {
  neo_facts f = {.axes = s->axis, .n_axes = n_axes};
  return e.i ? neo_simplify_under(s->prover, &f, e) : e;
}

/* Replaces AXIS k by by[k] in all of the definition except extents of output axes. */
static void substitute(split *s, const neo_expr *by) {
  uint32_t n = s->r.axes.n;
  for (uint32_t k = s->r.n_out; k < n; k++) {
    s->axis[k].lo = simpler(s, neo_expr_subst_axes(s->m, s->axis[k].lo, by, k), k);
    s->axis[k].hi = simpler(s, neo_expr_subst_axes(s->m, s->axis[k].hi, by, k), k);
  }
  if (s->where.i)
    s->where = simpler(s, neo_expr_subst_axes(s->m, s->where, by, n), n);
  s->r.body = neo_list_subst_axes(s->m, s->r.body, by, n);
  s->r.finish = neo_list_subst_axes(s->m, s->r.finish, by, n);
}

/* In lin % c == v with one reduction axis left: the axis' modulus and remainder. False: another
 * form. *from is -1 if no remainder fits. */
static bool residue_of(split *s, neo_expr e, uint32_t *axis, int64_t *modulus, int64_t *from) {
  neo_node n = *neo_expr_node(s->m, e);
  int64_t c, v;
  neo_linear l;
  if (n.op != NEO_OP_EQ)
    return false;
  neo_expr a = neo_list_expr(s->m, n.arg, 0), b = neo_list_expr(s->m, n.arg, 1);
  if (neo_expr_node(s->m, a)->op != NEO_OP_MOD) {
    neo_expr t = a;
    a = b;
    b = t;
  }
  if (neo_expr_type(s->m, a) != NEO_I64_T || neo_expr_node(s->m, a)->op != NEO_OP_MOD ||
      !neo_expr_is_int(s->m, b, &v) || !neo_expr_is_int(s->m, neo_expr_arg(s->m, a, 1), &c) ||
      c <= 0 || !neo_linear_of(s->m, neo_expr_arg(s->m, a, 0), &l) || l.n != 1 ||
      neo_expr_node(s->m, l.term[0].atom)->op != NEO_OP_AXIS)
    return false;
  *axis = neo_expr_node(s->m, l.term[0].atom)->attr;
  *modulus = c / neo_gcd(c, l.term[0].coef);
  if (*axis < s->r.n_out || *modulus > MAX_PERIOD)
    return false;
  *from = -1;
  for (int64_t x = 0; x < *modulus && *from < 0; x++) {
    __int128 y = (__int128)l.term[0].coef * x + l.constant - v;
    if (y % c == 0)
      *from = x;
  }
  return true;
}

static bool find_residue(split *s, neo_expr e, uint32_t *axis, int64_t *modulus, int64_t *from) {
  if (neo_expr_node(s->m, e)->op != NEO_OP_AND)
    return residue_of(s, e, axis, modulus, from);
  return find_residue(s, neo_expr_arg(s->m, e, 0), axis, modulus, from) ||
         find_residue(s, neo_expr_arg(s->m, e, 1), axis, modulus, from);
}

/* Steps reduction axes over the points that a remainder excludes. */
static void step_reductions(split *s) {
  uint32_t axis;
  int64_t modulus, from;
  for (uint32_t round = 0; round < 64; round++) {
    if (!s->where.i || !find_residue(s, s->where, &axis, &modulus, &from) || modulus == 1)
      return;
    if (from < 0) {
      s->where = neo_const_bool(s->m, false);
      return;
    }
    neo_expr by[NEO_DEF_AXES] = {{0}};
    by[axis] =
        neo_op2(s->m, NEO_OP_ADD, times(s, neo_axis_ref(s->m, axis), modulus), int_of(s, from));
    s->axis[axis].lo = quotient_up(s, s->axis[axis].lo, -from, modulus);
    s->axis[axis].hi = quotient_up(s, s->axis[axis].hi, -from, modulus);
    s->axis[axis].lo = simpler(s, s->axis[axis].lo, axis);
    s->axis[axis].hi = simpler(s, s->axis[axis].hi, axis);
    substitute(s, by);
  }
}

static neo_expr zero_acc(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  neo_node n = *neo_expr_node(m, e);
  return n.op == NEO_OP_ACC ? neo_const_int(m, (neo_type)n.type, 0) : e;
}

/* Makes an empty sum 0. */
static void drop_empty(split *s) {
  int64_t holds;
  if (!s->where.i || !neo_expr_is_int(s->m, s->where, &holds))
    return;
  if (holds) {
    s->where.i = 0;
    return;
  }
  if (s->r.reducer != NEO_RED_SUM)
    return;
  s->r.finish = neo_list_rewrite(s->m, s->r.finish, zero_acc, NULL);
  s->r.body = (neo_list){0};
  s->r.reducer = NEO_RED_NONE;
  s->r.axes.n = s->r.n_out;
  s->where.i = 0;
}

static void add_piece(split *s) {
  uint32_t ids[NEO_DEF_AXES];
  for (uint32_t k = 0; k < s->r.axes.n; k++)
    ids[k] = neo_axis_add(s->m, s->axis[k]).i;
  s->r.axes = neo_list_new(s->m, ids, s->r.axes.n);
  s->r.where = s->where;
  neo_def_add(s->m, s->r, true);
}

/* The piece z = period*y + at of each output axis. */
static void piece(split s, const int64_t *at) {
  neo_expr by[NEO_DEF_AXES] = {{0}};
  neo_out_dim map[32];
  for (uint32_t z = 0; z < s.r.n_out; z++) {
    int64_t m = s.period[z];
    neo_out_dim old = neo_out_map_at(s.m, s.r.out_map, z);
    map[z] = (neo_out_dim){(int32_t)(old.stride * m), (int32_t)(old.stride * at[z] + old.offset)};
    if (m == 1)
      continue;
    s.axis[z].hi = simpler(&s, quotient_up(&s, s.axis[z].hi, -at[z], m), z);
    by[z] = neo_op2(s.m, NEO_OP_ADD, times(&s, neo_axis_ref(s.m, z), m), int_of(&s, at[z]));
  }
  s.r.out_map = neo_out_map_new(s.m, map, s.r.n_out);
  substitute(&s, by);
  step_reductions(&s);
  drop_empty(&s);
  add_piece(&s);
}

/* ---- the definition */

static void remove_piece(neo_module *m, neo_tensor t, neo_def d) {
  neo_tensor_rec *r = neo_tensor_at(m, t);
  uint32_t ids[NEO_DEF_AXES], n = 0;
  for (uint32_t k = 0; k < r->pieces.n; k++)
    if (neo_list_at(m, r->pieces, k) != d.i)
      ids[n++] = neo_list_at(m, r->pieces, k);
  neo_list left = neo_list_new(m, ids, n);
  neo_tensor_at(m, t)->pieces = left;
}

static bool is_piece(neo_module *m, const neo_def_rec *r, neo_def d) {
  bool yes = r->out.n > 0;
  for (uint32_t k = 0; k < r->out.n; k++) {
    neo_list pieces = neo_tensor_at(m, neo_list_tensor(m, r->out, k))->pieces;
    bool found = false;
    for (uint32_t i = 0; i < pieces.n; i++)
      found = found || neo_list_at(m, pieces, i) == d.i;
    yes = yes && found && pieces.n + MAX_PIECES <= 64;
  }
  return yes;
}

/* Does it only add rows along an axis that pieces would step over? Lanes read these rows whole, and
 * conditions cost less than strides. */
static bool adds_rows(const split *s) {
  neo_linear l;
  neo_expr e = neo_list_expr(s->m, s->r.body, 0);
  neo_node n = *neo_expr_node(s->m, e);
  if (s->r.reducer != NEO_RED_SUM || s->where.i || n.op != NEO_OP_LOAD || !n.arg.n ||
      !neo_linear_of(s->m, neo_list_expr(s->m, n.arg, n.arg.n - 1), &l) || l.n < 2)
    return false;
  for (uint32_t k = 0; k < l.n; k++) {
    const neo_node *x = neo_expr_node(s->m, l.term[k].atom);
    if (x->op == NEO_OP_AXIS && x->attr < s->r.n_out && s->period[x->attr] > 1)
      return l.term[k].coef == 1;
  }
  return false;
}

static void definition(neo_module *m, neo_prover *p, neo_def d) {
  split s = {.m = m, .prover = p, .r = *neo_def_at(m, d)};
  int64_t at[16] = {0};
  if (s.r.reducer == NEO_RED_NONE || s.r.n_out == 0 || s.r.n_out > 16 || !is_piece(m, &s.r, d))
    return;
  for (uint32_t k = 0; k < s.r.axes.n; k++)
    s.axis[k] = *neo_def_axis(m, &s.r, k);
  s.where = s.r.where;
  if (find_periods(&s) == 1 || adds_rows(&s))
    return;
  if (!s.r.origin)
    s.r.origin = d.i;
  for (uint32_t k = 0; k < s.r.out.n; k++)
    remove_piece(m, neo_list_tensor(m, s.r.out, k), d);
  for (bool more = true; more;) {
    piece(s, at);
    more = false;
    for (uint32_t z = s.r.n_out; z-- > 0 && !more;) { /* the next remainders, last axis fastest */
      at[z] = at[z] + 1 < s.period[z] ? at[z] + 1 : 0;
      more = at[z] != 0;
    }
  }
}

neo_status neo_pass_polyphase(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  for (uint32_t k = 1; k < pass->n_defs; k++) {
    neo_prover_at(pass->p, m->defs.at[k].span);
    if (!pass->number[k])
      definition(m, pass->p, (neo_def){k});
  }
  return NEO_OK;
}
