/* Parts of sums; see sum_parts.h. */
#include "transform/sum_parts.h"
#include "ir/define.h"
#include "ir/limits.h"
#include "ir/product.h"

bool neo_whole_sum_of(neo_module *m, neo_prover *prover, neo_def id, neo_whole_sum *out) {
  neo_whole_sum s = {.m = m, .prover = prover, .id = id, .r = *neo_def_at(m, id)};
  s.n = s.r.axes.n;
  if (s.r.reducer != NEO_RED_SUM || s.r.body.n != 1 || s.n > NEO_SUM_AXES)
    return false;
  for (uint32_t k = 0; k < s.n; k++)
    s.axis[k] = *neo_def_axis(m, &s.r, k);
  *out = s;
  return true;
}

bool neo_sum_is_product(const neo_whole_sum *s) {
  neo_module *m = s->m;
  neo_expr factor[NEO_PRODUCT_FACTORS];
  uint64_t out = ((uint64_t)1 << s->r.n_out) - 1;
  uint32_t n = 0;
  if (!neo_product_factors(m, neo_list_expr(m, s->r.body, 0), factor, &n, NEO_PRODUCT_FACTORS))
    return false;
  for (uint32_t i = 0; i < n; i++)
    for (uint32_t k = 0; k < i; k++) {
      uint64_t a = neo_expr_axes(m, factor[i]) & out, b = neo_expr_axes(m, factor[k]) & out;
      if ((a & ~b) && (b & ~a))
        return true;
    }
  return false;
}

bool neo_sum_is_box(const neo_whole_sum *s) {
  for (uint32_t k = 0; k < s->n; k++)
    if (neo_expr_axes(s->m, s->axis[k].lo) || neo_expr_axes(s->m, s->axis[k].hi))
      return false;
  return true;
}

bool neo_sum_is_plain_axis(const neo_whole_sum *s, uint32_t k) {
  int64_t zero;
  neo_expr hi = s->axis[k].hi;
  return neo_expr_is_int(s->m, s->axis[k].lo, &zero) && zero == 0 && !neo_expr_axes(s->m, hi) &&
         !neo_expr_uses_op(s->m, hi, NEO_OP_LOAD);
}

neo_sum_part neo_sum_part_of(const neo_whole_sum *s, uint32_t at, neo_expr from, neo_expr n) {
  neo_module *m = s->m;
  neo_expr by[NEO_SUM_AXES] = {{0}};
  neo_sum_part x = {.where = s->r.where};
  by[at] = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, at), from);
  for (uint32_t k = 0; k < s->n; k++)
    x.axis[k] = s->axis[k];
  x.axis[at].hi = n;
  neo_facts f = {.axes = x.axis, .n_axes = s->n};
  x.body = neo_expr_subst_axes(m, neo_list_expr(m, s->r.body, 0), by, s->n);
  x.body = neo_simplify_under(s->prover, &f, x.body);
  if (x.where.i)
    x.where = neo_expr_subst_axes(m, x.where, by, s->n);
  return x;
}

neo_expr neo_sum_part_define(const neo_whole_sum *s, const char *prefix, const neo_sum_part *x,
                             uint32_t at, neo_expr from) {
  neo_module *m = s->m;
  neo_expr by[NEO_SUM_AXES], index[NEO_SUM_AXES];
  uint64_t used = neo_expr_axes(m, x->body) | (x->where.i ? neo_expr_axes(m, x->where) : 0);
  neo_partial y = {.prefix = prefix, .of = s->id, .reducer = NEO_RED_SUM};
  neo_axis_rec axis[NEO_SUM_AXES];
  uint32_t n = 0;
  for (uint32_t k = 0; k < s->n; k++) {
    bool out = k < s->r.n_out;
    by[k] = neo_axis_ref(m, n);
    if (out && !(used >> k & 1))
      continue;
    if (out) {
      neo_expr position = neo_axis_ref(m, k);
      index[y.n_out++] = k == at ? neo_op2(m, NEO_OP_SUB, position, from) : position;
    }
    axis[n++] = x->axis[k];
  }
  y.axes = neo_axes_add(m, axis, n);
  y.body = neo_expr_subst_axes(m, x->body, by, s->n);
  y.where = neo_expr_subst_axes(m, x->where, by, s->n);
  return neo_load(m, neo_partial_define(m, &y), index, y.n_out, s->r.span);
}

void neo_sum_become(neo_whole_sum *s, const neo_sum_part *x, neo_expr rest) {
  neo_module *m = s->m;
  neo_expr acc = neo_acc_ref(m, neo_expr_type(m, neo_list_expr(m, s->r.body, 0)), 0);
  neo_expr value = x ? neo_op2(m, NEO_OP_ADD, acc, rest) : rest;
  s->r.finish = neo_list_replace(m, s->r.finish, acc, value);
  s->n = x ? s->n : s->r.n_out;
  for (uint32_t k = 0; x && k < s->n; k++)
    s->axis[k] = x->axis[k];
  s->r.axes = neo_axes_add(m, s->axis, s->n);
  s->r.where = x ? x->where : (neo_expr){0};
  s->r.body = x ? neo_list_one(m, x->body.i) : (neo_list){0};
  s->r.reducer = x ? NEO_RED_SUM : NEO_RED_NONE;
  *neo_def_at(m, s->id) = s->r;
}
