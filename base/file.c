/* Reads and writes whole files.
 *
 * A writer puts its bytes into a temporary beside the target, and renames it over the target once
 * they are on the disk: whatever fails, and wherever the machine stops, the target is the old file
 * or the new one, never a part. The first failure is stored, and later calls do nothing, so that a
 * caller checks once, at the end.
 *
 * The new file has the mode of the old one. A symbolic link stays: the file that it leads to is
 * replaced. A target that exists and is no regular file (/dev/stdout, a pipe) is written in place:
 * renaming over it would replace the device. */
#include "base/file.h"
#include "base/temp.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The number of bytes to expect: the size of a regular file, else (pipes, /proc) a first guess. */
static size_t expected_size(int fd) {
  struct stat st;
  if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
    return (size_t)st.st_size;
  return 4096;
}

static neo_status read_all(const neo_io *io, neo_arena *a, int fd, size_t limit_bytes, char **text,
                           size_t *size_bytes) {
  size_t cap = expected_size(fd), n = 0;
  if (limit_bytes && cap > limit_bytes)
    cap = limit_bytes;
  char *at = neo_arena_alloc(a, cap + 2); /* one more byte to detect a longer file, one for the
                                             NUL */
  for (;;) {
    ssize_t got = neo_io_read(io, fd, at + n, cap + 1 - n);
    if (got < 0)
      return NEO_IO;
    n += (size_t)got;
    if (limit_bytes && n > limit_bytes) {
      errno = EFBIG;
      return NEO_FORMAT;
    }
    if (n <= cap)
      break;
    char *wider = neo_arena_alloc(a, 2 * cap + 2);
    memcpy(wider, at, n);
    at = wider;
    cap = 2 * cap;
  }
  at[n] = '\0';
  *text = at;
  *size_bytes = n;
  return NEO_OK;
}

/* Memory may run out while the file is open: caught here, or the descriptor would leak. */
static neo_status read_guarded(const neo_io *io, neo_arena *a, int fd, size_t limit_bytes,
                               char **text, size_t *size_bytes) {
  jmp_buf here;
  jmp_buf *volatile outer = a->on_fail;
  neo_status status;
  a->on_fail = &here;
  if (setjmp(here) == 0)
    status = read_all(io, a, fd, limit_bytes, text, size_bytes);
  else
    status = NEO_MEMORY;
  a->on_fail = outer;
  return status;
}

neo_status neo_file_read(const neo_io *io, neo_arena *a, const char *path, size_t limit_bytes,
                         char **text, size_t *size_bytes) {
  *text = NULL;
  *size_bytes = 0;
  int fd = io->open(io->ctx, path, O_RDONLY, 0);
  if (fd < 0)
    return NEO_IO;
  neo_status status = read_guarded(io, a, fd, limit_bytes, text, size_bytes);
  int why = errno;
  if (io->close(io->ctx, fd) != 0 && status == NEO_OK) {
    status = NEO_IO;
    why = errno;
  }
  errno = why;
  return status;
}

/* The folder part of w->path, with its slash, is as long as this. */
static size_t folder_length(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? (size_t)(slash - path) + 1 : 0;
}

static int open_temporary(neo_file_writer *w, mode_t mode) {
  size_t folder = folder_length(w->path);
  for (unsigned attempt = 0; attempt < 1000; attempt++) {
    if (!neo_temp_name(w->temp, sizeof w->temp, w->path, folder, attempt)) {
      errno = ENAMETOOLONG;
      break;
    }
    int fd = w->io->open(w->io->ctx, w->temp, O_WRONLY | O_CREAT | O_EXCL, mode);
    if (fd >= 0)
      return fd;
    if (errno != EEXIST)
      break;
  }
  w->temp[0] = '\0';
  return -1;
}

/* Replaces w->path by the target of the link, relative to the link's folder. */
static neo_status follow_link(neo_file_writer *w) {
  char to[sizeof w->path];
  ssize_t n = readlink(w->path, to, sizeof to);
  size_t folder = n > 0 && to[0] == '/' ? 0 : folder_length(w->path);
  if (n < 0)
    return NEO_IO;
  if (folder + (size_t)n >= sizeof w->path) {
    errno = ENAMETOOLONG;
    return NEO_IO;
  }
  memcpy(w->path + folder, to, (size_t)n);
  w->path[folder + (size_t)n] = '\0';
  return NEO_OK;
}

static neo_status follow_links(neo_file_writer *w) {
  enum { MOST_LINKS = 40 }; /* as many as Linux follows */
  struct stat st;
  for (int k = 0; k < MOST_LINKS; k++) {
    if (lstat(w->path, &st) != 0 || !S_ISLNK(st.st_mode))
      return NEO_OK;
    if (follow_link(w))
      return NEO_IO;
  }
  errno = ELOOP;
  return NEO_IO;
}

static bool is_special(const char *path) {
  struct stat st;
  return stat(path, &st) == 0 && !S_ISREG(st.st_mode);
}

static int open_replacement(neo_file_writer *w, mode_t mode) {
  struct stat st;
  bool exists = stat(w->path, &st) == 0;
  int fd = open_temporary(w, mode);
  if (fd >= 0 && exists)
    (void)fchmod(fd, st.st_mode & 07777); /* some file systems have no modes */
  return fd;
}

neo_status neo_file_begin(neo_file_writer *w, const neo_io *io, const char *path, mode_t mode) {
  w->io = io;
  w->fd = -1;
  w->n = 0;
  w->temp[0] = '\0';
  w->status = NEO_IO;
  size_t n = strlen(path);
  if (n == 0 || n >= sizeof w->path) {
    errno = n == 0 ? ENOENT : ENAMETOOLONG;
    return NEO_IO;
  }
  memcpy(w->path, path, n + 1);
  if (is_special(path))
    w->fd = io->open(io->ctx, path, O_WRONLY, 0);
  else if (follow_links(w) == NEO_OK)
    w->fd = open_replacement(w, mode);
  w->status = w->fd < 0 ? NEO_IO : NEO_OK;
  return w->status;
}

/* Ends the writing, keeping errno. */
static neo_status give_up(neo_file_writer *w) {
  int why = errno;
  if (w->fd >= 0)
    w->io->close(w->io->ctx, w->fd);
  if (w->temp[0])
    w->io->unlink(w->io->ctx, w->temp);
  w->fd = -1;
  w->temp[0] = '\0';
  errno = why;
  if (w->status == NEO_OK)
    w->status = NEO_IO;
  return w->status;
}

static void write_all(neo_file_writer *w, const char *p, size_t n) {
  if (!neo_io_write(w->io, w->fd, p, n))
    give_up(w);
}

static void flush(neo_file_writer *w) {
  size_t n = w->n;
  w->n = 0;
  write_all(w, w->buf, n);
}

void neo_file_put(neo_file_writer *w, const void *p, size_t size_bytes) {
  if (w->status != NEO_OK || size_bytes == 0)
    return;
  if (size_bytes > sizeof w->buf - w->n) {
    flush(w);
    if (w->status != NEO_OK)
      return;
  }
  if (size_bytes > sizeof w->buf) {
    write_all(w, p, size_bytes);
    return;
  }
  memcpy(w->buf + w->n, p, size_bytes);
  w->n += size_bytes;
}

static neo_status sync_folder(neo_file_writer *w) {
  size_t n = folder_length(w->path);
  w->path[n] = '\0';
  return neo_io_sync_folder(w->io, n ? w->path : ".") ? NEO_OK : NEO_IO;
}

neo_status neo_file_commit(neo_file_writer *w) {
  if (w->status != NEO_OK)
    return w->status;
  flush(w);
  if (w->status != NEO_OK)
    return w->status;
  if (w->temp[0] && w->io->fsync(w->io->ctx, w->fd) != 0)
    return give_up(w);
  int fd = w->fd;
  w->fd = -1;
  if (w->io->close(w->io->ctx, fd) != 0)
    return give_up(w);
  if (!w->temp[0])
    return NEO_OK;
  if (w->io->rename(w->io->ctx, w->temp, w->path) != 0)
    return give_up(w);
  w->temp[0] = '\0';
  w->status = sync_folder(w);
  return w->status;
}

void neo_file_abandon(neo_file_writer *w) {
  if (w->fd >= 0 || w->temp[0])
    give_up(w);
}

neo_status neo_file_write(const neo_io *io, const char *path, const void *p, size_t size_bytes) {
  neo_file_writer w;
  neo_status status = neo_file_begin(&w, io, path, 0666);
  if (status != NEO_OK)
    return status;
  neo_file_put(&w, p, size_bytes);
  return neo_file_commit(&w);
}
