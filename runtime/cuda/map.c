/* map.c: tensor maps, for kernels that copy boxes of tensors by the copy engine of sm_90 (TMA).
 * They are made for each launch, or node of a graph, as addresses and sizes of tensors are a
 * call's. */
#include "runtime/cuda/cuda.h"

cuda_result neo_rti_cuda_map(const cuda_api *api, const neo_rt_map *m, const int64_t *extent,
                             void *from, cuda_map *out) {
  uint64_t n[NEO_RT_MAP_RANK], stride[NEO_RT_MAP_RANK];
  unsigned box[NEO_RT_MAP_RANK], step[NEO_RT_MAP_RANK];
  _Alignas(64) cuda_map made;
  if (!api->map_make)
    return CUDA_NOT_SUPPORTED;
  for (int d = 0; d < m->rank; d++) {
    n[d] = extent[d] > 0 ? (uint64_t)extent[d] : 1; /* no box of an empty tensor is copied */
    box[d] = (unsigned)m->box[d];
    step[d] = 1;
    if (d)
      stride[d - 1] = (uint64_t)m->stride_bytes[d];
  }
  cuda_result r =
      api->map_make(&made, m->type == NEO_RT_F16 ? CUDA_MAP_F16 : CUDA_MAP_BF16, m->rank, from, n,
                    stride, box, step, 0, CUDA_MAP_SWIZZLE_128, CUDA_MAP_L2_256, 0);
  if (!r)
    *out = made;
  return r;
}

cuda_result neo_rti_cuda_maps(neo_rt_ctx *c, int32_t step) {
  const neo_rt_model *m = c->model;
  const neo_rt_step *s = &m->steps[step];
  const neo_rt_kernel *k = &m->kernels[s->arg];
  cuda_result r = 0;
  for (int32_t i = 0; !r && i < k->n_maps; i++) {
    const neo_rt_map *x = &m->maps[k->first_map + i];
    int64_t extent[NEO_RT_MAP_RANK];
    for (int d = 0; d < x->rank; d++)
      extent[d] = neo_rt_eval(m, x->extent[d], c->sizes);
    r = neo_rti_cuda_map(&cuda_of(c)->api, x, extent, c->ptr[s->first + x->arg],
                         &cuda_of(c)->map[i]);
  }
  return r;
}
