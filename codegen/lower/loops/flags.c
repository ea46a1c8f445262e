/* Blocks of rows without work. A tensor of bools, the flags, says which rows of a shared axis
 * change, or are needed. Most rows of a large table do not, and a test of each row would cost more
 * than the rows that do. So a vector of flags is tested first:
 *
 *     for n in 0..N: if flag[n]: row(n)
 *     ->
 *     for b in 0..N step 64
 *       some = true
 *       if b + 64 <= N: some = any[l] flag[b + l]
 *       if some: for n in b..min(b + 64, N): if flag[n]: row(n) */
#include "codegen/lower/loops/loops.h"
#include "schedule/contract.h"
#include "schedule/extent.h"

enum { LEAST_BLOCKS = 4 };

neo_form_flags neo_lower_flags(lowering *l) {
  neo_form_flags flags, none = {0};
  if (l->n_fused > 1 || neo_form_row_block(l->original) ||
      !neo_form_flags_of(l->m, l->original, &flags))
    return none;
  int64_t rows = neo_axis_most(l->m, &l->original->axes.at[flags.axis]);
  return rows >= LEAST_BLOCKS * NEO_FLAGS_BLOCK ? flags : none;
}

/* Any of the lanes first, first + step, ... of a register. */
static const neo_lx *any_of(lowering *l, uint32_t reg, int64_t first, int64_t step) {
  if (step == NEO_FLAGS_BLOCK) {
    const neo_lx *index[] = {lx_int(l, 0), lx_int(l, 0), lx_int(l, first)};
    return neo_lx_reg(l->k, reg, index, 3);
  }
  return neo_lx_op2(l->k, NEO_OP_OR, any_of(l, reg, first, 2 * step),
                    any_of(l, reg, first + step, 2 * step));
}

static const neo_lx *any_flag(lowering *l, neo_block *in, const neo_form_flags *flags,
                              const neo_lx *from) {
  uint32_t reg = neo_lower_reg(l, in, "flag", NEO_BOOL_T, 1, 1, NEO_FLAGS_BLOCK);
  uint32_t lane = neo_kernel_var(l->k, "l");
  const neo_lx *zero = lx_int(l, 0), *at = neo_lx_var(l->k, lane);
  neo_ls *loop = neo_ls_for(l->k, in, NEO_LOOP_VECTOR, lane, zero, lx_int(l, NEO_FLAGS_BLOCK), 1);
  neo_lower_set_axis(l, flags->axis, lx_add(l, from, at), ++l->depth);
  const neo_lx *index[] = {zero, zero, at}, *flag = neo_lower_expr(l, flags->load);
  neo_ls_set(l->k, &loop->loop.body, reg, index, 3, flag);
  l->depth--;
  neo_lower_forget(l);
  return any_of(l, reg, 0, 1);
}

neo_block *neo_lower_open_flagged(lowering *l, neo_block *in, const neo_form_flags *flags,
                                  const neo_lx *lo, const neo_lx *hi, const neo_lx **v) {
  const neo_lx *from, *zero = lx_int(l, 0), *index[] = {zero, zero};
  in = neo_lower_open(l, in, "b", lo, hi, NEO_FLAGS_BLOCK, &from);
  const neo_lx *to = lx_add(l, from, lx_int(l, NEO_FLAGS_BLOCK));
  uint32_t some = neo_lower_reg(l, in, "some", NEO_BOOL_T, 1, 1, 1);
  neo_ls_set(l->k, in, some, index, 2, neo_lx_const(l->k, NEO_BOOL_T, (neo_value){.i = 1}));
  neo_block *whole = &neo_ls_if(l->k, in, neo_lx_op2(l->k, NEO_OP_LE, to, hi))->branch.then;
  neo_ls_set(l->k, whole, some, index, 2, any_flag(l, whole, flags, from));
  in = &neo_ls_if(l->k, in, neo_lx_reg(l->k, some, index, 2))->branch.then;
  return neo_lower_open(l, in, "i", from, lx_min(l, to, hi), 1, v);
}

void neo_lower_close_flagged(lowering *l) {
  neo_lower_close(l);
  neo_lower_close(l);
}
