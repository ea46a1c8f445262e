/* Arithmetic of whole numbers. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* x rounded up to a multiple of n, x >= 0; x itself if n <= 1. */
static inline int64_t neo_round_up(int64_t x, int64_t n) {
  return n > 1 ? (x + n - 1) / n * n : x;
}

static inline bool neo_is_power_of_2(int64_t n) {
  return n > 0 && (n & (n - 1)) == 0;
}

/* The greatest common divisor, not negative; 0 for 0 and 0; 1 if one of them is INT64_MIN. */
static inline int64_t neo_gcd(int64_t a, int64_t b) {
  if (a == INT64_MIN || b == INT64_MIN)
    return 1;
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a < 0 ? -a : a;
}
