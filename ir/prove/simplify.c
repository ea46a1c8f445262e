/* Simplification under facts: decided comparisons, selects by such, min, max and clamp with one
 * side that is always the result, guards that always or never hold, digits of flattened indices.
 *
 *     i in [0, 784):  X[(i/28)*28 + i%28] else 0   ->   X[i]
 *
 * The branches of a select are simplified with its condition known, and `b` of `a and b` with a.
 * Each such context is a scope of its own; their number per call is limited, since a shared
 * expression may occur in exponentially many. */
#include "ir/prove/scope.h"
#include <assert.h>

enum { MAX_SCOPES = 64, MAX_WEIGHT = 400 };

typedef struct {
  neo_module *m;
  uint32_t scopes; /* made by this call */
} job;

static neo_expr simplify(job *j, neo_prover_scope *s, neo_expr e);

/* 1: always, 0: never, -1: neither is known. */
static int decided(neo_prover_scope *s, neo_expr c) {
  int64_t x;
  if (neo_expr_is_int(s->m, c, &x))
    return x != 0;
  s->fuel = NEO_PROVE_FUEL;
  if (neo_prover_decide(s, c, true))
    return 1;
  s->fuel = NEO_PROVE_FUEL;
  return neo_prover_decide(s, c, false) ? 0 : -1;
}

/* As `decided`, with all methods of the prover. Callers use it for comparisons only, where the
 * additional methods can help. */
static int decided_hard(neo_prover_scope *s, neo_expr c) {
  int quick = decided(s, c);
  if (quick >= 0)
    return quick;
  if (neo_prover_prove(s, c)->proof == NEO_PROVED)
    return 1;
  return neo_prover_prove(s, neo_op1(s->m, NEO_OP_NOT, c))->proof == NEO_PROVED ? 0 : -1;
}

/* ---- contexts */

static bool is_work(const neo_module *m, neo_expr e, const void *x) {
  const neo_node *n = neo_expr_node(m, e);
  (void)x;
  switch (n->op) {
  case NEO_OP_EQ:
  case NEO_OP_NE:
  case NEO_OP_LT:
  case NEO_OP_LE:
  case NEO_OP_DIV:
  case NEO_OP_MOD:
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_CLAMP:
    return neo_expr_is_integer(m, neo_list_expr(m, n->arg, 0));
  case NEO_OP_SELECT:
  case NEO_OP_LOAD_ELSE:
    return true;
  default:
    return false;
  }
}

/* The scope in which c has this value, if knowing it may help with e. */
static neo_prover_scope *under(job *j, neo_prover_scope *s, neo_expr c, bool value, neo_expr e) {
  if (j->scopes >= MAX_SCOPES || !neo_expr_any(j->m, e, is_work, NULL))
    return s;
  j->scopes++;
  return neo_prover_under(s, c, value);
}

/* ---- integers */

/* Cost of e: its nodes, counted as a tree (shared ones repeatedly), a division as six; stops at
 * MAX_WEIGHT. */
static uint32_t weight(const neo_module *m, neo_expr e, uint32_t sum) {
  neo_node n = *neo_expr_node(m, e);
  sum += n.op == NEO_OP_DIV || n.op == NEO_OP_MOD ? 6 : 1;
  for (uint32_t k = 0; k < n.arg.n && sum < MAX_WEIGHT; k++)
    sum = weight(m, neo_list_expr(m, n.arg, k), sum);
  return sum;
}

/* e written as its polynomial, if that is shorter. */
static neo_expr shorter(neo_prover_scope *s, neo_expr e) {
  neo_poly g;
  s->fuel = NEO_PROVE_FUEL;
  neo_prover_form(s, e, &g);
  neo_expr y = neo_poly_expr(s->m, &g);
  return weight(s->m, y, 0) < weight(s->m, e, 0) ? y : e;
}

/* e rewritten as its linear form if that is shorter: terms that cancel disappear. */
static neo_expr shorter_linear(neo_module *m, neo_expr e) {
  neo_linear l;
  if (!neo_linear_of(m, e, &l))
    return e;
  neo_expr y = neo_linear_expr(m, &l);
  return weight(m, y, 0) < weight(m, e, 0) ? y : e;
}

static neo_expr simpler_sum(neo_prover_scope *s, neo_expr e) {
  if (neo_expr_type(s->m, e) != NEO_I64_T)
    return e;
  bool digits = neo_expr_uses_op(s->m, e, NEO_OP_DIV) || neo_expr_uses_op(s->m, e, NEO_OP_MOD);
  return digits ? shorter(s, e) : shorter_linear(s->m, e);
}

static neo_expr simpler_extreme(neo_prover_scope *s, neo_expr e) {
  neo_op op = (neo_op)neo_expr_node(s->m, e)->op;
  if (op != NEO_OP_MIN && op != NEO_OP_MAX)
    return e; /* was folded when it was made */
  neo_expr a = neo_expr_arg(s->m, e, 0), b = neo_expr_arg(s->m, e, 1);
  bool min = neo_expr_node(s->m, e)->op == NEO_OP_MIN;
  if (!neo_expr_is_integer(s->m, a))
    return e;
  if (decided_hard(s, neo_op2(s->m, NEO_OP_LE, a, b)) == 1)
    return min ? a : b;
  if (decided_hard(s, neo_op2(s->m, NEO_OP_LE, b, a)) == 1)
    return min ? b : a;
  return e;
}

static neo_expr simpler_clamp(neo_prover_scope *s, neo_expr e) {
  neo_module *m = s->m;
  neo_expr x = neo_expr_arg(m, e, 0), lo = neo_expr_arg(m, e, 1), hi = neo_expr_arg(m, e, 2);
  if (!neo_expr_is_integer(m, x))
    return e;
  if (decided_hard(s, neo_op2(m, NEO_OP_LE, lo, x)) == 1)
    return simpler_extreme(s, neo_op2(m, NEO_OP_MIN, x, hi));
  bool below = decided_hard(s, neo_op2(m, NEO_OP_LE, x, hi)) == 1 &&
               decided_hard(s, neo_op2(m, NEO_OP_LE, lo, hi)) == 1;
  return below ? simpler_extreme(s, neo_op2(m, NEO_OP_MAX, x, lo)) : e;
}

static neo_expr simpler_compare(neo_prover_scope *s, neo_expr e) {
  if (neo_expr_node(s->m, e)->op == NEO_OP_CONST)
    return e;
  if (!neo_expr_is_integer(s->m, neo_expr_arg(s->m, e, 0)))
    return e;
  int yes = decided_hard(s, e);
  return yes < 0 ? e : neo_const_bool(s->m, yes);
}

/* ---- guards */

/* 1: every index is always in range, 0: one never is, -1: neither is known. */
static int in_range(neo_prover_scope *s, const neo_node *n) {
  neo_module *m = s->m;
  int all = 1;
  for (uint32_t k = 0; k + 1 < n->arg.n && all; k++) {
    neo_expr x = neo_list_expr(m, n->arg, k);
    neo_expr extent = neo_tensor_extent(m, (neo_tensor){n->attr}, k);
    int low = decided_hard(s, neo_op2(m, NEO_OP_LE, neo_const_i64(m, 0), x));
    int high = decided_hard(s, neo_op2(m, NEO_OP_LT, x, extent));
    if (low == 0 || high == 0)
      all = 0;
    else if (low < 0 || high < 0)
      all = -1;
  }
  return all;
}

static neo_expr simpler_guard(neo_prover_scope *s, neo_expr e) {
  neo_node n = *neo_expr_node(s->m, e);
  neo_expr index[NEO_NODE_ARGS];
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(s->m, n.arg, k);
  int holds = in_range(s, &n);
  if (holds == 0)
    return index[n.arg.n - 1];
  return holds == 1 ? neo_load(s->m, (neo_tensor){n.attr}, index, n.arg.n - 1, n.span) : e;
}

/* ---- the walk */

static neo_expr rebuild(neo_module *m, neo_expr e, const neo_expr *arg) {
  neo_node n = *neo_expr_node(m, e);
  bool same = true;
  for (uint32_t k = 0; k < n.arg.n; k++)
    same = same && arg[k].i == neo_list_at(m, n.arg, k);
  if (same)
    return e;
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, arg, n.arg.n, n.span);
}

static neo_expr simplify_select(job *j, neo_prover_scope *s, neo_expr e) {
  neo_module *m = j->m;
  int64_t x, y;
  neo_expr c = simplify(j, s, neo_expr_arg(m, e, 0));
  neo_expr a = neo_expr_arg(m, e, 1), b = neo_expr_arg(m, e, 2);
  int yes = decided(s, c);
  if (yes >= 0)
    return simplify(j, s, yes ? a : b);
  a = simplify(j, under(j, s, c, true, a), a);
  b = simplify(j, under(j, s, c, false, b), b);
  if (neo_expr_type(m, e) == NEO_BOOL_T && neo_expr_is_int(m, a, &x) && neo_expr_is_int(m, b, &y) &&
      x != y)
    return x ? c : neo_op1(m, NEO_OP_NOT, c);
  return rebuild(m, e, (neo_expr[]){c, a, b});
}

static neo_expr simplify_logic(job *j, neo_prover_scope *s, neo_expr e) {
  neo_module *m = j->m;
  bool both = neo_expr_node(m, e)->op == NEO_OP_AND;
  neo_expr a = simplify(j, s, neo_expr_arg(m, e, 0)), b = neo_expr_arg(m, e, 1);
  int yes = decided(s, a);
  if (yes >= 0)
    return (yes == 1) == both ? simplify(j, s, b) : neo_const_bool(m, !both);
  b = simplify(j, under(j, s, a, both, b), b);
  e = rebuild(m, e, (neo_expr[]){a, b});
  yes = decided(s, e);
  return yes < 0 ? e : neo_const_bool(m, yes);
}

static neo_expr simplify_args(job *j, neo_prover_scope *s, neo_expr e) {
  neo_expr arg[NEO_NODE_ARGS];
  neo_list l = neo_expr_node(j->m, e)->arg;
  assert(l.n <= NEO_NODE_ARGS);
  for (uint32_t k = 0; k < l.n; k++)
    arg[k] = simplify(j, s, neo_list_expr(j->m, l, k));
  return rebuild(j->m, e, arg);
}

static neo_expr simpler(neo_prover_scope *s, neo_expr e) {
  switch (neo_expr_node(s->m, e)->op) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_MOD:
    return simpler_sum(s, e);
  case NEO_OP_MIN:
  case NEO_OP_MAX:
    return simpler_extreme(s, e);
  case NEO_OP_CLAMP:
    return simpler_clamp(s, e);
  case NEO_OP_EQ:
  case NEO_OP_NE:
  case NEO_OP_LT:
  case NEO_OP_LE:
    return simpler_compare(s, e);
  case NEO_OP_LOAD_ELSE:
    return simpler_guard(s, e);
  default:
    return e;
  }
}

static neo_expr simplify_new(job *j, neo_prover_scope *s, neo_expr e) {
  switch (neo_expr_node(j->m, e)->op) {
  case NEO_OP_SELECT:
    return simplify_select(j, s, e);
  case NEO_OP_AND:
  case NEO_OP_OR:
    return simplify_logic(j, s, e);
  default:
    return simpler(s, simplify_args(j, s, e));
  }
}

static neo_expr simplify(job *j, neo_prover_scope *s, neo_expr e) {
  uint64_t found;
  if (neo_expr_node(j->m, e)->arg.n == 0)
    return e;
  if (neo_map_get(&s->simple, e.i, &found))
    return (neo_expr){(uint32_t)found};
  neo_expr y = simplify_new(j, s, e);
  neo_map_set(&s->simple, e.i, y.i);
  return y;
}

neo_expr neo_simplify_under(neo_prover *p, const neo_facts *facts, neo_expr e) {
  job j = {.m = p->m};
  return simplify(&j, neo_prover_of(p, facts), e);
}
