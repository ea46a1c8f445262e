/* Lists of numbers on the command line, as NumPy prints them: [1, 2.5], [[1,2],[3,4]]. The brackets
 * are the shape, so all lists at one depth have the same length. */
#include "tools/neoc/run/runner.h"
#include <string.h>

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

neoc_exit neoc_list_read(neoc_cli *cli, const char *name, const char *text, neo_type type,
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
