/* Constants of formulas: operands of instructions where registers are few. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#define LOOP(lanes)                                                                         \
  "neo-loop 2\nkernel k(x: f32 read noalias, z: f32 write noalias) units 3\n"               \
  "for u in 0..3 unit\n  for k in 0..64 step " lanes "\n    for l in 0.." lanes " vector\n" \
  "      z[u*64 + k + l] = "

/* A polynomial of 20 coefficients: more than there are registers. */
static const char *polynomial(loop_fix *f, const char *head) {
  const char *sum = "x[u*64 + k + l]";
  for (int k = 0; k < 20; k++)
    sum = neo_arena_printf(&f->arena, "fma(%s, x[u*64 + k + l], %d.25)", sum, k + 3);
  return neo_arena_printf(&f->arena, "%s%s\n", head, sum);
}

static size_t lines_with(const char *text, const char *a, const char *b) {
  size_t n = 0;
  for (const char *end; (end = strchr(text, '\n')); text = end + 1) {
    const char *x = strstr(text, a), *y = strstr(text, b);
    n += x && x < end && y && y < end;
  }
  return n;
}

static void coefficients_are_operands_of_both_halves(void **state) {
  const char *code = loop_asm(*state, polynomial(*state, LOOP("16")), "x86-64-v3");
  assert_true(lines_with(code, "vfmadd", ".neo.") >= 20); /* free registers hold the rest */
  assert_true(lines_with(code, "vbroadcastss", "%ymm") <= 2);
}

static void where_registers_are_many_they_stay_in_them(void **state) {
  const char *code = loop_asm(*state, polynomial(*state, LOOP("16")), "x86-64-v4");
  assert_int_equal(lines_with(code, "vfmadd", ".neo."), 0);
}

static void values_stay_the_same(void **state) {
  static const int64_t elems[] = {192, 192};
  static const char *const texts[] = {
      LOOP("16") "(x[u*64 + k + l] * 3.5 - 0.75) / (7.0 - x[u*64 + k + l] * 2.5)\n",
      LOOP("16") "select(x[u*64 + k + l] < 0.25, 0.25, max(x[u*64 + k + l], 0.5) + 1.5)\n",
      LOOP("32") "gelu(x[u*64 + k + l]) + 0.25 * exp(x[u*64 + k + l])\n",
      LOOP("8") "gelu(x[u*64 + k + l]) + 0.25 * exp(x[u*64 + k + l])\n",
  };
  loop_case c = {.n_elems = elems, .tolerance = 1e-6, .seed = 7, .specials = true};
  for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
    loop_check(*state, texts[k], &c);
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(coefficients_are_operands_of_both_halves),
      TEST(where_registers_are_many_they_stay_in_them),
      TEST(values_stay_the_same),
  };
  return cmocka_run_group_tests_name("llvm_operand", tests, NULL, NULL);
}
