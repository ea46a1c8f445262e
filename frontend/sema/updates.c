/* `update r[c] = …`: the value of a state after the step, an UPDATE tensor of its own. In an
 * iteration of a repeat the state is stacked, and each iteration defines one piece of the new
 * value. */
#include "frontend/sema/parts.h"

/* Finds the target of an update: a state, or in an optimizer the parameter. Reports anything
 * else. */
bool neo_update_target(neo_inst *in, const neo_ast_var *var, neo_view *v) {
  neo_ast_path path = {(neo_ast_name *)&var->name, 1, var->name.span};
  neo_sym *s = neo_path_find(in, &path, false);
  if (!s || s->kind == NEO_SYM_POISON)
    return false;
  bool view = s->kind == NEO_SYM_VALUE && s->value.kind == NEO_VAL_VIEW;
  neo_role role =
      view ? (neo_role)neo_tensor_at(in->fe->m, s->value.view.tensor)->role : NEO_ROLE_TEMP;
  bool own = in->trainee && view && s->value.view.tensor.i == in->trainee->param.i;
  if (role == NEO_ROLE_STATE || own) {
    *v = s->value.view;
    return true;
  }
  int h = NEO_ERR(in, var->name.span, UPDATE_TARGET, var->name.text);
  neo_fe_note_place(in->fe, h, neo_arena_printf(in->fe->arena, "%s is declared", var->name.text),
                    s->span);
  return false;
}

void neo_update_once(neo_inst *in, const neo_ast_bind *b) {
  const char *name = b->var.name.text;
  int h = NEO_ERR(in, b->span, UPDATE_ONCE, name, in->once);
  if (neo_streq(in->once, "case"))
    neo_diag_help(in->fe->diags, h, "let the case give the new value, and update '%s' after it",
                  name);
  else
    neo_diag_help(in->fe->diags, h,
                  "carry it: begin with 'from new = %s', give it a 'next', and after the loop "
                  "update '%s' with the result",
                  name, name);
}

/* The update of t so far; null: none. Each training entry has updates of its own; the model's come
 * first. */
static neo_update_rec *record_of(const neo_inst *in, neo_tensor t) {
  neo_fe *fe = in->fe;
  for (size_t k = in->trainee ? in->trainee->first_update : 0; k < fe->updates.n; k++)
    if (fe->updates.at[k].updates.i == t.i)
      return &fe->updates.at[k];
  return NULL;
}

/* The row-major index of the present iterations of the `n_outer` unrolled loops around: the piece
 * of the tensor that they update. */
static int64_t piece_number(const neo_inst *in, uint32_t n_outer) {
  int64_t at = 0;
  for (uint32_t k = 0; k < n_outer; k++)
    at = at * in->iteration[k].count + in->iteration[k].at;
  return at;
}

neo_tensor neo_update_tensor(neo_inst *in, neo_tensor t, const neo_ast_var *var, uint32_t n_outer) {
  neo_fe *fe = in->fe;
  neo_update_rec *old = record_of(in, t);
  int64_t piece = piece_number(in, n_outer);
  if (old && n_outer && piece == old->pieces) {
    old->pieces++;
    return old->update;
  }
  if (old) {
    int h = NEO_ERR(in, var->span, UPDATED_TWICE, var->name.text);
    neo_fe_note_place(fe, h, "it is first updated", old->span);
    return (neo_tensor){0};
  }
  neo_tensor_rec rec = *neo_tensor_at(fe->m, t);
  const char *name = neo_arena_printf(fe->arena, "%s.next", neo_name_text(fe->names, rec.name));
  rec.role = NEO_ROLE_UPDATE;
  rec.optimizer = false;
  rec.name = neo_name_of(fe->names, neo_fe_unique(fe, name));
  rec.span = var->span;
  rec.pieces = (neo_list){0};
  rec.init = (neo_def){0};
  rec.updates = t;
  neo_tensor u = neo_tensor_add(fe->m, rec);
  NEO_PUSH(fe->arena, &fe->updates,
           (neo_update_rec){.updates = t, .update = u, .span = var->span, .pieces = 1});
  return u;
}

static uint32_t left_rank(const neo_frame *f, const neo_ast_var *var) {
  uint32_t n = 0;
  for (uint32_t k = 0; k < var->axes.n; k++)
    n += var->axes.at[k].kind == NEO_AST_PACK ? f->n_pack : 1;
  return n;
}

/* Determines the pack of the left side: the dimensions of the target that the other indices
 * leave. */
bool neo_update_pack(neo_frame *f, const neo_ast_var *var, const neo_view *v) {
  uint32_t packs = 0;
  for (uint32_t k = 0; k < var->axes.n; k++)
    packs += var->axes.at[k].kind == NEO_AST_PACK;
  if (packs == 1 && v->rank + 1 >= var->axes.n) {
    f->has_pack = true;
    f->n_pack = v->rank + 1 - var->axes.n;
    for (uint32_t k = 0; k < f->n_pack; k++)
      f->pack_name[k] = neo_frame_pack_name(f->fe, k);
  }
  if (packs <= 1 && left_rank(f, var) == v->rank)
    return true;
  NEO_ERR(f->in, var->span, SUBSCRIPT_COUNT, var->name.text, (int)v->rank, (int)var->axes.n);
  return false;
}

/* The ends of a state's elements, over the axes of a frame that has no axes for the iterations it
 * is in. */
static neo_ends ends_here(neo_frame *f, neo_tensor t) {
  neo_expr by[NEO_MAX_RANK];
  neo_ends ends = neo_ends_of(f->fe, t);
  uint32_t rank = neo_tensor_rank(f->m, t), n_outer = rank - f->n_out;
  for (uint32_t k = 0; k < rank; k++)
    by[k] =
        k < n_outer ? neo_const_i64(f->m, f->in->iteration[k].at) : neo_axis_ref(f->m, k - n_outer);
  if (ends.least.i)
    ends.least = neo_expr_subst_axes(f->m, ends.least, by, rank);
  if (ends.below.i)
    ends.below = neo_expr_subst_axes(f->m, ends.below, by, rank);
  return ends;
}

neo_expr neo_update_value(neo_frame *f, const neo_ast_bind *b, neo_tensor t, neo_val v) {
  neo_expr e, none = {0};
  neo_ends known = {0};
  neo_ast_var var = b->var;
  const neo_tensor_rec *r = neo_tensor_at(f->m, t);
  neo_type type = (neo_type)r->type;
  neo_expr want = r->bound;
  if (v.kind == NEO_VAL_POISON)
    return none;
  if (v.kind == NEO_VAL_LIT)
    v = neo_val_expr(neo_val_as(f, b->value->span, v, type));
  var.type.given = false;
  if (v.kind == NEO_VAL_POISON || !neo_val_as(f, b->value->span, v, type).i)
    return none;
  if (!neo_define_value(f, &var, b->value->span, v, &e, &known))
    return none;
  neo_ends ends = ends_here(f, t);
  if (!neo_ends_hold(f, e, &ends)) {
    NEO_ERR(f->in, b->value->span, ENDS_NOT_PROVED, b->var.name.text);
    return none;
  }
  if (ends.least.i || !want.i || neo_ends_within(f, e, want))
    return e;
  int h = NEO_ERR(f->in, b->value->span, BOUND_NOT_PROVED, neo_size_text(f->fe, want));
  neo_diag_help(f->fe->diags, h, "use clamp(..., 0, %s)",
                neo_size_text(f->fe, neo_size_add1(f->fe, want, -1)));
  return none;
}
