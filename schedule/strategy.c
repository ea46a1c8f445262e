/* The table of strategies. */
#include "schedule/strategy.h"

const neo_strategy_row *neo_strategy_row_of(neo_strategy s) {
  static const neo_strategy_row *const rows[] = {
#define X(id, name, family, body, keyed, prefetches, meaning) &neo_strategy_##name,
#include "schedule/strategy.def"
#undef X
  };
  return rows[s];
}

bool neo_strategy_fits(const neo_space *x, neo_strategy s) {
  return (x->machine->gpu || !neo_strategy_has_threads(s)) &&
         (neo_strategy_row_of(s)->nested || !neo_form_is_nested(x->f));
}
