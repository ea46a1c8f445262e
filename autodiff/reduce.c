/* Reducers backwards: the adjoint of the body at one point of the domain.
 *
 *   sum         g
 *   mean        g / count
 *   max, min    g where this point's payload is the winner's, else 0 (the first of equals has it)
 *   logsumexp   g * exp(body - result)
 *   prod        g * product of the body over all other points (never a division: right at zeros)
 *   any, all    none */
#include "autodiff/internal.h"

static bool uses_reduction_axes(const neo_module *m, const neo_def_rec *d, neo_expr e) {
  uint64_t out = d->n_out >= 63 ? ~0ull : (1ull << d->n_out) - 1;
  return (neo_expr_axes(m, e) & ~out) != 0;
}

/* Number of points as an expression over the output axes where the domain is a box; else the stored count. */
static neo_expr count_of(ad_state *s, neo_def def) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  neo_expr n = neo_const_int(m, NEO_I64_T, 1), zero = neo_const_int(m, NEO_I64_T, 0);
  bool box = !d.where.i;
  for (uint32_t k = d.n_out; k < d.axes.n && box; k++) {
    neo_axis_rec a = *neo_def_axis(m, &d, k);
    int64_t lo, hi;
    box = !uses_reduction_axes(m, &d, a.lo) && !uses_reduction_axes(m, &d, a.hi);
    neo_expr len = neo_op2(m, NEO_OP_SUB, a.hi, a.lo);
    if (!neo_expr_is_int(m, a.lo, &lo) || !neo_expr_is_int(m, a.hi, &hi))
      len = neo_op2(m, NEO_OP_MAX, len, zero);
    n = neo_op2(m, NEO_OP_MUL, n, len);
  }
  return box ? n : ad_read(m, ad_stored_acc(s, def, 1));
}

static neo_expr mean(ad_state *s, neo_def def, neo_expr g) {
  neo_expr n = neo_cast(s->m, neo_expr_type(s->m, g), count_of(s, def));
  return neo_op2(s->m, NEO_OP_DIV, g, n);
}

/* Row-major position among the reduction axes; written by whoever did not give the definition a payload. */
static neo_expr position(neo_module *m, const neo_def_rec *d) {
  neo_expr at = neo_const_int(m, NEO_I64_T, 0);
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_axis_rec a = *neo_def_axis(m, d, k);
    at = neo_op2(m, NEO_OP_MUL, at, neo_op2(m, NEO_OP_SUB, a.hi, a.lo));
    at = neo_op2(m, NEO_OP_ADD, at, neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, k), a.lo));
  }
  return at;
}

static neo_expr winner(ad_state *s, neo_def def, neo_expr g) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  if (d.body.n < 2) {
    uint32_t body[2] = {neo_list_at(m, d.body, 0), position(m, &d).i};
    d.body = neo_list_new(m, body, 2);
    neo_def_at(m, def)->body = d.body;
  }
  neo_expr at = ad_read(m, ad_stored_acc(s, def, 1));
  neo_expr here = neo_op2(m, NEO_OP_EQ, at, neo_list_expr(m, d.body, 1));
  return ad_select(m, here, g, ad_zero(m, neo_expr_type(m, g)));
}

static neo_expr softmax(ad_state *s, neo_def def, neo_expr g) {
  neo_module *m = s->m;
  neo_expr lse = ad_read(m, ad_stored_acc(s, def, 0));
  neo_expr body = neo_list_expr(m, neo_def_at(m, def)->body, 0);
  return ad_scale(m, g, neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, body, lse)));
}

/* others[x, r] = prod[r' where r' != r] body(x, r'). The r become output axes, so their ranges must be boxes from 0. */
static neo_expr others(ad_state *s, neo_def def, neo_expr g) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  uint32_t n_red = d.axes.n - d.n_out;
  neo_axis_rec axis[64];
  neo_expr move[64] = {{0}}, differ = {0};
  for (uint32_t k = 0; k < d.axes.n; k++) {
    int64_t lo;
    axis[k] = *neo_def_axis(m, &d, k);
    bool red = k >= d.n_out;
    if (red &&
        (!neo_expr_is_int(m, axis[k].lo, &lo) || lo != 0 || neo_expr_axes(m, axis[k].hi) != 0 ||
         neo_expr_uses_op(m, axis[k].hi, NEO_OP_LOAD))) {
      neo_diag(m->diags, d.span, NEO_D_GRAD_RANGE, "prod");
      s->failed = true;
      return (neo_expr){0};
    }
    if (!red)
      continue;
    axis[k + n_red] = axis[k];
    move[k] = neo_axis_ref(m, k + n_red);
    neo_expr ne = neo_op2(m, NEO_OP_NE, move[k], neo_axis_ref(m, k));
    differ = differ.i ? neo_op2(m, NEO_OP_OR, differ, ne) : ne;
  }
  neo_tensor like = {neo_list_at(m, d.out, 0)};
  neo_type type = neo_expr_type(m, neo_list_expr(m, d.body, 0));
  neo_tensor t = ad_temp(m, "others", like, type, axis, d.axes.n, d.span);
  neo_expr body = neo_expr_subst_axes(m, neo_list_expr(m, d.body, 0), move, d.axes.n),
           acc = neo_acc_ref(m, type, 0);
  neo_def_rec r = {.n_out = d.axes.n, .reducer = NEO_RED_PROD, .span = d.span};
  r.where = d.where.i ? ad_and(m, differ, neo_expr_subst_axes(m, d.where, move, d.axes.n)) : differ;
  r.body = neo_list_new(m, &body.i, 1);
  r.finish = neo_list_new(m, &acc.i, 1);
  ad_define(m, t, r, axis, d.axes.n + n_red);
  return ad_scale(m, g, ad_read(m, t));
}

neo_expr ad_reducer(ad_state *s, neo_def def, neo_expr g) {
  switch ((neo_reducer)neo_def_at(s->m, def)->reducer) {
  case NEO_RED_SUM:
    return g;
  case NEO_RED_MEAN:
    return mean(s, def, g);
  case NEO_RED_MAX:
  case NEO_RED_MIN:
    return winner(s, def, g);
  case NEO_RED_LOGSUMEXP:
    return softmax(s, def, g);
  case NEO_RED_PROD:
    return others(s, def, g);
  default:
    return (neo_expr){0};
  }
}
