/* A signature against the arguments of one call, as far as no size has to be evaluated for it. */
#include "frontend/sema/signature.h"
#include "frontend/sema/parts.h"
#include <string.h>

void neo_param_bind(neo_inst *in, const neo_ast_name *name, neo_val v) {
  neo_scope_add(
      in, in->scope,
      (neo_sym){.kind = NEO_SYM_VALUE, .name = name->text, .span = name->span, .value = v});
}

/* ---- options */

bool neo_ast_is_literal(const neo_ast_expr *e) {
  if (e->kind == NEO_AST_UNARY)
    e = e->u.unary.x;
  return e->kind == NEO_AST_NUMBER || e->kind == NEO_AST_BOOL;
}

int neo_option_index(const neo_ast_sig *sig, const char *name) {
  for (uint32_t k = 0; k < sig->options.n; k++)
    if (sig->options.at[k].name.text == name)
      return (int)k;
  return -1;
}

static const char *option_names(neo_fe *fe, const neo_ast_sig *sig) {
  neo_str text = neo_str_in(fe->arena);
  for (uint32_t k = 0; k < sig->options.n; k++)
    neo_str_addf(&text, "%s%s", k ? ", " : "", sig->options.at[k].name.text);
  return neo_str_text(&text);
}

void neo_option_unknown(neo_frame *f, const neo_ast_sig *sig, const neo_ast_arg *arg) {
  const char *best = NULL;
  int h = NEO_ERR(f->in, arg->name.span, OPTION_UNKNOWN, sig->name.text, arg->name.text);
  for (uint32_t k = 0, d = 3; k < sig->options.n; k++) {
    uint32_t x = (uint32_t)neo_str_distance(arg->name.text, sig->options.at[k].name.text, 2);
    if (x < d) {
      d = x;
      best = sig->options.at[k].name.text;
    }
  }
  if (best)
    neo_diag_help(f->fe->diags, h, "did you mean '%s'?", best);
  else if (sig->options.n)
    neo_diag_help(f->fe->diags, h, "it has %s", option_names(f->fe, sig));
  else
    neo_diag_help(f->fe->diags, h,
                  "it has none; a function's signature says which dimensions it works along: "
                  "f(x[.., D]) by the last one");
}

/* ---- shapes */

bool neo_param_extent_differs(neo_binding *b, uint32_t param, uint32_t dim, const neo_ast_expr *e,
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

typedef struct {
  const neo_scope *scope;
  neo_unknowns found;
} unknown_look;

static void look_unknown(void *ctx, const neo_ast_expr *e) {
  unknown_look *u = ctx;
  if (neo_ast_is_bare(e) && !neo_scope_own(u->scope, e->u.ref.path.at[0].text)) {
    if (!u->found.name || u->found.name->text != e->u.ref.path.at[0].text)
      u->found.n++;
    u->found.name = &e->u.ref.path.at[0];
  }
  neo_ast_children(e, look_unknown, ctx);
}

neo_unknowns neo_param_unknowns(const neo_scope *scope, const neo_ast_expr *e) {
  unknown_look u = {scope, {NULL, 0}};
  look_unknown(&u, e);
  return u.found;
}

void neo_param_pack(neo_binding *b, const neo_view *v, uint32_t param, uint32_t first, uint32_t n) {
  neo_inst *in = b->in;
  bool same = !in->has_pack || in->n_pack == n;
  if (in->pack_other)
    return;
  for (uint32_t k = 0; k < n; k++) {
    neo_expr extent = neo_view_extent(in->fe, v, first + k);
    if (!in->has_pack)
      in->pack[k] = extent;
    else
      same = same && neo_size_equal(in->fe, in->pack[k], extent);
  }
  if (!in->has_pack)
    in->n_pack = n;
  in->has_pack = same;
  in->pack_other = same ? 0 : b->actual->span[param];
}

bool neo_pack_differs(const neo_inst *in) {
  if (in->pack_other)
    NEO_ERR(in->caller ? in->caller : in, in->pack_other, ARGUMENT_PACK,
            in->fn ? in->fn->u.fn.sig.name.text : "");
  return in->pack_other != 0;
}

/* Adds a help text to report h for f(x[i]), where f takes a whole tensor. */
static void help_whole(const neo_binding *b, int h, neo_span at) {
  size_t n = 0;
  const char *text = neo_span_bytes(neo_diags_sources(b->in->fe->diags), at, &n);
  const char *open = text ? memchr(text, '[', n) : NULL;
  if (open && open > text && memchr(text, '(', n) == NULL && text[n - 1] == ']')
    neo_diag_help(b->in->fe->diags, h, "give '%.*s' without subscripts: %s takes a whole tensor",
                  (int)(open - text), text, b->sig->name.text);
}

bool neo_param_rank(neo_binding *b, uint32_t param, uint32_t rank) {
  const neo_ast_var *var = &b->sig->params.at[param];
  uint32_t packs = 0;
  for (uint32_t k = 0; k < var->axes.n; k++)
    packs += var->axes.at[k].kind == NEO_AST_PACK;
  if (packs <= 1 && (packs ? rank + 1 >= var->axes.n : rank == var->axes.n))
    return true;
  int h = NEO_ERR(b->at, b->actual->span[param], ARGUMENT_RANK, b->sig->name.text, var->name.text,
                  (int)(var->axes.n - packs), packs ? " or more" : "", (int)rank);
  neo_fe_note_place(b->in->fe, h,
                    neo_arena_printf(b->in->fe->arena, "'%s' is declared", var->name.text),
                    var->span);
  if (rank + packs < var->axes.n)
    help_whole(b, h, b->actual->span[param]);
  if (b->in->fn && b->in->fn->kind == NEO_AST_VERTEX && rank + 1 == var->axes.n)
    neo_diag_help(b->in->fe->diags, h,
                  "a vertex function takes the row of one vertex: the dimension of the vertices is "
                  "left out of '%s[...]'",
                  var->name.text);
  return false;
}

/* ---- types and bounds */

/* The parameter that gave a type variable its type in this call; null: the type is no such
 * variable. */
static const char *type_binder(const neo_inst *in, const neo_ast_type *t) {
  const neo_sym *s = t->variable.text ? neo_scope_find(in->scope, t->variable.text) : NULL;
  return s && s->kind == NEO_SYM_TYPE ? s->binder : NULL;
}

bool neo_param_type(neo_binding *b, uint32_t param, neo_val *v) {
  neo_fe *fe = b->in->fe;
  const neo_ast_var *var = &b->sig->params.at[param];
  neo_frame *f = NEO_NEW(fe->arena, neo_frame);
  if (!var->type.given)
    return true;
  neo_frame_init(f, (neo_inst *)b->at, "");
  neo_type want = neo_type_written(b->in, &var->type);
  if (v->kind == NEO_VAL_LIT) {
    *v = neo_val_expr(neo_val_as(f, b->actual->span[param], *v, want));
    return v->kind != NEO_VAL_POISON;
  }
  neo_type t =
      v->kind == NEO_VAL_VIEW ? neo_tensor_type(fe->m, v->view.tensor) : neo_expr_type(fe->m, v->e);
  if (t == want)
    return true;
  int h = NEO_ERR(b->at, b->actual->span[param], ARGUMENT_TYPE, neo_type_text(t), b->sig->name.text,
                  var->name.text, neo_type_text(want));
  const char *binder = type_binder(b->in, &var->type);
  if (binder)
    neo_diag_note(fe->diags, h, "'%s' is the type of '%s'", var->type.variable.text, binder);
  return false;
}

neo_expr neo_param_bound(neo_binding *b, const neo_val *v) {
  neo_frame *f = NEO_NEW(b->in->fe->arena, neo_frame);
  neo_frame_init(f, b->in, "");
  if (v->kind == NEO_VAL_VIEW)
    return neo_tensor_at(f->m, v->view.tensor)->bound;
  return v->kind == NEO_VAL_EXPR ? neo_expr_bound(f, v->e) : (neo_expr){0};
}

bool neo_param_bound_holds(neo_binding *b, uint32_t param, neo_expr have, neo_expr want) {
  neo_fe *fe = b->in->fe;
  neo_facts facts = {NULL, 0, fe->asserts.at, (uint32_t)fe->asserts.n};
  if (have.i && (neo_size_equal(fe, have, want) ||
                 neo_proves(fe->prover, &facts, neo_op2(fe->m, NEO_OP_LE, have, want))))
    return true;
  int h = NEO_ERR(b->at, b->actual->span[param], ARGUMENT_BOUND, b->sig->name.text,
                  neo_size_text(fe, want));
  if (have.i)
    neo_diag_note(fe->diags, h, "they are known to be less than %s", neo_size_text(fe, have));
  else
    neo_diag_help(fe->diags, h, "declare the bound, as in ': i32 < %s'", neo_size_text(fe, want));
  return false;
}
