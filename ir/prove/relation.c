/* The relation of a question: domain, assumptions and "not goal", as constraints over numbered
 * dimensions. If it holds at no integer point, the goal is proved.
 *
 * Every product of atoms is one dimension, sizes and opaque values included: whether there is a
 * point does not depend on which of them are parameters. Facts about an atom become constraints:
 * ranges of axes, sizes and elements; x = n*(x/n) + x%n with 0 <= x%n < n, exact for constant n (so
 * no existential variables are needed); the two cases of min, max and select. A fact that cannot be
 * expressed is left out, which makes the set larger: if it is empty, that is still a proof. Only
 * facts about dimensions that the goal depends on are included. Facts about an element that is read
 * in one branch of a select, or in the second of two conditions, hold in that branch only:
 * elsewhere there may be no element, so that `element < N` does not imply N > 0.
 *
 * Dimensions are numbered in the order in which the goal reaches them, and the words do not tell
 * what they stand for: equal questions about other axes, tensors and sizes have equal words. */
#include "ir/prove/relation.h"
#include "ir/element.h"

/* ---- dimensions */

static int find_dim(const neo_relation *p, const neo_mono *t) {
  for (uint32_t k = 0; k < p->n_dims; k++)
    if (neo_mono_compare(&p->dim[k], t) == 0)
      return (int)k;
  return -1;
}

static bool add_dim(neo_relation *p, const neo_mono *t) {
  int at = find_dim(p, t);
  if (at >= 0) {
    p->branch_of[at] = p->here ? p->branch_of[at] : 0;
    return true;
  }
  if (p->n_dims == NEO_REL_DIMS)
    return false;
  p->branch_of[p->n_dims] = p->here;
  p->dim[p->n_dims++] = *t;
  for (uint32_t k = 0; k < t->n; k++)
    p->axes |= neo_expr_axes(p->m, (neo_expr){t->atom[k]});
  return true;
}

static bool add_dims(neo_relation *p, const neo_poly *g) {
  for (uint32_t k = 0; k < g->n; k++)
    if (!add_dim(p, &g->term[k]))
      return false;
  return true;
}

static bool add_bool_dim(neo_relation *p, neo_expr e) {
  neo_mono t = {1, 1, {e.i}};
  return add_dim(p, &t);
}

/* Enters the branch that is evaluated if c has this value. False: there is no room. */
static bool enter_branch(neo_relation *p, neo_expr c, bool value) {
  if (p->n_branches == NEO_REL_BRANCHES)
    return false;
  p->branches[p->n_branches++] = (neo_relation_branch){c, value, p->here};
  p->here = p->n_branches;
  return true;
}

static bool add_condition(neo_relation *p, neo_expr e);

/* A select evaluates one of two conditions. */
static bool add_select(neo_relation *p, neo_list arg) {
  uint32_t around = p->here;
  neo_expr c = neo_list_expr(p->m, arg, 0);
  bool added = add_condition(p, c);
  for (uint32_t k = 1; k < 3 && added; k++) {
    added = enter_branch(p, c, k == 1) && add_condition(p, neo_list_expr(p->m, arg, k));
    p->here = around;
  }
  return added;
}

/* The second of two conditions is evaluated where the first one does not decide. */
static bool add_second(neo_relation *p, const neo_node *n) {
  uint32_t around = p->here;
  neo_expr first = neo_list_expr(p->m, n->arg, 0), second = neo_list_expr(p->m, n->arg, 1);
  bool reads = neo_expr_uses_op(p->m, second, NEO_OP_LOAD);
  bool added = (!reads || enter_branch(p, first, n->op == NEO_OP_AND)) && add_condition(p, second);
  p->here = around;
  return added;
}

/* Dimensions of a condition; false if there is no room for them. */
static bool add_condition(neo_relation *p, neo_expr e) {
  neo_poly g;
  int64_t c;
  neo_node n = *neo_expr_node(p->m, e);
  if (neo_expr_is_int(p->m, e, &c))
    return true;
  switch (n.op) {
  case NEO_OP_NOT:
    return add_condition(p, neo_list_expr(p->m, n.arg, 0));
  case NEO_OP_AND:
  case NEO_OP_OR:
    return add_condition(p, neo_list_expr(p->m, n.arg, 0)) && add_second(p, &n);
  case NEO_OP_SELECT:
    return add_select(p, n.arg);
  default:
    return neo_prover_compare(p->s, e, &g) ? add_dims(p, &g) : add_bool_dim(p, e);
  }
}

/* ---- facts about a dimension */

static void add_rule(neo_relation *p, const neo_poly *g, bool equal) {
  if (p->n_rules == NEO_REL_RULES || !add_dims(p, g))
    return;
  neo_poly_copy(&p->rules[p->n_rules].g, g);
  p->rules[p->n_rules].of = -1;
  p->rules[p->n_rules++].equal = equal;
}

/* a + k*b + c >= 0, or == 0 */
static void add_difference(neo_relation *p, const neo_poly *a, int64_t k, const neo_poly *b,
                           int64_t c, bool equal) {
  neo_poly g;
  if (neo_poly_add(a, k, b, &g) && !__builtin_add_overflow(g.constant, c, &g.constant))
    add_rule(p, &g, equal);
}

static void add_range(neo_relation *p, const neo_mono *t) {
  neo_poly v, end;
  neo_mono one = *t;
  one.coef = 1;
  v.constant = 0;
  v.n = 1;
  v.term[0] = one;
  neo_range r = neo_prover_box_term(p->s, &one);
  neo_poly_set(&end, r.lo);
  if (r.lo != INT64_MIN)
    add_difference(p, &v, -1, &end, 0, false);
  neo_poly_set(&end, r.hi);
  if (r.hi != INT64_MAX)
    add_difference(p, &end, -1, &v, 0, false);
}

static void add_axis(neo_relation *p, const neo_poly *v, uint32_t k) {
  neo_poly end;
  if (k >= p->s->n_axes)
    return;
  neo_prover_form(p->s, p->s->axes[k].lo, &end);
  add_difference(p, v, -1, &end, 0, false);
  neo_prover_form(p->s, p->s->axes[k].hi, &end);
  add_difference(p, &end, -1, v, -1, false);
}

/* v = x/n: n*v <= x < n*v + n, where n > 0. */
static void add_quotient(neo_relation *p, const neo_poly *v, neo_expr e) {
  neo_poly x, n, nv, above;
  neo_prover_form(p->s, neo_expr_arg(p->m, e, 0), &x);
  neo_prover_form(p->s, neo_expr_arg(p->m, e, 1), &n);
  if (!neo_prover_at_least(p->s, &n, -1) || !neo_poly_mul(&n, v, &nv))
    return;
  add_difference(p, &x, -1, &nv, 0, false);
  if (neo_poly_add(&nv, 1, &n, &above))
    add_difference(p, &above, -1, &x, -1, false);
}

/* v = x%n: 0 <= v < n, and x = n*(x/n) + v. */
static void add_remainder(neo_relation *p, const neo_poly *v, neo_expr e) {
  neo_poly x, n, q, nq, sum, zero;
  neo_expr xe = neo_expr_arg(p->m, e, 0), ne = neo_expr_arg(p->m, e, 1);
  neo_prover_form(p->s, ne, &n);
  if (!neo_prover_at_least(p->s, &n, -1))
    return;
  neo_poly_set(&zero, 0);
  add_difference(p, v, 1, &zero, 0, false);
  add_difference(p, &n, -1, v, -1, false);
  neo_prover_form(p->s, xe, &x);
  neo_prover_form(p->s, neo_op2(p->m, NEO_OP_DIV, xe, ne), &q);
  if (neo_poly_mul(&n, &q, &nq) && neo_poly_add(&nq, 1, v, &sum))
    add_difference(p, &sum, -1, &x, 0, true);
}

static bool add_branch(neo_relation *p, neo_expr c, bool value, const neo_poly *g) {
  uint32_t around = p->here;
  bool added = enter_branch(p, c, value) && add_dims(p, g);
  p->here = around;
  return added;
}

/* Adds v = c ? x : y. both: x and y are both evaluated, as in a minimum; otherwise one of them, as
 * in a select. */
static void add_choice(neo_relation *p, neo_expr v, neo_expr c, neo_expr x, neo_expr y, bool both) {
  neo_poly a, b;
  neo_prover_form(p->s, x, &a);
  neo_prover_form(p->s, y, &b);
  if (p->n_choices == NEO_REL_CASES || !add_condition(p, c))
    return;
  bool added = both ? add_dims(p, &a) && add_dims(p, &b)
                    : add_branch(p, c, true, &a) && add_branch(p, c, false, &b);
  if (added)
    p->choices[p->n_choices++] = (neo_relation_choice){v.i, c, x, y};
}

static void add_load(neo_relation *p, const neo_poly *v, neo_expr e, uint32_t tensor) {
  neo_poly end;
  neo_expr bound = neo_tensor_at(p->m, (neo_tensor){tensor})->bound;
  neo_element_ends ends = neo_element_ends_of(p->m, e);
  if (ends.least.i) {
    neo_prover_form(p->s, ends.least, &end);
    add_difference(p, v, -1, &end, 0, false);
  }
  if (ends.below.i) {
    neo_prover_form(p->s, ends.below, &end);
    add_difference(p, &end, -1, v, -1, false);
  }
  if (!bound.i)
    return;
  neo_prover_form(p->s, bound, &end);
  add_difference(p, &end, -1, v, -1, false);
}

static void add_size(neo_relation *p, const neo_poly *v, uint32_t size) {
  neo_poly value;
  const neo_size_rec *rec = neo_size_at(p->m, (neo_size){size});
  if (rec->kind != NEO_SIZE_DERIVED)
    return;
  neo_prover_form(p->s, rec->value, &value);
  add_difference(p, v, -1, &value, 0, true);
}

static void add_atom(neo_relation *p, neo_expr atom, int dim) {
  neo_poly v;
  uint32_t first;
  neo_expr e = neo_prover_peel(p->s, atom);
  neo_node n = *neo_expr_node(p->m, e);
  neo_expr a = {0}, b = {0};
  if (n.arg.n > 1)
    a = neo_expr_arg(p->m, e, 0), b = neo_expr_arg(p->m, e, 1);
  neo_poly_atom(&v, atom);
  switch (n.op) {
  case NEO_OP_AXIS:
    add_axis(p, &v, n.attr);
    break;
  case NEO_OP_SIZE:
    add_size(p, &v, n.attr);
    break;
  case NEO_OP_LOAD:
    first = p->n_rules;
    add_load(p, &v, e, n.attr);
    while (first < p->n_rules)
      p->rules[first++].of = dim;
    break;
  case NEO_OP_DIV:
    add_quotient(p, &v, e);
    break;
  case NEO_OP_MOD:
    add_remainder(p, &v, e);
    break;
  case NEO_OP_MIN:
    add_choice(p, atom, neo_op2(p->m, NEO_OP_LE, a, b), a, b, true);
    break;
  case NEO_OP_MAX:
    add_choice(p, atom, neo_op2(p->m, NEO_OP_LE, b, a), a, b, true);
    break;
  case NEO_OP_SELECT:
    add_choice(p, atom, a, b, neo_expr_arg(p->m, e, 2), false);
    break;
  default:
    break;
  }
}

/* Assumptions, conjunct by conjunct. */
static void split_assumption(neo_relation *p, neo_expr e, bool value) {
  neo_op op = (neo_op)neo_expr_node(p->m, e)->op;
  if (op == NEO_OP_NOT) {
    split_assumption(p, neo_expr_arg(p->m, e, 0), !value);
  } else if (op == (value ? NEO_OP_AND : NEO_OP_OR)) {
    split_assumption(p, neo_expr_arg(p->m, e, 0), value);
    split_assumption(p, neo_expr_arg(p->m, e, 1), value);
  } else if (p->n_assumed < NEO_REL_ASSUMED) {
    p->assumed[p->n_assumed].e = e;
    p->assumed[p->n_assumed].used = false;
    p->assumed[p->n_assumed++].value = value;
  }
}

static void add_assumptions(neo_relation *p) {
  for (uint32_t k = 0; k < p->n_assumed; k++) {
    uint64_t axes = neo_expr_axes(p->m, p->assumed[k].e);
    if (p->assumed[k].used || (axes && !(axes & p->axes)))
      continue;
    p->assumed[k].used = add_condition(p, p->assumed[k].e);
  }
}

/* Collects all dimensions that the goal reaches; new ones are appended while the loop runs. */
static bool gather(neo_relation *p, neo_expr goal) {
  if (!add_condition(p, goal))
    return false;
  for (uint32_t k = 0; k < p->s->n_assume; k++)
    split_assumption(p, p->s->assume[k], true);
  for (uint32_t k = 0; k < p->n_dims; k++) {
    neo_mono t = p->dim[k];
    p->here = p->branch_of[k];
    add_range(p, &t);
    if (t.n == 1 && neo_expr_type(p->m, (neo_expr){t.atom[0]}) != NEO_BOOL_T)
      add_atom(p, (neo_expr){t.atom[0]}, (int)k);
    p->here = 0;
    if (k + 1 == p->n_dims)
      add_assumptions(p);
  }
  return true;
}

/* ---- words */

static void put(neo_relation *p, int64_t word) {
  NEO_PUSH(p->m->arena, &p->words, word);
}

/* sign*g + c >= 0, or == 0; no condition where a number does not fit. */
static void put_constraint(neo_relation *p, const neo_poly *g, int64_t sign, int64_t c,
                           bool equal) {
  size_t start = p->words.n;
  int64_t x;
  bool fits = !__builtin_mul_overflow(g->constant, sign, &x) && !__builtin_add_overflow(x, c, &x);
  put(p, equal ? NEO_REL_EQ : NEO_REL_GE);
  put(p, x);
  put(p, g->n);
  for (uint32_t k = 0; k < g->n && fits; k++) {
    int at = find_dim(p, &g->term[k]);
    fits = at >= 0 && !__builtin_mul_overflow(g->term[k].coef, sign, &x);
    put(p, at);
    put(p, x);
  }
  if (fits)
    return;
  p->words.n = start;
  put(p, NEO_REL_TRUE);
}

static void put_condition(neo_relation *p, neo_expr e, bool value);

static void put_compare(neo_relation *p, neo_expr e, bool value, const neo_poly *g) {
  neo_op op = (neo_op)neo_expr_node(p->m, e)->op;
  if (op == NEO_OP_LT || op == NEO_OP_LE) {
    put_constraint(p, g, value ? 1 : -1, value ? 0 : -1, false);
  } else if (value == (op == NEO_OP_EQ)) {
    put_constraint(p, g, 1, 0, true);
  } else {
    put(p, NEO_REL_OR);
    put_constraint(p, g, 1, -1, false);
    put_constraint(p, g, -1, -1, false);
  }
}

static void put_bool(neo_relation *p, neo_expr e, bool value) {
  neo_poly v;
  neo_poly_atom(&v, e);
  put_constraint(p, &v, 1, value ? -1 : 0, true);
}

static void put_select(neo_relation *p, neo_expr e, bool value) {
  neo_expr c = neo_expr_arg(p->m, e, 0);
  put(p, NEO_REL_OR);
  for (uint32_t k = 1; k < 3; k++) {
    put(p, NEO_REL_AND);
    put_condition(p, c, k == 1);
    put_condition(p, neo_expr_arg(p->m, e, k), value);
  }
}

/* Adds constraints for the points at which e has this value. */
static void put_condition(neo_relation *p, neo_expr e, bool value) {
  neo_poly g;
  int64_t c;
  neo_op op = (neo_op)neo_expr_node(p->m, e)->op;
  if (neo_expr_is_int(p->m, e, &c)) {
    put(p, (c != 0) == value ? NEO_REL_TRUE : NEO_REL_FALSE);
  } else if (op == NEO_OP_NOT) {
    put_condition(p, neo_expr_arg(p->m, e, 0), !value);
  } else if (op == NEO_OP_AND || op == NEO_OP_OR) {
    put(p, value == (op == NEO_OP_AND) ? NEO_REL_AND : NEO_REL_OR);
    put_condition(p, neo_expr_arg(p->m, e, 0), value);
    put_condition(p, neo_expr_arg(p->m, e, 1), value);
  } else if (op == NEO_OP_SELECT) {
    put_select(p, e, value);
  } else if (neo_prover_compare(p->s, e, &g)) {
    put_compare(p, e, value, &g);
  } else {
    put_bool(p, e, value);
  }
}

static void put_case(neo_relation *p, const neo_relation_choice *c, bool value) {
  neo_poly v, x, g;
  neo_poly_atom(&v, (neo_expr){c->v});
  neo_prover_form(p->s, value ? c->x : c->y, &x);
  put(p, NEO_REL_AND);
  put_condition(p, c->c, value);
  if (neo_poly_add(&v, -1, &x, &g))
    put_constraint(p, &g, 1, 0, true);
  else
    put(p, NEO_REL_TRUE);
}

/* Writes the rule; if its dimension belongs to branches, as "a branch is not taken, or the
 * rule". */
static void put_rule(neo_relation *p, const neo_relation_rule *r) {
  for (uint32_t b = r->of < 0 ? 0 : p->branch_of[r->of]; b; b = p->branches[b - 1].around) {
    put(p, NEO_REL_OR);
    put_condition(p, p->branches[b - 1].c, !p->branches[b - 1].value);
  }
  put_constraint(p, &r->g, 1, 0, r->equal);
}

bool neo_relation_of(neo_relation *p, neo_prover_scope *s, neo_expr goal, bool value) {
  p->s = s;
  p->m = s->m;
  p->n_dims = p->n_rules = p->n_choices = p->n_assumed = p->n_branches = p->here = 0;
  p->axes = 0;
  p->words.n = 0;
  s->fuel = NEO_PROVE_FUEL;
  if (!gather(p, goal))
    return false;
  s->fuel = NEO_PROVE_FUEL;
  put(p, p->n_dims);
  for (uint32_t k = 0; k < p->n_rules; k++)
    put_rule(p, &p->rules[k]);
  put_condition(p, goal, !value);
  for (uint32_t k = 0; k < p->n_assumed; k++)
    if (p->assumed[k].used)
      put_condition(p, p->assumed[k].e, p->assumed[k].value);
  for (uint32_t k = 0; k < p->n_choices; k++) {
    put(p, NEO_REL_OR);
    put_case(p, &p->choices[k], true);
    put_case(p, &p->choices[k], false);
  }
  return true;
}
