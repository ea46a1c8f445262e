/* A register tile's sums of products by dot instructions of vectors (schedule/pairs/pairs.h).
 *
 *     for tiles of the reduction: for pairs, some at a time:
 *       for row, column unrolled: for lane:
 *         acc[row, column, lane] = dot(rows[.., row, pair], columns[.., column, pair, lane], acc)
 *
 * Packed operands are padded with zeros, so that the number of pairs is a multiple of the step. An
 * operand that is read in place has the pairs that exist; if the last one lacks its second number,
 * that is zero. A tile's rows are in one tile of the packed operand: the tile's height divides the
 * height of that one, and smaller tiles begin where larger ones end. */
#include "codegen/lower/pairs/pairs.h"

enum { SIDE = NEO_PAIRS_SIDE, CELLS = SIDE * SIDE, STEPS = NEO_DOT_STEPS };

typedef struct {
  const pack *copy;  /* null: the operand is read in place */
  neo_expr in_place; /* then the operand */
  const neo_lx *at;  /* cell of the tile's first pair */
  bool rows;
} operand;

typedef struct {
  lowering *l;
  const neo_stage *s;
  const tile *t;
  operand of[2];
  int64_t lo;            /* start of the only reduction axis, if operands are read in place */
  const neo_lx *tile_of; /* current tile of the reduction */
  bool lacks_second;
} dots;

/* ---- operands */

/* The operand's first cell for the tile's first row or column, given that of the block. */
static const neo_lx *first_cell(lowering *l, const neo_lx *base, const neo_lx *beyond,
                                int64_t element) {
  const neo_lx *at = lx_add(l, base, beyond);
  const neo_lx *inside = neo_lx_op2(l->k, NEO_OP_MOD, at, lx_int(l, SIDE));
  return lx_add(l, lx_mul(l, lx_div(l, at, SIDE), l->matrix.tiles * CELLS),
                lx_mul(l, inside, element));
}

static void set_operands(dots *d) {
  lowering *l = d->l;
  const tile *t = d->t;
  uint32_t n = 0;
  for (int k = 0; k < 2; k++) {
    bool rows = l->matrix.side[k] == NEO_SIDE_ROWS;
    operand *o = &d->of[k];
    *o = (operand){.rows = rows, .in_place = l->matrix.narrow[k]};
    if (l->s->loops.pack >> k & 1)
      o->copy = &l->packs[n++];
    if (!rows)
      o->at = first_cell(l, t->n_pack, t->n_sub, 1);
    else
      o->at = t->m_axis < 0 ? lx_int(l, 0) : first_cell(l, t->m_pack, t->m_sub, SIDE);
  }
}

static const neo_lx *copied(dots *d, const operand *o, const neo_lx *pair) {
  lowering *l = d->l;
  const neo_lx *at = lx_add(l, o->at, lx_mul(l, d->tile_of, CELLS));
  at = lx_add(l, at, o->rows ? pair : lx_mul(l, pair, SIDE));
  if (o->rows)
    at = l->row ? lx_add(l, at, lx_mul(l, l->row, SIDE)) : at;
  else
    at = l->col ? lx_add(l, at, lx_mul(l, l->col, l->matrix.tiles * CELLS)) : at;
  return neo_lx_load(l->k, o->copy->buf, o->rows ? at : lx_add(l, at, l->lane));
}

static const neo_lx *in_place(dots *d, const operand *o, const neo_lx *pair) {
  lowering *l = d->l;
  const neo_lx *value[2], *at = lx_add(l, lx_mul(l, d->tile_of, 2 * SIDE), lx_mul(l, pair, 2));
  neo_expr e = neo_fused_expr(l->m, l->original, l->fused_last, l->n_fused, o->in_place);
  for (int k = 0; k < 2; k++) {
    neo_lower_set_axis(l, (uint32_t)l->f->axes.n, lx_add(l, at, lx_int(l, d->lo + k)),
                       DEPTH_UNROLL);
    value[k] = k && d->lacks_second ? neo_lx_const(l->k, NEO_BF16_T, (neo_value){.i = 0})
                                    : neo_lower_expr(l, e);
  }
  return neo_lx_pair(l->k, value[0], value[1]);
}

/* ---- loops */

static void step(dots *d, neo_block *in, const neo_lx *pair) {
  lowering *l = d->l;
  const neo_lx *value[2], *none = lx_int(l, 0);
  bool crossed = !d->of[0].rows;
  in = neo_lower_open_tile(l, in, d->t, true);
  for (int k = 0; k < 2; k++)
    value[k] = (d->of[k].copy ? copied : in_place)(d, &d->of[k], pair);
  const neo_lx *acc = neo_lower_acc(l, d->s->first_acc);
  const neo_lx *index[] = {l->row ? l->row : none, l->col ? l->col : none, l->lane};
  neo_ls_set(l->k, in, l->acc[d->s->first_acc].reg, index, 3,
             neo_lx_dot(l->k, value[crossed], value[!crossed], acc));
  neo_lower_close_tile(l);
}

/* Pairs [lo, hi) of the current tile of the reduction, n of them unrolled. */
static void steps(dots *d, neo_block *in, int64_t lo, int64_t hi, int64_t n) {
  lowering *l = d->l;
  const neo_lx *q, *u = lx_int(l, 0);
  if (lo >= hi)
    return;
  in = neo_lower_open(l, in, "q", lx_int(l, lo), lx_int(l, hi), n, &q);
  if (n > 1) {
    uint32_t var = neo_kernel_var(l->k, "u");
    u = neo_lx_var(l->k, var);
    in = &neo_ls_for(l->k, in, NEO_LOOP_UNROLL, var, lx_int(l, 0), lx_int(l, n), 1)->loop.body;
  }
  step(d, in, lx_add(l, q, u));
  neo_lower_close(l);
}

/* Pairs [0, n) of the reduction. */
static void all_pairs(dots *d, neo_block *in, int64_t n) {
  lowering *l = d->l;
  int64_t rest = n % SIDE, whole = rest / STEPS * STEPS;
  if (n >= SIDE) {
    neo_block *body = neo_lower_open(l, in, "k", lx_int(l, 0), lx_int(l, n / SIDE), 1, &d->tile_of);
    steps(d, body, 0, SIDE, STEPS);
    neo_lower_close(l);
  }
  d->tile_of = lx_int(l, n / SIDE);
  steps(d, in, 0, whole, STEPS);
  steps(d, in, whole, rest, 1);
}

void neo_lower_dots(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  dots d = {.l = l, .s = s, .t = t};
  int64_t hi;
  set_operands(&d);
  if (l->s->loops.pack == 3 ||
      !neo_pairs_in_place(l->m, l->original, l->s, &l->matrix, &d.lo, &hi)) {
    all_pairs(&d, in, (l->matrix.pairs + STEPS - 1) / STEPS * STEPS);
    return;
  }
  int64_t n = hi > d.lo ? hi - d.lo : 0;
  all_pairs(&d, in, n / 2);
  d.lacks_second = n % 2;
  if (d.lacks_second)
    step(&d, in, lx_int(l, n / 2 % SIDE));
}
