/* Definitions: `Y[i, j] = e` becomes one definition of the IR, with the reduction that its frame
 * kept; `Y = X`, `Y = f(X)` bind names to what is there already. */
#include "frontend/check.h"
#include "ir/out_map.h"
#include <string.h>

/* ---- making definitions */

static neo_expr shifted(neo_frame *f, neo_expr e, const neo_expr *by) {
  return e.i ? neo_expr_subst_axes(f->m, e, by, NEO_MAX_AXES) : e;
}

/* The axes of the frame's statement, after `n_lead` axes of extent 1. */
static neo_list piece_axes(neo_frame *f, uint32_t n_lead, const neo_expr *by) {
  uint32_t axes[2 * NEO_MAX_AXES], n = 0;
  neo_expr zero = neo_const_int(f->m, NEO_I64_T, 0), one = neo_const_int(f->m, NEO_I64_T, 1);
  uint32_t round = neo_name_of(f->fe->names, "r");
  for (uint32_t k = 0; k < n_lead; k++)
    axes[n++] = neo_axis_add(f->m, (neo_axis_rec){round, zero, one, 0}).i;
  for (uint32_t k = 0; k < f->n_out + (f->kept.set ? f->kept.n_axes : 0); k++) {
    neo_axis_rec rec = k < f->n_out ? f->axis[k] : f->kept.axis[k - f->n_out];
    rec.lo = shifted(f, rec.lo, by);
    rec.hi = shifted(f, rec.hi, by);
    axes[n++] = neo_axis_add(f->m, rec).i;
  }
  return neo_list_new(f->m, axes, n);
}

static neo_list piece_map(neo_frame *f, const int64_t *lead, uint32_t n_lead) {
  neo_out_dim map[2 * NEO_MAX_AXES];
  if (!n_lead)
    return (neo_list){0};
  for (uint32_t k = 0; k < n_lead + f->n_out; k++)
    map[k] = (neo_out_dim){1, k < n_lead ? (int32_t)lead[k] : 0};
  return neo_out_map_new(f->m, map, n_lead + f->n_out);
}

neo_span neo_inst_span(const neo_inst *in, neo_span span) {
  neo_sources *s = neo_diags_sources(in->fe->diags);
  if (!in->call)
    return span;
  return neo_span_called(s, span, in->caller ? neo_inst_span(in->caller, in->call) : in->call);
}

neo_def neo_define_piece(neo_frame *f, neo_tensor out, neo_expr finish, neo_span span, bool piece,
                         const int64_t *lead, uint32_t n_lead) {
  neo_expr by[NEO_MAX_AXES] = {{0}};
  uint32_t body[2];
  for (uint32_t k = 0; n_lead && k < NEO_MAX_AXES; k++)
    by[k] = neo_axis_ref(f->m, k + n_lead);
  for (uint32_t k = 0; k < f->kept.n_body; k++)
    body[k] = shifted(f, f->kept.body[k], by).i;
  finish = shifted(f, finish, by);
  neo_def_rec rec = {.axes = piece_axes(f, n_lead, by),
                     .n_out = f->n_out + n_lead,
                     .where = shifted(f, f->kept.where, by),
                     .reducer = (uint8_t)(f->kept.set ? f->kept.reducer : NEO_RED_NONE),
                     .body = neo_list_new(f->m, body, f->kept.n_body),
                     .finish = neo_list_new(f->m, &finish.i, 1),
                     .out = neo_list_new(f->m, &out.i, 1),
                     .out_map = piece_map(f, lead, n_lead),
                     .span = neo_inst_span(f->in, span)};
  return neo_def_add(f->m, rec, piece);
}

neo_tensor neo_define_temp(neo_frame *f, const char *full, neo_type type, neo_expr bound,
                           neo_span span) {
  neo_expr extent[NEO_MAX_AXES];
  neo_tensor_rec rec = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type, .span = span, .bound = bound};
  for (uint32_t k = 0; k < f->n_out; k++)
    extent[k] = f->axis[k].hi;
  return neo_tensor_make(f->in, rec, extent, f->n_out, neo_fe_unique(f->fe, full));
}

neo_val neo_define_copy(neo_inst *in, neo_val v, const char *full, neo_span at) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, full);
  neo_expr zero = neo_const_int(f->m, NEO_I64_T, 0), e, bound = {0};
  uint32_t rank = 0;
  if (v.kind == NEO_VAL_VIEW) {
    neo_view w = v.view;
    for (uint32_t d = 0; d < w.n; d++) {
      if (w.index[d].i)
        continue;
      const char *name = neo_arena_printf(f->fe->arena, "d%d", (int)rank++);
      neo_axis_rec rec = {neo_name_of(f->fe->names, name), zero,
                          neo_tensor_extent(f->m, w.tensor, d), at};
      int p = neo_frame_push(f, NULL, rec);
      if (p < 0)
        return neo_val_poison();
      w.index[d] = neo_axis_ref(f->m, (uint32_t)p);
    }
    e = neo_load(f->m, w.tensor, w.index, w.n, at);
    bound = neo_tensor_at(f->m, w.tensor)->bound;
  } else {
    e = neo_val_scalar(f, at, v);
  }
  if (!e.i || !neo_fe_spend(f->fe, in, at))
    return neo_val_poison();
  f->n_out = f->n_axes;
  neo_tensor t = neo_define_temp(f, full, neo_expr_type(f->m, e), bound, at);
  if (!t.i)
    return neo_val_poison();
  neo_define_piece(f, t, e, at, true, NULL, 0);
  return neo_val_view(neo_view_ambient(in, t, rank));
}

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

static bool push_output(neo_frame *f, neo_wants *wants, const char *name, neo_span span,
                        neo_expr hi, bool bounded) {
  const char *shown = name[0] == '.' ? neo_arena_printf(f->fe->arena, "d%s", name + 2) : name;
  if (twice(f, name, span))
    return false;
  neo_axis_rec rec = {neo_name_of(f->fe->names, shown), neo_const_int(f->m, NEO_I64_T, 0),
                      hi.i ? hi : neo_const_int(f->m, NEO_I64_T, 1), span};
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
      if (!push_output(f, wants, f->pack_name[k], a->span, given ? given[*d] : none, given != NULL))
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
  return push_output(f, wants, a->name.text, a->name.span, hi, hi.i != 0);
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

/* A tensor is a box: the extent of an output index is a size. */
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
  bool ok = true;
  for (uint32_t k = 0; k < wants.n; k++) {
    if (neo_ranges_missing(f, &wants.at[k]))
      ok = false;
    else
      f->axis[f->in->n_ambient + k].hi = wants.at[k].extent;
    neo_frame_set_guarded(f, f->in->n_ambient + k, wants.at[k].guarded && !wants.at[k].bounded);
  }
  return ok;
}

/* ---- values */

bool neo_type_eval(neo_inst *in, const neo_ast_type *t, neo_expr *bound) {
  *bound = (neo_expr){0};
  if (!t->given || t->rel == NEO_AST_REL_NONE)
    return true;
  if (!neo_type_is_int(t->type)) {
    NEO_ERR(in, t->span, BOUND_NEEDS_INT, neo_type_text(t->type));
    return false;
  }
  *bound = neo_size_eval(in, t->bound);
  if (!bound->i)
    return false;
  *bound = neo_size_add1(in->fe, *bound, t->rel == NEO_AST_REL_LE);
  return true;
}

static bool within(neo_frame *f, neo_expr e, neo_expr bound) {
  neo_expr x = neo_cast(f->m, NEO_I64_T, e);
  neo_expr zero = neo_const_int(f->m, NEO_I64_T, 0);
  neo_expr own = neo_expr_bound(f, e);
  if (own.i && neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, own, bound)))
    return true;
  if (neo_expr_uses_op(f->m, e, NEO_OP_ACC))
    return false;
  return neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LE, zero, x)) &&
         neo_bounds_holds(f, neo_op2(f->m, NEO_OP_LT, x, bound));
}

/* The value with the declared type and bound of its target. */
bool neo_define_finish(neo_frame *f, const neo_ast_var *var, neo_span at, neo_val v, neo_expr *e,
                       neo_expr *bound) {
  bool typed = var->type.given;
  if (!neo_type_eval(f->in, &var->type, bound))
    return false;
  *e = typed && v.kind == NEO_VAL_LIT ? neo_val_as(f, at, v, var->type.type)
                                      : neo_val_scalar(f, at, v);
  if (!e->i)
    return false;
  f->n_axes = f->n_out;
  if (typed)
    *e = neo_cast(f->m, var->type.type, *e);
  if (!bound->i) {
    *bound = neo_expr_bound(f, *e);
  } else if (!within(f, *e, *bound)) {
    int h = NEO_ERR(f->in, at, BOUND_NOT_PROVED, neo_size_text(f->fe, *bound));
    neo_diag_help(f->fe->diags, h, "use clamp(..., 0, %s)",
                  neo_size_text(f->fe, neo_size_add1(f->fe, *bound, -1)));
    return false;
  }
  return true;
}

static neo_val define_value(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                            const char *full) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_expr e, bound;
  neo_frame_init(f, in, neo_fe_join(in->fe, in->prefix, var->name.text));
  if (!neo_fe_spend(in->fe, in, var->span))
    return neo_val_poison();
  if (!neo_define_axes(f, var, value, NULL))
    return neo_val_poison();
  neo_val v = neo_check_expr(f, value);
  if (v.kind == NEO_VAL_POISON)
    return v;
  if (v.kind == NEO_VAL_LIT && !var->indexed && !var->type.given)
    return v;
  if (!neo_define_finish(f, var, value->span, v, &e, &bound))
    return neo_val_poison();
  neo_tensor t = neo_define_temp(f, full, neo_expr_type(f->m, e), bound, var->name.span);
  if (!t.i)
    return neo_val_poison();
  neo_define_piece(f, t, e, value->span, true, NULL, 0);
  return neo_val_view(neo_view_ambient(in, t, f->n_out - in->n_ambient));
}

/* ---- statements that bind names to what is there */

static bool is_alias(neo_inst *in, const neo_ast_expr *e) {
  if (e->kind != NEO_AST_REF || e->u.ref.has_subs || e->u.ref.has_args)
    return false;
  neo_sym *s = neo_path_find(in, &e->u.ref.path, true);
  return s && s->kind == NEO_SYM_VALUE && s->value.kind == NEO_VAL_VIEW;
}

static bool is_call(neo_inst *in, const neo_ast_expr *e, neo_sym **fn) {
  return e->kind == NEO_AST_REF && !e->u.ref.has_subs && neo_call_is(in, e, fn);
}

/* All results of a call that stands alone. */
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
    NEO_ERR(in, e->u.ref.path.span, RESULT_COUNT, neo_path_text(in->fe, &e->u.ref.path), (int)r->n,
            (int)n);
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

neo_val neo_define_any(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                       const char *full, bool anonymous, const char **prefix) {
  neo_sym *fn;
  *prefix = NULL;
  bool plain = !var->indexed && !var->type.given;
  if (plain && is_alias(in, value)) {
    neo_sym *s = neo_path_find(in, &value->u.ref.path, false);
    *prefix = s->prefix;
    return s->value;
  }
  if (plain && is_slice(in, value))
    return slice(in, value, full);
  if (!plain || !is_call(in, value, &fn))
    return define_value(in, var, value, full);
  const char *word = value->u.ref.path.at[value->u.ref.path.n - 1].text;
  const char *own = neo_fe_join(in->fe, in->prefix, anonymous ? word : var->name.text);
  neo_results *r = whole_call(in, value, fn, 1, &full, own);
  *prefix = r->prefix;
  return r->poison ? neo_val_poison() : r->at[0];
}

void neo_define_bind(neo_inst *in, const neo_ast_name *name, neo_val v, const char *prefix) {
  if (v.kind == NEO_VAL_POISON) {
    neo_scope_poison(in, name);
    return;
  }
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = name->text,
                          .span = name->span,
                          .value = v,
                          .prefix = prefix});
}

const neo_ast_name *neo_define_target(const neo_ast_stmt *s, uint32_t k) {
  return k == 0 ? &s->u.define.target.name : &s->u.define.more.at[k - 1];
}

/* f(X) of a name that nobody defined, after a report. */
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
  const char *full[NEO_MAX_RESULTS] = {0};
  neo_results *r = NULL;
  neo_sym *fn;
  const neo_ast_var *var = &s->u.define.target;
  bool call = is_call(in, s->u.define.value, &fn) && !var->indexed && !var->type.given;
  for (uint32_t k = 0; k < n && k < NEO_MAX_RESULTS; k++)
    full[k] = neo_inst_full(in, neo_define_target(s, k)->text);
  if (call && n <= NEO_MAX_RESULTS)
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
  if (s->u.define.region) {
    neo_check_region(in, s);
  } else if (s->u.define.more.n) {
    define_several(in, s);
  } else {
    const char *full = neo_inst_full(in, var->name.text);
    neo_val v = neo_define_any(in, var, s->u.define.value, full, false, &prefix);
    neo_define_bind(in, &var->name, v, prefix);
  }
}
