/* Makes the IR of derivatives: temporary tensors, their definitions, and reads of them. */
#include "ir/define.h"
#include "autodiff/internal.h"
#include "ir/clone.h"
#include "ir/out_map.h"
#include <stdio.h>

neo_expr ad_read(neo_module *m, neo_tensor t) {
  return neo_load_own(m, t, neo_tensor_at(m, t)->span);
}

neo_tensor ad_temp(neo_module *m, const char *prefix, neo_tensor like, neo_type type,
                   const neo_axis_rec *axis, uint32_t n_out, neo_span span) {
  uint32_t extent[NEO_DEF_AXES];
  for (uint32_t k = 0; k < n_out; k++)
    extent[k] = axis[k].hi.i;
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type, .span = span};
  r.name = neo_tensor_fresh_name(m, prefix, neo_tensor_name(m, like));
  r.extent = neo_list_new(m, extent, n_out);
  return neo_tensor_add(m, r);
}

neo_def ad_define(neo_module *m, neo_tensor out, neo_def_rec rec, const neo_axis_rec *axis,
                  uint32_t n) {
  rec.axes = neo_axes_add(m, axis, n);
  rec.out = neo_list_one(m, out.i);
  return neo_def_add(m, rec, true);
}

bool ad_is_plain_index(const neo_module *m, neo_expr e) {
  return !neo_expr_has_loads(m, e);
}

bool ad_is_plain(const neo_module *m, neo_expr e) {
  if (neo_expr_node(m, e)->op == NEO_OP_LOAD)
    return true;
  return ad_is_plain_index(m, e) && !neo_expr_uses_op(m, e, NEO_OP_RAND);
}

neo_expr ad_guarded(neo_module *m, neo_expr where, neo_expr value) {
  return where.i ? ad_select(m, where, value, ad_zero(m, neo_expr_type(m, value))) : value;
}

/* output = at where AXIS place->axis is 0, the identity elsewhere. */
void ad_define_sum(ad_state *s, neo_tensor out, const ad_term *term, neo_expr more,
                   const ad_place *place) {
  neo_module *m = s->m;
  neo_type type = neo_expr_type(m, term->value);
  bool narrow =
      type == NEO_F16_T || type == NEO_BF16_T; /* the reducer's wide accumulator is rounded once */
  neo_expr body = narrow ? neo_cast(m, NEO_F32_T, term->value) : term->value;
  neo_type wide = neo_expr_type(m, body);
  neo_expr acc = ad_add(m, neo_acc_ref(m, wide, 0), more.i ? neo_cast(m, wide, more) : more);
  acc = neo_cast(m, type, acc);
  neo_def_rec r = {.n_out = term->n_out,
                   .where = term->where,
                   .reducer = NEO_RED_SUM,
                   .span = neo_tensor_at(m, out)->span};
  r.body = neo_list_one(m, body.i);
  r.finish = neo_list_one(m, acc.i);
  if (place)
    r.out_map = neo_out_map_slice(m, term->n_out, place->axis, (int32_t)place->at);
  ad_define(m, out, r, term->space.axis, term->space.n);
}

void ad_define_value(neo_module *m, neo_tensor out, neo_expr value, neo_span span) {
  neo_axis_rec axis[16];
  uint32_t n = neo_tensor_rank(m, out);
  for (uint32_t k = 0; k < n; k++) {
    char name[8];
    snprintf(name, sizeof name, "z%u", k);
    axis[k] = (neo_axis_rec){neo_name_of(m->names, name), neo_const_i64(m, 0),
                             neo_tensor_extent(m, out, k), span};
  }
  neo_def_rec r = {.n_out = n, .reducer = NEO_RED_NONE, .span = span};
  r.finish = neo_list_one(m, value.i);
  ad_define(m, out, r, axis, n);
}

void ad_define_term(ad_state *s, neo_tensor out, const ad_term *term, neo_span span) {
  if (term->space.n == term->n_out)
    ad_define_value(s->m, out, ad_guarded(s->m, term->where, term->value), span);
  else
    ad_define_sum(s, out, term, (neo_expr){0}, NULL);
}

neo_tensor ad_new_adjoint(ad_state *s, neo_tensor t) {
  neo_module *m = s->m;
  neo_tensor_rec like = *neo_tensor_at(m, t);
  neo_axis_rec axis[16];
  for (uint32_t k = 0; k < like.extent.n; k++)
    axis[k].hi = neo_tensor_extent(m, t, k);
  return ad_temp(m, "d", t, (neo_type)like.type, axis, like.extent.n, like.span);
}
