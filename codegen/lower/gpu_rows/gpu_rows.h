/* Row reductions: blocks of threads at points of the shared axes, which divide the steps of each.
 *
 *   rows.c  the kernel: points, steps, stages
 *   join.c  reduction of threads' partial sums
 *
 * Private to codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_gpu_rows(lowering *l);
