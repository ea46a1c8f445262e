/* See out_map.h. */
#include "ir/out_map.h"
#include "ir/limits.h"

neo_list neo_out_map_new(neo_module *m, const neo_out_dim *dim, uint32_t n) {
  uint32_t packed[2 * NEO_DEF_AXES];
  assert(n <= NEO_DEF_AXES);
  for (uint32_t k = 0; k < n; k++) {
    packed[2 * k] = (uint32_t)dim[k].stride;
    packed[2 * k + 1] = (uint32_t)dim[k].offset;
  }
  return neo_list_new(m, packed, 2 * (size_t)n);
}

neo_list neo_out_map_slice(neo_module *m, uint32_t rank, uint32_t dim, int32_t offset) {
  neo_out_dim place[NEO_DEF_AXES];
  assert(rank <= NEO_DEF_AXES);
  for (uint32_t k = 0; k < rank; k++)
    place[k] = (neo_out_dim){1, k == dim ? offset : 0};
  return neo_out_map_new(m, place, rank);
}

neo_expr neo_def_out_index(neo_module *m, const neo_def_rec *d, uint32_t k) {
  neo_out_dim p = neo_out_map_at(m, d->out_map, k);
  neo_expr scaled = neo_op2(m, NEO_OP_MUL, neo_axis_ref(m, k), neo_const_i64(m, p.stride));
  return neo_op2(m, NEO_OP_ADD, scaled, neo_const_i64(m, p.offset));
}
