/* Packing of a contraction's operands: the choice of operands that are copied into scratch, their
 * layout there, and blocks of the reduction.
 *
 * A packed operand has the order in which the register tiles read it, so that a tile's reads are
 * contiguous:
 *
 *     columns: scratch[tile of columns][k][column in the tile]
 *     rows:    scratch[tile of rows][k][row in the tile]
 *
 * Rows that are contiguous along k in memory are packed as scratch[row][k]: the copy needs no
 * transposition, and a tile reads each row by itself. Rows that are contiguous in memory are packed
 * as scratch[k][row] if a block is small: it is then copied in vectors. Rows or columns that slide
 * (schedule/sliding.c) are packed as scratch[k][u], where one of the own axes is part of u. k
 * counts the steps of the own axes that the operand uses, in order. Elements for which the operand
 * is not defined (padding, conditions) are zero in scratch, so that the inner loops have no
 * conditions. Elements beyond the end of a block are never used for a result.
 *
 * The layout depends on the operand and the tile alone: one kernel may copy an operand that another
 * kernel reads.
 *
 * Blocks of the reduction are the innermost of the outer loops, or, if the schedule says so, the
 * outermost in a unit. Then all iterations of the other loops reuse the data of a block (in the
 * gradient of a convolution's weights: an image, for each tap), and scratch holds partial sums of
 * all of them:
 *
 *     for unit: for kb: copies; for taps: copies; tiles: acc += partial[tap]; partial[tap] = acc */
#include "codegen/lower/tile/pack.h"

/* ---- planning */

/* Are all loads of the operand inside their buffers without the stage's condition? */
typedef struct {
  lowering *l;
  bool safe;
} safety;

static void check_load(void *ctx, neo_expr e) {
  safety *c = ctx;
  if (neo_expr_node(c->l->m, e)->op != NEO_OP_LOAD)
    return;
  c->safe = c->safe && neo_form_inside(c->l->m, c->l->p, c->l->f, &c->l->facts, e);
}

static bool safe_alone(lowering *l, neo_expr e) {
  safety c = {l, true};
  neo_expr_visit(l->m, e, check_load, &c);
  return c.safe;
}

/* Axes that are constant in a block, or that the operand uses. */
static uint64_t axes_in_reach(const lowering *l, const neo_factor *x) {
  uint64_t shared = (1ULL << l->f->axes.n) - 1;
  const neo_loop_params *s = &l->s->loops;
  if (s->axis_m >= 0)
    shared &= ~(1ULL << s->axis_m);
  for (int64_t k = 0; k < s->fused; k++)
    shared &= ~(1ULL << (s->vector_axis - k));
  return shared | x->axes;
}

static void plan_pack(lowering *l, const neo_stage *s, const stage_bounds *b, const neo_factor *x,
                      neo_expr cond, neo_side side) {
  pack *p = &l->packs[l->n_packs++];
  *p = (pack){.from = x->e, .cond = cond, .side = side, .temp = -1};
  neo_pack_shape shape = neo_pack_shape_of(l->m, l->original, s, x, side, l->s);
  int64_t unit = shape.k_unit;
  p->whole = !cond.i && safe_alone(l, x->e);
  p->k_size = shape.k_size;
  for (uint32_t k = (uint32_t)s->axes.n; k-- > 0;) {
    if (!(x->axes >> (l->f->axes.n + k) & 1))
      continue;
    p->k_coef[k] = unit;
    p->k_extent[k] = shape.k_extent[k];
    unit *= shape.k_extent[k];
    const neo_axis_rec *own = &s->axes.at[k];
    p->axes |= neo_form_axes(l->m, l->f, p->whole ? own->lo : b->lo[k]);
    p->axes |= neo_form_axes(l->m, l->f, p->whole ? own->hi : b->hi[k]);
  }
  p->axes |= x->axes | neo_form_axes(l->m, l->f, cond);
  p->tile_coef = shape.tile_coef;
  p->unit = shape.unit;
  p->slides = shape.slides;
  p->slide = shape.slide;
  p->shift = shape.origin;
  p->reach = shape.span;
  if (shape.slides)
    p->k_coef[shape.slide.own] = shape.slide.beta;
  p->buf = neo_kernel_scratch(l->k, side == NEO_SIDE_ROWS ? "rows" : "columns",
                              neo_expr_type(l->m, x->e), shape.elements);
  if (shape.temp_elements) {
    p->temp_pitch = shape.temp_pitch;
    p->temp_axes = shape.temp_axes;
    p->temp =
        (int32_t)neo_kernel_scratch(l->k, "steps", neo_expr_type(l->m, x->e), shape.temp_elements);
  }
  neo_expr e = neo_fused_expr(l->m, l->original, l->fused_last, l->n_fused, x->e);
  neo_map_set(&l->packed, e.i, l->n_packs);
}

static void plan_partial(lowering *l, const neo_contraction *c) {
  const neo_stage *s = &l->original->stages.at[c->stage];
  neo_partial_shape shape = neo_partial_shape_of(l->m, l->original, l->s);
  l->block.pitch = shape.pitch;
  l->block.size = shape.rows * shape.pitch;
  l->block.partial = neo_kernel_scratch(l->k, "partial", (neo_type)s->accs.at[0].type,
                                        shape.blocks * l->block.size);
}

/* The range of an own axis that the operand does not use may depend on other axes, such as rows,
 * and be empty for some of them. A copy cannot test such a range. Does the operand's safety depend
 * on one? */
static bool needs_moving_range(lowering *l, const neo_stage *s, const stage_bounds *b,
                               const neo_factor *x, neo_expr cond) {
  for (uint32_t k = 0; k < s->axes.n; k++) {
    bool used = x->axes >> (l->f->axes.n + k) & 1;
    if (used || neo_lower_range_is_one(l, b->lo[k], b->hi[k]))
      continue;
    if (neo_lower_range_moves(l, s->axes.at[k].lo, s->axes.at[k].hi) ||
        !neo_lower_safe_under(l, x->e, cond))
      return true;
  }
  return false;
}

/* May a part of a factor be copied? A zero in a part does not replace a condition, because its sum
 * with another part is not zero. So the copy tests no condition, and all elements that it reads
 * must exist. */
static bool part_stands(lowering *l, const neo_stage *s, const stage_bounds *b,
                        const neo_factor *x) {
  return neo_lower_safe_under(l, x->e, (neo_expr){0}) &&
         !needs_moving_range(l, s, b, x, (neo_expr){0});
}

void neo_lower_plan_packs(lowering *l) {
  neo_contraction c;
  if ((!l->s->loops.pack && !l->s->loops.block_k) || !neo_contraction_of(l->m, l->original, &c))
    return;
  const neo_stage *s = &l->original->stages.at[c.stage];
  stage_bounds *b = &l->bounds[c.stage];
  uint64_t reach[NEO_MAX_OPERANDS] = {0};
  bool drop = true;
  neo_lower_facts(l, l->original, s);
  for (uint32_t k = 0; k < c.n_operands; k++) {
    if (!neo_schedule_reads(l->f, l->s, &c, k))
      continue;
    neo_expr cond = {0};
    neo_side side = neo_schedule_side(l->f, l->s, &c.factor[k]);
    /* The finish may also read an operand that does not vary in the reduction. It does so outside
     * of the reduction's conditions and of its domain, so that such an operand is never packed. */
    bool reduced = c.factor[k].axes >> l->f->axes.n;
    if (!(l->s->loops.pack >> k & 1) || !reduced) {
      drop = drop && safe_alone(l, c.factor[k].e);
      continue;
    }
    if (c.factor[k].within) {
      drop = false;
      if (part_stands(l, s, b, &c.factor[k]))
        plan_pack(l, s, b, &c.factor[k], cond, side);
      continue;
    }
    reach[k] = axes_in_reach(l, &c.factor[k]);
    /* The copy tests a part of the condition alone. Neither the operand nor that part may need the
     * rest to be safe. */
    if (b->where_original.i &&
        !neo_condition_take(l->m, l->original, b->where_original, reach[k], &cond) &&
        (!neo_lower_safe_under(l, c.factor[k].e, cond) ||
         (cond.i && !neo_lower_safe_under(l, cond, (neo_expr){0})))) {
      drop = false;
      reach[k] = 0;
      continue;
    }
    if (needs_moving_range(l, s, b, &c.factor[k], cond)) {
      drop = false;
      reach[k] = 0;
      continue;
    }
    plan_pack(l, s, b, &c.factor[k], cond, side);
  }
  if (drop && b->where_original.i) {
    neo_condition_context known = neo_lower_condition_context(l);
    neo_expr left = neo_condition_left(&known, &c, b->where_original, reach);
    if (!left.i || neo_lower_safe_under(
                       l, left, (neo_expr){0})) /* else its reads may need dropped conjuncts */
      b->where_original = left;
    b->where = neo_fused_expr(l->m, l->original, l->fused_last, l->n_fused, b->where_original);
  }
  if (l->s->loops.block_k)
    plan_partial(l, &c);
}

/* ---- blocks of the reduction */
