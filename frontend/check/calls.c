/* Calls of functions: each call is checked anew, with the ranks, types and sizes of its arguments.
 *
 *     y[i] = hswish(x[i])
 *
 * is checked with i as an ambient axis: each tensor that hswish defines has a dimension for it, and
 * is read at [i] by the caller.
 *
 * Parameters are bound first: sizes, packs, types and bounds of the signature are matched with the
 * arguments. A size in a parameter is a new name. If the size is an extent by itself, its first use
 * binds it, and later ones check it; an expression with one unknown (G*C) is solved for it, after
 * all extents that are names. Given options come first, so that sizes may use them; defaults may
 * use sizes. */
#include "frontend/check/check.h"
#include "frontend/sema/ambient.h"
#include "frontend/sema/signature.h"
#include "frontend/sema/vertices.h"

static bool recursive(neo_frame *f, const neo_ast_expr *e, const neo_sym *fn) {
  for (const neo_inst *p = f->in; p; p = p->caller)
    if (p->fn == fn->fn) {
      NEO_ERR(f->in, e->u.ref.path.span, RECURSION, fn->name);
      return true;
    }
  return false;
}

/* Whether the argument is a whole tensor: in a vertex function it may be given for a scalar of each
 * vertex. */
static bool is_tensor(neo_frame *f, const neo_ast_expr *arg) {
  const neo_sym *s = neo_ast_is_bare(arg) ? neo_path_find(f->in, &arg->u.ref.path, false) : NULL;
  return s && s->kind == NEO_SYM_VALUE && s->value.kind == NEO_VAL_VIEW && s->value.view.rank;
}

static neo_val check_actual(neo_frame *f, bool indexed, bool vertex, const neo_ast_expr *arg) {
  uint32_t subscript = f->subscript;
  f->subscript = 0;
  f->must_hoist++;
  bool whole = indexed || (vertex && is_tensor(f, arg));
  neo_val v = whole ? neo_check_view(f, arg) : neo_check_expr(f, arg);
  f->must_hoist--;
  f->subscript = subscript;
  return v;
}

bool neo_call_arguments(neo_frame *f, const neo_ast_args *args, neo_span call,
                        const neo_ast_sig *sig, bool vertex, neo_actuals *a) {
  const size_t given = a->n;
  bool ok = true;
  a->at = NEO_NEW_ARRAY(f->fe->arena, neo_val, sig->params.n + 1);
  a->span = NEO_NEW_ARRAY(f->fe->arena, neo_span, sig->params.n + 1);
  for (uint32_t k = 0; k < args->n; k++) {
    const neo_ast_arg *arg = &args->at[k];
    if (arg->name.text)
      continue;
    if (a->n < sig->params.n) {
      a->span[a->n] = arg->span;
      a->at[a->n] = check_actual(f, sig->params.at[a->n].indexed, vertex, arg->value);
      ok = ok && a->at[a->n].kind != NEO_VAL_POISON;
    }
    a->n++;
  }
  if (a->n == sig->params.n)
    return ok;
  int h = NEO_ERR(f->in, call, ARGUMENT_COUNT, sig->name.text, (int)(sig->params.n - given),
                  (int)(a->n - given));
  neo_fe_note_place(f->fe, h, neo_arena_printf(f->fe->arena, "'%s' is defined", sig->name.text),
                    sig->name.span);
  if (a->n > sig->params.n && sig->options.n)
    neo_diag_help(f->fe->diags, h, "options after ';' are given by name: %s = ...",
                  sig->options.at[0].name.text);
  return false;
}

/* Checks the value of an option: not as a subscript, and with its reducers hoisted. */
static neo_val option_value(neo_frame *f, const neo_ast_expr *e) {
  uint32_t subscript = f->subscript;
  f->subscript = 0;
  f->must_hoist++;
  neo_val v = neo_val_known(f, neo_check_expr(f, e));
  f->must_hoist--;
  f->subscript = subscript;
  return v;
}

bool neo_call_options(neo_frame *f, const neo_ast_args *args, const neo_ast_sig *sig, bool known,
                      neo_val *option, neo_span *span) {
  bool ok = true;
  for (uint32_t k = 0; k < args->n; k++) {
    const neo_ast_arg *arg = &args->at[k];
    if (!arg->name.text)
      continue;
    int o = neo_option_index(sig, arg->name.text);
    if (o < 0 || span[o]) {
      if (o < 0)
        neo_option_unknown(f, sig, arg);
      else
        NEO_ERR(f->in, arg->span, OPTION_TWICE, arg->name.text);
      ok = false;
      continue;
    }
    span[o] = arg->span;
    option[o] = option_value(f, arg->value);
    ok = ok && option[o].kind != NEO_VAL_POISON;
    bool fixed = option[o].kind != NEO_VAL_EXPR || neo_size_is_pure(f->m, option[o].e);
    if (known && !fixed) {
      NEO_ERR(f->in, arg->span, OPTION_NOT_KNOWN, arg->name.text);
      ok = false;
    }
  }
  return ok;
}

static void collect_results(neo_inst *in, const neo_ast_stmt *fn, neo_results *r) {
  const uint32_t n = fn->u.fn.results.n;
  r->poison = false;
  r->n = 0;
  r->at = NEO_NEW_ARRAY(in->fe->arena, neo_val, n + 1);
  for (uint32_t k = 0; k < n; k++) {
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
  in->once = f->in->once;
  in->n_owned = f->fe->owned_at.n;
  in->n_iterations = f->in->n_iterations;
  for (uint32_t k = 0; k < in->n_iterations; k++)
    in->iteration[k] = f->in->iteration[k];
  in->result = NEO_NEW_ARRAY(f->fe->arena, const char *, results->n + 1);
  in->result_full = NEO_NEW_ARRAY(f->fe->arena, const char *, results->n + 1);
  for (uint32_t k = 0; k < n_names && k < results->n; k++) {
    in->result[k] = results->at[k].text;
    in->result_full[k] = full[k];
    in->n_results++;
  }
  return in;
}

/* The function's own gradient, after its body. */
static bool own_gradient(neo_inst *in, const neo_ast_stmt *fn, const neo_actuals *a,
                         neo_results *r) {
  neo_custom c;
  if (!neo_custom_begin(in, fn, a, r, &c))
    return false;
  neo_check_stmts(in, &fn->u.fn.grad_block.stmts);
  return neo_custom_end(in, fn, &c);
}

static void run_body(neo_inst *in, const neo_ast_stmt *fn, neo_actuals *a, neo_results *r) {
  in->scope = neo_scope_new(in->fe, in->scope);
  neo_check_stmts(in, &fn->u.fn.block.stmts);
  collect_results(in, fn, r);
  if (fn->u.fn.has_grad && !r->poison && !own_gradient(in, fn, a, r))
    r->poison = true;
}

/* ---- vertex functions */

static bool enter_vertex(neo_inst *in, const neo_sym *fn, neo_actuals *a, uint32_t n_names,
                         const char *const *full) {
  struct neo_vertex *x = NEO_NEW(in->fe->arena, struct neo_vertex);
  const neo_ast_name *over = &fn->fn->u.fn.over;
  neo_ast_path path = {(neo_ast_name *)over, 1, over->span};
  neo_scope *outer = in->scope;
  in->scope = fn->scope;
  const neo_sym *g = neo_path_find(in, &path, false);
  in->scope = outer;
  if (!g || g->kind != NEO_SYM_GRAPH) {
    if (g && g->kind != NEO_SYM_POISON)
      NEO_ERR(in, over->span, NOT_A_GRAPH, over->text);
    return false;
  }
  x->graph = g->graph;
  x->down = fn->fn->u.fn.down;
  neo_vertex_name_results(in, fn->fn, n_names, full);
  return neo_vertex_enter(in, x, a);
}

void neo_call_results_help(neo_inst *in, const neo_ast_expr *e, const neo_sym *fn, int handle) {
  if (!fn || !fn->fn->u.fn.results.n)
    return;
  const neo_ast_names *names = &fn->fn->u.fn.results;
  neo_str text = neo_str_in(in->fe->arena);
  for (uint32_t k = 0; k < names->n; k++)
    neo_str_addf(&text, "%s%s", k ? ", " : "", names->at[k].text);
  neo_diag_help(in->fe->diags, handle, "each result gets a name: %s = %s(...)", neo_str_text(&text),
                neo_path_text(in->fe, &e->u.ref.path));
}

/* Whether a statement did not parse: what it would have pushed is not known. */
static bool has_broken(const neo_ast_stmts *stmts) {
  for (uint32_t k = 0; k < stmts->n; k++)
    if (stmts->at[k]->kind == NEO_AST_BROKEN)
      return true;
  return false;
}

static void run_vertex(neo_inst *in, const neo_ast_stmt *fn, neo_results *r) {
  struct neo_vertex *x = in->vertex;
  if (!neo_scope_own(in->scope, neo_fe_intern(in->fe, "children")))
    neo_vertex_count(in);
  in->scope = neo_scope_new(in->fe, in->scope);
  neo_check_stmts(in, &fn->u.fn.block.stmts);
  neo_tensor *stack = NEO_NEW_ARRAY(in->fe->arena, neo_tensor, x->gathered.n + 1);
  if (!neo_vertex_leave(in, stack) || !neo_recur_check(in, stack, (uint32_t)x->gathered.n))
    return;
  if (!x->pushed.n && has_broken(&fn->u.fn.block.stmts))
    return;
  if (!x->pushed.n) {
    int h = NEO_ERR(in, fn->u.fn.sig.name.span, RESULT_UNDEFINED, "push");
    neo_diag_help(in->fe->diags, h,
                  "a vertex function says what the call gives for each vertex: push h2");
    return;
  }
  r->poison = false;
  r->at = NEO_NEW_ARRAY(in->fe->arena, neo_val, x->pushed.n);
  for (uint32_t k = 0; k < x->pushed.n; k++)
    r->at[r->n++] = neo_vertex_result(in, k);
}

neo_results *neo_call(neo_frame *f, const neo_ast_expr *e, neo_sym *fn, const char *prefix,
                      uint32_t n_names, const char *const *full) {
  neo_results *r = NEO_NEW(f->fe->arena, neo_results);
  neo_actuals *a = NEO_NEW(f->fe->arena, neo_actuals);
  neo_ambience *am = NEO_NEW(f->fe->arena, neo_ambience);
  r->poison = true;
  r->prefix = prefix;
  if ((fn->kind != NEO_SYM_FN && fn->kind != NEO_SYM_VERTEX) || recursive(f, e, fn))
    return r;
  const neo_ast_sig *sig = &fn->fn->u.fn.sig;
  neo_val *option = NEO_NEW_ARRAY(f->fe->arena, neo_val, sig->options.n + 1);
  neo_span *span = NEO_NEW_ARRAY(f->fe->arena, neo_span, sig->options.n + 1);
  bool ok = neo_call_arguments(f, &e->u.ref.args, e->span, sig, fn->kind == NEO_SYM_VERTEX, a);
  ok = neo_call_options(f, &e->u.ref.args, sig, true, option, span) && ok;
  if (!ok || !neo_fe_spend(f->fe, f->in, e->span))
    return r;
  neo_inst *in = callee(f, e, fn, prefix, n_names, full);
  if (!neo_ambient_axes(f, a, in, am))
    return r;
  for (uint32_t k = 0; k < a->n; k++)
    neo_ambient_enter(am, &a->at[k], a->span[k]);
  if (fn->kind == NEO_SYM_VERTEX && !enter_vertex(in, fn, a, n_names, full))
    return r;
  neo_types_bind(in, sig, a, option);
  if (fn->fn->u.fn.has_grad && !neo_custom_actuals(in, fn->fn, a))
    return r;
  if (!neo_params_bind(in, sig, a, option, span))
    return r;
  if (!neo_fe_enter(f->fe, f->in, e->span, NEO_CALL_DEPTH))
    return r;
  if (fn->kind == NEO_SYM_VERTEX)
    run_vertex(in, fn->fn, r);
  else
    run_body(in, fn->fn, a, r);
  neo_fe_leave(f->fe, NEO_CALL_DEPTH);
  for (uint32_t k = 0; k < r->n; k++)
    neo_ambient_leave(am, &r->at[k]);
  return r;
}

/* ---- grad(y, X, …) */

static bool view_arg(neo_frame *f, const neo_ast_expr *arg, neo_view *v) {
  uint32_t subscript = f->subscript;
  f->subscript = 0;
  f->must_hoist++;
  neo_val x = neo_check_view(f, arg);
  f->must_hoist--;
  f->subscript = subscript;
  if (x.kind == NEO_VAL_POISON)
    return false;
  if (x.kind == NEO_VAL_VIEW) {
    *v = x.view;
    return true;
  }
  int h = NEO_ERR(f->in, arg->span, GRAD_NEEDS_TENSOR, "grad");
  neo_diag_help(f->fe->diags, h,
                x.kind == NEO_VAL_LIT ? "it is a number, which depends on nothing"
                                      : "give the expression a name first");
  return false;
}

static bool read_arg(neo_grad_asked *q, const neo_ast_arg *a, uint32_t *position) {
  neo_frame *f = q->f;
  neo_view v;
  if (a->name.text && !neo_streq(a->name.text, "seed")) {
    NEO_ERR(f->in, a->name.span, OPTION_UNKNOWN, "grad", a->name.text);
    return false;
  }
  if (!view_arg(f, a->value, &v) || !neo_grad_of_float(f, &v, a->span))
    return false;
  if (a->name.text) {
    q->seed = v;
    q->seeded = true;
  } else if ((*position)++ == 0) {
    q->y = v;
  } else {
    q->at[q->n] = a->span;
    q->wrt[q->n++] = v;
  }
  return true;
}

neo_results *neo_grad_call(neo_frame *f, const neo_ast_expr *e, uint32_t n_names,
                           const char *const *full) {
  neo_results *r = NEO_NEW(f->fe->arena, neo_results);
  neo_grad_asked q = {.f = f, .e = e};
  q.wrt = NEO_NEW_ARRAY(f->fe->arena, neo_view, e->u.ref.args.n + 1);
  q.at = NEO_NEW_ARRAY(f->fe->arena, neo_span, e->u.ref.args.n + 1);
  uint32_t position = 0;
  bool ok = true;
  for (uint32_t k = 0; k < e->u.ref.args.n; k++)
    ok = read_arg(&q, &e->u.ref.args.at[k], &position) && ok;
  r->poison = !ok || !neo_grad_check(&q) || !neo_grad_make(&q, n_names, full, r);
  return r;
}

/* ---- options */

/* Converts *v to the type declared for the option, if there is one. A literal must fit the type,
 * and stays a known number. */
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

/* Solves the extents with one unknown, until none is left. */
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

/* A frame whose output axes are the free dimensions of the argument, with the names that the
 * parameter gives them. *e: the argument's element there; 0 after a report. */
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
