/* Translates values into a call and out of it.
 *
 * Ambient axes are rectangles from 0: an axis of the caller that may be negative is shifted by its
 * lowest value, and the conditions around the call do not hold in the function. A read in an
 * argument that is in range only under them becomes a guarded read; its values elsewhere are never
 * used. */
#include "frontend/sema/ambient.h"
#include "frontend/sema/parts.h"

static uint64_t axes_used(neo_frame *f, const neo_val *v) {
  uint64_t bits = 0;
  if (v->kind == NEO_VAL_EXPR)
    bits = neo_expr_axes(f->m, v->e);
  for (uint32_t d = 0; v->kind == NEO_VAL_VIEW && d < v->view.n; d++)
    if (v->view.index[d].i)
      bits |= neo_expr_axes(f->m, v->view.index[d]);
  return bits;
}

/* ---- does a function call rand()? */

enum { MOST_CALLS = 64 }; /* within each other, as far as they are followed */

typedef struct {
  neo_inst *in;
  const neo_ast_stmt *within[MOST_CALLS];
  uint32_t depth;
  bool found;
} draw_look;

/* Whether the function is being looked at already. A recursive call is an error, which is reported
 * where it is checked. */
static bool is_within(const draw_look *l, const neo_ast_stmt *fn) {
  bool within = false;
  for (uint32_t k = 0; k < l->depth; k++)
    within = within || l->within[k] == fn;
  return within;
}

static void look_rand(void *ctx, const neo_ast_expr *e) {
  draw_look *l = ctx;
  neo_sym *fn = NULL;
  if (l->found)
    return;
  if (neo_call_is(l->in, e, &fn) && fn && fn->kind != NEO_SYM_POISON && l->depth < MOST_CALLS &&
      !is_within(l, fn->fn)) {
    neo_scope *outer = l->in->scope;
    l->in->scope = fn->scope;
    l->within[l->depth++] = fn->fn;
    neo_ast_exprs(&fn->fn->u.fn.block.stmts, look_rand, l);
    l->depth--;
    l->in->scope = outer;
  }
  bool builtin = e->kind == NEO_AST_REF && e->u.ref.has_args && e->u.ref.path.n == 1 && !fn;
  l->found = l->found || (builtin && neo_streq(e->u.ref.path.at[0].text, "rand"));
  neo_ast_children(e, look_rand, ctx);
}

static bool draws(neo_inst *in) {
  draw_look l = {.in = in};
  neo_ast_exprs(&in->fn->u.fn.block.stmts, look_rand, &l);
  return l.found;
}

bool neo_ambient_axes(neo_frame *f, const neo_actuals *a, neo_inst *in, neo_ambience *am) {
  uint64_t bits = 0;
  for (uint32_t k = 0; k < a->n; k++)
    bits |= axes_used(f, &a->at[k]);
  bool random = draws(in); /* its elements are numbered over the ranges of the axes */
  if (random) /* each element has its own random numbers, even if the arguments are equal */
    bits |= f->n_axes < 64 ? ((uint64_t)1 << f->n_axes) - 1 : ~(uint64_t)0;
  for (uint32_t k = 0; k < f->in->n_iterations; k++) /* and parameters */
    if (f->in->iteration[k].axis)
      bits |= (uint64_t)1 << (f->in->iteration[k].axis - 1);
  *am = (neo_ambience){.f = f, .in = in, .guard = f->assume.n > f->fe->asserts.n};
  for (uint32_t p = 0; p < f->n_axes; p++) {
    am->axis[p] = f->axis[p];
    if (!(bits >> p & 1)) { /* in the function, this axis need not have a value */
      am->axis[p].lo = neo_const_i64(f->m, 0);
      am->axis[p].hi = neo_const_i64(f->m, 1);
      am->guard = true;
      continue;
    }
    neo_box box;
    if (!(random ? neo_frame_range(f, p, &box) : neo_frame_box(f, p, f->n_axes, f->assume.n, &box)))
      return false;
    neo_axis_rec rec = {f->axis[p].name, neo_const_i64(f->m, 0), box.extent, f->axis[p].span};
    am->guard = am->guard || !neo_frame_is_rect(f, p);
    am->axis[p].lo = box.low;
    am->axis[p].hi = neo_box_from_zero(f, &box, box.extent);
    am->by[p] = neo_box_from_zero(f, &box, neo_axis_ref(f->m, in->n_ambient));
    am->back[in->n_ambient] = neo_box_from_low(f, &box, neo_axis_ref(f->m, p));
    if (p < f->in->n_ambient && f->in->loop_axes >> p & 1)
      in->loop_axes |= (uint64_t)1 << in->n_ambient;
    for (uint32_t k = 0; k < f->in->n_iterations; k++)
      if (f->in->iteration[k].axis == p + 1)
        in->iteration[k].axis = in->n_ambient + 1;
    in->ambient[in->n_ambient++] = rec;
  }
  am->facts = (neo_facts){am->axis, f->n_axes, f->fe->asserts.at, (uint32_t)f->fe->asserts.n};
  return true;
}

static bool in_hull(neo_ambience *am, neo_expr index, neo_expr extent) {
  return neo_proves_index(am->f->fe->prover, &am->facts, index, extent);
}

static neo_expr guard_read(void *ctx, neo_module *m, neo_expr e) {
  neo_ambience *am = ctx;
  neo_node n = *neo_expr_node(m, e);
  bool safe = true;
  if (n.op != NEO_OP_LOAD)
    return e;
  for (uint32_t k = 0; k < n.arg.n; k++)
    safe = safe &&
           in_hull(am, neo_list_expr(m, n.arg, k), neo_tensor_extent(m, (neo_tensor){n.attr}, k));
  return safe ? e : neo_load_else_zero(m, e);
}

/* Whether the dimension has an element for all values of the sizes. */
static bool has_elements(neo_ambience *am, neo_expr extent) {
  neo_module *m = am->f->m;
  neo_facts sizes = neo_size_facts(am->f->fe);
  neo_expr some = neo_op2(m, NEO_OP_LT, neo_const_i64(m, 0), extent);
  return neo_proves(am->f->fe->prover, &sizes, some);
}

/* Returns an index that is always in range, and equals `index` where that is in range. *none: the
 * dimension may be empty, so no such index exists. */
static neo_expr inside(neo_ambience *am, neo_expr index, neo_expr extent, bool *none) {
  neo_module *m = am->f->m;
  if (!am->guard || in_hull(am, index, extent))
    return index;
  if (!has_elements(am, extent)) {
    *none = true;
    return index;
  }
  neo_expr last = neo_size_add1(am->f->fe, extent, -1);
  neo_expr zero = neo_const_i64(m, 0);
  return neo_op2(m, NEO_OP_MAX, neo_op2(m, NEO_OP_MIN, index, last), zero);
}

/* Defines a copy of a slice in the callee: the slice inside of its tensor, and 0 elsewhere. */
static void copy_guarded(neo_ambience *am, neo_val *v, neo_span at) {
  neo_inst *in = am->in;
  neo_expr e;
  const char *full = neo_fe_join(in->fe, in->prefix, "slice");
  neo_frame *f = neo_element_frame(in, v, full, at, &e);
  if (e.i)
    e = neo_load_else_zero(f->m, e);
  *v = neo_define_element(f, e, full, e.i ? neo_expr_bound(f, e) : e, at);
}

/* The view whose indices have by[k] for AXIS k, for k < n. */
static neo_view view_subst(neo_module *m, neo_view v, const neo_expr *by, uint32_t n) {
  for (uint32_t d = 0; d < v.n; d++)
    if (v.index[d].i)
      v.index[d] = neo_expr_subst_axes(m, v.index[d], by, n);
  return v;
}

static void enter_view(neo_ambience *am, neo_val *v, neo_span at) {
  neo_module *m = am->f->m;
  bool none = false;
  neo_view whole = v->view;
  for (uint32_t d = 0; d < v->view.n; d++)
    if (v->view.index[d].i)
      v->view.index[d] =
          inside(am, v->view.index[d], neo_tensor_extent(m, v->view.tensor, d), &none);
  v->view = view_subst(m, none ? whole : v->view, am->by, NEO_MAX_AXES);
  if (none)
    copy_guarded(am, v, at);
}

void neo_ambient_enter(neo_ambience *am, neo_val *v, neo_span at) {
  neo_module *m = am->f->m;
  if (v->kind == NEO_VAL_EXPR) {
    if (am->guard)
      v->e = neo_expr_rewrite(m, v->e, guard_read, am);
    v->e = neo_expr_subst_axes(m, v->e, am->by, NEO_MAX_AXES);
  }
  if (v->kind == NEO_VAL_VIEW)
    enter_view(am, v, at);
}

void neo_ambient_leave(neo_ambience *am, neo_val *v) {
  neo_module *m = am->f->m;
  if (v->kind == NEO_VAL_EXPR)
    v->e = neo_expr_subst_axes(m, v->e, am->back, NEO_MAX_AXES);
  if (v->kind == NEO_VAL_VIEW)
    v->view = view_subst(m, v->view, am->back, NEO_MAX_AXES);
}
