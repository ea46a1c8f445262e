/* Puts the outputs into memory and, for a build in files, into the temporary folder. */
#include "base/file.h"
#include "tools/pipeline/emit.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

static neo_status fail(neo_compilation *c, const char *path) {
  int why = errno;
  c->why = neo_arena_printf(&c->arena, "%s: %s", path, strerror(why));
  return neo_status_of_errno(why);
}

neo_status neo_emit_write(neo_compilation *c, const char *path, const char *data, size_t n) {
  FILE *f = fopen(path, "wb");
  bool good = f && fwrite(data, 1, n, f) == n;
  return f && fclose(f) == 0 && good ? NEO_OK : fail(c, path);
}

static neo_status write_output(neo_compilation *c, const neo_output *o) {
  if (c->options.in_memory)
    return NEO_OK;
  const neo_emit_kind *kind = neo_emit_kind_of(o->kind);
  const char *path = neo_emit_staged(c, kind->before, kind->after);
  return neo_file_write(&neo_io_default, path, o->data, o->size_bytes) ? fail(c, path) : NEO_OK;
}

neo_status neo_emit_put(neo_compilation *c, neo_emit bit, const char *data, size_t n) {
  neo_output o = {bit, data, n};
  NEO_PUSH(&c->arena, &c->outputs, o);
  return write_output(c, &o);
}

neo_status neo_emit_put_all(neo_compilation *c) {
  neo_status s = NEO_OK;
  for (size_t k = 0; !s && k < c->outputs.n; k++)
    s = write_output(c, &c->outputs.at[k]);
  return s;
}

neo_status neo_emit_take(neo_compilation *c, neo_emit bit) {
  const neo_emit_kind *kind = neo_emit_kind_of(bit);
  const char *path = neo_emit_staged(c, kind->before, kind->after);
  char *data;
  size_t n;
  if (!(c->options.emit & bit) || !neo_path_exists(path))
    return NEO_OK; /* emulated GPUs have no PTX */
  if (neo_file_read(&neo_io_default, &c->arena, path, 0, &data, &n))
    return fail(c, path);
  NEO_PUSH(&c->arena, &c->outputs, (neo_output){bit, data, n});
  return NEO_OK;
}
