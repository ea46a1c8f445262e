/* Sizes as numbers. */
#include "tools/pipeline/compile.h"
#include <assert.h>

static int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0)
    return 0;
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t size_of(const neo_module *m, uint32_t size, const int64_t *sizes) {
  const neo_size_rec *r = neo_size_at(m, (neo_size){size});
  return r->kind == NEO_SIZE_RUNTIME ? sizes[size] : neo_size_value(m, r->value, sizes);
}

int64_t neo_size_value(const neo_module *m, neo_expr e, const int64_t *sizes) {
  const neo_node *n = neo_expr_node(m, e);
  int64_t x = 0, y = 0;
  if (neo_expr_is_int(m, e, &x))
    return x;
  if (n->op == NEO_OP_SIZE)
    return size_of(m, n->attr, sizes);
  if (n->arg.n > 0)
    x = neo_size_value(m, neo_expr_arg(m, e, 0), sizes);
  if (n->arg.n > 1)
    y = neo_size_value(m, neo_expr_arg(m, e, 1), sizes);
  switch (n->op) {
  case NEO_OP_ADD:
    return x + y;
  case NEO_OP_SUB:
    return x - y;
  case NEO_OP_MUL:
    return x * y;
  case NEO_OP_DIV:
    return floor_div(x, y);
  case NEO_OP_MOD:
    return x - y * floor_div(x, y);
  case NEO_OP_MIN:
    return x < y ? x : y;
  case NEO_OP_MAX:
    return x > y ? x : y;
  case NEO_OP_NEG:
    return -x;
  default:
    assert(n->op == NEO_OP_ADD && "an extent is made of constants, sizes, + - * / % min max");
    return 0;
  }
}

int64_t neo_tensor_elements_at(const neo_module *m, neo_tensor t, const int64_t *sizes,
                               int64_t extent[16]) {
  uint32_t rank = neo_tensor_rank(m, t);
  int64_t n = 1;
  for (uint32_t d = 0; d < rank; d++) {
    int64_t x = neo_size_value(m, neo_tensor_extent(m, t, d), sizes);
    if (extent)
      extent[d] = x;
    n *= x;
  }
  return n;
}
