/* Simplification of expressions by facts on axes and sizes, with propagation of constant tensors,
 * such as a branch's result:
 *
 *     z[i] = 0                       y[i] = select(c[i], x[i], z[i])   ->   select(c[i], x[i], 0)
 *
 * Ends of a reduction that are data become its range (take_data_ranges).
 *
 * Gradients flow through reads. While requests wait, reads of the tensors that they name, and of
 * results of functions with a custom gradient, stay, whatever they hold. */
#include "ir/comparison.h"
#include "ir/prove/prove.h"
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

/* ---- Conditions that bound a reduction by data become its range (CSR rows):
 *
 *     y[v] = sum[e: E] where begin[v] <= e and e < begin[v + 1]; x[e]
 *     ->  y[v] = sum[e: begin[v]..begin[v + 1]] x[e]
 *
 * A point then costs its range, not E. A condition with one end, such as the length of a padded
 * row, stays: most of the range remains, and loops over all of it have lanes. */

enum { MOST_CONJUNCTS = 16 };

typedef struct {
  neo_prover *p;
  neo_facts facts; /* facts of the axes before the current one */
  bool safe;
} read_check;

static void check_read(void *ctx, neo_expr e) {
  read_check *c = ctx;
  neo_module *m = neo_prover_module(c->p);
  neo_node n = *neo_expr_node(m, e);
  for (uint32_t k = 0; n.op == NEO_OP_LOAD && k < n.arg.n && c->safe; k++)
    c->safe = neo_proves_index(c->p, &c->facts, neo_list_expr(m, n.arg, k),
                               neo_tensor_extent(m, (neo_tensor){n.attr}, k));
}

/* May the expression be evaluated before the axis, whatever the rest of the condition is? */
static bool stands(neo_prover *p, const neo_axis_rec *axis, uint32_t k, neo_expr e) {
  read_check c = {p, {.axes = axis, .n_axes = k}, true};
  neo_expr_visit(neo_prover_module(p), e, check_read, &c);
  return c.safe;
}

/* Ends of the axis that the condition gives from data: bit 1 the first, bit 2 the last; 0: none. */
static uint32_t end_of(neo_module *m, neo_expr e, uint32_t k) {
  neo_linear f;
  uint64_t before = k < 63 ? ((uint64_t)2 << k) - 1 : 0;
  neo_comparison is = neo_comparison_of(m, e, &f);
  if ((is != NEO_AT_LEAST_0 && is != NEO_EQUALS_0) || neo_expr_axes(m, e) & ~before ||
      !neo_expr_uses_op(m, e, NEO_OP_LOAD) || !neo_linear_is_modest(m, &f))
    return 0;
  int64_t c = neo_linear_coef(&f, neo_axis_ref(m, k));
  if (c != 1 && c != -1)
    return 0;
  for (uint32_t i = 0; i < f.n; i++) /* no other term has the axis */
    if (f.term[i].atom.i != neo_axis_ref(m, k).i && neo_expr_axes(m, f.term[i].atom) >> k & 1)
      return 0;
  return is == NEO_EQUALS_0 ? 3 : c == 1 ? 1 : 2;
}

static bool take(neo_prover *p, neo_axis_rec *axis, uint32_t n_axes, uint32_t k, neo_expr *where) {
  neo_module *m = neo_prover_module(p);
  neo_expr part[MOST_CONJUNCTS], of[2][MOST_CONJUNCTS], lo = axis[k].lo, hi = axis[k].hi, left;
  uint32_t n = 0, n_of[2] = {0}, ends = 0;
  if (!neo_conjuncts_of(m, *where, part, &n, MOST_CONJUNCTS))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t end = stands(p, axis, k, part[i]) ? end_of(m, part[i], k) : 0;
    ends |= end;
    of[end != 0][n_of[end != 0]++] = part[i];
  }
  neo_facts f = {.axes = axis, .n_axes = n_axes};
  neo_expr range = neo_conjunction(m, of[1], n_of[1]);
  if (ends != 3 || !neo_tighten(p, &f, k, range, &lo, &hi, &left) || left.i)
    return false;
  axis[k].lo = lo;
  axis[k].hi = hi;
  *where = neo_conjunction(m, of[0], n_of[0]);
  return true;
}

/* Puts ranges into axis[0 .. n_axes), of which the first n_out are output axes; *where becomes the
 * rest of the condition. False: there are none. */
static bool take_data_ranges(neo_prover *p, neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                             neo_expr *where) {
  bool any = false;
  for (uint32_t k = n_out; k < n_axes && where->i; k++)
    any = take(p, axis, n_axes, k, where) || any;
  return any;
}

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
  if (take_data_ranges(p, axis, r.axes.n, r.n_out, &where))
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
