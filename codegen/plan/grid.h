/* Private to the plan: the prices that decide which steps of a GPU become one persistent kernel. */
#pragma once
#include "base/machine.h"
#include "codegen/loop/loop.h"

typedef enum {
#define X(name, launches, meaning) NEO_GRID_##name,
#include "codegen/plan/grid.def"
#undef X
  NEO_GRID_PRICES
} neo_grid_price;

/* Operations of a kernel at these sizes, of all its threads: multiplications, loads, ...; an
 * instruction of a warp counts as the multiplications that it makes. A bound that depends on a
 * variable has its value at the variable's first value. */
double neo_kernel_work(const neo_kernel *k, const int64_t *sizes);
