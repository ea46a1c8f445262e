/* Expressions: operators, conditions, guards. References are in refs.c, reducers in reducers.c. */
#include "frontend/check.h"

/* ---- arithmetic */

static neo_expr product(neo_frame *f, neo_expr x, neo_expr y) {
  return neo_op2(f->m, NEO_OP_MUL, x, y);
}

/* x^n by repeated squaring: exact for the types, and cheap to differentiate. */
static neo_expr power_int(neo_frame *f, neo_expr x, int64_t n) {
  if (n == 0)
    return neo_const_int(f->m, neo_expr_type(f->m, x), 1);
  neo_expr half = n > 1 ? power_int(f, x, n / 2) : x;
  if (n == 1)
    return x;
  half = product(f, half, half);
  return n % 2 ? product(f, half, x) : half;
}

static neo_val power(neo_frame *f, const neo_ast_expr *at, neo_val a, neo_val b) {
  enum { LARGEST = 16, LARGEST_INT = 62 };
  b = neo_val_known(f, b);
  bool whole = b.kind == NEO_VAL_LIT && b.lit.kind == NEO_LIT_INT && b.lit.i >= 0;
  if (a.kind == NEO_VAL_EXPR) {
    neo_type t = neo_expr_type(f->m, a.e);
    if (t != NEO_BOOL_T && whole && b.lit.i <= (neo_type_is_int(t) ? LARGEST_INT : LARGEST)) {
      neo_val y = neo_val_expr(power_int(f, a.e, b.lit.i));
      y.index = a.index;
      return y;
    }
    if (neo_type_is_int(t)) {
      NEO_ERR(f->in, at->span, INT_POWER, LARGEST_INT);
      return neo_val_poison();
    }
  }
  neo_expr x, y;
  if (!neo_val_unify(f, at->span, a, b, false, &x, &y))
    return neo_val_poison();
  if (!neo_type_is_float(neo_expr_type(f->m, x))) {
    NEO_ERR(f->in, at->span, NEEDS_FLOAT, "^", neo_type_text(neo_expr_type(f->m, x)));
    return neo_val_poison();
  }
  return neo_val_expr(neo_op2(f->m, NEO_OP_POW, x, y));
}

/* Constant sizes are checked, not wrapped. */
static bool overflows(neo_frame *f, neo_op op, neo_expr x, neo_expr y) {
  int64_t a, b, c;
  if (!neo_expr_is_int(f->m, x, &a) || !neo_expr_is_int(f->m, y, &b))
    return false;
  if (neo_expr_type(f->m, x) != NEO_I64_T)
    return false;
  switch (op) {
  case NEO_OP_ADD:
    return __builtin_add_overflow(a, b, &c);
  case NEO_OP_SUB:
    return __builtin_sub_overflow(a, b, &c);
  case NEO_OP_MUL:
    return __builtin_mul_overflow(a, b, &c);
  case NEO_OP_DIV:
    return a == INT64_MIN && b == -1;
  default:
    return false;
  }
}

static neo_op ir_op(neo_ast_op op) {
  switch (op) {
  case NEO_AST_ADD:
    return NEO_OP_ADD;
  case NEO_AST_SUB:
    return NEO_OP_SUB;
  case NEO_AST_MUL:
    return NEO_OP_MUL;
  case NEO_AST_DIV:
    return NEO_OP_DIV;
  case NEO_AST_MOD:
    return NEO_OP_MOD;
  case NEO_AST_EQ:
    return NEO_OP_EQ;
  case NEO_AST_NE:
    return NEO_OP_NE;
  case NEO_AST_LT:
  case NEO_AST_GT:
    return NEO_OP_LT;
  default:
    return NEO_OP_LE;
  }
}

static bool is_one(neo_val v) {
  return v.kind == NEO_VAL_LIT && v.lit.kind != NEO_LIT_BOOL && v.lit.f == 1;
}

/* 1*x, x*1, x/1 with a literal, as options give it: exactly x. */
static bool is_unit(const neo_frame *f, neo_ast_op op, neo_val a, neo_val b, neo_val *x) {
  if (op == NEO_AST_MUL && is_one(a))
    *x = b;
  else if ((op == NEO_AST_MUL || op == NEO_AST_DIV) && is_one(b))
    *x = a;
  else
    return false;
  return x->kind == NEO_VAL_EXPR && neo_type_is_float(neo_expr_type(f->m, x->e));
}

neo_val neo_check_arith(neo_frame *f, const neo_ast_expr *at, neo_ast_op op, neo_val a, neo_val b) {
  neo_expr x, y;
  neo_val same;
  if (a.kind == NEO_VAL_POISON || b.kind == NEO_VAL_POISON)
    return neo_val_poison();
  if (is_unit(f, op, a, b, &same))
    return same;
  if (op == NEO_AST_POW) { /* of sizes that are known: 2^levels */
    a = neo_val_known(f, a);
    b = neo_val_known(f, b);
  }
  if (a.kind == NEO_VAL_LIT && b.kind == NEO_VAL_LIT)
    return neo_lit_binary(f, at, a.lit, b.lit);
  if (op == NEO_AST_POW)
    return power(f, at, a, b);
  bool cmp = neo_ast_op_is_cmp(op),
       index = (a.index || a.kind == NEO_VAL_LIT) && (b.index || b.kind == NEO_VAL_LIT);
  if (!neo_val_unify(f, at->span, a, b, cmp, &x, &y))
    return neo_val_poison();
  neo_type t = neo_expr_type(f->m, x);
  if (t == NEO_BOOL_T && op != NEO_AST_EQ && op != NEO_AST_NE) {
    NEO_ERR(f->in, at->span, BOOL_ARITHMETIC, neo_ast_op_text(op));
    return neo_val_poison();
  }
  if (overflows(f, ir_op(op), x, y)) {
    NEO_ERR(f->in, at->span, INT_OVERFLOW, "64 bits");
    return neo_val_poison();
  }
  bool swap = op == NEO_AST_GT || op == NEO_AST_GE;
  neo_val v = neo_val_expr(neo_op2(f->m, ir_op(op), swap ? y : x, swap ? x : y));
  v.index = index && !cmp;
  return cmp ? neo_val_known(f, v) : v;
}

/* ---- logic */

static bool bool_of(neo_frame *f, const neo_ast_expr *e, neo_val v, const char *who, neo_expr *c) {
  *c = (neo_expr){0};
  if (v.kind == NEO_VAL_POISON)
    return false;
  bool is_bool =
      v.kind == NEO_VAL_LIT ? v.lit.kind == NEO_LIT_BOOL : neo_expr_type(f->m, v.e) == NEO_BOOL_T;
  if (is_bool) {
    *c = v.kind == NEO_VAL_LIT ? neo_const_bool(f->m, v.lit.i != 0) : v.e;
    return true;
  }
  int h = NEO_ERR(f->in, e->span, NEEDS_BOOL, who, neo_val_text(f->fe, &v));
  neo_diag_help(f->fe->diags, h, "compare it, as in '!= 0'");
  return false;
}

neo_expr neo_check_condition(neo_frame *f, const neo_ast_expr *e) {
  neo_expr c;
  return bool_of(f, e, neo_check_expr(f, e), "a condition", &c) ? c : (neo_expr){0};
}

/* x and y: y stands under x; x or y: y stands under not x. */
static neo_val lower_logic(neo_frame *f, const neo_ast_expr *e) {
  bool is_and = e->u.binary.op == NEO_AST_AND;
  const char *word = neo_ast_op_text(e->u.binary.op);
  neo_expr x, y;
  neo_val a = neo_check_expr(f, e->u.binary.x);
  bool ok = bool_of(f, e->u.binary.x, a, word, &x);
  size_t before = f->assume.n;
  if (ok)
    neo_frame_assume(f, is_and ? x : neo_op1(f->m, NEO_OP_NOT, x));
  if (ok && a.kind == NEO_VAL_LIT && (a.lit.i != 0) != is_and) {
    f->assume.n = before;
    return a; /* decided at compile time */
  }
  neo_val b = neo_check_expr(f, e->u.binary.y);
  f->assume.n = before;
  if (!bool_of(f, e->u.binary.y, b, word, &y) || !ok)
    return neo_val_poison();
  return neo_val_known(f, neo_val_expr(neo_op2(f->m, is_and ? NEO_OP_AND : NEO_OP_OR, x, y)));
}

/* ---- shapes of expression that mislead */

static bool is_chain(const neo_ast_expr *e) {
  const neo_ast_expr *x = e->u.binary.x;
  return neo_ast_op_is_cmp(e->u.binary.op) && x->kind == NEO_AST_BINARY && !x->parens &&
         neo_ast_op_is_cmp(x->u.binary.op);
}

static neo_val lower_binary(neo_frame *f, const neo_ast_expr *e) {
  neo_ast_op op = e->u.binary.op;
  if (op == NEO_AST_AND || op == NEO_AST_OR)
    return lower_logic(f, e);
  if (is_chain(e)) {
    int h = NEO_ERR(f->in, e->u.binary.op_span, CHAINED_COMPARISON, neo_ast_op_text(op));
    neo_diag_help(f->fe->diags, h, "write 'a < b and b < c'");
    return neo_val_poison();
  }
  neo_val a = neo_check_expr(f, e->u.binary.x);
  neo_val b = neo_check_expr(f, e->u.binary.y);
  return neo_check_arith(f, e, op, a, b);
}

static neo_val lower_unary(neo_frame *f, const neo_ast_expr *e) {
  neo_val a = neo_check_expr(f, e->u.unary.x);
  neo_expr c;
  if (a.kind == NEO_VAL_POISON)
    return a;
  if (a.kind == NEO_VAL_LIT)
    return neo_lit_unary(f, e, a.lit);
  if (e->u.unary.op == NEO_AST_NOT) {
    if (!bool_of(f, e->u.unary.x, a, "not", &c))
      return neo_val_poison();
    return neo_val_expr(neo_op1(f->m, NEO_OP_NOT, c));
  }
  if (neo_expr_type(f->m, a.e) == NEO_BOOL_T) {
    NEO_ERR(f->in, e->span, BOOL_ARITHMETIC, "-");
    return neo_val_poison();
  }
  neo_val v = neo_val_expr(neo_op1(f->m, NEO_OP_NEG, a.e));
  v.index = a.index;
  return v;
}

/* (X[i] else v) */
static neo_val lower_guard(neo_frame *f, const neo_ast_expr *e) {
  const neo_ast_expr *read = e->u.guard.value;
  if (read->kind != NEO_AST_REF || !read->u.ref.has_subs) {
    NEO_ERR(f->in, read->span, ELSE_NEEDS_READ, "else");
    return neo_val_poison();
  }
  return neo_check_ref(f, read, e->u.guard.fallback);
}

static neo_val lower_number(const neo_ast_expr *e) {
  if (e->u.number.is_int)
    return neo_val_int(e->u.number.i);
  return neo_val_float(e->u.number.value);
}

static neo_val lower_kind(neo_frame *f, const neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_NUMBER:
    return lower_number(e);
  case NEO_AST_BOOL:
    return neo_val_bool(e->u.boolean);
  case NEO_AST_REF:
    return neo_check_ref(f, e, NULL);
  case NEO_AST_UNARY:
    return lower_unary(f, e);
  case NEO_AST_BINARY:
    return lower_binary(f, e);
  case NEO_AST_GUARD:
    return lower_guard(f, e);
  default:
    return neo_check_reduce(f, e);
  }
}

neo_val neo_check_expr(neo_frame *f, const neo_ast_expr *e) {
  if (f->fe->exhausted || !neo_fe_enter(f->fe, f->in, e->span, 1))
    return neo_val_poison();
  neo_val v = lower_kind(f, e);
  neo_fe_leave(f->fe, 1);
  return v;
}

/* A subscript, bound or size: integers of any type, as i64. */
neo_expr neo_check_index(neo_frame *f, const neo_ast_expr *e) {
  f->subscript++;
  f->no_keep++;
  neo_val v = neo_check_expr(f, e);
  f->no_keep--;
  f->subscript--;
  if (v.kind == NEO_VAL_POISON)
    return (neo_expr){0};
  if (v.kind == NEO_VAL_LIT && v.lit.kind == NEO_LIT_INT)
    return neo_const_int(f->m, NEO_I64_T, v.lit.i);
  if (v.kind == NEO_VAL_EXPR && neo_type_is_int(neo_expr_type(f->m, v.e)))
    return neo_cast(f->m, NEO_I64_T, v.e);
  NEO_ERR(f->in, e->span, NOT_AN_INTEGER, neo_val_text(f->fe, &v));
  return (neo_expr){0};
}
