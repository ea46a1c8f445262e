/* Terms of a sum of exponentials, where the kernel has the sum:
 *
 *     acc1 = sum exp(x - m)                       acc1 = sum exp(x - m)
 *     Y = exp(x - (m + log(acc1)))          ->    Y = exp(x - m) * (1/acc1)
 *
 * Softmax is written by its logarithm, as is every gradient of a logsumexp: in a kernel that has
 * the sum, the exponential is that of the sum's terms, and a schedule may keep it
 * (schedule/row_stash.h). It is also more accurate: m + log(acc1) is not rounded. Only in a row with an
 * infinity, which has a NaN in any case, large finite elements may become NaN as well. */
#include "fusion/form/steps.h"

typedef struct {
  neo_form *f;
  uint32_t n_accs; /* of the stages before */
} terms;

static const neo_form_acc *acc_at(const neo_form *f, uint32_t acc) {
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    if (acc >= s->first_acc && acc < s->first_acc + s->accs.n)
      return &s->accs.at[acc - s->first_acc];
  }
  return NULL;
}

/* `log` is LOG(ACC k), acc k the sum of exp(x - base): exp(x - base)/acc k. */
static neo_expr term(const terms *t, neo_module *m, neo_expr x, neo_expr base, neo_expr log) {
  neo_expr none = {0};
  if (neo_expr_node(m, log)->op != NEO_OP_LOG)
    return none;
  neo_expr sum = neo_expr_arg(m, log, 0);
  const neo_node *n = neo_expr_node(m, sum);
  if (n->op != NEO_OP_ACC || n->attr >= t->n_accs)
    return none;
  const neo_form_acc *a = acc_at(t->f, n->attr);
  neo_type type = neo_expr_type(m, sum);
  neo_expr e = neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, x, base));
  if (!a || a->kind != NEO_RED_SUM || a->body.i != e.i)
    return none;
  return neo_op2(m, NEO_OP_MUL, e, neo_op2(m, NEO_OP_DIV, neo_const_float(m, type, 1), sum));
}

static neo_expr rewrite(void *ctx, neo_module *m, neo_expr e) {
  const terms *t = ctx;
  if (neo_expr_node(m, e)->op != NEO_OP_EXP)
    return e;
  neo_expr d = neo_expr_arg(m, e, 0);
  if (neo_expr_node(m, d)->op != NEO_OP_SUB)
    return e;
  neo_expr x = neo_expr_arg(m, d, 0), z = neo_expr_arg(m, d, 1);
  if (neo_expr_node(m, z)->op != NEO_OP_ADD)
    return e;
  neo_expr a = neo_expr_arg(m, z, 0), b = neo_expr_arg(m, z, 1), y = term(t, m, x, a, b);
  if (!y.i)
    y = term(t, m, x, b, a);
  return y.i ? y : e;
}

void neo_form_terms(neo_module *m, neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++) {
    neo_stage *s = &f->stages.at[k];
    terms t = {f, s->first_acc};
    for (size_t i = 0; i < s->accs.n; i++)
      s->accs.at[i].body = neo_expr_rewrite(m, s->accs.at[i].body, rewrite, &t);
    for (size_t i = 0; i < s->outs.n; i++)
      s->outs.at[i].value = neo_expr_rewrite(m, s->outs.at[i].value, rewrite, &t);
  }
}
