/* Machines as the compiler knows them: machine.def has a row for each processor and each generation
 * of GPUs. Passes, fusion, schedules and code generation read all numbers of a machine here and
 * have none of their own.
 *
 * Times are in seconds; instructions take cycles of the row's own clock, as vendors count them. A
 * row describes a typical machine of its name: the same row gives the same code.
 * `neoc doctor --measure` fits a row to the machine at hand, and --profile=FILE uses it
 * (machine_text.c). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum { NEO_ISA_SSE4, NEO_ISA_AVX2, NEO_ISA_AVX512, NEO_ISA_NEON, NEO_ISA_PTX } neo_isa;

enum { NEO_MACHINE_CACHES = 3, NEO_MACHINE_NAME = 24 };

/* The distance of data that different threads write, in the programs of this project: at least a
 * cache line of each processor in machine.def. */
enum { NEO_PADDING_BYTES = 64 };

/* The way in which a cache line of a tensor arrives: in one stream, in streams that begin anew with
 * each tile, or alone. THROUGHPUT is the time that must pass before the next line can arrive, even
 * if its latency is hidden behind other work. */
enum { NEO_LINE_STREAM, NEO_LINE_STREAMS, NEO_LINE_ALONE, NEO_LINE_THROUGHPUT, NEO_LINE_WAYS };

/* A core of a processor, in cycles. */
typedef struct {
  double units, unit_bytes, latency; /* multiply-adds begun per cycle; bytes of each; cycles until
                                        its result */
  double issue;                      /* operations begun per cycle */
  double near[NEO_LINE_WAYS];        /* a line from the second-level cache, by the way it arrives */
  double beyond[NEO_LINE_WAYS];      /* a line from beyond that cache */
  double page;                       /* the first access to a page that no prefetcher foresees */
  double line;                       /* writing a line alone, not in a stream */
  double partial[NEO_MACHINE_CACHES]
                [2];                /* a vector of sums that is kept and comes again: in streams,
                                         else; in the first cache, in the second, beyond it */
  double tile, part, block, copied; /* beginning a register tile, one that goes on with sums, a
                                        block of them, a block whose operands are copied */
  double unit, region;              /* beginning a unit of work; bringing workers together */
  double pairs_tile;                /* a product of two tiles of the matrix unit */
  double dots, dots_latency;        /* dots of pairs of bf16 begun per cycle; cycles until one is
                                       done */
} neo_core;

/* A multiprocessor of a GPU, in cycles, and what it holds. */
typedef struct {
  double threads, registers, shared_bytes; /* numbers that can be resident at a time */
  double lanes;                            /* multiply-adds of f32 per cycle */
  double tf32, halves; /* products by warps, as multiples of that: of tf32, of bf16 and f16; 0: it
                          has none */
  double wait;         /* the least wait for memory in a step of a sum */
  double launch;       /* starting a kernel */
  double block, next;  /* starting a block of warpgroups; the next tile of a persistent block */
  double stored;       /* results stored per cycle */
} neo_multiprocessor;

/* The prices of fusion, in seconds of one worker, which is a core or a multiprocessor. */
typedef struct neo_profile {
  uint32_t workers; /* workers that a kernel is divided among */
  double threads;   /* threads that keep a worker busy; 0: one does */
  double alone; /* bandwidth of a worker while all others are idle, as a multiple of its share */
  double launch_s;
  double work_per_s; /* additions of one lane (ir/cost.def) */
  double
      products_per_s;  /* multiplications, by FMA, of sums of products that may be nested; 0: there
                            are no kernels for that */
  double tf32, halves; /* products by matrix units, as multiples of that */
  double room_s;       /* the gain from one byte less of memory */
  int64_t line_bytes;  /* a cache line */
  struct {
    double bytes; /* the largest tensor of this level; the last level takes all others */
    double bytes_per_s;
  } level[NEO_MACHINE_CACHES];
} neo_profile;

typedef struct neo_machine {
  char name[NEO_MACHINE_NAME]; /* "x86-64-v3", "znver5", "sm_90a" */
  neo_isa isa;
  double hz;
  uint32_t vector_bytes, vector_regs;
  bool fma;
  int64_t l1_bytes, l2_bytes;
  neo_core core;
  neo_multiprocessor sm;
  neo_profile profile;
  /* fields that the target of a compilation sets */
  int matrix;           /* products of pairs of bf16 (schedule/schedule.h); 0: none */
  uint32_t threads;     /* threads that kernels run on; 0: not known. Only prices depend on it */
  bool gpu;             /* units of work are threads */
  uint32_t warps;       /* generation of its warps' products (codegen/loop/warp.h); 0: none */
  bool warpgroups;      /* and groups of four of them (codegen/loop/wgmma.h) */
  bool async;           /* threads copy asynchronously into shared memory */
  int64_t shared_bytes; /* shared memory that a block may ask for */
  bool few_rows; /* kernels run for one block of rows after the other, and most blocks have few
                    rows */
} neo_machine;

/* The row of this name; null: there is none. */
const neo_machine *neo_machine_named(const char *name);
/* The k-th row; null: there are fewer. */
const neo_machine *neo_machine_at(size_t k);

/* The profile itself; of null that of x86-64-v3. */
const neo_profile *neo_profile_or_usual(const neo_profile *p);
/* Seconds for one worker to read or write `bytes` of a tensor of `whole` bytes. */
double neo_profile_traffic(const neo_profile *p, double bytes, double whole);
/* Threads that keep the whole machine busy. */
double neo_machine_busy_threads(const neo_machine *m);
