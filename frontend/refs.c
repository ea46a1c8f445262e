/* References: names, elements, slices and calls inside expressions. */
#include "frontend/check.h"
#include <string.h>

/* ---- views */

neo_view neo_view_whole(const neo_module *m, neo_tensor t) {
  uint32_t rank = neo_tensor_rank(m, t);
  return (neo_view){.tensor = t, .rank = rank, .n = rank};
}

/* A tensor of this instance: its first dimensions are the ambient axes. */
neo_view neo_view_ambient(const neo_inst *in, neo_tensor t, uint32_t rank) {
  neo_view v = {.tensor = t, .rank = rank, .n = in->n_ambient + rank};
  for (uint32_t k = 0; k < in->n_ambient; k++)
    v.index[k] = neo_axis_ref(in->fe->m, k);
  return v;
}

static uint32_t view_dim(const neo_view *v, uint32_t free_dim) {
  uint32_t d = 0;
  for (;; d++)
    if (!v->index[d].i && free_dim-- == 0)
      return d;
}

neo_expr neo_view_extent(const neo_fe *fe, const neo_view *v, uint32_t free_dim) {
  return neo_tensor_extent(fe->m, v->tensor, view_dim(v, free_dim));
}

neo_view neo_view_subst(neo_module *m, neo_view v, const neo_expr *by, uint32_t n) {
  for (uint32_t d = 0; d < v.n; d++)
    if (v.index[d].i)
      v.index[d] = neo_expr_subst_axes(m, v.index[d], by, n);
  return v;
}

neo_val neo_view_load(neo_frame *f, neo_view v, neo_span at) {
  neo_expr e = neo_load(f->m, v.tensor, v.index, v.n, at);
  if (f->subscript && neo_type_is_int(neo_expr_type(f->m, e)))
    e = neo_cast(f->m, NEO_I64_T, e);
  return neo_val_expr(e);
}

/* ---- what stands before the subscripts */

static neo_val round_value(neo_frame *f, const neo_sym *s) {
  if (f->init)
    return neo_val_index(neo_axis_ref(f->m, s->round));
  return neo_val_index(neo_const_int(f->m, NEO_I64_T, f->in->round[s->round].at));
}

static neo_val symbol_value(neo_frame *f, const neo_sym *s, neo_span at) {
  switch (s->kind) {
  case NEO_SYM_VALUE:
    return s->value;
  case NEO_SYM_ROUND:
    return round_value(f, s);
  case NEO_SYM_FN:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "a function");
    break;
  case NEO_SYM_OPTIMIZER:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "an optimizer");
    break;
  case NEO_SYM_MODULE:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "a module");
    break;
  default:
    break;
  }
  return neo_val_poison();
}

static const neo_closed *closed_index(const neo_frame *f, const char *name) {
  for (size_t k = f->closed.n; k > 0; k--)
    if (f->closed.at[k - 1].name == name)
      return &f->closed.at[k - 1];
  return NULL;
}

static void unknown(neo_frame *f, const neo_ast_name *name) {
  const neo_closed *was = closed_index(f, name->text);
  if (!was) {
    int unknown_name = neo_name_unknown(f->in, name->span, name->text, f);
    if (f->subscript && !f->sizes_only)
      neo_diag_note(f->fe->diags, unknown_name,
                    "indices are bound on the left, or by a reducer such as sum[%s]", name->text);
    return;
  }
  int h = NEO_ERR(f->in, name->span, INDEX_UNBOUND, name->text);
  neo_diag_range(f->fe->diags, h, was->span);
  neo_diag_help(f->fe->diags, h,
                "a reducer reaches over a product, not over a sum: write '%s[%s] (... + ...)'",
                was->word, name->text);
}

static neo_val path_value(neo_frame *f, const neo_ast_expr *e, bool quiet) {
  const neo_ast_path *path = &e->u.ref.path;
  neo_val v;
  neo_sym *s = neo_path_find(f->in, path, quiet || path->n == 1);
  if (s)
    return symbol_value(f, s, path->span);
  if (path->n > 1)
    return neo_val_poison();
  if (neo_builtin_value(f, path->at[0].text, &v))
    return v;
  if (quiet)
    return neo_val_poison();
  if (neo_builtin_is(path->at[0].text))
    NEO_ERR(f->in, path->span, NOT_A_VALUE, path->at[0].text, "a function");
  else
    unknown(f, &path->at[0]);
  return neo_val_poison();
}

static const char *anonymous_prefix(neo_frame *f, const neo_ast_expr *e) {
  const char *name = e->u.ref.path.at[e->u.ref.path.n - 1].text;
  return neo_inst_prefix(f->in, neo_fe_join(f->fe, f->target, name));
}

static neo_results *call_once(neo_frame *f, const neo_ast_expr *e, neo_sym *fn) {
  uint64_t known;
  if (neo_map_get(&f->calls, (uint64_t)(uintptr_t)e, &known))
    return (neo_results *)(uintptr_t)known;
  neo_results *r =
      fn ? neo_call(f, e, fn, anonymous_prefix(f, e), 0, NULL) : neo_grad_call(f, e, 0, NULL);
  neo_map_set(&f->calls, (uint64_t)(uintptr_t)e, (uint64_t)(uintptr_t)r);
  return r;
}

static neo_val call_value(neo_frame *f, const neo_ast_expr *e, neo_sym *fn) {
  neo_results *r = call_once(f, e, fn);
  if (r->poison)
    return neo_val_poison();
  if (r->n == 1)
    return r->at[0];
  NEO_ERR(f->in, e->u.ref.path.span, RESULT_COUNT, neo_path_text(f->fe, &e->u.ref.path), (int)r->n,
          1);
  return neo_val_poison();
}

neo_val neo_check_base(neo_frame *f, const neo_ast_expr *e, bool quiet) {
  neo_sym *fn;
  if (!e->u.ref.has_args)
    return path_value(f, e, quiet);
  if (neo_call_is(f->in, e, &fn))
    return call_value(f, e, fn);
  return neo_val_poison();
}

/* ---- subscripts */

void neo_check_count(neo_frame *f, const neo_ast_expr *e, const neo_view *v) {
  const char *name = neo_path_text(f->fe, &e->u.ref.path);
  int h =
      NEO_ERR(f->in, e->u.ref.subs_span, SUBSCRIPT_COUNT, name, (int)v->rank, (int)e->u.ref.subs.n);
  neo_fe_note_place(f->fe, h, neo_arena_printf(f->fe->arena, "%s is declared", name),
                    neo_tensor_at(f->m, v->tensor)->span);
  if (e->u.ref.subs.n < v->rank)
    neo_diag_help(f->fe->diags, h, "every dimension has its index; a slice has '..' for the rest");
}

/* Fills the indices of the pack at dimension d; false after a report. */
static bool pack_indices(neo_frame *f, const neo_ast_expr *e, neo_span at, uint32_t n,
                         neo_expr *sub) {
  if (!f->has_pack) {
    NEO_ERR(f->in, at, PACK_UNBOUND, "..");
    return false;
  }
  if (n != f->n_pack) {
    NEO_ERR(f->in, at, PACK_RANK, (int)f->n_pack, neo_path_text(f->fe, &e->u.ref.path), (int)n);
    return false;
  }
  for (uint32_t k = 0; k < n; k++) {
    int p = neo_frame_axis(f, f->pack_name[k]);
    if (p < 0) {
      NEO_ERR(f->in, at, PACK_UNBOUND, "..");
      return false;
    }
    sub[k] = neo_axis_ref(f->m, (uint32_t)p);
  }
  return true;
}

static uint32_t pack_subs(const neo_ast_expr *e) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < e->u.ref.subs.n; k++)
    n += !e->u.ref.subs.at[k].expr;
  return n;
}

/* One expression a free dimension of v, and where it was written. In a slice `..` leaves zeros. */
static bool lower_subs(neo_frame *f, const neo_ast_expr *e, const neo_view *v, bool slice,
                       neo_expr *sub, neo_span *at) {
  uint32_t n = e->u.ref.subs.n, packs = pack_subs(e), d = 0;
  bool ok = true;
  if (packs > 1)
    return false; /* the parser reports it */
  if (packs ? n - 1 > v->rank : n != v->rank) {
    neo_check_count(f, e, v);
    return false;
  }
  for (uint32_t k = 0; k < n; k++) {
    const neo_ast_sub *s = &e->u.ref.subs.at[k];
    if (s->expr) {
      at[d] = s->span;
      sub[d] = neo_check_index(f, s->expr);
      ok = sub[d++].i && ok;
      continue;
    }
    uint32_t count = v->rank + 1 - n;
    for (uint32_t j = 0; j < count; j++)
      at[d + j] = s->span;
    if (!slice)
      ok = pack_indices(f, e, s->span, count, sub + d) && ok;
    d += count;
  }
  return ok;
}

/* All indices of the tensor: the view's, and the subscripts where it is free. */
static neo_view with_subs(neo_view v, const neo_expr *sub) {
  uint32_t k = 0;
  for (uint32_t d = 0; d < v.n; d++)
    if (!v.index[d].i) {
      v.index[d] = sub[k++];
      v.rank -= v.index[d].i != 0;
    }
  return v;
}

static bool check_subs(neo_frame *f, const neo_view *from, const neo_view *v, const neo_span *at) {
  uint32_t k = 0;
  bool ok = true;
  for (uint32_t d = 0; d < v->n; d++) {
    if (from->index[d].i)
      continue;
    if (v->index[d].i)
      ok = neo_bounds_check(f, at[k], v, v->index, d) && ok;
    k++;
  }
  return ok;
}

static neo_val element_else(neo_frame *f, const neo_ast_expr *e, const neo_view *v,
                            const neo_ast_expr *other) {
  uint32_t outer = f->subscript;
  neo_type t = (neo_type)neo_tensor_at(f->m, v->tensor)->type;
  neo_expr x = neo_val_as(f, other->span, neo_check_expr(f, other), t);
  if (!x.i)
    return neo_val_poison();
  neo_expr y = neo_load_else(f->m, v->tensor, v->index, v->n, x, e->span);
  if (outer && neo_type_is_int(t))
    y = neo_cast(f->m, NEO_I64_T, y);
  return neo_val_expr(y);
}

static neo_val element(neo_frame *f, const neo_ast_expr *e, neo_view v, const neo_ast_expr *other) {
  neo_expr sub[NEO_MAX_RANK] = {{0}};
  neo_span at[NEO_MAX_RANK] = {0};
  if (!lower_subs(f, e, &v, false, sub, at))
    return neo_val_poison();
  neo_view y = with_subs(v, sub);
  if (other)
    return element_else(f, e, &y, other);
  if (!check_subs(f, &v, &y, at))
    return neo_val_poison();
  return neo_view_load(f, y, e->span);
}

/* A tensor without subscripts where an element is asked for. */
static neo_val bare(neo_frame *f, const neo_ast_expr *e, const neo_view *v) {
  static const char *const names[] = {"i", "i, j", "i, j, k"};
  const char *name = neo_path_text(f->fe, &e->u.ref.path);
  int h = NEO_ERR(f->in, e->span, BARE_TENSOR, name, (int)v->rank);
  neo_diag_help(f->fe->diags, h, "say which element: %s%s[%s]", name,
                e->u.ref.has_args ? "(...)" : "", v->rank <= 3 ? names[v->rank - 1] : "..");
  return neo_val_poison();
}

/* Only `..` of rank 0 may subscript a scalar. */
static neo_val scalar_subs(neo_frame *f, const neo_ast_expr *e, neo_val v) {
  bool empty = e->u.ref.subs.n == 1 && !e->u.ref.subs.at[0].expr;
  if (empty && (!f->has_pack || f->n_pack == 0))
    return v;
  NEO_ERR(f->in, e->u.ref.subs_span, SUBSCRIPT_COUNT, neo_path_text(f->fe, &e->u.ref.path), 0,
          (int)e->u.ref.subs.n);
  return neo_val_poison();
}

static neo_val bare_index(neo_frame *f, const neo_ast_expr *e, bool *found) {
  *found = false;
  if (e->u.ref.path.n != 1 || e->u.ref.has_args || e->u.ref.has_subs)
    return neo_val_poison();
  int p = neo_frame_axis(f, e->u.ref.path.at[0].text);
  if (p < 0)
    return neo_val_poison();
  *found = true;
  return neo_val_index(neo_axis_ref(f->m, (uint32_t)p));
}

/* A use of an integer scalar where an i64 is wanted. */
static neo_val scalar_use(neo_frame *f, neo_val v) {
  if (v.kind != NEO_VAL_EXPR || !f->subscript)
    return v;
  if (neo_type_is_int(neo_expr_type(f->m, v.e)))
    v.e = neo_cast(f->m, NEO_I64_T, v.e);
  return v;
}

neo_val neo_check_ref(neo_frame *f, const neo_ast_expr *e, const neo_ast_expr *other) {
  bool found;
  neo_sym *fn;
  neo_val v = bare_index(f, e, &found);
  if (found)
    return v;
  if (e->u.ref.has_args && !neo_call_is(f->in, e, &fn)) {
    v = neo_check_builtin(f, e, neo_path_text(f->fe, &e->u.ref.path));
    if (e->u.ref.has_subs && v.kind != NEO_VAL_POISON)
      return scalar_subs(f, e, v);
    return v;
  }
  v = neo_check_base(f, e, false);
  if (v.kind == NEO_VAL_VIEW && f->sizes_only) {
    NEO_ERR(f->in, e->span, NOT_A_SIZE, "depends on the values of tensors");
    return neo_val_poison();
  }
  if (v.kind == NEO_VAL_VIEW && e->u.ref.has_subs)
    return element(f, e, v.view, other);
  if (v.kind == NEO_VAL_VIEW)
    return v.view.rank == 0 ? neo_view_load(f, v.view, e->span) : bare(f, e, &v.view);
  if (v.kind != NEO_VAL_POISON && e->u.ref.has_subs)
    v = scalar_subs(f, e, v);
  return scalar_use(f, v);
}

/* ---- arguments: whole tensors, slices, scalars */

static neo_val slice(neo_frame *f, const neo_ast_expr *e, neo_view v) {
  neo_expr sub[NEO_MAX_RANK] = {{0}};
  neo_span at[NEO_MAX_RANK] = {0};
  if (!lower_subs(f, e, &v, true, sub, at))
    return neo_val_poison();
  neo_view y = with_subs(v, sub);
  return check_subs(f, &v, &y, at) ? neo_val_view(y) : neo_val_poison();
}

neo_val neo_check_view(neo_frame *f, const neo_ast_expr *e) {
  neo_sym *fn;
  bool found;
  if (e->kind != NEO_AST_REF)
    return neo_check_expr(f, e);
  bare_index(f, e, &found);
  if (found || (e->u.ref.has_args && !neo_call_is(f->in, e, &fn)))
    return neo_check_expr(f, e);
  neo_val v = neo_check_base(f, e, false);
  if (v.kind == NEO_VAL_VIEW && e->u.ref.has_subs)
    return slice(f, e, v.view);
  if (v.kind != NEO_VAL_POISON && v.kind != NEO_VAL_VIEW && e->u.ref.has_subs)
    return scalar_subs(f, e, v);
  return v;
}
