/* Parameters: sizes, packs, types and bounds of a signature against the arguments of one call.
 *
 * A size in a parameter is a new name. Where it stands alone, its first use binds it and later ones
 * check; an expression with one unknown (G*C) is solved for it, after all that stand alone. Options
 * that are given come first, so that sizes may use them; defaults may use sizes. */
#include "frontend/check/check.h"
#include "frontend/sema/signature.h"

/* ---- options */

/* The value in the type that the option has; the value itself where none is written. A number that is written has to
 * fit the type, and stays one that is known. */
static bool in_type(neo_binding *b, const neo_ast_option *o, neo_span at, neo_val *v) {
  neo_type type = neo_declared_type(b->in, &o->type);
  if (!o->type.given || v->kind == NEO_VAL_POISON)
    return v->kind != NEO_VAL_POISON;
  neo_frame *f = NEO_NEW(b->in->fe->arena, neo_frame);
  neo_frame_init(f, b->in, "");
  if (v->kind == NEO_VAL_LIT)
    return neo_val_as(f, at, *v, type).i != 0;
  *v = neo_val_expr(neo_cast(f->m, type, v->e));
  return true;
}

static bool bind_default(neo_binding *b, const neo_ast_option *o) {
  neo_frame *f = NEO_NEW(b->in->fe->arena, neo_frame);
  neo_frame_init(f, b->in, b->in->prefix);
  f->n_axes = f->n_out = 0;
  f->sizes_only = b->in->trainee == NULL;
  neo_val v = neo_val_known(f, neo_check_expr(f, o->value));
  if (!in_type(b, o, o->value->span, &v))
    return false;
  neo_param_bind(b->in, &o->name, v);
  return true;
}

static bool bind_options(neo_binding *b, bool literals) {
  bool ok = true;
  for (uint32_t k = 0; k < b->sig->options.n; k++) {
    const neo_ast_option *o = &b->sig->options.at[k];
    bool given = b->option_span[k] != 0;
    bool early = given || (o->value && neo_ast_is_literal(o->value));
    if (early != literals)
      continue;
    neo_val v = given ? b->option[k] : neo_val_poison();
    if (given) {
      ok = in_type(b, o, b->option_span[k], &v) && ok;
      neo_param_bind(b->in, &o->name, v);
    } else if (o->value) {
      ok = bind_default(b, o) && ok;
    } else {
      NEO_ERR(b->at, b->in->call, OPTION_REQUIRED, b->sig->name.text, o->name.text);
      ok = false;
    }
  }
  return ok;
}

/* ---- sizes */

static bool check_size(neo_binding *b, const neo_pending *p) {
  neo_expr want = neo_size_eval(b->in, p->e);
  if (!want.i)
    return false;
  return neo_size_equal(b->in->fe, want, p->extent) ||
         neo_param_extent_differs(b, p->param, p->dim, p->e, want, p->extent);
}

static bool bind_size(neo_binding *b, const neo_pending *p) {
  if (!neo_ast_is_bare(p->e)) {
    NEO_PUSH(b->in->fe->arena, &b->later, *p);
    return true;
  }
  const neo_ast_name *name = &p->e->u.ref.path.at[0];
  if (neo_scope_own(b->in->scope, name->text))
    return check_size(b, p);
  neo_param_bind(b->in, name, neo_val_index(p->extent));
  return true;
}

/* Solves what has one unknown until nothing is left. */
static bool solve_sizes(neo_binding *b) {
  bool ok = true;
  for (size_t left = b->later.n; left > 0;) {
    size_t before = left;
    for (size_t k = 0; k < b->later.n; k++) {
      neo_pending *p = &b->later.at[k];
      neo_expr value;
      if (!p->e)
        continue;
      neo_unknowns u = neo_param_unknowns(b->in->scope, p->e);
      if (u.n > 1)
        continue;
      if (u.n == 0) {
        ok = check_size(b, p) && ok;
      } else if (neo_size_solve(b->in, p->e, u.name, p->extent, &value)) {
        neo_param_bind(b->in, u.name, neo_val_index(value));
      } else {
        ok = false;
        neo_scope_poison(b->in, u.name);
      }
      p->e = NULL;
      left--;
    }
    if (left < before)
      continue;
    for (size_t k = 0; k < b->later.n; k++)
      if (b->later.at[k].e)
        NEO_ERR(b->in, b->later.at[k].e->span, SIZES_UNKNOWN, "two");
    return false;
  }
  return ok;
}

static bool bind_shape(neo_binding *b, uint32_t param) {
  const neo_ast_var *var = &b->sig->params.at[param];
  const neo_val *v = &b->actual->at[param];
  neo_view none = {0};
  const neo_view *view = v->kind == NEO_VAL_VIEW ? &v->view : &none;
  uint32_t d = 0;
  bool ok = true;
  if (!neo_param_rank(b, param, view->rank))
    return false;
  for (uint32_t k = 0; k < var->axes.n; k++) {
    const neo_ast_axis *a = &var->axes.at[k];
    if (a->kind == NEO_AST_PACK) {
      uint32_t n = view->rank + 1 - var->axes.n;
      neo_param_pack(b, view, param, d, n);
      d += n;
      continue;
    }
    neo_expr extent = neo_view_extent(b->in->fe, view, d);
    if (a->hi && a->hi_rel == NEO_AST_REL_LE)
      extent = neo_size_add1(b->in->fe, extent, -1);
    if (a->hi)
      ok = bind_size(b, &(neo_pending){a->hi, extent, param, d}) && ok;
    d++;
  }
  return ok;
}

/* ---- bounds */

/* A frame whose output axes are the free dimensions of the argument, with the names that the parameter
 * gives them; *e its element there, 0 after a report. */
static neo_frame *argument_frame(neo_binding *b, const neo_ast_var *var, const neo_val *v,
                                 neo_expr *e) {
  neo_frame *f = neo_element_frame(b->in, v, b->in->prefix, var->span, e);
  uint32_t d = f->in->n_ambient;
  for (uint32_t k = 0; e->i && k < var->axes.n && d < f->n_out; k++) {
    if (var->axes.at[k].kind == NEO_AST_PACK)
      d += f->n_out - f->in->n_ambient + 1 - var->axes.n;
    else
      f->axis_name[d++] = var->axes.at[k].name.text;
  }
  return f;
}

/* Bounds with a lower end, or over the indices of the parameter. */
static bool check_ends(neo_binding *b, uint32_t param, const neo_val *v) {
  const neo_ast_var *var = &b->sig->params.at[param];
  neo_expr e;
  neo_ends ends;
  neo_frame *f = argument_frame(b, var, v, &e);
  if (!e.i || !neo_type_ends(b->in, f, &var->type, &ends))
    return false;
  if (!ends.least.i)
    return neo_param_bound_holds(b, param, neo_param_bound(b, v), ends.bound);
  if (neo_ends_hold(f, e, &ends))
    return true;
  int h = NEO_ERR(b->at, b->actual->span[param], ENDS_NOT_PROVED, var->name.text);
  neo_diag_range(f->fe->diags, h, var->type.span);
  return false;
}

static bool check_bound(neo_binding *b, uint32_t param, const neo_val *v) {
  const neo_ast_var *var = &b->sig->params.at[param];
  if (!var->type.given || (var->type.rel == NEO_AST_REL_NONE && !var->type.lo))
    return true;
  if (var->type.lo)
    return check_ends(b, param, v);
  neo_expr have = neo_param_bound(b, v);
  if (have.i && neo_ast_is_bare(var->type.bound) && var->type.rel == NEO_AST_REL_LT &&
      !neo_scope_own(b->in->scope, var->type.bound->u.ref.path.at[0].text)) {
    neo_param_bind(b->in, &var->type.bound->u.ref.path.at[0], neo_val_index(have));
    return true;
  }
  return check_ends(b, param, v);
}

bool neo_params_bind(neo_inst *in, const neo_ast_sig *sig, const neo_actuals *actual,
                     const neo_val *option, const neo_span *option_span) {
  neo_binding b = {.in = in,
                   .at = in->caller ? in->caller : in,
                   .sig = sig,
                   .actual = actual,
                   .option = option,
                   .option_span = option_span};
  bool ok = bind_options(&b, true);
  for (uint32_t k = 0; k < sig->params.n; k++)
    ok = bind_shape(&b, k) && ok;
  if (!ok || !bind_options(&b, false) || !solve_sizes(&b))
    return false;
  for (uint32_t k = 0; k < sig->params.n; k++) {
    neo_val v = actual->at[k];
    if (!neo_param_type(&b, k, &v) || !check_bound(&b, k, &v))
      ok = false;
    else
      neo_param_bind(in, &sig->params.at[k].name, v);
  }
  return ok;
}
