/* The last step of a loop that has a single element left. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

/* 33 elements by vectors of 16, narrowed from `from`, whose zero is `none`, to `to`. */
static const char *narrowed(loop_fix *f, const char *from, const char *none, const char *to) {
  return neo_arena_printf(
      &f->arena,
      "neo-loop 2\n"
      "kernel k(x: %s read noalias, z: %s write noalias) units 3\n"
      "for u in 0..3 unit\n"
      "  for l in 0..16 vector\n"
      "    z[u*33 + l + 32] = %s(x[u*33 + l + 32 if l + 32 < 33 else %s]) if l + 32 < 33\n",
      from, to, to, none);
}

static void one_narrowed_element_is_all_that_is_written(void **state) {
  static const int64_t elems[] = {99, 99};
  static const char *const types[][3] = {
      {"f32", "0.0", "bf16"}, {"i32", "0:i32", "i8"}, {"i64", "0", "i32"}, {"i64", "0", "u8"}};
  loop_case c = {.n_elems = elems, .seed = 11};
  for (size_t k = 0; k < sizeof types / sizeof *types; k++)
    loop_check(*state, narrowed(*state, types[k][0], types[k][1], types[k][2]), &c);
}

static void it_has_the_width_of_its_type(void **state) {
  const char *code = loop_asm(*state, narrowed(*state, "f32", "0.0", "bf16"), "x86-64-v4");
  assert_true(strstr(code, "movw") || strstr(code, "pextrw"));
  code = loop_asm(*state, narrowed(*state, "i32", "0:i32", "i8"), "x86-64-v4");
  assert_true(strstr(code, "movb") || strstr(code, "pextrb"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(one_narrowed_element_is_all_that_is_written),
      TEST(it_has_the_width_of_its_type),
  };
  return cmocka_run_group_tests_name("llvm_lane", tests, NULL, NULL);
}
