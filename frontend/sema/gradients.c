/* Gradients: the tensors that a tensor depends on, requests to differentiate, and functions with
 * their own gradient. */
#include "frontend/sema/parts.h"

/* ---- dependence */

typedef struct {
  neo_fe *fe;
  bool *seen;
  NEO_VEC(neo_tensor) stack;
} reach;

static void reach_push(reach *r, neo_tensor t) {
  if (!t.i || r->seen[t.i])
    return;
  r->seen[t.i] = true;
  NEO_PUSH(r->fe->arena, &r->stack, t);
}

static void reach_gradient(reach *r, neo_tensor t) {
  for (size_t k = 0; k < r->fe->m->grads.n; k++) {
    const neo_grad_rec *g = &r->fe->m->grads.at[k];
    for (uint32_t j = 0; j < g->out.n; j++) {
      if (neo_list_at(r->fe->m, g->out, j) != t.i)
        continue;
      reach_push(r, g->y);
      reach_push(r, g->seed);
    }
  }
}

bool *neo_tensor_reach(neo_fe *fe, neo_tensor root) {
  reach r = {.fe = fe, .seen = NEO_NEW_ARRAY(fe->arena, bool, fe->m->tensors.n)};
  reach_push(&r, root);
  while (r.stack.n) {
    neo_tensor t = r.stack.at[--r.stack.n];
    neo_list pieces = neo_tensor_at(fe->m, t)->pieces;
    if (neo_tensor_at(fe->m, t)->role == NEO_ROLE_TEMP && pieces.n == 0)
      reach_gradient(&r, t);
    for (uint32_t k = 0; k < pieces.n; k++) {
      neo_tensor *reads;
      size_t n = neo_def_reads(fe->m, neo_list_def(fe->m, pieces, k), fe->arena, &reads);
      for (size_t j = 0; j < n; j++)
        reach_push(&r, reads[j]);
    }
  }
  return r.seen;
}

/* ---- requests: grad(y, X, …) */

bool neo_grad_may_name(const neo_fe *fe, const neo_val *v) {
  return fe->asks_gradients && v->kind == NEO_VAL_VIEW &&
         neo_type_is_float(neo_tensor_type(fe->m, v->view.tensor));
}

bool neo_grad_of_float(neo_frame *f, const neo_view *v, neo_span at) {
  neo_type t = neo_tensor_type(f->m, v->tensor);
  if (neo_type_is_float(t))
    return true;
  NEO_ERR(f->in, at, GRAD_OF_INT, neo_type_text(t));
  return false;
}

/* Whether both have the same rank and equal extents (neo_size_equal). */
static bool view_same_shape(neo_fe *fe, const neo_view *a, const neo_view *b) {
  bool same = a->rank == b->rank;
  for (uint32_t k = 0; same && k < a->rank; k++)
    same = neo_size_equal(fe, neo_view_extent(fe, a, k), neo_view_extent(fe, b, k));
  return same;
}

bool neo_grad_check(neo_grad_asked *q) {
  neo_frame *f = q->f;
  const char *name = neo_name_text(f->fe->names, neo_tensor_at(f->m, q->y.tensor)->name);
  if (q->n == 0) {
    NEO_ERR(f->in, q->e->span, ARGUMENT_COUNT, "grad", 2, (int)(q->y.tensor.i != 0));
    return false;
  }
  if (!q->seeded && q->y.rank > 0) {
    int h = NEO_ERR(f->in, q->e->span, GRAD_NOT_SCALAR, name);
    neo_diag_help(f->fe->diags, h, "reduce it to a scalar, or give seed = a tensor of its shape");
    return false;
  }
  if (q->seeded && !view_same_shape(f->fe, &q->y, &q->seed)) {
    NEO_ERR(f->in, q->e->span, GRAD_SEED, name);
    return false;
  }
  bool *seen = neo_tensor_reach(f->fe, q->y.tensor);
  for (uint32_t k = 0; k < q->n; k++) {
    if (seen[q->wrt[k].tensor.i])
      continue;
    const char *wrt = neo_name_text(f->fe->names, neo_tensor_at(f->m, q->wrt[k].tensor)->name);
    int h = NEO_ERR(f->in, q->at[k], GRAD_INDEPENDENT, name, wrt);
    neo_diag_help(f->fe->diags, h, "its gradient would be 0 everywhere: leave it out");
    return false;
  }
  return true;
}

static neo_tensor_rec gradient_rec(const neo_fe *fe, neo_tensor of, const char *full,
                                   neo_span span) {
  neo_tensor_rec rec = *neo_tensor_at(fe->m, of);
  rec.role = NEO_ROLE_TEMP;
  rec.name = neo_name_of(fe->names, full);
  rec.span = span;
  rec.pieces = (neo_list){0};
  rec.init = (neo_def){0};
  rec.updates = (neo_tensor){0};
  rec.data = NULL;
  rec.n_data_bytes = 0;
  return rec;
}

static neo_tensor gradient_tensor(neo_fe *fe, neo_tensor of, const char *full, neo_span span) {
  return neo_tensor_add(fe->m, gradient_rec(fe, of, neo_fe_unique(fe, full), span));
}

static neo_list list_of(neo_fe *fe, const neo_tensor *t, uint32_t n) {
  uint32_t *ids = NEO_NEW_ARRAY(fe->arena, uint32_t, n + 1);
  for (uint32_t k = 0; k < n; k++)
    ids[k] = t[k].i;
  return neo_list_new(fe->m, ids, n);
}

void neo_grad_request(neo_fe *fe, neo_tensor y, neo_tensor seed, const neo_tensor *wrt, uint32_t n,
                      const char *const *full, neo_span span, neo_tensor *out) {
  for (uint32_t k = 0; k < n; k++)
    out[k] = gradient_tensor(fe, wrt[k], full[k], span);
  neo_grad_rec rec = {.y = y, .seed = seed, .span = span};
  rec.wrt = list_of(fe, wrt, n);
  rec.out = list_of(fe, out, n);
  NEO_PUSH(fe->arena, &fe->m->grads, rec);
}

/* Copies a slice into a tensor of its own, with a dimension for each ambient axis: gradients are
 * those of tensors. */
static bool settled(neo_frame *f, neo_view *v, const char *name, neo_span at) {
  if (f->in->n_ambient ? neo_view_is_own(f->in, v) : neo_view_is_whole(v))
    return true;
  neo_val copy = neo_define_copy(f->in, neo_val_view(*v), neo_fe_join(f->fe, f->target, name), at);
  if (copy.kind == NEO_VAL_VIEW)
    *v = copy.view;
  return copy.kind == NEO_VAL_VIEW;
}

/* ---- requests in iterations of loops, and in calls that depend on indices: one per point */

/* The tensors that y depends on and that nothing defines yet: the carries of the loops around the
 * request. */
static neo_list held_by(neo_fe *fe, neo_tensor y) {
  NEO_VEC(neo_tensor) held = {0};
  bool *seen = neo_tensor_reach(fe, y);
  for (size_t k = 0; k < fe->m->grads.n; k++) {
    neo_list out = fe->m->grads.at[k].out;
    for (uint32_t j = 0; j < out.n; j++)
      seen[neo_list_at(fe->m, out, j)] = false;
  }
  for (uint32_t t = 1; t < fe->m->tensors.n; t++)
    if (seen[t] && fe->m->tensors.at[t].role == NEO_ROLE_TEMP && !fe->m->tensors.at[t].pieces.n)
      NEO_PUSH(fe->arena, &held, (neo_tensor){t});
  return list_of(fe, held.at, (uint32_t)held.n);
}

/* Whether the view is the present point's part of a tensor with a dimension for each ambient
 * axis. */
static bool is_of_point(const neo_inst *in, const neo_view *v) {
  bool is = v->n == v->rank + in->n_ambient;
  for (uint32_t k = 0; is && k < in->n_ambient; k++)
    is = v->index[k].i == neo_axis_ref(in->fe->m, k).i &&
         neo_size_equal(in->fe, neo_tensor_extent(in->fe->m, v->tensor, k), in->ambient[k].hi);
  return is;
}

/* The gradient at each point, with respect to the point's part or to the whole tensor; `v` becomes
 * the part of the gradient that is asked for. */
static bool batched_out(neo_frame *f, neo_view *v, const char *full, neo_span span) {
  neo_inst *in = f->in;
  neo_expr extent[NEO_MAX_AXES + NEO_MAX_RANK];
  neo_view w = neo_view_whole(f->m, v->tensor);
  uint32_t n = 0, outer = is_of_point(in, v) ? 0 : in->n_ambient;
  for (uint32_t k = 0; k < outer; k++)
    extent[n++] = in->ambient[k].hi;
  for (uint32_t k = 0; k < w.n; k++) /* dimensions of the point use the expressions of the ambient
                                        axes */
    extent[n++] =
        !outer && k < in->n_ambient ? in->ambient[k].hi : neo_tensor_extent(f->m, v->tensor, k);
  const char *name = neo_fe_unique(f->fe, full);
  neo_tensor out = neo_tensor_make(in, gradient_rec(f->fe, v->tensor, name, span), extent, n, name);
  if (!out.i)
    return false;
  neo_view of = {.tensor = out, .rank = v->rank, .n = n};
  for (uint32_t k = 0; k < n; k++)
    of.index[k] = k < outer ? neo_axis_ref(f->m, k) : v->index[k - outer];
  *v = of;
  return true;
}

static bool batched(neo_grad_asked *q, const char *const *name, neo_results *r) {
  neo_fe *fe = q->f->fe;
  neo_tensor *wrt = NEO_NEW_ARRAY(fe->arena, neo_tensor, q->n);
  neo_tensor *out = NEO_NEW_ARRAY(fe->arena, neo_tensor, q->n);
  for (uint32_t k = 0; k < q->n; k++) {
    neo_view v = q->wrt[k];
    wrt[k] = v.tensor;
    if (!batched_out(q->f, &v, name[k], q->e->span))
      return false;
    out[k] = v.tensor;
    r->at[r->n++] = neo_val_view(v);
  }
  neo_grad_rec rec = {.y = q->y.tensor, .seed = q->seed.tensor, .span = q->e->span};
  rec.n_batch = q->f->in->n_ambient;
  rec.hold = held_by(fe, rec.y);
  rec.wrt = list_of(fe, wrt, q->n);
  rec.out = list_of(fe, out, q->n);
  NEO_PUSH(fe->arena, &fe->m->grads, rec);
  return true;
}

bool neo_grad_make(neo_grad_asked *q, uint32_t n_names, const char *const *full, neo_results *r) {
  neo_frame *f = q->f;
  const char **name = NEO_NEW_ARRAY(f->fe->arena, const char *, q->n);
  neo_tensor *wrt = NEO_NEW_ARRAY(f->fe->arena, neo_tensor, q->n);
  neo_tensor *out = NEO_NEW_ARRAY(f->fe->arena, neo_tensor, q->n);
  neo_span at = q->e->span;
  r->at = NEO_NEW_ARRAY(f->fe->arena, neo_val, q->n);
  if (!settled(f, &q->y, "y", at) || (q->seeded && !settled(f, &q->seed, "seed", at)))
    return false;
  for (uint32_t k = 0; k < q->n; k++) {
    wrt[k] = q->wrt[k].tensor;
    name[k] = k < n_names ? full[k] : neo_fe_join(f->fe, f->target, "grad");
  }
  if (f->in->n_ambient)
    return batched(q, name, r);
  neo_grad_request(f->fe, q->y.tensor, q->seed.tensor, wrt, q->n, name, at, out);
  for (uint32_t k = 0; k < q->n; k++) {
    neo_view v = q->wrt[k];
    v.tensor = out[k];
    r->at[r->n++] = neo_val_view(v);
  }
  return true;
}

/* ---- functions with a gradient of their own */

static neo_type value_type(const neo_module *m, const neo_val *v) {
  if (v->kind == NEO_VAL_VIEW)
    return neo_tensor_type(m, v->view.tensor);
  return v->kind == NEO_VAL_EXPR ? neo_expr_type(m, v->e) : NEO_BOOL_T;
}

static bool is_own(const neo_inst *in, const neo_val *v) {
  return v->kind == NEO_VAL_VIEW && neo_view_is_own(in, &v->view);
}

/* Turns a literal for a parameter of declared float type into a value of that type, which has a
 * gradient. */
static void take_literal(neo_inst *in, const neo_ast_stmt *fn, neo_actuals *actual, uint32_t k) {
  const neo_ast_type *type = &fn->u.fn.sig.params.at[k].type;
  neo_val *v = &actual->at[k];
  neo_type t = neo_declared_type(in, type);
  if (v->kind != NEO_VAL_LIT || !type->given || !neo_type_is_float(t))
    return;
  neo_frame *f = NEO_NEW(in->fe->arena, neo_frame);
  neo_frame_init(f, in, "");
  neo_expr e = neo_val_as(f, actual->span[k], *v, t);
  *v = e.i ? neo_val_expr(e) : neo_val_poison();
}

bool neo_custom_actuals(neo_inst *in, const neo_ast_stmt *fn, neo_actuals *actual) {
  for (uint32_t k = 0; k < actual->n; k++) {
    neo_val *v = &actual->at[k];
    take_literal(in, fn, actual, k);
    if (v->kind == NEO_VAL_POISON)
      return false;
    if (v->kind == NEO_VAL_LIT || !neo_type_is_float(value_type(in->fe->m, v)))
      continue;
    if (v->kind == NEO_VAL_VIEW && neo_view_is_whole(&v->view) && !in->n_ambient)
      continue;
    const char *full = neo_fe_join(in->fe, in->prefix, fn->u.fn.sig.params.at[k].name.text);
    *v = neo_define_copy(in, *v, full, actual->span[k]);
    if (v->kind == NEO_VAL_POISON)
      return false;
  }
  return true;
}

static bool is_among(const uint32_t *tensors, uint32_t n, neo_tensor t) {
  for (uint32_t k = 0; k < n; k++)
    if (tensors[k] == t.i)
      return true;
  return false;
}

/* Whether the result has a tensor of its own, so that its adjoint goes to the clause alone. `y = x`
 * makes it the argument, `z = y` an earlier result. */
static bool is_by_itself(const neo_inst *in, const neo_custom *c, const neo_val *v) {
  return is_own(in, v) && !is_among(c->in, c->n_in, v->view.tensor) &&
         !is_among(c->out, c->n_out, v->view.tensor);
}

static bool custom_ends(neo_inst *in, const neo_ast_stmt *fn, const neo_actuals *actual,
                        neo_results *r, neo_custom *c) {
  for (uint32_t k = 0; k < actual->n; k++) {
    const neo_val *v = &actual->at[k];
    if (v->kind != NEO_VAL_VIEW || !neo_type_is_float(value_type(in->fe->m, v)))
      continue;
    c->in_view[c->n_in] = v->view;
    c->in[c->n_in++] = v->view.tensor.i;
  }
  for (uint32_t k = 0; k < r->n; k++) {
    const char *name = fn->u.fn.results.at[k].text;
    if (!is_by_itself(in, c, &r->at[k]))
      r->at[k] = neo_define_copy(in, r->at[k], neo_inst_full(in, name), fn->span);
    if (r->at[k].kind != NEO_VAL_VIEW)
      return false;
    c->out[c->n_out++] = r->at[k].view.tensor.i;
  }
  if (fn->u.fn.seeds.n == c->n_out && fn->u.fn.grads.n == c->n_in)
    return true;
  NEO_ERR(in, fn->u.fn.grad_block.span, CUSTOM_COUNT, fn->u.fn.sig.name.text, (int)c->n_out,
          (int)c->n_in);
  return false;
}

static void bind_seeds(neo_inst *in, const neo_ast_stmt *fn, const neo_results *r, neo_custom *c) {
  neo_fe *fe = in->fe;
  for (uint32_t k = 0; k < c->n_out; k++) {
    const neo_ast_name *name = &fn->u.fn.seeds.at[k];
    const char *full = neo_fe_join(fe, in->prefix, name->text);
    neo_tensor t = gradient_tensor(fe, (neo_tensor){c->out[k]}, full, name->span);
    neo_tensor_at(fe->m, t)->role = NEO_ROLE_COTANGENT;
    c->dy[k] = t.i;
    neo_define_bind(in, name, neo_val_view(neo_view_ambient(in, t, r->at[k].view.rank)), NULL);
  }
}

static bool take_gradients(neo_inst *in, const neo_ast_stmt *fn, neo_custom *c) {
  for (uint32_t k = 0; k < c->n_in; k++) {
    const neo_ast_name *name = &fn->u.fn.grads.at[k];
    neo_sym *s = neo_scope_own(in->scope, name->text);
    if (s && s->kind == NEO_SYM_POISON)
      return false;
    if (!s || s->kind != NEO_SYM_VALUE) {
      NEO_ERR(in, name->span, RESULT_UNDEFINED, name->text);
      return false;
    }
    neo_val v = s->value;
    if (!is_own(in, &v))
      v = neo_define_copy(in, v, neo_fe_join(in->fe, in->prefix, name->text), name->span);
    if (v.kind != NEO_VAL_VIEW)
      return false;
    if (!view_same_shape(in->fe, &v.view, &c->in_view[k])) {
      NEO_ERR(in, name->span, CUSTOM_SHAPE, name->text);
      return false;
    }
    c->dx[k] = v.view.tensor.i;
  }
  return true;
}

static void custom_init(neo_fe *fe, neo_custom *c, uint32_t n_in, uint32_t n_out) {
  *c = (neo_custom){0};
  c->in = NEO_NEW_ARRAY(fe->arena, uint32_t, n_in + 1);
  c->dx = NEO_NEW_ARRAY(fe->arena, uint32_t, n_in + 1);
  c->in_view = NEO_NEW_ARRAY(fe->arena, neo_view, n_in + 1);
  c->out = NEO_NEW_ARRAY(fe->arena, uint32_t, n_out + 1);
  c->dy = NEO_NEW_ARRAY(fe->arena, uint32_t, n_out + 1);
}

bool neo_custom_begin(neo_inst *in, const neo_ast_stmt *fn, const neo_actuals *actual,
                      neo_results *r, neo_custom *c) {
  custom_init(in->fe, c, actual->n, r->n);
  if (in->fe->owned_at.n > in->n_owned) {
    NEO_ERR(in, fn->u.fn.grad_block.span, CUSTOM_PARAM, fn->u.fn.sig.name.text);
    return false;
  }
  if (!custom_ends(in, fn, actual, r, c))
    return false;
  in->scope = neo_scope_new(in->fe, in->scope);
  bind_seeds(in, fn, r, c);
  return true;
}

bool neo_custom_end(neo_inst *in, const neo_ast_stmt *fn, neo_custom *c) {
  neo_fe *fe = in->fe;
  if (!take_gradients(in, fn, c))
    return false;
  neo_custom_rec rec = {.span = fn->span};
  rec.ins = neo_list_new(fe->m, c->in, c->n_in);
  rec.outs = neo_list_new(fe->m, c->out, c->n_out);
  rec.dys = neo_list_new(fe->m, c->dy, c->n_out);
  rec.dxs = neo_list_new(fe->m, c->dx, c->n_in);
  NEO_PUSH(fe->arena, &fe->m->customs, rec);
  return true;
}
