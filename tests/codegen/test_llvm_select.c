/* Choices that all lanes share. */
#include "loop_support.h"
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#define AT "u*64 + k + l"
#define LOOP                                                                  \
  "neo-loop 1\nkernel k(x: f32 read noalias, z: f32 write noalias) units 3\n" \
  "for u in 0..3 unit\n  for k in 0..64 step 16\n    for l in 0..16 vector\n      "

static const char *const texts[] = {
    LOOP "z[" AT "] = select(x[u] < 0.25, x[" AT "] * 2.0, 0.0) + 1.0\n",
    LOOP "z[" AT "] = select(x[u] < 0.25, 0.0, x[" AT "] * 2.0)\n",
    LOOP "z[" AT "] = select(x[u] < 0.25, 0.0, x[" AT "]) * select(x[u + 1] < 0.5, -0.0, x[" AT
         "])\n",
};

static void the_side_that_is_not_taken_does_not_show(void **state) {
  static const int64_t elems[] = {192, 192};
  for (uint64_t seed = 1; seed < 4; seed++)
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
      loop_check(*state, texts[k],
                 &(loop_case){.n_elems = elems, .tolerance = 0, .seed = seed, .specials = true});
}

static void nothing_or_something_is_a_mask_made_before_the_loop(void **state) {
  for (size_t k = 0; k < 2; k++)
    assert_null(strstr(loop_asm(*state, texts[k], "x86-64-v3"), "vpmovzx"));
}

int main(void) {
#define TEST(name) cmocka_unit_test_setup_teardown(name, loop_setup, loop_teardown)
  const struct CMUnitTest tests[] = {
      TEST(the_side_that_is_not_taken_does_not_show),
      TEST(nothing_or_something_is_a_mask_made_before_the_loop),
  };
  return cmocka_run_group_tests_name("llvm_select", tests, NULL, NULL);
}
