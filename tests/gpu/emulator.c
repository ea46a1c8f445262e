/* A CUDA driver that emulates a device on the processor: what libneort opens in place of libcuda
 * where NEO_CUDA_DRIVER names it. A module is a shared library of the kernels, made by
 * --target=nvptx:LEVEL+host. This file has the threads of a block and launches; emulator_module.c
 * has devices and modules, emulator_stream.c memory and the order of work, emulator_graph.c graphs.
 *
 * Blocks run one after the other, the threads of a block in an order that NEO_EMULATOR_SEED mixes,
 * asynchronous copies as late as may be (emulator_copy.c). Those of a cooperative launch are there
 * at the same time: each runs to where it waits for all others before the next one does anything,
 * in an order that is mixed, too. */
#define _GNU_SOURCE 1
#include "tests/gpu/emulator.h"
#include "codegen/warp.h"
#include "codegen/warpgroup.h"
#include "tests/gpu/emulator_asan.h"
#include "tests/gpu/emulator_bulk.h"
#include "tests/gpu/emulator_copy.h"
#include "tests/gpu/emulator_driver.h"
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

enum { BLOCK, BLOCK_SIZE, THREAD, BLOCKS }; /* as codegen/llvm_gen.h counts them */

/* What emulated kernels call. */
SHOWN unsigned neo_gpu_place(unsigned what);
SHOWN void *neo_gpu_shared(void);
SHOWN void neo_gpu_barrier(void);
SHOWN void neo_gpu_among(unsigned threads);
SHOWN void neo_gpu_grid_barrier(uint64_t place_in_memory);
SHOWN void neo_gpu_wait(void);
SHOWN void neo_gpu_warp(unsigned op, void *fragments);
SHOWN void neo_gpu_warp_read(unsigned op, void *row, void *cells);
SHOWN void neo_gpu_warpgroup(unsigned op, unsigned turned, int columns, float *sums, uint64_t rows,
                             uint64_t other);
SHOWN void neo_gpu_warpgroup_commit(void);
SHOWN void neo_gpu_warpgroup_wait(unsigned left);
SHOWN void neo_gpu_copy(void *to, const void *from, unsigned bytes, unsigned taken);
SHOWN void neo_gpu_commit(void);
SHOWN void neo_gpu_copied(unsigned groups);
SHOWN void neo_gpu_phases(void *at, unsigned n, unsigned arrivals);
SHOWN void neo_gpu_expect(void *phase, unsigned bytes);
SHOWN void neo_gpu_bulk(void *to, const void *map, void *phase, int c0, int c1, int c2, int c3,
                        int c4);
SHOWN void neo_gpu_reach(void *phase, unsigned turn);
SHOWN void neo_gpu_arrive(void *phase);
SHOWN void neo_gpu_shuffle(unsigned what, unsigned n, unsigned of, void *words, unsigned count);
/* What tests call. */
SHOWN const neo_emulator_counts *neo_emulator_count(void);

static _Thread_local unsigned place[4];
neo_emulator_counts emu_counts;

const neo_emulator_counts *neo_emulator_count(void) {
  return &emu_counts;
}

unsigned neo_gpu_place(unsigned what) {
  return place[what];
}

/* ---- threads of a block
 *
 * Each runs on a stack of its own until it ends or comes to a barrier; when all have, those that
 * wait go on. A stack whose thread has ended serves the next one. All must come to the same
 * barriers, or the first so many, where they meet among so many; else the launch has failed. A
 * stack is entered for the first time by swapcontext, and by longjmp from then on, which is no
 * matter of the kernel. Each block that is there at the same time as others has a team. */

typedef void kernel(void **params);
enum { MOST_THREADS = 1024, STACK_BYTES = 256 << 10, MOST_SHARED = 227 << 10 };

typedef struct { /* of a warpgroup, by an instruction */
  neo_warpgroup_product of;
  unsigned batch;
  float *sums;
} product;
enum { MOST_PRODUCTS = 64, THE_GRID = 1 << 30 /* threads: all of all blocks */ };

typedef struct {
  jmp_buf place;
  char *stack;
  unsigned thread;
  bool waits, waited;             /* at a barrier; for the kernels before this one */
  bool spins;                     /* for a turn of a phase */
  unsigned among, meets;          /* how many threads meet at its next barriers; at this one */
  product product[MOST_PRODUCTS]; /* on their way */
  unsigned n_products, batch;
  emu_copies copies;
  void *kept; /* of the sanitizer */
} fibre;

typedef struct {
  unsigned block, threads;
  char *shared;
  bool is_resident; /* the blocks of its launch are there at the same time */
  kernel *run;
  void **params;
  jmp_buf home;
  fibre *at[MOST_THREADS]; /* in use first */
  unsigned n, made;
  bool unfinished; /* a thread has ended with products on their way */
  fibre *now;
  emu_phases *phases; /* null: no block had any yet */
  bool bad_box;       /* one was started wrongly */
  unsigned moves;     /* of phases: who waits for one looks again after each */
  bool copies_left;   /* a thread ended while some of its were under way */
  uint64_t seed;
  bool is_early; /* what its threads do before they have waited may come too early */
  void *kept;    /* of the sanitizer, and the stack of `home` */
  const void *home_stack;
  size_t home_bytes;
} team;
enum { MOST_TEAMS = 64 };
static _Thread_local team *own, *teams[MOST_TEAMS]; /* own: of the block that runs */

void neo_gpu_wait(void) {
  own->now->waited = true;
}

void *neo_gpu_shared(void) {
  return own->shared;
}

/* What the threads of a warp multiply: each reads the others' factors, which stay until all have
 * met again. */
static _Thread_local void *handed[MOST_THREADS];

void neo_gpu_warp(unsigned op, void *fragments) {
  unsigned first = place[THREAD] / NEO_WARP * NEO_WARP, lane = place[THREAD] % NEO_WARP;
  const uint32_t *a[NEO_WARP], *b[NEO_WARP];
  handed[place[THREAD]] = fragments;
  neo_gpu_barrier();
  for (unsigned t = 0; t < NEO_WARP; t++) {
    a[t] = (const uint32_t *)handed[first + t] + NEO_WARP_C;
    b[t] = a[t] + NEO_WARP_A;
  }
  neo_warp_product((neo_warp_op)op, (int)lane, a, b, fragments);
  neo_gpu_barrier();
}

/* What they read: each names a row, which stays as it is until all have met again. */
void neo_gpu_warp_read(unsigned op, void *row, void *cells) {
  unsigned first = place[THREAD] / NEO_WARP * NEO_WARP, lane = place[THREAD] % NEO_WARP;
  handed[place[THREAD]] = row;
  neo_gpu_barrier();
  neo_warp_read((neo_warp_op)op, (int)lane, (const void *const *)handed + first, cells);
  neo_gpu_barrier();
}

/* ---- products of warpgroups: made when they are waited for, from what shared memory then holds.
 * A thread that ends while some are on their way has left the launch failed. */

static double factor_at(void *op, int factor, uint32_t address) {
  uint32_t bits = 0;
  unsigned bytes = *(neo_warpgroup_op *)op == NEO_WARPGROUP_TF32 ? 4 : 2;
  (void)factor;
  memcpy(&bits, own->shared + address, bytes);
  return neo_warpgroup_number(*(neo_warpgroup_op *)op, bits);
}

void neo_gpu_warpgroup(unsigned op, unsigned turned, int columns, float *sums, uint64_t rows,
                       uint64_t other) {
  fibre *f = own->now;
  if (f->n_products == MOST_PRODUCTS)
    abort();
  f->product[f->n_products++] =
      (product){{(neo_warpgroup_op)op, turned, columns, {rows, other}}, f->batch, sums};
}

void neo_gpu_warpgroup_commit(void) {
  own->now->batch++;
}

void neo_gpu_warpgroup_wait(unsigned left) {
  fibre *f = own->now;
  unsigned n = 0;
  for (unsigned i = 0; i < f->n_products; i++) {
    product *x = &f->product[i];
    if (x->batch + left >= f->batch)
      f->product[n++] = *x;
    else
      neo_warpgroup_multiply(&x->of, (int)(f->thread % NEO_WARPGROUP), factor_at, &x->of.op,
                             x->sums);
  }
  f->n_products = n;
}

/* `count` words of another thread, behind this thread's own-> */
void neo_gpu_shuffle(unsigned what, unsigned n, unsigned of, void *words, unsigned count) {
  int from = neo_shuffle_source((neo_shuffle)what, (int)place[THREAD], (int)n, (int)of);
  handed[place[THREAD]] = words;
  neo_gpu_barrier();
  memcpy((uint32_t *)words + count, handed[from], count * sizeof(uint32_t));
  neo_gpu_barrier();
}

/* From a thread to run_block, and back. */
static void leave(void) {
  fibre *f = own->now;
  emu_leave_stack(&f->kept, own->home_stack, own->home_bytes);
  if (_setjmp(f->place) == 0)
    _longjmp(own->home, 1);
  emu_on_stack(own->now->kept, &own->home_stack, &own->home_bytes);
}

static void enter(fibre *f) {
  own->now = f;
  place[THREAD] = f->thread;
  f->waits = false;
  emu_leave_stack(&own->kept, f->stack, STACK_BYTES);
  if (_setjmp(own->home) == 0)
    _longjmp(f->place, 1);
  emu_on_stack(own->kept, NULL, NULL);
}

void neo_gpu_barrier(void) {
  own->now->waits = true;
  own->now->meets = own->now->among;
  leave();
}

void neo_gpu_among(unsigned threads) {
  own->now->among = threads;
}

/* The place begins as 0 and is 0 again when all have gone on, for all that one can know here. */
void neo_gpu_grid_barrier(uint64_t place_in_memory) {
  uint32_t is = 1;
  memcpy(&is, emu_device_bytes(place_in_memory, sizeof is), sizeof is);
  if (is || !own->is_resident) {
    fputs(is ? "emulator: blocks meet at a place that is not 0\n"
             : "emulator: blocks meet that are not there at the same time\n",
          stderr);
    abort();
  }
  own->now->waits = true;
  own->now->meets = THE_GRID;
  leave();
}

void neo_gpu_copy(void *to, const void *from, unsigned bytes, unsigned taken) {
  emu_copy_start(&own->now->copies, to, from, bytes, taken);
}
void neo_gpu_commit(void) {
  own->now->copies.groups++;
}
void neo_gpu_copied(unsigned groups) {
  emu_copy_wait(&own->now->copies, groups);
}

/* ---- boxes, which the block's threads wait for without meeting */

void neo_gpu_phases(void *at, unsigned n, unsigned arrivals) {
  own->bad_box = !emu_phases_make(&own->phases, at, n, arrivals) || own->bad_box;
}
void neo_gpu_arrive(void *phase) {
  own->moves++;
  own->bad_box = !emu_phase_arrive(own->phases, phase) || own->bad_box;
}
void neo_gpu_expect(void *phase, unsigned bytes) {
  own->moves++;
  own->bad_box = !emu_phase_expect(own->phases, phase, bytes) || own->bad_box;
}
void neo_gpu_bulk(void *to, const void *map, void *phase, int c0, int c1, int c2, int c3, int c4) {
  const int first[] = {c0, c1, c2, c3, c4};
  own->bad_box = !emu_box_start(own->phases, phase, to, map, first) || own->bad_box;
}
void neo_gpu_reach(void *phase, unsigned turn) {
  while (!emu_phase_reached(own->phases, phase, turn)) {
    own->now->spins = true;
    leave();
  }
  own->moves++;
}

/* A stack's whole life. */
static void run_fibre(void) {
  emu_on_stack(NULL, &own->home_stack, &own->home_bytes);
  for (;;) {
    leave();
    own->run(own->params);
    if (own->is_early && !own->now->waited) {
      fputs("emulator: a thread that may come early waits for no other kernel\n", stderr);
      abort();
    }
    own->unfinished = own->unfinished || own->now->n_products;
    own->now->n_products = 0;
    own->copies_left = !emu_copy_end(&own->now->copies) || own->copies_left;
  }
}

static void begin(fibre *f, ucontext_t *first) {
  ucontext_t back;
  own->now = f;
  emu_leave_stack(&own->kept, f->stack, STACK_BYTES);
  if (_setjmp(own->home) == 0)
    swapcontext(&back, first);
  emu_on_stack(own->kept, NULL, NULL);
}

/* The stacks of the thread that unloads the driver. */
__attribute__((destructor)) static void end_fibres(void) {
  for (unsigned k = 0; k < MOST_TEAMS && teams[k]; k++) {
    emu_phases_free(teams[k]->phases);
    for (unsigned i = 0; i < teams[k]->made; i++) {
      emu_copy_free(&teams[k]->at[i]->copies);
      free(teams[k]->at[i]->stack);
      free(teams[k]->at[i]);
    }
    free(teams[k]->shared);
    free(teams[k]);
    teams[k] = NULL;
  }
}

static fibre *new_fibre(void) {
  ucontext_t first;
  fibre *volatile f = calloc(1, sizeof *f); /* getcontext may return twice, for all gcc knows */
  if (!f || !(f->stack = malloc(STACK_BYTES)) || getcontext(&first))
    return NULL;
  first.uc_stack.ss_sp = f->stack;
  first.uc_stack.ss_size = STACK_BYTES;
  makecontext(&first, run_fibre, 0);
  begin(f, &first);
  return f;
}

static bool start(unsigned thread) {
  if (own->n == own->made && !(own->at[own->made] = new_fibre()))
    return false;
  own->made += own->n == own->made;
  fibre *f = own->at[own->n];
  f->thread = thread;
  f->among = own->threads;
  f->waited = false;
  f->spins = false;
  enter(f);
  own->n += f->waits || f->spins;
  return true;
}

/* Those that spin go on, until none does, or all that do wait for what others have to do first. */
static void settle(void) {
  unsigned before;
  do {
    before = own->moves;
    for (unsigned i = 0; i < own->n; i++) {
      if (!own->at[i]->spins)
        continue;
      own->at[i]->spins = false;
      enter(own->at[i]);
    }
  } while (own->moves != before);
}

/* Those that have ended serve others later. */
static void drop_ended(void) {
  unsigned left = 0, gone = 0;
  fibre *ended[MOST_THREADS];
  for (unsigned i = 0; i < own->n; i++)
    if (own->at[i]->waits || own->at[i]->spins)
      own->at[left++] = own->at[i];
    else
      ended[gone++] = own->at[i];
  memcpy(own->at + left, ended, gone * sizeof *ended);
  own->n = left;
}

static unsigned pick(unsigned n) {
  uint64_t z = (own->seed += 0x9e3779b97f4a7c15ULL);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
  return (unsigned)((z ^ z >> 27) % n);
}

static void mix(unsigned *order, unsigned n) {
  for (unsigned i = 0; i < n; i++)
    order[i] = i;
  for (unsigned i = n; own->seed && i-- > 1;) {
    unsigned k = pick(i + 1), swap = order[i];
    order[i] = order[k];
    order[k] = swap;
  }
}

/* Those that wait where `of` threads meet go on to the next barrier, or to the end. False: they are
 * too few, as some wait elsewhere, or have ended; or they wait for what never comes. */
static bool resume(unsigned of) {
  unsigned n = 0;
  fibre *next[MOST_THREADS];
  for (unsigned i = 0; i < own->n; i++)
    if (own->at[i]->waits && own->at[i]->meets == of)
      next[n++] = own->at[i];
  if (n != of && of != THE_GRID)
    return false;
  for (unsigned i = 0; i < n; i++)
    enter(next[i]);
  settle();
  drop_ended();
  return true;
}

/* Of those that wait in the block, who wait among the fewest. False: nobody does, or they are too
 * few; who is left then waits for a turn that never comes. */
static bool go_on(void) {
  unsigned least = THE_GRID;
  for (unsigned i = 0; i < own->n; i++)
    if (own->at[i]->waits && own->at[i]->meets < least)
      least = own->at[i]->meets;
  return least != THE_GRID && resume(least);
}

static bool all_at_grid(void) {
  bool all = true;
  for (unsigned i = 0; i < own->n; i++)
    all = all && own->at[i]->waits && own->at[i]->meets == THE_GRID;
  return all;
}

/* All threads, as far as they come without those of other blocks. */
static bool run_on(void) {
  while (!all_at_grid())
    if (!go_on())
      return false;
  return own->n == 0 || own->n == own->threads;
}

static bool start_block(unsigned block, const emu_launch *l) {
  unsigned order[MOST_THREADS];
  place[BLOCK] = own->block = block;
  memset(own->shared, POISON, l->shared_bytes);
  mix(order, l->threads);
  own->n = 0;
  own->unfinished = false;
  own->copies_left = own->bad_box = false;
  own->moves = 0;
  emu_phases_end(own->phases);
  for (unsigned i = 0; i < l->threads; i++)
    if (!start(order[i]))
      return false;
  settle();
  drop_ended();
  return run_on();
}

static bool ended_well(void) {
  return emu_phases_end(own->phases) && own->n == 0 && !own->bad_box && !own->unfinished &&
         !own->copies_left;
}

/* ---- launches: an emulated kernel takes what cuLaunchKernel is given, and reads its parameters */

static team *team_of(unsigned k) {
  if (teams[k])
    return teams[k];
  teams[k] = calloc(1, sizeof(team));
  if (!teams[k] || posix_memalign((void **)&teams[k]->shared, 1024, MOST_SHARED))
    abort();
  return teams[k];
}

static void take_team(unsigned k, const emu_launch *l) {
  own = team_of(k);
  own->run = (kernel *)(uintptr_t)l->function;
  own->params = l->params;
  own->is_early = l->is_early;
  own->is_resident = l->is_cooperative;
  own->threads = l->threads;
  own->seed = (uint64_t)emu_environment("NEO_EMULATOR_SEED", 0);
  emu_forbid(own->shared + l->shared_bytes, MOST_SHARED - l->shared_bytes);
}

static bool run_blocks(const emu_launch *l) {
  bool good = true;
  take_team(0, l);
  for (unsigned k = 0; good && k < l->blocks; k++)
    good = start_block(k, l) && ended_well();
  emu_permit(own->shared, MOST_SHARED);
  return good;
}

/* Each block goes on until it waits for the others again. */
static bool meet_all(unsigned blocks) {
  unsigned order[MOST_TEAMS];
  bool good = true;
  own = teams[0];
  mix(order, blocks);
  for (unsigned k = 0; good && k < blocks; k++) {
    own = teams[order[k]];
    place[BLOCK] = own->block;
    good = resume(THE_GRID) && run_on();
  }
  return good;
}

/* False: some have ended, others wait. */
static bool run_together(const emu_launch *l) {
  unsigned order[MOST_TEAMS], left = 0;
  bool good = true;
  for (unsigned k = 0; k < l->blocks; k++)
    take_team(k, l);
  mix(order, l->blocks);
  for (unsigned k = 0; good && k < l->blocks; k++) {
    own = teams[order[k]];
    good = start_block(order[k], l);
    left += own->n != 0;
  }
  while (good && left == l->blocks) {
    good = meet_all(l->blocks);
    left = 0;
    for (unsigned k = 0; k < l->blocks; k++)
      left += teams[k]->n != 0;
  }
  for (unsigned k = 0; k < l->blocks; k++) {
    own = teams[k];
    good = good && ended_well();
    emu_permit(own->shared, MOST_SHARED);
  }
  return good;
}

cuda_result emu_run_kernel(const emu_launch *l) {
  place[BLOCK_SIZE] = l->threads;
  place[BLOCKS] = l->blocks;
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
  return n < MOST_TEAMS ? (unsigned)n : MOST_TEAMS;
}

DRIVER(cuFuncSetAttribute)(cuda_function function, int attribute, int value) {
  unsigned k = allowed.n++ % 4096;
  if (!function || attribute != CUDA_MOST_SHARED || value < 0 || value > MOST_SHARED)
    return INVALID_VALUE;
  allowed.of[k] = function;
  allowed.bytes[k] = (unsigned)value;
  return 0;
}

/* Who launches a kernel knows what its parameters are: maps say so of themselves. */
bool emu_launch_new(const cuda_kernel_node *k, emu_launch *l) {
  enum { PLAIN_BYTES = 8 };
  unsigned n = 0;
  if (!k->function || k->extra || k->grid[1] != 1 || k->grid[2] != 1 || k->block[1] != 1 ||
      k->block[2] != 1 || k->grid[0] == 0 || k->block[0] == 0 || k->block[0] > MOST_THREADS ||
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
