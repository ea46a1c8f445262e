/* sin, cos, tan for f64.
 *
 * x = q*pi/2 + r, where r is a sum of two numbers and |r| <= pi/4. Below 2^20, q*pi/2 is subtracted
 * in four parts (33 + 33 + 33 + 53 bits, the first three products exact, the differences exact as
 * sums of two). Above, a table has the 192 bits of 2/pi that x's exponent needs (Payne and Hanek):
 * earlier bits would add multiples of 4 to x*2/pi, later bits less than 2^-137, while no f64 is
 * nearer than 2^-62 to a multiple of pi/2. A function of its own does this for a vector with such
 * an element, lane by lane.
 *
 * Polynomials (minimax by Remez exchange with 60 digits, then each coefficient rounded to f64):
 * (sin(r)/r - 1)/r^2 in r^2, degree 5, error of sin 2^-57; (cos(r) - 1 + r^2/2)/r^4 in r^2, degree
 * 5, error of cos 2^-60. Measured: sin, cos within 0.8 ulp, tan 1.4. */
#include "codegen/llvm/math/math64.h"

static const double sin_poly[] = {-0x1.5555555555549p-3,  0x1.111111110f882p-7,
                                  -0x1.a01a019c126bep-13, 0x1.71de3578521b5p-19,
                                  -0x1.ae5e66a560c52p-26, 0x1.5d931cb899411p-33};
static const double cos_poly[] = {0x1.555555555554cp-5,  -0x1.6c16c16c151b4p-10,
                                  0x1.a01a019cb65e8p-16, -0x1.27e4f80ce95eap-22,
                                  0x1.1ee9edbcf9544p-29, -0x1.8faf7a84010d0p-37};

/* 64 zero bits and the first 1216 bits of 2/pi. */
static const uint64_t two_over_pi[] = {0,
                                       0xa2f9836e4e441529,
                                       0xfc2757d1f534ddc0,
                                       0xdb6295993c439041,
                                       0xfe5163abdebbc561,
                                       0xb7246e3a424dd2e0,
                                       0x06492eea09d1921c,
                                       0xfe1deb1cb129a73e,
                                       0xe88235f52ebb4484,
                                       0xe99c7026b45f7e41,
                                       0x3991d639835339f4,
                                       0x9c845f8bbdf9283b,
                                       0x1ff897ffde05980f,
                                       0xef2f118b5a0a6d1f,
                                       0x6d367ecf27cb09b7,
                                       0x4f463f669e5fea2d,
                                       0x7527bac7ebe5f17b,
                                       0x3d0739f78a5292ea,
                                       0x6bfb5fb11f8d5d08,
                                       0x56033046fc7b6bab};
enum { N_WORDS = sizeof two_over_pi / sizeof two_over_pi[0] };

#define FAR 0x1p20 /* from here on the table is used */

typedef struct {
  pair r;
  val q; /* an i64, of which the last two bits count */
} reduced;

/* ---- below 2^20 */

static reduced reduce_near(neo_llvm *l, val x) {
  val z = mad(l, x, num(x, 0x1.45f306dc9c883p-1), num(x, MAGIC64)), n = addc(l, z, -MAGIC64);
  val r = mad(l, n, num(x, -0x1.921fb544p+0), x);
  pair second = sum2(l, r, mulc(l, n, -0x1.0b4611a6p-34));
  pair third = sum2(l, second.h, mulc(l, n, -0x1.3198a2e0p-69));
  val low = mad(l, n, num(x, -0x1.b839a252049c1p-104), add(l, second.l, third.l));
  reduced t = {fast_sum2(l, third.h, low), to_bits(l, z)};
  return t;
}

/* ---- beyond: scalars */

static LLVMValueRef table(neo_llvm *l) {
  LLVMTypeRef i64 = neo_ll_i64(l);
  LLVMValueRef word[N_WORDS];
  for (int k = 0; k < N_WORDS; k++)
    word[k] = LLVMConstInt(i64, two_over_pi[k], false);
  return neo_ll_private_data(l, LLVMConstArray2(i64, word, N_WORDS), 8);
}

static val funnel(neo_llvm *l, val high, val low, val shift) { /* to the left */
  val arg[] = {high, low, shift};
  return neo_ll_call(l, "llvm.fshl", LLVMTypeOf(high), arg, 3);
}

/* word[0..2]: 192 bits from bit `at` of the table on. */
static void window(neo_llvm *l, val at, val *word) {
  LLVMTypeRef i64 = LLVMTypeOf(at);
  val first = LLVMBuildLShr(l->b, at, inum(at, 6), ""), shift = iand(l, at, 63);
  val base = table(l), given[4];
  for (int k = 0; k < 4; k++) {
    val index = iadd(l, first, inum(at, k));
    given[k] = LLVMBuildLoad2(l->b, i64, LLVMBuildInBoundsGEP2(l->b, i64, base, &index, 1, ""), "");
  }
  for (int k = 0; k < 3; k++)
    word[k] = funnel(l, given[k], given[k + 1], shift);
}

static val high_half(neo_llvm *l, val wide) {
  return LLVMBuildLShr(l->b, wide, inum(wide, 64), "");
}

/* m*word modulo 2^192, in place. */
static void scale_window(neo_llvm *l, val m, val *word) {
  LLVMTypeRef i64 = LLVMTypeOf(m), i128 = LLVMIntTypeInContext(l->ctx, 128);
  val wide = LLVMBuildZExt(l->b, m, i128, ""), carry = LLVMConstNull(i128);
  for (int k = 2; k >= 0; k--) {
    val p = LLVMBuildMul(l->b, LLVMBuildZExt(l->b, word[k], i128, ""), wide, "");
    p = iadd(l, p, carry);
    word[k] = LLVMBuildTrunc(l->b, p, i64, "");
    carry = high_half(l, p);
  }
}

/* The half of a word that stands `bits` from the left, as a number at its place. */
static val half_word(neo_llvm *l, val word, int bits, bool is_signed) {
  val half = iand(l, word, 0xffffffff);
  if (bits % 64 == 32)
    half = is_signed ? isar(l, word, 32) : LLVMBuildLShr(l->b, word, inum(word, 32), "");
  return mulc(l, i32_to(l, half, 64), ldexp(1, -bits));
}

/* pi/2 times the signed number high*2^-64 + low*2^-128. */
static pair angle(neo_llvm *l, val high, val low) {
  pair a = fast_sum2(l, half_word(l, high, 32, true), half_word(l, high, 64, false));
  pair b = fast_sum2(l, a.h, half_word(l, low, 96, false));
  pair quarters = fast_sum2(l, b.h, add(l, add(l, a.l, b.l), half_word(l, low, 128, false)));
  pair quarter = {num(a.h, 0x1.921fb54442d18p+0), num(a.h, 0x1.1a62633145c07p-54)};
  return times(l, quarters, quarter);
}

/* Argument reduction of a finite x from 2^20 on. With x = m*2^e, bit e - 1 of 2/pi is worth 2 in
 * x*2/pi. */
static reduced reduce_far(neo_llvm *l, val x) {
  val bits = to_bits(l, x), word[3];
  val exponent = iand(l, LLVMBuildLShr(l->b, bits, inum(bits, 52), ""), 0x7ff);
  val m = LLVMBuildOr(l->b, iand(l, bits, 0xfffffffffffff), inum(bits, 1LL << 52), "");
  window(l, isub(l, exponent, inum(bits, 1075 - 62)), word);
  scale_window(l, m, word);
  val q = iadd(l, word[0], inum(bits, 1LL << 61)), two = inum(bits, 2);
  q = LLVMBuildLShr(l->b, q, inum(bits, 62), "");
  pair r = angle(l, funnel(l, word[0], word[1], two), funnel(l, word[1], word[2], two));
  val down = lessc(l, x, 0);
  pair opposite = {minus(l, r.h), minus(l, r.l)};
  reduced t = {pick2(l, down, opposite, r), pick(l, down, isub(l, inum(q, 0), q), q)};
  return t;
}

/* The argument reduction as a function of the module, "reduce_pio2": f64 -> {r.h, r.l, q}. */
static val call_far(neo_llvm *l, val x) {
  LLVMTypeRef f64 = LLVMTypeOf(x), field[] = {f64, f64, neo_ll_i64(l)};
  LLVMTypeRef type =
      LLVMFunctionType(LLVMStructTypeInContext(l->ctx, field, 3, false), &f64, 1, false);
  neo_ll_shared f = neo_ll_shared_begin(l, "reduce_pio2", type);
  if (f.body) {
    reduced t = reduce_far(l, LLVMGetParam(f.body, 0));
    LLVMBuildAggregateRet(l->b, (val[]){t.r.h, t.r.l, t.q}, 3);
    neo_ll_shared_end(l, &f);
  }
  return LLVMBuildCall2(l->b, type, f.fn, &x, 1, "");
}

/* Field `field` of every lane's result. */
static val gather(neo_llvm *l, const val *result, uint32_t w, unsigned field) {
  val x = LLVMBuildExtractValue(l->b, result[0], field, "");
  if (w == 1)
    return x;
  val all = LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), w));
  for (uint32_t k = 0; k < w; k++) {
    x = LLVMBuildExtractValue(l->b, result[k], field, "");
    all = LLVMBuildInsertElement(l->b, all, x, neo_ll_int32(l, k), "");
  }
  return all;
}

static reduced reduce_far_lanes(neo_llvm *l, val x) {
  uint32_t w = neo_ll_width(x);
  LLVMTypeRef i32 = neo_ll_i32(l);
  val *result = NEO_NEW_ARRAY(l->arena, val, w);
  for (uint32_t k = 0; k < w; k++)
    result[k] = call_far(l, w == 1 ? x : LLVMBuildExtractElement(l->b, x, neo_ll_int(i32, k), ""));
  reduced t = {{gather(l, result, w, 0), gather(l, result, w, 1)}, gather(l, result, w, 2)};
  return t;
}

/* ---- both */

static val merge(neo_llvm *l, val x, val y, LLVMBasicBlockRef from_x, LLVMBasicBlockRef from_y) {
  val phi = LLVMBuildPhi(l->b, LLVMTypeOf(x), "");
  LLVMAddIncoming(phi, (val[]){x, y}, (LLVMBasicBlockRef[]){from_x, from_y}, 2);
  return phi;
}

static reduced reduce(neo_llvm *l, val x) {
  reduced near = reduce_near(l, x);
  val big = not_(l, lessc(l, size_of(l, x), FAR)), any = big; /* or NaN */
  LLVMBasicBlockRef from = LLVMGetInsertBlock(l->b);
  LLVMValueRef fn = LLVMGetBasicBlockParent(from);
  LLVMBasicBlockRef far = LLVMAppendBasicBlockInContext(l->ctx, fn, "far");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(l->ctx, fn, "done");
  if (neo_ll_width(big) > 1)
    any = neo_ll_call(l, "llvm.vector.reduce.or", LLVMTypeOf(big), &big, 1);
  LLVMBuildCondBr(l->b, any, far, done);
  LLVMPositionBuilderAtEnd(l->b, far);
  reduced t = reduce_far_lanes(l, pick(l, big, x, num(x, FAR)));
  t.r = pick2(l, big, t.r, near.r);
  t.q = pick(l, big, t.q, near.q);
  LLVMBuildBr(l->b, done);
  LLVMPositionBuilderAtEnd(l->b, done);
  reduced both = {{merge(l, near.r.h, t.r.h, from, far), merge(l, near.r.l, t.r.l, from, far)},
                  merge(l, near.q, t.q, from, far)};
  return both;
}

static pair sine(neo_llvm *l, pair r) {
  val z = mul(l, r.h, r.h), cubic = mul(l, mul(l, r.h, z), POLY(l, z, sin_poly));
  return fast_sum2(l, r.h, mad(l, r.l, mad(l, z, num(z, -0.5), num(z, 1)), cubic));
}

/* cos(r) as a sum of two: 1 - z/2, z = r^2; then its rounding error and the polynomial. */
static pair cosine(neo_llvm *l, pair r) {
  val z = mul(l, r.h, r.h);
  pair top = fast_sum2(l, num(z, 1), mulc(l, z, -0.5));
  val rest = mad(l, mul(l, z, z), POLY(l, z, cos_poly), minus(l, mul(l, r.h, r.l)));
  return fast_sum2(l, top.h, add(l, top.l, rest));
}

static val bit(neo_llvm *l, val q, int64_t mask) {
  return LLVMBuildICmp(l->b, LLVMIntNE, iand(l, q, mask), inum(q, 0), "");
}

val neo_ll_trig64(neo_llvm *l, neo_op op, val x) {
  reduced t = reduce(l, x);
  val q = op == NEO_OP_COS ? iadd(l, t.q, inum(t.q, 1)) : t.q, odd = bit(l, q, 1);
  pair s = sine(l, t.r), c = cosine(l, t.r), top = pick2(l, odd, c, s), below = pick2(l, odd, s, c);
  val flip = op == NEO_OP_TAN ? odd : bit(l, q, 2);
  val y = op == NEO_OP_TAN ? ratio(l, top, below) : top.h;
  y = pick(l, flip, minus(l, y), y);
  if (op != NEO_OP_COS)
    y = pick(l, lessc(l, size_of(l, x), 0x1p-27), x, y); /* keeps -0 and denormals */
  return pick(l, lessc(l, size_of(l, x), INFINITY), y, num(x, NAN));
}
