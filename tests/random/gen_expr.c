/* Random values. In an exact context only operations are used whose results small multiples of 1/4
 * do not need rounded, because comparisons, conversions to integers and the like jump. */
#include "tests/random/gen_parts.h"

static neo_expr none(void) {
  return (neo_expr){0};
}

neo_type gen_type(gen *g) {
  static const neo_type all[] = {NEO_F32_T, NEO_F32_T, NEO_F32_T,  NEO_F32_T, NEO_F32_T,
                                 NEO_F64_T, NEO_F16_T, NEO_BF16_T, NEO_I64_T, NEO_I32_T,
                                 NEO_I32_T, NEO_I8_T,  NEO_U8_T,   NEO_BOOL_T};
  static const neo_type few[] = {NEO_F32_T, NEO_F32_T, NEO_F32_T, NEO_F32_T, NEO_I32_T, NEO_BOOL_T};
  return gen_has(g, NEO_GEN_TYPES) ? GEN_PICK(g, all) : GEN_PICK(g, few);
}

/* ---- leaves */

static neo_expr constant(gen *g, neo_type t) {
  int64_t x = (int64_t)gen_below(g, 17) - 8;
  if (t == NEO_BOOL_T)
    return neo_const_bool(g->m, x & 1);
  if (neo_type_is_float(t))
    return neo_const_float(g->m, t, (double)x / 4);
  return neo_const_int(g->m, t, t == NEO_U8_T && x < 0 ? -x : x);
}

/* The operand in type t: bools are compared, others converted. Float to integer needs exact
 * values. */
static neo_expr converted(gen *g, neo_type t, neo_expr e, bool exact) {
  neo_type from = neo_expr_type(g->m, e);
  if (from == t)
    return e;
  if (neo_type_is_float(from) && !neo_type_is_float(t) && !exact)
    return none();
  return neo_cast(g->m, t, e);
}

static neo_expr read_any(gen *g, neo_type t, bool exact) {
  for (int attempt = 0; attempt < 6 && g->sources.n; attempt++) {
    source s = g->sources.at[gen_below(g, g->sources.n)];
    if (s.type != t && attempt < 4 && !gen_chance(g, 25))
      continue;
    if (!s.exact && (exact || !neo_type_is_float(t)))
      continue;
    neo_expr e = gen_read(g, &s);
    if (e.i)
      e = converted(g, t, e, s.exact);
    if (e.i)
      return e;
  }
  return none();
}

static neo_expr random_number(gen *g, neo_type t) {
  neo_expr at = gen_int(g, 0);
  for (uint32_t k = 0; k < g->n_axes; k++)
    at = neo_op2(g->m, NEO_OP_ADD, neo_op2(g->m, NEO_OP_MUL, at, gen_int(g, 101)),
                 neo_axis_ref(g->m, k));
  return neo_expr_make(g->m, NEO_OP_RAND, t, g->m->n_sites++, &at, 1, 0);
}

static neo_expr leaf(gen *g, neo_type t, bool exact) {
  neo_expr e = gen_chance(g, 80) ? read_any(g, t, exact) : none();
  if (e.i)
    return e;
  if (g->n_accs && gen_chance(g, 40) && neo_expr_type(g->m, g->acc[0]) == t)
    return g->acc[0];
  bool wide = t == NEO_F32_T || t == NEO_F64_T;
  if (gen_has(g, NEO_GEN_RANDOM) && wide && !exact && gen_chance(g, 5))
    return random_number(g, t);
  if (g->n_axes && t != NEO_BOOL_T && gen_chance(g, 25))
    return neo_cast(g->m, t, neo_axis_ref(g->m, (uint32_t)gen_below(g, g->n_axes)));
  return constant(g, t);
}

/* ---- operators, found in the table so that none is forgotten */

static bool is_transcendental(neo_op op) {
  return neo_op_rule(op) == NEO_RULE_FLOAT && op != NEO_OP_FLOOR && op != NEO_OP_CEIL &&
         op != NEO_OP_ROUND;
}

static bool jumps(neo_op op) {
  return op == NEO_OP_FLOOR || op == NEO_OP_CEIL || op == NEO_OP_ROUND || op == NEO_OP_SIGN ||
         op == NEO_OP_MOD;
}

static bool usable(const gen *g, neo_op op, neo_type t, bool exact) {
  neo_rule rule = neo_op_rule(op);
  bool number = rule == NEO_RULE_NUM || rule == NEO_RULE_SAME || rule == NEO_RULE_FLOAT;
  if (!number || (rule == NEO_RULE_FLOAT && !neo_type_is_float(t)))
    return false;
  if (is_transcendental(op) && (exact || !gen_has(g, NEO_GEN_TRANSCENDENTAL)))
    return false;
  if (op == NEO_OP_TF32 && !gen_has(g, NEO_GEN_NARROWING))
    return false;
  return !(exact && op == NEO_OP_DIV && neo_type_is_float(t));
}

/* The argument moved into the function's domain, mostly. */
static neo_expr into_domain(gen *g, neo_op op, neo_expr x) {
  bool positive = op == NEO_OP_SQRT || op == NEO_OP_RSQRT || op == NEO_OP_LOG ||
                  op == NEO_OP_LOG1P || op == NEO_OP_POW;
  neo_type t = neo_expr_type(g->m, x);
  if (!positive || gen_chance(g, 8))
    return x;
  neo_expr size = neo_op1(g->m, NEO_OP_ABS, x);
  return neo_op2(g->m, NEO_OP_ADD, size, neo_const_float(g->m, t, 0.25));
}

static neo_expr away_from_zero(gen *g, neo_expr y) {
  neo_type t = neo_expr_type(g->m, y);
  if (gen_chance(g, 5))
    return y;
  return neo_op2(g->m, NEO_OP_ADD, neo_op1(g->m, NEO_OP_ABS, y), neo_const_int(g->m, t, 1));
}

static neo_expr operation(gen *g, neo_type t, int depth, bool exact) {
  neo_op op;
  do
    op = (neo_op)gen_below(g, NEO_OP_COUNT);
  while (!usable(g, op, t, exact));
  bool inner = exact || jumps(op);
  neo_expr arg[3];
  for (int k = 0; k < neo_op_arity(op); k++)
    arg[k] = gen_expr(g, t, depth - 1, inner);
  arg[0] = into_domain(g, op, arg[0]);
  if ((op == NEO_OP_DIV || op == NEO_OP_MOD) && neo_type_is_float(t))
    arg[1] = away_from_zero(g, arg[1]);
  if (op == NEO_OP_POW)
    arg[1] = neo_op2(g->m, NEO_OP_MIN, arg[1], constant(g, t));
  if (neo_op_arity(op) == 1)
    return neo_op1(g->m, op, arg[0]);
  if (neo_op_arity(op) == 2)
    return neo_op2(g->m, op, arg[0], arg[1]);
  return neo_op3(g->m, op, arg[0], arg[1], arg[2]);
}

/* Sums and products, which are what programs consist of. */
static neo_expr common(gen *g, neo_type t, int depth, bool exact) {
  static const neo_op ops[] = {NEO_OP_ADD, NEO_OP_ADD, NEO_OP_SUB, NEO_OP_MUL, NEO_OP_MUL};
  neo_op op = GEN_PICK(g, ops);
  neo_expr x = gen_expr(g, t, depth - 1, exact);
  return neo_op2(g->m, op, x, gen_expr(g, t, depth - 1, exact));
}

static neo_expr comparison(gen *g, int depth) {
  static const neo_op ops[] = {NEO_OP_EQ, NEO_OP_NE, NEO_OP_LT, NEO_OP_LE};
  if (g->n_axes && gen_chance(g, 30)) {
    neo_expr axis = neo_axis_ref(g->m, (uint32_t)gen_below(g, g->n_axes));
    return neo_op2(g->m, GEN_PICK(g, ops), axis, gen_any_index(g));
  }
  neo_type t = gen_type(g);
  neo_op op = t == NEO_BOOL_T ? NEO_OP_EQ : GEN_PICK(g, ops);
  neo_expr x = gen_expr(g, t, depth - 1, true);
  return neo_op2(g->m, op, x, gen_expr(g, t, depth - 1, true));
}

static neo_expr truth(gen *g, int depth) {
  neo_expr x;
  switch (gen_below(g, 6)) {
  case 0:
    return neo_op1(g->m, NEO_OP_NOT, gen_expr(g, NEO_BOOL_T, depth - 1, true));
  case 1:
  case 2:
    x = gen_expr(g, NEO_BOOL_T, depth - 1, true);
    return neo_op2(g->m, gen_chance(g, 50) ? NEO_OP_AND : NEO_OP_OR, x,
                   gen_expr(g, NEO_BOOL_T, depth - 1, true));
  default:
    return comparison(g, depth);
  }
}

static neo_expr selection(gen *g, neo_type t, int depth, bool exact) {
  neo_expr c = truth(g, depth - 1);
  neo_expr x = gen_expr(g, t, depth - 1, exact);
  return neo_op3(g->m, NEO_OP_SELECT, c, x, gen_expr(g, t, depth - 1, exact));
}

static neo_expr conversion(gen *g, neo_type t, int depth, bool exact) {
  neo_type from = gen_type(g);
  bool inner = exact || (neo_type_is_float(from) && !neo_type_is_float(t));
  return neo_cast(g->m, t, gen_expr(g, from, depth - 1, inner));
}

neo_expr gen_expr(gen *g, neo_type t, int depth, bool exact) {
  if (depth <= 0 || gen_chance(g, 20))
    return leaf(g, t, exact);
  uint64_t kind = gen_below(g, 100);
  if (kind < 8)
    return selection(g, t, depth, exact);
  if (kind < 14)
    return conversion(g, t, depth, exact);
  if (t == NEO_BOOL_T)
    return truth(g, depth);
  if (kind < 60)
    return common(g, t, depth, exact);
  return operation(g, t, depth, exact);
}
