/* Legality of schedules for a group. A legal schedule changes speed and the rounding of sums, and
 * nothing else. */
#include "fusion/form.h"
#include "schedule/reject.h"
#include "schedule/strategy.h"

bool neo_schedule_legal(neo_module *m, const neo_group *g, const neo_machine *machine,
                        const neo_schedule *s, neo_str *why) {
  neo_space x = neo_space_of(m, g, machine);
  const neo_strategy_row *row = neo_strategy_row_of(s->strategy);
  if (!neo_schedule_has_own_params_only(s))
    return reject(why, "there are parameters of another strategy");
  if (neo_strategy_has_threads(s->strategy) && !machine->gpu)
    return reject(why, "thread blocks are for GPUs");
  if (x.f->in_order && !neo_form_is_nested(x.f) && !neo_schedule_is_in_order(m, g, s))
    return reject(why, "terms are added up in the order of their axes");
  if (neo_form_is_nested(x.f) && !row->nested)
    return reject(why, "nested reductions have units alone, or thread blocks");
  return row->legal(&x, s, why);
}
