/* Derivatives of the element functions, one case per row of ir/ops.def.
 *
 * If the derivative can be expressed by the function's own value (tanh, exp, relu ...), it is: the
 * definition's output then serves the backward pass, and its input need not be saved. But the
 * values of expm1 and elu are -1 from some argument on, and those of sigmoid and tanh 1, however
 * small the slope there is: their slopes are exponentials of the argument. Slopes of sigmoid and
 * tanh do use the value if it is the definition's output and the argument would be saved for the
 * slope alone; they are exact to the rounding of 1. */
#include "autodiff/internal.h"

neo_expr ad_zero(neo_module *m, neo_type t) {
  return neo_const_int(m, t, 0);
}

static neo_type type_of(const neo_module *m, neo_expr e) {
  return neo_expr_type(m, e);
}

static bool is_one(const neo_module *m, neo_expr e) {
  double x;
  int64_t i;
  return neo_expr_is_float(m, e, &x) ? x == 1 : neo_expr_is_int(m, e, &i) && i == 1;
}

static neo_expr real(neo_module *m, neo_expr like, double x) {
  return neo_const_float(m, neo_expr_type(m, like), x);
}

static neo_expr negated(neo_module *m, neo_expr a) {
  if (neo_expr_node(m, a)->op == NEO_OP_NEG)
    return neo_expr_arg(m, a, 0);
  return neo_expr_is_positive_zero(m, a) ? a : neo_op1(m, NEO_OP_NEG, a);
}

static neo_expr mul(neo_module *m, neo_expr a, neo_expr b) {
  if (is_one(m, a))
    return b;
  if (is_one(m, b))
    return a;
  if (neo_expr_is_positive_zero(m, a))
    return a;
  if (neo_expr_is_positive_zero(m, b))
    return b;
  double x, y;
  if (neo_expr_is_float(m, a, &x) && neo_expr_is_float(m, b, &y))
    return real(m, a, x * y);
  return neo_op2(m, NEO_OP_MUL, a, b);
}

static bool guarded(const neo_module *m, neo_expr e);

neo_expr ad_add(neo_module *m, neo_expr a, neo_expr b) {
  if (!a.i || (b.i && neo_expr_is_positive_zero(m, a)))
    return b;
  if (!b.i || neo_expr_is_positive_zero(m, b))
    return a;
  if (a.i == b.i)
    return guarded(m, a) ? ad_scale(m, a, real(m, a, 2)) : mul(m, real(m, a, 2), a);
  if (neo_expr_node(m, b)->op == NEO_OP_NEG)
    return neo_op2(m, NEO_OP_SUB, a, neo_expr_arg(m, b, 0));
  return neo_op2(m, NEO_OP_ADD, a, b);
}

neo_expr ad_sum(neo_module *m, const neo_expr *x, size_t n) {
  enum { CHAIN = 16 };
  neo_expr sum = {0};
  if (n > CHAIN)
    return ad_add(m, ad_sum(m, x, n / 2), ad_sum(m, x + n / 2, n - n / 2));
  for (size_t k = 0; k < n; k++)
    sum = ad_add(m, sum, x[k]);
  return sum;
}

neo_expr ad_select(neo_module *m, neo_expr cond, neo_expr a, neo_expr b) {
  int64_t c;
  if (neo_expr_is_int(m, cond, &c))
    return c ? a : b;
  return a.i == b.i ? a : neo_op3(m, NEO_OP_SELECT, cond, a, b);
}

/* Whether e is a select between a value and zero, or a sum or negation of such. A factor then has
 * to be moved inside. */
static bool guarded(const neo_module *m, neo_expr e) {
  const neo_node *n = neo_expr_node(m, e);
  if (n->op == NEO_OP_SELECT)
    return neo_expr_is_positive_zero(m, neo_expr_arg(m, e, 1)) ||
           neo_expr_is_positive_zero(m, neo_expr_arg(m, e, 2));
  if (n->op == NEO_OP_NEG)
    return guarded(m, neo_expr_arg(m, e, 0));
  if (n->op == NEO_OP_ADD || n->op == NEO_OP_SUB)
    return guarded(m, neo_expr_arg(m, e, 0)) || guarded(m, neo_expr_arg(m, e, 1));
  return false;
}

/* A linear map of an adjoint: multiplication or division by a number, a select by a condition, or a
 * conversion. */
typedef struct {
  enum { TIMES, OVER, WHERE, UNLESS, CONVERT } kind;
  neo_expr by; /* a number or a condition */
  neo_type to;
} map;

static neo_expr map_plain(neo_module *m, const map *f, neo_expr g) {
  switch (f->kind) {
  case TIMES:
    return mul(m, g, f->by);
  case OVER:
    return neo_expr_is_positive_zero(m, g) || is_one(m, f->by) ? g
                                                               : neo_op2(m, NEO_OP_DIV, g, f->by);
  case WHERE:
    return ad_select(m, f->by, g, ad_zero(m, neo_expr_type(m, g)));
  case UNLESS:
    return ad_select(m, f->by, ad_zero(m, neo_expr_type(m, g)), g);
  default:
    return neo_cast(m, f->to, g);
  }
}

/* Applies the map to g, inside of guards: the operands of the map are only evaluated where the
 * guards hold. */
static neo_expr apply(neo_module *m, const map *f, neo_expr g) {
  if (!guarded(m, g))
    return map_plain(m, f, g);
  neo_node n = *neo_expr_node(m, g);
  if (n.op == NEO_OP_NEG)
    return negated(m, apply(m, f, neo_expr_arg(m, g, 0)));
  if (n.op == NEO_OP_SELECT) {
    neo_expr c = neo_expr_arg(m, g, 0), a = neo_expr_arg(m, g, 1), b = neo_expr_arg(m, g, 2);
    bool first = !neo_expr_is_positive_zero(m, a), second = !neo_expr_is_positive_zero(m, b);
    neo_expr x = first ? apply(m, f, a) : a, y = second ? apply(m, f, b) : b;
    if (!first)
      x = ad_zero(m, second ? neo_expr_type(m, y) : f->kind == CONVERT ? f->to : type_of(m, g));
    return ad_select(m, c, x, second ? y : ad_zero(m, neo_expr_type(m, x)));
  }
  neo_expr a = neo_expr_arg(m, g, 0), b = neo_expr_arg(m, g, 1);
  neo_expr x = apply(m, f, a), y = apply(m, f, b);
  return ad_add(m, x, n.op == NEO_OP_SUB ? negated(m, y) : y);
}

neo_expr ad_scale(neo_module *m, neo_expr adj, neo_expr d) {
  return apply(m, &(map){.kind = TIMES, .by = d}, adj);
}
neo_expr ad_quotient(neo_module *m, neo_expr adj, neo_expr d) {
  return apply(m, &(map){.kind = OVER, .by = d}, adj);
}
static neo_expr mask(neo_module *m, neo_expr cond, neo_expr g) {
  return apply(m, &(map){.kind = WHERE, .by = cond}, g);
}
static neo_expr mask_out(neo_module *m, neo_expr cond, neo_expr g) {
  return apply(m, &(map){.kind = UNLESS, .by = cond}, g);
}
neo_expr ad_convert(neo_module *m, neo_type to, neo_expr g) {
  return apply(m, &(map){.kind = CONVERT, .to = to}, g);
}

static neo_expr op1(neo_module *m, neo_op op, neo_expr a) {
  return neo_op1(m, op, a);
}
static neo_expr add(neo_module *m, neo_expr a, neo_expr b) {
  return neo_op2(m, NEO_OP_ADD, a, b);
}
static neo_expr sub(neo_module *m, neo_expr a, neo_expr b) {
  return neo_op2(m, NEO_OP_SUB, a, b);
}

static neo_expr is_zero(neo_module *m, neo_expr e) {
  return neo_op2(m, NEO_OP_EQ, e, ad_zero(m, neo_expr_type(m, e)));
}

/* d pow(a, b): b*a^(b-1) and a^b*log a, the latter 0 at a = 0. A condition in a slope would hide
 * the slope's own derivative, so there is one only where the slope has no value otherwise. */
static neo_expr rule_pow(neo_module *m, neo_expr y, uint32_t k, neo_expr g) {
  neo_expr a = neo_expr_arg(m, y, 0), b = neo_expr_arg(m, y, 1);
  if (k == 0) {
    double p;
    neo_expr less = neo_expr_is_float(m, b, &p) ? real(m, b, p - 1) : sub(m, b, real(m, b, 1));
    neo_expr power = is_one(m, less) ? a : neo_op2(m, NEO_OP_POW, a, less);
    if (!neo_expr_is_float(m, b, &p)) /* a^0 is 1, at a = 0 too */
      g = mask_out(m, neo_op2(m, NEO_OP_AND, is_zero(m, a), is_zero(m, b)), g);
    return ad_scale(m, g, mul(m, b, power));
  }
  return ad_scale(m, mask_out(m, is_zero(m, a), g), mul(m, y, op1(m, NEO_OP_LOG, a)));
}

/* y = min(max(x, lo), hi); of equal values the first one takes the adjoint. */
static neo_expr rule_clamp(neo_module *m, neo_expr y, uint32_t k, neo_expr g) {
  neo_expr x = neo_expr_arg(m, y, 0), lo = neo_expr_arg(m, y, 1), hi = neo_expr_arg(m, y, 2);
  neo_expr above = neo_op2(m, NEO_OP_LT, hi, x), crossed = neo_op2(m, NEO_OP_LT, hi, lo);
  if (k == 1)
    return mask(m, neo_op2(m, NEO_OP_LT, x, lo), mask_out(m, crossed, g));
  if (k == 2)
    return mask(m, neo_op2(m, NEO_OP_OR, above, crossed), g);
  neo_expr in = neo_op2(m, NEO_OP_AND, neo_op2(m, NEO_OP_LE, lo, x), neo_op2(m, NEO_OP_LE, x, hi));
  return mask(m, in, g);
}

/* The normal density. */
static neo_expr slope_phi(neo_module *m, neo_expr x) {
  return mul(m, op1(m, NEO_OP_BELL, x), real(m, x, 0.3989422804014327));
}

/* gelu(x) = x*phi(x). */
static neo_expr slope_gelu(neo_module *m, neo_expr x) {
  return add(m, op1(m, NEO_OP_PHI, x), mul(m, x, slope_phi(m, x)));
}

/* silu(x) = x*s: s*(1 + x*(1 - s)), where 1 - s is the sigmoid of -x, without cancellation. */
static neo_expr slope_silu(neo_module *m, neo_expr x) {
  neo_expr s = op1(m, NEO_OP_SIGMOID, x), rest = op1(m, NEO_OP_SIGMOID, negated(m, x));
  return mul(m, s, add(m, real(m, x, 1), mul(m, x, rest)));
}

static bool is_sum_or_temp(const neo_module *m, neo_expr e, const void *x) {
  const neo_node *n = neo_expr_node(m, e);
  neo_role role = NEO_ROLE_INPUT;
  (void)x;
  if (neo_node_is_load(n))
    role = (neo_role)neo_tensor_at(m, (neo_tensor){n->attr})->role;
  return n->op == NEO_OP_ACC || role == NEO_ROLE_TEMP || role == NEO_ROLE_UPDATE;
}

/* Is x made of sums or of computed tensors, not of inputs, parameters and states alone? */
static bool is_computed(const neo_module *m, neo_expr x) {
  return neo_expr_any(m, x, is_sum_or_temp, NULL);
}

/* sigmoid(x)*sigmoid(-x), with y = sigmoid(x). */
static neo_expr slope_sigmoid(neo_module *m, neo_expr x, neo_expr y, bool kept) {
  if (kept && is_computed(m, x))
    return mul(m, y, sub(m, real(m, x, 1), y));
  return mul(m, y, op1(m, NEO_OP_SIGMOID, negated(m, x)));
}

/* 1/cosh(x)^2 = 4*sigmoid(2*x)*sigmoid(-2*x), with y = tanh(x). */
static neo_expr slope_tanh(neo_module *m, neo_expr x, neo_expr y, bool kept) {
  if (kept && is_computed(m, x))
    return sub(m, real(m, x, 1), mul(m, y, y));
  neo_expr z = add(m, x, x);
  neo_expr s = mul(m, op1(m, NEO_OP_SIGMOID, z), op1(m, NEO_OP_SIGMOID, negated(m, z)));
  return mul(m, real(m, x, 4), s);
}

/* Slope of a function of one argument x with value y, where it is a plain factor; 0: not such a
 * function. `kept`: y is the definition's output. */
static neo_expr slope(neo_module *m, neo_op op, neo_expr x, neo_expr y, bool kept) {
  neo_expr one = real(m, x, 1);
  switch (op) {
  case NEO_OP_ABS:
    return op1(m, NEO_OP_SIGN, x);
  case NEO_OP_RSQRT:
    return mul(m, real(m, x, -0.5), mul(m, y, mul(m, y, y)));
  case NEO_OP_EXP:
    return y;
  case NEO_OP_EXPM1:
    return op1(m, NEO_OP_EXP, x);
  case NEO_OP_SIN:
    return op1(m, NEO_OP_COS, x);
  case NEO_OP_COS:
    return negated(m, op1(m, NEO_OP_SIN, x));
  case NEO_OP_TAN:
    return add(m, one, mul(m, y, y));
  case NEO_OP_TANH:
    return slope_tanh(m, x, y, kept);
  case NEO_OP_SIGMOID:
    return slope_sigmoid(m, x, y, kept);
  case NEO_OP_GELU:
    return slope_gelu(m, x);
  case NEO_OP_SILU:
    return slope_silu(m, x);
  case NEO_OP_SOFTPLUS:
    return op1(m, NEO_OP_SIGMOID, x);
  case NEO_OP_ELU:
    return ad_select(m, neo_op2(m, NEO_OP_LT, ad_zero(m, neo_expr_type(m, x)), x), one,
                     op1(m, NEO_OP_EXP, x));
  case NEO_OP_PHI:
    return slope_phi(m, x);
  case NEO_OP_BELL:
    return negated(m, mul(m, x, y));
  case NEO_OP_ERF: {
    neo_expr bell = op1(m, NEO_OP_EXP, negated(m, mul(m, x, x)));
    return mul(m, real(m, x, 1.1283791670955126), bell);
  }
  default:
    return (neo_expr){0};
  }
}

static neo_expr rule_one(neo_module *m, neo_expr y, bool kept, neo_expr g) {
  neo_op op = (neo_op)neo_expr_node(m, y)->op;
  neo_expr x = neo_expr_arg(m, y, 0);
  switch (op) {
  case NEO_OP_NEG:
    return negated(m, g);
  case NEO_OP_TF32: /* like a conversion */
    return g;
  case NEO_OP_CAST:
    return ad_convert(m, neo_expr_type(m, x), g);
  case NEO_OP_SQRT:
    return ad_quotient(m, ad_scale(m, g, real(m, x, 0.5)), y);
  case NEO_OP_LOG:
    return ad_quotient(m, g, x);
  case NEO_OP_LOG1P:
    return ad_quotient(m, g, add(m, real(m, x, 1), x));
  case NEO_OP_RELU:
    return mask(m, neo_op2(m, NEO_OP_LT, ad_zero(m, neo_expr_type(m, y)), y), g);
  default:
    break; /* floor, ceil, round, sign, stop: no gradient */
  }
  neo_expr d = slope(m, op, x, y, kept);
  return d.i ? ad_scale(m, g, d) : d;
}

/* low <= high, or the first operand is NaN: a maximum or minimum takes the first of equals, and of
 * NaN. */
static neo_expr takes_first(neo_module *m, neo_expr low, neo_expr high, neo_expr first) {
  neo_expr nan = neo_op2(m, NEO_OP_NE, first, first);
  return neo_op2(m, NEO_OP_OR, neo_op2(m, NEO_OP_LE, low, high), nan);
}

/* floor(a/b), where a/b may round up to an integer: a - a % b is a multiple of b. */
static neo_expr whole_quotient(neo_module *m, neo_expr rest, neo_expr a, neo_expr b) {
  neo_expr whole = neo_op2(m, NEO_OP_SUB, a, rest);
  return op1(m, NEO_OP_ROUND, neo_op2(m, NEO_OP_DIV, whole, b));
}

static neo_expr rule_two(neo_module *m, neo_op op, neo_expr y, uint32_t k, neo_expr g) {
  neo_expr a = neo_expr_arg(m, y, 0), b = neo_expr_arg(m, y, 1);
  switch (op) {
  case NEO_OP_ADD:
    return g;
  case NEO_OP_SUB:
    return k ? negated(m, g) : g;
  case NEO_OP_MUL:
    return ad_scale(m, g, k ? a : b);
  case NEO_OP_DIV:
    return k ? negated(m, ad_quotient(m, ad_scale(m, g, y), b)) : ad_quotient(m, g, b);
  case NEO_OP_MOD:
    if (!k)
      return g;
    return negated(m, ad_scale(m, g, whole_quotient(m, y, a, b)));
  case NEO_OP_POW:
    return rule_pow(m, y, k, g);
  case NEO_OP_MAX: {
    neo_expr first = takes_first(m, b, a, a);
    return k ? mask_out(m, first, g) : mask(m, first, g);
  }
  case NEO_OP_MIN: {
    neo_expr first = takes_first(m, a, b, a);
    return k ? mask_out(m, first, g) : mask(m, first, g);
  }
  default:
    return (neo_expr){0};
  }
}

neo_expr ad_rule(neo_module *m, neo_expr e, uint32_t k, bool kept, neo_expr g) {
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  switch (neo_op_arity(op)) {
  case 1:
    return rule_one(m, e, kept, g);
  case 2:
    return rule_two(m, op, e, k, g);
  case 3:
    if (op == NEO_OP_CLAMP)
      return rule_clamp(m, e, k, g);
    if (op != NEO_OP_SELECT || k == 0)
      return (neo_expr){0};
    return k == 1 ? mask(m, neo_expr_arg(m, e, 0), g) : mask_out(m, neo_expr_arg(m, e, 0), g);
  default:
    return (neo_expr){0};
  }
}
