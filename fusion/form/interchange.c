/* Loop interchange: the innermost axis of a sum of products becomes one along which an operand is
 * contiguous.
 *
 *     sum[t, k, p, q] D[k*288 + p*48 + q*8 + t] * F[...]   ->   sum[k, p, q, t] ...
 *
 * The gradient of a convolution whose result is spread over several tensors has the axis order of
 * the forward pass, in which each step would touch another cache line of every operand. A sum may
 * be reordered; the interchange is in the form, so that schedules, copies and costs see one order.
 *
 * It applies to a stage with one float sum of a product, constant bounds and a condition that reads
 * nothing, if no operand is contiguous along its last axis. */
#include "fusion/form/steps.h"

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
} unit_search;

static bool has_unit(const neo_module *m, neo_expr e, const void *x) {
  const unit_search *c = x;
  int64_t stride;
  return neo_expr_node(m, e)->op == NEO_OP_LOAD &&
         neo_flat_stride(c->m, c->f, neo_flat_at(c->m, e), c->axis, &stride) &&
         (stride == 1 || stride == -1);
}

static bool is_unit(neo_module *m, const neo_form *f, neo_expr body, uint32_t axis) {
  return neo_expr_any(m, body, has_unit, &(unit_search){m, f, axis});
}

static bool may_interchange(neo_module *m, const neo_stage *s) {
  int64_t x;
  if (s->accs.n != 1 || s->axes.n < 2 || s->accs.at[0].kind != NEO_RED_SUM ||
      !neo_type_is_float((neo_type)s->accs.at[0].type) ||
      neo_expr_node(m, s->accs.at[0].body)->op != NEO_OP_MUL ||
      (s->where.i && neo_form_reads(m, s->where)))
    return false;
  for (size_t k = 0; k < s->axes.n; k++)
    if (!neo_expr_is_int(m, s->axes.at[k].lo, &x) || !neo_expr_is_int(m, s->axes.at[k].hi, &x))
      return false;
  return true;
}

/* Makes own axis `from` the last one. */
static void make_last(neo_module *m, const neo_form *f, neo_stage *s, uint32_t from) {
  uint32_t first = (uint32_t)f->axes.n, n = (uint32_t)s->axes.n;
  neo_expr by[NEO_FORM_MAX_AXES] = {{0}};
  neo_axis_rec moved = s->axes.at[from];
  for (uint32_t k = from; k + 1 < n; k++) {
    s->axes.at[k] = s->axes.at[k + 1];
    by[first + k + 1] = neo_axis_ref(m, first + k);
  }
  s->axes.at[n - 1] = moved;
  by[first + from] = neo_axis_ref(m, first + n - 1);
  s->accs.at[0].body = neo_expr_subst_axes(m, s->accs.at[0].body, by, first + n);
  if (s->where.i)
    s->where = neo_expr_subst_axes(m, s->where, by, first + n);
}

void neo_form_interchange(neo_module *m, neo_form *f) {
  for (size_t i = 0; i < f->stages.n; i++) {
    neo_stage *s = &f->stages.at[i];
    uint32_t first = (uint32_t)f->axes.n, k = (uint32_t)s->axes.n;
    if (!may_interchange(m, s))
      continue;
    while (k && !is_unit(m, f, s->accs.at[0].body, first + k - 1))
      k--;
    if (k && k < s->axes.n)
      make_last(m, f, s, k - 1);
  }
}
