/* Arrays of the command line: made from words, printed for people and programs. */
#include "base/random.h"
#include "tools/neoc/runner.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

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

const char *neoc_shape_text(neo_arena *a, uint32_t rank, const int64_t *extent) {
  neo_str s;
  neo_str_init(&s, a);
  neo_str_addc(&s, '[');
  for (uint32_t d = 0; d < rank; d++)
    neo_str_addf(&s, "%s%lld", d ? ", " : "", (long long)extent[d]);
  neo_str_addc(&s, ']');
  return neo_str_text(&s);
}

/* ---- reading */

/* "[8,10]" -> extents; false if it is none. */
static bool read_shape(const char *text, uint8_t *rank, int64_t extent[16]) {
  int64_t n = 1;
  *rank = 0;
  if (*text++ != '[')
    return false;
  while (*text == ' ')
    text++;
  if (*text == ']')
    return text[1] == 0;
  for (;;) {
    char *end;
    long long x = strtoll(text, &end, 10);
    if (end == text || x < 0 || *rank == 16)
      return false;
    if (__builtin_mul_overflow(n, x ? (int64_t)x : 1, &n) || n > (INT64_C(1) << 40))
      return false;
    extent[(*rank)++] = x;
    text = end + strspn(end, " ");
    if (*text == ']')
      return text[1] == 0;
    if (*text++ != ',')
      return false;
  }
}

/* The shape that ends `text` after its last ':', or that of `like`. */
static neoc_exit shape_of(neoc_cli *cli, const char *name, const char *shape,
                          const neo_rt_array *like, neo_type type, neo_rt_array *out) {
  uint8_t rank;
  int64_t extent[16];
  if (shape && !read_shape(shape, &rank, extent))
    return neoc_usage(cli, "%s: '%s' is no shape: [8,10]", name, shape);
  if (!shape && !like)
    return neoc_usage(cli, "%s: say its shape, as in random:42:[8,10]", name);
  *out = shape ? neoc_array_new(cli->arena, type, rank, extent)
               : neoc_array_new(cli->arena, type, like->rank, like->extent);
  return NEOC_OK;
}

static neoc_exit read_file(neoc_cli *cli, const char *name, const char *path, neo_rt_array *out) {
  char error[1024] = "";
  neo_rt_array x;
  neo_rt_status s = neo_rt_array_load(path, &x, error, sizeof error);
  if (s)
    return neoc_fail(cli, neoc_exit_of((neo_status)s), "%s: %s", name, error);
  *out = x;
  out->data = neo_arena_copy(cli->arena, x.data, x.size_bytes + (x.size_bytes == 0));
  neo_rt_array_free(&x);
  return NEOC_OK;
}

static neoc_exit fill(neo_rt_array *x, double v) {
  for (int64_t k = 0, n = neoc_array_count(x); k < n; k++)
    neoc_array_put(x, k, v);
  return NEOC_OK;
}

neoc_exit neoc_array_read(neoc_cli *cli, const char *name, const char *text, neo_type type,
                          const neo_rt_array *like, int64_t bound, neo_rt_array *out) {
  static const neo_rt_array scalar = {0};
  char word[16];
  double v;
  neoc_exit e;
  if (text[0] == '@')
    return read_file(cli, name, text + 1, out);
  if (text[0] == '[')
    return neoc_list_read(cli, name, text, type, out);
  if (neoc_parse_real(text, &v) || neo_streq(text, "true") || neo_streq(text, "false")) {
    if (text[0] == 't' || text[0] == 'f')
      v = text[0] == 't';
    e = shape_of(cli, name, NULL, &scalar, type, out);
    return e ? e : fill(out, v);
  }
  size_t n = strcspn(text, ":");
  const char *shape = strchr(text, '[');
  snprintf(word, sizeof word, "%.*s", (int)(n < 15 ? n : 15), text);
  const char *rest = text[n] ? text + n + 1 : "";
  bool random = neo_streq(word, "random"), full = neo_streq(word, "full");
  if (!random && !full && !neo_streq(word, "zeros") && !neo_streq(word, "ones"))
    return neoc_usage(cli,
                      "%s: '%s' is none of a number, a list [[1,2],[3,4]], @FILE, "
                      "random:SEED:[..], zeros:[..], ones:[..], full:V:[..]",
                      name, text);
  if ((e = shape_of(cli, name, shape, like, type, out)) != NEOC_OK)
    return e;
  if (random) {
    uint64_t seed = strtoull(rest, NULL, 10);
    neoc_array_random(out, bound, &seed);
    return NEOC_OK;
  }
  return fill(out, full ? strtod(rest, NULL) : neo_streq(word, "ones"));
}

/* ---- printing */

enum { EDGE = 3, LONG = 1000, LINE = 75 };

static void put_number(const neo_rt_array *x, int64_t k, neo_str *out) {
  double v = neoc_array_at(x, k);
  if (x->type == NEO_BOOL_T)
    neo_str_add(out, v != 0 ? "true" : "false");
  else if (x->type == NEO_I64_T)
    neo_str_addf(out, "%lld", (long long)neo_value_read(NEO_I64_T, element(x, k)).i);
  else if (!neo_type_is_float((neo_type)x->type))
    neo_str_addf(out, "%.0f", v);
  else
    neo_str_addf(out, x->type == NEO_F64_T ? "%.10g" : "%.7g", neoc_printed(v));
}

/* Dimension d of the elements from `at` on; `step` elements an index. */
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
