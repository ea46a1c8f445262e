/* Blocks of threads that compute rows of nested reductions (fusion/nested.h).
 *
 *   nested.c    the kernel: dimensions of a block, units; an outer sum that is a product with
 *               values of inner sums
 *   rows.c      outer sums that reduce rows
 *   steps.c     blocks of the outer sums' steps, those that rows need, the inner sums at each
 *   warp.c      products by warps; operands.c: layouts of their operands; fma.c: by threads
 *   copy.c      copies of operands to shared memory; pipeline.c: in stages
 *   block.c     axes and points of a thread
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_gpu_nested(lowering *l);
