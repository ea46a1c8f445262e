/* Arrays: made in the arena, read and written an element at a time, filled with random numbers. */
#include "base/random.h"
#include "tools/neoc/run/runner.h"
#include <math.h>

neo_rt_array neoc_array_new(neo_arena *a, neo_type type, uint32_t rank, const int64_t *extent) {
  neo_rt_array x = {.type = (uint8_t)type, .rank = (uint8_t)rank};
  int64_t n = 1;
  for (uint32_t d = 0; d < rank; d++)
    n *= x.extent[d] = extent[d];
  x.size_bytes = (size_t)n * neo_type_bytes(type);
  x.data = neo_arena_alloc(a, x.size_bytes + 64);
  return x;
}

int64_t neoc_array_count(const neo_rt_array *x) {
  int64_t n = 1;
  for (int d = 0; d < x->rank; d++)
    n *= x->extent[d];
  return n;
}

static void *element(const neo_rt_array *x, int64_t k) {
  return (char *)x->data + (size_t)k * neo_type_bytes((neo_type)x->type);
}

double neoc_array_at(const neo_rt_array *x, int64_t k) {
  neo_value v = neo_value_read((neo_type)x->type, element(x, k));
  return neo_type_is_float((neo_type)x->type) ? v.f : (double)v.i;
}

void neoc_array_put(neo_rt_array *x, int64_t k, double v) {
  neo_type t = (neo_type)x->type;
  neo_value_write(t, neo_value_cast(t, NEO_F64_T, (neo_value){.f = v}), element(x, k));
}

neoc_exit neoc_array_take(neoc_cli *cli, const char *name, neo_rt_array *x, int64_t k, double v) {
  neo_type t = (neo_type)x->type;
  neoc_array_put(x, k, v);
  if (neo_type_is_int(t) && neoc_array_at(x, k) != v)
    return neoc_usage(cli, "%s: %g is no %s", name, v, neo_type_text(t));
  return NEOC_OK;
}

void neoc_array_random(neo_rt_array *x, int64_t bound, uint64_t *seed) {
  int64_t n = neoc_array_count(x);
  bool is_float = neo_type_is_float((neo_type)x->type);
  if (x->type == NEO_BOOL_T)
    bound = 2;
  for (int64_t k = 0; k < n; k++) {
    uint64_t r = neo_splitmix(seed);
    double unit = (double)(r >> 11) * 0x1p-53;
    if (is_float)
      neoc_array_put(x, k, 2 * unit - 1);
    else
      neoc_array_put(x, k, floor(unit * (double)(bound > 0 ? bound : 100)));
  }
}

void neoc_array_random_between(neo_rt_array *x, const neo_ends_at *ends, uint64_t *seed) {
  enum { USUAL = 100 };
  int64_t n = neoc_array_count(x), least, below;
  for (int64_t k = 0; k < n; k++) {
    neo_ends_of_element(ends, k, &least, &below);
    if (least == INT32_MIN)
      least = below - USUAL;
    if (below == INT32_MAX)
      below = least + USUAL;
    uint64_t range = below > least ? (uint64_t)(below - least) : 1;
    neoc_array_put(x, k, (double)(least + (int64_t)(neo_splitmix(seed) % range)));
  }
}

const char *neoc_shape_text(neo_arena *a, uint32_t rank, const int64_t *extent) {
  neo_str s;
  neo_str_init(&s, a);
  neo_str_addc(&s, '[');
  for (uint32_t d = 0; d < rank; d++)
    neo_str_addf(&s, "%s%lld", d ? ", " : "", (long long)extent[d]);
  neo_str_addc(&s, ']');
  return neo_str_text(&s);
}

void neoc_array_to_values(const neo_rt_array *x, neo_values *v) {
  size_t bytes = neo_type_bytes((neo_type)x->type);
  for (int64_t k = 0; k < v->n; k++)
    v->at[k] = neo_value_read((neo_type)x->type, (const char *)x->data + (size_t)k * bytes);
}

neo_rt_array neoc_array_of_values(neo_arena *a, neo_type type, const neo_values *v) {
  neo_rt_array x = neoc_array_new(a, type, v->rank, v->extent);
  size_t bytes = neo_type_bytes(type);
  for (int64_t k = 0; k < v->n; k++)
    neo_value_write(type, v->at[k], (char *)x.data + (size_t)k * bytes);
  return x;
}
