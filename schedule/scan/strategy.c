/* The strategy of scans. */
#include "schedule/loops/loops.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include "schedule/scan/scan.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  if (!neo_model_scan(x->m, x->g, x->machine, out))
    return false;
  neo_loops_add_row_parts(x, out);
  return true;
}

static bool pays(const neo_space *x, const neo_schedule *s) {
  return !x->machine->gpu && neo_scan_pays(x->m, x->g, s);
}

/* The rows are the axis with which the domain grows, in one block; nothing is packed. */
static bool axis_legal(const neo_space *x, const neo_loop_params *p, neo_str *why) {
  neo_scan run;
  int64_t v = p->vector_axis;
  if (!neo_scan_of(x->m, x->g, &run))
    return reject(why, "scan is for reductions whose domain grows with an axis");
  if (p->axis_m != run.axis || p->tile_m != 1 || p->block_m)
    return reject(why, "the axis that a domain grows with has to be the rows");
  if (p->fused != 1 || p->tile_n != 1 || p->order || v >= (int64_t)x->f->axes.n)
    return reject(why, "a scan has lanes over a shared axis");
  if (v >= 0 && neo_scan_fixed(x->m, x->f, &run) >> v & 1)
    return reject(why, "a loop's bounds change inside the lanes");
  return true;
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  return neo_loops_plain_legal(s, why) && neo_loops_legal(x, s, why) &&
         neo_loops_columns_legal(x, s, why) && axis_legal(x, &s->loops, why);
}

static void update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s) {
  if (neo_loops_moved(from, s))
    s->loops.unit_axes = neo_schedule_loops(x->f, s), s->loops.unit_size = 1;
}

const neo_strategy_row neo_strategy_scan = {.fewer_steps = true,
                                            .choose = choose,
                                            .pays = pays,
                                            .legal = legal,
                                            .cost = neo_loops_cost,
                                            .update_units = update_units,
                                            NEO_LOOPS_STEPS};
