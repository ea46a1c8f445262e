/* Expressions that literals alone make: they have no type of their own, as a literal has none.
 *
 *     x[i] + select(c[i], 0.1, 0)     x is f64: 0.1 is the f64 number, and no f32 number that was converted
 *     H[i] : f64 = sum[k < n] 0.1     the type that the definition declares
 *
 * What has a type is looked at first; the literals of the other operand are then made in that type. A literal
 * that folds with others (0.1 + 0.2) needs none of this: it stays a literal (sema/types.c). Conditions and bounds
 * within such an expression have types of their own. */
#include "frontend/check/check.h"

typedef enum {
  TYPED,
  INTS,
  NUMBERS
} literals; /* of literals alone: integers alone, or others too */

static literals literals_of(neo_frame *f, const neo_ast_expr *e);

static literals both(literals a, literals b) {
  return a == TYPED || b == TYPED ? TYPED : a > b ? a : b;
}

static literals of_name(neo_frame *f, const neo_ast_expr *e) {
  neo_sym *s = neo_path_find(f->in, &e->u.ref.path, true);
  if (!s || s->kind != NEO_SYM_VALUE || s->value.kind != NEO_VAL_LIT)
    return TYPED;
  return s->value.lit.kind == NEO_LIT_BOOL  ? TYPED
         : s->value.lit.kind == NEO_LIT_INT ? INTS
                                            : NUMBERS;
}

/* An element function, but for conversions. */
static literals of_builtin(neo_frame *f, const neo_ast_expr *e) {
  neo_sym *fn;
  if (neo_call_is(f->in, e, &fn))
    return TYPED;
  const neo_builtin *row = neo_builtin_called(f, e);
  uint32_t first = row && row->op == NEO_OP_SELECT;
  if (!row || row->op == NEO_OP_CAST || e->u.ref.args.n <= first)
    return TYPED;
  literals all = neo_op_rule(row->op) == NEO_RULE_FLOAT ? NUMBERS : INTS;
  for (uint32_t k = first; k < e->u.ref.args.n; k++)
    all = both(all, literals_of(f, e->u.ref.args.at[k].value));
  return all;
}

static literals of_reduce(neo_frame *f, const neo_ast_expr *e) {
  switch (e->u.reduce.reducer) {
  case NEO_AST_RED_ANY:
  case NEO_AST_RED_ALL:
  case NEO_AST_RED_ARGMAX:
  case NEO_AST_RED_ARGMIN:
    return TYPED;
  case NEO_AST_RED_MEAN:
  case NEO_AST_RED_LOGSUMEXP:
    return both(NUMBERS, literals_of(f, e->u.reduce.body));
  default:
    return literals_of(f, e->u.reduce.body);
  }
}

static literals of_binary(neo_frame *f, const neo_ast_expr *e) {
  neo_ast_op op = e->u.binary.op;
  if (neo_ast_op_is_cmp(op) || op == NEO_AST_AND || op == NEO_AST_OR)
    return TYPED;
  literals x = literals_of(f, e->u.binary.x);
  return x == TYPED ? TYPED : both(x, literals_of(f, e->u.binary.y));
}

static literals literals_of(neo_frame *f, const neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_NUMBER:
    return e->u.number.is_int ? INTS : NUMBERS;
  case NEO_AST_REF:
    return e->u.ref.has_subs ? TYPED : e->u.ref.has_args ? of_builtin(f, e) : of_name(f, e);
  case NEO_AST_UNARY:
    return e->u.unary.op == NEO_AST_NEG ? literals_of(f, e->u.unary.x) : TYPED;
  case NEO_AST_BINARY:
    return of_binary(f, e);
  case NEO_AST_REDUCE:
    return of_reduce(f, e);
  default:
    return TYPED;
  }
}

bool neo_is_untyped(neo_frame *f, const neo_ast_expr *e) {
  return literals_of(f, e) != TYPED;
}

neo_val neo_check_typed(neo_frame *f, const neo_ast_expr *e, neo_type t) {
  literals kind = literals_of(f, e);
  if (t == NEO_BOOL_T || kind == TYPED)
    return neo_check_expr(f, e);
  neo_type outer = f->literal;
  f->literal = kind == NUMBERS && neo_type_is_int(t) ? NEO_F64_T : t;
  neo_val v = neo_check_expr(f, e);
  f->literal = outer;
  return v;
}

void neo_check_operands(neo_frame *f, const neo_ast_expr *const *e, uint32_t n, neo_val *x) {
  bool untyped[NEO_BUILTIN_ARGS];
  neo_type t = f->literal;
  for (uint32_t k = 0; k < n; k++) {
    untyped[k] = n > 1 && neo_is_untyped(f, e[k]);
    if (!untyped[k])
      x[k] = neo_check_expr(f, e[k]);
    if (!untyped[k] && x[k].kind == NEO_VAL_EXPR)
      t = neo_expr_type(f->m, x[k].e);
  }
  for (uint32_t k = 0; k < n; k++)
    if (untyped[k])
      x[k] = neo_check_typed(f, e[k], t);
}
