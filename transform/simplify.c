/* Simplification of expressions by facts on axes and sizes, with propagation of constant tensors,
 * such as a branch's result:
 *
 *     z[i] = 0                       y[i] = select(c[i], x[i], z[i])   ->   select(c[i], x[i], 0)
 *
 * Ends of a reduction that are data become its range (data_ranges.h).
 *
 * Gradients flow through reads. While requests wait, reads of the tensors that they name, and of
 * results of functions with a custom gradient, stay, whatever they hold. */
#include "ir/prove/prove.h"
#include "transform/data_ranges.h"
#include "transform/transform.h"

typedef struct {
  neo_prover *prover;
  neo_facts facts;
} under;

static neo_expr simpler(under *u, neo_module *m, neo_expr e) {
  (void)m;
  return e.i ? neo_simplify_under(u->prover, &u->facts, e) : e;
}

static neo_list simpler_list(under *u, neo_module *m, neo_list l) {
  uint32_t ids[8];
  for (uint32_t k = 0; k < l.n; k++)
    ids[k] = simpler(u, m, neo_list_expr(m, l, k)).i;
  return neo_list_new(m, ids, l.n);
}

/* ---- constants */

/* The constant that all elements of the tensor equal; 0: there is none. */
static neo_expr constant_of(const neo_module *m, neo_tensor t) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  neo_expr none = {0};
  if (r->role != NEO_ROLE_TEMP || r->pieces.n != 1)
    return none;
  const neo_def_rec *d = neo_def_at(m, neo_list_def(m, r->pieces, 0));
  if (d->reducer != NEO_RED_NONE || d->where.i || d->out_map.n || d->out.n != 1)
    return none;
  neo_expr value = neo_list_expr(m, d->finish, 0);
  return neo_expr_node(m, value)->op == NEO_OP_CONST ? value : none;
}

static void forget(neo_expr *constant, const neo_module *m, neo_list tensors) {
  for (uint32_t k = 0; k < tensors.n; k++)
    constant[neo_list_at(m, tensors, k)] = (neo_expr){0};
}

/* Forgets constants through whose reads a gradient flows. */
static void forget_differentiated(neo_expr *constant, const neo_module *m) {
  bool waits = false;
  for (size_t k = 0; k < m->grads.n; k++)
    if (!m->grads.at[k].done) {
      forget(constant, m, m->grads.at[k].wrt);
      waits = true;
    }
  for (size_t k = 0; waits && k < m->customs.n; k++)
    forget(constant, m, m->customs.at[k].outs);
}

static neo_expr read_constant(void *ctx, neo_module *m, neo_expr e) {
  const neo_expr *constant = ctx;
  const neo_node *n = neo_expr_node(m, e);
  return n->op == NEO_OP_LOAD && constant[n->attr].i ? constant[n->attr] : e;
}

static neo_expr rewrite_constants(void *ctx, neo_module *m, neo_expr e) {
  return e.i ? neo_expr_rewrite(m, e, read_constant, ctx) : e;
}

static void read_constants(neo_module *m, neo_arena *a) {
  bool any = false;
  neo_expr *constant = NEO_NEW_ARRAY(a, neo_expr, m->tensors.n);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    constant[t] = constant_of(m, (neo_tensor){t});
  forget_differentiated(constant, m);
  for (uint32_t t = 1; t < m->tensors.n; t++)
    any = any || constant[t].i;
  for (uint32_t k = 1; any && k < m->defs.n; k++)
    neo_def_rewrite(m, (neo_def){k}, rewrite_constants, constant);
}

/* ---- definitions */

static void definition(neo_prover *p, neo_module *m, neo_def d) {
  neo_def_rec r = *neo_def_at(m, d);
  neo_axis_rec axis[NEO_DEF_AXES];
  for (uint32_t k = 0; k < r.axes.n; k++)
    axis[k] = *neo_def_axis(m, &r, k);
  neo_prover_at(p, r.span);
  under u = {p, {.axes = axis, .n_axes = r.axes.n}};
  neo_expr where = simpler(&u, m, r.where);
  int64_t always;
  if (where.i && neo_expr_is_int(m, where, &always) && always)
    where.i = 0;
  if (neo_take_data_ranges(p, axis, r.axes.n, r.n_out, &where))
    r.axes = neo_axes_add(m, axis, r.axes.n);
  u.facts.assume = &where;
  u.facts.n_assume = where.i != 0;
  neo_list body = simpler_list(&u, m, r.body);
  u.facts.n_axes = r.n_out;
  u.facts.n_assume = 0;
  neo_list finish = simpler_list(&u, m, r.finish);
  neo_def_rec *to = neo_def_at(m, d);
  to->axes = r.axes;
  to->where = where;
  to->body = body;
  to->finish = finish;
}

neo_status neo_pass_simplify(const neo_pass_context *pass) {
  neo_module *m = pass->m;
  read_constants(m, pass->a);
  for (uint32_t k = 1; k < m->defs.n; k++)
    definition(pass->p, m, (neo_def){k});
  return NEO_OK;
}
