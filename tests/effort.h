/* How much a test does. Three sizes: the usual one, for `tools/test`; a part of it under a
 * sanitizer, which makes everything some ten times slower and looks at what every program goes
 * through; and many times as much where NEO_TEST_LONG is set, for `tools/test --long`. A test
 * program that asks for its size here, or a script that reads NEO_TEST_LONG, is registered a second
 * time as <name>_long, with the label `long` (cmake/NeoTests.cmake). */
#ifndef NEO_TESTS_EFFORT_H
#define NEO_TESTS_EFFORT_H
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#if defined(__has_feature) /* clang's way to say it */
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define NEO_TEST_SANITIZED 1
#endif
#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define NEO_TEST_SANITIZED 1
#endif
#ifndef NEO_TEST_SANITIZED
#define NEO_TEST_SANITIZED 0
#endif

static inline bool neo_test_long(void) {
  return getenv("NEO_TEST_LONG") != NULL;
}

/* How many of what the usual test has n of: random programs, rounds, cases. */
static inline uint64_t neo_test_count(uint64_t n) {
  enum { LONG_TIMES = 20, SANITIZED_PART = 10, LEAST = 8 };
  uint64_t least = n < LEAST ? n : LEAST, part = n / SANITIZED_PART;
  if (neo_test_long())
    return LONG_TIMES * n;
  if (NEO_TEST_SANITIZED)
    return part > least ? part : least;
  return n;
}

/* How many random schedules of a program are tried where n would be thorough: all of them in a long
 * run, else half. */
static inline int neo_test_draws(int n) {
  enum { FEW = 4 };
  int half = (n + 1) / 2;
  return neo_test_long() || n < FEW ? n : half < FEW ? FEW : half;
}

#endif
