/* The files of a compilation: their kinds and paths. */
#include "base/file.h"
#include "tools/pipeline/emit.h"
#include <string.h>

const neo_emit_kind neo_emit_kinds[] = {
    {"so", "lib", ".so", NEO_EMIT_SO},    {"a", "lib", ".a", NEO_EMIT_A},
    {"o", "", ".o", NEO_EMIT_OBJECT},     {"h", "", ".h", NEO_EMIT_HEADER},
    {"ll", "", ".ll", NEO_EMIT_LL},       {"s", "", ".s", NEO_EMIT_ASM},
    {"json", "", ".json", NEO_EMIT_JSON}, {"ptx", "", ".ptx", NEO_EMIT_PTX},
    {"code", "", ".code", NEO_EMIT_CODE},
};
const size_t neo_emit_n_kinds = sizeof neo_emit_kinds / sizeof *neo_emit_kinds;

unsigned neo_emit_of(const char *name, size_t n) {
  for (size_t k = 0; k < neo_emit_n_kinds; k++)
    if (strlen(neo_emit_kinds[k].name) == n && memcmp(neo_emit_kinds[k].name, name, n) == 0)
      return neo_emit_kinds[k].bit;
  return 0;
}

const neo_emit_kind *neo_emit_kind_of(neo_emit bit) {
  size_t k = 0;
  while (k + 1 < neo_emit_n_kinds && neo_emit_kinds[k].bit != bit)
    k++;
  return &neo_emit_kinds[k];
}

const char *neo_emit_folder(const neo_compilation *c) {
  return c->options.out_dir ? c->options.out_dir : ".";
}

const char *neo_emit_path(neo_compilation *c, const char *before, const char *after) {
  return neo_path_join(&c->arena, neo_emit_folder(c),
                       neo_arena_printf(&c->arena, "%s%s%s", before, c->prefix, after));
}
