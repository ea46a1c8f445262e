/* mbarriers on an emulated device, counted as the hardware counts: a phase ends when as many
 * arrivals have come as it was made for, each executed arrival one, and as many bytes as were
 * announced; then the next one begins.
 *
 * Boxes are copied when a thread first waits for their phase. A wait for the other parity goes on
 * at once, as the hardware's does, and what is read is poison. What the hardware would not notice
 * ends the launch, since it loses count: an arrival more than a phase has; a thread that arrives
 * twice in one; bytes that nobody announced; a phase that ends while nobody has waited for the one
 * before, which who waits by parity cannot tell from it; an mbarrier that is used by who cannot have
 * seen it made. */
#include "tests/gpu/emulator_block.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PHASES = 16, MOST_BOXES = 64, LINE = 128, WORD = 64 };

/* Kernels on the emulated device call these functions. */
SHOWN void neo_gpu_phases(void *at, unsigned n, unsigned arrivals);
SHOWN void neo_gpu_fence_phases(void);
SHOWN void neo_gpu_arrive(void *phase, unsigned lane);
SHOWN void neo_gpu_expect(void *phase, unsigned bytes);
SHOWN void neo_gpu_bulk(void *to, const void *map, void *phase, int c0, int c1, int c2, int c3,
                        int c4);
SHOWN void neo_gpu_reach(void *phase, unsigned turn);

typedef struct {
  const void *at;
  unsigned maker;
  uint32_t made;              /* event of its maker's fence; 0: none yet */
  unsigned turns, waited_for; /* phases that are over; of these, those that somebody waited for */
  unsigned arrivals, arrived;
  uint64_t expected, started; /* bytes */
  emu_box boxes[MOST_BOXES];
  unsigned n;
  uint64_t arrivers[EMU_THREADS / WORD];
  emu_clock comes[EMU_THREADS], over[EMU_THREADS]; /* what arrivals knew: of this phase, before */
} phase;

struct emu_phases {
  phase at[MOST_PHASES];
  unsigned n, threads;
};

void emu_phases_begin(emu_phases **all, unsigned threads) {
  if (!*all && !(*all = calloc(1, sizeof **all)))
    abort();
  (*all)->n = 0;
  (*all)->threads = threads;
}

void emu_phases_end(emu_phases *all) {
  for (unsigned i = 0; i < all->n; i++) {
    const phase *p = &all->at[i];
    if (p->arrived || p->expected)
      emu_fail("the block ends while an mbarrier has %u of %u arrivals and %llu of %llu bytes",
               p->arrived, p->arrivals, (unsigned long long)p->started,
               (unsigned long long)p->expected);
  }
}

void emu_phases_free(emu_phases *all) {
  free(all);
}

/* ---- making them */

void neo_gpu_phases(void *at, unsigned n, unsigned arrivals) {
  emu_phases *all = emu_own->phases;
  if (all->n + n > MOST_PHASES)
    emu_fail("makes more than %d mbarriers", MOST_PHASES);
  for (unsigned i = 0; i < n; i++) {
    phase *p = &all->at[all->n++];
    memset(p, 0, sizeof *p);
    p->at = (const char *)at + 8 * i;
    p->maker = emu_thread();
    p->arrivals = arrivals;
  }
}

void neo_gpu_fence_phases(void) {
  emu_phases *all = emu_own->phases;
  uint32_t event = emu_proxy_event();
  for (unsigned i = 0; i < all->n; i++)
    if (all->at[i].maker == emu_thread() && !all->at[i].made)
      all->at[i].made = event;
}

static phase *find(const void *at) {
  emu_phases *all = emu_own->phases;
  for (unsigned i = 0; i < all->n; i++) {
    phase *p = &all->at[i];
    if (p->at != at)
      continue;
    if (!p->made || !emu_proxy_knows(p->maker, p->made))
      emu_fail("uses an mbarrier that thread %u made, without %s behind that", p->maker,
               p->made ? "a barrier" : "a fence.mbarrier_init");
    return p;
  }
  emu_fail("uses an mbarrier that was not made");
  return NULL;
}

/* ---- arrivals and bytes */

static bool is_complete(const phase *p) {
  return p->arrived == p->arrivals && p->started == p->expected;
}

static void next_phase(phase *p) {
  if (p->turns > p->waited_for)
    emu_fail("a phase of %u arrivals ends, and nobody has waited for the one before", p->arrivals);
  for (unsigned i = 0; i < p->n; i++)
    emu_box_copy(&p->boxes[i]);
  memcpy(p->over, p->comes, emu_own->phases->threads * sizeof *p->over);
  memset(p->arrivers, 0, sizeof p->arrivers);
  p->arrived = p->n = 0;
  p->expected = p->started = 0;
  p->turns++;
}

static void arrive(phase *p) {
  uint64_t *word = &p->arrivers[emu_thread() / WORD], bit = (uint64_t)1 << emu_thread() % WORD;
  if (p->arrived == p->arrivals)
    emu_fail("arrives at a phase that has all of its %u arrivals", p->arrivals);
  if (*word & bit)
    emu_fail("arrives twice in a phase of %u arrivals", p->arrivals);
  *word |= bit;
  emu_proxy_give(p->comes);
  p->arrived++;
}

/* The instruction is the warp's, of which one thread executes it: the first. */
void neo_gpu_arrive(void *at, unsigned lane) {
  if (lane)
    return;
  phase *p = find(at);
  arrive(p);
  if (is_complete(p) && !p->expected)
    next_phase(p);
}

void neo_gpu_expect(void *at, unsigned bytes) {
  phase *p = find(at);
  arrive(p);
  p->expected += bytes;
}

void neo_gpu_bulk(void *to, const void *map, void *at, int c0, int c1, int c2, int c3, int c4) {
  phase *p = find(at);
  if (!emu_is_map(map))
    emu_fail("copies a box by what is no map");
  uint64_t bytes = emu_box_bytes(map);
  if ((uintptr_t)to % (8 * LINE) || p->n == MOST_BOXES)
    emu_fail("copies a box to no multiple of %d, or more than %d in a phase", 8 * LINE, MOST_BOXES);
  if (p->started + bytes > p->expected)
    emu_fail("copies a box of %llu bytes, where %llu of %llu announced ones are under way",
             (unsigned long long)bytes, (unsigned long long)p->started,
             (unsigned long long)p->expected);
  p->boxes[p->n++] = (emu_box){to, map, {c0, c1, c2, c3, c4}};
  p->started += bytes;
  emu_proxy_bulk(to, bytes);
  memset(to, POISON, bytes);
}

/* ---- waiting */

static bool is_over(const void *x, unsigned turn) {
  phase *p = (phase *)(uintptr_t)x;
  if (p->turns % 2 == turn && is_complete(p))
    next_phase(p);
  return p->turns % 2 != turn;
}

static void say(const void *x, unsigned turn, char *text, size_t bytes) {
  const phase *p = x;
  snprintf(
      text, bytes,
      "the end of phase %u (parity %u) of an mbarrier, which has %u of %u arrivals and %llu of "
      "%llu bytes",
      p->turns, turn, p->arrived, p->arrivals, (unsigned long long)p->started,
      (unsigned long long)p->expected);
}

void neo_gpu_reach(void *at, unsigned turn) {
  phase *p = find(at);
  if (turn > 1)
    emu_fail("waits for parity %u", turn);
  emu_until(is_over, p, turn, say);
  p->waited_for = p->turns;
  emu_proxy_take(p->over);
}
