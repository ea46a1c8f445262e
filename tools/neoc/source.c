#include "tools/neoc/source.h"
#include "base/file.h"
#include <errno.h>
#include <string.h>

static neoc_exit read_text(neoc_cli *cli, const char *path, neoc_source *s) {
  neo_status status =
      neo_file_read(&neo_io_default, cli->arena, path, NEO_SOURCE_LIMIT_BYTES + 1, &s->text, &s->n);
  if (status == NEO_FORMAT)
    return neoc_fail(cli, NEOC_FAILED, "%s: larger than 4 MiB", path);
  if (status)
    return neoc_fail(cli, NEOC_IO, "%s: %s", path, strerror(errno));
  return NEOC_OK;
}

neoc_exit neoc_source_read(neoc_cli *cli, const char *path, neoc_source *s) {
  neoc_exit e = read_text(cli, path, s);
  if (e)
    return e;
  s->sources = neo_sources_new(cli->arena);
  neo_diags *diags = neo_diags_new(cli->arena, s->sources);
  s->file = neo_parse(cli->arena, neo_names_new(cli->arena), diags, path, s->text, s->n);
  if (!neo_diags_errors(diags))
    return NEOC_OK;
  neo_str out = neo_str_in(cli->arena);
  if (cli->json)
    neo_diags_print_json(diags, &out);
  else
    neo_diags_print(diags, &out, cli->colour);
  fputs(neo_str_text(&out), cli->json ? stdout : stderr);
  return NEOC_FAILED;
}
