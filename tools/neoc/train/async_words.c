/* The option --async, and what cannot be with it. */
#include "tools/neoc/train/async.h"
#include <string.h>

static const struct {
  const char *word, *form, *meaning;
} words[] = {
#define X(id, word, form, meaning) {word, form, meaning},
#include "tools/neoc/train/async.def"
#undef X
};

/* "keys:N, workers:N, ..." */
static const char *all_words(const neoc_cli *cli) {
  neo_str s = neo_str_in(cli->arena);
  for (size_t k = 0; k < NEOC_ASYNC_WORDS; k++)
    neo_str_addf(&s, "%s%s:%s", k ? ", " : "", words[k].word, words[k].form);
  return neo_str_text(&s);
}

/* ---- values */

/* The place of a word in a list "actors|pinned"; -1: it is not in there. */
static int64_t place_in(const char *list, const char *word) {
  size_t n = strlen(word);
  for (int64_t k = 0; list; k++) {
    const char *bar = strchr(list, '|');
    size_t own = bar ? (size_t)(bar - list) : strlen(list);
    if (own == n && strncmp(list, word, n) == 0)
      return k;
    list = bar ? bar + 1 : NULL;
  }
  return -1;
}

static neoc_exit read_value(const neoc_cli *cli, size_t k, neoc_async_words *w) {
  const char *text = w->text[k], *form = words[k].form;
  int64_t *x = &w->value[k], most = INT32_MAX;
  bool number = neo_streq(form, "N"), seed = neo_streq(form, "SEED");
  if (neo_streq(form, "FILE"))
    return *text ? NEOC_OK : neoc_usage(cli, "--async=%s: which file?", words[k].word);
  if (number && (!neoc_parse_int(text, x) || *x < 1 || *x > most))
    return neoc_usage(cli, "--async=%s:N: %s: a whole number from 1 to %lld, not '%s'",
                      words[k].word, words[k].meaning, (long long)most, text);
  if (seed && (!neoc_parse_int(text, x) || *x < 0))
    return neoc_usage(cli, "--async=%s:SEED: %s: a whole number of at least 0, not '%s'",
                      words[k].word, words[k].meaning, text);
  if (!number && !seed && (*x = place_in(form, text)) < 0)
    return neoc_usage(cli, "--async=%s: %s: %s, not '%s'", words[k].word, words[k].meaning, form,
                      text);
  return NEOC_OK;
}

/* A word as "keys:4". */
static neoc_exit read_word(const neoc_cli *cli, const char *text, neoc_async_words *w) {
  const char *colon = strchr(text, ':');
  size_t n = colon ? (size_t)(colon - text) : strlen(text), k = 0;
  while (k < NEOC_ASYNC_WORDS &&
         (strlen(words[k].word) != n || strncmp(words[k].word, text, n) != 0))
    k++;
  if (k == NEOC_ASYNC_WORDS)
    return neoc_usage(cli, "--async takes %s; '%s' is none of these", all_words(cli), text);
  if (!colon)
    return neoc_usage(cli, "--async: %s has no value: write %s:%s", text, text, words[k].form);
  if (w->text[k])
    return neoc_usage(cli, "--async has %s twice", words[k].word);
  w->text[k] = colon + 1;
  return read_value(cli, k, w);
}

/* ---- refusals */

static neoc_exit refuse_words(const neoc_cli *cli, const neoc_async_words *w) {
  bool workers = w->text[NEOC_ASYNC_WORKERS] != NULL, order = w->text[NEOC_ASYNC_ORDER] != NULL;
  if (order && workers)
    return neoc_usage(cli, "--async=order is for nodes that run in one thread, whose order a seed "
                           "decides: leave out workers, or order");
  if (w->text[NEOC_ASYNC_PLACE] && !workers)
    return neoc_usage(cli, "--async=place says which worker runs a node: add workers:N");
  if (w->text[NEOC_ASYNC_REPLAY] && (workers || order || w->text[NEOC_ASYNC_LOG]))
    return neoc_usage(cli, "--async=replay repeats the order of a log in one thread: leave out "
                           "workers, order and log");
  return NEOC_OK;
}

static neoc_exit refuse(const neoc_cli *cli, const neoc_async_words *w) {
  const char *target = neoc_text(cli, NEOC_O_TARGET, "");
  if (neoc_has(cli, NEOC_O_ENTRIES))
    return neoc_usage(cli, "--async trains one entry, and --entries names several: choose one by "
                           "--entry, or train without --async");
  if (strncmp(target, "nvptx", 5) == 0)
    return neoc_usage(cli,
                      "--async runs nodes on threads of a processor, not on a GPU: leave out "
                      "--target=%s, or --async",
                      target);
  if (neoc_has(cli, NEOC_O_MAP) && w->text[NEOC_ASYNC_ROWS])
    return neoc_usage(cli, "--map changes whole batches: leave out rows of --async, or --map");
  return refuse_words(cli, w);
}

neoc_exit neoc_async_read(const neoc_cli *cli, neoc_async_words *w) {
  neoc_texts given = neoc_words(cli, NEOC_O_ASYNC);
  neoc_exit e = NEOC_OK;
  *w = (neoc_async_words){.given = neoc_has(cli, NEOC_O_ASYNC)};
  for (size_t k = 0; k < given.n && !e; k++)
    e = read_word(cli, given.at[k], w);
  return e || !w->given ? e : refuse(cli, w);
}

void neoc_async_compile(const neoc_async_words *w, neo_compile_options *o) {
  if (!w->given)
    return;
  o->network = true;
  o->network_nodes = (uint32_t)w->value[NEOC_ASYNC_NODES];
}
