/* The strategy of reductions by keys. */
#include "schedule/loops/loops.h"
#include "schedule/model.h"
#include "schedule/reject.h"
#include "schedule/segment/segment.h"

static bool choose(const neo_space *x, neo_schedule *out) {
  return neo_model_segment(x->m, x->g, x->machine, out);
}

static bool pays(const neo_space *x, const neo_schedule *s) {
  (void)s;
  return !x->machine->gpu && neo_segment_pays(x->m, x->g, x->machine);
}

/* The rows are the axis of the first key, in one block; nothing is packed or stashed. */
static bool keys_legal(const neo_space *x, const neo_segment *e, const neo_loop_params *p,
                       neo_str *why) {
  int64_t v = p->vector_axis;
  if (p->axis_m != e->axis || p->tile_m != 1 || p->block_m)
    return reject(why, "the axis of the equation has to be the rows");
  if (p->fused != 1 || p->order || p->stash || v >= (int64_t)x->f->axes.n)
    return reject(why, "a reduction by keys has lanes over a shared axis");
  if (v >= 0 && neo_segment_tested(x->m, x->f, e) >> v & 1)
    return reject(why, "the condition of a reduction by keys diverges within the lanes");
  if (x->machine->gpu && neo_segment_table(x->m, x->f, e, 1) > 0)
    return reject(why, "a thread has no room for a table of accumulators");
  int64_t columns = v < 0 ? 1 : p->block_n ? p->block_n : neo_axis_most(x->m, &x->f->axes.at[v]);
  return neo_segment_table(x->m, x->f, e, columns) <= NEO_SEGMENT_ELEMENTS ||
         reject(why, "a table of accumulators is too long");
}

static bool legal(const neo_space *x, const neo_schedule *s, neo_str *why) {
  neo_segment e;
  if (!neo_segment_of(x->m, x->g, &e)) /* also finds which axes have no loops (outer.c) */
    return reject(why, "segment is for reductions by keys that are data");
  return neo_loops_plain_legal(s, why) && neo_loops_legal(x, s, why) &&
         neo_loops_columns_legal(x, s, why) && neo_loops_bounds_legal(x, s, why) &&
         keys_legal(x, &e, &s->loops, why);
}

static void update_units(const neo_space *x, const neo_schedule *from, neo_schedule *s) {
  if (neo_loops_moved(from, s))
    s->loops.unit_axes = neo_schedule_loops(x->f, s), s->loops.unit_size = 1;
}

static double visited(const neo_space *x, const neo_schedule *s) {
  neo_segment e;
  (void)s;
  return neo_segment_of(x->m, x->g, &e) ? neo_segment_visited(x->m, x->f, &e) : 1;
}

const neo_strategy_row neo_strategy_segment = {.fewer_steps = true,
                                               .choose = choose,
                                               .pays = pays,
                                               .legal = legal,
                                               .cost = neo_loops_cost,
                                               .visited = visited,
                                               .update_units = update_units,
                                               NEO_LOOPS_STEPS};
