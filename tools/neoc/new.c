/* `neoc new NAME`: a folder with a model, a program that trains it, and the build. */
#include "tools/neoc/neoc.h"
#include "tools/neoc/templates.h"
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

static neoc_exit write_file(neoc_cli *cli, const char *folder, const char *file, const char *text,
                            const char *name) {
  neo_str s;
  neo_str_init(&s, cli->arena);
  for (; *text; text++) {
    if (*text == '@')
      neo_str_add(&s, name);
    else
      neo_str_addc(&s, *text);
  }
  const char *path = neo_path_join(cli->arena, folder, file);
  if (neo_file_write(&neo_io_default, path, neo_str_text(&s), s.n))
    return neoc_fail(cli, NEOC_IO, "%s: %s", path, strerror(errno));
  printf("%s\n", path);
  return NEOC_OK;
}

static const neoc_template *find(const char *name) {
  for (const neoc_template *t = neoc_templates; t->name; t++)
    if (neo_streq(t->name, name))
      return t;
  return NULL;
}

neoc_exit neoc_new(neoc_cli *cli) {
  if (cli->n_args != 1)
    return neoc_usage(cli, "which name?");
  const char *folder = cli->args[0], *word = neoc_text(cli, NEOC_O_TEMPLATE, "mlp");
  const char *slash = strrchr(folder, '/'), *name = slash ? slash + 1 : folder;
  const neoc_template *t = find(word);
  if (!t)
    return neoc_usage(cli, "--template is mlp, cnn or charlm, not '%s'", word);
  if (!is_name(name))
    return neoc_usage(cli, "'%s' cannot be a name in C: letters, digits and _ only", name);
  if (neo_path_exists(folder))
    return neoc_fail(cli, NEOC_IO, "%s exists already", folder);
  if (neo_path_make_folder(folder))
    return neoc_fail(cli, NEOC_IO, "%s: %s", folder, strerror(errno));
  neoc_exit e =
      write_file(cli, folder, neo_arena_printf(cli->arena, "%s.expr", name), t->model, name);
  if (!e)
    e = write_file(cli, folder, "main.c", t->main, name);
  if (!e)
    e = write_file(cli, folder, "CMakeLists.txt", neoc_template_cmake, name);
  return e ? e : write_file(cli, folder, "README.md", neoc_template_readme, name);
}
