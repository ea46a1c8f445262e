/* Random schedules of the family `loops`: first a register tile, then every other parameter where it is legal. */
#include "schedule/contract.h"
#include "schedule/loops/collapse.h"
#include "schedule/model.h"
#include "tests/draw/draw.h"
#include "tests/pick.h"

/* ---- what strategies share */

static bool is_legal(const neo_space *x, const neo_schedule *s) {
  return neo_strategy_row_of(s->strategy)->legal(x, s, NULL);
}

/* Draws lanes and a register tile, which may be illegal together. */
static neo_schedule register_tile(const neo_form *f, neo_strategy strategy, uint64_t *seed) {
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
static int64_t draw_columns(const neo_space *x, const neo_schedule *s, uint64_t *seed) {
  int64_t n = neo_pick(seed, 0, 20), v = s->loops.vector_axis;
  bool collapsed = neo_schedule_is_collapsed(x->f, s);
  for (int64_t k = v - s->loops.fused + 2 - collapsed; k <= v && v < (int64_t)x->f->axes.n; k++)
    n *= neo_axis_most(x->m, &x->f->axes.at[k]);
  return n;
}

static void draw_units(const neo_space *x, uint64_t *seed, neo_schedule *s) {
  s->loops.block_n = s->loops.vector_axis < 0 ? 0 : neo_pick(seed, 1, 9);
  s->loops.unit_axes = neo_pick(seed, 0, neo_schedule_loops(x->f, s));
  s->loops.unit_size = neo_pick(seed, 1, 3);
}

static void try_value(const neo_space *x, neo_param k, int64_t value, neo_schedule *s) {
  int64_t old = s->at[k];
  s->at[k] = value;
  if (!is_legal(x, s))
    s->at[k] = old;
}

/* Draws lanes, a register tile and blocks. */
static neo_schedule draw_blocks(const neo_space *x, neo_strategy strategy, uint64_t *seed) {
  neo_schedule s = neo_schedule_plain();
  s.strategy = strategy;
  for (int tries = 0; tries < 20; tries++) {
    neo_schedule y = register_tile(x->f, strategy, seed);
    if (!is_legal(x, &y))
      continue;
    s = y;
    break;
  }
  try_value(x, NEO_PARAM(loops, fused), neo_pick(seed, 1, 3), &s);
  if (s.loops.vector_axis < (int64_t)x->f->axes.n && neo_pick(seed, 0, 1))
    try_value(x, NEO_PARAM(loops, axis_n), neo_pick(seed, -1, (int64_t)x->f->axes.n - 1), &s);
  try_value(x, NEO_PARAM(loops, block_m), neo_pick(seed, 0, 9), &s);
  try_value(x, NEO_PARAM(loops, block_n), draw_columns(x, &s, seed), &s);
  return s;
}

/* Draws the order of loops, units, nontemporal stores and the stash. */
static void draw_rest(const neo_space *x, uint64_t *seed, neo_schedule *s) {
  try_value(x, NEO_PARAM(loops, order), neo_pick(seed, 0, 2), s);
  try_value(x, NEO_PARAM(loops, unit_axes), neo_pick(seed, 0, neo_schedule_loops(x->f, s)), s);
  try_value(x, NEO_PARAM(loops, unit_size), neo_pick(seed, 1, 5), s);
  try_value(x, NEO_PARAM(loops, nontemporal), neo_pick(seed, 0, 1), s);
  try_value(x, NEO_PARAM(loops, stash), neo_pick(seed, 0, 1), s);
}

/* ---- the strategies */

bool draw_loops(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  *out = neo_schedule_plain();
  if (neo_form_is_nested(x->f)) {
    out->loops.unit_axes = neo_pick(seed, 0, neo_schedule_loops(x->f, out));
    return true;
  }
  *out = draw_blocks(x, NEO_STRATEGY_LOOPS, seed);
  draw_rest(x, seed, out);
  return true;
}

bool draw_tile(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  neo_contraction c;
  if (!neo_contraction_of(x->m, x->f, &c))
    return false;
  neo_schedule s = draw_blocks(x, NEO_STRATEGY_TILE, seed);
  try_value(x, NEO_PARAM(loops, block_k), neo_pick(seed, 0, 5), &s);
  int64_t first = neo_pick(seed, 0, 7);
  try_value(x, NEO_PARAM(loops, blocks_first), first & 3, &s);
  try_value(x, NEO_PARAM(loops, blocks_first), first, &s);
  enum { LEAST = 3 };
  uint32_t bits = c.n_operands > LEAST ? c.n_operands : LEAST;
  for (uint32_t bit = 0; bit < bits; bit++)
    if (neo_pick(seed, 0, 2))
      try_value(x, NEO_PARAM(loops, pack), s.loops.pack | 1 << bit, &s);
  draw_rest(x, seed, &s);
  try_value(x, NEO_PARAM(loops, prefetch), neo_pick(seed, 0, 1), &s);
  *out = s;
  return true;
}

bool draw_pairs(const neo_space *x, uint64_t *seed, neo_schedule *s) {
  bool tiles = x->machine->matrix == NEO_PAIRS_TILES;
  if (!neo_strategy_row_of(NEO_STRATEGY_PAIRS)->choose(x, s))
    return false;
  try_value(x, NEO_PARAM(loops, tile_m),
            tiles ? 16 * neo_pick(seed, 1, 2) : 1 << neo_pick(seed, 0, 4), s);
  try_value(x, NEO_PARAM(loops, tile_n), neo_pick(seed, 1, 3), s);
  try_value(x, NEO_PARAM(loops, block_m), 16 * neo_pick(seed, 0, 2), s);
  try_value(x, NEO_PARAM(loops, fused), neo_pick(seed, 1, 3), s);
  int64_t columns = s->loops.fused > 1 ? draw_columns(x, s, seed) : 16 * neo_pick(seed, 0, 3);
  try_value(x, NEO_PARAM(loops, block_n), columns, s);
  try_value(x, NEO_PARAM(loops, block_k), neo_pick(seed, 0, 40), s);
  try_value(x, NEO_PARAM(loops, pack), neo_pick(seed, 0, 3), s);
  try_value(x, NEO_PARAM(loops, unit_axes), neo_pick(seed, 0, neo_schedule_loops(x->f, s)), s);
  try_value(x, NEO_PARAM(loops, unit_size), neo_pick(seed, 1, 3), s);
  return true;
}

bool draw_scan(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  if (!neo_model_scan(x->m, x->g, x->machine, out))
    return false;
  draw_units(x, seed, out);
  return true;
}

bool draw_segment(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  if (!neo_model_segment(x->m, x->g, x->machine, out))
    return false;
  draw_units(x, seed, out);
  return true;
}

bool draw_keyed_scan(const neo_space *x, uint64_t *seed, neo_schedule *out) {
  (void)seed;
  return !x->machine->gpu && neo_model_keyed_scan(x->m, x->g, out);
}
