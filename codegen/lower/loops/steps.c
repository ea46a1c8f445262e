/* Blocks of the reduction, and packing of operands around them. */
#include "codegen/lower/loops/loops.h"
#include "codegen/lower/pairs/pairs.h"
#include "codegen/lower/tile/pack.h"

/* Scratch begins at the least value of each own axis; at the block's start of the first one. */
static void set_origins(lowering *l, const neo_stage *s) {
  for (uint32_t k = 0; k < s->axes.n; k++) {
    int64_t lo = 0, hi = 0;
    neo_axis_range(l->m, l->original, s, k, &lo, &hi);
    l->k_origin[k] = k == 0 && l->block.on ? l->block.lo : lx_int(l, lo);
  }
  l->k_origin_depth = l->depth;
}

static const neo_stage *summing_stage(lowering *l, const stage_bounds **b) {
  neo_contraction c;
  bool wanted = l->n_packs || l->s->loops.block_k;
  if (!wanted || !neo_contraction_of(l->m, l->original, &c))
    return NULL;
  *b = &l->bounds[c.stage];
  return &l->original->stages.at[c.stage];
}

void neo_lower_make_packs(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  const stage_bounds *b = NULL;
  const neo_stage *s = summing_stage(l, &b);
  if (!s)
    return;
  set_origins(l, s);
  neo_lower_facts(l, l->original, s);
  for (uint32_t k = 0; k < l->n_packs; k++)
    if (l->packs[k].level == level && l->matrix.on)
      neo_lower_matrix_copy(l, in, &l->packs[k], range);
    else if (l->packs[k].level == level)
      neo_lower_copy(l, in, &l->packs[k], s, b, range);
  neo_lower_facts(l, l->f, NULL);
}

neo_block *neo_lower_open_steps(lowering *l, neo_block *in) {
  const neo_lx *v;
  const stage_bounds *b = NULL;
  int64_t size = l->s->loops.block_k, from, to;
  summing_stage(l, &b);
  /* at least one block, so that an empty sum is stored too */
  const neo_lx *lo = neo_lower_expr(l, b->lo[0]), *hi = neo_lower_expr(l, b->hi[0]);
  const neo_lx *end = lx_max(l, hi, lx_add(l, lo, lx_int(l, 1)));
  neo_block *body = neo_lower_open(l, in, "kb", lo, end, size, &v);
  const neo_lx *next = lx_add(l, v, lx_int(l, size));
  bool known = neo_lx_is_int(lo, &from) && neo_lx_is_int(hi, &to);
  bool even = known && from < to && (to - from) % size == 0;
  l->block.on = true;
  l->block.lo = v;
  l->block.hi = even ? next : lx_min(l, next, hi);
  l->block.is_first = neo_lx_op2(l->k, NEO_OP_EQ, v, lo);
  l->block.is_last = neo_lx_op2(l->k, NEO_OP_LE, end, next);
  return body;
}

void neo_lower_close_steps(lowering *l) {
  l->block.on = false;
  neo_lower_close(l);
}

static void one_block(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  l->block.m_lo = range[0];
  l->block.n_lo = range[2];
  neo_lower_make_packs(l, in, level, range);
  neo_lower_block(l, in, range);
}

void neo_lower_blocks(lowering *l, neo_block *in, int32_t level, const neo_lx *const *range) {
  const stage_bounds *b = NULL;
  if (l->block.on || !summing_stage(l, &b) || !l->s->loops.block_k) {
    one_block(l, in, level, range);
    return;
  }
  one_block(l, neo_lower_open_steps(l, in), level, range);
  neo_lower_close_steps(l);
}
