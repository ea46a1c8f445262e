/* Lengths of a form's loops, and the work along them. */
#ifndef NEO_SCHEDULE_EXTENT_H
#define NEO_SCHEDULE_EXTENT_H
#include "fusion/form.h"

/* Has a stage axes of its own? */
bool neo_form_has_own_axes(const neo_form *f);
/* Shared axes, as bits, that bounds of stages' own axes depend on. */
uint64_t neo_form_bound_axes(const neo_module *m, const neo_form *f);
/* Largest extent of an axis: constant, or by the upper bounds of run-time sizes; at least 1. */
int64_t neo_axis_most(neo_module *m, const neo_axis_rec *x);
/* Points of the shared axes whose bits are in `axes`; steps of a stage's own axes [from, to). */
double neo_form_points(neo_module *m, const neo_form *f, uint64_t axes);
double neo_stage_steps(neo_module *m, const neo_stage *s, uint32_t from, uint32_t to);
/* Of all of its own axes. */
static inline double neo_stage_points(neo_module *m, const neo_stage *s) {
  return neo_stage_steps(m, s, 0, (uint32_t)s->axes.n);
}
/* Blocks of n that x, a whole number, is. */
static inline double neo_blocks_of(double x, int64_t n) {
  int64_t q = (int64_t)x / n;
  return (double)(q + ((double)(q * n) < x));
}
/* Iterations of the first reduction axis, which is the first own axis of the stage that has some; 1:
 * there is none. */
int64_t neo_form_steps_length(neo_module *m, const neo_form *f);
/* Bytes of the widest float or accumulator. */
uint32_t neo_form_widest(neo_module *m, const neo_form *f);
/* Element functions in e that change along an axis, each weighed in additions. */
double neo_model_lane_ops(neo_module *m, neo_expr e, uint32_t axis);

#endif
