/* Removal of axes of one element. A value is constant along such an axis, but the expression uses
 * it: a copy would be repeated in a loop of one iteration, and an operand would seem to have rows.
 *
 *     d.A[b, c, h, w, k < 1] = sum[m, j] D[b, m, j] * F[m*2048 + c*8 + k*8 + j]
 *     ->
 *     d.A[b, c, h, w] = sum[m, j] D[b, m, j] * F[m*2048 + c*8 + j]
 *
 * A stage with own axes keeps one of them, which makes it a reduction, or a store in steps. */
#include "fusion/form/steps.h"
#include <string.h>

typedef struct {
  neo_expr by[NEO_FORM_MAX_AXES];
  uint32_t n;
  neo_form_rewriter *also; /* null: none */
  void *ctx;
} replacing;

/* Offsets stay in linear form. */
static neo_expr linear(neo_module *m, neo_expr at) {
  neo_linear l;
  return neo_flat_linear(m, at, &l) ? neo_linear_expr(m, &l) : at;
}

static neo_expr linear_node(void *ctx, neo_module *m, neo_expr e) {
  neo_node n = *neo_expr_node(m, e);
  (void)ctx;
  if ((n.op != NEO_OP_LOAD && n.op != NEO_OP_RAND) || !n.arg.n)
    return e;
  neo_expr at = linear(m, neo_expr_arg(m, e, 0));
  return neo_expr_make(m, (neo_op)n.op, (neo_type)n.type, n.attr, &at, 1, n.span);
}

static neo_expr replaced(void *ctx, neo_module *m, neo_expr e) {
  const replacing *r = ctx;
  e = neo_expr_subst_axes(m, e, r->by, r->n);
  if (r->also)
    e = neo_expr_rewrite(m, e, r->also, r->ctx);
  return neo_expr_rewrite(m, e, linear_node, NULL);
}

static neo_expr replaced_offset(void *ctx, neo_module *m, neo_expr e) {
  return linear(m, replaced(ctx, m, e));
}

static void replace(neo_module *m, replacing *r, neo_stage *s) {
  neo_stage_rewrite(m, s, replaced, replaced_offset, r);
}

void neo_form_replace(neo_module *m, neo_stage *s, const neo_expr *by, uint32_t n,
                      neo_form_rewriter *also, void *ctx) {
  replacing r = {.n = n, .also = also, .ctx = ctx};
  memcpy(r.by, by, n * sizeof *by);
  replace(m, &r, s);
}

/* Replaces axis `at` by `value`; later axes move up. */
static replacing without(neo_module *m, uint32_t n, uint32_t at, neo_expr value) {
  replacing r = {.n = n};
  r.by[at] = value;
  for (uint32_t k = at + 1; k < n; k++)
    r.by[k] = neo_axis_ref(m, k - 1);
  return r;
}

static bool is_unit(const neo_module *m, const neo_axis_rec *x) {
  int64_t lo, hi;
  return neo_expr_is_int(m, x->lo, &lo) && neo_expr_is_int(m, x->hi, &hi) && hi - lo == 1;
}

uint32_t neo_form_most_axes(const neo_form *f) {
  size_t most = 0;
  for (size_t k = 0; k < f->stages.n; k++)
    most = f->stages.at[k].axes.n > most ? f->stages.at[k].axes.n : most;
  return (uint32_t)(f->axes.n + most);
}

static void drop_shared(neo_module *m, neo_form *f, uint32_t at) {
  replacing r = without(m, neo_form_most_axes(f), at, f->axes.at[at].lo);
  for (size_t k = at; k + 1 < f->axes.n; k++)
    f->axes.at[k] = f->axes.at[k + 1];
  f->axes.n--;
  for (size_t k = 0; k < f->stages.n; k++)
    replace(m, &r, &f->stages.at[k]);
}

static void drop_own(neo_module *m, const neo_form *f, neo_stage *s, uint32_t at) {
  uint32_t first = (uint32_t)f->axes.n;
  replacing r = without(m, first + (uint32_t)s->axes.n, first + at, s->axes.at[at].lo);
  for (size_t k = at; k + 1 < s->axes.n; k++)
    s->axes.at[k] = s->axes.at[k + 1];
  s->axes.n--;
  replace(m, &r, s);
}

void neo_form_drop_unit_axes(neo_module *m, neo_form *f) {
  for (uint32_t at = (uint32_t)f->axes.n; at-- > 0;)
    if (f->axes.n > 1 && is_unit(m, &f->axes.at[at]))
      drop_shared(m, f, at);
  for (size_t k = 0; k < f->stages.n; k++) {
    neo_stage *s = &f->stages.at[k];
    for (uint32_t at = (uint32_t)s->axes.n; at-- > 0;)
      if (s->axes.n > 1 && is_unit(m, &s->axes.at[at]))
        drop_own(m, f, s, at);
  }
}
