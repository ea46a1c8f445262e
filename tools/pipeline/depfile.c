/* The depfile: what was written, and what it was made of, as a rule of make. */
#include "tools/pipeline/emit.h"

/* Paths as make reads them: a space or '#' has a backslash before it, '$' is doubled. */
static void add_escaped(neo_str *s, const char *path) {
  for (; *path; path++) {
    if (*path == ' ' || *path == '#' || *path == '$')
      neo_str_addc(s, *path == '$' ? '$' : '\\');
    neo_str_addc(s, *path);
  }
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
    neo_str_addc(out, ' ');
    add_escaped(out, neo_sources_name(c->sources, k));
  }
  for (size_t k = 0; k < c->records.files.n; k++) {
    neo_str_addc(out, ' ');
    add_escaped(out, c->records.files.at[k].path);
  }
  neo_str_addc(out, '\n');
}
