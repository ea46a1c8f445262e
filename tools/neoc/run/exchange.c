/* Values into a model and out of it: inputs, settings, parameters and states. */
#include "tools/neoc/run/runner.h"

static neoc_exit wrong_shape(const neoc_runner *r, neo_tensor t, const neo_rt_array *x,
                             const int64_t *want, uint32_t rank) {
  neo_arena *a = r->cli->arena;
  return neoc_fail(r->cli, NEOC_FAILED, "%s: shape is %s, expected %s", neoc_tensor_name(r, t),
                   neoc_shape_text(a, x->rank, x->extent), neoc_shape_text(a, rank, want));
}

/* The size that an extent is, up to a constant. *value: the size's value if the extent is n. 0: the
 * extent is not a single size. */
static uint32_t size_in(neo_module *m, neo_expr extent, int64_t n, int64_t *value) {
  neo_linear l;
  if (!neo_linear_of(m, extent, &l) || l.n != 1 || l.term[0].coef != 1)
    return 0;
  const neo_node *size = neo_expr_node(m, l.term[0].atom);
  *value = n - l.constant;
  bool is = size->op == NEO_OP_SIZE &&
            (!l.constant || neo_size_at(m, (neo_size){size->attr})->kind == NEO_SIZE_RUNTIME);
  return is ? size->attr : 0;
}

/* Derives sizes from the shape of an array. */
static neoc_exit learn_sizes(neoc_runner *r, neo_tensor t, const neo_rt_array *x) {
  neo_module *m = r->c.module;
  uint32_t rank = neo_tensor_rank(m, t);
  int64_t want[16];
  if (x->rank != rank)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: rank is %d, expected %u", neoc_tensor_name(r, t),
                     x->rank, (unsigned)rank);
  for (uint32_t d = 0; d < rank; d++) {
    int64_t value;
    uint32_t size = size_in(m, neo_tensor_extent(m, t, d), x->extent[d], &value);
    if (!size || r->sizes[size] >= 0)
      continue;
    const neo_size_rec *s = neo_size_at(m, (neo_size){size});
    if (value < s->lo || value > s->hi)
      return neoc_fail(r->cli, NEOC_FAILED, "%s: dim %u is %lld, but %s must be in [%lld, %lld]",
                       neoc_tensor_name(r, t), d, (long long)x->extent[d],
                       neo_name_text(m->names, s->name), (long long)s->lo, (long long)s->hi);
    r->sizes[size] = value;
  }
  neo_tensor_elements_at(m, t, neoc_runner_sizes(r), want);
  for (uint32_t d = 0; d < rank; d++)
    if (want[d] != x->extent[d])
      return wrong_shape(r, t, x, want, rank);
  return NEOC_OK;
}

static neoc_exit converted(neoc_runner *r, neo_tensor t, neo_rt_array *x) {
  uint8_t type = neo_tensor_at(r->c.module, t)->type;
  neo_rt_array y;
  if (x->type == type)
    return NEOC_OK;
  int64_t bad = neoc_array_misfit(x, (neo_type)type);
  if (bad >= 0)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: element %lld, %s, is no %s", neoc_tensor_name(r, t),
                     (long long)bad, neoc_element_text(r->cli->arena, x, bad),
                     neo_type_text((neo_type)type));
  neo_rt_status s = neo_rt_array_convert(x, type, &y);
  if (s)
    return neoc_fail(r->cli, NEOC_FAILED, "%s: %s", neoc_tensor_name(r, t), neo_rt_status_text(s));
  void *data = neo_arena_copy(r->cli->arena, y.data, y.size_bytes + (y.size_bytes == 0));
  *x = y;
  x->data = data;
  neo_rt_array_free(&y);
  return NEOC_OK;
}

neoc_exit neoc_runner_give(neoc_runner *r, neo_tensor t, neo_rt_array *array) {
  neoc_exit e = learn_sizes(r, t, array);
  if (!e)
    e = converted(r, t, array);
  if (!e)
    r->input[t.i] = *array;
  return e;
}

static bool has_extents(const neo_rt_array *x, uint32_t rank, const int64_t *want) {
  for (uint32_t d = 0; d < rank && x->rank == rank; d++)
    if (x->extent[d] != want[d])
      return false;
  return x->rank == rank;
}

neoc_exit neoc_runner_set(neoc_runner *r, neo_tensor t, neo_rt_array *x) {
  neo_module *m = r->c.module;
  int64_t want[16];
  uint32_t rank = neo_tensor_rank(m, t);
  int64_t n = neo_tensor_elements_at(m, t, neoc_runner_sizes(r), want);
  neoc_exit e = converted(r, t, x);
  if (e)
    return e;
  if (neoc_array_count(x) != n || (rank && !has_extents(x, rank, want)))
    return wrong_shape(r, t, x, want, rank);
  if (r->interp) {
    neoc_array_to_values(x, neo_interp_tensor(r->interp, t));
    return NEOC_OK;
  }
  int32_t k = neo_rt_find(r->lib.model, neoc_tensor_name(r, t));
  neo_rt_status s = neo_rt_set(r->ctx, k, x->data, x->size_bytes);
  return s ? neoc_runner_failed(r, s) : NEOC_OK;
}

neoc_exit neoc_runner_get(neoc_runner *r, neo_tensor t, neo_rt_array *out) {
  neo_module *m = r->c.module;
  int64_t extent[16];
  neo_type type = neo_tensor_type(m, t);
  if (r->interp) {
    *out = neoc_array_of_values(r->cli->arena, type, neo_interp_tensor(r->interp, t));
    return NEOC_OK;
  }
  neo_tensor_elements_at(m, t, neoc_runner_sizes(r), extent);
  *out = neoc_array_new(r->cli->arena, type, neo_tensor_rank(m, t), extent);
  int32_t k = neo_rt_find(r->lib.model, neoc_tensor_name(r, t));
  neo_rt_status s = neo_rt_get(r->ctx, k, out->data, out->size_bytes);
  return s ? neoc_runner_failed(r, s) : NEOC_OK;
}
