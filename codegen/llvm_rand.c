/* rand(): Philox 4x32-10 in vectors, the mapping of base/random.h. Only the first word of the last
 * round is needed, but every round mixes all four. */
#include "codegen/llvm_gen.h"

static LLVMValueRef low(neo_llvm *l, LLVMValueRef x64, LLVMTypeRef i32) {
  return LLVMBuildTrunc(l->b, x64, i32, "");
}

static LLVMValueRef high(neo_llvm *l, LLVMValueRef x64, LLVMTypeRef i32) {
  LLVMValueRef s = LLVMBuildLShr(l->b, x64, neo_ll_int(LLVMTypeOf(x64), 32), "");
  return LLVMBuildTrunc(l->b, s, i32, "");
}

static LLVMValueRef xor3(neo_llvm *l, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c) {
  return LLVMBuildXor(l->b, LLVMBuildXor(l->b, a, b, ""), c, "");
}

static LLVMValueRef product(neo_llvm *l, LLVMValueRef x, int64_t m, LLVMTypeRef i64) {
  return LLVMBuildMul(l->b, LLVMBuildZExt(l->b, x, i64, ""), neo_ll_int(i64, m), "");
}

/* Salmon et al., section 4.3: multipliers and Weyl increments of Philox 4x32. */
static void round_(neo_llvm *l, LLVMValueRef c[4], const LLVMValueRef key[2], LLVMTypeRef i64) {
  LLVMTypeRef i32 = LLVMTypeOf(c[0]);
  LLVMValueRef p0 = product(l, c[0], 0xD2511F53, i64), p1 = product(l, c[2], 0xCD9E8D57, i64);
  LLVMValueRef c0 = xor3(l, high(l, p1, i32), c[1], key[0]);
  LLVMValueRef c2 = xor3(l, high(l, p0, i32), c[3], key[1]);
  c[0] = c0;
  c[1] = low(l, p1, i32);
  c[2] = c2;
  c[3] = low(l, p0, i32);
}

LLVMValueRef neo_ll_rand(neo_llvm *l, const LLVMValueRef key[3], uint32_t site,
                         LLVMValueRef element) {
  uint32_t w = neo_ll_width(element);
  LLVMTypeRef i64 = LLVMTypeOf(element), i32 = neo_ll_int_type(l, 32, w);
  LLVMTypeRef one = LLVMInt32TypeInContext(l->ctx);
  LLVMValueRef k[2] = {low(l, key[0], one), high(l, key[0], one)};
  LLVMValueRef call = LLVMBuildShl(l->b, low(l, key[2], one), neo_ll_int(one, 8), "");
  LLVMValueRef c[4] = {low(l, element, i32), high(l, element, i32),
                       neo_ll_splat(l, low(l, key[1], one), w), neo_ll_int(i32, site)};
  c[1] = LLVMBuildXor(l->b, c[1], neo_ll_splat(l, call, w), "");
  for (int i = 0; i < 10; i++) {
    LLVMValueRef spread[2] = {neo_ll_splat(l, k[0], w), neo_ll_splat(l, k[1], w)};
    round_(l, c, spread, i64);
    k[0] = LLVMBuildAdd(l->b, k[0], neo_ll_int(one, 0x9E3779B9), "");
    k[1] = LLVMBuildAdd(l->b, k[1], neo_ll_int(one, 0xBB67AE85), "");
  }
  LLVMValueRef bits = LLVMBuildLShr(l->b, c[0], neo_ll_int(i32, 8), "");
  LLVMValueRef x = LLVMBuildSIToFP(l->b, bits, neo_ll_float_type(l, 64, w), "");
  return LLVMBuildFMul(l->b, x, neo_ll_float(LLVMTypeOf(x), 0x1p-24), "");
}
