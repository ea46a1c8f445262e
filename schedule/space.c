/* Steps, mutation and crossover over the space of schedules, and the model's order of it. */
#include "schedule/space.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/whole.h"
#include "schedule/beside.h"
#include "schedule/matrix.h"
#include "schedule/model.h"
#include "schedule/nested.h"
#include "schedule/space_threads.h"
#include "schedule/space_values.h"
#include <string.h>

enum { NEIGHBOURS = 512 };

neo_space neo_space_of(neo_module *m, const neo_group *g, const neo_machine *machine) {
  return (neo_space){m, g, machine, neo_group_form(m, g), *machine};
}

bool neo_schedule_equal(const neo_schedule *a, const neo_schedule *b) {
  return memcmp(a->at, b->at, sizeof a->at) == 0;
}

uint64_t neo_schedule_hash(const neo_schedule *s) {
  return neo_hash(s->at, sizeof s->at, 0);
}

static bool legal(const neo_space *x, const neo_schedule *s) {
  return neo_schedule_legal(x->m, x->g, x->machine, s, NULL);
}

double neo_space_cost(const neo_space *x, const neo_schedule *s) {
  if (neo_form_is_nested(x->f))
    return neo_nested_cost(x->m, x->f, x->machine, s);
  if (x->machine->gpu)
    return neo_threads_cost(x, s);
  bool own_way = s->at[NEO_SCHED_SEGMENT] || s->at[NEO_SCHED_RUNNING];
  if (s->at[NEO_SCHED_MATRIX] && !s->at[NEO_SCHED_THREADS])
    return neo_matrix_cost(x->m, x->f, s);
  double cost = own_way ? -1 : neo_model_contraction_cost(x->m, x->f, &x->priced, s);
  return cost >= 0 ? cost : neo_model_plain_cost(x->m, x->f, s);
}

/* ---- one step */

/* A parameter that would be nothing without another one gets it: lanes have a width, rows a
 * number. */
static void follow(const neo_space *x, const neo_schedule *old, neo_sched_param k,
                   neo_schedule *s) {
  int64_t *p = s->at, before = old->at[k], now = p[k], n = (int64_t)x->f->axes.n;
  if (k == NEO_SCHED_VECTOR_AXIS) {
    if (now >= 0 && p[NEO_SCHED_VECTOR_WIDTH] < 2)
      p[NEO_SCHED_VECTOR_WIDTH] = neo_space_lanes(x);
    if (now == p[NEO_SCHED_AXIS_M])
      p[NEO_SCHED_AXIS_M] = before >= 0 && before < n ? before : -1;
    if (now < n)
      p[NEO_SCHED_AXIS_N] = -1;
  }
  if (k == NEO_SCHED_AXIS_M && before < 0 && p[NEO_SCHED_TILE_M] < 2)
    p[NEO_SCHED_TILE_M] = 4;
  if (p[NEO_SCHED_AXIS_M] < 0)
    p[NEO_SCHED_TILE_M] = 1, p[NEO_SCHED_BLOCK_M] = p[NEO_SCHED_ORDER] = 0;
}

/* Does the step change which loops there are? Then the units are made anew. */
static bool moves_loops(neo_sched_param k) {
  switch (k) {
  case NEO_SCHED_VECTOR_AXIS:
  case NEO_SCHED_MERGE:
  case NEO_SCHED_AXIS_M:
  case NEO_SCHED_AXIS_N:
  case NEO_SCHED_BLOCK_M:
  case NEO_SCHED_BLOCK_N:
    return true;
  default:
    return false;
  }
}

static void renew_units(const neo_space *x, neo_schedule *s) {
  if (s->at[NEO_SCHED_SEGMENT] || s->at[NEO_SCHED_RUNNING])
    s->at[NEO_SCHED_UNIT_AXES] = neo_schedule_loops(x->f, s), s->at[NEO_SCHED_UNIT_SIZE] = 1;
  else
    neo_model_units(x->m, x->f, s);
}

/* Lets what stands in the way give way, one parameter after the other, until the schedule is
 * legal. */
static bool repair(const neo_space *x, neo_sched_param keep, neo_schedule *s) {
  static const neo_sched_param order[] = {NEO_SCHED_FETCH,   NEO_SCHED_ORDER,  NEO_SCHED_BLOCK_N,
                                          NEO_SCHED_BLOCK_K, NEO_SCHED_PACK,   NEO_SCHED_MERGE,
                                          NEO_SCHED_BLOCK_M, NEO_SCHED_TILE_N, NEO_SCHED_UNROLL_K,
                                          NEO_SCHED_AXIS_N,  NEO_SCHED_TILE_M, NEO_SCHED_AXIS_M};
  neo_schedule plain = neo_schedule_plain(), before = *s;
  for (size_t k = 0; k < sizeof order / sizeof *order && !legal(x, s); k++)
    if (order[k] != keep)
      s->at[order[k]] = plain.at[order[k]];
  if (!legal(x, s))
    return false;
  bool moved = moves_loops(keep);
  for (int k = 0; k < NEO_SCHED_COUNT; k++)
    moved = moved || (moves_loops((neo_sched_param)k) && s->at[k] != before.at[k]);
  if (moved)
    renew_units(x, s);
  return legal(x, s);
}

/* Units of other loops, until they are made anew, are in nobody's way. */
static void forget_units(neo_schedule *s) {
  s->at[NEO_SCHED_UNIT_AXES] = 0;
  s->at[NEO_SCHED_UNIT_SIZE] = 1;
}

/* Tiles of the matrix unit and of vectors have nothing in common: the model's choice of the other
 * kind, with all that goes with it. */
static bool set_matrix(const neo_space *x, bool on, neo_schedule *out) {
  neo_ranked best;
  bool found = on ? neo_model_matrix(x->m, x->f, x->machine, &best.schedule)
                  : neo_model_contractions(x->m, x->f, &x->priced, &best, 1) > 0;
  if (!found || !legal(x, &best.schedule))
    return false;
  *out = best.schedule;
  return true;
}

bool neo_space_set(const neo_space *x, const neo_schedule *s, neo_sched_param k, int64_t value,
                   neo_schedule *out) {
  if (x->machine->gpu)
    return neo_threads_set(x, s, k, value, out);
  if (k == NEO_SCHED_MATRIX)
    return (value == 0 || value == x->machine->matrix) && value != s->at[k] &&
           set_matrix(x, value != 0, out);
  neo_schedule y = *s;
  int64_t *p = y.at;
  p[k] = value;
  follow(x, s, k, &y);
  if (k == NEO_SCHED_TILE_M && p[NEO_SCHED_BLOCK_M])
    p[NEO_SCHED_BLOCK_M] = neo_round_up(p[NEO_SCHED_BLOCK_M], value);
  bool walked = p[NEO_SCHED_MERGE] > 1 || neo_schedule_is_beside(x->f, &y);
  if (k == NEO_SCHED_TILE_N && p[NEO_SCHED_BLOCK_N] && !walked)
    p[NEO_SCHED_BLOCK_N] = neo_round_up(p[NEO_SCHED_BLOCK_N], value * p[NEO_SCHED_VECTOR_WIDTH]);
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
  bool shrinks = columns < s->at[NEO_SCHED_TILE_N];
  neo_sched_param first = shrinks ? NEO_SCHED_TILE_N : NEO_SCHED_TILE_M;
  neo_sched_param then = shrinks ? NEO_SCHED_TILE_M : NEO_SCHED_TILE_N;
  return neo_space_set(x, s, first, shrinks ? columns : rows, &y) &&
         neo_space_set(x, &y, then, shrinks ? rows : columns, out) &&
         out->at[NEO_SCHED_TILE_M] == rows && out->at[NEO_SCHED_TILE_N] == columns;
}

static size_t other_tiles(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                          size_t most) {
  enum { MOST_COLUMNS = 8 };
  int64_t rows = s->at[NEO_SCHED_TILE_M], columns = s->at[NEO_SCHED_TILE_N];
  size_t n = 0;
  if (s->at[NEO_SCHED_AXIS_M] < 0)
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
  size_t n = 0, n_k = neo_space_values(x, s, NEO_SCHED_BLOCK_K, k);
  size_t n_columns = neo_space_values(x, s, NEO_SCHED_BLOCK_N, columns);
  for (size_t i = 0; i < 2 && i < n_k; i++)
    for (size_t j = 0; j < 2 && j < n_columns && n < most; j++) {
      neo_schedule y;
      if (neo_space_set(x, s, NEO_SCHED_BLOCK_K, k[i], &y) &&
          neo_space_set(x, &y, NEO_SCHED_BLOCK_N, columns[j], &out[n]) &&
          out[n].at[NEO_SCHED_BLOCK_K] == k[i])
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
  for (int k = 0; k < NEO_SCHED_COUNT; k++) {
    int64_t value[NEO_SPACE_VALUES];
    size_t n_values = neo_space_values(x, s, (neo_sched_param)k, value);
    for (size_t i = 0; i < n_values && n < most; i++)
      if (neo_space_set(x, s, (neo_sched_param)k, value[i], &out[n]) &&
          !neo_schedule_equal(&out[n], s) && !known(&out[n], out, n))
        n++;
  }
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
  if (!out[0].at[NEO_SCHED_SEGMENT] && !out[0].at[NEO_SCHED_RUNNING])
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

static bool random_step(const neo_space *x, neo_schedule *s, uint64_t *seed) {
  if (next(seed, 8) == 0 && random_shape(x, s, seed))
    return true;
  for (int tries = 0; tries < 32; tries++) {
    neo_sched_param k = (neo_sched_param)next(seed, NEO_SCHED_COUNT);
    int64_t value[NEO_SPACE_VALUES];
    size_t n = neo_space_values(x, s, k, value);
    neo_schedule y;
    if (n && neo_space_set(x, s, k, value[next(seed, n)], &y)) {
      *s = y;
      return true;
    }
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

static bool names_axes(neo_sched_param k) {
  return k == NEO_SCHED_VECTOR_AXIS || k == NEO_SCHED_VECTOR_WIDTH || k == NEO_SCHED_AXIS_M ||
         k == NEO_SCHED_AXIS_N || k == NEO_SCHED_MERGE || k == NEO_SCHED_SEGMENT ||
         k == NEO_SCHED_RUNNING || k == NEO_SCHED_MATRIX || k == NEO_SCHED_LANES ||
         k == NEO_SCHED_ROW_AXES || k == NEO_SCHED_COLUMN_AXES;
}

neo_schedule neo_space_cross(const neo_space *x, const neo_schedule *a, const neo_schedule *b,
                             uint64_t *seed) {
  if (next(seed, 2)) {
    const neo_schedule *swap = a;
    a = b, b = swap;
  }
  neo_schedule y = *a;
  for (int k = 0; k < NEO_SCHED_COUNT; k++) {
    neo_schedule z;
    if (!names_axes((neo_sched_param)k) && b->at[k] != y.at[k] && next(seed, 2) &&
        neo_space_set(x, &y, (neo_sched_param)k, b->at[k], &z))
      y = z;
  }
  return y;
}
