/* The threads of a block on an emulated device: where each stands, and who may go on. */
#ifndef NEO_TESTS_GPU_EMULATOR_BLOCK_H
#define NEO_TESTS_GPU_EMULATOR_BLOCK_H
#include "codegen/loop/wgmma.h"
#include "tests/gpu/emulator_bulk.h"
#include "tests/gpu/emulator_copy.h"
#include "tests/gpu/emulator_driver.h"
#include "tests/gpu/emulator_proxy.h"
#include <setjmp.h>

enum {
  EMU_THREADS = 1024,
  EMU_SHARED = 227 << 10,
  EMU_WARP = 32,
  EMU_TEAMS = 64,
  EMU_PRODUCTS = 64
};

/* A barrier of threads: one of a block's, a warp's, a warpgroup's. */
enum {
  EMU_BARRIERS = 16,
  EMU_WARPS = EMU_BARRIERS,
  EMU_WARPGROUPS = EMU_WARPS + EMU_THREADS / EMU_WARP,
  EMU_PLACES = EMU_WARPGROUPS + EMU_THREADS / NEO_WARPGROUP
};

/* May a thread that waits for this go on? */
typedef bool emu_ready(const void *x, unsigned n);

/* A name for messages about a launch that failed. */
typedef void emu_say(const void *x, unsigned n, char *text, size_t bytes);

typedef struct {
  enum { EMU_RUNS, EMU_MEETS, EMU_UNTIL } kind;
  unsigned place;   /* MEETS */
  emu_ready *ready; /* UNTIL ready(x, n) */
  const void *x;
  unsigned n;
  emu_say *say;
} emu_wait;

typedef struct { /* of a warpgroup, by an instruction */
  neo_wgmma_product of;
  unsigned batch;
  float *sums;
  unsigned read; /* its number in emulator_proxy.c; of a warp's first thread */
} emu_product;

typedef struct {
  jmp_buf place;
  char *stack;
  unsigned thread;
  emu_wait wait;
  bool waited;                       /* for the kernels before this one */
  bool says;                         /* in a vote; behind it what any thread said */
  emu_product product[EMU_PRODUCTS]; /* on their way */
  unsigned n_products, batch;
  emu_copies copies;
  void *kept; /* of the sanitizer */
} emu_fibre;

typedef void emu_kernel(void **params);

typedef struct { /* threads that are there, of how many */
  unsigned n, of;
} emu_meeting;

typedef struct emu_team { /* a block that is there */
  unsigned block, threads;
  char *shared;
  size_t shared_bytes;
  bool is_resident; /* the blocks of its launch are there at the same time */
  bool is_early;    /* what its threads do before they have waited may come too early */
  bool failed;      /* and it was said why */
  emu_kernel *run;
  void **params;
  jmp_buf home;
  emu_fibre *at[EMU_THREADS], *idle[EMU_THREADS]; /* at: by thread, null: has ended */
  unsigned order[EMU_THREADS];
  unsigned left, n_idle,
      entered; /* left: that have not ended; entered: so often a thread went on */
  emu_meeting meeting[EMU_PLACES];
  unsigned complete[EMU_PLACES], n_complete; /* meetings whose threads may go on */
  void *handed[EMU_THREADS];                 /* what threads of a warp show the others */
  emu_fibre *now;                            /* null: no thread runs */
  emu_phases *phases;                        /* null: no block had any yet */
  emu_proxy *proxy;
  unsigned registers[EMU_THREADS / NEO_WARPGROUP], free_registers; /* 0: not set yet */
  uint64_t seed;
  void *kept; /* of the sanitizer, and the stack of `home` */
  const void *home_stack;
  size_t home_bytes;
} emu_team;

extern _Thread_local emu_team *emu_own; /* of the block that runs */

emu_team *emu_team_of(unsigned k);
unsigned emu_thread(void); /* that runs */
/* Mixes 0..n by the team's seed; without one they stay in order. */
void emu_mix(unsigned *order, unsigned n);

/* The running thread meets `count` threads at a place, and waits until it may go on. */
void emu_meet(unsigned place, unsigned count);
void emu_meet_warp(void);
void emu_until(emu_ready *ready, const void *x, unsigned n, emu_say *say);
/* Says what the thread that runs did wrong, and ends the launch: such a thread never goes on. */
void emu_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Begins the block, whose threads go on as far as they can; false: the launch has failed. */
bool emu_block_begin(unsigned block);
bool emu_block_go(void);
/* False: some wait for what never comes, or left something under way. Says so. */
bool emu_block_end(void);

#endif
