/* Blocks of threads at points of the shared axes: what lower/gpu_rows/rows.c and lower/gpu_rows/join.c share.
 * Private to codegen/lower/gpu_rows. */
#ifndef NEO_CODEGEN_LOWER_GPU_ROWS_ROWS_H
#define NEO_CODEGEN_LOWER_GPU_ROWS_ROWS_H
#include "codegen/loop/warp.h"
#include "codegen/lower/common/scope.h"

typedef struct {
  lowering *l;
  int64_t threads, lanes, n; /* n: points of a block, or groups of `wide` points */
  bool across;
  int64_t width;     /* elements that a thread has side by side: */
  bool lanes_shared; /* along the last shared axis; else along own ones */
  int64_t unroll;
  const neo_lx *unit, *total; /* points or groups in all */
  uint32_t sum[MAX_ACCS];     /* register of an accumulator, of threads */
  uint32_t sums[MAX_ACCS];    /* and its buffer, where warps have to join theirs */
  /* in the loop of threads at hand */
  const neo_lx *thread, *lane;
} rows_kernel;

/* Threads between two lanes of a point. */
static inline int64_t neo_gpu_rows_stride(const rows_kernel *p) {
  return p->across ? p->n : 1;
}
neo_block *neo_gpu_rows_open_threads(rows_kernel *p, neo_block *in);

/* ---- lower/gpu_rows/join.c: lanes whose parts are joined without shared memory */
int64_t neo_gpu_rows_lanes_in_warp(const rows_kernel *p);
/* Parts of the stage's sums, in its registers, become sums: in those of all lanes, or of lane 0
 * alone. */
void neo_gpu_rows_join(rows_kernel *p, neo_block *in, const neo_stage *s, bool all);
/* Lane 0 gives its sums to the others. */
void neo_gpu_rows_broadcast(rows_kernel *p, neo_block *in, const neo_stage *s);

#endif
