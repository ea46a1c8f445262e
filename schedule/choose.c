/* The model's choice of a strategy and its parameters. */
#include "schedule/loops/collapse.h"
#include "schedule/row_stash.h"
#include "schedule/pairs/pairs.h"
#include "schedule/model.h"
#include "schedule/gpu_nested/nested.h"
#include "schedule/loops/nontemporal.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/vector_access.h"

static neo_schedule choose(neo_module *m, const neo_group *g, const neo_machine *machine) {
  const neo_form *f = neo_group_form(m, g);
  neo_schedule s;
  if (neo_model_segment(m, g, machine, &s) && neo_schedule_legal(m, g, machine, &s, NULL))
    return s;
  if (neo_model_running(m, g, machine, &s) && neo_running_pays(m, g, &s) &&
      neo_schedule_legal(m, g, machine, &s, NULL))
    return s;
  if (neo_model_matrix(m, f, machine, &s) && neo_matrix_pays(m, f, machine, &s) &&
      neo_schedule_legal(m, g, machine, &s, NULL))
    return s;
  if (neo_model_contraction(m, f, machine, &s) && neo_schedule_legal(m, g, machine, &s, NULL))
    return s;
  s = neo_model_plain(m, f, machine);
  return neo_schedule_legal(m, g, machine, &s, NULL) ? s : neo_schedule_plain();
}

/* Blocks of threads where that pays, else a thread for each point of the shared axes, or for 16
 * bytes of a map. */
static neo_schedule choose_gpu(neo_module *m, const neo_group *g, const neo_machine *machine) {
  neo_schedule s;
  if (neo_model_wide(m, neo_group_form(m, g), machine, &s) &&
      neo_schedule_legal(m, g, machine, &s, NULL))
    return s;
  if (neo_model_threads(m, neo_group_form(m, g), machine, &s) &&
      neo_schedule_legal(m, g, machine, &s, NULL))
    return s;
  s = neo_schedule_plain();
  s.loops.unit_axes = neo_schedule_loops(neo_group_form(m, g), &s);
  return neo_schedule_legal(m, g, machine, &s, NULL) ? s : neo_schedule_plain();
}

neo_schedule neo_schedule_default(neo_module *m, const neo_group *g, const neo_machine *machine) {
  if (neo_form_is_nested(neo_group_form(m, g)))
    return neo_nested_default(m, neo_group_form(m, g), machine);
  if (machine->gpu)
    return choose_gpu(m, g, machine);
  neo_schedule s = choose(m, g, machine);
  if (s.strategy == NEO_STRATEGY_PAIRS)
    return s;
  s.loops.nontemporal = neo_stream_pays(m, g, &s);
  s.loops.stash = neo_keep_find(m, neo_group_form(m, g), &s).n > 0;
  return s;
}
