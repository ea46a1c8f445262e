/* A register tile's sums of products by dots of vectors (schedule/matrix.h).
 *
 *     for tiles of the reduction: for pairs, some at a time:
 *       for row, column unrolled: for lane:
 *         acc[row, column, lane] = dot(rows[.., row, pair], columns[.., column, pair, lane], acc)
 *
 * What the copies left out is zero, so that pairs are counted in whole steps. A tile's rows are in
 * one tile of the operand: their number divides that of its rows, and smaller tiles begin where
 * larger ones end. */
#include "codegen/lower_scope.h"

enum { SIDE = NEO_MATRIX_SIDE, CELLS = SIDE * SIDE, STEPS = NEO_DOT_STEPS };

static const neo_lx *sum(lowering *l, const neo_lx *a, const neo_lx *b) {
  return b ? lx_add(l, a, b) : a;
}

/* Where an operand's cells begin for the tile's first row or column, from that of the block. */
static const neo_lx *first_cell(lowering *l, const neo_lx *base, const neo_lx *beyond,
                                int64_t element) {
  const neo_lx *at = lx_add(l, base, beyond);
  const neo_lx *inside = neo_lx_op2(l->k, NEO_OP_MOD, at, lx_int(l, SIDE));
  return lx_add(l, lx_mul(l, lx_div(l, at, SIDE), l->matrix.tiles * CELLS),
                lx_mul(l, inside, element));
}

typedef struct {
  uint32_t rows, columns;           /* buffers */
  const neo_lx *row_at, *column_at; /* cells of the first pair */
} operands;

static operands operands_of(lowering *l, const tile *t) {
  bool crossed = l->packs[0].side != NEO_SIDE_ROWS;
  operands o = {.rows = l->packs[crossed].buf, .columns = l->packs[!crossed].buf};
  o.row_at = first_cell(l, t->m_pack, t->m_sub, SIDE);
  o.column_at = first_cell(l, t->n_pack, t->n_sub, 1);
  return o;
}

static void step(lowering *l, neo_block *in, const neo_stage *s, const tile *t, const operands *o,
                 const neo_lx *tile_at, const neo_lx *pair) {
  in = neo_lower_open_tile(l, in, t, true);
  const neo_lx *none = lx_int(l, 0), *row = lx_add(l, lx_add(l, o->row_at, tile_at), pair);
  const neo_lx *column = lx_add(l, lx_add(l, o->column_at, tile_at), lx_mul(l, pair, SIDE));
  row = sum(l, row, l->row ? lx_mul(l, l->row, SIDE) : NULL);
  column = sum(l, column, l->col ? lx_mul(l, l->col, l->matrix.tiles * CELLS) : NULL);
  column = sum(l, column, l->lane);
  const neo_lx *index[] = {l->row ? l->row : none, l->col ? l->col : none, l->lane};
  const neo_lx *a = neo_lx_load(l->k, o->rows, row), *b = neo_lx_load(l->k, o->columns, column);
  neo_ls_set(l->k, in, l->acc[s->first_acc].reg, index, 3,
             neo_lx_dot(l->k, a, b, neo_lower_acc(l, s->first_acc)));
  neo_lower_close_tile(l, t);
}

void neo_lower_dots(lowering *l, neo_block *in, const neo_stage *s, const tile *t) {
  const neo_lx *k, *q;
  int64_t pairs = (l->matrix.pairs + STEPS - 1) / STEPS * STEPS;
  operands o = operands_of(l, t);
  in = neo_lower_open(l, in, "k", lx_int(l, 0), lx_int(l, l->matrix.tiles), 1, &k);
  const neo_lx *left = lx_sub(l, lx_int(l, pairs), lx_mul(l, k, SIDE));
  const neo_lx *most = pairs % SIDE ? lx_min(l, left, lx_int(l, SIDE)) : lx_int(l, SIDE);
  neo_block *body = neo_lower_open(l, in, "q", lx_int(l, 0), most, STEPS, &q);
  uint32_t var = neo_kernel_var(l->k, "u");
  neo_ls *few = neo_ls_for(l->k, body, NEO_LOOP_UNROLL, var, lx_int(l, 0), lx_int(l, STEPS), 1);
  step(l, &few->body, s, t, &o, lx_mul(l, k, CELLS), lx_add(l, q, neo_lx_var(l->k, var)));
  neo_lower_close(l);
  neo_lower_close(l);
}
