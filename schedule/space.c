/* Steps, mutation and crossover over the space of schedules, and the model's order of it. */
#include "schedule/space.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/whole.h"
#include "schedule/loops/collapse.h"
#include "schedule/pairs/pairs.h"
#include "schedule/model.h"
#include "schedule/gpu_nested/nested.h"
#include "schedule/gpu_tile/space.h"
#include "schedule/loops/values.h"
#include <string.h>

enum { NEIGHBOURS = 512 };

neo_space neo_space_of(neo_module *m, const neo_group *g, const neo_machine *machine) {
  return (neo_space){m, g, machine, neo_group_form(m, g), *machine};
}

static bool legal(const neo_space *x, const neo_schedule *s) {
  return neo_schedule_legal(x->m, x->g, x->machine, s, NULL);
}

double neo_space_cost(const neo_space *x, const neo_schedule *s) {
  if (neo_form_is_nested(x->f))
    return neo_nested_cost(x->m, x->f, x->machine, s);
  if (x->machine->gpu)
    return neo_threads_cost(x, s);
  if (s->strategy == NEO_STRATEGY_PAIRS)
    return neo_matrix_cost(x->m, x->f, x->machine, s);
  bool alone = s->strategy == NEO_STRATEGY_SEGMENT || s->strategy == NEO_STRATEGY_SCAN;
  double cost = alone ? -1 : neo_model_contraction_cost(x->m, x->f, &x->priced, s);
  return cost >= 0 ? cost : neo_model_plain_cost(x->m, x->f, s);
}

size_t neo_space_values(const neo_space *x, const neo_schedule *s, neo_param k,
                        int64_t out[NEO_SPACE_VALUES]) {
  return x->machine->gpu ? neo_threads_values(x, s, k, out) : neo_loops_values(x, s, k, out);
}

/* ---- one step */

/* A parameter that would be nothing without another one gets it: lanes have a width, rows a
 * number. */
static void follow(const neo_space *x, const neo_schedule *old, neo_param k, neo_schedule *s) {
  neo_loop_params *p = &s->loops;
  int64_t before = old->at[k], now = s->at[k], n = (int64_t)x->f->axes.n;
  if (k == NEO_PARAM(loops, vector_axis)) {
    if (now >= 0 && p->vector_width < 2)
      p->vector_width = neo_space_lanes(x);
    if (now == p->axis_m)
      p->axis_m = before >= 0 && before < n ? before : -1;
    if (now < n)
      p->axis_n = -1;
  }
  if (k == NEO_PARAM(loops, axis_m) && before < 0 && p->tile_m < 2)
    p->tile_m = 4;
  if (p->axis_m < 0)
    p->tile_m = 1, p->block_m = p->order = 0;
}

/* Does the step change which loops there are? Then the units are made anew. */
static bool moves_loops(neo_param k) {
  switch (k) {
  case NEO_PARAM(loops, vector_axis):
  case NEO_PARAM(loops, fused):
  case NEO_PARAM(loops, axis_m):
  case NEO_PARAM(loops, axis_n):
  case NEO_PARAM(loops, block_m):
  case NEO_PARAM(loops, block_n):
    return true;
  default:
    return false;
  }
}

static void renew_units(const neo_space *x, neo_schedule *s) {
  if (s->strategy == NEO_STRATEGY_SEGMENT || s->strategy == NEO_STRATEGY_SCAN)
    s->loops.unit_axes = neo_schedule_loops(x->f, s), s->loops.unit_size = 1;
  else
    neo_model_units(x->m, x->f, s);
}

/* Lets what stands in the way give way, one parameter after the other, until the schedule is
 * legal. */
static bool repair(const neo_space *x, neo_param keep, neo_schedule *s) {
  static const neo_param order[] = {
      NEO_PARAM(loops, prefetch), NEO_PARAM(loops, order),  NEO_PARAM(loops, block_n),
      NEO_PARAM(loops, block_k),  NEO_PARAM(loops, pack),   NEO_PARAM(loops, fused),
      NEO_PARAM(loops, block_m),  NEO_PARAM(loops, tile_n), NEO_PARAM(loops, unroll_k),
      NEO_PARAM(loops, axis_n),   NEO_PARAM(loops, tile_m), NEO_PARAM(loops, axis_m)};
  neo_schedule plain = neo_schedule_plain(), before = *s;
  for (size_t k = 0; k < sizeof order / sizeof *order && !legal(x, s); k++)
    if (order[k] != keep)
      s->at[order[k]] = plain.at[order[k]];
  if (!legal(x, s))
    return false;
  bool moved = moves_loops(keep);
  for (neo_param k = 0; k < NEO_PARAMS; k++)
    moved = moved || (moves_loops(k) && s->at[k] != before.at[k]);
  if (moved)
    renew_units(x, s);
  return legal(x, s);
}

/* Units of other loops, until they are made anew, are in nobody's way. */
static void forget_units(neo_schedule *s) {
  s->loops.unit_axes = 0;
  s->loops.unit_size = 1;
}

static bool choice_of(const neo_space *x, neo_strategy to, neo_schedule *out) {
  neo_ranked best;
  neo_contraction form;
  switch (to) {
  case NEO_STRATEGY_LOOPS: /* of a contraction: those of a tile */
    *out = neo_model_plain(x->m, x->f, x->machine);
    return !neo_contraction_of(x->m, x->f, &form);
  case NEO_STRATEGY_TILE:
    if (!neo_model_contractions(x->m, x->f, &x->priced, &best, 1))
      return false;
    *out = best.schedule;
    return true;
  case NEO_STRATEGY_PAIRS:
    return neo_model_matrix(x->m, x->f, x->machine, out);
  case NEO_STRATEGY_SEGMENT:
    return neo_model_segment(x->m, x->g, x->machine, out);
  case NEO_STRATEGY_SCAN:
    return neo_model_running(x->m, x->g, x->machine, out);
  default:
    return false;
  }
}

size_t neo_space_switch(const neo_space *x, const neo_schedule *s, neo_strategy to,
                        neo_schedule *out, size_t most) {
  if (to == s->strategy || !most)
    return 0;
  if (x->machine->gpu)
    return neo_threads_switch(x, to, out, most);
  return choice_of(x, to, out) && legal(x, out) && out->strategy == to;
}

bool neo_space_set(const neo_space *x, const neo_schedule *s, neo_param k, int64_t value,
                   neo_schedule *out) {
  if (x->machine->gpu)
    return neo_threads_set(x, s, k, value, out);
  neo_schedule y = *s;
  neo_loop_params *p = &y.loops;
  y.at[k] = value;
  follow(x, s, k, &y);
  if (k == NEO_PARAM(loops, tile_m) && p->block_m)
    p->block_m = neo_round_up(p->block_m, value);
  bool walked = p->fused > 1 || neo_schedule_is_beside(x->f, &y);
  if (k == NEO_PARAM(loops, tile_n) && p->block_n && !walked)
    p->block_n = neo_round_up(p->block_n, value * p->vector_width);
  if (moves_loops(k))
    forget_units(&y);
  if (!repair(x, k, &y) || y.at[k] != value || !neo_space_sensible(x, &y))
    return false;
  *out = y;
  return true;
}

static bool known(const neo_schedule *s, const neo_schedule *at, size_t n) {
  for (size_t k = 0; k < n; k++)
    if (neo_schedule_equal(s, &at[k]))
      return true;
  return false;
}

/* One after the other, in the order in which the tile does not grow first. */
static bool set_tile(const neo_space *x, const neo_schedule *s, int64_t rows, int64_t columns,
                     neo_schedule *out) {
  neo_schedule y;
  bool shrinks = columns < s->loops.tile_n;
  neo_param first = shrinks ? NEO_PARAM(loops, tile_n) : NEO_PARAM(loops, tile_m);
  neo_param then = shrinks ? NEO_PARAM(loops, tile_m) : NEO_PARAM(loops, tile_n);
  return neo_space_set(x, s, first, shrinks ? columns : rows, &y) &&
         neo_space_set(x, &y, then, shrinks ? rows : columns, out) && out->loops.tile_m == rows &&
         out->loops.tile_n == columns;
}

static size_t other_tiles(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                          size_t most) {
  enum { MOST_COLUMNS = 8 };
  int64_t rows = s->loops.tile_m, columns = s->loops.tile_n;
  size_t n = 0;
  if (s->loops.axis_m < 0)
    return 0;
  for (int64_t d = 1; d < MOST_COLUMNS; d++)
    for (int sign = -1; sign <= 1; sign += 2) {
      int64_t c = columns + sign * d;
      if (c < 1 || c > MOST_COLUMNS)
        continue;
      for (int64_t r = rows * columns / c, last = r + (rows * columns % c > 0); r <= last; r++)
        if (n < most && r > 0 && r != rows && set_tile(x, s, r, c, &out[n]))
          n++;
    }
  return n;
}

/* Along k half or twice as long, along the columns the other way round. */
static size_t other_blocks(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                           size_t most) {
  int64_t k[NEO_SPACE_VALUES], columns[NEO_SPACE_VALUES];
  size_t n = 0, n_k = neo_space_values(x, s, NEO_PARAM(loops, block_k), k);
  size_t n_columns = neo_space_values(x, s, NEO_PARAM(loops, block_n), columns);
  for (size_t i = 0; i < 2 && i < n_k; i++)
    for (size_t j = 0; j < 2 && j < n_columns && n < most; j++) {
      neo_schedule y;
      if (neo_space_set(x, s, NEO_PARAM(loops, block_k), k[i], &y) &&
          neo_space_set(x, &y, NEO_PARAM(loops, block_n), columns[j], &out[n]) &&
          out[n].loops.block_k == k[i])
        n++;
    }
  return n;
}

size_t neo_space_reshaped(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                          size_t most) {
  if (x->machine->gpu)
    return neo_threads_reshaped(x, s, out, most);
  size_t n = other_tiles(x, s, out, most);
  return n + other_blocks(x, s, out + n, most - n);
}

size_t neo_space_neighbours(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                            size_t most) {
  size_t n = 0, n_shapes = neo_space_reshaped(x, s, out, most);
  for (size_t k = 0; k < n_shapes; k++)
    if (!known(&out[k], out, n))
      out[n++] = out[k];
  neo_param_range own = neo_strategy_params(s->strategy);
  for (neo_param k = own.first; k < own.first + own.n; k++) {
    int64_t value[NEO_SPACE_VALUES];
    size_t n_values = neo_space_values(x, s, k, value);
    for (size_t i = 0; i < n_values && n < most; i++)
      if (neo_space_set(x, s, k, value[i], &out[n]) && !neo_schedule_equal(&out[n], s) &&
          !known(&out[n], out, n))
        n++;
  }
  for (int to = 0; to < NEO_STRATEGIES; to++)
    n += neo_space_switch(x, s, (neo_strategy)to, out + n, most - n);
  return n;
}

/* ---- the model's order */

static size_t add_ranked(const neo_space *x, const neo_schedule *s, neo_schedule *out, size_t n,
                         size_t most) {
  if (n == most || known(s, out, n) || !legal(x, s))
    return n;
  out[n] = *s;
  return n + 1;
}

/* The steps from the first one, cheapest first: for groups that the model has one choice for
 * only. */
static size_t add_steps(const neo_space *x, neo_schedule *out, size_t n, size_t most) {
  neo_schedule *step = NEO_NEW_ARRAY(x->m->arena, neo_schedule, NEIGHBOURS);
  double *cost = NEO_NEW_ARRAY(x->m->arena, double, NEIGHBOURS);
  size_t n_steps = neo_space_neighbours(x, &out[0], step, NEIGHBOURS);
  for (size_t k = 0; k < n_steps; k++)
    cost[k] = neo_space_cost(x, &step[k]);
  while (n < most) {
    size_t best = n_steps;
    for (size_t k = 0; k < n_steps; k++)
      if (cost[k] >= 0 && (best == n_steps || cost[k] < cost[best]))
        best = k;
    if (best == n_steps)
      return n;
    cost[best] = -1;
    n = add_ranked(x, &step[best], out, n, most);
  }
  return n;
}

static size_t add_threads(const neo_space *x, neo_schedule *out, size_t n, size_t most) {
  neo_schedule *top = NEO_NEW_ARRAY(x->m->arena, neo_schedule, most);
  size_t n_top = neo_form_is_nested(x->f) ? neo_nested_ranked(x->m, x->f, x->machine, top, most)
                                          : neo_threads_ranked(x, top, most);
  for (size_t k = 0; k < n_top; k++)
    n = add_ranked(x, &top[k], out, n, most);
  return n;
}

size_t neo_space_ranked(const neo_space *x, neo_schedule *out, size_t most) {
  if (!most)
    return 0;
  out[0] = neo_schedule_default(x->m, x->g, x->machine);
  size_t n = 1, n_top = 0;
  if (x->machine->gpu)
    return add_threads(x, out, n, most);
  neo_ranked *top = NEO_NEW_ARRAY(x->m->arena, neo_ranked, most);
  if (out[0].strategy != NEO_STRATEGY_SEGMENT && out[0].strategy != NEO_STRATEGY_SCAN)
    n_top = neo_model_contractions(x->m, x->f, &x->priced, top, most);
  for (size_t k = 0; k < n_top; k++)
    n = add_ranked(x, &top[k].schedule, out, n, most);
  return n_top ? n : add_steps(x, out, n, most);
}

/* ---- chance */

static uint64_t next(uint64_t *seed, uint64_t n) {
  return neo_splitmix(seed) % n;
}

static bool random_shape(const neo_space *x, neo_schedule *s, uint64_t *seed) {
  neo_schedule shape[16];
  size_t n = neo_space_reshaped(x, s, shape, sizeof shape / sizeof *shape);
  if (n)
    *s = shape[next(seed, n)];
  return n > 0;
}

static bool random_switch(const neo_space *x, neo_schedule *s, neo_strategy to, uint64_t *seed) {
  neo_schedule other[4];
  size_t n = neo_space_switch(x, s, to, other, sizeof other / sizeof *other);
  if (n)
    *s = other[next(seed, n)];
  return n > 0;
}

static bool random_value(const neo_space *x, neo_schedule *s, neo_param k, uint64_t *seed) {
  int64_t value[NEO_SPACE_VALUES];
  size_t n = neo_space_values(x, s, k, value);
  neo_schedule y;
  if (!n || !neo_space_set(x, s, k, value[next(seed, n)], &y))
    return false;
  *s = y;
  return true;
}

/* One of the strategy's parameters, or, as often as one of them, the strategy. */
static bool random_step(const neo_space *x, neo_schedule *s, uint64_t *seed) {
  if (next(seed, 8) == 0 && random_shape(x, s, seed))
    return true;
  neo_param_range own = neo_strategy_params(s->strategy);
  for (int tries = 0; tries < 32; tries++) {
    neo_param k = (neo_param)next(seed, own.n + 1);
    neo_strategy to = (neo_strategy)next(seed, NEO_STRATEGIES);
    if (k < own.n ? random_value(x, s, own.first + k, seed) : random_switch(x, s, to, seed))
      return true;
  }
  return false;
}

neo_schedule neo_space_mutate(const neo_space *x, const neo_schedule *s, uint64_t *seed) {
  neo_schedule y = *s;
  for (uint64_t k = 0, n = 1 + next(seed, 2); k < n; k++)
    if (!random_step(x, &y, seed))
      break;
  return y;
}

static bool names_axes(neo_param k) {
  return k == NEO_PARAM(loops, vector_axis) || k == NEO_PARAM(loops, vector_width) ||
         k == NEO_PARAM(loops, axis_m) || k == NEO_PARAM(loops, axis_n) ||
         k == NEO_PARAM(loops, fused) || k == NEO_PARAM(rows, lanes) ||
         k == NEO_PARAM(block, row_axes) || k == NEO_PARAM(block, column_axes);
}

neo_schedule neo_space_cross(const neo_space *x, const neo_schedule *a, const neo_schedule *b,
                             uint64_t *seed) {
  if (next(seed, 2)) {
    const neo_schedule *swap = a;
    a = b, b = swap;
  }
  neo_schedule y = *a;
  neo_param_range own = neo_strategy_params(a->strategy);
  for (neo_param k = own.first; a->strategy == b->strategy && k < own.first + own.n; k++) {
    neo_schedule z;
    if (!names_axes(k) && b->at[k] != y.at[k] && next(seed, 2) &&
        neo_space_set(x, &y, k, b->at[k], &z))
      y = z;
  }
  return y;
}
