/* Rows of machine.def. */
#include "base/machine.h"
#include "base/str.h"

#define KIB 1024.0
#define MIB (1024 * KIB)
#define GIGA 1e9

/* Costs in cycles that makers' tables do not give. They were measured on cores with two
 * multiply-adds of 32 bytes a cycle and caches of 32 and 512 KiB, and are taken for all cores. */
#define MEMORY_CYCLES                                                               \
  .near = {0.15, 0.5, 3.5, 2.5}, .beyond = {0.5, 2.5, 8, 6}, .page = 80, .line = 4, \
  .partial = {{1.5, 2.5}, {0.8, 5}, {4, 9}}
#define LOOP_CYCLES .tile = 20, .part = 4, .block = 60, .copied = 1000, .unit = 200, .region = 1500
#define PAIRS_CYCLES .pairs_tile = 16, .dots = 2, .dots_latency = 6

/* The bytes whose transfer time fusion spends to save one byte in a GPU's memory, which is
 * scarce. */
#define ROOM 16
/* The share of a GPU's peak that kernels reach: of additions, since functions and addresses take
 * the same lanes; and of multiply-adds in nested sums. */
#define OF_ADDITIONS 0.45
#define OF_PRODUCTS 0.67
/* The bandwidth of one multiprocessor alone, as a multiple of its share: a third of them keep
 * memory busy. */
#define ALONE 3

static const neo_machine rows[] = {
#define CPU(text, set, bytes, regs, has_fma, ghz, n, unit, cycles, issued, line, l1, l2, work, \
            first, near_first, near_8m, far)                                                   \
  {.name = text,                                                                               \
   .isa = NEO_ISA_##set,                                                                       \
   .hz = (ghz)*GIGA,                                                                           \
   .vector_bytes = bytes,                                                                      \
   .vector_regs = regs,                                                                        \
   .fma = has_fma,                                                                             \
   .l1_bytes = (int64_t)(l1) << 10,                                                            \
   .l2_bytes = (int64_t)(l2) << 10,                                                            \
   .core = {.units = n,                                                                        \
            .unit_bytes = unit,                                                                \
            .latency = cycles,                                                                 \
            .issue = issued,                                                                   \
            MEMORY_CYCLES,                                                                     \
            LOOP_CYCLES,                                                                       \
            PAIRS_CYCLES},                                                                     \
   .profile = {                                                                                \
       .workers = 2,                                                                           \
       .alone = 1,                                                                             \
       .launch_s = 0.5e-6,                                                                     \
       .work_per_s = (work)*GIGA,                                                              \
       .line_bytes = line,                                                                     \
       .tf32 = 1,                                                                              \
       .halves = 1,                                                                            \
       .level = {{(first)*KIB, (near_first)*GIGA}, {8 * MIB, (near_8m)*GIGA}, {0, (far)*GIGA}}}},
#define GPU(text, n, ghz, fmas, of_tf32, of_halves, resident, shared_kib, line, l2_mib, cache, \
            memory, launch_us)                                                                 \
  {.name = text,                                                                               \
   .isa = NEO_ISA_PTX,                                                                         \
   .hz = (ghz)*GIGA,                                                                           \
   .vector_bytes = 16,                                                                         \
   .vector_regs = 255,                                                                         \
   .fma = true,                                                                                \
   .l1_bytes = 64 << 10,                                                                       \
   .l2_bytes = (int64_t)(l2_mib) << 20,                                                        \
   .sm = {.threads = resident,                                                                 \
          .registers = 64 * KIB,                                                               \
          .shared_bytes = (shared_kib)*KIB,                                                    \
          .lanes = fmas,                                                                       \
          .tf32 = of_tf32,                                                                     \
          .halves = of_halves,                                                                 \
          .wait = 40,                                                                          \
          .launch = 300,                                                                       \
          .block = 2000,                                                                       \
          .next = 150,                                                                         \
          .stored = 16},                                                                       \
   .profile = {.workers = n,                                                                   \
               .threads = (resident) / 2,                                                      \
               .alone = ALONE,                                                                 \
               .launch_s = (launch_us)*1e-6,                                                   \
               .work_per_s = (ghz)*GIGA * (fmas)*OF_ADDITIONS,                                 \
               .products_per_s = (ghz)*GIGA * (fmas)*OF_PRODUCTS,                              \
               .tf32 = (of_tf32) > 0 ? (of_tf32) : 1,                                          \
               .halves = of_halves,                                                            \
               .room_s = ROOM / ((memory)*GIGA),                                               \
               .line_bytes = line,                                                             \
               .level = {{256 * KIB, (cache)*GIGA / (n)},                                      \
                         {(l2_mib)*MIB / 2, (cache)*GIGA / (n)},                               \
                         {0, (memory)*GIGA / (n)}}},                                           \
   .gpu = true},
#include "base/machine.def"
#undef CPU
#undef GPU
};
enum { N_ROWS = sizeof rows / sizeof *rows };

const neo_machine *neo_machine_at(size_t k) {
  return k < N_ROWS ? &rows[k] : NULL;
}

const neo_machine *neo_machine_named(const char *name) {
  for (size_t k = 0; k < N_ROWS; k++)
    if (neo_streq(rows[k].name, name))
      return &rows[k];
  return NULL;
}

const neo_profile *neo_profile_or_usual(const neo_profile *p) {
  return p ? p : &neo_machine_named("x86-64-v3")->profile;
}

double neo_profile_traffic(const neo_profile *p, double bytes, double whole) {
  int k = 0;
  while (k + 1 < NEO_MACHINE_CACHES && whole > p->level[k].bytes)
    k++;
  return bytes / p->level[k].bytes_per_s;
}

double neo_machine_busy_threads(const neo_machine *m) {
  return m->profile.workers * m->profile.threads;
}
