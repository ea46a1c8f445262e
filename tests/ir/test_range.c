/* The arithmetic of ranges against all small ones, and at the ends of i64. */
#include "ir/range.h"
#include "tests/ir/ir_test.h"

enum { LEAST = -4, MOST = 4 };

typedef int64_t (*of_numbers)(int64_t a, int64_t b);
typedef neo_range (*of_ranges)(neo_range a, neo_range b);

static int64_t add(int64_t a, int64_t b) {
  return a + b;
}

static int64_t multiply(int64_t a, int64_t b) {
  return a * b;
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

static int64_t divide(int64_t a, int64_t b) {
  return b == 0 ? 0 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t remainder_of(int64_t a, int64_t b) {
  int64_t r = b == 0 ? 0 : a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static const struct {
  of_numbers numbers;
  of_ranges ranges;
} operators[] = {{add, neo_range_add},    {multiply, neo_range_mul}, {smaller, neo_range_min},
                 {larger, neo_range_max}, {divide, neo_range_div},   {remainder_of, neo_range_mod}};
enum { N_OPERATORS = sizeof operators / sizeof *operators };

static bool holds(neo_range r, int64_t x) {
  return (r.lo == INT64_MIN || r.lo <= x) && (r.hi == INT64_MAX || x <= r.hi);
}

static bool is_all(neo_range r) {
  return r.lo == INT64_MIN && r.hi == INT64_MAX;
}

static void look_at_pair(neo_range x, neo_range y, neo_range a, neo_range b) {
  for (int op = 0; op < N_OPERATORS; op++) {
    neo_range r = operators[op].ranges(x, y);
    assert_true(r.lo <= r.hi);
    for (int64_t p = a.lo; p <= a.hi; p++)
      for (int64_t q = b.lo; q <= b.hi; q++)
        assert_true(holds(r, operators[op].numbers(p, q)));
  }
}

/* One side open: the same values, and less that is known. */
static neo_range opened(neo_range r, int open) {
  return (neo_range){open & 1 ? INT64_MIN : r.lo, open & 2 ? INT64_MAX : r.hi};
}

static void a_result_holds_all_values_of_its_operands(void **state) {
  (void)state;
  for (int64_t i = LEAST; i <= MOST; i++)
    for (int64_t j = i; j <= MOST; j++)
      for (int64_t k = LEAST; k <= MOST; k++)
        for (int64_t l = k; l <= MOST; l++)
          for (int open = 0; open < 16; open++) {
            neo_range a = {i, j}, b = {k, l};
            look_at_pair(opened(a, open), opened(b, open >> 2), a, b);
          }
}

static void sums_products_and_extrema_of_known_ranges_are_exact(void **state) {
  (void)state;
  for (int64_t i = LEAST; i <= MOST; i++)
    for (int64_t j = i; j <= MOST; j++)
      for (int64_t k = LEAST; k <= MOST; k++)
        for (int64_t l = k; l <= MOST; l++)
          for (int op = 0; op < 4; op++) {
            int64_t lo = INT64_MAX, hi = INT64_MIN;
            for (int64_t p = i; p <= j; p++)
              for (int64_t q = k; q <= l; q++) {
                lo = smaller(lo, operators[op].numbers(p, q));
                hi = larger(hi, operators[op].numbers(p, q));
              }
            neo_range r = operators[op].ranges((neo_range){i, j}, (neo_range){k, l});
            assert_int_equal(r.lo, lo);
            assert_int_equal(r.hi, hi);
          }
}

static void a_square_holds_the_squares_and_is_not_negative(void **state) {
  (void)state;
  for (int64_t i = LEAST; i <= MOST; i++)
    for (int64_t j = i; j <= MOST; j++)
      for (int open = 0; open < 4; open++) {
        neo_range r = neo_range_square(opened((neo_range){i, j}, open));
        assert_true(r.lo >= 0);
        for (int64_t p = i; p <= j; p++)
          assert_true(holds(r, p * p));
      }
}

static void statements_that_contradict_each_other_tell_nothing(void **state) {
  (void)state;
  for (int64_t i = LEAST; i <= MOST; i++)
    for (int64_t j = LEAST; j <= MOST; j++) {
      assert_true(is_all(neo_range_of(i, j)) == (i > j));
      neo_range r = neo_range_meet((neo_range){i, INT64_MAX}, (neo_range){INT64_MIN, j});
      assert_true(is_all(r) == (i > j));
    }
  assert_true(is_all(neo_range_meet((neo_range){0, INT64_MAX}, neo_range_below(0))));
  assert_true(is_all(neo_range_below(INT64_MAX)) && is_all(neo_range_below(INT64_MIN)));
}

/* Ends near those of i64, against exact integers; division there is by those that do not leave i64. */
static void ends_beyond_i64_saturate_outwards(void **state) {
  static const int64_t far[] = {INT64_MIN, INT64_MIN + 1, -3,       -1, 0, 1,
                                3,         INT64_MAX - 1, INT64_MAX};
  enum { N = sizeof far / sizeof *far };
  (void)state;
  for (int i = 0; i < N; i++)
    for (int j = 0; j < N; j++) {
      neo_range a = neo_range_of(far[i], far[i]), b = neo_range_of(far[j], far[j]);
      __int128 x = far[i], y = far[j], want[2] = {x + y, x * y};
      neo_range have[2] = {neo_range_add(a, b), neo_range_mul(a, b)};
      for (int k = 0; k < 2; k++) {
        assert_true(have[k].lo <= have[k].hi);
        assert_true(have[k].lo == INT64_MIN || have[k].lo <= want[k]);
        assert_true(have[k].hi == INT64_MAX || want[k] <= have[k].hi);
      }
      if (far[i] == INT64_MIN && far[j] == -1)
        continue;
      assert_true(holds(neo_range_div(a, b), divide(far[i], far[j])));
      assert_true(holds(neo_range_mod(a, b), remainder_of(far[i], far[j])));
      assert_true(holds(neo_range_min(a, b), smaller(far[i], far[j])));
      assert_true(holds(neo_range_max(a, b), larger(far[i], far[j])));
    }
}

static void a_range_with_an_unknown_end_fits_no_type(void **state) {
  static const neo_type types[] = {NEO_I8_T, NEO_U8_T, NEO_I32_T, NEO_I64_T};
  (void)state;
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    assert_true(neo_range_fits((neo_range){0, 127}, types[k]));
    assert_false(neo_range_fits((neo_range){0, INT64_MAX}, types[k]));
    assert_false(neo_range_fits((neo_range){INT64_MIN, 0}, types[k]));
    assert_false(neo_range_fits(neo_range_all(), types[k]));
  }
  assert_false(neo_range_fits((neo_range){-1, 0}, NEO_U8_T));
  assert_false(neo_range_fits((neo_range){0, 128}, NEO_I8_T));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_result_holds_all_values_of_its_operands),
      cmocka_unit_test(sums_products_and_extrema_of_known_ranges_are_exact),
      cmocka_unit_test(a_square_holds_the_squares_and_is_not_negative),
      cmocka_unit_test(statements_that_contradict_each_other_tell_nothing),
      cmocka_unit_test(ends_beyond_i64_saturate_outwards),
      cmocka_unit_test(a_range_with_an_unknown_end_fits_no_type),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
