/* The depfile: the outputs and their sources, as a rule of make. */
#include "base/file.h"
#include "tools/pipeline/emit.h"
#include <sys/stat.h>

/* Paths as make reads them: a space or '#' has a backslash before it, '$' is doubled. */
static void add_escaped(neo_str *s, const char *path) {
  for (; *path; path++) {
    if (*path == ' ' || *path == '#' || *path == '$')
      neo_str_addc(s, *path == '$' ? '$' : '\\');
    neo_str_addc(s, *path);
  }
}

/* Whether a source is a file: not a text that was passed to the compiler. Source 0 is the model. */
static bool is_file(const neo_compilation *c, uint32_t source) {
  size_t n;
  const char *text = neo_sources_text(c->sources, source, &n);
  if (source == 0)
    return !c->options.text;
  for (int k = 0; k < c->options.n_modules; k++)
    if (c->options.modules[k].text == text)
      return false;
  return true;
}

void neo_emit_depfile(neo_compilation *c, neo_str *out) {
  neo_str_init(out, &c->arena);
  for (size_t k = 0; k < neo_emit_n_kinds; k++) {
    const neo_emit_kind *kind = &neo_emit_kinds[k];
    if (!(c->options.emit & kind->bit))
      continue;
    neo_str_add(out, out->n ? " " : "");
    add_escaped(out, neo_emit_path(c, kind->before, kind->after));
  }
  neo_str_addc(out, ':');
  for (uint32_t k = 0; k < neo_sources_count(c->sources); k++) {
    neo_str_add(out, is_file(c, k) ? " " : "");
    add_escaped(out, is_file(c, k) ? neo_sources_name(c->sources, k) : "");
  }
  for (size_t k = 0; k < c->records.files.n; k++) {
    neo_str_addc(out, ' ');
    add_escaped(out, c->records.files.at[k].path);
  }
  neo_str_addc(out, '\n');
}

/* ---- a depfile that would replace one of the files that it names */

static bool is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the paths are those of one file, or will be. */
static bool is_one_file(neo_arena *a, const char *x, const char *y) {
  struct stat of_x, of_y;
  bool has_x = stat(x, &of_x) == 0, has_y = stat(y, &of_y) == 0;
  if (has_x && has_y)
    return is_same(&of_x, &of_y) && S_ISREG(of_x.st_mode);
  return !has_x && !has_y && neo_streq(neo_path_name(x), neo_path_name(y)) &&
         stat(neo_path_folder(a, x), &of_x) == 0 && stat(neo_path_folder(a, y), &of_y) == 0 &&
         is_same(&of_x, &of_y);
}

const char *neo_emit_depfile_replaces(neo_compilation *c) {
  neo_arena *a = &c->arena;
  const char *path = c->options.depfile;
  for (uint32_t k = 0; path && k < neo_sources_count(c->sources); k++)
    if (is_file(c, k) && is_one_file(a, path, neo_sources_name(c->sources, k)))
      return neo_sources_name(c->sources, k);
  for (size_t k = 0; path && k < c->records.files.n; k++)
    if (is_one_file(a, path, c->records.files.at[k].path))
      return c->records.files.at[k].path;
  for (size_t k = 0; path && k < neo_emit_n_kinds; k++) {
    const neo_emit_kind *kind = &neo_emit_kinds[k];
    const char *to = neo_emit_path(c, kind->before, kind->after);
    if (c->options.emit & kind->bit && is_one_file(a, path, to))
      return to;
  }
  return NULL;
}
