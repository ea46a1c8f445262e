/* Rewriting a file of records: under the lock of the old one, a new one is renamed over it. */
#include "tools/cache/lock.h"
#include <stdlib.h>

void neo_records_print(const neo_records *s, neo_str *out) {
  char head[NEO_RECORDS_HEAD_BYTES];
  neo_records_head(head);
  neo_str_add(out, head);
  for (size_t k = 0; k < s->all.n; k++)
    neo_record_line(&s->all.at[k], out);
}

/* Writes the records to a new file. The text is complete before the file is created, since memory
 * may end. */
static neo_status write_all(const neo_io *io, neo_arena *a, const char *path, uint32_t mode,
                            const neo_records *s) {
  neo_str text = neo_str_in(a);
  neo_records_print(s, &text);
  neo_file_writer *w = NEO_NEW(a, neo_file_writer);
  neo_status status = neo_file_begin(w, io, path, (mode_t)mode);
  if (status)
    return status;
  neo_file_put(w, neo_str_text(&text), text.n);
  return neo_file_commit(w);
}

typedef struct {
  neo_records_edit *edit;
  void *ctx;
} rewriting;

/* Rewrites a file; a link stays, and the file that it names is rewritten. */
static neo_status rewrite(neo_records_lock *w, void *ctx) {
  const rewriting *r = ctx;
  neo_records s;
  char path[4096];
  neo_records_init(&s, w->a);
  if (!realpath(w->path, path))
    return neo_records_fail_errno(w);
  neo_status status = neo_records_load(&s, w->io, w->path, w->flags, &w->why);
  if (status || !r->edit(r->ctx, &s))
    return status;
  status = write_all(w->io, w->a, path, w->mode, &s);
  return status ? neo_records_fail_errno(w) : NEO_OK;
}

neo_status neo_records_rewrite(const neo_io *io, neo_arena *scratch, const char *path,
                               unsigned flags, neo_records_edit *edit, void *ctx,
                               const char **why) {
  rewriting r = {edit, ctx};
  return neo_records_locked(io, scratch, path, flags, rewrite, &r, why);
}
