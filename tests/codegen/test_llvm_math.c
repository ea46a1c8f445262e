/* Element functions of f32: at most 4 units in the last place off the f64 value, over all
 * exponents, signs and odd values, for widths 1, 8 and 16 at every level. Our own of f64, which
 * targets without libm use: within bounds of their own off long double's, and a GPU asks for no
 * others. f16 and bf16: all 65536 arguments of a few functions. NEO_TEST_STEP=1 sweeps all 2^32
 * floats; NEO_TEST_COUNT says how many rounds of random numbers f64 gets (1). */
#include "base/file.h"
#include "base/random.h"
#include "loop_support.h"
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 4096, MAX_ULP = 4 };

static double sigmoid(double x) {
  return x < 0 ? exp(x) / (1 + exp(x)) : 1 / (1 + exp(-x));
}
static double silu(double x) {
  return x * sigmoid(x);
}
static double gelu(double x) {
  return x / 2 * erfc(-x * M_SQRT1_2);
}
static double phi(double x) {
  return erfc(-x * M_SQRT1_2) / 2;
}
static double bell(double x) {
  return exp(-x * x / 2);
}
static double softplus(double x) {
  return x != x ? x : fmax(x, 0) + log1p(exp(-fabs(x)));
}
static double elu(double x) {
  return x > 0 ? x : expm1(x);
}
static double rsqrt(double x) {
  return 1 / sqrt(x);
}

static const struct {
  neo_op op;
  double (*f)(double);
} functions[] = {
    {NEO_OP_EXP, exp},     {NEO_OP_EXPM1, expm1}, {NEO_OP_LOG, log},
    {NEO_OP_LOG1P, log1p}, {NEO_OP_SIN, sin},     {NEO_OP_COS, cos},
    {NEO_OP_TAN, tan},     {NEO_OP_TANH, tanh},   {NEO_OP_SIGMOID, sigmoid},
    {NEO_OP_GELU, gelu},   {NEO_OP_SILU, silu},   {NEO_OP_SOFTPLUS, softplus},
    {NEO_OP_ELU, elu},     {NEO_OP_ERF, erf},     {NEO_OP_SQRT, sqrt},
    {NEO_OP_RSQRT, rsqrt}, {NEO_OP_PHI, phi},     {NEO_OP_BELL, bell},
};
enum { N_FUNCTIONS = sizeof functions / sizeof functions[0] };
static const int widths[] = {1, 8, 16};

/* ---- one module for a level, a kernel for each function and width */

static const char *symbol_of(loop_fix *f, neo_op op, int width) {
  return neo_arena_printf(&f->arena, "%s_%d", neo_op_text(op), width);
}

static void add_kernel(loop_fix *f, neo_llvm *l, neo_op op, int width, const char *type) {
  const char *why;
  const char *args = op == NEO_OP_POW ? "x[i*%d + l], y[i*%d + l]" : "x[i*%d + l]";
  const char *text = neo_arena_printf(
      &f->arena,
      "neo-loop 2\nkernel k(x: %s read, y: %s read, z: %s write) units 1\nfor i in 0..%d\n"
      "  for l in 0..%d vector\n    z[i*%d + l] = %s(%s)\n",
      type, type, type, BLOCK / width, width, width, neo_op_text(op),
      op == NEO_OP_POW ? neo_arena_printf(&f->arena, args, width, width)
                       : neo_arena_printf(&f->arena, args, width));
  if (neo_llvm_kernel(l, loop_kernel(f, text), symbol_of(f, op, width), &why))
    fail_msg("%s", why);
}

static neo_llvm *module_for(loop_fix *f, const neo_target *t) {
  neo_llvm *l;
  const char *why;
  if (neo_llvm_new(&f->arena, t, "math", &l, &why))
    fail_msg("%s", why);
  return l;
}

static neo_llvm *new_module(loop_fix *f, const char *level, bool own_math) {
  neo_target t;
  const char *why;
  if (neo_target_choose(&f->arena, NULL, level, &t, &why))
    fail_msg("%s", why);
  t.own_math = own_math;
  return module_for(f, &t);
}

static neo_rt_fn *entry(loop_fix *f, neo_llvm *l, neo_op op, int width) {
  const char *why;
  neo_rt_fn *fn = (neo_rt_fn *)(uintptr_t)neo_llvm_jit(l, symbol_of(f, op, width), &why);
  if (!fn)
    fail_msg("%s", why);
  return fn;
}

static void finish(neo_llvm *l) {
  const char *why;
  if (neo_llvm_finish(l, &why))
    fail_msg("%s", why);
}

/* ---- distances */

static double spacing(double x) {
  int e;
  frexp(x, &e);
  return ldexp(1, e < -125 ? -149 : e - 24);
}

static double distance(double want, float got) {
  double y = (double)got;
  if (isnan(want) || isnan(got))
    return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (isinf((float)want) && isinf(got))
    return !signbit(want) == !signbit(got) ? 0 : INFINITY;
  if (isinf(want) || isinf(got)) /* a result near the largest number may round past it */
    return isinf(want) || fabs(want) < (double)FLT_MAX ? INFINITY : 1;
  if (want == 0 && y == 0)
    return !signbit(want) == !signbit(got) ? 0 : INFINITY;
  return fabs(y - want) / spacing(want);
}

typedef struct {
  double ulp, want;
  float x, y, got;
} worst;

static void note(worst *w, double ulp, float x, float y, double want, float got) {
  if (!(ulp > w->ulp))
    return;
  *w = (worst){ulp, want, x, y, got};
}

static void report(const char *level, neo_op op, int width, const worst *w) {
  print_message("  %-9s %-8s x%-2d %6.2f ulp at %a", level, neo_op_text(op), width, w->ulp,
                (double)w->x);
  if (op == NEO_OP_POW)
    print_message(", %a", (double)w->y);
  print_message("\n");
  if (w->ulp > MAX_ULP)
    fail_msg("%s(%.9g, %.9g) = %.9g, not %.17g", neo_op_text(op), (double)w->x, (double)w->y,
             (double)w->got, w->want);
}

/* ---- sweeps */

static float float_of(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

/* Arguments at which something changes, besides the even spread over all bit patterns. */
static uint32_t special(uint32_t i) {
  static const float odd[] = {
      0,        1,        0.5F,    2,           88.72283F,   88.72284F,   -87.33654F,     -103.97F,
      -104,     0.875F,   4,       9.01F,       17.3F,       1048576,     0x1p-126F,      1e-45F,
      0x1p-25F, 0.34657F, 1.0397F, 0.70710678F, 1.41421356F, 3.14159265F, 1.57079633F,    16367173,
      14.2F,    -14.2F,   FLT_MAX, INFINITY,    NAN,         5.5F,        0x1.6ac5b2p+13F};
  enum { N = sizeof odd / sizeof odd[0] };
  uint32_t u;
  memcpy(&u, &odd[i / 64 % N], sizeof u);
  return (u + i % 64 / 2 - 16) ^ (i & 1) << 31;
}
enum { N_SPECIAL = 31 * 64 };

static uint64_t step(void) {
  const char *s = getenv("NEO_TEST_STEP");
  return s ? strtoull(s, NULL, 10) : 200003;
}

static void run(neo_rt_fn *fn, void *x, void *y, void *z) {
  void *bufs[] = {x, y, z};
  neo_rt_args args = {.buf = bufs, .hi = 1};
  assert_int_equal(fn(&args), 0);
}

static void sweep(neo_rt_fn *fn, double (*f)(double), worst *w) {
  static _Thread_local float x[BLOCK], z[BLOCK];
  uint64_t u = 0, by = step();
  for (uint32_t i = 0; u < 1ULL << 32;) {
    for (int k = 0; k < BLOCK; k++) {
      bool odd = i < N_SPECIAL;
      x[k] = float_of(odd ? special(i++) : (uint32_t)u);
      if (!odd)
        u += by;
    }
    run(fn, x, x, z);
    for (int k = 0; k < BLOCK; k++) {
      double want = f((double)x[k]);
      note(w, distance(want, z[k]), x[k], 0, want, z[k]);
    }
  }
}

static void every_function_is_within_4_ulp(void **state) {
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++) {
    neo_llvm *l = new_module(f, *level, false);
    for (int i = 0; i < N_FUNCTIONS; i++)
      for (int k = 0; k < 3; k++)
        add_kernel(f, l, functions[i].op, widths[k], "f32");
    finish(l);
    for (int i = 0; i < N_FUNCTIONS; i++)
      for (int k = 0; k < 3; k++) {
        worst w = {0};
        sweep(entry(f, l, functions[i].op, widths[k]), functions[i].f, &w);
        report(*level, functions[i].op, widths[k], &w);
      }
    neo_llvm_free(l);
  }
}

/* Whole registers of AVX-512 are scaled by an instruction of theirs, all else by two factors. */
static void exponentials_have_the_same_bits_for_any_number_of_lanes(void **state) {
  static const int lanes[] = {16, 32, 8};
  static _Thread_local float x[BLOCK], z[2][BLOCK];
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++) {
    neo_llvm *l = new_module(f, *level, false);
    add_kernel(f, l, NEO_OP_EXP, 1, "f32");
    for (int k = 0; k < 3; k++)
      add_kernel(f, l, NEO_OP_EXP, lanes[k], "f32");
    finish(l);
    for (int k = 0; k < 3; k++)
      for (uint32_t i = 0; i < 64 * BLOCK; i += BLOCK) {
        for (uint32_t j = 0; j < BLOCK; j++)
          x[j] = i + j < N_SPECIAL ? float_of(special(i + j)) : -110 + (float)(i + j) * 0x1.8p-9F;
        run(entry(f, l, NEO_OP_EXP, 1), x, x, z[0]);
        run(entry(f, l, NEO_OP_EXP, lanes[k]), x, x, z[1]);
        for (int j = 0; j < BLOCK; j++)
          if (memcmp(&z[0][j], &z[1][j], sizeof(float)) && !isnan(z[0][j]))
            fail_msg("%s, %d lanes: exp(%a) is %a, not %a", *level, lanes[k], (double)x[j],
                     (double)z[1][j], (double)z[0][j]);
      }
    neo_llvm_free(l);
  }
}

/* ---- pow */

static float power_argument(uint64_t *state, int kind) {
  static const float odd[] = {0,        1,       2,          3,          0.5F, 1e-40F,
                              INFINITY, NAN,     16777215,   16777218,   5,    0.25F,
                              FLT_MAX,  FLT_MIN, 1.0000001F, 0.99999994F};
  uint64_t r = neo_splitmix(state);
  float sign = r & 1 ? -1.0F : 1.0F;
  r >>= 1;
  switch (kind) {
  case 0:
    return sign * odd[r % 16];
  case 1:
    return float_of((uint32_t)r);
  case 2:
    return sign * (float)(r % 4000) / 16;
  case 3:
    return 1 + sign * (float)(r % 100000) * 1e-7F;
  default:
    return (float)(r % 1000003) * 1e-4F;
  }
}

static void pow_is_within_4_ulp(void **state) {
  static _Thread_local float x[BLOCK], y[BLOCK], z[BLOCK];
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++) {
    neo_llvm *l = new_module(f, *level, false);
    for (int k = 0; k < 3; k++)
      add_kernel(f, l, NEO_OP_POW, widths[k], "f32");
    finish(l);
    for (int k = 0; k < 3; k++) {
      worst w = {0};
      uint64_t random = 11;
      neo_rt_fn *fn = entry(f, l, NEO_OP_POW, widths[k]);
      for (int kinds = 0; kinds < 25; kinds++) {
        for (int i = 0; i < BLOCK; i++) {
          x[i] = power_argument(&random, kinds / 5);
          y[i] = power_argument(&random, kinds % 5);
        }
        run(fn, x, y, z);
        for (int i = 0; i < BLOCK; i++) {
          double want = pow((double)x[i], (double)y[i]);
          note(&w, distance(want, z[i]), x[i], y[i], want, z[i]);
        }
      }
      report(*level, NEO_OP_POW, widths[k], &w);
    }
    neo_llvm_free(l);
  }
}

/* ---- f64 in our own code */

static long double sigmoid_l(long double x) {
  return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
}
static long double silu_l(long double x) {
  return x * sigmoid_l(x);
}
/* erfc at -x/sqrt(2) rounded, and its slope there times what the rounding left out. */
static long double phi_l(long double x) {
  const double head = 0x1.6a09e667f3bcdp-1;
  const long double tail = -0x1.bdd3413b26456p-55L;
  long double z = -x * head, left = fmal(-x, head, -z) - x * tail;
  if (!(fabsl(x) < 100))
    return erfcl(z) / 2;
  return (erfcl(z) - 1.1283791670955126L * expl(-z * z) * left) / 2;
}
static long double gelu_l(long double x) {
  return x > 0 && isinf(x) ? x : x * phi_l(x);
}
static long double bell_l(long double x) {
  long double square = x * x, left = fmal(x, x, -square);
  return fabsl(x) > 100 ? 0 : expl(-square / 2) * (1 - left / 2);
}
static long double softplus_l(long double x) {
  return x != x ? x : fmaxl(x, 0) + log1pl(expl(-fabsl(x)));
}
static long double elu_l(long double x) {
  return x > 0 ? x : expm1l(x);
}

static const struct {
  neo_op op;
  long double (*f)(long double);
  double ulp; /* at most */
} functions64[] = {
    {NEO_OP_EXP, expl, 1},     {NEO_OP_EXPM1, expm1l, 1.25}, {NEO_OP_LOG, logl, 1},
    {NEO_OP_LOG1P, log1pl, 1}, {NEO_OP_SIN, sinl, 1},        {NEO_OP_COS, cosl, 1},
    {NEO_OP_TAN, tanl, 1.5},   {NEO_OP_TANH, tanhl, 1.5},    {NEO_OP_SIGMOID, sigmoid_l, 1.25},
    {NEO_OP_GELU, gelu_l, 3},  {NEO_OP_SILU, silu_l, 3},     {NEO_OP_SOFTPLUS, softplus_l, 1.75},
    {NEO_OP_ELU, elu_l, 1},    {NEO_OP_ERF, erfl, 1.5},      {NEO_OP_PHI, phi_l, 3.25},
    {NEO_OP_BELL, bell_l, 1},
};
enum { N_FUNCTIONS64 = sizeof functions64 / sizeof functions64[0], N_KINDS = 10 };
static const int widths64[] = {1, 2, 8};

static double distance64(long double want, double got) {
  int e;
  if (isnan(want) || isnan(got))
    return isnan(want) && isnan(got) ? 0 : INFINITY;
  if (isinf((double)want) && isinf(got))
    return !signbit(want) == !signbit(got) ? 0 : INFINITY;
  if (isinf(want) || isinf(got)) /* a result near the largest number may round past it */
    return isinf(want) || fabsl(want) < (long double)DBL_MAX ? INFINITY : 1;
  if (want == 0 && got == 0)
    return !signbit(want) == !signbit(got) ? 0 : INFINITY;
  frexpl(want, &e);
  return (double)(fabsl((long double)got - want) / ldexpl(1, e < -1021 ? -1074 : e - 53));
}

typedef struct {
  double ulp, x, y, got;
  long double want;
} worst64;

static void note64(worst64 *w, long double want, double x, double y, double got) {
  double ulp = distance64(want, got);
  if (ulp > w->ulp)
    *w = (worst64){ulp, x, y, got, want};
}

static void report64(const char *level, neo_op op, int width, double most, const worst64 *w) {
  print_message("  %-9s %-8s f64 x%-2d %6.2f ulp at %a", level, neo_op_text(op), width, w->ulp,
                w->x);
  if (op == NEO_OP_POW)
    print_message(", %a", w->y);
  print_message("\n");
  if (w->ulp > most)
    fail_msg("%s(%a, %a) = %a, not %La", neo_op_text(op), w->x, w->y, w->got, w->want);
}

static double random_unit(uint64_t *state) { /* in [-1, 1) */
  return (double)(int64_t)neo_splitmix(state) * 0x1p-63;
}

/* Arguments at which a function's code branches, and 32 neighbours of both signs. */
static double special64(uint32_t i) {
  static const double odd[] = {0,
                               1,
                               0.5,
                               2,
                               4,
                               6,
                               709.782712893384,
                               -708.3964,
                               -745.1332,
                               710,
                               0.875,
                               36.7,
                               37.5,
                               0.34657359,
                               1.0397208,
                               20,
                               M_SQRT1_2,
                               M_SQRT2,
                               M_PI,
                               M_PI_2,
                               M_PI_4,
                               0x1p20,
                               0x1p-27,
                               0x1p-54,
                               DBL_MIN,
                               5e-324,
                               0x1p63,
                               1e22,
                               0x1.6ac5b262ca1ffp+849,
                               38.5,
                               40,
                               0x1p-53,
                               DBL_MAX,
                               INFINITY,
                               NAN};
  enum { N = sizeof odd / sizeof odd[0] };
  uint64_t u;
  double x;
  memcpy(&u, &odd[i / 64 % N], sizeof u);
  u = (u + i % 64 / 2 - 16) ^ (uint64_t)(i & 1) << 63;
  memcpy(&x, &u, sizeof x);
  return x;
}

static int rounds(void) {
  const char *s = getenv("NEO_TEST_COUNT");
  return s ? atoi(s) : 1;
}

/* The i-th of a block of a kind: odd ones, all bit patterns, multiples of pi/2, several sizes. */
static double argument64(uint64_t *state, int kind, uint32_t i) {
  static const double size[] = {760, 8, 1, 0x1p20, 30};
  uint64_t u = neo_splitmix(state);
  double x;
  switch (kind) {
  case 0:
    return special64(i);
  case 1:
  case 2:
    memcpy(&x, &u, sizeof x);
    return x;
  case 3:
    return floor(ldexp(random_unit(state), (int)(u % 60))) * M_PI_2;
  case 4:
    return ldexp(random_unit(state), -(int)(u % 60));
  default:
    return random_unit(state) * size[kind - 5];
  }
}

static void check64(loop_fix *f, neo_llvm *l, const char *level, int function) {
  static _Thread_local double x[BLOCK], z[3][BLOCK];
  worst64 w[3] = {{0}};
  neo_op op = functions64[function].op;
  uint64_t random = 7;
  for (int b = 0; b < N_KINDS * rounds(); b++) {
    for (uint32_t i = 0; i < BLOCK; i++)
      x[i] = argument64(&random, b % N_KINDS, i);
    for (int k = 0; k < 3; k++)
      run(entry(f, l, op, widths64[k]), x, x, z[k]);
    for (int i = 0; i < BLOCK; i++) {
      long double want = functions64[function].f((long double)x[i]);
      for (int k = 0; k < 3; k++)
        note64(&w[k], want, x[i], 0, z[k][i]);
    }
  }
  for (int k = 0; k < 3; k++)
    report64(level, op, widths64[k], functions64[function].ulp, &w[k]);
}

static void our_own_f64_is_as_near_as_it_says(void **state) {
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++) {
    neo_llvm *l = new_module(f, *level, true);
    for (int i = 0; i < N_FUNCTIONS64; i++)
      for (int k = 0; k < 3; k++)
        add_kernel(f, l, functions64[i].op, widths64[k], "f64");
    finish(l);
    for (int i = 0; i < N_FUNCTIONS64; i++)
      check64(f, l, *level, i);
    neo_llvm_free(l);
  }
}

/* A base, and an exponent for which the power is mostly a number. */
static void power_arguments64(uint64_t *state, int kind, double *x, double *y) {
  static const double odd[] = {0,        1,       2,         3,          0.5,        5e-324,
                               INFINITY, NAN,     0x1p53,    0x1p53 + 2, 5,          0.25,
                               DBL_MAX,  DBL_MIN, 1 + 1e-15, 1 - 1e-15,  0x1p53 - 1, 1e300};
  uint64_t r = neo_splitmix(state), s = neo_splitmix(state);
  memcpy(x, &s, sizeof *x);
  *x = fabs(*x);
  switch (kind) {
  case 0:
    *x = (r & 1 ? -1 : 1) * odd[(r >> 1) % 18];
    *y = (r & 64 ? -1 : 1) * odd[(r >> 8) % 18];
    return;
  case 1: /* any numbers */
    memcpy(y, &r, sizeof *y);
    return;
  case 2: /* whole and half exponents */
    *x = random_unit(state) * 300;
    *y = (double)(r % 600) / 2 - 150;
    return;
  case 3: /* bases near 1 */
    *x = 1 + random_unit(state) * ldexp(1, -(int)(r % 50));
    break;
  case 4: /* denormal ones */
    *x = *x * 0x1p-1000 * 0x1p-20;
    break;
  default:
    break;
  }
  *y = random_unit(state) * 750 / log(*x);
}

static void our_own_f64_pow_is_within_1_ulp(void **state) {
  static _Thread_local double x[BLOCK], y[BLOCK], z[BLOCK];
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++) {
    neo_llvm *l = new_module(f, *level, true);
    for (int k = 0; k < 3; k++)
      add_kernel(f, l, NEO_OP_POW, widths64[k], "f64");
    finish(l);
    for (int k = 0; k < 3; k++) {
      worst64 w = {0};
      uint64_t random = 13;
      for (int kind = 0; kind < 12 * rounds(); kind++) {
        for (int i = 0; i < BLOCK; i++)
          power_arguments64(&random, kind % 6, &x[i], &y[i]);
        run(entry(f, l, NEO_OP_POW, widths64[k]), x, y, z);
        for (int i = 0; i < BLOCK; i++)
          note64(&w, powl((long double)x[i], (long double)y[i]), x[i], y[i], z[i]);
      }
      report64(*level, NEO_OP_POW, widths64[k], 1, &w);
    }
    neo_llvm_free(l);
  }
}

/* A GPU has no library that a kernel could call. */
static void a_gpu_computes_every_function_itself(void **state) {
  static const char *const types[] = {"f32", "f64", "f16", "bf16"};
  char path[] = "/tmp/neo_math_XXXXXX";
  loop_fix *f = *state;
  const char *why;
  char *text;
  size_t n;
  neo_target t;
  if (neo_target_choose(&f->arena, "nvptx:sm_75", NULL, &t, &why))
    fail_msg("%s", why);
  for (int k = 0; k < 4; k++) {
    neo_llvm *l = module_for(f, &t);
    for (int i = 0; i < N_FUNCTIONS; i++) {
      add_kernel(f, l, functions[i].op, 1, types[k]);
      add_kernel(f, l, functions[i].op, 2, types[k]);
    }
    add_kernel(f, l, NEO_OP_POW, 1, types[k]);
    finish(l);
    int file = mkstemp(path);
    assert_true(file >= 0 && close(file) == 0);
    if (neo_llvm_emit_asm(l, path, &why))
      fail_msg("%s", why);
    assert_int_equal(neo_file_read(&neo_io_default, &f->arena, path, 0, &text, &n), NEO_OK);
    assert_non_null(strstr(text, ".visible .entry exp_2("));
    const char *asked = strstr(text, ".extern");
    if (asked)
      fail_msg("%s asks for %.60s", types[k], asked);
    assert_int_equal(unlink(path), 0);
    memcpy(path, "/tmp/neo_math_XXXXXX", sizeof path);
    neo_llvm_free(l);
  }
}

/* Arguments beyond 2^20 take the way of f64. */
static void turns_of_f32_are_within_4_ulp_without_libm(void **state) {
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++) {
    neo_llvm *l = new_module(f, *level, true);
    for (int i = 0; i < N_FUNCTIONS; i++) {
      neo_op op = functions[i].op;
      if (op != NEO_OP_SIN && op != NEO_OP_COS && op != NEO_OP_TAN)
        continue;
      add_kernel(f, l, op, 1, "f32");
      add_kernel(f, l, op, 8, "f32");
    }
    finish(l);
    for (int i = 0; i < N_FUNCTIONS; i++) {
      neo_op op = functions[i].op;
      if (op != NEO_OP_SIN && op != NEO_OP_COS && op != NEO_OP_TAN)
        continue;
      for (int width = 1; width <= 8; width += 7) {
        worst w = {0};
        sweep(entry(f, l, op, width), functions[i].f, &w);
        report(*level, op, width, &w);
      }
    }
    neo_llvm_free(l);
  }
}

/* ---- the small floats: every argument, the correctly rounded result or a neighbour */

static void all_small_floats_are_within_one_place(void **state) {
  static _Thread_local uint16_t x[BLOCK], z[BLOCK];
  static const neo_op ops[] = {NEO_OP_EXP, NEO_OP_TANH, NEO_OP_SQRT, NEO_OP_NEG, NEO_OP_STOP};
  static const neo_type types[] = {NEO_F16_T, NEO_BF16_T};
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++)
    for (int t = 0; t < 2; t++) {
      neo_llvm *l = new_module(f, *level, false);
      for (int i = 0; i < 5; i++) {
        if (ops[i] != NEO_OP_NEG)
          add_kernel(f, l, ops[i], 8, neo_type_text(types[t]));
      }
      finish(l);
      for (int i = 0; i < 5; i++) {
        if (ops[i] == NEO_OP_NEG)
          continue;
        neo_rt_fn *fn = entry(f, l, ops[i], 8);
        for (uint32_t base = 0; base < 65536; base += BLOCK) {
          for (uint32_t k = 0; k < BLOCK; k++)
            x[k] = (uint16_t)(base + k);
          void *bufs[] = {x, x, z};
          neo_rt_args args = {.buf = bufs, .hi = 1};
          assert_int_equal(fn(&args), 0);
          for (uint32_t k = 0; k < BLOCK; k++) {
            neo_value v = loop_get(types[t], x, k), got = loop_get(types[t], z, k);
            neo_value want = neo_value_op(ops[i], types[t], types[t], &v);
            uint16_t bits;
            loop_set(types[t], &bits, 0, want);
            bool nan = isnan(want.f) && isnan(got.f);
            bool exact = ops[i] == NEO_OP_STOP || ops[i] == NEO_OP_SQRT;
            int off = abs((int)bits - (int)z[k]);
            if (!nan && off > (exact ? 0 : 1))
              fail_msg("%s %s(%g) = %g, not %g", neo_type_text(types[t]), neo_op_text(ops[i]), v.f,
                       got.f, want.f);
          }
        }
      }
      neo_llvm_free(l);
    }
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(every_function_is_within_4_ulp),
      TEST(pow_is_within_4_ulp),
      TEST(exponentials_have_the_same_bits_for_any_number_of_lanes),
      TEST(our_own_f64_is_as_near_as_it_says),
      TEST(our_own_f64_pow_is_within_1_ulp),
      TEST(a_gpu_computes_every_function_itself),
      TEST(turns_of_f32_are_within_4_ulp_without_libm),
      TEST(all_small_floats_are_within_one_place),
  };
  return cmocka_run_group_tests_name("llvm_math", tests, NULL, NULL);
}
