/* Dots of vectors: the instruction VDPBF16PS, or plain code with the same meaning for targets of
 * tests.
 *
 * A kernel with dots is compiled for the target's features and AVX512_BF16; the others are not. So
 * its operands are rounded by an instruction too, which takes denormal numbers for zeros, as the
 * products do. Vectors are of 16 lanes (schedule/pairs/pairs.h); of others, plain code is right. */
#include "codegen/llvm/gen.h"

enum { LANES = 16 };

static bool has_instructions(const neo_llvm *l, LLVMValueRef x) {
  return l->target.matrix == NEO_MATRIX_DOTS && neo_ll_width(x) == LANES;
}

static LLVMTypeRef bf16s(neo_llvm *l, uint32_t n) {
  return LLVMVectorType(LLVMBFloatTypeInContext(l->ctx), n);
}

LLVMValueRef neo_ll_flushed(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x), bits = neo_ll_int_type(l, 32, neo_ll_width(x));
  LLVMValueRef u = LLVMBuildBitCast(l->b, x, bits, "");
  LLVMValueRef exponent = LLVMBuildAnd(l->b, u, neo_ll_int(bits, 0x7f800000), "");
  LLVMValueRef small = LLVMBuildICmp(l->b, LLVMIntEQ, exponent, neo_ll_int(bits, 0), "");
  LLVMValueRef sign = LLVMBuildAnd(l->b, u, neo_ll_int(bits, INT32_MIN), "");
  return LLVMBuildBitCast(l->b, LLVMBuildSelect(l->b, small, sign, u, ""), t, "");
}

LLVMValueRef neo_ll_half(neo_llvm *l, LLVMValueRef pairs, bool second) {
  uint32_t w = neo_ll_width(pairs);
  LLVMTypeRef t = LLVMTypeOf(pairs);
  LLVMValueRef u = second ? LLVMBuildAnd(l->b, pairs, neo_ll_int(t, -65536), "")
                          : LLVMBuildShl(l->b, pairs, neo_ll_int(t, 16), "");
  return neo_ll_flushed(l, LLVMBuildBitCast(l->b, u, neo_ll_float_type(l, 32, w), ""));
}

void neo_ll_dots_declare(neo_ll_gen *g) {
  neo_llvm *l = g->l;
  g->dots = l->target.matrix == NEO_MATRIX_DOTS;
  if (g->dots)
    neo_ll_text_attribute(l, g->fn, "target-features",
                          neo_arena_printf(l->arena, "%s,+avx512bf16", l->target.features));
}

LLVMValueRef neo_ll_dot(neo_llvm *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  if (has_instructions(l, c)) {
    LLVMTypeRef t = bf16s(l, 2 * LANES);
    LLVMValueRef arg[] = {c, LLVMBuildBitCast(l->b, a, t, ""), LLVMBuildBitCast(l->b, b, t, "")};
    return neo_ll_call(l, "llvm.x86.avx512bf16.dpbf16ps.512", NULL, arg, 3);
  }
  c = neo_ll_flushed(l, c);
  for (int second = 1; second >= 0; second--) {
    LLVMValueRef arg[] = {neo_ll_half(l, a, second), neo_ll_half(l, b, second), c};
    c = neo_ll_flushed(l, neo_ll_call(l, "llvm.fma", LLVMTypeOf(c), arg, 3));
  }
  return c;
}

LLVMValueRef neo_ll_rounded_pairs(neo_ll_gen *g, LLVMValueRef first, LLVMValueRef second) {
  neo_llvm *l = g->l;
  LLVMTypeRef index = neo_ll_i32(l);
  LLVMValueRef order[2 * LANES], arg[] = {second, first}; /* the second argument's come first */
  if (!g->dots || !has_instructions(l, first))
    return NULL;
  LLVMValueRef all = neo_ll_call(l, "llvm.x86.avx512bf16.cvtne2ps2bf16.512", NULL, arg, 2);
  for (uint32_t k = 0; k < 2 * LANES; k++)
    order[k] = neo_ll_int(index, k / 2 + k % 2 * LANES);
  LLVMValueRef none = LLVMGetPoison(bf16s(l, 2 * LANES));
  all = LLVMBuildShuffleVector(l->b, all, none, LLVMConstVector(order, 2 * LANES), "");
  return LLVMBuildBitCast(l->b, all, neo_ll_int_type(l, 32, LANES), "");
}
