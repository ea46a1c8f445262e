/* The asynchronous proxy of a block on the emulated device: its view of shared memory. */
#ifndef NEO_TESTS_GPU_EMULATOR_PROXY_H
#define NEO_TESTS_GPU_EMULATOR_PROXY_H
#include "codegen/loop/wgmma.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each thread has passed so many proxy fences and so many events. */
typedef struct {
  uint32_t fences, events;
} emu_clock;

typedef struct emu_proxy emu_proxy;
void emu_proxy_begin(emu_proxy **x, unsigned threads); /* a block */
void emu_proxy_free(emu_proxy *x);

/* All of this is about the thread that runs (emulator_block.h). A rule that is broken ends the
 * launch. */
void emu_proxy_fence(void);
/* It begins to write there, and no product may still read it; it has written there. */
void emu_proxy_overwrites(const void *at, size_t bytes);
void emu_proxy_wrote(const void *at, size_t bytes);
/* It asks for a copy there past the way that threads write. */
void emu_proxy_bulk(const void *at, size_t bytes);
/* A warp's product begins to read its factors; the result is for _ended, once it has. */
unsigned emu_proxy_product(const neo_wgmma_product *x);
void emu_proxy_ended(const unsigned *products, unsigned n);

/* Something that others may have to know of: its number. Does the thread that runs know of it? */
uint32_t emu_proxy_event(void);
bool emu_proxy_knows(unsigned thread, uint32_t event);
/* Threads meet, and each then knows the writes that any of them knew. A clock for every thread of a
 * block: what the running one knows goes there, or what is there is known to it. */
void emu_proxy_meet(const unsigned *thread, unsigned n);
void emu_proxy_give(emu_clock *to);
void emu_proxy_take(const emu_clock *from);

#endif
