/* The arithmetic rows of ops.def. f16 and bf16 arguments are f32 values, and the result is rounded.
 * The code is defined for all inputs: a select replaces divisors that would trap. */
#include "codegen/llvm/gen.h"
#include <assert.h>

static LLVMValueRef select_(neo_llvm *l, LLVMValueRef c, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildSelect(l->b, c, x, y, "");
}

static LLVMValueRef icmp(neo_llvm *l, LLVMIntPredicate p, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildICmp(l->b, p, x, y, "");
}

static LLVMValueRef fcmp(neo_llvm *l, LLVMRealPredicate p, LLVMValueRef x, LLVMValueRef y) {
  return LLVMBuildFCmp(l->b, p, x, y, "");
}

static LLVMValueRef intrinsic1(neo_llvm *l, const char *name, LLVMValueRef x) {
  return neo_ll_call(l, name, LLVMTypeOf(x), &x, 1);
}

static bool is_signed(neo_type t) {
  return t != NEO_U8_T && t != NEO_BOOL_T;
}

/* ---- integers */

/* The same constant in every lane. */
static bool is_constant(LLVMValueRef y, int64_t *c) {
  uint32_t w = neo_ll_width(y);
  if (!LLVMIsConstant(y))
    return false;
  for (uint32_t k = 0; k < w; k++) {
    LLVMValueRef lane = w > 1 ? LLVMGetAggregateElement(y, k) : y;
    if (!lane || !LLVMIsAConstantInt(lane))
      return false;
    if (k && LLVMConstIntGetSExtValue(lane) != *c)
      return false;
    *c = LLVMConstIntGetSExtValue(lane);
  }
  return true;
}

/* Any constant but 0 and -1 is. */
static bool safe_divisor(LLVMValueRef y) {
  int64_t c;
  return is_constant(y, &c) && c != 0 && c != -1;
}

static LLVMValueRef safe(neo_llvm *l, LLVMValueRef y, bool is_signed_) {
  LLVMTypeRef t = LLVMTypeOf(y);
  LLVMValueRef bad = icmp(l, LLVMIntEQ, y, neo_ll_int(t, 0));
  if (is_signed_)
    bad = LLVMBuildOr(l->b, bad, icmp(l, LLVMIntEQ, y, neo_ll_int(t, -1)), "");
  return select_(l, bad, neo_ll_int(t, 1), y);
}

static LLVMValueRef zero_if_zero(neo_llvm *l, LLVMValueRef y, LLVMValueRef q) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(y));
  return select_(l, icmp(l, LLVMIntEQ, y, zero), zero, q);
}

static LLVMValueRef unsigned_div(neo_llvm *l, LLVMValueRef x, LLVMValueRef y) {
  if (safe_divisor(y))
    return LLVMBuildUDiv(l->b, x, y, "");
  return zero_if_zero(l, y, LLVMBuildUDiv(l->b, x, safe(l, y, false), ""));
}

/* Truncated quotient, less one where the remainder and the divisor have different signs. */
static LLVMValueRef floor_div(neo_llvm *l, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x));
  LLVMValueRef q = LLVMBuildSDiv(l->b, x, y, "");
  LLVMValueRef r = LLVMBuildSub(l->b, x, LLVMBuildMul(l->b, q, y, ""), "");
  LLVMValueRef differ = icmp(l, LLVMIntSLT, LLVMBuildXor(l->b, r, y, ""), zero);
  LLVMValueRef less = LLVMBuildAnd(l->b, icmp(l, LLVMIntNE, r, zero), differ, "");
  return LLVMBuildAdd(l->b, q, LLVMBuildSExt(l->b, less, LLVMTypeOf(x), ""), "");
}

static LLVMValueRef signed_div(neo_llvm *l, LLVMValueRef x, LLVMValueRef y) {
  if (safe_divisor(y))
    return floor_div(l, x, y);
  LLVMValueRef q = floor_div(l, x, safe(l, y, true));
  LLVMValueRef minus = icmp(l, LLVMIntEQ, y, neo_ll_int(LLVMTypeOf(y), -1));
  return zero_if_zero(l, y, select_(l, minus, LLVMBuildNeg(l->b, x, ""), q));
}

/* log2 of a constant power of two, or -1. */
static int power_of_two(LLVMValueRef y) {
  int64_t c;
  if (!is_constant(y, &c))
    return -1;
  return c > 0 && (c & (c - 1)) == 0 ? __builtin_ctzll((unsigned long long)c) : -1;
}

LLVMValueRef neo_ll_div(neo_llvm *l, LLVMValueRef x, LLVMValueRef y, bool is_signed_, bool nonneg) {
  int log2 = is_signed_ ? power_of_two(y) : -1;
  if (log2 >= 0)
    return LLVMBuildAShr(l->b, x, neo_ll_int(LLVMTypeOf(x), log2), "");
  return is_signed_ && !nonneg ? signed_div(l, x, y) : unsigned_div(l, x, y);
}

LLVMValueRef neo_ll_mod(neo_llvm *l, LLVMValueRef x, LLVMValueRef y, bool is_signed_, bool nonneg) {
  int log2 = is_signed_ ? power_of_two(y) : -1;
  LLVMTypeRef t = LLVMTypeOf(x);
  if (log2 >= 0)
    return LLVMBuildAnd(l->b, x, neo_ll_int(t, ((int64_t)1 << log2) - 1), "");
  if (!is_signed_ || nonneg) {
    if (safe_divisor(y))
      return LLVMBuildURem(l->b, x, y, "");
    return zero_if_zero(l, y, LLVMBuildURem(l->b, x, safe(l, y, false), ""));
  }
  LLVMValueRef q = signed_div(l, x, y);
  LLVMValueRef r = LLVMBuildSub(l->b, x, LLVMBuildMul(l->b, q, y, ""), "");
  return safe_divisor(y) ? r : zero_if_zero(l, y, r);
}

static LLVMValueRef int_min_max(neo_llvm *l, bool max, bool is_signed_, LLVMValueRef x,
                                LLVMValueRef y) {
  const char *name =
      is_signed_ ? (max ? "llvm.smax" : "llvm.smin") : (max ? "llvm.umax" : "llvm.umin");
  LLVMValueRef arg[] = {x, y};
  return neo_ll_call(l, name, LLVMTypeOf(x), arg, 2);
}

static LLVMValueRef int_abs(neo_llvm *l, LLVMValueRef x, bool is_signed_) {
  LLVMValueRef arg[] = {x, LLVMConstInt(LLVMInt1TypeInContext(l->ctx), 0, false)};
  return is_signed_ ? neo_ll_call(l, "llvm.abs", LLVMTypeOf(x), arg, 2) : x;
}

static LLVMValueRef int_sign(neo_llvm *l, LLVMValueRef x, bool is_signed_) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef zero = LLVMConstNull(t);
  LLVMValueRef one = LLVMBuildZExt(l->b, icmp(l, LLVMIntNE, x, zero), t, "");
  if (!is_signed_)
    return one;
  return select_(l, icmp(l, LLVMIntSLT, x, zero), neo_ll_int(t, -1), one);
}

static LLVMValueRef int_op(neo_llvm *l, neo_op op, bool is_signed_, LLVMValueRef *x) {
  LLVMValueRef zero = LLVMConstNull(LLVMTypeOf(x[0])), y;
  switch (op) {
  case NEO_OP_ADD:
    return LLVMBuildAdd(l->b, x[0], x[1], "");
  case NEO_OP_SUB:
    return LLVMBuildSub(l->b, x[0], x[1], "");
  case NEO_OP_MUL:
    return LLVMBuildMul(l->b, x[0], x[1], "");
  case NEO_OP_DIV:
    return neo_ll_div(l, x[0], x[1], is_signed_, false);
  case NEO_OP_MOD:
    return neo_ll_mod(l, x[0], x[1], is_signed_, false);
  case NEO_OP_NEG:
    return LLVMBuildNeg(l->b, x[0], "");
  case NEO_OP_MIN:
    return int_min_max(l, false, is_signed_, x[0], x[1]);
  case NEO_OP_MAX:
    return int_min_max(l, true, is_signed_, x[0], x[1]);
  case NEO_OP_CLAMP:
    y = int_min_max(l, true, is_signed_, x[0], x[1]);
    return int_min_max(l, false, is_signed_, y, x[2]);
  case NEO_OP_ABS:
    return int_abs(l, x[0], is_signed_);
  case NEO_OP_SIGN:
    return int_sign(l, x[0], is_signed_);
  case NEO_OP_RELU:
    return int_min_max(l, true, is_signed_, x[0], zero);
  case NEO_OP_STOP:
    return x[0];
  default:
    assert(0 && "an operator that integers have");
    return zero;
  }
}

/* ---- floats */

/* No lane is NaN. */
static bool is_number_constant(LLVMValueRef y) {
  uint32_t w = neo_ll_width(y);
  for (uint32_t k = 0; k < w && LLVMIsConstant(y); k++) {
    LLVMBool lost;
    LLVMValueRef lane = w > 1 ? LLVMGetAggregateElement(y, k) : y;
    if (!lane || !LLVMIsAConstantFP(lane))
      return false;
    double v = LLVMConstRealGetDouble(lane, &lost);
    if (v != v)
      return false;
  }
  return LLVMIsConstant(y);
}

/* r, or NaN if y is NaN. The code is not `y is NaN ? y : r`: LLVM would combine that with the
 * comparison that computed r into one select with two conditions, which is a branch for single
 * numbers and one more instruction for vectors, in the chain of a maximum. All bits set are a NaN:
 * comparisons of vectors return them, or select between them and r if they return masks. */
static LLVMValueRef or_nan(neo_llvm *l, LLVMValueRef r, LLVMValueRef y) {
  enum { MASK_REGISTERS = 64 }; /* a target with vectors of 64 bytes has mask registers */
  uint32_t w = neo_ll_width(y);
  LLVMValueRef bad = fcmp(l, LLVMRealUNO, y, y);
  if (w == 1 && !l->target.sm)
    return select_(l, bad, LLVMBuildFAdd(l->b, y, y, ""), r);
  LLVMTypeRef bits = neo_ll_int_type(l, neo_ll_bits(y), w);
  if (l->target.sm)
    return select_(l, bad, y, r);
  if (l->target.vector_bytes >= MASK_REGISTERS)
    return select_(l, bad, LLVMConstBitCast(neo_ll_int(bits, -1), LLVMTypeOf(y)), r);
  r = LLVMBuildOr(l->b, LLVMBuildBitCast(l->b, r, bits, ""), LLVMBuildSExt(l->b, bad, bits, ""),
                  "");
  return LLVMBuildBitCast(l->b, r, LLVMTypeOf(y), "");
}

/* The minimum or maximum. `y wins ? y : x` is the machine's instruction, whose result is x if
 * either is NaN; or_nan corrects it for a NaN y. Equal values (-0 and 0) give x. */
static LLVMValueRef float_min_max(neo_llvm *l, bool max, LLVMValueRef x, LLVMValueRef y) {
  LLVMValueRef r = select_(l, fcmp(l, max ? LLVMRealOGT : LLVMRealOLT, y, x), y, x);
  return is_number_constant(y) ? r : or_nan(l, r, y);
}

static LLVMValueRef float_sign(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef zero = neo_ll_float(t, 0), y;
  y = select_(l, fcmp(l, LLVMRealOLT, x, zero), neo_ll_float(t, -1), zero);
  y = select_(l, fcmp(l, LLVMRealOGT, x, zero), neo_ll_float(t, 1), y);
  return select_(l, fcmp(l, LLVMRealUNO, x, x), x, y);
}

static LLVMValueRef float_clamp(neo_llvm *l, LLVMValueRef *x) {
  return float_min_max(l, false, float_min_max(l, true, x[0], x[1]), x[2]);
}

/* As ir/value.c has it. A GPU's own conversion says nothing of the bits that tf32 has not. */
static LLVMValueRef float_tf32(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef f32 = neo_ll_float_type(l, 32, neo_ll_width(x));
  LLVMTypeRef bits = neo_ll_int_type(l, 32, neo_ll_width(x));
  if ((l->target.gpu_has & NEO_GPU_ASYNC) && !l->target.emulated && LLVMTypeOf(x) == f32 &&
      neo_ll_width(x) == 1) {
    LLVMValueRef own = neo_ll_call(l, "llvm.nvvm.f2tf32.rna", NULL, &x, 1);
    own = LLVMBuildAnd(l->b, own, neo_ll_int(bits, -(1 << 13)), "");
    return LLVMBuildBitCast(l->b, own, f32, "");
  }
  bool wide = neo_ll_bits(x) > 32;
  LLVMValueRef y = wide ? LLVMBuildFPTrunc(l->b, x, f32, "") : x;
  y = LLVMBuildBitCast(l->b, y, bits, "");
  y = LLVMBuildAnd(l->b, LLVMBuildAdd(l->b, y, neo_ll_int(bits, 1 << 12), ""),
                   neo_ll_int(bits, -(1 << 13)), "");
  y = LLVMBuildBitCast(l->b, y, f32, "");
  y = wide ? LLVMBuildFPExt(l->b, y, LLVMTypeOf(x), "") : y;
  return select_(l, fcmp(l, LLVMRealUNO, x, x), x, y);
}

static LLVMValueRef float_op(neo_llvm *l, neo_op op, LLVMValueRef *x) {
  LLVMTypeRef t = LLVMTypeOf(x[0]);
  switch (op) {
  case NEO_OP_ADD:
    return LLVMBuildFAdd(l->b, x[0], x[1], "");
  case NEO_OP_SUB:
    return LLVMBuildFSub(l->b, x[0], x[1], "");
  case NEO_OP_MUL:
    return LLVMBuildFMul(l->b, x[0], x[1], "");
  case NEO_OP_DIV:
    return LLVMBuildFDiv(l->b, x[0], x[1], "");
  case NEO_OP_MOD:
    return neo_ll_float_mod(l, x[0], x[1]);
  case NEO_OP_NEG:
    return LLVMBuildFNeg(l->b, x[0], "");
  case NEO_OP_MIN:
    return float_min_max(l, false, x[0], x[1]);
  case NEO_OP_MAX:
    return float_min_max(l, true, x[0], x[1]);
  case NEO_OP_CLAMP:
    return float_clamp(l, x);
  case NEO_OP_ABS:
    return intrinsic1(l, "llvm.fabs", x[0]);
  case NEO_OP_SIGN:
    return float_sign(l, x[0]);
  case NEO_OP_FLOOR:
    return intrinsic1(l, "llvm.floor", x[0]);
  case NEO_OP_CEIL:
    return intrinsic1(l, "llvm.ceil", x[0]);
  case NEO_OP_ROUND:
    return intrinsic1(l, "llvm.roundeven", x[0]);
  case NEO_OP_SQRT:
    return intrinsic1(l, "llvm.sqrt", x[0]);
  case NEO_OP_RSQRT:
    return LLVMBuildFDiv(l->b, neo_ll_float(t, 1), intrinsic1(l, "llvm.sqrt", x[0]), "");
  case NEO_OP_RELU:
    return float_min_max(l, true, x[0], neo_ll_float(t, 0));
  case NEO_OP_STOP:
    return x[0];
  case NEO_OP_TF32:
    return float_tf32(l, x[0]);
  default:
    return neo_ll_math(l, op, x[0], op == NEO_OP_POW ? x[1] : NULL);
  }
}

/* ---- comparisons and logic */

static LLVMValueRef compare(neo_llvm *l, neo_op op, neo_type t, LLVMValueRef x, LLVMValueRef y) {
  bool is_float = neo_type_is_float(t), s = is_signed(t);
  switch (op) {
  case NEO_OP_EQ:
    return is_float ? fcmp(l, LLVMRealOEQ, x, y) : icmp(l, LLVMIntEQ, x, y);
  case NEO_OP_NE:
    return is_float ? fcmp(l, LLVMRealUNE, x, y) : icmp(l, LLVMIntNE, x, y);
  case NEO_OP_LT:
    return is_float ? fcmp(l, LLVMRealOLT, x, y) : icmp(l, s ? LLVMIntSLT : LLVMIntULT, x, y);
  default:
    return is_float ? fcmp(l, LLVMRealOLE, x, y) : icmp(l, s ? LLVMIntSLE : LLVMIntULE, x, y);
  }
}

static LLVMValueRef logic(neo_llvm *l, neo_op op, LLVMValueRef *x) {
  if (op == NEO_OP_NOT)
    return LLVMBuildNot(l->b, x[0], "");
  return op == NEO_OP_AND ? LLVMBuildAnd(l->b, x[0], x[1], "") : LLVMBuildOr(l->b, x[0], x[1], "");
}

LLVMValueRef neo_ll_op(neo_llvm *l, neo_op op, neo_type result, neo_type arg, LLVMValueRef *x) {
  switch (neo_op_rule(op)) {
  case NEO_RULE_CMP:
    return compare(l, op, arg, x[0], x[1]);
  case NEO_RULE_LOGIC:
    return logic(l, op, x);
  case NEO_RULE_SELECT:
    return select_(l, x[0], x[1], x[2]);
  case NEO_RULE_CAST:
    return neo_ll_cast(l, result, arg, x[0]);
  default:
    break;
  }
  if (neo_type_is_float(result))
    return neo_ll_round(l, result, float_op(l, op, x));
  return int_op(l, op, is_signed(result), x);
}
