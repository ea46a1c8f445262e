/* Numeric ranges of atoms, from declarations, arguments and facts; and boxes of polynomials. */
#include "ir/element.h"
#include "ir/prove/scope.h"

enum { FAR = 62 }; /* steps of training stay below 2^FAR */

neo_range neo_prover_box_term(neo_prover_scope *s, const neo_mono *t) {
  neo_range r = neo_range_of(t->coef, t->coef);
  for (uint32_t k = 0; k < t->n; k++) {
    neo_range v = neo_prover_range(s, t->atom[k]);
    bool square = k + 1 < t->n && t->atom[k + 1] == t->atom[k];
    if (square) {
      v = neo_range_square(v);
      k++;
    }
    r = neo_range_mul(r, v);
  }
  return r;
}

neo_range neo_prover_box(neo_prover_scope *s, const neo_poly *g) {
  neo_range r = neo_range_of(g->constant, g->constant);
  for (uint32_t k = 0; k < g->n; k++)
    r = neo_range_add(r, neo_prover_box_term(s, &g->term[k]));
  return r;
}

neo_range neo_prover_expr_range(neo_prover_scope *s, neo_expr e) {
  neo_poly g;
  neo_prover_form(s, e, &g);
  if (g.n == 1 && g.term[0].n == 1)
    return neo_prover_box(s, &g);
  return neo_prover_bounds(s, &g);
}

/* ---- by kind of atom */

static neo_range axis_range(neo_prover_scope *s, uint32_t k) {
  if (k >= s->n_axes)
    return neo_range_all();
  neo_range lo = neo_prover_expr_range(s, s->axes[k].lo);
  neo_range hi = neo_prover_expr_range(s, s->axes[k].hi);
  return neo_range_meet((neo_range){lo.lo, INT64_MAX}, neo_range_below(hi.hi));
}

static neo_range load_range(neo_prover_scope *s, neo_expr e, const neo_node *n) {
  neo_range r = neo_type_range((neo_type)n->type);
  neo_expr bound = neo_tensor_at(s->m, (neo_tensor){n->attr})->bound;
  neo_element_ends ends = neo_element_ends_of(s->m, e);
  if (ends.least.i)
    r = neo_range_meet(r, neo_range_of(neo_prover_expr_range(s, ends.least).lo, INT64_MAX));
  if (ends.below.i)
    r = neo_range_meet(r, neo_range_below(neo_prover_expr_range(s, ends.below).hi));
  if (!bound.i)
    return r;
  r = neo_range_meet(r, (neo_range){0, INT64_MAX});
  return neo_range_meet(r, neo_range_below(neo_prover_expr_range(s, bound).hi));
}

static neo_range load_else_range(neo_prover_scope *s, neo_expr e, const neo_node *n) {
  neo_expr other = neo_list_expr(s->m, n->arg, n->arg.n - 1);
  return neo_range_join(load_range(s, e, n), neo_prover_expr_range(s, other));
}

static neo_range pair_range(neo_prover_scope *s, neo_op op, neo_expr a, neo_expr b) {
  neo_range x = neo_prover_expr_range(s, a), y = neo_prover_expr_range(s, b);
  switch (op) {
  case NEO_OP_MIN:
    return neo_range_min(x, y);
  case NEO_OP_MAX:
    return neo_range_max(x, y);
  case NEO_OP_DIV:
    return neo_range_div(x, y);
  case NEO_OP_MOD:
    return neo_range_mod(x, y);
  default:
    return neo_range_join(x, y);
  }
}

static neo_range cast_range(neo_prover_scope *s, neo_expr e) {
  neo_expr x = neo_expr_arg(s->m, e, 0);
  neo_range all = neo_type_range(neo_expr_type(s->m, e));
  return neo_expr_type(s->m, x) == NEO_BOOL_T ? neo_range_meet(all, (neo_range){0, 1}) : all;
}

static neo_range node_range(neo_prover_scope *s, neo_expr e) {
  neo_node n = *neo_expr_node(s->m, e);
  neo_module *m = s->m;
  if (!neo_type_is_int((neo_type)n.type)) /* below a conversion */
    return n.type == NEO_BOOL_T ? (neo_range){0, 1} : neo_range_all();
  switch (n.op) {
  case NEO_OP_AXIS:
    return axis_range(s, n.attr);
  case NEO_OP_SIZE: {
    const neo_size_rec *size = neo_size_at(m, (neo_size){n.attr});
    return (neo_range){size->lo, size->hi};
  }
  case NEO_OP_STEP:
    return (neo_range){0, (int64_t)1 << FAR};
  case NEO_OP_LOAD:
    return load_range(s, e, &n);
  case NEO_OP_LOAD_ELSE:
    return load_else_range(s, e, &n);
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_DIV:
  case NEO_OP_MOD:
    return pair_range(s, (neo_op)n.op, neo_expr_arg(m, e, 0), neo_expr_arg(m, e, 1));
  case NEO_OP_SELECT:
    return pair_range(s, NEO_OP_SELECT, neo_expr_arg(m, e, 1), neo_expr_arg(m, e, 2));
  case NEO_OP_SIGN:
    return (neo_range){-1, 1};
  case NEO_OP_CAST:
    return cast_range(s, e);
  default:
    return neo_type_range((neo_type)n.type);
  }
}

/* ---- facts: of a*v + rest >= 0 with v on top, the least and the most that v can be */

static neo_range fact_range(neo_prover_scope *s, const neo_fact *f, uint32_t atom) {
  neo_poly a, rest;
  neo_range r = neo_range_all();
  if (!neo_poly_split(f->g, atom, &a, &rest) || a.n || a.constant == INT64_MIN)
    return r;
  int64_t most_rest = neo_prover_bounds(s, &rest).hi;
  if (most_rest == INT64_MAX || most_rest <= -INT64_MAX)
    return r;
  if (a.constant > 0)
    return neo_range_of(neo_div_ceil(-most_rest, a.constant), INT64_MAX);
  return neo_range_of(INT64_MIN, neo_div_floor(most_rest, -a.constant));
}

static neo_range with_facts(neo_prover_scope *s, uint32_t atom, neo_range r) {
  for (size_t k = 0; k < s->facts.n; k++)
    if (s->facts.at[k].top == atom)
      r = neo_range_meet(r, fact_range(s, &s->facts.at[k], atom));
  return r;
}

neo_range neo_prover_range(neo_prover_scope *s, uint32_t atom) {
  uint64_t found;
  if (neo_map_get(&s->ranges, atom, &found)) {
    neo_range r = *(const neo_range *)(uintptr_t)found;
    return s->pushed ? with_facts(s, atom, r) : r;
  }
  if (s->fuel <= 0)
    return neo_type_range(neo_expr_type(s->m, (neo_expr){atom}));
  s->fuel--;
  neo_range r = with_facts(s, atom, node_range(s, neo_prover_peel(s, (neo_expr){atom})));
  if (s->pushed || s->fuel <= 0)
    return r;
  neo_range *copy = NEO_NEW(s->m->arena, neo_range);
  *copy = r;
  neo_map_set(&s->ranges, atom, (uint64_t)(uintptr_t)copy);
  return r;
}
