/* Matches operands that slide along an axis, as an image does under a window: a shared axis b and a
 * reduction axis a occur in the expression only as u = alpha*b + beta*a, with alpha >= 1 and beta 1
 * or -1.
 *
 *   X[n,c,p+r-1,q+s-1] else 0     q and s: u = q + s     in scratch [c][r][u], not [c][r][s][q]
 *   D[n,k,h-r+1,w-s+1]            w and s: u = w - s
 *
 * The condition of the reduction slides too, or there is none. A copy over u holds the elements of
 * all a and b once, so it is several times smaller than a copy over both axes. */
#include "schedule/contract.h"

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t a, b;
  int64_t alpha, beta; /* 0: not known yet */
} slide;

static bool check(slide *c, neo_expr e);

/* Do these coefficients of a and b agree with those seen so far? */
static bool pair(slide *c, int64_t of_a, int64_t of_b) {
  if (!of_a && !of_b)
    return true;
  if (!of_a || of_b % of_a)
    return false;
  int64_t beta = (of_b < 0) != (of_a < 0) ? -1 : 1, alpha = of_b / of_a * beta;
  if (!alpha || (c->alpha && (alpha != c->alpha || beta != c->beta)))
    return false;
  c->alpha = alpha;
  c->beta = beta;
  return true;
}

static bool check_linear(slide *c, const neo_linear *x) {
  int64_t of_a = 0, of_b = 0;
  for (uint32_t k = 0; k < x->n; k++) {
    const neo_node *n = neo_expr_node(c->m, x->term[k].atom);
    if (n->op == NEO_OP_AXIS && n->attr == c->a)
      of_a = x->term[k].coef;
    else if (n->op == NEO_OP_AXIS && n->attr == c->b)
      of_b = x->term[k].coef;
    else if (!check(c, x->term[k].atom))
      return false;
  }
  return pair(c, of_a, of_b);
}

/* Reads x < y as x - y < 0. */
static bool check_compare(slide *c, neo_expr x, neo_expr y) {
  neo_linear a, b, d;
  return neo_flat_linear(c->m, x, &a) && neo_flat_linear(c->m, y, &b) &&
         neo_linear_add(&a, -1, &b, &d) && check_linear(c, &d);
}

static bool is_compare(neo_module *m, const neo_node *n) {
  bool ints = n->arg.n == 2 && neo_expr_type(m, neo_list_expr(m, n->arg, 0)) == NEO_I64_T;
  return ints && neo_op_rule((neo_op)n->op) == NEO_RULE_CMP;
}

static bool check(slide *c, neo_expr e) {
  neo_linear x;
  const uint64_t both = 1ULL << c->a | 1ULL << c->b;
  neo_node n = *neo_expr_node(c->m, e);
  if (!(neo_form_axes(c->m, c->f, e) & both))
    return true;
  bool sum = n.op == NEO_OP_ADD || n.op == NEO_OP_SUB || n.op == NEO_OP_NEG || n.op == NEO_OP_MUL ||
             n.op == NEO_OP_AXIS;
  if (n.type == NEO_I64_T && sum)
    return neo_flat_linear(c->m, e, &x) &&
           (x.n != 1 || x.term[0].atom.i != e.i || n.op == NEO_OP_AXIS) && check_linear(c, &x);
  if (is_compare(c->m, &n))
    return check_compare(c, neo_list_expr(c->m, n.arg, 0), neo_list_expr(c->m, n.arg, 1));
  for (uint32_t k = 0; k < n.arg.n; k++)
    if (!check(c, neo_list_expr(c->m, n.arg, k)))
      return false;
  return true;
}

bool neo_sliding_of(neo_module *m, const neo_form *f, const neo_stage *s, neo_expr e, uint32_t b,
                    neo_sliding *out) {
  for (uint32_t k = (uint32_t)s->axes.n; k-- > 0;) {
    slide c = {.m = m, .f = f, .a = (uint32_t)f->axes.n + k, .b = b};
    int64_t lo, hi;
    if (!(neo_form_axes(m, f, e) >> c.a & 1) || !neo_expr_is_int(m, s->axes.at[k].lo, &lo) ||
        !neo_expr_is_int(m, s->axes.at[k].hi, &hi) || hi - lo < 2)
      continue;
    if (!check(&c, e) || !c.alpha || (s->where.i && !check(&c, s->where)))
      continue;
    *out = (neo_sliding){k, c.alpha, c.beta, lo, hi - lo};
    return true;
  }
  return false;
}
