/* Definitions that read themselves: their type, which has to be known before the value is checked,
 * and the order of their elements. */
#include "frontend/check/check.h"
#include "ir/component.h"
#include "ir/order.h"

/* ---- does it? */

bool neo_recur_reads(const neo_frame *f, const neo_ast_expr *e) {
  return f->self && e->kind == NEO_AST_REF && e->u.ref.path.n == 1 && !e->u.ref.has_args &&
         e->u.ref.path.at[0].text == f->self;
}

/* ---- the type, from the text */

static bool type_of(neo_frame *f, const neo_ast_expr *e, neo_type *t);

static bool type_of_either(neo_frame *f, const neo_ast_expr *a, const neo_ast_expr *b,
                           neo_type *t) {
  return type_of(f, a, t) || type_of(f, b, t);
}

/* The float type of an argument: the type of the call's result is known only after the call. */
static bool type_of_call(neo_frame *f, const neo_ast_expr *e, neo_type *t) {
  const neo_ast_args *args = &e->u.ref.args;
  for (uint32_t k = 0; k < args->n; k++)
    if (!args->at[k].name.text && type_of(f, args->at[k].value, t) && neo_type_is_float(*t))
      return true;
  return false;
}

static bool type_of_builtin(neo_frame *f, const neo_ast_expr *e, neo_type *t) {
  const neo_builtin *row = neo_builtin_called(f, e);
  const neo_ast_args *args = &e->u.ref.args;
  if (!row)
    return false;
  if (neo_builtin_is_cast(row)) {
    *t = row->to;
    return true;
  }
  if (neo_builtin_is_wide(row)) {
    bool known = args->n && type_of(f, args->at[0].value, t);
    *t = known ? neo_type_wide(*t) : *t;
    return known;
  }
  for (uint32_t k = row->op == NEO_OP_SELECT; k < args->n; k++)
    if (type_of(f, args->at[k].value, t))
      return true;
  return false;
}

static bool type_of_ref(neo_frame *f, const neo_ast_expr *e, neo_type *t) {
  neo_sym *fn;
  if (neo_recur_reads(f, e))
    return false;
  if (e->u.ref.has_args)
    return neo_call_is(f->in, e, &fn) ? type_of_call(f, e, t) : type_of_builtin(f, e, t);
  neo_sym *s = neo_path_find(f->in, &e->u.ref.path, true);
  if (!s || s->kind != NEO_SYM_VALUE)
    return false;
  if (s->value.kind == NEO_VAL_VIEW)
    *t = neo_tensor_type(f->m, s->value.view.tensor);
  else if (s->value.kind == NEO_VAL_EXPR && !s->value.index)
    *t = neo_expr_type(f->m, s->value.e);
  else
    return false;
  return true;
}

static bool type_of_reduce(neo_frame *f, const neo_ast_expr *e, neo_type *t) {
  neo_ast_reducer r = e->u.reduce.reducer;
  *t = NEO_BOOL_T;
  if (r == NEO_AST_RED_ANY || r == NEO_AST_RED_ALL)
    return true;
  *t = NEO_I32_T;
  return r == NEO_AST_RED_ARGMAX || r == NEO_AST_RED_ARGMIN || type_of(f, e->u.reduce.body, t);
}

static bool is_condition(neo_ast_op op) {
  return neo_ast_op_is_cmp(op) || op == NEO_AST_AND || op == NEO_AST_OR || op == NEO_AST_NOT;
}

static bool type_of(neo_frame *f, const neo_ast_expr *e, neo_type *t) {
  *t = NEO_BOOL_T;
  switch (e->kind) {
  case NEO_AST_BOOL:
    return true;
  case NEO_AST_REF:
    return type_of_ref(f, e, t);
  case NEO_AST_UNARY:
    return is_condition(e->u.unary.op) || type_of(f, e->u.unary.x, t);
  case NEO_AST_BINARY:
    return is_condition(e->u.binary.op) || type_of_either(f, e->u.binary.x, e->u.binary.y, t);
  case NEO_AST_GUARD:
    return type_of_either(f, e->u.guard.value, e->u.guard.fallback, t);
  case NEO_AST_REDUCE:
    return type_of_reduce(f, e, t);
  default:
    return false;
  }
}

neo_type neo_recur_type(neo_frame *f, const neo_ast_var *var, const neo_ast_expr *value) {
  neo_type t;
  if (var->type.given)
    return neo_type_written(f->in, &var->type);
  return type_of(f, value, &t) ? t : NEO_F32_T;
}

/* ---- the order */

static const char *name_of(const neo_inst *in, neo_def d) {
  const neo_module *m = in->fe->m;
  neo_tensor t = neo_def_out(m, d, 0);
  return neo_name_text(in->fe->names, neo_tensor_at(m, t)->name);
}

/* "i = 0, j = 3": the point of a definition. */
static const char *point_text(const neo_inst *in, neo_def d, const neo_witness *w) {
  const neo_module *m = in->fe->m;
  const neo_def_rec *r = neo_def_at(m, d);
  neo_str s = neo_str_in(in->fe->arena);
  for (uint32_t k = 0; k < r->axes.n && k < w->n_axes; k++)
    neo_str_addf(&s, "%s%s = %lld", k ? ", " : "",
                 neo_name_text(in->fe->names, neo_def_axis(m, r, k)->name), (long long)w->axis[k]);
  return neo_str_text(&s);
}

/* The order that a witness refutes, as text " along 'j'"; empty if only one order was possible. */
static const char *along_text(const neo_inst *in, const neo_order_failure *why) {
  const neo_module *m = in->fe->m;
  const neo_def_rec *r = neo_def_at(m, why->reader);
  neo_str s = neo_str_in(in->fe->arena);
  if (r->n_out > 1 || why->down)
    neo_str_addf(&s, " along '%s'%s",
                 neo_name_text(in->fe->names, neo_def_axis(m, r, why->axis)->name),
                 why->down ? " downwards" : "");
  return neo_str_text(&s);
}

static void report(neo_inst *in, const neo_order_failure *why) {
  const neo_module *m = in->fe->m;
  neo_span at = neo_expr_node(m, why->read)->span;
  const char *read = neo_name_text(
      in->fe->names, neo_tensor_at(m, (neo_tensor){neo_expr_node(m, why->read)->attr})->name);
  int h = NEO_ERR(in, at ? at : neo_def_at(m, why->reader)->span, NO_ORDER, read,
                  name_of(in, why->reader));
  if (why->refuted && why->at.n_axes)
    neo_diag_note(in->fe->diags, h, "the element at %s needs one that does not come earlier%s",
                  point_text(in, why->reader, &why->at), along_text(in, why));
  neo_diag_help(
      in->fe->diags, h,
      "an index that stands on the left is less by at least one here (or greater, in every "
      "read); a bound or a condition around the read may say so");
}

/* Whether the recurrence with this number has an order; reports one that has none. */
static bool has_order(neo_inst *in, const uint32_t *numbers, uint32_t number) {
  neo_arena *a = in->fe->arena;
  neo_order_step loop;
  neo_order_failure why;
  size_t n;
  const neo_def *own = neo_recurrence_members(numbers, (uint32_t)in->fe->m->defs.n, number, a, &n);
  if (neo_list_order_find(in->fe->prover, own, n, a, &loop, &why))
    return true;
  report(in, &why);
  return false;
}

bool neo_recur_check(neo_inst *in, const neo_tensor *t, size_t n_tensors) {
  neo_module *m = in->fe->m;
  neo_arena *a = in->fe->arena;
  neo_def *defs;
  uint32_t *numbers = NEO_NEW_ARRAY(a, uint32_t, m->defs.n);
  size_t n = neo_module_topo(m, t, n_tensors, a, &defs, NULL);
  bool *done = NEO_NEW_ARRAY(a, bool, neo_recurrences(m, defs, n, a, numbers) + 1);
  for (size_t k = 0; k < n_tensors; k++) {
    uint32_t number = numbers[neo_tensor_piece(m, t[k], 0).i];
    if (number && !done[number] && !has_order(in, numbers, number))
      return false;
    done[number] = true;
  }
  return true;
}
