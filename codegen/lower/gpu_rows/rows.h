/* Blocks of threads at points of the shared axes: the state of lower/gpu_rows/rows.c, join.c and
 * threads.c. Private to codegen/lower/gpu_rows. */
#pragma once
#include "codegen/loop/warp.h"
#include "codegen/lower/common/scope.h"

typedef struct {
  lowering *l;
  int64_t threads, lanes, n; /* n: points of a block, or groups of `width` points */
  bool across;
  int64_t width;     /* contiguous elements of a thread: */
  bool lanes_shared; /* along the last shared axis; otherwise along own axes */
  int64_t unroll;
  neo_expr needed;            /* points for which it does not hold are not computed; 0: all are */
  neo_expr summed;            /* the sums of those for which it does not hold are not; 0: all are */
  const neo_lx *unit, *total; /* total: number of points or groups in all */
  uint32_t sum[MAX_ACCS];     /* an accumulator's register in each thread */
  uint32_t sums[MAX_ACCS];    /* its buffer in shared memory, if several warps have parts of it */
  /* in the current loop of threads */
  const neo_lx *thread, *lane;
} rows_kernel;

/* The stride between two lanes of a point, in threads. */
static inline int64_t neo_gpu_rows_stride(const rows_kernel *p) {
  return p->across ? p->n : 1;
}
neo_block *neo_gpu_rows_open_threads(rows_kernel *p, neo_block *in);

/* ---- lower/gpu_rows/join.c */
/* The number of lanes of a point in a warp, which need no shared memory. */
int64_t neo_gpu_rows_lanes_in_warp(const rows_kernel *p);
/* Reduces the stage's partial sums over the lanes. The sums are then in the registers of all lanes,
 * or of lane 0 alone. */
void neo_gpu_rows_join(rows_kernel *p, neo_block *in, const neo_stage *s, bool all);
/* Broadcasts the sums of lane 0 to the other lanes. */
void neo_gpu_rows_broadcast(rows_kernel *p, neo_block *in, const neo_stage *s);
