/* Sizes: i64 expressions over constants and run-time sizes. */
#include "frontend/sema/parts.h"
#include "ir/print.h"

static bool is_impure(const neo_module *m, neo_expr e, const void *x) {
  (void)x;
  switch ((neo_op)neo_expr_node(m, e)->op) {
  case NEO_OP_AXIS:
  case NEO_OP_LOAD:
  case NEO_OP_LOAD_ELSE:
  case NEO_OP_ACC:
  case NEO_OP_RAND:
  case NEO_OP_STEP:
  case NEO_OP_TRAINING:
    return true;
  default:
    return false;
  }
}

bool neo_size_is_pure(const neo_module *m, neo_expr e) {
  return !neo_expr_any(m, e, is_impure, NULL);
}

neo_expr neo_size_add1(neo_fe *fe, neo_expr e, int64_t k) {
  return neo_op2(fe->m, NEO_OP_ADD, e, neo_const_i64(fe->m, k));
}

neo_facts neo_size_facts(neo_fe *fe) {
  return (neo_facts){NULL, 0, fe->asserts.at, (uint32_t)fe->asserts.n};
}

bool neo_size_equal(neo_fe *fe, neo_expr a, neo_expr b) {
  neo_linear x, y;
  if (a.i == b.i)
    return true;
  if (neo_linear_of(fe->m, a, &x) && neo_linear_of(fe->m, b, &y) &&
      neo_linear_add(&x, -1, &y, &x) && x.n == 0)
    return x.constant == 0;
  neo_facts facts = neo_size_facts(fe);
  return neo_proves(fe->prover, &facts, neo_op2(fe->m, NEO_OP_EQ, a, b));
}

bool neo_size_max(neo_fe *fe, neo_expr e, int64_t *x) {
  int64_t lo;
  neo_facts facts = neo_size_facts(fe);
  return neo_interval(fe->prover, &facts, e, &lo, x);
}

const char *neo_size_text(neo_fe *fe, neo_expr e) {
  int64_t x;
  if (neo_expr_is_int(fe->m, e, &x))
    return neo_arena_printf(fe->arena, "%lld", (long long)x);
  neo_str s = neo_str_in(fe->arena);
  neo_expr_print(fe->m, NULL, e, &s);
  return neo_str_text(&s);
}

/* x / a, divided exactly if a divides all coefficients, else as a division. */
neo_expr neo_size_quotient(neo_fe *fe, neo_expr x, neo_expr a) {
  neo_linear l;
  int64_t k;
  if (!neo_expr_is_int(fe->m, a, &k) || k == 0 || k == -1 || !neo_linear_of(fe->m, x, &l))
    return neo_op2(fe->m, NEO_OP_DIV, x, a);
  bool divides = l.constant % k == 0;
  for (uint32_t j = 0; j < l.n; j++)
    divides = divides && l.term[j].coef % k == 0;
  if (!divides)
    return neo_op2(fe->m, NEO_OP_DIV, x, a);
  l.constant /= k;
  for (uint32_t j = 0; j < l.n; j++)
    l.term[j].coef /= k;
  return neo_linear_expr(fe->m, &l);
}

/* Reports each run-time size that is not the extent of an input's dimension, by which it is
 * found. */
void neo_check_sizes_used(neo_fe *fe) {
  for (uint32_t k = 1; k < fe->m->sizes.n; k++) {
    bool used = false;
    neo_expr e = neo_size_ref(fe->m, (neo_size){k});
    for (uint32_t t = 1; t < fe->m->tensors.n; t++) {
      const neo_tensor_rec *r = &fe->m->tensors.at[t];
      for (uint32_t d = 0; r->role == NEO_ROLE_INPUT && d < r->extent.n; d++)
        used = used || neo_list_at(fe->m, r->extent, d) == e.i;
    }
    if (used)
      continue;
    int h = neo_diag(fe->diags, fe->m->sizes.at[k].span, NEO_D_SIZE_UNKNOWN_AT_RUN_TIME,
                     neo_name_text(fe->names, fe->m->sizes.at[k].name));
    neo_diag_help(fe->diags, h, "declare an input with a dimension of this size");
  }
}
