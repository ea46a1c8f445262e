/* Results written past the caches: a store that finds no line in a cache fetches it first, a third
 * of the traffic of a copy. A streaming store does not, but leaves nothing in the caches either: it
 * is for results so large that who reads them next would not find them there anyway. */
#ifndef NEO_SCHEDULE_NONTEMPORAL_H
#define NEO_SCHEDULE_NONTEMPORAL_H
#include "fusion/form.h"
#include "schedule/schedule.h"

/* May root t of the group be written so, whatever s says in `stream`? The lanes have to run along
 * it, iteration after iteration, and it must not lie where a tensor is read. s: legal, but for
 * `stream`. */
bool neo_nontemporal_fits(neo_module *m, const neo_group *g, const neo_schedule *s, neo_tensor t);
/* Of any root? */
bool neo_nontemporal_any(neo_module *m, const neo_group *g, const neo_schedule *s);
/* Is there a root so large that it may pay; that it pays? */
bool neo_nontemporal_worth_a_try(neo_module *m, const neo_group *g, const neo_schedule *s);
bool neo_nontemporal_pays(neo_module *m, const neo_group *g, const neo_schedule *s);

#endif
