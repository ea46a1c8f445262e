/* Chooses blocks and units for a register tile by coordinate descent: each parameter in turn gets
 * the value of least cost with the others fixed, in two passes. The objective is the cost on one
 * core and the idle time of other cores; where the number of threads is unknown, a part of the idle
 * time of 2, 4 and 8 cores is counted. A worker's scratch is bounded, so a reduction of which not
 * even one tile fits is blocked too. */
#include "base/hash.h"
#include "base/whole.h"
#include "schedule/tile/cost.h"
#include "schedule/tile/model.h"
#include "schedule/tile/prefetch.h"
#include <math.h>
#include <string.h>

enum { PACK_ELEMENTS = 1 << 20, TILE_ELEMENTS = 1 << 19, PARTIAL_ELEMENTS = 1 << 20 };

/* ---- cached merits: descents from several starting points visit half of the blocks repeatedly */

enum { KEYS = 8, CACHED = 1024 };

typedef struct {
  int64_t key[KEYS];
  double merit; /* 0: the entry is free */
  bool whole;   /* the merit is exact; false: a lower bound */
} cached_merit;

typedef struct {
  neo_tiles *q;
  cached_merit at[CACHED]; /* merits of schedules with one tile */
} merit_cache;

/* The parameters that a merit depends on; the order of loops counts only by which tiles come
 * first. */
static void key_of(const neo_tiles *q, const neo_schedule *s, int64_t key[KEYS]) {
  static const neo_param vary[KEYS - 1] = {
      NEO_PARAM(loops, block_k),      NEO_PARAM(loops, block_m),   NEO_PARAM(loops, block_n),
      NEO_PARAM(loops, blocks_first), NEO_PARAM(loops, unit_axes), NEO_PARAM(loops, unit_size),
      NEO_PARAM(loops, prefetch)};
  for (int k = 0; k + 1 < KEYS; k++)
    key[k] = s->at[vary[k]];
  key[KEYS - 1] = neo_tiles_columns_first(q, s);
}

/* The merit if it is below the limit, else a number that is not. */
static double merit_of(merit_cache *cache, const neo_schedule *s, double limit) {
  int64_t key[KEYS];
  key_of(cache->q, s, key);
  cached_merit *x = &cache->at[neo_hash(key, sizeof key, 0) % CACHED];
  if (x->merit > 0 && (x->whole || x->merit >= limit) && memcmp(x->key, key, sizeof key) == 0)
    return x->merit;
  memcpy(x->key, key, sizeof key);
  x->merit = neo_tiles_merit(cache->q, s, limit);
  x->whole = x->merit < limit;
  return x->merit;
}

/* ---- limits */

static int64_t block_steps(const neo_tiles *q, const neo_schedule *s) {
  int64_t n = 1;
  for (uint32_t k = 0; k < q->s->axes.n; k++) {
    bool cut = k == 0 && s->loops.block_k && s->loops.block_k < q->own[0];
    n *= cut ? s->loops.block_k : q->own[k];
  }
  return n;
}

static int64_t in_block(int64_t length, int64_t block) {
  return block && block < length ? block : length;
}

/* The number of rows, or of columns, at the largest sizes, which determine scratch. */
static int64_t most_length(const neo_tiles *q, const neo_schedule *s, bool rows) {
  const neo_loop_params *p = &s->loops;
  bool own = p->vector_axis >= (int64_t)q->f->axes.n;
  int64_t last = rows ? p->axis_m : own ? p->axis_n : p->vector_axis, n = 1;
  for (int64_t k = 0; last >= 0 && k < (rows || own ? 1 : p->fused); k++)
    n *= q->most[last - k];
  return n;
}

/* Blocks of rows and columns whose partial sums are live at a time. */
static double live_partial_blocks(const neo_tiles *q, const neo_schedule *s) {
  return neo_schedule_steps_first(s) ? (double)neo_partial_shape_of(q->m, q->f, s).blocks : 1;
}

static bool fits(const neo_tiles *q, const neo_schedule *s) {
  int64_t nb = in_block(most_length(q, s, false), s->loops.block_n);
  int64_t mb = in_block(most_length(q, s, true), s->loops.block_m), elements = 0;
  for (uint32_t k = 0; k < q->c->n_operands; k++) {
    neo_side side = neo_schedule_side(q->f, s, &q->c->factor[k]);
    if (s->loops.pack >> k & 1)
      elements += block_steps(q, s) * (side == NEO_SIDE_ROWS ? mb : nb);
  }
  return elements <= PACK_ELEMENTS &&
         (!s->loops.block_k || (double)(mb * nb) * live_partial_blocks(q, s) <= PARTIAL_ELEMENTS);
}

/* ---- the search */

typedef struct {
  neo_tiles *q;
  merit_cache *cache;
  neo_schedule best;
  double merit;
  bool fits;
} descent;

/* Divides all leading loops into units, or all except that over blocks of rows. */
static void set_units(const neo_tiles *q, neo_schedule *s, bool rows_inside) {
  s->loops.unit_axes = neo_schedule_loops(q->f, s) - rows_inside;
  s->loops.unit_size = 1;
}

/* Takes the schedule if it is better; blocks that fit the scratch are always better than those that
 * do not. */
static void try(descent *d, const neo_schedule *s) {
  bool ok = fits(d->q, s);
  if (ok < d->fits)
    return;
  double m = merit_of(d->cache, s, ok == d->fits ? d->merit : INFINITY);
  if (ok == d->fits && m >= d->merit)
    return;
  *d = (descent){d->q, d->cache, *s, m, ok};
}

/* Is an operand of the columns larger than L2, whether it is packed or not? */
static bool reads_large_columns(neo_tiles *q, const neo_schedule *s) {
  for (uint32_t k = 0; k < q->c->n_operands; k++)
    if (neo_schedule_reads(q->f, s, q->c, k) &&
        neo_schedule_side(q->f, s, &q->c->factor[k]) == NEO_SIDE_COLUMNS &&
        neo_tiles_elements(q, k) * (double)q->bytes > (double)q->machine->l2_bytes)
      return true;
  return false;
}

/* Does a leading loop reuse large columns that were prepacked in tiles? */
static bool comes_again(neo_tiles *q, const neo_schedule *s) {
  uint64_t columns = 0;
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  bool again = false, tiled = false;
  for (uint32_t k = 0; k < q->c->n_operands; k++)
    if (neo_schedule_reads(q->f, s, q->c, k) &&
        neo_schedule_side(q->f, s, &q->c->factor[k]) == NEO_SIDE_COLUMNS) {
      columns |= q->c->factor[k].axes;
      tiled |= neo_tiles_columns(q, k, s->loops.vector_axis, s->loops.fused).tile;
    }
  for (uint32_t n = neo_schedule_outer_loops(q->f, s, loop); n > 0; n--)
    again |= !loop[n - 1].block && !(columns >> loop[n - 1].axis & 1);
  return again && tiled && reads_large_columns(q, s);
}

/* Tries blocks of a packed or large operand outside of all other loops and of the units. */
static void try_first(descent *d, const neo_schedule *from, int64_t which) {
  neo_schedule s = *from;
  bool rows = which == NEO_ROWS_FIRST;
  bool blocked = rows ? s.loops.block_m : s.loops.block_n;
  if (!blocked || (!s.loops.pack && (rows || !comes_again(d->q, &s))))
    return;
  s.loops.blocks_first = which;
  set_units(d->q, &s, false);
  s.loops.unit_axes = 1;
  try(d, &s);
}

/* Tries blocks of about equal size, in multiples of `unit`. */
static void try_blocks(descent *d, neo_param k, int64_t length, int64_t unit) {
  enum { PARTS = 4096 };
  int64_t last = 0;
  for (int64_t parts = 1; parts <= PARTS; parts += 1 + parts / 5) {
    int64_t block = neo_round_up((length + parts - 1) / parts, unit);
    if (block == last)
      continue;
    last = block;
    neo_schedule s = d->best;
    s.at[k] = block < most_length(d->q, &s, k == NEO_PARAM(loops, block_m)) ? block : 0;
    set_units(d->q, &s, false);
    try(d, &s);
    if (s.loops.block_m && s.loops.pack) {
      set_units(d->q, &s, true);
      try(d, &s);
    }
    try_first(d, &s, k == NEO_PARAM(loops, block_m) ? NEO_ROWS_FIRST : NEO_COLUMNS_FIRST);
  }
}

/* The longest block of the reduction of which a tile's operands fit into scratch. */
static int64_t longest_block(const neo_tiles *q, const neo_schedule *s) {
  int64_t unit = neo_tiles_column_unit(q, s), rows = s->loops.tile_m;
  int64_t most = TILE_ELEMENTS / (unit > rows ? unit : rows);
  for (uint32_t k = 1; k < q->s->axes.n; k++)
    most /= q->own[k];
  return most < 1 ? 1 : most;
}

/* Blocks the reduction evenly where a tile's operands would exceed the scratch. */
static void limit_reduction(descent *d) {
  int64_t most = longest_block(d->q, &d->best), n = d->q->own[0], count = (n + most - 1) / most;
  if (!d->best.loops.pack || count < 2)
    return;
  d->best.loops.block_k = (n + count - 1) / count;
  d->merit = merit_of(d->cache, &d->best, INFINITY);
  d->fits = fits(d->q, &d->best);
}

/* Tries shorter blocks of the reduction, for an operand in place that would miss the caches, or a
 * packed one that would be evicted. A block has few steps or, if one iteration of the first axis
 * exceeds that, few iterations. */
static void try_reduction(descent *d) {
  enum { FEWEST = 4, STEPS = 512, ITERATIONS = 4 };
  const neo_schedule start = d->best;
  if (d->q->whole_sums)
    return;
  int64_t inner = 1, most = longest_block(d->q, &start);
  for (uint32_t k = 1; k < d->q->s->axes.n; k++)
    inner *= d->q->own[k];
  bool few = inner <= STEPS;
  int64_t end = few ? STEPS : ITERATIONS * inner;
  int64_t fewest = start.loops.axis_m < 0 ? 1 : FEWEST; /* one row reads a matrix only once */
  for (int64_t steps = few ? fewest : inner; steps <= end; steps *= 2) {
    neo_schedule s = start;
    s.loops.block_k = steps / inner;
    if (steps >= inner && steps / inner < d->q->own[0] && steps / inner < most)
      try(d, &s);
  }
}

/* Do the loops over axes outside of the tile read some of an operand twice, and too much in between
 * for L2? A packed operand is copied once for all iterations that do not use it. */
static bool reads_again(neo_tiles *q, const neo_schedule *s, uint32_t k) {
  const neo_factor *x = &q->c->factor[k];
  bool packed = s->loops.pack >> k & 1;
  bool rows = neo_schedule_side(q->f, s, x) == NEO_SIDE_ROWS;
  double tensor = neo_tiles_elements(q, k), times = 1, twice = 2;
  double n = (double)(rows ? neo_tiles_row_length(q, s) : neo_tiles_column_length(q, s));
  for (uint32_t i = 0; i < q->s->axes.n; i++)
    n *= x->axes >> (q->f->axes.n + i) & 1 ? (double)q->own[i] : 1;
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  for (uint32_t i = neo_schedule_outer_loops(q->f, s, loop); i-- > 0;)
    if (!loop[i].block && (!packed || x->axes >> loop[i].axis & 1))
      times *= (double)q->shared[loop[i].axis];
  n = fmin(n, tensor);
  return n * (double)q->bytes > (double)q->machine->l2_bytes && times * n >= twice * tensor;
}

static bool reads_any_again(neo_tiles *q, const neo_schedule *s) {
  bool again = false;
  for (uint32_t k = 0; k < q->c->n_operands; k++)
    again |= neo_schedule_reads(q->f, s, q->c, k) && reads_again(q, s, k);
  return again;
}

/* Tries blocks of the reduction around the loops over axes outside of the tile, all of which read
 * the same operands: for the gradient of weights, the pixels of an image at each tap. Units are
 * then blocks of rows or of columns, enough of them for some cores. */
static void try_steps_first(descent *d) {
  enum { LEAST_UNITS = 4, MOST_UNITS = 16 };
  const neo_schedule start = d->best;
  const neo_tiles *q = d->q;
  int64_t n = neo_tiles_column_length(q, &start), m = neo_tiles_row_length(q, &start);
  int64_t least = q->machine->threads ? q->machine->threads : LEAST_UNITS;
  if (q->whole_sums || start.loops.axis_m < 0 || !start.loops.pack ||
      q->points > PARTIAL_ELEMENTS || !neo_stage_steps_uniform(q->m, q->f, q->s) ||
      q->points <= (double)(n * m) || !reads_any_again(d->q, &start))
    return;
  for (int64_t steps = 1; steps < q->own[0]; steps *= 2)
    for (int64_t parts = least; parts <= MOST_UNITS; parts *= 2)
      for (int rows = 0; rows < 2; rows++) {
        neo_schedule s = start;
        int64_t length = rows ? m : n;
        int64_t unit = rows ? s.loops.tile_m : neo_tiles_column_unit(q, &s);
        int64_t block = neo_round_up((length + parts - 1) / parts, unit);
        bool blocked = block < length;
        if (block * (least - 1) >= length || (rows && !blocked))
          continue;
        s.loops.block_k = steps;
        s.loops.block_m = rows ? block : 0;
        s.loops.block_n = !rows && blocked ? block : 0;
        s.loops.blocks_first = NEO_STEPS_FIRST | (rows      ? NEO_ROWS_FIRST
                                                  : blocked ? NEO_COLUMNS_FIRST
                                                            : 0);
        s.loops.unit_axes = blocked;
        s.loops.unit_size = 1;
        try(d, &s);
      }
}

/* The units of work. */
static neo_tile_units tiles_units(neo_tiles *q, const neo_schedule *s) {
  geometry g = neo_tile_geometry(q, s);
  return neo_tile_units_of(q, &g, s);
}

/* Tries several iterations of the leading loops per unit, which share packed operands. */
static void try_sizes(descent *d) {
  neo_tile_units u = tiles_units(d->q, &d->best);
  double units = neo_tile_units_count(&u);
  for (double want = 4; want <= 64 && want < units; want *= 2) {
    neo_schedule s = d->best;
    s.loops.unit_size = (int64_t)ceil(units / want);
    try(d, &s);
  }
}

static descent descent_from(merit_cache *cache, const neo_schedule *s) {
  neo_tiles *q = cache->q;
  descent d = {.q = q, .cache = cache, .best = *s};
  set_units(q, &d.best, false);
  d.merit = merit_of(cache, &d.best, INFINITY);
  d.fits = fits(q, &d.best);
  return d;
}

/* Descends from two starting points, as each finds minima that the other misses: blocks of rows and
 * columns first, or blocks of the reduction first. */
static descent block_ordered(merit_cache *cache, neo_schedule *s) {
  neo_tiles *q = cache->q;
  int64_t n = neo_tiles_column_length(q, s), m = neo_tiles_row_length(q, s);
  descent best = descent_from(cache, s);
  for (int way = 0; way < 2; way++) {
    descent d = descent_from(cache, s);
    limit_reduction(&d);
    if (way)
      try_reduction(&d);
    for (int pass = 0; pass < 2; pass++) {
      if (s->loops.axis_m >= 0)
        try_blocks(&d, NEO_PARAM(loops, block_m), m, s->loops.tile_m);
      try_blocks(&d, NEO_PARAM(loops, block_n), n, neo_tiles_column_unit(q, s));
      try_reduction(&d);
    }
    try_sizes(&d);
    try_steps_first(&d);
    if (way == 0 || d.fits > best.fits || (d.fits == best.fits && d.merit < best.merit))
      best = d;
  }
  return best;
}

/* Tries both loop orders of tiles if sums or their blocks are short, because stores of results
 * and partial sums are then much of the traffic; and if nothing is packed, because of repeated
 * reads. */
static double block_shared(merit_cache *cache, neo_schedule *s) {
  neo_tiles *q = cache->q;
  enum { SHORT = 512 };
  descent best = block_ordered(cache, s);
  for (int64_t order = 1; order <= 2 && s->loops.axis_m >= 0; order++) {
    if (s->loops.pack && (order == 2 || q->steps > SHORT))
      continue;
    s->loops.order = order;
    descent d = block_ordered(cache, s);
    if (d.fits > best.fits || (d.fits == best.fits && d.merit < best.merit))
      best = d;
  }
  *s = best.best;
  return best.merit;
}

/* ---- lanes over the reduction: the reads of a block of it fit into half of L2 */

static void block_own(const neo_tiles *q, neo_schedule *s) {
  double bytes = 0;
  for (uint32_t k = 0; k < q->c->n_operands; k++) {
    double n = (double)q->bytes;
    if (!neo_schedule_reads(q->f, s, q->c, k))
      continue;
    for (uint32_t i = 0; i < q->f->axes.n; i++)
      n *= q->c->factor[k].axes >> i & 1 ? (double)q->shared[i] : 1;
    for (uint32_t i = 1; i < q->s->axes.n; i++)
      n *= q->c->factor[k].axes >> (q->f->axes.n + i) & 1 ? (double)q->own[i] : 1;
    bytes += n;
  }
  int64_t block = (int64_t)((double)q->machine->l2_bytes / 2 / bytes);
  if (block < 1)
    block = 1;
  if (block < q->own[0] && q->s->axes.n > 1 && q->points < 1e6)
    s->loops.block_k = block;
}

static double block_lanes(merit_cache *cache, neo_schedule *s) {
  neo_tiles *q = cache->q;
  const neo_loop_params *p = &s->loops;
  descent d;
  block_own(q, s);
  if (p->axis_n < 0 && p->tile_m < 8)
    s->loops.unroll_k = p->tile_m < 4 ? 4 : 2;
  d = descent_from(cache, s);
  if (p->axis_m >= 0)
    try_blocks(&d, NEO_PARAM(loops, block_m), neo_tiles_row_length(q, s), p->tile_m);
  if (p->axis_n >= 0)
    try_blocks(&d, NEO_PARAM(loops, block_n), neo_tiles_column_length(q, s), p->tile_n);
  try_sizes(&d);
  *s = d.best;
  return d.merit;
}

/* ---- accumulators: as many as hide the latency of a multiply-add, where a tile has fewer */

static int64_t partial_sums(const neo_tiles *q, const neo_schedule *s) {
  enum { LEAST_STEPS = 4, MOST = 8 }; /* least steps of an accumulator; most accumulators */
  const neo_core *core = &q->machine->core;
  double wanted = core->latency * core->units, n = 1;
  double each = (double)(s->loops.tile_m * s->loops.tile_n);
  if (q->f->in_order)
    return 1;
  while (n < MOST && 2 * n * each <= wanted && 2 * n * LEAST_STEPS <= q->steps)
    n *= 2;
  return (int64_t)n;
}

/* ---- prefetching (prefetch.h) */

static bool can_prefetch(neo_tiles *q, const neo_schedule *s) {
  neo_prefetch any[NEO_PREFETCH_MOST];
  return neo_prefetch_find(q->m, q->f, q->machine, s, any);
}

static double block_prefetching(merit_cache *cache, neo_schedule *s) {
  neo_tiles *q = cache->q;
  neo_schedule y = *s;
  double merit = block_shared(cache, s);
  y.loops.prefetch = 1;
  /* other blocks may then be best */
  double m = reads_large_columns(q, &y) ? block_shared(cache, &y) : merit;
  if (m < merit && can_prefetch(q, &y)) {
    *s = y;
    return m;
  }
  enum { LEAST_STEPS = 4 }; /* fewer steps do not hide the latency of a line */
  /* The rank of tiles does not depend on prefetches for their ends, nor on those for columns that
   * the model takes for cached, because it does not count other parts of the same tensor. */
  bool ends = !s->loops.block_k && !s->loops.prefetch && q->steps >= LEAST_STEPS &&
              neo_tiles_end(q, s->loops.vector_axis, s->loops.fused, s->loops.vector_width).rows;
  s->loops.prefetch = (ends || neo_tiles_prefetch_large(q, s)) && can_prefetch(q, s);
  return merit;
}

double neo_tiles_block(neo_tiles *q, neo_schedule *s) {
  bool own = s->loops.vector_axis >= (int64_t)q->f->axes.n;
  merit_cache cache;
  if (!own)
    s->loops.partial = partial_sums(q, s);
  cache.q = q;
  for (int k = 0; k < CACHED; k++)
    cache.at[k].merit = 0;
  return own ? block_lanes(&cache, s) : block_prefetching(&cache, s);
}
