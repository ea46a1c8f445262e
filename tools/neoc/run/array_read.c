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

/* ---- Lists of numbers on the command line, as NumPy prints them: [1, 2.5], [[1,2],[3,4]]. The
 * brackets are the shape, so all lists at one depth have the same length. */

enum { MAX_RANK = 16 };

typedef struct {
  neoc_cli *cli;
  const char *name, *at; /* name of the tensor; rest of the text */
  int rank;              /* nesting of numbers; -1: none was read */
  int64_t extent[MAX_RANK];
  bool known[MAX_RANK]; /* the length of lists at this depth is known */
  NEO_VEC(neoc_number) values;
} list_reader;

static neoc_exit no_list(list_reader *r) {
  return neoc_usage(r->cli, "%s: at %.20s: a list is written [1,2] or [[1,2],[3,4]]", r->name,
                    *r->at ? r->at : "its end");
}

static bool take_word(list_reader *r, const char *word) {
  size_t n = strlen(word);
  if (strncmp(r->at, word, n) != 0)
    return false;
  r->at += n;
  return true;
}

static neoc_exit read_number(list_reader *r, int depth) {
  const char *begin = r->at;
  neoc_number x = {.whole = true};
  if (take_word(r, "true"))
    x.f = (double)(x.i = 1);
  else if (!take_word(r, "false") && !neoc_read_number(r->at, &r->at, &x))
    return no_list(r);
  if (*r->at && !strchr(" \n\t,[]", *r->at)) { /* 1-2 and 1.2.3 are not two numbers */
    r->at = begin;
    return no_list(r);
  }
  if (r->rank >= 0 && r->rank != depth)
    return neoc_usage(r->cli, "%s: numbers stand in %d brackets and in %d", r->name, r->rank,
                      depth);
  r->rank = depth;
  NEO_PUSH(r->cli->arena, &r->values, x);
  return NEOC_OK;
}

/* Ends the list at `depth`, which has `n` elements: all lists at that depth must. */
static neoc_exit close_list(list_reader *r, int depth, int64_t n) {
  if (r->known[depth] && r->extent[depth] != n)
    return neoc_usage(r->cli, "%s: lists of %lld and of %lld elements stand side by side", r->name,
                      (long long)r->extent[depth], (long long)n);
  r->known[depth] = true;
  r->extent[depth] = n;
  return NEOC_OK;
}

static void skip_spaces(list_reader *r) {
  r->at += strspn(r->at, " \n\t");
}

/* Reads the rest of a list after its "[". Commas may be left out between numbers. */
static neoc_exit read_elements(list_reader *r, int depth) {
  int64_t n = 0;
  if (depth >= MAX_RANK)
    return neoc_usage(r->cli, "%s: a tensor has at most %d dimensions", r->name, MAX_RANK);
  for (;; n++) {
    skip_spaces(r);
    if (take_word(r, "]"))
      return close_list(r, depth, n);
    neoc_exit e = take_word(r, "[") ? read_elements(r, depth + 1) : read_number(r, depth + 1);
    if (e)
      return e;
    skip_spaces(r);
    take_word(r, ",");
  }
}

/* The number of depths at which lists were seen; if there are no numbers, the innermost lists are
 * empty. */
static int rank_of(const list_reader *r) {
  int rank = 0;
  while (rank < MAX_RANK && r->known[rank])
    rank++;
  return rank;
}

/* Parses a list of numbers; its brackets are the shape. */
static neoc_exit list_read(neoc_cli *cli, const char *name, const char *text, neo_type type,
                           neo_rt_array *out) {
  list_reader r = {.cli = cli, .name = name, .at = text + 1, .rank = -1};
  neoc_exit e = read_elements(&r, 0);
  if (!e && *r.at)
    e = no_list(&r);
  if (!e && r.rank >= 0 && r.rank != rank_of(&r))
    e = neoc_usage(cli, "%s: numbers stand in %d brackets, an empty list in %d", name, r.rank,
                   rank_of(&r));
  if (e)
    return e;
  *out = neoc_array_new(cli->arena, type, (uint32_t)rank_of(&r), r.extent);
  for (int64_t k = 0; k < (int64_t)r.values.n && !e; k++)
    e = neoc_array_take(cli, name, out, k, r.values.at[k]);
  return e;
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
    return list_read(cli, name, text, type, out);
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
