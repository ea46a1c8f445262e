/* Type variables of a signature: the type that each one stands for in a call.
 *
 *     fn linear(x[.., I] : real; out) -> y { param W[I, out] : real = glorot(I, out) ... }
 *
 * The first argument with an element type binds the variable of its parameter; a literal has no
 * type. A variable that no argument binds has the type of the first given option with that variable
 * whose value has a type, else f32. Its symbol is in the scope of the parameters, so that a block
 * sees it like a size; nothing in the function hides it (scope.c). */
#include "frontend/sema/parts.h"

static bool type_of(const neo_fe *fe, const neo_val *v, neo_type *t) {
  if (v->kind == NEO_VAL_VIEW)
    *t = neo_tensor_type(fe->m, v->view.tensor);
  else if (v->kind == NEO_VAL_EXPR)
    *t = neo_expr_type(fe->m, v->e);
  return v->kind == NEO_VAL_VIEW || v->kind == NEO_VAL_EXPR;
}

static void bind(neo_inst *in, const neo_ast_type *type, neo_type t, const neo_ast_name *by) {
  if (!type->variable.text || neo_scope_own(in->scope, type->variable.text))
    return;
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_TYPE,
                          .name = type->variable.text,
                          .span = type->variable.span,
                          .type = t,
                          .binder = by ? by->text : NULL});
}

void neo_types_bind(neo_inst *in, const neo_ast_sig *sig, const neo_actuals *actual,
                    const neo_val *option) {
  neo_type t;
  for (uint32_t k = 0; k < sig->params.n && k < actual->n; k++) {
    const neo_ast_var *var = &sig->params.at[k];
    if (!var->type.wide && type_of(in->fe, &actual->at[k], &t))
      bind(in, &var->type, t, &var->name);
  }
  for (uint32_t k = 0; k < sig->options.n; k++) {
    const neo_ast_option *o = &sig->options.at[k];
    if (!o->type.wide && type_of(in->fe, &option[k], &t))
      bind(in, &o->type, t, &o->name);
  }
  for (uint32_t k = 0; k < sig->params.n; k++)
    bind(in, &sig->params.at[k].type, NEO_F32_T, NULL);
  for (uint32_t k = 0; k < sig->options.n; k++)
    bind(in, &sig->options.at[k].type, NEO_F32_T, NULL);
}

neo_type neo_type_written(const neo_inst *in, const neo_ast_type *t) {
  if (!t->variable.text)
    return t->type;
  const neo_sym *s = neo_scope_find(in->scope, t->variable.text);
  neo_type bound = s && s->kind == NEO_SYM_TYPE ? s->type : NEO_F32_T;
  return t->wide ? neo_type_wide(bound) : bound;
}

neo_type neo_declared_type(const neo_inst *in, const neo_ast_type *t) {
  return t->given ? neo_type_written(in, t) : NEO_F32_T;
}
