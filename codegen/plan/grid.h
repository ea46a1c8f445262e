/* Private to the plan: what decides which steps of a GPU become one persistent kernel. */
#pragma once
#include "base/machine.h"
#include "codegen/loop/loop.h"

typedef enum {
#define X(name, launches, meaning) NEO_GRID_##name,
#include "codegen/plan/grid.def"
#undef X
  NEO_GRID_PRICES
} neo_grid_price;
double neo_grid_seconds(const neo_machine *gpu, neo_grid_price of);

/* Operations of a kernel at these sizes, of all its threads: a multiplication, a load, an
 * instruction of a warp counts as what its threads have of it. A bound that depends on a variable
 * is taken at the variable's beginning. */
double neo_kernel_work(const neo_kernel *k, const int64_t *sizes);
