/* Flattening of indices: loads get row-major offsets, guards become explicit conditions.
 *
 *     X[i, j + 1] else 0  of X[8, 4]   ->   select(j + 1 < 4, X[i*4 + j + 1], 0) */
#include "fusion/form/steps.h"
#include "ir/prove/prove.h"
#include "ir/store.h"
#include <assert.h>

neo_expr neo_tensor_elements(neo_module *m, neo_tensor t) {
  neo_expr n = neo_const_i64(m, 1);
  neo_tensor store = neo_tensor_store(m, t);
  for (uint32_t k = 0; k < neo_tensor_rank(m, store); k++)
    n = neo_op2(m, NEO_OP_MUL, n, neo_tensor_extent(m, store, k));
  return n;
}

neo_expr neo_flat_at(neo_module *m, neo_expr load) {
  const neo_node *n = neo_expr_node(m, load);
  return n->arg.n ? neo_list_expr(m, n->arg, 0) : neo_const_i64(m, 0);
}

/* ---- linear forms */

/* The x and n of x/n or x%n with a constant n > 0. */
static bool quotient_of(const neo_module *m, neo_expr e, neo_op op, neo_expr *x, int64_t *n) {
  if (neo_expr_node(m, e)->op != op)
    return false;
  *x = neo_expr_arg(m, e, 0);
  return neo_expr_is_int(m, neo_expr_arg(m, e, 1), n) && *n > 0;
}

/* Makes one pair a*n*(x/n) + a*(x%n) of the terms a*x. */
static bool join_quotient(neo_module *m, neo_linear *l) {
  for (uint32_t i = 0; i < l->n; i++)
    for (uint32_t j = 0; j < l->n; j++) {
      neo_expr x, y;
      int64_t n, k, coef = l->term[j].coef;
      if (!quotient_of(m, l->term[i].atom, NEO_OP_DIV, &x, &n) ||
          !quotient_of(m, l->term[j].atom, NEO_OP_MOD, &y, &k))
        continue;
      neo_expr inner = y;
      int64_t k2;
      /* x/(n*k) and (x/n)%k: the quotient x/n is y */
      if (quotient_of(m, y, NEO_OP_DIV, &inner, &k2) && inner.i == x.i && n == k2 * k)
        n = k;
      else if (x.i != y.i || n != k)
        continue;
      if (l->term[i].coef != coef * n)
        continue;
      x = y;
      neo_linear div = {.n = 1, .term = {{l->term[i].atom, 1}}};
      neo_linear mod = {.n = 1, .term = {{l->term[j].atom, 1}}}, whole;
      return neo_linear_of(m, x, &whole) && neo_linear_add(l, -coef * n, &div, l) &&
             neo_linear_add(l, -coef, &mod, l) && neo_linear_add(l, coef, &whole, l);
    }
  return false;
}

bool neo_flat_linear(neo_module *m, neo_expr e, neo_linear *out) {
  if (!neo_linear_of(m, e, out))
    return false;
  while (join_quotient(m, out)) {
  }
  return true;
}

bool neo_flat_stride(neo_module *m, const neo_form *f, neo_expr offset, uint32_t axis,
                     int64_t *stride) {
  neo_linear l;
  uint64_t bit = 1ULL << axis;
  *stride = 0;
  if (!(neo_form_axes(m, f, offset) & bit))
    return true;
  if (axis >= 63 || !neo_flat_linear(m, offset, &l))
    return false;
  for (uint32_t k = 0; k < l.n; k++) {
    const neo_node *n = neo_expr_node(m, l.term[k].atom);
    if (n->op == NEO_OP_AXIS && n->attr == axis)
      *stride = l.term[k].coef;
    else if (neo_form_axes(m, f, l.term[k].atom) & bit)
      return false;
  }
  return true;
}

/* Is the expression AXIS `axis` / n, or % n? */
static bool is_part(const neo_module *m, neo_expr e, neo_op op, uint32_t axis, int64_t *n) {
  neo_expr x;
  return quotient_of(m, e, op, &x, n) && neo_expr_node(m, x)->op == NEO_OP_AXIS &&
         neo_expr_node(m, x)->attr == axis;
}

bool neo_flat_tiled(neo_module *m, const neo_form *f, neo_expr offset, uint32_t axis, int64_t *n) {
  neo_linear l;
  int64_t whole = 0, part = 0, x;
  if (axis >= 63 || !neo_flat_linear(m, offset, &l))
    return false;
  for (uint32_t k = 0; k < l.n; k++) {
    if (!(neo_form_axes(m, f, l.term[k].atom) >> axis & 1))
      continue;
    if (!whole && is_part(m, l.term[k].atom, NEO_OP_DIV, axis, &x))
      whole = x;
    else if (!part && l.term[k].coef == 1 && is_part(m, l.term[k].atom, NEO_OP_MOD, axis, &x))
      part = x;
    else
      return false;
  }
  *n = whole;
  return whole && whole == part;
}

static neo_expr canonical(neo_module *m, neo_expr e) {
  neo_linear l;
  return neo_flat_linear(m, e, &l) ? neo_linear_expr(m, &l) : e;
}

neo_expr neo_flat_offset(neo_module *m, neo_tensor t, const neo_expr *index) {
  neo_expr at = neo_const_i64(m, 0), rest = at;
  neo_tensor store = neo_tensor_store(m, t);
  uint32_t n_outer, rank = neo_tensor_rank(m, t);
  neo_expr in_row = neo_store_in_row(m, t, &n_outer);
  for (uint32_t k = 0; k < n_outer; k++) {
    at = neo_op2(m, NEO_OP_MUL, at, neo_tensor_extent(m, store, k));
    at = neo_op2(m, NEO_OP_ADD, at, neo_store_index(m, t, k, index[k]));
  }
  for (uint32_t k = n_outer; k < rank; k++) {
    rest = neo_op2(m, NEO_OP_MUL, rest, neo_tensor_extent(m, t, k));
    rest = neo_op2(m, NEO_OP_ADD, rest, index[k]);
  }
  if (in_row.i) {
    at = neo_op2(m, NEO_OP_MUL, at, neo_tensor_extent(m, store, n_outer));
    rest = neo_op2(m, NEO_OP_ADD, rest, in_row);
  }
  return canonical(m, neo_op2(m, NEO_OP_ADD, at, rest));
}

/* ---- expressions */

typedef struct {
  neo_prover *p;
  neo_facts facts;
} flattener;

/* cond and goal, without a goal that always holds; a cond of 0 is true. */
static neo_expr and_unless_proved(flattener *c, neo_module *m, neo_expr cond, neo_expr goal) {
  if (neo_proves(c->p, &c->facts, goal))
    return cond;
  return cond.i ? neo_op2(m, NEO_OP_AND, cond, goal) : goal;
}

static neo_expr in_range(flattener *c, neo_module *m, neo_tensor t, const neo_expr *index) {
  neo_expr cond = {0}, zero = neo_const_i64(m, 0);
  for (uint32_t k = 0; k < neo_tensor_rank(m, t); k++) {
    cond = and_unless_proved(c, m, cond, neo_op2(m, NEO_OP_LE, zero, index[k]));
    neo_expr extent = neo_tensor_extent(m, t, k);
    cond = and_unless_proved(c, m, cond, neo_op2(m, NEO_OP_LT, index[k], extent));
  }
  return cond;
}

/* LOAD_ELSE as a select, while indices still belong to dimensions: bounds of elements may be over
 * these. */
static neo_expr guard_node(void *ctx, neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  neo_expr index[NEO_NODE_ARGS];
  if (n.op != NEO_OP_LOAD_ELSE)
    return e;
  assert(n.arg.n <= NEO_NODE_ARGS);
  for (uint32_t k = 0; k < n.arg.n; k++)
    index[k] = neo_list_expr(m, n.arg, k);
  neo_tensor t = {n.attr};
  neo_expr load = neo_load(m, t, index, n.arg.n - 1, n.span), cond = in_range(ctx, m, t, index);
  return cond.i ? neo_op3(m, NEO_OP_SELECT, cond, load, index[n.arg.n - 1]) : load;
}

static neo_expr flatten_node(void *ctx, neo_module *m, neo_expr e) {
  (void)ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr arg[NEO_NODE_ARGS];
  if (n.op == NEO_OP_RAND) {
    arg[0] = canonical(m, neo_expr_arg(m, e, 0));
    return neo_expr_make(m, NEO_OP_RAND, (neo_type)n.type, n.attr, arg, 1, n.span);
  }
  if (n.op != NEO_OP_LOAD)
    return e;
  assert(n.arg.n < NEO_NODE_ARGS);
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = neo_list_expr(m, n.arg, k);
  neo_tensor t = {n.attr};
  neo_expr at = neo_flat_offset(m, t, arg);
  return neo_expr_make(m, NEO_OP_LOAD, (neo_type)n.type, t.i, &at, neo_tensor_rank(m, t) > 0,
                       n.span);
}

neo_expr neo_flat_expr(neo_module *m, neo_prover *p, const neo_axis_rec *axes, uint32_t n_axes,
                       neo_expr assume, neo_expr e) {
  flattener c = {p, {axes, n_axes, &assume, assume.i != 0}};
  if (!e.i)
    return e;
  e = neo_simplify_under(p, &c.facts, e);
  return neo_expr_rewrite(m, neo_expr_rewrite(m, e, guard_node, &c), flatten_node, &c);
}
