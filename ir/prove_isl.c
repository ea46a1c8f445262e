/* Proofs by integer sets (isl): domain and assumptions and "not goal" hold at no integer point.
 *
 * Every product of atoms is one dimension of the set, sizes and opaque values included: whether
 * there is a point does not depend on which are parameters. What is known of an atom becomes
 * constraints: ranges of axes, sizes and elements; x = n*(x/n) + x%n with 0 <= x%n < n, exact for
 * constant n (so no existential variables are needed); the two cases of min, max and select. What
 * cannot be expressed is left out, which makes the set larger: empty is then still a proof. Only
 * what the goal reaches is included. A point of the set is a counterexample only if evaluation
 * says so too.
 *
 * isl runs under a quota of operations; every result may be null, and null travels through the
 * calls. */
#include "ir/prove_scope.h"
#include <isl/constraint.h>
#include <isl/ctx.h>
#include <isl/local_space.h>
#include <isl/options.h>
#include <isl/point.h>
#include <isl/set.h>
#include <isl/space.h>
#include <isl/val.h>

enum { MAX_OPERATIONS = 300000, MAX_DIMS = 40, MAX_CASES = 8, MAX_RULES = 160 };

typedef struct { /* g >= 0, or g == 0 */
  neo_poly g;
  bool equal;
} rule;

/* v (a dimension) is x where c holds, else y; for min and max, c is their comparison. */
typedef struct {
  uint32_t v;
  neo_expr c, x, y;
} choice;

typedef struct {
  neo_scope *s;
  neo_module *m;
  isl_ctx *ctx;
  uint32_t n_dims, n_rules, n_choices, n_assumed;
  uint64_t axes; /* that the goal reaches */
  neo_mono dim[MAX_DIMS];
  rule rules[MAX_RULES];
  choice choices[MAX_CASES];
  struct {
    neo_expr e;
    bool value, used;
  } assumed[64];
} problem;

struct neo_isl {
  isl_ctx *ctx;
  problem problem; /* the question being asked */
};

/* ---- dimensions */

static int find_dim(const problem *p, const neo_mono *t) {
  for (uint32_t k = 0; k < p->n_dims; k++)
    if (neo_mono_compare(&p->dim[k], t) == 0) return (int)k;
  return -1;
}

static bool add_dim(problem *p, const neo_mono *t) {
  if (find_dim(p, t) >= 0) return true;
  if (p->n_dims == MAX_DIMS) return false;
  p->dim[p->n_dims++] = *t;
  for (uint32_t k = 0; k < t->n; k++) p->axes |= neo_expr_axes(p->m, (neo_expr){t->atom[k]});
  return true;
}

static bool add_dims(problem *p, const neo_poly *g) {
  for (uint32_t k = 0; k < g->n; k++)
    if (!add_dim(p, &g->term[k])) return false;
  return true;
}

static bool add_bool_dim(problem *p, neo_expr e) {
  neo_mono t = {1, 1, {e.i}};
  return add_dim(p, &t);
}

/* Dimensions of a condition; false if there is no room for them. */
static bool add_condition(problem *p, neo_expr e) {
  neo_poly g;
  int64_t c;
  neo_node n = *neo_expr_node(p->m, e);
  if (neo_expr_is_int(p->m, e, &c)) return true;
  switch (n.op) {
  case NEO_OP_NOT:
  case NEO_OP_AND:
  case NEO_OP_OR:
  case NEO_OP_SELECT:
    for (uint32_t k = 0; k < n.arg.n; k++)
      if (!add_condition(p, neo_list_expr(p->m, n.arg, k))) return false;
    return true;
  default:
    return neo_scope_compare(p->s, e, &g) ? add_dims(p, &g) : add_bool_dim(p, e);
  }
}

/* ---- what is known of a dimension */

static void add_rule(problem *p, const neo_poly *g, bool equal) {
  if (p->n_rules == MAX_RULES || !add_dims(p, g)) return;
  neo_poly_copy(&p->rules[p->n_rules].g, g);
  p->rules[p->n_rules++].equal = equal;
}

/* a + k*b + c >= 0, or == 0 */
static void add_difference(problem *p, const neo_poly *a, int64_t k, const neo_poly *b, int64_t c,
                           bool equal) {
  neo_poly g;
  if (neo_poly_add(a, k, b, &g) && !__builtin_add_overflow(g.constant, c, &g.constant))
    add_rule(p, &g, equal);
}

static void add_range(problem *p, const neo_mono *t) {
  neo_poly v, end;
  neo_mono one = *t;
  one.coef = 1;
  v.constant = 0;
  v.n = 1;
  v.term[0] = one;
  neo_range r = neo_scope_box_term(p->s, &one);
  neo_poly_set(&end, r.lo);
  if (r.lo != INT64_MIN) add_difference(p, &v, -1, &end, 0, false);
  neo_poly_set(&end, r.hi);
  if (r.hi != INT64_MAX) add_difference(p, &end, -1, &v, 0, false);
}

static void add_axis(problem *p, const neo_poly *v, uint32_t k) {
  neo_poly end;
  if (k >= p->s->n_axes) return;
  neo_scope_form(p->s, p->s->axes[k].lo, &end);
  add_difference(p, v, -1, &end, 0, false);
  neo_scope_form(p->s, p->s->axes[k].hi, &end);
  add_difference(p, &end, -1, v, -1, false);
}

/* v = x/n: n*v <= x < n*v + n, where n > 0. */
static void add_quotient(problem *p, const neo_poly *v, neo_expr e) {
  neo_poly x, n, nv, above;
  neo_scope_form(p->s, neo_expr_arg(p->m, e, 0), &x);
  neo_scope_form(p->s, neo_expr_arg(p->m, e, 1), &n);
  if (!neo_scope_at_least(p->s, &n, -1) || !neo_poly_mul(&n, v, &nv)) return;
  add_difference(p, &x, -1, &nv, 0, false);
  if (neo_poly_add(&nv, 1, &n, &above)) add_difference(p, &above, -1, &x, -1, false);
}

/* v = x%n: 0 <= v < n, and x = n*(x/n) + v. */
static void add_remainder(problem *p, const neo_poly *v, neo_expr e) {
  neo_poly x, n, q, nq, sum, zero;
  neo_expr xe = neo_expr_arg(p->m, e, 0), ne = neo_expr_arg(p->m, e, 1);
  neo_scope_form(p->s, ne, &n);
  if (!neo_scope_at_least(p->s, &n, -1)) return;
  neo_poly_set(&zero, 0);
  add_difference(p, v, 1, &zero, 0, false);
  add_difference(p, &n, -1, v, -1, false);
  neo_scope_form(p->s, xe, &x);
  neo_scope_form(p->s, neo_op2(p->m, NEO_OP_DIV, xe, ne), &q);
  if (neo_poly_mul(&n, &q, &nq) && neo_poly_add(&nq, 1, v, &sum))
    add_difference(p, &sum, -1, &x, 0, true);
}

static void add_choice(problem *p, neo_expr v, neo_expr c, neo_expr x, neo_expr y) {
  neo_poly a, b;
  neo_scope_form(p->s, x, &a);
  neo_scope_form(p->s, y, &b);
  if (p->n_choices == MAX_CASES) return;
  if (!add_condition(p, c) || !add_dims(p, &a) || !add_dims(p, &b)) return;
  p->choices[p->n_choices++] = (choice){v.i, c, x, y};
}

static void add_load(problem *p, const neo_poly *v, uint32_t tensor) {
  neo_poly end;
  neo_expr bound = neo_tensor_at(p->m, (neo_tensor){tensor})->bound;
  if (!bound.i) return;
  neo_scope_form(p->s, bound, &end);
  add_difference(p, &end, -1, v, -1, false);
}

static void add_size(problem *p, const neo_poly *v, uint32_t size) {
  neo_poly value;
  const neo_size_rec *rec = neo_size_at(p->m, (neo_size){size});
  if (rec->kind != NEO_SIZE_DERIVED) return;
  neo_scope_form(p->s, rec->value, &value);
  add_difference(p, v, -1, &value, 0, true);
}

static void add_atom(problem *p, neo_expr atom) {
  neo_poly v;
  neo_expr e = neo_scope_peel(p->s, atom);
  neo_node n = *neo_expr_node(p->m, e);
  neo_expr a = {0}, b = {0};
  if (n.arg.n > 1) a = neo_expr_arg(p->m, e, 0), b = neo_expr_arg(p->m, e, 1);
  neo_poly_atom(&v, atom);
  switch (n.op) {
  case NEO_OP_AXIS: add_axis(p, &v, n.attr); break;
  case NEO_OP_SIZE: add_size(p, &v, n.attr); break;
  case NEO_OP_LOAD: add_load(p, &v, n.attr); break;
  case NEO_OP_DIV: add_quotient(p, &v, e); break;
  case NEO_OP_MOD: add_remainder(p, &v, e); break;
  case NEO_OP_MIN: add_choice(p, atom, neo_op2(p->m, NEO_OP_LE, a, b), a, b); break;
  case NEO_OP_MAX: add_choice(p, atom, neo_op2(p->m, NEO_OP_LE, b, a), a, b); break;
  case NEO_OP_SELECT: add_choice(p, atom, a, b, neo_expr_arg(p->m, e, 2)); break;
  default: break;
  }
}

/* Assumptions, conjunct by conjunct. */
static void split_assumption(problem *p, neo_expr e, bool value) {
  neo_op op = (neo_op)neo_expr_node(p->m, e)->op;
  if (op == NEO_OP_NOT) {
    split_assumption(p, neo_expr_arg(p->m, e, 0), !value);
  } else if (op == (value ? NEO_OP_AND : NEO_OP_OR)) {
    split_assumption(p, neo_expr_arg(p->m, e, 0), value);
    split_assumption(p, neo_expr_arg(p->m, e, 1), value);
  } else if (p->n_assumed < 64) {
    p->assumed[p->n_assumed].e = e;
    p->assumed[p->n_assumed].used = false;
    p->assumed[p->n_assumed++].value = value;
  }
}

static void add_assumptions(problem *p) {
  for (uint32_t k = 0; k < p->n_assumed; k++) {
    uint64_t axes = neo_expr_axes(p->m, p->assumed[k].e);
    if (p->assumed[k].used || (axes && !(axes & p->axes))) continue;
    p->assumed[k].used = add_condition(p, p->assumed[k].e);
  }
}

/* Everything that the goal reaches; dimensions are appended while this goes through them. */
static bool gather(problem *p, neo_expr goal) {
  if (!add_condition(p, goal)) return false;
  for (uint32_t k = 0; k < p->s->n_assume; k++) split_assumption(p, p->s->assume[k], true);
  for (uint32_t k = 0; k < p->n_dims; k++) {
    neo_mono t = p->dim[k];
    add_range(p, &t);
    if (t.n == 1 && neo_expr_type(p->m, (neo_expr){t.atom[0]}) != NEO_BOOL_T)
      add_atom(p, (neo_expr){t.atom[0]});
    if (k + 1 == p->n_dims) add_assumptions(p);
  }
  return true;
}

/* ---- sets */

static isl_local_space *space_of(const problem *p) {
  return isl_local_space_from_space(isl_space_set_alloc(p->ctx, 0, p->n_dims));
}

static isl_basic_set *universe(const problem *p) {
  return isl_basic_set_universe(isl_space_set_alloc(p->ctx, 0, p->n_dims));
}

static isl_set *everywhere(const problem *p) {
  return isl_set_universe(isl_space_set_alloc(p->ctx, 0, p->n_dims));
}

static isl_set *nowhere(const problem *p) {
  return isl_set_empty(isl_space_set_alloc(p->ctx, 0, p->n_dims));
}

/* sign*g + c >= 0, or == 0. All terms of g are dimensions. */
static isl_constraint *constraint(const problem *p, const neo_poly *g, int64_t sign, int64_t c,
                                  bool equal) {
  isl_local_space *ls = space_of(p);
  isl_constraint *y =
      equal ? isl_constraint_alloc_equality(ls) : isl_constraint_alloc_inequality(ls);
  isl_val *v = isl_val_int_from_si(p->ctx, (long)g->constant);
  v = isl_val_add(isl_val_mul(v, isl_val_int_from_si(p->ctx, (long)sign)),
                  isl_val_int_from_si(p->ctx, (long)c));
  y = isl_constraint_set_constant_val(y, v);
  for (uint32_t k = 0; k < g->n; k++) {
    int at = find_dim(p, &g->term[k]);
    v = isl_val_int_from_si(p->ctx, (long)g->term[k].coef);
    v = isl_val_mul(v, isl_val_int_from_si(p->ctx, (long)sign));
    y = isl_constraint_set_coefficient_val(y, isl_dim_set, at, v);
  }
  return y;
}

static isl_set *where(const problem *p, const neo_poly *g, int64_t sign, int64_t c, bool equal) {
  for (uint32_t k = 0; k < g->n; k++)
    if (find_dim(p, &g->term[k]) < 0) return everywhere(p);
  isl_basic_set *b = universe(p);
  return isl_set_from_basic_set(isl_basic_set_add_constraint(b, constraint(p, g, sign, c, equal)));
}

static isl_set *set_of(const problem *p, neo_expr e, bool value);

static isl_set *set_of_compare(const problem *p, neo_expr e, bool value, const neo_poly *g) {
  neo_op op = (neo_op)neo_expr_node(p->m, e)->op;
  if (op == NEO_OP_LT || op == NEO_OP_LE) return where(p, g, value ? 1 : -1, value ? 0 : -1, false);
  if (value == (op == NEO_OP_EQ)) return where(p, g, 1, 0, true);
  return isl_set_union(where(p, g, 1, -1, false), where(p, g, -1, -1, false));
}

static isl_set *set_of_bool(const problem *p, neo_expr e, bool value) {
  neo_poly v;
  neo_poly_atom(&v, e);
  return where(p, &v, 1, value ? -1 : 0, true);
}

static isl_set *set_of_pair(const problem *p, neo_expr e, bool value) {
  isl_set *a = set_of(p, neo_expr_arg(p->m, e, 0), value);
  isl_set *b = set_of(p, neo_expr_arg(p->m, e, 1), value);
  bool both = value == (neo_expr_node(p->m, e)->op == NEO_OP_AND);
  return both ? isl_set_intersect(a, b) : isl_set_union(a, b);
}

static isl_set *set_of_select(const problem *p, neo_expr e, bool value) {
  neo_expr c = neo_expr_arg(p->m, e, 0);
  isl_set *yes = isl_set_intersect(set_of(p, c, true), set_of(p, neo_expr_arg(p->m, e, 1), value));
  isl_set *no = isl_set_intersect(set_of(p, c, false), set_of(p, neo_expr_arg(p->m, e, 2), value));
  return isl_set_union(yes, no);
}

/* Where e may have this value. */
static isl_set *set_of(const problem *p, neo_expr e, bool value) {
  neo_poly g;
  int64_t c;
  if (neo_expr_is_int(p->m, e, &c)) return (c != 0) == value ? everywhere(p) : nowhere(p);
  switch (neo_expr_node(p->m, e)->op) {
  case NEO_OP_NOT: return set_of(p, neo_expr_arg(p->m, e, 0), !value);
  case NEO_OP_AND:
  case NEO_OP_OR: return set_of_pair(p, e, value);
  case NEO_OP_SELECT: return set_of_select(p, e, value);
  default:
    if (neo_scope_compare(p->s, e, &g)) return set_of_compare(p, e, value, &g);
    return set_of_bool(p, e, value);
  }
}

static isl_set *set_of_case(const problem *p, const choice *c, bool value) {
  neo_poly v, x, g;
  neo_poly_atom(&v, (neo_expr){c->v});
  neo_scope_form(p->s, value ? c->x : c->y, &x);
  isl_set *when = set_of(p, c->c, value);
  return neo_poly_add(&v, -1, &x, &g) ? isl_set_intersect(when, where(p, &g, 1, 0, true)) : when;
}

static isl_set *rules_set(const problem *p) {
  isl_basic_set *b = universe(p);
  for (uint32_t k = 0; k < p->n_rules; k++)
    b = isl_basic_set_add_constraint(b, constraint(p, &p->rules[k].g, 1, 0, p->rules[k].equal));
  return isl_set_from_basic_set(b);
}

static isl_set *counterexamples(const problem *p, neo_expr goal, bool value) {
  isl_set *y = isl_set_intersect(rules_set(p), set_of(p, goal, !value));
  for (uint32_t k = 0; k < p->n_assumed; k++)
    if (p->assumed[k].used)
      y = isl_set_intersect(y, set_of(p, p->assumed[k].e, p->assumed[k].value));
  for (uint32_t k = 0; k < p->n_choices; k++)
    y = isl_set_intersect(y, isl_set_union(set_of_case(p, &p->choices[k], true),
                                           set_of_case(p, &p->choices[k], false)));
  return y;
}

/* ---- answers */

static bool coordinate(isl_point *at, uint32_t k, int64_t *x) {
  isl_val *v = isl_point_get_coordinate_val(at, isl_dim_set, (int)k);
  bool fits = isl_val_is_int(v) == isl_bool_true && isl_val_cmp_si(v, INT64_MAX / 2) < 0 &&
              isl_val_cmp_si(v, INT64_MIN / 2) > 0;
  if (fits) *x = (int64_t)isl_val_get_num_si(v);
  isl_val_free(v);
  return fits;
}

static bool read_point(const problem *p, isl_point *at, neo_trial *t, neo_witness *w) {
  uint64_t given = 0;
  neo_trial_start(t, w);
  for (uint32_t k = 0; k < p->n_dims; k++) {
    const neo_node *n = neo_expr_node(p->m, (neo_expr){p->dim[k].atom[0]});
    int64_t x;
    if (p->dim[k].n != 1 || (n->op != NEO_OP_AXIS && n->op != NEO_OP_SIZE)) continue;
    if (!coordinate(at, k, &x)) return false;
    int size = n->op == NEO_OP_SIZE ? neo_trial_size(t, n->attr) : -1;
    if (size >= 0) w->size[size].value = x;
    if (n->op != NEO_OP_AXIS || n->attr >= w->n_axes) continue;
    w->axis[n->attr] = x;
    given |= 1ULL << n->attr;
  }
  return neo_trial_check(t, given, w);
}

static neo_proof ask(const problem *p, neo_expr goal, bool value, neo_trial *t, neo_witness *w) {
  neo_proof proof = NEO_UNKNOWN;
  isl_point *at = isl_set_sample_point(counterexamples(p, goal, value));
  isl_bool none = at ? isl_point_is_void(at) : isl_bool_error;
  if (none == isl_bool_true) proof = NEO_PROVED;
  if (none == isl_bool_false && read_point(p, at, t, w)) proof = NEO_REFUTED;
  isl_point_free(at);
  if (isl_ctx_last_error(p->ctx) != isl_error_none) {
    p->s->p->stats.isl_quota += isl_ctx_last_error(p->ctx) == isl_error_quota;
    isl_ctx_reset_error(p->ctx);
    return NEO_UNKNOWN;
  }
  return proof;
}

static isl_ctx *context(neo_prover *p) {
  if (!p->isl) {
    p->isl = NEO_NEW(p->m->arena, neo_isl);
    p->isl->ctx = isl_ctx_alloc();
    if (p->isl->ctx) isl_options_set_on_error(p->isl->ctx, ISL_ON_ERROR_CONTINUE);
  }
  return p->isl->ctx;
}

neo_proof neo_isl_prove(neo_scope *s, neo_expr e, bool value, neo_trial *t, neo_witness *w) {
  isl_ctx *ctx = context(s->p);
  problem *p = &s->p->isl->problem;
  p->s = s;
  p->m = s->m;
  p->ctx = ctx;
  p->n_dims = p->n_rules = p->n_choices = p->n_assumed = 0;
  p->axes = 0;
  s->fuel = NEO_PROVE_FUEL;
  if (!p->ctx || !gather(p, e)) return NEO_UNKNOWN;
  s->p->stats.isl_calls++;
  isl_ctx_reset_operations(p->ctx);
  isl_ctx_set_max_operations(p->ctx, MAX_OPERATIONS);
  s->fuel = NEO_PROVE_FUEL;
  neo_proof proof = ask(p, e, value, t, w);
  isl_ctx_set_max_operations(p->ctx, 0);
  if (proof == NEO_REFUTED) neo_trial_shrink(t, w);
  return proof;
}

void neo_isl_free(neo_isl *isl) {
  if (isl && isl->ctx) isl_ctx_free(isl->ctx);
}
