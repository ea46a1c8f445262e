/* The cost of each stage of a compilation: CPU time of this process, and the work of the
 * provers. */
#include "base/clock.h"
#include "tools/pipeline/compile.h"

void neo_progress(const neo_compilation *c, const char *what, size_t done, size_t of) {
  if (c->options.progress)
    c->options.progress(c->options.progress_ctx, what, done, of);
}

bool neo_cancelled(const neo_compilation *c) {
  return c->options.cancel && __atomic_load_n(c->options.cancel, __ATOMIC_RELAXED);
}

/* Takes no memory: it is called after stages that had none left. */
void neo_cost_add(neo_compilation *c, const char *stage) {
  double now = neo_clock_s(CLOCK_PROCESS_CPUTIME_ID);
  neo_progress(c, stage, 0, 0);
  if (c->n_costs == sizeof c->costs / sizeof *c->costs)
    return;
  neo_cost *cost = &c->costs[c->n_costs++];
  *cost = (neo_cost){.stage = stage, .seconds = now - c->clock};
  c->clock = now;
  if (!c->module)
    return;
  cost->proofs = neo_proofs_total(c->module);
  neo_proofs_restart(c->module);
}
