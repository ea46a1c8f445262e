/* float_mode.h: the mode of floating-point arithmetic in a thread: rounding to nearest, subnormal
 * numbers kept, no traps. A caller may have another mode, and a thread inherits that of its
 * creator; results must depend on neither. */
#pragma once
#include <stdint.h>

typedef uint64_t neo_float_mode; /* the thread's control register, with its flags */

#if defined(__x86_64__)
enum { NEO_FLOAT_MODE = 0x1f80, NEO_FLOAT_FLAGS = 0x3f };
static inline neo_float_mode neo_float_mode_now(void) {
  return __builtin_ia32_stmxcsr();
}
static inline void neo_float_mode_set(neo_float_mode mode) {
  __builtin_ia32_ldmxcsr((uint32_t)mode);
}
#elif defined(__aarch64__)
enum { NEO_FLOAT_MODE = 0, NEO_FLOAT_FLAGS = 0 };
static inline neo_float_mode neo_float_mode_now(void) {
  uint64_t mode;
  __asm__ volatile("mrs %0, fpcr" : "=r"(mode));
  return mode;
}
static inline void neo_float_mode_set(neo_float_mode mode) {
  __asm__ volatile("msr fpcr, %0" : : "r"(mode) : "memory");
}
#else
enum { NEO_FLOAT_MODE = 0, NEO_FLOAT_FLAGS = 0 };
static inline neo_float_mode neo_float_mode_now(void) {
  return NEO_FLOAT_MODE;
}
static inline void neo_float_mode_set(neo_float_mode mode) {
  (void)mode;
}
#endif

/* Sets the mode above until neo_float_mode_leave; returns the previous one. */
static inline neo_float_mode neo_float_mode_enter(void) {
  neo_float_mode before = neo_float_mode_now();
  if ((before & ~(neo_float_mode)NEO_FLOAT_FLAGS) != NEO_FLOAT_MODE)
    neo_float_mode_set(NEO_FLOAT_MODE);
  return before;
}
static inline void neo_float_mode_leave(neo_float_mode before) {
  neo_float_mode_set(before);
}
