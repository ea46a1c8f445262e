/* The cost of each stage of a compilation: CPU time of this process, and the work of the
 * provers. */
#include "tools/pipeline/compile.h"
#include <time.h>

double neo_cost_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void neo_progress(const neo_compilation *c, const char *what, size_t done, size_t of) {
  if (c->options.progress)
    c->options.progress(c->options.progress_ctx, what, done, of);
}

bool neo_cancelled(const neo_compilation *c) {
  return c->options.cancel && __atomic_load_n(c->options.cancel, __ATOMIC_RELAXED);
}

/* Takes no memory: it is called after stages that had none left. */
void neo_cost_add(neo_compilation *c, const char *stage) {
  double now = neo_cost_now();
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
