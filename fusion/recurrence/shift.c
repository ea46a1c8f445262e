/* Shifting: a definition's axes become the indices of the bands around it less its delays
 * (ir/order.h), or in a parallel band the positions of a range.
 *
 *   order t { h, and y an iteration after it }   ->   band t in 0..T + 1
 *                                                       leaf h[t]
 *                                                       leaf y[t - 1]
 *
 * A fixed axis becomes a size in its expressions. */
#include "fusion/recurrence/internal.h"

/* Sets the axis that runs by owner to the positions of the current rows' lists. */
static void shift_lists(const outliner *o, outline_instance *x, uint32_t axis) {
  if (!o->list_lo.i)
    return;
  x->base[axis] = o->list_lo;
  x->extent[axis] = outline_difference(o, o->list_hi, o->list_lo);
}

static void shift_axes(const outliner *o, outline_instance *x) {
  for (size_t k = 0; k < o->around.n; k++) {
    const outline_around *l = &o->around.at[k];
    const neo_order_member *p = outline_member(l->order, x->def);
    if (p->owner.i) {
      shift_lists(o, x, p->axis);
      continue;
    }
    neo_expr delay = outline_number(o, p->delay);
    x->fixed[p->axis] = l->index.i != 0;
    x->base[p->axis] = outline_difference(o, l->index.i ? l->index : l->lo, delay);
    x->extent[p->axis] = l->index.i ? outline_number(o, 1) : outline_difference(o, l->hi, l->lo);
  }
}

/* Notes the iterations of the outermost loop around. */
static void note_iterations(const outliner *o, outline_instance *x) {
  const outline_around *l = o->around.n ? &o->around.at[0] : NULL;
  neo_facts none = {0};
  int64_t n = 1, least;
  if (!l)
    return;
  bool bounded = l->index.i || outline_distance(o, l->hi, l->lo, &n) ||
                 neo_interval(o->p, &none, neo_op2(o->m, NEO_OP_SUB, l->hi, l->lo), &least, &n);
  x->iteration = l->index.i ? l->index : l->lo;
  x->iterations = bounded && n > 0 ? n : -1;
}

/* ---- expressions */

typedef struct {
  neo_module *m;
  uint32_t n;
  neo_expr by[OUTLINE_AXES]; /* position of the definition's axis; 0: its own */
} positions;

static neo_expr shifted(void *ctx, neo_expr e) {
  const positions *p = ctx;
  return neo_expr_subst_axes(p->m, e, p->by, p->n);
}

static positions positions_of(const outliner *o, const outline_instance *x) {
  positions p = {.m = o->m, .n = neo_def_at(o->m, x->def)->n_out};
  for (uint32_t k = 0; k < p.n; k++)
    if (x->base[k].i)
      p.by[k] = outline_position(o, x, k);
  return p;
}

neo_expr outline_shifted(const outliner *o, const outline_instance *x, neo_expr e) {
  positions p = positions_of(o, x);
  return shifted(&p, e);
}

static neo_list axes_of(const outliner *o, const outline_instance *x, const neo_def_rec *d,
                        positions *p) {
  uint32_t id[OUTLINE_AXES];
  for (uint32_t k = 0; k < d->axes.n; k++) {
    neo_axis_rec axis = *neo_def_axis(o->m, d, k);
    bool part = k < d->n_out && x->extent[k].i;
    axis.lo = part ? outline_number(o, 0) : shifted(p, axis.lo);
    axis.hi = part ? x->extent[k] : shifted(p, axis.hi);
    id[k] = neo_axis_add(o->m, axis).i;
  }
  return neo_list_new(o->m, id, d->axes.n);
}

void outline_shift(outliner *o, outline_instance *x) {
  neo_def_rec d = *neo_def_at(o->m, x->def);
  positions p = positions_of(o, x);
  x->rec = d;
  x->rec.axes = axes_of(o, x, &d, &p);
  outline_map(o, &x->rec, shifted, &p);
  outline_note_rows(o, x);
  outline_simplify(o, x);
}

outline_instance *outline_instance_of(outliner *o, neo_def d) {
  outline_instance *x = NEO_NEW(o->a, outline_instance);
  x->def = d;
  note_iterations(o, x);
  outline_note_level(o, x);
  x->when = outline_guard(o, d);
  neo_expr *assume = NEO_NEW_ARRAY(o->a, neo_expr, o->assume.n + 1);
  outline_around *around = NEO_NEW_ARRAY(o->a, outline_around, o->around.n + 1);
  for (size_t k = 0; k < o->assume.n; k++)
    assume[x->n_assume++] = o->assume.at[k];
  for (size_t k = 0; k < o->around.n; k++)
    around[x->n_around++] = o->around.at[k];
  x->assume = assume;
  x->around = around;
  shift_axes(o, x);
  outline_shift(o, x);
  outline_note_needed(o, x);
  return x;
}
