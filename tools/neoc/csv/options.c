/* Parses the options after a table's name: data.csv:COLUMNS:OPTION:OPTION, in any order. */
#include "tools/neoc/csv/parts.h"
#include <string.h>

static const char *const ends[] = {".csv", ".tsv"};

/* The text after the file's name; null: the path names no table. */
static const char *after_name(const char *path) {
  for (size_t k = 0; k < 2; k++)
    for (const char *p = path; (p = strstr(p, ends[k])) != NULL; p++)
      if (p[4] == 0 || p[4] == ':')
        return p + 4;
  return NULL;
}

bool neoc_csv_is(const char *path) {
  return after_name(path) != NULL;
}

static bool read_separator(const char *text, char *out) {
  static const struct {
    const char *word;
    char is;
  } words[] = {{"comma", ','}, {"semicolon", ';'}, {";", ';'},
               {"tab", '\t'},  {"space", ' '},     {"|", '|'}};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (neo_streq(text, words[k].word)) {
      *out = words[k].is;
      return true;
    }
  return false;
}

/* Reads one word of the options; false: it is none. */
static bool read_option(const char *word, neoc_csv_options *o) {
  if (strncmp(word, "fill=", 5) == 0)
    o->fill = word + 5;
  else if (neo_streq(word, "header"))
    o->head = NEOC_CSV_HEADER;
  else if (neo_streq(word, "no-header"))
    o->head = NEOC_CSV_NO_HEADER;
  else if (neo_streq(word, "classes"))
    o->classes = true;
  else
    return false;
  return true;
}

neoc_exit neoc_csv_options_read(neoc_cli *cli, const char *tensor, const char *path,
                                neoc_csv_options *o) {
  const char *p = after_name(path);
  *o = (neoc_csv_options){.file = neo_arena_strndup(cli->arena, path, (size_t)(p - path))};
  while (*p) {
    size_t n = strcspn(++p, ":");
    const char *word = neo_arena_strndup(cli->arena, p, n);
    p += n;
    if (strncmp(word, "sep=", 4) == 0) {
      if (!read_separator(word + 4, &o->separator))
        return neoc_usage(cli, "%s: sep= is comma, semicolon, tab, space or |, not '%s'", tensor,
                          word + 4);
    } else if (!read_option(word, o)) {
      if (o->columns || !n)
        return neoc_usage(cli,
                          "%s: '%s' is none of header, no-header, classes, fill=VALUE, sep=WORD, "
                          "and columns are given once: a+b or 1..4",
                          tensor, word);
      o->columns = word;
    }
  }
  if (!o->separator && neoc_ends_with(o->file, ".tsv"))
    o->separator = '\t';
  return NEOC_OK;
}
