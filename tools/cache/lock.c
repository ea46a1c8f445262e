/* A file of records, open and locked for writing; shared by appending and rewriting. */
#include "tools/cache/lock.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 30 };

neo_status neo_records_fail(neo_records_lock *w, neo_status s, const char *text) {
  w->why = neo_arena_printf(w->a, "%s: %s", w->path, text);
  return s;
}

neo_status neo_records_fail_errno(neo_records_lock *w) {
  return neo_records_fail(w, NEO_IO, strerror(errno));
}

static neo_status open_file(neo_records_lock *w) {
  bool private = w->flags & NEO_RECORDS_PRIVATE;
  int flags = O_RDWR | O_CREAT | O_APPEND | (private ? O_NOFOLLOW : 0);
  if (private && !neo_records_trusted(w->a, w->path, &w->why))
    return NEO_IO;
  w->fd = w->io->open(w->io->ctx, w->path, flags, private ? 0600 : 0666);
  return w->fd < 0 ? neo_records_fail_errno(w) : NEO_OK;
}

static neo_status lock(neo_records_lock *w) {
  struct timespec pause = {0, 50000};
  for (int64_t waited_ns = 0; flock(w->fd, LOCK_EX | LOCK_NB) != 0;) {
    if (errno != EWOULDBLOCK && errno != EINTR)
      return neo_records_fail_errno(w);
    if (waited_ns > (int64_t)PATIENCE_S * 1000000000)
      return neo_records_fail(w, NEO_IO, "another program has it locked");
    nanosleep(&pause, NULL);
    waited_ns += pause.tv_nsec;
    if (pause.tv_nsec < 5000000)
      pause.tv_nsec += pause.tv_nsec / 2;
  }
  return NEO_OK;
}

/* Whether the path still names the file that is locked. */
static neo_status current(neo_records_lock *w, bool *is) {
  struct stat mine, there;
  if (fstat(w->fd, &mine) != 0)
    return neo_records_fail_errno(w);
  if (!S_ISREG(mine.st_mode))
    return neo_records_fail(w, NEO_FORMAT, "no regular file");
  w->size = mine.st_size;
  w->mode = mine.st_mode & 0777;
  *is = stat(w->path, &there) == 0 && mine.st_dev == there.st_dev && mine.st_ino == there.st_ino;
  return NEO_OK;
}

static neo_status shut(neo_records_lock *w) {
  int fd = w->fd;
  w->fd = -1;
  return fd >= 0 && w->io->close(w->io->ctx, fd) != 0 ? neo_records_fail_errno(w) : NEO_OK;
}

static neo_status open_current(neo_records_lock *w) {
  bool is = false;
  neo_status s = neo_records_make_folder(w->a, w->path, w->flags);
  if (s)
    return neo_records_fail_errno(w);
  while (!s && !is) {
    s = shut(w);
    if (!s)
      s = open_file(w);
    if (!s)
      s = lock(w);
    if (!s)
      s = current(w, &is);
  }
  return s;
}

static neo_status run(neo_records_lock *w, neo_records_work *work, void *ctx) {
  neo_status s = open_current(w);
  return s ? s : work(w, ctx);
}

static neo_status run_guarded(neo_records_lock *w, neo_records_work *work, void *ctx) {
  jmp_buf here;
  jmp_buf *volatile outer = w->a->on_fail;
  neo_status s;
  w->a->on_fail = &here;
  if (setjmp(here) == 0) {
    s = run(w, work, ctx);
  } else {
    w->why = "out of memory";
    s = NEO_MEMORY;
  }
  w->a->on_fail = outer;
  return s;
}

neo_status neo_records_locked(const neo_io *io, neo_arena *a, const char *path, unsigned flags,
                              neo_records_work *work, void *ctx, const char **why) {
  neo_records_lock w = {.io = io, .a = a, .path = path, .flags = flags, .fd = -1};
  neo_status s = run_guarded(&w, work, ctx), closed = shut(&w);
  if (!s)
    s = closed;
  if (s)
    *why = w.why;
  return s;
}
