/* The adjoint of a tensor is the sum of its terms, one for each read of it. Terms without free axes
 * are added up in one expression. Each other term is a reduction of its own, which adds the
 * previous one in its finish, so that only two of them are in memory at a time, however many there
 * are (a weight that all steps of an unrolled network share):
 *     dW.1[z] = sum[b] G1[b, z],   dW.2[z] = (sum[b] G2[b, z]) + dW.1[z],   ...   + the expression
 * Terms that are slices (of a weight that holds those of all layers) are pieces instead. */
#include "autodiff/internal.h"
#include "ir/out_map.h"
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

/* ---- slices: adjoints that arrive slice by slice. Of steps that each read a slice of one tensor
 * (or, merged by parallel fusion, each are one), term k is 0 but where an axis is k.
 *
 *     dP[n, z, j] = select(z == 0, G0[n, j], 0) + select(z == 1, G1[n, j], 0) + ...
 *
 * As an expression, every element would look at every step. Where there are more than a few, each
 * slice becomes a piece:
 *
 *     dP[n, 0, j] = G0[n, j],   dP[n, 1, j] = G1[n, j],   ...,   and zeros in between
 *
 * Terms that are reductions are pieces even if there is only one: added up in a chain, each would
 * pass over all slices. */

enum { LEAST_SLICES = 9, MOST_SLICES = 4096 };

static bool equation_of(const neo_module *m, neo_expr e, uint32_t n_out, ad_part *out) {
  if (neo_expr_node(m, e)->op != NEO_OP_EQ)
    return false;
  neo_expr a = neo_expr_arg(m, e, 0), b = neo_expr_arg(m, e, 1);
  if (neo_expr_is_int(m, a, &out->at)) {
    neo_expr t = a;
    a = b;
    b = t;
  }
  if (neo_expr_node(m, a)->op != NEO_OP_AXIS || !neo_expr_is_int(m, b, &out->at))
    return false;
  out->axis = (int32_t)neo_expr_node(m, a)->attr;
  return out->axis < (int32_t)n_out;
}

/* The first equation among the conjuncts goes to *out, the others to *left. */
static bool find_equation(neo_module *m, neo_expr where, uint32_t n_out, ad_part *out,
                          neo_expr *left) {
  if (neo_expr_node(m, where)->op == NEO_OP_AND) {
    neo_expr a = neo_expr_arg(m, where, 0), b = neo_expr_arg(m, where, 1);
    if (find_equation(m, a, n_out, out, left)) {
      *left = neo_both(m, *left, b);
      return true;
    }
    bool found = find_equation(m, b, n_out, out, left);
    *left = neo_both(m, a, *left);
    return found;
  }
  if (equation_of(m, where, n_out, out))
    return true;
  *left = where;
  return false;
}

static ad_part part_of(ad_state *s, const ad_term *term) {
  ad_part p = {.axis = -1, .value = ad_guarded(s->m, term->where, term->value)};
  neo_expr left = {0};
  if (term->where.i && find_equation(s->m, term->where, term->n_out, &p, &left))
    p.slice = ad_guarded(s->m, left, term->value);
  else
    p.axis = -1;
  return p;
}

/* ---- pieces */

/* The axis along which most slices of the tensor are, if there are enough of them; -1 otherwise. */
static int32_t sliced_axis(ad_state *s, neo_tensor t, const ad_parts *parts) {
  uint32_t count[16] = {0}, best = 0, rank = neo_tensor_rank(s->m, t);
  int64_t extent;
  for (size_t k = 0; k < parts->n; k++)
    if (parts->at[k].axis >= 0 && parts->at[k].axis < 16)
      count[parts->at[k].axis]++;
  for (uint32_t k = 1; k < rank; k++)
    best = count[k] > count[best] ? k : best;
  bool fits = rank > 0 && count[best] >= LEAST_SLICES &&
              neo_expr_is_int(s->m, neo_tensor_extent(s->m, t, best), &extent) &&
              extent <= MOST_SLICES;
  return fits ? (int32_t)best : -1;
}

/* Positions [at, at + n) of the axis, all with the same value over AXIS 0 .. rank. */
static void define_piece(ad_state *s, neo_tensor out, uint32_t axis, int64_t at, int64_t n,
                         neo_expr value) {
  neo_module *m = s->m;
  uint32_t rank = neo_tensor_rank(m, out);
  neo_axis_rec x[16];
  for (uint32_t k = 0; k < rank; k++) {
    neo_expr hi = k == axis ? neo_const_i64(m, n) : neo_tensor_extent(m, out, k);
    char name[] = {'z', (char)('0' + k % 10), 0};
    x[k] = (neo_axis_rec){neo_name_of(m->names, name), neo_const_i64(m, 0), hi,
                          neo_tensor_at(m, out)->span};
  }
  neo_def_rec r = {.n_out = rank, .reducer = NEO_RED_NONE, .span = neo_tensor_at(m, out)->span};
  r.finish = neo_list_one(m, value.i);
  r.out_map = neo_out_map_slice(m, rank, axis, (int32_t)at);
  ad_define(m, out, r, x, rank);
}

/* value: room for as many as there are parts. */
static neo_expr slice_value(ad_state *s, const ad_parts *parts, uint32_t axis, int64_t at,
                            neo_expr *value) {
  neo_expr by[16] = {{0}};
  size_t n = 0;
  by[axis] = neo_const_i64(s->m, at);
  for (size_t k = 0; k < parts->n; k++) {
    const ad_part *p = &parts->at[k];
    if (p->axis == (int32_t)axis && p->at == at)
      value[n++] = neo_expr_subst_axes(s->m, p->slice, by, axis + 1);
  }
  return ad_sum(s->m, value, n);
}

static neo_expr define_slices(ad_state *s, neo_tensor t, const ad_parts *parts, uint32_t axis) {
  neo_module *m = s->m;
  neo_tensor out = ad_new_adjoint(s, t);
  neo_expr zero = ad_zero(m, neo_tensor_type(m, out));
  neo_expr *room = NEO_NEW_ARRAY(s->scratch, neo_expr, parts->n + 1);
  int64_t extent = 0, empty = 0; /* positions without a slice, just before this one */
  neo_expr_is_int(m, neo_tensor_extent(m, t, axis), &extent);
  for (int64_t at = 0; at < extent; at++) {
    neo_expr value = slice_value(s, parts, axis, at, room);
    empty += !value.i;
    if (empty && (value.i || at + 1 == extent))
      define_piece(s, out, axis, at + !value.i - empty, empty, zero);
    if (value.i) {
      define_piece(s, out, axis, at, 1, value);
      empty = 0;
    }
  }
  return ad_read(m, out);
}

/* The sum of the parts of t's adjoint: an expression, which may read a new tensor. */
static neo_expr parts_sum(ad_state *s, neo_tensor t, const ad_parts *parts) {
  int32_t axis = sliced_axis(s, t, parts);
  neo_expr *value = NEO_NEW_ARRAY(s->scratch, neo_expr, parts->n + 1);
  size_t n = 0;
  for (size_t k = 0; k < parts->n; k++)
    if (axis < 0 || parts->at[k].axis != axis)
      value[n++] = parts->at[k].value;
  neo_expr sum = ad_sum(s->m, value, n);
  return axis < 0 ? sum : ad_add(s->m, sum, define_slices(s, t, parts, (uint32_t)axis));
}

/* ---- terms that are reductions */

static bool slice_of(ad_state *s, const ad_term *term, ad_part *p, neo_expr *left) {
  *p = (ad_part){.axis = -1};
  *left = (neo_expr){0};
  return term->where.i && find_equation(s->m, term->where, term->n_out, p, left);
}

/* The axis along which some of the terms are slices of t's adjoint; -1: none is one. */
static int32_t terms_axis(ad_state *s, neo_tensor t, const ad_terms *terms) {
  uint32_t count[16] = {0}, best = 0, rank = neo_tensor_rank(s->m, t);
  ad_part p;
  neo_expr left;
  int64_t extent;
  for (size_t k = 0; k < terms->n; k++)
    if (slice_of(s, &terms->at[k], &p, &left) && p.axis < 16)
      count[p.axis]++;
  for (uint32_t k = 1; k < rank; k++)
    best = count[k] > count[best] ? k : best;
  bool fits = rank > 0 && count[best] > 0 &&
              neo_expr_is_int(s->m, neo_tensor_extent(s->m, t, best), &extent) && extent > 1 &&
              extent <= MOST_SLICES;
  return fits ? (int32_t)best : -1;
}

/* Whether the term is 0 except at one position of the axis. *at is that position, and *out the term
 * at it, over an axis of extent 1. */
static bool term_slice(ad_state *s, const ad_term *term, uint32_t axis, ad_term *out, int64_t *at) {
  neo_module *m = s->m;
  neo_expr by[16] = {{0}}, left;
  ad_part p;
  if (!slice_of(s, term, &p, &left) || p.axis != (int32_t)axis)
    return false;
  *at = p.at;
  *out = *term;
  by[axis] = neo_const_i64(m, p.at);
  out->where = neo_expr_subst_axes(m, left, by, axis + 1);
  out->value = neo_expr_subst_axes(m, term->value, by, axis + 1);
  for (uint32_t k = 0; k < term->space.n; k++) {
    neo_axis_rec *x = &out->space.axis[k];
    x->lo = neo_expr_subst_axes(m, x->lo, by, axis + 1);
    x->hi = neo_expr_subst_axes(m, x->hi, by, axis + 1);
  }
  out->space.axis[axis].lo = neo_const_i64(m, 0);
  out->space.axis[axis].hi = neo_const_i64(m, 1);
  return true;
}

/* `rest` at position at + AXIS axis. */
static neo_expr rest_at(ad_state *s, neo_expr rest, uint32_t axis, int64_t at) {
  neo_module *m = s->m;
  neo_expr by[16] = {{0}};
  by[axis] = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, axis), neo_const_i64(m, at));
  return neo_expr_subst_axes(m, rest, by, axis + 1);
}

/* Defines position `at` of the axis as the sum of its terms. False: there are none. */
static bool define_term_slice(ad_state *s, neo_tensor out, const ad_terms *terms,
                              const ad_place *place, neo_expr rest) {
  ad_term next, term;
  neo_expr sum = {0};
  bool any = false;
  int64_t at;
  for (size_t k = 0; k < terms->n; k++) {
    if (!term_slice(s, &terms->at[k], place->axis, &next, &at) || at != place->at)
      continue;
    if (any) {
      neo_tensor t = ad_temp(s->m, "d", out, neo_expr_type(s->m, term.value), term.space.axis,
                             term.n_out, neo_tensor_at(s->m, out)->span);
      ad_define_sum(s, t, &term, sum, NULL);
      sum = ad_read(s->m, t);
    }
    term = next;
    any = true;
  }
  if (any)
    ad_define_sum(s, out, &term, ad_add(s->m, sum, rest_at(s, rest, place->axis, place->at)),
                  place);
  return any;
}

/* Defines `out`, of t's shape, from the terms that are slices along the axis, plus `rest` (0:
 * nothing) over AXIS 0 .. rank everywhere. */
static void define_term_slices(ad_state *s, neo_tensor out, neo_tensor t, const ad_terms *terms,
                               uint32_t axis, neo_expr rest) {
  neo_module *m = s->m;
  neo_expr zero = ad_zero(m, neo_tensor_type(m, t));
  int64_t extent = 0, empty = 0; /* positions without a term, just before this one */
  neo_expr_is_int(m, neo_tensor_extent(m, t, axis), &extent);
  for (int64_t at = 0; at <= extent; at++) {
    bool any = at < extent && define_term_slice(s, out, terms, &(ad_place){axis, at}, rest);
    if (empty && (any || at == extent)) {
      neo_expr value = rest_at(s, rest, axis, at - empty);
      define_piece(s, out, axis, at - empty, empty, value.i ? value : zero);
    }
    empty = any ? 0 : empty + 1;
  }
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
    NEO_PUSH(s->scratch, &a->parts, part_of(s, term));
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
    if (term_slice(s, &terms->at[k], axis, &slice, &at))
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
  int32_t axis = terms_axis(s, t, &a->terms);
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
  define_term_slices(s, out, t, &slices, (uint32_t)axis, ad_add(m, value, a->rest));
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
  a->rest = parts_sum(s, t, &a->parts);
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
