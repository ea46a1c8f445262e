/* Products of a contraction's tile by threads, with FMA. */
#include "codegen/lower/gpu_tile/tile.h"

enum { WARP = 32, WARP_ROWS = 4, WARP_COLUMNS = 8 };

/* Place of the thread along rows (0) and columns (1), in tiles. */
static void place_of(const block_tile *x, const neo_lx *out[2]) {
  lowering *l = x->l;
  int64_t tall = x->o[0].block / x->o[0].tile, wide = x->o[1].block / x->o[1].tile;
  if (tall % WARP_ROWS || wide % WARP_COLUMNS) {
    out[0] = lx_div(l, x->thread, wide);
    out[1] = lx_mod(l, x->thread, lx_int(l, wide));
    return;
  }
  int64_t warps = wide / WARP_COLUMNS;
  const neo_lx *warp = lx_div(l, x->thread, WARP), *lane = lx_mod(l, x->thread, lx_int(l, WARP));
  out[0] = lx_add(l, lx_mul(l, lx_div(l, warp, warps), WARP_ROWS), lx_div(l, lane, WARP_COLUMNS));
  out[1] = lx_add(l, lx_mul(l, lx_mod(l, warp, lx_int(l, warps)), WARP_COLUMNS),
                  lx_mod(l, lane, lx_int(l, WARP_COLUMNS)));
}

/* The thread's row (or column) `element` of group `group`, counted from the block's first. */
static const neo_lx *element_of(const block_tile *x, const operand *o, const neo_lx *place,
                                const neo_lx *group, const neo_lx *element) {
  lowering *l = x->l;
  const neo_lx *at = lx_mul(l, place, o->vector);
  at = lx_add(l, at, lx_mul(l, group, o->block / o->tile * o->vector));
  return element ? lx_add(l, at, element) : at;
}

/* A vector of rows or columns for each group, at a step of a block of them. */
static void get_values(block_tile *x, neo_block *in, operand *o, const neo_lx *place,
                       const neo_lx *block, const neo_lx *step) {
  lowering *l = x->l;
  neo_reg r = {.name = o->side == NEO_SIDE_ROWS ? "a" : "b", .rank = 2};
  const neo_lx *group, *lane;
  r.type = l->k->bufs.at[o->buf].type;
  r.extent[0] = o->tile / o->vector;
  r.extent[1] = o->vector;
  o->value = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, o->value);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", r.extent[0], &group);
  in = open_loop(l, in, NEO_LOOP_VECTOR, "l", o->vector, &lane);
  const neo_lx *at = lx_add(l, lx_mul(l, block, o->elements), lx_mul(l, step, o->pitch));
  at = lx_add(l, at, element_of(x, o, place, group, NULL));
  neo_ls_set(l->k, in, o->value, (const neo_lx *[]){group, lane}, 2,
             neo_lx_load(l->k, o->buf, lx_add(l, at, lane)));
}

/* Loops over groups and their elements: returns the number in the tile. */
static neo_block *open_elements(block_tile *x, neo_block *in, const operand *o,
                                const neo_lx *index[2], const neo_lx **number) {
  in = open_loop(x->l, in, NEO_LOOP_UNROLL, "g", o->tile / o->vector, &index[0]);
  in = open_loop(x->l, in, NEO_LOOP_UNROLL, "e", o->vector, &index[1]);
  *number = lx_add(x->l, lx_mul(x->l, index[0], o->vector), index[1]);
  return in;
}

void neo_btile_multiply(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *block) {
  lowering *l = x->l;
  const neo_lx *step, *i[2], *j[2], *at[2], *place[2];
  place_of(x, place);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", x->block_k, &step);
  for (int k = 0; k < 2; k++)
    get_values(x, in, &x->o[k], place[k], block, step);
  in = open_elements(x, in, &x->o[0], i, &at[0]);
  in = open_elements(x, in, &x->o[1], j, &at[1]);
  const neo_lx *old = neo_lx_reg(l->k, x->acc, at, 2);
  const neo_lx *y = neo_lx_fma(l->k, neo_lx_reg(l->k, x->o[0].value, i, 2),
                               neo_lx_reg(l->k, x->o[1].value, j, 2), old);
  if (x->left.i) {
    neo_btile_set_own(x, from, step, NULL);
    step = lx_add(l, from, step);
    for (int k = 0; k < 2; k++) {
      const neo_lx *e = element_of(x, &x->o[k], place[k], (k ? j : i)[0], (k ? j : i)[1]);
      neo_btile_set_shared(l, x->o[k].axes, x->o[k].fast, lx_add(l, x->o[k].lo, e), NULL);
    }
    const neo_lx *exists = neo_lx_op2(l->k, NEO_OP_LT, step, x->steps), *outer = l->guard;
    for (int k = 0; k < 2; k++) {
      const neo_lx *e = element_of(x, &x->o[k], place[k], (k ? j : i)[0], (k ? j : i)[1]);
      exists = lx_and(l, exists, below(l, lx_add(l, x->o[k].lo, e), x->o[k].total, x->o[k].block));
    }
    l->guard = exists;
    l->exact = l->bounded = true;
    neo_lower_forget(l);
    y = neo_lx_op3(l->k, NEO_OP_SELECT, lx_and(l, exists, neo_lower_expr(l, x->left)), y, old);
    l->guard = outer;
    l->exact = l->bounded = false;
    neo_lower_forget(l);
  }
  neo_ls_set(l->k, in, x->acc, at, 2, y);
}

neo_block *neo_btile_open_points(block_tile *x, neo_block *in, const neo_lx *at[2],
                                 const neo_lx *number[2]) {
  const neo_lx *place[2], *index[2];
  place_of(x, place);
  for (int k = 0; k < 2; k++) {
    in = open_elements(x, in, &x->o[k], index, &number[k]);
    at[k] = element_of(x, &x->o[k], place[k], index[0], index[1]);
  }
  return in;
}
