/* Builds candidates of one group as machine code: shared libraries that hold only kernels, or
 * images for a GPU's driver (machine code where ptxas is installed and no other generation has to
 * run them, else PTX).
 *
 * Forked children do the work, several at a time, each with a part of the candidates in one LLVM
 * module. So several cores compile, the parent's module does not change, and a schedule on which
 * the compiler crashes costs only itself: candidates that a child did not finish are built again
 * one by one. This has to run before any thread exists. */
#pragma once
#include "tools/pipeline/compile.h"

typedef struct {
  neo_compilation *c;
  const neo_group *g;
  const neo_machine *machine; /* as the group may use it */
  const neo_segment
      *segment;             /* the kernel is the recurrence's that has it; null: the group's own */
  const int64_t *numbers;   /* values of run-time sizes, as kernels read them */
  const neo_target *target; /* null: the compilation's */
  const char *folder;       /* folder for the libraries */
  int workers;
  int64_t limit_ms; /* time limit of a batch */
  uint32_t serial;  /* number of the last library */
} neo_builder;

typedef struct {
  neo_schedule schedule;
  bool reference; /* the reference kernel: it adds in any order */
  bool ok;
  char why[96];
  char path[512], symbol[32];
  int64_t units, scratch_bytes;
  int32_t block, block_units, persistent; /* for a GPU; else 0 */
  char maps[640];                         /* as measure.h writes them; "": none */
} neo_candidate;

/* Builds x[0..n) by schedule and `reference`, and sets all other members. */
void neo_build(neo_builder *b, neo_candidate *x, size_t n);
/* Removes the libraries of x[0..n); several may share one. */
void neo_unbuild(const neo_candidate *x, size_t n);
