/* Units of work of a contraction's tiles: batches, blocks of rows, blocks of columns. */
#include "codegen/lower/gpu_tile/tile.h"

static void make_axes(block_tile *x) {
  lowering *l = x->p.l;
  x->steps = lx_int(l, 1);
  for (uint32_t k = 0; k < x->s->axes.n; k++) {
    const neo_axis_rec *own = &x->s->axes.at[k];
    x->least[k] = neo_lower_expr(l, own->lo);
    const neo_lx *n = lx_sub(l, neo_lower_expr(l, own->hi), x->least[k]);
    x->length[k] = lx_max(l, n, lx_int(l, 0));
    x->steps = neo_lx_op2(l->k, NEO_OP_MUL, x->steps, x->length[k]);
  }
}

static const neo_lx *quotient(lowering *l, const neo_lx *a, const neo_lx *b) {
  return neo_lx_op2(l->k, NEO_OP_DIV, a, b);
}

/* Sets the block of rows and the block of columns of unit u, in row-major order; returns the
 * batch. */
static const neo_lx *in_order(lowering *l, const neo_lx *u, const neo_lx *const *blocks,
                              const neo_lx **at) {
  for (int k = 1; k >= 0; k--) {
    at[k] = lx_mod(l, u, blocks[k]);
    u = quotient(l, u, blocks[k]);
  }
  return u;
}

/* Does so in groups of GROUP blocks of rows, in which units at the same columns are neighbours (a
 * swizzle for the L2 cache). Persistent blocks that run at the same time then read less of the
 * operands than a few rows and all columns. The last group of a batch may be lower. */
static const neo_lx *in_groups(const block_tile *x, const neo_lx *u, const neo_lx *const *blocks,
                               const neo_lx **at) {
  enum { GROUP = 8 };
  lowering *l = x->p.l;
  int64_t group = x->p.o[1].block > x->p.o[0].block ? 2 * GROUP : GROUP, rows;
  const neo_lx *tiles = neo_lx_op2(l->k, NEO_OP_MUL, blocks[0], blocks[1]);
  const neo_lx *of_group = lx_mul(l, blocks[1], group), *low = lx_int(l, group);
  const neo_lx *batch = quotient(l, u, tiles), *in_batch = lx_mod(l, u, tiles);
  const neo_lx *first = lx_mul(l, quotient(l, in_batch, of_group), group);
  if (!neo_lx_is_int(blocks[0], &rows) || rows % group)
    low = lx_min(l, lx_sub(l, blocks[0], first), low);
  const neo_lx *in_group = lx_mod(l, in_batch, of_group);
  at[0] = lx_add(l, first, lx_mod(l, in_group, low));
  at[1] = quotient(l, in_group, low);
  return batch;
}

/* Opens the loop over units, and sets the batch, block of rows and block of columns of each. */
neo_block *neo_btile_open_units(block_tile *x, neo_block *in) {
  lowering *l = x->p.l;
  uint64_t batches = ((1ULL << l->f->axes.n) - 1) & ~x->p.o[0].axes & ~x->p.o[1].axes;
  const neo_lx *blocks[2], *at[2], *n = neo_gpu_points(l, NULL, batches), *u;
  for (int k = 0; k < 2; k++) {
    blocks[k] = neo_lower_ceil_div(l, x->p.o[k].total, x->p.o[k].block);
    n = neo_lx_op2(l->k, NEO_OP_MUL, n, blocks[k]);
  }
  neo_block *body = neo_lower_open_units(l, in, n, &u);
  u = x->persistent ? in_groups(x, u, blocks, at) : in_order(l, u, blocks, at);
  for (int k = 0; k < 2; k++)
    x->p.o[k].lo = lx_mul(l, at[k], x->p.o[k].block);
  neo_btile_set_shared(l, batches, 63, u, NULL);
  neo_lower_facts(l, l->f, x->s);
  make_axes(x);
  return body;
}
