/* Element functions of f32: at most 4 units in the last place off the f64 value, over all
 * exponents, signs and odd values, for widths 1, 8 and 16 at every level. f16 and bf16: all 65536
 * arguments of a few functions. NEO_TEST_STEP=1 sweeps all 2^32 floats. */
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
      "neo-loop 1\nkernel k(x: %s read, y: %s read, z: %s write) units 1\nfor i in 0..%d\n"
      "  for l in 0..%d vector\n    z[i*%d + l] = %s(%s)\n",
      type, type, type, BLOCK / width, width, width, neo_op_text(op),
      op == NEO_OP_POW ? neo_arena_printf(&f->arena, args, width, width)
                       : neo_arena_printf(&f->arena, args, width));
  if (neo_llvm_kernel(l, loop_kernel(f, text), symbol_of(f, op, width), &why))
    fail_msg("%s", why);
}

static neo_llvm *new_module(loop_fix *f, const char *level) {
  neo_target t;
  neo_llvm *l;
  const char *why;
  if (neo_target_choose(&f->arena, NULL, level, &t, &why))
    fail_msg("%s", why);
  if (neo_llvm_new(&f->arena, &t, "math", &l, &why))
    fail_msg("%s", why);
  return l;
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

static void run(neo_rt_fn *fn, float *x, float *y, float *z) {
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
    neo_llvm *l = new_module(f, *level);
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
    neo_llvm *l = new_module(f, *level);
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

/* ---- the small floats: every argument, the correctly rounded result or a neighbour */

static void all_small_floats_are_within_one_place(void **state) {
  static _Thread_local uint16_t x[BLOCK], z[BLOCK];
  static const neo_op ops[] = {NEO_OP_EXP, NEO_OP_TANH, NEO_OP_SQRT, NEO_OP_NEG, NEO_OP_STOP};
  static const neo_type types[] = {NEO_F16_T, NEO_BF16_T};
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++)
    for (int t = 0; t < 2; t++) {
      neo_llvm *l = new_module(f, *level);
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
      TEST(all_small_floats_are_within_one_place),
  };
  return cmocka_run_group_tests_name("llvm_math", tests, NULL, NULL);
}
