/* Blocks of threads that compute a contraction's tile.
 *
 *   tile.c       the kernel; with FMA, its sum
 *   warp.c       its sum by warps
 *   warpgroup.c  its sum by warpgroups
 *   units.c      the tile of a unit
 *   copy.c       operands: the elements that each thread copies
 *   pipeline.c   stages that threads fill; tma.c: stages of boxes; producer.c: one thread issues
 *                the boxes
 *   fma.c        products by threads; wgmma.c: by warpgroups (gpu_block/fragments.c: by warps)
 *   epilogue.c   the stages that store
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_gpu_tile(lowering *l);
