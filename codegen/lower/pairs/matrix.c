/* Contractions of pairs by the matrix unit: packing of operands, and tiles. schedule/pairs/pairs.h
 * describes these contractions and the layout of operands in scratch; lower/pairs/dots.c has dots.
 *
 *     copy rows and columns as cells of two bf16
 *     for tiles of columns: for tiles of rows:
 *       tile registers c = 0     (or the sums so far, where the reduction is in blocks)
 *       for tiles of the reduction: load a, load b, c += a . b
 *       sums = c
 *       for each row: the stages that store, with the sums of the row in a register
 *
 * Operands are padded with zeros to full tiles, so that the inner loops have no edges; stores write
 * the rows and columns that exist. If the operand is contiguous along the paired axis in memory,
 * and vectors of pairs are contiguous in scratch, lanes of a copy are pairs; otherwise they are
 * rows or columns. An odd last element is paired with zero. */
#include "codegen/lower/pairs/pairs.h"
#include <assert.h>

enum { SIDE = NEO_PAIRS_SIDE, CELLS = SIDE * SIDE };
#define NO_AXIS UINT32_MAX /* the axis of the rows, if there is a single row */

/* ---- planning */

static void plan_operand(lowering *l, int k) {
  const neo_pairs_shape *x = &l->matrix;
  const neo_stage *s = &l->original->stages.at[x->c.stage];
  bool rows = x->side[k] == NEO_SIDE_ROWS;
  pack *p = &l->packs[l->n_packs++];
  *p = (pack){.from = x->narrow[k], .side = x->side[k], .temp = -1};
  p->axes = x->c.factor[k].axes;
  for (uint32_t i = 0; i < s->axes.n; i++)
    p->axes |= neo_form_axes(l->m, l->f, s->axes.at[i].hi);
  p->buf = neo_kernel_scratch(l->k, rows ? "rows" : "columns", NEO_I32_T,
                              (rows ? x->rows : x->columns) * x->tiles * SIDE);
}

void neo_lower_matrix_plan(lowering *l) {
  const neo_loop_params *p = &l->s->loops;
  l->matrix = neo_pairs_shape_of(l->m, l->original, l->s);
  assert(l->matrix.on && "the schedule is legal");
  for (int k = 0; k < 2; k++)
    if (p->pack >> k & 1)
      plan_operand(l, k);
  bool blocks = p->block_k;
  if (!blocks && p->pairs == NEO_PAIRS_DOTS)
    return;
  int64_t rows = blocks ? l->matrix.rows : p->tile_m;
  l->block.pitch = blocks ? l->matrix.columns : p->tile_n * SIDE;
  l->sums = l->block.partial = neo_kernel_scratch(l->k, "sums", NEO_F32_T, rows * l->block.pitch);
}

/* ---- copies */

typedef struct {
  lowering *l;
  const pack *p;
  const neo_stage *s;
  neo_expr value;
  uint32_t axis;             /* axis of rows or columns */
  const neo_lx *lo, *hi;     /* its range */
  int64_t element, pair;     /* strides in a tile, in cells */
  const neo_lx *base;        /* number of pairs before, from axes around the paired one */
  const neo_lx *k_lo, *k_hi; /* range of the paired axis */
} copier;

static const neo_lx *zero(lowering *l, neo_type t) {
  return neo_lx_const(l->k, t, (neo_value){.i = 0});
}

static void push(axis_value *v, const neo_lx *e, int64_t scale, uint32_t depth) {
  assert(v->n < MAX_PARTS);
  v->at[v->n++] = (axis_part){e, scale, depth};
}

/* The operand's value at an element and a step of the paired axis. */
static const neo_lx *operand(copier *c, const axis_value *element, axis_value step, bool second) {
  lowering *l = c->l;
  if (second)
    push(&step, lx_int(l, 1), 1, 0);
  if (c->axis != NO_AXIS)
    neo_lower_set_parts(l, c->axis, *element);
  neo_lower_set_parts(l, (uint32_t)l->f->axes.n + l->matrix.paired, step);
  return neo_lower_expr(l, c->value);
}

static void store_cell(copier *c, neo_block *in, const neo_lx *at, const axis_value *element,
                       const axis_value *step, bool odd, const neo_lx *cond) {
  lowering *l = c->l;
  const neo_lx *first = operand(c, element, *step, false);
  const neo_lx *second = odd ? zero(l, NEO_BF16_T) : operand(c, element, *step, true);
  neo_ls_store(l->k, in, c->p->buf, at, neo_lx_pair(l->k, first, second), cond);
}

static neo_block *vector(lowering *l, neo_block *in, const neo_lx **lane) {
  uint32_t var = neo_kernel_var(l->k, "l");
  *lane = neo_lx_var(l->k, var);
  return &neo_ls_for(l->k, in, NEO_LOOP_VECTOR, var, lx_int(l, 0), lx_int(l, SIDE), 1)->loop.body;
}

/* The cell of an element and a pair: the start of their tile plus the offset in it. */
static const neo_lx *place(copier *c, const neo_lx *tile_of, const neo_lx *in_tile,
                           const neo_lx *pair) {
  lowering *l = c->l;
  const neo_lx *at = lx_mul(l, lx_sub(l, tile_of, c->lo), l->matrix.tiles * SIDE);
  at = lx_add(l, at, lx_mul(l, lx_div(l, pair, SIDE), CELLS));
  at = lx_add(l, at, lx_mul(l, neo_lx_op2(l->k, NEO_OP_MOD, pair, lx_int(l, SIDE)), c->pair));
  return in_tile ? lx_add(l, at, lx_mul(l, in_tile, c->element)) : at;
}

/* Copies pair q of the elements of the tile at e, with elements as lanes. odd: the pair's second
 * number does not exist. */
static void copy_elements(copier *c, neo_block *in, const neo_lx *e, uint32_t e_depth,
                          const neo_lx *q, uint32_t q_depth, bool odd, bool masked) {
  lowering *l = c->l;
  const neo_lx *lane, *at = place(c, e, NULL, lx_add(l, c->base, q));
  in = vector(l, in, &lane);
  axis_value element = {.n = 0}, step = {.n = 0};
  push(&element, e, 1, e_depth);
  push(&element, lane, 1, DEPTH_LANE);
  push(&step, c->k_lo, 1, 0);
  push(&step, q, 2, q_depth);
  const neo_lx *mask = neo_lx_op2(l->k, NEO_OP_LT, lx_add(l, e, lane), c->hi);
  l->mask = masked ? mask : NULL;
  l->mask_axis = (int32_t)c->axis;
  neo_lower_forget(l);
  store_cell(c, in, lx_add(l, at, lx_mul(l, lane, c->element)), &element, &step, odd, l->mask);
  l->mask = NULL;
  neo_lower_forget(l);
}

/* The number of full pairs, without an odd last element. */
static const neo_lx *whole_pairs(copier *c) {
  lowering *l = c->l;
  return lx_div(l, lx_max(l, lx_sub(l, c->k_hi, c->k_lo), lx_int(l, 0)), 2);
}

static neo_block *if_odd(copier *c, neo_block *in) {
  lowering *l = c->l;
  int64_t n;
  const neo_lx *length = lx_max(l, lx_sub(l, c->k_hi, c->k_lo), lx_int(l, 0));
  const neo_lx *rest = neo_lx_op2(l->k, NEO_OP_MOD, length, lx_int(l, 2));
  if (neo_lx_is_int(rest, &n))
    return n ? in : NULL;
  return &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_EQ, rest, lx_int(l, 1)))->branch.then;
}

static void element_tiles(copier *c, neo_block *in, const neo_lx *from, const neo_lx *to,
                          bool masked) {
  lowering *l = c->l;
  const neo_lx *e, *q, *pairs = whole_pairs(c);
  int64_t n;
  if (neo_lx_is_int(lx_sub(l, to, from), &n) && n <= 0)
    return;
  in = neo_lower_open(l, in, "e", from, to, SIDE, &e);
  uint32_t depth = l->depth;
  neo_block *body = neo_lower_open(l, in, "q", lx_int(l, 0), pairs, 1, &q);
  copy_elements(c, body, e, depth, q, l->depth, false, masked);
  neo_lower_close(l);
  if ((body = if_odd(c, in)))
    copy_elements(c, body, e, depth, pairs, depth, true, masked);
  neo_lower_close(l);
}

/* Copies pairs from q on of element r of the tile at e, with pairs as lanes. */
static void copy_pairs(copier *c, neo_block *in, const axis_value *element, const neo_lx *at,
                       const neo_lx *q, const neo_lx *pairs, bool masked) {
  lowering *l = c->l;
  const neo_lx *lane;
  uint32_t depth = l->depth;
  in = vector(l, in, &lane);
  axis_value step = {.n = 0};
  push(&step, c->k_lo, 1, 0);
  push(&step, q, 2, depth);
  push(&step, lane, 2, DEPTH_LANE);
  l->mask = masked ? neo_lx_op2(l->k, NEO_OP_LT, lx_add(l, q, lane), pairs) : NULL;
  l->mask_axis = (int32_t)(l->f->axes.n + l->matrix.paired);
  neo_lower_forget(l);
  store_cell(c, in, lx_add(l, at, lx_mul(l, lane, c->pair)), element, &step, false, l->mask);
  l->mask = NULL;
  neo_lower_forget(l);
}

static void pair_vectors(copier *c, neo_block *in) {
  lowering *l = c->l;
  const neo_lx *e, *r, *q, *pairs = whole_pairs(c),
                           *whole = neo_lower_floor_to_multiple(l, lx_int(l, 0), pairs, SIDE);
  axis_value element = {.n = 0};
  int64_t n;
  in = neo_lower_open(l, in, "e", c->lo, c->hi, SIDE, &e);
  push(&element, e, 1, l->depth);
  in = neo_lower_open(l, in, "r", lx_int(l, 0), lx_min(l, lx_sub(l, c->hi, e), lx_int(l, SIDE)), 1,
                      &r);
  push(&element, r, 1, l->depth);
  neo_block *body = neo_lower_open(l, in, "q", lx_int(l, 0), whole, SIDE, &q);
  copy_pairs(c, body, &element, place(c, e, r, lx_add(l, c->base, q)), q, pairs, false);
  neo_lower_close(l);
  if (!neo_lx_is_int(lx_sub(l, pairs, whole), &n) || n > 0) {
    body = neo_lower_open(l, in, "q", whole, pairs, SIDE, &q);
    copy_pairs(c, body, &element, place(c, e, r, lx_add(l, c->base, q)), q, pairs, true);
    neo_lower_close(l);
  }
  if ((body = if_odd(c, in))) {
    axis_value step = {.n = 0};
    push(&step, c->k_lo, 1, 0);
    push(&step, pairs, 2, l->depth);
    store_cell(c, body, place(c, e, r, lx_add(l, c->base, pairs)), &element, &step, true, NULL);
  }
  neo_lower_close(l);
  neo_lower_close(l);
}

/* Are SIDE pairs from a multiple of SIDE on always contiguous in scratch and in memory? */
static bool runs_over_pairs(const copier *c) {
  const neo_pairs_shape *x = &c->l->matrix;
  int64_t pairs = (x->extent[x->paired] + 1) / 2, others = 1;
  for (uint32_t k = 0; k < c->s->axes.n; k++)
    others *= k == x->paired ? 1 : x->extent[k];
  return (pairs % SIDE == 0 || others == 1) &&
         neo_expr_unit_stride(c->l->m, c->l->f, c->p->from, (uint32_t)c->l->f->axes.n + x->paired);
}

static void own_range(copier *c, uint32_t k, const neo_lx **lo, const neo_lx **hi) {
  lowering *l = c->l;
  bool block = k == 0 && l->block.on;
  *lo = block ? l->block.lo : neo_lower_expr(l, c->s->axes.at[k].lo);
  *hi = block ? l->block.hi : neo_lower_expr(l, c->s->axes.at[k].hi);
}

/* Opens loops over the axes around the paired one. */
static void copy_loops(copier *c, neo_block *in, uint32_t k) {
  lowering *l = c->l;
  const neo_lx *lo, *hi, *v;
  if (k == l->matrix.paired) {
    copy_loops(c, in, k + 1);
    return;
  }
  if (k == c->s->axes.n) {
    own_range(c, l->matrix.paired, &c->k_lo, &c->k_hi);
    if (runs_over_pairs(c)) {
      pair_vectors(c, in);
      return;
    }
    const neo_lx *whole = neo_lower_floor_to_multiple(l, c->lo, c->hi, SIDE);
    element_tiles(c, in, c->lo, whole, false);
    element_tiles(c, in, whole, c->hi, true);
    return;
  }
  own_range(c, k, &lo, &hi);
  in = neo_lower_open(l, in, "k", lo, hi, 1, &v);
  neo_lower_set_axis(l, (uint32_t)l->f->axes.n + k, v, l->depth);
  const neo_lx *base = c->base;
  c->base = lx_add(l, base, lx_mul(l, lx_sub(l, v, lo), l->matrix.coef[k]));
  copy_loops(c, in, k + 1);
  c->base = base;
  neo_lower_close(l);
}

/* Does the copy write every cell of its tiles, so that nothing has to be cleared? */
static bool fills(copier *c) {
  lowering *l = c->l;
  const neo_pairs_shape *x = &l->matrix;
  int64_t n, steps = 1;
  bool full = neo_lx_is_int(lx_sub(l, c->hi, c->lo), &n) && n % SIDE == 0;
  for (uint32_t k = 0; k < c->s->axes.n; k++) {
    const neo_lx *lo, *hi;
    own_range(c, k, &lo, &hi);
    full = full && neo_lx_is_int(lx_sub(l, hi, lo), &n) && n == x->extent[k];
    steps *= k == x->paired ? (x->extent[k] + 1) / 2 : x->extent[k];
  }
  return full && steps % SIDE == 0;
}

static void clear(copier *c, neo_block *in) {
  lowering *l = c->l;
  const neo_lx *v, *lane,
      *tiles = lx_div(l, lx_add(l, lx_sub(l, c->hi, c->lo), lx_int(l, SIDE - 1)), SIDE);
  in =
      neo_lower_open(l, in, "z", lx_int(l, 0), lx_mul(l, tiles, l->matrix.tiles * CELLS), SIDE, &v);
  in = vector(l, in, &lane);
  neo_ls_store(l->k, in, c->p->buf, lx_add(l, v, lane), zero(l, NEO_I32_T), NULL);
  neo_lower_close(l);
}

void neo_lower_matrix_copy(lowering *l, neo_block *in, const pack *p, const neo_lx *const *range) {
  const neo_loop_params *s = &l->s->loops;
  bool rows = p->side == NEO_SIDE_ROWS;
  copier c = {.l = l, .p = p, .s = &l->f->stages.at[l->matrix.c.stage], .base = lx_int(l, 0)};
  neo_lower_facts(l, l->f, c.s);
  c.value = neo_fused_expr(l->m, l->original, l->fused_last, l->n_fused, p->from);
  bool one = rows && s->axis_m < 0;
  c.axis = one ? NO_AXIS : (uint32_t)(rows ? s->axis_m : s->vector_axis);
  c.lo = one ? lx_int(l, 0) : range[rows ? 0 : 2];
  c.hi = one ? lx_int(l, 1) : range[rows ? 1 : 3];
  c.element = rows ? SIDE : 1;
  c.pair = rows ? 1 : SIDE;
  axis_value before = {.n = 0};
  if (!one)
    before = l->axis[c.axis];
  if (!fills(&c))
    clear(&c, in);
  copy_loops(&c, in, 0);
  if (!one)
    neo_lower_set_parts(l, c.axis, before);
}

/* ---- tiles */

typedef struct {
  const neo_lx *m, *n; /* first row and column */
  uint32_t m_depth, n_depth;
  int64_t rows, columns; /* counted in tiles of the matrix unit */
  bool masked;
  const neo_lx *const *range;
} job;

static void tile_op(lowering *l, neo_block *in, neo_tile_op op, int64_t a, uint32_t buf,
                    const neo_lx *at, int64_t pitch) {
  uint8_t reg = (uint8_t)a;
  neo_ls_tile(l->k, in, op, &reg, buf, at, pitch);
}

/* The first of the sums of tile (a, b) of the job. */
static const neo_lx *sums_at(lowering *l, const job *j, int64_t a, int64_t b) {
  int64_t in_job = a * SIDE * l->block.pitch + b * SIDE;
  if (!l->block.on)
    return lx_int(l, in_job);
  const neo_lx *row = lx_mul(l, lx_sub(l, j->m, j->range[0]), l->block.pitch);
  return lx_add(l, lx_add(l, row, lx_sub(l, j->n, j->range[2])), lx_int(l, in_job));
}

static void each_sum(lowering *l, neo_block *in, const job *j, neo_tile_op op) {
  for (int64_t a = 0; a < j->rows; a++)
    for (int64_t b = 0; b < j->columns; b++)
      tile_op(l, in, op, a * j->columns + b, l->sums, sums_at(l, j, a, b), l->block.pitch);
}

static void multiply(lowering *l, neo_block *in, const job *j) {
  const pack *p[2] = {&l->packs[0], &l->packs[1]};
  bool crossed = p[0]->side != NEO_SIDE_ROWS;
  const pack *rows = p[crossed], *columns = p[!crossed];
  int64_t steps = l->matrix.tiles, sums = j->rows * j->columns;
  const neo_lx *k;
  in = neo_lower_open(l, in, "k", lx_int(l, 0), lx_int(l, steps), 1, &k);
  const neo_lx *at = lx_mul(l, k, CELLS);
  const neo_lx *row = lx_add(l, lx_mul(l, lx_sub(l, j->m, j->range[0]), steps * SIDE), at);
  const neo_lx *column = lx_add(l, lx_mul(l, lx_sub(l, j->n, j->range[2]), steps * SIDE), at);
  for (int64_t a = 0; a < j->rows; a++)
    tile_op(l, in, NEO_TILE_LOAD, sums + a, rows->buf, lx_add(l, row, lx_int(l, a * steps * CELLS)),
            SIDE);
  for (int64_t b = 0; b < j->columns; b++)
    tile_op(l, in, NEO_TILE_LOAD, sums + j->rows + b, columns->buf,
            lx_add(l, column, lx_int(l, b * steps * CELLS)), SIDE);
  for (int64_t a = 0; a < j->rows; a++)
    for (int64_t b = 0; b < j->columns; b++) {
      uint8_t reg[] = {(uint8_t)(a * j->columns + b), (uint8_t)(sums + a),
                       (uint8_t)(sums + j->rows + b)};
      neo_ls_tile(l->k, in, NEO_TILE_DOT, reg, 0, NULL, 0);
    }
  neo_lower_close(l);
}

/* Loads the sums of a row into the accumulator's register. */
static void load_sums(lowering *l, neo_block *in, const job *j, const neo_lx *r, const neo_stage *s,
                      const tile *t) {
  neo_lower_begin_accs(l, in, s, t);
  neo_block *b = neo_lower_open_tile(l, in, t, true);
  const neo_lx *at = lx_add(l, sums_at(l, j, 0, 0), lx_mul(l, r, l->block.pitch)),
               *none = lx_int(l, 0);
  at = lx_add(l, at, l->col ? lx_mul(l, l->col, SIDE) : none);
  at = lx_add(l, at, l->lane);
  const neo_lx *index[] = {none, l->col ? l->col : none, l->lane};
  neo_ls_set(l->k, b, l->acc[s->first_acc].reg, index, 3, neo_lx_load(l->k, l->sums, at));
  neo_lower_close_tile(l);
}

static void finish(lowering *l, neo_block *in, const job *j) {
  const neo_lx *r, *rows = lx_min(l, lx_sub(l, j->range[1], j->m), lx_int(l, j->rows * SIDE));
  in = neo_lower_open(l, in, "r", lx_int(l, 0), rows, 1, &r);
  tile t = {.m_axis = (int32_t)l->s->loops.axis_m, .rows = 1, .cols = j->columns, .width = SIDE};
  t.n_axis = (int32_t)l->s->loops.vector_axis;
  t.m_at = lx_add(l, j->m, r);
  t.m_depth = l->depth;
  t.n_at = j->n;
  t.n_depth = j->n_depth;
  t.n_end = j->masked ? j->range[3] : NULL;
  for (size_t k = 0; k < l->f->stages.n; k++) {
    const neo_stage *s = &l->f->stages.at[k];
    neo_lower_facts(l, l->f, s);
    if (s->accs.n)
      load_sums(l, in, j, r, s, &t);
    else
      neo_lower_store(l, in, s, &t);
  }
  neo_lower_close(l);
}

static void run_job(lowering *l, neo_block *in, const job *j) {
  if (l->block.on) {
    neo_ls *first = neo_ls_if(l->k, in, l->block.is_first);
    each_sum(l, &first->branch.then, j, NEO_TILE_ZERO);
    each_sum(l, &first->branch.otherwise, j, NEO_TILE_LOAD);
  } else {
    each_sum(l, in, j, NEO_TILE_ZERO);
  }
  multiply(l, in, j);
  each_sum(l, in, j, NEO_TILE_STORE);
  if (l->block.on)
    in = &neo_ls_if(l->k, in, l->block.is_last)->branch.then;
  finish(l, in, j);
}

/* Full register tiles, then single tiles of the matrix unit. */
typedef struct {
  const neo_lx *lo, *hi;
  int64_t tiles;
  bool empty, last;
} piece;

static void cut(lowering *l, const neo_lx *lo, const neo_lx *hi, int64_t tiles, piece out[2]) {
  const neo_lx *mid = neo_lower_floor_to_multiple(l, lo, hi, tiles * SIDE);
  int64_t n;
  out[0] = (piece){.lo = lo, .hi = mid, .tiles = tiles};
  out[1] = (piece){.lo = mid, .hi = hi, .tiles = 1, .last = true};
  for (int k = 0; k < 2; k++)
    out[k].empty = neo_lx_is_int(lx_sub(l, out[k].hi, out[k].lo), &n) && n <= 0;
}

static void tiles_of(lowering *l, neo_block *in, const piece *m, const piece *n,
                     const neo_lx *const *range) {
  job j = {.rows = m->tiles, .columns = n->tiles, .masked = n->last, .range = range};
  if (m->empty || n->empty)
    return;
  in = neo_lower_open(l, in, "n", n->lo, n->hi, n->tiles * SIDE, &j.n);
  j.n_depth = l->depth;
  in = neo_lower_open(l, in, "m", m->lo, m->hi, m->tiles * SIDE, &j.m);
  j.m_depth = l->depth;
  run_job(l, in, &j);
  neo_lower_close(l);
  neo_lower_close(l);
}

void neo_lower_matrix_block(lowering *l, neo_block *in, const neo_lx *const *range) {
  piece m[2], n[2];
  cut(l, range[0], range[1], l->s->loops.tile_m / SIDE, m);
  cut(l, range[2], range[3], l->s->loops.tile_n, n);
  for (int b = 0; b < 2; b++)
    for (int a = 0; a < 2; a++)
      tiles_of(l, in, &m[a], &n[b], range);
}
