/* Blocks and units for a register tile: one parameter after the other, twice, each at what costs
 * least with the others as they are. What counts is the cost on one core, and how many cores could
 * be kept busy: where the number of threads is not known, what 2, 4 and 8 would leave idle is
 * counted at a part of its time. What a worker keeps in scratch is bounded; a reduction of which
 * not even one tile fits is blocked too. */
#include "base/hash.h"
#include "base/whole.h"
#include "schedule/tile/model.h"
#include "schedule/tile/prefetch.h"
#include <math.h>
#include <string.h>

enum { PACK_ELEMENTS = 1 << 20, TILE_ELEMENTS = 1 << 19, PARTIAL_ELEMENTS = 1 << 20 };
enum { BLOCKS_OF_COLUMNS = 1, BLOCKS_OF_ROWS = 2 };

/* ---- what is minimized */

/* Cores' time that is wasted, against what is used. */
static double idle(double units, double cores) {
  return cores * ceil(units / cores) / units - 1;
}

/* The same where the number of cores is not known: that of 2, 4 and 8, by how usual they are, and
 * not all of it. */
static double idle_usually(double units) {
  static const double part[] = {0.5, 0.3, 0.2}, weight = 0.12;
  double sum = 0, cores = 2;
  for (int k = 0; k < 3; k++, cores *= 2)
    sum += part[k] * idle(units, cores);
  return weight * sum;
}

double neo_tiles_merit(neo_tiles *q, const neo_schedule *s) {
  double units, cost = neo_tiles_cost(q, s, &units);
  cost += units * q->machine->core.unit + (units > 1 ? q->machine->core.region : 0);
  uint32_t threads = q->machine->threads;
  return cost * (1 + (threads ? idle(units, threads) : idle_usually(units)));
}

/* ---- what is known already
 *
 * The descents from several sides, each twice, come by the same blocks again and again: half of
 * what they ask for has been asked before. */

enum { KEYS = 8, KNOWN = 256 };

typedef struct {
  int64_t key[KEYS];
  double merit; /* 0: nothing is known */
} known_merit;

typedef struct {
  neo_tiles *q;
  known_merit at[KNOWN]; /* of one tile */
} merits;

static void key_of(const neo_schedule *s, int64_t key[KEYS]) {
  static const neo_param vary[KEYS] = {NEO_PARAM(loops, block_k),   NEO_PARAM(loops, block_m),
                                       NEO_PARAM(loops, block_n),   NEO_PARAM(loops, blocks_first),
                                       NEO_PARAM(loops, order),     NEO_PARAM(loops, unit_axes),
                                       NEO_PARAM(loops, unit_size), NEO_PARAM(loops, prefetch)};
  for (int k = 0; k < KEYS; k++)
    key[k] = s->at[vary[k]];
}

static double merit_of(merits *known, const neo_schedule *s) {
  int64_t key[KEYS];
  key_of(s, key);
  known_merit *x = &known->at[neo_hash(key, sizeof key, 0) % KNOWN];
  if (x->merit > 0 && memcmp(x->key, key, sizeof key) == 0)
    return x->merit;
  memcpy(x->key, key, sizeof key);
  return x->merit = neo_tiles_merit(known->q, s);
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

/* Blocks of rows and columns that keep sums at a time. */
static double sums_apart(const neo_tiles *q, const neo_schedule *s) {
  return neo_schedule_steps_first(s) ? (double)neo_partial_shape_of(q->m, q->f, s).blocks : 1;
}

static bool fits(const neo_tiles *q, const neo_schedule *s) {
  int64_t nb = in_block(neo_tiles_column_length(q, s), s->loops.block_n);
  int64_t mb = in_block(neo_tiles_row_length(q, s), s->loops.block_m), elements = 0;
  for (uint32_t k = 0; k < q->c->n; k++) {
    neo_side side = neo_schedule_side(q->f, s, &q->c->factor[k]);
    if (s->loops.pack >> k & 1)
      elements += block_steps(q, s) * (side == NEO_SIDE_ROWS ? mb : nb);
  }
  return elements <= PACK_ELEMENTS &&
         (!s->loops.block_k || (double)(mb * nb) * sums_apart(q, s) <= PARTIAL_ELEMENTS);
}

/* ---- the search */

typedef struct {
  neo_tiles *q;
  merits *known;
  neo_schedule best;
  double merit;
  bool fits;
} descent;

/* All leading loops make units, or all but that over blocks of rows. */
static void set_units(const neo_tiles *q, neo_schedule *s, bool rows_inside) {
  s->loops.unit_axes = neo_schedule_loops(q->f, s) - rows_inside;
  s->loops.unit_size = 1;
}

/* Blocks that fit come before all that do not. */
static void try(descent *d, const neo_schedule *s) {
  bool ok = fits(d->q, s);
  if (ok < d->fits)
    return;
  double m = merit_of(d->known, s);
  if (ok == d->fits && m >= d->merit)
    return;
  *d = (descent){d->q, d->known, *s, m, ok};
}

/* Is an operand of this side larger than the caches, read where it lies or to be copied? */
static bool reads_large(neo_tiles *q, const neo_schedule *s, neo_side side) {
  for (uint32_t k = 0; k < q->c->n; k++)
    if (neo_schedule_side(q->f, s, &q->c->factor[k]) == side &&
        neo_tiles_elements(q, k) * (double)q->bytes > (double)q->machine->l2_bytes)
      return true;
  return false;
}

/* Are large columns, which lie in tiles, the same in some iterations of the leading loops? */
static bool comes_again(neo_tiles *q, const neo_schedule *s) {
  uint64_t columns = 0;
  neo_outer_loop loop[NEO_FORM_MAX_AXES + 2];
  bool again = false, tiled = false;
  for (uint32_t k = 0; k < q->c->n; k++)
    if (neo_schedule_side(q->f, s, &q->c->factor[k]) == NEO_SIDE_COLUMNS) {
      columns |= q->c->factor[k].axes;
      tiled |= neo_tiles_columns(q, k, s->loops.vector_axis, s->loops.fused).tile;
    }
  for (uint32_t n = neo_schedule_outer_loops(q->f, s, loop); n > 0; n--)
    again |= !loop[n - 1].block && !(columns >> loop[n - 1].axis & 1);
  return again && tiled && reads_large(q, s, NEO_SIDE_COLUMNS);
}

/* Blocks of what is packed, or comes from far, outside of all other loops, and of the units. */
static void try_first(descent *d, const neo_schedule *from, int64_t which) {
  neo_schedule s = *from;
  bool rows = which == BLOCKS_OF_ROWS;
  bool blocked = rows ? s.loops.block_m : s.loops.block_n;
  if (!blocked || (!s.loops.pack && (rows || !comes_again(d->q, &s))))
    return;
  s.loops.blocks_first = which;
  set_units(d->q, &s, false);
  s.loops.unit_axes = 1;
  try(d, &s);
}

/* Blocks of equal size, multiples of `unit`. */
static void try_blocks(descent *d, neo_param k, int64_t length, int64_t unit) {
  enum { PARTS = 4096 };
  int64_t last = 0;
  for (int64_t parts = 1; parts <= PARTS; parts += 1 + parts / 5) {
    int64_t block = neo_round_up((length + parts - 1) / parts, unit);
    if (block == last)
      continue;
    last = block;
    neo_schedule s = d->best;
    s.at[k] = block < length ? block : 0;
    set_units(d->q, &s, false);
    try(d, &s);
    if (s.loops.block_m && s.loops.pack) {
      set_units(d->q, &s, true);
      try(d, &s);
    }
    try_first(d, &s, k == NEO_PARAM(loops, block_m) ? BLOCKS_OF_ROWS : BLOCKS_OF_COLUMNS);
  }
}

/* The longest block of the reduction of which a tile's part is kept in scratch. */
static int64_t longest_block(const neo_tiles *q, const neo_schedule *s) {
  int64_t unit = neo_tiles_column_unit(q, s), rows = s->loops.tile_m;
  int64_t most = TILE_ELEMENTS / (unit > rows ? unit : rows);
  for (uint32_t k = 1; k < q->s->axes.n; k++)
    most /= q->own[k];
  return most < 1 ? 1 : most;
}

/* Blocks of equal length where a tile's part of the whole reduction is too long. */
static void limit_reduction(descent *d) {
  int64_t most = longest_block(d->q, &d->best), n = d->q->own[0], count = (n + most - 1) / most;
  if (!d->best.loops.pack || count < 2)
    return;
  d->best.loops.block_k = (n + count - 1) / count;
  d->merit = merit_of(d->known, &d->best);
  d->fits = fits(d->q, &d->best);
}

/* Shorter blocks, where an operand that stays where it is would be read from far otherwise, or a
 * copy would be too large to stay near: of few steps or, where one iteration of the first axis is
 * more than that, of few iterations. */
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
  int64_t fewest = start.loops.axis_m < 0 ? 1 : FEWEST; /* one row: a matrix is read once */
  for (int64_t steps = few ? fewest : inner; steps <= end; steps *= 2) {
    neo_schedule s = start;
    s.loops.block_k = steps / inner;
    if (steps >= inner && steps / inner < d->q->own[0] && steps / inner < most)
      try(d, &s);
  }
}

/* Does each iteration of the loops over axes outside of the tile read more of an operand than stays
 * near, and some of it twice? What is copied is copied once for all that do not use it. */
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
  for (uint32_t k = 0; k < q->c->n; k++)
    again |= reads_again(q, s, k);
  return again;
}

/* Blocks of the reduction around the loops over axes outside of the tile, each of which walks the
 * same operands: the pixels of an image, for each tap of the gradient to the weights. Units are
 * blocks of rows or of columns, enough of them for some cores. */
static void try_steps_first(descent *d) {
  enum { LEAST_UNITS = 4, MOST_UNITS = 16 };
  const neo_schedule start = d->best;
  const neo_tiles *q = d->q;
  int64_t n = neo_tiles_column_length(q, &start), m = neo_tiles_row_length(q, &start);
  int64_t least = q->machine->threads ? q->machine->threads : LEAST_UNITS;
  if (q->whole_sums || start.loops.axis_m < 0 || !start.loops.pack ||
      q->points > PARTIAL_ELEMENTS || !neo_stage_steps_alike(q->m, q->f, q->s) ||
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
        s.loops.blocks_first = NEO_STEPS_FIRST | (rows      ? BLOCKS_OF_ROWS
                                                  : blocked ? BLOCKS_OF_COLUMNS
                                                            : 0);
        s.loops.unit_axes = blocked;
        s.loops.unit_size = 1;
        try(d, &s);
      }
}

/* Several iterations of the leading loops in a unit, for what is copied once for all of them. */
static void try_sizes(descent *d) {
  double units;
  neo_tiles_cost(d->q, &d->best, &units);
  for (double want = 4; want <= 64 && want < units; want *= 2) {
    neo_schedule s = d->best;
    s.loops.unit_size = (int64_t)ceil(units / want);
    try(d, &s);
  }
}

static descent descent_from(merits *known, const neo_schedule *s) {
  neo_tiles *q = known->q;
  descent d = {.q = q, .known = known, .best = *s};
  set_units(q, &d.best, false);
  d.merit = merit_of(known, &d.best);
  d.fits = fits(q, &d.best);
  return d;
}

/* From blocks of the reduction to those of rows and columns, or the other way round: each finds
 * what the other may not. */
static descent block_ordered(merits *known, neo_schedule *s) {
  neo_tiles *q = known->q;
  int64_t n = neo_tiles_column_length(q, s), m = neo_tiles_row_length(q, s);
  descent best = descent_from(known, s);
  for (int way = 0; way < 2; way++) {
    descent d = descent_from(known, s);
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

/* Which tiles are the outer loop is of weight where sums, or their blocks, are short: what they are
 * written to, or kept in between, is much of the traffic. */
static double block_shared(merits *known, neo_schedule *s) {
  neo_tiles *q = known->q;
  enum { SHORT = 512 };
  descent best = block_ordered(known, s);
  if (s->loops.axis_m >= 0 && (q->steps <= SHORT || !s->loops.pack)) {
    s->loops.order = 1;
    descent d = block_ordered(known, s);
    if (d.fits > best.fits || (d.fits == best.fits && d.merit < best.merit))
      best = d;
  }
  *s = best.best;
  return best.merit;
}

/* ---- lanes over the reduction: what a block of it reads stays within half of L2 */

static void block_own(const neo_tiles *q, neo_schedule *s) {
  double bytes = 0;
  for (uint32_t k = 0; k < q->c->n; k++) {
    double n = (double)q->bytes;
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

static double block_lanes(merits *known, neo_schedule *s) {
  neo_tiles *q = known->q;
  const neo_loop_params *p = &s->loops;
  descent d;
  block_own(q, s);
  if (p->axis_n < 0 && p->tile_m < 8)
    s->loops.unroll_k = p->tile_m < 4 ? 4 : 2;
  d = descent_from(known, s);
  if (p->axis_m >= 0)
    try_blocks(&d, NEO_PARAM(loops, block_m), neo_tiles_row_length(q, s), p->tile_m);
  if (p->axis_n >= 0)
    try_blocks(&d, NEO_PARAM(loops, block_n), neo_tiles_column_length(q, s), p->tile_n);
  try_sizes(&d);
  *s = d.best;
  return d.merit;
}

/* ---- what the tile before fetches (prefetch.h) */

static bool fetches(neo_tiles *q, const neo_schedule *s) {
  neo_prefetch any[NEO_PREFETCH_MOST];
  return neo_prefetch_find(q->m, q->f, s, any);
}

static double block_fetching(merits *known, neo_schedule *s) {
  neo_tiles *q = known->q;
  neo_schedule y = *s;
  double merit = block_shared(known, s);
  y.loops.prefetch = 1;
  /* then other blocks may be best */
  double m = reads_large(q, &y, NEO_SIDE_COLUMNS) ? block_shared(known, &y) : merit;
  if (m < merit && fetches(q, &y)) {
    *s = y;
    return m;
  }
  enum { FETCH_STEPS = 4 }; /* fewer do not last as long as a line takes to come */
  /* at the ends of tiles it changes nothing that tiles are ranked by, nor for columns that
   * seem to be near because other parts of the same tensor are not counted */
  bool ends = !s->loops.block_k && !s->loops.prefetch && q->steps >= FETCH_STEPS &&
              neo_tiles_end(q, s->loops.vector_axis, s->loops.fused, s->loops.vector_width).rows;
  s->loops.prefetch = (ends || neo_tiles_prefetch_large(q, s)) && fetches(q, s);
  return merit;
}

double neo_tiles_block(neo_tiles *q, neo_schedule *s) {
  bool own = s->loops.vector_axis >= (int64_t)q->f->axes.n;
  merits known;
  known.q = q;
  for (int k = 0; k < KNOWN; k++)
    known.at[k].merit = 0;
  return own ? block_lanes(&known, s) : block_fetching(&known, s);
}
