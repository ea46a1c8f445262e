/* Queries on stages of forms: axes, expressions, kinds. */
#include "fusion/form/steps.h"
#include <assert.h>
#include <math.h>

uint32_t neo_stage_axes(const neo_form *f, const neo_stage *s, neo_axis_rec *out) {
  uint32_t n = 0;
  assert(f->axes.n + s->axes.n <= NEO_FORM_MAX_AXES);
  for (size_t k = 0; k < f->axes.n; k++)
    out[n++] = f->axes.at[k];
  for (size_t k = 0; k < s->axes.n; k++)
    out[n++] = s->axes.at[k];
  return n;
}

void neo_stage_visit(const neo_module *m, const neo_stage *s, void (*f)(void *ctx, neo_expr e),
                     void *ctx) {
  for (size_t k = 0; k < s->axes.n; k++) {
    neo_expr_visit(m, s->axes.at[k].lo, f, ctx);
    neo_expr_visit(m, s->axes.at[k].hi, f, ctx);
  }
  neo_expr_visit(m, s->where, f, ctx);
  for (size_t k = 0; k < s->accs.n; k++)
    neo_expr_visit(m, s->accs.at[k].body, f, ctx);
  for (size_t k = 0; k < s->outs.n; k++) {
    neo_expr_visit(m, s->outs.at[k].offset, f, ctx);
    neo_expr_visit(m, s->outs.at[k].value, f, ctx);
  }
}

int64_t neo_form_row_block(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    for (size_t i = 0; i < f->stages.at[k].outs.n; i++)
      if (f->stages.at[k].outs.at[i].row_block)
        return f->stages.at[k].outs.at[i].row_block;
  return 0;
}

bool neo_form_is_nested(const neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++)
    if (f->stages.at[k].over)
      return true;
  return false;
}

static void rewrite(neo_module *m, neo_expr *e, neo_form_rewriter *f, void *ctx) {
  if (e->i)
    *e = f(ctx, m, *e);
}

void neo_stage_rewrite(neo_module *m, neo_stage *s, neo_form_rewriter *value,
                       neo_form_rewriter *offset, void *ctx) {
  for (size_t k = 0; k < s->axes.n; k++) {
    rewrite(m, &s->axes.at[k].lo, value, ctx);
    rewrite(m, &s->axes.at[k].hi, value, ctx);
  }
  rewrite(m, &s->where, value, ctx);
  for (size_t k = 0; k < s->accs.n; k++)
    rewrite(m, &s->accs.at[k].body, value, ctx);
  for (size_t k = 0; k < s->outs.n; k++) {
    rewrite(m, &s->outs.at[k].value, value, ctx);
    rewrite(m, &s->outs.at[k].offset, offset, ctx);
  }
}

neo_expr neo_finite_or_zero(neo_module *m, neo_expr x) {
  neo_type t = neo_expr_type(m, x);
  neo_expr inf = neo_const_float(m, t, (double)INFINITY);
  neo_expr is_inf = neo_op2(m, NEO_OP_EQ, neo_op1(m, NEO_OP_ABS, x), inf);
  return neo_op3(m, NEO_OP_SELECT, is_inf, neo_const_float(m, t, 0), x);
}

bool neo_form_is_logsumexp(neo_module *m, const neo_stage *top, const neo_stage *sum) {
  bool same = top->accs.n == 1 && sum->accs.n == 1 && top->accs.at[0].kind == NEO_RED_MAX &&
              sum->accs.at[0].kind == NEO_RED_SUM &&
              neo_type_is_float((neo_type)top->accs.at[0].type) && top->where.i == sum->where.i &&
              top->axes.n == sum->axes.n;
  for (size_t k = 0; same && k < top->axes.n; k++)
    same = top->axes.at[k].lo.i == sum->axes.at[k].lo.i &&
           top->axes.at[k].hi.i == sum->axes.at[k].hi.i;
  if (!same)
    return false;
  neo_expr x = top->accs.at[0].body, acc = neo_acc_ref(m, neo_expr_type(m, x), top->first_acc);
  neo_expr y = neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, x, neo_finite_or_zero(m, acc)));
  return y.i == sum->accs.at[0].body.i;
}
