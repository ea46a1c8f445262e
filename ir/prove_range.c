/* Numeric ranges of atoms, from declarations, arguments and facts; and boxes of polynomials.
 * Saturating: INT64_MIN and INT64_MAX mean that nothing is known on that side. */
#include "ir/element.h"
#include "ir/prove_scope.h"

enum { FAR = 62 }; /* steps of training stay below 2^FAR */

static const neo_range everything = {INT64_MIN, INT64_MAX};

neo_range neo_type_range(neo_type t) {
  switch (t) {
  case NEO_I32_T:
    return (neo_range){INT32_MIN, INT32_MAX};
  case NEO_I8_T:
    return (neo_range){INT8_MIN, INT8_MAX};
  case NEO_U8_T:
    return (neo_range){0, UINT8_MAX};
  case NEO_BOOL_T:
    return (neo_range){0, 1};
  default:
    return everything;
  }
}

static int64_t saturate(__int128 x) {
  if (x <= INT64_MIN)
    return INT64_MIN;
  return x >= INT64_MAX ? INT64_MAX : (int64_t)x;
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}
static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static neo_range meet(neo_range a, neo_range b) {
  return (neo_range){most(a.lo, b.lo), least(a.hi, b.hi)};
}

static neo_range join(neo_range a, neo_range b) {
  return (neo_range){least(a.lo, b.lo), most(a.hi, b.hi)};
}

static bool infinite(int64_t x) {
  return x == INT64_MIN || x == INT64_MAX;
}

/* A product of ends: an infinite end times zero is zero. */
static int64_t end_mul(int64_t a, int64_t b) {
  if (a == 0 || b == 0)
    return 0;
  if (infinite(a) || infinite(b))
    return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
  return saturate((__int128)a * b);
}

neo_range neo_range_mul(neo_range a, neo_range b) {
  int64_t p = end_mul(a.lo, b.lo), q = end_mul(a.lo, b.hi), r = end_mul(a.hi, b.lo),
          t = end_mul(a.hi, b.hi);
  return (neo_range){least(least(p, q), least(r, t)), most(most(p, q), most(r, t))};
}

static neo_range range_add(neo_range a, neo_range b) {
  neo_range y;
  y.lo = infinite(a.lo) || infinite(b.lo) ? INT64_MIN : saturate((__int128)a.lo + b.lo);
  y.hi = infinite(a.hi) || infinite(b.hi) ? INT64_MAX : saturate((__int128)a.hi + b.hi);
  return y;
}

neo_range neo_prover_box_term(neo_prover_scope *s, const neo_mono *t) {
  neo_range r = {t->coef, t->coef};
  for (uint32_t k = 0; k < t->n; k++) {
    neo_range v = neo_prover_range(s, t->atom[k]);
    bool square = k + 1 < t->n && t->atom[k + 1] == t->atom[k];
    if (square && !infinite(v.lo) && !infinite(v.hi)) {
      int64_t lo = v.lo < 0 && v.hi > 0 ? 0 : INT64_MAX; /* a square is not negative */
      neo_range p = neo_range_mul((neo_range){v.lo, v.lo}, (neo_range){v.lo, v.lo});
      neo_range q = neo_range_mul((neo_range){v.hi, v.hi}, (neo_range){v.hi, v.hi});
      v = (neo_range){least(lo, least(p.lo, q.lo)), most(p.hi, q.hi)};
      k++;
    }
    r = neo_range_mul(r, v);
  }
  return r;
}

neo_range neo_prover_box(neo_prover_scope *s, const neo_poly *g) {
  neo_range r = {g->constant, g->constant};
  for (uint32_t k = 0; k < g->n; k++)
    r = range_add(r, neo_prover_box_term(s, &g->term[k]));
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
    return everything;
  neo_range lo = neo_prover_expr_range(s, s->axes[k].lo);
  neo_range hi = neo_prover_expr_range(s, s->axes[k].hi);
  return (neo_range){lo.lo, hi.hi == INT64_MAX ? INT64_MAX : hi.hi - 1};
}

static neo_range load_range(neo_prover_scope *s, neo_expr e, const neo_node *n) {
  neo_range r = neo_type_range((neo_type)n->type);
  neo_expr bound = neo_tensor_at(s->m, (neo_tensor){n->attr})->bound;
  neo_element_ends ends = neo_element_ends_of(s->m, e);
  if (ends.least.i)
    r = meet(r, (neo_range){neo_prover_expr_range(s, ends.least).lo, INT64_MAX});
  if (ends.below.i) {
    int64_t below = neo_prover_expr_range(s, ends.below).hi;
    r = meet(r, (neo_range){INT64_MIN,
                            below == INT64_MAX || below == INT64_MIN ? INT64_MAX : below - 1});
  }
  if (!bound.i)
    return r;
  int64_t hi = neo_prover_expr_range(s, bound).hi;
  return meet(r, (neo_range){0, hi == INT64_MAX ? hi : hi - 1});
}

static neo_range load_else_range(neo_prover_scope *s, neo_expr e, const neo_node *n) {
  neo_expr other = neo_list_expr(s->m, n->arg, n->arg.n - 1);
  return join(load_range(s, e, n), neo_prover_expr_range(s, other));
}

static int64_t div_end(int64_t a, int64_t n) {
  if (infinite(a))
    return a;
  if (n == INT64_MAX)
    return a < 0 ? -1 : 0;
  return neo_div_floor(a, n);
}

static neo_range div_range(neo_range x, neo_range n) {
  neo_range y;
  if (n.lo < 0) { /* |x/n| <= |x| */
    if (infinite(x.lo) || infinite(x.hi))
      return everything;
    int64_t m = most(x.lo < 0 ? -x.lo : x.lo, x.hi < 0 ? -x.hi : x.hi);
    return (neo_range){-m, m};
  }
  bool zero = n.lo == 0; /* by zero gives zero */
  if (zero)
    n.lo = 1;
  if (n.hi < n.lo)
    return (neo_range){0, 0};
  y.lo = least(div_end(x.lo, n.lo), div_end(x.lo, n.hi));
  y.hi = most(div_end(x.hi, n.lo), div_end(x.hi, n.hi));
  return zero ? join(y, (neo_range){0, 0}) : y;
}

static neo_range mod_range(neo_range x, neo_range n) {
  neo_range y;
  if (n.lo == INT64_MIN)
    return everything;
  y.lo = n.lo < 0 ? n.lo + 1 : 0;
  y.hi = n.hi <= 0 ? 0 : n.hi == INT64_MAX ? INT64_MAX : n.hi - 1;
  if (n.lo >= 0 && x.lo >= 0)
    y.hi = least(y.hi, x.hi);
  return y;
}

static neo_range pair_range(neo_prover_scope *s, neo_op op, neo_expr a, neo_expr b) {
  neo_range x = neo_prover_expr_range(s, a), y = neo_prover_expr_range(s, b);
  switch (op) {
  case NEO_OP_MIN:
    return (neo_range){least(x.lo, y.lo), least(x.hi, y.hi)};
  case NEO_OP_MAX:
    return (neo_range){most(x.lo, y.lo), most(x.hi, y.hi)};
  case NEO_OP_DIV:
    return div_range(x, y);
  case NEO_OP_MOD:
    return mod_range(x, y);
  default:
    return join(x, y);
  }
}

static neo_range cast_range(neo_prover_scope *s, neo_expr e) {
  neo_expr x = neo_expr_arg(s->m, e, 0);
  neo_range all = neo_type_range(neo_expr_type(s->m, e));
  return neo_expr_type(s->m, x) == NEO_BOOL_T ? meet(all, (neo_range){0, 1}) : all;
}

static neo_range node_range(neo_prover_scope *s, neo_expr e) {
  neo_node n = *neo_expr_node(s->m, e);
  neo_module *m = s->m;
  if (!neo_type_is_int((neo_type)n.type)) /* below a conversion */
    return n.type == NEO_BOOL_T ? (neo_range){0, 1} : everything;
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
  neo_range r = everything;
  if (!neo_poly_split(f->g, atom, &a, &rest) || a.n || a.constant == INT64_MIN)
    return r;
  int64_t most_rest = neo_prover_bounds(s, &rest).hi;
  if (infinite(most_rest) || most_rest == -INT64_MAX)
    return r;
  if (a.constant > 0)
    r.lo = neo_div_ceil(-most_rest, a.constant);
  else
    r.hi = neo_div_floor(most_rest, -a.constant);
  return r;
}

static neo_range with_facts(neo_prover_scope *s, uint32_t atom, neo_range r) {
  for (size_t k = 0; k < s->facts.n; k++)
    if (s->facts.at[k].top == atom)
      r = meet(r, fact_range(s, &s->facts.at[k], atom));
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
