/* The reduction loops of a stage. Its condition narrows their ranges; the rest of the condition is
 * a branch or a mask. */
#include "codegen/lower/common/acc.h"

/* Does something that uses these axes change inside the tile? */
static bool changes_in_tile(const lowering *l, uint64_t axes) {
  int64_t am = l->lanes.rows, an = l->lanes.columns;
  if (neo_lower_lanes_shared(l))
    an = l->lanes.vector_axis;
  if (am >= 0 && axes >> am & 1)
    return true;
  for (int64_t k = 0; an >= 0 && k < l->n_fused; k++)
    if (axes >> (an - k) & 1)
      return true;
  return false;
}

/* May a loop's bounds or a branch use the expression? It must not change inside the tile. */
static bool fixed_in_tile(const lowering *l, neo_expr e) {
  return !changes_in_tile(l, neo_form_axes(l->m, l->f, e));
}

static bool uses_own_axes(const lowering *l, neo_expr e) {
  return neo_form_axes(l->m, l->f, e) >> l->f->axes.n;
}

/* The conjuncts of the condition that change inside of the tile, for fixed own axes of the stage,
 * or those that do not; 0: none. */
static neo_expr conjuncts(const lowering *l, neo_expr where, bool change) {
  neo_node n = *neo_expr_node(l->m, where);
  if (n.op == NEO_OP_AND) {
    neo_expr a = conjuncts(l, neo_list_expr(l->m, n.arg, 0), change);
    neo_expr b = conjuncts(l, neo_list_expr(l->m, n.arg, 1), change);
    return a.i && b.i ? neo_op2(l->m, NEO_OP_AND, a, b) : a.i ? a : b;
  }
  uint64_t shared = ((uint64_t)1 << l->f->axes.n) - 1;
  bool changes = changes_in_tile(l, neo_form_axes(l->m, l->f, where) & shared);
  return changes == change ? where : (neo_expr){0};
}

/* Narrows the range of own axis k by the condition, or, where that would be another one in each
 * row, by the conjuncts that are the same in all. */
static bool narrow(lowering *l, uint32_t axis, bool outermost, neo_expr *where, neo_expr *lo,
                   neo_expr *hi) {
  for (int part = 0; part < 2; part++) {
    neo_expr by = part ? conjuncts(l, *where, false) : *where, rest;
    neo_expr left = part ? conjuncts(l, *where, true) : (neo_expr){0};
    if (!by.i || !neo_tighten(l->p, &l->facts, axis, by, lo, hi, &rest))
      return false;
    if (!fixed_in_tile(l, *lo) || !fixed_in_tile(l, *hi) ||
        (outermost && (uses_own_axes(l, *lo) || uses_own_axes(l, *hi))))
      continue;
    *where = rest.i && left.i ? neo_op2(l->m, NEO_OP_AND, rest, left) : rest.i ? rest : left;
    return true;
  }
  return false;
}

stage_bounds neo_lower_bounds_of(lowering *l, const neo_stage *s, uint32_t outermost) {
  stage_bounds b = {.where_original = s->where};
  uint32_t first = (uint32_t)l->f->axes.n;
  neo_lower_facts(l, l->original, s);
  for (uint32_t k = 0; k < s->axes.n; k++) {
    b.lo[k] = s->axes.at[k].lo;
    b.hi[k] = s->axes.at[k].hi;
    neo_expr lo, hi;
    if (!b.where_original.i || !narrow(l, first + k, k == outermost, &b.where_original, &lo, &hi))
      continue;
    b.lo[k] = lo;
    b.hi[k] = hi;
  }
  b.where = neo_fused_expr(l->m, l->original, l->fused_last, l->n_fused, b.where_original);
  b.n_clips = neo_lower_clips_of(l, b.where, &b.only_clips, b.clip);
  return b;
}

void neo_lower_bounds(lowering *l) {
  l->bounds = NEO_NEW_ARRAY(l->a, stage_bounds, l->f->stages.n + 1);
  for (size_t k = 0; k < l->original->stages.n; k++)
    if (l->original->stages.at[k].accs.n)
      l->bounds[k] = neo_lower_bounds_of(l, &l->original->stages.at[k], 0);
}

/* Divides the condition into the conjuncts that are the same in all of the tile, and along the
 * lanes, and the others. */
static void divide(const lowering *l, neo_expr where, uint32_t lane_axis, neo_expr *fixed,
                   neo_expr *left) {
  neo_node n = *neo_expr_node(l->m, where);
  if (n.op == NEO_OP_AND) {
    divide(l, neo_list_expr(l->m, n.arg, 0), lane_axis, fixed, left);
    divide(l, neo_list_expr(l->m, n.arg, 1), lane_axis, fixed, left);
    return;
  }
  bool lanes = lane_axis != UINT32_MAX && neo_form_axes(l->m, l->f, where) >> lane_axis & 1;
  neo_expr *to = fixed_in_tile(l, where) && !lanes ? fixed : left;
  *to = to->i ? neo_op2(l->m, NEO_OP_AND, *to, where) : where;
}

neo_block *neo_lower_open_where(lowering *l, neo_block *in, const stage_bounds *b,
                                uint32_t lane_axis, neo_expr *left) {
  neo_expr fixed = {0}, rest = {0};
  *left = b->where;
  if (b->where.i)
    divide(l, b->where, lane_axis, &fixed, &rest);
  /* A branch on a part of the condition pays if that part depends on data, which may exclude most
   * steps. Its reads must be safe without the other part. */
  bool part = fixed.i && rest.i;
  if (!fixed.i ||
      (part && (!neo_form_reads(l->m, fixed) || !neo_lower_safe_under(l, fixed, (neo_expr){0}))))
    return in;
  *left = rest;
  neo_lower_forget(l);
  return &neo_ls_if(l->k, in, neo_lower_expr(l, part ? fixed : b->where))->branch.then;
}

void neo_lower_own_range(lowering *l, const stage_bounds *b, uint32_t k, const neo_lx **lo,
                         const neo_lx **hi) {
  bool block = k == 0 && l->block.on;
  *lo = block ? l->block.lo : neo_lower_expr(l, b->lo[k]);
  *hi = block ? l->block.hi : neo_lower_expr(l, b->hi[k]);
}

typedef struct {
  const lowering *l;
  uint32_t first, n; /* accumulators */
  bool found;
} acc_use;

static void find_acc(void *ctx, neo_expr e) {
  acc_use *u = ctx;
  const neo_node *n = neo_expr_node(u->l->m, e);
  u->found = u->found || (n->op == NEO_OP_ACC && n->attr >= u->first && n->attr < u->first + u->n);
}

bool neo_lower_uses_stage(const lowering *l, const neo_stage *s, const neo_stage *of) {
  acc_use u = {l, of->first_acc, (uint32_t)of->accs.n, false};
  neo_stage_visit(l->m, s, find_acc, &u);
  return u.found;
}

bool neo_lower_range_moves(const lowering *l, neo_expr lo, neo_expr hi) {
  return (neo_form_axes(l->m, l->f, lo) | neo_form_axes(l->m, l->f, hi)) >> l->f->axes.n;
}

bool neo_lower_range_is_one(const lowering *l, neo_expr lo, neo_expr hi) {
  return !neo_form_axes(l->m, l->f, lo) && !neo_form_axes(l->m, l->f, hi);
}
