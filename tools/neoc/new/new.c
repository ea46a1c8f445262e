/* `neoc new NAME`: a folder with a model, a program that trains it, and the build; with
 * --from=MODEL a model that comes with the compiler, the modules that it imports, and a program to
 * begin with. --list lists these models. */
#include "base/file.h"
#include "tools/neoc/neoc.h"
#include "tools/neoc/new/templates.h"
#include "tools/neoc/new/zoo.h"
#include <ctype.h>
#include <errno.h>
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

/* ---- from a model that comes with the compiler */

/* Copies the modules in the model's folder that its text imports, and those that these import. */
static neoc_exit copy_imports(neoc_cli *cli, const char *folder, const char *from,
                              const char *text) {
  neoc_texts names = neoc_zoo_imports(cli->arena, text);
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
  return neo_arena_printf(a, neoc_text_zoo_README_md, neoc_zoo_comment(a, m->text), m->name,
                          neoc_zoo_lines(a, m->text, "dim"), neoc_zoo_lines(a, m->text, "graph"),
                          neoc_zoo_lines(a, m->text, "input"));
}

static neoc_exit unknown_model(neoc_cli *cli, const neoc_zoo *zoo, const char *word) {
  const char *near = neoc_zoo_near(cli->arena, zoo, word);
  if (*near)
    return neoc_usage(cli, "there is no model '%s' (did you mean %s?)", word, near);
  return neoc_usage(cli, "there is no model '%s'; `neoc new --list` names all", word);
}

static neoc_exit from_model(neoc_cli *cli, const char *folder, const char *name) {
  const char *word = neoc_text(cli, NEOC_O_FROM, NULL);
  if (neoc_has(cli, NEOC_O_TEMPLATE))
    return neoc_usage(cli, "--from and --template exclude each other");
  neoc_zoo zoo = {0};
  neoc_exit e = neoc_zoo_read(cli, &zoo);
  if (e)
    return e;
  const neoc_zoo_model *m = neoc_zoo_find(&zoo, word);
  if (!m)
    return unknown_model(cli, &zoo, word);
  neoc_texts imports = neoc_zoo_imports(cli->arena, m->text);
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
  neoc_exit e = neoc_zoo_read(cli, &zoo);
  for (size_t k = 0; k < zoo.n && !e; k++)
    printf("%-20s %s\n", zoo.at[k].name, neoc_zoo_summary(cli->arena, zoo.at[k].text));
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
