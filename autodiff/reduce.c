/* Reducers backwards: the adjoint of the body at one point of the domain.
 *
 *   sum         g
 *   mean        g / max(count, 1)
 *   max, min    g where this point's payload is the winner's, else 0 (the first of equals has it)
 *   logsumexp   g * exp(body - result), 0 if all of the body is -inf
 *   prod        g * product of the body over all other points (product.c)
 *   any, all    none */
#include "autodiff/internal.h"
#include <math.h>

static neo_type type_of(const neo_module *m, neo_expr e) {
  return neo_expr_type(m, e);
}

static bool uses_reduction_axes(const neo_module *m, const neo_def_rec *d, neo_expr e) {
  uint64_t out = d->n_out >= 63 ? ~0ull : (1ull << d->n_out) - 1;
  return (neo_expr_axes(m, e) & ~out) != 0;
}

/* Number of points as an expression over the output axes where the domain is a box; else the stored
 * count. */
static neo_expr count_of(ad_state *s, neo_def def) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  neo_expr n = neo_const_i64(m, 1);
  bool box = !d.where.i;
  for (uint32_t k = d.n_out; k < d.axes.n && box; k++) {
    neo_axis_rec a = *neo_def_axis(m, &d, k);
    box = !uses_reduction_axes(m, &d, a.lo) && !uses_reduction_axes(m, &d, a.hi);
    n = neo_op2(m, NEO_OP_MUL, n, neo_axis_points(m, &a));
  }
  return box ? n : ad_read(m, ad_stored_acc(s, def, 1));
}

static neo_expr mean(ad_state *s, neo_def def, neo_expr g) {
  neo_type t = neo_expr_type(s->m, g);
  bool narrow = t == NEO_F16_T || t == NEO_BF16_T; /* the count may not fit */
  neo_type wide = narrow ? NEO_F32_T : t;
  neo_expr count = count_of(s, def);
  int64_t known;
  /* the mean of no elements has the adjoint 0, not NaN */
  if (!neo_expr_is_int(s->m, count, &known) || known < 1)
    count = neo_op2(s->m, NEO_OP_MAX, count, neo_const_i64(s->m, 1));
  neo_expr n = neo_cast(s->m, wide, count);
  return ad_convert(s->m, t, ad_quotient(s->m, ad_convert(s->m, wide, g), n));
}

/* The number of a point among those of the reduction axes, as the payload of a definition that has
 * none. 0: a range has no bound, or there are too many points to number. */
static neo_expr position(ad_state *s, const neo_def_rec *d) {
  neo_module *m = s->m;
  neo_expr at = neo_const_i64(m, 0);
  if (!ad_points_fit(s, d, d->n_out))
    return (neo_expr){0};
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    ad_box b;
    if (!ad_box_of(s, d, k, &b))
      return (neo_expr){0};
    at = neo_op2(m, NEO_OP_MUL, at, b.length);
    at = neo_op2(m, NEO_OP_ADD, at, neo_op2(m, NEO_OP_SUB, neo_axis_ref(m, k), b.lo));
  }
  return at;
}

/* Whether the payload differs at all points of the reduction. */
static bool identifies(ad_state *s, const neo_def_rec *d, neo_expr payload) {
  neo_module *m = s->m;
  neo_axis_rec axis[NEO_DEF_AXES];
  neo_expr move[NEO_DEF_AXES] = {{0}}, here = position(s, d);
  uint32_t n_red = d->axes.n - d->n_out;
  if (n_red == 0 || payload.i == here.i)
    return true;
  if (d->axes.n + n_red >= 63)
    return false;
  for (uint32_t k = 0; k < d->axes.n; k++) {
    axis[k] = *neo_def_axis(m, d, k);
    if (k < d->n_out)
      continue;
    axis[k + n_red] = axis[k];
    axis[k + n_red].lo = neo_expr_subst_axes(m, axis[k].lo, move, k);
    axis[k + n_red].hi = neo_expr_subst_axes(m, axis[k].hi, move, k);
    move[k] = neo_axis_ref(m, k + n_red);
  }
  neo_expr other = neo_expr_subst_axes(m, payload, move, d->axes.n);
  neo_expr equal = neo_op2(m, NEO_OP_EQ, payload, other);
  neo_facts f = {.axes = axis, .n_axes = d->axes.n + n_red, .assume = &equal, .n_assume = 1};
  for (uint32_t k = d->n_out; k < d->axes.n; k++) {
    neo_expr same = neo_op2(m, NEO_OP_EQ, neo_axis_ref(m, k), move[k]);
    if (!neo_proves(s->env.prover, &f, same))
      return false;
  }
  return true;
}

static neo_expr winner(ad_state *s, neo_def def, neo_expr g) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  neo_expr here = d.body.n == 2 ? neo_list_expr(m, d.body, 1) : (neo_expr){0}, at;
  if (here.i && identifies(s, &d, here)) {
    at = ad_read(m, ad_stored_acc(s, def, 1));
  } else {
    uint32_t body[2] = {neo_list_at(m, d.body, 0), position(s, &d).i};
    if (!body[1])
      return ad_no_range(s, &d, neo_reducer_text((neo_reducer)d.reducer));
    neo_list with_position = neo_list_new(m, body, 2);
    if (!here.i)
      neo_def_at(m, def)->body = with_position;
    at = ad_read(m, here.i ? ad_winner_at(s, def, with_position) : ad_stored_acc(s, def, 1));
    here.i = body[1];
  }
  neo_expr wins = neo_op2(m, NEO_OP_EQ, at, here);
  return ad_select(m, wins, g, ad_zero(m, neo_expr_type(m, g)));
}

static neo_expr softmax(ad_state *s, neo_def def, neo_expr g) {
  neo_module *m = s->m;
  neo_expr lse = ad_read(m, ad_stored_acc(s, def, 0));
  neo_expr body = neo_list_expr(m, neo_def_at(m, def)->body, 0), zero = ad_zero(m, type_of(m, g));
  neo_expr none = neo_op2(m, NEO_OP_EQ, lse, neo_const_float(m, type_of(m, g), -INFINITY));
  neo_expr part = neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, body, lse));
  return ad_scale(m, ad_select(m, none, zero, g), part);
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
    return ad_product(s, def, g);
  default:
    return (neo_expr){0};
  }
}
