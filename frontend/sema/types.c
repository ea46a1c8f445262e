/* Literals and types.
 *
 * A literal has no type of its own: it takes that of the other side. Two literals are computed
 * here, at compile time, exactly for integers. Between tensors nothing converts; only indices and
 * sizes (i64) mix with integer elements, as i64. */
#include "frontend/sema/parts.h"
#include "ir/interp/interp.h"
#include <math.h>

/* ---- literals become typed */

static bool int_fits(neo_type t, int64_t x) {
  switch (t) {
  case NEO_I32_T:
    return x >= INT32_MIN && x <= INT32_MAX;
  case NEO_I8_T:
    return x >= INT8_MIN && x <= INT8_MAX;
  case NEO_U8_T:
    return x >= 0 && x <= UINT8_MAX;
  default:
    return true;
  }
}

static neo_expr lit_as(neo_frame *f, neo_span at, neo_lit x, neo_type t) {
  neo_expr none = {0};
  bool is_float = neo_type_is_float(t), is_int = neo_type_is_int(t);
  if (x.kind == NEO_LIT_BOOL) {
    if (t == NEO_BOOL_T)
      return neo_const_bool(f->m, x.i != 0);
    NEO_ERR(f->in, at, TYPE_MISMATCH, "bool", neo_type_text(t));
    return none;
  }
  if (is_float)
    return neo_const_float(f->m, t, x.f);
  if (x.kind == NEO_LIT_INT && is_int) {
    if (int_fits(t, x.i))
      return neo_const_int(f->m, t, x.i);
    NEO_ERR(f->in, at, LITERAL_RANGE, (long long)x.i, neo_type_text(t));
    return none;
  }
  int h = NEO_ERR(f->in, at, TYPE_MISMATCH,
                  neo_val_text(f->fe, &(neo_val){.kind = NEO_VAL_LIT, .lit = x}), neo_type_text(t));
  if (is_int && !isfinite(x.f))
    neo_diag_help(f->fe->diags, h, "integers have no nan and no inf: a float type has them");
  else if (is_int)
    neo_diag_help(f->fe->diags, h, "convert the %s side with f32(...)", neo_type_text(t));
  return none;
}

neo_expr neo_val_as(neo_frame *f, neo_span at, neo_val v, neo_type t) {
  if (v.kind == NEO_VAL_LIT)
    return lit_as(f, at, v.lit, t);
  if (v.kind != NEO_VAL_EXPR)
    return (neo_expr){0};
  neo_type have = neo_expr_type(f->m, v.e);
  if (have == t)
    return v.e;
  int h = NEO_ERR(f->in, at, TYPE_MISMATCH, neo_type_text(have), neo_type_text(t));
  neo_diag_help(f->fe->diags, h, "convert it with %s(...)", neo_type_text(t));
  return (neo_expr){0};
}

static bool is_int_expr(const neo_frame *f, neo_val v) {
  return v.kind == NEO_VAL_EXPR && neo_type_is_int(neo_expr_type(f->m, v.e));
}

/* Integers of different types as i64, where that is allowed. */
static bool mix_ints(neo_frame *f, neo_val *a, neo_val *b, bool ints) {
  if (!is_int_expr(f, *a) || !is_int_expr(f, *b))
    return false;
  if (!ints && !a->index && !b->index && !f->subscript)
    return false;
  a->e = neo_cast(f->m, NEO_I64_T, a->e);
  b->e = neo_cast(f->m, NEO_I64_T, b->e);
  return true;
}

static bool mismatch(neo_frame *f, neo_span at, neo_val a, neo_val b) {
  neo_type ta = neo_expr_type(f->m, a.e), tb = neo_expr_type(f->m, b.e);
  int h = NEO_ERR(f->in, at, TYPES_DIFFER, neo_type_text(ta), neo_type_text(tb));
  bool index = a.index || b.index;
  neo_type to = a.index ? tb : b.index ? ta : ta < tb ? ta : tb;
  neo_diag_help(f->fe->diags, h,
                index ? "sizes and indices become values by %s(...)"
                      : "convert one side with %s(...)",
                neo_type_text(to));
  return false;
}

bool neo_val_unify(neo_frame *f, neo_span at, neo_val a, neo_val b, bool ints, neo_expr *x,
                   neo_expr *y) {
  if (a.kind == NEO_VAL_POISON || b.kind == NEO_VAL_POISON)
    return false;
  if (a.kind == NEO_VAL_LIT && b.kind == NEO_VAL_LIT) {
    *x = neo_val_scalar(f, at, a);
    *y = neo_val_scalar(f, at, b);
    if (x->i && y->i && neo_expr_type(f->m, *x) != neo_expr_type(f->m, *y))
      return mismatch(f, at, neo_val_expr(*x), neo_val_expr(*y));
  } else if (a.kind == NEO_VAL_LIT) {
    *y = b.e;
    *x = lit_as(f, at, a.lit, neo_expr_type(f->m, b.e));
  } else if (b.kind == NEO_VAL_LIT) {
    *x = a.e;
    *y = lit_as(f, at, b.lit, neo_expr_type(f->m, a.e));
  } else {
    bool same = neo_expr_type(f->m, a.e) == neo_expr_type(f->m, b.e);
    if (!same && !mix_ints(f, &a, &b, ints))
      return mismatch(f, at, a, b);
    *x = a.e;
    *y = b.e;
  }
  return x->i && y->i;
}

neo_expr neo_val_scalar(neo_frame *f, neo_span at, neo_val v) {
  if (v.kind == NEO_VAL_EXPR)
    return v.e;
  if (v.kind != NEO_VAL_LIT)
    return (neo_expr){0};
  neo_type t = v.lit.kind == NEO_LIT_BOOL                  ? NEO_BOOL_T
               : f->subscript && v.lit.kind == NEO_LIT_INT ? NEO_I64_T
                                                           : f->literal;
  return lit_as(f, at, v.lit, t);
}

/* ---- arithmetic of literals */

neo_val neo_lit_unary(neo_frame *f, const neo_ast_expr *e, neo_lit x) {
  if (e->u.unary.op == NEO_AST_NOT) {
    if (x.kind == NEO_LIT_BOOL)
      return neo_val_bool(!x.i);
    NEO_ERR(f->in, e->span, NEEDS_BOOL, "not", "a number");
    return neo_val_poison();
  }
  if (x.kind == NEO_LIT_FLOAT)
    return neo_val_float(-x.f);
  if (x.kind == NEO_LIT_INT && x.i != INT64_MIN)
    return neo_val_int(-x.i);
  NEO_ERR(f->in, e->span, BOOL_ARITHMETIC, "-");
  return neo_val_poison();
}

static int64_t floor_div(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

static neo_val overflow(neo_frame *f, const neo_ast_expr *e) {
  NEO_ERR(f->in, e->span, INT_OVERFLOW, "64 bits");
  return neo_val_poison();
}

static neo_val int_power(neo_frame *f, const neo_ast_expr *e, int64_t x, int64_t n) {
  int64_t y = 1;
  if (n < 0)
    return neo_val_float(pow((double)x, (double)n));
  for (; n > 0; n--) {
    if (x == 0 || x == 1)
      return neo_val_int(x);
    if (x == -1)
      return neo_val_int(n % 2 ? -1 : 1);
    if (__builtin_mul_overflow(y, x, &y))
      return overflow(f, e);
  }
  return neo_val_int(y);
}

/* The expression as it is written. */
static const char *source_text(neo_fe *fe, const neo_ast_expr *e) {
  size_t n = 0;
  const char *text = neo_span_bytes(neo_diags_sources(fe->diags), e->span, &n);
  return neo_arena_strndup(fe->arena, text, n);
}

static neo_val inexact(neo_frame *f, const neo_ast_expr *e, int64_t x, int64_t y) {
  int h = NEO_ERR(f->in, e->span, INEXACT_DIVISION, (long long)x, (long long)y);
  const neo_ast_expr *a = e->u.binary.x, *b = e->u.binary.y;
  if (a->kind == NEO_AST_NUMBER && b->kind == NEO_AST_NUMBER)
    neo_diag_help(f->fe->diags, h, "write %lld.0/%lld for the fraction", (long long)x,
                  (long long)y);
  else
    neo_diag_help(f->fe->diags, h, "write f32(%s)/f32(%s) for the fraction", source_text(f->fe, a),
                  source_text(f->fe, b));
  return neo_val_poison();
}

static neo_val int_binary(neo_frame *f, const neo_ast_expr *e, neo_ast_op op, int64_t x,
                          int64_t y) {
  int64_t z;
  switch (op) {
  case NEO_AST_ADD:
    return __builtin_add_overflow(x, y, &z) ? overflow(f, e) : neo_val_int(z);
  case NEO_AST_SUB:
    return __builtin_sub_overflow(x, y, &z) ? overflow(f, e) : neo_val_int(z);
  case NEO_AST_MUL:
    return __builtin_mul_overflow(x, y, &z) ? overflow(f, e) : neo_val_int(z);
  case NEO_AST_DIV:
    if (x == INT64_MIN && y == -1)
      return overflow(f, e);
    if (!f->subscript && (y == 0 || x % y != 0))
      return inexact(f, e, x, y);
    return neo_val_int(y == 0 ? 0 : floor_div(x, y));
  case NEO_AST_MOD:
    return neo_val_int(y == 0 || y == -1 ? 0 : x - y * floor_div(x, y));
  case NEO_AST_POW:
    return int_power(f, e, x, y);
  case NEO_AST_EQ:
    return neo_val_bool(x == y);
  case NEO_AST_NE:
    return neo_val_bool(x != y);
  case NEO_AST_LT:
    return neo_val_bool(x < y);
  case NEO_AST_LE:
    return neo_val_bool(x <= y);
  case NEO_AST_GT:
    return neo_val_bool(x > y);
  default:
    return neo_val_bool(x >= y);
  }
}

static neo_val float_binary(neo_ast_op op, double x, double y) {
  switch (op) {
  case NEO_AST_ADD:
    return neo_val_float(x + y);
  case NEO_AST_SUB:
    return neo_val_float(x - y);
  case NEO_AST_MUL:
    return neo_val_float(x * y);
  case NEO_AST_DIV:
    return neo_val_float(x / y);
  case NEO_AST_MOD:
    return neo_val_float(neo_float_mod(NEO_F64_T, x, y));
  case NEO_AST_POW:
    return neo_val_float(pow(x, y));
  case NEO_AST_EQ:
    return neo_val_bool(x == y);
  case NEO_AST_NE:
    return neo_val_bool(x != y);
  case NEO_AST_LT:
    return neo_val_bool(x < y);
  case NEO_AST_LE:
    return neo_val_bool(x <= y);
  case NEO_AST_GT:
    return neo_val_bool(x > y);
  default:
    return neo_val_bool(x >= y);
  }
}

static neo_val bool_binary(neo_frame *f, const neo_ast_expr *e, neo_ast_op op, neo_lit x,
                           neo_lit y) {
  if (x.kind == y.kind && op == NEO_AST_EQ)
    return neo_val_bool(x.i == y.i);
  if (x.kind == y.kind && op == NEO_AST_NE)
    return neo_val_bool(x.i != y.i);
  if (x.kind == y.kind)
    NEO_ERR(f->in, e->span, BOOL_ARITHMETIC, neo_ast_op_text(op));
  else
    NEO_ERR(f->in, e->span, TYPES_DIFFER, x.kind == NEO_LIT_BOOL ? "bool" : "a number",
            y.kind == NEO_LIT_BOOL ? "bool" : "a number");
  return neo_val_poison();
}

neo_val neo_lit_binary(neo_frame *f, const neo_ast_expr *e, neo_lit x, neo_lit y) {
  neo_ast_op op = e->u.binary.op;
  if (x.kind == NEO_LIT_BOOL || y.kind == NEO_LIT_BOOL)
    return bool_binary(f, e, op, x, y);
  if (x.kind == NEO_LIT_INT && y.kind == NEO_LIT_INT)
    return int_binary(f, e, op, x.i, y.i);
  return float_binary(op, x.f, y.f);
}

/* ---- wider arithmetic */

neo_type neo_type_wide(neo_type t) {
  if (t == NEO_F16_T || t == NEO_BF16_T)
    return NEO_F32_T;
  return t == NEO_I8_T || t == NEO_U8_T ? NEO_I32_T : t;
}

static neo_expr widen(neo_frame *f, neo_map *done, neo_expr e);

static neo_expr widen_parts(neo_frame *f, neo_map *done, neo_expr e, neo_node n) {
  neo_expr arg[4];
  neo_op op = (neo_op)n.op;
  neo_type t = (neo_type)n.type;
  if (op == NEO_OP_CAST || !neo_op_is_elementwise(op))
    return neo_cast(f->m, neo_type_wide(t), e);
  for (uint32_t k = 0; k < n.arg.n; k++)
    arg[k] = widen(f, done, neo_list_expr(f->m, n.arg, k));
  return neo_expr_make(f->m, op, neo_type_wide(t), n.attr, arg, n.arg.n, n.span);
}

/* Expressions of other types, such as conditions and subscripts, keep their types within a sum. */
static neo_expr widen(neo_frame *f, neo_map *done, neo_expr e) {
  uint64_t known;
  neo_node n = *neo_expr_node(f->m, e);
  neo_type t = (neo_type)n.type;
  double x;
  int64_t i;
  if (neo_type_wide(t) == t)
    return e;
  if (neo_map_get(done, e.i, &known) || neo_map_get(&f->unrounded, e.i, &known))
    return (neo_expr){(uint32_t)known};
  neo_expr y;
  if (neo_expr_is_float(f->m, e, &x))
    y = neo_const_float(f->m, neo_type_wide(t), x);
  else if (neo_expr_is_int(f->m, e, &i))
    y = neo_const_int(f->m, neo_type_wide(t), i);
  else
    y = widen_parts(f, done, e, n);
  neo_map_set(done, e.i, y.i);
  return y;
}

neo_expr neo_expr_widen(neo_frame *f, neo_expr e) {
  neo_map done = neo_map_in(f->fe->arena);
  return widen(f, &done, e);
}
