/* Parameters: sizes, packs, types and bounds of a signature against the arguments of one call.
 *
 * A size in a parameter is a new name. Where it stands alone, its first use binds it and later ones
 * check; an expression with one unknown (G*C) is solved for it, after all that stand alone. Options
 * that are given come first, so that sizes may use them; defaults may use sizes. */
#include "frontend/check.h"

typedef struct {
  const neo_ast_expr *e;
  neo_expr extent;
  uint32_t param, dim;
} pending;

typedef struct {
  neo_inst *in;
  const neo_inst *at; /* whom messages about arguments are for */
  const neo_ast_sig *sig;
  const neo_actuals *actual;
  const neo_val *option;
  const neo_span *option_span;
  NEO_VEC(pending) later;
} binding;

static bool is_name(const neo_ast_expr *e) {
  return e && e->kind == NEO_AST_REF && e->u.ref.path.n == 1 && !e->u.ref.has_args &&
         !e->u.ref.has_subs;
}

static void bind_value(neo_inst *in, const neo_ast_name *name, neo_val v) {
  neo_scope_add(
      in, in->scope,
      (neo_sym){.kind = NEO_SYM_VALUE, .name = name->text, .span = name->span, .value = v});
}

/* ---- options */

static bool is_literal(const neo_ast_expr *e) {
  if (e->kind == NEO_AST_UNARY)
    e = e->u.unary.x;
  return e->kind == NEO_AST_NUMBER || e->kind == NEO_AST_BOOL;
}

static bool bind_default(binding *b, const neo_ast_option *o) {
  neo_frame *f = NEO_NEW(b->in->fe->arena, neo_frame);
  neo_frame_init(f, b->in, b->in->prefix);
  f->n_axes = f->n_out = 0;
  f->sizes_only = b->in->trainee == NULL;
  neo_val v = neo_val_known(f, neo_check_expr(f, o->value));
  if (v.kind == NEO_VAL_POISON)
    return false;
  bind_value(b->in, &o->name, v);
  return true;
}

static bool bind_options(binding *b, bool literals) {
  bool ok = true;
  for (uint32_t k = 0; k < b->sig->options.n; k++) {
    const neo_ast_option *o = &b->sig->options.at[k];
    bool given = b->option_span[k] != 0;
    bool early = given || (o->value && is_literal(o->value));
    if (early != literals)
      continue;
    if (given) {
      bind_value(b->in, &o->name, b->option[k]);
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

static bool extent_differs(binding *b, uint32_t param, uint32_t dim, const neo_ast_expr *e,
                           neo_expr want, neo_expr have) {
  neo_fe *fe = b->in->fe;
  size_t n = 0;
  const char *text = neo_span_bytes(neo_diags_sources(fe->diags), e->span, &n);
  int h = NEO_ERR(b->at, b->actual->span[param], ARGUMENT_EXTENT, (int)dim, neo_size_text(fe, have),
                  b->sig->name.text, (int)n, text, neo_size_text(fe, want));
  neo_fe_note_place(
      fe, h, neo_arena_printf(fe->arena, "'%s' is declared", b->sig->params.at[param].name.text),
      e->span);
  return false;
}

static bool check_size(binding *b, const pending *p) {
  neo_expr want = neo_size_eval(b->in, p->e);
  if (!want.i)
    return false;
  return neo_size_equal(b->in->fe, want, p->extent) ||
         extent_differs(b, p->param, p->dim, p->e, want, p->extent);
}

static bool bind_size(binding *b, const pending *p) {
  if (!is_name(p->e)) {
    NEO_PUSH(b->in->fe->arena, &b->later, *p);
    return true;
  }
  const neo_ast_name *name = &p->e->u.ref.path.at[0];
  if (neo_scope_own(b->in->scope, name->text))
    return check_size(b, p);
  bind_value(b->in, name, neo_val_index(p->extent));
  return true;
}

typedef struct {
  const neo_scope *scope;
  const neo_ast_name *unknown;
  uint32_t n;
} unknowns;

static void look_unknown(void *ctx, const neo_ast_expr *e) {
  unknowns *u = ctx;
  if (is_name(e) && !neo_scope_own(u->scope, e->u.ref.path.at[0].text)) {
    if (!u->unknown || u->unknown->text != e->u.ref.path.at[0].text)
      u->n++;
    u->unknown = &e->u.ref.path.at[0];
  }
  neo_ast_children(e, look_unknown, ctx);
}

/* Solves what has one unknown until nothing is left. */
static bool solve_sizes(binding *b) {
  bool ok = true;
  for (size_t left = b->later.n; left > 0;) {
    size_t before = left;
    for (size_t k = 0; k < b->later.n; k++) {
      pending *p = &b->later.at[k];
      unknowns u = {b->in->scope, NULL, 0};
      neo_expr value;
      if (!p->e)
        continue;
      look_unknown(&u, p->e);
      if (u.n > 1)
        continue;
      if (u.n == 0) {
        ok = check_size(b, p) && ok;
      } else if (neo_size_solve(b->in, p->e, u.unknown, p->extent, &value)) {
        bind_value(b->in, u.unknown, neo_val_index(value));
      } else {
        ok = false;
        neo_scope_poison(b->in, u.unknown);
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

static bool bind_pack(binding *b, const neo_view *v, uint32_t param, uint32_t first, uint32_t n) {
  neo_inst *in = b->in;
  bool same = !in->has_pack || in->n_pack == n;
  for (uint32_t k = 0; k < n; k++) {
    neo_expr extent = neo_view_extent(in->fe, v, first + k);
    if (!in->has_pack)
      in->pack[k] = extent;
    else
      same = same && neo_size_equal(in->fe, in->pack[k], extent);
  }
  if (!in->has_pack)
    in->n_pack = n;
  in->has_pack = true;
  if (!same)
    NEO_ERR(b->at, b->actual->span[param], ARGUMENT_PACK, b->sig->name.text);
  return same;
}

static bool bind_shape(binding *b, uint32_t param) {
  const neo_ast_var *var = &b->sig->params.at[param];
  const neo_val *v = &b->actual->at[param];
  neo_view none = {0};
  const neo_view *view = v->kind == NEO_VAL_VIEW ? &v->view : &none;
  uint32_t packs = 0, d = 0;
  bool ok = true;
  for (uint32_t k = 0; k < var->axes.n; k++)
    packs += var->axes.at[k].kind == NEO_AST_PACK;
  if (packs > 1 || (packs ? view->rank + 1 < var->axes.n : view->rank != var->axes.n)) {
    int h = NEO_ERR(b->at, b->actual->span[param], ARGUMENT_RANK, b->sig->name.text, var->name.text,
                    (int)(var->axes.n - packs), packs ? " or more" : "", (int)view->rank);
    neo_fe_note_place(b->in->fe, h,
                      neo_arena_printf(b->in->fe->arena, "'%s' is declared", var->name.text),
                      var->span);
    return false;
  }
  for (uint32_t k = 0; k < var->axes.n; k++) {
    const neo_ast_axis *a = &var->axes.at[k];
    if (a->kind == NEO_AST_PACK) {
      uint32_t n = view->rank + 1 - var->axes.n;
      ok = bind_pack(b, view, param, d, n) && ok;
      d += n;
      continue;
    }
    neo_expr extent = neo_view_extent(b->in->fe, view, d);
    if (a->hi && a->hi_rel == NEO_AST_REL_LE)
      extent = neo_size_add1(b->in->fe, extent, -1);
    if (a->hi)
      ok = bind_size(b, &(pending){a->hi, extent, param, d}) && ok;
    d++;
  }
  return ok;
}

/* ---- types and bounds */

static bool check_type(binding *b, uint32_t param, neo_val *v) {
  neo_fe *fe = b->in->fe;
  const neo_ast_var *var = &b->sig->params.at[param];
  neo_frame *f = NEO_NEW(fe->arena, neo_frame);
  if (!var->type.given)
    return true;
  neo_frame_init(f, (neo_inst *)b->at, "");
  if (v->kind == NEO_VAL_LIT) {
    *v = neo_val_expr(neo_val_as(f, b->actual->span[param], *v, var->type.type));
    return v->kind != NEO_VAL_POISON;
  }
  neo_type t = v->kind == NEO_VAL_VIEW ? (neo_type)neo_tensor_at(fe->m, v->view.tensor)->type
                                       : neo_expr_type(fe->m, v->e);
  if (t == var->type.type)
    return true;
  NEO_ERR(b->at, b->actual->span[param], ARGUMENT_TYPE, neo_type_text(t), b->sig->name.text,
          var->name.text, neo_type_text(var->type.type));
  return false;
}

static neo_expr bound_of(binding *b, const neo_val *v) {
  neo_frame *f = NEO_NEW(b->in->fe->arena, neo_frame);
  neo_frame_init(f, b->in, "");
  if (v->kind == NEO_VAL_VIEW)
    return neo_tensor_at(f->m, v->view.tensor)->bound;
  return v->kind == NEO_VAL_EXPR ? neo_expr_bound(f, v->e) : (neo_expr){0};
}

static bool check_bound(binding *b, uint32_t param, const neo_val *v) {
  const neo_ast_var *var = &b->sig->params.at[param];
  neo_fe *fe = b->in->fe;
  neo_expr want;
  if (!var->type.given || var->type.rel == NEO_AST_REL_NONE)
    return true;
  neo_expr have = bound_of(b, v);
  if (have.i && is_name(var->type.bound) && var->type.rel == NEO_AST_REL_LT &&
      !neo_scope_own(b->in->scope, var->type.bound->u.ref.path.at[0].text)) {
    bind_value(b->in, &var->type.bound->u.ref.path.at[0], neo_val_index(have));
    return true;
  }
  if (!neo_type_eval(b->in, &var->type, &want))
    return false;
  neo_facts facts = {NULL, 0, fe->asserts.at, (uint32_t)fe->asserts.n};
  if (have.i &&
      (neo_size_equal(fe, have, want) ||
       neo_prove(fe->prover, &facts, neo_op2(fe->m, NEO_OP_LE, have, want), NULL) == NEO_PROVED))
    return true;
  int h = NEO_ERR(b->at, b->actual->span[param], ARGUMENT_BOUND, b->sig->name.text,
                  neo_size_text(fe, want));
  if (have.i)
    neo_diag_note(fe->diags, h, "they are known to be less than %s", neo_size_text(fe, have));
  else
    neo_diag_help(fe->diags, h, "declare the bound, as in ': i32 < %s'", neo_size_text(fe, want));
  return false;
}

bool neo_params_bind(neo_inst *in, const neo_ast_sig *sig, const neo_actuals *actual,
                     const neo_val *option, const neo_span *option_span) {
  binding b = {.in = in,
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
    if (!check_type(&b, k, &v) || !check_bound(&b, k, &v))
      ok = false;
    else
      bind_value(in, &sig->params.at[k].name, v);
  }
  return ok;
}
