/* `neoc describe`: tensors, entries and memory, of a model or of a library that was made from
 * one; --size tells the memory of calls with it. */
#include "runtime/model.h"
#include "tools/neoc/neoc.h"

static neoc_exit put(neoc_cli *cli, const neo_rt_model *m) {
  int64_t *sizes;
  neoc_exit e = neoc_read_model_sizes(cli, m, &sizes);
  if (e)
    return e;
  size_t n = neo_rti_describe(m, sizes, cli->json, NULL, 0);
  char *text = neo_arena_alloc(cli->arena, n + 1);
  neo_rti_describe(m, sizes, cli->json, text, n + 1);
  fputs(text, stdout);
  return NEOC_OK;
}

static neoc_exit of_library(neoc_cli *cli, const char *path) {
  neo_library l;
  const char *why = "";
  neo_status s = neo_library_open(cli->arena, path, neoc_text(cli, NEOC_O_PREFIX, NULL), &l, &why);
  if (s)
    return neoc_fail(cli, s == NEO_IO ? NEOC_IO : NEOC_FAILED, "%s", why);
  neoc_exit e = put(cli, l.model);
  neo_library_close(&l);
  return e;
}

static neoc_exit of_model(neoc_cli *cli, const char *path) {
  neo_compile_options o;
  neo_compilation c;
  neoc_exit e = neoc_compile_options(cli, path, &o);
  if (e)
    return e;
  neo_compilation_init(&c, &o);
  neo_status s = neo_compile_plan(&c);
  if (s) {
    e = neoc_report(cli, &c, s, NULL);
  } else {
    neo_rt_model m = neo_compile_model(&c);
    e = put(cli, &m);
  }
  neo_compilation_free(&c);
  return e;
}

neoc_exit neoc_describe(neoc_cli *cli) {
  neoc_exit e = NEOC_OK;
  const char *path = neoc_model_path(cli, &e);
  if (e)
    return e;
  return neoc_ends_with(path, ".so") ? of_library(cli, path) : of_model(cli, path);
}
