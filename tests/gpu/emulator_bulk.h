/* Maps of tensors, boxes that are copied of them, and the mbarriers that say when, on an emulated
 * device. */
#ifndef NEO_TESTS_GPU_EMULATOR_BULK_H
#define NEO_TESTS_GPU_EMULATOR_BULK_H
#include <stdbool.h>
#include <stdint.h>

enum { EMU_MAP_BYTES = 128, EMU_MAP_RANK = 5 };
/* Is a parameter that begins so a map? */
bool emu_is_map(const void *parameter);

typedef struct {
  char *to;
  const void *map;
  int first[EMU_MAP_RANK];
} emu_box;
uint64_t emu_box_bytes(const void *map);
void emu_box_copy(const emu_box *x);

/* The running block finds its mbarriers by their addresses. */
typedef struct emu_phases emu_phases;
void emu_phases_begin(emu_phases **all, unsigned threads);
/* At the end of a block: nothing may be under way. */
void emu_phases_end(emu_phases *all);
void emu_phases_free(emu_phases *all);

#endif
