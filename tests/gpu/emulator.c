/* A CUDA driver that emulates a device on the processor: what libneort opens in place of libcuda
 * where NEO_CUDA_DRIVER names it. A module is a shared library of the kernels, made by
 * --target=nvptx:LEVEL+host. This file has what kernels call of their block, and launches;
 * emulator_block.c the threads of a block, emulator_warp.c what warps do, emulator_phase.c
 * mbarriers, emulator_proxy.c what asynchronous instructions see, emulator_module.c devices and
 * modules, emulator_stream.c memory and the order of work, emulator_graph.c graphs.
 *
 * Blocks run one after the other, the threads of a block in an order that NEO_EMULATOR_SEED mixes,
 * asynchronous copies as late as may be (emulator_copy.c). Those of a cooperative launch are there
 * at the same time: each runs to where it waits for all others before the next one does anything,
 * in an order that is mixed, too. A kernel that breaks a rule ends its launch, which fails, with a
 * line that says which. */
#include "tests/gpu/emulator.h"
#include "tests/gpu/emulator_asan.h"
#include "tests/gpu/emulator_block.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK, BLOCK_SIZE, THREAD, BLOCKS }; /* as codegen/llvm/gen.h counts them */

/* Kernels on the emulated device call these functions. */
SHOWN unsigned neo_gpu_place(unsigned what);
SHOWN void *neo_gpu_shared(void);
SHOWN void neo_gpu_barrier(unsigned number, unsigned threads);
SHOWN unsigned neo_gpu_vote(unsigned number, unsigned threads, unsigned says);
SHOWN void neo_gpu_fence_async(void);
SHOWN void neo_gpu_wrote(void *at, unsigned bytes);
SHOWN void neo_gpu_grid_meet(uint64_t place_in_memory, unsigned adds);
SHOWN void neo_gpu_wait(void);
SHOWN void neo_gpu_copy(void *to, const void *from, unsigned bytes, unsigned taken);
SHOWN void neo_gpu_commit(void);
SHOWN void neo_gpu_copied(unsigned groups);
/* Functions that tests call. */
SHOWN const neo_emulator_counts *neo_emulator_count(void);

static _Thread_local unsigned grid_size;
neo_emulator_counts emu_counts;

const neo_emulator_counts *neo_emulator_count(void) {
  return &emu_counts;
}

/* ---- what a thread finds, and does */

unsigned neo_gpu_place(unsigned what) {
  switch (what) {
  case BLOCK:
    return emu_own->block;
  case BLOCK_SIZE:
    return emu_own->threads;
  case THREAD:
    return emu_thread();
  default:
    return grid_size;
  }
}

void *neo_gpu_shared(void) {
  return emu_own->shared;
}

void neo_gpu_wait(void) {
  emu_own->now->waited = true;
}

/* threads: 0, all of the block. */
void neo_gpu_barrier(unsigned number, unsigned threads) {
  if (number >= EMU_BARRIERS || threads % EMU_WARP || threads > emu_own->threads)
    emu_fail("meets %u threads at barrier %u: there are %d barriers, for whole warps of %u threads",
             threads, number, EMU_BARRIERS, emu_own->threads);
  emu_meet(number, threads ? threads : emu_own->threads);
}

/* The same barrier; does any thread say yes? */
unsigned neo_gpu_vote(unsigned number, unsigned threads, unsigned says) {
  emu_own->now->says = says != 0;
  neo_gpu_barrier(number, threads);
  return emu_own->now->says;
}

void neo_gpu_fence_async(void) {
  emu_proxy_fence();
}

/* Before the thread writes what asynchronous instructions read. */
void neo_gpu_wrote(void *at, unsigned bytes) {
  emu_proxy_overwrites(at, bytes);
  emu_proxy_wrote(at, bytes);
}

void neo_gpu_copy(void *to, const void *from, unsigned bytes, unsigned taken) {
  emu_proxy_overwrites(to, bytes);
  emu_copy_start(&emu_own->now->copies, to, from, bytes, taken);
}

void neo_gpu_commit(void) {
  emu_own->now->copies.groups++;
}

void neo_gpu_copied(unsigned groups) {
  emu_copy_wait(&emu_own->now->copies, groups);
}

/* ---- all blocks meet, at a counter whose top bit changes when all have come */

enum { TOP = 31 };

static bool is_changed(const void *x, unsigned was) {
  uint32_t is;
  memcpy(&is, x, sizeof is);
  return (is ^ was) >> TOP;
}

static void say_grid(const void *x, unsigned was, char *text, size_t bytes) {
  uint32_t is;
  memcpy(&is, x, sizeof is);
  snprintf(text, bytes, "all blocks of the grid, whose counter was %08x and is %08x", was, is);
}

void neo_gpu_grid_meet(uint64_t place_in_memory, unsigned adds) {
  char *p = emu_device_bytes(place_in_memory, sizeof(uint32_t));
  uint32_t was, left, sum;
  memcpy(&was, p, sizeof was);
  left = was & ~((uint32_t)1 << TOP);
  if (left >= grid_size && left < ((uint32_t)1 << TOP) - grid_size)
    emu_fail("blocks meet at a place that was not 0");
  if (!emu_own->is_resident)
    emu_fail("blocks meet that are not there at the same time");
  sum = was + adds;
  memcpy(p, &sum, sizeof sum);
  emu_until(is_changed, p, was, say_grid);
}

/* ---- launches: an emulated kernel takes what cuLaunchKernel is given, and reads its parameters */

static void take_team(unsigned k, const emu_launch *l) {
  emu_own = emu_team_of(k);
  emu_own->run = (emu_kernel *)(uintptr_t)l->function;
  emu_own->params = l->params;
  emu_own->is_early = l->is_early;
  emu_own->is_resident = l->is_cooperative;
  emu_own->threads = l->threads;
  emu_own->shared_bytes = l->shared_bytes;
  emu_own->seed = (uint64_t)emu_environment("NEO_EMULATOR_SEED", 0);
  emu_forbid(emu_own->shared + l->shared_bytes, EMU_SHARED - l->shared_bytes);
}

static bool run_blocks(const emu_launch *l) {
  bool good = true;
  take_team(0, l);
  for (unsigned k = 0; good && k < l->blocks; k++) {
    emu_block_begin(k);
    good = emu_block_end();
  }
  emu_permit(emu_own->shared, EMU_SHARED);
  return good;
}

/* Each block goes on until it waits for the others again. False: none has. */
static bool meet_all(unsigned blocks) {
  unsigned order[EMU_TEAMS];
  bool any = false;
  emu_own = emu_team_of(0);
  emu_mix(order, blocks);
  for (unsigned k = 0; k < blocks; k++) {
    emu_own = emu_team_of(order[k]);
    unsigned before = emu_own->entered;
    if (!emu_block_go())
      return false;
    any = any || emu_own->entered != before;
  }
  return any;
}

static bool run_together(const emu_launch *l) {
  unsigned order[EMU_TEAMS];
  bool good = true;
  for (unsigned k = 0; k < l->blocks; k++)
    take_team(k, l);
  emu_mix(order, l->blocks);
  for (unsigned k = 0; good && k < l->blocks; k++) {
    emu_own = emu_team_of(order[k]);
    good = emu_block_begin(order[k]);
  }
  while (good && meet_all(l->blocks))
    continue;
  for (unsigned k = 0; k < l->blocks; k++) {
    emu_own = emu_team_of(k);
    emu_own->failed = emu_own->failed || !good; /* who has said so was another one */
    good = emu_block_end() && good;
    emu_permit(emu_own->shared, EMU_SHARED);
  }
  return good;
}

cuda_result emu_run_kernel(const emu_launch *l) {
  grid_size = l->blocks;
  emu_counts.blocks += l->blocks;
  return (l->is_cooperative ? run_together(l) : run_blocks(l)) ? 0 : LAUNCH_FAILED;
}

/* More than a little shared memory is for those only that were allowed it. */
static struct {
  cuda_function of[4096];
  unsigned bytes[4096], n;
} allowed;

static unsigned allowed_shared(cuda_function f) {
  for (unsigned k = allowed.n; k-- > 0;)
    if (allowed.of[k] == f)
      return allowed.bytes[k];
  return CUDA_PLAIN_SHARED_BYTES;
}

DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor)
(int *blocks, cuda_function function, int threads, size_t shared_bytes) {
  *blocks = emu_environment("NEO_EMULATOR_RESIDENT", 1);
  return function && threads > 0 && shared_bytes <= allowed_shared(function) ? 0 : INVALID_VALUE;
}

unsigned emu_most_blocks(void) {
  int n = emu_environment("NEO_EMULATOR_RESIDENT", 1);
  n *= emu_environment("NEO_EMULATOR_PROCESSORS", 3);
  return n < EMU_TEAMS ? (unsigned)n : EMU_TEAMS;
}

DRIVER(cuFuncSetAttribute)(cuda_function function, int attribute, int value) {
  unsigned k = allowed.n++ % 4096;
  if (!function || attribute != CUDA_MOST_SHARED || value < 0 || value > EMU_SHARED)
    return INVALID_VALUE;
  allowed.of[k] = function;
  allowed.bytes[k] = (unsigned)value;
  return 0;
}

/* The launcher of a kernel knows its parameters; tensor maps are marked as such. */
bool emu_launch_new(const cuda_kernel_node *k, emu_launch *l) {
  enum { PLAIN_BYTES = 8 };
  unsigned n = 0;
  if (!k->function || k->extra || k->grid[1] != 1 || k->grid[2] != 1 || k->block[1] != 1 ||
      k->block[2] != 1 || k->grid[0] == 0 || k->block[0] == 0 || k->block[0] > EMU_THREADS ||
      k->shared_bytes > allowed_shared(k->function))
    return false;
  while (k->params[n])
    n++;
  *l = (emu_launch){.function = k->function,
                    .blocks = k->grid[0],
                    .threads = k->block[0],
                    .shared_bytes = k->shared_bytes,
                    .n = n};
  l->params = calloc(n + 1, sizeof *l->params);
  l->value = calloc(n + 1, EMU_MAP_BYTES);
  for (unsigned i = 0; i < n; i++) {
    l->params[i] = l->value + i * EMU_MAP_BYTES;
    memcpy(l->params[i], k->params[i], emu_is_map(k->params[i]) ? EMU_MAP_BYTES : PLAIN_BYTES);
  }
  return true;
}

void emu_launch_free(emu_launch *l) {
  free(l->params);
  free(l->value);
}

DRIVER(cuLaunchKernel)
(cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
 unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream, void **params,
 void **extra) {
  cuda_kernel_node k = {
      function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, params, extra};
  emu_launch l;
  if (!emu_stream_ok(stream) || !emu_launch_new(&k, &l))
    return INVALID_VALUE;
  emu_counts.launches++;
  return emu_put_launch(stream, &l);
}

DRIVER(cuLaunchCooperativeKernel)
(cuda_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
 unsigned block_y, unsigned block_z, unsigned shared_bytes, cuda_stream stream, void **params) {
  cuda_kernel_node k = {
      function, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes, params, NULL};
  emu_launch l;
  if (!emu_environment("NEO_EMULATOR_COOPERATIVE", 1))
    return CUDA_NOT_SUPPORTED;
  if (grid_x > emu_most_blocks())
    return TOO_LARGE;
  if (!emu_stream_ok(stream) || !emu_launch_new(&k, &l))
    return INVALID_VALUE;
  l.is_cooperative = true;
  emu_counts.resident++;
  return emu_put_launch(stream, &l);
}
