/* Models that come with the compiler, and descriptions from their texts. */
#include "tools/neoc/new/zoo.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { NEAR = 3, MOST_NEAR = 3 }; /* most letters that may differ; most suggestions */

/* ---- texts */

static const char *next_line(const char *line) {
  const char *end = strchr(line, '\n');
  return end ? end + 1 : line + strlen(line);
}

static bool begins_with_word(const char *line, const char *word) {
  size_t n = strlen(word);
  return strncmp(line, word, n) == 0 && (line[n] == ' ' || line[n] == ':');
}

const char *neoc_zoo_lines(neo_arena *a, const char *text, const char *word) {
  neo_str s = neo_str_in(a);
  for (const char *line = text; *line; line = next_line(line))
    if (begins_with_word(line, word))
      neo_str_addn(&s, line, (size_t)(next_line(line) - line));
  return neo_str_text(&s);
}

const char *neoc_zoo_comment(neo_arena *a, const char *text) {
  neo_str s = neo_str_in(a);
  for (const char *line = text; *line == '#'; line = next_line(line)) {
    const char *from = line + 1 + strspn(line + 1, " ");
    size_t n = strcspn(from, "\n");
    if (s.n && n)
      neo_str_addc(&s, ' ');
    neo_str_addn(&s, from, n);
  }
  return neo_str_text(&s);
}

const char *neoc_zoo_summary(neo_arena *a, const char *text) {
  const char *comment = neoc_zoo_comment(a, text), *end = strstr(comment, ". ");
  return end ? neo_arena_strndup(a, comment, (size_t)(end + 1 - comment)) : comment;
}

neoc_texts neoc_zoo_imports(neo_arena *a, const char *text) {
  neoc_texts names = {0};
  const char *lines = neoc_zoo_lines(a, text, "import"), *separators = " ,\n";
  for (const char *at = lines; *(at += strspn(at, separators));) {
    size_t n = strcspn(at, separators);
    const char *name = neo_arena_strndup(a, at, n);
    if (!neo_streq(name, "import"))
      NEO_PUSH(a, &names, name); /* `as` and the name after it are no file */
    at += n;
  }
  return names;
}

/* ---- files */

static bool has_entry(neo_arena *a, const char *text) {
  return *neoc_zoo_lines(a, text, "output") || *neoc_zoo_lines(a, text, "train");
}

static neoc_exit read_model(neoc_cli *cli, neoc_zoo *zoo, const char *folder, const char *file) {
  char *path = neo_path_join(cli->arena, folder, file), *text;
  size_t n;
  if (neo_file_read(&neo_io_default, cli->arena, path, 0, &text, &n))
    return neoc_fail(cli, NEOC_IO, "%s: %s", path, strerror(errno));
  if (has_entry(cli->arena, text))
    NEO_PUSH(cli->arena, zoo, (neoc_zoo_model){neo_path_stem(cli->arena, file), folder, text});
  return NEOC_OK;
}

static neoc_exit read_folder(neoc_cli *cli, neoc_zoo *zoo, const char *folder) {
  DIR *d = opendir(folder);
  if (!d)
    return neoc_fail(cli, NEOC_IO, "%s: %s", folder, strerror(errno));
  neoc_exit e = NEOC_OK;
  for (struct dirent *f = readdir(d); f && !e; f = readdir(d))
    if (neoc_ends_with(f->d_name, ".expr"))
      e = read_model(cli, zoo, folder, f->d_name);
  closedir(d);
  return e;
}

static int by_name(const void *a, const void *b) {
  return strcmp(((const neoc_zoo_model *)a)->name, ((const neoc_zoo_model *)b)->name);
}

neoc_exit neoc_zoo_read(neoc_cli *cli, neoc_zoo *zoo) {
  const char *folders[] = {neo_place_zoo(cli->arena), neo_place_gallery(cli->arena)};
  if (!folders[0])
    return neoc_fail(cli, NEOC_IO,
                     "no models are installed: they are expected in ../share/neo/zoo next to the "
                     "folder of neoc");
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; k < sizeof folders / sizeof *folders && !e; k++)
    if (folders[k])
      e = read_folder(cli, zoo, folders[k]);
  if (!e && zoo->n)
    qsort(zoo->at, zoo->n, sizeof *zoo->at, by_name);
  return e;
}

/* ---- names */

const neoc_zoo_model *neoc_zoo_find(const neoc_zoo *zoo, const char *name) {
  for (size_t k = 0; k < zoo->n; k++)
    if (neo_streq(zoo->at[k].name, name))
      return &zoo->at[k];
  return NULL;
}

/* The distance of what was given from a name; 0 if the name contains it. */
static int distance(const char *name, const char *given) {
  return *given && strstr(name, given) ? 0 : neo_str_distance(name, given, NEAR);
}

const char *neoc_zoo_near(neo_arena *a, const neoc_zoo *zoo, const char *name) {
  neoc_texts near = {0};
  for (int d = 0; d <= NEAR; d++)
    for (size_t k = 0; k < zoo->n; k++)
      if (near.n < MOST_NEAR && distance(zoo->at[k].name, name) == d)
        NEO_PUSH(a, &near, zoo->at[k].name);
  neo_str s = neo_str_in(a);
  for (size_t k = 0; k < near.n; k++)
    neo_str_addf(&s, "%s%s", k == 0 ? "" : k + 1 < near.n ? ", " : " or ", near.at[k]);
  return neo_str_text(&s);
}
