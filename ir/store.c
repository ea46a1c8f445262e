/* See store.h. */
#include "ir/store.h"
#include "ir/limits.h"

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
  uint32_t ids[NEO_DEF_AXES], rank = neo_tensor_rank(m, t);
  assert(rank <= NEO_DEF_AXES && rank == neo_tensor_rank(m, in));
  for (uint32_t k = 0; k < rank; k++)
    ids[k] = at[k].i;
  neo_list list = neo_list_new(m, ids, rank);
  neo_tensor_at(m, t)->within = in;
  neo_tensor_at(m, t)->at = list;
}

/* The list of positions ends with that in the row. */
void neo_store_in_rows(neo_module *m, neo_tensor t, neo_tensor in, neo_expr at) {
  uint32_t ids[NEO_DEF_AXES + 1], rank = neo_tensor_rank(m, t);
  assert(rank <= NEO_DEF_AXES && rank + 1 >= neo_tensor_rank(m, in));
  for (uint32_t k = 0; k < rank; k++)
    ids[k] = neo_const_int(m, NEO_I64_T, 0).i;
  ids[rank] = at.i;
  neo_list list = neo_list_new(m, ids, rank + 1);
  neo_tensor_at(m, t)->within = in;
  neo_tensor_at(m, t)->at = list;
}

neo_expr neo_store_in_row(const neo_module *m, neo_tensor t, uint32_t *n_outer) {
  const neo_tensor_rec *r = neo_tensor_at(m, t);
  uint32_t rank = neo_tensor_rank(m, t);
  bool rows = r->within.i && r->at.n > rank;
  *n_outer = rows ? neo_tensor_rank(m, r->within) - 1 : rank;
  return rows ? neo_list_expr(m, r->at, rank) : (neo_expr){0};
}
