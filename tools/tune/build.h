/* Candidates of one group as machine code: shared libraries that hold kernels and nothing else, or
 * images for a GPU's driver (machine code where ptxas is installed and no other generation could
 * run them, else PTX).
 *
 * The work is done in forked children, several at a time, each with a part of the candidates in one
 * LLVM module. So both cores compile, the module of the parent stays as it is, and a schedule on
 * which the compiler fails costs that schedule only: what a child did not finish is built again one
 * by one. Before any thread exists. */
#ifndef NEO_TOOLS_TUNE_BUILD_H
#define NEO_TOOLS_TUNE_BUILD_H
#include "tools/pipeline/compile.h"

typedef struct {
  neo_compilation *c;
  const neo_group *g;
  const int64_t *sizes;     /* [size id]: values of run-time sizes */
  const neo_target *target; /* null: the compilation's */
  const char *folder;       /* for the libraries */
  int workers;
  int64_t limit_ms; /* for a batch */
  uint32_t serial;  /* of the last library */
} neo_builder;

typedef struct {
  neo_schedule schedule;
  bool ok;
  char why[96];
  char path[512], symbol[32];
  int64_t units, scratch_bytes;
  int32_t block, block_units, persistent; /* of a GPU; else 0 */
  char maps[640];                         /* as measure.h writes them; "": none */
} neo_candidate;

/* Builds x[0..n) by their schedules; sets everything else. */
void neo_build(neo_builder *b, neo_candidate *x, size_t n);
/* Removes the libraries of x[0..n); several may share one. */
void neo_unbuild(const neo_candidate *x, size_t n);

#endif
