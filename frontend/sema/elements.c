/* Element functions, conversions and selections of values. */
#include "frontend/sema/parts.h"
#include "ir/interp/interp.h"

bool neo_builtin_count(neo_frame *f, const neo_ast_expr *e, const neo_builtin *row) {
  uint32_t n = e->u.ref.args.n;
  for (uint32_t k = 0; k < n; k++)
    if (e->u.ref.args.at[k].name.text) {
      NEO_ERR(f->in, e->u.ref.args.at[k].span, OPTION_UNKNOWN, row->name,
              e->u.ref.args.at[k].name.text);
      return false;
    }
  if (n == row->arity)
    return true;
  int h = NEO_ERR(f->in, e->span, ARGUMENT_COUNT, row->name, (int)row->arity, (int)n);
  if (n == 1 && (row->op == NEO_OP_MIN || row->op == NEO_OP_MAX))
    neo_diag_help(f->fe->diags, h, "to reduce, write %s[i] X[i]", row->name);
  return false;
}

/* ---- functions of literals */

static neo_val fold(neo_op op, const neo_val *x, uint32_t n) {
  neo_value v[3];
  bool ints = true;
  for (uint32_t k = 0; k < n; k++)
    ints = ints && x[k].lit.kind == NEO_LIT_INT;
  ints = ints && (neo_op_rule(op) == NEO_RULE_NUM || op == NEO_OP_STOP);
  neo_type t = ints ? NEO_I64_T : NEO_F64_T;
  for (uint32_t k = 0; k < n; k++) {
    if (ints)
      v[k].i = x[k].lit.i;
    else
      v[k].f = x[k].lit.f;
  }
  if (op == NEO_OP_STOP)
    return x[0];
  neo_value y = neo_value_op(op, t, t, v);
  return ints ? neo_val_int(y.i) : neo_val_float(y.f);
}

static bool all_literals(const neo_val *x, uint32_t n) {
  for (uint32_t k = 0; k < n; k++)
    if (x[k].kind != NEO_VAL_LIT || x[k].lit.kind == NEO_LIT_BOOL)
      return false;
  return true;
}

/* ---- functions */

/* The operands as expressions of one type. */
static bool operands(neo_frame *f, const neo_ast_expr *e, const neo_val *x, uint32_t n,
                     neo_expr *a) {
  neo_val first = x[0];
  if (n == 1) {
    a[0] = neo_val_scalar(f, e->span, x[0]);
    return true;
  }
  for (uint32_t k = 1; k < n; k++) /* the type that all take */
    if (first.kind == NEO_VAL_LIT)
      first = x[k];
  for (uint32_t k = 0; k < n; k++) {
    neo_expr other;
    if (!neo_val_unify(f, e->span, x[k], first, false, &a[k], &other))
      return false;
  }
  for (uint32_t k = 0; k < n; k++)
    if (neo_expr_type(f->m, a[k]) != neo_expr_type(f->m, a[n - 1]))
      a[k] = neo_cast(f->m, NEO_I64_T, a[k]);
  for (uint32_t k = 0; k < n; k++)
    if (neo_expr_type(f->m, a[k]) != neo_expr_type(f->m, a[0]))
      a[k] = neo_cast(f->m, NEO_I64_T, a[k]);
  return true;
}

neo_val neo_builtin_apply(neo_frame *f, const neo_ast_expr *e, const neo_builtin *row,
                          const neo_val *x) {
  neo_expr a[3];
  uint32_t n = row->arity;
  bool index = true;
  for (uint32_t k = 0; k < n; k++) {
    if (x[k].kind == NEO_VAL_POISON)
      return x[k];
    index = index && (x[k].index || x[k].kind == NEO_VAL_LIT);
  }
  if (all_literals(x, n))
    return fold(row->op, x, n);
  if (!operands(f, e, x, n, a))
    return neo_val_poison();
  neo_type t = neo_expr_type(f->m, a[0]);
  if (neo_op_rule(row->op) == NEO_RULE_FLOAT && !neo_type_is_float(t)) {
    int h = NEO_ERR(f->in, e->span, NEEDS_FLOAT, row->name, neo_type_text(t));
    if (t != NEO_BOOL_T)
      neo_diag_help(f->fe->diags, h, "convert it with f32(...)");
    return neo_val_poison();
  }
  if (t == NEO_BOOL_T && row->op != NEO_OP_STOP) {
    NEO_ERR(f->in, e->span, BOOL_ARITHMETIC, row->name);
    return neo_val_poison();
  }
  neo_val v = neo_val_expr(neo_expr_make(f->m, row->op, t, 0, a, n, e->span));
  v.index = index;
  return v;
}

/* Warns of a select that its condition does not decide, as select(k < 4, X[k], W[k - 4]) without a
 * bound of k: the guarded X[k] gives k its extent, 4. */
void neo_select_warn(neo_frame *f, const neo_ast_expr *e, neo_expr cond) {
  if (!(neo_expr_axes(f->m, cond) & f->guarded))
    return;
  neo_facts facts = neo_frame_facts(f);
  bool always = neo_proves(f->fe->prover, &facts, cond);
  neo_expr not = neo_op1(f->m, NEO_OP_NOT, cond);
  if (!always && !neo_proves(f->fe->prover, &facts, not ))
    return;
  int h = NEO_ERR(f->in, e->span, DEAD_ARM, always ? "always" : "never");
  neo_diag_help(f->fe->diags, h,
                "an index has the extent of a read in one of the arms: bound it where it is "
                "introduced, as in 'k < K'");
}

neo_val neo_select_make(neo_frame *f, const neo_ast_expr *e, neo_expr c, neo_val a, neo_val b) {
  neo_expr x, y;
  if (!neo_val_unify(f, e->span, a, b, false, &x, &y))
    return neo_val_poison();
  neo_val v = neo_val_expr(neo_op3(f->m, NEO_OP_SELECT, c, x, y));
  v.index = (a.index || a.kind == NEO_VAL_LIT) && (b.index || b.kind == NEO_VAL_LIT) &&
            neo_expr_type(f->m, x) == NEO_I64_T;
  return v;
}

/* Warns of f32(Q/R) with run-time sizes: the quotient is a size, hence rounded down. Known sizes
 * are literals, whose inexact quotient is an error. */
static void warn_of_floor(neo_frame *f, const neo_ast_expr *e, neo_type to, neo_val v) {
  const neo_ast_expr *q = e->u.ref.args.at[0].value;
  bool divides = q->kind == NEO_AST_BINARY && q->u.binary.op == NEO_AST_DIV;
  if (!neo_type_is_float(to) || !divides || f->subscript || v.kind != NEO_VAL_EXPR)
    return;
  const neo_node *n = neo_expr_node(f->m, v.e);
  if (n->op != NEO_OP_DIV || !neo_size_is_pure(f->m, v.e))
    return;
  neo_facts facts = neo_frame_facts(f);
  neo_expr rest = neo_op2(f->m, NEO_OP_MOD, neo_expr_arg(f->m, v.e, 0), neo_expr_arg(f->m, v.e, 1));
  neo_expr exact = neo_op2(f->m, NEO_OP_EQ, rest, neo_const_i64(f->m, 0));
  if (neo_proves(f->fe->prover, &facts, exact))
    return;
  const char *type = neo_type_text(to);
  int h = NEO_ERR(f->in, q->span, LOST_FRACTION, type);
  neo_diag_help(f->fe->diags, h,
                "write %s(a)/%s(b) for the fraction, or name the floor: dim H = a/b", type, type);
}

static neo_val converted(neo_frame *f, const neo_ast_expr *e, neo_type t, neo_val v) {
  if (v.kind == NEO_VAL_LIT && v.lit.kind != NEO_LIT_BOOL) {
    neo_value x = neo_value_cast(t, NEO_F64_T, (neo_value){.f = v.lit.f});
    if (v.lit.kind == NEO_LIT_INT)
      return neo_val_expr(neo_const_int(f->m, t, v.lit.i));
    return neo_val_expr(neo_type_is_float(t) ? neo_const_float(f->m, t, v.lit.f)
                                             : neo_const_int(f->m, t, x.i));
  }
  neo_expr x = neo_val_scalar(f, e->span, v);
  if (neo_expr_type(f->m, x) == t) /* rounds within a sum of wider numbers, too */
    x = neo_cast(f->m, neo_type_wide(t), x);
  return neo_val_expr(neo_cast(f->m, t, x));
}

neo_val neo_builtin_widen(neo_frame *f, const neo_ast_expr *e, neo_val v) {
  bool is_bool = v.kind == NEO_VAL_LIT    ? v.lit.kind == NEO_LIT_BOOL
                 : v.kind == NEO_VAL_EXPR ? neo_expr_type(f->m, v.e) == NEO_BOOL_T
                                          : false;
  if (is_bool) {
    NEO_ERR(f->in, e->span, BOOL_ARITHMETIC, "wide");
    return neo_val_poison();
  }
  if (v.kind == NEO_VAL_EXPR)
    v.e = neo_expr_widen(f, v.e);
  return neo_scalar_use(f, v);
}

neo_val neo_builtin_cast(neo_frame *f, const neo_ast_expr *e, neo_type t, neo_val v) {
  if (v.kind == NEO_VAL_POISON)
    return v;
  warn_of_floor(f, e, t, v);
  return neo_scalar_use(f, converted(f, e, t, v));
}

/* ---- names of no function */

void neo_builtin_unknown(neo_frame *f, const neo_ast_expr *e, const char *name) {
  for (uint32_t k = 0; k < NEO_AST_RED_COUNT; k++)
    if (neo_streq(name, neo_ast_reducer_text((neo_ast_reducer)k))) {
      int h = NEO_ERR(f->in, e->u.ref.path.span, NAME_UNKNOWN, name);
      neo_diag_help(f->fe->diags, h, "a reducer names its indices: %s[i] X[i]", name);
      return;
    }
  neo_sym *s = neo_path_find(f->in, &e->u.ref.path, e->u.ref.path.n == 1);
  if (s && s->kind == NEO_SYM_POISON)
    return;
  if (s)
    NEO_ERR(f->in, e->u.ref.path.span, NOT_A_FUNCTION, name);
  else if (e->u.ref.path.n == 1)
    neo_name_unknown(f->in, e->u.ref.path.span, name, f);
}

const neo_builtin *neo_builtin_called(neo_frame *f, const neo_ast_expr *e) {
  const char *name = e->u.ref.path.at[0].text;
  const neo_sym *s = neo_scope_find(f->in->scope, name);
  if (e->u.ref.path.n > 1 || (s && s->kind != NEO_SYM_TYPE))
    return NULL;
  return s ? neo_builtin_conversion(s->type) : neo_builtin_find(name);
}

bool neo_builtin_missing(neo_frame *f, const neo_ast_expr *e) {
  const char *name = neo_path_text(f->fe, &e->u.ref.path);
  if (neo_builtin_called(f, e) || neo_init_is(name))
    return false;
  neo_builtin_unknown(f, e, name);
  return true;
}
