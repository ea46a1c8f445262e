/* Lookup of edge lists, for vertex functions and for reducers in them. */
#include "frontend/sema/vertices.h"

neo_edge_list *neo_edges_of(const neo_inst *in, neo_expr extent, uint32_t *axis) {
  neo_fe *fe = in->fe;
  for (size_t g = 0; g < fe->graphs.n; g++)
    for (*axis = 0; *axis < in->n_ambient; ++*axis)
      for (uint32_t k = 0; k < fe->graphs.at[g]->n_lists; k++)
        if (in->ambient[*axis].hi.i == fe->graphs.at[g]->vertices.i &&
            neo_size_equal(fe, fe->graphs.at[g]->list[k].edges, extent))
          return &fe->graphs.at[g]->list[k];
  return NULL;
}

neo_expr neo_edges_begin(neo_module *m, const neo_edge_list *x, uint32_t axis, int64_t more) {
  neo_expr at = neo_op2(m, NEO_OP_ADD, neo_axis_ref(m, axis), neo_const_i64(m, more));
  return neo_cast(m, NEO_I64_T, neo_load(m, x->begin, &at, 1, neo_tensor_at(m, x->begin)->span));
}

neo_expr neo_edges_hold(neo_module *m, const neo_edge_list *x, neo_expr edge, uint32_t owner,
                        uint32_t vertex) {
  neo_expr child = neo_load(m, x->child, &edge, 1, neo_tensor_at(m, x->child)->span);
  child = neo_cast(m, NEO_I64_T, child);
  neo_expr earlier = neo_op2(m, NEO_OP_LT, child, neo_axis_ref(m, owner));
  if (owner == vertex)
    return earlier;
  return neo_op2(m, NEO_OP_AND, earlier, neo_op2(m, NEO_OP_EQ, child, neo_axis_ref(m, vertex)));
}

const struct neo_vertex *neo_vertex_around(const neo_inst *in) {
  while (in && !in->vertex)
    in = in->caller;
  return in ? in->vertex : NULL;
}

bool neo_vertex_has_pairs(const neo_inst *in, const neo_expr *extent, uint32_t n) {
  uint32_t axis;
  bool vertices = false, edges = false;
  for (uint32_t k = 0; k < n; k++)
    for (uint32_t a = 0; a < in->n_ambient; a++)
      vertices = vertices || extent[k].i == in->ambient[a].hi.i;
  for (uint32_t k = 0; k < n && vertices && in->fe->graphs.n; k++)
    edges = edges || neo_edges_of(in, extent[k], &axis);
  return edges;
}

bool neo_vertex_is_list(const neo_inst *in, neo_expr extent) {
  uint32_t axis;
  return neo_edges_of(in, extent, &axis) != NULL;
}
