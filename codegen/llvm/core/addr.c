/* Index expressions as sums of multiples (gen.h: neo_ll_lin): unrolled copies of an index differ by
 * a constant, and its lanes by a constant step. */
#include "codegen/llvm/gen.h"
#include <assert.h>

static bool opaque(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  neo_ll_val v = neo_ll_expr(g, e);
  neo_ll_lin z = {0};
  if (v.lanes)
    return false;
  if (LLVMIsAConstantInt(v.v)) {
    z.c = LLVMConstIntGetSExtValue(v.v);
    *out = z;
    return true;
  }
  *out = z;
  return neo_ll_lin_add(out, v.v, 1, v.depth, 1);
}

static bool variable(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  const neo_ll_var *v = &g->var[e->attr];
  neo_ll_lin z = {0};
  *out = z;
  switch (v->kind) {
  case NEO_LL_FIXED:
    out->c = v->fixed;
    return true;
  case NEO_LL_LANE:
    out->c = v->fixed;
    out->step = 1;
    return true;
  case NEO_LL_LOOP:
    return neo_ll_lin_add(out, v->v, 1, v->depth, v->multiple > 0 ? v->multiple : 1);
  default:
    assert(0 && "a variable of an enclosing loop");
    return false;
  }
}

/* The form of an operator, or false if it has none of its own. */
static bool operation(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  neo_ll_lin x, y, q, r, zero = {0};
  neo_op op = (neo_op)e->attr;
  if (e->n == 0 || !neo_ll_linear(g, e->arg[0], &x))
    return false;
  if (op == NEO_OP_NEG)
    return neo_ll_lin_add_scaled(g, &zero, -1, &x, out);
  if (e->n != 2 || !neo_ll_linear(g, e->arg[1], &y))
    return false;
  switch (op) {
  case NEO_OP_ADD:
    return neo_ll_lin_add_scaled(g, &x, 1, &y, out);
  case NEO_OP_SUB:
    return neo_ll_lin_add_scaled(g, &x, -1, &y, out);
  case NEO_OP_MUL:
    return neo_ll_lin_multiply(g, &x, &y, out);
  case NEO_OP_DIV:
  case NEO_OP_MOD:
    if (!neo_ll_lin_is_constant(&y) || !neo_ll_lin_divide(g, &x, y.c, &q, &r))
      return false;
    *out = op == NEO_OP_DIV ? q : r;
    return true;
  default:
    return false;
  }
}

static bool has_form(const neo_lx *e) {
  if (e->kind != NEO_LX_OP || e->type != NEO_I64_T)
    return false;
  switch ((neo_op)e->attr) {
  case NEO_OP_ADD:
  case NEO_OP_SUB:
  case NEO_OP_MUL:
  case NEO_OP_DIV:
  case NEO_OP_MOD:
  case NEO_OP_NEG:
    return true;
  default:
    return false;
  }
}

/* A failure is remembered: trying again at every level would take exponential time. */
bool neo_ll_linear_form(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  if (!has_form(e) || g->memo[e->id].no_form == g->stamp)
    return false;
  if (operation(g, e, out))
    return true;
  g->memo[e->id].no_form = g->stamp;
  return false;
}

bool neo_ll_linear(neo_ll_gen *g, const neo_lx *e, neo_ll_lin *out) {
  int64_t c;
  neo_ll_lin z = {0};
  if (neo_lx_is_int(e, &c)) {
    *out = z;
    out->c = c;
    return true;
  }
  if (e->kind == NEO_LX_VAR)
    return variable(g, e, out);
  return neo_ll_linear_form(g, e, out) || opaque(g, e, out);
}
