/* Writes the checker's results into the module: tensors, their definitions, and symbols for
 * them. */
#include "frontend/sema/parts.h"
#include "frontend/sema/vertices.h"
#include "ir/out_map.h"

/* ---- tensors */

static const int64_t max_elements = (int64_t)1 << 40;

static bool negative(neo_inst *in, neo_expr e, neo_span at) {
  int64_t x;
  neo_fe *fe = in->fe;
  neo_facts facts = {NULL, 0, fe->asserts.at, (uint32_t)fe->asserts.n};
  neo_witness w = {0};
  neo_expr goal = neo_op2(fe->m, NEO_OP_LE, neo_const_i64(fe->m, 0), e);
  if (neo_expr_is_int(fe->m, e, &x) ? x >= 0
                                    : neo_prove(fe->prover, &facts, goal, &w) == NEO_PROVED)
    return false;
  int h = NEO_ERR(in, at, NEGATIVE_SIZE, neo_size_text(fe, e));
  for (uint32_t k = 0; k < w.n_sizes && k < 1; k++)
    neo_diag_note(fe->diags, h, "for example when %s = %lld",
                  neo_name_text(fe->names, neo_size_at(fe->m, w.size[k].size)->name),
                  (long long)w.size[k].value);
  return true;
}

static bool too_large(neo_inst *in, const neo_expr *extent, uint32_t n, neo_span at) {
  int64_t elements = 1;
  for (uint32_t k = 0; k < n; k++) {
    int64_t x;
    if (negative(in, extent[k], at))
      return true;
    bool known = neo_size_max(in->fe, extent[k], &x);
    bool large = !known || x > max_elements ||
                 __builtin_mul_overflow(elements, x > 0 ? x : 1, &elements) ||
                 elements > max_elements;
    if (!large)
      continue;
    NEO_ERR(in, at, TENSOR_TOO_LARGE, 40);
    return true;
  }
  return false;
}

neo_span neo_inst_span(const neo_inst *in, neo_span span) {
  neo_sources *s = neo_diags_sources(in->fe->diags);
  if (!in->call)
    return span;
  return neo_span_called(s, span, in->caller ? neo_inst_span(in->caller, in->call) : in->call);
}

/* Whether a tensor has to be refused: too large, or one of vertices and edges, which is reported.
 * Vertex functions may define the latter, since edge_values.c removes them. */
static bool is_refused(neo_inst *in, const neo_expr *extent, uint32_t n, neo_span at,
                       const char *full) {
  if (!neo_vertex_has_pairs(in, extent, n))
    return too_large(in, extent, n, at);
  if (neo_vertex_around(in))
    return false;
  int h = NEO_ERR(in, at, EDGE_VALUES, full);
  neo_diag_help(in->fe->diags, h, "edges are read within a reduction over them");
  return true;
}

neo_tensor neo_tensor_make(neo_inst *in, neo_tensor_rec rec, const neo_expr *extent, uint32_t n,
                           const char *full) {
  uint32_t list[NEO_MAX_AXES];
  neo_tensor none = {0};
  if (n > NEO_MAX_RANK) {
    NEO_ERR(in, rec.span, RANK_TOO_LARGE, (int)n, NEO_MAX_RANK);
    return none;
  }
  if (is_refused(in, extent, n, rec.span, full))
    return none;
  for (uint32_t k = 0; k < n; k++)
    list[k] = extent[k].i;
  rec.extent = neo_list_new(in->fe->m, list, n);
  rec.name = neo_name_of(in->fe->names, full);
  rec.span = neo_inst_span(in, rec.span);
  return neo_tensor_add(in->fe->m, rec);
}

/* ---- definitions */

static neo_expr shifted(neo_frame *f, neo_expr e, const neo_expr *by) {
  return neo_expr_subst_axes(f->m, e, by, NEO_MAX_AXES);
}

/* The axes of the frame's statement, after `n_outer` axes of extent 1. */
static neo_list piece_axes(neo_frame *f, uint32_t n_outer, const neo_expr *by) {
  uint32_t axes[2 * NEO_MAX_AXES], n = 0;
  neo_expr zero = neo_const_i64(f->m, 0), one = neo_const_i64(f->m, 1);
  uint32_t iteration = neo_name_of(f->fe->names, "r");
  for (uint32_t k = 0; k < n_outer; k++)
    axes[n++] = neo_axis_add(f->m, (neo_axis_rec){iteration, zero, one, 0}).i;
  for (uint32_t k = 0; k < f->n_out + (f->own.set ? f->own.n_axes : 0); k++) {
    neo_axis_rec rec = k < f->n_out ? f->axis[k] : f->own.axis[k - f->n_out];
    rec.lo = shifted(f, rec.lo, by);
    rec.hi = shifted(f, rec.hi, by);
    axes[n++] = neo_axis_add(f->m, rec).i;
  }
  return neo_list_new(f->m, axes, n);
}

static neo_list piece_map(neo_frame *f, const int64_t *outer, uint32_t n_outer) {
  neo_out_dim map[2 * NEO_MAX_AXES];
  if (!n_outer)
    return (neo_list){0};
  for (uint32_t k = 0; k < n_outer + f->n_out; k++)
    map[k] = (neo_out_dim){1, k < n_outer ? (int32_t)outer[k] : 0};
  return neo_out_map_new(f->m, map, n_outer + f->n_out);
}

neo_def neo_define_piece(neo_frame *f, neo_tensor out, neo_expr finish, neo_span span, bool piece,
                         const int64_t *outer, uint32_t n_outer) {
  neo_expr by[NEO_MAX_AXES] = {{0}};
  uint32_t body[2];
  for (uint32_t k = 0; n_outer && k < NEO_MAX_AXES; k++)
    by[k] = neo_axis_ref(f->m, k + n_outer);
  for (uint32_t k = 0; k < f->own.n_body; k++)
    body[k] = shifted(f, f->own.body[k], by).i;
  finish = shifted(f, finish, by);
  neo_def_rec rec = {.axes = piece_axes(f, n_outer, by),
                     .n_out = f->n_out + n_outer,
                     .where = shifted(f, f->own.where, by),
                     .reducer = (uint8_t)(f->own.set ? f->own.reducer : NEO_RED_NONE),
                     .body = neo_list_new(f->m, body, f->own.n_body),
                     .finish = neo_list_one(f->m, finish.i),
                     .out = neo_list_one(f->m, out.i),
                     .out_map = piece_map(f, outer, n_outer),
                     .span = neo_inst_span(f->in, span)};
  return neo_def_add(f->m, rec, piece);
}

neo_tensor neo_define_temp(neo_frame *f, const char *full, neo_type type, neo_expr bound,
                           neo_span span) {
  neo_expr extent[NEO_MAX_AXES];
  neo_tensor_rec rec = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type, .span = span, .bound = bound};
  for (uint32_t k = 0; k < f->n_out; k++)
    extent[k] = f->axis[k].hi;
  return neo_tensor_make(f->in, rec, extent, f->n_out, neo_fe_unique(f->fe, full));
}

neo_val neo_define_element(neo_frame *f, neo_expr e, const char *full, neo_expr bound,
                           neo_span at) {
  if (!e.i || !neo_fe_spend(f->fe, f->in, at))
    return neo_val_poison();
  neo_tensor t = neo_define_temp(f, full, neo_expr_type(f->m, e), bound, at);
  if (!t.i)
    return neo_val_poison();
  neo_define_piece(f, t, e, at, true, NULL, 0);
  return neo_val_view(neo_view_ambient(f->in, t, f->n_out - f->in->n_ambient));
}

neo_val neo_define_copy(neo_inst *in, neo_val v, const char *full, neo_span at) {
  neo_expr e, bound = {0};
  neo_frame *f = neo_element_frame(in, &v, full, at, &e);
  if (v.kind == NEO_VAL_VIEW)
    bound = neo_tensor_at(f->m, v.view.tensor)->bound;
  return neo_define_element(f, e, full, bound, at);
}

neo_val neo_define_cast(neo_inst *in, neo_val v, neo_type to, const char *full, neo_span at) {
  neo_expr e;
  if (v.kind != NEO_VAL_VIEW || neo_tensor_at(in->fe->m, v.view.tensor)->type == to)
    return v;
  neo_frame *f = neo_element_frame(in, &v, full, at, &e);
  e = e.i ? neo_cast(f->m, to, e) : e;
  return neo_define_element(f, e, full, e.i ? neo_expr_bound(f, e) : e, at);
}

/* ---- the value of a definition */

bool neo_bounds_of_value(neo_frame *f, const neo_ast_var *var, neo_span at, neo_expr e,
                         const neo_ends *ends) {
  neo_expr bound = ends->bound;
  if (ends->least.i || ends->below.i) {
    if (neo_ends_hold(f, e, ends))
      return true;
    int h = NEO_ERR(f->in, at, ENDS_NOT_PROVED, var->name.text);
    neo_diag_range(f->fe->diags, h, var->type.span);
    return false;
  }
  if (!bound.i || neo_ends_within(f, e, bound))
    return true;
  int h = NEO_ERR(f->in, at, BOUND_NOT_PROVED, neo_size_text(f->fe, bound));
  neo_diag_help(f->fe->diags, h, "use clamp(..., 0, %s)",
                neo_size_text(f->fe, neo_size_add1(f->fe, bound, -1)));
  return false;
}

/* The value with the declared type and bounds of its target. */
bool neo_define_value(neo_frame *f, const neo_ast_var *var, neo_span at, neo_val v, neo_expr *e,
                      neo_ends *ends) {
  bool typed = var->type.given;
  neo_type type = typed ? neo_type_written(f->in, &var->type) : NEO_F32_T;
  *e = typed && v.kind == NEO_VAL_LIT ? neo_val_as(f, at, v, type) : neo_val_scalar(f, at, v);
  if (!e->i)
    return false;
  f->n_axes = f->n_out;
  if (typed)
    *e = neo_cast(f->m, type, *e);
  if (!neo_bounds_of_value(f, var, at, *e, ends))
    return false;
  if (!ends->bound.i && !ends->least.i && neo_expr_uses_op(f->m, *e, NEO_OP_ACC))
    *ends = neo_expr_ends(f, *e);
  else if (!ends->bound.i)
    ends->bound = neo_expr_bound(f, *e);
  return true;
}

/* ---- symbols */

void neo_define_bind(neo_inst *in, const neo_ast_name *name, neo_val v, const char *prefix) {
  if (v.kind == NEO_VAL_POISON) {
    neo_scope_poison(in, name);
    return;
  }
  neo_scope_add(in, in->scope,
                (neo_sym){.kind = NEO_SYM_VALUE,
                          .name = name->text,
                          .span = name->span,
                          .value = v,
                          .prefix = prefix});
}

const neo_ast_name *neo_define_target(const neo_ast_stmt *s, uint32_t k) {
  return k == 0 ? &s->u.define.target.name : &s->u.define.more.at[k - 1];
}

void neo_define_view(neo_inst *in, const neo_ast_name *name, neo_view v) {
  neo_scope_add(
      in, in->scope,
      (neo_sym){
          .kind = NEO_SYM_VALUE, .name = name->text, .span = name->span, .value = neo_val_view(v)});
}
