/* Maps of tensors, and boxes that are copied of them, on an emulated device. */
#ifndef NEO_TESTS_GPU_EMULATOR_BULK_H
#define NEO_TESTS_GPU_EMULATOR_BULK_H
#include <stdbool.h>
#include <stdint.h>

enum { EMU_MAP_BYTES = 128 };
/* Is a parameter that begins so a map? */
bool emu_is_map(const void *parameter);

/* Of the block that runs: phases of boxes, by their addresses. */
typedef struct emu_phases emu_phases;
bool emu_phases_make(emu_phases **all, const void *at, unsigned n, unsigned arrivals);
bool emu_phase_arrive(emu_phases *all, const void *at);
bool emu_phase_expect(emu_phases *all, const void *at, unsigned bytes);
bool emu_box_start(emu_phases *all, const void *at, void *to, const void *map, const int *first);
/* Is the turn over? Copies what it waits for, as late as that. */
bool emu_phase_reached(emu_phases *all, const void *at, unsigned turn);
/* At the end of a block; false: something was under way. */
bool emu_phases_end(emu_phases *all);
void emu_phases_free(emu_phases *all);

#endif
