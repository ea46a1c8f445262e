/* Points, registers, shared memory and guards of blocks of threads; the points of each thread. */
#include "codegen/lower/gpu_block/block.h"

enum { WARP_ROWS = 4, WARP_COLUMNS = 8 };

const neo_lx *neo_gpu_zero(lowering *l, neo_type t) {
  return neo_lx_const(l->k, t, (neo_value){.i = 0});
}

const neo_lx *neo_gpu_extent(lowering *l, const neo_stage *s, uint32_t k) {
  uint32_t n = (uint32_t)l->f->axes.n;
  if (k < n)
    return neo_lower_extent(l, k);
  return lx_max(l, neo_lower_expr(l, s->axes.at[k - n].hi), lx_int(l, 0));
}

const neo_lx *neo_gpu_points(lowering *l, const neo_stage *s, uint64_t axes) {
  const neo_lx *n = lx_int(l, 1);
  for (uint32_t k = 0; k < l->f->axes.n + (s ? s->axes.n : 0); k++)
    if (axes >> k & 1)
      n = neo_lx_op2(l->k, NEO_OP_MUL, n, neo_gpu_extent(l, s, k));
  return n;
}

uint32_t neo_gpu_shared_buffer(lowering *l, const char *name, neo_type t, int64_t elements,
                               int64_t align_bytes) {
  return neo_kernel_buf(l->k, (neo_kbuf){.name = name,
                                         .type = (uint8_t)t,
                                         .use = NEO_BUF_SCRATCH,
                                         .scratch_elems = elements,
                                         .no_alias = true,
                                         .align = align_bytes});
}

uint32_t neo_gpu_thread_reg(lowering *l, neo_block *in, const char *name, neo_type t, int64_t rows,
                            int64_t columns, int64_t threads) {
  neo_reg r = {.name = name, .type = (uint8_t)t, .rank = 2, .threads = threads};
  r.extent[0] = rows;
  r.extent[1] = columns;
  uint32_t reg = neo_kernel_reg(l->k, r);
  neo_ls_reg(l->k, in, reg);
  return reg;
}

void neo_gpu_clear(lowering *l, neo_block *in, uint32_t reg, const char *row, const char *column) {
  neo_reg r = l->k->regs.at[reg];
  const neo_lx *at[2];
  in = open_loop(l, in, NEO_LOOP_UNROLL, row, r.extent[0], &at[0]);
  in = open_loop(l, in, NEO_LOOP_UNROLL, column, r.extent[1], &at[1]);
  neo_ls_set(l->k, in, reg, at, 2, neo_gpu_zero(l, (neo_type)r.type));
}

void neo_gpu_begin_guard(lowering *l, const neo_lx *guard, bool bounded) {
  l->guard = guard;
  l->exact = true;
  l->bounded = bounded;
  neo_lower_forget(l);
}

void neo_gpu_end_guard(lowering *l) {
  l->guard = NULL;
  l->exact = l->bounded = false;
  neo_lower_forget(l);
}

const neo_lx *neo_gpu_neighbour(lowering *l, int64_t stages, const neo_lx *stage, bool next) {
  const neo_lx *zero = lx_int(l, 0), *last = lx_int(l, stages - 1);
  const neo_lx *ends = neo_lx_op2(l->k, NEO_OP_EQ, stage, next ? last : zero);
  return neo_lx_op3(l->k, NEO_OP_SELECT, ends, next ? zero : last,
                    lx_add(l, stage, lx_int(l, next ? 1 : -1)));
}

/* ---- points of a thread */

int64_t neo_gpu_vector_of(int64_t n, neo_type t) {
  int64_t most = 16 / neo_type_bytes(t);
  return n % 4 == 0 && most >= 4 ? 4 : n % 2 == 0 && most >= 2 ? 2 : 1;
}

void neo_gpu_place_of(lowering *l, const neo_lx *thread, int64_t height, int64_t width,
                      const neo_lx *out[2]) {
  if (height % WARP_ROWS || width % WARP_COLUMNS) {
    out[0] = lx_div(l, thread, width);
    out[1] = lx_mod(l, thread, lx_int(l, width));
    return;
  }
  int64_t warps = width / WARP_COLUMNS;
  const neo_lx *warp = lx_div(l, thread, NEO_WARP), *lane = lx_mod(l, thread, lx_int(l, NEO_WARP));
  out[0] = lx_add(l, lx_mul(l, lx_div(l, warp, warps), WARP_ROWS), lx_div(l, lane, WARP_COLUMNS));
  out[1] = lx_add(l, lx_mul(l, lx_mod(l, warp, lx_int(l, warps)), WARP_COLUMNS),
                  lx_mod(l, lane, lx_int(l, WARP_COLUMNS)));
}

const neo_lx *neo_gpu_group_at(lowering *l, neo_gpu_tile_dim s, const neo_lx *place,
                               const neo_lx *group) {
  return lx_add(l, lx_mul(l, place, s.vector), lx_mul(l, group, s.threads * s.vector));
}

neo_block *neo_gpu_open_dim(lowering *l, neo_block *in, neo_gpu_tile_dim s, neo_gpu_point *p) {
  in = open_loop(l, in, NEO_LOOP_UNROLL, "g", s.tile / s.vector, &p->group);
  in = open_loop(l, in, NEO_LOOP_UNROLL, "e", s.vector, &p->element);
  p->number = lx_add(l, lx_mul(l, p->group, s.vector), p->element);
  return in;
}
