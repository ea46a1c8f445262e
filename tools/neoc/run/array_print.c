/* Arrays as text: as NumPy prints them, and as JSON. */
#include "tools/neoc/run/runner.h"
#include <math.h>

enum { EDGE = 3, LONG = 1000, LINE = 75 };

static void put_number(const neo_rt_array *x, int64_t k, neo_str *out) {
  double v = neoc_array_at(x, k);
  if (x->type == NEO_BOOL_T)
    neo_str_add(out, v != 0 ? "true" : "false");
  else if (x->type == NEO_I64_T)
    neo_str_addf(out, "%lld", (long long)((const int64_t *)x->data)[k]);
  else if (!neo_type_is_float((neo_type)x->type))
    neo_str_addf(out, "%.0f", v);
  else
    neo_str_addf(out, x->type == NEO_F64_T ? "%.10g" : "%.7g", neoc_printed(v));
}

/* Prints dimension d of the elements from `at` on; `step`: elements that it spans. */
static void put_dim(const neo_rt_array *x, int d, int64_t at, int64_t step, bool shorten,
                    neo_str *out) {
  int64_t n = x->extent[d], inner = n > 0 ? step / n : 0;
  bool cut = shorten && n > 2 * EDGE, last = d + 1 == x->rank;
  neo_str_addc(out, '[');
  size_t line = out->n;
  for (int64_t k = 0; k < n; k++) {
    bool wrap = !last || out->n - line > LINE;
    if (k && wrap)
      neo_str_addf(out, ",\n%*s", d + 1, "");
    if (k && !wrap)
      neo_str_add(out, ", ");
    if (wrap)
      line = out->n;
    if (cut && k == EDGE) {
      neo_str_add(out, "...");
      k = n - EDGE - 1;
      continue;
    }
    if (last)
      put_number(x, at + k, out);
    else
      put_dim(x, d + 1, at + k * inner, inner, shorten, out);
  }
  neo_str_addc(out, ']');
}

void neoc_array_print(const neo_rt_array *x, neo_str *out) {
  int64_t n = neoc_array_count(x);
  if (x->rank == 0)
    put_number(x, 0, out);
  else
    put_dim(x, 0, 0, n, n > LONG, out);
}

/* Numbers that JSON lacks are strings. */
static void json_number(const neo_rt_array *x, int64_t k, neo_str *out) {
  double v = neoc_array_at(x, k);
  if (!neo_type_is_float((neo_type)x->type)) {
    put_number(x, k, out);
    return;
  }
  if (!isfinite(v))
    neo_str_addc(out, '"');
  neo_str_add_f64(out, v);
  if (!isfinite(v))
    neo_str_addc(out, '"');
}

void neoc_array_json(const neo_rt_array *x, neo_str *out) {
  int64_t n = neoc_array_count(x);
  neo_str_addf(out, "{\"type\": \"%s\", \"shape\": [", neo_type_text((neo_type)x->type));
  for (int d = 0; d < x->rank; d++)
    neo_str_addf(out, "%s%lld", d ? ", " : "", (long long)x->extent[d]);
  neo_str_add(out, "], \"values\": [");
  for (int64_t k = 0; k < n; k++) {
    if (k)
      neo_str_add(out, ", ");
    json_number(x, k, out);
  }
  neo_str_add(out, "]}");
}
