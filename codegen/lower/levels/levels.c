/* See levels.h. */
#include "codegen/lower/levels/parts.h"

neo_status neo_lower_levels(neo_module *m, const neo_group *g, bool gpu, neo_arena *a,
                            neo_kernels *out, neo_str *why) {
  neo_status status = NEO_OK;
  assert(!g->when.n && "the order of a graph is needed always");
  (gpu ? level_kernels_gpu : level_kernels_cpu)(m, g, a, out);
  for (size_t k = 0; k < out->n && !status; k++)
    status = neo_kernel_verify(out->at[k], why);
  return status;
}
