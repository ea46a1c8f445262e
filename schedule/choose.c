/* Choosing: the model's schedule, and random legal ones. */
#include "schedule/model.h"

neo_schedule neo_schedule_default(neo_module *m, const neo_group *g, const neo_machine *machine) {
  const neo_form *f = neo_group_form(m, g);
  return neo_model_plain(m, f, machine);
}

/* ---- random schedules, for tests */

static uint64_t next(uint64_t *seed) {
  uint64_t z = (*seed += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
  return z ^ z >> 31;
}

static int64_t pick(uint64_t *seed, int64_t lo, int64_t hi) {
  return lo + (int64_t)(next(seed) % (uint64_t)(hi - lo + 1));
}

static neo_schedule draw(const neo_form *f, uint64_t *seed) {
  neo_schedule s = neo_schedule_plain();
  int64_t n = (int64_t)f->axes.n, *p = s.at;
  p[NEO_SCHED_VECTOR_AXIS] = pick(seed, -1, n);
  if (p[NEO_SCHED_VECTOR_AXIS] >= 0)
    p[NEO_SCHED_VECTOR_WIDTH] = 1 << pick(seed, 1, 3);
  p[NEO_SCHED_AXIS_M] = pick(seed, -1, n - 1);
  if (p[NEO_SCHED_AXIS_M] >= 0)
    p[NEO_SCHED_TILE_M] = pick(seed, 1, 6);
  if (p[NEO_SCHED_VECTOR_AXIS] == n)
    p[NEO_SCHED_AXIS_N] = pick(seed, -1, n - 1);
  bool columns = p[NEO_SCHED_AXIS_N] >= 0 || (p[NEO_SCHED_VECTOR_AXIS] >= 0 && p[NEO_SCHED_VECTOR_AXIS] < n);
  if (columns)
    p[NEO_SCHED_TILE_N] = pick(seed, 1, 3);
  p[NEO_SCHED_BLOCK_N] = columns ? pick(seed, 0, 20) : 0;
  p[NEO_SCHED_BLOCK_M] = p[NEO_SCHED_AXIS_M] >= 0 ? pick(seed, 0, 9) : 0;
  p[NEO_SCHED_BLOCK_K] = pick(seed, 0, 5);
  p[NEO_SCHED_PACK] = pick(seed, 0, 7);
  p[NEO_SCHED_MERGE] = pick(seed, 1, 3);
  p[NEO_SCHED_UNROLL_K] = pick(seed, 1, 3);
  p[NEO_SCHED_UNIT_AXES] = pick(seed, 0, n + 1);
  p[NEO_SCHED_UNIT_SIZE] = pick(seed, 1, 5);
  p[NEO_SCHED_SEGMENT] = pick(seed, 0, 1);
  return s;
}

/* Makes one parameter after the other plain until the schedule is legal. */
neo_schedule neo_schedule_random(neo_module *m, const neo_group *g, const neo_machine *machine,
                                 uint64_t *seed) {
  const neo_form *f = neo_group_form(m, g);
  neo_schedule plain = neo_schedule_plain(), s = plain;
  for (int tries = 0; tries < 40; tries++) {
    s = draw(f, seed);
    if (neo_schedule_legal(m, g, machine, &s, NULL))
      return s;
    static const uint8_t order[] = {NEO_SCHED_SEGMENT, NEO_SCHED_MERGE,   NEO_SCHED_PACK,
                                    NEO_SCHED_BLOCK_K, NEO_SCHED_UNIT_AXES};
    for (size_t k = 0; k < sizeof order; k++) {
      s.at[order[k]] = plain.at[order[k]];
      if (neo_schedule_legal(m, g, machine, &s, NULL))
        return s;
    }
  }
  return plain;
}
