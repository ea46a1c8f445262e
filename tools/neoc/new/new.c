/* `neoc new NAME`: a folder with a model, a program that trains it, and the build; with
 * --from=MODEL a model that comes with the compiler, the modules that it imports, and a program to
 * begin with. --list lists these models. */
#include "base/file.h"
#include "tools/neoc/neoc.h"
#include "tools/neoc/new/templates.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_name(const char *s) {
  if (!isalpha((unsigned char)*s) && *s != '_')
    return false;
  for (; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_')
      return false;
  return true;
}

static neoc_exit copy_text(neoc_cli *cli, const char *folder, const char *file, const char *text) {
  const char *path = neo_path_join(cli->arena, folder, file);
  if (neo_file_write(&neo_io_default, path, text, strlen(text)))
    return neoc_fail(cli, NEOC_IO, "%s: %s", path, strerror(errno));
  printf("%s\n", path);
  return NEOC_OK;
}

/* The text of a template with the project's name in it. */
static neoc_exit write_file(neoc_cli *cli, const char *folder, const char *file, const char *text,
                            const char *name) {
  neo_str s = neo_str_in(cli->arena);
  for (; *text; text++) {
    if (*text == '@')
      neo_str_add(&s, name);
    else
      neo_str_addc(&s, *text);
  }
  return copy_text(cli, folder, file, neo_str_text(&s));
}

static const neoc_template *find(const char *name) {
  for (const neoc_template *t = neoc_templates; t->name; t++)
    if (neo_streq(t->name, name))
      return t;
  return NULL;
}

/* ---- from a template */

static neoc_exit write_build(neoc_cli *cli, const char *folder, const char *name, const char *main,
                             const char *readme) {
  neoc_exit e = write_file(cli, folder, "main.c", main, name);
  if (!e)
    e = write_file(cli, folder, "CMakeLists.txt", neoc_text_CMakeLists_txt, name);
  return e ? e : write_file(cli, folder, "README.md", readme, name);
}

static const char *model_file(neoc_cli *cli, const char *name) {
  return neo_arena_printf(cli->arena, "%s.expr", name);
}

/* Makes the folder, which must not exist. */
static neoc_exit make_folder(neoc_cli *cli, const char *folder) {
  if (neo_path_exists(folder))
    return neoc_fail(cli, NEOC_IO, "%s exists already", folder);
  if (neo_path_make_folder(folder))
    return neoc_fail(cli, NEOC_IO, "%s: %s", folder, strerror(errno));
  return NEOC_OK;
}

static neoc_exit from_template(neoc_cli *cli, const char *folder, const char *name) {
  const char *word = neoc_text(cli, NEOC_O_TEMPLATE, "mlp");
  const neoc_template *t = find(word);
  if (!t)
    return neoc_usage(cli, "--template is mlp, cnn or charlm, not '%s'", word);
  neoc_exit e = make_folder(cli, folder);
  if (!e)
    e = write_file(cli, folder, model_file(cli, name), t->model, name);
  return e ? e : write_build(cli, folder, name, t->main, neoc_text_README_md);
}

/* ---- models that come with the compiler, share/neo/zoo and share/neo/gallery, and descriptions
 * from their texts */

typedef struct {
  const char *name, *folder;
  const char *text; /* the file's text */
} neoc_zoo_model;
typedef NEO_VEC(neoc_zoo_model) neoc_zoo;

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

/* The lines of the text that begin with the word, such as "dim" or "input". */
static const char *zoo_lines(neo_arena *a, const char *text, const char *word) {
  neo_str s = neo_str_in(a);
  for (const char *line = text; *line; line = next_line(line))
    if (begins_with_word(line, word))
      neo_str_addn(&s, line, (size_t)(next_line(line) - line));
  return neo_str_text(&s);
}

/* The comment at the beginning of the text, in one line; "" without one. */
static const char *zoo_comment(neo_arena *a, const char *text) {
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

/* The first sentence of that comment. */
static const char *zoo_summary(neo_arena *a, const char *text) {
  const char *comment = zoo_comment(a, text), *end = strstr(comment, ". ");
  return end ? neo_arena_strndup(a, comment, (size_t)(end + 1 - comment)) : comment;
}

/* The names after `import` in the text. */
static neoc_texts zoo_imports(neo_arena *a, const char *text) {
  neoc_texts names = {0};
  const char *lines = zoo_lines(a, text, "import"), *separators = " ,\n";
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
  return *zoo_lines(a, text, "output") || *zoo_lines(a, text, "train");
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

/* Reads all models, by name, into the arena of `cli`; fails with a message if they are not
 * installed or cannot be read. Modules, which have no entry, are left out. */
static neoc_exit zoo_read(neoc_cli *cli, neoc_zoo *zoo) {
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

/* The model of this name; null: there is none. */
static const neoc_zoo_model *zoo_find(const neoc_zoo *zoo, const char *name) {
  for (size_t k = 0; k < zoo->n; k++)
    if (neo_streq(zoo->at[k].name, name))
      return &zoo->at[k];
  return NULL;
}

/* The distance of what was given from a name; 0 if the name contains it. */
static int distance(const char *name, const char *given) {
  return *given && strstr(name, given) ? 0 : neo_str_distance(name, given, NEAR);
}

/* "a, b or c": at most three names that are similar to this one, or contain it; "" if there is
 * none. */
static const char *zoo_near(neo_arena *a, const neoc_zoo *zoo, const char *name) {
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

/* Copies the modules in the model's folder that its text imports, and those that these import. */
static neoc_exit copy_imports(neoc_cli *cli, const char *folder, const char *from,
                              const char *text) {
  neoc_texts names = zoo_imports(cli->arena, text);
  neoc_exit e = NEOC_OK;
  for (size_t k = 0; k < names.n && !e; k++) {
    const char *file = model_file(cli, names.at[k]);
    const char *source = neo_path_join(cli->arena, from, file);
    char *module;
    size_t n;
    if (!neo_path_exists(source) || neo_path_exists(neo_path_join(cli->arena, folder, file)))
      continue; /* shipped in the library, or copied before */
    if (neo_file_read(&neo_io_default, cli->arena, source, 0, &module, &n))
      return neoc_fail(cli, NEOC_IO, "%s: %s", source, strerror(errno));
    e = copy_text(cli, folder, file, module);
    if (!e)
      e = copy_imports(cli, folder, from, module);
  }
  return e;
}

static const char *model_readme(neoc_cli *cli, const neoc_zoo_model *m) {
  neo_arena *a = cli->arena;
  return neo_arena_printf(a, neoc_text_zoo_README_md, zoo_comment(a, m->text), m->name,
                          zoo_lines(a, m->text, "dim"), zoo_lines(a, m->text, "graph"),
                          zoo_lines(a, m->text, "input"));
}

static neoc_exit unknown_model(neoc_cli *cli, const neoc_zoo *zoo, const char *word) {
  const char *near = zoo_near(cli->arena, zoo, word);
  if (*near)
    return neoc_usage(cli, "there is no model '%s' (did you mean %s?)", word, near);
  return neoc_usage(cli, "there is no model '%s'; `neoc new --list` names all", word);
}

static neoc_exit from_model(neoc_cli *cli, const char *folder, const char *name) {
  const char *word = neoc_text(cli, NEOC_O_FROM, NULL);
  if (neoc_has(cli, NEOC_O_TEMPLATE))
    return neoc_usage(cli, "--from and --template exclude each other");
  neoc_zoo zoo = {0};
  neoc_exit e = zoo_read(cli, &zoo);
  if (e)
    return e;
  const neoc_zoo_model *m = zoo_find(&zoo, word);
  if (!m)
    return unknown_model(cli, &zoo, word);
  neoc_texts imports = zoo_imports(cli->arena, m->text);
  for (size_t k = 0; k < imports.n; k++)
    if (neo_streq(imports.at[k], name))
      return neoc_usage(cli, "'%s' is the name of a module that %s imports", name, word);
  e = make_folder(cli, folder);
  if (!e)
    e = copy_text(cli, folder, model_file(cli, name), m->text);
  if (!e)
    e = copy_imports(cli, folder, m->folder, m->text);
  return e ? e : write_build(cli, folder, name, neoc_text_zoo_c, model_readme(cli, m));
}

static neoc_exit list(neoc_cli *cli) {
  if (cli->n_args || neoc_has(cli, NEOC_O_FROM) || neoc_has(cli, NEOC_O_TEMPLATE))
    return neoc_usage(cli, "--list stands alone");
  neoc_zoo zoo = {0};
  neoc_exit e = zoo_read(cli, &zoo);
  for (size_t k = 0; k < zoo.n && !e; k++)
    printf("%-20s %s\n", zoo.at[k].name, zoo_summary(cli->arena, zoo.at[k].text));
  return e;
}

neoc_exit neoc_new(neoc_cli *cli) {
  if (neoc_has(cli, NEOC_O_LIST))
    return list(cli);
  if (cli->n_args != 1)
    return neoc_usage(cli, "which name?");
  const char *folder = cli->args[0];
  const char *name = neo_path_name(folder);
  if (!is_name(name))
    return neoc_usage(cli, "'%s' cannot be a name in C: letters, digits and _ only", name);
  const char *taken = neo_library_name_taken(cli->arena, name);
  if (taken)
    return neoc_usage(cli, "%s: choose another name", taken);
  return neoc_has(cli, NEOC_O_FROM) ? from_model(cli, folder, name)
                                    : from_template(cli, folder, name);
}
