/* The address sanitizer is told where each stack is, and what of the shared memory a launch has;
 * without it these say nothing. */
#ifndef NEO_TESTS_GPU_EMULATOR_ASAN_H
#define NEO_TESTS_GPU_EMULATOR_ASAN_H
#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define EMU_ASAN 1
#elif defined(__clang__)
#if __has_feature(address_sanitizer)
#define EMU_ASAN 1
#endif
#endif

#ifdef EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
/* Before a change to the stack of `n` bytes at p; *kept is for when this stack goes on. */
static inline void emu_leave_stack(void **kept, const void *p, size_t n) {
  __sanitizer_start_switch_fiber(kept, p, n);
}
/* After it; *p and *n get the stack that was left. */
static inline void emu_on_stack(void *kept, const void **p, size_t *n) {
  __sanitizer_finish_switch_fiber(kept, p, n);
}
static inline void emu_forbid(const void *p, size_t n) {
  __asan_poison_memory_region(p, n);
}
static inline void emu_permit(const void *p, size_t n) {
  __asan_unpoison_memory_region(p, n);
}
#else
static inline void emu_leave_stack(void **kept, const void *p, size_t n) {
  (void)kept, (void)p, (void)n;
}
static inline void emu_on_stack(void *kept, const void **p, size_t *n) {
  (void)kept, (void)p, (void)n;
}
static inline void emu_forbid(const void *p, size_t n) {
  (void)p, (void)n;
}
static inline void emu_permit(const void *p, size_t n) {
  (void)p, (void)n;
}
#endif
#endif
