/* Blocks of threads that compute a contraction's tile.
 *
 * Private to codegen/lower. */
#ifndef NEO_CODEGEN_LOWER_GPU_TILE_H
#define NEO_CODEGEN_LOWER_GPU_TILE_H
#include "codegen/lower/common/scope.h"

/* The whole kernel. */
void neo_lower_gpu_tile(lowering *l);

#endif
