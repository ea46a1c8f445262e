/* Axes along which an expression of a form varies: those in the expression itself
 * (neo_expr_axes), and for each accumulator the axes that its stage uses, except the
 * reduced ones.
 *
 *   stage 0  axes t   acc0 = argmax x[n*3 + t]
 *   stage 1  axes t   acc1 = sum x[n*3 + t] where t != acc0    the condition varies along n, t */
#include "fusion/form/steps.h"

enum { LAST = 63 }; /* accumulators from here on share a bit */

typedef struct {
  const neo_module *m;
  const neo_form *f;
  uint64_t of[LAST + 1]; /* axes of each accumulator */
} acc_axes;

static uint64_t axes_of(const acc_axes *x, neo_expr e) {
  uint64_t axes = neo_expr_axes(x->m, e);
  for (uint64_t left = neo_expr_accs(x->m, e); left; left &= left - 1)
    axes |= x->of[__builtin_ctzll(left)];
  return axes;
}

static uint64_t bits(size_t n) {
  return n > LAST ? ~0ULL : (1ULL << n) - 1;
}

/* Axes that the stage's accumulators vary along. An inner sum has one value at each point of the
 * axes that it is computed over. */
static uint64_t stage_axes(const acc_axes *x, const neo_stage *s) {
  uint64_t axes = axes_of(x, s->where);
  for (size_t k = 0; k < s->axes.n; k++)
    axes |= axes_of(x, s->axes.at[k].lo) | axes_of(x, s->axes.at[k].hi);
  for (size_t k = 0; k < s->accs.n; k++)
    axes |= axes_of(x, s->accs.at[k].body);
  return axes & bits(x->f->axes.n + s->over);
}

static void find(acc_axes *x) {
  for (size_t k = 0; k < x->f->stages.n; k++) {
    const neo_stage *s = &x->f->stages.at[k];
    uint64_t axes = s->accs.n ? stage_axes(x, s) : 0;
    for (size_t i = 0; i < s->accs.n; i++)
      x->of[s->first_acc + i < LAST ? s->first_acc + i : LAST] |= axes;
  }
}

uint64_t neo_form_axes(const neo_module *m, const neo_form *f, neo_expr e) {
  if (!neo_expr_accs(m, e))
    return neo_expr_axes(m, e);
  acc_axes x = {m, f, {0}};
  find(&x);
  return axes_of(&x, e);
}

bool neo_form_reads(const neo_module *m, neo_expr e) {
  return neo_expr_accs(m, e) || neo_expr_has_loads(m, e);
}
