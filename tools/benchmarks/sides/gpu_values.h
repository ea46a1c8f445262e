/* Sampled values (gpu_samples.h) of one call of an entry, to a file of tensors:
 *
 *   NAME                    what the entry returned; of a training also each parameter and state
 *                           after the step
 *   NAME before             of a training: the same before the step
 *   NAME want, NAME bound   with a reference (gpu_reference.h): f64, and the bound of its error */
#ifndef NEO_TOOLS_GPU_VALUES_H
#define NEO_TOOLS_GPU_VALUES_H
#include "tools/benchmarks/sides/gpu_side.h"

typedef struct {
  const char *reference; /* null: none */
  int64_t most;          /* elements of a tensor; with a reference as many as take seconds */
} gpu_values_how;

/* Runs the entry once and writes its values to the file. Restores the parameters after a training
 * step. */
void gpu_values_write(gpu_side *s, const char *path, gpu_values_how how);
#endif
