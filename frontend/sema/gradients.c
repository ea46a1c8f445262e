/* Gradients: what a tensor depends on, requests to differentiate, and functions with a gradient of their
 * own. */
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
      size_t n = neo_def_reads(fe->m, (neo_def){neo_list_at(fe->m, pieces, k)}, fe->arena, &reads);
      for (size_t j = 0; j < n; j++)
        reach_push(&r, reads[j]);
    }
  }
  return r.seen;
}

/* ---- requests: grad(y, X, …) */

bool neo_grad_of_float(neo_frame *f, const neo_view *v, neo_span at) {
  neo_type t = (neo_type)neo_tensor_at(f->m, v->tensor)->type;
  if (neo_type_is_float(t))
    return true;
  NEO_ERR(f->in, at, GRAD_OF_INT, neo_type_text(t));
  return false;
}

bool neo_grad_check(neo_grad_asked *q) {
  neo_frame *f = q->f;
  const char *name = neo_name_text(f->fe->names, neo_tensor_at(f->m, q->y.tensor)->name);
  if (q->n == 0) {
    NEO_ERR(f->in, q->e->span, ARGUMENT_COUNT, "grad", 2, (int)(q->y.tensor.i != 0));
    return false;
  }
  if (f->in->n_ambient) {
    if (f->in->once)
      NEO_ERR(
          f->in, q->e->span, UNSUPPORTED,
          neo_arena_printf(f->fe->arena, "grad of what depends on the round of a %s", f->in->once));
    else
      NEO_ERR(f->in, q->e->span, GRAD_AMBIENT, "grad");
    return false;
  }
  if (!q->seeded && q->y.rank > 0) {
    int h = NEO_ERR(f->in, q->e->span, GRAD_NOT_SCALAR, name);
    neo_diag_help(f->fe->diags, h, "reduce it to a scalar, or give seed = a tensor of its shape");
    return false;
  }
  if (q->seeded && !neo_view_same_shape(f->fe, &q->y, &q->seed)) {
    NEO_ERR(f->in, q->e->span, GRAD_SEED, name);
    return false;
  }
  bool *seen = neo_tensor_reach(f->fe, q->y.tensor);
  for (uint32_t k = 0; k < q->n; k++) {
    if (seen[q->wrt[k].tensor.i])
      continue;
    NEO_ERR(f->in, q->e->span, GRAD_INDEPENDENT, name,
            neo_name_text(f->fe->names, neo_tensor_at(f->m, q->wrt[k].tensor)->name));
    return false;
  }
  return true;
}

static neo_tensor gradient_tensor(neo_fe *fe, neo_tensor of, const char *full, neo_span span) {
  neo_tensor_rec rec = *neo_tensor_at(fe->m, of);
  rec.role = NEO_ROLE_TEMP;
  rec.name = neo_name_of(fe->names, neo_fe_unique(fe, full));
  rec.span = span;
  rec.pieces = (neo_list){0};
  rec.init = (neo_def){0};
  rec.updates = (neo_tensor){0};
  rec.data = NULL;
  rec.n_data_bytes = 0;
  return neo_tensor_add(fe->m, rec);
}

void neo_grad_request(neo_fe *fe, neo_tensor y, neo_tensor seed, const neo_tensor *wrt, uint32_t n,
                      const char *const *full, neo_span span, neo_tensor *out) {
  uint32_t *list = NEO_NEW_ARRAY(fe->arena, uint32_t, 2 * n);
  for (uint32_t k = 0; k < n; k++) {
    out[k] = gradient_tensor(fe, wrt[k], full[k], span);
    list[k] = wrt[k].i;
    list[n + k] = out[k].i;
  }
  neo_grad_rec rec = {.y = y, .seed = seed, .span = span};
  rec.wrt = neo_list_new(fe->m, list, n);
  rec.out = neo_list_new(fe->m, list + n, n);
  NEO_PUSH(fe->arena, &fe->m->grads, rec);
}

/* A slice is differentiated as a tensor of its own. */
static bool whole(neo_frame *f, neo_view *v, const char *name, neo_span at) {
  if (neo_view_is_whole(v))
    return true;
  neo_val copy = neo_define_copy(f->in, neo_val_view(*v), neo_fe_join(f->fe, f->target, name), at);
  if (copy.kind == NEO_VAL_VIEW)
    *v = copy.view;
  return copy.kind == NEO_VAL_VIEW;
}

bool neo_grad_make(neo_grad_asked *q, uint32_t n_names, const char *const *full, neo_results *r) {
  neo_frame *f = q->f;
  const char *name[NEO_MAX_RESULTS];
  neo_tensor wrt[NEO_MAX_RESULTS], out[NEO_MAX_RESULTS];
  neo_span at = q->e->span;
  if (!whole(f, &q->y, "y", at) || (q->seeded && !whole(f, &q->seed, "seed", at)))
    return false;
  for (uint32_t k = 0; k < q->n; k++) {
    wrt[k] = q->wrt[k].tensor;
    name[k] = k < n_names ? full[k] : neo_fe_join(f->fe, f->target, "grad");
  }
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
    return (neo_type)neo_tensor_at(m, v->view.tensor)->type;
  return v->kind == NEO_VAL_EXPR ? neo_expr_type(m, v->e) : NEO_BOOL_T;
}

static bool is_own(const neo_inst *in, const neo_val *v) {
  return v->kind == NEO_VAL_VIEW && neo_view_is_own(in, &v->view);
}

bool neo_custom_actuals(neo_inst *in, const neo_ast_stmt *fn, neo_actuals *actual) {
  for (uint32_t k = 0; k < actual->n; k++) {
    neo_val *v = &actual->at[k];
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
    if (!is_own(in, &r->at[k]))
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
    if (!neo_view_same_shape(in->fe, &v.view, &c->in_view[k])) {
      NEO_ERR(in, name->span, CUSTOM_SHAPE, name->text);
      return false;
    }
    c->dx[k] = v.view.tensor.i;
  }
  return true;
}

bool neo_custom_begin(neo_inst *in, const neo_ast_stmt *fn, const neo_actuals *actual,
                      neo_results *r, neo_custom *c) {
  *c = (neo_custom){0};
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
