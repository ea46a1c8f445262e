/* Expressions: operators, conditions, guards, reducers.
 *
 * A reducer stays with its statement, or becomes a definition of its own:
 *
 *     Y[i] = x[i] / sum[j] x[j]      ->   Y.sum1 = sum[j] x[j];  Y[i] = x[i] / Y.sum1
 *     Y[i] = relu(sum[k] W[i,k] x[k]) ->  Y[i] = finish relu(ACC), sum[k] W[i,k]*x[k]
 *
 * It stays if it is outermost, the first one, and uses every output axis. A reducer that does not
 * use an output axis would be computed again for each of its elements. */
#include "frontend/check/check.h"
#include "frontend/sema/reduce.h"
#include "frontend/sema/vertices.h"

/* ---- operators */

neo_expr neo_check_condition(neo_frame *f, const neo_ast_expr *e) {
  neo_expr c;
  neo_type outer = f->literal;
  f->literal = NEO_F32_T;
  neo_val v = neo_check_expr(f, e);
  f->literal = outer;
  return neo_val_condition(f, e, v, "a condition", &c) ? c : (neo_expr){0};
}

/* x and y: y stands under x; x or y: y stands under not x. */
static neo_val check_logic(neo_frame *f, const neo_ast_expr *e) {
  bool is_and = e->u.binary.op == NEO_AST_AND;
  const char *word = neo_ast_op_text(e->u.binary.op);
  neo_expr x, y;
  neo_val a = neo_check_expr(f, e->u.binary.x);
  bool ok = neo_val_condition(f, e->u.binary.x, a, word, &x);
  size_t before = f->assume.n;
  if (ok)
    neo_frame_assume(f, is_and ? x : neo_op1(f->m, NEO_OP_NOT, x));
  if (ok && a.kind == NEO_VAL_LIT && (a.lit.i != 0) != is_and) {
    f->assume.n = before;
    return a; /* decided at compile time */
  }
  neo_val b = neo_check_expr(f, e->u.binary.y);
  f->assume.n = before;
  if (!neo_val_condition(f, e->u.binary.y, b, word, &y) || !ok)
    return neo_val_poison();
  return neo_val_known(f, neo_val_expr(neo_op2(f->m, is_and ? NEO_OP_AND : NEO_OP_OR, x, y)));
}

static bool is_chain(const neo_ast_expr *e) {
  const neo_ast_expr *x = e->u.binary.x;
  return neo_ast_op_is_cmp(e->u.binary.op) && x->kind == NEO_AST_BINARY && !x->parens &&
         neo_ast_op_is_cmp(x->u.binary.op);
}

static neo_val check_binary(neo_frame *f, const neo_ast_expr *e) {
  neo_ast_op op = e->u.binary.op;
  if (op == NEO_AST_AND || op == NEO_AST_OR)
    return check_logic(f, e);
  if (is_chain(e)) {
    int h = NEO_ERR(f->in, e->u.binary.op_span, CHAINED_COMPARISON, neo_ast_op_text(op));
    neo_diag_help(f->fe->diags, h, "write 'a < b and b < c'");
    return neo_val_poison();
  }
  neo_val x[2];
  neo_check_operands(f, (const neo_ast_expr *[]){e->u.binary.x, e->u.binary.y}, 2, x);
  return neo_val_arith(f, e, op, x[0], x[1]);
}

static neo_val check_unary(neo_frame *f, const neo_ast_expr *e) {
  neo_val a = neo_check_expr(f, e->u.unary.x);
  neo_expr c;
  if (a.kind == NEO_VAL_POISON)
    return a;
  if (a.kind == NEO_VAL_LIT)
    return neo_lit_unary(f, e, a.lit);
  if (e->u.unary.op == NEO_AST_NOT) {
    if (!neo_val_condition(f, e->u.unary.x, a, "not", &c))
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
static neo_val check_guarded(neo_frame *f, const neo_ast_expr *e) {
  const neo_ast_expr *read = e->u.guard.value;
  if (read->kind != NEO_AST_REF || !read->u.ref.has_subs) {
    NEO_ERR(f->in, read->span, ELSE_NEEDS_READ, "else");
    return neo_val_poison();
  }
  return neo_check_ref(f, read, e->u.guard.fallback);
}

static neo_val check_number(const neo_ast_expr *e) {
  if (e->u.number.is_int)
    return neo_val_int(e->u.number.i);
  return neo_val_float(e->u.number.value);
}

/* ---- reducers: their axes */

static neo_expr bound_of(neo_frame *f, const neo_ast_expr *e, int64_t more) {
  neo_expr x = neo_check_index(f, e);
  return x.i ? neo_size_add1(f->fe, x, more) : x;
}

static bool push_own(neo_frame *f, neo_reduction *r, const char *name, neo_span span, neo_expr lo,
                     neo_expr hi) {
  const char *shown = name[0] == '.' ? neo_arena_printf(f->fe->arena, "d%s", name + 2) : name;
  if (!lo.i || !hi.i)
    return false;
  neo_axis_rec rec = {neo_name_of(f->fe->names, shown), lo, hi, span};
  if (neo_frame_push(f, name, rec) < 0)
    return false;
  r->n_own++;
  return true;
}

static bool rebinds(neo_frame *f, const char *name, neo_span at) {
  int p = neo_frame_axis(f, name);
  if (p < 0)
    return false;
  int h = NEO_ERR(f->in, at, INDEX_REBOUND, name[0] == '.' ? ".." : name);
  neo_diag_range(f->fe->diags, h, f->axis[p].span);
  neo_diag_help(f->fe->diags, h, "use another name for the index of the inner one");
  return true;
}

static bool push_pack(neo_frame *f, neo_reduction *r, const neo_want *w, neo_span span) {
  bool ok = true;
  for (uint32_t k = 0; k < f->n_pack; k++) {
    if (rebinds(f, f->pack_name[k], span))
      return false;
    if (neo_ranges_missing(f, &w[k]))
      return false;
  }
  for (uint32_t k = 0; k < f->n_pack; k++)
    ok =
        push_own(f, r, f->pack_name[k], span, neo_const_int(f->m, NEO_I64_T, 0), w[k].extent) && ok;
  return ok;
}

static neo_expr both(neo_frame *f, neo_expr a, neo_expr b) {
  return a.i && b.i ? neo_op2(f->m, NEO_OP_AND, a, b) : a.i ? a : b;
}

/* In a vertex function an index of all edges of a list runs through those of the vertex. */
static bool push_index(neo_frame *f, neo_reduction *r, const neo_ast_axis *a, const neo_want *w) {
  neo_expr lo = neo_const_int(f->m, NEO_I64_T, 0), hi = w->extent;
  if (rebinds(f, a->name.text, a->name.span) || neo_ranges_missing(f, w))
    return false;
  bool edges = !a->lo && !a->hi && neo_vertex_edges(f->in, w->extent, &lo, &hi);
  if (a->lo)
    lo = bound_of(f, a->lo, a->lo_rel == NEO_AST_REL_LT);
  if (a->hi)
    hi = bound_of(f, a->hi, a->hi_rel == NEO_AST_REL_LE);
  if (edges) {
    neo_expr edge = neo_axis_ref(f->m, f->n_axes);
    r->where = both(f, r->where, neo_vertex_is_earlier(f->in, w->extent, edge));
  }
  bool ok = push_own(f, r, a->name.text, a->name.span, lo, hi);
  if (ok)
    neo_frame_set_guarded(f, f->n_axes - 1, w->guarded && !w->bounded);
  return ok;
}

static neo_wants *wants_of(neo_frame *f, const neo_ast_expr *e) {
  uint64_t at;
  neo_wants none = {0};
  if (!neo_map_get(&f->inferred, (uint64_t)(uintptr_t)e, &at)) {
    neo_ranges_infer(f, &none, e);
    (void)neo_map_get(&f->inferred, (uint64_t)(uintptr_t)e, &at);
  }
  return (neo_wants *)(uintptr_t)at;
}

static bool push_axes(neo_frame *f, neo_reduction *r) {
  neo_wants *wants = wants_of(f, r->e);
  uint32_t k = 0;
  bool ok = true;
  for (uint32_t j = 0; j < r->e->u.reduce.axes.n; j++) {
    const neo_ast_axis *a = &r->e->u.reduce.axes.at[j];
    if (a->kind == NEO_AST_PACK && !f->has_pack)
      return false; /* reported with the statement */
    if (a->kind == NEO_AST_PACK) {
      ok = push_pack(f, r, wants->at + k, a->span) && ok;
      k += f->n_pack;
    } else {
      ok = push_index(f, r, a, &wants->at[k++]) && ok;
    }
  }
  return ok;
}

/* The condition and the body, under the axes bound here; in them integers are values again. */
static bool check_inside(neo_frame *f, neo_reduction *r) {
  uint32_t subscript = f->subscript;
  bool ok = true;
  f->subscript = 0;
  f->depth++;
  if (r->where.i)
    neo_frame_assume(f, r->where);
  if (r->e->u.reduce.where) {
    neo_expr where = neo_check_condition(f, r->e->u.reduce.where);
    ok = where.i != 0;
    if (ok)
      neo_frame_assume(f, where);
    r->where = both(f, r->where, where);
  }
  neo_val v = neo_check_expr(f, r->e->u.reduce.body);
  r->body[0] = neo_val_scalar(f, r->e->u.reduce.body->span, v);
  ok = ok && r->body[0].i && neo_reduction_choose(f, r);
  f->depth--;
  f->subscript = subscript;
  return ok;
}

static neo_val reduce(neo_frame *f, const neo_ast_expr *e) {
  neo_reduction r = {.e = e, .base = f->n_axes, .n_assume = f->assume.n, .n_reads = f->reads.n};
  neo_val v = neo_val_poison();
  f->depth++; /* bounds stand inside, too */
  bool ok = push_axes(f, &r);
  f->depth--;
  if (ok && check_inside(f, &r)) {
    neo_reduction_guard(f, &r);
    v = neo_reduction_is_scalar(&r) ? neo_reduction_scalar(f, &r) : neo_reduction_place(f, &r);
  }
  neo_reduction_close(f, &r);
  neo_reduction_remember(f, v);
  if (v.kind == NEO_VAL_EXPR && f->subscript && neo_type_is_int(neo_expr_type(f->m, v.e)))
    v.e = neo_cast(f->m, NEO_I64_T, v.e);
  return v;
}

/* ---- any expression */

static neo_val check_kind(neo_frame *f, const neo_ast_expr *e) {
  switch (e->kind) {
  case NEO_AST_NUMBER:
    return check_number(e);
  case NEO_AST_BOOL:
    return neo_val_bool(e->u.boolean);
  case NEO_AST_REF:
    return neo_check_ref(f, e, NULL);
  case NEO_AST_UNARY:
    return check_unary(f, e);
  case NEO_AST_BINARY:
    return check_binary(f, e);
  case NEO_AST_GUARD:
    return check_guarded(f, e);
  default:
    return reduce(f, e);
  }
}

neo_val neo_check_expr(neo_frame *f, const neo_ast_expr *e) {
  if (f->fe->exhausted || !neo_fe_enter(f->fe, f->in, e->span, 1))
    return neo_val_poison();
  neo_val v = check_kind(f, e);
  neo_fe_leave(f->fe, 1);
  return v;
}

/* A subscript, bound or size: integers of any type, as i64. */
neo_expr neo_check_index(neo_frame *f, const neo_ast_expr *e) {
  f->subscript++;
  f->must_hoist++;
  neo_val v = neo_check_expr(f, e);
  f->must_hoist--;
  f->subscript--;
  if (v.kind == NEO_VAL_POISON)
    return (neo_expr){0};
  if (v.kind == NEO_VAL_LIT && v.lit.kind == NEO_LIT_INT)
    return neo_const_int(f->m, NEO_I64_T, v.lit.i);
  if (v.kind == NEO_VAL_EXPR && neo_type_is_int(neo_expr_type(f->m, v.e)))
    return neo_cast(f->m, NEO_I64_T, v.e);
  int h = NEO_ERR(f->in, e->span, NOT_AN_INTEGER, neo_val_text(f->fe, &v));
  neo_diag_help(f->fe->diags, h,
                "a tensor of indices is declared with a bound: k[N] : i32 < M; other numbers are "
                "converted and clamped: clamp(i32(x), 0, M - 1)");
  return (neo_expr){0};
}

/* ---- literals without a type */

neo_val neo_check_typed(neo_frame *f, const neo_ast_expr *e, neo_type t) {
  neo_literals kind = neo_literals_of(f, e);
  if (t == NEO_BOOL_T || kind == NEO_LITERALS_NONE)
    return neo_check_expr(f, e);
  neo_type outer = f->literal;
  f->literal = kind == NEO_LITERALS_NUMBERS && neo_type_is_int(t) ? NEO_F64_T : t;
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
