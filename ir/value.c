/* Single values: rounding, conversion and every elementwise operator, as in ops.def. Floats of all
 * types are held as doubles that the type can represent. An f32 operator computed in double and
 * rounded once is the f32 operator for + - * / and sqrt (53 >= 2*24 + 2 bits), and more exact for
 * the elementary functions. f16 and bf16 are rounded to f32 first, because they compute in f32.
 * Constants are folded by these functions, too, so that folding and evaluation cannot disagree. */
#include "ir/interp/interp.h"
#include <assert.h>
#include <math.h>
#include <string.h>

static float f32_of_bits(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

static float round_bf16(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  if (x != x)
    return x;
  u += 0x7fffU + ((u >> 16) & 1U);
  return f32_of_bits(u & 0xffff0000U);
}

static float round_f16(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  if (x != x)
    return x;
  float size = fabsf(x);
  /* Below 2^-14 the spacing is 2^-24, which is that of f32 in [1/2, 1). */
  if (size < 0x1p-14F)
    return copysignf((size + 0.5F) - 0.5F, x);
  u += 0xfffU + ((u >> 13) & 1U);
  float y = f32_of_bits(u & 0xffffe000U);
  return fabsf(y) > 65504.0F ? copysignf(INFINITY, x) : y;
}

double neo_value_round(neo_type t, double x) {
  if (t == NEO_F32_T)
    return (double)(float)x;
  if (t == NEO_F16_T)
    return (double)round_f16((float)x);
  if (t == NEO_BF16_T)
    return (double)round_bf16((float)x);
  return x;
}

static int64_t wrap(neo_type t, uint64_t x) {
  switch (t) {
  case NEO_I32_T:
    return (int32_t)(uint32_t)x;
  case NEO_I8_T:
    return (int8_t)(uint8_t)x;
  case NEO_U8_T:
    return (uint8_t)x;
  case NEO_BOOL_T:
    return x != 0;
  default:
    return (int64_t)x;
  }
}

static void int_range(neo_type t, int64_t *lo, int64_t *hi) {
  *lo = t == NEO_I32_T ? INT32_MIN : t == NEO_I8_T ? INT8_MIN : t == NEO_U8_T ? 0 : INT64_MIN;
  *hi = t == NEO_I32_T  ? INT32_MAX
        : t == NEO_I8_T ? INT8_MAX
        : t == NEO_U8_T ? UINT8_MAX
                        : INT64_MAX;
}

static int64_t saturate(neo_type t, double x) {
  int64_t lo, hi;
  int_range(t, &lo, &hi);
  if (x != x)
    return 0;
  if (x <= (double)lo)
    return lo;
  if (x >= (double)hi)
    return hi;
  return (int64_t)x;
}

neo_value neo_value_cast(neo_type to, neo_type from, neo_value x) {
  bool from_float = neo_type_is_float(from);
  if (neo_type_is_float(to)) {
    if (from_float)
      return (neo_value){.f = neo_value_round(to, x.f)};
    /* Directly to f32: i64 to f64 to f32 would round twice. */
    if (to == NEO_F64_T)
      return (neo_value){.f = (double)x.i};
    return (neo_value){.f = neo_value_round(to, (double)(float)x.i)};
  }
  if (to == NEO_BOOL_T)
    return (neo_value){.i = from_float ? x.f != 0 : x.i != 0};
  return (neo_value){.i = from_float ? saturate(to, x.f) : wrap(to, (uint64_t)x.i)};
}

/* ---- integers: computed modulo 2^64, then wrapped */

static int64_t div_floor(int64_t x, int64_t y) {
  if (y == 0)
    return 0;
  if (y == -1)
    return (int64_t)(0 - (uint64_t)x);
  int64_t q = x / y;
  return q - (x % y != 0 && (x < 0) != (y < 0));
}

static uint64_t int_mod(int64_t x, int64_t y) {
  return y == 0 ? 0 : (uint64_t)x - (uint64_t)y * (uint64_t)div_floor(x, y);
}

static int64_t int_min(int64_t x, int64_t y) {
  return y < x ? y : x;
}
static int64_t int_max(int64_t x, int64_t y) {
  return y > x ? y : x;
}

static uint64_t int_op(neo_op op, const neo_value *v) {
  int64_t x = v[0].i;
  uint64_t a = (uint64_t)x;
  switch (op) {
  case NEO_OP_ADD:
    return a + (uint64_t)v[1].i;
  case NEO_OP_SUB:
    return a - (uint64_t)v[1].i;
  case NEO_OP_MUL:
    return a * (uint64_t)v[1].i;
  case NEO_OP_DIV:
    return (uint64_t)div_floor(x, v[1].i);
  case NEO_OP_MOD:
    return int_mod(x, v[1].i);
  case NEO_OP_NEG:
    return 0 - a;
  case NEO_OP_MIN:
    return (uint64_t)int_min(x, v[1].i);
  case NEO_OP_MAX:
    return (uint64_t)int_max(x, v[1].i);
  case NEO_OP_CLAMP:
    return (uint64_t)int_min(int_max(x, v[1].i), v[2].i);
  case NEO_OP_ABS:
    return x < 0 ? 0 - a : a;
  case NEO_OP_SIGN:
    return (uint64_t)(int64_t)((x > 0) - (x < 0));
  case NEO_OP_RELU:
    return (uint64_t)int_max(x, 0);
  case NEO_OP_STOP:
    return a;
  default:
    assert(false && "an operator that integers have");
    return 0;
  }
}

/* ---- floats */

static double float_min(double x, double y) {
  if (x != x)
    return x;
  return y < x || y != y ? y : x;
}

static double float_max(double x, double y) {
  if (x != x)
    return x;
  return y > x || y != y ? y : x;
}

/* Each step rounded as the type computes, because floor is not continuous. */
double neo_float_mod(neo_type t, double x, double y) {
  double r = fmod(x, y);
  if (r == 0)
    return copysign(r, y);
  if ((r < 0) == (y < 0) || r != r)
    return r;
  return t == NEO_F64_T ? r + y : (double)((float)r + (float)y);
}

static double sign(double x) {
  if (x != x)
    return x;
  return (double)((x > 0) - (x < 0));
}

static double sigmoid(double x) {
  if (x >= 0)
    return 1 / (1 + exp(-x));
  double e = exp(x);
  return e / (1 + e);
}

static double softplus(double x) {
  return x != x ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}
/* x / sqrt(2) rounded to double would cost x*x times as much at the end. */
static double phi(double x) {
  return (double)(erfcl(-(long double)x / sqrtl(2)) / 2);
}

static double gelu(double x) {
  return x * phi(x);
}

static double silu(double x) {
  /* -inf * 0 would be NaN, as it is for x*sigmoid(x) written out: the text of ops.def holds. */
  return x * sigmoid(x);
}

/* Infinities and NaN stay unchanged: adding to a NaN's bits could make it a number. */
static double tf32(double x) {
  enum { DROPPED = 13 };
  float f = (float)x;
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  u = (u + (1U << (DROPPED - 1))) & ~((1U << DROPPED) - 1);
  memcpy(&f, &u, sizeof f);
  return x != x ? x : (double)f;
}

static double float_function(neo_op op, double x) {
  switch (op) {
  case NEO_OP_TF32:
    return tf32(x);
  case NEO_OP_NEG:
    return -x;
  case NEO_OP_STOP:
    return x;
  case NEO_OP_ABS:
    return fabs(x);
  case NEO_OP_SIGN:
    return sign(x);
  case NEO_OP_FLOOR:
    return floor(x);
  case NEO_OP_CEIL:
    return ceil(x);
  case NEO_OP_ROUND:
    return rint(x);
  case NEO_OP_SQRT:
    return sqrt(x);
  case NEO_OP_RSQRT:
    return 1 / sqrt(x);
  case NEO_OP_EXP:
    return exp(x);
  case NEO_OP_EXPM1:
    return expm1(x);
  case NEO_OP_LOG:
    return log(x);
  case NEO_OP_LOG1P:
    return log1p(x);
  case NEO_OP_SIN:
    return sin(x);
  case NEO_OP_COS:
    return cos(x);
  case NEO_OP_TAN:
    return tan(x);
  case NEO_OP_TANH:
    return tanh(x);
  case NEO_OP_SIGMOID:
    return sigmoid(x);
  case NEO_OP_RELU:
    return float_max(x, 0);
  case NEO_OP_GELU:
    return gelu(x);
  case NEO_OP_SILU:
    return silu(x);
  case NEO_OP_SOFTPLUS:
    return softplus(x);
  case NEO_OP_ELU:
    return x > 0 ? x : expm1(x);
  case NEO_OP_ERF:
    return erf(x);
  case NEO_OP_PHI:
    return phi(x);
  case NEO_OP_BELL:
    return exp(-x * x / 2);
  default:
    assert(false && "an operator that floats have");
    return 0;
  }
}

static double float_op(neo_op op, neo_type t, const neo_value *v) {
  double x = v[0].f;
  switch (op) {
  case NEO_OP_ADD:
    return x + v[1].f;
  case NEO_OP_SUB:
    return x - v[1].f;
  case NEO_OP_MUL:
    return x * v[1].f;
  case NEO_OP_DIV:
    return x / v[1].f;
  case NEO_OP_MOD:
    return neo_float_mod(t, x, v[1].f);
  case NEO_OP_POW:
    return pow(x, v[1].f);
  case NEO_OP_MIN:
    return float_min(x, v[1].f);
  case NEO_OP_MAX:
    return float_max(x, v[1].f);
  case NEO_OP_CLAMP:
    return float_min(float_max(x, v[1].f), v[2].f);
  default:
    return float_function(op, x);
  }
}

/* ---- comparisons and logic */

static bool compare_float(neo_op op, double x, double y) {
  switch (op) {
  case NEO_OP_EQ:
    return x == y;
  case NEO_OP_NE:
    return x != y;
  case NEO_OP_LT:
    return x < y;
  default:
    return x <= y;
  }
}

static bool compare_int(neo_op op, int64_t x, int64_t y) {
  switch (op) {
  case NEO_OP_EQ:
    return x == y;
  case NEO_OP_NE:
    return x != y;
  case NEO_OP_LT:
    return x < y;
  default:
    return x <= y;
  }
}

static bool logic(neo_op op, const neo_value *v) {
  if (op == NEO_OP_NOT)
    return !v[0].i;
  return op == NEO_OP_AND ? v[0].i && v[1].i : v[0].i || v[1].i;
}

neo_value neo_value_op(neo_op op, neo_type result, neo_type arg, const neo_value *x) {
  switch (neo_op_rule(op)) {
  case NEO_RULE_CMP:
    return (neo_value){.i = neo_type_is_float(arg) ? compare_float(op, x[0].f, x[1].f)
                                                   : compare_int(op, x[0].i, x[1].i)};
  case NEO_RULE_LOGIC:
    return (neo_value){.i = logic(op, x)};
  case NEO_RULE_SELECT:
    return x[0].i ? x[1] : x[2];
  case NEO_RULE_CAST:
    return neo_value_cast(result, arg, x[0]);
  default:
    break;
  }
  if (neo_type_is_float(result))
    return (neo_value){.f = neo_value_round(result, float_op(op, result, x))};
  return (neo_value){.i = wrap(result, int_op(op, x))};
}

/* ---- memory */

static float f16_of_bits(uint16_t u) {
  uint32_t exponent = (u >> 10) & 31U, fraction = u & 1023U;
  float x = exponent == 0    ? ldexpf((float)fraction, -24)
            : exponent == 31 ? (fraction ? NAN : INFINITY)
                             : ldexpf((float)(fraction | 1024U), (int)exponent - 25);
  return u >> 15 ? -x : x;
}

static uint16_t f16_bits(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  uint16_t sign_bit = (uint16_t)(u >> 16 & 0x8000U);
  if (x != x)
    return (uint16_t)(sign_bit | 0x7e00U);
  if (isinf(x))
    return (uint16_t)(sign_bit | 0x7c00U);
  float size = fabsf(x);
  if (size < 0x1p-14F)
    return (uint16_t)(sign_bit | (uint16_t)(size * 0x1p24F));
  return (uint16_t)(sign_bit | (uint16_t)(((u >> 13) & 0x3ffffU) - (112U << 10)));
}

neo_value neo_value_read(neo_type t, const void *p) {
  uint64_t u = 0;
  double f64;
  memcpy(&u, p, neo_type_bytes(t));
  memcpy(&f64, &u, sizeof f64);
  switch (t) {
  case NEO_F64_T:
    return (neo_value){.f = f64};
  case NEO_F32_T:
    return (neo_value){.f = (double)f32_of_bits((uint32_t)u)};
  case NEO_F16_T:
    return (neo_value){.f = (double)f16_of_bits((uint16_t)u)};
  case NEO_BF16_T:
    return (neo_value){.f = (double)f32_of_bits((uint32_t)u << 16)};
  default:
    return (neo_value){.i = wrap(t, u)};
  }
}

void neo_value_write(neo_type t, neo_value v, void *p) {
  uint64_t u = 0;
  uint32_t u32;
  float f32 = neo_type_is_float(t) ? (float)v.f : 0;
  memcpy(&u32, &f32, sizeof u32);
  switch (t) {
  case NEO_F64_T:
    memcpy(&u, &v.f, sizeof u);
    break;
  case NEO_F32_T:
    u = u32;
    break;
  case NEO_F16_T:
    u = f16_bits(f32);
    break;
  case NEO_BF16_T:
    u = u32 >> 16;
    break;
  default:
    u = (uint64_t)v.i;
  }
  memcpy(p, &u, neo_type_bytes(t));
}
