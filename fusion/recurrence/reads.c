/* What instances read, and how far apart two positions are: asked wherever instances are placed, joined or stored. */
#include "fusion/recurrence/internal.h"

/* ---- positions */

neo_expr outline_number(const outliner *o, int64_t x) {
  return neo_const_int(o->m, NEO_I64_T, x);
}

bool outline_distance(const outliner *o, neo_expr a, neo_expr b, int64_t *x) {
  neo_linear l;
  if (!neo_linear_of(o->m, neo_op2(o->m, NEO_OP_SUB, a, b), &l) || l.n)
    return false;
  *x = l.constant;
  return true;
}

/* ---- reads */

typedef struct {
  const outliner *o;
  uint32_t n_axes;
  void (*f)(void *ctx, neo_expr read, uint32_t n_axes);
  void *ctx;
} read_walk;

static void call_read(void *ctx, neo_expr e) {
  read_walk *w = ctx;
  if (outline_is_read(neo_expr_node(w->o->m, e)))
    w->f(w->ctx, e, w->n_axes);
}

static void walk(read_walk *w, neo_expr e, uint32_t n_axes) {
  w->n_axes = n_axes;
  if (e.i)
    neo_expr_visit(w->o->m, e, call_read, w);
}

void outline_reads(const outliner *o, const outline_instance *x,
                   void (*f)(void *ctx, neo_expr read, uint32_t n_axes), void *ctx) {
  read_walk w = {o, 0, f, ctx};
  neo_def_rec r = x->rec;
  for (uint32_t k = 0; k < r.axes.n; k++) {
    walk(&w, neo_def_axis(o->m, &r, k)->lo, k);
    walk(&w, neo_def_axis(o->m, &r, k)->hi, k);
  }
  walk(&w, r.where, r.axes.n);
  for (uint32_t k = 0; k < r.body.n; k++)
    walk(&w, neo_list_expr(o->m, r.body, k), r.axes.n);
  for (uint32_t k = 0; k < r.finish.n; k++)
    walk(&w, neo_list_expr(o->m, r.finish, k), r.n_out);
  for (size_t k = 0; k < x->needed.n; k++)
    walk(&w, x->needed.at[k], 0);
}
