/* Private to schedule and its tests: common parts of the strategies' cost models. */
#pragma once
#include "schedule/contract.h"
#include "schedule/extent.h"
#include "schedule/schedule.h"

/* The number of a schedule's leading loops. */
int64_t neo_schedule_loops(const neo_form *f, const neo_schedule *s);
/* The choice for a form that is not a contraction. */
neo_schedule neo_model_plain(neo_module *m, const neo_form *f, const neo_machine *machine);
/* The model's candidates for a contraction with their cost, cheapest first; the first is its
 * choice. There are at most `most`, complete with blocks and units. Returns how many: 0 if the form
 * is not a contraction or no tile fits. */
typedef struct {
  neo_schedule schedule;
  double cost; /* cycles */
} neo_ranked;
size_t neo_model_contractions(neo_module *m, const neo_form *f, const neo_machine *machine,
                              neo_ranked *out, size_t most);
/* The model's cycles of a legal schedule, blocks and copies included; -1: there are no lanes, or
 * the form is not a contraction. */
double neo_model_contraction_cost(neo_module *m, const neo_form *f, const neo_machine *machine,
                                  const neo_schedule *s);
/* The cost of a legal schedule of any other form, by its lanes. */
double neo_model_plain_cost(neo_module *m, const neo_form *f, const neo_schedule *s);
/* The choice for a running sum by keys; false: the group is none. */
bool neo_model_keyed_scan(neo_module *m, const neo_group *g, neo_schedule *out);
/* The choice for a segmented sum; false: the group is none. */
bool neo_model_segment(neo_module *m, const neo_group *g, const neo_machine *machine,
                       neo_schedule *out);
/* The choice for a scan; false: the group is none. */
bool neo_model_scan(neo_module *m, const neo_group *g, const neo_machine *machine,
                    neo_schedule *out);
/* Is the axis long enough for a scan to pay? */
bool neo_scan_pays(neo_module *m, const neo_group *g, const neo_schedule *s);
void neo_model_units(neo_module *m, const neo_form *f, neo_schedule *s);
