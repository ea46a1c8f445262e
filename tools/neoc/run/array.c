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

bool neoc_array_same(const neo_rt_array *a, const neo_rt_array *b, int64_t k) {
  neo_type t = (neo_type)a->type;
  neo_value x = neo_value_read(t, element(a, k)), y = neo_value_read(t, element(b, k));
  return neo_type_is_float(t) ? x.f == y.f || (isnan(x.f) && isnan(y.f)) : x.i == y.i;
}

void neoc_array_put(neo_rt_array *x, int64_t k, double v) {
  neo_type t = (neo_type)x->type;
  neo_value_write(t, neo_value_cast(t, NEO_F64_T, (neo_value){.f = v}), element(x, k));
}

/* Stores an integer; false if the array's type lacks it. */
static bool put_int(neo_rt_array *x, int64_t k, int64_t v) {
  neo_type t = (neo_type)x->type;
  neo_value_write(t, neo_value_cast(t, NEO_I64_T, (neo_value){.i = v}), element(x, k));
  return neo_value_read(t, element(x, k)).i == v;
}

/* Whether v is an integer, and the only one with this f64. */
static bool is_exact(double v) {
  const double SHARED = 0x1p53;
  return fabs(v) < SHARED && trunc(v) == v;
}

neoc_exit neoc_array_take(neoc_cli *cli, const char *name, neo_rt_array *x, int64_t k,
                          neoc_number v) {
  neo_type t = (neo_type)x->type;
  bool fits = true;
  if (neo_type_is_int(t)) {
    fits = v.whole ? put_int(x, k, v.i) : is_exact(v.f) && put_int(x, k, (int64_t)v.f);
  } else {
    neoc_array_put(x, k, v.f);
    fits = !neo_type_is_float(t) || !isfinite(v.f) || isfinite(neoc_array_at(x, k));
  }
  if (fits)
    return NEOC_OK;
  if (v.whole)
    return neoc_usage(cli, "%s: %lld is no %s", name, (long long)v.i, neo_type_text(t));
  if (neo_type_is_int(t) && trunc(v.f) == v.f && fabs(v.f) < 0x1p63 && !is_exact(v.f))
    return neoc_usage(cli,
                      "%s: %.17g may be rounded: write the digits of an integer that is so large",
                      name, v.f);
  return neoc_usage(cli, "%s: %.17g is no %s", name, v.f, neo_type_text(t));
}

/* The first finite number that the narrower type would make infinite. */
static int64_t float_misfit(const neo_rt_array *x, neo_type to) {
  neo_type from = (neo_type)x->type;
  int64_t n = neo_type_is_float(from) && from != to ? neoc_array_count(x) : 0;
  for (int64_t k = 0; k < n; k++) {
    neo_value v = neo_value_read(from, element(x, k));
    if (isfinite(v.f) && !isfinite(neo_value_cast(to, NEO_F64_T, v).f))
      return k;
  }
  return -1;
}

int64_t neoc_array_misfit(const neo_rt_array *x, neo_type to) {
  neo_type from = (neo_type)x->type;
  if (neo_type_is_float(to))
    return float_misfit(x, to);
  int64_t room = 0, n = neo_type_is_int(to) && from != to ? neoc_array_count(x) : 0;
  neo_rt_array one = {.type = (uint8_t)to, .data = &room};
  for (int64_t k = 0; k < n; k++) {
    neo_value v = neo_value_read(from, element(x, k));
    bool whole = !neo_type_is_float(from);
    bool is_i64 = whole || (trunc(v.f) == v.f && v.f >= -0x1p63 && v.f < 0x1p63);
    if (!is_i64 || !put_int(&one, 0, whole ? v.i : (int64_t)v.f))
      return k;
  }
  return -1;
}

const char *neoc_element_text(neo_arena *a, const neo_rt_array *x, int64_t k) {
  neo_value v = neo_value_read((neo_type)x->type, element(x, k));
  return neo_type_is_float((neo_type)x->type) ? neo_arena_printf(a, "%.17g", v.f)
                                              : neo_arena_printf(a, "%lld", (long long)v.i);
}

void neoc_array_random(neo_rt_array *x, int64_t bound, uint64_t *seed) {
  const int64_t MANY = INT64_C(1) << 52; /* f64 has all integers below */
  int64_t n = neoc_array_count(x);
  bool is_float = neo_type_is_float((neo_type)x->type);
  if (x->type == NEO_BOOL_T)
    bound = 2;
  for (int64_t k = 0; k < n; k++) {
    uint64_t r = neo_splitmix(seed);
    double unit = (double)(r >> 11) * 0x1p-53;
    if (is_float)
      neoc_array_put(x, k, 2 * unit - 1);
    else if (bound > MANY)
      put_int(x, k, (int64_t)(r % (uint64_t)bound));
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
    put_int(x, k, least + (int64_t)(neo_splitmix(seed) % range));
  }
}

const char *neoc_shape_text(neo_arena *a, uint32_t rank, const int64_t *extent) {
  neo_str s = neo_str_in(a);
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
