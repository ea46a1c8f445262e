/* The reproducer of a bug: the IR of the command's model, as the frontend makes it, and the passes.
 * It is made in a child, since the bug may occur again. */
#define _GNU_SOURCE 1 /* secure_getenv */
#include "ir/print.h"
#include "tools/neoc/program/guard.h"
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int write_reproducer(neoc_cli *cli, const char *path, const char *why) {
  neo_compile_options o;
  neo_compilation c;
  if (cli->n_args < 1 || neoc_compile_options(cli, cli->args[0], &o))
    return 1;
  neo_compilation_init(&c, &o);
  if (neo_compile_front(&c))
    return 1;
  neo_str text = neo_str_in(cli->arena);
  neo_module_print(c.module, &text);
  neo_str_addf(&text, "# neoc %s %s: %s\n# passes:", NEO_VERSION, cli->command->name, why);
  size_t n;
  const neo_pass *p = neo_compile_pass_table(&n);
  for (size_t k = 0; k < n; k++)
    neo_str_addf(&text, " %s", p[k].name);
  neo_str_add(&text, "\n# skipped:");
  for (const char *const *s = o.passes.skip; *s; s++)
    neo_str_addf(&text, " %s", *s);
  neo_str_add(&text, "\n");
  return neo_file_write(&neo_io_default, path, neo_str_text(&text), text.n) ? 1 : 0;
}

const char *neoc_reproducer(neoc_cli *cli, const char *why) {
  const char *folder = secure_getenv("TMPDIR");
  const char *path = neo_arena_printf(cli->arena, "%s/neoc-%d.ir",
                                      folder && *folder ? folder : "/tmp", (int)getpid());
  fflush(NULL);
  pid_t child = fork();
  if (child == 0)
    _exit(write_reproducer(cli, path, why));
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0)
    return NULL;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
    return path;
  return cli->n_args ? cli->args[0] : NULL;
}
