/* The accumulators of a stage: registers, initial values, combination with a body, and payloads.
 *
 * A reducer with a payload, (value, index), has two accumulators: the payload of a body replaces
 * that of the accumulator if its value wins. The payload of an empty accumulator is INT64_MIN. */
#include "codegen/lower/common/acc.h"
#include <math.h>

neo_value neo_acc_identity(neo_reducer kind, neo_type t) {
  static const int64_t least[] = {[NEO_I64_T] = INT64_MIN,
                                  [NEO_I32_T] = INT32_MIN,
                                  [NEO_I8_T] = INT8_MIN,
                                  [NEO_U8_T] = 0,
                                  [NEO_BOOL_T] = 0};
  static const int64_t most[] = {[NEO_I64_T] = INT64_MAX,
                                 [NEO_I32_T] = INT32_MAX,
                                 [NEO_I8_T] = INT8_MAX,
                                 [NEO_U8_T] = UINT8_MAX,
                                 [NEO_BOOL_T] = 1};
  bool real = neo_type_is_float(t);
  neo_value v = {.i = 0};
  double x = 0;
  switch (kind) {
  case NEO_RED_PROD:
    x = 1, v.i = 1;
    break;
  case NEO_RED_MAX:
    x = -(double)INFINITY, v.i = real ? 0 : least[t];
    break;
  case NEO_RED_MIN:
    x = (double)INFINITY, v.i = real ? 0 : most[t];
    break;
  case NEO_RED_ALL:
    v.i = 1;
    break;
  case NEO_RED_NONE:
    v.i = INT64_MIN;
    break; /* a payload: nothing was taken yet */
  default:
    break;
  }
  if (real)
    v.f = x;
  return v;
}

void neo_acc_set(lowering *l, neo_block *in, const acc_reg *r, const neo_lx *value) {
  const neo_lx *col = r->columns ? l->col : NULL;
  const neo_lx *index[] = {neo_lower_acc_row(l, r), lx_or_0(l, col), lx_or_0(l, l->lane)};
  neo_ls_set(l->k, in, r->reg, index, r->rank, value);
}

uint32_t neo_lower_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                       int64_t cols, int64_t width) {
  neo_reg r = {.name = name, .type = (uint8_t)t, .rank = width > 1 ? 3 : 2};
  r.extent[0] = rows;
  r.extent[1] = cols;
  r.extent[2] = width;
  uint32_t reg = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, reg);
  return reg;
}

void neo_acc_make(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  for (uint32_t k = 0; k < s->accs.n; k++) {
    acc_reg *r = &l->acc[s->first_acc + k];
    neo_type type = (neo_type)s->accs.at[k].type;
    int64_t width = lanes ? t->width : 1;
    uint32_t reg = neo_lower_reg(l, in, "acc", type, t->rows, t->cols, width);
    *r = (acc_reg){.reg = reg, .rank = width > 1 ? 3 : 2, .columns = t->cols > 1, .live = true};
  }
}

static void clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  neo_block *b = neo_lower_open_tile(l, in, t, lanes);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    const neo_form_acc *x = &s->accs.at[k];
    neo_value v = neo_acc_identity((neo_reducer)x->kind, (neo_type)x->type);
    neo_acc_set(l, b, &l->acc[s->first_acc + k], neo_lx_const(l->k, (neo_type)x->type, v));
  }
  neo_lower_close_tile(l);
}

void neo_acc_begin(lowering *l, neo_block *in, const neo_stage *s, const tile *t, bool lanes) {
  neo_acc_make(l, in, s, t, lanes);
  clear_accs(l, in, s, t, lanes);
}

void neo_lower_clear_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  clear_accs(l, in, s, t, true);
}

void neo_lower_begin_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  neo_acc_begin(l, in, s, t, true);
}

/* ---- combining */

const neo_lx *neo_acc_wins(lowering *l, neo_reducer kind, const neo_lx *x, const neo_lx *best,
                           const neo_lx *payload) {
  const neo_lx *better = kind == NEO_RED_MAX ? lx_lt(l, best, x) : lx_lt(l, x, best);
  if (neo_type_is_float((neo_type)x->type)) {
    const neo_lx *nan = neo_lx_op2(l->k, NEO_OP_NE, x, x);
    nan = neo_lx_op2(l->k, NEO_OP_AND, nan, neo_lx_op2(l->k, NEO_OP_EQ, best, best));
    better = neo_lx_op2(l->k, NEO_OP_OR, better, nan);
  }
  const neo_lx *none = neo_lx_op2(l->k, NEO_OP_EQ, payload, lx_int(l, INT64_MIN));
  return neo_lx_op2(l->k, NEO_OP_OR, better, none);
}

const neo_lx *neo_acc_combined(lowering *l, neo_reducer kind, const neo_lx *a, const neo_lx *x) {
  static const neo_op op[] = {
      [NEO_RED_SUM] = NEO_OP_ADD, [NEO_RED_PROD] = NEO_OP_MUL, [NEO_RED_MAX] = NEO_OP_MAX,
      [NEO_RED_MIN] = NEO_OP_MIN, [NEO_RED_ANY] = NEO_OP_OR,   [NEO_RED_ALL] = NEO_OP_AND};
  return neo_lx_op2(l->k, op[kind], a, x);
}

/* The accumulator combined with one more body. A sum of products, negated or not, is an FMA. */
static const neo_lx *step(lowering *l, const neo_form_acc *a, const neo_lx *old) {
  neo_expr body = a->body;
  bool minus = neo_expr_node(l->m, body)->op == NEO_OP_NEG;
  if (minus)
    body = neo_expr_arg(l->m, body, 0);
  bool product = neo_expr_node(l->m, body)->op == NEO_OP_MUL;
  if (a->kind == NEO_RED_SUM && product && neo_type_is_float((neo_type)a->type)) {
    const neo_lx *x[2];
    if (!neo_acc_operands(l, body, x)) {
      x[0] = neo_lower_expr(l, neo_expr_arg(l->m, body, 0));
      x[1] = neo_lower_expr(l, neo_expr_arg(l->m, body, 1));
    }
    return neo_lx_fma(l->k, minus ? neo_lx_op1(l->k, NEO_OP_NEG, x[0]) : x[0], x[1], old);
  }
  return neo_acc_combined(l, (neo_reducer)a->kind, old, neo_lower_expr(l, a->body));
}

const neo_lx *neo_acc_where(lowering *l, const neo_lx *cond, const neo_lx *yes, const neo_lx *no) {
  return cond ? neo_lx_op3(l->k, NEO_OP_SELECT, cond, yes, no) : yes;
}

void neo_lower_combine(lowering *l, neo_block *in, const neo_stage *s, const neo_lx *cond) {
  for (uint32_t k = 0; k < s->accs.n; k++) {
    const neo_form_acc *a = &s->accs.at[k];
    const acc_reg *r = &l->acc[s->first_acc + k];
    const neo_lx *old = neo_lower_acc(l, s->first_acc + k);
    bool payload = k + 1 < s->accs.n && s->accs.at[k + 1].kind == NEO_RED_NONE;
    if (!payload) {
      neo_acc_set(l, in, r, neo_acc_where(l, cond, step(l, a, old), old));
      continue;
    }
    const neo_lx *old_p = neo_lower_acc(l, s->first_acc + k + 1);
    const neo_lx *x = neo_lower_expr(l, a->body), *p = neo_lower_expr(l, s->accs.at[k + 1].body);
    const neo_lx *take = lx_and(l, cond, neo_acc_wins(l, (neo_reducer)a->kind, x, old, old_p));
    /* the payload is set first, because the choice reads the old best value */
    neo_acc_set(l, in, &l->acc[s->first_acc + k + 1], neo_acc_where(l, take, p, old_p));
    neo_acc_set(l, in, r, neo_acc_where(l, take, x, old));
    k++;
  }
}

/* ---- the payload of an empty reduction becomes 0 */

bool neo_lower_has_payload(const neo_stage *s) {
  for (size_t k = 0; k < s->accs.n; k++)
    if (s->accs.at[k].kind == NEO_RED_NONE)
      return true;
  return false;
}

void neo_lower_end_payloads(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                            bool lanes) {
  if (!neo_lower_has_payload(s))
    return;
  neo_block *b = neo_lower_open_tile(l, in, t, lanes);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    if (s->accs.at[k].kind != NEO_RED_NONE)
      continue;
    const neo_lx *x = neo_lower_acc(l, s->first_acc + k), *zero = lx_int(l, 0);
    const neo_lx *none = neo_lx_op2(l->k, NEO_OP_EQ, x, lx_int(l, INT64_MIN));
    neo_acc_set(l, b, &l->acc[s->first_acc + k], neo_acc_where(l, none, zero, x));
  }
  neo_lower_close_tile(l);
}

void neo_lower_show_accs(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                         const acc_reg *shown, acc_reg *old) {
  neo_block *b = neo_lower_open_tile(l, in, t, true);
  for (uint32_t k = 0; k < s->accs.n; k++)
    neo_acc_set(l, b, &shown[k], neo_lower_acc(l, s->first_acc + k));
  neo_lower_close_tile(l);
  for (uint32_t k = 0; k < s->accs.n; k++) {
    old[k] = l->acc[s->first_acc + k];
    l->acc[s->first_acc + k] = shown[k];
  }
  neo_lower_end_payloads(l, in, s, t, true);
}

void neo_lower_accumulate(lowering *l, neo_block *in, const neo_stage *s, const tile *t,
                          const stage_bounds *b) {
  neo_expr where;
  const neo_lx *outer = l->guard;
  in = neo_lower_open_where(l, in, b, UINT32_MAX, &where);
  neo_block *inner = neo_lower_open_tile(l, in, t, true);
  const neo_lx *cond = neo_lower_cond(l, where);
  if (s->where.i) /* loads may also rely on conditions that became bounds or branches around them */
    l->guard = lx_and(l, outer, cond);
  neo_lower_combine(l, inner, s, cond);
  l->guard = outer;
  neo_lower_close_tile(l);
}
