/* From a read to its term: the index system is set up and solved (solve.c), free axes become
 * reduction axes, conditions that the facts decide vanish, those linear in a free axis become its
 * loop bounds. */
#include "autodiff/solve.h"
#include <stdio.h>

/* Simplifies the condition, and turns as much of it as possible into loop bounds, innermost axis
 * first. */
static void tighten(ad_env *env, ad_term *t) {
  for (uint32_t k = t->space.n; t->where.i && k-- > t->n_out;) {
    neo_facts f = {.axes = t->space.axis, .n_axes = t->space.n};
    neo_expr lo = t->space.axis[k].lo, hi = t->space.axis[k].hi, rest = t->where;
    if (!neo_tighten(env->prover, &f, k, t->where, &lo, &hi, &rest))
      continue;
    t->space.axis[k].lo = lo;
    t->space.axis[k].hi = hi;
    t->where = rest;
  }
}

static neo_expr simplify(ad_env *env, const ad_term *t, neo_expr e, bool under_where) {
  if (!e.i)
    return e;
  neo_facts f = {.axes = t->space.axis, .n_axes = t->space.n, .assume = &t->where, .n_assume = 1};
  if (!under_where || !t->where.i)
    f.n_assume = 0;
  return neo_simplify_under(env->prover, &f, e);
}

/* A bound of axis k. Its reads are guarded unless they are in range without the conditions. */
static neo_expr bound(ad_system *s, const ad_term *t, uint32_t k, neo_expr e) {
  neo_facts f = {.axes = t->space.axis, .n_axes = k};
  return ad_is_plain_index(s->m, e) ? e : neo_simplify_under(s->env->prover, &f, e);
}

/* Whether e is a data equation for an output axis: key == AXIS z, with a key that is read from
 * memory without z. */
static bool is_equation(const neo_module *m, neo_expr e, uint32_t n_out) {
  if (neo_expr_node(m, e)->op != NEO_OP_EQ)
    return false;
  for (uint32_t side = 0; side < 2; side++) {
    const neo_node *z = neo_expr_node(m, neo_expr_arg(m, e, side));
    neo_expr key = neo_expr_arg(m, e, 1 - side);
    if (z->op == NEO_OP_AXIS && z->attr < n_out && !ad_is_plain_index(m, key) &&
        !(neo_expr_axes(m, key) >> z->attr & 1))
      return true;
  }
  return false;
}

/* Moves an equation on data from the value to `where`, if each point of the sum contributes to one
 * element only (as the position of a maximum does): codegen then runs once over the points
 * (schedule/segment/segment.h). */
static void take_equation(neo_module *m, ad_term *t) {
  neo_expr e = t->value;
  if (t->space.n == t->n_out || neo_expr_node(m, e)->op != NEO_OP_SELECT ||
      !neo_expr_is_positive_zero(m, neo_expr_arg(m, e, 2)) ||
      !is_equation(m, neo_expr_arg(m, e, 0), t->n_out))
    return;
  t->where = neo_both(m, t->where, neo_expr_arg(m, e, 0));
  t->value = neo_expr_arg(m, e, 1);
}

static void assemble(ad_system *s, neo_expr value, ad_term *out) {
  neo_module *m = s->m;
  neo_expr renumber[NEO_DEF_AXES] = {{0}};
  out->n_out = s->n_out;
  out->space.n = 0;
  for (uint32_t k = 0; k < s->n; k++) {
    if (s->solved[k])
      continue;
    renumber[k] = neo_axis_ref(m, out->space.n);
    out->space.axis[out->space.n++] = s->axis[k];
  }
  for (uint32_t k = s->n_out; k < out->space.n; k++) {
    neo_axis_rec *a = &out->space.axis[k];
    a->lo = bound(s, out, k, neo_expr_subst_axes(m, a->lo, renumber, s->n));
    a->hi = bound(s, out, k, neo_expr_subst_axes(m, a->hi, renumber, s->n));
  }
  out->where = neo_both(m, s->range, s->where);
  if (out->where.i)
    out->where = neo_expr_subst_axes(m, out->where, renumber, s->n);
  out->value = neo_expr_subst_axes(m, ad_system_apply(s, value), renumber, s->n);
  out->where = simplify(s->env, out, out->where, false);
  tighten(s->env, out);
  int64_t always;
  if (out->where.i && neo_expr_is_int(m, out->where, &always) && always)
    out->where = (neo_expr){0};
  out->value = simplify(s->env, out, out->value, true);
  take_equation(m, out);
  ad_run_lists(m, out);
}

/* Sets up the system of equations for a read at index[]. False: it has too many axes. */
static bool set_up(ad_system *s, const ad_space *from, neo_expr where, const neo_expr *index,
                   neo_tensor t, neo_expr *shift, neo_span span) {
  neo_module *m = s->m;
  s->n_out = neo_tensor_rank(m, t);
  s->n = s->n_out + from->n;
  if (s->n >= 63)
    return false;
  for (uint32_t k = 0; k < from->n; k++)
    shift[k] = neo_axis_ref(m, s->n_out + k);
  for (uint32_t d = 0; d < s->n_out; d++) {
    char name[8];
    snprintf(name, sizeof name, "z%u", d);
    s->axis[d] = (neo_axis_rec){neo_name_of(m->names, name), neo_const_i64(m, 0),
                                neo_tensor_extent(m, t, d), span};
    neo_expr at = ad_guard_reads(m, index[d]); /* the read may be in a branch that is not taken */
    ad_system_equate(s, neo_expr_subst_axes(m, at, shift, from->n), neo_axis_ref(m, d));
  }
  for (uint32_t k = 0; k < from->n; k++) {
    neo_axis_rec a = from->axis[k];
    a.lo = neo_expr_subst_axes(m, ad_guard_reads(m, a.lo), shift, from->n);
    a.hi = neo_expr_subst_axes(m, ad_guard_reads(m, a.hi), shift, from->n);
    s->axis[s->n_out + k] = a;
  }
  s->where = neo_expr_subst_axes(m, where, shift, from->n);
  return true;
}

bool ad_gather(ad_env *env, const ad_space *from, neo_expr where, const neo_expr *index,
               neo_tensor t, neo_expr value, neo_span span, ad_term *out) {
  neo_module *m = env->m;
  neo_prover_at(env->prover, span);
  neo_expr shift[NEO_DEF_AXES] = {{0}};
  for (int left = 0; left < 2; left++) {
    ad_system *s = NEO_NEW(env->scratch, ad_system);
    s->env = env;
    s->m = m;
    s->left = left;
    if (!set_up(s, from, where, index, t, shift, span))
      break;
    ad_system_solve(s);
    if (s->failed)
      continue; /* try again with this index as a condition */
    assemble(s, neo_expr_subst_axes(m, value, shift, from->n), out);
    return true;
  }
  neo_diag(m->diags, span, NEO_D_GRAD_FORM, neo_tensor_name(m, t),
           "its dimensions and the indices around it are more than 62");
  return false;
}
