/* Definitions: the axes on the left, their extents, and the value. */
#include "frontend/check/check.h"
#include "frontend/sema/iterations.h"

/* ---- output axes */

static bool twice(neo_frame *f, const char *name, neo_span at) {
  for (uint32_t k = f->in->n_ambient; k < f->n_axes; k++)
    if (f->axis_name[k] == name) {
      int h = NEO_ERR(f->in, at, INDEX_REBOUND, name[0] == '.' ? ".." : name);
      neo_diag_range(f->fe->diags, h, f->axis[k].span);
      return true;
    }
  return false;
}

bool neo_output_push(neo_frame *f, neo_wants *wants, const char *name, neo_span span, neo_expr hi,
                     bool bounded) {
  const char *shown = name[0] == '.' ? neo_arena_printf(f->fe->arena, "d%s", name + 2) : name;
  if (twice(f, name, span))
    return false;
  neo_axis_rec rec = {neo_name_of(f->fe->names, shown), neo_const_i64(f->m, 0),
                      hi.i ? hi : neo_const_i64(f->m, 1), span};
  if (neo_frame_push(f, name, rec) < 0)
    return false;
  wants->at[wants->n++] = (neo_want){.name = name, .span = span, .bounded = bounded, .extent = hi};
  return true;
}

static bool output_axis(neo_frame *f, neo_wants *wants, const neo_ast_axis *a,
                        const neo_expr *given, uint32_t *d) {
  neo_expr none = {0};
  if (a->kind == NEO_AST_PACK) {
    for (uint32_t k = 0; k < f->n_pack; k++, (*d)++)
      if (!neo_output_push(f, wants, f->pack_name[k], a->span, given ? given[*d] : none,
                           given != NULL))
        return false;
    return true;
  }
  neo_expr hi = given ? given[*d] : none;
  (*d)++;
  if (a->kind != NEO_AST_INDEX)
    return false;
  if (a->hi) {
    neo_expr own = neo_size_eval(f->in, a->hi);
    if (!own.i)
      return false;
    own = neo_size_add1(f->fe, own, a->hi_rel == NEO_AST_REL_LE);
    if (given && !neo_size_equal(f->fe, own, hi)) {
      NEO_ERR(f->in, a->span, UPDATE_EXTENT, a->name.text, neo_size_text(f->fe, own),
              neo_size_text(f->fe, hi));
      return false;
    }
    hi = own;
  }
  return neo_output_push(f, wants, a->name.text, a->name.span, hi, hi.i != 0);
}

typedef struct {
  const neo_ast_var *var;
  const neo_ast_name *found;
} left_look;

static void look_left(void *ctx, const neo_ast_expr *e) {
  left_look *l = ctx;
  if (e->kind == NEO_AST_REF && e->u.ref.path.n == 1 && !e->u.ref.has_args && !e->u.ref.has_subs)
    for (uint32_t k = 0; k < l->var->axes.n; k++)
      if (l->var->axes.at[k].name.text == e->u.ref.path.at[0].text)
        l->found = &e->u.ref.path.at[0];
  neo_ast_children(e, look_left, ctx);
}

/* Reports an output index whose range depends on another index: a tensor is a box, so the extent
 * has to be a size. */
static bool left_depends(neo_frame *f, const neo_ast_var *var) {
  left_look l = {var, NULL};
  for (uint32_t k = 0; k < var->axes.n; k++)
    if (var->axes.at[k].hi)
      look_left(&l, var->axes.at[k].hi);
  if (!l.found || neo_scope_find(f->in->scope, l.found->text))
    return false;
  int h = NEO_ERR(f->in, l.found->span, LEFT_BOUND, l.found->text);
  neo_diag_help(f->fe->diags, h, "give it the largest extent, and write select(..., ..., 0)");
  return true;
}

/* Output axes and every extent of the statement. `given`: extents that are known (update). */
bool neo_define_axes(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value,
                     const neo_expr *given) {
  neo_wants wants = {0};
  uint32_t d = 0;
  if (left_depends(f, var))
    return false;
  if (!neo_ranges_pack(f, &var->axes, value, var->span))
    return false;
  wants.at = NEO_NEW_ARRAY(f->fe->arena, neo_want, var->axes.n + NEO_MAX_RANK);
  for (uint32_t k = 0; k < var->axes.n; k++)
    if (!output_axis(f, &wants, &var->axes.at[k], given, &d))
      return false;
  f->n_out = f->n_axes;
  neo_ranges_infer(f, &wants, value);
  bool ok = !f->pack_is_open || f->has_pack;
  for (uint32_t k = 0; k < wants.n; k++) {
    neo_want *w = &wants.at[k];
    if (!w->extent.i && !w->hushed && f->carry && k < f->carry->rank)
      w->extent = neo_view_extent(f->fe, f->carry, k);
    if (neo_ranges_missing(f, w))
      ok = false;
    else
      f->axis[f->in->n_ambient + k].hi = wants.at[k].extent;
    neo_frame_set_guarded(f, f->in->n_ambient + k, wants.at[k].guarded && !wants.at[k].bounded);
  }
  return ok;
}

/* ---- values */

/* Declares the tensor of a definition that reads itself, and the name by which its value reads
 * it. */
static neo_tensor begin_recurrence(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value,
                                   const neo_ends *ends, const char *full) {
  neo_type type = neo_recur_type(f, var, value);
  neo_tensor t = neo_define_temp(f, full, type, ends->bound, var->name.span);
  if (!t.i)
    return t;
  neo_ends_set(f->fe, t, ends);
  NEO_PUSH(f->fe->arena, &f->recurrence, t);
  f->in->scope = neo_scope_new(f->fe, f->in->scope);
  neo_define_view(f->in, &var->name, neo_view_ambient(f->in, t, f->n_out - f->in->n_ambient));
  return t;
}

static bool end_recurrence(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value,
                           neo_tensor t, neo_expr e) {
  neo_type type = neo_tensor_type(f->m, t);
  if (neo_expr_type(f->m, e) != type) {
    NEO_ERR(f->in, value->span, RECURRENCE_TYPE, var->name.text, neo_type_text(type),
            neo_type_text(neo_expr_type(f->m, e)));
    return false;
  }
  neo_define_piece(f, t, e, value->span, true, NULL, 0);
  return neo_recur_check(f->in, &t, 1);
}

static neo_val define_recurrence(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value,
                                 const char *full) {
  neo_scope *outer = f->in->scope;
  neo_expr e;
  neo_ends ends;
  if (!neo_type_ends(f->in, f, &var->type, &ends))
    return neo_val_poison();
  neo_tensor t = begin_recurrence(f, var, value, &ends, full);
  if (!t.i)
    return neo_val_poison();
  neo_val v = neo_check_typed(f, value, neo_tensor_type(f->m, t));
  f->in->scope = outer;
  if (v.kind == NEO_VAL_POISON || !neo_define_value(f, var, value->span, v, &e, &ends) ||
      !end_recurrence(f, var, value, t, e))
    return neo_val_poison();
  return neo_val_view(neo_view_ambient(f->in, t, f->n_out - f->in->n_ambient));
}

/* Whether the name, in a value that defines it, means something else: a name that is taken, which
 * is reported, or a carry, which the definition hides only afterwards. */
static bool reads_other(neo_inst *in, const char *name) {
  bool carry = in->iterations && neo_iterations_carry(in->iterations, name) >= 0;
  return carry || neo_scope_own(in->scope, name);
}

/* The type of literals that meet no typed operand: the declared one, or the carry's. */
static neo_type type_wanted(const neo_frame *f, const neo_ast_var *var) {
  if (var->type.given)
    return neo_type_written(f->in, &var->type);
  return f->carry ? neo_tensor_type(f->m, f->carry->tensor) : f->literal;
}

typedef struct {
  const char *name;
  bool found;
} look;

static void look_for(void *ctx, const neo_ast_expr *e) {
  look *l = ctx;
  l->found = l->found || (e->kind == NEO_AST_REF && e->u.ref.path.n == 1 && !e->u.ref.has_args &&
                          e->u.ref.has_subs && e->u.ref.path.at[0].text == l->name);
  neo_ast_children(e, look_for, ctx);
}

/* Notes in the frame whether the value reads the name on the left. */
static void recur_look(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value) {
  look l = {var->name.text, false};
  look_for(&l, value);
  f->self = l.found && var->axes.n ? var->name.text : NULL;
}

static neo_val define_value(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                            const char *full, neo_define_kind kind) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_expr e;
  neo_ends ends;
  neo_frame_init(f, in, neo_fe_join(in->fe, in->prefix, var->name.text));
  if (!neo_fe_spend(in->fe, in, var->span))
    return neo_val_poison();
  if (kind == NEO_DEFINE_STATEMENT && !reads_other(in, var->name.text))
    recur_look(f, var, value);
  if (kind == NEO_DEFINE_NEXT)
    f->carry = neo_iterations_view(in->iterations, var->name.text);
  if (!neo_define_axes(f, var, value, NULL))
    return neo_val_poison();
  if (f->self)
    return define_recurrence(f, var, value, full);
  neo_val v = neo_check_typed(f, value, type_wanted(f, var));
  if (v.kind == NEO_VAL_POISON)
    return v;
  if (v.kind == NEO_VAL_LIT && !var->indexed && !var->type.given)
    return v;
  if (!neo_type_ends(in, f, &var->type, &ends))
    return neo_val_poison();
  if (kind == NEO_DEFINE_NEXT)
    neo_iterations_ends(in->iterations, var->name.text, &ends);
  if (!neo_define_value(f, var, value->span, v, &e, &ends))
    return neo_val_poison();
  neo_tensor t = neo_define_temp(f, full, neo_expr_type(f->m, e), ends.bound, var->name.span);
  if (!t.i)
    return neo_val_poison();
  neo_ends_set(f->fe, t, &ends);
  neo_define_piece(f, t, e, value->span, true, NULL, 0);
  return neo_val_view(neo_view_ambient(in, t, f->n_out - in->n_ambient));
}

/* ---- statements that bind names to existing tensors */

static bool is_alias(neo_inst *in, const neo_ast_expr *e) {
  if (e->kind != NEO_AST_REF || e->u.ref.has_subs || e->u.ref.has_args)
    return false;
  neo_sym *s = neo_path_find(in, &e->u.ref.path, true);
  return s && s->kind == NEO_SYM_VALUE && s->value.kind == NEO_VAL_VIEW;
}

static bool is_call(neo_inst *in, const neo_ast_expr *e, neo_sym **fn) {
  return e->kind == NEO_AST_REF && !e->u.ref.has_subs && neo_call_is(in, e, fn);
}

/* Defines all results of a call that is the whole right side. */
static neo_results *whole_call(neo_inst *in, const neo_ast_expr *e, neo_sym *fn, uint32_t n,
                               const char *const *full, const char *prefix) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_results *r = NEO_NEW(in->fe->arena, neo_results);
  r->poison = true;
  neo_frame_init(f, in, prefix);
  if (!neo_ranges_pack(f, NULL, e, e->span))
    return r;
  r = fn ? neo_call(f, e, fn, neo_inst_prefix(in, prefix), n, full) : neo_grad_call(f, e, n, full);
  if (!r->poison && r->n != n) {
    int h = NEO_ERR(in, e->u.ref.path.span, RESULT_COUNT, neo_path_text(in->fe, &e->u.ref.path),
                    (int)r->n, (int)n);
    neo_call_results_help(in, e, fn, h);
    r->poison = true;
  }
  return r;
}

/* Y = X[0, ..] */
static bool is_slice(neo_inst *in, const neo_ast_expr *e) {
  neo_ast_expr base = *e;
  if (e->kind != NEO_AST_REF || !e->u.ref.has_subs || e->u.ref.has_args)
    return false;
  base.u.ref.has_subs = false;
  if (!is_alias(in, &base))
    return false;
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    if (!e->u.ref.subs.at[k].expr)
      return true;
  return false;
}

static neo_val slice(neo_inst *in, const neo_ast_expr *e, const char *full) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, full);
  return neo_check_view(f, e);
}

/* The conversion in Y = real(X), Y = wide(X[0, ..]) of a tensor with dimensions; NULL: it is
 * none. */
static const neo_builtin *cast_of_whole(neo_inst *in, const neo_ast_expr *e) {
  neo_sym *fn;
  if (e->kind != NEO_AST_REF || !e->u.ref.has_args || e->u.ref.has_subs || neo_call_is(in, e, &fn))
    return NULL;
  const neo_ast_args *args = &e->u.ref.args;
  if (args->n != 1 || args->at[0].name.text)
    return NULL;
  const neo_ast_expr *x = args->at[0].value;
  bool whole = is_alias(in, x) && neo_path_find(in, &x->u.ref.path, true)->value.view.rank > 0;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, "");
  const neo_builtin *row = whole || is_slice(in, x) ? neo_builtin_called(f, e) : NULL;
  return row && row->op == NEO_OP_CAST ? row : NULL;
}

/* The tensor or slice itself, if it has the type already. */
static neo_val whole_in_type(neo_inst *in, const neo_ast_expr *e, const neo_builtin *row,
                             const char *full) {
  neo_val v = slice(in, e->u.ref.args.at[0].value, full);
  if (v.kind != NEO_VAL_VIEW)
    return v;
  neo_type t = neo_tensor_type(in->fe->m, v.view.tensor);
  if (t == NEO_BOOL_T && neo_builtin_is_wide(row)) {
    NEO_ERR(in, e->span, BOOL_ARITHMETIC, "wide");
    return neo_val_poison();
  }
  neo_type to = neo_builtin_is_wide(row) ? neo_type_wide(t) : row->to;
  return neo_define_cast(in, v, to, full, e->span);
}

neo_val neo_define_any(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                       const char *full, neo_define_kind kind, const char **prefix) {
  neo_sym *fn;
  const neo_builtin *row;
  *prefix = NULL;
  bool plain = !var->indexed && !var->type.given;
  if (plain && is_alias(in, value)) {
    neo_sym *s = neo_path_find(in, &value->u.ref.path, false);
    *prefix = s->prefix;
    return s->value;
  }
  if (plain && is_slice(in, value))
    return slice(in, value, full);
  if (plain && (row = cast_of_whole(in, value)))
    return whole_in_type(in, value, row, full);
  if (!plain || !is_call(in, value, &fn))
    return define_value(in, var, value, full, kind);
  const char *word = value->u.ref.path.at[value->u.ref.path.n - 1].text;
  const char *own =
      neo_fe_join(in->fe, in->prefix, kind == NEO_DEFINE_NEXT ? word : var->name.text);
  neo_results *r = whole_call(in, value, fn, 1, &full, own);
  *prefix = r->prefix;
  return r->poison ? neo_val_poison() : r->at[0];
}

/* Whether the value is a call of an unknown function, which is reported. */
static bool is_missing(neo_inst *in, const neo_ast_expr *e) {
  neo_sym *fn;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, "");
  return e->kind == NEO_AST_REF && e->u.ref.has_args && !neo_call_is(in, e, &fn) &&
         neo_builtin_missing(f, e);
}

/* a, b = f(X) */
static void define_several(neo_inst *in, const neo_ast_stmt *s) {
  uint32_t n = s->u.define.more.n + 1;
  const char **full = NEO_NEW_ARRAY(in->fe->arena, const char *, n);
  neo_results *r = NULL;
  neo_sym *fn;
  const neo_ast_var *var = &s->u.define.target;
  bool call = is_call(in, s->u.define.value, &fn) && !var->indexed && !var->type.given;
  for (uint32_t k = 0; k < n; k++)
    full[k] = neo_inst_full(in, neo_define_target(s, k)->text);
  if (call)
    r = whole_call(in, s->u.define.value, fn, n, full,
                   neo_fe_join(in->fe, in->prefix, var->name.text));
  else if (!is_missing(in, s->u.define.value))
    NEO_ERR(in, s->span, RESULT_COUNT, "this expression", 1, (int)n);
  for (uint32_t k = 0; k < n; k++)
    neo_define_bind(in, neo_define_target(s, k), r && !r->poison ? r->at[k] : neo_val_poison(),
                    r ? r->prefix : NULL);
}

void neo_check_define(neo_inst *in, const neo_ast_stmt *s) {
  const char *prefix;
  const neo_ast_var *var = &s->u.define.target;
  if (s->u.define.more.n) {
    define_several(in, s);
  } else {
    const char *full = neo_inst_full(in, var->name.text);
    neo_val v = neo_define_any(in, var, s->u.define.value, full, NEO_DEFINE_STATEMENT, &prefix);
    neo_define_bind(in, &var->name, v, prefix);
  }
}
