/* The space of a GPU's schedules (threads.h), of three kinds:
 *
 *   plain    a thread for each unit; the unit may be some points, or lanes of an access of 16 bytes
 *   points   threads, lanes, across; vectors, steps written out, rows kept in registers
 *   tiles    sides of blocks, of threads' tiles, steps of a block; stages; which operand is rows
 *
 * A step within a kind sets one parameter; threads of tiles follow from the sides. The list is made
 * by going through all combinations of a few values each, and ordered by price
 * (space_threads_cost.c). */
#include "schedule/space_threads.h"
#include "schedule/keep.h"
#include "schedule/model.h"
#include "schedule/stages.h"
#include "schedule/threads.h"

enum { MOST_THREADS = 1024, WIDEST_BYTES = 16 };

static bool legal(const neo_space *x, const neo_schedule *s) {
  return neo_schedule_legal(x->m, x->g, x->machine, s, NULL);
}

/* ---- values */

typedef struct {
  int64_t now, *at;
  size_t n;
} values;

static void add(values *v, int64_t value, int64_t lo, int64_t hi) {
  if (value != v->now && value >= lo && value <= hi && v->n < NEO_SPACE_VALUES)
    v->at[v->n++] = value;
}

static void halves_and_doubles(values *v, int64_t lo, int64_t hi) {
  add(v, v->now / 2, lo, hi);
  add(v, v->now * 2, lo, hi);
  add(v, v->now / 4, lo, hi);
  add(v, v->now * 4, lo, hi);
}

static void plain_values(const neo_space *x, const neo_schedule *s, neo_sched_param k, values *v) {
  int64_t most = WIDEST_BYTES / (int64_t)neo_form_widest(x->m, x->f);
  switch (k) {
  case NEO_SCHED_VECTOR_AXIS:
    add(v, v->now < 0 ? last_axis(x) : -1, -1, last_axis(x));
    break;
  case NEO_SCHED_VECTOR_WIDTH:
    if (s->at[NEO_SCHED_VECTOR_AXIS] >= 0)
      halves_and_doubles(v, 2, most);
    break;
  case NEO_SCHED_UNIT_SIZE:
    halves_and_doubles(v, 1, 16);
    break;
  case NEO_SCHED_LANES: /* to points */
    add(v, 1, 1, 1);
    add(v, 32, 1, 32);
    break;
  default:
    break;
  }
}

static void points_values(const neo_space *x, const neo_schedule *s, neo_sched_param k, values *v) {
  switch (k) {
  case NEO_SCHED_VECTOR_AXIS:
    add(v, last_axis(x) + 1, -1, last_axis(x) + 1);
    add(v, last_axis(x), -1, last_axis(x) + 1);
    add(v, -1, -1, -1);
    break;
  case NEO_SCHED_VECTOR_WIDTH:
    if (s->at[NEO_SCHED_VECTOR_AXIS] >= 0)
      halves_and_doubles(v, 2, 8);
    break;
  case NEO_SCHED_UNROLL_K:
    halves_and_doubles(v, 1, 32);
    break;
  case NEO_SCHED_KEEP:
    add(v, !v->now, 0, 1);
    break;
  case NEO_SCHED_THREADS:
    halves_and_doubles(v, 32, MOST_THREADS);
    add(v, 0, 0, 0);
    break;
  case NEO_SCHED_LANES:
    halves_and_doubles(v, 1, MOST_THREADS);
    add(v, 0, 0, 0);
    break;
  case NEO_SCHED_ACROSS:
    add(v, !v->now, 0, 1);
    break;
  default:
    break;
  }
}

/* Rows and columns of the matrix unit's least tile; threads that share a tile. */
static int64_t least_rows(const neo_schedule *s) {
  return s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS ? 64 : s->at[NEO_SCHED_MATRIX] ? 8 : 1;
}

static int64_t threads_of_tile(const neo_schedule *s) {
  return s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS ? 4 * WARP
         : s->at[NEO_SCHED_MATRIX]                         ? WARP
                                                           : 1;
}

static void set_threads(neo_schedule *s) {
  int64_t *p = s->at, down = p[NEO_SCHED_BLOCK_M] / p[NEO_SCHED_TILE_M];
  p[NEO_SCHED_THREADS] = down * (p[NEO_SCHED_BLOCK_N] / p[NEO_SCHED_TILE_N]) * threads_of_tile(s);
}

static void tiles_values(const neo_schedule *s, neo_sched_param k, values *v) {
  bool warps = s->at[NEO_SCHED_MATRIX];
  switch (k) {
  case NEO_SCHED_MATRIX:
    add(v, NEO_THREADS_WARPS + NEO_THREADS_WARPGROUPS - v->now, warps, NEO_THREADS_WARPGROUPS);
    break;
  case NEO_SCHED_BLOCK_M:
  case NEO_SCHED_BLOCK_N:
    halves_and_doubles(v, 8, 256);
    break;
  case NEO_SCHED_TILE_M:
    halves_and_doubles(v, least_rows(s), warps ? 128 : 16);
    break;
  case NEO_SCHED_TILE_N:
    halves_and_doubles(v, warps ? 8 : 1, least_rows(s) > 8 ? 256 : warps ? 128 : 16);
    break;
  case NEO_SCHED_BLOCK_K:
    halves_and_doubles(v, warps ? 8 : 4, 64);
    break;
  case NEO_SCHED_STAGES:
    for (int64_t n = 3; n <= 4; n++)
      add(v, n, 2, NEO_STAGES_MOST);
    add(v, 2, 2, NEO_STAGES_MOST);
    add(v, 0, 0, 0);
    break;
  case NEO_SCHED_BULK:
    add(v, !v->now, 0, s->at[NEO_SCHED_STAGES] > 0);
    break;
  case NEO_SCHED_PRODUCER:
    add(v, !v->now, 0, s->at[NEO_SCHED_BULK]);
    break;
  case NEO_SCHED_PERSISTENT:
    add(v, !v->now, 0, s->at[NEO_SCHED_PRODUCER]);
    break;
  case NEO_SCHED_ROW_AXES: /* the operands the other way round */
    add(v, s->at[NEO_SCHED_COLUMN_AXES], 1, INT64_MAX);
    break;
  case NEO_SCHED_LANES: /* to points */
    add(v, 32, 32, 32);
    add(v, 1, 1, 1);
    break;
  default:
    break;
  }
}

/* Sides of nested sums depend on one another; the list has all of them (nested.c). */
static void nest_values(values *v, neo_sched_param k) {
  for (int64_t stages = 0; k == NEO_SCHED_STAGES && stages <= 4; stages++)
    add(v, stages, 0, stages == 1 ? 0 : 4);
}

size_t neo_threads_values(const neo_space *x, const neo_schedule *s, neo_sched_param k,
                          int64_t out[NEO_SPACE_VALUES]) {
  values v = {.now = s->at[k], .at = out};
  switch (kind_of(s)) {
  case PLAIN:
    plain_values(x, s, k, &v);
    break;
  case POINTS:
    points_values(x, s, k, &v);
    break;
  case TILES:
    if (neo_form_is_nested(x->f))
      nest_values(&v, k);
    else
      tiles_values(s, k, &v);
    break;
  }
  return v.n;
}

/* ---- steps */

static neo_schedule plain_of(const neo_space *x) {
  neo_schedule s = neo_schedule_plain();
  s.at[NEO_SCHED_UNIT_AXES] = neo_schedule_loops(x->f, &s);
  return s;
}

static neo_schedule points_of(int64_t threads, int64_t lanes, int64_t across) {
  neo_schedule s = neo_schedule_plain();
  s.at[NEO_SCHED_THREADS] = threads > lanes ? threads : lanes;
  s.at[NEO_SCHED_LANES] = lanes;
  s.at[NEO_SCHED_ACROSS] = across;
  return s;
}

/* Between kinds. Tiles are the cheapest ones. */
static bool turn(const neo_space *x, const neo_schedule *s, neo_sched_param k, int64_t value,
                 neo_schedule *out) {
  enum { BLOCK = 256, SOME = 64 };
  if (k == NEO_SCHED_THREADS) {
    *out = plain_of(x);
    return !value && legal(x, out);
  }
  if (value) {
    *out = points_of(BLOCK, value, value < 32);
    return k == NEO_SCHED_LANES && legal(x, out);
  }
  neo_schedule *some = NEO_NEW_ARRAY(x->m->arena, neo_schedule, SOME);
  size_t n = neo_threads_ranked(x, some, SOME);
  (void)s;
  for (size_t i = 0; i < n; i++)
    if (kind_of(&some[i]) == TILES) {
      *out = some[i];
      return true;
    }
  return false;
}

/* A tile for those who make the products now, in stages if it was and still may be. */
static void set_maker(const neo_space *x, neo_schedule *s) {
  int64_t *p = s->at;
  neo_contraction c;
  bool groups = p[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS;
  neo_warps made =
      neo_contraction_of(x->m, x->f, &c) ? neo_threads_warps(x->m, x->f, &c) : NEO_WARPS_NONE;
  bool halves = made == NEO_WARPS_BF16 || made == NEO_WARPS_F16;
  int64_t side = groups ? 64 : 32, n = p[NEO_SCHED_BLOCK_N];
  p[NEO_SCHED_BLOCK_K] = (groups ? 32 : 16) * (halves ? 2 : 1);
  p[NEO_SCHED_BLOCK_M] = p[NEO_SCHED_BLOCK_M] < side ? side : p[NEO_SCHED_BLOCK_M];
  p[NEO_SCHED_TILE_M] = side;
  p[NEO_SCHED_TILE_N] = groups || n < side ? n : side;
  set_threads(s);
  p[NEO_SCHED_STAGES] = p[NEO_SCHED_STAGES] ? neo_stages_wanted(s) : 0;
  p[NEO_SCHED_BULK] = p[NEO_SCHED_PRODUCER] = p[NEO_SCHED_PERSISTENT] = 0;
  if (!legal(x, s))
    p[NEO_SCHED_STAGES] = 0;
}

/* A row that is kept is written out as a whole, or is not kept. */
static void follow_row(const neo_space *x, neo_sched_param k, neo_schedule *s) {
  int64_t *p = s->at, chunk = p[NEO_SCHED_LANES] * p[NEO_SCHED_VECTOR_WIDTH];
  if (!p[NEO_SCHED_KEEP])
    return;
  if (k != NEO_SCHED_UNROLL_K)
    p[NEO_SCHED_UNROLL_K] = (neo_keep_find(x->m, x->f, s).row + chunk - 1) / chunk;
  if (k != NEO_SCHED_KEEP && !legal(x, s))
    p[NEO_SCHED_KEEP] = 0, p[NEO_SCHED_UNROLL_K] = k == NEO_SCHED_UNROLL_K ? p[k] : 1;
}

static void follow(const neo_space *x, neo_sched_param k, const neo_schedule *from,
                   neo_schedule *s) {
  int64_t *p = s->at;
  switch (kind_of(s)) {
  case PLAIN:
    if (k == NEO_SCHED_VECTOR_AXIS)
      p[NEO_SCHED_VECTOR_WIDTH] =
          p[k] < 0 ? 1 : WIDEST_BYTES / (int64_t)neo_form_widest(x->m, x->f);
    p[NEO_SCHED_UNIT_AXES] = neo_schedule_loops(x->f, s);
    break;
  case POINTS:
    if (p[NEO_SCHED_THREADS] < p[NEO_SCHED_LANES])
      p[k == NEO_SCHED_LANES ? NEO_SCHED_THREADS : NEO_SCHED_LANES] = p[k];
    if (k == NEO_SCHED_VECTOR_AXIS)
      p[NEO_SCHED_VECTOR_WIDTH] =
          p[k] < 0 ? 1 : WIDEST_BYTES / (int64_t)neo_form_widest(x->m, x->f);
    follow_row(x, k, s);
    break;
  case TILES:
    if (neo_form_is_nested(x->f))
      break;
    if (k == NEO_SCHED_ROW_AXES)
      p[NEO_SCHED_COLUMN_AXES] = from->at[NEO_SCHED_ROW_AXES];
    if (k == NEO_SCHED_MATRIX)
      set_maker(x, s);
    set_threads(s);
    if (p[NEO_SCHED_PERSISTENT] && k != NEO_SCHED_PERSISTENT && !legal(x, s))
      p[NEO_SCHED_PERSISTENT] = 0;
    if (p[NEO_SCHED_PRODUCER] && k != NEO_SCHED_PRODUCER && !legal(x, s))
      p[NEO_SCHED_PRODUCER] = 0;
    if (p[NEO_SCHED_BULK] && k != NEO_SCHED_BULK && !legal(x, s))
      p[NEO_SCHED_BULK] = 0;
    break;
  }
}

bool neo_threads_set(const neo_space *x, const neo_schedule *s, neo_sched_param k, int64_t value,
                     neo_schedule *out) {
  neo_schedule y = *s;
  bool other_kind = (k == NEO_SCHED_THREADS && !value != (kind_of(s) == PLAIN)) ||
                    (k == NEO_SCHED_LANES && !value != (kind_of(s) != POINTS));
  if (value == s->at[k])
    return false;
  if (other_kind)
    return turn(x, s, k, value, out);
  y.at[k] = value;
  follow(x, k, s, &y);
  if (y.at[k] != value || !legal(x, &y))
    return false;
  *out = y;
  return true;
}

/* Two sides at once, one up and one down or both the same way. */
size_t neo_threads_reshaped(const neo_space *x, const neo_schedule *s, neo_schedule *out,
                            size_t most) {
  static const neo_sched_param pairs[][2] = {
      {NEO_SCHED_TILE_M, NEO_SCHED_TILE_N},   {NEO_SCHED_BLOCK_M, NEO_SCHED_BLOCK_N},
      {NEO_SCHED_BLOCK_M, NEO_SCHED_TILE_M},  {NEO_SCHED_BLOCK_N, NEO_SCHED_TILE_N},
      {NEO_SCHED_BLOCK_K, NEO_SCHED_BLOCK_M}, {NEO_SCHED_BLOCK_K, NEO_SCHED_BLOCK_N}};
  size_t n = 0;
  bool tiles = kind_of(s) == TILES && !neo_form_is_nested(x->f);
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs && tiles; k++)
    for (int way = 0; way < 4 && n < most; way++) {
      neo_schedule y = *s;
      for (int i = 0; i < 2; i++) {
        int64_t *at = &y.at[pairs[k][i]];
        *at = way >> i & 1 ? *at * 2 : *at / 2;
      }
      if (!y.at[NEO_SCHED_TILE_M] || !y.at[NEO_SCHED_TILE_N])
        continue;
      follow(x, pairs[k][0], s, &y);
      if (legal(x, &y))
        out[n++] = y;
    }
  return n;
}

/* ---- the list */

typedef struct {
  const neo_space *x;
  neo_schedule *at;
  double *cost;
  size_t n, most;
} ranking;

/* Keeps the cheapest. */
static void consider(ranking *r, const neo_schedule *s) {
  if (!legal(r->x, s))
    return;
  double cost = neo_threads_cost(r->x, s);
  if (r->n == r->most && cost >= r->cost[r->n - 1])
    return;
  size_t k = r->n < r->most ? r->n++ : r->n - 1;
  for (; k && cost < r->cost[k - 1]; k--)
    r->at[k] = r->at[k - 1], r->cost[k] = r->cost[k - 1];
  r->at[k] = *s, r->cost[k] = cost;
}

/* As many as the model wants, of warpgroups one less where there is no room, else none. */
static void consider_stages(ranking *r, const neo_schedule *s) {
  neo_schedule y = *s;
  int64_t least = s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS ? 3 : neo_stages_wanted(s);
  y.at[NEO_SCHED_STAGES] = r->x->machine->async ? neo_stages_wanted(s) : 0;
  while (y.at[NEO_SCHED_STAGES] && !legal(r->x, &y))
    y.at[NEO_SCHED_STAGES] = y.at[NEO_SCHED_STAGES] > least ? y.at[NEO_SCHED_STAGES] - 1 : 0;
  consider(r, &y);
  y.at[NEO_SCHED_BULK] = 1;
  if (y.at[NEO_SCHED_STAGES] && s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS)
    consider(r, &y);
  y.at[NEO_SCHED_PRODUCER] = 1;
  if (y.at[NEO_SCHED_STAGES] && s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS)
    consider(r, &y);
  y.at[NEO_SCHED_PERSISTENT] = 1;
  if (y.at[NEO_SCHED_STAGES] && s->at[NEO_SCHED_MATRIX] == NEO_THREADS_WARPGROUPS)
    consider(r, &y);
}

static void consider_tile(ranking *r, const uint64_t axes[2], int64_t matrix, const int64_t *block,
                          const int64_t *tile) {
  enum { LEAST_THREADS = 32, MOST_IN_TILE = 512 };
  int64_t bm = block[0], bn = block[1], tm = tile[0], tn = tile[1];
  neo_schedule s = neo_schedule_plain();
  s.at[NEO_SCHED_MATRIX] = matrix;
  int64_t threads = bm / tm * (bn / tn) * threads_of_tile(&s);
  if (threads < LEAST_THREADS || threads > MOST_IN_TILE)
    return;
  for (int64_t bk = 8; bk <= 64; bk *= 2)
    for (int side = 0; side < 2; side++) {
      s.at[NEO_SCHED_BLOCK_M] = bm, s.at[NEO_SCHED_BLOCK_N] = bn, s.at[NEO_SCHED_BLOCK_K] = bk;
      s.at[NEO_SCHED_TILE_M] = tm, s.at[NEO_SCHED_TILE_N] = tn;
      s.at[NEO_SCHED_THREADS] = threads;
      s.at[NEO_SCHED_ROW_AXES] = (int64_t)axes[side];
      s.at[NEO_SCHED_COLUMN_AXES] = (int64_t)axes[!side];
      consider_stages(r, &s);
    }
}

static void consider_tiles(ranking *r) {
  const neo_space *x = r->x;
  neo_contraction c;
  uint64_t axes[2];
  if (!neo_contraction_of(x->m, x->f, &c) || !neo_threads_axes(x->m, x->f, &c, &axes[0], &axes[1]))
    return;
  neo_schedule first = neo_schedule_default(x->m, x->g, x->machine);
  int64_t matrix = first.at[NEO_SCHED_MATRIX], block[2], tile[2];
  int64_t least = matrix ? 8 : 1, most = matrix > 1 ? 256 : matrix ? 64 : 16;
  for (block[0] = 16; block[0] <= 256; block[0] *= 2)
    for (block[1] = 16; block[1] <= 256; block[1] *= 2)
      for (tile[0] = least; tile[0] <= most; tile[0] *= 2)
        for (tile[1] = least; tile[1] <= most; tile[1] *= 2)
          for (int64_t by = matrix; by >= (matrix ? 1 : 0); by--)
            consider_tile(r, axes, by, block, tile);
}

/* Steps of vectors along each axis that has them, some written out, or a whole row kept. */
static void consider_vectors(ranking *r, const neo_schedule *one) {
  const neo_space *x = r->x;
  for (int64_t axis = last_axis(x) - 1; axis <= last_axis(x) + 1; axis++) {
    neo_schedule s = *one, y;
    if (axis >= last_axis(x) && !neo_threads_set(x, one, NEO_SCHED_VECTOR_AXIS, axis, &s))
      continue;
    if (axis >= last_axis(x))
      consider(r, &s);
    if (neo_threads_set(x, &s, NEO_SCHED_UNROLL_K, 4, &y))
      consider(r, &y);
    if (neo_threads_set(x, &s, NEO_SCHED_KEEP, 1, &y))
      consider(r, &y);
  }
}

static void consider_points(ranking *r) {
  for (int64_t lanes = 1; lanes <= MOST_THREADS; lanes *= 2)
    for (int64_t threads = 64; threads <= MOST_THREADS; threads *= 2)
      for (int64_t across = 0; across < 2; across++) {
        neo_schedule s = points_of(threads, lanes, across);
        if (threads < lanes || !legal(r->x, &s))
          continue;
        consider(r, &s);
        consider_vectors(r, &s);
      }
}

static void consider_plain(ranking *r) {
  neo_schedule one = plain_of(r->x), wide;
  consider(r, &one);
  for (int64_t size = 2; size <= 8; size *= 2) {
    neo_schedule s = one;
    s.at[NEO_SCHED_UNIT_SIZE] = size;
    consider(r, &s);
  }
  if (!neo_threads_set(r->x, &one, NEO_SCHED_VECTOR_AXIS, last_axis(r->x), &wide))
    return;
  consider(r, &wide);
  for (int64_t size = 2; size <= 4; size *= 2) {
    neo_schedule s = wide;
    s.at[NEO_SCHED_UNIT_SIZE] = size;
    consider(r, &s);
  }
}

size_t neo_threads_ranked(const neo_space *x, neo_schedule *out, size_t most) {
  ranking r = {x, out, NEO_NEW_ARRAY(x->m->arena, double, most + 1), 0, most};
  if (!most)
    return 0;
  consider_tiles(&r);
  consider_points(&r);
  consider_plain(&r);
  return r.n;
}
