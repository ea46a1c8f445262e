/* float_mode.h: the mode in which a thread computes: rounding to nearest, subnormal numbers as they
 * are, no traps. A caller may have another one, and a thread has that of its maker; what is computed
 * must depend on neither. */
#pragma once
#include <stdint.h>

typedef uint64_t neo_float_mode; /* the register of a thread that says its mode, with its flags */

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

/* From here to neo_float_mode_leave the thread computes in the mode above; returns what it had. */
static inline neo_float_mode neo_float_mode_enter(void) {
  neo_float_mode before = neo_float_mode_now();
  if ((before & ~(neo_float_mode)NEO_FLOAT_FLAGS) != NEO_FLOAT_MODE)
    neo_float_mode_set(NEO_FLOAT_MODE);
  return before;
}
static inline void neo_float_mode_leave(neo_float_mode before) {
  neo_float_mode_set(before);
}
