/* How many kernels of a compilation have what only some have: proofs that ran, but never met it,
 * prove nothing of it. */
#ifndef NEO_TESTS_GPU_COUNT_H
#define NEO_TESTS_GPU_COUNT_H
#include "tests/pipeline/plan_world.h"

typedef enum {
#define X(name, text, ptx, meaning) GPU_COUNT_##name,
#include "tests/pipeline/gpu_count.def"
#undef X
  GPU_COUNTS
} gpu_count_what;

typedef struct {
  uint32_t at[GPU_COUNTS];
} gpu_counts;

const char *gpu_count_text(gpu_count_what k);
/* By the loop IR that became the kernels of a world, on a device of so many multiprocessors: one
 * that is persistent counts if some block of it takes two tiles. False: c.why names a kernel that
 * lacks what its schedule asks for. */
bool gpu_count_kernels(gpu_counts *all, plan_world *w, int processors);
/* After neo_emit_device: by the instructions of each kernel in PTX, which have to be those of its
 * loop IR. False: c->why says that ptxas has not been there, or names a kernel that is not so. */
bool gpu_count_images(gpu_counts *all, neo_compilation *c);
/* Prints "counted mma=12 wgmma=8 ..." to stderr, for tools/gpu_proof. */
void gpu_counts_tell(const gpu_counts *all);

#endif
