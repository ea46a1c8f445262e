/* Reductions over the lanes of a register (lower/common/lanes.c) by vector operations.
 *
 *     ((acc[0] + acc[4]) + (acc[2] + acc[6])) + ((acc[1] + acc[5]) + (acc[3] + acc[7]))
 *     ->
 *     v = acc[0..4] + acc[4..8];  v = v[0..2] + v[2..4];  v[0] + v[1]
 *
 * Each step adds the upper half of the lanes to the lower half: three sums of vectors instead of
 * seven sums of extracted lanes, with the same operands in the same order. */
#include "codegen/llvm/gen.h"

enum { MOST_LANES = 1024 };

typedef struct {
  const neo_lx *root, *lane; /* the tree; lane 0 */
  int64_t width;
} tree;

static bool is_lane(const tree *t, const neo_lx *e, int64_t lane) {
  int64_t at;
  if (e->kind != NEO_LX_REG || e->attr != t->lane->attr || e->n != t->lane->n)
    return false;
  for (uint8_t k = 0; k + 1 < e->n; k++)
    if (e->arg[k] != t->lane->arg[k])
      return false;
  return neo_lx_is_int(e->arg[e->n - 1], &at) && at == lane;
}

static bool is_join(const tree *t, const neo_lx *e) {
  return e->kind == NEO_LX_OP && e->attr == t->root->attr && e->type == t->root->type && e->n == 2;
}

/* Is e the tree over the lanes first, first + step, first + 2*step, ...? */
static bool is_tree(const tree *t, const neo_lx *e, int64_t first, int64_t step) {
  if (step == t->width)
    return is_lane(t, e, first);
  return is_join(t, e) && is_tree(t, e->arg[0], first, 2 * step) &&
         is_tree(t, e->arg[1], first + step, 2 * step);
}

static bool find(const neo_ll_gen *g, const neo_lx *e, tree *t) {
  *t = (tree){.root = e, .lane = e, .width = 1};
  while (is_join(t, t->lane) && t->width < MOST_LANES) {
    t->lane = t->lane->arg[0];
    t->width *= 2;
  }
  if (t->width < 4 || t->lane->kind != NEO_LX_REG || !t->lane->n)
    return false;
  const neo_ll_reg *r = &g->reg[t->lane->attr];
  return r->vector && (int64_t)r->width == t->width && is_tree(t, e, 0, 1);
}

/* Lanes [from, from + n) of x. */
static LLVMValueRef part(neo_ll_gen *g, LLVMValueRef x, uint32_t from, uint32_t n) {
  LLVMTypeRef i32 = neo_ll_i32(g->l);
  LLVMValueRef at[MOST_LANES];
  for (uint32_t k = 0; k < n; k++)
    at[k] = neo_ll_int(i32, from + k);
  if (n == 1)
    return LLVMBuildExtractElement(g->l->b, x, at[0], "");
  return LLVMBuildShuffleVector(g->l->b, x, x, LLVMConstVector(at, n), "");
}

bool neo_ll_lane_tree(neo_ll_gen *g, const neo_lx *e, neo_ll_val *out) {
  tree t;
  if (g->l->target.sm || !find(g, e, &t))
    return false;
  neo_type type = (neo_type)e->type;
  const neo_ll_reg *r = &g->reg[t.lane->attr];
  neo_ll_place p = neo_ll_reg_place(g, t.lane->attr, t.lane->arg, t.lane->n);
  LLVMTypeRef whole = neo_ll_type(g->l, type, (uint32_t)r->width);
  LLVMValueRef v = LLVMBuildLoad2(g->l->b, whole, r->at[p.at], "");
  for (uint32_t n = (uint32_t)t.width / 2; n; n /= 2) {
    LLVMValueRef half[] = {part(g, v, 0, n), part(g, v, n, n)};
    v = neo_ll_op(g->l, (neo_op)e->attr, type, type, half);
  }
  *out = (neo_ll_val){v, false, g->depth, false};
  return true;
}
