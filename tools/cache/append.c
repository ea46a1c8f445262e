/* Appends a record, safe against other writers and against being killed at any moment.
 *
 *   open, lock            and once more if the path names another file by then (it was rewritten)
 *   check both ends       the first line tells whose file this is; the last newline must be the end
 *   cut a torn tail       of a killed writer; a whole record that lacks only its newline is kept
 *   write                 [first line] line, in one call; a failed write is cut off again
 *
 * The record is acknowledged only after the write has returned; from then on no writer cuts it
 * off. */
#include "tools/cache/lock.h"
#include <fcntl.h>
#include <unistd.h>

enum { TAIL_BYTES = 4096 };

/* ---- looking at both ends */

static neo_status read_at(neo_records_lock *w, int64_t from, char *to, size_t n) {
  if (lseek(w->fd, from, SEEK_SET) < 0)
    return neo_records_fail_errno(w);
  ssize_t got = neo_io_read(w->io, w->fd, to, n);
  if (got < 0)
    return neo_records_fail_errno(w);
  return (size_t)got == n ? NEO_OK : neo_records_fail(w, NEO_IO, "it was cut while it was locked");
}

/* Checks that a file without a first line is one of ours: it must contain a record. */
static neo_status has_records(neo_records_lock *w) {
  size_t n = (size_t)w->size;
  char *text = neo_arena_alloc(w->a, n + 1);
  neo_status s = read_at(w, 0, text, n);
  neo_records_reader in = {.text = text, .n = n};
  neo_records_line l;
  while (!s && neo_records_next(&in, &l))
    if (l.json)
      return NEO_OK;
  return s ? s : neo_records_fail(w, NEO_FORMAT, "no file of records; nothing was written");
}

static neo_status check_head(neo_records_lock *w, bool *fresh) {
  char text[NEO_RECORDS_HEAD_BYTES];
  size_t n = w->size < (int64_t)sizeof text ? (size_t)w->size : sizeof text, line;
  int64_t version;
  *fresh = false;
  neo_status s = read_at(w, 0, text, n);
  if (s)
    return s;
  switch (neo_records_head_of(text, n, &line, &version)) {
  case NEO_HEAD_OURS:
    return NEO_OK;
  case NEO_HEAD_NEWER:
    return neo_records_fail(w, NEO_FORMAT, "records of a newer version; nothing was written");
  case NEO_HEAD_TORN:
    *fresh = n < sizeof text;
    return *fresh ? NEO_OK : has_records(w);
  default:
    return has_records(w);
  }
}

/* Finds the offset after the last newline. */
static neo_status find_tail(neo_records_lock *w, int64_t *at) {
  char text[TAIL_BYTES];
  neo_status s = NEO_OK;
  for (int64_t end = w->size; !s && end > 0;) {
    size_t n = end < TAIL_BYTES ? (size_t)end : TAIL_BYTES;
    end -= (int64_t)n;
    s = read_at(w, end, text, n);
    for (size_t k = n; !s && k > 0; k--)
      if (text[k - 1] == '\n') {
        *at = end + (int64_t)k;
        return NEO_OK;
      }
  }
  *at = 0;
  return s;
}

/* *keep: the length of the tail's record, if the tail is a record that lacks only its newline; else
 * 0. */
static neo_status whole_tail(neo_records_lock *w, int64_t at, int64_t *keep) {
  size_t n = (size_t)(w->size - at), json_bytes;
  *keep = 0;
  if (n > NEO_RECORD_MAX_BYTES + NEO_RECORDS_HEAD_BYTES)
    n = NEO_RECORD_MAX_BYTES + NEO_RECORDS_HEAD_BYTES;
  char *text = neo_arena_alloc(w->a, n + 1);
  neo_status s = read_at(w, at, text, n);
  const char *json = s ? NULL : neo_record_unline(text, n, &json_bytes);
  if (json)
    *keep = json - text + (int64_t)json_bytes;
  return s;
}

/* Repairs the end of the file. *open: it ends in a whole record without a newline. */
static neo_status mend_tail(neo_records_lock *w, bool *open) {
  int64_t at, keep = 0;
  neo_status s = find_tail(w, &at);
  if (!s && at < w->size)
    s = whole_tail(w, at, &keep);
  if (s)
    return s;
  *open = keep > 0;
  at += keep;
  if (at < w->size && ftruncate(w->fd, at) != 0)
    return neo_records_fail_errno(w);
  w->size = at;
  return NEO_OK;
}

/* ---- writing */

static neo_status write_line(neo_records_lock *w, const neo_str *line) {
  if (neo_io_write(w->io, w->fd, neo_str_text(line), line->n))
    return NEO_OK;
  neo_status s = neo_records_fail_errno(w);
  if (ftruncate(w->fd, w->size) != 0)
    w->why = neo_arena_printf(w->a, "%s (and a part of a line remains)", w->why);
  return s;
}

/* Flushes the file and, for a new file, its folder, which has the name. */
static neo_status sync_all(neo_records_lock *w, bool fresh) {
  if (w->io->fsync(w->io->ctx, w->fd) != 0)
    return neo_records_fail_errno(w);
  bool synced = !fresh || neo_io_sync_folder(w->io, neo_path_folder(w->a, w->path));
  return synced ? NEO_OK : neo_records_fail_errno(w);
}

static neo_status append(neo_records_lock *w, void *ctx) {
  const neo_record *r = ctx;
  bool fresh, open = false;
  char head[NEO_RECORDS_HEAD_BYTES];
  neo_status s = check_head(w, &fresh);
  if (!s)
    s = mend_tail(w, &open);
  if (s)
    return s;
  neo_str text = neo_str_in(w->a);
  neo_records_head(head);
  if (fresh)
    neo_str_add(&text, head);
  if (open)
    neo_str_addc(&text, '\n');
  neo_record_line(r, &text);
  s = write_line(w, &text);
  if (!s && w->flags & NEO_RECORDS_SYNC)
    s = sync_all(w, fresh);
  return s;
}

neo_status neo_record_append(const neo_io *io, neo_arena *scratch, const char *path,
                             const neo_record *r, unsigned flags, const char **why) {
  neo_record copy = *r;
  if (!neo_record_valid(r, why))
    return NEO_ARGUMENT;
  return neo_records_locked(io, scratch, path, flags, append, &copy, why);
}
