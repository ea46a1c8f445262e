/* Element functions of f64 in our own code, for targets that have no libm: one function of the
 * module for each operator and width, with code from llvm/math/exp64.c, llvm/math/log64.c,
 * llvm/math/trig64.c, llvm/math/erf64.c. The errors in the heads of these files are the largest of
 * some million arguments, with and without fused multiply-adds; tests have bounds that are slightly
 * larger. */
#include "codegen/llvm/math/math64.h"
#include <assert.h>

static val body(neo_llvm *l, neo_op op, val x, val y) {
  switch (op) {
  case NEO_OP_EXP:
  case NEO_OP_EXPM1:
  case NEO_OP_TANH:
  case NEO_OP_SIGMOID:
  case NEO_OP_SILU:
  case NEO_OP_ELU:
    return neo_ll_exp64(l, op, x);
  case NEO_OP_LOG:
  case NEO_OP_LOG1P:
  case NEO_OP_SOFTPLUS:
  case NEO_OP_POW:
    return neo_ll_log64(l, op, x, y);
  case NEO_OP_SIN:
  case NEO_OP_COS:
  case NEO_OP_TAN:
    return neo_ll_trig64(l, op, x);
  case NEO_OP_ERF:
  case NEO_OP_GELU:
  case NEO_OP_PHI:
  case NEO_OP_BELL:
    return neo_ll_erf64(l, op, x);
  default:
    assert(0 && "an element function that libm would be asked for");
    return x;
  }
}

val neo_ll_math64(neo_llvm *l, neo_op op, val x, val y) {
  const char *name = neo_arena_printf(l->arena, "%s64.%u", neo_op_text(op), neo_ll_width(x));
  return neo_ll_math_shared(l, name, op, x, y, body);
}
