/* Random numbers and hashes. Known answers of Philox 4x32-10: Random123's tests/kat_vectors. */
#include "base/hash.h"
#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void philox_gives_the_known_answers(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t out[4];
    neo_philox(known[i].key, known[i].counter, out);
    assert_memory_equal(out, known[i].out, sizeof out);
  }
}

static void uniform_numbers_follow_the_documented_counter(void **state) {
  (void)state;
  uint64_t seed = 0x0123456789abcdef, element = 0xfedcba9876543210;
  const uint32_t key[2] = {0x89abcdef, 0x01234567};
  const uint32_t counter[4] = {0x76543210, 0xfedcba98 ^ (3u << 8), 77, 5};
  uint32_t out[4];
  neo_philox(key, counter, out);
  assert_true(neo_rand_uniform(seed, 77, 5, 3, element) == (double)(out[0] >> 8) / 16777216.0);
}

static void uniform_numbers_are_exact_in_f32_and_evenly_spread(void **state) {
  (void)state;
  enum { N = 100000, BINS = 20 };
  int count[BINS] = {0};
  double sum = 0;
  for (uint64_t i = 0; i < N; i++) {
    double x = neo_rand_uniform(42, 1, 0, 0, i);
    assert_true(x >= 0 && x < 1 && (double)(float)x == x);
    count[(int)(x * BINS)]++;
    sum += x;
  }
  assert_true(sum / N > 0.495 && sum / N < 0.505);
  double chi2 = 0, expected = (double)N / BINS;
  for (int i = 0; i < BINS; i++)
    chi2 += (count[i] - expected) * (count[i] - expected) / expected;
  assert_true(chi2 < 43.8); /* 19 degrees of freedom, p = 0.001 */
}

static void every_coordinate_changes_the_number(void **state) {
  (void)state;
  double x = neo_rand_uniform(1, 2, 3, 4, 5);
  assert_true(neo_rand_uniform(1, 2, 3, 4, 5) == x);
  assert_true(neo_rand_uniform(9, 2, 3, 4, 5) != x);
  assert_true(neo_rand_uniform(1, 9, 3, 4, 5) != x);
  assert_true(neo_rand_uniform(1, 2, 9, 4, 5) != x);
  assert_true(neo_rand_uniform(1, 2, 3, 9, 5) != x);
  assert_true(neo_rand_uniform(1, 2, 3, 4, 9) != x);
}

static void splitmix_gives_the_known_answers(void **state) {
  (void)state;
  uint64_t s = 1234567; /* the sequence published with the reference code */
  assert_true(neo_splitmix(&s) == 6457827717110365317u);
  assert_true(neo_splitmix(&s) == 3203168211198807973u);
}

static void hashes_are_the_same_on_every_machine(void **state) {
  (void)state;
  assert_true(neo_hash("", 0, 0) == 0x2d06800538d394c2u); /* XXH3's known answer */
  uint64_t a[2], b[2];
  neo_hash128("", 0, a);
  assert_true(a[1] == 0x99aa06d3014798d8u && a[0] == 0x6001c324468d497fu);
  neo_hash128("neo", 3, a);
  neo_hash128("nep", 3, b);
  assert_true(a[0] != b[0] && a[1] != b[1]);
  assert_true(neo_hash("neo", 3, 0) != neo_hash("neo", 3, 1));
}

static void mixing_depends_on_order(void **state) {
  (void)state;
  uint64_t ab = neo_hash_mix(neo_hash_mix(0, 1), 2), ba = neo_hash_mix(neo_hash_mix(0, 2), 1);
  assert_true(ab != ba);
  assert_true(neo_hash_mix(0, 0) != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(philox_gives_the_known_answers),
      cmocka_unit_test(uniform_numbers_follow_the_documented_counter),
      cmocka_unit_test(uniform_numbers_are_exact_in_f32_and_evenly_spread),
      cmocka_unit_test(every_coordinate_changes_the_number),
      cmocka_unit_test(splitmix_gives_the_known_answers),
      cmocka_unit_test(hashes_are_the_same_on_every_machine),
      cmocka_unit_test(mixing_depends_on_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
