/* See data_ranges.h. */
#include "transform/data_ranges.h"
#include "ir/comparison.h"

enum { MOST_CONJUNCTS = 16 };

typedef struct {
  neo_prover *p;
  neo_facts facts; /* facts of the axes before the current one */
  bool safe;
} read_check;

static void check_read(void *ctx, neo_expr e) {
  read_check *c = ctx;
  neo_module *m = neo_prover_module(c->p);
  neo_node n = *neo_expr_node(m, e);
  for (uint32_t k = 0; n.op == NEO_OP_LOAD && k < n.arg.n && c->safe; k++)
    c->safe = neo_proves_index(c->p, &c->facts, neo_list_expr(m, n.arg, k),
                               neo_tensor_extent(m, (neo_tensor){n.attr}, k));
}

/* May the expression be evaluated before the axis, whatever the rest of the condition is? */
static bool stands(neo_prover *p, const neo_axis_rec *axis, uint32_t k, neo_expr e) {
  read_check c = {p, {.axes = axis, .n_axes = k}, true};
  neo_expr_visit(neo_prover_module(p), e, check_read, &c);
  return c.safe;
}

/* Ends of the axis that the condition gives from data: bit 1 the first, bit 2 the last; 0: none. */
static uint32_t end_of(neo_module *m, neo_expr e, uint32_t k) {
  neo_linear f;
  uint64_t before = k < 63 ? ((uint64_t)2 << k) - 1 : 0;
  neo_comparison is = neo_comparison_of(m, e, &f);
  if ((is != NEO_AT_LEAST_0 && is != NEO_EQUALS_0) || neo_expr_axes(m, e) & ~before ||
      !neo_expr_uses_op(m, e, NEO_OP_LOAD) || !neo_linear_is_modest(m, &f))
    return 0;
  int64_t c = neo_linear_coef(&f, neo_axis_ref(m, k));
  if (c != 1 && c != -1)
    return 0;
  for (uint32_t i = 0; i < f.n; i++) /* no other term has the axis */
    if (f.term[i].atom.i != neo_axis_ref(m, k).i && neo_expr_axes(m, f.term[i].atom) >> k & 1)
      return 0;
  return is == NEO_EQUALS_0 ? 3 : c == 1 ? 1 : 2;
}

static bool take(neo_prover *p, neo_axis_rec *axis, uint32_t n_axes, uint32_t k, neo_expr *where) {
  neo_module *m = neo_prover_module(p);
  neo_expr part[MOST_CONJUNCTS], of[2][MOST_CONJUNCTS], lo = axis[k].lo, hi = axis[k].hi, left;
  uint32_t n = 0, n_of[2] = {0}, ends = 0;
  if (!neo_conjuncts_of(m, *where, part, &n, MOST_CONJUNCTS))
    return false;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t end = stands(p, axis, k, part[i]) ? end_of(m, part[i], k) : 0;
    ends |= end;
    of[end != 0][n_of[end != 0]++] = part[i];
  }
  neo_facts f = {.axes = axis, .n_axes = n_axes};
  neo_expr range = neo_conjunction(m, of[1], n_of[1]);
  if (ends != 3 || !neo_tighten(p, &f, k, range, &lo, &hi, &left) || left.i)
    return false;
  axis[k].lo = lo;
  axis[k].hi = hi;
  *where = neo_conjunction(m, of[0], n_of[0]);
  return true;
}

bool neo_take_data_ranges(neo_prover *p, neo_axis_rec *axis, uint32_t n_axes, uint32_t n_out,
                          neo_expr *where) {
  bool any = false;
  for (uint32_t k = n_out; k < n_axes && where->i; k++)
    any = take(p, axis, n_axes, k, where) || any;
  return any;
}
