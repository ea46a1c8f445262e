/* Private to schedule: what the strategies' models of costs share. */
#ifndef NEO_SCHEDULE_MODEL_H
#define NEO_SCHEDULE_MODEL_H
#include "schedule/contract.h"
#include "schedule/extent.h"
#include "schedule/schedule.h"

/* Leading loops of a schedule. */
int64_t neo_schedule_loops(const neo_form *f, const neo_schedule *s);
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
