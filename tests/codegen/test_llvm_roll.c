/* Ends of tiles: which unrolled loops become loops, and that kernels agree with the interpreter
 * either way. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define HEAD                                                                                     \
  "neo-loop 2\nkernel k(x: f32 read noalias, y: f32 read, z: f32 write, w: f32 write) units 3\n" \
  "for u in 0..3 unit\n"
#define TILE                                                                             \
  "  reg acc[6, 2, 8]: f32\n  for r in 0..6 unroll\n    for v in 0..2 unroll\n"          \
  "      for l in 0..8 vector\n        acc[r, v, l] = 0.0\n  for k in 0..9\n"            \
  "    for r in 0..6 unroll\n      for v in 0..2 unroll\n        for l in 0..8 vector\n" \
  "          acc[r, v, l] = fma(x[u*54 + k*6 + r], x[u*144 + k*16 + v*8 + l], acc[r, v, l])\n"
/* Lanes that lie apart, in units that do not meet. */
#define AT "u*600 + v*80 + l*10 + r"

static const int64_t elems[] = {600, 1800, 1800, 1800};

/* Square roots in the code. A register of the oldest level has four lanes: two for each vector. */
static size_t roots(loop_fix *f, const char *text) {
  size_t n = 0;
  for (const char *at = loop_asm(f, text, "x86-64-v2"); (at = strstr(at, "sqrtps")); at++)
    n++;
  return n;
}

static void agrees(loop_fix *f, const char *text) {
  loop_check(f, text, &(loop_case){.n_elems = elems, .tolerance = 1e-4, .seed = 11});
}

static void a_long_end_is_a_loop_over_rows(void **state) {
  static const char text[] = HEAD TILE
      "  reg s[6, 2, 8]: f32\n  for r in 0..6 unroll\n    for v in 0..2 unroll\n"
      "      for l in 0..8 vector\n        s[r, v, l] = 0.9 * y[" AT "] + 0.1 * acc[r, v, l]\n"
      "        z[" AT "] = s[r, v, l]\n"
      "        w[" AT "] = s[r, v, l] / (sqrt(abs(acc[r, v, l])) + 0.5)\n";
  agrees(*state, text);
  assert_int_equal(roots(*state, text), 2 * 2);
}

static void a_very_long_end_of_some_rows_is_two_loops(void **state) {
  static const char text[] = HEAD TILE
      "  for r in 1..6 step 2 unroll\n    for v in 0..2 unroll\n      for l in 0..8 vector\n"
      "        z[" AT "] = y[" AT "] + acc[r, v, l] * y[u*600 + l*7 + r] * y[u*600 + l*5 + r]\n"
      "        w[" AT "] = sqrt(abs(acc[r, v, l])) + y[" AT " + 7] - y[" AT " + 9] * y[" AT
      " + 11] + y[" AT " + 13]\n";
  agrees(*state, text);
  assert_int_equal(roots(*state, text), 2);
}

static void columns_have_a_loop_where_rows_are_one(void **state) {
  static const char text[] = HEAD TILE
      "  for v in 0..2 unroll\n    if v < u\n      for r in 0..6 unroll\n"
      "        for l in 0..8 vector\n          z[" AT "] = y[" AT "] + sqrt(abs(acc[r, v, l]))\n";
  agrees(*state, text);
  assert_true(roots(*state, text) <= 2 * 6);
}

static void short_ends_are_copied(void **state) {
  static const char text[] =
      HEAD TILE "  for r in 0..6 unroll\n    for v in 0..2 unroll\n      for l in 0..8 vector\n"
                "        z[u*96 + r*16 + v*8 + l] = sqrt(abs(acc[r, v, l]))\n";
  agrees(*state, text);
  assert_int_equal(roots(*state, text), 2 * 12);
}

/* Registers that the next statement reads or that rows add to, rows that read others, a row that an
 * index divides by. */
static void rows_that_have_more_in_common_are_copied(void **state) {
  static const char *const end[] = {
      "        acc[r, v, l] = y[" AT "] + y[" AT " + 3] * sqrt(abs(acc[r, v, l]))\n"
      "        z[" AT "] = y[" AT " + 5]\n"
      "  for r in 0..6 unroll\n    for v in 0..2 unroll\n      for l in 0..8 vector\n"
      "        w[u*96 + r*16 + v*8 + l] = acc[r, v, l]\n",
      "        acc[0, v, l] = acc[0, v, l] + y[" AT "] * sqrt(abs(acc[r, v, l]))\n"
      "        z[" AT "] = y[" AT " + 5] - y[" AT " + 9]\n"
      "  for l in 0..8 vector\n    w[u*8 + l] = acc[0, 0, l] + acc[0, 1, l]\n",
      "        z[" AT "] = sqrt(abs(acc[r, v, l])) * acc[1, v, l] + y[" AT "] - y[" AT " + 5]\n",
      "        z[" AT "] = sqrt(abs(acc[r, v, l])) + y[(u*24 + v*8 + l*2 + r) / 5] * y[" AT "]\n",
  };
  for (size_t k = 0; k < sizeof end / sizeof *end; k++) {
    loop_fix *f = *state;
    const char *text = neo_arena_printf(
        &f->arena,
        "%s  for r in 0..6 unroll\n    for v in 0..2 unroll\n      for l in 0..8 vector\n%s",
        HEAD TILE, end[k]);
    agrees(f, text);
    if (roots(f, text) != 2 * 12)
      fail_msg("%zu roots in\n%s", roots(f, text), text);
  }
}

static void lanes_that_are_taken_one_by_one_are_copied(void **state) {
  agrees(
      *state, HEAD TILE
      "  reg s[1]: f32\n  for r in 0..8 unroll\n    s[0] = acc[0, 0, r] + sqrt(abs(acc[1, 0, r]))\n"
      "    z[u*8 + r] = s[0] * y[r] * y[r + 1] * y[r + 2] + y[r + 3] * y[r + 4] / y[r + 5]\n"
      "    w[u*8 + r] = s[0] - y[r] * y[r + 6] * y[r + 7] + y[r + 8] * y[r + 9] / (y[r] + 9.0)\n");
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(a_long_end_is_a_loop_over_rows),
      TEST(a_very_long_end_of_some_rows_is_two_loops),
      TEST(columns_have_a_loop_where_rows_are_one),
      TEST(short_ends_are_copied),
      TEST(rows_that_have_more_in_common_are_copied),
      TEST(lanes_that_are_taken_one_by_one_are_copied),
  };
  return cmocka_run_group_tests_name("llvm_roll", tests, NULL, NULL);
}
