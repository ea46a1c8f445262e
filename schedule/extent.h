/* Lengths of a form's loops, and the work along them. */
#pragma once
#include "fusion/form.h"

/* Has a stage axes of its own? */
bool neo_form_has_own_axes(const neo_form *f);
/* The shared axes, as bits, that occur in bounds of stages' own axes. */
uint64_t neo_form_bound_axes(const neo_module *m, const neo_form *f);
/* The largest extent of an axis, by its constant or by the upper bounds of run-time sizes; at least
 * 1. */
int64_t neo_axis_most(neo_module *m, const neo_axis_rec *x);
/* The extent that prices go by: the largest, but where sizes have a usual value, and of a list the
 * average. */
int64_t neo_axis_usual(neo_module *m, const neo_axis_rec *x);
/* Points of the shared axes in the bit set `axes`; steps of a stage's own axes [from, to). */
double neo_form_points(neo_module *m, const neo_form *f, uint64_t axes);
double neo_stage_steps(neo_module *m, const neo_stage *s, uint32_t from, uint32_t to);
/* The same by usual extents, of all own axes. */
double neo_form_usual_points(neo_module *m, const neo_form *f, uint64_t axes);
double neo_stage_usual_steps(neo_module *m, const neo_stage *s);
/* Steps of all of a stage's own axes. */
static inline double neo_stage_points(neo_module *m, const neo_stage *s) {
  return neo_stage_steps(m, s, 0, (uint32_t)s->axes.n);
}
/* The number of blocks of n that cover x, which is a whole number. */
static inline double neo_blocks_of(double x, int64_t n) {
  int64_t q = (int64_t)x / n;
  return (double)(q + ((double)(q * n) < x));
}
/* Iterations of the first reduction axis: the first own axis of the first stage that has own axes.
 * 1: no stage has any. */
int64_t neo_form_steps_length(neo_module *m, const neo_form *f);
/* Bytes of the widest float or accumulator of the form. */
uint32_t neo_form_widest(neo_module *m, const neo_form *f);
/* The element functions of e that vary along an axis, each weighed by its cost in additions. */
double neo_model_lane_ops(neo_module *m, neo_expr e, uint32_t axis);
