/* Facts about index expressions: divisors, the sign, the largest value. Arithmetic that may wrap is
 * under a STOP (transform/wrapping.c), about which there are no facts. */
#include "base/whole.h"
#include "codegen/llvm/gen.h"

int64_t neo_ll_multiple(neo_ll_gen *g, const neo_lx *e) {
  int64_t x, y, z;
  if (neo_lx_is_int(e, &x))
    return x;
  if (e->kind == NEO_LX_VAR) {
    const neo_ll_var *v = &g->var[e->attr];
    return v->kind == NEO_LL_LOOP ? v->multiple : v->fixed;
  }
  if (e->kind != NEO_LX_OP || e->n != 2)
    return 1;
  x = neo_ll_multiple(g, e->arg[0]);
  y = neo_ll_multiple(g, e->arg[1]);
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MIN:
  case NEO_OP_MAX:
  case NEO_OP_MOD:
    return neo_gcd(x, y);
  case NEO_OP_MUL:
    return __builtin_mul_overflow(x, y, &z) ? 1 : z;
  default:
    return 1;
  }
}

bool neo_ll_nonneg(neo_ll_gen *g, const neo_lx *e) {
  int64_t x;
  if (neo_lx_is_int(e, &x))
    return x >= 0;
  if (e->kind == NEO_LX_SIZE)
    return true;
  if (e->kind == NEO_LX_VAR) {
    const neo_ll_var *v = &g->var[e->attr];
    return v->kind == NEO_LL_FIXED ? v->fixed >= 0 : v->kind == NEO_LL_LANE || v->nonneg;
  }
  if (e->kind != NEO_LX_OP || e->n != 2)
    return false;
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_MIN:
    return neo_ll_nonneg(g, e->arg[0]) && neo_ll_nonneg(g, e->arg[1]);
  case NEO_OP_MOD:
    return neo_ll_nonneg(g, e->arg[1]);
  case NEO_OP_MAX:
    return neo_ll_nonneg(g, e->arg[0]) || neo_ll_nonneg(g, e->arg[1]);
  default:
    return false;
  }
}

static int64_t least_of(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* x + y or x * y of two bounds, none of which is negative. */
static int64_t bound_of(neo_op op, int64_t x, int64_t y) {
  int64_t z;
  bool wraps =
      op == NEO_OP_ADD ? __builtin_add_overflow(x, y, &z) : __builtin_mul_overflow(x, y, &z);
  return wraps ? INT64_MAX : z;
}

int64_t neo_ll_most(neo_ll_gen *g, const neo_lx *e) {
  int64_t x, y, c;
  if (neo_lx_is_int(e, &x))
    return x;
  if (e->kind == NEO_LX_VAR && g->var[e->attr].kind == NEO_LL_FIXED)
    return g->var[e->attr].fixed;
  if (e->kind == NEO_LX_VAR && g->var[e->attr].kind == NEO_LL_LANE)
    return g->var[e->attr].fixed + (int64_t)g->width - 1;
  if (e->kind == NEO_LX_VAR && g->var[e->attr].kind == NEO_LL_LOOP && g->var[e->attr].most > 0)
    return g->var[e->attr].most;
  if (e->kind != NEO_LX_OP || e->n != 2 || !neo_ll_nonneg(g, e->arg[0]) ||
      !neo_ll_nonneg(g, e->arg[1]))
    return INT64_MAX;
  x = neo_ll_most(g, e->arg[0]);
  y = neo_ll_most(g, e->arg[1]);
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_MUL:
    return bound_of((neo_op)e->attr, x, y);
  case NEO_OP_DIV:
    return neo_lx_is_int(e->arg[1], &c) && c > 0 && x < INT64_MAX ? x / c : x;
  case NEO_OP_MOD:
    return least_of(x, y < INT64_MAX && y > 0 ? y - 1 : y);
  case NEO_OP_MIN:
    return least_of(x, y);
  case NEO_OP_MAX:
    return x > y ? x : y;
  default:
    return INT64_MAX;
  }
}
