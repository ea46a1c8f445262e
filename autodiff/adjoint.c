/* The adjoint of a tensor is the sum of its terms, one a read. Terms without free axes are added up
 * in one expression; each of the others is a reduction of its own, which adds the one before it
 * when it ends, so that of many terms (a weight that all steps of an unrolled network share) two
 * are in memory at a time:
 *     dW.1[z] = sum[b] G1[b, z],   dW.2[z] = (sum[b] G2[b, z]) + dW.1[z],   ...   + the expression
 * Terms that are slices (of a weight that holds those of all layers) are pieces instead, in
 * slices.c. */
#include "autodiff/internal.h"
#include "ir/clone.h"
#include <assert.h>
#include <stdio.h>

bool ad_needs(const ad_state *s, neo_tensor t) {
  return neo_map_get(&s->needs, t.i, NULL);
}

static ad_adjoint *slot(ad_state *s, neo_tensor t) {
  uint64_t k;
  if (!neo_map_get(&s->adjoint_of, t.i, &k)) {
    k = s->adjoint.n;
    NEO_PUSH(s->scratch, &s->adjoint, (ad_adjoint){0});
    neo_map_set(&s->adjoint_of, t.i, k);
  }
  return &s->adjoint.at[k];
}

neo_expr ad_read(neo_module *m, neo_tensor t) {
  neo_expr index[16];
  uint32_t n = neo_tensor_rank(m, t);
  for (uint32_t k = 0; k < n; k++)
    index[k] = neo_axis_ref(m, k);
  return neo_load(m, t, index, n, neo_tensor_at(m, t)->span);
}

neo_tensor ad_temp(neo_module *m, const char *prefix, neo_tensor like, neo_type type,
                   const neo_axis_rec *axis, uint32_t n_out, neo_span span) {
  uint32_t extent[64];
  for (uint32_t k = 0; k < n_out; k++)
    extent[k] = axis[k].hi.i;
  neo_tensor_rec r = {.role = NEO_ROLE_TEMP, .type = (uint8_t)type, .span = span};
  r.name = neo_tensor_fresh_name(m, prefix, neo_name_text(m->names, neo_tensor_at(m, like)->name));
  r.extent = neo_list_new(m, extent, n_out);
  return neo_tensor_add(m, r);
}

neo_def ad_define(neo_module *m, neo_tensor out, neo_def_rec rec, const neo_axis_rec *axis,
                  uint32_t n) {
  uint32_t ids[64];
  for (uint32_t k = 0; k < n; k++)
    ids[k] = neo_axis_add(m, axis[k]).i;
  rec.axes = neo_list_new(m, ids, n);
  rec.out = neo_list_new(m, &out.i, 1);
  return neo_def_add(m, rec, true);
}

bool ad_is_plain_index(const neo_module *m, neo_expr e) {
  return !neo_expr_uses_op(m, e, NEO_OP_LOAD) && !neo_expr_uses_op(m, e, NEO_OP_LOAD_ELSE);
}

bool ad_is_plain(const neo_module *m, neo_expr e) {
  if (neo_expr_node(m, e)->op == NEO_OP_LOAD)
    return true;
  return ad_is_plain_index(m, e) && !neo_expr_uses_op(m, e, NEO_OP_RAND);
}

neo_expr ad_guarded(neo_module *m, neo_expr where, neo_expr value) {
  return where.i ? ad_select(m, where, value, ad_zero(m, neo_expr_type(m, value))) : value;
}

void ad_adjoint_add_expr(ad_state *s, neo_tensor t, neo_expr e) {
  ad_adjoint *a = slot(s, t);
  assert(!a->final && "a term after the adjoint was closed");
  if (!ad_is_zero(s->m, e))
    NEO_PUSH(s->scratch, &a->parts, (ad_part){.value = e, .axis = -1});
}

void ad_adjoint_add(ad_state *s, neo_tensor t, const ad_term *term) {
  int64_t holds = 1;
  if (term->where.i && !neo_expr_is_int(s->m, term->where, &holds))
    holds = 1;
  if (!holds || ad_is_zero(s->m, term->value))
    return;
  ad_adjoint *a = slot(s, t);
  assert(!a->final && "a term after the adjoint was closed");
  if (term->space.n == term->n_out) {
    NEO_PUSH(s->scratch, &a->parts, ad_part_of(s, term));
    return;
  }
  NEO_PUSH(s->scratch, &a->terms, *term);
}

/* output = at where AXIS place->axis is 0, the identity elsewhere. */
static neo_list map_of(neo_module *m, uint32_t rank, const ad_place *place) {
  uint32_t map[32];
  for (uint32_t k = 0; k < rank; k++) {
    map[2 * k] = 1;
    map[2 * k + 1] = k == place->axis ? (uint32_t)place->at : 0;
  }
  return neo_list_new(m, map, 2 * rank);
}

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
  r.body = neo_list_new(m, &body.i, 1);
  r.finish = neo_list_new(m, &acc.i, 1);
  if (place)
    r.out_map = map_of(m, term->n_out, place);
  ad_define(m, out, r, term->space.axis, term->space.n);
}

static void define_value(ad_state *s, neo_tensor out, neo_expr value, neo_span span) {
  neo_module *m = s->m;
  neo_axis_rec axis[16];
  uint32_t n = neo_tensor_rank(m, out);
  for (uint32_t k = 0; k < n; k++) {
    char name[8];
    snprintf(name, sizeof name, "z%u", k);
    axis[k] = (neo_axis_rec){neo_name_of(m->names, name), neo_const_int(m, NEO_I64_T, 0),
                             neo_tensor_extent(m, out, k), span};
  }
  neo_def_rec r = {.n_out = n, .reducer = NEO_RED_NONE, .span = span};
  r.finish = neo_list_new(m, &value.i, 1);
  ad_define(m, out, r, axis, n);
}

void ad_define_term(ad_state *s, neo_tensor out, const ad_term *term, neo_span span) {
  if (term->space.n == term->n_out)
    define_value(s, out, ad_guarded(s->m, term->where, term->value), span);
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

/* The condition of select(where, x, 0), if it is one of indices. */
static neo_expr where_of(const neo_module *m, neo_expr e) {
  if (!e.i || neo_expr_node(m, e)->op != NEO_OP_SELECT || !ad_is_zero(m, neo_expr_arg(m, e, 2)))
    return (neo_expr){0};
  neo_expr c = neo_expr_arg(m, e, 0);
  bool indices = ad_is_plain_index(m, c) && !neo_expr_uses_op(m, c, NEO_OP_RAND);
  return indices ? c : (neo_expr){0};
}

neo_expr ad_adjoint_where(ad_state *s, neo_tensor t) {
  return slot(s, t)->where;
}

/* The terms that are slices along the axis go to *slices, the others stay. */
static void take_slices(ad_state *s, ad_terms *terms, uint32_t axis, ad_terms *slices) {
  size_t n = 0;
  for (size_t k = 0; k < terms->n; k++) {
    ad_term slice;
    int64_t at;
    if (ad_term_slice(s, &terms->at[k], axis, &slice, &at))
      NEO_PUSH(s->scratch, slices, terms->at[k]);
    else
      terms->at[n++] = terms->at[k];
  }
  terms->n = n;
}

/* The sum of the terms and the rest, in `out` if that is given. */
static neo_expr sum_terms(ad_state *s, neo_tensor t, neo_tensor out, ad_adjoint *a) {
  neo_module *m = s->m;
  neo_expr value = {0};
  ad_terms slices = {0};
  int32_t axis = ad_terms_axis(s, t, &a->terms);
  if (axis >= 0)
    take_slices(s, &a->terms, (uint32_t)axis, &slices);
  for (size_t k = 0; k < a->terms.n; k++) {
    bool last = k + 1 == a->terms.n && !slices.n;
    neo_tensor term = last && out.i ? out : ad_new_adjoint(s, t);
    ad_define_sum(s, term, &a->terms.at[k], last ? ad_add(m, value, a->rest) : value, NULL);
    value = ad_read(m, term);
  }
  if (!slices.n)
    return value;
  out = out.i ? out : ad_new_adjoint(s, t);
  ad_define_term_slices(s, out, t, &slices, (uint32_t)axis, ad_add(m, value, a->rest));
  return ad_read(m, out);
}

neo_expr ad_adjoint_final(ad_state *s, neo_tensor t) {
  neo_module *m = s->m;
  ad_adjoint *a = slot(s, t);
  if (a->final)
    return a->value;
  a->final = true;
  uint64_t out_id = 0;
  neo_tensor out = {0};
  if (neo_map_get(&s->out_of, t.i, &out_id))
    out.i = (uint32_t)out_id;
  neo_span span = neo_tensor_at(m, t)->span;
  neo_expr value = {0};
  a->rest = ad_parts_sum(s, t, &a->parts);
  if (a->terms.n)
    return a->value = sum_terms(s, t, out, a);
  value = a->rest;
  a->where = where_of(m, value);
  if (out.i) {
    define_value(s, out, value.i ? value : ad_zero(m, (neo_type)neo_tensor_at(m, t)->type), span);
    if (value.i)
      value = ad_read(m, out);
  } else if (value.i && !ad_is_plain(m, value)) {
    out = ad_new_adjoint(s, t);
    define_value(s, out, value, span);
    value = ad_read(m, out);
  }
  return a->value = value;
}
