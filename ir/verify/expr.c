/* The verifier's lowest part: reports, expressions in their scope, values of sizes. */
#include "ir/check.h"
#include "ir/element.h"
#include "ir/interp/interp.h"
#include "ir/verify/parts.h"
#include <stdarg.h>

bool neo_verify_fail(neo_verifier *v, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  const char *text = neo_arena_vprintf(v->arena, fmt, ap);
  va_end(ap);
  neo_str_addf(v->why, "%s: %s", v->where, text);
  return false;
}

/* ---- expressions */

typedef struct {
  neo_verifier *v;
  const neo_verify_scope *in;
  const char *what;
  bool ok;
} expr_check;

static const char *node_problem(const expr_check *c, neo_expr e) {
  const neo_module *m = c->v->m;
  const neo_node *n = neo_expr_node(m, e);
  if (c->in->sizes_only && !neo_node_is_of_sizes(n))
    return "it may use constants and sizes only";
  if (n->op == NEO_OP_AXIS && n->attr >= c->in->n_axes)
    return "it uses an axis it does not have";
  if (n->op == NEO_OP_ACC && n->attr >= c->in->n_accs)
    return "it uses a result that is not there";
  if (n->op == NEO_OP_ACC && n->type != neo_reducer_acc_type(c->in->acc, n->attr))
    return "the type of a reduction's result is wrong";
  if (n->op == NEO_OP_RAND && n->attr >= m->n_sites)
    return "the site of rand does not exist";
  const neo_expr *arg = (const neo_expr *)(const void *)(m->pool.at + n->arg.at);
  return neo_check_node(m, (neo_op)n->op, (neo_type)n->type, n->attr, arg, n->arg.n);
}

static void check_one(void *ctx, neo_expr e) {
  expr_check *c = ctx;
  const char *problem = c->ok ? node_problem(c, e) : NULL;
  if (!problem)
    return;
  neo_op op = (neo_op)neo_expr_node(c->v->m, e)->op;
  c->ok = neo_verify_fail(c->v, "%s: '%s': %s", c->what, neo_op_text(op), problem);
}

bool neo_verify_expr(neo_verifier *v, const neo_verify_scope *in, neo_expr e, neo_type type,
                     const char *what) {
  const neo_module *m = v->m;
  expr_check c = {v, in, what, true};
  if (e.i == 0 || e.i >= m->nodes.n)
    return neo_verify_fail(v, "%s is missing", what);
  neo_expr_visit(m, e, check_one, &c);
  if (!c.ok)
    return false;
  if (neo_expr_type(m, e) == type)
    return true;
  return neo_verify_fail(v, "%s is %s instead of %s", what, neo_type_text(neo_expr_type(m, e)),
                         neo_type_text(type));
}

/* ---- values of sizes */

typedef struct {
  const neo_verifier *v;
  uint32_t sample;
} evaluation;

static void eval_node(void *ctx, neo_expr e) {
  const evaluation *ev = ctx;
  const neo_verifier *v = ev->v;
  const neo_node *n = neo_expr_node(v->m, e);
  neo_value x[3] = {{.i = 0}};
  if (neo_expr_is_int(v->m, e, &v->value[e.i]))
    return;
  if (n->op == NEO_OP_SIZE) {
    v->value[e.i] = v->size[ev->sample][n->attr];
    return;
  }
  for (uint32_t k = 0; k < n->arg.n && k < 3; k++)
    x[k].i = v->value[neo_list_at(v->m, n->arg, k)];
  neo_type t = neo_expr_type(v->m, neo_expr_arg(v->m, e, 0));
  v->value[e.i] = neo_value_op((neo_op)n->op, (neo_type)n->type, t, x).i;
}

int64_t neo_verify_eval(const neo_verifier *v, uint32_t sample, neo_expr e) {
  evaluation ev = {v, sample};
  neo_expr_visit(v->m, e, eval_node, &ev);
  return v->value[e.i];
}
