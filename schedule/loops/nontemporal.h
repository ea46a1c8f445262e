/* Nontemporal stores. An ordinary store that misses reads its line first, which is a third of the
 * traffic of a copy. A nontemporal store does not read the line, but its data are not in the caches
 * afterwards. So it suits results that are too large for the caches, whose next reader would miss
 * anyway. */
#pragma once
#include "fusion/form.h"
#include "schedule/schedule.h"

/* May root t of the group be stored nontemporally? Lanes have to run along it, iteration after
 * iteration, and it must not share memory with a tensor that is read. s: legal, with any value of
 * `nontemporal`. */
bool neo_nontemporal_fits(neo_module *m, const neo_group *g, const neo_schedule *s, neo_tensor t);
/* May any root? */
bool neo_nontemporal_any(neo_module *m, const neo_group *g, const neo_schedule *s);
/* Is some root so large that it may pay; so large that it pays? */
bool neo_nontemporal_worth_a_try(neo_module *m, const neo_group *g, const neo_schedule *s);
bool neo_nontemporal_pays(neo_module *m, const neo_group *g, const neo_machine *machine,
                          const neo_schedule *s);
