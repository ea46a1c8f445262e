/* x % y of floats in machine code is exact: equal to C's fmod, moved to the sign of y, in every bit,
 * at any distance of the exponents. */
#include "base/random.h"
#include "tests/codegen/loop_support.h"
#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

enum { BLOCK = 512 };
static const int widths[] = {1, 2, 8};

static const double special[] = {0,       -0.0,     1,      -1,      3,        0.1,
                                 10,      1e20,     5.5,    -5.5,    INFINITY, NAN,
                                 DBL_MAX, -DBL_MAX, 5e-324, -1e-310, 1e38,     FLT_MAX,
                                 1e-45,   2e-38,    0x1p52, 0x1p-52, 7,        -INFINITY};
enum { N_SPECIAL = sizeof special / sizeof special[0] };

static neo_rt_fn *kernel(loop_fix *f, neo_llvm *l, neo_type t, int width) {
  const char *why, *type = neo_type_text(t);
  const char *text = neo_arena_printf(
      &f->arena,
      "neo-loop 2\nkernel k(x: %s read, y: %s read, z: %s write) units 1\nfor i in 0..%d\n"
      "  for l in 0..%d vector\n    z[i*%d + l] = x[i*%d + l] %% y[i*%d + l]\n",
      type, type, type, BLOCK / width, width, width, width, width);
  if (neo_llvm_kernel(l, loop_kernel(f, text), "mod", &why) || neo_llvm_finish(l, &why))
    fail_msg("%s", why);
  neo_rt_fn *fn = (neo_rt_fn *)(uintptr_t)neo_llvm_jit(l, "mod", &why);
  if (!fn)
    fail_msg("%s", why);
  return fn;
}

/* All pairs of the special numbers, then any bits, then sizes that differ by up to 2^60. */
static double argument(neo_type t, int round, int i, bool divisor, uint64_t *seed) {
  int pair = round * BLOCK + i;
  if (pair < N_SPECIAL * N_SPECIAL)
    return neo_value_round(t, special[divisor ? pair % N_SPECIAL : pair / N_SPECIAL]);
  uint64_t r = neo_splitmix(seed);
  double x;
  memcpy(&x, &r, sizeof x);
  if (pair % 2)
    x = ldexp(1 + (double)(r >> 12) * 0x1p-52, (int)(r % 60) - 30) * (r & 64 ? -1 : 1);
  return neo_value_round(t, x);
}

static double reference(neo_type t, double x, double y) {
  double r = fmod(x, y);
  if (r == 0)
    return copysign(0, y);
  return (r < 0) == (y < 0) || isnan(r) ? r : neo_value_round(t, r + y);
}

static void check(loop_fix *f, neo_rt_fn *fn, neo_type t, const char *level, int width) {
  size_t bytes = neo_type_bytes(t);
  char *x = NEO_NEW_ARRAY(&f->arena, char, BLOCK *bytes),
       *y = NEO_NEW_ARRAY(&f->arena, char, BLOCK *bytes),
       *z = NEO_NEW_ARRAY(&f->arena, char, BLOCK *bytes);
  uint64_t seed = 5;
  for (int round = 0; round < 12; round++) {
    for (int i = 0; i < BLOCK; i++) {
      loop_set(t, x, i, (neo_value){.f = argument(t, round, i, false, &seed)});
      loop_set(t, y, i, (neo_value){.f = argument(t, round, i, true, &seed)});
    }
    void *bufs[] = {x, y, z};
    neo_rt_args args = {.buf = bufs, .hi = 1};
    assert_int_equal(fn(&args), 0);
    for (int i = 0; i < BLOCK; i++) {
      double a = loop_get(t, x, i).f, b = loop_get(t, y, i).f, got = loop_get(t, z, i).f;
      double want = reference(t, a, b);
      bool same = isnan(want) ? isnan(got) : want == got && !signbit(want) == !signbit(got);
      if (!same)
        fail_msg("%s, %s x%d: %a %% %a is %a, not %a", level, neo_type_text(t), width, a, b, got,
                 want);
    }
  }
}

static void the_remainder_is_exact(void **state) {
  loop_fix *f = *state;
  for (const char *const *level = loop_levels(); *level; level++)
    for (int k = 0; k < 6; k++) {
      neo_type t = k % 2 ? NEO_F64_T : NEO_F32_T;
      const char *why;
      neo_target target;
      neo_llvm *l;
      if (neo_target_choose(&f->arena, NULL, *level, &target, &why) ||
          neo_llvm_new(&f->arena, &target, "mod", &l, &why))
        fail_msg("%s", why);
      check(f, kernel(f, l, t, widths[k / 2]), t, *level, widths[k / 2]);
      neo_llvm_free(l);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(the_remainder_is_exact, loop_setup, loop_teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
