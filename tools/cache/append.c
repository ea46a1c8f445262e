/* Appending a record, safe against other writers and against being killed at any moment.
 *
 *   open, lock            and again, if the path names another file by then (it was rewritten)
 *   look at both ends     the first line says whose file this is; nothing may stand after the last
 *                         newline
 *   cut a torn tail       which a killed writer left; a whole record that lacks only its newline
 *                         is kept
 *   write                 [first line] line, in one call; what fails is cut off again
 *
 * Only after the write has returned is the record acknowledged, and from then on nobody cuts it. */
#include "tools/cache/file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 30, TAIL_BYTES = 4096 };

typedef struct {
  const neo_io *io;
  neo_arena *a;
  const char *path;
  unsigned flags;
  int fd;
  int64_t size;
  const char *why;
} writer;

static neo_status fail(writer *w, neo_status s, const char *text) {
  w->why = neo_arena_printf(w->a, "%s: %s", w->path, text);
  return s;
}

static neo_status fail_errno(writer *w) {
  return fail(w, NEO_IO, strerror(errno));
}

/* ---- opening */

/* The folder of the user's own file is made for the user alone. */
static neo_status make_folder(writer *w) {
  const char *folder = neo_path_folder(w->a, w->path);
  if (neo_path_exists(folder))
    return NEO_OK;
  bool private = w->flags & NEO_RECORDS_PRIVATE;
  if (neo_path_make_folder(private ? neo_path_folder(w->a, folder) : folder) != NEO_OK)
    return fail_errno(w);
  if (private && mkdir(folder, 0700) != 0 && errno != EEXIST)
    return fail_errno(w);
  return NEO_OK;
}

static neo_status open_file(writer *w) {
  bool private = w->flags & NEO_RECORDS_PRIVATE;
  int flags = O_RDWR | O_CREAT | O_APPEND | (private ? O_NOFOLLOW : 0);
  if (private && !neo_records_trusted(w->a, w->path, &w->why))
    return NEO_IO;
  w->fd = w->io->open(w->io->ctx, w->path, flags, private ? 0600 : 0666);
  return w->fd < 0 ? fail_errno(w) : NEO_OK;
}

static neo_status lock(writer *w) {
  struct timespec pause = {0, 50000};
  for (int64_t waited_ns = 0; flock(w->fd, LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return fail_errno(w);
    if (waited_ns > (int64_t)PATIENCE_S * 1000000000)
      return fail(w, NEO_IO, "another program has it locked");
    nanosleep(&pause, NULL);
    waited_ns += pause.tv_nsec;
    if (pause.tv_nsec < 5000000)
      pause.tv_nsec += pause.tv_nsec / 2;
  }
  return NEO_OK;
}

/* Is what we have locked still what the path names? */
static neo_status current(writer *w, bool *is) {
  struct stat mine, there;
  if (fstat(w->fd, &mine) != 0)
    return fail_errno(w);
  if (!S_ISREG(mine.st_mode))
    return fail(w, NEO_FORMAT, "no regular file");
  w->size = mine.st_size;
  *is = stat(w->path, &there) == 0 && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
  return NEO_OK;
}

static void shut(writer *w) {
  if (w->fd >= 0)
    w->io->close(w->io->ctx, w->fd);
  w->fd = -1;
}

static neo_status open_locked(writer *w) {
  bool is = false;
  neo_status s = make_folder(w);
  while (!s && !is) {
    shut(w);
    s = open_file(w);
    if (!s)
      s = lock(w);
    if (!s)
      s = current(w, &is);
  }
  return s;
}

/* ---- looking at both ends */

static neo_status read_at(writer *w, int64_t from, char *to, size_t n) {
  if (lseek(w->fd, from, SEEK_SET) < 0)
    return fail_errno(w);
  while (n > 0) {
    ssize_t got = w->io->read(w->io->ctx, w->fd, to, n);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return fail_errno(w);
    if (got == 0)
      return fail(w, NEO_IO, "it was cut while it was locked");
    to += got;
    n -= (size_t)got;
  }
  return NEO_OK;
}

/* A file without a first line is ours if there is a record in it. */
static neo_status has_records(writer *w) {
  size_t n = (size_t)w->size;
  char *text = neo_arena_alloc(w->a, n + 1);
  neo_status s = read_at(w, 0, text, n);
  neo_records_reader in = {.text = text, .n = n};
  neo_records_line l;
  while (!s && neo_records_next(&in, &l))
    if (l.json)
      return NEO_OK;
  return s ? s : fail(w, NEO_FORMAT, "no file of records; nothing was written");
}

static neo_status check_head(writer *w, bool *fresh) {
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
    return fail(w, NEO_FORMAT, "records of a newer version; nothing was written");
  case NEO_HEAD_TORN:
    *fresh = n < sizeof text;
    return *fresh ? NEO_OK : has_records(w);
  default:
    return has_records(w);
  }
}

/* Where the text after the last newline begins. */
static neo_status find_tail(writer *w, int64_t *at) {
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

/* How much of the tail is a record that lacks its newline. */
static neo_status whole_tail(writer *w, int64_t at, int64_t *keep) {
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

/* *open: the file ends in a whole record that has no newline yet. */
static neo_status mend_tail(writer *w, bool *open) {
  int64_t at, keep = 0;
  neo_status s = find_tail(w, &at);
  if (!s && at < w->size)
    s = whole_tail(w, at, &keep);
  if (s)
    return s;
  *open = keep > 0;
  at += keep;
  if (at < w->size && ftruncate(w->fd, at) != 0)
    return fail_errno(w);
  w->size = at;
  return NEO_OK;
}

/* ---- writing */

static neo_status write_line(writer *w, const neo_str *line) {
  const char *p = neo_str_text(line);
  for (size_t n = line->n; n > 0;) {
    ssize_t put = w->io->write(w->io->ctx, w->fd, p, n);
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0) {
      neo_status s = fail_errno(w);
      if (ftruncate(w->fd, w->size) != 0)
        w->why = neo_arena_printf(w->a, "%s (and a part of a line remains)", w->why);
      return s;
    }
    p += put;
    n -= (size_t)put;
  }
  return NEO_OK;
}

/* A new file is on the disk when its folder is. */
static neo_status sync_all(writer *w, bool fresh) {
  if (w->io->fsync(w->io->ctx, w->fd) != 0)
    return fail_errno(w);
  if (!fresh)
    return NEO_OK;
  int fd = w->io->open(w->io->ctx, neo_path_folder(w->a, w->path), O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0)
    return fail_errno(w);
  bool synced = w->io->fsync(w->io->ctx, fd) == 0 || errno == EINVAL;
  neo_status s = synced ? NEO_OK : fail_errno(w);
  w->io->close(w->io->ctx, fd);
  return s;
}

static neo_status append(writer *w, const neo_record *r) {
  bool fresh, open = false;
  neo_str text;
  char head[NEO_RECORDS_HEAD_BYTES];
  neo_status s = check_head(w, &fresh);
  if (!s)
    s = mend_tail(w, &open);
  if (s)
    return s;
  neo_str_init(&text, w->a);
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

static neo_status append_locked(writer *w, const neo_record *r) {
  neo_status s = open_locked(w);
  return s ? s : append(w, r);
}

/* Memory may end while the file is open and locked: caught here, or both would stay. */
static neo_status append_guarded(writer *w, const neo_record *r) {
  jmp_buf here;
  jmp_buf *volatile outer = w->a->on_fail;
  neo_status s;
  w->a->on_fail = &here;
  if (setjmp(here) == 0) {
    s = append_locked(w, r);
  } else {
    w->why = "out of memory";
    s = NEO_MEMORY;
  }
  w->a->on_fail = outer;
  return s;
}

neo_status neo_record_append(const neo_io *io, neo_arena *scratch, const char *path,
                             const neo_record *r, unsigned flags, const char **why) {
  writer w = {.io = io, .a = scratch, .path = path, .flags = flags, .fd = -1};
  if (!neo_record_valid(r, why))
    return NEO_ARGUMENT;
  neo_status s = append_guarded(&w, r);
  if (w.fd >= 0 && io->close(io->ctx, w.fd) != 0 && !s)
    s = fail_errno(&w);
  if (s)
    *why = w.why;
  return s;
}
