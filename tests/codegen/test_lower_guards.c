/* A guarded element is only read where its condition holds. */
#include "tests/codegen/lower_test.h"

static void check(const char *text) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    lower_options o = {.seed = seed, .n_random = 3, .jit = seed == 1};
    lower_check(text, &o);
  }
}

#define HEAD "input x : f32 [5]\ninput y : f32 [9]\ntemp S : f32 [9]\n"

static void the_second_side_of_an_and_is_read_where_the_first_holds(void **state) {
  (void)state;
  check(HEAD "def S[i: 9] = select(i < 5 and 0.5 < x[i], y[i], 0.0)\n");
  check(HEAD "def S[i: 9] =\n  sum[k: 9] where k < 5 and x[k] < 0.5;\n  y[k]\n  then acc0\n");
}

static void the_second_side_of_an_or_is_read_where_the_first_does_not(void **state) {
  (void)state;
  check(HEAD "def S[i: 9] = select(5 <= i or 0.5 < x[i], y[i], 0.0)\n");
  check(HEAD "def S[i: 9] =\n  sum[k: 9] where 5 <= k or x[k] < 0.5;\n  y[k]\n  then acc0\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_second_side_of_an_and_is_read_where_the_first_holds),
      cmocka_unit_test(the_second_side_of_an_or_is_read_where_the_first_does_not),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
