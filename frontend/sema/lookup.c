/* Finds the declaration that a reference stands for, as far as no expression has to be checked for
 * it. */
#include "frontend/sema/parts.h"
#include <string.h>

/* ---- calls */

bool neo_call_is(neo_inst *in, const neo_ast_expr *e, neo_sym **fn) {
  *fn = NULL;
  if (e->kind != NEO_AST_REF || !e->u.ref.has_args)
    return false;
  neo_sym *s = neo_path_find(in, &e->u.ref.path, true);
  if (!s)
    return e->u.ref.path.n == 1 && neo_streq(e->u.ref.path.at[0].text, "grad");
  *fn = s;
  return s->kind == NEO_SYM_FN || s->kind == NEO_SYM_VERTEX || s->kind == NEO_SYM_POISON;
}

/* ---- names */

/* training, step, … */
static bool builtin_value(neo_frame *f, const char *name, neo_val *v) {
  if (neo_streq(name, "training"))
    *v = neo_val_expr(neo_expr_make(f->m, NEO_OP_TRAINING, NEO_BOOL_T, 0, NULL, 0, 0));
  else if (neo_streq(name, "step"))
    *v = neo_train_step(f->in);
  else if (neo_streq(name, "global_norm") && f->in->trainee)
    *v = neo_train_norm(f);
  else
    return false;
  return true;
}

static neo_val iteration_value(neo_frame *f, const neo_sym *s) {
  if (f->init)
    return neo_val_index(neo_axis_ref(f->m, f->in->n_ambient + s->iteration));
  return neo_val_index(neo_iteration_index(f->in, s->iteration));
}

static neo_val symbol_value(neo_frame *f, const neo_sym *s, neo_span at) {
  switch (s->kind) {
  case NEO_SYM_VALUE:
    return s->value;
  case NEO_SYM_ITERATION:
    return iteration_value(f, s);
  case NEO_SYM_FN:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "a function");
    break;
  case NEO_SYM_OPTIMIZER:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "an optimizer");
    break;
  case NEO_SYM_MODULE:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "a module");
    break;
  case NEO_SYM_VERTEX:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "a vertex function");
    break;
  case NEO_SYM_GRAPH:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "a graph");
    break;
  case NEO_SYM_TYPE:
    NEO_ERR(f->in, at, NOT_A_VALUE, s->name, "a type");
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

/* Whether the frame's definition is about to define this name. */
static bool is_own(const neo_frame *f, const char *name) {
  const char *dot = strrchr(f->target, '.');
  return f->n_out > f->in->n_ambient && strcmp(dot ? dot + 1 : f->target, name) == 0;
}

static void unknown(neo_frame *f, const neo_ast_name *name) {
  const neo_closed *was = closed_index(f, name->text);
  if (!was) {
    int unknown_name = neo_name_unknown(f->in, name->span, name->text, f);
    if (f->subscript && !f->sizes_only)
      neo_diag_note(f->fe->diags, unknown_name,
                    "indices are bound on the left, or by a reducer such as sum[%s]", name->text);
    else if (is_own(f, name->text))
      neo_diag_help(
          f->fe->diags, unknown_name,
          "a definition reads elements of itself, '%s[...]': carry what is needed whole in a scan",
          name->text);
    return;
  }
  int h = NEO_ERR(f->in, name->span, INDEX_UNBOUND, name->text);
  neo_diag_range(f->fe->diags, h, was->span);
  bool asks = neo_streq(was->word, "any") || neo_streq(was->word, "all");
  neo_diag_help(
      f->fe->diags, h,
      asks ? "a reducer reaches over a product, not over a condition: write '%s[%s] (... and ...)'"
           : "a reducer reaches over a product, not over a sum: write '%s[%s] (... + ...)'",
      was->word, name->text);
}

neo_val neo_path_value(neo_frame *f, const neo_ast_expr *e, bool quiet) {
  const neo_ast_path *path = &e->u.ref.path;
  neo_val v;
  neo_sym *s = neo_path_find(f->in, path, quiet || path->n == 1);
  if (s)
    return symbol_value(f, s, path->span);
  if (path->n > 1)
    return neo_val_poison();
  if (builtin_value(f, path->at[0].text, &v))
    return v;
  if (quiet)
    return neo_val_poison();
  if (neo_builtin_is(path->at[0].text))
    NEO_ERR(f->in, path->span, NOT_A_VALUE, path->at[0].text, "a function");
  else
    unknown(f, &path->at[0]);
  return neo_val_poison();
}

const char *neo_call_prefix(neo_frame *f, const neo_ast_expr *e) {
  const char *name = e->u.ref.path.at[e->u.ref.path.n - 1].text;
  return neo_inst_prefix(f->in, neo_fe_join(f->fe, f->target, name));
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
bool neo_pack_indices(neo_frame *f, const neo_ast_expr *e, neo_span at, uint32_t n, neo_expr *sub) {
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

/* Checks that the subscript of `through`, whose element is `index`, is in range. */
static bool through_in_range(neo_frame *f, neo_view through, neo_expr index, neo_span at) {
  const neo_node *n = neo_expr_node(f->m, index);
  neo_expr sub = neo_expr_arg(f->m, neo_list_expr(f->m, n->arg, 0), 0);
  return neo_bounds_check(f, at, &through, &sub, 0);
}

bool neo_view_in_range(neo_frame *f, const neo_view *from, const neo_view *v, const neo_span *at) {
  uint32_t k = 0;
  bool ok = true;
  for (uint32_t d = 0; d < v->n; d++) {
    if (from->index[d].i)
      continue;
    if (v->index[d].i && !k && from->through.i)
      ok = through_in_range(f, neo_view_whole(f->m, from->through), v->index[d], at[0]) && ok;
    if (v->index[d].i)
      ok = neo_bounds_check(f, at[k], v, v->index, d) && ok;
    k++;
  }
  return ok;
}

/* Reports a tensor without subscripts where an element is needed. */
neo_val neo_bare_report(neo_frame *f, const neo_ast_expr *e, const neo_view *v) {
  static const char *const names[] = {"i", "i, j", "i, j, k"};
  const char *name = neo_path_text(f->fe, &e->u.ref.path);
  int h = NEO_ERR(f->in, e->span, BARE_TENSOR, name, (int)v->rank);
  neo_diag_help(f->fe->diags, h, "say which element: %s%s[%s]", name,
                e->u.ref.has_args ? "(...)" : "", v->rank <= 3 ? names[v->rank - 1] : "..");
  return neo_val_poison();
}

/* Checks the subscripts of a scalar: only a `..` of rank 0 is allowed. */
neo_val neo_scalar_subs(neo_frame *f, const neo_ast_expr *e, neo_val v) {
  bool empty = e->u.ref.subs.n == 1 && !e->u.ref.subs.at[0].expr;
  if (empty && (!f->has_pack || f->n_pack == 0))
    return v;
  NEO_ERR(f->in, e->u.ref.subs_span, SUBSCRIPT_COUNT, neo_path_text(f->fe, &e->u.ref.path), 0,
          (int)e->u.ref.subs.n);
  return neo_val_poison();
}

neo_val neo_bare_index(neo_frame *f, const neo_ast_expr *e, bool *found) {
  *found = false;
  if (e->u.ref.path.n != 1 || e->u.ref.has_args || e->u.ref.has_subs)
    return neo_val_poison();
  int p = neo_frame_axis(f, e->u.ref.path.at[0].text);
  if (p < 0)
    return neo_val_poison();
  *found = true;
  return neo_val_index(neo_axis_ref(f->m, (uint32_t)p));
}

/* Converts an integer scalar in a subscript to i64. */
neo_val neo_scalar_use(neo_frame *f, neo_val v) {
  if (v.kind != NEO_VAL_EXPR || !f->subscript)
    return v;
  if (neo_type_is_int(neo_expr_type(f->m, v.e)))
    v.e = neo_cast(f->m, NEO_I64_T, v.e);
  return v;
}

neo_val neo_view_load(neo_frame *f, neo_view v, neo_span at) {
  neo_expr e = neo_load(f->m, v.tensor, v.index, v.n, at);
  for (uint32_t d = 0; d < v.n; d++)
    neo_bounds_remember(f, v.index[d], neo_tensor_extent(f->m, v.tensor, d));
  if (f->subscript && neo_type_is_int(neo_expr_type(f->m, e)))
    e = neo_cast(f->m, NEO_I64_T, e);
  return neo_val_expr(e);
}
