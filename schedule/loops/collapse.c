/* Collapses two axes that are not adjacent into columns (collapse.h). */
#include "schedule/loops/collapse.h"

bool neo_schedule_is_collapsed(const neo_form *f, const neo_schedule *s) {
  int64_t v = s->loops.vector_axis;
  return v >= 0 && v < (int64_t)f->axes.n && s->loops.axis_n >= 0;
}

/* ---- positions after axis `from` has moved right before axis `to` */

static int64_t place_of(int64_t axis, int64_t from, int64_t to) {
  if (axis == from)
    return from < to ? to - 1 : to;
  if (from < to)
    return axis > from && axis < to ? axis - 1 : axis;
  return axis >= to && axis < from ? axis + 1 : axis;
}

/* ---- forms */

typedef struct {
  neo_expr by[NEO_FORM_MAX_AXES];
  uint32_t n;
} placing;

static neo_stage placed_stage(neo_module *m, const placing *p, const neo_stage *s) {
  neo_stage y = {.where = neo_expr_subst_axes(m, s->where, p->by, p->n), .first_acc = s->first_acc};
  for (size_t k = 0; k < s->axes.n; k++) {
    neo_axis_rec x = s->axes.at[k];
    x.lo = neo_expr_subst_axes(m, x.lo, p->by, p->n);
    x.hi = neo_expr_subst_axes(m, x.hi, p->by, p->n);
    NEO_PUSH(m->arena, &y.axes, x);
  }
  for (size_t k = 0; k < s->accs.n; k++) {
    neo_form_acc x = s->accs.at[k];
    x.body = neo_expr_subst_axes(m, x.body, p->by, p->n);
    NEO_PUSH(m->arena, &y.accs, x);
  }
  for (size_t k = 0; k < s->outs.n; k++) {
    neo_form_out x = s->outs.at[k];
    x.offset = neo_expr_subst_axes(m, x.offset, p->by, p->n);
    x.value = neo_expr_subst_axes(m, x.value, p->by, p->n);
    NEO_PUSH(m->arena, &y.outs, x);
  }
  return y;
}

static neo_form *placed_form(neo_module *m, const neo_form *f, int64_t from, int64_t to) {
  neo_form *y = NEO_NEW(m->arena, neo_form);
  placing p = {.n = (uint32_t)f->axes.n};
  y->n_accs = f->n_accs;
  y->accesses.at = f->accesses.at; /* fusing changes no point */
  y->accesses.n = f->accesses.n;
  for (uint32_t k = 0; k < f->axes.n; k++)
    NEO_PUSH(m->arena, &y->axes, f->axes.at[k]);
  for (uint32_t k = 0; k < f->axes.n; k++) {
    uint32_t at = (uint32_t)place_of(k, from, to);
    p.by[k] = neo_axis_ref(m, at);
    y->axes.at[at] = f->axes.at[k];
  }
  for (size_t k = 0; k < f->stages.n; k++) {
    neo_stage s = placed_stage(m, &p, &f->stages.at[k]);
    NEO_PUSH(m->arena, &y->stages, s);
  }
  return y;
}

/* ---- schedules */

static void place_axes(neo_schedule *s, int64_t from, int64_t to) {
  static const neo_param axes[] = {NEO_PARAM(loops, vector_axis), NEO_PARAM(loops, axis_m)};
  for (int k = 0; k < 2; k++)
    if (s->at[axes[k]] >= 0)
      s->at[axes[k]] = place_of(s->at[axes[k]], from, to);
}

neo_collapsed neo_collapsed_of(neo_module *m, const neo_form *f, const neo_schedule *s) {
  neo_collapsed y = {f, *s};
  if (!neo_schedule_is_collapsed(f, s))
    return y;
  int64_t from = s->loops.axis_n;
  int64_t to = s->loops.vector_axis - s->loops.fused + 1;
  y.f = placed_form(m, f, from, to);
  place_axes(&y.s, from, to);
  y.s.loops.fused += 1;
  y.s.loops.axis_n = -1;
  return y;
}

neo_schedule neo_collapsed_back(const neo_schedule *collapsed, int64_t axis, int64_t last) {
  neo_schedule s = *collapsed;
  for (int64_t k = 0; s.loops.axis_m >= 0; k++)
    if (place_of(k, axis, last) == s.loops.axis_m) {
      s.loops.axis_m = k;
      break;
    }
  s.loops.vector_axis = last;
  s.loops.axis_n = axis;
  s.loops.fused -= 1;
  return s;
}
