/* Sizes as numbers. */
#include "ir/element.h"
#include "ir/interp/interp.h"
#include "ir/store.h"
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

int64_t *neo_sizes_by_number(const neo_module *m, neo_arena *a, const int64_t *sizes) {
  int64_t *out = NEO_NEW_ARRAY(a, int64_t, neo_size_numbers(m) + 1);
  for (uint32_t k = 1; k < m->sizes.n; k++) {
    const neo_size_rec *r = &m->sizes.at[k];
    out[neo_size_number(m, (neo_size){k})] =
        r->loop_index ? r->lo + (r->hi - r->lo) / 2 : size_of(m, k, sizes);
  }
  return out;
}

int64_t neo_tensor_elements_at(const neo_module *m, neo_tensor t, const int64_t *sizes,
                               int64_t extent[16]) {
  t = neo_tensor_store(m, t);
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

static void end_at(neo_module *m, neo_expr e, const int64_t *sizes, uint32_t rank, int64_t *first,
                   int64_t *by) {
  neo_element_end end;
  if (!e.i || !neo_element_end_of(m, e, rank, &end))
    return;
  *first = neo_size_value(m, end.rest, sizes);
  for (uint32_t d = 0; d < rank; d++)
    by[d] = end.coef[d];
}

/* Fills in the lists of an edge tensor. List 0 is empty: its elements would have to be below 0. */
static void add_lists(neo_module *m, neo_tensor t, const int64_t *sizes, neo_ends_at *e) {
  neo_tensor offsets = neo_tensor_at(m, t)->offsets;
  if (!offsets.i)
    return;
  int64_t n = neo_size_value(m, neo_tensor_extent(m, offsets, 0), sizes);
  e->given = true;
  e->offsets = offsets.i == t.i;
  e->listed = !e->offsets;
  e->lists = n > 0 ? n - 1 : 0;
  e->edges = neo_size_value(m, neo_tensor_at(m, offsets)->bound, sizes) - 1;
}

neo_ends_at neo_tensor_ends_at(neo_module *m, neo_tensor t, const int64_t *sizes) {
  neo_tensor_rec r = *neo_tensor_at(m, t);
  neo_ends_at e = {
      .given = r.least.i || r.below.i, .rank = r.extent.n, .least = INT32_MIN, .below = INT32_MAX};
  neo_tensor_elements_at(m, t, sizes, e.extent);
  end_at(m, r.least, sizes, e.rank, &e.least, e.by_least);
  end_at(m, r.below, sizes, e.rank, &e.below, e.by_below);
  add_lists(m, t, sizes, &e);
  return e;
}

/* The elements of lists 0 .. k - 1. Two of three lists are empty. */
static int64_t offset_at(const neo_ends_at *e, int64_t k) {
  if (e->lists < 2 || k < 1)
    return 0;
  if (k >= e->lists)
    return e->edges;
  return (int64_t)((double)e->edges * (double)((k - 1) / 3 * 3) / (double)(e->lists - 1));
}

/* The list in which the element is. */
static int64_t list_of(const neo_ends_at *e, int64_t element) {
  int64_t lo = 0, hi = e->lists;
  while (lo < hi) {
    int64_t mid = lo + (hi - lo) / 2;
    if (offset_at(e, mid + 1) <= element)
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo < e->lists ? lo : 0;
}

void neo_ends_of_element(const neo_ends_at *e, int64_t element, int64_t *least, int64_t *below) {
  *least = e->listed ? 0 : e->offsets ? offset_at(e, element) : e->least;
  *below = e->listed ? list_of(e, element) : e->offsets ? *least + 1 : e->below;
  if (e->listed || e->offsets)
    return;
  for (uint32_t d = e->rank; d-- > 0; element /= e->extent[d] > 0 ? e->extent[d] : 1) {
    int64_t index = e->extent[d] > 0 ? element % e->extent[d] : 0;
    *least += e->by_least[d] * index;
    *below += e->by_below[d] * index;
  }
}

void neo_ends_of_all(const neo_ends_at *e, int64_t *least, int64_t *below) {
  *least = e->listed || e->offsets ? 0 : e->least;
  *below = e->listed ? e->lists : e->offsets ? e->edges + 1 : e->below;
  for (uint32_t d = 0; d < e->rank; d++) {
    int64_t last = e->extent[d] > 0 ? e->extent[d] - 1 : 0;
    *least += e->by_least[d] > 0 ? e->by_least[d] * last : 0;
    *below += e->by_below[d] < 0 ? e->by_below[d] * last : 0;
  }
}
