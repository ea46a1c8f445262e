/* Where what was made goes: into memory, or a file that is published later. */
#include "base/file.h"
#include "tools/pipeline/emit.h"
#include <errno.h>
#include <string.h>

neo_status neo_emit_put(neo_compilation *c, neo_emit bit, const char *data, size_t n) {
  if (c->options.in_memory) {
    NEO_PUSH(&c->arena, &c->outputs, (neo_output){bit, data, n});
    return NEO_OK;
  }
  const neo_emit_kind *kind = neo_emit_kind_of(bit);
  const char *path = neo_emit_staged(c, kind->before, kind->after);
  if (!neo_file_write(&neo_io_default, path, data, n))
    return NEO_OK;
  int why = errno;
  c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(why));
  return neo_status_of_errno(why);
}
