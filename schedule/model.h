/* Private to schedule: what legality, the model and random choice share. */
#ifndef NEO_SCHEDULE_MODEL_H
#define NEO_SCHEDULE_MODEL_H
#include "schedule/contract.h"
#include "schedule/schedule.h"

bool neo_form_has_own_axes(const neo_form *f);
uint64_t neo_form_bound_axes(const neo_module *m, const neo_form *f);
int64_t neo_schedule_loops(const neo_form *f, const neo_schedule *s);
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
uint32_t neo_form_widest(neo_module *m,
                         const neo_form *f); /* bytes of the widest float or accumulator */
/* Element functions in e that change along an axis, each weighed in additions. */
double neo_model_lane_ops(neo_module *m, neo_expr e, uint32_t axis);
/* The choice for a form that is no contraction. */
neo_schedule neo_model_plain(neo_module *m, const neo_form *f, const neo_machine *machine);
/* The model's candidates for a contraction, cheapest first, and what it thinks of them; the first
 * is its choice. At most `most` of them, with blocks and units. Returns how many: 0 if it is no
 * contraction, or no tile fits. */
typedef struct {
  neo_schedule schedule;
  double cost; /* cycles */
} neo_ranked;
size_t neo_model_contractions(neo_module *m, const neo_form *f, const neo_machine *machine,
                              neo_ranked *out, size_t most);
/* Cycles of a legal schedule as the model counts them, blocks and copies counted; -1: no lanes, or
 * no contraction. */
double neo_model_contraction_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                                  const neo_schedule *s);
/* Cost of a legal schedule of any other form, by its lanes. */
double neo_model_plain_cost(neo_module *m, const neo_form *f, const neo_schedule *s);
/* The choice for a sum over a data equation; false: it is none. */
bool neo_model_segment(neo_module *m, const neo_group *g, const neo_machine *machine,
                       neo_schedule *out);
/* The choice for a reduction that runs along an axis; false: it is none. */
bool neo_model_scan(neo_module *m, const neo_group *g, const neo_machine *machine,
                    neo_schedule *out);
/* Is the axis long enough for it? */
bool neo_scan_pays(neo_module *m, const neo_group *g, const neo_schedule *s);
void neo_model_units(neo_module *m, const neo_form *f, neo_schedule *s);

#endif
