/* The emulated device ends a launch that breaks a rule of the hardware's which results alone would
 * not show, and says which: fences between threads and asynchronous instructions, arrivals and
 * bytes of mbarriers, registers of warpgroups, named barriers, the counter of a grid. Kernels are C
 * functions that call what compiled ones call; beside each that is wrong is one that is right. */
#include "codegen/loop/wgmma.h"
#include "runtime/cuda_api.h"
#include "tests/gpu/emulator.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define HOOKS(X)                                                                             \
  X(unsigned, place, (unsigned what))                                                        \
  X(char *, shared, (void))                                                                  \
  X(void, barrier, (unsigned number, unsigned threads))                                      \
  X(void, fence_async, (void))                                                               \
  X(void, wrote, (void *at, unsigned bytes))                                                 \
  X(void, copy, (void *to, const void *from, unsigned bytes, unsigned taken))                \
  X(void, commit, (void))                                                                    \
  X(void, copied, (unsigned groups))                                                         \
  X(void, phases, (void *at, unsigned n, unsigned arrivals))                                 \
  X(void, fence_phases, (void))                                                              \
  X(void, arrive, (void *phase, unsigned lane))                                              \
  X(void, expect, (void *phase, unsigned bytes))                                             \
  X(void, bulk, (void *to, const void *map, void *phase, int, int, int, int, int))           \
  X(void, reach, (void *phase, unsigned turn))                                               \
  X(void, warpgroup,                                                                         \
    (unsigned op, unsigned turned, int columns, float *sums, uint64_t rows, uint64_t other)) \
  X(void, warpgroup_commit, (void))                                                          \
  X(void, warpgroup_wait, (unsigned left))                                                   \
  X(void, registers, (unsigned more, unsigned n, unsigned at_first))                         \
  X(void, shuffle,                                                                           \
    (unsigned what, unsigned n, unsigned of, void *words, unsigned count, unsigned mask))
#define X(type, name, params) static type(*name) params;
HOOKS(X)
#undef X

enum { THREAD = 2, BOX_BYTES = 1024, PHASES = 32 << 10 };

static unsigned thread(void) {
  return place(THREAD);
}
static const void *map_of(void **params) {
  return params[0];
}
static void *phase_at(unsigned k) {
  return shared() + PHASES + 8 * k;
}

/* ---- fences: 128 threads write both factors, and multiply them */

static void write_factors(void) {
  char *at = shared() + 128 * thread();
  wrote(at, 128);
  memset(at, 0, 128);
}
/* 128 bytes exchanged, 1,024 from eight rows to the next; at the beginning of shared memory. */
static const uint64_t form = 1ULL << 62 | 64ULL << 32 | 1ULL << 16;

static void multiply(void) {
  float sums[4] = {0};
  warpgroup(NEO_WGMMA_BF16, 0, 8, sums, form, form);
  warpgroup_commit();
  warpgroup_wait(0);
}
static void fenced(void **params) {
  (void)params;
  write_factors();
  fence_async();
  barrier(0, 0);
  multiply();
}
static void not_fenced(void **params) {
  (void)params;
  write_factors();
  barrier(0, 0);
  multiply();
}
static void fenced_by_one(void **params) {
  (void)params;
  write_factors();
  if (thread() == 0)
    fence_async();
  barrier(0, 0);
  multiply();
}
static void fenced_behind_the_barrier(void **params) {
  (void)params;
  write_factors();
  barrier(0, 0);
  fence_async();
  multiply();
}
static void fenced_too_early(void **params) {
  (void)params;
  fence_async();
  write_factors();
  barrier(0, 0);
  multiply();
}
static char global[16 * 512];
static void copied_and_fenced(void **params) {
  (void)params;
  for (unsigned k = 0; k < 4; k++)
    copy(shared() + 16 * (4 * thread() + k), global, 16, 16);
  commit();
  copied(0);
  fence_async();
  barrier(0, 0);
  multiply();
}
static void copied_after_the_fence(void **params) {
  (void)params;
  for (unsigned k = 0; k < 4; k++)
    copy(shared() + 16 * (4 * thread() + k), global, 16, 16);
  commit();
  fence_async();
  copied(0);
  barrier(0, 0);
  multiply();
}

/* A kernel overwrites elements that a product still reads. */
static void written_behind_a_barrier(void **params) {
  fenced(params);
  barrier(0, 0);
  write_factors();
}
static void written_at_once(void **params) {
  fenced(params);
  write_factors();
}
static void written_before_it_has_ended(void **params) {
  (void)params;
  float sums[4] = {0};
  write_factors();
  fence_async();
  barrier(0, 0);
  warpgroup(NEO_WGMMA_BF16, 0, 8, sums, form, form);
  warpgroup_commit();
  barrier(0, 0);
  write_factors();
  warpgroup_wait(0);
}

/* ---- mbarriers: [0] of bytes, [1] of `arrivals`; 128 consumers, then a warpgroup whose first
 * thread is the producer, for two turns of a stage */

typedef struct {
  unsigned arrivals, announced, boxes;
  bool by_all, twice, without_fence, without_barrier, other_parity, written;
} protocol;

static void make_phases(const protocol *p) {
  if (thread() == 0) {
    phases(phase_at(0), 1, 1);
    phases(phase_at(1), 1, p->arrivals);
    if (!p->without_fence)
      fence_phases();
  }
  if (!p->without_barrier)
    barrier(0, 0);
}

static void produce(const protocol *p, const void *map) {
  for (unsigned turn = 0; turn < 3; turn++) {
    if (turn)
      reach(phase_at(1), (turn - 1 + p->other_parity) % 2);
    expect(phase_at(0), p->announced);
    for (unsigned k = 0; k < p->boxes; k++)
      bulk(shared() + BOX_BYTES * k, map, phase_at(0), 0, 0, 0, 0, 0);
  }
}

static void consume(const protocol *p) {
  for (unsigned turn = 0; turn < 3; turn++) {
    reach(phase_at(0), turn % 2);
    multiply();
    if (turn == 2)
      continue;
    arrive(phase_at(1), p->by_all ? 0 : thread() % 32);
    if (p->twice)
      arrive(phase_at(1), thread() % 32);
  }
}

static void run_protocol(const protocol *p, const void *map) {
  if (p->written && thread() == 128) {
    wrote(shared(), 2);
    barrier(0, 0);
  } else if (p->written) {
    barrier(0, 0);
  }
  make_phases(p);
  if (thread() < 128)
    consume(p);
  else if (thread() == 128)
    produce(p, map);
}

enum { ALL = 8 * BOX_BYTES };
#define PROTOCOL(name, arrivals, announced, boxes, ...)                  \
  static void name(void **params) {                                      \
    static const protocol p = {arrivals, announced, boxes, __VA_ARGS__}; \
    run_protocol(&p, map_of(params));                                    \
  }
PROTOCOL(one_arrival_of_each_warp, 4, ALL, 8, .by_all = false)
PROTOCOL(made_for_each_thread, 128, ALL, 8, .by_all = false)
PROTOCOL(made_for_too_few, 2, ALL, 8, .by_all = false)
PROTOCOL(made_for_one_less, 3, ALL, 8, .by_all = false)
PROTOCOL(each_thread_arrives, 4, ALL, 8, .by_all = true)
PROTOCOL(arrives_twice, 4, ALL, 8, .twice = true)
PROTOCOL(announces_too_much, 4, ALL + 16, 8, .by_all = false)
PROTOCOL(announces_too_little, 4, ALL - 16, 8, .by_all = false)
PROTOCOL(copies_too_little, 4, ALL, 7, .by_all = false)
PROTOCOL(is_not_fenced, 4, ALL, 8, .without_fence = true)
PROTOCOL(is_not_met, 4, ALL, 8, .without_barrier = true)
PROTOCOL(waits_for_the_other_parity, 4, ALL, 8, .other_parity = true)
PROTOCOL(writes_what_is_copied_to, 4, ALL, 8, .written = true)

static void arrives_too_often(void **params) {
  (void)params;
  if (thread() == 0) {
    phases(phase_at(0), 1, 1);
    fence_phases();
  }
  barrier(0, 0);
  if (thread() < 2)
    expect(phase_at(0), 16);
}
static void nobody_waits(void **params) {
  (void)params;
  if (thread() == 0) {
    phases(phase_at(0), 1, 1);
    fence_phases();
  }
  barrier(0, 0);
  for (int k = 0; k < 2 && thread() == 0; k++)
    arrive(phase_at(0), 0);
}

/* ---- registers: of three warpgroups, one gives to the two others */

static void set_registers(unsigned first, unsigned less, unsigned more) {
  bool takes = thread() < 256;
  registers(takes, takes ? more : less, first);
}
#define REGISTERS(name, first, less, more) \
  static void name(void **params) {        \
    (void)params;                          \
    set_registers(first, less, more);      \
  }
REGISTERS(sets_what_there_is, 168, 40, 232)
REGISTERS(sets_more_than_there_is, 168, 40, 240)
REGISTERS(begins_with_too_many, 176, 40, 232)
REGISTERS(sets_an_odd_number, 168, 40, 228)
REGISTERS(gives_all_but_a_few, 168, 16, 232)
REGISTERS(gives_more_than_it_has, 168, 176, 232)
REGISTERS(takes_less_than_it_has, 168, 40, 160)
static void a_warp_alone(void **params) {
  (void)params;
  if (thread() < 32)
    registers(0, 40, 168);
}

/* ---- barriers */

static void some_meet(void **params) {
  (void)params;
  if (thread() < 256)
    barrier(1, 256);
  barrier(0, 0);
}
static void count_differently(void **params) {
  (void)params;
  barrier(1, thread() < 128 ? 128 : 384);
}
static void meet_as_half_a_warp(void **params) {
  (void)params;
  if (thread() < 48)
    barrier(1, 48);
}
static void too_few_meet(void **params) {
  (void)params;
  if (thread() < 128)
    barrier(1, 256);
}
static void meet_at_a_number_of_none(void **params) {
  (void)params;
  barrier(16, 0);
}
static void shuffles_without_itself(void **params) {
  uint32_t word[2] = {0};
  (void)params;
  shuffle(0, 1, 32, word, 1, 0xfffffffeU);
}

/* ---- which of them end how; null: well */

#define CASES(X)                                                                          \
  X(fenced, 128, NULL)                                                                    \
  X(not_fenced, 128, "without a fence.proxy.async behind it")                             \
  X(fenced_by_one, 128, "without a fence.proxy.async behind it")                          \
  X(fenced_behind_the_barrier, 128, "fence")                                              \
  X(fenced_too_early, 128, "without a fence.proxy.async behind it")                       \
  X(copied_and_fenced, 128, NULL)                                                         \
  X(copied_after_the_fence, 128, "without a fence.proxy.async behind it")                 \
  X(written_behind_a_barrier, 128, NULL)                                                  \
  X(written_at_once, 128, "has read, of which the thread has not heard")                  \
  X(written_before_it_has_ended, 128, "still reads")                                      \
  X(one_arrival_of_each_warp, 256, NULL)                                                  \
  X(made_for_each_thread, 256, "which has 4 of 128 arrivals")                             \
  X(made_for_too_few, 256, "nobody has waited for the one before")                        \
  X(made_for_one_less, 256, "a product of warp")                                          \
  X(each_thread_arrives, 256, "nobody has waited for the one before")                     \
  X(arrives_twice, 256, "arrives twice in a phase of 4 arrivals")                         \
  X(announces_too_much, 256, "1 of 1 arrivals and 8192 of 8208 bytes")                    \
  X(announces_too_little, 256, "where 7168 of 8176 announced ones")                       \
  X(copies_too_little, 256, "1 of 1 arrivals and 7168 of 8192 bytes")                     \
  X(is_not_fenced, 256, "without a fence.mbarrier_init behind")                           \
  X(is_not_met, 256, "without a barrier behind")                                          \
  X(waits_for_the_other_parity, 256, "arrives at a phase that has all of its 1 arrivals") \
  X(writes_what_is_copied_to, 256, "copies past the threads to shared memory at 0")       \
  X(arrives_too_often, 128, "arrives at a phase that has all of its 1 arrivals")          \
  X(nobody_waits, 128, "nobody has waited for the one before")                            \
  X(sets_what_there_is, 384, NULL)                                                        \
  X(sets_more_than_there_is, 384, "waits for")                                            \
  X(begins_with_too_many, 384, "begin with 176 registers each")                           \
  X(sets_an_odd_number, 384, "sets its registers to 228")                                 \
  X(gives_all_but_a_few, 384, "sets its registers to 16")                                 \
  X(gives_more_than_it_has, 384, "decreases its registers from 168 to 176")               \
  X(takes_less_than_it_has, 384, "increases its registers from 168 to 160")               \
  X(a_warp_alone, 384, "the 128 threads of its warpgroup, of which 32 are there")         \
  X(some_meet, 384, NULL)                                                                 \
  X(count_differently, 384, "meets 384 threads where others meet 128")                    \
  X(meet_as_half_a_warp, 384, "for whole warps")                                          \
  X(too_few_meet, 384, "256 threads at barrier 1, where 128 are")                         \
  X(meet_at_a_number_of_none, 384, "there are 16 barriers")                               \
  X(shuffles_without_itself, 32, "by the mask fffffffe")

#define X(name, threads, text) {#name, (void *)(uintptr_t)name},
static const neo_emulator_kernel kernels[] = {CASES(X)};
#undef X
#define X(name, threads, text) {threads, text},
static const struct {
  unsigned threads;
  const char *text;
} cases[] = {CASES(X)};
#undef X
enum { CASES_N = sizeof cases / sizeof *cases };
static const neo_emulator_code code = {NEO_EMULATOR_MAGIC, CASES_N, kernels};

static cuda_api cuda;

static int open_emulator(void **state) {
  (void)state;
  void *driver = dlopen(NEO_TEST_EMULATOR, RTLD_NOW | RTLD_GLOBAL);
  if (!driver)
    return -1;
#define X(type, name, params) *(void **)&name = dlsym(driver, "neo_gpu_" #name);
  HOOKS(X)
#undef X
#define X(member, name, params) *(void **)&cuda.member = dlsym(driver, #name);
  CUDA_FUNCTIONS(X)
  CUDA_LATER_FUNCTIONS(X)
#undef X
  return 0;
}

/* A box of 8 rows of 64 elements of 2 bytes. */
static void make_map(cuda_map *map) {
  static const uint64_t extent[] = {64, 8}, stride[] = {128};
  static const unsigned box[] = {64, 8}, step[] = {1, 1};
  static _Alignas(16) char tensor[BOX_BYTES];
  assert_int_equal(cuda.map_make(map, CUDA_MAP_BF16, 2, tensor, extent, stride, box, step, 0,
                                 CUDA_MAP_SWIZZLE_128, 0, 0),
                   0);
}

/* Writes the launch's message to `said`. */
static cuda_result launch(int k, char *said, size_t most) {
  static _Alignas(64) cuda_map map;
  cuda_context context;
  cuda_module module;
  cuda_stream stream;
  cuda_function function;
  char path[] = "/tmp/neo-test-XXXXXX";
  int file = mkstemp(path), before = dup(2);
  assert_true(file >= 0 && before >= 0);
  unlink(path);
  make_map(&map);
  assert_int_equal(cuda.context_retain(&context, 0) | cuda.context_push(context), 0);
  assert_int_equal(cuda.module_load(&module, &code) | cuda.stream_create(&stream, 0), 0);
  assert_int_equal(cuda.module_function(&function, module, kernels[k].symbol), 0);
  dup2(file, 2);
  void *params[] = {&map, NULL};
  cuda_result r =
      cuda.launch(function, 1, 1, 1, cases[k].threads, 1, 1, PHASES + 64, stream, params, NULL);
  r = r ? r : cuda.stream_wait(stream);
  dup2(before, 2);
  close(before);
  ssize_t n = pread(file, said, most - 1, 0);
  said[n < 0 ? 0 : n] = 0;
  close(file);
  cuda.stream_destroy(stream);
  cuda.module_unload(module);
  cuda.context_pop(&context);
  cuda.context_release(0);
  return r;
}

static void a_launch_that_breaks_a_rule_ends_and_says_so(void **state) {
  enum { LAUNCH_FAILED = 719 };
  char said[512];
  (void)state;
  for (int k = 0; k < CASES_N; k++) {
    cuda_result r = launch(k, said, sizeof said);
    if (cases[k].text ? r != LAUNCH_FAILED || !strstr(said, cases[k].text)
                      : r || strstr(said, "emulator:"))
      fail_msg("%s: %d, '%s' is not '%s'", kernels[k].symbol, r, said,
               cases[k].text ? cases[k].text : "");
  }
}

static void so_it_does_in_any_order_of_threads(void **state) {
  char said[512], number[8];
  (void)state;
  for (int seed = 1; seed <= 5; seed++) {
    snprintf(number, sizeof number, "%d", seed);
    setenv("NEO_EMULATOR_SEED", number, 1);
    for (int k = 0; k < CASES_N; k++)
      if (!launch(k, said, sizeof said) != !cases[k].text)
        fail_msg("%s, seed %d: '%s'", kernels[k].symbol, seed, said);
  }
  unsetenv("NEO_EMULATOR_SEED");
}

int main(void) {
#if defined(__SANITIZE_THREAD__)
  return 77; /* the stacks of emulated threads are not the thread sanitizer's */
#endif
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_launch_that_breaks_a_rule_ends_and_says_so),
      cmocka_unit_test(so_it_does_in_any_order_of_threads),
  };
  return cmocka_run_group_tests(tests, open_emulator, NULL);
}
