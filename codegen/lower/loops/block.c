/* A block of rows and columns as register tiles.
 *
 * Along rows and along columns a block is cut into pieces: full tiles, then smaller ones. If the
 * remainder's size is known, it is one smaller tile (of columns: the last vector is masked).
 * Otherwise it is tiles of 4, 2 and 1 rows, or single vectors of which the last is masked. If
 * blocks are a multiple of the tile, only the last block has a remainder, that of the whole extent;
 * the smaller tile then runs once or not at all. */
#include "codegen/lower/loops/loops.h"
#include "codegen/lower/pairs/pairs.h"
#include <assert.h>

typedef struct {
  const neo_lx *lo, *hi,
      *base;           /* base: the end of the full tiles, from which smaller tiles count */
  int64_t step, count; /* elements and rows (or vectors) of one tile */
  bool masked;
} piece;

typedef struct {
  piece at[8];
  uint32_t n;
} pieces;

static int64_t length_of(lowering *l, const neo_lx *lo, const neo_lx *hi) {
  int64_t n;
  return neo_lx_is_int(lx_sub(l, hi, lo), &n) ? n : -1;
}

static void add_piece(lowering *l, pieces *p, const neo_lx *lo, const neo_lx *hi, int64_t step,
                      int64_t count, bool masked, const neo_lx *base) {
  int64_t n;
  if (neo_lx_is_int(lx_sub(l, hi, lo), &n) && n <= 0)
    return;
  assert(p->n < 8);
  p->at[p->n++] = (piece){lo, hi, base, step, count, masked};
}

/* The length of the remainder of a block of an axis, after its full tiles; -1: unknown. */
static int64_t rest_of(lowering *l, int64_t axis, int64_t block, const neo_lx *lo, const neo_lx *hi,
                       int64_t size) {
  int64_t n = length_of(l, lo, hi), extent;
  if (n >= 0)
    return n % size;
  bool known = neo_lx_is_int(neo_lower_extent(l, (uint32_t)axis), &extent) &&
               !(l->narrowed && axis == l->s->loops.axis_m);
  return known && block && block % size == 0 ? extent % size : -1;
}

/* The pieces of rows, or of columns that are single elements. */
static pieces row_pieces(lowering *l, int64_t axis, int64_t block, const neo_lx *lo,
                         const neo_lx *hi, int64_t size) {
  pieces p = {.n = 0};
  const neo_lx *mid = neo_lower_floor_to_multiple(l, lo, hi, size);
  int64_t rest = rest_of(l, axis, block, lo, hi, size);
  add_piece(l, &p, lo, mid, size, size, false, NULL);
  if (rest >= 0) {
    if (rest > 0)
      add_piece(l, &p, mid, hi, rest, rest, false, mid);
    return p;
  }
  const neo_lx *from = mid;
  for (int64_t n = 4; n >= 1; n /= 2) {
    if (n >= size)
      continue;
    const neo_lx *to = n == 1 ? hi : neo_lower_floor_to_multiple(l, from, hi, n);
    add_piece(l, &p, from, to, n, n, false, mid);
    from = to;
  }
  return p;
}

static pieces vector_pieces(lowering *l, int64_t axis, int64_t block, const neo_lx *lo,
                            const neo_lx *hi, int64_t width, int64_t cols) {
  pieces p = {.n = 0};
  const neo_lx *mid = neo_lower_floor_to_multiple(l, lo, hi, width * cols);
  int64_t rest = rest_of(l, axis, block, lo, hi, width * cols);
  add_piece(l, &p, lo, mid, width * cols, cols, false, NULL);
  if (rest == 0)
    return p;
  if (rest > 0) {
    int64_t n = (rest + width - 1) / width;
    add_piece(l, &p, mid, hi, n * width, n, rest % width != 0, mid);
    return p;
  }
  const neo_lx *whole = neo_lower_floor_to_multiple(l, mid, hi, width);
  if (cols > 1)
    add_piece(l, &p, mid, whole, width, 1, false, mid);
  if (width > 1)
    add_piece(l, &p, whole, hi, width, 1, true, mid);
  return p;
}

/* ---- loops over pieces */

typedef struct {
  pieces rows, cols;
  const neo_lx *m_lo, *n_lo;
  bool cols_first;
} plan;

static bool once(lowering *l, const piece *p) {
  int64_t n = length_of(l, p->lo, p->hi);
  return n >= 0 && n <= p->step;
}

/* Peels the first tile of rows. It prefetches columns for all tiles
 * (lower/loops/prefetch_tile.c). */
static void peel_first(lowering *l, pieces *p) {
  piece first = p->at[0];
  assert(p->n < 8);
  if (first.base || once(l, &first))
    return;
  for (uint32_t k = p->n++; k > 0; k--)
    p->at[k] = p->at[k - 1];
  const neo_lx *end = lx_add(l, first.lo, lx_int(l, first.step));
  p->at[0].hi = lx_min(l, end, first.hi);
  p->at[1].lo = end;
}

/* Do more than two tiles share the columns? Two may both prefetch them: it costs less than another
 * copy of the tile's code. */
static bool has_many_tiles(const lowering *l) {
  const neo_loop_params *s = &l->s->loops;
  return !s->block_m || s->block_m > 2 * s->tile_m;
}

static bool prefetches_columns(const lowering *l) {
  for (uint32_t k = 0; k < l->n_prefetches; k++)
    if (!l->prefetches[k].shared && !l->prefetches[k].at_end)
      return true;
  return false;
}

/* The loop over the tiles of a piece; *at is a tile's start. */
static neo_block *open_piece(lowering *l, neo_block *in, const piece *p, const char *name,
                             const neo_lx **at, uint32_t *depth) {
  if (once(l, p)) {
    *at = p->lo;
    *depth = l->depth;
    return in;
  }
  in = neo_lower_open(l, in, name, p->lo, p->hi, p->step, at);
  *depth = l->depth;
  return in;
}

static void close_piece(lowering *l, const piece *p) {
  if (!once(l, p))
    neo_lower_close(l);
}

static neo_block *open_rows(lowering *l, neo_block *in, const plan *c, const piece *p, tile *t) {
  t->first_row = !p || p == c->rows.at;
  if (!p)
    return in;
  in = open_piece(l, in, p, "m", &t->m_at, &t->m_depth);
  t->rows = p->count;
  const neo_lx *at = lx_sub(l, t->m_at, c->m_lo);
  t->m_pack = p->base ? lx_sub(l, p->base, c->m_lo) : at;
  t->m_sub = p->base ? lx_sub(l, t->m_at, p->base) : lx_int(l, 0);
  return in;
}

static neo_block *open_cols(lowering *l, neo_block *in, const plan *c, const piece *p, tile *t) {
  if (!p)
    return in;
  in = open_piece(l, in, p, "n", &t->n_at, &t->n_depth);
  t->cols = p->count;
  t->n_end = p->masked ? p->hi : NULL;
  t->n_pack = lx_sub(l, p->base ? p->base : t->n_at, c->n_lo);
  t->n_sub = p->base ? lx_sub(l, t->n_at, p->base) : lx_int(l, 0);
  return in;
}

static void close_optional(lowering *l, const piece *p) {
  if (p)
    close_piece(l, p);
}

static void tile_pair(lowering *l, neo_block *in, const plan *c, const piece *r, const piece *n,
                      tile t) {
  if (c->cols_first) {
    in = open_cols(l, in, c, n, &t);
    in = open_rows(l, in, c, r, &t);
  } else {
    in = open_rows(l, in, c, r, &t);
    in = open_cols(l, in, c, n, &t);
  }
  neo_lower_stages(l, in, &t);
  close_optional(l, r);
  close_optional(l, n);
}

/* Vectors of a tile. A map's nontemporal stores should fill lines. */
static int64_t tile_vectors(const lowering *l, int64_t width) {
  int64_t n = l->s->loops.tile_n;
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    int64_t line = s->accs.n || s->axes.n ? 1 : neo_lower_line(l, s, width);
    n = n < line ? line : n;
  }
  return n;
}

void neo_lower_block(lowering *l, neo_block *in, const neo_lx *const *range) {
  const neo_lx *m_lo = range[0], *m_hi = range[1], *n_lo = range[2], *n_hi = range[3];
  const neo_loop_params *s = &l->s->loops;
  if (l->matrix.on && s->pairs == NEO_PAIRS_TILES) {
    neo_lower_matrix_block(l, in, range);
    return;
  }
  bool shared = neo_lower_lanes_shared(l);
  tile t = {.m_axis = (int32_t)s->axis_m, .rows = 1, .cols = 1};
  t.m_lo = m_lo, t.m_hi = m_hi, t.n_lo = n_lo, t.n_hi = n_hi;
  t.n_axis = (int32_t)(shared ? s->vector_axis : s->axis_n);
  t.width = s->vector_width;
  plan c = {.m_lo = m_lo, .n_lo = n_lo};
  c.cols_first = neo_schedule_columns_first(l->m, l->original, l->s);
  int64_t block_n = s->block_n, tile_n = s->tile_n;
  if (t.m_axis >= 0)
    c.rows = row_pieces(l, t.m_axis, s->block_m, m_lo, m_hi, s->tile_m);
  if (c.rows.n && has_many_tiles(l) && prefetches_columns(l))
    peel_first(l, &c.rows);
  if (t.n_axis >= 0 && shared)
    c.cols = vector_pieces(l, t.n_axis, block_n, n_lo, n_hi, t.width, tile_vectors(l, t.width));
  else if (t.n_axis >= 0)
    c.cols = row_pieces(l, t.n_axis, block_n, n_lo, n_hi, tile_n);
  uint32_t n_rows = t.m_axis >= 0 ? c.rows.n : 1, n_cols = t.n_axis >= 0 ? c.cols.n : 1;
  for (uint32_t i = 0; i < (c.cols_first ? n_cols : n_rows); i++)
    for (uint32_t j = 0; j < (c.cols_first ? n_rows : n_cols); j++) {
      uint32_t r = c.cols_first ? j : i, n = c.cols_first ? i : j;
      tile_pair(l, in, &c, t.m_axis >= 0 ? &c.rows.at[r] : NULL,
                t.n_axis >= 0 ? &c.cols.at[n] : NULL, t);
    }
}
