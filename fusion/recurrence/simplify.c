/* Simplification of a definition by facts of the bands around; a reduction without terms becomes
 * its value.
 *
 *   band t in 1..T                                        band t in 1..T
 *     leaf h[t]   # (h[t - 1, k] else h0[k])*U[k, j]  ->    leaf h[t]   # h[t - 1, k]*U[k, j] */
#include "fusion/recurrence/internal.h"
#include <math.h>

typedef struct {
  const outliner *o;
  neo_facts facts;
} simplifier;

static neo_expr simpler(void *ctx, neo_expr e) {
  const simplifier *s = ctx;
  return e.i ? neo_simplify_under(s->o->p, &s->facts, e) : e;
}

/* ---- reductions */

/* The value of an empty reduction; 0: no constant of the IR. */
static neo_expr of_nothing(const outliner *o, neo_reducer r, neo_type t) {
  bool number = neo_type_is_float(t);
  switch (r) {
  case NEO_RED_SUM:
    return neo_const_int(o->m, t, 0);
  case NEO_RED_PROD:
    return neo_const_int(o->m, t, 1);
  case NEO_RED_ANY:
  case NEO_RED_ALL:
    return neo_const_bool(o->m, r == NEO_RED_ALL);
  case NEO_RED_LOGSUMEXP:
    return number ? neo_const_float(o->m, t, -INFINITY) : (neo_expr){0};
  default:
    return (neo_expr){0};
  }
}

/* Replaces a reduction of one value by the value. */
static void drop_reduction(const outliner *o, neo_def_rec *r, neo_expr value) {
  neo_type t = neo_expr_type(o->m, neo_list_expr(o->m, r->body, 0));
  neo_expr acc = neo_acc_ref(o->m, t, 0);
  uint32_t id[OUTLINE_AXES];
  if (!value.i)
    return;
  for (uint32_t k = 0; k < r->finish.n; k++)
    id[k] = neo_expr_replace(o->m, neo_list_expr(o->m, r->finish, k), acc, value).i;
  r->finish = neo_list_new(o->m, id, r->finish.n);
  for (uint32_t k = 0; k < r->n_out; k++)
    id[k] = neo_list_at(o->m, r->axes, k);
  r->axes = neo_list_new(o->m, id, r->n_out);
  r->reducer = NEO_RED_NONE;
  r->where.i = 0;
  r->body = (neo_list){0};
}

/* The one term of a sum without a condition; 0: there may be several. */
static neo_expr only_term(const outliner *o, const neo_def_rec *r) {
  neo_expr by[OUTLINE_AXES] = {{0}};
  int64_t n = 1;
  bool only = r->reducer == NEO_RED_SUM && !r->where.i && r->axes.n > r->n_out;
  for (uint32_t k = r->n_out; k < r->axes.n && only; k++) {
    const neo_axis_rec *axis = neo_def_axis(o->m, r, k);
    by[k] = axis->lo;
    only = outline_distance(o, axis->hi, axis->lo, &n) && n == 1 &&
           !(neo_expr_axes(o->m, axis->lo) >> r->n_out);
  }
  return only ? neo_expr_subst_axes(o->m, neo_list_expr(o->m, r->body, 0), by, r->axes.n)
              : (neo_expr){0};
}

/* Is a reduction axis empty for all positions of the others? */
static bool has_empty_range(simplifier *s, const neo_def_rec *r) {
  for (uint32_t k = r->n_out; k < r->axes.n; k++) {
    const neo_axis_rec *axis = neo_def_axis(s->o->m, r, k);
    neo_expr empty = neo_op2(s->o->m, NEO_OP_LE, axis->hi, axis->lo);
    s->facts.n_axes = k;
    if (neo_prove(s->o->p, &s->facts, empty, NULL) == NEO_PROVED)
      return true;
  }
  return false;
}

/* Is e a product with a factor 0? As a term of a row that does not exist it is dropped, even if the
 * other factor is no number. */
static bool has_zero_factor(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  return neo_expr_is_zero(m, e) ||
         (n->op == NEO_OP_MUL && (has_zero_factor(m, neo_list_expr(m, n->arg, 0)) ||
                                  has_zero_factor(m, neo_list_expr(m, n->arg, 1))));
}

static bool is_of_zeros(simplifier *s, const neo_def_rec *r) {
  return r->reducer == NEO_RED_SUM &&
         has_zero_factor(s->o->m, simpler(s, neo_list_expr(s->o->m, r->body, 0)));
}

/* Simplifies the ranges of the reduction's axes. */
static void simplify_ranges(simplifier *s, neo_def_rec *r, neo_axis_rec *axes) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < r->axes.n; k++) {
    id[k] = neo_list_at(s->o->m, r->axes, k);
    if (k < r->n_out)
      continue;
    s->facts.n_axes = k;
    axes[k].lo = simpler(s, axes[k].lo);
    axes[k].hi = simpler(s, axes[k].hi);
    id[k] = neo_axis_add(s->o->m, axes[k]).i;
  }
  r->axes = neo_list_new(s->o->m, id, r->axes.n);
}

/* ---- selects */

bool outline_is_partial(const outliner *o, neo_def d) {
  neo_list out = neo_def_at(o->m, d)->out;
  for (uint32_t k = 0; k < out.n; k++)
    if (!neo_tensor_at(o->m, (neo_tensor){neo_list_at(o->m, out, k)})->partial)
      return false;
  return true;
}

/* Have the values the same selects after simplification? The select of a partial definition says
 * which elements are read. A decided select becomes one of its values, which may be a select. */
static bool has_same_selects(simplifier *s, neo_list from, neo_list to) {
  neo_module *m = s->o->m;
  bool same = true;
  for (uint32_t k = 0; k < from.n && same; k++) {
    neo_expr a = neo_list_expr(m, from, k), b = neo_list_expr(m, to, k);
    same = neo_expr_node(m, a)->op == NEO_OP_SELECT && neo_expr_node(m, b)->op == NEO_OP_SELECT &&
           simpler(s, neo_expr_arg(m, a, 0)).i == neo_expr_arg(m, b, 0).i;
  }
  return same;
}

/* ---- the definition */

void outline_simplify(const outliner *o, outline_instance *x) {
  neo_axis_rec axes[OUTLINE_AXES];
  int64_t always;
  neo_def_rec *r = &x->rec;
  neo_expr *assume = NEO_NEW_ARRAY(o->a, neo_expr, x->n_assume + 1);
  simplifier s = {o, {axes, r->axes.n, assume, x->n_assume}};
  for (uint32_t k = 0; k < r->axes.n; k++)
    axes[k] = *neo_def_axis(o->m, r, k);
  for (uint32_t k = 0; k < x->n_assume; k++)
    assume[k] = x->assume[k];
  simplify_ranges(&s, r, axes);
  if (has_empty_range(&s, r) || ((x->leaf || o->kind) && is_of_zeros(&s, r)))
    r->where = neo_const_bool(o->m, false);
  s.facts.n_axes = r->axes.n;
  r->where = simpler(&s, r->where);
  bool decided = r->where.i && neo_expr_is_int(o->m, r->where, &always);
  if (decided && always)
    r->where.i = 0;
  else if (decided)
    drop_reduction(o, r,
                   of_nothing(o, r->reducer, neo_expr_type(o->m, neo_list_expr(o->m, r->body, 0))));
  if (only_term(o, r).i)
    drop_reduction(o, r, only_term(o, r));
  if (r->where.i)
    assume[s.facts.n_assume++] = r->where;
  r->body = outline_map_list(o, r->body, simpler, &s);
  s.facts.n_assume = x->n_assume;
  s.facts.n_axes = r->n_out;
  neo_list before = r->finish;
  r->finish = outline_map_list(o, before, simpler, &s);
  x->partial =
      outline_is_partial(o, x->def) && !x->decided && has_same_selects(&s, before, r->finish);
}
