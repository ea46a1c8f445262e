/* `neoc fmt`: files in canonical form. */
#include "base/file.h"
#include "frontend/syntax/format.h"
#include "frontend/syntax/parser.h"
#include "tools/neoc/neoc.h"
#include <errno.h>
#include <string.h>

typedef struct {
  const char *path;
  char *text;
  size_t n;
  neo_str formatted;
} source;

static neoc_exit read_source(neoc_cli *cli, source *s) {
  neo_status status = neo_file_read(&neo_io_default, cli->arena, s->path,
                                    NEO_SOURCE_LIMIT_BYTES + 1, &s->text, &s->n);
  if (status == NEO_FORMAT)
    return neoc_fail(cli, NEOC_FAILED, "%s: larger than 4 MiB", s->path);
  if (status)
    return neoc_fail(cli, NEOC_IO, "%s: %s", s->path, strerror(errno));
  return NEOC_OK;
}

static neoc_exit format(neoc_cli *cli, source *s) {
  neo_names *names = neo_names_new(cli->arena);
  neo_sources *sources = neo_sources_new(cli->arena);
  neo_diags *diags = neo_diags_new(cli->arena, sources);
  neo_ast_file *file = neo_parse(cli->arena, names, diags, s->path, s->text, s->n);
  if (neo_diags_errors(diags)) {
    neo_str out;
    neo_str_init(&out, cli->arena);
    if (cli->json)
      neo_diags_print_json(diags, &out);
    else
      neo_diags_print(diags, &out, cli->colour);
    fputs(neo_str_text(&out), cli->json ? stdout : stderr);
    return NEOC_FAILED;
  }
  neo_str_init(&s->formatted, cli->arena);
  neo_format(cli->arena, file, sources, &s->formatted);
  return NEOC_OK;
}

static neoc_exit put(neoc_cli *cli, const source *s) {
  const char *text = neo_str_text(&s->formatted);
  bool same = s->n == s->formatted.n && memcmp(s->text, text, s->n) == 0;
  if (neoc_has(cli, NEOC_O_CHECK)) {
    if (!same)
      printf("%s\n", s->path);
    return same ? NEOC_OK : NEOC_FAILED;
  }
  if (!neoc_has(cli, NEOC_O_WRITE)) {
    fwrite(text, 1, s->formatted.n, stdout);
    return NEOC_OK;
  }
  if (same || !neo_file_write(&neo_io_default, s->path, text, s->formatted.n))
    return NEOC_OK;
  return neoc_fail(cli, NEOC_IO, "%s: %s", s->path, strerror(errno));
}

neoc_exit neoc_fmt(neoc_cli *cli) {
  neoc_exit worst = NEOC_OK;
  if (!cli->n_args)
    return neoc_usage(cli, "which files?");
  for (int k = 0; k < cli->n_args; k++) {
    source s = {.path = cli->args[k]};
    neoc_exit e = read_source(cli, &s);
    if (!e)
      e = format(cli, &s);
    if (!e)
      e = put(cli, &s);
    if (e > worst)
      worst = e;
  }
  return worst;
}
