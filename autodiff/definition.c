/* The contributions of one definition: given the adjoints of its outputs, every active read in
 * finish and body adds to the adjoint of the tensor that it reads.
 *
 *   finish  reads at the output axes: local derivative, gathered over them
 *   ACC     its adjoint g, a tensor of its own unless it is plain; then, by the reducer's rule,
 *           the adjoint of the body at each point, whose reads are gathered over all axes under
 *           the definition's condition */
#include "autodiff/internal.h"
#include "autodiff/solve.h"
#include "ir/out_map.h"

typedef struct {
  ad_state *s;
  bool acc; /* reads below the reducer are active */
} active_ctx;

static bool is_active(void *ctx, const neo_module *m, neo_expr leaf) {
  const active_ctx *a = ctx;
  const neo_node *n = neo_expr_node(m, leaf);
  if (!neo_type_is_float((neo_type)n->type))
    return false;
  if (n->op == NEO_OP_ACC)
    return a->acc && n->attr == 0;
  return ad_needs(a->s, (neo_tensor){n->attr});
}

/* ---- values of the definition that are in memory */

static void out_index(neo_module *m, const neo_def_rec *d, neo_expr *index) {
  for (uint32_t k = 0; k < d->n_out; k++)
    index[k] = neo_def_out_index(m, d, k);
}

static neo_expr read_out(neo_module *m, const neo_def_rec *d, uint32_t k) {
  neo_expr index[NEO_DEF_AXES];
  out_index(m, d, index);
  neo_tensor t = {neo_list_at(m, d->out, k)};
  return neo_load(m, t, index, d->n_out, d->span);
}

/* Replaces the outputs and accumulators in e by reads from memory, so that no part of the forward
 * pass is computed again. An output that another request has among its `wrt` is not replaced: with
 * y = tanh(x), g = dl/dx is no function of y for the program, in which g does not read y. */
static neo_expr from_memory(ad_state *s, neo_def def, neo_expr e) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  for (uint32_t k = 0; k < d.finish.n; k++) {
    neo_expr root = neo_list_expr(m, d.finish, k);
    neo_op op = (neo_op)neo_expr_node(m, root)->op;
    if (!neo_op_is_elementwise(op) || op == NEO_OP_CAST ||
        ad_is_asked_elsewhere(s, neo_list_tensor(m, d.out, k)))
      continue;
    e = neo_expr_replace(m, e, root, read_out(m, &d, k));
  }
  for (uint32_t k = 0; k < 2 && d.reducer != NEO_RED_NONE; k++) {
    if (!neo_expr_uses_op(m, e, NEO_OP_ACC))
      break;
    neo_type t = k ? NEO_I64_T : neo_expr_type(m, neo_list_expr(m, d.body, 0));
    neo_expr acc = neo_acc_ref(m, t, k);
    if (neo_expr_replace(m, e, acc, neo_const_int(m, t, 0)).i != e.i)
      e = neo_expr_replace(m, e, acc, ad_read(m, ad_stored_acc(s, def, k)));
  }
  return e;
}

/* ---- reads */

/* Moves conditions on indices alone (a select against 0 at the top, on either side) into the
 * domain. */
static neo_expr take_conditions(neo_module *m, neo_expr e, neo_expr *where) {
  while (neo_expr_node(m, e)->op == NEO_OP_SELECT) {
    neo_expr c = neo_expr_arg(m, e, 0);
    bool first = neo_expr_is_positive_zero(m, neo_expr_arg(m, e, 1));
    if (!ad_is_plain_index(m, c) || neo_expr_uses_op(m, c, NEO_OP_RAND) ||
        (!first && !neo_expr_is_positive_zero(m, neo_expr_arg(m, e, 2))))
      break;
    *where = neo_both(m, *where, first ? neo_op1(m, NEO_OP_NOT, c) : c);
    e = neo_expr_arg(m, e, first ? 2 : 1);
  }
  return e;
}

/* Whether summing over the other axes first pays. It does for a lookup, whose index comes from a
 * tensor, if the axes in its indices (`used`) form a box and there are other axes to sum over. */
static bool splits(ad_state *s, const ad_space *space, const neo_expr *index, uint32_t rank,
                   uint64_t used) {
  neo_module *m = s->m;
  bool lookup = false, others = false;
  int64_t lo;
  for (uint32_t k = 0; k < rank; k++)
    lookup = lookup || !ad_is_plain_index(m, index[k]);
  for (uint32_t k = 0; k < space->n; k++) {
    const neo_axis_rec *a = &space->axis[k];
    if (!(used >> k & 1)) {
      others = true;
      continue;
    }
    if (!neo_expr_is_int(m, a->lo, &lo) || lo != 0 || neo_expr_axes(m, a->hi) ||
        !ad_is_plain_index(m, a->hi))
      return false;
  }
  return lookup && others;
}

/* The conjuncts of e that depend on no other axes than those of a lookup, `used`, renumbered to its
 * own. */
static neo_expr kept_conditions(neo_module *m, neo_expr e, uint64_t used,
                                const neo_expr *renumber) {
  neo_node n = *neo_expr_node(m, e);
  if (n.op == NEO_OP_AND)
    return neo_both(m, kept_conditions(m, neo_list_expr(m, n.arg, 0), used, renumber),
                    kept_conditions(m, neo_list_expr(m, n.arg, 1), used, renumber));
  if (neo_expr_axes(m, e) & ~used || neo_expr_uses_op(m, e, NEO_OP_RAND))
    return (neo_expr){0};
  return ad_guard_reads(m, neo_expr_subst_axes(m, e, renumber, NEO_DEF_AXES));
}

/* The points at which the adjoint of a lookup can be nonzero, from `where` and the selects at the
 * top of the value. A recurrence needs them: only there is it known that the element looked up is
 * an earlier one, and thus that the sum over such lookups reads later ones. */
static neo_expr lookup_where(neo_module *m, neo_expr where, neo_expr value, uint64_t used,
                             const neo_expr *renumber) {
  neo_expr all = where.i ? kept_conditions(m, where, used, renumber) : where;
  while (neo_expr_node(m, value)->op == NEO_OP_SELECT) {
    bool first = neo_expr_is_positive_zero(m, neo_expr_arg(m, value, 1));
    if (!first && !neo_expr_is_positive_zero(m, neo_expr_arg(m, value, 2)))
      break;
    neo_expr c = neo_expr_arg(m, value, 0);
    c = first ? neo_op1(m, NEO_OP_NOT, c) : c;
    all = neo_both(m, all, kept_conditions(m, c, used, renumber));
    value = neo_expr_arg(m, value, first ? 2 : 1);
  }
  return all;
}

/* Appends the axes of the space that are in `used` and not there yet; at[k] is the axis of the
 * space that the k-th one is. */
static void keep_axes(ad_state *s, const ad_space *space, uint64_t used, ad_space *kept,
                      neo_expr *at, neo_expr *renumber) {
  for (uint32_t k = 0; k < space->n; k++) {
    if (!(used >> k & 1) || renumber[k].i)
      continue;
    at[kept->n] = neo_axis_ref(s->m, k);
    renumber[k] = neo_axis_ref(s->m, kept->n);
    kept->axis[kept->n++] = space->axis[k];
  }
}

/* A lookup inside a larger sum: the adjoint of the value looked up comes first, as a tensor over
 * the axes of its indices; only this is spread over the table. Before and after, for the sum
 * over t, e of T[X[b, t], e]*W[t, e, j]:
 *     sum[b, t, j where X[b, t] == v] G[b, j]*W[t, e, j]
 *     R[b, t, e] = sum[j] G[b, j]*W[t, e, j],   sum[b, t where X[b, t] == v] R[b, t, e]
 * The axes of R are in the order of the indices, so that its rows are rows of the table. */
static bool gather_lookup(ad_state *s, const ad_space *space, neo_expr where, neo_expr *index,
                          neo_tensor t, neo_expr value, neo_span span, uint64_t used,
                          ad_term *out) {
  neo_module *m = s->m;
  ad_space kept = {0};
  ad_term *first = NEO_NEW(s->scratch, ad_term);
  neo_expr at[NEO_DEF_AXES], renumber[NEO_DEF_AXES] = {{0}};
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    keep_axes(s, space, neo_expr_axes(m, index[k]), &kept, at, renumber);
  neo_tensor r = ad_temp(m, "d.looked", t, neo_expr_type(m, value), kept.axis, kept.n, span);
  if (!ad_gather(&s->env, space, where, at, r, value, span, first))
    return false;
  ad_define_term(s, r, first, span);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++)
    index[k] = neo_expr_subst_axes(m, index[k], renumber, space->n);
  neo_expr points = {0};
  if (neo_map_get(&s->conditions.recurring, t.i, NULL))
    points = lookup_where(m, where, value, used, renumber);
  return ad_gather(&s->env, &kept, points, index, t, ad_read(m, r), span, out);
}

static void gather_leaf(ad_state *s, const ad_space *space, neo_expr where, ad_leaf leaf) {
  neo_module *m = s->m;
  neo_node n = *neo_expr_node(m, leaf.leaf);
  neo_tensor t = {n.attr};
  neo_expr index[16];
  uint64_t used = 0;
  uint32_t rank = neo_tensor_rank(m, t);
  for (uint32_t k = 0; k < rank; k++) {
    index[k] = neo_list_expr(m, n.arg, k);
    used |= neo_expr_axes(m, index[k]);
  }
  neo_expr value = take_conditions(m, leaf.adj, &where);
  bool good;
  if (splits(s, space, index, rank, used)) {
    ad_term *term = NEO_NEW(s->scratch, ad_term);
    good = gather_lookup(s, space, where, index, t, value, n.span, used, term);
    if (good)
      ad_adjoint_add(s, t, term);
  } else {
    good = ad_gather_cases(s, &(ad_read_at){space, where, value, t, n.span}, index);
  }
  s->failed = s->failed || !good;
}

static bool body_active(ad_state *s, const neo_def_rec *d) {
  neo_module *m = s->m;
  if (d->reducer == NEO_RED_NONE)
    return false;
  ad_leaves leaves = {0};
  active_ctx ctx = {s, false};
  neo_expr body = neo_list_expr(m, d->body, 0);
  neo_type t = neo_expr_type(m, body);
  if (!neo_type_is_float(t))
    return false;
  ad_local(m, body, false, neo_const_int(m, t, 1), is_active, &ctx, s->scratch, &leaves);
  return leaves.n > 0;
}

static bool is_acc(const neo_module *m, neo_expr e) {
  return neo_expr_node(m, e)->op == NEO_OP_ACC;
}

/* Adjoints of the reads in finish; returns the adjoint of ACC 0 (0: none). */
static neo_expr finish_adjoints(ad_state *s, neo_def def, const neo_def_rec *d, ad_leaves *reads) {
  neo_module *m = s->m;
  active_ctx ctx = {s, body_active(s, d)};
  neo_expr acc = {0}, index[NEO_DEF_AXES] = {{0}};
  out_index(m, d, index);
  for (uint32_t k = 0; k < d->out.n; k++) {
    neo_tensor out = {neo_list_at(m, d->out, k)};
    neo_expr g = {0};
    if (!neo_map_get(&s->custom_of, out.i, NULL)) /* its adjoint was handled by ad_custom */
      g = ad_adjoint_final(s, out);
    if (!g.i)
      continue;
    ad_leaves leaves = {0};
    neo_expr where = {0}; /* elsewhere slopes may be NaN and must not count */
    if (!is_acc(m, neo_list_expr(m, d->finish, k))) /* for a plain accumulator, body_where excludes
                                                       these points */
      where = ad_condition(s, &s->conditions, out, AD_ELEMENT);
    if (d->reducer == NEO_RED_NONE)
      where = neo_both(m, ad_adjoint_where(s, out), where);
    if (where.i)
      g = ad_select(m, where, g, ad_zero(m, neo_expr_type(m, g)));
    g = neo_expr_subst_axes(m, g, index, d->n_out);
    ad_local(m, neo_list_expr(m, d->finish, k), true, g, is_active, &ctx, s->scratch, &leaves);
    for (size_t i = 0; i < leaves.n; i++) {
      neo_expr adj = from_memory(s, def, leaves.at[i].adj);
      if (neo_expr_node(m, leaves.at[i].leaf)->op == NEO_OP_ACC)
        acc = ad_add(m, acc, adj);
      else
        NEO_PUSH(m->arena, reads, (ad_leaf){leaves.at[i].leaf, adj});
    }
  }
  return acc;
}

/* g at the output axes, in memory unless it is plain. */
static neo_expr settle(ad_state *s, const neo_def_rec *d, neo_expr g) {
  neo_module *m = s->m;
  if (ad_is_plain(m, g))
    return g;
  ad_space outs = ad_space_of(m, d, d->n_out);
  neo_tensor like = {neo_list_at(m, d->out, 0)};
  neo_tensor t = ad_temp(m, "d.acc", like, neo_expr_type(m, g), outs.axis, d->n_out, d->span);
  neo_def_rec r = {.n_out = d->n_out, .reducer = NEO_RED_NONE, .span = d->span};
  r.finish = neo_list_one(m, g.i);
  ad_define(m, t, r, outs.axis, outs.n);
  return ad_read(m, t);
}

/* Can the value be infinite or NaN though all that is read is finite? */
static bool has_pole(const neo_module *m, neo_expr e, const void *x) {
  const neo_node *n = neo_expr_node(m, e);
  (void)x;
  switch ((neo_op)n->op) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MUL:
  case NEO_OP_NEG:
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_SELECT:
  case NEO_OP_CAST:
    return false;
  default: /* a quotient, a function */
    return n->arg.n > 0 && neo_op_is_elementwise((neo_op)n->op) &&
           neo_type_is_float((neo_type)n->type);
  }
}

/* Whether the adjoint of the read is elementwise: each element is read at one point of the
 * definition. */
static bool is_elementwise(const neo_module *m, const neo_def_rec *d, neo_expr read) {
  neo_node n = *neo_expr_node(m, read);
  uint64_t named = 0;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    const neo_node *index = neo_expr_node(m, neo_list_expr(m, n.arg, k));
    named |= index->op == NEO_OP_AXIS ? 1ull << index->attr : 0;
  }
  return named == (1ull << d->axes.n) - 1;
}

/* The condition under which the adjoint of some result can be other than zero, over the axes of d;
 * 0: always. */
static neo_expr results_where(ad_state *s, const neo_def_rec *d, ad_condition_use use) {
  neo_expr any = {0}, index[NEO_DEF_AXES] = {{0}};
  out_index(s->m, d, index);
  for (uint32_t k = 0; k < d->out.n; k++) {
    neo_tensor out = {neo_list_at(s->m, d->out, k)};
    if (!neo_type_is_float(neo_tensor_type(s->m, out)))
      continue;
    neo_expr c = ad_condition(s, &s->conditions, out, use);
    if (!c.i)
      return c;
    any = !any.i || any.i == c.i ? c : neo_op2(s->m, NEO_OP_OR, any, c);
  }
  return neo_expr_subst_axes(s->m, any, index, d->n_out);
}

/* The condition under which points of the body contribute to a read's adjoint: the definition's
 * own, and conditions of its results as far as they are worth it (ad_condition_use). Adjoints with
 * slopes that may be infinite, and elementwise ones, need those conditions; a sum of products is
 * faster over all points. */
static neo_expr body_where(ad_state *s, const neo_def_rec *d, const ad_leaf *leaf) {
  bool all = !neo_expr_any(s->m, leaf->adj, has_pole, NULL) && !is_elementwise(s->m, d, leaf->leaf);
  bool in_loop = neo_map_get(&s->conditions.recurring, neo_expr_node(s->m, leaf->leaf)->attr, NULL);
  ad_condition_use use = !all ? AD_SUM : in_loop ? AD_ITERATION_PRODUCT : AD_PRODUCT;
  return neo_both(s->m, d->where, results_where(s, d, use));
}

/* The stored adjoint, or a function of it, under the conditions that g has, so that slopes of the
 * body, which may be infinite, are multiplied only where the conditions hold: y = select(x > 0,
 * sum[j] sqrt(x[j]), 0). */
static neo_expr under_conditions(neo_module *m, neo_expr g, neo_expr settled) {
  neo_node n = *neo_expr_node(m, g);
  if (n.op == NEO_OP_NEG)
    return under_conditions(m, neo_list_expr(m, n.arg, 0), settled);
  if (n.op != NEO_OP_SELECT)
    return settled;
  neo_expr zero = ad_zero(m, neo_expr_type(m, settled)), branch[2];
  for (uint32_t k = 0; k < 2; k++) {
    neo_expr e = neo_list_expr(m, n.arg, k + 1);
    branch[k] = neo_expr_is_positive_zero(m, e) ? zero : under_conditions(m, e, settled);
  }
  return ad_select(m, neo_list_expr(m, n.arg, 0), branch[0], branch[1]);
}

void ad_definition(ad_state *s, neo_def def) {
  neo_module *m = s->m;
  neo_def_rec d = *neo_def_at(m, def);
  neo_prover_at(s->env.prover, d.span);
  ad_leaves reads = {0};
  neo_expr g = finish_adjoints(s, def, &d, &reads);
  ad_space outs = ad_space_of(m, &d, d.n_out), all = ad_space_of(m, &d, d.axes.n);
  neo_expr settled = g.i ? settle(s, &d, g) : g;
  for (size_t i = 0; i < reads.n; i++) {
    neo_expr where = {0};
    if (reads.at[i].adj.i ==
        g.i) { /* a bias beside the accumulator; in memory it has no conditions */
      take_conditions(m, g, &where);
      reads.at[i].adj = settled;
    }
    gather_leaf(s, &outs, where, reads.at[i]);
  }
  if (!g.i)
    return;
  bool guards = settled.i != g.i && neo_expr_any(m, neo_list_expr(m, d.body, 0), has_pole, NULL);
  neo_expr seed = ad_reducer(s, def, guards ? under_conditions(m, g, settled) : settled);
  if (!seed.i)
    return;
  ad_leaves leaves = {0};
  active_ctx ctx = {s, false};
  ad_local(m, neo_list_expr(m, d.body, 0), false, seed, is_active, &ctx, s->scratch, &leaves);
  for (size_t i = 0; i < leaves.n; i++) {
    neo_expr where = body_where(s, &d, &leaves.at[i]);
    if (settled.i != g.i && !guards && is_elementwise(m, &d, leaves.at[i].leaf))
      leaves.at[i].adj = under_conditions(m, g, leaves.at[i].adj);
    gather_leaf(s, &all, where, leaves.at[i]);
  }
}
