/* Values of expressions, and views: tensors with some dimensions fixed. */
#include "frontend/sema/parts.h"
#include <math.h>

neo_val neo_val_int(int64_t i) {
  return (neo_val){.kind = NEO_VAL_LIT, .lit = {NEO_LIT_INT, i, (double)i}};
}

neo_val neo_val_float(double x) {
  return (neo_val){.kind = NEO_VAL_LIT, .lit = {NEO_LIT_FLOAT, 0, x}};
}

neo_val neo_val_bool(bool b) {
  return (neo_val){.kind = NEO_VAL_LIT, .lit = {NEO_LIT_BOOL, b, 0}};
}

neo_val neo_val_expr(neo_expr e) {
  if (!e.i)
    return neo_val_poison();
  return (neo_val){.kind = NEO_VAL_EXPR, .e = e};
}

neo_val neo_val_index(neo_expr e) {
  if (!e.i)
    return neo_val_poison();
  return (neo_val){.kind = NEO_VAL_EXPR, .e = e, .index = true};
}

neo_val neo_val_view(neo_view v) {
  return (neo_val){.kind = NEO_VAL_VIEW, .view = v};
}

const char *neo_val_text(neo_fe *fe, const neo_val *v) {
  static const char *const lits[] = {"an integer", "a number", "a bool"};
  switch (v->kind) {
  case NEO_VAL_LIT:
    if (v->lit.kind == NEO_LIT_FLOAT && !isfinite(v->lit.f))
      return isnan(v->lit.f) ? "nan" : "inf";
    return lits[v->lit.kind];
  case NEO_VAL_EXPR:
    return neo_type_text(neo_expr_type(fe->m, v->e));
  case NEO_VAL_VIEW:
    return "a tensor";
  default:
    return "nothing";
  }
}

neo_val neo_val_known(const neo_frame *f, neo_val v) {
  int64_t x;
  if (v.kind != NEO_VAL_EXPR || !neo_expr_is_int(f->m, v.e, &x))
    return v;
  neo_type t = neo_expr_type(f->m, v.e);
  if (t == NEO_BOOL_T)
    return neo_val_bool(x != 0);
  return t == NEO_I64_T && v.index ? neo_val_int(x) : v;
}

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
  if (v->through.i && !free_dim)
    return neo_tensor_extent(fe->m, v->through, 0);
  return neo_tensor_extent(fe->m, v->tensor, view_dim(v, free_dim));
}

/* Gives the free dimensions of a view the indices sub[0..]; a dimension whose index is 0 stays
 * free. */
neo_view neo_view_with(neo_module *m, neo_view v, const neo_expr *sub) {
  uint32_t k = 0;
  for (uint32_t d = 0; d < v.n; d++)
    if (!v.index[d].i) {
      v.index[d] = sub[k++];
      if (v.index[d].i && k == 1 && v.through.i) {
        v.index[d] = neo_cast(m, NEO_I64_T, neo_load(m, v.through, &v.index[d], 1, 0));
        v.through.i = 0;
      }
      v.rank -= v.index[d].i != 0;
    }
  return v;
}

bool neo_view_is_whole(const neo_view *v) {
  return v->rank == v->n;
}

bool neo_view_is_own(const neo_inst *in, const neo_view *v) {
  neo_module *m = in->fe->m;
  if (neo_tensor_at(m, v->tensor)->role != NEO_ROLE_TEMP || v->n != v->rank + in->n_ambient)
    return false;
  for (uint32_t k = 0; k < v->n; k++) {
    bool ambient = k < in->n_ambient;
    if (v->index[k].i != (ambient ? neo_axis_ref(m, k).i : 0))
      return false;
    if (ambient && !neo_size_equal(in->fe, neo_tensor_extent(m, v->tensor, k), in->ambient[k].hi))
      return false;
  }
  return true;
}

const char *neo_val_shape_text(neo_fe *fe, const neo_val *v) {
  neo_str s = neo_str_in(fe->arena);
  uint32_t rank = v->kind == NEO_VAL_VIEW ? v->view.rank : 0;
  for (uint32_t k = 0; k < rank; k++)
    neo_str_addf(&s, "%s%s", k ? ", " : "[", neo_size_text(fe, neo_view_extent(fe, &v->view, k)));
  neo_str_add(&s, rank ? "]" : "a scalar");
  return neo_str_text(&s);
}
