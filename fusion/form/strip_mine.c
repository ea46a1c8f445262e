/* Strip-mining: an axis of groups becomes two axes.
 *
 *     y[x, i < 480] = sum[c] A[x*120 + (i/160)*40 + c] * F[(i/160)*6400 + c*160 + i%160]
 *     ->
 *     y[x, g < 3, k < 160] = sum[c] A[x*120 + g*40 + c] * F[g*6400 + c*160 + k]
 *
 * A grouped convolution reads one operand by the group alone. With channels as one axis that
 * operand has jumps along it, no other axis is free of it, and tiles find neither rows nor columns.
 * With two axes every offset is affine, and a group is a product like any other.
 *
 * A shared axis is split if some load has its quotient by n, but neither the axis nor its
 * remainder; n divides its extent, and no other quotient or remainder of it occurs. (Packed
 * weights, read at i/16 and i%16, stay: see transform/prepack.c.) Only reductions gain by it. */
#include "fusion/form/steps.h"

enum { LEAST_GROUP = 8 }; /* elements of a group; fewer are no lanes */

/* ---- finding the factor */

typedef struct {
  neo_module *m;
  uint32_t axis;
  int64_t by;   /* divisor of quotients and remainders so far; 0: none */
  bool several; /* several divisors, or an operand other than the axis */
} divisor_search;

static void find_divisor(void *ctx, neo_expr e) {
  divisor_search *c = ctx;
  neo_op op = (neo_op)neo_expr_node(c->m, e)->op;
  int64_t by;
  if ((op != NEO_OP_DIV && op != NEO_OP_MOD) || !(neo_expr_axes(c->m, e) >> c->axis & 1))
    return;
  bool plain = neo_expr_arg(c->m, e, 0).i == neo_axis_ref(c->m, c->axis).i;
  if (!plain || !neo_expr_is_int(c->m, neo_expr_arg(c->m, e, 1), &by) || (c->by && by != c->by))
    c->several = true;
  else
    c->by = by;
}

/* Looks for a load with the quotient alone. */
typedef struct {
  neo_module *m;
  neo_expr axis, quotient, remainder;
  bool found;
} group_search;

static void find_group(void *ctx, neo_expr e) {
  group_search *c = ctx;
  neo_linear l;
  if (neo_expr_node(c->m, e)->op != NEO_OP_LOAD || !neo_flat_linear(c->m, neo_flat_at(c->m, e), &l))
    return;
  c->found = c->found || (neo_linear_coef(&l, c->quotient) && !neo_linear_coef(&l, c->axis) &&
                          !neo_linear_coef(&l, c->remainder));
}

static neo_expr divided(neo_module *m, neo_op op, neo_expr x, int64_t by) {
  neo_expr arg[] = {x, neo_const_i64(m, by)};
  return neo_expr_make(m, op, NEO_I64_T, 0, arg, 2, neo_expr_node(m, x)->span);
}

/* Elements of a group; 0: the axis stays one. */
static int64_t group_of(neo_module *m, const neo_form *f, uint32_t at) {
  int64_t lo, hi;
  divisor_search d = {.m = m, .axis = at};
  if (!neo_expr_is_int(m, f->axes.at[at].lo, &lo) || !neo_expr_is_int(m, f->axes.at[at].hi, &hi))
    return 0;
  for (size_t k = 0; k < f->stages.n; k++)
    neo_stage_visit(m, &f->stages.at[k], find_divisor, &d);
  if (d.several || d.by < LEAST_GROUP || lo != 0 || hi % d.by || hi == d.by)
    return 0;
  neo_expr axis = neo_axis_ref(m, at);
  group_search g = {.m = m, .axis = axis};
  g.quotient = divided(m, NEO_OP_DIV, axis, d.by);
  g.remainder = divided(m, NEO_OP_MOD, axis, d.by);
  for (size_t k = 0; k < f->stages.n; k++)
    neo_stage_visit(m, &f->stages.at[k], find_group, &g);
  return g.found ? d.by : 0;
}

/* ---- splitting */

typedef struct {
  neo_expr whole, group, element; /* n*group + element, and both axes */
} strips;

static neo_expr replace_divided(void *ctx, neo_module *m, neo_expr e) {
  const strips *d = ctx;
  neo_op op = (neo_op)neo_expr_node(m, e)->op;
  if ((op != NEO_OP_DIV && op != NEO_OP_MOD) || neo_expr_arg(m, e, 0).i != d->whole.i)
    return e;
  return op == NEO_OP_DIV ? d->group : d->element;
}

static void cut(neo_module *m, neo_form *f, uint32_t at, int64_t by) {
  neo_expr axis[NEO_FORM_MAX_AXES];
  neo_axis_rec inner = f->axes.at[at];
  strips d = {.group = neo_axis_ref(m, at), .element = neo_axis_ref(m, at + 1)};
  neo_linear l = {.n = 2, .term = {{d.group, by}, {d.element, 1}}};
  int64_t extent = 0;
  uint32_t n = neo_form_most_axes(f);
  d.whole = neo_linear_expr(m, &l);
  for (uint32_t k = 0; k < n; k++)
    axis[k] = k < at ? neo_axis_ref(m, k) : k == at ? d.whole : neo_axis_ref(m, k + 1);
  neo_expr_is_int(m, inner.hi, &extent);
  NEO_PUSH(m->arena, &f->axes, inner);
  for (size_t k = f->axes.n - 1; k > at + 1; k--)
    f->axes.at[k] = f->axes.at[k - 1];
  f->axes.at[at].hi = neo_const_i64(m, extent / by);
  inner.hi = neo_const_i64(m, by);
  f->axes.at[at + 1] = inner;
  for (size_t k = 0; k < f->stages.n; k++)
    neo_form_replace(m, &f->stages.at[k], axis, n, replace_divided, &d);
}

void neo_form_strip_mine(neo_module *m, neo_form *f) {
  bool reduces = false;
  for (size_t k = 0; k < f->stages.n; k++)
    reduces = reduces || f->stages.at[k].accs.n > 0;
  for (uint32_t at = (uint32_t)f->axes.n; reduces && at-- > 0;) {
    int64_t by = neo_form_most_axes(f) < NEO_FORM_MAX_AXES ? group_of(m, f, at) : 0;
    if (by)
      cut(m, f, at, by);
  }
}
