/* The input of the front: the model's text, and the prefix of all names of the library. */
#include "base/file.h"
#include "tools/pipeline/code.h"
#include "tools/pipeline/stages.h"
#include <errno.h>
#include <string.h>

enum { SOURCE_LIMIT_BYTES = 4 << 20 };

static bool is_identifier(const char *s) {
  bool good = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || *s == '_';
  for (; good && *s; s++)
    good = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') ||
           *s == '_';
  return good;
}

/* Reads the model's text, once: if the cache has been asked about a text, that one is used. *text
 * is null after a failure. */
static neo_status read_source(neo_compilation *c, const char **text, size_t *n) {
  const char *path = c->options.path;
  if (c->code && c->code->text) {
    *text = c->code->text;
    *n = c->code->text_bytes;
    return NEO_OK;
  }
  char *read = NULL;
  bool large = c->options.text && c->options.text_bytes > SOURCE_LIMIT_BYTES + 1;
  neo_status s = large ? NEO_FORMAT : NEO_OK;
  *n = c->options.text_bytes;
  if (!c->options.text)
    s = neo_file_read(&neo_io_default, &c->arena, path, SOURCE_LIMIT_BYTES + 1, &read, n);
  *text = read ? read : c->options.text;
  if (s == NEO_FORMAT) {
    c->why = neo_arena_printf(&c->arena, "%s: source is larger than 4 MiB", path);
    return NEO_INPUT;
  }
  if (s)
    c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(errno));
  return s;
}

static neo_status check_library_name(neo_compilation *c) {
  bool links = c->options.emit & (NEO_EMIT_SO | NEO_EMIT_A);
  const char *taken =
      c->options.unseen || !links ? NULL : neo_library_name_taken(&c->arena, c->prefix);
  if (!taken)
    return NEO_OK;
  c->why = neo_arena_printf(&c->arena, "%s: choose another name with --prefix", taken);
  return NEO_ARGUMENT;
}

/* The prefix of all names of the library: an option, or the file's stem. */
static neo_status choose_prefix(neo_compilation *c) {
  c->prefix = c->options.prefix
                  ? c->options.prefix
                  : neo_plan_ident(&c->arena, neo_path_stem(&c->arena, c->options.path));
  if (!c->options.prefix && c->options.unseen && !is_identifier(c->prefix))
    c->prefix = neo_arena_printf(&c->arena, "model_%s", c->prefix);
  if (is_identifier(c->prefix))
    return check_library_name(c);
  c->why =
      neo_arena_printf(&c->arena, "'%s' is no C identifier: choose one with --prefix", c->prefix);
  return NEO_ARGUMENT;
}

neo_status neo_compile_begin(neo_compilation *c, const char **text, size_t *n) {
  if (!c->names)
    c->names = neo_names_new(&c->arena);
  if (!c->diags) {
    c->sources = neo_sources_new(&c->arena);
    c->diags = neo_diags_new(&c->arena, c->sources);
  }
  neo_status s = read_source(c, text, n);
  return s ? s : choose_prefix(c);
}
