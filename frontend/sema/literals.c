/* Expressions made of literals alone. They have no type of their own, as a literal has none, and
 * are made in the type that their context gives.
 *
 *     x[i] + select(c[i], 0.1, 0)     x is f64: 0.1 is the f64 number, not a converted f32 number
 *     H[i] : f64 = sum[k < n] 0.1     the type that the definition declares
 *
 * The typed operand is checked first; the literals of the other operand are then made in its type.
 * A literal that folds with others (0.1 + 0.2) needs none of this: it stays a literal
 * (sema/types.c). Conditions and bounds within such an expression have types of their own. */
#include "frontend/sema/parts.h"

static neo_literals both(neo_literals a, neo_literals b) {
  return a == NEO_LITERALS_NONE || b == NEO_LITERALS_NONE ? NEO_LITERALS_NONE : a > b ? a : b;
}

static neo_literals of_name(neo_frame *f, const neo_ast_expr *e) {
  neo_sym *s = neo_path_find(f->in, &e->u.ref.path, true);
  if (!s || s->kind != NEO_SYM_VALUE || s->value.kind != NEO_VAL_LIT)
    return NEO_LITERALS_NONE;
  return s->value.lit.kind == NEO_LIT_BOOL  ? NEO_LITERALS_NONE
         : s->value.lit.kind == NEO_LIT_INT ? NEO_LITERALS_INTS
                                            : NEO_LITERALS_NUMBERS;
}

/* An element function, but for conversions to a type. */
static neo_literals of_builtin(neo_frame *f, const neo_ast_expr *e) {
  neo_sym *fn;
  if (neo_call_is(f->in, e, &fn))
    return NEO_LITERALS_NONE;
  const neo_builtin *row = neo_builtin_called(f, e);
  uint32_t first = row && row->op == NEO_OP_SELECT;
  if (!row || neo_builtin_is_cast(row) || e->u.ref.args.n <= first)
    return NEO_LITERALS_NONE;
  neo_literals all =
      neo_op_rule(row->op) == NEO_RULE_FLOAT ? NEO_LITERALS_NUMBERS : NEO_LITERALS_INTS;
  for (uint32_t k = first; k < e->u.ref.args.n; k++)
    all = both(all, neo_literals_of(f, e->u.ref.args.at[k].value));
  return all;
}

static neo_literals of_reduce(neo_frame *f, const neo_ast_expr *e) {
  switch (e->u.reduce.reducer) {
  case NEO_AST_RED_ANY:
  case NEO_AST_RED_ALL:
  case NEO_AST_RED_ARGMAX:
  case NEO_AST_RED_ARGMIN:
    return NEO_LITERALS_NONE;
  case NEO_AST_RED_MEAN:
  case NEO_AST_RED_LOGSUMEXP:
    return both(NEO_LITERALS_NUMBERS, neo_literals_of(f, e->u.reduce.body));
  default:
    return neo_literals_of(f, e->u.reduce.body);
  }
}

static neo_literals of_binary(neo_frame *f, const neo_ast_expr *e) {
  neo_ast_op op = e->u.binary.op;
  if (neo_ast_op_is_cmp(op) || op == NEO_AST_AND || op == NEO_AST_OR)
    return NEO_LITERALS_NONE;
  neo_literals x = neo_literals_of(f, e->u.binary.x);
  return x == NEO_LITERALS_NONE ? NEO_LITERALS_NONE : both(x, neo_literals_of(f, e->u.binary.y));
}

neo_literals neo_literals_of(neo_frame *f, const neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_NUMBER:
    return e->u.number.is_int ? NEO_LITERALS_INTS : NEO_LITERALS_NUMBERS;
  case NEO_AST_REF:
    return e->u.ref.has_subs   ? NEO_LITERALS_NONE
           : e->u.ref.has_args ? of_builtin(f, e)
                               : of_name(f, e);
  case NEO_AST_UNARY:
    return e->u.unary.op == NEO_AST_NEG ? neo_literals_of(f, e->u.unary.x) : NEO_LITERALS_NONE;
  case NEO_AST_BINARY:
    return of_binary(f, e);
  case NEO_AST_REDUCE:
    return of_reduce(f, e);
  default:
    return NEO_LITERALS_NONE;
  }
}
