/* The adjoint of a tensor is the sum of its terms, one for each read of it. Terms without free axes
 * are added up in one expression. Each other term is a reduction of its own, which adds the
 * previous one in its finish, so that only two of them are in memory at a time, however many there
 * are (a weight that all steps of an unrolled network share):
 *     dW.1[z] = sum[b] G1[b, z],   dW.2[z] = (sum[b] G2[b, z]) + dW.1[z],   ...   + the expression
 * Terms that are slices (of a weight that holds those of all layers) are pieces instead, in
 * slices.c. */
#include "autodiff/internal.h"
#include <assert.h>

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

void ad_adjoint_add_expr(ad_state *s, neo_tensor t, neo_expr e) {
  ad_adjoint *a = slot(s, t);
  assert(!a->final && "a term after the adjoint was closed");
  if (!neo_expr_is_positive_zero(s->m, e))
    NEO_PUSH(s->scratch, &a->parts, (ad_part){.value = e, .axis = -1});
}

void ad_adjoint_add(ad_state *s, neo_tensor t, const ad_term *term) {
  int64_t holds = 1;
  if (term->where.i && !neo_expr_is_int(s->m, term->where, &holds))
    holds = 1;
  if (!holds || neo_expr_is_positive_zero(s->m, term->value))
    return;
  ad_adjoint *a = slot(s, t);
  assert(!a->final && "a term after the adjoint was closed");
  if (term->space.n == term->n_out) {
    NEO_PUSH(s->scratch, &a->parts, ad_part_of(s, term));
    return;
  }
  NEO_PUSH(s->scratch, &a->terms, *term);
}

/* The condition of select(where, x, 0), if it is one of indices. */
static neo_expr where_of(const neo_module *m, neo_expr e) {
  if (!e.i || neo_expr_node(m, e)->op != NEO_OP_SELECT ||
      !neo_expr_is_positive_zero(m, neo_expr_arg(m, e, 2)))
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

/* The request's tensor for the adjoint of t; 0: it asks for none. */
static neo_tensor requested(const ad_state *s, neo_tensor t) {
  uint64_t out = 0;
  (void)neo_map_get(&s->out_of, t.i, &out);
  return (neo_tensor){(uint32_t)out};
}

/* ---- tensors that need each other */

bool ad_adjoint_arrives(ad_state *s, neo_tensor t) {
  const ad_adjoint *a = slot(s, t);
  return a->terms.n || a->parts.n;
}

void ad_adjoint_open(ad_state *s, neo_tensor t) {
  neo_tensor out = requested(s, t);
  if (slot(s, t)->open.i)
    return;
  out = out.i ? out : ad_new_adjoint(s, t);
  slot(s, t)->open = out;
  slot(s, t)->value = ad_read(s->m, out);
}

void ad_adjoint_close(ad_state *s, neo_tensor t) {
  neo_module *m = s->m;
  ad_adjoint a = *slot(s, t);
  neo_expr sum = {0};
  if (a.final || !a.open.i)
    return;
  slot(s, t)->final = true;
  neo_expr *value = NEO_NEW_ARRAY(s->scratch, neo_expr, a.parts.n + 1);
  for (size_t k = 0; k < a.parts.n; k++)
    value[k] = a.parts.at[k].value;
  sum = ad_sum(m, value, a.parts.n);
  for (size_t k = 0; k < a.terms.n; k++) {
    bool last = k + 1 == a.terms.n;
    neo_tensor term = last ? a.open : ad_new_adjoint(s, t);
    ad_define_sum(s, term, &a.terms.at[k], sum, NULL);
    sum = ad_read(m, term);
  }
  if (!a.terms.n)
    ad_define_value(m, a.open, sum.i ? sum : ad_zero(m, neo_tensor_type(m, t)),
                    neo_tensor_at(m, t)->span);
}

neo_expr ad_adjoint_final(ad_state *s, neo_tensor t) {
  neo_module *m = s->m;
  ad_adjoint *a = slot(s, t);
  if (a->final || a->open.i)
    return a->value;
  a->final = true;
  neo_tensor out = requested(s, t);
  neo_span span = neo_tensor_at(m, t)->span;
  neo_expr value = {0};
  a->rest = ad_parts_sum(s, t, &a->parts);
  if (a->terms.n)
    return a->value = sum_terms(s, t, out, a);
  value = a->rest;
  a->where = where_of(m, value);
  if (out.i) {
    ad_define_value(m, out, value.i ? value : ad_zero(m, neo_tensor_type(m, t)), span);
    if (value.i)
      value = ad_read(m, out);
  } else if (value.i && !ad_is_plain(m, value)) {
    out = ad_new_adjoint(s, t);
    ad_define_value(m, out, value, span);
    value = ad_read(m, out);
  }
  return a->value = value;
}
