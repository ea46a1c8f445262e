/* Products of a contraction's tile by threads, with FMA. */
#include "codegen/lower/gpu_tile/tile.h"

/* A dimension of the block, as its threads divide it. */
static neo_gpu_tile_dim dim_of(const operand *o) {
  return (neo_gpu_tile_dim){o->tile, o->vector, o->block / o->tile};
}

static void place_of(const block_tile *x, const neo_lx *out[2]) {
  neo_gpu_place_of(x->p.l, x->p.thread, dim_of(&x->p.o[0]).threads, dim_of(&x->p.o[1]).threads,
                   out);
}

/* The number in the block of a point of the thread. */
static const neo_lx *point_at(const block_tile *x, int k, const neo_lx *place,
                              const neo_gpu_point *p) {
  return lx_add(x->p.l, neo_gpu_group_at(x->p.l, dim_of(&x->p.o[k]), place, p->group), p->element);
}

/* Loads the thread's values of rows or columns at a step of a block. */
static uint32_t get_values(block_tile *x, neo_block *in, const operand *o, const neo_lx *place,
                           const neo_lx *block, const neo_lx *step) {
  lowering *l = x->p.l;
  const neo_lx *start = lx_add(l, lx_mul(l, block, o->elements), lx_mul(l, step, o->pitch));
  return neo_gpu_get_values(l, in, o->side == NEO_SIDE_ROWS ? "a" : "b", dim_of(o), o->buf, start,
                            place);
}

/* The rest of the condition at a step and two points of the thread. */
static const neo_lx *test_left(block_tile *x, const neo_lx *from, const neo_lx *step,
                               const neo_lx *const *place, const neo_gpu_point *at) {
  lowering *l = x->p.l;
  const neo_lx *point[2];
  neo_btile_set_own(x, from, step, NULL);
  const neo_lx *exists = neo_lx_op2(l->k, NEO_OP_LT, lx_add(l, from, step), x->steps);
  for (int k = 0; k < 2; k++) {
    const operand *o = &x->p.o[k];
    point[k] = lx_add(l, o->lo, point_at(x, k, place[k], &at[k]));
    neo_btile_set_shared(l, o->axes, o->fast, point[k], NULL);
    exists = lx_and(l, exists, below(l, point[k], o->total, o->block));
  }
  neo_gpu_begin_guard(l, exists, true);
  const neo_lx *holds = lx_and(l, exists, neo_lower_expr(l, x->left));
  neo_gpu_end_guard(l);
  return holds;
}

void neo_btile_multiply(block_tile *x, neo_block *in, const neo_lx *from, const neo_lx *block) {
  lowering *l = x->p.l;
  const neo_lx *step, *place[2];
  neo_gpu_product p = {.acc = x->p.acc};
  place_of(x, place);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "s", x->p.block_k, &step);
  for (int k = 0; k < 2; k++)
    p.value[k] = get_values(x, in, &x->p.o[k], place[k], block, step);
  for (int k = 0; k < 2; k++)
    in = neo_gpu_open_dim(l, in, dim_of(&x->p.o[k]), &p.at[k]);
  neo_gpu_add_product(l, in, &p, x->left.i ? test_left(x, from, step, place, p.at) : NULL);
}

neo_block *neo_btile_open_points(block_tile *x, neo_block *in, const neo_lx *at[2],
                                 const neo_lx *number[2]) {
  const neo_lx *place[2];
  neo_gpu_point p;
  place_of(x, place);
  for (int k = 0; k < 2; k++) {
    in = neo_gpu_open_dim(x->p.l, in, dim_of(&x->p.o[k]), &p);
    at[k] = point_at(x, k, place[k], &p);
    number[k] = p.number;
  }
  return in;
}
