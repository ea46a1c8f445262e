/* Expressions: operators, conditions, guards, reducers; references: elements, slices and calls in
 * them, and the arguments of built-in functions.
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

/* Checks `x and y`, where y is evaluated if x holds, and `x or y`, where y is evaluated if x does
 * not. */
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

static void check_operands(neo_frame *f, const neo_ast_expr *const *e, uint32_t n, neo_val *x);

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
  check_operands(f, (const neo_ast_expr *[]){e->u.binary.x, e->u.binary.y}, 2, x);
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

static neo_val check_ref(neo_frame *f, const neo_ast_expr *e, const neo_ast_expr *other);

/* (X[i] else v) */
static neo_val check_guarded(neo_frame *f, const neo_ast_expr *e) {
  const neo_ast_expr *read = e->u.guard.value;
  if (read->kind != NEO_AST_REF || !read->u.ref.has_subs) {
    NEO_ERR(f->in, read->span, ELSE_NEEDS_READ, "else");
    return neo_val_poison();
  }
  return check_ref(f, read, e->u.guard.fallback);
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
    ok = push_own(f, r, f->pack_name[k], span, neo_const_i64(f->m, 0), w[k].extent) && ok;
  return ok;
}

/* Adds an axis over the owners of edges that lead to a vertex; the program does not name it. */
static bool push_owners(neo_frame *f, neo_reduction *r, neo_span span, uint32_t vertex) {
  neo_axis_rec rec = {neo_name_of(f->fe->names, "p"), neo_const_i64(f->m, 0), f->axis[vertex].hi,
                      span};
  r->n_own++;
  return neo_frame_push(f, neo_owners_name(f->fe), rec) >= 0;
}

/* Binds an index over the edges of a list in a vertex function. It runs through the edges of the
 * vertex; in a function towards the children, through the edges that lead to the vertex, in the
 * lists of their owners. */
static bool push_edges(neo_frame *f, neo_reduction *r, const neo_ast_axis *a,
                       const neo_edge_list *x, uint32_t vertex) {
  const struct neo_vertex *v = neo_vertex_around(f->in);
  uint32_t owner = v && v->down ? f->n_axes : vertex;
  if (owner != vertex && !push_owners(f, r, a->name.span, vertex))
    return false;
  neo_expr edge = neo_axis_ref(f->m, f->n_axes);
  r->where = neo_both(f->m, r->where, neo_edges_hold(f->m, x, edge, owner, vertex));
  return push_own(f, r, a->name.text, a->name.span, neo_edges_begin(f->m, x, owner, 0),
                  neo_edges_begin(f->m, x, owner, 1));
}

static bool push_index(neo_frame *f, neo_reduction *r, const neo_ast_axis *a, const neo_want *w) {
  neo_expr lo = neo_const_i64(f->m, 0), hi = w->extent;
  if (rebinds(f, a->name.text, a->name.span) || neo_ranges_missing(f, w))
    return false;
  uint32_t vertex;
  const neo_edge_list *edges = !a->lo && !a->hi ? neo_edges_of(f->in, w->extent, &vertex) : NULL;
  if (a->lo)
    lo = bound_of(f, a->lo, a->lo_rel == NEO_AST_REL_LT);
  if (a->hi)
    hi = bound_of(f, a->hi, a->hi_rel == NEO_AST_REL_LE);
  bool ok = edges ? push_edges(f, r, a, edges, vertex)
                  : push_own(f, r, a->name.text, a->name.span, lo, hi);
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

/* Checks the condition and the body under the axes bound here. Integers in them are values again,
 * no subscripts. */
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
    r->where = neo_both(f->m, r->where, where);
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
  f->depth++; /* bounds are inside of the reducer, too */
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
    return check_ref(f, e, NULL);
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
    return neo_const_i64(f->m, v.lit.i);
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

/* Checks the operands of one operator or function, up to NEO_BUILTIN_ARGS: literals take the type
 * of the others. */
static void check_operands(neo_frame *f, const neo_ast_expr *const *e, uint32_t n, neo_val *x) {
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

/* ---- references before their subscripts */

static neo_results *call_once(neo_frame *f, const neo_ast_expr *e, neo_sym *fn) {
  uint64_t known;
  if (neo_map_get(&f->calls, (uint64_t)(uintptr_t)e, &known))
    return (neo_results *)(uintptr_t)known;
  neo_results *r =
      fn ? neo_call(f, e, fn, neo_call_prefix(f, e), 0, NULL) : neo_grad_call(f, e, 0, NULL);
  neo_map_set(&f->calls, (uint64_t)(uintptr_t)e, (uint64_t)(uintptr_t)r);
  return r;
}

static neo_val call_value(neo_frame *f, const neo_ast_expr *e, neo_sym *fn) {
  neo_results *r = call_once(f, e, fn);
  if (r->poison)
    return neo_val_poison();
  if (r->n == 1)
    return r->at[0];
  int h = NEO_ERR(f->in, e->u.ref.path.span, RESULT_COUNT, neo_path_text(f->fe, &e->u.ref.path),
                  (int)r->n, 1);
  neo_call_results_help(f->in, e, fn, h);
  return neo_val_poison();
}

neo_val neo_check_base(neo_frame *f, const neo_ast_expr *e, bool quiet) {
  neo_sym *fn;
  if (!e->u.ref.has_args)
    return neo_path_value(f, e, quiet);
  if (neo_call_is(f->in, e, &fn))
    return call_value(f, e, fn);
  return neo_val_poison();
}

/* ---- subscripts */

static uint32_t pack_subs(const neo_ast_expr *e) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    n += !e->u.ref.subs.at[k].expr;
  return n;
}

/* Checks the subscripts: one expression per free dimension of v, and its source position. In a
 * slice `..` leaves zeros. */
static bool check_subs(neo_frame *f, const neo_ast_expr *e, const neo_view *v, bool slice,
                       neo_expr *sub, neo_span *at) {
  uint32_t n = e->u.ref.subs.n, packs = pack_subs(e), d = 0;
  bool ok = true;
  if (packs > 1)
    return false; /* the parser reports it */
  if (packs ? n - 1 > v->rank : n != v->rank) {
    neo_check_count(f, e, v);
    return false;
  }
  for (uint32_t k = 0; k < n; k++) {
    const neo_ast_sub *s = &e->u.ref.subs.at[k];
    if (s->expr) {
      at[d] = s->span;
      sub[d] = neo_check_index(f, s->expr);
      ok = sub[d++].i && ok;
      continue;
    }
    uint32_t count = v->rank + 1 - n;
    for (uint32_t j = 0; j < count; j++)
      at[d + j] = s->span;
    if (!slice)
      ok = neo_pack_indices(f, e, s->span, count, sub + d) && ok;
    d += count;
  }
  return ok;
}

static neo_val element_else(neo_frame *f, const neo_ast_expr *e, const neo_view *v,
                            const neo_ast_expr *other) {
  uint32_t outer = f->subscript;
  neo_type t = neo_tensor_type(f->m, v->tensor);
  neo_expr x = neo_val_as(f, other->span, neo_check_expr(f, other), t);
  if (!x.i)
    return neo_val_poison();
  neo_expr y = neo_load_else(f->m, v->tensor, v->index, v->n, x, e->span);
  if (outer && neo_type_is_int(t))
    y = neo_cast(f->m, NEO_I64_T, y);
  return neo_val_expr(y);
}

static neo_val element(neo_frame *f, const neo_ast_expr *e, neo_view v, const neo_ast_expr *other) {
  neo_expr sub[NEO_MAX_RANK] = {{0}};
  neo_span at[NEO_MAX_RANK] = {0};
  if (!check_subs(f, e, &v, false, sub, at))
    return neo_val_poison();
  neo_view y = neo_view_with(f->m, v, sub);
  if (other)
    return element_else(f, e, &y, other);
  if (!neo_view_in_range(f, &v, &y, at))
    return neo_val_poison();
  return neo_view_load(f, y, e->span);
}

/* ---- built-in functions */

static neo_val apply(neo_frame *f, const neo_ast_expr *e, const neo_builtin *row) {
  neo_val x[NEO_BUILTIN_ARGS];
  const neo_ast_expr *arg[NEO_BUILTIN_ARGS];
  for (uint32_t k = 0; k < row->arity; k++)
    arg[k] = e->u.ref.args.at[k].value;
  check_operands(f, arg, row->arity, x);
  return neo_builtin_apply(f, e, row, x);
}

/* Checks an arm of a select, assuming its condition. */
static neo_val check_arm(neo_frame *f, const neo_ast_expr *e, neo_expr condition, neo_type t) {
  size_t before = f->assume.n;
  neo_frame_assume(f, condition);
  neo_val v = neo_check_typed(f, e, t);
  f->assume.n = before;
  return v;
}

static neo_type other_type(const neo_frame *f, neo_val v) {
  return v.kind == NEO_VAL_EXPR ? neo_expr_type(f->m, v.e) : f->literal;
}

/* A condition known at compile time leaves one arm. */
static neo_val check_select(neo_frame *f, const neo_ast_expr *e) {
  const neo_ast_arg *arg = e->u.ref.args.at;
  int64_t known;
  neo_expr c = neo_check_condition(f, arg[0].value);
  if (!c.i) { /* the arms are checked for their own mistakes */
    neo_check_expr(f, arg[1].value);
    neo_check_expr(f, arg[2].value);
    return neo_val_poison();
  }
  if (neo_expr_is_int(f->m, c, &known))
    return neo_check_expr(f, arg[known ? 1 : 2].value);
  neo_select_warn(f, arg[0].value, c);
  neo_expr not = neo_op1(f->m, NEO_OP_NOT, c);
  if (neo_is_untyped(f, arg[1].value)) {
    neo_val b = check_arm(f, arg[2].value, not, f->literal);
    return neo_select_make(f, e, c, check_arm(f, arg[1].value, c, other_type(f, b)), b);
  }
  neo_val a = check_arm(f, arg[1].value, c, f->literal);
  return neo_select_make(f, e, c, a, check_arm(f, arg[2].value, not, other_type(f, a)));
}

static neo_val convert(neo_frame *f, const neo_ast_expr *e, neo_type t) {
  uint32_t outer = f->subscript;
  neo_val v = neo_check_typed(f, e->u.ref.args.at[0].value, t);
  f->subscript = outer;
  return neo_builtin_cast(f, e, t, v);
}

/* The argument in the type in which a sum would accumulate it. */
static neo_val widened(neo_frame *f, const neo_ast_expr *e) {
  f->wide++;
  neo_val v = neo_check_expr(f, e->u.ref.args.at[0].value);
  f->wide--;
  return neo_builtin_widen(f, e, v);
}

/* uniform(), normal(), … of an initial value. */
static neo_val distribution(neo_frame *f, const neo_ast_expr *e, const char *name) {
  neo_expr a[NEO_INIT_ARGS] = {{0}};
  if (!neo_init_count(f, e, name))
    return neo_val_poison();
  for (uint32_t k = 0; k < e->u.ref.args.n; k++) {
    const neo_ast_expr *arg = e->u.ref.args.at[k].value;
    a[k] = neo_init_argument(f, arg->span, neo_check_expr(f, arg));
    if (!a[k].i)
      return neo_val_poison();
  }
  return neo_init_apply(f, name, a);
}

static neo_val builtin(neo_frame *f, const neo_ast_expr *e, const char *name) {
  const neo_builtin *row = neo_builtin_called(f, e);
  if (!row && neo_init_is(name))
    return distribution(f, e, name);
  if (!row)
    neo_builtin_unknown(f, e, name);
  if (!row || !neo_builtin_count(f, e, row))
    return neo_val_poison();
  switch (row->op) {
  case NEO_OP_SELECT:
    return check_select(f, e);
  case NEO_OP_CAST:
    return neo_builtin_is_wide(row) ? widened(f, e) : convert(f, e, row->to);
  case NEO_OP_RAND:
    if (f->sizes_only)
      break;
    return neo_val_expr(neo_rand_make(f));
  default:
    return apply(f, e, row);
  }
  NEO_ERR(f->in, e->span, NOT_A_SIZE, "is random");
  return neo_val_poison();
}

/* ---- elements, and whole tensors, slices and scalars as arguments */

static neo_val check_ref(neo_frame *f, const neo_ast_expr *e, const neo_ast_expr *other) {
  bool found;
  neo_sym *fn;
  neo_val v = neo_bare_index(f, e, &found);
  if (found)
    return v;
  if (e->u.ref.has_args && !neo_call_is(f->in, e, &fn)) {
    v = builtin(f, e, neo_path_text(f->fe, &e->u.ref.path));
    if (e->u.ref.has_subs && v.kind != NEO_VAL_POISON)
      return neo_scalar_subs(f, e, v);
    return v;
  }
  v = neo_check_base(f, e, false);
  if (v.kind == NEO_VAL_VIEW && f->sizes_only) {
    NEO_ERR(f->in, e->span, NOT_A_SIZE, "depends on the values of tensors");
    return neo_val_poison();
  }
  if (v.kind == NEO_VAL_VIEW && e->u.ref.has_subs)
    return element(f, e, v.view, other);
  if (v.kind == NEO_VAL_VIEW)
    return v.view.rank == 0 ? neo_view_load(f, v.view, e->span) : neo_bare_report(f, e, &v.view);
  if (v.kind != NEO_VAL_POISON && e->u.ref.has_subs)
    v = neo_scalar_subs(f, e, v);
  return neo_scalar_use(f, v);
}

/* Reports a slice of the tensor that is being defined: no order of its elements makes a whole slice
 * available. */
static neo_val slice_of_itself(neo_frame *f, const neo_ast_expr *e) {
  int h = NEO_ERR(f->in, e->span, NO_ORDER, f->self, f->self);
  neo_diag_help(
      f->fe->diags, h,
      "a definition reads elements of itself, it gives no function a slice: carry it in a scan");
  return neo_val_poison();
}

static neo_val slice(neo_frame *f, const neo_ast_expr *e, neo_view v) {
  neo_expr sub[NEO_MAX_RANK] = {{0}};
  neo_span at[NEO_MAX_RANK] = {0};
  if (!check_subs(f, e, &v, true, sub, at))
    return neo_val_poison();
  neo_view y = neo_view_with(f->m, v, sub);
  if (y.rank && neo_recur_reads(f, e))
    return slice_of_itself(f, e);
  return neo_view_in_range(f, &v, &y, at) ? neo_val_view(y) : neo_val_poison();
}

neo_val neo_check_view(neo_frame *f, const neo_ast_expr *e) {
  neo_sym *fn;
  bool found;
  if (e->kind != NEO_AST_REF)
    return neo_check_expr(f, e);
  neo_bare_index(f, e, &found);
  if (found || (e->u.ref.has_args && !neo_call_is(f->in, e, &fn)))
    return neo_check_expr(f, e);
  neo_val v = neo_check_base(f, e, false);
  if (v.kind == NEO_VAL_VIEW && e->u.ref.has_subs)
    return slice(f, e, v.view);
  if (v.kind != NEO_VAL_POISON && v.kind != NEO_VAL_VIEW && e->u.ref.has_subs)
    return neo_scalar_subs(f, e, v);
  return v;
}
