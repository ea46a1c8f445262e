/* The model's choice of a strategy and its parameters. */
#include "schedule/contract.h"
#include "schedule/strategy.h"

neo_schedule neo_schedule_default(neo_module *m, const neo_group *g, const neo_machine *machine) {
  neo_space x = neo_space_of(m, g, machine);
  for (int k = NEO_STRATEGIES - 1; k >= 0; k--) {
    const neo_strategy_row *row = neo_strategy_row_of((neo_strategy)k);
    neo_schedule s;
    if (neo_strategy_fits(&x, (neo_strategy)k) && row->choose(&x, &s) &&
        (!row->pays || row->pays(&x, &s)) && neo_schedule_legal(m, g, machine, &s, NULL))
      return s;
  }
  return neo_schedule_plain();
}

bool neo_schedule_is_searched(neo_module *m, const neo_group *g) {
  neo_contraction any;
  const neo_form *f = neo_group_form(m, g);
  return !neo_form_is_nested(f) && neo_contraction_of(m, f, &any);
}
