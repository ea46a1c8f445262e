/* The order of a copy's loops. Reads follow the operand's layout in memory, writes the layout of
 * the pack; the order makes both contiguous where that is possible. */
#include "codegen/lower/tile/copy.h"

typedef struct {
  neo_module *m;
  const neo_form *f;
  uint32_t axis;
  int64_t stride; /* the largest stride of the operand's loads along it; -1: unknown */
} source;

static void look_at_source(void *ctx, neo_expr e) {
  source *x = ctx;
  int64_t stride;
  if (neo_expr_node(x->m, e)->op != NEO_OP_LOAD || x->stride < 0)
    return;
  if (!neo_flat_stride(x->m, x->f, neo_flat_at(x->m, e), x->axis, &stride))
    x->stride = -1;
  else if (x->stride < (stride < 0 ? -stride : stride))
    x->stride = stride < 0 ? -stride : stride;
}

static int64_t source_stride(const copier *c, uint32_t axis) {
  source x = {c->l->m, c->l->f, axis, 0};
  neo_expr_visit(c->l->m, c->p->from, look_at_source, &x);
  return x.stride;
}

/* The merit of a loop as the innermost one. Its loads should be contiguous, or have stride 2; it is
 * best if its stores are contiguous too. */
static int64_t merit(copier *c, const copy_loop *x) {
  enum { NONE, SHORT, SCATTERED, SECOND, GOOD };
  neo_module *m = c->l->m;
  int64_t n, width = c->l->s->loops.vector_width;
  bool unit = x->scale <= 1 && neo_expr_has_stride(m, c->l->f, c->p->from, x->axis, x->scale);
  if (x->step > 1 || x->scale > 1)
    return NONE;
  if (!neo_lx_is_int(lx_sub(c->l, x->hi, x->lo), &n))
    n = 1 << 20;
  if (!unit && x->coef == 1 && n >= width &&
      neo_expr_has_stride(m, c->l->f, c->p->from, x->axis, 2))
    return SECOND;
  return !unit ? NONE : n * 2 < width ? SHORT : x->coef == 1 ? GOOD : SCATTERED;
}

void neo_copy_contiguous_last(copier *c) {
  uint32_t best = c->n - 1;
  for (uint32_t k = c->n; k-- > 0;)
    if (merit(c, &c->at[k]) > merit(c, &c->at[best]))
      best = k;
  copy_loop x = c->at[best];
  for (uint32_t k = best; k + 1 < c->n; k++)
    c->at[k] = c->at[k + 1];
  c->at[c->n - 1] = x;
}

/* Is the loop contiguous in memory (or of stride 2), but strided in scratch? */
static bool is_down(copier *c, const copy_loop *x) {
  int64_t n, width = c->l->s->loops.vector_width;
  if (x->step != 1 || x->scale != 1 || x->coef == 1)
    return false;
  if (neo_lx_is_int(lx_sub(c->l, x->hi, x->lo), &n) && 2 * n < width)
    return false;
  return neo_expr_has_stride(c->l->m, c->l->f, c->p->from, x->axis, 1) ||
         neo_expr_has_stride(c->l->m, c->l->f, c->p->from, x->axis, 2);
}

void neo_copy_squares(copier *c) {
  enum { LEAST = 4 };
  uint32_t down = c->n, along = c->n - 1, to = 0;
  int64_t n;
  copy_loop x = c->at[along];
  if (x.coef != 1 || x.step != 1 || x.scale != 1 || merit(c, &x) ||
      (neo_lx_is_int(lx_sub(c->l, x.hi, x.lo), &n) && n < LEAST))
    return;
  for (uint32_t k = 0; k < along; k++)
    if (c->at[k].axis != x.axis && is_down(c, &c->at[k]))
      down = k;
  if (down == c->n || source_stride(c, x.axis) <= 0)
    return;
  copy_loop y = c->at[down];
  for (uint32_t k = down; k + 1 < c->n; k++)
    c->at[k] = c->at[k + 1];
  while (to + 2 < c->n && source_stride(c, c->at[to].axis) > source_stride(c, x.axis))
    to++;
  for (uint32_t k = c->n - 2; k > to; k--)
    c->at[k] = c->at[k - 1];
  c->at[to] = x;
  c->at[c->n - 1] = y;
  c->square = to;
}

void neo_copy_source_order(copier *c, uint32_t n) {
  int64_t stride[NEO_FORM_MAX_AXES];
  for (uint32_t k = 0; k < c->s->axes.n; k++)
    if (neo_lower_range_moves(c->l, c->b->lo[k], c->b->hi[k]))
      return;
  for (uint32_t k = 0; k < n; k++)
    if ((stride[k] = source_stride(c, c->at[k].axis)) < 0)
      return;
  for (uint32_t k = 1; k < n; k++)
    for (uint32_t i = k; i && stride[i] > stride[i - 1]; i--) {
      copy_loop x = c->at[i];
      int64_t step = stride[i];
      c->at[i] = c->at[i - 1];
      stride[i] = stride[i - 1];
      c->at[i - 1] = x;
      stride[i - 1] = step;
    }
}
