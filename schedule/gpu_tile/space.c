/* The space of a GPU's schedules (gpu_tile.h), of three kinds:
 *
 *   plain    a thread for each unit; the unit may be some points, or lanes of an access of 16 bytes
 *   rows     threads, lanes, across; vectors, steps written out, rows kept in registers
 *   tiles    sides of blocks, of threads' tiles, steps of a block; stages; which operand is rows
 *
 * A step within a kind sets one parameter; threads of tiles follow from the sides. The list is made
 * by going through all combinations of a few values each, and ordered by price
 * (cost.c). */
#include "schedule/gpu_tile/space.h"
#include "schedule/gpu_tile/gpu_tile.h"
#include "schedule/gpu_tile/stages.h"
#include "schedule/model.h"
#include "schedule/row_stash.h"

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

static void plain_values(const neo_space *x, const neo_schedule *s, neo_param k, values *v) {
  int64_t most = WIDEST_BYTES / (int64_t)neo_form_widest(x->m, x->f);
  switch (k) {
  case NEO_PARAM(loops, vector_axis):
    add(v, v->now < 0 ? last_axis(x) : -1, -1, last_axis(x));
    break;
  case NEO_PARAM(loops, vector_width):
    if (s->loops.vector_axis >= 0)
      halves_and_doubles(v, 2, most);
    break;
  case NEO_PARAM(loops, unit_size):
    halves_and_doubles(v, 1, 16);
    break;
  default:
    break;
  }
}

static void rows_values(const neo_space *x, const neo_schedule *s, neo_param k, values *v) {
  switch (k) {
  case NEO_PARAM(rows, vector_axis):
    add(v, last_axis(x) + 1, -1, last_axis(x) + 1);
    add(v, last_axis(x), -1, last_axis(x) + 1);
    add(v, -1, -1, -1);
    break;
  case NEO_PARAM(rows, vector_width):
    if (s->rows.vector_axis >= 0)
      halves_and_doubles(v, 2, 8);
    break;
  case NEO_PARAM(rows, unroll_k):
    halves_and_doubles(v, 1, 32);
    break;
  case NEO_PARAM(rows, stash):
    add(v, !v->now, 0, 1);
    break;
  case NEO_PARAM(rows, threads):
    halves_and_doubles(v, 32, MOST_THREADS);
    break;
  case NEO_PARAM(rows, lanes):
    halves_and_doubles(v, 1, MOST_THREADS);
    break;
  case NEO_PARAM(rows, across):
    add(v, !v->now, 0, 1);
    break;
  default:
    break;
  }
}

/* Rows and columns of the matrix unit's least tile; threads that share a tile. */
static int64_t least_rows(const neo_schedule *s) {
  return s->block.products == NEO_THREADS_WARPGROUPS ? 64 : s->block.products ? 8 : 1;
}

static int64_t threads_of_tile(const neo_schedule *s) {
  return s->block.products == NEO_THREADS_WARPGROUPS ? 4 * WARP : s->block.products ? WARP : 1;
}

static void set_threads(neo_schedule *s) {
  neo_block_params *p = &s->block;
  int64_t down = p->block_m / p->tile_m;
  p->threads = down * (p->block_n / p->tile_n) * threads_of_tile(s);
}

static void tiles_values(const neo_schedule *s, neo_param k, values *v) {
  bool warps = s->block.products;
  switch (k) {
  case NEO_PARAM(block, products):
    add(v, NEO_THREADS_WARPS + NEO_THREADS_WARPGROUPS - v->now, warps, NEO_THREADS_WARPGROUPS);
    break;
  case NEO_PARAM(block, block_m):
  case NEO_PARAM(block, block_n):
    halves_and_doubles(v, 8, 256);
    break;
  case NEO_PARAM(block, tile_m):
    halves_and_doubles(v, least_rows(s), warps ? 128 : 16);
    break;
  case NEO_PARAM(block, tile_n):
    halves_and_doubles(v, warps ? 8 : 1, least_rows(s) > 8 ? 256 : warps ? 128 : 16);
    break;
  case NEO_PARAM(block, block_k):
    halves_and_doubles(v, warps ? 8 : 4, 64);
    break;
  case NEO_PARAM(block, stages):
    for (int64_t n = 3; n <= 4; n++)
      add(v, n, 2, NEO_STAGES_MOST);
    add(v, 2, 2, NEO_STAGES_MOST);
    add(v, 0, 0, 0);
    break;
  case NEO_PARAM(block, tma):
    add(v, !v->now, 0, s->block.stages > 0);
    break;
  case NEO_PARAM(block, producer):
    add(v, !v->now, 0, s->block.tma);
    break;
  case NEO_PARAM(block, persistent):
    add(v, !v->now, 0, s->block.producer);
    break;
  case NEO_PARAM(block, row_axes): /* the operands the other way round */
    add(v, s->block.column_axes, 1, INT64_MAX);
    break;
  default:
    break;
  }
}

/* Sides of nested sums depend on one another; the list has all of them (nested.c). */
static void nest_values(values *v, neo_param k) {
  for (int64_t stages = 0; k == NEO_PARAM(nested, stages) && stages <= 4; stages++)
    add(v, stages, 0, stages == 1 ? 0 : 4);
}

size_t neo_threads_values(const neo_space *x, const neo_schedule *s, neo_param k,
                          int64_t out[NEO_SPACE_VALUES]) {
  values v = {.now = s->at[k], .at = out};
  switch (s->strategy) {
  case NEO_STRATEGY_GPU_ROWS:
    rows_values(x, s, k, &v);
    break;
  case NEO_STRATEGY_GPU_TILE:
    tiles_values(s, k, &v);
    break;
  case NEO_STRATEGY_GPU_NESTED:
    nest_values(&v, k);
    break;
  default:
    plain_values(x, s, k, &v);
  }
  return v.n;
}

/* ---- steps */

static neo_schedule plain_of(const neo_space *x) {
  neo_schedule s = neo_schedule_plain();
  s.loops.unit_axes = neo_schedule_loops(x->f, &s);
  return s;
}

static neo_schedule rows_of(int64_t threads, int64_t lanes, int64_t across) {
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_ROWS;
  s.rows.threads = threads > lanes ? threads : lanes;
  s.rows.lanes = lanes;
  s.rows.across = across;
  return s;
}

static size_t keep_legal(const neo_space *x, const neo_schedule *s, neo_schedule *out, size_t n,
                         size_t most) {
  if (n < most && legal(x, s))
    out[n++] = *s;
  return n;
}

/* The cheapest of the list that has the strategy. */
static size_t cheapest_of(const neo_space *x, neo_strategy to, neo_schedule *out) {
  enum { SOME = 64 };
  neo_schedule *some = NEO_NEW_ARRAY(x->m->arena, neo_schedule, SOME);
  size_t n = neo_threads_ranked(x, some, SOME);
  for (size_t i = 0; i < n; i++)
    if (some[i].strategy == to) {
      *out = some[i];
      return 1;
    }
  return 0;
}

size_t neo_threads_switch(const neo_space *x, neo_strategy to, neo_schedule *out, size_t most) {
  enum { BLOCK = 256, WHOLE_WARP = 32 };
  neo_schedule plain = plain_of(x), along = rows_of(BLOCK, WHOLE_WARP, 0),
               one = rows_of(BLOCK, 1, 1);
  if (!most || neo_form_is_nested(x->f))
    return 0;
  if (to == NEO_STRATEGY_LOOPS)
    return keep_legal(x, &plain, out, 0, most);
  if (to == NEO_STRATEGY_GPU_ROWS)
    return keep_legal(x, &one, out, keep_legal(x, &along, out, 0, most), most);
  return to == NEO_STRATEGY_GPU_TILE ? cheapest_of(x, to, out) : 0;
}

/* A tile for those who make the products now, in stages if it was and still may be. */
static void set_maker(const neo_space *x, neo_schedule *s) {
  neo_block_params *p = &s->block;
  neo_contraction c;
  bool groups = p->products == NEO_THREADS_WARPGROUPS;
  neo_warps made =
      neo_contraction_of(x->m, x->f, &c) ? neo_threads_warps(x->m, x->f, &c) : NEO_WARPS_NONE;
  bool halves = made == NEO_WARPS_BF16 || made == NEO_WARPS_F16;
  int64_t side = groups ? 64 : 32, n = p->block_n;
  p->block_k = (groups ? 32 : 16) * (halves ? 2 : 1);
  p->block_m = p->block_m < side ? side : p->block_m;
  p->tile_m = side;
  p->tile_n = groups || n < side ? n : side;
  set_threads(s);
  p->stages = p->stages ? neo_stages_wanted(s) : 0;
  p->tma = p->producer = p->persistent = 0;
  if (!legal(x, s))
    p->stages = 0;
}

/* A row that is kept is written out as a whole, or is not kept. */
static void follow_row(const neo_space *x, neo_param k, neo_schedule *s) {
  neo_row_params *p = &s->rows;
  int64_t chunk = p->lanes * p->vector_width;
  if (!p->stash)
    return;
  if (k != NEO_PARAM(rows, unroll_k))
    p->unroll_k = (neo_keep_find(x->m, x->f, s).row + chunk - 1) / chunk;
  if (k != NEO_PARAM(rows, stash) && !legal(x, s))
    p->stash = 0, p->unroll_k = k == NEO_PARAM(rows, unroll_k) ? p->unroll_k : 1;
}

static int64_t widest(const neo_space *x, int64_t axis) {
  return axis < 0 ? 1 : WIDEST_BYTES / (int64_t)neo_form_widest(x->m, x->f);
}

static void follow_rows(const neo_space *x, neo_param k, neo_schedule *s) {
  neo_row_params *p = &s->rows;
  if (p->threads < p->lanes && k == NEO_PARAM(rows, lanes))
    p->threads = p->lanes;
  if (p->threads < p->lanes)
    p->lanes = p->threads;
  if (k == NEO_PARAM(rows, vector_axis))
    p->vector_width = widest(x, p->vector_axis);
  follow_row(x, k, s);
}

/* Switches one off that stands in the way of what was set. */
static void give_way(const neo_space *x, neo_param k, neo_param at, neo_schedule *s) {
  if (s->at[at] && k != at && !legal(x, s))
    s->at[at] = 0;
}

static void follow_tile(const neo_space *x, neo_param k, const neo_schedule *from,
                        neo_schedule *s) {
  if (k == NEO_PARAM(block, row_axes))
    s->block.column_axes = from->block.row_axes;
  if (k == NEO_PARAM(block, products))
    set_maker(x, s);
  set_threads(s);
  give_way(x, k, NEO_PARAM(block, persistent), s);
  give_way(x, k, NEO_PARAM(block, producer), s);
  give_way(x, k, NEO_PARAM(block, tma), s);
}

static void follow(const neo_space *x, neo_param k, const neo_schedule *from, neo_schedule *s) {
  switch (s->strategy) {
  case NEO_STRATEGY_GPU_ROWS:
    follow_rows(x, k, s);
    break;
  case NEO_STRATEGY_GPU_TILE:
    follow_tile(x, k, from, s);
    break;
  case NEO_STRATEGY_GPU_NESTED:
    break;
  default:
    if (k == NEO_PARAM(loops, vector_axis))
      s->loops.vector_width = widest(x, s->loops.vector_axis);
    s->loops.unit_axes = neo_schedule_loops(x->f, s);
  }
}

bool neo_threads_set(const neo_space *x, const neo_schedule *s, neo_param k, int64_t value,
                     neo_schedule *out) {
  neo_schedule y = *s;
  if (value == s->at[k])
    return false;
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
  static const neo_param pairs[][2] = {{NEO_PARAM(block, tile_m), NEO_PARAM(block, tile_n)},
                                       {NEO_PARAM(block, block_m), NEO_PARAM(block, block_n)},
                                       {NEO_PARAM(block, block_m), NEO_PARAM(block, tile_m)},
                                       {NEO_PARAM(block, block_n), NEO_PARAM(block, tile_n)},
                                       {NEO_PARAM(block, block_k), NEO_PARAM(block, block_m)},
                                       {NEO_PARAM(block, block_k), NEO_PARAM(block, block_n)}};
  size_t n = 0;
  bool tiles = s->strategy == NEO_STRATEGY_GPU_TILE;
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs && tiles; k++)
    for (int way = 0; way < 4 && n < most; way++) {
      neo_schedule y = *s;
      for (int i = 0; i < 2; i++) {
        int64_t *at = &y.at[pairs[k][i]];
        *at = way >> i & 1 ? *at * 2 : *at / 2;
      }
      if (!y.block.tile_m || !y.block.tile_n)
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
  int64_t least = s->block.products == NEO_THREADS_WARPGROUPS ? 3 : neo_stages_wanted(s);
  y.block.stages = r->x->machine->async ? neo_stages_wanted(s) : 0;
  while (y.block.stages && !legal(r->x, &y))
    y.block.stages = y.block.stages > least ? y.block.stages - 1 : 0;
  consider(r, &y);
  y.block.tma = 1;
  if (y.block.stages && s->block.products == NEO_THREADS_WARPGROUPS)
    consider(r, &y);
  y.block.producer = 1;
  if (y.block.stages && s->block.products == NEO_THREADS_WARPGROUPS)
    consider(r, &y);
  y.block.persistent = 1;
  if (y.block.stages && s->block.products == NEO_THREADS_WARPGROUPS)
    consider(r, &y);
}

static void consider_tile(ranking *r, const uint64_t axes[2], int64_t matrix, const int64_t *block,
                          const int64_t *tile) {
  enum { LEAST_THREADS = 32, MOST_IN_TILE = 512 };
  int64_t bm = block[0], bn = block[1], tm = tile[0], tn = tile[1];
  neo_schedule s = neo_schedule_plain();
  s.strategy = NEO_STRATEGY_GPU_TILE;
  s.block.products = matrix;
  int64_t threads = bm / tm * (bn / tn) * threads_of_tile(&s);
  if (threads < LEAST_THREADS || threads > MOST_IN_TILE)
    return;
  for (int64_t bk = 8; bk <= 64; bk *= 2)
    for (int side = 0; side < 2; side++) {
      s.block.block_m = bm, s.block.block_n = bn, s.block.block_k = bk;
      s.block.tile_m = tm, s.block.tile_n = tn;
      s.block.threads = threads;
      s.block.row_axes = (int64_t)axes[side];
      s.block.column_axes = (int64_t)axes[!side];
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
  int64_t matrix = first.block.products, block[2], tile[2];
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
    if (axis >= last_axis(x) && !neo_threads_set(x, one, NEO_PARAM(rows, vector_axis), axis, &s))
      continue;
    if (axis >= last_axis(x))
      consider(r, &s);
    if (neo_threads_set(x, &s, NEO_PARAM(rows, unroll_k), 4, &y))
      consider(r, &y);
    if (neo_threads_set(x, &s, NEO_PARAM(rows, stash), 1, &y))
      consider(r, &y);
  }
}

static void consider_rows(ranking *r) {
  for (int64_t lanes = 1; lanes <= MOST_THREADS; lanes *= 2)
    for (int64_t threads = 64; threads <= MOST_THREADS; threads *= 2)
      for (int64_t across = 0; across < 2; across++) {
        neo_schedule s = rows_of(threads, lanes, across);
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
    s.loops.unit_size = size;
    consider(r, &s);
  }
  if (!neo_threads_set(r->x, &one, NEO_PARAM(loops, vector_axis), last_axis(r->x), &wide))
    return;
  consider(r, &wide);
  for (int64_t size = 2; size <= 4; size *= 2) {
    neo_schedule s = wide;
    s.loops.unit_size = size;
    consider(r, &s);
  }
}

size_t neo_threads_ranked(const neo_space *x, neo_schedule *out, size_t most) {
  ranking r = {x, out, NEO_NEW_ARRAY(x->m->arena, double, most + 1), 0, most};
  if (!most)
    return 0;
  consider_tiles(&r);
  consider_rows(&r);
  consider_plain(&r);
  return r.n;
}
