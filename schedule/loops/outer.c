/* The leading loops of a schedule: shared axes outside of the register tile, and blocks. An axis
 * whose position keys give is inside of all loops (schedule/segment/segment.h). */
#include "schedule/contract.h"
#include "schedule/model.h"

uint32_t neo_schedule_outer_loops(const neo_form *f, const neo_schedule *s, neo_outer_loop *out) {
  const neo_loop_params *p = &s->loops;
  int64_t v = p->vector_axis, all = (int64_t)f->axes.n, am = p->axis_m;
  int64_t an = v >= 0 && v < all ? v : p->axis_n, first = an + 1 - p->fused;
  int64_t collapsed = an == v ? p->axis_n : -1;
  neo_outer_loop blocks[] = {{(int32_t)an, p->block_n}, {(int32_t)am, p->block_m}};
  uint64_t inside = neo_strategy_is_keyed(s->strategy) ? f->keyed : 0;
  uint32_t n = 0;
  for (int pass = 1; pass >= 0; pass--) {
    for (int k = 0; k < 2; k++)
      if (blocks[k].axis >= 0 && blocks[k].block && (p->blocks_first >> k & 1) == pass)
        out[n++] = blocks[k];
    for (int64_t k = 0; pass && k < all; k++)
      if (k != am && k != collapsed && (k > an || k < first) && !(inside >> k & 1))
        out[n++] = (neo_outer_loop){(int32_t)k, 0};
  }
  return n;
}

int64_t neo_schedule_loops(const neo_form *f, const neo_schedule *s) {
  neo_outer_loop at[NEO_FORM_MAX_AXES + 2];
  return neo_schedule_outer_loops(f, s, at);
}
