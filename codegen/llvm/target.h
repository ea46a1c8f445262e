/* For tools/pipeline and tools/neoc: the target of code generation, a processor or a GPU, with its
 * features and its machine row. */
#pragma once
#include "base/arena.h"
#include "base/gpu.h"
#include "base/machine.h"
#include "base/status.h"
#include <stdbool.h>
#include <stdint.h>

/* The way a target multiplies pairs of bf16 (codegen/loop/tile.h). AMX: tiles by instructions of
 * x86. DOTS: vectors by VDPBF16PS, on processors where that is quicker than f32. PLAIN and
 * PLAIN_DOTS: the same as plain code, for tests of everything else. */
typedef enum {
  NEO_MATRIX_NONE,
  NEO_MATRIX_AMX,
  NEO_MATRIX_PLAIN,
  NEO_MATRIX_DOTS,
  NEO_MATRIX_PLAIN_DOTS
} neo_matrix;

typedef struct neo_target {
  const char *triple;      /* "x86_64-pc-linux-gnu", "aarch64-linux-gnu" */
  const char *cpu;         /* LLVM's name of the level: no instruction beyond it is chosen */
  const char *tune;        /* the processor whose costs count; null: the level's */
  const char *level;       /* level of the CPU's architecture: "x86-64-v3", "generic" */
  const char *features;    /* LLVM's string "+avx2,+fma,..." */
  const char *rt_features; /* for neo_rt_model.features: "avx2,fma" */
  neo_machine machine;     /* a row of base/machine.def, or of a profile */
  neo_isa isa;
  const char *profile;   /* hash of the profile; null: a shipped row */
  uint32_t vector_bytes; /* 16, 32, 64; of a GPU 16: the widest access of a thread */
  uint32_t vector_regs;  /* 16 (AVX2), 32 (AVX-512, aarch64) */
  bool fma;
  int64_t l1_bytes, l2_bytes; /* caches of a typical machine: same input, same bytes out */
  bool is_host_arch;
  uint32_t sm;          /* level of an NVIDIA GPU: 75, 80, 90; 0: a CPU */
  const char *device;   /* a GPU for ptxas: "sm_120" of level "sm_90" */
  int64_t shared_bytes; /* most shared memory that a GPU's block can request */
  uint32_t gpu_has;     /* features of a GPU's level (base/gpu.h) */
  bool sm_own;          /* the level has instructions of this generation alone ("sm_90a") */
  bool split;    /* products of f32 may be three of tf32; records of schedules depend on it */
  bool emulated; /* kernels of a GPU are code for this machine's processor, for tests */
  bool own_math; /* our functions of f64 even with a libm, for tests */
  neo_matrix matrix;
  const char *
      /* features that kernels with the matrix unit need beyond rt_features; "": none */
      matrix_needs;
} neo_target;

/* Replaces the target's row by a profile of the machine. False: the profile's machine has other
 * instructions than the target; *why gets a message. */
bool neo_target_take(neo_arena *a, neo_target *t, const neo_machine *profile, const char **why);

/* The machine that schedules are made for: the row, with the features of the target. */
neo_machine neo_target_machine(const neo_target *t);

/* The value of a schedule's `matrix` that the target supports: NEO_PAIRS_TILES or NEO_PAIRS_DOTS
 * (schedule/schedule.h); 0: neither. */
int neo_target_pairs(const neo_target *t);

/* Do its kernels begin with a wait for earlier kernels (programmatic dependent launch,
 * llvm/nvptx/kernel.c)? */
bool neo_target_waits(const neo_target *t);

/* Are the kernels of the target that neo_target_choose finds by this name (null: a CPU) PTX? */
bool neo_target_has_ptx(const char *target);

/* Finds a target by its names. mcpu: null or "native": this machine's features; "x86-64-v2",
 * "x86-64-v3", "x86-64-v4", "generic" (aarch64 neon), or an LLVM CPU name that llvm/core/target.c
 * lists. target: null or "cpu": this machine's architecture; "x86_64", "aarch64"; "nvptx:sm_90a",
 * or another name of base/gpu.def, emulated with "+host" after it. "+tiles" after a level of x86_64
 * gives it a matrix unit in plain code, "+dots" dots of vectors. NEO_UNSUPPORTED with a message in
 * *why. */
neo_status neo_target_choose(neo_arena *a, const char *target, const char *mcpu, neo_target *out,
                             const char **why) NEO_MUST_CHECK;
