/* Asynchronous copies of a thread of the emulated device. */
#ifndef NEO_TESTS_GPU_EMULATOR_COPY_H
#define NEO_TESTS_GPU_EMULATOR_COPY_H
#include <stdbool.h>

typedef struct {
  struct emu_copy *at;     /* under way */
  unsigned n, cap, groups; /* groups: that were closed */
} emu_copies;

/* `taken` bytes of `bytes`, zeros behind them, in the group that is closed next. */
void emu_copy_start(emu_copies *c, void *to, const void *from, unsigned bytes, unsigned taken);
/* Makes those of all groups but the last `left`. */
void emu_copy_wait(emu_copies *c, unsigned left);
/* For another thread; false: some were under way. */
bool emu_copy_end(emu_copies *c);
void emu_copy_free(emu_copies *c);

#endif
