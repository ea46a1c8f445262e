/* `neoc fmt`: files in canonical form. */
#include "base/file.h"
#include "frontend/syntax/format.h"
#include "tools/neoc/source.h"
#include <errno.h>
#include <string.h>

static neoc_exit put(neoc_cli *cli, const char *path, const neoc_source *s, const neo_str *made) {
  const char *text = neo_str_text(made);
  bool same = s->n == made->n && memcmp(s->text, text, s->n) == 0;
  if (neoc_has(cli, NEOC_O_CHECK)) {
    if (!same)
      printf("%s\n", path);
    return same ? NEOC_OK : NEOC_FAILED;
  }
  if (!neoc_has(cli, NEOC_O_WRITE)) {
    fwrite(text, 1, made->n, stdout);
    return NEOC_OK;
  }
  if (same || !neo_file_write(&neo_io_default, path, text, made->n))
    return NEOC_OK;
  return neoc_fail(cli, NEOC_IO, "%s: %s", path, strerror(errno));
}

neoc_exit neoc_fmt(neoc_cli *cli) {
  neoc_exit worst = NEOC_OK;
  if (!cli->n_args)
    return neoc_usage(cli, "which files?");
  for (int k = 0; k < cli->n_args; k++) {
    neoc_source s;
    neo_str made = neo_str_in(cli->arena);
    neoc_exit e = neoc_source_read(cli, cli->args[k], &s);
    if (!e) {
      neo_format(cli->arena, s.file, s.sources, &made);
      e = put(cli, cli->args[k], &s, &made);
    }
    if (e > worst)
      worst = e;
  }
  return worst;
}
