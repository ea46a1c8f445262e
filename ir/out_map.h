/* Out maps: the positions to which a definition writes its elements. Element x of output axis k is
 * written to position stride*x + offset of dimension k. Only this file knows how a map is
 * stored. */
#pragma once
#include "ir/ir.h"

typedef struct {
  int32_t stride, offset; /* stride > 0 */
} neo_out_dim;

/* The map of dimension `dim`; an empty map is the identity. */
static inline neo_out_dim neo_out_map_at(const neo_module *m, neo_list map, uint32_t dim) {
  if (!map.n)
    return (neo_out_dim){1, 0};
  return (neo_out_dim){(int32_t)neo_list_at(m, map, 2 * dim),
                       (int32_t)neo_list_at(m, map, 2 * dim + 1)};
}
static inline uint32_t neo_out_map_rank(neo_list map) {
  return map.n / 2;
}

/* A map of n dimensions; n is at most NEO_DEF_AXES. */
neo_list neo_out_map_new(neo_module *m, const neo_out_dim *dim, uint32_t n);
/* The identity of `rank` dimensions, except that `dim` begins at `offset`. */
neo_list neo_out_map_slice(neo_module *m, uint32_t rank, uint32_t dim, int32_t offset);

/* stride * AXIS k + offset: the position along dimension k that the definition writes. */
neo_expr neo_def_out_index(neo_module *m, const neo_def_rec *d, uint32_t k);
