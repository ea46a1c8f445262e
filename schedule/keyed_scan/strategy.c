/* The strategy of running sums by keys. */
#include "schedule/extent.h"
#include "schedule/keyed_scan/keyed_scan.h"
#include "schedule/loops/loops.h"
#include "schedule/model.h"
#include "schedule/reject.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  return !x->machine->gpu && neo_model_keyed_scan(x->m, x->g, out);
}

static bool pays(const neo_space *x, const neo_schedule *s) {
  (void)x;
  (void)s;
  return true;
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  neo_keyed_scan run;
  const neo_loop_params *p = &s->loops;
  if (!neo_loops_plain_legal(s, why) || !neo_loops_legal(x, s, why))
    return false;
  if (x->machine->gpu)
    return reject(why, "a running sum by keys is for one processor");
  if (!neo_keyed_scan_of(x->m, x->g, &run))
    return reject(why, "keyed_scan is for running sums of equal keys");
  if (p->axis_m != run.axis || p->tile_m != 1 || p->block_m || p->fused != 1 || p->order ||
      p->vector_axis >= 0 || p->stash)
    return reject(why, "a running sum by keys goes along its axis without lanes");
  return true;
}

static void update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s) {
  if (neo_loops_moved(from, s))
    s->loops.unit_axes = neo_schedule_loops(x->f, s), s->loops.unit_size = 1;
}

/* One pass along u, and a table of sums. */
static double visited(const neo_space *x, const neo_schedule *s) {
  neo_keyed_scan run;
  (void)s;
  if (!neo_keyed_scan_of(x->m, x->g, &run))
    return 1;
  double length = neo_form_points(x->m, x->f, 1ULL << run.axis);
  return (length + (double)run.most) / (length * neo_stage_points(x->m, &x->f->stages.at[0]));
}

const neo_strategy_row neo_strategy_keyed_scan = {.fewer_steps = true,
                                                  .choose = choose,
                                                  .pays = pays,
                                                  .legal = legal,
                                                  .cost = neo_loops_cost,
                                                  .visited = visited,
                                                  .update_units = update_units,
                                                  NEO_LOOPS_STEPS};
