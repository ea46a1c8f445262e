/* Expressions as polynomials. Sums, differences and products are multiplied out if the operator
 * certainly does not wrap (the box of its value fits its type); conversions between integer types
 * that keep the value are skipped; / and % are handled by digits.c. Any other expression is
 * an atom: an i64 expression of which only bounds are known. */
#include "ir/prove/scope.h"
#include <assert.h>

enum { MAX_DEPTH = 150 };

bool neo_expr_is_integer(const neo_module *m, neo_expr e) {
  return neo_type_is_int(neo_expr_type(m, e));
}

neo_expr neo_prover_peel(neo_prover_scope *s, neo_expr e) {
  while (neo_expr_node(s->m, e)->op == NEO_OP_CAST) {
    neo_expr x = neo_expr_arg(s->m, e, 0);
    neo_type to = neo_expr_type(s->m, e);
    if (!neo_expr_is_integer(s->m, x))
      break;
    bool wider = neo_type_bytes(to) > neo_type_bytes(neo_expr_type(s->m, x)) && to != NEO_U8_T;
    if (!wider && !neo_range_fits(neo_prover_expr_range(s, x), to))
      break;
    e = x;
  }
  return e;
}

static bool form_sum(neo_prover_scope *s, neo_expr e, int64_t sign, neo_poly *out) {
  neo_poly a, b;
  neo_prover_form(s, neo_expr_arg(s->m, e, 0), &a);
  neo_prover_form(s, neo_expr_arg(s->m, e, 1), &b);
  if (!neo_poly_add(&a, sign, &b, out))
    return false;
  neo_digits_merge(s, out);
  return true;
}

static bool form_product(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  neo_poly a, b;
  neo_prover_form(s, neo_expr_arg(s->m, e, 0), &a);
  neo_prover_form(s, neo_expr_arg(s->m, e, 1), &b);
  return neo_poly_mul(&a, &b, out);
}

static bool form_neg(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  neo_poly a;
  neo_prover_form(s, neo_expr_arg(s->m, e, 0), &a);
  return neo_poly_scale(&a, -1, out);
}

static bool form_cast(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  neo_expr x = neo_expr_arg(s->m, e, 0);
  if (!neo_expr_is_integer(s->m, x))
    return false;
  neo_prover_form(s, x, out);
  return true;
}

/* clamp, abs and relu in terms of min and max, which the bounds know. A number without sign is its
 * own magnitude: -x wraps. */
static bool form_as_min_max(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  neo_module *m = s->m;
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  neo_expr x = neo_expr_arg(m, e, 0), y;
  if (op == NEO_OP_CLAMP)
    y = neo_op2(m, NEO_OP_MIN, neo_op2(m, NEO_OP_MAX, x, neo_expr_arg(m, e, 1)),
                neo_expr_arg(m, e, 2));
  else if (op == NEO_OP_ABS && neo_expr_type(m, x) == NEO_U8_T)
    y = x;
  else if (op == NEO_OP_ABS)
    y = neo_op2(m, NEO_OP_MAX, x, neo_op1(m, NEO_OP_NEG, x));
  else
    y = neo_op2(m, NEO_OP_MAX, x, neo_const_int(m, neo_expr_type(m, x), 0));
  neo_prover_form(s, y, out);
  return true;
}

static bool build(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  switch (neo_expr_node(s->m, e)->op) {
  case NEO_OP_ADD:
    return form_sum(s, e, 1, out);
  case NEO_OP_SUB:
    return form_sum(s, e, -1, out);
  case NEO_OP_MUL:
    return form_product(s, e, out);
  case NEO_OP_NEG:
    return form_neg(s, e, out);
  case NEO_OP_DIV:
  case NEO_OP_MOD:
    return neo_digits_form(s, e, out);
  case NEO_OP_CAST:
    return form_cast(s, e, out);
  case NEO_OP_STOP:
    neo_prover_form(s, neo_expr_arg(s->m, e, 0), out);
    return true;
  case NEO_OP_CLAMP:
  case NEO_OP_ABS:
  case NEO_OP_RELU:
    return form_as_min_max(s, e, out);
  default:
    return false;
  }
}

static bool is_leaf(neo_op op) {
  return op == NEO_OP_AXIS || op == NEO_OP_SIZE || op == NEO_OP_LOAD || op == NEO_OP_LOAD_ELSE;
}

static void form_new(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  neo_type t = neo_expr_type(s->m, e);
  bool known = s->depth < MAX_DEPTH && !is_leaf((neo_op)neo_expr_node(s->m, e)->op);
  if (s->fuel <= 0)
    known = false; /* nothing is remembered then: shared nodes would cost 2^depth */
  s->depth++;
  known = known && build(s, e, out) && neo_range_fits(neo_prover_box(s, out), t);
  s->depth--;
  if (!known)
    neo_poly_atom(out, neo_cast(s->m, NEO_I64_T, e));
}

static void remember(neo_prover_scope *s, neo_expr e, const neo_poly *g) {
  if (s->pushed || s->fuel <= 0 || s->depth >= MAX_DEPTH)
    return;
  neo_poly *copy = neo_poly_new(s->m->arena, g);
  neo_map_set(&s->forms, e.i, (uint64_t)(uintptr_t)copy);
}

void neo_prover_form(neo_prover_scope *s, neo_expr e, neo_poly *out) {
  uint64_t found;
  int64_t c;
  assert(neo_expr_is_integer(s->m, e));
  if (neo_expr_is_int(s->m, e, &c)) {
    neo_poly_set(out, c);
  } else if (neo_map_get(&s->forms, e.i, &found)) {
    neo_poly_copy(out, (const neo_poly *)(uintptr_t)found);
  } else {
    form_new(s, e, out);
    remember(s, e, out);
  }
}
