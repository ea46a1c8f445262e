/* Sizes as numbers. */
#include "ir/interp.h"
#include "tools/pipeline/compile.h"
#include <assert.h>

static int64_t size_of(const neo_module *m, uint32_t size, const int64_t *sizes) {
  const neo_size_rec *r = neo_size_at(m, (neo_size){size});
  return r->kind == NEO_SIZE_RUNTIME ? sizes[size] : neo_size_value(m, r->value, sizes);
}

int64_t neo_size_value(const neo_module *m, neo_expr e, const int64_t *sizes) {
  const neo_node *n = neo_expr_node(m, e);
  neo_value x[3] = {{.i = 0}};
  if (neo_expr_is_int(m, e, &x[0].i))
    return x[0].i;
  if (n->op == NEO_OP_SIZE)
    return size_of(m, n->attr, sizes);
  assert(n->arg.n > 0 && n->arg.n <= 3 && "an extent is made of constants, sizes and operators");
  for (uint32_t k = 0; k < n->arg.n; k++)
    x[k].i = neo_size_value(m, neo_expr_arg(m, e, k), sizes);
  neo_type from = neo_expr_type(m, neo_expr_arg(m, e, n->arg.n - 1));
  if (n->op == NEO_OP_CAST)
    return neo_value_cast((neo_type)n->type, from, x[0]).i;
  return neo_value_op((neo_op)n->op, (neo_type)n->type, from, x).i;
}

int64_t neo_tensor_elements_at(const neo_module *m, neo_tensor t, const int64_t *sizes,
                               int64_t extent[16]) {
  uint32_t rank = neo_tensor_rank(m, t);
  int64_t n = 1;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t x = neo_size_value(m, neo_tensor_extent(m, t, d), sizes);
    if (extent)
      extent[d] = x < 0 ? 0 : x;
    n *= x < 0 ? 0 : x;
  }
  return n;
}
