/* Adjoints that arrive slice by slice: of steps that each read a slice of one tensor (or, merged by
 * parallel fusion, each are one), term k is 0 but where an axis is k.
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
#include "autodiff/internal.h"
#include "ir/out_map.h"

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

ad_part ad_part_of(ad_state *s, const ad_term *term) {
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

neo_expr ad_parts_sum(ad_state *s, neo_tensor t, const ad_parts *parts) {
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

int32_t ad_terms_axis(ad_state *s, neo_tensor t, const ad_terms *terms) {
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

bool ad_term_slice(ad_state *s, const ad_term *term, uint32_t axis, ad_term *out, int64_t *at) {
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
    if (!ad_term_slice(s, &terms->at[k], place->axis, &next, &at) || at != place->at)
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

void ad_define_term_slices(ad_state *s, neo_tensor out, neo_tensor t, const ad_terms *terms,
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
