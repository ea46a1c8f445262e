/* Integer sums by keys, whose threads take terms (schedule/gpu_scatter/gpu_scatter.h). Private to
 * codegen/lower. */
#pragma once
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_gpu_scatter(lowering *l);
