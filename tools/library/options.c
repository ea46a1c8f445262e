/* A request's options, read as those of `neoc compile`. */
#include "tools/library/build.h"
#include "tools/neoc/commands.h"

/* Options of the program alone: how it prints, and what it does before it compiles. */
static const neoc_option programs_own[] = {NEOC_O_HELP, NEOC_O_FORMAT, NEOC_O_QUIET, NEOC_O_COLOUR,
                                           NEOC_O_TUNE};

static const char *refused(neo_arena *a, const neoc_cli *cli) {
  static const char *const names[] = {"help", "format", "quiet", "color", "tune"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (neoc_has(cli, programs_own[k]))
      return neo_arena_printf(a, "options: --%s is for the program neoc", names[k]);
  return NULL;
}

static neoc_exit read(neoc_cli *cli, const neo_request *r, const char *path,
                      neo_compile_options *o) {
  int n = 0;
  while (r->options && r->options[n])
    n++;
  char **words = NEO_NEW_ARRAY(cli->arena, char *, n + 1);
  for (int k = 0; k < n; k++)
    words[k] = (char *)(uintptr_t)r->options[k];
  neoc_exit e = neoc_options_read(cli, "compile", n, words);
  if (!e && cli->n_args)
    e = neoc_usage(cli, "'%s' is no option", cli->args[0]);
  if (!e)
    e = neoc_compile_options(cli, path, o);
  if (!e && neoc_has(cli, NEOC_O_EMIT))
    e = neoc_emit_options(cli, o);
  else if (!e && neoc_has(cli, NEOC_O_RUNTIME))
    e = neoc_emit_options(cli, o), o->emit = 0;
  return e;
}

static neo_status status_of(neoc_exit e) {
  switch (e) {
  case NEOC_OK:
    return NEO_OK;
  case NEOC_IO:
    return NEO_IO;
  case NEOC_DEVICE:
    return NEO_UNSUPPORTED;
  case NEOC_FAILED:
    return NEO_INPUT;
  default:
    return NEO_ARGUMENT;
  }
}

neo_status neo_options_read(neo_arena *a, const neo_request *r, const char *path,
                            neo_compile_options *o, const char **wrong) {
  neoc_cli *cli = NEO_NEW(a, neoc_cli); /* the options point to it */
  neo_str *told = NEO_NEW(a, neo_str);
  neo_str_init(told, a);
  *cli = (neoc_cli){.arena = a, .told = told};
  neo_status s = status_of(read(cli, r, path, o));
  *wrong = s ? neo_arena_printf(a, "options: %s", neo_str_text(told)) : refused(a, cli);
  return *wrong && !s ? NEO_ARGUMENT : s;
}

neo_status neo_options_native(neo_arena *a, const char **target, const char **wrong) {
  neo_str told;
  neoc_cli cli = {.arena = a, .told = &told};
  neo_str_init(&told, a);
  neo_status s = status_of(neoc_native_gpu(&cli, target));
  *wrong = s ? neo_str_text(&told) : NULL;
  return s;
}
