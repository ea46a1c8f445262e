/* Random legal schedules, for tests. */
#include "schedule/loops/collapse.h"
#include "schedule/pairs/pairs.h"
#include "schedule/model.h"
#include "schedule/gpu_nested/nested.h"
#include "schedule/space.h"
#include "schedule/gpu_tile/gpu_tile.h"

static uint64_t next(uint64_t *seed) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

static int64_t pick(uint64_t *seed, int64_t lo, int64_t hi) {
  return lo + (int64_t)(next(seed) % (uint64_t)(hi - lo + 1));
}

static neo_schedule draw(neo_module *m, const neo_form *f, uint64_t *seed) {
  neo_contraction c;
  neo_schedule s = neo_schedule_plain();
  s.strategy = neo_contraction_of(m, f, &c) ? NEO_STRATEGY_TILE : NEO_STRATEGY_LOOPS;
  neo_loop_params *p = &s.loops;
  int64_t n = (int64_t)f->axes.n;
  p->vector_axis = pick(seed, -1, n);
  if (pick(seed, 0, 1) && n)
    p->vector_axis = pick(seed, 0, n - 1);
  if (p->vector_axis >= 0)
    p->vector_width = 1 << pick(seed, 1, 3);
  p->axis_m = pick(seed, -1, n - 1);
  if (p->axis_m >= 0)
    p->tile_m = pick(seed, 1, 6);
  if (p->vector_axis == n)
    p->axis_n = pick(seed, -1, n - 1);
  bool shared = p->vector_axis >= 0 && p->vector_axis < n;
  if (p->axis_n >= 0 || shared)
    p->tile_n = pick(seed, 1, 3);
  p->unroll_k = pick(seed, 1, 3);
  return s;
}

typedef struct {
  neo_module *m;
  const neo_group *g;
  const neo_machine *machine;
  neo_schedule s;
} drawing;

/* Sets a parameter unless that is illegal. */
static void try_value(drawing *d, neo_param k, int64_t x) {
  int64_t old = d->s.at[k];
  d->s.at[k] = x;
  if (!neo_schedule_legal(d->m, d->g, d->machine, &d->s, NULL))
    d->s.at[k] = old;
}

/* Blocks of whole inner merged axes. */
static int64_t draw_block_n(drawing *d, const neo_form *f, uint64_t *seed) {
  int64_t n = pick(seed, 0, 20), v = d->s.loops.vector_axis;
  bool beside = neo_schedule_is_beside(f, &d->s);
  for (int64_t k = v - d->s.loops.fused + 2 - beside; k <= v && v < (int64_t)f->axes.n; k++)
    n *= neo_axis_most(d->m, &f->axes.at[k]);
  return n;
}

/* Some random steps from the model's choice: whatever has a row in the table is reached. Large
 * tiles take long to compile, and have nothing that small ones lack. */
static neo_schedule wander(neo_module *m, const neo_group *g, const neo_machine *machine,
                           uint64_t *seed) {
  enum { LARGE = 6, MANY = 256 };
  neo_space x = neo_space_of(m, g, machine);
  neo_schedule s = neo_schedule_default(m, g, machine);
  for (int64_t k = pick(seed, 2, 5); k > 0; k--) {
    neo_schedule y = neo_space_mutate(&x, &s, seed);
    if (y.loops.tile_m * y.loops.tile_n * y.loops.unroll_k <= LARGE && y.rows.threads <= MANY &&
        y.block.threads <= MANY && y.nested.threads <= MANY)
      s = y;
  }
  return s;
}

/* A register tile first; then everything else where it is legal. */
neo_schedule neo_schedule_random(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 uint64_t *seed) {
  const neo_form *f = neo_group_form(m, g);
  neo_schedule own;
  if (neo_form_is_nested(f))
    return neo_nested_random(m, f, machine, seed);
  if (machine->gpu && neo_threads_random(m, f, machine, seed, &own) &&
      neo_schedule_legal(m, g, machine, &own, NULL))
    return own;
  if (pick(seed, 0, 2) == 0)
    return wander(m, g, machine, seed);
  bool way = pick(seed, 0, 1); /* a way of its own, where there is one */
  if (way && (neo_model_segment(m, g, machine, &own) || neo_model_running(m, g, machine, &own))) {
    own.loops.block_n = own.loops.vector_axis < 0 ? 0 : pick(seed, 1, 9);
    own.loops.unit_axes = pick(seed, 0, neo_schedule_loops(f, &own));
    own.loops.unit_size = pick(seed, 1, 3);
    return own;
  }
  drawing d = {m, g, machine, neo_schedule_plain()};
  if (way && neo_model_matrix(m, f, machine, &d.s)) {
    bool tiles = machine->matrix == NEO_PAIRS_TILES;
    try_value(&d, NEO_PARAM(loops, tile_m), tiles ? 16 * pick(seed, 1, 2) : 1 << pick(seed, 0, 4));
    try_value(&d, NEO_PARAM(loops, tile_n), pick(seed, 1, 3));
    try_value(&d, NEO_PARAM(loops, block_m), 16 * pick(seed, 0, 2));
    try_value(&d, NEO_PARAM(loops, fused), pick(seed, 1, 3));
    try_value(&d, NEO_PARAM(loops, block_n),
              d.s.loops.fused > 1 ? draw_block_n(&d, f, seed) : 16 * pick(seed, 0, 3));
    try_value(&d, NEO_PARAM(loops, block_k), pick(seed, 0, 40));
    try_value(&d, NEO_PARAM(loops, pack), pick(seed, 0, 3));
    try_value(&d, NEO_PARAM(loops, unit_axes), pick(seed, 0, neo_schedule_loops(f, &d.s)));
    try_value(&d, NEO_PARAM(loops, unit_size), pick(seed, 1, 3));
    return d.s;
  }
  for (int tries = 0; tries < 20; tries++) {
    neo_schedule s = draw(m, f, seed);
    if (!neo_schedule_legal(m, g, machine, &s, NULL))
      continue;
    d.s = s;
    break;
  }
  try_value(&d, NEO_PARAM(loops, fused), pick(seed, 1, 3));
  if (d.s.loops.vector_axis < (int64_t)f->axes.n && pick(seed, 0, 1))
    try_value(&d, NEO_PARAM(loops, axis_n), pick(seed, -1, (int64_t)f->axes.n - 1));
  try_value(&d, NEO_PARAM(loops, block_m), pick(seed, 0, 9));
  try_value(&d, NEO_PARAM(loops, block_n), draw_block_n(&d, f, seed));
  try_value(&d, NEO_PARAM(loops, block_k), pick(seed, 0, 5));
  int64_t first = pick(seed, 0, 7);
  try_value(&d, NEO_PARAM(loops, blocks_first), first & 3);
  try_value(&d, NEO_PARAM(loops, blocks_first), first);
  for (int bit = 0; bit < 3; bit++)
    if (pick(seed, 0, 2))
      try_value(&d, NEO_PARAM(loops, pack), d.s.loops.pack | 1 << bit);
  try_value(&d, NEO_PARAM(loops, order), pick(seed, 0, 1));
  try_value(&d, NEO_PARAM(loops, unit_axes), pick(seed, 0, neo_schedule_loops(f, &d.s)));
  try_value(&d, NEO_PARAM(loops, unit_size), pick(seed, 1, 5));
  try_value(&d, NEO_PARAM(loops, nontemporal), pick(seed, 0, 1));
  try_value(&d, NEO_PARAM(loops, stash), pick(seed, 0, 1));
  try_value(&d, NEO_PARAM(loops, prefetch), pick(seed, 0, 1));
  return d.s;
}
