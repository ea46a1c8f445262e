/* References: elements, slices and calls inside expressions, and the arguments of built-in functions. */
#include "frontend/check/check.h"

/* ---- what stands before the subscripts */

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

/* One expression a free dimension of v, and where it was written. In a slice `..` leaves zeros. */
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
  neo_type t = (neo_type)neo_tensor_at(f->m, v->tensor)->type;
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
  neo_check_operands(f, arg, row->arity, x);
  return neo_builtin_apply(f, e, row, x);
}

/* An arm of a select, under its condition. */
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
  if (!c.i) { /* still look at the arms for their own mistakes */
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

/* The value as a sum over it would take it. */
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

neo_val neo_check_ref(neo_frame *f, const neo_ast_expr *e, const neo_ast_expr *other) {
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

/* More than an element of the tensor that is being defined: there is no order of its elements in which
 * this is there. */
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
