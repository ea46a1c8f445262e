/* Random loops, for tests: first a register tile, then every other parameter where it is legal. */
#include "schedule/loops/draw.h"
#include "base/random.h"
#include "schedule/loops/collapse.h"
#include "schedule/model.h"

/* Draws lanes and a register tile, which may be illegal together. */
static neo_schedule draw_tile(const neo_form *f, neo_strategy strategy, uint64_t *seed) {
  neo_schedule s = neo_schedule_plain();
  neo_loop_params *p = &s.loops;
  s.strategy = strategy;
  int64_t n = (int64_t)f->axes.n;
  p->vector_axis = neo_pick(seed, -1, n);
  if (neo_pick(seed, 0, 1) && n)
    p->vector_axis = neo_pick(seed, 0, n - 1);
  if (p->vector_axis >= 0)
    p->vector_width = 1 << neo_pick(seed, 1, 3);
  p->axis_m = neo_pick(seed, -1, n - 1);
  if (p->axis_m >= 0)
    p->tile_m = neo_pick(seed, 1, 6);
  if (p->vector_axis == n)
    p->axis_n = neo_pick(seed, -1, n - 1);
  bool shared = p->vector_axis >= 0 && p->vector_axis < n;
  if (p->axis_n >= 0 || shared)
    p->tile_n = neo_pick(seed, 1, 3);
  p->unroll_k = neo_pick(seed, 1, 3);
  if (shared)
    p->partial = neo_pick(seed, 1, 4);
  return s;
}

/* A block of columns has to be a multiple of the inner fused axes. */
int64_t neo_loops_draw_columns(const neo_space *x, const neo_schedule *s, uint64_t *seed) {
  int64_t n = neo_pick(seed, 0, 20), v = s->loops.vector_axis;
  bool collapsed = neo_schedule_is_collapsed(x->f, s);
  for (int64_t k = v - s->loops.fused + 2 - collapsed; k <= v && v < (int64_t)x->f->axes.n; k++)
    n *= neo_axis_most(x->m, &x->f->axes.at[k]);
  return n;
}

void neo_loops_draw_units(const neo_space *x, uint64_t *seed, neo_schedule *s) {
  s->loops.block_n = s->loops.vector_axis < 0 ? 0 : neo_pick(seed, 1, 9);
  s->loops.unit_axes = neo_pick(seed, 0, neo_schedule_loops(x->f, s));
  s->loops.unit_size = neo_pick(seed, 1, 3);
}

void neo_loops_try(const neo_space *x, neo_loops_legality legal, neo_param k, int64_t value,
                   neo_schedule *s) {
  int64_t old = s->at[k];
  s->at[k] = value;
  if (!legal(x, s, NULL))
    s->at[k] = old;
}

neo_schedule neo_loops_draw(const neo_space *x, neo_loops_legality legal, neo_strategy strategy,
                            uint64_t *seed) {
  neo_schedule s = neo_schedule_plain();
  s.strategy = strategy;
  for (int tries = 0; tries < 20; tries++) {
    neo_schedule y = draw_tile(x->f, strategy, seed);
    if (!legal(x, &y, NULL))
      continue;
    s = y;
    break;
  }
  neo_loops_try(x, legal, NEO_PARAM(loops, fused), neo_pick(seed, 1, 3), &s);
  if (s.loops.vector_axis < (int64_t)x->f->axes.n && neo_pick(seed, 0, 1))
    neo_loops_try(x, legal, NEO_PARAM(loops, axis_n), neo_pick(seed, -1, (int64_t)x->f->axes.n - 1),
                  &s);
  neo_loops_try(x, legal, NEO_PARAM(loops, block_m), neo_pick(seed, 0, 9), &s);
  neo_loops_try(x, legal, NEO_PARAM(loops, block_n), neo_loops_draw_columns(x, &s, seed), &s);
  return s;
}

void neo_loops_draw_rest(const neo_space *x, neo_loops_legality legal, uint64_t *seed,
                         neo_schedule *s) {
  neo_loops_try(x, legal, NEO_PARAM(loops, order), neo_pick(seed, 0, 2), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, unit_axes),
                neo_pick(seed, 0, neo_schedule_loops(x->f, s)), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, unit_size), neo_pick(seed, 1, 5), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, nontemporal), neo_pick(seed, 0, 1), s);
  neo_loops_try(x, legal, NEO_PARAM(loops, stash), neo_pick(seed, 0, 1), s);
}
