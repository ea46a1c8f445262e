/* Sizes, extents, types, and the statements that declare: dim, assert, input, param, state, const,
 * update. */
#include "frontend/check/check.h"
#include "ir/element.h"

/* ---- sizes */

/* A frame without axes, for an expression of sizes. */
static neo_frame *size_frame(neo_inst *in) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, in->prefix);
  f->n_axes = f->n_out = 0;
  f->sizes_only = true;
  f->subscript = 1;
  return f;
}

neo_expr neo_size_eval(neo_inst *in, const neo_ast_expr *e) {
  neo_frame *f = size_frame(in);
  neo_expr x = neo_check_index(f, e);
  if (x.i && !neo_size_is_pure(f->m, x)) {
    bool index = neo_expr_axes(f->m, x) != 0;
    NEO_ERR(in, e->span, NOT_A_SIZE,
            index ? "depends on an index" : "depends on the values of tensors");
    return (neo_expr){0};
  }
  return x;
}

bool neo_size_int(neo_inst *in, const neo_ast_expr *e, int64_t *x) {
  neo_expr y = neo_size_eval(in, e);
  if (!y.i)
    return false;
  if (neo_expr_is_int(in->fe->m, y, x))
    return true;
  NEO_ERR(in, e->span, NOT_CONSTANT, neo_size_text(in->fe, y));
  return false;
}

static neo_expr eval_with(neo_inst *in, const neo_ast_expr *e, const neo_ast_name *unknown,
                          neo_expr value) {
  neo_scope *outer = in->scope;
  in->scope = neo_scope_new(in->fe, outer);
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = unknown->text,
                          .span = unknown->span,
                          .value = neo_val_index(value)});
  neo_expr y = neo_size_eval(in, e);
  in->scope = outer;
  return y;
}

/* Solves e(u) = extent for the unknown u, assuming e = a*u + b: b = e(0), a = e(1) - b. The
 * solution is verified by substitution. */
bool neo_size_solve(neo_inst *in, const neo_ast_expr *e, const neo_ast_name *unknown,
                    neo_expr extent, neo_expr *value) {
  neo_fe *fe = in->fe;
  neo_expr b = eval_with(in, e, unknown, neo_const_i64(fe->m, 0));
  neo_expr e1 = eval_with(in, e, unknown, neo_const_i64(fe->m, 1));
  if (!b.i || !e1.i)
    return false;
  neo_expr a = neo_op2(fe->m, NEO_OP_SUB, e1, b);
  *value = neo_size_quotient(fe, neo_op2(fe->m, NEO_OP_SUB, extent, b), a);
  neo_expr again = eval_with(in, e, unknown, *value);
  if (again.i && neo_size_equal(fe, again, extent))
    return true;
  if (again.i)
    NEO_ERR(in, e->span, SIZE_UNSOLVED, unknown->text, neo_size_text(fe, extent));
  return false;
}

/* ---- bounds of elements: `: i32 < V`, `: -1 <= i32 < v`
 *
 * A bound may use the indices of the tensor itself, in a sum of sizes and of multiples of indices.
 * Elements in [0, a size) have a `bound` alone; others have ends for each element
 * (ir/element.h). */

/* The frame of the tensor's own indices, in which an end is an expression of sizes. */
static neo_frame *end_frame(neo_inst *in, const neo_frame *own) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, in->prefix);
  f->n_axes = f->n_out = own ? own->n_out : 0;
  for (uint32_t k = 0; k < f->n_axes; k++) {
    f->axis[k] = own->axis[k];
    f->axis_name[k] = own->axis_name[k];
  }
  f->sizes_only = true;
  f->subscript = 1;
  return f;
}

/* The written end plus `more`; 0 after a report. */
static neo_expr end_value(neo_frame *f, const neo_ast_expr *e, int64_t more) {
  neo_element_end form;
  neo_expr x = neo_check_index(f, e);
  if (x.i && (f->n_out > NEO_ELEMENT_RANK || !neo_element_end_of(f->m, x, f->n_out, &form))) {
    size_t n = 0;
    const char *text = neo_span_bytes(neo_diags_sources(f->fe->diags), e->span, &n);
    NEO_ERR(f->in, e->span, ENDS_FORM, (int)n, text);
    return (neo_expr){0};
  }
  return x.i ? neo_size_add1(f->fe, x, more) : x;
}

/* The bound over sizes alone that follows from the ends; 0: none does. */
static neo_expr hull(neo_frame *f, const neo_ends *ends) {
  int64_t least, most;
  neo_expr none = {0};
  bool natural = neo_expr_is_int(f->m, ends->least, &least) && least >= 0;
  if (!natural || !ends->below.i)
    return none;
  neo_expr bound = neo_expr_upper(f, ends->below);
  return bound.i && neo_size_max(f->fe, bound, &most) ? bound : none;
}

bool neo_type_ends(neo_inst *in, const neo_frame *own, const neo_ast_type *t, neo_ends *out) {
  *out = (neo_ends){0};
  if (!t->given || (t->rel == NEO_AST_REL_NONE && !t->lo))
    return true;
  if (!neo_type_is_int(neo_type_written(in, t))) {
    NEO_ERR(in, t->span, BOUND_NEEDS_INT, neo_type_text(neo_type_written(in, t)));
    return false;
  }
  neo_frame *f = end_frame(in, own);
  out->least = t->lo ? end_value(f, t->lo, t->lo_rel == NEO_AST_REL_LT) : neo_const_i64(f->m, 0);
  if (t->rel != NEO_AST_REL_NONE)
    out->below = end_value(f, t->bound, t->rel == NEO_AST_REL_LE);
  if (!out->least.i || (t->rel != NEO_AST_REL_NONE && !out->below.i))
    return false;
  out->bound = hull(f, out);
  if (!t->lo && neo_size_is_pure(f->m, out->below))
    *out = (neo_ends){.bound = out->below};
  return true;
}

/* The frame of a tensor declared with these dimensions. */
static neo_frame *declared_frame(neo_inst *in, const neo_expr *extent, const char *const *name,
                                 uint32_t n, neo_span span) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, in->prefix);
  f->n_axes = f->n_out = 0; /* the tensor has no dimensions for ambient axes */
  neo_declared_axes(f, extent, name, n, span);
  return f;
}

/* ---- extents */

bool neo_extents_eval(neo_inst *in, const neo_ast_axes *axes, uint32_t *n, neo_expr *extent,
                      const char **name) {
  bool ok = true;
  *n = 0;
  if (axes->n > NEO_MAX_RANK) {
    NEO_ERR(in, axes->at[NEO_MAX_RANK].span, RANK_TOO_LARGE, (int)axes->n, NEO_MAX_RANK);
    return false;
  }
  for (uint32_t k = 0; k < axes->n; k++) {
    const neo_ast_axis *a = &axes->at[k];
    if (a->kind == NEO_AST_PACK) {
      ok = neo_pack_extents(in, a, n, extent, name) && ok;
      continue;
    }
    if (!a->hi) {
      NEO_ERR(in, a->span, NO_EXTENT, a->name.text);
      return false;
    }
    neo_expr e = neo_size_eval(in, a->hi);
    ok = ok && e.i;
    if (e.i && a->kind == NEO_AST_INDEX)
      e = neo_size_add1(in->fe, e, a->hi_rel == NEO_AST_REL_LE);
    name[*n] = a->kind == NEO_AST_INDEX ? a->name.text : NULL;
    extent[(*n)++] = e;
  }
  return ok;
}

/* ---- dim, assert */

/* dim lo <= N <= hi */
static neo_expr runtime_size(neo_inst *in, const neo_ast_stmt *s) {
  int64_t lo = 1, hi;
  if (s->u.dim.lo && !neo_size_int(in, s->u.dim.lo, &lo))
    return (neo_expr){0};
  if (!neo_size_int(in, s->u.dim.hi, &hi))
    return (neo_expr){0};
  return neo_dim_runtime(in, s, lo, hi);
}

static void declare_dim(neo_inst *in, const neo_ast_stmt *s) {
  neo_expr e;
  int64_t x;
  if (s->u.dim.rel != NEO_AST_REL_NONE)
    e = runtime_size(in, s);
  else if (neo_dim_replaced(in, s, &x))
    e = neo_const_i64(in->fe->m, x);
  else
    e = neo_size_eval(in, s->u.dim.hi);
  if (!e.i) {
    neo_scope_poison(in, &s->u.dim.name);
    return;
  }
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = s->u.dim.name.text,
                          .span = s->u.dim.name.span,
                          .value = neo_val_index(e)});
}

static void check_assert(neo_inst *in, const neo_ast_stmt *s) {
  neo_expr c = neo_check_condition(size_frame(in), s->u.expr);
  if (c.i)
    neo_assert_add(in, s->u.expr->span, c);
}

/* ---- input, param, state */

/* Reports bounds of a kept value that use run-time sizes: the value outlives the call that the
 * sizes belong to. */
static bool ends_are_kept(neo_inst *in, const neo_ast_var *var, const neo_ends *ends) {
  const neo_expr all[] = {ends->bound, ends->least, ends->below};
  neo_element_end end;
  for (size_t k = 0; k < sizeof all / sizeof *all; k++)
    if (all[k].i && neo_expr_uses_op(in->fe->m, all[k], NEO_OP_SIZE)) {
      bool sum = neo_element_end_of(in->fe->m, all[k], NEO_ELEMENT_RANK, &end);
      NEO_ERR(in, var->type.span, KEPT_BOUND, var->name.text,
              neo_size_text(in->fe, sum ? end.rest : all[k]));
      return false;
    }
  return true;
}

static void initialise(neo_inst *in, neo_tensor t, const neo_ast_stmt *s, const neo_expr *extent,
                       const char *const *name, uint32_t n) {
  const neo_ast_expr *value = s->u.decl.value;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_wants none = {0};
  neo_frame_init(f, in, neo_name_text(in->fe->names, neo_tensor_at(in->fe->m, t)->name));
  f->init = true;
  neo_declared_axes(f, extent, name, n, value->span);
  neo_declared_pack(f, name, n);
  if (!neo_ranges_pack(f, NULL, value, value->span))
    return;
  uint32_t first_hoisted = (uint32_t)in->fe->m->tensors.n;
  neo_ranges_infer(f, &none, value);
  neo_val v = neo_check_typed(f, value, neo_tensor_type(f->m, t));
  if (v.kind != NEO_VAL_POISON)
    neo_init_define(f, t, &s->u.decl.var, v, value->span, first_hoisted);
}

static void declare_input(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_var *var = &s->u.decl.var;
  neo_expr extent[NEO_MAX_AXES];
  const char *name[NEO_MAX_AXES];
  neo_ends ends;
  uint32_t n;
  bool ok = neo_extents_eval(in, &var->axes, &n, extent, name);
  ok = ok && neo_type_ends(in, declared_frame(in, extent, name, n, var->span), &var->type, &ends);
  if (ok && (in->scope->parent || !in->is_main)) {
    NEO_ERR(in, s->span, INPUT_PLACE, var->name.text);
    ok = false;
  }
  if (ok && s->u.decl.value && n > 0) {
    NEO_ERR(in, s->u.decl.value->span, INPUT_DEFAULT, var->name.text);
    ok = false;
  }
  ok = ok && (!s->u.decl.value || ends_are_kept(in, var, &ends));
  if (!ok) {
    neo_scope_poison(in, &var->name);
    return;
  }
  neo_tensor_rec rec = {.role = (uint8_t)(s->u.decl.value ? NEO_ROLE_SETTING : NEO_ROLE_INPUT),
                        .type = (uint8_t)neo_declared_type(in, &var->type),
                        .span = var->name.span};
  neo_tensor t = neo_tensor_make(in, rec, extent, n, neo_fe_unique(in->fe, var->name.text));
  if (t.i)
    neo_ends_set(in->fe, t, &ends);
  if (t.i && s->u.decl.value)
    initialise(in, t, s, extent, name, n);
  if (t.i)
    neo_define_view(in, &var->name, neo_view_whole(in->fe->m, t));
  else
    neo_scope_poison(in, &var->name);
}

static void declare_owned(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_var *var = &s->u.decl.var;
  neo_expr extent[2 * NEO_MAX_AXES];
  const char *name[2 * NEO_MAX_AXES];
  neo_ends ends = {0};
  uint32_t n, r = in->n_iterations;
  bool known, ok = neo_extents_eval(in, &var->axes, &n, extent + r, name + r);
  for (uint32_t k = 0; k < r; k++) {
    extent[k] = neo_const_i64(in->fe->m, in->iteration[k].count);
    name[k] = NULL;
  }
  const char *full = neo_fe_join(in->fe, in->prefix, var->name.text);
  if (ok && n + r > NEO_MAX_RANK) {
    NEO_ERR(in, var->span, RANK_TOO_LARGE, (int)(n + r), NEO_MAX_RANK);
    ok = false;
  }
  neo_tensor t = {0};
  ok = ok &&
       neo_type_ends(in, declared_frame(in, extent, name, n + r, var->span), &var->type, &ends) &&
       ends_are_kept(in, var, &ends);
  if (ok) {
    t = neo_owned_earlier(in, s, full, extent, n + r, &known);
    if (!known)
      t = neo_owned_declare(in, s, full, extent, n + r, &ends);
    if (!known && t.i)
      initialise(in, t, s, extent, name, n + r);
  }
  if (t.i)
    neo_define_view(in, &var->name, neo_owned_view(in, t));
  else
    neo_scope_poison(in, &var->name);
}

/* ---- const */

neo_val neo_declared_value(neo_inst *in, const neo_ast_var *var, const neo_ast_expr *value,
                           const char *full) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_expr extent[NEO_MAX_AXES], e;
  const char *name[NEO_MAX_AXES];
  neo_ends ends;
  neo_wants none = {0};
  uint32_t n;
  if (!neo_extents_eval(in, &var->axes, &n, extent, name))
    return neo_val_poison();
  neo_frame_init(f, in, full);
  neo_declared_axes(f, extent, name, n, var->span);
  neo_ranges_infer(f, &none, value);
  neo_val v =
      neo_check_typed(f, value, var->type.given ? neo_type_written(in, &var->type) : f->literal);
  if (v.kind == NEO_VAL_POISON)
    return v;
  if (!neo_type_ends(in, f, &var->type, &ends) ||
      !neo_define_value(f, var, value->span, v, &e, &ends))
    return neo_val_poison();
  neo_tensor t = neo_define_temp(f, full, neo_expr_type(f->m, e), ends.bound, var->name.span);
  if (!t.i)
    return neo_val_poison();
  neo_ends_set(f->fe, t, &ends);
  neo_define_piece(f, t, e, value->span, true, NULL, 0);
  return neo_val_view(neo_view_ambient(in, t, n));
}

static neo_val const_data(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_var *var = &s->u.decl.var;
  neo_expr extent[NEO_MAX_AXES];
  const char *name[NEO_MAX_AXES];
  neo_ends ends;
  uint32_t n;
  if (!neo_extents_eval(in, &var->axes, &n, extent, name) ||
      !neo_type_ends(in, declared_frame(in, extent, name, n, var->span), &var->type, &ends))
    return neo_val_poison();
  return neo_const_data(in, s, extent, n, &ends);
}

static void declare_const(neo_inst *in, const neo_ast_stmt *s) {
  const neo_ast_name *name = &s->u.decl.var.name;
  neo_val v = s->u.decl.literal ? const_data(in, s)
                                : neo_declared_value(in, &s->u.decl.var, s->u.decl.value,
                                                     neo_inst_full(in, name->text));
  if (v.kind == NEO_VAL_POISON)
    neo_scope_poison(in, name);
  else
    neo_scope_add(
        in, in->scope,
        (neo_sym){.kind = NEO_SYM_VALUE, .name = name->text, .span = name->span, .value = v});
}

/* ---- update */

static void update_one(neo_inst *in, const neo_ast_bind *b) {
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_expr extent[NEO_MAX_RANK];
  int64_t outer[NEO_MAX_ITERATIONS];
  neo_view v;
  if (!neo_update_target(in, &b->var, &v) || !neo_fe_spend(in->fe, in, b->span))
    return;
  if (in->once) {
    neo_update_once(in, b);
    return;
  }
  if (in->n_ambient) {
    NEO_ERR(in, b->span, UPDATE_AMBIENT, b->var.name.text);
    return;
  }
  const char *full = neo_name_text(in->fe->names, neo_tensor_at(in->fe->m, v.tensor)->name);
  neo_frame_init(f, in, full);
  for (uint32_t k = 0; k < v.rank; k++)
    extent[k] = neo_view_extent(in->fe, &v, k);
  if (!neo_update_pack(f, &b->var, &v) || !neo_define_axes(f, &b->var, b->value, extent))
    return;
  neo_expr e = neo_update_value(f, b, v.tensor,
                                neo_check_typed(f, b->value, neo_tensor_type(in->fe->m, v.tensor)));
  if (!e.i)
    return;
  uint32_t n_outer = v.n - v.rank;
  for (uint32_t k = 0; k < n_outer; k++)
    outer[k] = in->iteration[k].at;
  neo_tensor u = neo_update_tensor(in, v.tensor, &b->var, n_outer);
  if (u.i)
    neo_define_piece(f, u, e, b->value->span, true, outer, n_outer);
}

static void check_update(neo_inst *in, const neo_ast_stmt *s) {
  for (uint32_t k = 0; k < s->u.binds.n; k++)
    update_one(in, &s->u.binds.at[k]);
}

void neo_check_declaration(neo_inst *in, const neo_ast_stmt *s) {
  switch (s->kind) {
  case NEO_AST_DIM:
    declare_dim(in, s);
    break;
  case NEO_AST_ASSERT:
    check_assert(in, s);
    break;
  case NEO_AST_INPUT:
    declare_input(in, s);
    break;
  case NEO_AST_CONST:
    declare_const(in, s);
    break;
  case NEO_AST_UPDATE:
    check_update(in, s);
    break;
  default: /* param, state */
    declare_owned(in, s);
  }
}
