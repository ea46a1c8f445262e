/* Blocks of threads that compute rows of nested reductions (fusion/nested.h).
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_GPU_NESTED_H
#define NEO_CODEGEN_LOWER_GPU_NESTED_H
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_gpu_nested(lowering *l);

#endif
