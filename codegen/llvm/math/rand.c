/* rand(): Philox 4x32-10 in vectors, the mapping of base/random.h. Only the first word of the last
 * round is needed, but every round mixes all four. */
#include "codegen/llvm/gen.h"
#include <string.h>

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

typedef struct {
  LLVMValueRef high, low;
} words;

static words widen_product(neo_llvm *l, LLVMValueRef x, int64_t m) {
  LLVMTypeRef i32 = LLVMTypeOf(x), i64 = neo_ll_int_type(l, 64, neo_ll_width(x));
  LLVMValueRef p = LLVMBuildMul(l->b, LLVMBuildZExt(l->b, x, i64, ""), neo_ll_int(i64, m), "");
  words w = {high(l, p, i32), low(l, p, i32)};
  return w;
}

/* x86 multiplies the even 32-bit lanes of 64-bit ones: odd lanes are shifted down, and the halves
 * of the products put together again without crossing lanes. */
static words paired_product(neo_llvm *l, LLVMValueRef x, int64_t m) {
  LLVMBuilderRef b = l->b;
  LLVMTypeRef i32 = LLVMTypeOf(x), i64 = neo_ll_int_type(l, 64, neo_ll_width(x) / 2);
  LLVMValueRef lower = neo_ll_int(i64, 0xffffffff), upper = neo_ll_int(i64, -(1LL << 32));
  LLVMValueRef half = neo_ll_int(i64, 32), by = neo_ll_int(i64, m);
  LLVMValueRef pair = LLVMBuildBitCast(b, x, i64, "");
  LLVMValueRef even = LLVMBuildMul(b, LLVMBuildAnd(b, pair, lower, ""), by, "");
  LLVMValueRef odd = LLVMBuildMul(b, LLVMBuildLShr(b, pair, half, ""), by, "");
  LLVMValueRef h =
      LLVMBuildOr(b, LLVMBuildLShr(b, even, half, ""), LLVMBuildAnd(b, odd, upper, ""), "");
  LLVMValueRef lo =
      LLVMBuildOr(b, LLVMBuildAnd(b, even, lower, ""), LLVMBuildShl(b, odd, half, ""), "");
  words w = {LLVMBuildBitCast(b, h, i32, ""), LLVMBuildBitCast(b, lo, i32, "")};
  return w;
}

static words product(neo_llvm *l, LLVMValueRef x, int64_t m) {
  bool x86 = strncmp(l->target.triple, "x86_64", 6) == 0;
  return x86 && neo_ll_width(x) % 2 == 0 ? paired_product(l, x, m) : widen_product(l, x, m);
}

/* Salmon et al., section 4.3: multipliers and Weyl increments of Philox 4x32. */
static void round_(neo_llvm *l, LLVMValueRef c[4], const LLVMValueRef key[2]) {
  words p0 = product(l, c[0], 0xD2511F53), p1 = product(l, c[2], 0xCD9E8D57);
  LLVMValueRef c0 = xor3(l, p1.high, c[1], key[0]), c2 = xor3(l, p0.high, c[3], key[1]);
  c[0] = c0;
  c[1] = p1.low;
  c[2] = c2;
  c[3] = p0.low;
}

static LLVMValueRef philox(neo_llvm *l, const LLVMValueRef key[3], LLVMValueRef site,
                           LLVMValueRef element) {
  uint32_t w = neo_ll_width(element);
  LLVMTypeRef i32 = neo_ll_int_type(l, 32, w), one = neo_ll_i32(l);
  LLVMValueRef k[2] = {low(l, key[0], one), high(l, key[0], one)};
  LLVMValueRef call = LLVMBuildShl(l->b, low(l, key[2], one), neo_ll_int(one, 8), "");
  LLVMValueRef c[4] = {low(l, element, i32), high(l, element, i32),
                       neo_ll_splat(l, low(l, key[1], one), w), neo_ll_splat(l, site, w)};
  c[1] = LLVMBuildXor(l->b, c[1], neo_ll_splat(l, call, w), "");
  for (int i = 0; i < 10; i++) {
    LLVMValueRef spread[2] = {neo_ll_splat(l, k[0], w), neo_ll_splat(l, k[1], w)};
    round_(l, c, spread);
    k[0] = LLVMBuildAdd(l->b, k[0], neo_ll_int(one, 0x9E3779B9), "");
    k[1] = LLVMBuildAdd(l->b, k[1], neo_ll_int(one, 0xBB67AE85), "");
  }
  return LLVMBuildLShr(l->b, c[0], neo_ll_int(i32, 8), "");
}

/* One function for each width: compiling the rounds takes as long as a whole small kernel. */
LLVMValueRef neo_ll_rand(neo_llvm *l, const LLVMValueRef key[3], uint32_t site,
                         LLVMValueRef element, uint32_t bits) {
  uint32_t w = neo_ll_width(element);
  LLVMTypeRef i64 = neo_ll_i64(l), i32 = neo_ll_i32(l);
  LLVMTypeRef param[] = {i64, i64, i64, i32, LLVMTypeOf(element)};
  LLVMTypeRef type = LLVMFunctionType(neo_ll_int_type(l, 32, w), param, 5, false);
  neo_ll_shared f = neo_ll_shared_begin(l, neo_arena_printf(l->arena, "rand.%u", w), type);
  if (f.body) {
    LLVMValueRef k[] = {LLVMGetParam(f.body, 0), LLVMGetParam(f.body, 1), LLVMGetParam(f.body, 2)};
    LLVMBuildRet(l->b, philox(l, k, LLVMGetParam(f.body, 3), LLVMGetParam(f.body, 4)));
    neo_ll_shared_end(l, &f);
  }
  LLVMValueRef arg[] = {key[0], key[1], key[2], neo_ll_int(i32, site), element};
  LLVMValueRef number = LLVMBuildCall2(l->b, type, f.fn, arg, 5, "");
  LLVMValueRef x = LLVMBuildSIToFP(l->b, number, neo_ll_float_type(l, bits, w), "");
  return LLVMBuildFMul(l->b, x, neo_ll_float(LLVMTypeOf(x), 0x1p-24), "");
}
