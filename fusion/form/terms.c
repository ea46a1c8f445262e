/* Reuse of exponentials: in a kernel that computes their sum, a quotient by the sum uses its terms.
 *
 *     acc1 = sum exp(x - m)                       acc1 = sum exp(x - m)
 *     Y = exp(x - (m + log(acc1)))          ->    Y = exp(x - m) * (1/acc1)
 *
 * Softmax is written by its logarithm, and so is every gradient of a logsumexp. The exponential
 * becomes a term of the sum, which a schedule may store (schedule/row_stash.h). It is also more
 * accurate: m + log(acc1) is not rounded. Only in a row with an infinity, which has a NaN anyway,
 * large finite elements may become NaN as well.
 *
 * The point has to be a term of the sum: outside of its range or condition x may be far above m,
 * and exp(x - m) infinite where the quotient is not. */
#include "fusion/form/steps.h"

typedef struct {
  neo_form *f;
  const neo_stage *stage; /* current stage; earlier ones have the accumulators */
  neo_expr holds;         /* condition under which the current expression is evaluated; 0: always */
} terms;

static const neo_stage *stage_of(const neo_form *f, uint32_t acc) {
  for (size_t k = 0; k < f->stages.n; k++) {
    const neo_stage *s = &f->stages.at[k];
    if (acc >= s->first_acc && acc < s->first_acc + s->accs.n)
      return s;
  }
  return NULL;
}

/* ---- recognising terms */

/* Is `part` a conjunct of `all`? */
static bool is_part(neo_module *m, neo_expr all, neo_expr part) {
  if (!all.i || all.i == part.i)
    return all.i == part.i;
  return neo_expr_node(m, all)->op == NEO_OP_AND &&
         (is_part(m, neo_expr_arg(m, all, 0), part) || is_part(m, neo_expr_arg(m, all, 1), part));
}

/* Are the conjuncts of `condition` (0: none) among those of `all`? */
static bool says(neo_module *m, neo_expr all, neo_expr condition) {
  if (!condition.i || is_part(m, all, condition))
    return true;
  return neo_expr_node(m, condition)->op == NEO_OP_AND &&
         says(m, all, neo_expr_arg(m, condition, 0)) && says(m, all, neo_expr_arg(m, condition, 1));
}

/* Is the body of stage `sum` at the current point, which has these axes, one of its terms? */
static bool is_term(const terms *t, neo_module *m, const neo_stage *sum, neo_expr body) {
  size_t first = t->f->axes.n;
  bool is = says(m, t->holds, sum->where);
  for (size_t k = 0; k < sum->axes.n && is; k++) {
    bool used = neo_form_axes(m, t->f, body) >> (first + k) & 1;
    is = !used || (k < t->stage->axes.n && t->stage->axes.at[k].lo.i == sum->axes.at[k].lo.i &&
                   t->stage->axes.at[k].hi.i == sum->axes.at[k].hi.i);
  }
  return is;
}

/* ---- terms */

/* `log` is LOG(ACC k), acc k the sum of exp(x - base): the result is exp(x - base)/acc k. */
static neo_expr term(const terms *t, neo_module *m, neo_expr x, neo_expr base, neo_expr log) {
  neo_expr none = {0};
  if (neo_expr_node(m, log)->op != NEO_OP_LOG)
    return none;
  neo_expr sum = neo_expr_arg(m, log, 0);
  const neo_node *n = neo_expr_node(m, sum);
  const neo_stage *of = n->op == NEO_OP_ACC ? stage_of(t->f, n->attr) : NULL;
  if (!of || n->attr >= t->stage->first_acc)
    return none;
  const neo_form_acc *a = &of->accs.at[n->attr - of->first_acc];
  neo_type type = neo_expr_type(m, sum);
  neo_expr e = neo_op1(m, NEO_OP_EXP, neo_op2(m, NEO_OP_SUB, x, base));
  if (a->kind != NEO_RED_SUM || a->body.i != e.i || !is_term(t, m, of, e))
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

/* Rewrites the expression, with conditions of its selects in t->holds. */
static neo_expr rewritten(terms *t, neo_module *m, neo_expr e) {
  if (neo_expr_node(m, e)->op != NEO_OP_SELECT)
    return neo_expr_rewrite(m, e, rewrite, t);
  neo_expr outside = t->holds, c = neo_expr_arg(m, e, 0);
  neo_expr other = rewritten(t, m, neo_expr_arg(m, e, 2));
  t->holds = neo_both(m, outside, c);
  neo_expr chosen = rewritten(t, m, neo_expr_arg(m, e, 1));
  t->holds = outside;
  return neo_op3(m, NEO_OP_SELECT, neo_expr_rewrite(m, c, rewrite, t), chosen, other);
}

void neo_form_terms(neo_module *m, neo_form *f) {
  for (size_t k = 0; k < f->stages.n; k++) {
    neo_stage *s = &f->stages.at[k];
    terms t = {f, s, s->where};
    for (size_t i = 0; i < s->accs.n; i++)
      s->accs.at[i].body = rewritten(&t, m, s->accs.at[i].body);
    for (size_t i = 0; i < s->outs.n; i++)
      s->outs.at[i].value = rewritten(&t, m, s->outs.at[i].value);
  }
}
