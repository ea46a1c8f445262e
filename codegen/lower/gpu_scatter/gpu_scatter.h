/* Integer sums by keys, whose threads take terms (schedule/gpu_scatter/gpu_scatter.h). Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_GPU_SCATTER_H
#define NEO_CODEGEN_LOWER_GPU_SCATTER_H
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_gpu_scatter(lowering *l);

#endif
