/* Values of the command line as arrays: numbers, lists, files, random numbers. */
#include "tools/neoc/run/runner.h"
#include <stdlib.h>
#include <string.h>

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

static neoc_exit fill(neoc_cli *cli, const char *name, neo_rt_array *x, double v) {
  neoc_exit e = NEOC_OK;
  for (int64_t k = 0, n = neoc_array_count(x); k < n && !e; k++)
    e = neoc_array_take(cli, name, x, k, v);
  return e;
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
    return e ? e : fill(cli, name, out, v);
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
  return fill(cli, name, out, full ? strtod(rest, NULL) : neo_streq(word, "ones"));
}
