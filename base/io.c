/* The system's file operations, and what takes several of them. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int sys_open(void *ctx, const char *path, int flags, mode_t mode) {
  (void)ctx;
  return open(path, flags | O_CLOEXEC, mode);
}

static ssize_t sys_read(void *ctx, int fd, void *p, size_t n) {
  (void)ctx;
  return read(fd, p, n);
}

static ssize_t sys_write(void *ctx, int fd, const void *p, size_t n) {
  (void)ctx;
  return write(fd, p, n);
}

static int sys_fsync(void *ctx, int fd) {
  (void)ctx;
  return fsync(fd);
}

static int sys_close(void *ctx, int fd) {
  (void)ctx;
  return close(fd);
}

static int sys_rename(void *ctx, const char *from, const char *to) {
  (void)ctx;
  return rename(from, to);
}

static int sys_unlink(void *ctx, const char *path) {
  (void)ctx;
  return unlink(path);
}

const neo_io neo_io_default = {NULL,      sys_open,  sys_read,   sys_write,
                               sys_fsync, sys_close, sys_rename, sys_unlink};

ssize_t neo_io_read(const neo_io *io, int fd, void *p, size_t n) {
  size_t done = 0;
  while (done < n) {
    ssize_t got = io->read(io->ctx, fd, (char *)p + done, n - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return -1;
    if (got == 0)
      break;
    done += (size_t)got;
  }
  return (ssize_t)done;
}

bool neo_io_write(const neo_io *io, int fd, const void *p, size_t n) {
  for (size_t done = 0; done < n;) {
    ssize_t put = io->write(io->ctx, fd, (const char *)p + done, n - done);
    if (put < 0 && errno == EINTR)
      continue;
    if (put <= 0)
      return false;
    done += (size_t)put;
  }
  return true;
}

bool neo_io_sync_folder(const neo_io *io, const char *folder) {
  int fd = io->open(io->ctx, folder, O_RDONLY | O_DIRECTORY, 0);
  if (fd < 0)
    return false;
  bool synced = io->fsync(io->ctx, fd) == 0 || errno == EINVAL;
  int why = errno;
  bool closed = io->close(io->ctx, fd) == 0;
  if (!synced)
    errno = why;
  return synced && closed;
}
