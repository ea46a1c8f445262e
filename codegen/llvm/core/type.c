/* Types, constants, and conversions between element types.
 *
 * f16 and bf16 values are in float registers. With F16C (or on aarch64, on a GPU) f16 uses the
 * machine's conversions; otherwise integer arithmetic, because LLVM would call a support library
 * that may not exist. bf16 is rounded by integer arithmetic: add half of the last place, ties to
 * even; on GPUs from sm_80 on by the machine. There, a value that was read as bf16 and is written
 * again is not converted. */
#include "codegen/llvm/gen.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static LLVMTypeRef widen(LLVMTypeRef t, uint32_t w) {
  return w > 1 ? LLVMVectorType(t, w) : t;
}

LLVMTypeRef neo_ll_int_type(neo_llvm *l, uint32_t bits, uint32_t w) {
  return widen(LLVMIntTypeInContext(l->ctx, bits), w);
}

LLVMTypeRef neo_ll_float_type(neo_llvm *l, uint32_t bits, uint32_t w) {
  return widen(bits == 64   ? LLVMDoubleTypeInContext(l->ctx)
               : bits == 16 ? LLVMHalfTypeInContext(l->ctx)
                            : LLVMFloatTypeInContext(l->ctx),
               w);
}

LLVMTypeRef neo_ll_ptr_type(neo_llvm *l) {
  return LLVMPointerTypeInContext(l->ctx, 0);
}

LLVMTypeRef neo_ll_type(neo_llvm *l, neo_type t, uint32_t w) {
  if (neo_type_is_float(t))
    return neo_ll_float_type(l, t == NEO_F64_T ? 64 : 32, w);
  return neo_ll_int_type(l, t == NEO_BOOL_T ? 1 : 8 * neo_type_bytes(t), w);
}

LLVMTypeRef neo_ll_mem_type(neo_llvm *l, neo_type t, uint32_t w) {
  if (t == NEO_F64_T || t == NEO_F32_T)
    return neo_ll_type(l, t, w);
  return neo_ll_int_type(l, 8 * neo_type_bytes(t), w);
}

static LLVMTypeRef element(LLVMTypeRef t) {
  return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetElementType(t) : t;
}

static uint32_t type_width(LLVMTypeRef t) {
  return LLVMGetTypeKind(t) == LLVMVectorTypeKind ? LLVMGetVectorSize(t) : 1;
}

uint32_t neo_ll_width(LLVMValueRef x) {
  return type_width(LLVMTypeOf(x));
}

uint32_t neo_ll_bits(LLVMValueRef x) {
  LLVMTypeRef t = element(LLVMTypeOf(x));
  switch (LLVMGetTypeKind(t)) {
  case LLVMDoubleTypeKind:
    return 64;
  case LLVMFloatTypeKind:
    return 32;
  case LLVMHalfTypeKind:
    return 16;
  default:
    return LLVMGetIntTypeWidth(t);
  }
}

static LLVMValueRef repeat(LLVMValueRef c, uint32_t w) {
  LLVMValueRef all[1024];
  if (w == 1)
    return c;
  assert(w <= 1024);
  for (uint32_t i = 0; i < w; i++)
    all[i] = c;
  return LLVMConstVector(all, w);
}

LLVMValueRef neo_ll_int(LLVMTypeRef t, int64_t x) {
  return repeat(LLVMConstInt(element(t), (unsigned long long)x, true), type_width(t));
}

LLVMValueRef neo_ll_float(LLVMTypeRef t, double x) {
  return repeat(LLVMConstReal(element(t), x), type_width(t));
}

LLVMValueRef neo_ll_lanes(neo_llvm *l, LLVMTypeRef scalar, uint32_t w, int64_t step) {
  LLVMValueRef all[1024];
  (void)l;
  assert(w > 1 && w <= 1024);
  for (uint32_t i = 0; i < w; i++)
    all[i] = LLVMConstInt(scalar, i * (unsigned long long)step, true); /* wraps, as integers do */
  return LLVMConstVector(all, w);
}

LLVMValueRef neo_ll_numbers(neo_llvm *l, LLVMTypeRef scalar, const int64_t *x, uint32_t w) {
  LLVMValueRef all[1024];
  (void)l;
  assert(w > 1 && w <= 1024);
  for (uint32_t i = 0; i < w; i++)
    all[i] = LLVMConstInt(scalar, (unsigned long long)x[i], true);
  return LLVMConstVector(all, w);
}

LLVMValueRef neo_ll_splat(neo_llvm *l, LLVMValueRef scalar, uint32_t w) {
  if (w == 1)
    return scalar;
  if (LLVMIsConstant(scalar) && !LLVMIsAConstantExpr(scalar))
    return repeat(scalar, w);
  LLVMTypeRef i32 = neo_ll_i32(l), t = LLVMVectorType(LLVMTypeOf(scalar), w);
  LLVMValueRef one =
      LLVMBuildInsertElement(l->b, LLVMGetPoison(t), scalar, LLVMConstInt(i32, 0, false), "");
  return LLVMBuildShuffleVector(l->b, one, LLVMGetPoison(t), LLVMConstNull(LLVMVectorType(i32, w)),
                                "");
}

LLVMValueRef neo_ll_call(neo_llvm *l, const char *intrinsic, LLVMTypeRef overload,
                         LLVMValueRef *arg, unsigned n) {
  unsigned id = LLVMLookupIntrinsicID(intrinsic, strlen(intrinsic));
  assert(id && "an intrinsic of this LLVM");
  size_t n_types = overload ? 1 : 0;
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(l->mod, id, &overload, n_types);
  LLVMTypeRef type = LLVMIntrinsicGetType(l->ctx, id, &overload, n_types);
  return LLVMBuildCall2(l->b, type, fn, arg, n, "");
}

/* ---- f16 and bf16 */

static LLVMTypeRef ints(neo_llvm *l, LLVMValueRef x, uint32_t bits) {
  return neo_ll_int_type(l, bits, neo_ll_width(x));
}

static LLVMValueRef bits_of(neo_llvm *l, LLVMValueRef x) {
  return LLVMBuildBitCast(l->b, x, ints(l, x, 32), "");
}

static LLVMValueRef float_of(neo_llvm *l, LLVMValueRef bits) {
  return LLVMBuildBitCast(l->b, bits, neo_ll_float_type(l, 32, neo_ll_width(bits)), "");
}

static LLVMValueRef is_nan(neo_llvm *l, LLVMValueRef x) {
  return LLVMBuildFCmp(l->b, LLVMRealUNO, x, x, "");
}

/* u + half of the last of `cut` bits, ties to even, cut bits cleared. */
static LLVMValueRef round_bits(neo_llvm *l, LLVMValueRef u, uint32_t cut) {
  LLVMTypeRef t = LLVMTypeOf(u);
  LLVMValueRef last =
      LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, u, neo_ll_int(t, cut), ""), neo_ll_int(t, 1), "");
  LLVMValueRef up = LLVMBuildAdd(l->b, neo_ll_int(t, (1 << (cut - 1)) - 1), last, "");
  return LLVMBuildAnd(l->b, LLVMBuildAdd(l->b, u, up, ""), neo_ll_int(t, -(1 << cut)), "");
}

/* The bits of a NaN as a quiet NaN with the same upper bits, so that truncation cannot make it an
 * infinity. */
static LLVMValueRef quiet_bits(neo_llvm *l, LLVMValueRef u, uint32_t cut) {
  LLVMTypeRef t = LLVMTypeOf(u);
  LLVMValueRef kept = LLVMBuildAnd(l->b, u, neo_ll_int(t, -(1 << cut)), "");
  return LLVMBuildOr(l->b, kept, neo_ll_int(t, 0x400000), "");
}

static bool on_gpu(const neo_llvm *l, uint32_t sm) {
  return l->target.sm >= sm && !l->target.emulated;
}

static bool has_bf16(const neo_llvm *l) {
  return on_gpu(l, 80);
}

static LLVMTypeRef bf16_type(neo_llvm *l, LLVMValueRef x) {
  return widen(LLVMBFloatTypeInContext(l->ctx), neo_ll_width(x));
}

static LLVMValueRef round_bf16(neo_llvm *l, LLVMValueRef x) {
  if (has_bf16(l)) {
    LLVMValueRef y = LLVMBuildFPTrunc(l->b, x, bf16_type(l, x), "");
    return LLVMBuildFPExt(l->b, y, LLVMTypeOf(x), "");
  }
  LLVMValueRef u = bits_of(l, x);
  return float_of(
      l, LLVMBuildSelect(l->b, is_nan(l, x), quiet_bits(l, u, 16), round_bits(l, u, 16), ""));
}

static bool has_f16(const neo_llvm *l) {
  return strncmp(l->target.triple, "aarch64", 7) == 0 || strstr(l->target.features, "+f16c") ||
         on_gpu(l, 75);
}

/* Rounding to f16 without its instruction. Below 2^-14, adding and subtracting 1/2 rounds to the
 * spacing 2^-24; values from 65520 on are infinity. */
static LLVMValueRef round_f16_soft(neo_llvm *l, LLVMValueRef x) {
  LLVMTypeRef t = LLVMTypeOf(x);
  LLVMValueRef u = bits_of(l, x), size = neo_ll_call(l, "llvm.fabs", t, &x, 1);
  LLVMValueRef half = neo_ll_float(t, 0.5);
  LLVMValueRef small = LLVMBuildFSub(l->b, LLVMBuildFAdd(l->b, size, half, ""), half, "");
  LLVMValueRef normal = float_of(l, round_bits(l, u, 13));
  LLVMValueRef big = LLVMBuildFCmp(l->b, LLVMRealOGE, size, neo_ll_float(t, 65520), "");
  LLVMValueRef signs[] = {small, x}, inf[] = {neo_ll_float(t, INFINITY), x};
  small = neo_ll_call(l, "llvm.copysign", t, signs, 2);
  LLVMValueRef y =
      LLVMBuildSelect(l->b, LLVMBuildFCmp(l->b, LLVMRealOLT, size, neo_ll_float(t, 0x1p-14), ""),
                      small, normal, "");
  y = LLVMBuildSelect(l->b, big, neo_ll_call(l, "llvm.copysign", t, inf, 2), y, "");
  return LLVMBuildSelect(l->b, is_nan(l, x), float_of(l, quiet_bits(l, u, 13)), y, "");
}

LLVMValueRef neo_ll_round(neo_llvm *l, neo_type t, LLVMValueRef x) {
  if (t == NEO_BF16_T)
    return round_bf16(l, x);
  if (t != NEO_F16_T)
    return x;
  if (!has_f16(l))
    return round_f16_soft(l, x);
  LLVMTypeRef half = neo_ll_float_type(l, 16, neo_ll_width(x));
  return LLVMBuildFPExt(l->b, LLVMBuildFPTrunc(l->b, x, half, ""), LLVMTypeOf(x), "");
}

static LLVMValueRef f16_from_mem(neo_llvm *l, LLVMValueRef x) {
  uint32_t w = neo_ll_width(x);
  LLVMTypeRef i32 = neo_ll_int_type(l, 32, w), f32 = neo_ll_float_type(l, 32, w);
  if (has_f16(l)) {
    x = LLVMBuildBitCast(l->b, x, neo_ll_float_type(l, 16, w), "");
    return LLVMBuildFPExt(l->b, x, f32, "");
  }
  LLVMValueRef u = LLVMBuildZExt(l->b, x, i32, "");
  LLVMValueRef sign = LLVMBuildShl(l->b, LLVMBuildAnd(l->b, u, neo_ll_int(i32, 0x8000), ""),
                                   neo_ll_int(i32, 16), "");
  u = LLVMBuildAnd(l->b, u, neo_ll_int(i32, 0x7fff), "");
  LLVMValueRef shifted = LLVMBuildShl(l->b, u, neo_ll_int(i32, 13), "");
  /* Subnormals are u * 2^-24; exponent 31 is infinity or NaN; others need the bias 127 - 15. */
  LLVMValueRef small =
      LLVMBuildFMul(l->b, LLVMBuildUIToFP(l->b, u, f32, ""), neo_ll_float(f32, 0x1p-24), "");
  LLVMValueRef normal = LLVMBuildAdd(l->b, shifted, neo_ll_int(i32, 112 << 23), "");
  LLVMValueRef special = LLVMBuildOr(l->b, shifted, neo_ll_int(i32, 0x7f800000), "");
  LLVMValueRef is_small = LLVMBuildICmp(l->b, LLVMIntULT, u, neo_ll_int(i32, 0x400), "");
  LLVMValueRef is_special = LLVMBuildICmp(l->b, LLVMIntUGE, u, neo_ll_int(i32, 0x7c00), "");
  LLVMValueRef y = LLVMBuildSelect(l->b, is_small, bits_of(l, small), normal, "");
  y = LLVMBuildSelect(l->b, is_special, special, y, "");
  return float_of(l, LLVMBuildOr(l->b, y, sign, ""));
}

/* x is already a value of f16. */
static LLVMValueRef f16_to_mem(neo_llvm *l, LLVMValueRef x) {
  uint32_t w = neo_ll_width(x);
  LLVMTypeRef i32 = neo_ll_int_type(l, 32, w), i16 = neo_ll_int_type(l, 16, w);
  if (has_f16(l)) {
    x = LLVMBuildFPTrunc(l->b, x, neo_ll_float_type(l, 16, w), "");
    return LLVMBuildBitCast(l->b, x, i16, "");
  }
  LLVMValueRef u = bits_of(l, x), size = neo_ll_call(l, "llvm.fabs", LLVMTypeOf(x), &x, 1);
  LLVMValueRef sign = LLVMBuildAnd(l->b, LLVMBuildLShr(l->b, u, neo_ll_int(i32, 16), ""),
                                   neo_ll_int(i32, 0x8000), "");
  LLVMValueRef m = bits_of(l, size);
  LLVMValueRef scaled = LLVMBuildFMul(l->b, size, neo_ll_float(LLVMTypeOf(x), 0x1p24), "");
  LLVMValueRef small = neo_ll_cast(l, NEO_I32_T, NEO_F32_T, scaled);
  LLVMValueRef shifted = LLVMBuildLShr(l->b, m, neo_ll_int(i32, 13), "");
  LLVMValueRef normal = LLVMBuildSub(l->b, shifted, neo_ll_int(i32, 112 << 10), "");
  LLVMValueRef special = LLVMBuildAnd(l->b, shifted, neo_ll_int(i32, 0x7fff), "");
  LLVMValueRef is_small = LLVMBuildICmp(l->b, LLVMIntULT, m, neo_ll_int(i32, 113 << 23), "");
  LLVMValueRef is_special = LLVMBuildICmp(l->b, LLVMIntUGE, m, neo_ll_int(i32, 0x7f800000), "");
  LLVMValueRef y = LLVMBuildSelect(l->b, is_small, small, normal, "");
  /* f16 has five bits of exponent. */
  special = LLVMBuildAnd(l->b, special, neo_ll_int(i32, 0x3ff), "");
  special = LLVMBuildOr(l->b, special, neo_ll_int(i32, 0x7c00), "");
  y = LLVMBuildSelect(l->b, is_special, special, y, "");
  return LLVMBuildTrunc(l->b, LLVMBuildOr(l->b, y, sign, ""), i16, "");
}

static LLVMValueRef bf16_from_mem(neo_llvm *l, LLVMValueRef x) {
  if (has_bf16(l)) {
    x = LLVMBuildBitCast(l->b, x, bf16_type(l, x), "");
    return LLVMBuildFPExt(l->b, x, neo_ll_float_type(l, 32, neo_ll_width(x)), "");
  }
  LLVMTypeRef i32 = ints(l, x, 32);
  LLVMValueRef u = LLVMBuildZExt(l->b, x, i32, "");
  return float_of(l, LLVMBuildShl(l->b, u, neo_ll_int(i32, 16), ""));
}

/* x is already a value of bf16. */
static LLVMValueRef bf16_to_mem(neo_llvm *l, LLVMValueRef x) {
  if (has_bf16(l)) {
    x = LLVMBuildFPTrunc(l->b, x, bf16_type(l, x), "");
    return LLVMBuildBitCast(l->b, x, ints(l, x, 16), "");
  }
  LLVMValueRef u = LLVMBuildLShr(l->b, bits_of(l, x), neo_ll_int(ints(l, x, 32), 16), "");
  return LLVMBuildTrunc(l->b, u, ints(l, x, 16), "");
}

LLVMValueRef neo_ll_from_mem(neo_llvm *l, neo_type t, LLVMValueRef x) {
  switch (t) {
  case NEO_F16_T:
    return f16_from_mem(l, x);
  case NEO_BF16_T:
    return bf16_from_mem(l, x);
  case NEO_BOOL_T:
    return LLVMBuildICmp(l->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
  default:
    return x;
  }
}

LLVMValueRef neo_ll_to_mem(neo_llvm *l, neo_type t, LLVMValueRef x) {
  switch (t) {
  case NEO_F16_T:
    return f16_to_mem(l, x);
  case NEO_BF16_T:
    return bf16_to_mem(l, x);
  case NEO_BOOL_T:
    return LLVMBuildZExt(l->b, x, ints(l, x, 8), "");
  default:
    return x;
  }
}

/* ---- conversions */

static bool is_signed(neo_type t) {
  return t != NEO_U8_T && t != NEO_BOOL_T;
}

static LLVMValueRef float_to_int(neo_llvm *l, neo_type to, LLVMValueRef x) {
  uint32_t w = neo_ll_width(x);
  if (to == NEO_BOOL_T)
    return LLVMBuildFCmp(l->b, LLVMRealUNE, x, neo_ll_float(LLVMTypeOf(x), 0), "");
  /* Saturating conversions take both types. */
  const char *name = is_signed(to) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  LLVMTypeRef overload[] = {neo_ll_type(l, to, w), LLVMTypeOf(x)};
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef fn = LLVMGetIntrinsicDeclaration(l->mod, id, overload, 2);
  return LLVMBuildCall2(l->b, LLVMIntrinsicGetType(l->ctx, id, overload, 2), fn, &x, 1, "");
}

static LLVMValueRef int_to_int(neo_llvm *l, neo_type to, neo_type from, LLVMValueRef x) {
  LLVMTypeRef t = neo_ll_type(l, to, neo_ll_width(x));
  if (to == NEO_BOOL_T)
    return LLVMBuildICmp(l->b, LLVMIntNE, x, LLVMConstNull(LLVMTypeOf(x)), "");
  return LLVMBuildIntCast2(l->b, x, t, is_signed(from), "");
}

LLVMValueRef neo_ll_cast(neo_llvm *l, neo_type to, neo_type from, LLVMValueRef x) {
  LLVMTypeRef t = neo_ll_type(l, to, neo_ll_width(x));
  if (to == from)
    return x;
  if (!neo_type_is_float(to))
    return neo_type_is_float(from) ? float_to_int(l, to, x) : int_to_int(l, to, from, x);
  if (neo_type_is_float(from)) {
    if (LLVMTypeOf(x) != t)
      x = to == NEO_F64_T ? LLVMBuildFPExt(l->b, x, t, "") : LLVMBuildFPTrunc(l->b, x, t, "");
  } else {
    x = is_signed(from) ? LLVMBuildSIToFP(l->b, x, t, "") : LLVMBuildUIToFP(l->b, x, t, "");
  }
  return neo_ll_round(l, to, x);
}
