/* See store.h. */
#include "ir/store.h"

enum { MOST_RANK = 64 };

neo_tensor neo_tensor_store(const neo_module *m, neo_tensor t) {
  while (neo_tensor_at(m, t)->within.i)
    t = neo_tensor_at(m, t)->within;
  return t;
}

neo_expr neo_store_index(neo_module *m, neo_tensor t, uint32_t dim, neo_expr index) {
  for (; neo_tensor_at(m, t)->within.i; t = neo_tensor_at(m, t)->within)
    index = neo_op2(m, NEO_OP_ADD, index, neo_list_expr(m, neo_tensor_at(m, t)->at, dim));
  return index;
}

void neo_store_within(neo_module *m, neo_tensor t, neo_tensor in, const neo_expr *at) {
  uint32_t ids[MOST_RANK], rank = neo_tensor_rank(m, t);
  assert(rank <= MOST_RANK && rank == neo_tensor_rank(m, in));
  for (uint32_t k = 0; k < rank; k++)
    ids[k] = at[k].i;
  neo_list list = neo_list_new(m, ids, rank);
  neo_tensor_at(m, t)->within = in;
  neo_tensor_at(m, t)->at = list;
}
