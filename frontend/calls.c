/* Calls of functions: each is checked anew, with the ranks, types and sizes of its arguments.
 *
 *     y[i] = hswish(x[i])
 *
 * is checked with i as an ambient axis: what hswish defines has a dimension for it, and is read
 * back at [i].
 *
 * Ambient axes are rectangles, and the conditions around the call do not hold inside it. So a read
 * in an argument that is in range only under them becomes a guarded read: what it gives elsewhere
 * is never used. */
#include "frontend/check.h"

/* ---- who is called */

bool neo_call_is(neo_inst *in, const neo_ast_expr *e, neo_sym **fn) {
  *fn = NULL;
  if (e->kind != NEO_AST_REF || !e->u.ref.has_args)
    return false;
  neo_sym *s = neo_path_find(in, &e->u.ref.path, true);
  if (!s)
    return e->u.ref.path.n == 1 && neo_streq(e->u.ref.path.at[0].text, "grad");
  *fn = s;
  return s->kind == NEO_SYM_FN || s->kind == NEO_SYM_POISON;
}

static bool recursive(neo_frame *f, const neo_ast_expr *e, const neo_sym *fn) {
  for (const neo_inst *p = f->in; p; p = p->caller)
    if (p->fn == fn->fn) {
      NEO_ERR(f->in, e->u.ref.path.span, RECURSION, fn->name);
      return true;
    }
  return false;
}

/* ---- arguments and options */

static neo_val lower_actual(neo_frame *f, const neo_ast_var *param, const neo_ast_expr *arg) {
  uint32_t subscript = f->subscript;
  f->subscript = 0;
  f->no_keep++;
  neo_val v = param->indexed ? neo_check_view(f, arg) : neo_check_expr(f, arg);
  f->no_keep--;
  f->subscript = subscript;
  return v;
}

static bool lower_actuals(neo_frame *f, const neo_ast_expr *e, const neo_ast_sig *sig,
                          neo_actuals *a) {
  bool ok = true;
  for (uint32_t k = 0; k < e->u.ref.args.n; k++) {
    const neo_ast_arg *arg = &e->u.ref.args.at[k];
    if (arg->name.text)
      continue;
    if (a->n < sig->params.n && a->n < NEO_MAX_RESULTS) {
      a->span[a->n] = arg->span;
      a->at[a->n] = lower_actual(f, &sig->params.at[a->n], arg->value);
      ok = ok && a->at[a->n].kind != NEO_VAL_POISON;
    }
    a->n++;
  }
  if (a->n == sig->params.n && a->n <= NEO_MAX_RESULTS)
    return ok;
  int h = NEO_ERR(f->in, e->span, ARGUMENT_COUNT, sig->name.text, (int)sig->params.n, (int)a->n);
  neo_fe_note_place(f->fe, h, neo_arena_printf(f->fe->arena, "'%s' is defined", sig->name.text),
                    sig->name.span);
  return false;
}

static int option_index(const neo_ast_sig *sig, const char *name) {
  for (uint32_t k = 0; k < sig->options.n; k++)
    if (sig->options.at[k].name.text == name)
      return (int)k;
  return -1;
}

static const char *option_names(neo_fe *fe, const neo_ast_sig *sig) {
  neo_str text;
  neo_str_init(&text, fe->arena);
  for (uint32_t k = 0; k < sig->options.n; k++)
    neo_str_addf(&text, "%s%s", k ? ", " : "", sig->options.at[k].name.text);
  return neo_str_text(&text);
}

static void option_unknown(neo_frame *f, const neo_ast_sig *sig, const neo_ast_arg *arg) {
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
}

bool neo_call_options(neo_frame *f, const neo_ast_args *args, const neo_ast_sig *sig, bool known,
                      neo_val *option, neo_span *span) {
  bool ok = true;
  for (uint32_t k = 0; k < args->n; k++) {
    const neo_ast_arg *arg = &args->at[k];
    if (!arg->name.text)
      continue;
    int o = option_index(sig, arg->name.text);
    if (o < 0 || span[o]) {
      if (o < 0)
        option_unknown(f, sig, arg);
      else
        NEO_ERR(f->in, arg->span, OPTION_TWICE, arg->name.text);
      ok = false;
      continue;
    }
    uint32_t subscript = f->subscript;
    f->subscript = 0;
    f->no_keep++;
    span[o] = arg->span;
    option[o] = neo_val_known(f, neo_check_expr(f, arg->value));
    f->no_keep--;
    f->subscript = subscript;
    ok = ok && option[o].kind != NEO_VAL_POISON;
    bool fixed = option[o].kind != NEO_VAL_EXPR || neo_size_is_pure(f->m, option[o].e);
    if (known && !fixed) {
      NEO_ERR(f->in, arg->span, OPTION_NOT_KNOWN, arg->name.text);
      ok = false;
    }
  }
  return ok;
}

/* ---- ambient axes */

typedef struct {
  neo_frame *f;
  neo_facts facts; /* the hull of the axes, and no conditions */
  neo_axis_rec axis[NEO_MAX_AXES];
  neo_expr by[NEO_MAX_AXES], back[NEO_MAX_AXES];
  bool guard;
} ambience;

static uint64_t axes_used(neo_frame *f, const neo_val *v) {
  uint64_t bits = 0;
  if (v->kind == NEO_VAL_EXPR)
    bits = neo_expr_axes(f->m, v->e);
  for (uint32_t d = 0; v->kind == NEO_VAL_VIEW && d < v->view.n; d++)
    if (v->view.index[d].i)
      bits |= neo_expr_axes(f->m, v->view.index[d]);
  return bits;
}

static bool ambient_axes(neo_frame *f, const neo_actuals *a, neo_inst *in, ambience *am) {
  uint64_t bits = 0;
  for (uint32_t k = 0; k < a->n; k++)
    bits |= axes_used(f, &a->at[k]);
  *am = (ambience){.f = f, .guard = f->assume.n > f->fe->asserts.n};
  for (uint32_t p = 0; p < f->n_axes; p++) {
    am->axis[p] = f->axis[p];
    if (!(bits >> p & 1))
      continue;
    neo_axis_rec rec = {f->axis[p].name, neo_const_int(f->m, NEO_I64_T, 0), neo_frame_hull(f, p),
                        f->axis[p].span};
    if (!rec.hi.i)
      return false;
    am->guard = am->guard || !neo_frame_is_rect(f, p);
    am->axis[p] = rec;
    am->by[p] = neo_axis_ref(f->m, in->n_ambient);
    am->back[in->n_ambient] = neo_axis_ref(f->m, p);
    in->ambient[in->n_ambient++] = rec;
  }
  am->facts = (neo_facts){am->axis, f->n_axes, f->fe->asserts.at, (uint32_t)f->fe->asserts.n};
  return true;
}

static bool in_hull(ambience *am, neo_expr index, neo_expr extent) {
  return neo_prove_index(am->f->fe->prover, &am->facts, index, extent, NULL) == NEO_PROVED;
}

static neo_expr guard_read(void *ctx, neo_module *m, neo_expr e) {
  ambience *am = ctx;
  neo_node n = *neo_expr_node(m, e);
  neo_expr index[NEO_MAX_RANK];
  bool safe = true;
  if (n.op != NEO_OP_LOAD || n.arg.n > NEO_MAX_RANK)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++) {
    index[k] = neo_list_expr(m, n.arg, k);
    safe = safe && in_hull(am, index[k], neo_tensor_extent(m, (neo_tensor){n.attr}, k));
  }
  if (safe)
    return e;
  neo_expr zero =
      n.type == NEO_BOOL_T ? neo_const_bool(m, false) : neo_const_int(m, (neo_type)n.type, 0);
  return neo_load_else(m, (neo_tensor){n.attr}, index, n.arg.n, zero, n.span);
}

static neo_expr inside(ambience *am, neo_expr index, neo_expr extent) {
  neo_module *m = am->f->m;
  if (!am->guard || in_hull(am, index, extent))
    return index;
  neo_expr last = neo_size_add1(am->f->fe, extent, -1);
  neo_expr zero = neo_const_int(m, NEO_I64_T, 0);
  return neo_op2(m, NEO_OP_MAX, neo_op2(m, NEO_OP_MIN, index, last), zero);
}

static void to_callee(ambience *am, neo_val *v) {
  neo_module *m = am->f->m;
  if (v->kind == NEO_VAL_EXPR) {
    if (am->guard)
      v->e = neo_expr_rewrite(m, v->e, guard_read, am);
    v->e = neo_expr_subst_axes(m, v->e, am->by, NEO_MAX_AXES);
  }
  for (uint32_t d = 0; v->kind == NEO_VAL_VIEW && d < v->view.n; d++)
    if (v->view.index[d].i)
      v->view.index[d] = inside(am, v->view.index[d], neo_tensor_extent(m, v->view.tensor, d));
  if (v->kind == NEO_VAL_VIEW)
    v->view = neo_view_subst(m, v->view, am->by, NEO_MAX_AXES);
}

static void to_caller(ambience *am, neo_val *v) {
  neo_module *m = am->f->m;
  if (v->kind == NEO_VAL_EXPR)
    v->e = neo_expr_subst_axes(m, v->e, am->back, NEO_MAX_AXES);
  if (v->kind == NEO_VAL_VIEW)
    v->view = neo_view_subst(m, v->view, am->back, NEO_MAX_AXES);
}

/* ---- the call */

static void collect_results(neo_inst *in, const neo_ast_stmt *fn, neo_results *r) {
  r->poison = false;
  r->n = 0;
  for (uint32_t k = 0; k < fn->u.fn.results.n && k < NEO_MAX_RESULTS; k++) {
    const neo_ast_name *name = &fn->u.fn.results.at[k];
    neo_sym *s = neo_scope_find(in->scope, name->text);
    bool value = s && s->kind == NEO_SYM_VALUE;
    if (!s || (!value && s->kind != NEO_SYM_POISON))
      NEO_ERR(in, name->span, RESULT_UNDEFINED, name->text);
    if (value)
      r->at[r->n++] = s->value;
    else
      r->poison = true;
  }
}

static neo_inst *callee(neo_frame *f, const neo_ast_expr *e, const neo_sym *fn, const char *prefix,
                        uint32_t n_names, const char *const *full) {
  const neo_ast_names *results = &fn->fn->u.fn.results;
  neo_inst *in = neo_inst_new(f->fe, neo_scope_new(f->fe, fn->scope), prefix);
  in->fn = fn->fn;
  in->call = e->span;
  in->caller = f->in;
  in->n_owned = f->fe->owned_at.n;
  in->n_rounds = f->in->n_rounds;
  for (uint32_t k = 0; k < in->n_rounds; k++)
    in->round[k] = f->in->round[k];
  for (uint32_t k = 0; k < n_names && k < results->n; k++) {
    in->result[k] = results->at[k].text;
    in->result_full[k] = full[k];
    in->n_results++;
  }
  return in;
}

static void run_body(neo_inst *in, const neo_ast_stmt *fn, neo_actuals *a, neo_results *r) {
  in->scope = neo_scope_new(in->fe, in->scope);
  neo_check_stmts(in, &fn->u.fn.block.stmts);
  collect_results(in, fn, r);
  if (fn->u.fn.has_grad && !r->poison && !neo_custom_make(in, fn, a, r))
    r->poison = true;
}

neo_results *neo_call(neo_frame *f, const neo_ast_expr *e, neo_sym *fn, const char *prefix,
                      uint32_t n_names, const char *const *full) {
  neo_results *r = NEO_NEW(f->fe->arena, neo_results);
  neo_actuals *a = NEO_NEW(f->fe->arena, neo_actuals);
  ambience *am = NEO_NEW(f->fe->arena, ambience);
  r->poison = true;
  r->prefix = prefix;
  if (fn->kind != NEO_SYM_FN || recursive(f, e, fn))
    return r;
  const neo_ast_sig *sig = &fn->fn->u.fn.sig;
  neo_val *option = NEO_NEW_ARRAY(f->fe->arena, neo_val, sig->options.n + 1);
  neo_span *span = NEO_NEW_ARRAY(f->fe->arena, neo_span, sig->options.n + 1);
  bool ok = lower_actuals(f, e, sig, a);
  ok = neo_call_options(f, &e->u.ref.args, sig, true, option, span) && ok;
  if (!ok || !neo_fe_spend(f->fe, f->in, e->span))
    return r;
  neo_inst *in = callee(f, e, fn, prefix, n_names, full);
  if (!ambient_axes(f, a, in, am))
    return r;
  for (uint32_t k = 0; k < a->n; k++)
    to_callee(am, &a->at[k]);
  if (fn->fn->u.fn.has_grad && !neo_custom_actuals(in, fn->fn, a))
    return r;
  if (!neo_params_bind(in, sig, a, option, span))
    return r;
  if (!neo_fe_enter(f->fe, f->in, e->span, NEO_CALL_DEPTH))
    return r;
  run_body(in, fn->fn, a, r);
  neo_fe_leave(f->fe, NEO_CALL_DEPTH);
  for (uint32_t k = 0; k < r->n; k++)
    to_caller(am, &r->at[k]);
  return r;
}
