/* Values of the command line as arrays: numbers, lists, files, random numbers. */
#include "tools/neoc/csv/csv.h"
#include "tools/neoc/run/runner.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Parses "[8,10]" as extents; false if the text is no shape. */
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
    errno = 0;
    long long x = strtoll(text, &end, 10);
    if (errno || end == text || x < 0 || *rank == 16)
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

/* Makes an array with the shape of the word, or that of `like` if the word has none. */
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

/* Gives rows of a table the shape of the input's rows, if the number of elements fits. */
static void shape_rows(const neo_rt_array *like, neo_rt_array *x) {
  int64_t own = x->rank > 1 ? x->extent[1] : 1, want = 1;
  for (int d = 1; like && d < like->rank; d++)
    want *= like->extent[d];
  if (!like || like->rank == 0 || own != want)
    return;
  for (int d = 1; d < like->rank; d++)
    x->extent[d] = like->extent[d];
  x->rank = like->rank;
}

static neoc_exit read_table(neoc_cli *cli, const char *name, const char *path, neo_type type,
                            const neo_rt_array *like, neo_rt_array *out) {
  neoc_csv_wish wish = {.tensor = name, .integer = !neo_type_is_float(type), .no_names = true};
  neoc_exit e = neoc_csv_read(cli, path, &wish, out, NULL);
  if (!e)
    shape_rows(like, out);
  return e;
}

static neoc_exit read_file(neoc_cli *cli, const char *name, const char *path, neo_type type,
                           const neo_rt_array *like, neo_rt_array *out) {
  char error[1024] = "";
  neo_rt_array x;
  neo_rt_status s = NEO_OK;
  if (neoc_csv_is(path)) {
    neoc_exit e = read_table(cli, name, path, type, like, &x);
    if (e)
      return e;
  } else {
    s = neo_rt_array_load(path, &x, error, sizeof error);
  }
  if (s)
    return neoc_fail(cli, neoc_exit_of((neo_status)s), "%s: %s", name, error);
  *out = x;
  out->data = neo_arena_copy(cli->arena, x.data, x.size_bytes + (x.size_bytes == 0));
  neo_rt_array_free(&x);
  return NEOC_OK;
}

static neoc_exit fill(neoc_cli *cli, const char *name, neo_rt_array *x, neoc_number v) {
  neoc_exit e = NEOC_OK;
  for (int64_t k = 0, n = neoc_array_count(x); k < n && !e; k++)
    e = neoc_array_take(cli, name, x, k, v);
  return e;
}

/* Reads a text that is a number, a fraction or a truth value as a whole. */
static bool read_scalar(const char *text, neoc_number *v) {
  const char *end;
  bool truth = neo_streq(text, "true");
  *v = (neoc_number){.whole = true, .i = truth, .f = truth};
  if (truth || neo_streq(text, "false") || (neoc_read_number(text, &end, v) && *end == 0))
    return true;
  v->whole = false;
  return neoc_parse_real(text, &v->f);
}

/* ---- WORD or WORD:NUMBER, with an optional :[SHAPE] */

typedef struct {
  enum { ZEROS, ONES, FULL, RANDOM } what;
  neoc_number value; /* for FULL */
  uint64_t seed;     /* for RANDOM */
  const char *shape; /* null: none */
} filling;

/* Whether the text is "word" or "word:rest"; *rest null: only the word. */
static bool is_word(const char *text, const char *word, const char **rest) {
  size_t n = strlen(word);
  if (strncmp(text, word, n) != 0 || (text[n] && text[n] != ':'))
    return false;
  *rest = text[n] ? text + n + 1 : NULL;
  return true;
}

static bool read_filling(neoc_cli *cli, const char *text, filling *f) {
  static const char *const words[] = {"zeros", "ones", "full", "random"};
  const char *rest = NULL;
  size_t k = 0;
  while (k < 4 && !is_word(text, words[k], &rest))
    k++;
  if (k == 4)
    return false;
  *f = (filling){.what = k, .value = {.whole = true, .i = k == ONES, .f = k == ONES}};
  if (k >= FULL && rest) {
    size_t n = strcspn(rest, ":");
    const char *number = neo_arena_strndup(cli->arena, rest, n);
    if (k == FULL ? !read_scalar(number, &f->value) : !neoc_parse_seed(number, &f->seed))
      return false;
    rest = rest[n] ? rest + n + 1 : NULL;
  } else if (k >= FULL) {
    return false;
  }
  f->shape = rest;
  return true;
}

neoc_exit neoc_array_read(neoc_cli *cli, const char *name, const char *text, neo_type type,
                          const neo_rt_array *like, int64_t bound, const neo_ends_at *ends,
                          neo_rt_array *out) {
  static const neo_rt_array scalar = {0};
  neoc_number v;
  filling f;
  if (text[0] == '@')
    return read_file(cli, name, text + 1, type, like, out);
  if (text[0] == '[')
    return neoc_list_read(cli, name, text, type, out);
  if (read_scalar(text, &v)) {
    neoc_exit e = shape_of(cli, name, NULL, &scalar, type, out);
    return e ? e : fill(cli, name, out, v);
  }
  if (!read_filling(cli, text, &f))
    return neoc_usage(cli,
                      "%s: '%s' is none of a number, a list [[1,2],[3,4]], @FILE, "
                      "random:SEED:[..], zeros:[..], ones:[..], full:V:[..]",
                      name, text);
  neoc_exit e = shape_of(cli, name, f.shape, like, type, out);
  if (e || f.what != RANDOM)
    return e ? e : fill(cli, name, out, f.value);
  if (ends && ends->given)
    neoc_array_random_between(out, ends, &f.seed);
  else
    neoc_array_random(out, bound, &f.seed);
  return NEOC_OK;
}
