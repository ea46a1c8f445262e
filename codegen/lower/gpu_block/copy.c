/* A thread's part of a copy to shared memory. It goes through registers, so that other work hides
 * the loads' latency, or is an asynchronous copy (cp.async). The caller gives the point and step of
 * an element, and its position in shared memory. */
#include "codegen/lower/gpu_block/block.h"
#include "schedule/vector_access.h"
#include <assert.h>

int64_t neo_gpu_widest(neo_type t) {
  return NEO_VECTOR_BYTES / neo_type_bytes(t);
}

int64_t neo_gpu_narrowest(neo_type t) {
  return neo_type_bytes(t) < 4 ? neo_gpu_widest(t) / 2 : neo_gpu_widest(t);
}

/* ---- through registers */

uint32_t neo_gpu_declare_next(const neo_gpu_copy *c, neo_block *in, bool several) {
  neo_kernel *k = c->l->k;
  neo_reg r = {.name = "next", .type = k->bufs.at[c->buf].type, .rank = c->width > 1 ? 2 : 1};
  r.threads = several ? c->threads : 0;
  r.extent[0] = c->copies;
  r.extent[1] = c->width;
  uint32_t next = neo_kernel_reg(k, r);
  neo_ls_reg(k, in, next);
  return next;
}

neo_block *neo_gpu_open_copy(const neo_gpu_copy *c, neo_block *in, bool put, neo_gpu_copied *at) {
  bool strided = put && c->lane_pitch != 1;
  at->lane = NULL;
  in = open_loop(c->l, in, NEO_LOOP_UNROLL, "c", c->copies, &at->i);
  if (c->width == 1)
    return in;
  return open_loop(c->l, in, strided ? NEO_LOOP_UNROLL : NEO_LOOP_VECTOR, "l", c->width, &at->lane);
}

/* Is y a load that is 0 where the guard does not hold, or a rounded one? */
static bool is_guarded(const neo_lx *y, const neo_lx *guard) {
  while (y->kind == NEO_LX_OP && (y->attr == NEO_OP_CAST || y->attr == NEO_OP_TF32))
    y = y->arg[0];
  return y->kind == NEO_LX_LOADIF && neo_lx_implies(y->arg[1], guard) &&
         y->arg[2]->kind == NEO_LX_CONST && y->arg[2]->bits == 0;
}

void neo_gpu_get_next(const neo_gpu_copy *c, neo_block *in, uint32_t next, const neo_gpu_copied *at,
                      const neo_lx *y, const neo_lx *guard) {
  lowering *l = c->l;
  if (!is_guarded(y, guard))
    y = neo_lx_op3(l->k, NEO_OP_SELECT, guard, y, neo_gpu_zero(l, (neo_type)y->type));
  neo_ls_set(l->k, in, next, (const neo_lx *[]){at->i, at->lane}, at->lane ? 2 : 1, y);
}

void neo_gpu_put_next(const neo_gpu_copy *c, neo_block *in, uint32_t next, const neo_gpu_copied *at,
                      const neo_lx *to, const neo_lx *exists) {
  lowering *l = c->l;
  if (at->lane)
    to = lx_add(l, to, lx_mul(l, at->lane, c->lane_pitch));
  const neo_lx *index[] = {at->i, at->lane};
  neo_ls_store(l->k, in, c->buf, to, neo_lx_reg(l->k, next, index, at->lane ? 2 : 1), exists);
}

/* ---- asynchronous */

uint32_t neo_gpu_source_buffer(lowering *l, neo_expr from) {
  uint64_t buf = 0;
  while (neo_expr_node(l->m, from)->op == NEO_OP_SELECT)
    from = neo_expr_arg(l->m, from, 1);
  neo_map_get(&l->buf_of, neo_expr_node(l->m, from)->attr, &buf);
  return (uint32_t)buf;
}

/* The conjunction of all and c, without conjuncts that all implies; null: true. */
static const neo_lx *joined(lowering *l, const neo_lx *all, const neo_lx *c) {
  if (!all)
    return c;
  if (c->kind == NEO_LX_OP && c->attr == NEO_OP_AND)
    return joined(l, joined(l, all, c->arg[0]), c->arg[1]);
  return neo_lx_implies(all, c) ? all : lx_and(l, all, c);
}

/* The offset that y loads; adds the load's conditions to *cond. */
static const neo_lx *source_at(lowering *l, const neo_lx *y, const neo_lx **cond) {
  while (y->kind == NEO_LX_OP && y->attr == NEO_OP_SELECT) {
    *cond = joined(l, *cond, y->arg[0]);
    y = y->arg[1];
  }
  if (y->kind == NEO_LX_LOADIF)
    *cond = joined(l, *cond, y->arg[1]);
  if (y->kind == NEO_LX_LOADIF || y->kind == NEO_LX_LOAD)
    return y->arg[0];
  assert(y->kind == NEO_LX_CONST && "a condition that never holds leaves zero");
  *cond = neo_lx_const(l->k, NEO_BOOL_T, (neo_value){.i = 0});
  return lx_int(l, 0);
}

neo_block *neo_gpu_open_starts(const neo_gpu_copy *c, neo_block *in, const neo_lx **i) {
  return open_loop(c->l, in, NEO_LOOP_UNROLL, "c", c->copies, i);
}

void neo_gpu_start_copy(const neo_gpu_copy *c, neo_block *in, const neo_lx *to, uint32_t from,
                        const neo_lx *y, const neo_lx *cond) {
  const neo_lx *at = source_at(c->l, y, &cond);
  neo_ls_copy(c->l->k, in, c->width, c->buf, to, from, at, cond);
}
