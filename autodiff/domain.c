/* The points of a definition: its axes as a space, and boxes over sizes alone that hold them. */
#include "autodiff/internal.h"

ad_space ad_space_of(const neo_module *m, const neo_def_rec *d, uint32_t n) {
  ad_space sp = {.n = n};
  for (uint32_t k = 0; k < n; k++)
    sp.axis[k] = *neo_def_axis(m, d, k);
  return sp;
}

/* Has the domain of these axes no points? Then no interval is known, and none is needed. */
static bool is_empty(ad_state *s, const neo_facts *f) {
  return neo_proves(s->env.prover, f, neo_const_bool(s->m, false));
}

bool ad_box_of(ad_state *s, const neo_def_rec *d, uint32_t k, ad_box *out) {
  neo_module *m = s->m;
  neo_axis_rec axis[NEO_DEF_AXES];
  for (uint32_t i = 0; i < d->axes.n; i++)
    axis[i] = *neo_def_axis(m, d, i);
  neo_facts f = {.axes = axis, .n_axes = k};
  neo_expr end[2] = {axis[k].lo, axis[k].hi};
  out->exact = true;
  for (int i = 0; i < 2; i++) {
    int64_t ends[2];
    if (neo_expr_axes(m, end[i]) == 0 && ad_is_plain_index(m, end[i]))
      continue;
    out->exact = false;
    if (!neo_interval(s->env.prover, &f, end[i], &ends[0], &ends[1])) {
      if (!is_empty(s, &f))
        return false;
      ends[0] = ends[1] = 0;
    }
    end[i] = neo_const_i64(m, ends[i]);
  }
  out->lo = end[0];
  out->length = neo_op2(m, NEO_OP_SUB, end[1], end[0]);
  int64_t n;
  if (neo_expr_node(m, out->length)->op != NEO_OP_SIZE &&
      !(neo_expr_is_int(m, out->length, &n) && n >= 0))
    out->length = neo_op2(m, NEO_OP_MAX, out->length, neo_const_i64(m, 0));
  return true;
}

/* A run visits each point of an exact box, so it has at most 2^40 points in practice. Other boxes
 * may have far more. */
bool ad_points_fit(ad_state *s, const neo_def_rec *d, uint32_t first) {
  const int64_t visited = (int64_t)1 << 40;
  int64_t all = 1, exact = 1, least, most;
  for (uint32_t k = first; k < d->axes.n; k++) {
    ad_box b;
    if (!ad_box_of(s, d, k, &b) || !neo_interval(s->env.prover, NULL, b.length, &least, &most))
      return false;
    most = most > 1 ? most : 1;
    if (b.exact)
      exact = __builtin_mul_overflow(exact, most, &exact) || exact > visited ? visited : exact;
    else if (__builtin_mul_overflow(all, most, &all))
      return false;
  }
  return !__builtin_mul_overflow(all, exact, &all);
}

neo_expr ad_no_range(ad_state *s, const neo_def_rec *d, const char *reducer) {
  neo_diag(s->m->diags, d->span, NEO_D_GRAD_RANGE, reducer);
  s->failed = true;
  return (neo_expr){0};
}
