/* Seconds by a clock of the system. */
#pragma once
#include <time.h>

static inline double neo_clock_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline double neo_now_s(void) {
  return neo_clock_s(CLOCK_MONOTONIC);
}
