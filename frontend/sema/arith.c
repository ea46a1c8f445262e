/* Arithmetic and logic of values. */
#include "frontend/sema/parts.h"

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

/* Does the operation on constant sizes overflow? It is reported then, and does not wrap. */
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

neo_val neo_val_arith(neo_frame *f, const neo_ast_expr *at, neo_ast_op op, neo_val a, neo_val b) {
  neo_expr x, y;
  neo_val same;
  if (a.kind == NEO_VAL_POISON || b.kind == NEO_VAL_POISON)
    return neo_val_poison();
  if (is_unit(f, op, a, b, &same))
    return same;
  if (op == NEO_AST_POW) { /* known sizes: 2^levels */
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

bool neo_val_condition(neo_frame *f, const neo_ast_expr *e, neo_val v, const char *who,
                       neo_expr *c) {
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
